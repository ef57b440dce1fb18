"""Learning a threshold on 0 .. points - 1, with pure or approximate privacy.

Theorem.  Drawing the threshold t with Pr[t] proportional to exp(-rate errors(t)) among the points + 1 functions
x >= t is (epsilon, delta)-DP for rate = range where one row is added or removed, and range / 2 where one is replaced,
with `bounded_range` (range = epsilon at delta = 0).  With probability 1 - beta it errs on at most
(ln points + ln(1/beta)) / rate rows more than the best threshold, whatever the rows are.  Work depends on the
distinct rows and not on the points.  Proof: docs/theory/pac_learning.md.

Every epsilon-DP learner of thresholds needs (ln(points - 1) - ln(1 / (1/2 - beta))) / (8 epsilon alpha) rows
(Beimel, Kasiviswanathan, Nissim 2010), so the pure learner is optimal up to a constant.  With delta the dependence on
the points can be made iterated-logarithmic, at constants that lose to this draw for every 64-bit universe; what delta
buys here is the exact curve of the exponential mechanism, and it costs nothing.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Self

from discreet.errors import require
from discreet.hazmat.entropy import RandomSource
from discreet.learning.foreign_tools import refuse_tools
from discreet.learning.pac.bounded_range import bounded_range
from discreet.learning.pac.error_draw import draw_hypothesis
from discreet.learning.pac.exponential import fitted, selection
from discreet.learning.pac.hypotheses import Threshold, Thresholds, labelled, public_rows
from discreet.privacy.event import ExponentialEvent
from discreet.privacy.guarantee import ApproxDP, PureDP
from discreet.privacy.neighbours import AddRemove, Replace
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True, eq=False)
class ThresholdLearner:
    """Learn where labels turn from 0 to 1.  `fit` sets `threshold_`; rows outside the points count at the nearest end.

    >>> import numpy as np
    >>> from discreet.hazmat.entropy import SeededRandom
    >>> x = np.random.default_rng(0).integers(0, 10**9, 20_000)
    >>> learner = ThresholdLearner(10**9, epsilon=1.0)
    >>> threshold = learner.fit(x, x >= 3 * 10**8, rng=SeededRandom(1)).threshold_
    >>> abs(threshold - 3 * 10**8) < 10**6
    True
    >>> learner.privacy(), learner.accuracy(beta=0.05)
    (PureDP(epsilon=1.0), 23)
    >>> ThresholdLearner(10**9, epsilon=1.0, delta=0.01).accuracy(beta=0.05)
    20
    """

    points: int
    _: KW_ONLY
    epsilon: Number
    delta: Number = 0
    n: int | None = None
    threshold_: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        require(exact(self.epsilon) > 0, "epsilon > 0", epsilon=self.epsilon)
        require(0 <= exact(self.delta) < 1, "0 <= delta < 1", delta=self.delta)
        public_rows(self.n)
        Thresholds(self.points)

    @property
    def range(self) -> Fraction:
        """The length of the interval in which log-ratios lie: epsilon, or more where delta allows it."""
        return bounded_range(self.epsilon, self.delta)

    def fit(self, x: object, y: object, *, rng: RandomSource | None = None) -> Self:
        """Draw a threshold for these rows and truth values; `rng` is for tests."""
        refuse_tools(self)
        rows, labels = labelled(x, y, n=self.n)
        rate = selection(self.range, self.n).rate
        object.__setattr__(self, "threshold_", draw_hypothesis(Thresholds(self.points), rows, labels, rate, rng=rng))
        return self

    def predict(self, x: object) -> npt.NDArray[np.bool_]:
        """x >= threshold_."""
        return Threshold(fitted(self, "threshold_"))(x)

    def privacy(self) -> PureDP | ApproxDP:
        """(epsilon, delta), for one row added or removed, or for one row replaced where n is public."""
        neighbours = AddRemove if self.n is None else Replace
        if exact(self.delta) == 0:
            return PureDP(self.epsilon, neighbours=neighbours)
        return ApproxDP(self.epsilon, self.delta, neighbours=neighbours)

    def accuracy(self, beta: float = 0.05) -> int:
        """The least alpha with Pr[errors > least errors of a threshold + alpha] <= beta, whatever the rows are."""
        return selection(self.range, self.n).accuracy(beta, size=self.points + 1)

    def event(self) -> ExponentialEvent:
        """What ran: one exponential mechanism of this range."""
        return ExponentialEvent(epsilon=self.range)
