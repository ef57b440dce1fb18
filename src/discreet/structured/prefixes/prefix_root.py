"""All prefixes of a list of counts by the square root of the matrix of ones, with steps for coefficients.

Theorem.  Measure the integers h_t = a_0 x_t + a_1 x_(t-1) + ... for coefficients that do not increase, constant on
ever longer runs of lags: a_k = round(unit f) with f = C(2k, k) / 4^k in the middle of the run of k.  With the running
sums P of x, h_t is the sum over runs j of (a in run j - a in run j - 1) P_(t - start of j), all in integers.  One
count that moves by 1 moves h by at most sum of a_k in l1 and sum of a_k^2 in squared l2; two counts that move by 1 in
opposite directions, by at most twice that.  Solving for P_t, one t after another, gives unbiased prefixes.

The columns of late cells are shorter.  Up to 2048 cells each is multiplied by a whole number so that all are nearly as
long as the first, and its estimate is divided by it: the noise of no prefix is more than 6 percent above the least.
Proof: docs/theory/prefix.md.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    IntArray = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]

UNIT = 1 << 20
GAIN = 10  # bits of a gain
GAINED = 2048  # cells, up to which the factors of all noise in all prefixes are listed
EXACT = 12  # lags with a coefficient of their own
GROWTH = 1.3  # of the lags at which the coefficient changes


@dataclass(frozen=True)
class SteppedRoot:
    """The square root of the triangle of ones over `size` cells.

    >>> root = SteppedRoot(64)
    >>> round(root.multiplier, 2), round(SteppedRoot(64, gain=False).multiplier, 2)
    (2.21, 2.39)
    """

    size: int
    gain: bool = True

    @property
    def unit(self) -> int:
        """a_0: a gain takes its place in part."""
        return UNIT >> GAIN if self._raised else UNIT

    @property
    def _raised(self) -> bool:
        return self.gain and self.size <= GAINED

    @cached_property
    def gains(self) -> IntArray:
        """What each count is multiplied with: gain^2 times the square of its column is at most that of the first."""
        import numpy as np

        if not self._raised:
            return np.ones(self.size, dtype=np.int64)
        squares = list(
            itertools.accumulate(value**2 for value in self._coefficients)
        )  # of columns of 1, 2, ... entries
        most = squares[-1] << (2 * GAIN)
        return np.array([math.isqrt(most // square) for square in reversed(squares)], dtype=np.int64)

    @property
    def _coefficients(self) -> list[int]:
        return [value for (_, value), length in zip(self.runs, self.lengths, strict=True) for _ in range(length)]

    def _largest(self, power: int) -> int:
        """The largest sum of the entries of a column to this power, gains included."""
        sums = itertools.accumulate(value**power for value in self._coefficients)
        return max(gain**power * total for gain, total in zip(reversed(self.gains.tolist()), sums, strict=True))

    @cached_property
    def runs(self) -> tuple[tuple[int, int], ...]:
        """The first lag and the coefficient of each run."""
        starts = [*range(min(EXACT, self.size))]
        while starts[-1] + 1 < self.size and len(starts) >= EXACT:
            following = max(starts[-1] + 1, round(starts[-1] * GROWTH))
            if following >= self.size:
                break
            starts.append(following)
        ends = [*starts[1:], self.size]
        middles = [(start + end - 1) / 2 for start, end in zip(starts, ends, strict=True)]
        return tuple((start, round(self.unit * _root(middle))) for start, middle in zip(starts, middles, strict=True))

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """How many lags each run has."""
        starts = [start for start, _ in self.runs]
        return tuple(end - start for start, end in zip(starts, [*starts[1:], self.size], strict=True))

    @property
    def absolute(self) -> int:
        """sum of a_k, for the column that is longest in l1."""
        if self._raised:
            return self._largest(1)
        return sum(value * length for (_, value), length in zip(self.runs, self.lengths, strict=True))

    @property
    def square(self) -> int:
        """sum of a_k^2, for the column that is longest in l2."""
        if self._raised:
            return self._largest(2)
        return sum(value**2 * length for (_, value), length in zip(self.runs, self.lengths, strict=True))

    @property
    def changes(self) -> list[int]:
        """By how much the coefficient changes at each run."""
        values = [value for _, value in self.runs]
        return [values[0], *(after - before for before, after in itertools.pairwise(values))]

    def measure(self, counts: IntArray) -> IntArray:
        """h, in 64-bit integers."""
        import numpy as np

        sums = np.cumsum(counts * self.gains if self._raised else counts, dtype=np.int64)
        found = sums * self.changes[0]
        for (start, _), change in zip(self.runs[1:], self.changes[1:], strict=True):
            found[start:] += change * sums[: self.size - start]
        return found

    def prefixes(self, measured: Floats) -> Floats:
        """The running sums, from noisy measurements alone."""
        import numpy as np

        from discreet.structured.streams.toeplitz_kernels import unstepped

        lags = np.array([start for start, _ in self.runs], dtype=np.int64)
        sums = np.empty(self.size)
        unstepped(measured, lags, np.array(self.changes, dtype=np.int64), sums)
        return np.cumsum(np.diff(sums, prepend=0.0) / self.gains) if self._raised else sums

    @property
    def response(self) -> Floats:
        """r_k: what one unit of noise does to the prefix k cells on; with gains, a row for every prefix."""
        return _response(self)

    def variances(self) -> Floats:
        """Of every prefix, in units of the noise."""
        import numpy as np

        return (self.response**2).sum(axis=1) if self._raised else np.cumsum(self.response**2)

    def range_variance(self, low: int, high: int) -> float:
        """Of the cells low, ..., high - 1, in units of the noise."""
        response, length = self.response, high - low
        if self._raised:
            row = response[high - 1] - response[low - 1] if low else response[high - 1]
            return float(row @ row)
        new = response[:length]
        both = response[length:high] - response[:low]
        return float(new @ new + both @ both)

    @property
    def multiplier(self) -> float:
        """The largest standard deviation of a prefix, when that of a release of one count is 1."""
        return math.sqrt(self.square * float(self.variances().max()))


@lru_cache(maxsize=4)
def _response(root: SteppedRoot) -> Floats:
    import numpy as np

    if root._raised:
        return np.stack([root.prefixes(draw) for draw in np.eye(root.size)], axis=1)
    impulse = np.zeros(root.size)
    impulse[0] = 1.0
    return root.prefixes(impulse)


def _root(k: float) -> float:
    """C(2k, k) / 4^k, also between the integers."""
    return math.exp(math.lgamma(2 * k + 1) - 2 * math.lgamma(k + 1) - 2 * k * math.log(2))
