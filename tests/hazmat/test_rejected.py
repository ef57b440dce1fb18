"""discreet.hazmat.rejected: Gaussian and power laws, rounded, exactly and at every scale."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import integrate, stats

from discreet.errors import ParameterError
from discreet.hazmat import rejected
from discreet.hazmat.entropy import SeededRandom
from discreet.hazmat.rejected import GaussianLaw, PowerLaw, rounded_gaussian, rounded_power, settle
from discreet.hazmat.rounded import settle as plain
from tests.hazmat.enumeration import agrees, masses
from tests.scale import counts

LAWS = [GaussianLaw(), PowerLaw(4), PowerLaw(3)]
DEPTH = counts(quick=11, full=14)
WORDS = counts(quick=400, full=5_000)
DRAWS = counts(quick=300_000, full=5_000_000)
HALF = Fraction(1, 2)


def draw(law, scale, **more):
    if isinstance(law, GaussianLaw):
        return rounded_gaussian(scale, **more)
    return rounded_power(scale, law.exponent, **more)


def cdf(law, z):
    z = mpmath.mpf(z.numerator) / z.denominator
    if isinstance(law, GaussianLaw):
        return mpmath.ncdf(z)
    total = mpmath.pi / law.exponent / mpmath.sin(mpmath.pi / law.exponent)
    inside = mpmath.quad(lambda t: 1 / (1 + t**law.exponent), [0, abs(z)]) / total
    return (1 + inside) / 2 if z >= 0 else (1 - inside) / 2


def keeping(law):
    """The probability that a proposal is kept."""
    if isinstance(law, GaussianLaw):
        return mpmath.sqrt(mpmath.pi / 2 / mpmath.e)
    return 1 / (law.exponent * mpmath.sin(mpmath.pi / law.exponent))


def probability(law, scale, centre):
    """Of one proposal: that it is rejected (None), or kept and rounded to n."""

    def mass(n):
        if n is None:
            return 1 - keeping(law)
        return keeping(law) * (cdf(law, (n + HALF - centre) / scale) - cdf(law, (n - HALF - centre) / scale))

    return mass


def bit_by_bit(law, scale, centre):
    return lambda tape: settle(law, scale, centre, tape.bits(1), tape.bits(1), rng=tape, width=1)


@pytest.mark.parametrize("law", LAWS, ids=repr)
@pytest.mark.parametrize(("scale", "centre"), [(Fraction(1), Fraction(1, 3)), (Fraction(3, 7), Fraction(-5, 4))])
def test_every_outcome_has_its_probability(law, scale, centre):
    assert agrees(bit_by_bit(law, scale, centre), probability(law, scale, centre), depth=DEPTH)


class KeepsMore(PowerLaw):
    """A twin that forgets the factor 1/2."""

    def kept_bounds(self, low, high, bits):
        return tuple(min(Fraction(1), 2 * p) for p in PowerLaw.kept_bounds(self, low, high, bits))


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_a_wrong_law_is_caught_by_enumeration(law):
    scale, centre = Fraction(1), Fraction(1, 3)
    narrow = bit_by_bit(law, scale * 7 / 10, centre)

    def proposal(tape):
        return plain(law.proposal, scale, centre, tape.bits(1), rng=tape, width=1)

    assert not agrees(narrow, probability(law, scale, centre), depth=DEPTH)
    assert not agrees(proposal, probability(law, scale, centre), depth=DEPTH)
    assert not agrees(bit_by_bit(KeepsMore(4), scale, centre), probability(PowerLaw(4), scale, centre), depth=DEPTH)


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_much_is_settled_at_this_depth(law):
    """So the tests above have teeth."""
    _, undecided = masses(bit_by_bit(law, Fraction(1), Fraction(1, 3)), depth=DEPTH)

    assert undecided < Fraction(2, 5)


@pytest.mark.parametrize("law", LAWS, ids=repr)
@pytest.mark.parametrize("scale", [Fraction(1, 10**6), Fraction(1), Fraction(10**9)])
def test_the_float_verdict_is_the_exact_one(law, scale):
    random = SeededRandom(7)
    words, coins = random.words(WORDS), random.words(WORDS)
    values, kept, clear = rejected._estimate(law, scale, Fraction(1, 4), words, coins)
    for i in np.flatnonzero(clear):
        exact = settle(law, scale, Fraction(1, 4), int(words[i]), int(coins[i]), rng=SeededRandom(int(i)))

        assert (exact is not None) == kept[i]
        assert exact is None or exact == values[i]
    assert clear.mean() > 0.95


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_coins_next_to_the_boundary_are_decided_rightly(law):
    """Coins set to the float estimate of p, a few units away: nothing that is called clear is wrong."""
    words = SeededRandom(3).words(50)
    prefix = ((words >> np.uint64(1)).astype(np.float64) + 0.5) * 2.0**-63
    chance = law.kept(law.proposal.estimate(prefix)[0])
    for offset in (-(2.0**-30), -(2.0**-38), -(2.0**-44), 0.0, 2.0**-44, 2.0**-38, 2.0**-30):
        coins = (np.clip(chance + offset, 0, 1 - 2.0**-53) * 2.0**64).astype(np.uint64)
        _, kept, clear = rejected._estimate(law, Fraction(1), Fraction(0), words, coins)
        verdicts = [
            settle(law, Fraction(1), Fraction(0), int(w), int(c), rng=SeededRandom(1)) is not None
            for w, c in zip(words, coins, strict=True)
        ]

        assert (kept[clear] == np.array(verdicts)[clear]).all()
        assert abs(offset) > 2.0**-41 or not clear.any()


@pytest.mark.statistical
@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_draws_follow_the_law(law):
    """A Kolmogorov-Smirnov test at 1e-6, on a scale fine enough; a scale four per cent off is noticed."""
    noise = draw(law, 10**6, shape=(DRAWS,), rng=SeededRandom(5)) / 10**6
    if isinstance(law, GaussianLaw):
        law_cdf = stats.norm.cdf
    else:
        grid = np.linspace(0, 50, 20_001)
        inside = integrate.cumulative_simpson(1 / (1 + grid**law.exponent), x=grid, initial=0)
        inside /= math.pi / law.exponent / math.sin(math.pi / law.exponent)
        law_cdf = lambda z: 0.5 + np.sign(z) * np.interp(np.abs(z), grid, inside) / 2  # noqa: E731 - as scipy wants it

    assert stats.kstest(noise, law_cdf).pvalue > 1e-6
    assert stats.kstest(0.96 * noise, law_cdf).pvalue < 1e-6


@pytest.mark.parametrize("law", LAWS, ids=repr)
@pytest.mark.parametrize("power", [-400, -30, 12, 30, 100])
def test_no_scale_raises(law, power):
    scale = Fraction(10) ** power * Fraction(12345, 67891)
    one = draw(law, scale, centre="0.25", rng=SeededRandom(9))
    many = draw(law, scale, centre="0.25", shape=(2, 2), rng=SeededRandom(9))

    assert type(one) is int
    assert many.shape == (2, 2)
    assert many.dtype == np.int64


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_the_proposals_do_not_depend_on_centre_or_scale(law):
    """The same bits give the same Z whatever is private: centres shift, and scales stretch."""
    near, far = (draw(law, 1000, centre=c, shape=(500,), rng=SeededRandom(2)) for c in (0, 41))
    wide = draw(law, 4000, shape=(500,), rng=SeededRandom(2))

    assert (far - near == 41).all()
    assert np.abs(wide - 4 * near).max() <= 2


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_a_scale_of_zero_is_the_rounded_centre(law):
    assert draw(law, 0, centre="2.5") == 3
    assert draw(law, 0, centre="-2.6", shape=(2,)).tolist() == [-3, -3]


def test_array_centres_and_sizes():
    values = rounded_gaussian(1, centre=np.array([2**63 - 1, 0, -(2**63)]), rng=SeededRandom(1))

    assert values.dtype == np.int64
    assert values[0] > 0 > values[2]
    assert abs(rounded_gaussian(1, centre=10**30, rng=SeededRandom(1)) - 10**30) < 50


def test_an_exponent_of_two_is_cauchy_noise():
    from discreet.hazmat.rounded import rounded_cauchy

    assert rounded_power(7, 2, centre=3, rng=SeededRandom(4)) == rounded_cauchy(7, centre=3, rng=SeededRandom(4))


@pytest.mark.parametrize("scale", [-1, math.nan, math.inf, True])
def test_bad_scales_are_refused(scale):
    for law in LAWS:
        with pytest.raises(ParameterError):
            draw(law, scale)


@pytest.mark.parametrize("exponent", [1, 33, 4.0, True])
def test_bad_exponents_are_refused(exponent):
    with pytest.raises(ParameterError):
        rounded_power(1, exponent)
