"""Means of bounded numbers: what the protocols for them share.

Values lie in the public interval [lower, upper].  They are moved to the nearest of 2^30 + 1 equally spaced places,
which is the users' own rounding (2^-31 of the interval at most) and no matter of privacy; from there all is
integers.  Estimates are unbiased for the mean of the moved values among the n users, and not clipped.
Proof: docs/theory/local_means.md.
"""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import ParameterError, require
from discreet.hazmat.bad_values import listed, settle
from discreet.local.coins import positive, whole
from discreet.local.protocol import LocalProtocol
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.hazmat.entropy import RandomSource
    from discreet.local.protocol import Array, Tally

    Places = npt.NDArray[np.int64]

DEPTH = 30
PLACES = 1 << DEPTH  # the interval in steps
LEAST, MOST = 2.0**-1000, 2.0**1000  # intervals whose width and shares are floats
STEPS = 1 << 31  # the most steps of a coarser grid


class MeanProtocol(LocalProtocol):
    """A protocol for the mean of numbers in [lower, upper]."""

    __slots__ = ()
    epsilon: Number
    lower: Number
    upper: Number

    def __post_init__(self) -> None:
        positive(self.epsilon)
        low, high = exact(self.lower), exact(self.upper)
        require(low < high, "lower < upper", lower=self.lower, upper=self.upper)
        fits = low >= -MOST and high <= MOST and high - low >= LEAST and float(low) < float(high)
        require(fits, "an interval within 2^1000, with ends that floats tell apart", lower=self.lower, upper=self.upper)

    @property
    def width(self) -> float:
        """upper - lower."""
        return float(exact(self.upper) - exact(self.lower))

    def inputs(self) -> list[Fraction]:
        """The ends, the middle and two places between, which `table` compares."""
        low, high = exact(self.lower), exact(self.upper)
        return [low + part * (high - low) for part in (Fraction(j, 8) for j in (0, 1, 4, 7, 8))]

    def checked(self, values: object) -> Array:
        """The place of each number, moved to the nearest end where it is outside; the lower end for what is none."""
        import numpy as np

        array = listed(values) if isinstance(values, list | tuple) else np.asarray(values)
        if array.ndim != 1 or array.dtype.kind not in "fiuO":
            raise ParameterError("need a vector of numbers, one for each user")
        low, high = float(exact(self.lower)), float(exact(self.upper))
        inside = np.clip(settle(array, null=low), low, high).astype(np.float64)
        share = (inside - low) / (high - low)
        return np.clip(np.rint(share * PLACES), 0, PLACES).astype(np.int64)

    def place(self, value: Number) -> int:
        """The place of one number, exactly."""
        low, high = exact(self.lower), exact(self.upper)
        require(low <= exact(value) <= high, "a number in the interval", lower=self.lower, upper=self.upper)
        return round((exact(value) - low) / (high - low) * PLACES)

    def rescaled(self, share: float) -> float:
        """The number that lies at this share of the interval."""
        return float(exact(self.lower)) + self.width * share

    @abstractmethod
    def share(self, tally: Tally, n: int) -> float:
        """The unbiased estimate as a share of the interval."""

    @abstractmethod
    def share_bound(self, tally: Tally, n: int, beta: float) -> float:
        """The error of `share`."""

    @abstractmethod
    def share_variance(self, share: Fraction) -> float:
        """The variance of one report's estimate for a value at this share of the interval."""

    def decode(self, tally: Tally, n: int) -> float:
        """The unbiased mean."""
        return self.rescaled(self.share(tally, n))

    def bound(self, tally: Tally, n: int, beta: float) -> float:
        """For the mean of the n users' own values."""
        return self.width * self.share_bound(tally, n, beta)

    def variance(self, n: int) -> float:
        """The variance for the worst data: all at the ends, or all in the middle."""
        whole("n", n, least=1)
        worst = max(self.share_variance(Fraction(0)), self.share_variance(Fraction(1, 2)))
        return self.width**2 * worst / n


def scattered(places: Places, steps: int, random: RandomSource) -> Places:
    """Each place on a coarser grid 0 .. steps, up or down at random so that its mean is kept exactly."""
    import numpy as np

    assert steps <= STEPS  # so that `scaled` is at most 2^61, within 64 bits
    scaled = places * steps
    fine = (random.words(len(places)) >> np.uint64(64 - DEPTH)).astype(np.int64)
    return (scaled >> DEPTH) + (fine < (scaled & (PLACES - 1)))


def scatter_law(place: int, steps: int) -> dict[int, Fraction]:
    """The law of `scattered`."""
    low, rest = divmod(place * steps, PLACES)
    law = {low: Fraction(PLACES - rest, PLACES), low + 1: Fraction(rest, PLACES)}
    return {step: chance for step, chance in law.items() if chance}
