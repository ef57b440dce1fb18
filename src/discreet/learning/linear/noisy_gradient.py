"""Full-batch gradient descent for linear models, with sums that are exact integers and noise on each.

Theorem.  Let u be a row's integers, and let its residuals r, one integer a column of weights, be a function of that row
and of earlier releases, cut so that |u|^2 |r|^2 <= C^2.  The sum over rows of u r^T moves by at most C in l2, and by at
most C sqrt(width columns) in l1, when a row is added or removed.  So T such sums, each with a share that was fixed
before, cost the T shares.  Nothing here rounds: scores are sums of products of integers below 2^53, residuals are read
from tables, and a row's residual is the same whatever the other rows are.  Proof: docs/theory/private_erm.md.

Steps have momentum, the second half of the iterates is averaged, and a step that is too long for the curvature seen
between two noisy gradients is shortened: all of that is made of what was released.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.hazmat.entropy import RandomSource
from discreet.learning.linear.losses import RESIDUAL, STEPS, Loss
from discreet.privacy.event import Event, RepeatedEvent
from discreet.release.allowance import Allowance
from discreet.release.noise import variance
from discreet.threads import one_thread

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Whole = npt.NDArray[np.int64]

WEIGHT = 1 << 26  # what a weight of 1 becomes
HEAVIEST = 1 << 10  # weights are cut at this
MOMENTUM = 0.8


def cut(squares: Whole, found: Whole, bound: int) -> Whole:
    """Residuals made smaller, toward 0, until |row|^2 |residuals|^2 <= bound^2, given the |row|^2.

    >>> import numpy as np
    >>> cut(np.array([25, 1]), np.array([[6, 8], [6, 8]]), 25).tolist()
    [[3, 4], [6, 8]]
    """
    import numpy as np

    lengths = squares * (found * found).sum(axis=1)
    factors = bound / np.maximum(np.sqrt(lengths.astype(np.float64)), bound)
    made = np.trunc(found * factors[:, None]).astype(np.int64)
    made[squares * (made * made).sum(axis=1) > bound * bound] = (
        0  # rounding never gets here; if it did, the bound holds
    )
    return made


def sensitivities(bound: int, width: int, columns: int) -> tuple[int, int]:
    """How far one row moves the sum of u r^T: in l1, and in squared l2 distance."""
    return math.isqrt(bound * bound * width * columns), bound * bound


@dataclass(frozen=True, slots=True)
class Descent:
    """How many steps, how long, and where rows' gradients are cut: public numbers, set before the first step.

    `unit` is what 1 among a row's integers is worth, `bound` the cut in those of rows and residuals together.
    """

    loss: Loss
    steps: int
    length: float
    bound: int
    unit: float
    shrink: float = 0.0  # times half the squared weights, in all: ridge

    def __call__(
        self,
        rows: Whole,  # (rows, width)
        classes: Whole,  # (rows,), places among the classes, or targets
        columns: int,
        count: float,
        *,
        allowance: Allowance,
        amount: Fraction,
        rng: RandomSource | None,
    ) -> tuple[Floats, Event]:
        """Weights (width, columns) by rows' values `unit` u, for `amount` of the allowance."""
        import numpy as np

        exact, squares = rows.astype(np.float64), (rows * rows).sum(axis=1)

        def sums(whole: Floats) -> Whole:
            places = np.floor(exact @ whole * (STEPS / WEIGHT)).astype(np.int64)
            found = cut(squares, self.loss.residuals(places, classes), self.bound)
            return (exact.T @ found.astype(np.float64)).astype(np.int64)

        with one_thread():  # small matrices: threads that wait for one another cost more
            return self.follow(sums, rows.shape[1], columns, count, allowance=allowance, amount=amount, rng=rng)

    def follow(
        self,
        sums: Callable[[Floats], Whole],
        width: int,
        columns: int,
        count: float,
        *,
        allowance: Allowance,
        amount: Fraction,
        rng: RandomSource | None,
    ) -> tuple[Floats, Event]:
        """The same, with the sum over rows of u r^T at given integer weights, which a row moves by `sensitivities`."""
        import numpy as np

        absolute, square = sensitivities(self.bound, width, columns)
        noise = allowance.noise(amount / self.steps, absolute=absolute, square=square)
        worth = self.unit / (RESIDUAL * count)  # of 1 in a sum
        sd = math.sqrt(variance(noise)) * worth
        weights = np.zeros((width, columns))  # for values `unit` u
        speed, total = np.zeros_like(weights), np.zeros_like(weights)
        before: tuple[Floats, Floats] | None = None
        length = self.length
        for step in range(self.steps):
            whole = np.rint(np.clip(weights, -HEAVIEST, HEAVIEST) * (self.unit * WEIGHT))
            noisy = noise(sums(whole), rng=rng)
            slope = np.asarray(noisy, dtype=np.float64) * -worth + self.shrink / count * weights
            if before is not None and _too_long(length, weights - before[0], slope - before[1], sd):
                length, speed = length / 2, np.zeros_like(speed)
            before = weights, slope
            speed = MOMENTUM * speed + slope
            weights = weights - length * speed
            if step >= self.steps // 2:
                total += weights
        return total / (self.steps - self.steps // 2), RepeatedEvent(event=noise.event(), count=self.steps)


def _too_long(length: float, moved: Floats, changed: Floats, sd: float) -> bool:
    """Whether the curvature between two noisy slopes makes steps of this length diverge, beyond doubt."""
    distance = math.sqrt(float((moved * moved).sum()))
    if distance == 0:
        return False
    curvature = float((moved * changed).sum()) / distance**2 - 4 * math.sqrt(2) * sd / distance
    return length * curvature > 2 * (1 + MOMENTUM)
