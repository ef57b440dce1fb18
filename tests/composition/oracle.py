"""Independent oracles: direct sums in high precision, sharing no code with the library."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import mpmath as mp

Pair = list[tuple[float, float]]  # (probability under P, probability under Q) of each output


def responses_delta(epsilons: Sequence[Fraction], epsilon: float) -> mp.mpf:
    """delta(epsilon) of independent randomized responses, by merging equal losses; 50 digits."""
    with mp.workdps(50):
        masses: dict[Fraction, mp.mpf] = {Fraction(0): mp.mpf(1)}
        for e in epsilons:
            p = 1 / (1 + mp.exp(-mp.mpf(e.numerator) / e.denominator))
            longer: dict[Fraction, mp.mpf] = {}
            for loss, mass in masses.items():
                for step, weight in ((e, p), (-e, 1 - p)):
                    longer[loss + step] = longer.get(loss + step, mp.mpf(0)) + mass * weight
            masses = longer
        total = mp.mpf(0)
        for loss, mass in masses.items():
            value = mp.mpf(loss.numerator) / loss.denominator
            if value > epsilon:
                total += mass * -mp.expm1(mp.mpf(epsilon) - value)
        return total


def binomial_delta(e: Fraction, k: int, epsilon: float) -> mp.mpf:
    """The same for k equal ones, by the closed form of Kairouz, Oh and Viswanath."""
    with mp.workdps(60):
        x = mp.mpf(e.numerator) / e.denominator
        p = 1 / (1 + mp.exp(-x))
        total = mp.mpf(0)
        for j in range(k + 1):
            term = p ** (k - j) * (1 - p) ** j - mp.exp(mp.mpf(epsilon)) * p**j * (1 - p) ** (k - j)
            if term <= 0:
                break
            total += mp.binomial(k, j) * term
        return total


def gaussian_delta(mu: float, epsilon: float) -> mp.mpf:
    """Balle and Wang's formula."""
    with mp.workdps(50):
        m, e = mp.mpf(mu), mp.mpf(epsilon)
        return mp.ncdf(m / 2 - e / m) - mp.exp(e) * mp.ncdf(-m / 2 - e / m)


def product_delta(pairs: Sequence[Pair], epsilon: float) -> float:
    """delta(epsilon) of independent mechanisms given by their tables, by enumerating all outputs."""
    total, factor = [], math.exp(epsilon)
    for outputs in itertools.product(*pairs):
        p, q = math.prod(o[0] for o in outputs), math.prod(o[1] for o in outputs)
        if p > factor * q:
            total.append(p - factor * q)
    return math.fsum(total)


def least_epsilon(delta_at, delta: float, high: float) -> float:
    """The least epsilon with delta_at(epsilon) <= delta, from below."""
    low = 0.0
    if delta_at(0.0) <= delta:
        return 0.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if delta_at(middle) <= delta else (middle, high)
    return low


def response(e: float) -> Pair:
    """Randomized response."""
    p = 1 / (1 + math.exp(-e))
    return [(p, 1 - p), (1 - p, p)]


def discrete_laplace(scale: float, shift: int, reach: int) -> Pair:
    """Noise against shifted noise on [-reach, reach + shift], tails merged."""
    a = math.exp(-1 / scale)

    def mass(z: int) -> float:
        return (1 - a) / (1 + a) * a ** abs(z)

    inner = [(mass(z), mass(z - shift)) for z in range(-reach, reach + shift + 1)]
    tails = [(a ** (reach + 1) / (1 + a), a ** (reach + 1 + shift) / (1 + a))]
    tails.append((a ** (reach + shift + 1) / (1 + a), a ** (reach + 1) / (1 + a)))
    return inner + tails


def discrete_gaussian(sigma: float, shift: int, copies: int = 1) -> list[tuple[float, float]]:
    """(loss, mass) of `copies` independent shifts, convolved directly in floating point."""
    import numpy as np

    reach = math.ceil(12 * sigma)
    z = np.arange(-reach, reach + 1)
    one = np.exp(-(z**2) / (2 * sigma**2))
    one /= one.sum()
    total = one
    for _ in range(copies - 1):
        total = np.convolve(total, one)
    s = np.arange(-reach * copies, reach * copies + 1)
    return list(zip((copies * shift**2 - 2 * shift * s) / (2 * sigma**2), total, strict=True))


def losses_delta(losses: Sequence[tuple[float, float]], epsilon: float) -> float:
    """E[(1 - e^(epsilon - L))_+] of a list of (loss, mass)."""
    return math.fsum(mass * -math.expm1(epsilon - loss) for loss, mass in losses if loss > epsilon)
