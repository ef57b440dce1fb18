"""exp(-x) for rational x, between two integers over a power of two.

Lemma.  `exp_bounds(x, bits)` returns integers with lo <= exp(-x) 2^bits <= hi and
hi - lo <= 2.  Proof: docs/theory/samplers.md.  In short: y = x / 2^r is at most 1/128;
the Taylor series of exp(-y) in fixed point is off by at most two units a term; each of
the r squarings at most doubles the error and adds two, or a little more below five bits;
the guard bits swallow it.
"""

from __future__ import annotations

from fractions import Fraction

Bounds = tuple[int, int]


def exp_bounds(x: Fraction, bits: int) -> Bounds:
    """Integers lo, hi with lo / 2^bits <= exp(-x) <= hi / 2^bits and hi - lo <= 2, for x >= 0.

    >>> exp_bounds(Fraction(1), 16)  # 65536 / e = 24109.3
    (24109, 24110)
    """
    if x == 0:
        return 1 << bits, 1 << bits
    if x >= bits:  # exp(-x) <= exp(-bits) < 2^-bits
        return 0, 1
    halvings = (int(x) + 1).bit_length() + 7
    guard = halvings + bits.bit_length() + 8
    width = bits + guard
    one = 1 << width
    y = (x.numerator << width) // (x.denominator << halvings)
    total = term = one
    terms = 0
    while term:
        terms += 1
        term = (term * y >> width) // terms
        total += -term if terms % 2 else term
    error = 2 * terms + 4
    for _ in range(halvings):
        total = total * total >> width
        error = 2 * error + 2 + (error * error >> width)
    return max(0, (total - error) >> guard), min(1 << bits, ((total + error) >> guard) + 1)


def times(a: Bounds, b: Bounds, width: int) -> Bounds:
    """The product of two nonnegative fixed-point intervals, rounded outward."""
    return a[0] * b[0] >> width, (a[1] * b[1] >> width) + 1


def minus(one: int, a: Bounds) -> Bounds:
    """one - a, as an interval."""
    return max(0, one - a[1]), one - a[0]


def over(a: Bounds, b: Bounds, width: int) -> Bounds:
    """The quotient of two nonnegative fixed-point intervals, rounded outward and at most one."""
    one = 1 << width
    return min(one, (a[0] << width) // b[1]), min(one, -((-a[1] << width) // b[0])) if b[0] else one
