"""One quantile of a part of the data, by the exponential mechanism over every place of a lattice.

A part is a range of places and the rows in it, a range of ranks.  With `rank_loss` for the
loss of a place, the place is drawn with probability proportional to exp(-rate loss).  Places
between two occupied ones have the same loss and form a run; only runs that the draw could
plausibly hit are built (`choose_run`), which takes a window of ranks about the quantile, so the work does not
depend on the size of the lattice.  How long it takes depends on the data a little: docs/limitations.md.
Proof: docs/theory/quantiles.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.hazmat.entropy import RandomSource
from discreet.hazmat.samplers import uniform_below
from discreet.hazmat.selection_runs import Runs, choose_run
from discreet.structured.quantiles.rank_index import CountIndex, RankIndex
from discreet.structured.quantiles.rank_spread import spread

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Listed = npt.NDArray[np.int64] | npt.NDArray[np.object_]

LARGE = 1 << 61  # beyond this 64-bit losses might wrap


@dataclass(frozen=True, slots=True)
class Part:
    """Places lower .. upper, and the rows of rank first .. after - 1, which lie there."""

    lower: int
    upper: int
    first: int
    after: int

    @property
    def places(self) -> int:
        return self.upper - self.lower + 1

    @property
    def rows(self) -> int:
        return self.after - self.first

    def split(self, place: int, rank: int) -> tuple[Part, Part]:
        """What lies to the left and to the right of a place, whose own rows are cut at a rank."""
        return Part(self.lower, place, self.first, rank), Part(place, self.upper, rank, self.after)

    def coarser(self, depth: int) -> Part:
        """The same rows on the lattice of which each point has 2^depth of these places."""
        return Part(self.lower >> depth, self.upper >> depth, self.first, self.after)


def draw(
    index: RankIndex | CountIndex,
    part: Part,
    quantile: Fraction,
    rate: Fraction,
    *,
    depth: int,
    margin: int,
    rng: RandomSource,
) -> tuple[int, int]:
    """A place, and the rank at which the rows are cut there: half of the rows at the place go to the left."""
    target = _target(part.rows, quantile, margin)
    built: dict[int, _Window] = {}

    def runs(reach: int) -> Runs:
        window = _window(index, part, quantile.denominator, target, reach, depth)
        built[0] = window
        return Runs(window.losses.tolist(), window.widths.tolist(), part.places - int(window.widths.sum()))

    chosen, _ = choose_run(runs, rate, candidates=part.places, rng=rng)
    window = built[0]
    place = int(window.starts[chosen]) + int(uniform_below(int(window.widths[chosen]), rng=rng))
    left, right = int(window.left[chosen]), int(window.right[chosen])
    return place, part.first + left + (right - left) // 2


def _target(rows: int, quantile: Fraction, margin: int) -> int:
    """T of `rank_loss`."""
    if quantile == 0:
        return min(margin, rows)
    return rows - min(margin, rows) if quantile == 1 else quantile.numerator * rows


@dataclass(frozen=True, slots=True)
class _Window:
    """Runs by loss: where each starts, how many places it has, and the rows before and up to it."""

    losses: Listed
    starts: npt.NDArray[np.int64]
    widths: npt.NDArray[np.int64]
    left: npt.NDArray[np.int64]
    right: npt.NDArray[np.int64]


def _window(index: RankIndex | CountIndex, part: Part, b: int, target: int, reach: int, depth: int) -> _Window:
    """Every run whose loss is at most `reach`, by loss and then by place."""
    import numpy as np

    first = max(0, -((reach - target) // b) - 1)  # a run on the left is needed from rank ceil((T - reach) / b) on
    after = min(part.rows, (target + reach) // b + 1)  # and on the right up to rank floor((T + reach) / b)
    if first < after:
        ranks = {"first": part.first + first, "after": part.first + after}
        points = spread(index.points(**ranks), depth, **ranks)
        before = np.clip(points.before - part.first, 0, part.rows)
        upto = np.clip(points.before + points.counts - part.first, 0, part.rows)
        inside = before < upto
        codes, before, upto = points.codes[inside], before[inside], upto[inside]
    else:
        codes = before = upto = np.empty(0, dtype=np.int64)
    ends = np.concatenate([codes, [part.upper + 1]])
    starts = np.concatenate([[part.lower], codes + 1])  # of the empty places before each occupied one, and at the end
    empty = np.concatenate([before[:1] if codes.size else [0], upto])
    starts = np.concatenate([starts, codes])
    widths = np.concatenate([ends - starts[: ends.size], np.ones(codes.size, dtype=np.int64)])
    left, right = np.concatenate([empty, before]), np.concatenate([empty, upto])
    exactly = np.int64 if b * part.rows + target + reach < LARGE else object
    low, high = left.astype(exactly), right.astype(exactly)
    losses = np.maximum(np.maximum(b * low - target, target - b * high), 0)
    kept = (losses <= reach) & (widths > 0)
    order = np.flatnonzero(kept)
    order = order[np.argsort(starts[order], kind="stable")]
    order = order[np.argsort(losses[order], kind="stable")]
    return _Window(losses[order], starts[order], widths[order], left[order], right[order])
