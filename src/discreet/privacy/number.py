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
from numbers import Rational

from discreet.errors import ParameterError, require

Number = int | float | Fraction | Decimal | str


LONGEST = 4000  # digits; a longer number in text is refused before it is built, and Python writes no more than 4,300


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
        return _from_numpy(value)
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    try:
        text = float.__repr__(value) if isinstance(value, float) else str(value)
        return Fraction(_short(text))
    except (ValueError, ZeroDivisionError):
        raise ParameterError(f"need a finite number, got {_clip(value)}") from None


def _short(text: str) -> str:
    """The text, unless it spells a number of more than `LONGEST` digits, or not in ASCII."""
    _, _, exponent = text.lower().partition("e")
    if not text.isascii() or len(exponent) > 6 or len(text) + abs(int(exponent or 0)) > LONGEST:
        raise ValueError
    return text


def _clip(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


def _from_numpy(value: object) -> Fraction:
    """A numpy number as the rational it prints; anything else is refused."""
    item = getattr(value, "item", None)
    number = item() if callable(item) and getattr(value, "ndim", None) == 0 else None
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        raise ParameterError(f"need a number, got {_clip(value)}")
    return exact(number if isinstance(number, int) else str(value))


def chance(value: object, *, name: str = "beta") -> float:
    """A probability that a float tells from 0 and 1, of a type that floats can be multiplied with: checked, as given.

    >>> chance(0.05), chance(Fraction(1, 3))
    (0.05, Fraction(1, 3))
    >>> chance("1/3")
    Traceback (most recent call last):
    discreet.errors.ParameterError: need 0 < beta < 1, got beta='1/3'
    """
    numeric = not isinstance(value, str | Decimal | bool)
    inside = numeric and Fraction(1, 1 << 1000) <= exact(value) <= 1 - Fraction(1, 1 << 53)  # type: ignore[arg-type]
    require(inside, f"0 < {name} < 1", **{name: value})
    return value  # type: ignore[return-value]


SMALLEST = Fraction(1, 10**1000)


def moderate(value: Number, *, name: str) -> Fraction:
    """A positive number from 10^-1000 to 10^1000: what a search through rationals ends in little time for.

    >>> moderate("1e-1001", name="epsilon")
    Traceback (most recent call last):
    discreet.errors.ParameterError: need 10^-1000 <= epsilon <= 10^1000, got epsilon='1e-1001'
    """
    number = exact(value)
    require(SMALLEST <= number <= 1 / SMALLEST, f"10^-1000 <= {name} <= 10^1000", **{name: value})
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
        near = math.inf if value > 0 else -math.inf
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
