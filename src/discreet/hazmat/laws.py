"""The laws behind the samplers, as cumulative probabilities at any precision.

Digits of a geometric variable (docs/theory/samplers.md).  Let Pr[G = g] = (1 - a) a^g with
a = exp(-rate), and write G in base B with digits D(0), D(1), ..., D(L-1) and quotient Q.
Digits and quotient are independent: D(j) has Pr[d] ~ exp(-rate B^j d) on 0 .. B-1, and Q is
geometric with rate B^L.  So any scale needs only small tables.

Sign.  Let S = 1 with probability a / (1 + a), independent of G.  Then Z = G if S = 0 and
Z = -1 - G if S = 1 is discrete Laplace, Pr[Z = z] ~ a^|z|.  `SignedQuotient` is the joint
law of 2 Q + S.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from discreet.hazmat.exponent import Bounds, exp_bounds, minus, over, times

BASE_BITS = 8
BASE = 1 << BASE_BITS


def _narrow(bounds: Bounds, guard: int) -> Bounds:
    """Drop guard bits, outward."""
    return bounds[0] >> guard, -(-bounds[1] >> guard)


@dataclass(frozen=True, slots=True)
class Quotient:
    """Geometric: F(g) = 1 - A^(g+1), A = exp(-rate)."""

    rate: Fraction

    def cumulative(self, bits: int) -> Iterator[Bounds]:
        """1 - A^(g+1) for g = 0, 1, ..."""
        guard = 64
        width = bits + guard
        ratio = power = exp_bounds(self.rate, width)
        while True:
            yield _narrow(minus(1 << width, power), guard)
            power = times(power, ratio, width)


@dataclass(frozen=True, slots=True)
class SignedQuotient:
    """2 Q + S: F(2g) = 1 - A^g (a + A) / (1 + a) and F(2g+1) = 1 - A^(g+1)."""

    rate: Fraction  # of the noise: a = exp(-rate)
    digits: int  # A = exp(-rate B^digits)

    def cumulative(self, bits: int) -> Iterator[Bounds]:
        """F(0), F(1), ..."""
        guard = 64
        width = bits + guard
        one = 1 << width
        small = exp_bounds(self.rate, width)
        ratio = exp_bounds(self.rate * BASE**self.digits, width)
        share = over((small[0] + ratio[0], small[1] + ratio[1]), (one + small[0], one + small[1]), width)
        power = (one, one)
        while True:
            yield _narrow(minus(one, times(power, share, width)), guard)
            power = times(power, ratio, width)
            yield _narrow(minus(one, power), guard)


@dataclass(frozen=True, slots=True)
class Digit:
    """F(d) = (1 - r^(d+1)) / (1 - r^B) on 0 .. B-1, r = exp(-rate)."""

    rate: Fraction

    def cumulative(self, bits: int) -> Iterator[Bounds]:
        """F(0), ..., F(B-1) = 1."""
        guard = 64 + max(0, self.rate.denominator.bit_length() - self.rate.numerator.bit_length())
        width = bits + guard
        one = 1 << width
        ratio = power = exp_bounds(self.rate, width)
        whole = minus(one, exp_bounds(self.rate * BASE, width))
        for _ in range(BASE - 1):
            yield _narrow(over(minus(one, power), whole, width), guard)
            power = times(power, ratio, width)
        yield 1 << bits, 1 << bits


@dataclass(frozen=True, slots=True)
class GaussianBlock:
    """2 Q + S with weight exp(-(B Q + S)^2 / (2 variance)): the highest point of a block of B integers.

    Block (Q, 0) holds the integers B Q + R, block (Q, 1) the integers -1 - B Q - R, 0 <= R < B.
    """

    variance: Fraction
    block: int  # with 2^12 block^2 >= variance, which the tail bound below uses

    def cumulative(self, bits: int) -> Iterator[Bounds]:
        """Partial sums over the whole sum; the tail is at most one last place."""
        guard = 64
        width = bits + guard
        low = high = 0
        sums: list[Bounds] = []
        for weight in self._weights(width):
            low, high = low + weight[0], high + weight[1]
            sums.append((low, high))
        whole = (low, high + 1)
        for partial in sums[:-1]:
            yield _narrow(over(partial, whole, width), guard)
        while True:  # the rest of the law lies between the last sum and one
            yield low * (1 << bits) // whole[1], 1 << bits

    def _weights(self, width: int) -> Iterator[Bounds]:
        """The weights of all q with c B^2 q^2 < width, for c = 1 / (2 variance).

        Later ones add up to at most 2 e^-width / (1 - exp(-2 c B^2 q)) <= 13 e^-width < 2^-width,
        because 2 c B^2 q >= 2 sqrt(c width) B >= sqrt(2 width) / 64 >= 0.18 for width >= 69.
        """
        c = 1 / (2 * self.variance)
        one = (1 << width, 1 << width)
        weight, ratio = one, exp_bounds(c * self.block**2, width)  # exp(-c B^2 q^2), and the next over this
        curve = exp_bounds(2 * c * self.block**2, width)
        shift, slope = exp_bounds(c, width), exp_bounds(2 * c * self.block, width)  # exp(-c (2 B q + 1)), and its ratio
        for _ in range(math.isqrt(math.ceil(width / (c * self.block**2))) + 1):
            yield weight
            yield times(weight, shift, width)
            weight, ratio, shift = times(weight, ratio, width), times(ratio, curve, width), times(shift, slope, width)
