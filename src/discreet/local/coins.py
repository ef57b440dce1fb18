"""Coins with dyadic probabilities: the law of every local randomizer is exact by construction.

Theorem.  Let an output be one of I favoured ones, uniformly, with probability p, and otherwise one of
O others, uniformly.  A favoured output is then p O / ((1 - p) I) times as likely as another, and

    p = floor(2^64 a I / (a I + O)) / 2^64   with a rational a <= e^epsilon

keeps that ratio at most e^epsilon.  A 64-bit word below 2^64 p is a coin with exactly this p, so that
nothing is approximated: rounding moves the parameter toward privacy, and estimates use the moved one.
Proof: docs/theory/local.md.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, cast

from discreet.errors import require
from discreet.hazmat.samplers import uniform_below
from discreet.privacy.enclosure import LARGEST, exp_down
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.hazmat.entropy import RandomSource

    Bools = npt.NDArray[np.bool_]
    Codes = npt.NDArray[np.int64]

WIDTH = 64
ONE = 1 << WIDTH


def positive(epsilon: Number) -> Fraction:
    """The epsilon of a protocol, checked.

    >>> positive(0)
    Traceback (most recent call last):
    discreet.errors.ParameterError: need 0 < epsilon <= 100000, got epsilon=0
    """
    value = exact(epsilon)
    require(0 < value <= LARGEST, f"0 < epsilon <= {LARGEST}", epsilon=epsilon)
    return value


def whole(name: str, value: int, *, least: int) -> int:
    """A public whole number of at least `least`."""
    fits = isinstance(value, int) and not isinstance(value, bool) and value >= least
    require(fits, f"an integer {name} >= {least}", **{name: value})
    return value


def favoured(epsilon: Fraction, *, inside: int, outside: int) -> Fraction:
    """The probability of the favoured outputs: the largest on the grid of 2^-64 that keeps epsilon.

    >>> float(round(favoured(Fraction(1), inside=1, outside=1), 6))
    0.731059
    """
    weight = exp_down(epsilon) * inside
    p = Fraction(int(ONE * weight / (weight + outside)), ONE)
    require(p > Fraction(inside, inside + outside), "an epsilon that 64-bit coins can show", epsilon=float(epsilon))
    return p


def toss(p: Fraction, count: int, random: RandomSource) -> Bools:
    """`count` independent coins, True with probability p, a multiple of 2^-64 below 1."""
    import numpy as np

    level = p * ONE
    assert level.denominator == 1
    assert 0 <= level < ONE
    return random.words(count) < np.uint64(int(level))


def pick(bound: int, count: int, random: RandomSource) -> Codes:
    """`count` independent integers, uniform on 0 .. bound - 1."""
    return cast("Codes", uniform_below(bound, shape=(count,), rng=random))
