"""Running counts by a banded square root: for units that come back, but not soon.

Theorem (Choquette-Choo, Ganesh, McKenna, McMahan, Rush, Thakurta, Xu 2023; Kalinin, Lampert 2024).  Measure the
integers h_t = a_0 x_t + ... + a_(b-1) x_(t-b+1), with a_k = round(unit C(2k, k) / 4^k).  If a unit changes k steps by
at most `upper` each, at least `separation` apart, h moves in l1 by at most k upper sum of a, and in squared l2 by

    upper^2 * sum over i, j < k of c(separation |i - j|),   c(lag) = sum over m of a_m a_(m + lag),

since a is not negative and does not increase.  With separation >= b only i = j is left: coming back k times costs
k, and not k^2.  The answers are those of the inverse filter.  Proof: docs/theory/continual.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from discreet.errors import require
from discreet.structured.streams.toeplitz import CHUNK, SPAN

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    IntArray = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]

WIDEST = 4096  # bands


@dataclass(frozen=True)
class Banded:
    """The first `bands` diagonals of the square root, in integers.

    >>> Banded(horizon=1000, upper=4, bands=3).coefficients
    (1048576, 524288, 393216)
    """

    horizon: int
    upper: int
    steps_per_unit: int = 1
    separation: int = 1
    bands: int = field(kw_only=True)

    def __post_init__(self) -> None:
        whole = isinstance(self.bands, int) and not isinstance(self.bands, bool)
        require(whole and 1 <= self.bands <= WIDEST, f"an integer of 1 to {WIDEST} bands", bands=self.bands)
        require(self.upper < 1 << 32, "upper < 2^32; count in coarser units", upper=self.upper)

    @property
    def unit(self) -> int:
        """What a step counts in its own measurement."""
        return 1 << max(0, SPAN - (self.upper - 1).bit_length())

    @cached_property
    def coefficients(self) -> tuple[int, ...]:
        """a_0, ..., a_(b-1)."""
        made, root = [], Fraction(1)
        for k in range(min(self.bands, self.horizon)):
            made.append(round(self.unit * root))
            root = Fraction(round(root * (1 << 96) * (2 * k + 1) / (2 * k + 2)), 1 << 96)
        return tuple(made)

    def correlation(self, lag: int) -> int:
        """sum over m of a_m a_(m + lag)."""
        a = self.coefficients
        return sum(first * second for first, second in zip(a, a[lag:], strict=False))

    @cached_property
    def square(self) -> int:
        """The square of the l2 sensitivity of all measurements."""
        k = min(self.steps_per_unit, -(-self.horizon // self.separation))
        near = range(1, min(k, -(-len(self.coefficients) // self.separation)))
        gram = k * self.correlation(0) + sum(2 * (k - i) * self.correlation(i * self.separation) for i in near)
        return self.upper**2 * gram

    @property
    def absolute(self) -> int:
        """The l1 sensitivity of all measurements."""
        return self.upper * min(self.steps_per_unit, self.horizon) * sum(self.coefficients)

    def start(self) -> tuple[IntArray, Floats]:
        """No steps so far, and no estimates of any."""
        import numpy as np

        size = len(self.coefficients)
        return np.zeros(size - 1, dtype=np.int64), np.zeros(size)

    def measure(self, position: int, secret: IntArray, steps: IntArray) -> IntArray:
        """h of the next steps; `secret` moves on."""
        import numpy as np

        from discreet.structured.streams.toeplitz_kernels import banded

        measured = np.empty(len(steps), dtype=np.int64)
        banded(steps, self._bands, secret, measured)
        return measured

    def decode(self, position: int, public: Floats, measured: IntArray, count: int) -> Floats:
        """The running counts, from noisy measurements alone; `public` moves on."""
        import numpy as np

        from discreet.structured.streams.toeplitz_kernels import unbanded

        values = np.empty(count)
        unbanded(measured, self._bands.astype(np.float64), public, values)
        return values

    @cached_property
    def _bands(self) -> IntArray:
        import numpy as np

        return np.array(self.coefficients, dtype=np.int64)

    def response(self) -> Response:
        """The variances of all answers in turn."""
        return Response(self)

    def spread(self, count: int) -> tuple[float, float]:
        """sum of r_k^2 and sum of |r_k| for the first `count` steps, where the answers are T x + R Z."""
        return _last(self, count)

    @property
    def largest(self) -> tuple[float, float]:
        """Those of the last answer."""
        return self.spread(self.horizon)

    @property
    def multiplier(self) -> float:
        """The largest standard deviation of an answer, when that of a release of one step is 1."""
        return math.sqrt(self.square / (self.upper * self.steps_per_unit) ** 2 * self.largest[0])

    @property
    def drift(self) -> float:
        """Measurements are exact."""
        return 0.0

    @property
    def heaviest(self) -> float:
        """The largest factor of one draw of noise in an answer."""
        return 1 / self.unit


class Response:
    """What one unit of noise does to all later answers, summed up as far as anybody asked."""

    __slots__ = ("_absolutes", "_count", "_filter", "_public", "_squares")

    def __init__(self, strategy: Banded) -> None:
        self._filter = strategy
        self._count, self._squares, self._absolutes = 0, 0.0, 0.0
        self._public = strategy.start()[1]

    def until(self, count: int) -> tuple[float, float]:
        """sum of r_k^2 and sum of |r_k| for k < count; going back starts again."""
        import numpy as np

        if count < self._count:
            self.__init__(self._filter)
        while self._count < count:
            size = min(CHUNK, count - self._count)
            impulse = np.zeros(size, dtype=np.int64)
            impulse[0] = self._count == 0
            found = self._filter.decode(self._count, self._public, impulse, size)
            self._squares += float(found @ found)
            self._absolutes += float(abs(found).sum())
            self._count += size
        return self._squares, self._absolutes


@lru_cache(maxsize=8)
def _last(strategy: Banded, count: int) -> tuple[float, float]:
    """The sums at one count, kept."""
    return Response(strategy).until(count)
