"""A budget as an amount that is shared out over steps fixed in advance.

Theorem.  Run steps one after another on the same data, each chosen by what the earlier ones gave, with shares that were
fixed before.  If the shares add up to at most the allowance, all of it together keeps the budget:

    budget     amount     noise on integers                   a choice by the exponential mechanism
    PureDP     epsilon    Laplace, l1 / share                 epsilon = share
    ZCDP       rho        Gaussian, sigma^2 = l2^2/(2 share)  epsilon^2 = 8 share
    ApproxDP   mu^2       Gaussian, l2^2 mu_1(sigma)^2 = share   epsilon^2 = 8 share / pi

where mu_1(sigma) is the Gaussian-DP parameter of the discrete Gaussian at sensitivity 1, corrected for the integers.
The last is tighter than the route through zCDP: at (1, 1e-9) it allows 1.11 times as much in all.
Proof: docs/theory/synthesis.md.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from fractions import Fraction

from discreet.errors import UnsupportedError, require
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.privacy.convert import gaussian_delta_up
from discreet.privacy.enclosure import root_bounds, root_up
from discreet.privacy.gaussian_profile import unit_mu
from discreet.privacy.guarantee import ZCDP, ApproxDP, Guarantee, PureDP
from discreet.privacy.number import exact
from discreet.release.noise import Noise

TAIL = 16  # standard deviations of an entry inside which the integers are compared with the normal law
LARGEST = 2000  # the epsilon up to which the profile of a normal law is worked out
LOST = Fraction(1, 1 << 20)  # of delta, for entries outside
EIGHTH_OF_PI = Fraction(3926990817, 10**10)  # from above


@dataclass(frozen=True, slots=True)
class Allowance:
    """What a budget allows in all, when at most `entries` integers get noise.

    >>> whole = Allowance(ZCDP(0.5), entries=1)
    >>> whole.total, round(float(whole.noise(whole.total / 2, absolute=1, square=1).sigma) ** 2, 9)
    (Fraction(1, 2), 2.0)
    """

    budget: Guarantee
    entries: int
    portion: Fraction = Fraction(1)  # of the budget

    def of(self, portion: Fraction) -> Allowance:
        """That portion of it: portions that add up to 1 keep the whole."""
        return replace(self, portion=self.portion * portion)

    @property
    def total(self) -> Fraction:
        """Epsilon, rho, or the largest mu^2 that implies (epsilon, delta): the portion of it."""
        match self.budget:
            case PureDP():
                amount = exact(self.budget.epsilon)
            case ZCDP():
                amount = exact(self.budget.rho)
            case ApproxDP():
                amount = self._square(exact(self.budget.epsilon), exact(self.budget.delta))
            case _:
                name = type(self.budget).__name__
                raise UnsupportedError(f"steps are paid in PureDP, ApproxDP or ZCDP, got {name}")
        require(amount > 0, "a budget above 0", budget=self.budget)
        return amount * self.portion

    def _square(self, epsilon: Fraction, delta: Fraction) -> Fraction:
        require(epsilon > 0, "epsilon > 0", epsilon=float(epsilon))
        if delta == 0:
            raise UnsupportedError("delta = 0 is a pure budget: pass PureDP(epsilon)")
        if 2 * self.entries * math.exp(-TAIL * TAIL / 2) > float(delta * LOST):
            raise UnsupportedError(f"delta = {float(delta):g} is too small for {self.entries} entries with noise")
        return _largest_square(min(epsilon, Fraction(LARGEST)), delta)  # (2000, delta) keeps every larger epsilon

    def noise(self, share: Fraction, *, absolute: int, square: int) -> Noise:
        """Noise for integers that move by at most `absolute` in l1 and by `square` in squared l2 distance."""
        require(absolute >= 1 and square >= 1, "sensitivities of at least 1", absolute=absolute, square=square)
        if isinstance(self.budget, PureDP):
            return Laplace(epsilon=share, sensitivity=absolute)
        sensitivity = root_up(Fraction(square))
        told = exact(Gaussian.with_sigma(1, sensitivity=sensitivity).event().sensitivity)  # as the accountant reads it
        return Gaussian.with_sigma(self._sigma(share, told**2), sensitivity=sensitivity)

    def _sigma(self, share: Fraction, square: Fraction) -> Fraction:
        """The least noise, nearly."""
        if isinstance(self.budget, ZCDP):
            return exact(root_up(square / (2 * share)))
        return _least_sigma(share, square)

    def choice(self, share: Fraction, *, sensitivity: int, monotone: bool = False) -> Exponential:
        """The exponential mechanism on scores of this sensitivity; twice as sharp where they move one way only."""
        if isinstance(self.budget, PureDP):
            epsilon = share
        else:
            square = 8 * share if isinstance(self.budget, ZCDP) else share / EIGHTH_OF_PI
            epsilon = root_bounds(square)[0]
        relation = self.budget.neighbours
        return Exponential(epsilon=epsilon, sensitivity=sensitivity, monotone=monotone, neighbours=relation)


@functools.lru_cache(maxsize=1024)
def _least_sigma(share: Fraction, square: Fraction) -> Fraction:
    """A sigma with square mu_1(sigma)^2 <= share, within a millionth of the least one found."""

    def holds(sigma: Fraction) -> bool:
        return square * unit_mu(sigma**2, TAIL + math.sqrt(square) / float(sigma)) ** 2 <= share

    low = high = exact(root_up(square / share))  # that of the continuous law
    step = 1e-6
    while not holds(high):
        low, high, step = high, exact(float(high) * (1 + step)), 2 * step
    while float(high) > float(low) * (1 + 2e-6):
        middle = exact((float(low) + float(high)) / 2)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


@functools.cache
def _largest_square(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest mu^2 found for (epsilon, (1 - LOST) delta)."""
    most = delta * (1 - LOST)
    digits = 25 + len(str(delta.denominator // delta.numerator))
    low, high = Fraction(0), Fraction(1)
    while gaussian_delta_up(high, epsilon, digits=digits) <= most and high < 10**6:
        high *= 2
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_delta_up(middle, epsilon, digits=digits) <= most else (low, middle)
    return low
