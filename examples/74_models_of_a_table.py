"""Models through the curator: charged before a row is read, with all visits of a patient protected together.

A logistic regression, boosted trees and an oracle for statistical queries share one budget.  A ridge regression is
fitted by aggregations alone.  The fitted models are public: predicting with them costs nothing.
"""

from pathlib import Path

import altair as alt
import numpy as np
import pandas as pd

import discreet as dc
from discreet.data.engines import DuckDB
from discreet.learning import GradientBoostedTrees, LogisticRegression, Ridge
from discreet.queries.statistical_pieces import Affine, Piece

rng = np.random.default_rng(7)
visits = 40_000
age, days = rng.integers(0, 100, visits), rng.integers(0, 30, visits)
rows = pd.DataFrame({"patient": rng.integers(0, 30_000, visits), "age": age, "days": days})
rows["ward"] = rng.choice(["cardiology", "oncology", "surgery"], visits)
rows["readmitted"] = rng.random(visits) < 1 / (1 + np.exp(4 - age / 20 - days / 10))

# --8<-- [start:fit]
domain = {"patient": dc.Identifier(), "age": dc.Integer(0, 99), "days": dc.Integer(0, 29)}
domain |= {"ward": dc.Categorical(["cardiology", "oncology", "surgery"]), "readmitted": dc.Boolean()}
table = dc.Table(rows, unit="patient", rows_per_unit=2, domain=dc.Domain(domain))
curator = dc.Curator({"visits": table}, budget=dc.ApproxDP(4, 1e-6), ledger=":memory:")

shown = [{"model": "always no", "right": 1 - float(rows["readmitted"].to_numpy().mean())}]
for model in (LogisticRegression(), GradientBoostedTrees()):
    fitted = curator.fit(model, table="visits", target="readmitted", budget=dc.ZCDP(0.03))
    shown.append({"model": type(fitted).__name__, "right": fitted.score(rows, rows["readmitted"])})
    print(f"{type(fitted).__name__}: {fitted.score(rows, rows['readmitted']):.3f} right; {fitted.privacy()}")
# --8<-- [end:fit]
print(f"always no: {1 - rows['readmitted'].mean():.3f} right")

# --8<-- [start:rounds]
rows["cost"] = 100 * age + 500 * days + rng.integers(0, 2000, visits)
wide = dc.Domain(domain | {"cost": dc.Integer(0, 29_999)})  # 540 million combinations
stays = dc.Table(rows, unit="patient", rows_per_unit=2, domain=wide, engine=DuckDB(reads_rows=False))
costs = dc.Curator({"visits": stays}, budget=dc.ApproxDP(4, 1e-6), ledger=":memory:")
line = costs.fit(Ridge(), table="visits", target="cost", budget=dc.ZCDP(0.03))
print(f"Ridge, four aggregations: R2 {line.score(rows, rows['cost']):.3f}; {line.privacy()}")
# --8<-- [end:rounds]

# --8<-- [start:oracle]
oracle = curator.oracle(table="visits", queries=2, columns=["age", "days"], budget=dc.ZCDP(0.01))
old = Piece(conditions=((Affine.of({0: 1}, offset=-65),),), low=0, high=1)  # at least 65
long = Piece(conditions=((Affine.of({1: 1}, offset=-14),),), low=0, high=1)
print("at least 65, at least two weeks:", oracle.answer([old, long]).round(3), "in one aggregation")
# --8<-- [end:oracle]
print(curator.budget)

Path("out").mkdir(exist_ok=True)
chart = alt.Chart(alt.Data(values=shown), title="Models through the curator, rho 0.03 each").mark_bar()
chart.encode(x="right:Q", y=alt.Y("model:N", sort=None, title=None)).save("out/74_models_of_a_table.svg")
