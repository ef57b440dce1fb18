"""Sample and aggregate: any statistic, as a black box, without a bound on its sensitivity.

Theorem (Nissim, Raskhodnikova, Smith 2007; Smith 2011).  Send every row to one of k blocks by
randomness that does not look at the data, compute the statistic on each block, and release
the k results through a mechanism M that is private under
Replace for k values.  Whatever the statistic does, one row of the data changes one result at
most, so the whole has M's guarantee under AddRemove (n private) and under Replace alike.

Blocks by position would not do under AddRemove: a removed row moves all the later ones.
A block on which the statistic raises, or returns no finite number, counts as a public one.
Proof: docs/theory/sample_and_aggregate.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.errors import UnsupportedError, require
from discreet.hazmat.entropy import RandomSource
from discreet.hazmat.samplers import uniform_below
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.smooth_sensitivity import name_of
from discreet.privacy.event import ApproxEvent, Event, PureEvent
from discreet.privacy.guarantee import ApproxDP, Guarantee, PureDP, Relation
from discreet.privacy.neighbours import AddRemove, NullRow, Replace
from discreet.privacy.number import Number, down, exact, up

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Rows = npt.NDArray[Any]
    Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class SampleAndAggregate:
    """A private estimate of `statistic`, from its values on `blocks` random parts of the data.

    The rows are those of a numpy array; the statistic gets an array of some of them and returns a
    number, and where it fails the block counts as `fallback`.  `aggregate` is a mechanism on
    `blocks` numbers: a median under Replace, whose epsilon is that of the whole.  One that is
    private under AddRemove costs twice its epsilon here.

    >>> import numpy as np
    >>> rows = np.random.default_rng(0).normal(0, 1, (20_000, 2))
    >>> from discreet.structured.medians.smooth_median import SmoothMedian
    >>> median = SmoothMedian(epsilon=1, lower=0, upper=10, step=0.001, neighbours=Replace)
    >>> spread = SampleAndAggregate(statistic=lambda part: np.std(part[:, 1]), blocks=100, aggregate=median)
    >>> abs(spread(rows) - 1) < 0.5, spread.privacy()
    (True, PureDP(epsilon=1.0))
    """

    statistic: Callable[[Any], float]
    blocks: int
    aggregate: Mechanism
    fallback: Number = 0.0
    neighbours: Relation = AddRemove

    def __post_init__(self) -> None:
        require(callable(self.statistic), "a function as statistic", statistic=self.statistic)
        whole = isinstance(self.blocks, int) and not isinstance(self.blocks, bool)
        require(whole and self.blocks >= 1, "a whole number of blocks >= 1", blocks=self.blocks)
        require(isinstance(self.aggregate, Mechanism), "a mechanism as aggregate", aggregate=self.aggregate)
        fits = all(math.isfinite(side(self.fallback)) for side in (down, up))
        require(fits, "a fallback that fits a float", fallback=self.fallback)
        if self.neighbours not in (AddRemove, Replace, NullRow):
            raise UnsupportedError("sample and aggregate is for datasets of rows: AddRemove, Replace or NullRow")
        _ = self.privacy()

    def _cost(self) -> Guarantee:
        """The aggregate's guarantee when one of its values changes."""
        cost = self.aggregate.privacy()
        if cost.neighbours is None:
            raise UnsupportedError("the aggregate must name its neighbour relation: AddRemove, NullRow or Replace")
        return cost.to_replace()

    def results(self, rows: Rows, *, rng: RandomSource | None = None) -> Floats:
        """The statistic of each block: private."""
        import numpy as np

        # one row of a list could set the type of all, and so change every block
        require(isinstance(rows, np.ndarray), "a numpy array of rows", rows=type(rows).__name__)
        require(rows.ndim >= 1, "an array of rows", dimensions=rows.ndim)
        block = np.asarray(uniform_below(self.blocks, shape=(len(rows),), rng=rng))
        order = np.argsort(block, kind="stable")
        ends = np.searchsorted(block[order], np.arange(1, self.blocks))
        return np.array([self._result(part) for part in np.split(rows[order], ends)])

    def _result(self, part: Rows) -> float:
        try:
            value = float(self.statistic(part))
        except Exception:  # that it failed may depend on one row, so nothing of it may show
            value = math.nan
        return value if math.isfinite(value) else float(exact(self.fallback))

    def __call__(self, value: Rows, *, rng: RandomSource | None = None) -> float:
        """The private estimate."""
        return self.aggregate(self.results(value, rng=rng), rng=rng)

    def privacy(self) -> Guarantee:
        """The aggregate's guarantee under Replace, which holds for the rows under their own relation."""
        match self._cost():
            case PureDP(epsilon=epsilon):
                return PureDP(epsilon, neighbours=self.neighbours)
            case ApproxDP(epsilon=epsilon, delta=delta):
                return ApproxDP(epsilon, delta, neighbours=self.neighbours)
            case other:
                raise UnsupportedError(f"no aggregate with a {type(other).__name__} guarantee")

    def accuracy(self, beta: float = 0.05) -> float:
        """That of the aggregate, as an estimate of the blocks' median; how far that is from the truth is statistics."""
        return self.aggregate.accuracy(beta)

    def event(self) -> Event:
        """What ran, for the accountant."""
        match self.privacy():
            case ApproxDP(epsilon=epsilon, delta=delta):
                return ApproxEvent(epsilon=epsilon, delta=delta)
            case cost:
                return PureEvent(epsilon=cost.epsilon)  # type: ignore[attr-defined]

    def __repr__(self) -> str:
        return (
            f"SampleAndAggregate(statistic={name_of(self.statistic)}, blocks={self.blocks},"
            f" aggregate={self.aggregate!r}, fallback={self.fallback!r})"
        )
