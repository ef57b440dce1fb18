"""log, exp and tan of rational numbers, each between two integers over a power of two.

Lemma.  Each function `f_bounds(x, bits)` returns integers with

    low / 2^bits  <=  f(x)  <=  high / 2^bits     and     high - low <= 2,

or, for the tangent, low / 2^bits <= tan(pi x / 2) <= high / 2^bits with high - low <= 2.
Proof: docs/theory/rounded_noise.md.  In short: every sum below has positive terms only; it
is taken twice, once with every operation rounded down and once with every operation
rounded up and the rest of the series added, so that it is bracketed whatever the
precision; the guard bits then make the bracket narrow.  Nothing here is a float.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

Bounds = tuple[int, int]

GUARD = 24  # spare bits: the brackets of the sums below are a few hundred units wide


def _down(top: int, bottom: int) -> int:
    return top // bottom


def _up(top: int, bottom: int) -> int:
    return -(-top // bottom)


def _narrow(low: int, high: int, spare: int) -> Bounds:
    """The same bracket with `spare` fewer bits, rounded outward."""
    return low >> spare, -(-high >> spare)


def _odd_powers(top: int, bottom: int, width: int, divide: Callable[[int, int], int]) -> Bounds:
    """Sums of z^n / n over n = 1, 5, 9, ... and over n = 3, 7, 11, ..., for 0 <= z = top / bottom <= 1/2.

    Rounding up, the rest of the series is at most the last power, and is added to both.
    """
    squared = (top * top, bottom * bottom)
    power, n = divide(top << width, bottom), 1
    sums = [0, 0]
    while power > 1 or n == 1:
        sums[n % 4 == 3] += divide(power, n)
        power, n = divide(power * squared[0], squared[1]), n + 2
    rest = 2 * power if divide is _up else 0
    return sums[0] + rest, sums[1] + rest


def _powers(x: int, width: int, divide: Callable[[int, int], int]) -> list[int]:
    """Sums of x^n / n! over n = 0, 1, 2, 3 modulo 4, for a fixed-point 0 <= x <= 1.

    Rounding up, the rest of the series is at most twice its first term, and is added to all.
    """
    term, n = 1 << width, 0
    sums = [0, 0, 0, 0]
    while term > 1 or n == 0:
        sums[n % 4] += term
        n += 1
        term = divide(term * x, n << width)
    rest = 2 * term if divide is _up else 0
    return [total + rest for total in sums]


@lru_cache(maxsize=8)
def _log_two(width: int) -> Bounds:
    """ln 2 = 2 artanh(1/3)."""
    return 2 * sum(_odd_powers(1, 3, width, _down)), 2 * sum(_odd_powers(1, 3, width, _up))


@lru_cache(maxsize=8)
def _half_pi(width: int) -> Bounds:
    """pi / 2 = 8 arctan(1/5) - 2 arctan(1/239) (Machin 1706)."""
    low5, high5 = (_odd_powers(1, 5, width, divide) for divide in (_down, _up))
    low239, high239 = (_odd_powers(1, 239, width, divide) for divide in (_down, _up))
    low = 8 * (low5[0] - high5[1]) - 2 * (high239[0] - low239[1])
    high = 8 * (high5[0] - low5[1]) - 2 * (low239[0] - high239[1])
    return low, high


def _constant_width(width: int) -> int:
    """A multiple of 64, so that few precisions of a constant are ever worked out."""
    return -(-width // 64) * 64


def log_bounds(x: Fraction, bits: int) -> Bounds:
    """Brackets ln x, for x > 0.

    >>> log_bounds(Fraction(2), 20)  # 2^20 ln 2 = 726817.5
    (726817, 726818)
    """
    top, bottom = x.numerator, x.denominator
    shift = top.bit_length() - bottom.bit_length()  # x = 2^shift m with 1/2 < m < 2
    top, bottom = (top, bottom << shift) if shift >= 0 else (top << -shift, bottom)
    width = bits + GUARD + shift.bit_length()
    # ln m = 2 artanh((m - 1) / (m + 1)), and the argument is below 1/3 in size.
    gap, total = top - bottom, top + bottom
    low, high = (2 * sum(_odd_powers(abs(gap), total, width, divide)) for divide in (_down, _up))
    if gap < 0:
        low, high = -high, -low
    two = _narrow(*_log_two(_constant_width(width)), _constant_width(width) - width)
    return _narrow(low + min(shift * two[0], shift * two[1]), high + max(shift * two[0], shift * two[1]), width - bits)


def exp_bounds(x: Fraction, bits: int) -> Bounds:
    """Brackets exp(x), for x >= 0.

    >>> exp_bounds(Fraction(1), 16)  # 65536 e = 178145.3
    (178145, 178146)
    """
    shift = int(x * 3 / 2) + 1  # x / ln 2 is less than 3 x / 2
    width = bits + GUARD + shift
    fixed = _constant_width(width + shift.bit_length())
    two = _log_two(fixed)
    argument = (x.numerator << fixed) // x.denominator
    times = argument // two[1]  # exp(x) = 2^times exp(rest), with rest between 0 and a little over ln 2
    rest = _narrow(argument - times * two[1], argument + 1 - times * two[0], fixed - width)
    low, high = (sum(_powers(rest[i], width, divide)) for i, divide in enumerate((_down, _up)))
    return _narrow(low << times, high << times, width - bits)


def tan_bounds(x: Fraction, bits: int) -> Bounds:
    """Brackets tan(pi x / 2), for 0 <= x <= 1/2.

    >>> tan_bounds(Fraction(1, 3), 20)  # 2^20 / sqrt(3) = 605395.7
    (605395, 605396)
    """
    width = bits + GUARD
    fixed = _constant_width(width)
    half_pi = _half_pi(fixed)
    angle = (
        (half_pi[0] * x.numerator // x.denominator) >> (fixed - width),
        -((-half_pi[1] * x.numerator // x.denominator) >> (fixed - width)),
    )
    low, high = _powers(angle[0], width, _down), _powers(angle[1], width, _up)
    # sin = s1 - s3 and cos = s0 - s2, where s_j sums the terms j modulo 4.
    sine, cosine = (low[1] - high[3], high[1] - low[3]), (low[0] - high[2], high[0] - low[2])
    return _narrow(max(0, (sine[0] << width) // cosine[1]), _up(sine[1] << width, cosine[0]), width - bits)
