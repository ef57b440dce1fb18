"""The order statistics around a median, and what follows from them about its sensitivity.

Let x_1 <= ... <= x_n be integers in L .. U, with x_i = L for i < 1 and U for i > n, and let
the median be x_m, m = ceil(n / 2).  LS_k is the largest local sensitivity within k steps.

    AddRemove   LS_k = x_(t+1+q) - x_(t-p),  t = floor(n / 2),  p + q = k,
                p = ceil(k/2) and q = floor(k/2) if n is even, the other way round if it is odd
    Replace     LS_k = max over i <= m <= j with j - i - 1 <= k of x_j - x_i      (n is public)

Theorem.  For every `reach` K, max(e^(-b (K+1)) (U - L), max over k <= K of e^(-b k) LS_k) is a
b-smooth bound on the local sensitivity, and min(K + 1, least k with LS_k > B) is a distance as
propose-test-release needs it.  Both look at O(K) order statistics around the median only,
which are selected in O(n).  Proof: docs/theory/median.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.errors import UnsupportedError, require
from discreet.hazmat.bad_values import listed, settle
from discreet.hazmat.lattice import TINY, Lattice
from discreet.privacy.guarantee import Relation
from discreet.privacy.neighbours import AddRemove, Replace
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Values = list[float] | tuple[float, ...] | npt.NDArray[Any]
    Codes = npt.NDArray[np.int64]

WIDEST = 1 << 50  # lattice points: their differences are exact in floats
OUTWARD = 1 + Fraction(1, 2**38)  # what exp and two products may be off by, relatively, in floats


@dataclass(frozen=True, kw_only=True, slots=True)
class Grid:
    """The lattice points lower, lower + step, .., up to the upper bound; values beyond are moved to the nearest.

    >>> import numpy as np
    >>> grid = Grid(lower=0, upper=100, step=0.01)
    >>> grid.first, grid.last, grid.value(1234)
    (0, 10000, 12.34)
    >>> Grid(lower=0.5, upper=2.7, step=1).value(np.arange(-9, 9)).tolist()[8:12]
    [0.5, 0.5, 1.5, 2.5]
    """

    lower: Number
    upper: Number
    step: Number

    def __post_init__(self) -> None:
        require(exact(self.step) > 0, "step > 0", step=self.step)
        require(exact(self.lower) < exact(self.upper), "lower < upper", lower=self.lower, upper=self.upper)
        size = self.last - self.first
        require(1 <= size <= WIDEST, "2 to 2^50 lattice points between the bounds", step=self.step)

    @property
    def first(self) -> int:
        """The least lattice point, in steps from the origin."""
        return math.floor(exact(self.lower) / exact(self.step))

    @property
    def last(self) -> int:
        """The greatest lattice point, in steps from the origin."""
        return self.first + math.floor((exact(self.upper) - exact(self.lower)) / exact(self.step))

    @property
    def origin(self) -> Fraction:
        """The lattice point next to 0 from above: 0 where the lower bound is a multiple of the step."""
        return exact(self.lower) - self.first * exact(self.step)

    def value(self, codes: Any) -> Any:  # noqa: ANN401 - a float for an int, an array for an array
        """Steps as numbers, after moving what lies beyond the bounds to the nearest one."""
        import numpy as np

        if isinstance(codes, int):
            return float(max(self.first, min(self.last, codes)) * exact(self.step) + self.origin)
        inside, origin = np.clip(codes, self.first, self.last), self.origin
        if not origin:
            return Lattice(self.step).value(inside)
        points = [float(int(code) * exact(self.step) + origin) for code in inside.flat]
        return np.array(points, dtype=np.float64).reshape(inside.shape)

    def indices(self, values: npt.NDArray[Any]) -> Codes:
        """The nearest lattice point of each value, halves upward, in steps from the origin: exactly."""
        import numpy as np

        if values.dtype == object:  # floats at once, which gives each what it would get alone
            floats = np.array([isinstance(value, float) for value in values], dtype=bool)
            made = np.empty(values.size, dtype=np.int64)
            made[floats], made[~floats] = self.indices(values[floats].astype(np.float64)), self._moved(values[~floats])
            return made
        if not self.origin:
            return np.clip(np.asarray(Lattice(self.step).index(values)), self.first, self.last)
        if values.dtype.kind != "f":
            return np.array(self._moved(values), dtype=np.int64)
        with np.errstate(all="ignore"):  # whatever overflows is unclear
            step, origin = float(exact(self.step)), float(self.origin)
            quotient = (values.astype(np.float64) - origin) / step + 0.5
            found = np.floor(quotient)
            margin = (np.abs(values.astype(np.float64)) + origin) / step * 2.0**-48 + 2.0**-48
            clear = (quotient - found > margin) & (found + 1 - quotient > margin) & (np.abs(quotient) < WIDEST)
        clear &= TINY < exact(self.step) < 1 / TINY  # else the float of the step may be far from it
        made = np.clip(np.where(clear, found, 0).astype(np.int64), self.first, self.last)
        made[~clear] = self._moved(values[~clear])
        return made

    def _moved(self, values: npt.NDArray[Any]) -> list[int]:
        return [max(self.first, min(self.last, self._nearest(value))) for value in values.tolist()]

    def _nearest(self, value: Number) -> int:
        return math.floor((exact(value) - self.origin) / exact(self.step) + Fraction(1, 2))

    def order_statistics(self, values: npt.NDArray[Any], first: int, last: int) -> Codes:
        """x_first .. x_last in steps, counted from 1, with the bounds beyond the ends."""
        import numpy as np

        n = values.size
        low, high = max(first, 1), min(last, n)
        out = np.empty(last - first + 1, dtype=np.int64)
        out[: low - first], out[high - first + 1 :] = self.first, self.last
        mixed = values.dtype == object  # the float 0.3 is below 0.29999999999999999, and counts as 0.3: rounded first
        values = self.indices(values) if mixed else values
        if low <= high:
            part = np.sort(np.partition(values, [low - 1, high - 1])[low - 1 : high])
            out[low - first : high - first + 1] = part if mixed else self.indices(part)
        return out


def numbers(values: Values, *, null: Number | None) -> npt.NDArray[Any]:
    """A row of finite numbers, as an array; of a list each stays as it is, since one would set the type of all.

    What is no number is dropped where `null` is None, and else counts as that.

    >>> numbers([2**60 + 1, 0.5, float("nan")], null=None)
    array([1152921504606846977, 0.5], dtype=object)
    """
    import numpy as np

    public = listed(values) if isinstance(values, (list, tuple)) else np.asarray(values)
    require(public.ndim == 1, "one row of numbers", dimensions=public.ndim)
    return settle(public, null=null) if public.size or public.dtype.kind in "iufO" else np.empty(0)


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """The order statistics around the median that a bound with this `reach` looks at.

    >>> import numpy as np
    >>> grid = Grid(lower=0, upper=10, step=1)
    >>> window = Window.around(np.array([0, 4, 5, 6, 10]), grid, reach=5, neighbours=Replace)
    >>> window.median, [window.local(k) for k in range(3)], round(float(window.smooth(Fraction(1, 2))), 6)
    (5, [1, 5, 6], 3.032653)
    >>> window.distance(5)
    2
    """

    median: int
    left: Codes  # x_c, x_(c-1), ...: c = t under AddRemove, m under Replace
    right: Codes  # x_(t+1), x_(t+2), ..., or x_m, x_(m+1), ...
    even: bool
    reach: int
    width: int  # U - L
    neighbours: Relation

    @classmethod
    def around(cls, values: Values, grid: Grid, *, reach: int, neighbours: Relation) -> Window:
        """Select what is needed in O(n)."""
        array = numbers(values, null=None if neighbours is AddRemove else grid.lower)
        n, even = array.size, array.size % 2 == 0
        if neighbours is AddRemove:
            centre, arm = n // 2, (reach + 1) // 2
            found = grid.order_statistics(array, centre - arm, centre + 1 + arm)
            left, right = found[arm::-1], found[arm + 1 :]
            median = left[0] if even else right[0]
        else:
            require(n >= 1, "at least one row under Replace", rows="none")
            centre, arm = (n + 1) // 2, reach + 1
            found = grid.order_statistics(array, centre - arm, centre + arm)
            left, right, median = found[arm::-1], found[arm:], found[arm]
        return cls(int(median), left, right, even, reach, grid.last - grid.first, neighbours)

    def local(self, k: int) -> int:
        """LS_k, for k up to the reach."""
        if self.neighbours is AddRemove:
            return int(self._gaps()[k])
        i = k + 1 - range_of(k + 2)
        return int((self.right[: k + 2] - self.left[i]).max())

    def _gaps(self) -> Codes:
        """LS_0 .. LS_reach under AddRemove."""
        k = range_of(self.reach + 1)
        down, up = (k + 1) // 2, k // 2
        return self.right[up] - self.left[down] if self.even else self.right[down] - self.left[up]

    def smooth(self, smoothness: Fraction) -> Fraction:
        """A b-smooth bound on the local sensitivity, rounded up by a 2^-37 part at most."""
        import numpy as np

        b = float(smoothness)
        least = self.width * math.exp(-b * (self.reach + 1))
        if self.neighbours is AddRemove:
            best = float((self._gaps() * np.exp(-b * range_of(self.reach + 1))).max())
        else:
            best = _widest(self.left, self.right, np.exp(-b * range_of(2 * self.reach + 3)))
        return Fraction(max(best, least)) * OUTWARD

    def distance(self, bound: int) -> int:
        """The least k with LS_k > bound, or reach + 1."""
        import numpy as np

        if self.neighbours is AddRemove:
            return int(np.searchsorted(self._gaps(), bound, side="right"))
        first = np.searchsorted(self.right, self.left + bound, side="right")  # the first j with x_j > x_i + bound
        steps = first + range_of(self.left.size) - 1  # j - i - 1
        return min(self.reach + 1, int(steps[first < self.right.size].min(initial=self.reach + 1)))


def range_of(count: int) -> Codes:
    """0 .. count - 1."""
    import numpy as np

    return np.arange(count)


def _widest(left: Codes, right: Codes, weights: npt.NDArray[np.float64]) -> float:
    """max over i, j of (right[j] - left[i]) weights[i + j - 1], by divide and conquer on i.

    The best j falls as i (counted downward from the median) grows: docs/theory/median.md.
    """
    best, tasks = 0.0, [(0, left.size - 1, 0, right.size - 1)]
    while tasks:
        a, b, low, high = tasks.pop()
        if a > b:
            continue
        i = (a + b) // 2
        start = max(low, 1) if i == 0 else low  # i = j = 0 is the median itself, with no gap
        j = low
        if start <= high:
            values = (right[start : high + 1] - left[i]) * weights[i + start - 1 : i + high]
            j = start + int(values.argmax())
            best = max(best, float(values[j - start]))
        tasks += [(a, i - 1, j, high), (i + 1, b, low, j)]
    return best


def check_relation(neighbours: Relation) -> None:
    """The relations for which the theorems above are proven."""
    if neighbours not in (AddRemove, Replace):
        raise UnsupportedError("the sensitivity of a median is known under AddRemove and under Replace with n public")
