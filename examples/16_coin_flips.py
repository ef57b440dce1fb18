"""Randomized response by coins: how private it is, exactly, and how many people it needs.

Heads, tell the truth; tails, let a second coin decide.  The truth is told with probability 3/4, so epsilon is ln 3; the
reading of the notes as (1 + epsilon) / 2 at epsilon = 1/2 makes the same mechanism and understates what it costs.
"""

import math
from pathlib import Path

import altair as alt
import numpy as np

from discreet.mechanisms import RandomizedResponse
from discreet.privacy import FiniteMechanism

# --8<-- [start:exact]
coins = FiniteMechanism({0: {0: "3/4", 1: "1/4"}, 1: {0: "1/4", 1: "3/4"}}, neighbours=[(0, 1)])
print(f"epsilon {coins.epsilon():.6f}, which is ln 3 = {math.log(3):.6f}, and not 0.5")
# --8<-- [end:exact]

smokes = np.random.default_rng(1).binomial(1, 0.23, 20_000)
rows = []
for epsilon in (0.1, 0.5, 1.0, math.log(3), 2.0):
    response = RandomizedResponse(epsilon=round(epsilon, 6))
    found, within = response.estimate(response(smokes)), response.error(smokes.size, 0.05)
    print(f"epsilon {epsilon:.2f}: {found:6.1%} smoke, within {within:.1%}; truly {smokes.mean():.1%}")
    rows.append({"epsilon": round(epsilon, 2), "share": found, "low": found - within, "high": found + within})

Path("out").mkdir(exist_ok=True)
base = alt.Chart(alt.Data(values=rows), title="Who smokes, of 20,000 (truly 23 %)").encode(x="epsilon:Q")
bars = base.mark_rule().encode(y=alt.Y("low:Q", title="share"), y2="high:Q")
(bars + base.mark_point(filled=True).encode(y="share:Q")).save("out/16_coin_flips.svg")
