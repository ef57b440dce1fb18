"""One private quantile for every group, from counts on a grid.

Theorem (McSherry, Talwar 2007; Smith 2011; McKenna, Sheldon 2020).  Let adding or removing a unit
add or remove at most `rows_per_unit` rows, over all groups and cells together.  In every group
choose a cell by its rank loss (`rank_loss`), by permute-and-flip or by the exponential mechanism,
at the rate epsilon / (2 sensitivity), sensitivity = rows_per_unit max(a, b - a), q = a / b.  All
choices together are epsilon-DP: a group in which d rows change costs epsilon d / rows_per_unit.
With the exponential mechanism they are epsilon^2 / 8 - zCDP.  With probability 1 - beta the chosen
cell is at most `accuracy(beta)` rows away from the quantile, whatever the data.

A cell that stands for w lattice points (`widths`) has base measure w; a point drawn uniformly from
the chosen cell then has the law of the exponential mechanism over all points, if rows lie in cells
of width 1.  Proof: docs/theory/quantiles.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from discreet.errors import UnsupportedError, require
from discreet.hazmat.entropy import RandomSource, source
from discreet.hazmat.selection_rows import gaps_of, permute_and_flip_rows, softmax_rows
from discreet.mechanisms.exponential import Exponential, rate
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.privacy.event import ExponentialEvent, PureEvent
from discreet.privacy.guarantee import PureDP
from discreet.privacy.neighbours import AddRemove
from discreet.privacy.number import Number, exact, up
from discreet.structured.quantiles.rank_loss import grid_counts, quantile_fraction, rank_loss, row_sensitivity

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Method = Literal["permute_and_flip", "exponential"]
BLOCK = 1 << 17  # cells at a time
MISSED = 0.05  # how likely a released minimum may lie below every row


@dataclass(frozen=True, kw_only=True, slots=True)
class GridQuantile:
    """The index of the cell that holds a quantile, for each group of counts.

    Quantile 0 is the minimum and 1 the maximum: the release aims `margin` rows inward, so that the
    cells that hold no rows do not swamp it.

    >>> from discreet.hazmat.entropy import SeededRandom
    >>> median = GridQuantile(quantile=0.5, epsilon=1, size=5)
    >>> median([[0, 10, 80, 10, 0], [0, 0, 0, 9, 90]], rng=SeededRandom(7))
    array([2, 4])
    >>> median.privacy()
    PureDP(epsilon=1.0)
    >>> median.accuracy(beta=0.05)  # rows
    3.5
    """

    quantile: Number
    epsilon: Number
    size: int
    rows_per_unit: int = 1
    method: Method = "permute_and_flip"
    widths: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        quantile_fraction(self.quantile)
        require(exact(self.epsilon) > 0, "epsilon > 0", epsilon=self.epsilon)
        for name in ("size", "rows_per_unit"):
            value = getattr(self, name)
            whole = isinstance(value, int) and not isinstance(value, bool)
            require(whole and value >= 1, f"an integer {name} >= 1", **{name: value})
        known = self.method in ("permute_and_flip", "exponential")
        require(known, "method permute_and_flip or exponential", method=self.method)
        if self.widths is not None:
            _check_widths(self.widths, self.size)
            if self.method != "exponential":
                raise UnsupportedError("cells of different widths are weighted; pass method='exponential'")

    @property
    def sensitivity(self) -> int:
        """The most that one unit moves a loss, over all groups together: rows_per_unit max(a, b - a)."""
        return self.rows_per_unit * row_sensitivity(quantile_fraction(self.quantile))

    @property
    def rate(self) -> Fraction:
        """What a point of loss is worth: epsilon / (2 sensitivity)."""
        return rate(self.epsilon, self.sensitivity, monotone=False)

    @property
    def margin(self) -> int:
        """How many rows inward the minimum and the maximum aim; 0 for other quantiles."""
        return self._selection_accuracy(MISSED) if quantile_fraction(self.quantile) in (0, 1) else 0

    def __call__(self, counts: object, *, rng: RandomSource | None = None) -> int | npt.NDArray[np.int64]:
        """One index a group: an int for one row of counts, an array for an array of them, all in one release."""
        import numpy as np

        table = grid_counts(counts, size=self.size)
        groups, random = table.reshape(-1, self.size), source(rng)
        chosen = np.empty(len(groups), dtype=np.int64)
        step = max(1, BLOCK // self.size)
        for start in range(0, len(groups), step):  # a block at a time: what it needs stays in the cache
            block = slice(start, start + step)
            chosen[block] = self._choose(groups[block], random)
        return chosen.reshape(table.shape[:-1]) if table.ndim > 1 else int(chosen[0])

    def _choose(self, groups: npt.NDArray[np.int64], rng: RandomSource) -> npt.NDArray[np.int64]:
        import numpy as np

        gaps = gaps_of(rank_loss(groups, quantile_fraction(self.quantile), margin=self.margin))
        if self.method == "permute_and_flip":
            return permute_and_flip_rows(gaps, self.rate, rng=rng)
        widths = None if self.widths is None else np.array(self.widths, dtype=np.int64)
        return softmax_rows(gaps, self.rate, widths=widths, rng=rng)

    def releases(self, counts: object, count: int, *, rng: RandomSource | None = None) -> npt.NDArray[np.int64]:
        """`count` independent choices for one group, for audits; as a release they would cost `count` times."""
        import numpy as np

        table = grid_counts(counts, size=self.size)
        require(table.ndim == 1, "one group of counts", axes=table.ndim)
        return np.asarray(self(np.broadcast_to(table, (count, self.size)), rng=rng))

    def losses(self, counts: object) -> npt.NDArray[np.int64] | npt.NDArray[np.object_]:
        """The rank loss of every cell: private, for audits and pictures."""
        table = grid_counts(counts, size=self.size)
        return rank_loss(table, quantile_fraction(self.quantile), margin=self.margin)

    def probabilities(self, counts: object) -> npt.NDArray[np.float64]:
        """The law of the choice for one group, in floating point.

        >>> GridQuantile(quantile=0.5, epsilon=1, size=3).probabilities([1, 2, 1]).round(4)
        array([0.1614, 0.6772, 0.1614])
        """
        import numpy as np

        law = self._selection.probabilities(-self.losses(counts))
        if self.widths is None:
            return law
        weighted = law * np.array(self.widths, dtype=np.float64)
        return weighted / weighted.sum()

    def privacy(self) -> PureDP:
        """epsilon, for all groups together."""
        return PureDP(self.epsilon, neighbours=AddRemove)

    def accuracy(self, beta: float = 0.05, *, size: int = 1) -> float:
        """Rows between the quantile and the nearest rank in the chosen cell, for all of `size` groups at once.

        For the minimum and the maximum this is the number of rows left out, at most, on the outside.
        """
        require(0 < beta < 1, "0 < beta < 1", beta=beta)
        require(isinstance(size, int) and not isinstance(size, bool) and size >= 1, "size >= 1", size=size)
        one = -math.expm1(math.log1p(-beta) / size)
        rows = Fraction(self._selection_accuracy(one), quantile_fraction(self.quantile).denominator)
        return up(rows + self.margin)

    def event(self) -> ExponentialEvent | PureEvent:
        """What ran: one exponential mechanism, or some epsilon-DP mechanism."""
        made = ExponentialEvent if self.method == "exponential" else PureEvent
        return made(epsilon=self.epsilon)

    @property
    def _selection(self) -> Exponential | PermuteAndFlip:
        made = Exponential if self.method == "exponential" else PermuteAndFlip
        return made(epsilon=self.epsilon, sensitivity=self.sensitivity)

    def _selection_accuracy(self, beta: float) -> int:
        points = self.size if self.widths is None else sum(self.widths)
        return self._selection.accuracy(beta, size=points)


def _check_widths(widths: tuple[int, ...], size: int) -> None:
    """Widths are public: whole numbers of lattice points, at least one in each cell."""
    require(
        isinstance(widths, tuple) and len(widths) == size, f"a tuple of {size} widths", widths=type(widths).__name__
    )
    whole = all(isinstance(width, int) and not isinstance(width, bool) and width >= 1 for width in widths)
    require(whole and sum(widths) < 1 << 62, "integer widths >= 1, below 2^62 in all", cells=size)
