"""The median by propose-test-release: small noise where the data are dense, a refusal elsewhere.

Theorem (Dwork, Lei 2009; closed forms: `median_window`).  Let d be the number of steps from x
to a dataset whose median one more step moves by more than `bound`, or a public number K + 1 if
that is less.  `ProposeTestRelease` on the rounded median with this distance is
(epsilon, delta)-DP under AddRemove with n private, or under Replace with n public.

K is three times the threshold of the test, so that a dataset farther away than K is refused
with probability at most delta^2 or so.  Proof: docs/theory/median.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from discreet.errors import require
from discreet.hazmat.entropy import RandomSource
from discreet.mechanisms.propose_test_release import ProposeTestRelease, Refused
from discreet.privacy.event import ApproxEvent
from discreet.privacy.guarantee import ApproxDP, Relation
from discreet.privacy.neighbours import AddRemove
from discreet.privacy.number import Number, exact
from discreet.structured.medians.median_window import Grid, Window, check_relation

if TYPE_CHECKING:
    from discreet.structured.medians.median_window import Values


FARTHEST = 1 << 22  # order statistics on a side: they grow as 1 / epsilon


@dataclass(frozen=True, kw_only=True, slots=True)
class StableMedian:
    """A private median with noise for a proposed `bound`, or `Refused()` where one row might move it further.

    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(50, 10, 100_000)
    >>> median = StableMedian(epsilon=1, delta=1e-6, bound=0.02, lower=0, upper=100, step=0.001)
    >>> bool(abs(median(x) - np.median(x)) < 1)
    True
    >>> median(x[:20]), median.privacy()
    (Refused(), ApproxDP(epsilon=1.0, delta=8.533...e-07))
    """

    epsilon: Number
    delta: Number
    bound: Number
    lower: Number
    upper: Number
    step: Number
    neighbours: Relation = AddRemove

    def __post_init__(self) -> None:
        check_relation(self.neighbours)
        require(exact(self.bound) >= 0, "bound >= 0", bound=self.bound)
        _ = self.grid
        needed = 3 * self.mechanism.threshold
        rule = f"an epsilon whose test looks at no more than {FARTHEST:,} order statistics (SmoothMedian serves less)"
        require(needed <= FARTHEST, rule, epsilon=self.epsilon, order_statistics=needed)

    @property
    def grid(self) -> Grid:
        """The lattice of possible answers."""
        return Grid(lower=self.lower, upper=self.upper, step=self.step)

    @property
    def mechanism(self) -> ProposeTestRelease:
        """The release of a window's median; the bound in whole steps, rounded up."""
        steps = math.ceil(exact(self.bound) / exact(self.step))
        return _mechanism(exact(self.epsilon), exact(self.delta), steps, self.neighbours)

    def window(self, values: Values) -> Window:
        """The order statistics that decide the answer: private."""
        reach = 3 * self.mechanism.threshold
        return Window.around(values, self.grid, reach=reach, neighbours=self.neighbours)

    def __call__(self, value: Values, *, rng: RandomSource | None = None) -> float | Refused:
        """The private median: a lattice point between the bounds, or `Refused()`."""
        answer = self.mechanism(self.window(value), rng=rng)
        return answer if isinstance(answer, Refused) else self.grid.value(answer)

    def privacy(self) -> ApproxDP:
        """That of the test and the noise together."""
        return self.mechanism.privacy()

    def accuracy(self, beta: float = 0.05) -> float:
        """alpha with Pr[|answer - median| > alpha] <= beta for an answer that is released, half a step included."""
        return (self.mechanism.accuracy(beta) + 0.5) * float(exact(self.step))

    def event(self) -> ApproxEvent:
        """What ran, for the accountant."""
        return self.mechanism.event()


@lru_cache(maxsize=256)
def _mechanism(epsilon: Fraction, delta: Fraction, bound: int, neighbours: Relation) -> ProposeTestRelease:
    return ProposeTestRelease(
        query=lambda window: window.median,
        distance=lambda window: window.distance(bound),
        bound=bound,
        epsilon=epsilon,
        delta=delta,
        neighbours=neighbours,
    )
