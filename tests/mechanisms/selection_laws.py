"""The exact laws of the selections, by definition and slowly: oracles for the tests beside this file.

With t = exp(-rate) rational, every probability of softmax and permute-and-flip is rational.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product
from math import log, prod

REACH = 110  # how far the noise of `laplace_law` is summed, for a <= 1/2; what is left out is below 2^-100
LEFT_OUT = Fraction(1, 2**95)


@cache
def exponential_law(scores: tuple[int, ...], t: Fraction) -> tuple[Fraction, ...]:
    """Pr[o] = t^gap(o) / sum of them."""
    weights = [t ** (max(scores) - score) for score in scores]
    return tuple(weight / sum(weights) for weight in weights)


@cache
def flip_law(scores: tuple[int, ...], t: Fraction) -> tuple[Fraction, ...]:
    """Uniform among independent successes of probability t^gap: the sum over all outcomes of the coins."""
    weights = [t ** (max(scores) - score) for score in scores]
    law = [Fraction(0)] * len(scores)
    for coins in product((False, True), repeat=len(scores)):
        chance = prod((w if coin else 1 - w for w, coin in zip(weights, coins, strict=True)), start=Fraction(1))
        for i, coin in enumerate(coins):
            law[i] += coin * chance / max(1, sum(coins))
    return tuple(law)


def mass(z: int, a: Fraction) -> Fraction:
    """Pr[Z = z] of the discrete Laplace, a = exp(-1 / scale)."""
    return (1 - a) / (1 + a) * a ** abs(z)


def tail(z: int, a: Fraction) -> Fraction:
    """Pr[Z >= z]."""
    return a**z / (1 + a) if z >= 0 else 1 - a ** (1 - z) / (1 + a)


@cache
def laplace_law(scores: tuple[int, ...], a: Fraction) -> tuple[Fraction, ...]:
    """The argmax of score + discrete Laplace noise, ties by lot, summed over the winning value."""
    law = [Fraction(0)] * len(scores)
    for r in range(min(scores) - REACH, max(scores) + REACH + 1):
        here, under = [mass(r - u, a) for u in scores], [1 - tail(r - u, a) for u in scores]
        for i in range(len(scores)):
            others = [j for j in range(len(scores)) if j != i]
            for ties in product((False, True), repeat=len(others)):
                rest = prod(
                    (here[j] if tie else under[j] for j, tie in zip(others, ties, strict=True)), start=Fraction(1)
                )
                law[i] += here[i] * rest / (1 + sum(ties))
    return tuple(law)


def moves(size: int, steps: range) -> list[tuple[int, ...]]:
    """Every way for `size` scores to move by one of the steps each."""
    return list(product(steps, repeat=size))


def worst_ratio(law, t: Fraction, *, size: int, top: int, steps: range) -> Fraction:
    """The largest Pr[o | u] / Pr[o | u'], either way round, over scores in 0 .. top and the moves allowed."""
    worst = Fraction(0)
    for scores in product(range(top + 1), repeat=size):
        here = law(scores, t)
        for move in moves(size, steps):
            there = law(tuple(u + m for u, m in zip(scores, move, strict=True)), t)
            worst = max(worst, *(max(p / q, q / p) for p, q in zip(here, there, strict=True)))
    return worst


def renyi(p: tuple[Fraction, ...], q: tuple[Fraction, ...], order: float) -> float:
    """The Renyi divergence of two laws."""
    return log(sum(float(a) ** order * float(b) ** (1 - order) for a, b in zip(p, q, strict=True))) / (order - 1)
