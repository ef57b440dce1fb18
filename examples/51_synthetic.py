"""Made-up patients that answer for the real ones: synthetic rows, a report for anyone, a page for the steward alone.

The synthesizer measures each column, then again and again the table that its model gets most wrong.  Rows drawn from
the model have the declared types and cost nothing more, however many are drawn.
"""

from pathlib import Path

import numpy as np
import pandas as pd

import discreet as dc
from discreet.synthesis import Synthesizer, quality

# --8<-- [start:make]
rng, n = np.random.default_rng(1), 5000
domain = dc.Domain(
    {
        "age": dc.Integer(0, 99),
        "ward": dc.Categorical(["cardiology", "oncology", "surgery", "maternity"]),
        "days": dc.Integer(0, 60, nullable=True),  # None: still there
        "icu": dc.Boolean(),
    }
)
age = rng.binomial(99, 0.55, n)
ward = rng.choice(["cardiology", "oncology", "surgery", "maternity"], n)
icu = rng.random(n) < np.where(age > 60, 0.5, 0.05)
days = np.minimum(60, rng.poisson(np.where(icu, 20, 5)))
patients = pd.DataFrame({"age": age, "ward": ward, "days": pd.array(days, dtype="Int64"), "icu": icu})
patients.loc[rng.random(n) < 0.05, "days"] = None
# --8<-- [end:make]

# --8<-- [start:fit]
synthesizer = Synthesizer(domain, budget=dc.ApproxDP(1.0, 1e-6), workload=dc.marginals(domain, 2))
synthetic = synthesizer.fit(patients)
people = synthetic.sample(10_000).to_pandas()
# --8<-- [end:fit]
print(synthetic.privacy(), "paid for", synthetic.rows, "rows, or as many as you like")
print(people.head(4).to_string(index=False))
for who, rows in (("synthetic", people), ("real", patients)):
    print(f"{who:9}: {rows['icu'][rows['age'] > 60].mean():.2f} of those over 60 in intensive care,", end=" ")
    print(f"mean stay {rows['days'].mean():.1f} days")

# --8<-- [start:report]
out = Path("out")
out.mkdir(exist_ok=True)
print(synthetic.report(out / "51_synthetic.html"))  # for anyone
synthetic.write(out / "51_patients.parquet", 10_000)
# --8<-- [end:report]

# --8<-- [start:quality]
private = quality(synthetic, patients, targets=["icu"])  # for the steward's eyes only
private.write(out / "51_PRIVATE.html")
# --8<-- [end:quality]
print(private)
