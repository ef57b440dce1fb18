"""The polynomial that is 0 at 0 and nearly 1 at 1, ..., t, in exact rationals.

Theorem (Thaler, Ullman, Vadhan 2012).  Let T_D be the Chebyshev polynomial of degree D and phi(x) = (2x - t - 1) /
(t - 1), which takes [1, t] to [-1, 1].  The polynomial g(x) = 1 - T_D(phi(x)) / T_D(phi(0)) has g(0) = 0 and

    |g(i) - 1| <= alpha for i = 1, ..., t   as soon as   T_D((t + 1) / (t - 1)) >= 1 / alpha,

that is for D >= arccosh(1 / alpha) / arccosh((t + 1) / (t - 1)), about (sqrt t / 2) ln(2 / alpha).  With the
differences c_s = sum over j of (-1)^(s - j) C(s, j) g(j), for all 0/1 vectors w and sets Y with at most t elements

    g(number of ones of w in Y) = sum over s = 1..D of c_s times the number of s-sets of ones of w in Y.

Proof: docs/theory/chebyshev.md.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from discreet.errors import require
from discreet.privacy.number import Number, exact


@lru_cache(maxsize=64)
def degree(t: int, alpha: Fraction) -> int:
    """The least D of the theorem, by comparing rationals; t itself, where g is exact, if that is not larger.

    >>> degree(8, Fraction(1, 10)), degree(16, Fraction(1, 100)), degree(2, Fraction(0))
    (5, 11, 2)
    """
    if alpha == 0 or t == 1:
        return t
    point, goal = Fraction(t + 1, t - 1), 1 / alpha
    before, here, found = Fraction(1), point, 1
    while here < goal and found < t:
        before, here, found = here, 2 * point * here - before, found + 1
    return found


def chebyshev(order: int, x: Fraction) -> Fraction:
    """T_order(x) by its recurrence.

    >>> chebyshev(3, Fraction(1, 2))
    Fraction(-1, 1)
    """
    before, here = Fraction(1), x
    if order == 0:
        return before
    for _ in range(order - 1):
        before, here = here, 2 * x * here - before
    return here


@lru_cache(maxsize=64)
def values(t: int, alpha: Fraction) -> tuple[Fraction, ...]:
    """g(0), ..., g(t)."""
    order = degree(t, alpha)
    if order == t:
        return (Fraction(0),) + (Fraction(1),) * t
    scale = chebyshev(order, Fraction(-(t + 1), t - 1))
    return tuple(1 - chebyshev(order, Fraction(2 * x - t - 1, t - 1)) / scale for x in range(t + 1))


@lru_cache(maxsize=64)
def coefficients(t: int, alpha: Fraction) -> tuple[Fraction, ...]:
    """c_0 = 0, c_1, ..., c_D.

    >>> [round(float(c), 4) for c in coefficients(8, Fraction(1, 10))]
    [0.0, 0.9503, -0.8638, 0.7007, -0.4539, 0.1816]
    """
    g = values(t, alpha)
    order = degree(t, alpha)
    return tuple(sum((-1) ** (s - j) * math.comb(s, j) * g[j] for j in range(s + 1)) for s in range(order + 1))  # type: ignore[return-value]


def checked(t: int, alpha: Number) -> Fraction:
    """alpha, after a look at both."""
    whole = isinstance(t, int) and not isinstance(t, bool)
    require(whole and t >= 1, "an integer t >= 1", t=t)
    given = exact(alpha)
    require(0 <= given < 1, "0 <= alpha < 1", alpha=alpha)
    return given
