"""How a budget is spread over the steps of a synthesizer, all fixed before the first row is read.

A synthesizer measures every column once, then `rounds` times chooses a table by the exponential mechanism and measures
it.

Theorem.  Let one unit move every table by at most `moved` in l1 and `reach` in squared l2 distance, and the scores of a
choice by at most `moved` times their largest weight.  The schedule keeps the budget:

    PureDP    the epsilons of all steps add up
    ZCDP      rho: 1 / (2 sigma^2) for a table, epsilon^2 / 8 for a choice; they add up
    ApproxDP  Gaussian DP: mu^2 = 1 / sigma^2 (corrected for the integers) for a table, mu^2 <= pi epsilon^2 / 8 for a
              choice; they add up to the mu of the budget.

The last is tighter than the route through zCDP: at (1, 1e-9) it allows 1.11 times as much in all.
Proof: docs/theory/synthesis.md.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import UnsupportedError, require
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.privacy.convert import gaussian_delta_up
from discreet.privacy.enclosure import root_bounds, root_up
from discreet.privacy.event import ComposedEvent, Event, RepeatedEvent
from discreet.privacy.gaussian_profile import unit_mu
from discreet.privacy.guarantee import ZCDP, ApproxDP, Guarantee, PureDP
from discreet.privacy.number import exact
from discreet.release.noise import Noise, variance

SINGLES = Fraction(1, 4)  # of the budget, for the columns one by one
CHOICES = Fraction(1, 10)  # of what is left, for choosing
TAIL = 16  # standard deviations of an entry inside which the integers are compared with the normal law
LOST = Fraction(1, 1 << 20)  # of delta, for entries outside
EIGHTH_OF_PI = Fraction(3926990817, 10**10)  # from above


@dataclass(frozen=True, kw_only=True, slots=True)
class Schedule:
    """The mechanisms of a synthesizer: `singles` pays for all columns, `noise` and `choice` for each round."""

    singles: Guarantee  # PureDP or ZCDP, what `discreet.synthesis.singles` spends
    noise: Noise | None
    choice: Exponential | None
    rounds: int

    @property
    def sd(self) -> float:
        """The standard deviation of a cell of a table that is measured in a round."""
        assert self.noise is not None
        return math.sqrt(variance(self.noise))

    def event(self, singles: Event) -> Event:
        """Everything that runs."""
        if self.noise is None or self.choice is None:
            return singles
        each = ComposedEvent(events=(self.choice.event(), self.noise.event()))
        return ComposedEvent(events=(singles, RepeatedEvent(event=each, count=self.rounds)))


def schedule(budget: Guarantee, *, rounds: int, reach: int, moved: int, weight: int, cells: int) -> Schedule:
    """Spread a budget.

    One unit moves the counts of a table by at most `moved` in l1 and by at most `reach` in squared l2 distance, and a
    score by at most `moved` times `weight`; at most `cells` cells are measured in all.

    >>> made = schedule(ApproxDP(1.0, 1e-9), rounds=40, reach=1, moved=1, weight=1, cells=10**6)
    >>> round(made.sd, 1), round(float(made.choice.epsilon), 4)
    (42.3, 0.0126)
    """
    require(isinstance(rounds, int) and not isinstance(rounds, bool) and rounds >= 0, "rounds >= 0", rounds=rounds)
    total = allowance(budget, cells)
    require(total > 0, "a budget above 0", budget=budget)
    single = total if rounds == 0 else total * SINGLES
    if rounds == 0:
        return Schedule(singles=_singles(budget, single), noise=None, choice=None, rounds=0)
    each = (total - single) / rounds
    choosing, measuring = each * CHOICES, each * (1 - CHOICES)
    if isinstance(budget, PureDP):
        noise: Noise = Laplace(epsilon=measuring, sensitivity=moved)
        epsilon = choosing
    else:
        noise = Gaussian.with_sigma(_sigma(budget, measuring, reach), sensitivity=root_up(Fraction(reach)))
        square = 8 * choosing if isinstance(budget, ZCDP) else choosing / EIGHTH_OF_PI
        epsilon = root_bounds(square)[0]
    return Schedule(
        singles=_singles(budget, single),
        noise=noise,
        choice=Exponential(epsilon=epsilon, sensitivity=moved * weight),
        rounds=rounds,
    )


def allowance(budget: Guarantee, cells: int) -> Fraction:
    """What can be shared out: epsilon, rho, or the largest mu^2 that implies (epsilon, delta)."""
    match budget:
        case PureDP():
            return exact(budget.epsilon)
        case ZCDP():
            return exact(budget.rho)
        case ApproxDP():
            require(exact(budget.epsilon) > 0, "epsilon > 0", epsilon=budget.epsilon)
            if exact(budget.delta) == 0:
                raise UnsupportedError("delta = 0 is a pure budget: pass PureDP(epsilon)")
            delta = exact(budget.delta)
            if 2 * cells * math.exp(-TAIL * TAIL / 2) > float(delta * LOST):
                raise UnsupportedError(f"delta = {float(delta):g} is too small for {cells} measured cells")
            return _largest_square(exact(budget.epsilon), delta)
    raise UnsupportedError(f"synthetic data are paid in PureDP, ApproxDP or ZCDP, got {type(budget).__name__}")


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


def _singles(budget: Guarantee, share: Fraction) -> Guarantee:
    """PureDP, or the rho of Gaussian noise on a fine lattice, whose mu^2 is 2 rho but for a factor of 1 + 2^-30."""
    if isinstance(budget, PureDP):
        return PureDP(share)
    return ZCDP(share if isinstance(budget, ZCDP) else share / 2 * (1 - Fraction(1, 1 << 30)))


def _sigma(budget: Guarantee, share: Fraction, reach: int) -> Fraction:
    """The least noise, nearly: rho = reach / (2 sigma^2), or reach mu_1(sigma)^2 <= share."""
    if isinstance(budget, ZCDP):
        return exact(root_up(reach / (2 * share)))
    sigma = exact(root_up(reach / share))
    while reach * unit_mu(sigma**2, TAIL + math.sqrt(reach)) ** 2 > share:
        sigma = exact(float(sigma) * (1 + 1e-6))
    return sigma
