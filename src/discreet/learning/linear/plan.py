"""How a descent goes: how many steps, how long, and where gradients are cut, by public numbers alone.

What decides is how clearly the rows stand out of the noise: the noisy count over the length of the noise that the whole
budget would put on one gradient.  The constants were settled once and are the same for all data.
Why they are what they are: docs/theory/private_erm.md.
"""

from __future__ import annotations

import math

from discreet.learning.linear.losses import RESIDUAL, Loss
from discreet.learning.linear.noisy_gradient import Descent
from discreet.learning.linear.rows import Ball
from discreet.learning.vectors.clipped_moments import SCALE

FEWEST, STEPS, MOST = 10, 30, 2000  # steps: least, where rows just stand out of the noise, and most
WORK = 6e8  # products in all steps, beyond those
CLEAR = 80.0  # rows for each unit of noise, by entry, from which more steps and longer gradients pay
RIDGE = 1e9  # more makes all weights 0, and steps that are not shortened for it diverge
CUT, SHORTEST = 0.4, 0.25  # of the longest gradient and of the longest step, below that


def clearness(rows: float, noise: float) -> float:
    """How clearly so many rows stand out of noise of this length: 1 where they just do."""
    return rows / (noise * CLEAR) if noise > 0 else math.inf


def plan(found: Ball, columns: int, loss: Loss, noise: float, *, ridge: float, most: int = MOST) -> Descent:
    """Steps and lengths by public numbers: how clearly the rows stand out of the noise decides."""
    width = found.design.width + 1
    clear = clearness(found.rows, noise)
    work = WORK / (found.rows * width * columns)
    steps = min(max(STEPS * clear ** (1 / 3), FEWEST), MOST)
    longest = math.sqrt(SCALE**2 + found.constant**2) * RESIDUAL
    return Descent(
        loss=loss,
        steps=round(min(steps, max(work, STEPS), most)),
        length=min(max(math.sqrt(clear), SHORTEST), 1.0) / loss.curvature,
        bound=math.ceil(longest * min(math.sqrt(loss.square(columns)), CUT * max(clear, 1.0) ** 0.25)),
        unit=found.unit,
        shrink=ridge,
    )
