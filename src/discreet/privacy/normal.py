"""The normal distribution function, bracketed by rationals.

For x >= 0,  Phi(x) = 1/2 + phi(x) * (x + x^3/3 + x^5/(3*5) + x^7/(3*5*7) + ...),
a series of positive terms whose ratios x^2/3, x^2/5, ... fall.  It is cut at a term below
10^-precision of the sum once the next ratio is below 1/2, so that the tail is at most that
term.  Each of the k steps rounds by a relative 10^-precision, which `_GUARD` further digits
cover for k < 10^6.
"""

from __future__ import annotations

import functools
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

from discreet.errors import require

LARGEST = 200  # |x| beyond this is not evaluated
_GUARD = 20


def cdf_bounds(x: Fraction, *, digits: int = 40) -> tuple[Fraction, Fraction]:
    """Phi(x) from below and above, 10^-digits apart at most.

    >>> low, high = cdf_bounds(Fraction(1))
    >>> round(float(low), 15), high - low <= Fraction(1, 10**40)
    (0.841344746068543, True)
    """
    require(abs(x) <= LARGEST, f"|x| <= {LARGEST}", x=float(x))
    context = Context(prec=digits + _GUARD, rounding=ROUND_HALF_EVEN, Emax=MAX_EMAX, Emin=MIN_EMIN)
    t = context.divide(Decimal(abs(x).numerator), Decimal(x.denominator))
    square = context.multiply(t, t)
    term, total, k = t, t, 1
    last = Decimal(10) ** -(digits + _GUARD)
    while context.multiply(square, Decimal(2)) > k + 2 or term > context.multiply(total, last):
        k += 2
        term = context.divide(context.multiply(term, square), Decimal(k))
        total = context.add(total, term)
    exponent = context.divide(square, Decimal(-2))
    density = context.divide(context.exp(exponent), context.sqrt(context.multiply(Decimal(2), _pi(digits + _GUARD))))
    half = Fraction(context.multiply(density, total))
    slack = Fraction(1, 2 * 10**digits)
    centre = Fraction(1, 2) + (half if x >= 0 else -half)
    return max(Fraction(0), centre - slack), min(Fraction(1), centre + slack)


@functools.cache
def _pi(digits: int) -> Decimal:
    """Pi by Machin's formula, 16 arctan(1/5) - 4 arctan(1/239), in integers."""
    unit = 10 ** (digits + 10)

    def arctan_inverse(n: int) -> int:
        power, total, sign, k = unit // n, unit // n, 1, 1
        while power:
            power, sign, k = power // (n * n), -sign, k + 2
            total += sign * (power // k)
        return total

    return Decimal(f"{16 * arctan_inverse(5) - 4 * arctan_inverse(239)}e-{digits + 10}")
