"""discreet.hazmat.table and laws: the law is exact, and all three ways to look up agree."""

import random
from bisect import bisect_left
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from discreet.hazmat.entropy import SeededRandom
from discreet.hazmat.laws import BASE, Digit, GaussianBlock, Quotient, SignedQuotient
from discreet.hazmat.samplers import _digits, _gaussian
from discreet.hazmat.settle import below
from discreet.hazmat.table import COMPILED, Table
from tests.hazmat.enumeration import agrees
from tests.scale import counts

mpmath.mp.dps = 60
PAIRS = counts(quick=12, full=200)  # (numerator, denominator) pairs
DEPTH = counts(quick=16, full=20)  # bits enumerated

_choose = random.Random(20261116)
SCALES = [Fraction(_choose.randint(1, 60), _choose.randint(1, 12)) for _ in range(PAIRS)]


def real(x: Fraction) -> mpmath.mpf:
    return mpmath.mpf(x.numerator) / x.denominator


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_the_geometric_table_has_its_law(scale):
    a = mpmath.exp(-1 / real(scale))
    table = Table(Quotient(1 / scale), width=6)

    assert agrees(table.draw, lambda g: (1 - a) * a**g, depth=DEPTH)


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_digits_and_sign_together_make_discrete_laplace_noise(scale):
    """With one digit split off, whatever the scale: the independence of digits is what is tested."""
    a = mpmath.exp(-1 / real(scale))
    top, low = Table(SignedQuotient(1 / scale, 1), width=7), Table(Digit(1 / scale), width=7)

    assert agrees(
        lambda tape: _digits(top, (low,), None, tape, scale=scale, signed=True),
        lambda z: (1 - a) / (1 + a) * a ** abs(z),
        depth=DEPTH,
    )


@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.parametrize("block", [1, 4])
def test_blocks_and_rejection_make_discrete_gaussian_noise(scale, block):
    variance = scale * scale
    whole = mpmath.nsum(lambda k: mpmath.exp(-k * k / (2 * real(variance))), [-mpmath.inf, mpmath.inf])
    table = Table(GaussianBlock(variance, block), width=5)

    assert agrees(
        lambda tape: _gaussian(table, block, variance, tape),
        lambda z: mpmath.exp(-mpmath.mpf(z * z) / (2 * real(variance))) / whole,
        depth=DEPTH,
    )


def test_a_table_that_never_settles_is_caught():
    """The twin: take the rounded table at its word and never draw more bits."""
    scale = Fraction(3)
    a = mpmath.exp(-1 / real(scale))
    table = Table(Quotient(1 / scale), width=6)

    def unsettled(tape):
        return bisect_left(table.thresholds, tape.bits(6))

    assert not agrees(unsettled, lambda g: (1 - a) * a**g, depth=DEPTH)


def test_a_biased_sign_is_caught():
    """The twin: a fair sign makes zero twice as likely as it should be."""
    scale = Fraction(3)
    a = mpmath.exp(-1 / real(scale))
    table = Table(Quotient(1 / scale), width=6)

    def fair(tape):
        magnitude = table.draw(tape)
        return -magnitude if tape.bits(1) else magnitude

    assert not agrees(fair, lambda z: (1 - a) / (1 + a) * a ** abs(z), depth=DEPTH)


LAWS = [
    Quotient(Fraction(1, 3)),
    SignedQuotient(Fraction(1, 5), 0),
    Digit(Fraction(1, 1000)),
    Digit(Fraction(1, 10**12)),
    GaussianBlock(Fraction(400), 1),
]


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_scalar_vector_and_compiled_lookups_agree_on_every_word(law):
    table = Table(law, width=16)
    words = np.arange(1 << 16, dtype=np.uint64)
    assert len(words) >= COMPILED  # so this goes through the compiled kernel
    clear = ~np.isin(words, np.array(table.thresholds, dtype=np.uint64))
    compiled = table.lookup(words, SeededRandom(1))
    vector = np.concatenate([table.lookup(part, SeededRandom(1)) for part in np.split(words, 4)])
    scalar = [table.find(int(word), SeededRandom(1)) for word in words[clear]]

    np.testing.assert_array_equal(compiled[clear], vector[clear])
    np.testing.assert_array_equal(compiled[clear], scalar)
    unsettled = np.abs(compiled[~clear] - vector[~clear])
    assert unsettled.size >= 10
    assert unsettled.max() <= 64  # settled by other bits, inside the same cell of the table


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_thresholds_are_the_floors_of_the_cumulative_probabilities(law):
    table = Table(law)
    finer = law.cumulative(256)

    for threshold, (low, high) in zip(table.thresholds, finer, strict=False):
        assert min(low >> 192, 2**64 - 1) <= threshold <= high >> 192
    assert table.thresholds[-1] == 2**64 - 1


def test_digits_cover_the_base():
    assert len(Table(Digit(Fraction(1, 10**6))).thresholds) == BASE


def test_below_is_an_exact_coin_at_any_width():
    third = lambda bits: ((1 << bits) // 3, (1 << bits) // 3 + 1)  # noqa: E731 - bounds of 1/3

    for width in (1, 3, 5):
        assert agrees(
            lambda tape, w=width: below(third, rng=tape, width=w),
            lambda heads: mpmath.mpf(1) / 3 if heads else mpmath.mpf(2) / 3,
            depth=DEPTH,
        )
