"""Numbers in a promise: exact rationals, or rounded toward the weaker promise.

A float means the decimal it prints: 0.1 is one tenth, not the binary fraction
nearest to it.  `exact` reads a number, `up` and `down` write a real number as a
float whose printed decimal lies on the stated side of it, and `tidy` writes a
rational as a float when that loses nothing.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Rational

from discreet.errors import ParameterError

Number = int | float | Fraction | Decimal | str


def exact(value: Number) -> Fraction:
    """Read a finite number as the rational it prints.

    >>> exact(0.1)
    Fraction(1, 10)
    >>> exact("1/3")
    Fraction(1, 3)
    >>> exact(float("nan"))
    Traceback (most recent call last):
    discreet.errors.ParameterError: need a finite number, got nan
    """
    if isinstance(value, Fraction):
        return value
    if isinstance(value, bool) or not isinstance(value, (Rational, float, Decimal, str)):
        value = _from_numpy(value)
    if isinstance(value, Integral):
        return Fraction(int(value))
    try:
        return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)  # type: ignore[arg-type]
    except (ValueError, OverflowError, ZeroDivisionError):
        raise ParameterError(f"need a finite number, got {value!r}") from None


def _from_numpy(value: object) -> int | float:
    """A numpy scalar as the Python number it holds; anything else is refused."""
    item = getattr(value, "item", None)
    number = item() if callable(item) and getattr(value, "ndim", None) == 0 else None
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        raise ParameterError(f"need a number, got {value!r}")
    return number


def up(value: Number) -> float:
    """The least float whose printed decimal is at least `value`.

    >>> up(Fraction(1, 3))
    0.33333333333333337
    >>> up(Fraction(1, 10))
    0.1
    """
    return _directed(exact(value), toward=math.inf)


def down(value: Number) -> float:
    """The greatest float whose printed decimal is at most `value`."""
    return _directed(exact(value), toward=-math.inf)


def _directed(value: Fraction, toward: float) -> float:
    sign = 1 if toward > 0 else -1
    try:
        near = float(value)
    except OverflowError:
        near = math.copysign(math.inf, value)
    if math.isinf(near):
        return near if near == toward else math.copysign(math.nextafter(math.inf, 0), near)
    while sign * (Fraction(repr(near)) - value) < 0:
        near = math.nextafter(near, toward)
        if math.isinf(near):
            break
    return near


def tidy(value: Number) -> float | Fraction:
    """The same number as a float if its printed decimal is exactly `value`, else as a fraction.

    >>> tidy(Fraction(3, 10)), tidy(Fraction(1, 3))
    (0.3, Fraction(1, 3))
    """
    number = exact(value)
    near = _directed(number, toward=math.inf)
    return near if math.isfinite(near) and Fraction(repr(near)) == number else number
