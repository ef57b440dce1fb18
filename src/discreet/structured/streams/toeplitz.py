"""Running counts by the square root of the matrix of ones, kept in a few buffers.

Let T be the lower triangle of ones, so that T x are the running counts of a stream x.  Its square root is the Toeplitz
matrix with f_k = C(2k, k) / 4^k on diagonal k, and with R = A = T^(1/2) the noise R Z of the answers T x + R Z =
R (A x + Z) has the standard deviation sigma1 times sum of f_k^2 = (ln N + 3.35) / pi + o(1): 5.464 at a million steps.
As f_k = (1/pi) * integral of y^k (y (1 - y))^(-1/2) dy over (0, 1), a sum of a dozen exponentials, one per octave
and a half, is as good to 1 part in 10,000, and takes a dozen numbers of memory (buffered linear Toeplitz).  Late steps
have short columns, and are measured with a gain that makes all columns equally long: 5.27, where 5.10 is the least.

Theorem (Fichtenberger, Henzinger, Upadhyay 2023; Dvijotham, McMahan, Pillutla, Steinke, Thakurta 2024; Henzinger,
Kalinin, Upadhyay 2025; the integer form is ours).  Measure, in 64-bit integers, h_t = unit X_t + floor(sum over j of
S_j / 2^point), where X_t = gain_t x_t, and S_j takes adds_j X_t and then decays by a factor of 1 - slow_j / 2^shift_j,
rounded.  Let alpha_0 = unit, and alpha_k be the factor of X_(t-k) without the roundings.  If two streams differ by at
most `upper` in each of k steps at least `separation` apart,

    |h_t - h'_t| <= upper * (gain times alpha at the distances of t from those steps, added up) + slack,

where slack = 1 + sum over j of (2^10 + 2^shift_j / slow_j) / 2^point.  `square` and `absolute` are sums of this over
all steps, rounded up.  The answers are computed from h + Z alone, so that their rounding costs nothing, also when
later steps are chosen after seeing earlier answers.  Proof: docs/theory/continual.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from discreet.errors import require
from discreet.structured.streams.geometric_sums import geometric, power_up, rounded_up

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
GAIN = 10  # bits of a gain
GAINED = 1 << 22  # the longest horizon with gains: their variances take a step each
GROWTH = 1.05  # of the numbers of steps left at which the gain changes
TINY = Fraction(1, 10**9)  # covers the floating-point error of sums of squares, about 1e-13
PARTS = 8  # of the horizon, for correlations


@dataclass(frozen=True)
class SquareRoot:
    """The integer filter for streams of `horizon` steps between 0 and `upper`.

    >>> strategy = SquareRoot(horizon=1024, upper=5)
    >>> len(strategy.adds), round(strategy.multiplier, 2)
    (9, 3.09)
    """

    horizon: int
    upper: int
    steps_per_unit: int = 1
    separation: int = 1
    gain: bool = True

    def __post_init__(self) -> None:
        require(self.horizon <= LONGEST, f"at most {LONGEST} steps; take mechanism='tree'", horizon=self.horizon)
        require(self.upper < 1 << 32, "upper < 2^32; count in coarser units", upper=self.upper)

    @cached_property
    def unit(self) -> int:
        """What a step counts in its own measurement, before its gain: about 2^SPAN / upper with it."""
        return 1 << max(0, SPAN - self.bits - (self.upper - 1).bit_length())

    @property
    def bits(self) -> int:
        """Of the gains: none for units that come back, and for horizons whose variances take too long."""
        return GAIN if self.gain and self.steps_per_unit == 1 and self.horizon <= GAINED else 0

    @cached_property
    def point(self) -> int:
        """The bits of the buffers below the unit: all that 63 bits leave room for."""
        most = self.upper * (3 << self.bits if self.bits else 1)  # no gain is above sqrt(6)
        largest = 2 * self.unit * most * (math.isqrt(2 * self.horizon) + 1)  # twice the largest sum of buffers
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
        return self.unit + sum(
            (rounded_up(add * geometric(theta, self.horizon - 1)) for add, theta in rest), Fraction(0)
        )

    def squares(self, lengths: IntArray) -> Floats:
        """sum of alpha_k^2 over k < length, in units of alpha_0^2, in floating point."""
        import numpy as np

        weights, decays = self._inverse / np.array([[self.unit], [1.0]])
        rates = 1 - decays
        both = rates[:, None] + rates[None, :] - rates[:, None] * rates[None, :]  # 1 - theta_i theta_j
        rest = np.maximum(both, 1e-300)
        terms = np.asarray(lengths, dtype=np.float64)[:, None, None] - 1
        powers = np.where(
            both == 0, terms, -np.expm1(terms * np.log1p(-np.minimum(both, 1 - 1e-16))) / rest * (1 - both)
        )
        return 1 + np.einsum("i,j,kij->k", weights, weights, powers)

    @cached_property
    def _steps(self) -> tuple[IntArray, IntArray]:
        """The least number of steps left, this one included, for which each gain is used; and the gains."""
        import numpy as np

        if not self.bits:
            return np.ones(1, dtype=np.int64), np.ones(1, dtype=np.int64)
        starts = [1]
        while starts[-1] <= self.horizon:
            starts.append(max(starts[-1] + 1, round(starts[-1] * GROWTH)))
        ends = np.minimum(np.array(starts[1:]) - 1, self.horizon)  # the longest column that has the gain
        whole = float(self.squares(np.array([self.horizon]))[0])
        gains = np.floor((1 << self.bits) * np.sqrt(whole / self.squares(ends)))
        return np.array(starts[:-1], dtype=np.int64), gains.astype(np.int64)

    def gains(self, position: int, count: int) -> IntArray:
        """What the next steps are multiplied with: the fewer are left, the more."""
        import numpy as np

        starts, gains = self._steps
        left = self.horizon - np.arange(position, position + count)
        return gains[np.searchsorted(starts, left, side="right") - 1]

    def correlation(self, lag: int) -> Fraction:
        """sum over k of alpha_k alpha_(k + lag) within the horizon, from above."""
        part = -(-self.horizon // PARTS)
        terms = min(self.horizon - 1, -(-(self.horizon - 1 - lag) // part) * part)  # a little more than there are
        pairs = zip(self.adds, self.decays, _paired(self, terms), strict=True)
        later = [(rounded_up(add * power_up(theta, lag)), paired) for add, theta, paired in pairs]  # `lag` steps on
        first = sum((add for add, _ in later), Fraction(0)) if lag else Fraction(self.unit)
        return self.unit * first + sum((rounded_up(add * paired) for add, paired in later), Fraction(0))

    @cached_property
    def square(self) -> int:
        """The square of the l2 sensitivity of all measurements."""
        k = min(self.steps_per_unit, -(-self.horizon // self.separation))
        gram, lag = k * self.correlation(0), 1
        while lag < k:  # far apart the correlation is taken where a run of distances begins, which is its largest
            after = min(k, lag + 1 + lag // PARTS**2)
            gram += sum(2 * (k - i) for i in range(lag, after)) * self.correlation(lag * self.separation)
            lag = after
        if self.bits:
            gram *= (1 << (2 * self.bits)) * (
                1 + TINY
            )  # no column is longer than the first: that is what gains are for
        cross = 2 * self.upper * self.slack * k * self.longest
        return math.ceil(self.upper**2 * gram + cross + self.horizon * self.slack**2)

    @property
    def highest(self) -> int:
        """The largest gain."""
        return int(self._steps[1].max())

    @cached_property
    def longest(self) -> Fraction:
        """The largest sum of the entries of a column: its gain times the sum of alpha_k, from above."""
        if not self.bits:
            return self.total
        import numpy as np

        starts, gains = self._steps
        ends = np.append(starts[1:] - 1, self.horizon)[:, None] - 1.0
        weights, decays = self._inverse
        left = -np.expm1(ends * np.log(decays))
        powers = np.where(decays == 1, ends, left * decays / np.maximum(1 - decays, 1e-300))
        return Fraction(float((gains * (self.unit + powers @ weights)).max())) * (1 + TINY)

    @cached_property
    def absolute(self) -> int:
        """The l1 sensitivity of all measurements."""
        k = min(self.steps_per_unit, self.horizon)
        return math.ceil(self.upper * k * self.longest + self.horizon * self.slack)

    def start(self) -> tuple[IntArray, Floats]:
        """Empty buffers: of the steps, which are secret, and of their estimates."""
        import numpy as np

        return np.zeros(len(self.buffers), dtype=np.int64), np.zeros(len(self.buffers) + 1)

    def measure(self, position: int, secret: IntArray, steps: IntArray) -> IntArray:
        """h of the next steps; `secret` moves on."""
        import numpy as np

        from discreet.structured.streams.toeplitz_kernels import buffered

        measured = np.empty(len(steps), dtype=np.int64)
        adds, slow, shifts = self._filter
        raised = steps * self.gains(position, len(steps))
        buffered(raised, self.unit, adds, slow, shifts, self.point, secret, measured)
        return measured

    def decode(self, position: int, public: Floats, measured: IntArray, count: int) -> Floats:
        """The running counts, from noisy measurements alone; `public` moves on."""
        import numpy as np

        from discreet.structured.streams.toeplitz_kernels import unbuffered

        values = np.empty(count)
        unbuffered(measured, float(self.unit), *self._inverse, self.gains(position, count), public, values)
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

    def response(self) -> Covariance:
        """The variances of all answers in turn."""
        return Covariance(self)

    def spread(self, count: int) -> tuple[float, float]:
        """For the answer after `count` steps: the squares of the factors of the noise added up, and the factors."""
        return self.response().until(count)

    @property
    def largest(self) -> tuple[float, float]:
        """The largest of both within the horizon."""
        return _largest(self)

    @property
    def multiplier(self) -> float:
        """The largest standard deviation of an answer, when that of a release of one step is 1."""
        return math.sqrt(self.square / (self.upper * self.steps_per_unit) ** 2 * self.largest[0])

    @property
    def drift(self) -> float:
        """The most that the roundings move a measurement from its linear form."""
        return float(self.slack)

    @property
    def heaviest(self) -> float:
        """The largest factor of one draw of noise in an answer."""
        return 1 / (self.unit << self.bits)


class Covariance:
    """The covariance of the buffers of the estimates and of the running count, moved on as far as anybody asked."""

    __slots__ = ("_count", "_state", "_strategy", "largest")

    def __init__(self, strategy: SquareRoot) -> None:
        import numpy as np

        self._strategy, self._count, self.largest = strategy, 0, 0.0
        self._state = np.zeros((len(strategy.buffers) + 1,) * 2)

    def until(self, count: int) -> tuple[float, float]:
        """The variance of the answer after `count` steps, and a bound on its sum of factors, by Cauchy's inequality."""
        from discreet.structured.streams.toeplitz_kernels import covariance

        strategy = self._strategy
        if count < self._count:
            self.__init__(strategy)
        while self._count < count:
            size = min(CHUNK, count - self._count)
            gains = strategy.gains(self._count, size)
            found = covariance(float(strategy.unit), *strategy._inverse, gains, self._state)
            self.largest, self._count = max(self.largest, found), self._count + size
        return float(self._state[-1, -1]), math.sqrt(count * self._state[-1, -1])


@lru_cache(maxsize=32)
def _largest(strategy: SquareRoot) -> tuple[float, float]:
    made = Covariance(strategy)
    made.until(strategy.horizon)
    return made.largest, math.sqrt(strategy.horizon * made.largest)


@lru_cache(maxsize=64)
def _paired(strategy: SquareRoot, terms: int) -> tuple[Fraction, ...]:
    """For each buffer, the sum over all buffers of their weights times the geometric sum of both decays, from above."""
    pairs = list(zip(strategy.adds, strategy.decays, strict=True))
    return tuple(
        sum((rounded_up(add * geometric(theta * decay, terms)) for add, theta in pairs), Fraction(0))
        for _, decay in pairs
    )
