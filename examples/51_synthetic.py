"""Made-up patients that answer for the real ones: synthetic rows, a report for anyone, a page for the steward alone.

The synthesizer measures each column, then again and again the table that its model gets most wrong.  Rows drawn from
the model have the declared types and cost nothing more, however many are drawn.
"""

from pathlib import Path

import altair as alt
import numpy as np
import pandas as pd

import discreet as dc
from discreet.synthesis import Synthesizer, quality

# --8<-- [start:make]
rng, n = np.random.default_rng(1), 5000
wards = ["cardiology", "oncology", "surgery", "maternity"]
columns = {"age": dc.Integer(0, 99), "ward": dc.Categorical(wards), "icu": dc.Boolean()}
columns["days"] = dc.Integer(0, 60, nullable=True)  # None: still there
domain = dc.Domain(columns)
age = rng.binomial(99, 0.55, n)
ward = rng.choice(wards, n)
icu = rng.random(n) < np.where(age > 60, 0.5, 0.05)
days = np.minimum(60, rng.poisson(np.where(icu, 20, 5)))
patients = pd.DataFrame({"age": age, "ward": ward, "icu": icu, "days": pd.array(days, dtype="Int64")})
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

both = pd.concat([people.assign(who="synthetic"), patients.assign(who="real")])
decades = both.assign(age=both["age"] // 10 * 10).groupby(["who", "age"], as_index=False).agg(icu=("icu", "mean"))
chart = alt.Chart(decades, title="In intensive care, by age").mark_line(point=True)
chart.encode(x="age:Q", y="icu:Q", color=alt.Color("who:N", title=None)).save(out / "51_synthetic.svg")
