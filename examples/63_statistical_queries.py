"""Learning from statistical queries alone: the learner never sees a row, only noisy means.

The same learners run on rows in memory and on a table in any engine, where each round is one aggregation.
"""

from pathlib import Path

import altair as alt
import numpy as np
import pyarrow as pa

from discreet import Boolean, Domain, Identifier, Integer, Real, Table
from discreet.queries import Affine, RowFunction

rng = np.random.default_rng(0)
n = 100_000
age, cost = rng.integers(0, 100, n), rng.integers(0, 1001, n) / 10
smokes, fever, ill = rng.random((3, n)) < [[0.7], [0.6], [0.5]]
sick = smokes & ill  # what the conjunction is to find
rows = np.column_stack([smokes, fever, ill])

# --8<-- [start:ask]
from discreet.learning import StatisticalQueryOracle

oracle = StatisticalQueryOracle(age[:, None], queries=10, epsilon=0.5)
old = RowFunction(lambda rows: rows[:, 0] >= 65, low=0, high=1)
print(f"at least 65: {oracle.answer([old])[0]:.4f}, truly {(age >= 65).mean():.4f}, {oracle.remaining} queries left")
told = oracle.tolerance(beta=0.05)
print(f"all ten within {told.noise / 2:.4f} of the rows, {told.population / 2:.4f} of the population")
# --8<-- [end:ask]

# --8<-- [start:learn]
from discreet.learning import learn_conjunction, learn_halfspace, learn_tree

oracle = StatisticalQueryOracle((rows, sick), queries=3, epsilon=0.5)
print("sick is the conjunction of columns", learn_conjunction(oracle, d=3, alpha=0.05).literals)
# --8<-- [end:learn]
visits = pa.table({"patient": np.arange(n), "age": age, "cost": cost, "late": (late := age + cost > 100)})
columns = {"patient": Identifier(), "age": Integer(0, 99), "cost": Real(0, 100, step="0.1"), "late": Boolean()}

# --8<-- [start:table]
table = Table(visits, domain=Domain(columns), unit="patient")
names = ["age", "cost", "late"]  # columns 0, 1 and 2 of the queries
features = [Affine.scaled(0, 0, 99, reach=0.7), Affine.scaled(1, 0, 100, reach=0.7)]  # within the unit ball
oracle = StatisticalQueryOracle(table, queries=40, epsilon=0.5, columns=names)
halfspace = learn_halfspace(oracle, features=features, label=2, alpha=0.03, margin=0.05)
# --8<-- [end:table]
found = halfspace.predict(np.column_stack([age, cost]))
print(f"the halfspace is right on {(found == late).mean():.1%} of the visits; {oracle.privacy()}")

splits = [Affine.of({column: 1}, offset=-t) for column in (0, 1) for t in (25, 50, 75)]
oracle = StatisticalQueryOracle(table, queries=40, epsilon=0.5, columns=names)
tree = learn_tree(oracle, splits=splits, label=2, depth=2)
print(f"the tree is right on {(tree.predict(np.column_stack([age, cost])) == late).mean():.1%}")

Path("out").mkdir(exist_ok=True)
shown = [{"age": int(age[i]), "cost": float(cost[i]), "late": str(found[i])} for i in range(500)]
dots = alt.Chart(alt.Data(values=shown), title="Which visits the halfspace calls late").mark_circle(size=16)
dots.encode(x="age:Q", y="cost:Q", color="late:N").save("out/63_statistical_queries.svg")
