"""Two answers, with and without one person: how far their difference gives the person away.

Asked once at epsilon = 0.1, guessing from the sign of (a - b) - 1/2 is right 51 % of the time.
"""

import math
from pathlib import Path

import altair as alt
import numpy as np

from discreet.hazmat.entropy import SeededRandom
from discreet.mechanisms import Laplace

EPSILON, TRIALS = 0.1, 200_000


def detected(epsilon: float) -> float:
    """Pr[nu1 - nu2 > -1/2] for two continuous Laplace noises of scale 1 / epsilon."""
    t = 0.5 * epsilon
    return 1 - math.exp(-t) * (2 + t) / 4


laplace, rng = Laplace(epsilon=EPSILON, sensitivity=1), SeededRandom(3)
with_person, without = (np.asarray(laplace(np.full(TRIALS, truth), rng=rng)) for truth in (1, 0))
rate = (
    (with_person - without >= 1).mean() + (with_person - without > 0).mean()
) / 2  # the discrete law has ties at 1/2

print(f"density of seeing (1, 0)          {EPSILON**2 / 4:.6f}   (a density, not a probability)")
print(f"guessing from the difference      {detected(EPSILON):.6f}, measured {rate:.4f}")
print(f"best any attack on one answer     {(1 + -math.expm1(-EPSILON / 2)) / 2:.6f}")

points = [{"epsilon": e / 20, "right": detected(e / 20)} for e in range(1, 101)]
picture = (
    alt.Chart(alt.Data(values=points))
    .mark_line()
    .encode(
        x=alt.X("epsilon:Q", title="epsilon of each answer"),
        y=alt.Y("right:Q", title="right guesses", scale=alt.Scale(domain=[0.5, 1])),
    )
)
Path("out").mkdir(exist_ok=True)
picture.properties(width=480, height=260, title="Telling one person's presence from two answers").save(
    "out/difference.svg"
)
