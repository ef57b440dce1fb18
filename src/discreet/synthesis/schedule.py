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

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import require
from discreet.mechanisms.exponential import Exponential
from discreet.privacy.event import ComposedEvent, Event, RepeatedEvent
from discreet.privacy.guarantee import ZCDP, Guarantee, PureDP
from discreet.release.allowance import Allowance
from discreet.release.noise import Noise, variance

SINGLES = Fraction(1, 4)  # of the budget, for the columns one by one
CHOICES = Fraction(1, 10)  # of what is left, for choosing


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

    >>> from discreet.privacy.guarantee import ApproxDP
    >>> made = schedule(ApproxDP(1.0, 1e-9), rounds=40, reach=1, moved=1, weight=1, cells=10**6)
    >>> round(made.sd, 1), round(float(made.choice.epsilon), 4)
    (42.3, 0.0126)
    """
    require(isinstance(rounds, int) and not isinstance(rounds, bool) and rounds >= 0, "rounds >= 0", rounds=rounds)
    whole = Allowance(budget, cells)
    total = whole.total
    single = total if rounds == 0 else total * SINGLES
    if rounds == 0:
        return Schedule(singles=_singles(budget, single), noise=None, choice=None, rounds=0)
    each = (total - single) / rounds
    return Schedule(
        singles=_singles(budget, single),
        noise=whole.noise(each * (1 - CHOICES), absolute=moved, square=reach),
        choice=whole.choice(each * CHOICES, sensitivity=moved * weight),
        rounds=rounds,
    )


def _singles(budget: Guarantee, share: Fraction) -> Guarantee:
    """PureDP, or the rho of Gaussian noise on a fine lattice, whose mu^2 is 2 rho but for a factor of 1 + 2^-30."""
    if isinstance(budget, PureDP):
        return PureDP(share)
    return ZCDP(share if isinstance(budget, ZCDP) else share / 2 * (1 - Fraction(1, 1 << 30)))
