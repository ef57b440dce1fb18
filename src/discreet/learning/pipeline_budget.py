"""A budget divided among parts that run one after another on the same rows.

Theorem.  Parts whose epsilon (or rho) add up to the budget's keep it together, each chosen by what the earlier ones
released.  (epsilon, delta) is divided as the largest rho for which rho-zCDP implies it, because there parts add up
without losing anything: ten equal parts of (1, 1e-6) have rho = 0.0024 each, where (0.1, 1e-7) for each would allow
rho = 0.00025.  Proof: docs/theory/estimators.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from discreet.composition.filter import largest_rho
from discreet.errors import UnsupportedError, require
from discreet.privacy.guarantee import ZCDP, ApproxDP, Guarantee, PureDP
from discreet.privacy.number import Number, exact


def divided(budget: Guarantee, shares: Sequence[Number]) -> list[Guarantee]:
    """One part a share; the shares are positive and only their proportions count.

    >>> divided(PureDP(1), [1, 3])
    [PureDP(epsilon=0.25), PureDP(epsilon=0.75)]
    >>> [round(float(part.rho), 4) for part in divided(ApproxDP(1.0, 1e-6), [1, 1])]
    [0.0122, 0.0122]
    >>> divided(ApproxDP(1.0, 1e-6), [1])
    [ApproxDP(epsilon=1.0, delta=1e-06)]
    """
    weights = [exact(share) for share in shares]
    require(bool(weights) and all(weight > 0 for weight in weights), "shares above 0", shares=list(shares))
    if len(weights) == 1:
        return [budget]
    return [part(budget, weight / sum(weights)) for weight in weights]


def part(budget: Guarantee, share: Fraction) -> Guarantee:
    """A part of a budget that is divided."""
    match budget:
        case PureDP():
            return PureDP(exact(budget.epsilon) * share, neighbours=budget.neighbours)
        case ZCDP():
            return ZCDP(exact(budget.rho) * share, neighbours=budget.neighbours)
        case ApproxDP():
            if exact(budget.delta) == 0:
                return PureDP(exact(budget.epsilon) * share, neighbours=budget.neighbours)
            rho = largest_rho(exact(budget.epsilon), exact(budget.delta))
            return ZCDP(rho * share, neighbours=budget.neighbours)
    raise UnsupportedError(f"budgets are divided as PureDP, ApproxDP or ZCDP, got {type(budget).__name__}")
