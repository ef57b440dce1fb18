"""A private value that is below (or above) a quantile for sure, nearly: one end of an error bar.

Let rows be counted on a grid, n in all, L_j of them in cells before cell j and R_j up to it.  For the lower
end of the quantile q = a / b aim s rows low, T = a n - b s, and add one candidate below the grid:

    loss_below = max(0, T)          loss_j = max(0, b L_j - T, T - b R_j)

Theorem.  (1) Adding or removing a row moves every loss by at most max(a, b - a), so that choosing by
these losses at the rate epsilon / (2 sensitivity), sensitivity = rows_per_unit max(a, b - a), is
epsilon-DP for all groups together.  (2) Let the choice be within A of the least loss with probability
1 - beta, and b s > A, or b s >= A for q = 0.  Then, whatever the data and however few rows there are, with
probability 1 - beta the candidate below the grid is chosen, or a cell with L_j < q n (L_j = 0 for q = 0):
none above the cell of any quantile, be it the lower one, the upper one or a value between them.

Proof.  (1) A row moves a n by a, and b L_j, b R_j by 0 or b together with or without it: each
difference moves by a, or by b - a, at most; a maximum moves no more than its arguments.  (2) Some
candidate has loss zero: the one below if T <= 0, else a cell with b L_j <= T <= b R_j, since
T <= b n.  A chosen cell then has b L_j - T <= A, so b L_j <= a n - b s + A, which is less than a n, or at most 0.
The upper end is the mirror image.  Also: docs/theory/quantile_bound.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from discreet.errors import require
from discreet.hazmat.entropy import RandomSource
from discreet.hazmat.selection_rows import gaps_of, permute_and_flip_rows, softmax_rows
from discreet.mechanisms.exponential import Exponential, rate
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.privacy.event import ExponentialEvent, PureEvent
from discreet.privacy.guarantee import PureDP
from discreet.privacy.neighbours import AddRemove
from discreet.privacy.number import Number, chance, exact
from discreet.structured.quantiles.rank_loss import LARGE, grid_counts, quantile_fraction, row_sensitivity

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.structured.quantiles.rank_loss import Losses


@dataclass(frozen=True, kw_only=True, slots=True)
class QuantileBound:
    """A cell at or below the one that holds a quantile (at or above it, for the high end), for each group of counts.

    -1 stands for "below the grid", `size` for "above it": nothing better could be said.

    >>> from discreet.hazmat.entropy import SeededRandom
    >>> low = QuantileBound(quantile=0.5, end="low", epsilon=1, size=5)
    >>> low([[0, 10, 80, 10, 0], [0, 0, 2, 0, 0]], rng=SeededRandom(1))
    array([ 2, -1])
    >>> low.privacy()
    PureDP(epsilon=1.0)
    """

    quantile: Number
    end: Literal["low", "high"]
    epsilon: Number
    size: int
    rows_per_unit: int = 1
    beta: float = 0.025
    method: Literal["permute_and_flip", "exponential"] = "permute_and_flip"

    def __post_init__(self) -> None:
        quantile_fraction(self.quantile)
        require(self.end in ("low", "high"), "end low or high", end=self.end)
        require(exact(self.epsilon) > 0, "epsilon > 0", epsilon=self.epsilon)
        chance(self.beta)
        for name in ("size", "rows_per_unit"):
            value = getattr(self, name)
            whole = isinstance(value, int) and not isinstance(value, bool)
            require(whole and value >= 1, f"an integer {name} >= 1", **{name: value})
        known = self.method in ("permute_and_flip", "exponential")
        require(known, "method permute_and_flip or exponential", method=self.method)

    @property
    def sensitivity(self) -> int:
        """The most that one unit moves a loss, over all groups together."""
        return self.rows_per_unit * row_sensitivity(quantile_fraction(self.quantile))

    @property
    def _selection(self) -> Exponential | PermuteAndFlip:
        made = Exponential if self.method == "exponential" else PermuteAndFlip
        return made(epsilon=self.epsilon, sensitivity=self.sensitivity)

    @property
    def shift(self) -> int:
        """s: how many rows outward it aims, the least with b s > A; at the outermost quantile, with b s >= A."""
        share = quantile_fraction(self.quantile)
        outermost = share == (0 if self.end == "low" else 1)
        reach = int(self._selection.accuracy(self.beta, size=self.size + 1)) + (not outermost)
        return -(-reach // share.denominator)

    @property
    def rate(self) -> Fraction:
        """What a point of loss is worth: epsilon / (2 sensitivity)."""
        return rate(self.epsilon, self.sensitivity, monotone=False)

    def losses(self, counts: object) -> Losses:
        """The loss of the candidate outside the grid, then of every cell from that side on: private."""
        import numpy as np

        table, share = grid_counts(counts, size=self.size), quantile_fraction(self.quantile)
        if self.end == "high":  # the mirror image
            table, share = table[..., ::-1], 1 - share
        a, b = share.numerator, share.denominator
        largest = float(table.sum(axis=-1, dtype=np.float64).max(initial=0.0))
        if b * (largest + self.shift) >= LARGE:
            table = table.astype(object)
        upto = np.cumsum(table, axis=-1)
        target = a * upto[..., -1:] - b * self.shift
        inside = np.maximum(np.maximum(b * (upto - table) - target, target - b * upto), 0)
        return np.concatenate([np.maximum(target, 0), inside], axis=-1)

    def __call__(self, counts: object, *, rng: RandomSource | None = None) -> int | npt.NDArray[np.int64]:
        """One index a group, from -1 to `size`."""
        losses = self.losses(counts)
        gaps = gaps_of(losses.reshape(-1, self.size + 1))
        draw = permute_and_flip_rows if self.method == "permute_and_flip" else softmax_rows
        chosen = draw(gaps, self.rate, rng=rng) - 1
        if self.end == "high":
            chosen = self.size - 1 - chosen
        return chosen.reshape(losses.shape[:-1]) if losses.ndim > 1 else int(chosen[0])

    def privacy(self) -> PureDP:
        """epsilon, for all groups together."""
        return PureDP(self.epsilon, neighbours=AddRemove)

    def accuracy(self, beta: float = 0.05, *, size: int = 1) -> float:
        """How many rows outside the quantile it may be: the shift and the error of the choice."""
        require(0 < beta < 1, "0 < beta < 1", beta=beta)
        require(isinstance(size, int) and not isinstance(size, bool) and size >= 1, "size >= 1", size=size)
        rows = self._selection.accuracy(beta / size, size=self.size + 1)
        return float(self.shift + Fraction(int(rows), quantile_fraction(self.quantile).denominator))

    def event(self) -> ExponentialEvent | PureEvent:
        """What ran: one exponential mechanism, or some epsilon-DP mechanism."""
        made = ExponentialEvent if self.method == "exponential" else PureEvent
        return made(epsilon=self.epsilon)
