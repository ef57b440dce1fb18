"""Running counts by the square root of the matrix of ones, kept in a few buffers.

Let T be the lower triangle of ones, so that T x are the running counts of a stream x.  Its square root is the Toeplitz
matrix with f_k = C(2k, k) / 4^k on diagonal k, and with R = A = T^(1/2) the noise R Z of the answers T x + R Z =
R (A x + Z) has the standard deviation sigma1 times sum of f_k^2 = (ln N + 3.35) / pi + o(1): 5.464 at a million steps.
As f_k = (1/pi) * integral of y^k (y (1 - y))^(-1/2) dy over (0, 1), a sum of a dozen exponentials, one per octave
and a half, is as good to 1 part in 20,000, and takes a dozen numbers of memory (buffered linear Toeplitz).

Theorem (Fichtenberger, Henzinger, Upadhyay 2023; Dvijotham, McMahan, Pillutla, Steinke, Thakurta 2024; the integer
form is ours).  Measure, in 64-bit integers, h_t = unit x_t + floor(sum over j of S_j / 2^point), where S_j takes adds_j
x_t and then decays by a factor of 1 - slow_j / 2^shift_j, rounded.  Let alpha_0 = unit, and alpha_k be the factor of
x_(t-k) without the roundings.  If two streams differ by at most `upper` in each of k steps at least `separation` apart,

    |h_t - h'_t| <= upper * (alpha at the distances of t from those steps, added up) + slack,

where slack = 1 + sum over j of (2^10 + 2^shift_j / slow_j) / 2^point.  `square` and `absolute` are sums of this over
all steps, rounded up.  The answers are computed from h + Z alone, so that their rounding costs nothing, also when
later steps are chosen after seeing earlier answers.  Proof: docs/theory/continual.md.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Protocol

from discreet.errors import require

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    IntArray = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]

LONGEST = 1 << 27  # steps for which 64-bit buffers lose less than a hundredth
STEP = 1.5  # between the logarithms of the time scales of buffers
SPAN = 22  # bits of the measured influence of one step
MANTISSA = 10  # bits of a decay
CHUNK = 1 << 16  # steps at a time
COARSE = 10  # bits of a buffer that its decay does not look at
FIXED = 128  # bits of fixed-point arithmetic
PARTS = 8  # of the horizon, for correlations


@dataclass(frozen=True, kw_only=True)
class SquareRoot:
    """The integer filter for streams of `horizon` steps between 0 and `upper`.

    >>> strategy = SquareRoot(horizon=1_000_000, upper=5)
    >>> len(strategy.adds), round(strategy.multiplier(1_000_000), 3)
    (14, 5.465)
    """

    horizon: int
    upper: int
    steps_per_unit: int = 1
    separation: int = 1

    def __post_init__(self) -> None:
        require(self.horizon <= LONGEST, f"at most {LONGEST} steps; take mechanism='tree'", horizon=self.horizon)
        require(self.upper < 1 << 32, "upper < 2^32; count in coarser units", upper=self.upper)

    @cached_property
    def unit(self) -> int:
        """What a step counts in its own measurement: about 2^SPAN / upper."""
        return 1 << max(0, SPAN - (self.upper - 1).bit_length())

    @cached_property
    def point(self) -> int:
        """The bits of the buffers below the unit: all that 63 bits leave room for."""
        largest = 2 * self.unit * self.upper * (math.isqrt(2 * self.horizon) + 1)  # twice the largest sum of buffers
        return 62 - largest.bit_length()

    @cached_property
    def buffers(self) -> tuple[tuple[int, int, int], ...]:
        """adds, slow and shift of every buffer; the last one does not decay."""
        top = math.log(self.horizon) + 1
        made = []
        for place in range(math.ceil((top + 4) / STEP)):
            rate = 1 / (1 + math.exp(top - place * STEP))  # 1 - theta
            weight = STEP / math.pi * math.sqrt(rate * (1 - rate))
            shift = max(MANTISSA, MANTISSA - 1 - math.floor(math.log2(rate)))
            made.append((round(weight * self.unit * 2**self.point), round(rate * 2**shift), shift))
        rest = 2 / math.pi * math.exp(-(top + STEP / 2) / 2)  # all that is slower than the horizon
        return (*made, (round(rest * self.unit * 2**self.point), 0, MANTISSA))

    @property
    def adds(self) -> list[Fraction]:
        """The weight of every buffer, in units of a measurement."""
        return [Fraction(add, 1 << self.point) for add, _, _ in self.buffers]

    @property
    def decays(self) -> list[Fraction]:
        """theta of every buffer."""
        return [1 - Fraction(slow, 1 << shift) for _, slow, shift in self.buffers]

    @property
    def slack(self) -> Fraction:
        """How far all roundings move the difference of two measurements, or one from its linear form, at most."""
        moved = sum(
            ((1 << COARSE) + Fraction(1 << shift, slow) for _, slow, shift in self.buffers if slow), Fraction(0)
        )
        return 1 + moved / (1 << self.point)

    @cached_property
    def total(self) -> Fraction:
        """sum of alpha_k over the horizon, from above."""
        rest = zip(self.adds, self.decays, strict=True)
        return self.unit + sum((_up(add * geometric(theta, self.horizon - 1)) for add, theta in rest), Fraction(0))

    def correlation(self, lag: int) -> Fraction:
        """sum over k of alpha_k alpha_(k + lag) within the horizon, from above."""
        part = -(-self.horizon // PARTS)
        terms = min(self.horizon - 1, -(-(self.horizon - 1 - lag) // part) * part)  # a little more than there are
        pairs = zip(self.adds, self.decays, _paired(self, terms), strict=True)
        later = [(_up(add * power_up(theta, lag)), paired) for add, theta, paired in pairs]  # `lag` steps on
        first = sum((add for add, _ in later), Fraction(0)) if lag else Fraction(self.unit)
        return self.unit * first + sum((_up(add * paired) for add, paired in later), Fraction(0))

    @cached_property
    def square(self) -> int:
        """The square of the l2 sensitivity of all measurements."""
        k = min(self.steps_per_unit, -(-self.horizon // self.separation))
        gram, lag = k * self.correlation(0), 1
        while lag < k:  # far apart the correlation is taken where a run of distances begins, which is its largest
            after = min(k, lag + 1 + lag // PARTS**2)
            gram += sum(2 * (k - i) for i in range(lag, after)) * self.correlation(lag * self.separation)
            lag = after
        cross = 2 * self.upper * self.slack * k * self.total
        return math.ceil(self.upper**2 * gram + cross + self.horizon * self.slack**2)

    @cached_property
    def absolute(self) -> int:
        """The l1 sensitivity of all measurements."""
        k = min(self.steps_per_unit, self.horizon)
        return math.ceil(self.upper * k * self.total + self.horizon * self.slack)

    def start(self) -> tuple[IntArray, Floats]:
        """Empty buffers: of the steps, which are secret, and of their estimates."""
        import numpy as np

        return np.zeros(len(self.buffers), dtype=np.int64), np.zeros(len(self.buffers) + 1)

    def measure(self, position: int, secret: IntArray, steps: IntArray) -> IntArray:
        """h of the next steps; `secret` moves on."""
        import numpy as np

        from discreet.structured.toeplitz_kernels import buffered

        measured = np.empty(len(steps), dtype=np.int64)
        adds, slow, shifts = self._filter
        buffered(steps, self.unit, adds, slow, shifts, self.point, secret, measured)
        return measured

    def decode(self, position: int, public: Floats, measured: IntArray, count: int) -> Floats:
        """The running counts, from noisy measurements alone; `public` moves on."""
        import numpy as np

        from discreet.structured.toeplitz_kernels import unbuffered

        values = np.empty(count)
        unbuffered(measured, float(self.unit), *self._inverse, public, values)
        return values

    @cached_property
    def _filter(self) -> IntArray:
        import numpy as np

        adds, slow, shifts = zip(*self.buffers, strict=True)
        return np.array([adds, slow, [shift - COARSE for shift in shifts]], dtype=np.int64)

    @cached_property
    def _inverse(self) -> Floats:
        import numpy as np

        return np.array([self.adds, self.decays], dtype=np.float64)

    def spread(self, count: int) -> tuple[float, float]:
        """sum of r_k^2 and sum of |r_k| for the first `count` steps, where the answers are T x + R Z."""
        return last(self, count)

    def multiplier(self, count: int) -> float:
        """The standard deviation of the answer after `count` steps, when that of a release of one step is 1."""
        return math.sqrt(self.square / (self.upper * self.steps_per_unit) ** 2 * self.spread(count)[0])

    @property
    def drift(self) -> float:
        """The most that the roundings move a measurement from its linear form."""
        return float(self.slack)

    @property
    def heaviest(self) -> float:
        """The largest factor of one draw of noise in an answer."""
        return 1 / self.unit


class Filter(Hashable, Protocol):
    """A strategy whose answers are decoded measurement by measurement."""

    def start(self) -> tuple[IntArray, Floats]: ...

    def decode(self, position: int, public: Floats, measured: IntArray, count: int) -> Floats: ...


class Response:
    """What one unit of noise does to all later answers, summed up as far as anybody asked."""

    __slots__ = ("_absolutes", "_count", "_filter", "_public", "_squares")

    def __init__(self, strategy: Filter) -> None:
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
def last(strategy: Filter, count: int) -> tuple[float, float]:
    """The sums at one count, kept."""
    return Response(strategy).until(count)


@lru_cache(maxsize=64)
def _paired(strategy: SquareRoot, terms: int) -> tuple[Fraction, ...]:
    """For each buffer, the sum over all buffers of their weights times the geometric sum of both decays, from above."""
    pairs = list(zip(strategy.adds, strategy.decays, strict=True))
    return tuple(
        sum((_up(add * geometric(theta * decay, terms)) for add, theta in pairs), Fraction(0)) for _, decay in pairs
    )


def geometric(ratio: Fraction, terms: int) -> Fraction:
    """ratio + ratio^2 + ... + ratio^terms, from above, for a ratio in [0, 1].

    >>> float(geometric(Fraction(1, 2), 3)), geometric(Fraction(1), 5)
    (0.875, Fraction(5, 1))
    """
    if terms <= 0:
        return Fraction(0)
    return Fraction(terms) if ratio == 1 else ratio * (1 - power_down(ratio, terms)) / (1 - ratio)


def power_down(base: Fraction, exponent: int) -> Fraction:
    """base^exponent from below, for a base in [0, 1]."""
    return _power(base, exponent, up=0)


def power_up(base: Fraction, exponent: int) -> Fraction:
    """base^exponent from above, for a base in [0, 1]."""
    return min(Fraction(1), _power(base, exponent, up=1))


def _power(base: Fraction, exponent: int, *, up: int) -> Fraction:
    square, found = (base.numerator << FIXED) // base.denominator + up, 1 << FIXED
    while exponent:
        if exponent & 1:
            found = (found * square >> FIXED) + up
        square = (square * square >> FIXED) + up
        exponent >>= 1
    return Fraction(found, 1 << FIXED)


def _up(value: Fraction) -> Fraction:
    """A multiple of 2^-128 from above: sums of fractions keep small denominators."""
    return Fraction(-((-value.numerator << FIXED) // value.denominator), 1 << FIXED)
