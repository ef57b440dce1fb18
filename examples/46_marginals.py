"""All pairs of columns of a hospital's records in one release: the tables agree, and no cell is negative.

Tables that share columns share what they say about them; each such part is measured once, with the noise that
makes the sum of all variances least.  A picture of the error as the budget grows, beside noise on each table.
"""

from pathlib import Path

import altair as alt
import numpy as np
import pandas as pd

import discreet as dc
from discreet.release import IndependentNoise
from discreet.structured import MarginalRelease

# --8<-- [start:make]
rng, n = np.random.default_rng(1), 5000
domain = dc.Domain(
    {
        "age": dc.Integer(0, 19),  # in steps of five years
        "ward": dc.Categorical(["cardiology", "oncology", "surgery", "maternity"]),
        "days": dc.Integer(0, 30),
        "icu": dc.Boolean(),
    }
)
age = rng.binomial(19, 0.55, n)
frame = pd.DataFrame(
    {
        "age": age,
        "ward": np.where(age < 8, "maternity", rng.choice(["cardiology", "oncology", "surgery"], n)),
        "days": np.minimum(rng.poisson(age / 2), 30),
        "icu": rng.random(n) < age / 60,
    }
)
# --8<-- [end:make]

# --8<-- [start:release]
pairs = dc.marginals(domain, 2)
mechanism = MarginalRelease(pairs, budget=dc.ApproxDP(1.0, 1e-9))
print("before anything is read: no unbiased cell is off by more than", round(mechanism.accuracy(0.05)))
release = mechanism(frame)
print(release.to_pandas(["ward", "icu"]).round(1))
tables = pairs.tables(release.unbiased)
print("icu by ward, and by age:", tables["ward", "icu"].sum(axis=0).round(1), tables["age", "icu"].sum(axis=0).round(1))
# --8<-- [end:release]

truth, points = pairs.answer(dc.data.Records.from_frame(frame, domain)), []  # for the picture alone
for rho in (0.003, 0.01, 0.03, 0.1, 0.3):
    made = MarginalRelease(pairs, budget=dc.ZCDP(rho))(frame)
    plain = IndependentNoise(pairs, budget=dc.ZCDP(rho))(frame)
    for name, answers in (("each table", plain.answers), ("unbiased", made.unbiased), ("answers", made.answers)):
        points.append({"rho": rho, "kind": name, "error": float(np.sqrt(np.mean((answers - truth) ** 2)))})

picture, scale = alt.Chart(alt.Data(values=points), title="All pairs of four columns"), alt.Scale(type="log")
x, y = alt.X("rho:Q", scale=scale), alt.Y("error:Q", scale=scale, title="root mean square error, counts")
Path("out").mkdir(exist_ok=True)
picture.mark_line(point=True).encode(x=x, y=y, color="kind:N").properties(width=480).save("out/marginals.svg")
