"""The median, with noise scaled to its smooth sensitivity.

Theorem (Nissim, Raskhodnikova, Smith 2007; closed forms: `median_window`).  Round the rows to
the lattice between the declared bounds.  Releasing the lattice point nearest to the median plus
c S Z, for S the smooth sensitivity of `Window` and c, Z of `best_noise`, is epsilon-DP, or
(epsilon, delta)-DP if a delta is given and used,

    under AddRemove, with n private: the median and S may depend on n, and one row added or
    removed moves the median to a neighbouring order statistic at most;
    under Replace, with n public.

Among points of even density f near the median S is about e^(b-1) / (b n f) for a smoothness b:
the error falls like 1 / n.  Proof: docs/theory/median.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from discreet.hazmat.entropy import RandomSource
from discreet.mechanisms.admissible_noise import check_delta, check_epsilon
from discreet.mechanisms.smooth_sensitivity import SmoothSensitivity
from discreet.privacy.event import ApproxEvent, PureEvent
from discreet.privacy.guarantee import ApproxDP, PureDP, Relation
from discreet.privacy.neighbours import AddRemove
from discreet.privacy.number import Number, chance, exact
from discreet.structured.medians.median_window import Grid, Window, check_relation

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.structured.medians.median_window import Values

FLOOR = 1024  # the smooth bound never falls below this part of a step, so that a fixed window suffices


@dataclass(frozen=True, kw_only=True, slots=True)
class SmoothMedian:
    """A private median of numbers between public bounds; what lies beyond is moved to them.

    The number of rows is private under AddRemove and public under Replace.  `beta` says which
    error the noise is chosen for: the one that is exceeded with this probability.

    >>> import numpy as np
    >>> from discreet.hazmat.entropy import SeededRandom
    >>> x = np.random.default_rng(0).normal(50, 10, 100_000)
    >>> median = SmoothMedian(epsilon=1.0, lower=0, upper=100, step=0.001)
    >>> bool(abs(median(x, rng=SeededRandom(1)) - np.median(x)) < 0.01)
    True
    >>> median.privacy()
    PureDP(epsilon=1.0)
    """

    epsilon: Number
    lower: Number
    upper: Number
    step: Number
    delta: Number = 0
    beta: float = 0.25
    neighbours: Relation = AddRemove

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_delta(self.delta)
        chance(self.beta)
        check_relation(self.neighbours)
        _ = self.grid

    @property
    def grid(self) -> Grid:
        """The lattice of possible answers."""
        return Grid(lower=self.lower, upper=self.upper, step=self.step)

    @property
    def mechanism(self) -> SmoothSensitivity:
        """The release of a window's median."""
        return _mechanism(exact(self.epsilon), exact(self.delta), self.beta, self.neighbours)

    @property
    def reach(self) -> int:
        """How many steps of change the smooth bound looks at; a public number."""
        width = (self.grid.last - self.grid.first) * FLOOR
        return math.ceil(math.log(width) / float(exact(self.mechanism.noise_law.smoothness)))

    def window(self, values: Values) -> Window:
        """The order statistics that decide the answer: private."""
        return Window.around(values, self.grid, reach=self.reach, neighbours=self.neighbours)

    def __call__(self, value: Values, *, rng: RandomSource | None = None) -> float:
        """The private median: a lattice point between the bounds."""
        return self.grid.value(self.mechanism(self.window(value), rng=rng))

    def releases(self, value: Values, count: int, *, rng: RandomSource | None = None) -> npt.NDArray[np.float64]:
        """`count` independent releases, for audits and pictures; as a release they would cost `count` times."""
        return self.grid.value(self.mechanism.releases(self.window(value), count, rng=rng))

    def privacy(self) -> PureDP | ApproxDP:
        """That of the noise, under the relation for which the bound is smooth."""
        return self.mechanism.privacy()

    def accuracy(self, beta: float = 0.05, *, sensitivity: Number | None = None) -> float:
        """The error at a smooth sensitivity of this size; without one nothing is known.

        >>> median = SmoothMedian(epsilon=1.0, lower=0, upper=100, step=0.01)
        >>> round(median.accuracy(0.05, sensitivity=0.1), 2)
        1.23
        """
        if sensitivity is None:
            return self.mechanism.accuracy(beta)  # which refuses: the noise depends on the data
        steps = self.mechanism.accuracy(beta, sensitivity=exact(sensitivity) / exact(self.step))
        return (steps + 0.5) * float(exact(self.step))  # rounding to the lattice moves the median by half a step

    def event(self) -> PureEvent | ApproxEvent:
        """What ran, for the accountant."""
        return self.mechanism.event()


@lru_cache(maxsize=256)
def _mechanism(epsilon: Number, delta: Number, beta: float, neighbours: Relation) -> SmoothSensitivity:
    return SmoothSensitivity(
        query=lambda window: window.median,
        smooth=lambda window, smoothness: window.smooth(smoothness),
        epsilon=epsilon,
        delta=delta,
        beta=beta,
        neighbours=neighbours,
    )
