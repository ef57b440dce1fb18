"""exp, ln and the square root of a rational, bracketed by rationals.

`exp_down(x) <= e^x <= exp_up(x)` and `log_down(x) <= ln x <= log_up(x)`, with about
`DIGITS` correct digits.  Python's decimal module rounds exp and ln correctly at any
precision; the argument is rounded outward before, and the result one unit outward after.
Everything irrational in a promise passes through here, so that no promise rests on the
error of a floating-point library.
"""

from __future__ import annotations

import math
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from discreet.errors import require
from discreet.privacy.number import up

DIGITS = 40
LARGEST = 100_000  # the largest exponent that is evaluated; beyond it only bounds are given


def exp_down(x: Fraction) -> Fraction:
    """A rational just below e^x; for x beyond `LARGEST` it is no longer close."""
    if x == 0:
        return Fraction(1)
    if x < -LARGEST:
        return Fraction(0)
    x = min(x, Fraction(LARGEST))
    context = _context(DIGITS + _whole_digits(x), ROUND_FLOOR)
    return Fraction(context.next_minus(context.exp(_decimal(x, context))))


def exp_up(x: Fraction) -> Fraction:
    """A rational just above e^x, for x up to `LARGEST`."""
    if x == 0:
        return Fraction(1)
    require(x <= LARGEST, f"an exponent of at most {LARGEST}", exponent=up(x))
    x = max(x, Fraction(-LARGEST))
    context = _context(DIGITS + _whole_digits(x), ROUND_CEILING)
    return Fraction(context.next_plus(context.exp(_decimal(x, context))))


def log_down(x: Fraction) -> Fraction:
    """A rational just below ln x, for x > 0."""
    if x == 1:
        return Fraction(0)
    context = _context(DIGITS + _digits_from_one(x), ROUND_FLOOR)
    return Fraction(context.next_minus(context.ln(_decimal(x, context))))


def log_up(x: Fraction) -> Fraction:
    """A rational just above ln x, for x > 0.

    >>> up(log_up(Fraction(3)))
    1.0986122886681098
    """
    if x == 1:
        return Fraction(0)
    context = _context(DIGITS + _digits_from_one(x), ROUND_CEILING)
    return Fraction(context.next_plus(context.ln(_decimal(x, context))))


def expm1_bounds(x: Fraction) -> tuple[Fraction, Fraction]:
    """e^x - 1 from below and above, for 0 <= x <= `LARGEST`, with `DIGITS` digits however small x is."""
    if x == 0:
        return Fraction(0), Fraction(0)
    if x < Fraction(1, 10**DIGITS):
        return x, x + x * x  # x <= e^x - 1 <= x + x^2 for 0 <= x <= 1
    digits = 2 * DIGITS + _whole_digits(x)
    down, over = _context(digits, ROUND_FLOOR), _context(digits, ROUND_CEILING)
    low = Fraction(down.next_minus(down.exp(_decimal(x, down))))
    high = Fraction(over.next_plus(over.exp(_decimal(x, over))))
    return low - 1, high - 1


def root_up(square: Fraction) -> float | Fraction:
    """The square root, exactly if rational and otherwise rounded up to a float."""
    p, q = math.isqrt(square.numerator), math.isqrt(square.denominator)
    if p * p == square.numerator and q * q == square.denominator:
        return Fraction(p, q)
    high = root_bounds(square)[1]
    nearest = up(high)
    return nearest if math.isfinite(nearest) else high


def root_bounds(square: Fraction, *, bits: int = 160) -> tuple[Fraction, Fraction]:
    """The square root from below and above, with at least `bits` / 2 correct bits."""
    shift = max(0, bits - square.numerator.bit_length() + square.denominator.bit_length())
    shift += shift % 2
    floor = math.isqrt((square.numerator << shift) // square.denominator)
    unit = 1 << (shift // 2)
    return Fraction(floor, unit), Fraction(floor + 1, unit)


def _context(digits: int, rounding: str) -> Context:
    return Context(prec=digits, rounding=rounding, Emax=MAX_EMAX, Emin=MIN_EMIN, clamp=0)


def _decimal(x: Fraction, context: Context) -> Decimal:
    return context.divide(Decimal(x.numerator), Decimal(x.denominator))


def _whole_digits(x: Fraction) -> int:
    """Digits of |x| before the point: an absolute error of the exponent is a relative one of the result."""
    return len(str(abs(x.numerator) // x.denominator))


def _digits_from_one(x: Fraction) -> int:
    """How many digits ln x loses because x is close to 1."""
    lost = x.denominator.bit_length() - abs(x.numerator - x.denominator).bit_length()
    return 2 + max(0, lost) * 302 // 1000
