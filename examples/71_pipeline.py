"""Steps under one budget, and a cross-validation that pays for every look at the rows."""

from pathlib import Path

import altair as alt
import numpy as np

import discreet as dc
from discreet.learning import PCA, MaximumLikelihoodClassifier, Pipeline, PrivateBounds, cross_validate

rng = np.random.default_rng(0)
sick = rng.random(20_000) < 0.4
shift = np.where(sick, 25, 0)[:, None] * np.array([1, 1, 0.5, 0, 0, 0])
X = (300 + shift + rng.normal(0, 10, (20_000, 6))).round()
domain = dc.Domain({f"lab{place}": dc.Integer(0, 100_000) for place in range(6)})  # nobody knew better

# --8<-- [start:pipeline]
steps = [("bounds", PrivateBounds()), ("directions", PCA(3)), ("classes", MaximumLikelihoodClassifier())]
model = Pipeline(steps, shares=[1, 1, 2], budget=dc.ApproxDP(1.0, 1e-6), domain=domain).fit(X, sick)
print(f"right on {model.score(X, sick):.1%} for {model.privacy()}")
# --8<-- [end:pipeline]
print("bounds found:", model.steps_[0][1].domain_out_["lab0"])

# --8<-- [start:validate]
shown = []
for directions in (1, 3):
    steps = [("bounds", PrivateBounds()), ("directions", PCA(directions)), ("classes", MaximumLikelihoodClassifier())]
    found = cross_validate(Pipeline(steps, domain=domain), X, sick, budget=dc.ApproxDP(2.0, 1e-6), folds=3)
    shown.append({"directions": directions, "right": found.mean, "sd": found.sd})
    print(f"{directions} directions: {found.mean:.1%}, give or take {2 * found.sd:.1%} of noise, for {found.privacy()}")
# --8<-- [end:validate]

Path("out").mkdir(exist_ok=True)
chart = alt.Chart(alt.Data(values=shown), title="Cross-validated for (2, 1e-6)").mark_bar()
chart.encode(x="right:Q", y=alt.Y("directions:O")).save("out/71_pipeline.svg")
