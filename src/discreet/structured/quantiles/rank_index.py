"""Where the rows of given ranks lie on a lattice, without sorting them all.

One pass counts the numbers in at most 2^16 coarse cells.  Which lattice points hold the rows
of rank r0 .. r1 is then found by one more pass over the numbers, which looks into the coarse cells
that hold those ranks and no others.  Time is linear in n, whatever the lattice.  `CountIndex` is
the same for counts on a grid.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from discreet.errors import ParameterError
from discreet.hazmat.bad_values import listed, nearest_float, settle

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]
    Reals = npt.NDArray[np.float64]

COARSE = 16  # bits: 2^16 counters stay in the cache
DENSE = 1 << 22  # lattice points that are counted one by one
FEW = 1 << 16  # rows that are sorted at once


class Points(NamedTuple):
    """Occupied lattice points in order, how many rows each holds, and how many rows lie before each."""

    codes: Ints
    counts: Ints
    before: Ints


def reals(values: object) -> Reals:
    """One row of numbers in double precision; those that are none are left out.

    >>> import numpy as np
    >>> reals([3, "a", None, float("nan")])
    array([3.])
    >>> reals(np.array(["a"]))
    Traceback (most recent call last):
    discreet.errors.ParameterError: need one row of numbers, got an array of <U1
    """
    import numpy as np

    array = np.asarray(values) if not isinstance(values, (list, tuple)) else _fast(values)
    if array.ndim != 1 or array.dtype.kind not in "iufO":
        what = f"an array of {array.dtype}" if array.ndim == 1 else f"{array.ndim} axes"
        raise ParameterError(f"need one row of numbers, got {what}")
    found = settle(array, null=None)  # n is private: what is no number is not there
    if found.dtype == object:  # numpy has no type for whole numbers beyond 64 bits
        found = np.array([nearest_float(value) for value in found], dtype=np.float64)
    return np.nan_to_num(np.ascontiguousarray(found, dtype=np.float64), copy=False)  # beyond doubles: the largest


def _fast(values: list[Any] | tuple[Any, ...]) -> npt.NDArray[Any]:
    """At once where all are of types that become the same floats one by one; else each by itself.

    Numbers of single or extended precision do not: one NULL among them would have changed all the others.
    """
    import numpy as np

    return np.asarray(values) if set(map(type, values)) <= {int, float, np.float64} else listed(values)


@dataclass(slots=True)
class RankIndex:
    """The ranks of numbers on the lattice lower + step {0, 1, .., size - 1}; numbers outside count at its ends.

    >>> import numpy as np
    >>> index = RankIndex(np.array([2.0, 0.5, 0.5, 9.0]), lower=0.0, step=0.5, size=11)
    >>> index.points(0, 4)
    Points(codes=array([ 1,  4, 10]), counts=array([2, 1, 1]), before=array([0, 2, 3]))
    """

    values: Reals
    lower: float
    step: float
    size: int
    shift: int = field(init=False)
    starts: Ints = field(init=False)  # rows before each coarse cell
    _found: list[Points] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        import numpy as np

        from discreet.structured.quantiles import rank_kernels

        self.shift = max(0, (self.size - 1).bit_length() - COARSE)
        counts = np.zeros(((self.size - 1) >> self.shift) + 1, dtype=np.int64)
        bad = rank_kernels.coarse(self.values, *self._frame(), self.shift, counts)
        assert bad == 0  # `reals` leaves none
        self.starts = np.concatenate([[0], np.cumsum(counts)])

    def _frame(self) -> tuple[float, float, float]:
        return self.lower, 1 / self.step, float(self.size - 1)

    @property
    def rows(self) -> int:
        """n: private."""
        return int(self.starts[-1])

    def points(self, first: int, after: int) -> Points:
        """The occupied points that hold the rows of rank first .. after - 1, whole."""
        for found in self._found:
            if found.before[0] <= first and after <= found.before[-1] + found.counts[-1]:
                return _cut(found, first, after)
        found = self._look(0, self.rows) if self.rows <= FEW else self._look(first, after)
        self._found.append(found)
        return _cut(found, first, after)

    def _look(self, first: int, after: int) -> Points:
        """One pass over the numbers, for the coarse cells that hold these ranks."""
        import numpy as np

        from discreet.structured.quantiles import rank_kernels

        one = int(np.searchsorted(self.starts, first, side="right")) - 1
        end = int(np.searchsorted(self.starts, after, side="left"))
        low, high = one << self.shift, min(end << self.shift, self.size)
        if self.shift == 0:
            counts = np.diff(self.starts[one : end + 1])
        elif high - low <= DENSE and self.rows > FEW:
            counts = np.zeros(high - low, dtype=np.int64)
            rank_kernels.fine(self.values, *self._frame(), low, counts)
        else:
            codes = np.empty(int(self.starts[end] - self.starts[one]), dtype=np.int64)
            rank_kernels.gather(self.values, *self._frame(), low, high, codes)
            codes, counts = np.unique(codes, return_counts=True)
            return Points(codes, counts, self.starts[one] + np.cumsum(counts) - counts)
        held = np.flatnonzero(counts)
        return Points(held + low, counts[held], self.starts[one] + np.cumsum(counts[held]) - counts[held])


@dataclass(frozen=True, slots=True)
class CountIndex:
    """The ranks of rows counted on a grid.

    >>> import numpy as np
    >>> CountIndex(np.array([0, 2, 0, 1])).points(0, 3)
    Points(codes=array([1, 3]), counts=array([2, 1]), before=array([0, 2]))
    """

    counts: Ints

    @property
    def rows(self) -> int:
        """n: private."""
        return int(self.counts.sum())

    def points(self, first: int, after: int) -> Points:
        """The occupied cells that hold the rows of rank first .. after - 1, whole."""
        import numpy as np

        held = np.flatnonzero(self.counts)
        counts = self.counts[held]
        return _cut(Points(held, counts, np.cumsum(counts) - counts), first, after)


def _cut(points: Points, first: int, after: int) -> Points:
    """Only the points that hold a row of rank first .. after - 1."""
    import numpy as np

    low = int(np.searchsorted(points.before, first, side="right")) - 1
    high = int(np.searchsorted(points.before, after, side="left"))
    return Points(*(part[low:high] for part in points))
