"""Which currency an approximate budget is best spent in, from public numbers alone.

A mechanism that is epsilon-DP is also (epsilon, delta)-DP.  Laplace noise for few statistics has less variance than
Gaussian noise, for many it has more: so an ApproxDP budget may be spent as the PureDP of its epsilon.
"""

from __future__ import annotations

from fractions import Fraction

from discreet.privacy.guarantee import ApproxDP, Guarantee, PureDP
from discreet.privacy.number import exact
from discreet.release.allowance import Allowance
from discreet.release.noise import variance


def cheapest(budget: Guarantee, *, steps: int, entries: int) -> Allowance:
    """The allowance with the least noise for a table of counts that gets one of `steps` equal shares.

    >>> from discreet.privacy.guarantee import ZCDP
    >>> cheapest(ApproxDP(1.0, 1e-6), steps=1, entries=10).budget, cheapest(ZCDP(1), steps=1, entries=10).budget
    (PureDP(epsilon=1.0), ZCDP(rho=1.0))
    >>> cheapest(ApproxDP(1.0, 1e-6), steps=100, entries=10).budget
    ApproxDP(epsilon=1.0, delta=1e-06)
    """
    whole = Allowance(budget, entries)
    total = whole.total
    if not isinstance(budget, ApproxDP) or exact(budget.epsilon) <= 0:
        return whole
    pure = Allowance(PureDP(budget.epsilon, neighbours=budget.neighbours), entries)
    noises = [one.noise(one.total / Fraction(steps), absolute=1, square=1) for one in (whole, pure)]
    assert total > 0
    return pure if variance(noises[1]) <= variance(noises[0]) else whole
