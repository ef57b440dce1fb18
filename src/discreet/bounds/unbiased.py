"""What every unbiased mechanism must pay for a workload: gamma_2.

Theorem.  Let M be unbiased for W x and satisfy chi^2(M(x') || M(x)) <= c^2 for all neighbours under AddRemove.  On
every dataset x its covariance S has c^2 S >= w w^T for every column w of W (Hammersley 1950; Chapman, Robbins 1951),
and so

    the largest standard deviation of an answer is at least    gamma_2(W) / c,
    the root mean square of all m of them is at least          gamma_F(W) / (c sqrt m),

where gamma_2(W) (gamma_F(W)) is the least product, over W = R A, of the largest l2 norm of a column of A and the
largest row norm (the Frobenius norm) of R.  Here c^2 = e^(2 rho) - 1 for rho-zCDP and c = 2 sinh(epsilon / 2) for
epsilon-DP.  The Gaussian factorization mechanism pays the same with c = sqrt(2 rho): for small rho nobody unbiased
does better.  Under Replace gamma_2 falls by at most the largest entry.  Proof: docs/theory/lower_bounds.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from discreet.errors import UnsupportedError, require
from discreet.privacy.guarantee import ZCDP, Guarantee, PureDP
from discreet.privacy.number import exact

ABOVE = 1 + 2.0**-49  # the errors of exp, sinh, a root and a product
LARGEST = 709  # of the arguments of exp that have a value


def distinguishability(budget: Guarantee) -> float:
    """The largest c with chi^2 <= c^2 that the budget allows, rounded up; infinity where no float is as large.

    >>> round(distinguishability(ZCDP(0.5)), 4), round(distinguishability(PureDP(1.0)), 4)
    (1.3108, 1.0422)
    """
    match budget:
        case ZCDP():
            require(exact(budget.rho) > 0, "rho > 0", rho=budget.rho)
            return math.sqrt(_above(math.expm1, 2 * exact(budget.rho))) * ABOVE
        case PureDP():
            require(exact(budget.epsilon) > 0, "epsilon > 0", epsilon=budget.epsilon)
            return 2 * _above(math.sinh, exact(budget.epsilon) / 2) * ABOVE
    raise UnsupportedError(f"the bound needs a budget that limits chi^2: PureDP or ZCDP, got {type(budget).__name__}")


def unbiased_error(gamma: float, *, budget: Guarantee) -> float:
    """The least that the largest standard deviation of an unbiased mechanism can be, from a lower bound of gamma_2.

    It is rounded down, and 0 where the budget is so large that chi^2 is beyond the floats.

    >>> round(unbiased_error(2.53, budget=ZCDP(0.1)), 3)
    5.377
    """
    require(gamma >= 0, "gamma >= 0", gamma=gamma)
    return math.nextafter(gamma / distinguishability(budget), 0.0)


def _above(grows: Callable[[float], float], at: Fraction) -> float:
    """The value of a function that grows, at no less than `at`."""
    if at > LARGEST:
        return math.inf
    return grows(math.nextafter(float(at), math.inf))
