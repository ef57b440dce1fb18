"""Noisy counts of private keys, named only where the noisy count is large: selection and count in one release.

Theorem (Korolova, Kenthapadi, Mishra, Ntoulas 2009; Wilson et al. 2020; here on the integers).  Let adding or
removing a unit move the counts of at most `groups_per_unit` = G keys, each by at most `change`; a key that
nobody holds counts 0.  Add independent noise to every count above 0 and release the keys, with their noisy counts,
where the sum is at least

    cut = change + k,   k the least integer >= 1 with  G Pr[Z >= k] <= delta.

If the noise makes a vector that moves by G entries of `change` (epsilon, d)-DP or rho-zCDP, then the release has
that guarantee except with probability delta* = G Pr[Z >= k]: it is (epsilon, d + delta*)-DP, and for Laplace noise
no delta below 1 - (1 - delta* / G)^G will do, at any epsilon.  The tails are those of the discrete laws:
Pr[Z >= k] = a^k / (1 + a) with a = exp(-1 / scale) for Laplace noise, and the sum of exp(-j^2 / (2 sigma^2)) over
j >= k, normalised, for Gaussian noise; a threshold one too low is worth a factor of 1 / a in delta.
Proof: docs/theory/partition_selection.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from discreet.errors import require
from discreet.hazmat.entropy import RandomSource
from discreet.hazmat.integers import add
from discreet.hazmat.samplers import discrete_gaussian, discrete_laplace
from discreet.hazmat.selection import row
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.partition_selection import check_groups
from discreet.privacy.enclosure import exp_down, exp_up, log_up, root_bounds
from discreet.privacy.event import ApproxEvent, ComposedEvent
from discreet.privacy.gaussian_profile import LARGE, gaussian_delta
from discreet.privacy.guarantee import ZCDP, ApproxDP
from discreet.privacy.neighbours import AddRemove
from discreet.privacy.normal import cdf_bounds
from discreet.privacy.number import Number, exact, up

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.hazmat.integers import IntArray
    from discreet.mechanisms.exponential import Scores

    Counts = npt.NDArray[np.int64]

_FAR = Fraction(200)  # e^-200: how little two copies of the noise may meet


@dataclass(frozen=True, kw_only=True, slots=True)
class Thresholded:
    """Release the keys whose noisy count reaches `cut`, and those counts.

    `delta` is what naming a key may cost, beside what the noise costs.

    >>> from discreet.hazmat.entropy import SeededRandom
    >>> thresholded = Thresholded(noise=Laplace(epsilon=1, sensitivity=1), delta=1e-6)
    >>> thresholded.cut, thresholded.threshold(0.95)
    (15, 17)
    >>> where, counts = thresholded([0, 1, 812, 95, 3], rng=SeededRandom(1))
    >>> where
    array([2, 3])
    >>> thresholded.privacy()
    ApproxDP(epsilon=1.0, delta=6.07...e-07)
    """

    noise: Laplace | Gaussian
    delta: Number
    groups_per_unit: int = 1
    change: int = 1

    def __post_init__(self) -> None:
        require(isinstance(self.noise, (Laplace, Gaussian)), "Laplace or Gaussian noise", noise=self.noise)
        require(0 < exact(self.delta) < 1, "0 < delta < 1", delta=self.delta)
        check_groups(self.groups_per_unit)
        whole = isinstance(self.change, int) and not isinstance(self.change, bool)
        require(whole and self.change >= 1, "an integer change >= 1", change=self.change)
        groups, change = self.groups_per_unit, self.change
        if isinstance(self.noise, Laplace):
            covered, rule = self.noise.sensitivity >= groups * change, "groups_per_unit * change"
        else:
            covered, rule = self.noise.square >= groups * change**2, "sqrt(groups_per_unit) * change"
            wide = self.noise.given_sigma is not None or self.noise.square < 2 or self.noise.dimension >= groups
            require(wide, "noise with dimension >= groups_per_unit", dimension=self.noise.dimension, groups=groups)
        require(covered, f"noise of sensitivity >= {rule}", noise=self.noise, groups_per_unit=groups, change=change)

    @property
    def _beyond(self) -> tuple[int, Fraction]:
        """k and Pr[Z >= k], from above."""
        share = exact(self.delta) / self.groups_per_unit
        if isinstance(self.noise, Laplace):
            return _laplace_beyond(self.noise.scale, share)
        return _gaussian_beyond(exact(self.noise.sigma) ** 2, share)

    @property
    def cut(self) -> int:
        """The least noisy count that is released."""
        return self.change + self._beyond[0]

    def __call__(self, counts: Scores, *, rng: RandomSource | None = None) -> tuple[Counts, IntArray]:
        """The positions of the released keys, and their noisy counts."""
        import numpy as np

        whole, cut = row(counts), self.cut
        if isinstance(self.noise, Laplace):
            drawn = discrete_laplace(self.noise.scale, shape=whole.shape, rng=rng)
        else:
            drawn = discrete_gaussian(exact(self.noise.sigma) ** 2, shape=whole.shape, rng=rng)
        noisy = add(whole, drawn)
        assert not isinstance(noisy, int)
        where = np.flatnonzero((noisy >= cut) & (whole > 0))
        return where, noisy[where]

    def threshold(self, probability: Number) -> int:
        """The least count that is released with this probability or more, from a half on."""
        wanted = exact(probability)
        require(Fraction(1, 2) <= wanted < 1, "1/2 <= probability < 1", probability=probability)
        both = float(2 * (1 - wanted))  # Pr[|Z| > m] = 2 Pr[Z >= m + 1]
        return self.cut + (self.noise.accuracy(both) if both < 1 else 0)

    def privacy(self) -> ApproxDP:
        """The guarantee of the noise, with delta* added; zCDP is first converted, at `delta`."""
        own = self.noise.privacy()
        if isinstance(own, ZCDP):
            own = own.to_approx(self.delta)
        spent = exact(own.delta) if isinstance(own, ApproxDP) else Fraction(0)
        return ApproxDP(own.epsilon, up(spent + self._naming()), neighbours=AddRemove)

    def _naming(self) -> Fraction:
        """delta*, rounded up; at most the delta asked for."""
        return min(exact(self.delta), exact(up(self.groups_per_unit * self._beyond[1])))

    def accuracy(self, beta: float = 0.05, *, size: int = 1) -> int:
        """The least alpha for the noise on `size` counts, released or not: a released one is off by no more."""
        return self.noise.accuracy(beta, size=size)

    def event(self) -> ComposedEvent:
        """What ran: the noise, and a release that is private except with probability delta*."""
        return ComposedEvent(events=(self.noise.event(), ApproxEvent(epsilon=0, delta=self._naming())))


@lru_cache(maxsize=1024)
def _laplace_beyond(scale: Fraction, share: Fraction) -> tuple[int, Fraction]:
    rate = 1 / scale
    bottom = 1 + exp_down(-rate)
    most = math.ceil(scale * log_up(1 / share)) + 1  # a^k <= share
    return _least(lambda k: exp_up(-k * rate) / bottom, share, most)


@lru_cache(maxsize=1024)
def _gaussian_beyond(variance: Fraction, share: Fraction) -> tuple[int, Fraction]:
    most = math.ceil(root_bounds(2 * variance * log_up(1 / share))[1]) + 1  # exp(-k^2 / (2 variance)) <= share
    return _least(lambda k: gaussian_tail(variance, k), share, most)


def _least(tail: Callable[[int], Fraction], share: Fraction, most: int) -> tuple[int, Fraction]:
    """The least k >= 1 with tail(k) <= share, which holds at `most` up to rounding, and tail(k)."""
    low, high = 0, most
    while tail(high) > share:
        low, high = high, high + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if tail(middle) <= share else (middle, high)
    return high, tail(high)


def gaussian_tail(variance: Fraction, k: int) -> Fraction:
    """Pr[Z >= k] of discrete Gaussian noise for k >= 1, from above.

    Up to sigma = `LARGE` it is the profile of two copies so far apart that above k - 1/2 the other one has
    nothing; beyond, Pr[Z >= k] <= Pr[sigma N >= k - 1].

    >>> float(gaussian_tail(Fraction(1), 2))
    0.0585...
    """
    if variance <= LARGE**2:
        apart = 2 * int(_FAR) * math.ceil(variance)
        turn = k - Fraction(1, 2)
        met = gaussian_delta(variance, apart, apart * (turn + Fraction(apart, 2)) / variance)
        return met / (1 - exp_up(-_FAR))
    x = (k - 1) / root_bounds(variance)[1]
    return cdf_bounds(-x, digits=40 + int(x * x / 4))[1]
