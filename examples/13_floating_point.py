"""Why noise is discrete: textbook floating-point Laplace noise gives the secret away.

Draw f + b ln(1/U) as textbooks do, for f = 0 and f = 1, and ask of each output whether the
other input could have produced it at all.  Discrete noise leaves no such trace.
"""

from pathlib import Path

import altair as alt
import numpy as np

from discreet.hazmat.entropy import SeededRandom
from discreet.mechanisms import Laplace

DRAWS, GRID = 20_000, 2.0**-53


def reachable(outputs: np.ndarray, centre: float) -> np.ndarray:
    """Whether fl(centre + s (-ln u)) equals the output for some u on the 2^-53 grid and s = +-1."""
    possible = np.zeros(outputs.size, dtype=bool)
    for sign in (1.0, -1.0):
        near = np.round(np.exp(-np.clip(sign * (outputs - centre), 0, None)) / GRID)
        for step in range(-8, 9):
            u = np.clip((near + step) * GRID, GRID, 1.0)
            possible |= centre + sign * -np.log(u) == outputs
    return possible


rng = np.random.default_rng(5)
u = rng.integers(1, 2**53, DRAWS) * GRID
naive = 0.0 + rng.choice([-1.0, 1.0], DRAWS) * -np.log(u)
exact = np.asarray(Laplace(epsilon=1, sensitivity=1)(np.zeros(DRAWS, dtype=int), rng=SeededRandom(5)))

given_away = 1 - reachable(naive, 1.0).mean()
print(f"floating point: {given_away:.0%} of the answers for 0 are impossible for 1")
print("discrete noise: 0% (every integer is possible for both)")

bars = [{"noise": "floating point", "share": given_away}, {"noise": "discreet", "share": 0.0}]
picture = (
    alt.Chart(alt.Data(values=bars))
    .mark_bar()
    .encode(
        x=alt.X("share:Q", title="answers that identify the input with certainty", scale=alt.Scale(domain=[0, 1])),
        y=alt.Y("noise:N", title=None),
    )
)
Path("out").mkdir(exist_ok=True)
picture.properties(width=480, height=90, title="Laplace noise, epsilon = 1").save("out/floating_point.svg")
assert set(exact) & set(exact + 1), "both supports are all the integers"
