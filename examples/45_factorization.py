"""A thousand cumulative counts with the noise of three: factorization, and the proof that no other does better.

Noise on every cell adds up along a cumulative count, and a tree of counts is the textbook remedy.  The best strategy is
found by optimisation, and comes with a lower bound that no strategy of this kind can pass.
"""

from pathlib import Path

import altair as alt

import discreet as dc
from discreet.data import Histogram
from discreet.queries import thresholds
from discreet.release import Factorization

# --8<-- [start:release]
ages = thresholds(dc.Domain({"age": dc.Integer(0, 119)}))  # how many are at most 0, 1, ..., 119
people = Histogram.random(ages.domain, n=100_000, seed=1)  # made-up data

mechanism = Factorization(ages, budget=dc.ZCDP(0.05))
print(f"largest error of one count, per sigma: {mechanism.gamma2:.4f}, and at least {mechanism.lower_bound:.4f}")
release = mechanism(people)
print(f"no count is off by more than {release.accuracy(0.05):.1f}, with probability 95 %")
print("at most 17:", round(release.answers[17]), " at most 64:", round(release.answers[64]), release.privacy())
# --8<-- [end:release]

points = []
for size in (8, 16, 32, 64, 128, 256):
    for strategy in ("identity", "tree", "optimal"):
        made = Factorization(thresholds(size), budget=dc.ZCDP(0.5), strategy=strategy)
        points.append({"cells": size, "strategy": strategy, "sd": float(made.variances().max() ** 0.5)})
    points.append({"cells": size, "strategy": "no strategy below", "sd": made.lower_bound})

picture = (
    alt.Chart(alt.Data(values=points), title="Cumulative counts: the largest standard deviation, per sigma")
    .mark_line(point=True)
    .encode(
        x=alt.X("cells:Q", scale=alt.Scale(type="log", base=2), title="cells"),
        y=alt.Y("sd:Q", scale=alt.Scale(type="log"), title="standard deviation / sigma"),
        color=alt.Color("strategy:N", title=None),
        strokeDash=alt.condition("datum.strategy == 'no strategy below'", alt.value([4, 4]), alt.value([1, 0])),
    )
)
Path("out").mkdir(exist_ok=True)
picture.properties(width=480, height=260).save("out/factorization.svg")
