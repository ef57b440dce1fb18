"""Laplace noise at epsilon, or Gaussian noise at (epsilon, delta): whichever is less, by public numbers.

Theorem.  A mechanism that is epsilon-DP is (epsilon, delta)-DP.  So steps whose shares of epsilon add up to epsilon may
take the place of steps whose shares of mu^2 add up to that of (epsilon, delta), and a choice between the two that looks
at shares and sensitivities only is free.  With few steps and few entries that one row moves Laplace noise is less.
Proof: docs/theory/estimators.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from discreet.privacy.guarantee import ApproxDP, Guarantee, PureDP
from discreet.privacy.number import exact
from discreet.release.allowance import Allowance
from discreet.release.noise import variance

Step = tuple[Fraction, int, int]  # a share of all, and what a row moves: l1, squared l2


def least_noise(budget: Guarantee, steps: Sequence[Step], *, entries: int) -> Allowance:
    """The allowance under which the variances of the steps have the least product.

    >>> least_noise(ApproxDP(1.0, 1e-6), [(Fraction(1), 1, 1)], entries=1).budget
    PureDP(epsilon=1.0)
    >>> least_noise(ApproxDP(1.0, 1e-6), [(Fraction(1), 100, 100)], entries=100).budget
    ApproxDP(epsilon=1.0, delta=1e-06)
    """
    if not isinstance(budget, ApproxDP):
        return Allowance(budget, entries=entries)
    pure = Allowance(PureDP(budget.epsilon, neighbours=budget.neighbours), entries=entries)
    if exact(budget.delta) == 0:
        return pure
    given = Allowance(budget, entries=entries)
    return pure if _size(pure, steps) <= _size(given, steps) else given


def _size(allowance: Allowance, steps: Sequence[Step]) -> float:
    """The sum of the logarithms of the variances."""
    total = allowance.total
    found = [variance(allowance.noise(share * total, absolute=l1, square=square)) for share, l1, square in steps]
    return sum(math.log(max(one, 1e-300)) for one in found)
