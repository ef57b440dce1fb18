"""Boosted trees, a forest and a tree, all private: declare the columns, fit, and draw what was learned."""

from pathlib import Path

import altair as alt
import numpy as np

import discreet as dc
from discreet.learning import DecisionTreeClassifier, GradientBoostedTrees, RandomForestClassifier

rng = np.random.default_rng(1)
n = 20_000
age, ward, score = rng.integers(18, 100, n), rng.choice(["a", "b", "c"], n), rng.random(n)
chance = 1 / (1 + np.exp(-(np.abs(age - 45) / 10 - 3 + 2 * (ward == "b") - 3 * score)))

# --8<-- [start:boosted]
import pandas as pd

X = pd.DataFrame({"age": age, "ward": ward, "score": score})
back = pd.Series(rng.random(n) < chance, name="back")
domain = dc.Domain({"age": dc.Integer(18, 99), "ward": dc.Categorical(["a", "b", "c"]), "score": dc.Real(0, 1)})
model = GradientBoostedTrees(budget=dc.ApproxDP(1.0, 1e-6), domain=domain).fit(X, back)
print(f"boosted trees are right on {model.score(X, back):.1%} of rows, for {model.privacy()}")
# --8<-- [end:boosted]
print(
    f"  {(back == (chance > 0.5)).mean():.1%} is possible; {model.sweeps_} trees a column, {model.leaves_} leaves each"
)

# --8<-- [start:terms]
for first, added in model.term("age").items():  # what an age adds to the score, from the first of each cell
    print(f"  age {first:3}  {'#' * int(8 * (added[0] + 3))}")
# --8<-- [end:terms]

# --8<-- [start:forest]
for kind in (RandomForestClassifier, DecisionTreeClassifier):
    grown = kind(budget=dc.PureDP(1.0), domain=domain).fit(X, back)
    print(f"{kind.__name__}: {grown.score(X, back):.1%} with {grown.plan_}")
print(DecisionTreeClassifier(budget=dc.PureDP(1.0), domain=domain, depth=2).fit(X, back).text())
# --8<-- [end:forest]

Path("out").mkdir(exist_ok=True)
shown = [{"age": first, "adds": float(added[0])} for first, added in model.term("age").items()]
chart = alt.Chart(alt.Data(values=shown), title="What an age adds to the score").mark_line(interpolate="step-after")
chart.encode(x=alt.X("age:Q", scale=alt.Scale(zero=False)), y="adds:Q").save("out/68_trees.svg")
