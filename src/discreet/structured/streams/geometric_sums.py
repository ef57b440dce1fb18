"""Powers and geometric sums of rationals between 0 and 1, from below or above, in fixed point.

Sums over a million steps are promises: they are rounded toward the larger one, and their numbers stay short.
Proof: docs/theory/continual.md.
"""

from __future__ import annotations

from fractions import Fraction

FIXED = 128  # bits


def geometric(ratio: Fraction, terms: int) -> Fraction:
    """ratio + ratio^2 + ... + ratio^terms, from above, for a ratio in [0, 1].

    >>> float(geometric(Fraction(1, 2), 3)), geometric(Fraction(1), 5)
    (0.875, Fraction(5, 1))
    """
    if terms <= 0:
        return Fraction(0)
    return Fraction(terms) if ratio == 1 else ratio * (1 - power_down(ratio, terms)) / (1 - ratio)


def power_down(base: Fraction, exponent: int) -> Fraction:
    """base^exponent from below, for a base in [0, 1]."""
    return _power(base, exponent, up=0)


def power_up(base: Fraction, exponent: int) -> Fraction:
    """base^exponent from above, for a base in [0, 1]."""
    return min(Fraction(1), _power(base, exponent, up=1))


def _power(base: Fraction, exponent: int, *, up: int) -> Fraction:
    square, found = (base.numerator << FIXED) // base.denominator + up, 1 << FIXED
    while exponent:
        if exponent & 1:
            found = (found * square >> FIXED) + up
        square = (square * square >> FIXED) + up
        exponent >>= 1
    return Fraction(found, 1 << FIXED)


def rounded_up(value: Fraction) -> Fraction:
    """A multiple of 2^-128 from above: sums of fractions keep small denominators."""
    return Fraction(-((-value.numerator << FIXED) // value.denominator), 1 << FIXED)
