"""The cheapest approximation of a conjunction by parities, level by level: a small linear program.

Theorem.  Let a of r literals be satisfied, with signs s_i = 1 for those and -1 for the others.  Every function g(a)
is sum over j of h_j K_j(a), where K_j(a) is the sum over j-sets of the product of their signs,

    K_j(a) = sum over u of (-1)^u C(r - a, u) C(a, j - u).

If |g(r) - 1| <= alpha and |g(a)| <= alpha for a < r, then the sum over subsets T of the literals of h_|T| times the
parity of T is the count of the conjunction up to alpha n.  With the best noise on each level, the standard
deviation is that of one row's worth of noise times

    sum over j of |h_j| sqrt(C(r, j) C(d, j)),

which is minimised subject to those inequalities.  For alpha = 0 all h_j = 2^-r, and this is the least of all
factorizations (Edmonds, Nikolov, Ullman 2020).  Proof: docs/theory/chebyshev.md.

The program is written in x_j = h_j C(r, j), whose matrix has entries between -1 and 1, with as many levels as are
needed: levels are added until the multipliers show that no other would help.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

BITS = 80  # binary places of the coefficients after rounding


@lru_cache(maxsize=64)
def krawtchouk(r: int) -> tuple[tuple[int, ...], ...]:
    """K_j(a) as rows a = 0..r.

    >>> krawtchouk(2)
    ((1, -2, 1), (1, 0, -1), (1, 2, 1))
    """
    return tuple(
        tuple(
            sum((-1) ** u * math.comb(r - a, u) * math.comb(a, j - u) for u in range(j + 1) if j - u <= a)
            for j in range(r + 1)
        )
        for a in range(r + 1)
    )


@lru_cache(maxsize=256)
def level_coefficients(d: int, r: int, alpha: Fraction) -> tuple[Fraction, ...]:
    """h_0, ..., h_D for conjunctions of r of d attributes, in rationals that keep alpha exactly.

    >>> [str(h) for h in level_coefficients(5, 2, Fraction(0))]
    ['1/4', '1/4', '1/4']
    """
    target = alpha
    while target > 0:
        found = _optimum(d, r, float(target))
        excess = deviation(r, found) - alpha
        if excess <= 0:
            return found
        target -= max(2 * excess, alpha / 10**12)
    return (Fraction(1, 2**r),) * (r + 1)


def tuned(r: int, alpha: Fraction, sds: tuple[float, ...]) -> tuple[Fraction, ...] | None:
    """A rule for r literals with little noise, if one is found; parities of size j have standard deviation sds[j]."""
    last = min(len(sds) - 1, r)
    costs = [sd / math.sqrt(math.comb(r, j)) for j, sd in enumerate(sds[: last + 1])]
    target = alpha - alpha / 10**9
    solved = _solved(krawtchouk(r), costs, r, float(target), last) if alpha > 0 else None
    if solved is None:
        return None
    found = _rounded(solved[0], r)
    return found if deviation(r, found) <= alpha else None


def padded(h: tuple[Fraction, ...], spare: int) -> tuple[Fraction, ...]:
    """The rule for `spare` literals fewer: as if that many more were there and always satisfied.

    >>> [str(c) for c in padded((Fraction(1, 4), Fraction(1, 4), Fraction(1, 4)), 1)]
    ['1/2', '1/2', '1/4']
    """
    return tuple(
        sum((math.comb(spare, i) * h[j + i] for i in range(min(spare, len(h) - 1 - j) + 1)), Fraction(0))
        for j in range(len(h))
    )


def deviation(r: int, h: tuple[Fraction, ...]) -> Fraction:
    """The largest of |g(r) - 1| and |g(a)|, exactly."""
    rows = krawtchouk(r)
    values = [sum((c * k for c, k in zip(h, row, strict=False)), Fraction(0)) for row in rows]
    return max(abs(value - (a == r)) for a, value in enumerate(values))


def multiplier(d: int, r: int, h: tuple[Fraction, ...]) -> float:
    """sum |h_j| sqrt(C(r, j) C(d, j)): what the best noise of all levels is multiplied by.

    >>> round(multiplier(50, 8, level_coefficients(50, 8, Fraction(0))), 1)
    346.5
    """
    return sum(abs(float(c)) * math.sqrt(math.comb(r, j) * math.comb(d, j)) for j, c in enumerate(h))


def _optimum(d: int, r: int, alpha: float) -> tuple[Fraction, ...]:
    """The optimum, over no more levels than matter."""
    rows = krawtchouk(r)
    costs = [math.sqrt(math.comb(d, j) / math.comb(r, j)) for j in range(r + 1)]
    for last in range(1, r + 1):
        solved = _solved(rows, costs, r, alpha, last)
        if solved is None:
            continue
        x, prices = solved
        gains = (
            abs(sum(price * row[j] / math.comb(r, j) for price, row in zip(prices, rows, strict=True))) / costs[j]
            for j in range(last + 1, r + 1)
        )
        if max(gains, default=0.0) <= 1 + 1e-7:
            return _rounded(x, r)
    return (Fraction(1, 2**r),) * (r + 1)


def _rounded(x: list[float], r: int) -> tuple[Fraction, ...]:
    """h from x, in rationals; what is only rounding is 0."""
    size = max(abs(value) for value in x)
    kept = (value if abs(value) > 1e-9 * size else 0.0 for value in x)
    return tuple(Fraction(round(value * 2**BITS), 2**BITS * math.comb(r, j)) for j, value in enumerate(kept))


def _solved(
    rows: tuple[tuple[int, ...], ...], costs: list[float], r: int, alpha: float, last: int
) -> tuple[list[float], list[float]] | None:
    """x and the multipliers of the r + 1 conditions, with levels 0..last; None where there is no solution."""
    import numpy as np
    from scipy.optimize import linprog

    matrix = np.array([[row[j] / math.comb(r, j) for j in range(last + 1)] for row in rows])  # (r + 1, last + 1)
    wanted = np.zeros(r + 1)
    wanted[r] = 1.0
    cost = np.array(costs[: last + 1])
    found = linprog(
        np.concatenate([cost, cost]) / cost.max(),
        A_ub=np.block([[matrix, -matrix], [-matrix, matrix]]),
        b_ub=np.concatenate([wanted + alpha, alpha - wanted]),
        bounds=[(0, None)] * (2 * last + 2),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if found.status != 0:
        return None
    x = found.x[: last + 1] - found.x[last + 1 :]
    prices = (found.ineqlin.marginals[: r + 1] - found.ineqlin.marginals[r + 1 :]) * cost.max()
    return [float(value) for value in x], [float(price) for price in prices]
