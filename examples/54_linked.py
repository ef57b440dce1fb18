"""Made-up patients with made-up visits: two tables whose keys join, for one budget.

A patient has one row in the first table and up to four in the second; all of them are protected together.  The number
of visits is a noisy column of the patients' model, and visits are drawn to fit the patient they belong to.
"""

from pathlib import Path

import altair as alt
import numpy as np
import pandas as pd

import discreet as dc

generator = np.random.default_rng(7)
n = 5000
patients = pd.DataFrame({"patient": np.arange(n), "age": generator.integers(0, 10, n) * 10})
owner = np.repeat(np.arange(n), generator.binomial(4, 0.1 + 0.008 * patients["age"]))
visits = pd.DataFrame({"patient": owner, "ward": generator.choice(["cardiology", "surgery"], len(owner))})
visits["icu"] = generator.random(len(owner)) < 0.05 + 0.005 * patients["age"].to_numpy()[owner]

# --8<-- [start:linked]
people = {"patient": dc.Identifier(), "age": dc.Integer(0, 90)}
stays = {"patient": dc.Identifier(), "ward": dc.Categorical(["cardiology", "surgery"]), "icu": dc.Boolean()}
tables = {
    "patients": dc.Table(patients, unit="patient", domain=dc.Domain(people)),
    "visits": dc.Table(visits, unit="patient", rows_per_unit=4, domain=dc.Domain(stays)),
}
curator = dc.Curator(tables, budget=dc.ApproxDP(4, 1e-6), ledger=":memory:")
fitted = curator.synthesize_linked(tables=["patients", "visits"], budget=dc.ApproxDP(2, 1e-6))
made = {name: table.to_pandas() for name, table in fitted.sample(5000).items()}
# --8<-- [end:linked]

print(made["patients"].head(3).to_string(index=False))
print(made["visits"].head(3).to_string(index=False))
shown = []
for who, found in (("synthetic", made), ("real", {"patients": patients, "visits": visits})):
    joined = found["visits"].merge(found["patients"], on="patient")
    joined["decade"] = joined["age"] // 10 * 10
    shown.append(joined.groupby("decade", as_index=False).agg(icu=("icu", "mean")).assign(who=who))
    old = found["patients"]["age"] >= 60
    each, icu = joined["age"].ge(60).sum() / old.sum(), joined["icu"][joined["age"] >= 60].mean()
    print(f"{who:9}: {each:.2f} visits of those over 60, {icu:.2f} of them in intensive care")
print(fitted.privacy(), "of", curator.budget)

Path("out").mkdir(exist_ok=True)
chart = alt.Chart(pd.concat(shown), title="Visits in intensive care, by age of the patient").mark_line(point=True)
chart.encode(x="decade:Q", y="icu:Q", color=alt.Color("who:N", title=None)).save("out/54_linked.svg")
