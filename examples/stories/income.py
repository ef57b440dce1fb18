"""Private learning: who earns more than fifty thousand, from a table like that of the Adult census.

An analyst fits models through a curator, which charges before it reads.  Three budgets, three kinds of model, one
picture: what privacy costs here, and which model to take at which epsilon.
"""

from pathlib import Path

import altair as alt
import numpy as np
import pandas as pd

import discreet as dc
from discreet.learning import GradientBoostedTrees, LogisticRegression, NaiveBayes

# --8<-- [start:people]
rng, people = np.random.default_rng(3), 24_000
age, hours = rng.integers(17, 91, people), rng.normal(40, 12, people).clip(1, 99).astype(int)
years = rng.choice(np.arange(1, 17), people, p=np.array([1, 1, 1, 2, 2, 3, 4, 2, 32, 22, 5, 4, 14, 5, 1, 1]) / 100)
work = rng.choice(["private", "public", "own"], people, p=[0.7, 0.15, 0.15])
married = rng.random(people) < np.clip((age - 20) / 50, 0.05, 0.65)
score = 0.35 * (years - 10) + 0.03 * (hours - 40) - 0.0012 * (age - 50) ** 2 + 1.9 * married - 2.2
rich = rng.random(people) < 1 / (1 + np.exp(-score))
adults = pd.DataFrame({"age": age, "years": years, "hours": hours, "work": work, "married": married, "rich": rich})
train, test = adults[:20_000], adults[20_000:]
# --8<-- [end:people]

# --8<-- [start:curator]
columns = {"age": dc.Integer(17, 90), "years": dc.Integer(1, 16), "hours": dc.Integer(1, 99)}
columns |= {"work": dc.Categorical(["private", "public", "own"]), "married": dc.Boolean(), "rich": dc.Boolean()}
table = dc.Table(train, domain=dc.Domain(columns), unit=None)  # one row a person
# --8<-- [end:curator]

# --8<-- [start:fit]
always = max(test["rich"].mean(), 1 - test["rich"].mean())
print(f"always the larger class: {always:.3f} right")
points = []
for epsilon in (0.1, 1, 10):
    curator = dc.Curator({"adults": table}, budget=dc.ApproxDP(4 * epsilon, 1e-5), ledger=":memory:")
    for model in (LogisticRegression(), NaiveBayes(), GradientBoostedTrees()):
        fitted = curator.fit(model, table="adults", target="rich", budget=dc.ApproxDP(epsilon, 1e-6))
        right = fitted.score(test.drop(columns="rich"), test["rich"])
        points.append({"epsilon": epsilon, "right": right, "model": type(model).__name__})
        print(f"epsilon {epsilon:4}  {type(model).__name__:22} {right:.3f} right")
    curator.close()
# --8<-- [end:fit]

lines = alt.Chart(alt.Data(values=points), title="Who earns more than fifty thousand").mark_line(point=True)
chart = lines.encode(
    x=alt.X("epsilon:Q", scale=alt.Scale(type="log")),
    y=alt.Y("right:Q", title="right on people not seen", scale=alt.Scale(zero=False)),
    color=alt.Color("model:N", title=None),
)
Path("out").mkdir(exist_ok=True)
chart.properties(width=480, height=260).save("out/income.svg")
