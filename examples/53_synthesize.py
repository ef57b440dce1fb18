"""Synthetic rows through the curator: paid for before a row is read, fitted once, drawn as often as you like.

A patient has up to three visits, and all of them are protected together.  The same order again is free and the same.
"""

from pathlib import Path

import altair as alt
import numpy as np
import pandas as pd

import discreet as dc

generator = np.random.default_rng(5)
visits = 20_000
rows = pd.DataFrame(
    {
        "patient": generator.integers(0, 10_000, visits),
        "ward": generator.choice(["cardiology", "oncology", "surgery"], visits, p=[0.5, 0.3, 0.2]),
        "age": generator.integers(0, 100, visits),
    }
)
rows["readmitted"] = generator.random(visits) < np.where(rows["age"] > 70, 0.4, 0.1)

# --8<-- [start:synthesize]
domain = {"patient": dc.Identifier(), "ward": dc.Categorical(["cardiology", "oncology", "surgery"])}
domain |= {"age": dc.Integer(0, 99), "readmitted": dc.Boolean()}
table = dc.Table(rows, unit="patient", rows_per_unit=3, domain=dc.Domain(domain))
curator = dc.Curator({"visits": table}, budget=dc.ApproxDP(3, 1e-6), ledger=":memory:")

fitted = curator.synthesize(table="visits", budget=dc.ApproxDP(2, 1e-6))
people = fitted.sample(10_000).to_pandas()
again = curator.synthesize(table="visits", budget=dc.ApproxDP(2, 1e-6))
print("the same model, free:", again.receipt.replayed)
# --8<-- [end:synthesize]

print(people.head(4).to_string(index=False))
for who, found in (("synthetic", people), ("real", rows)):
    print(f"{who:9}: {found['readmitted'][found['age'] > 70].mean():.2f} of those over 70 come back")
print(fitted.privacy(), "of", curator.budget)

Path("out").mkdir(exist_ok=True)
both = pd.concat([people.assign(who="synthetic"), rows.assign(who="real")])
shares = (
    both.assign(age=both["age"] // 10 * 10)
    .groupby(["who", "age"], as_index=False)
    .agg(readmitted=("readmitted", "mean"))
)
chart = alt.Chart(shares, title="Who comes back, by age").mark_line(point=True)
chart.encode(x="age:Q", y="readmitted:Q", color=alt.Color("who:N", title=None)).save("out/53_synthesize.svg")
