"""discreet.hazmat.rounded: the nearest integer to centre + scale Z, exactly, at every scale."""

import math
import random
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import stats

from discreet.errors import ParameterError
from discreet.hazmat import rounded
from discreet.hazmat.entropy import SeededRandom
from discreet.hazmat.rounded import (
    CauchyLaw,
    LaplaceLaw,
    LomaxLaw,
    rounded_cauchy,
    rounded_laplace,
    rounded_lomax,
    settle,
)
from tests.hazmat.enumeration import agrees, masses
from tests.scale import counts

RARE = 1e-6  # the chance that a correct sampler fails a statistical test below
DRAWS = counts(quick=1_000_000, full=10_000_000)
PAIRS = counts(quick=3, full=40)  # scales for each of five laws in the enumeration
DEPTH = counts(quick=12, full=14)  # bits of each branch in the enumeration
WORDS = counts(quick=400, full=5_000)  # random words for each law and scale
HALF = Fraction(1, 2)

LAWS = [LaplaceLaw(), CauchyLaw(), LomaxLaw(Fraction(10)), LomaxLaw(Fraction(3, 2)), LomaxLaw(Fraction(1))]
LAPLACE, CAUCHY, LOMAX = LAWS[:3]
SCALES = [Fraction(1, 10**6), Fraction(1, 3), Fraction(1), Fraction(1000), Fraction(10**9)]


def survival(law, t):
    """Pr[T > t], the inverse function of T; t >= 0."""
    t = mpmath.mpf(t.numerator) / t.denominator if isinstance(t, Fraction) else t
    match law:
        case LaplaceLaw():
            return mpmath.exp(-t)
        case CauchyLaw():
            return 1 - 2 * mpmath.atan(t) / mpmath.pi
        case _:
            return (1 + t) ** (-mpmath.mpf(law.index.numerator) / law.index.denominator)


def cdf(law, z):
    tail = survival(law, abs(z)) / 2
    return 1 - tail if z >= 0 else tail


def probability(law, scale, centre):
    """Pr[nearest integer to centre + scale Z = n], as a function of n."""
    return lambda n: cdf(law, (n + HALF - centre) / scale) - cdf(law, (n - HALF - centre) / scale)


def bit_by_bit(law, scale, centre):
    return lambda tape: settle(law, scale, centre, tape.bits(1), rng=tape, width=1)


def fractions(count, seed=0):
    draw = random.Random(seed)
    for _ in range(count):
        scale = Fraction(draw.randint(1, 40), draw.randint(1, 40))
        yield scale, Fraction(draw.randint(-60, 60), draw.randint(1, 9))


# The law, exactly.


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_every_outcome_has_its_probability(law):
    for scale, centre in fractions(PAIRS):
        assert agrees(bit_by_bit(law, scale, centre), probability(law, scale, centre), depth=DEPTH)


@pytest.mark.parametrize("law", LAWS[:4], ids=repr)
def test_twelve_bits_settle_nearly_everything(law):
    """So the test above has teeth: little mass is left to hide in."""
    _, undecided = masses(bit_by_bit(law, Fraction(1), Fraction(1, 3)), depth=12)

    assert undecided < Fraction(1, 20)


@pytest.mark.parametrize("law", LAWS[:4], ids=repr)
@pytest.mark.parametrize("twin", ["scale x 0.9", "rounded twice", "rounded down", "sign from a used bit"])
def test_a_wrong_law_is_caught_by_enumeration(law, twin):
    scale, centre = Fraction(1), Fraction(1, 3)

    def sampler(tape):
        match twin:
            case "scale x 0.9":
                return settle(law, scale * 9 / 10, centre, tape.bits(1), rng=tape, width=1)
            case "rounded twice":
                return math.floor(centre + settle(law, scale, Fraction(0), tape.bits(1), rng=tape, width=1) + HALF)
            case "rounded down":
                return settle(law, scale, centre - HALF, tape.bits(1), rng=tape, width=1)
            case _:
                first = tape.bits(2)
                return settle(law, scale, centre, (first >> 1) << 1 | first >> 1, rng=tape, width=2)

    assert not agrees(sampler, probability(law, scale, centre), depth=12)


def test_a_tie_is_broken_by_the_sign_alone():
    """At a half-integer centre and a tiny scale the two neighbours are equally likely."""
    decided, undecided = masses(bit_by_bit(LAPLACE, Fraction(1, 10**6), Fraction(7, 2)), depth=3)

    assert undecided == Fraction(1, 4)  # V below 1/4, which could still be anywhere
    assert decided == {3: Fraction(3, 8), 4: Fraction(3, 8)}


# The float estimate never decides wrongly.


def words_near_the_boundaries(law, scale, count):
    """Words whose V is within a few units of one where the sum crosses a half-integer."""
    for j in range(count):
        n = j if scale >= 1 else 0
        with mpmath.workprec(200):
            u = int(mpmath.nint(survival(law, (n + HALF) / scale) * 2**63))
        yield from (word for near in range(u - 2, u + 2) for word in (2 * near, 2 * near + 1) if 0 <= word < 2**64)


def wrong_decisions(law, scale, words):
    noise, clear = rounded._estimate(law, scale, Fraction(0), np.array(words, dtype=np.uint64))
    rng = SeededRandom(3)
    return sum(
        int(noise[i]) != settle(law, scale, Fraction(0), words[i], rng=rng) for i in np.flatnonzero(clear)
    ), clear.mean()


@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_the_float_estimate_agrees_with_the_exact_rounding(law, scale):
    words = [int(word) for word in SeededRandom(2).words(WORDS)]
    wrong, clear = wrong_decisions(law, scale, words + list(words_near_the_boundaries(law, scale, 20)))

    assert wrong == 0
    assert clear > 0.5


@pytest.mark.parametrize("law", LAWS[:3], ids=repr)
def test_an_estimate_without_a_margin_is_caught(law, monkeypatch):
    monkeypatch.setattr(rounded, "SLACK", 0.0)
    words = list(words_near_the_boundaries(law, Fraction(1000), 200))

    assert wrong_decisions(law, Fraction(1000), words)[0] > 0


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_the_margin_is_generous(law):
    """The estimate of T is at least 32 times better than the margin assumes."""
    rng = random.Random(5)
    words = [rng.getrandbits(63) >> rng.randint(0, 17) for _ in range(WORDS)]
    kept = [word for word in words if word >= rounded.LEAST]
    estimate, measure = law.estimate((np.array(kept, dtype=np.float64) + 0.5) * 2.0**-63)
    with mpmath.workprec(120):
        for word, t, e in zip(kept, estimate, measure, strict=True):
            v = mpmath.mpf(2 * word + 1) / 2**64
            true = {
                LaplaceLaw: lambda v: -mpmath.log(v),
                CauchyLaw: lambda v: mpmath.cot(mpmath.pi * v / 2),
                LomaxLaw: lambda v: v ** (-1 / (mpmath.mpf(law.index.numerator) / law.index.denominator)) - 1,
            }[type(law)](v)
            assert abs(true - float(t)) <= rounded.SLACK * float(e) / 32


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_arrays_and_scalars_are_the_same_law_word_for_word(law):
    words = [int(word) for word in SeededRandom(8).words(200)]

    class Replay:
        """The same words, whichever way they are asked for."""

        secure = False

        def __init__(self):
            self.left = list(words)

        def words(self, count):
            return np.array([self.left.pop(0) for _ in range(count)], dtype=np.uint64)

        def bits(self, count):
            raise AssertionError("a word was not enough")

    array, one, centre = Replay(), Replay(), Fraction(3, 10)
    settled = [settle(law, Fraction(12), centre, word, rng=one) for word in words]

    assert list(draw(law, 12, centre=centre, shape=(200,), rng=array)) == settled
    assert [draw(law, 12, centre=centre, rng=one) for _ in range(200)] == settled


# The law, statistically.


def float_cdf(law, z):
    t = np.abs(z)
    match law:
        case LaplaceLaw():
            tail = np.exp(-t)
        case CauchyLaw():
            tail = 2 / np.pi * np.arctan2(1, t)
        case _:
            tail = (1 + t) ** -float(law.index)
    return np.where(z >= 0, 1 - tail / 2, tail / 2)


def draw(law, scale, **options):
    match law:
        case LaplaceLaw():
            return rounded_laplace(scale, **options)
        case CauchyLaw():
            return rounded_cauchy(scale, **options)
        case _:
            return rounded_lomax(scale, 1 + law.index, **options)


def largest_gap(law, scale, centre, draws):
    """sup over n of |empirical cdf - cdf| (Dvoretzky, Kiefer, Wolfowitz; Massart 1990)."""
    values, count = np.unique(draws, return_counts=True)
    steps = np.concatenate([[0.0], np.cumsum(count) / draws.size])
    above = float_cdf(law, (values + 0.5 - float(centre)) / float(scale))
    below = float_cdf(law, (values - 0.5 - float(centre)) / float(scale))
    return max(np.abs(above - steps[1:]).max(), np.abs(below - steps[:-1]).max())


def allowed_gap(count):
    return math.sqrt(math.log(2 / RARE) / (2 * count))


@pytest.mark.statistical
@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(1000)], ids=str)
@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_draws_follow_the_law(law, scale):
    draws = draw(law, scale, centre="0.3", shape=(DRAWS,), rng=SeededRandom(4))

    assert largest_gap(law, scale, 0.3, draws) <= allowed_gap(DRAWS)


@pytest.mark.statistical
@pytest.mark.parametrize("law", LAWS[:4], ids=repr)
def test_small_outcomes_have_their_frequencies(law):
    draws = draw(law, 2, shape=(DRAWS,), rng=SeededRandom(5))
    inner = np.arange(-12, 13)
    edges = float_cdf(law, (np.concatenate([inner - 0.5, [12.5]])) / 2)
    expected = np.concatenate([[edges[0]], np.diff(edges), [1 - edges[-1]]])
    clipped = np.clip(draws, -13, 13)

    assert stats.chisquare(np.bincount(clipped + 13, minlength=27), DRAWS * expected).pvalue > RARE


@pytest.mark.statistical
@pytest.mark.parametrize("law", LAWS[:4], ids=repr)
def test_a_scale_a_tenth_too_small_is_caught(law):
    draws = draw(law, Fraction(9, 2), shape=(DRAWS,), rng=SeededRandom(4))

    assert largest_gap(law, 5, 0, draws) > allowed_gap(DRAWS)


# The tail is drawn as far as it reaches.


class Zeros:
    """Zero bits for a while, then ones: a V as small as one likes."""

    secure = False

    def __init__(self, zeros):
        self.zeros = zeros

    def bits(self, count):
        self.zeros -= count
        return 0 if self.zeros >= 0 else (1 << count) - 1

    def words(self, count):
        return np.array([self.bits(64) for _ in range(count)], dtype=np.uint64)


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_the_tail_goes_on_where_floats_end(law):
    """V = 2^-703 (1 - 2^-64): after 704 zeros, the first of them the sign, come ones."""
    value = draw(law, 1, rng=Zeros(704))
    with mpmath.workprec(8000):
        v = mpmath.mpf(2) ** -703
        least = {
            LaplaceLaw: lambda: -mpmath.log(v),
            CauchyLaw: lambda: mpmath.cot(mpmath.pi * v / 2),
            LomaxLaw: lambda: v ** (-1 / (mpmath.mpf(law.index.numerator) / law.index.denominator)) - 1,
        }[type(law)]()

        assert least * (1 - 1e-9) - 1 <= value <= least * (1 + 1e-9) + 1
    largest_float = -math.log(2**-53)  # of the twin: inversion of a 53-bit uniform, Laplace
    assert value > largest_float


def test_arrays_settle_the_tail_too():
    assert rounded_laplace(1, shape=(1,), rng=Zeros(128))[0] >= 88  # 127 ln 2 = 88.03


# Size, saturation, private scales.


def test_arrays_are_clamped_after_the_sum_is_exact():
    """The sum is far beyond 64 bits; where it was clamped says nothing about the centre."""
    ends = np.iinfo(np.int64)
    highs = [rounded_cauchy(1, centre=np.array([c]), rng=Zeros(192))[0] for c in (-5, -4, 0, ends.max, ends.min)]
    twins = [c + np.int64(rounded_cauchy(1, shape=(1,), rng=Zeros(192))[0]) for c in (-5, -4)]

    assert highs == [ends.max] * 5
    assert twins[0] != twins[1]  # clamping the noise and adding the value afterwards tells the value


def test_arrays_at_the_ends_of_the_range_never_wrap():
    ends = np.iinfo(np.int64)
    centre = np.array([ends.max, ends.min] * 500)
    values = rounded_laplace(1000, centre=centre, rng=SeededRandom(6))

    assert values.dtype == np.int64
    assert (np.sign(values) == np.sign(centre)).all()
    assert (values == centre).mean() > 0.3


def test_a_centre_beyond_64_bits_is_exact_as_a_scalar_and_clamped_in_an_array():
    big = 10**30

    assert abs(rounded_laplace(1, centre=big, rng=SeededRandom(1)) - big) < 50
    assert (rounded_laplace(1, centre=-big, shape=(3,), rng=SeededRandom(1)) == np.iinfo(np.int64).min).all()
    assert rounded_laplace(1, centre=-big, shape=(), rng=SeededRandom(1)) == np.iinfo(np.int64).min
    assert rounded_laplace(1, centre=-big, shape=(0,), rng=SeededRandom(1)).dtype == np.int64


def test_python_integers_in_an_array_stay_exact():
    values = rounded_cauchy(1, centre=np.array([10**30, -(10**30)], dtype=object), rng=SeededRandom(1))

    assert values.dtype == object
    assert [round(v / 10**30) for v in values] == [1, -1]


@pytest.mark.parametrize("law", LAWS, ids=repr)
@pytest.mark.parametrize("power", [-400, -30, -6, 12, 30, 400])
def test_no_scale_raises(law, power):
    scale = Fraction(10) ** power * Fraction(12345, 67891)
    one = draw(law, scale, centre="0.25", rng=SeededRandom(9))
    many = draw(law, scale, centre="0.25", shape=(2, 2), rng=SeededRandom(9))

    assert type(one) is int
    assert many.shape == (2, 2)
    assert many.dtype == np.int64


def test_a_scale_of_zero_is_the_rounded_centre():
    """A smooth sensitivity of 0 is 0 for all neighbours, and the answer is the same for all."""
    assert rounded_laplace(0, centre="2.5") == 3
    assert rounded_cauchy(0, centre="-2.6", shape=(2,)).tolist() == [-3, -3]


def test_whole_shifts_of_the_centre_shift_the_outcome():
    draws = [rounded_lomax(7, 5, centre=Fraction(1, 3) + c, shape=(1000,), rng=SeededRandom(2)) for c in (0, 41)]

    assert (draws[1] - draws[0] == 41).all()


# Bad input.


class Untouched:
    secure = False

    def bits(self, count):
        raise AssertionError("something was drawn")

    words = bits


@pytest.mark.parametrize("shape", [None, (3,)])
@pytest.mark.parametrize(
    ("scale", "centre"),
    [(-1, 0), (math.nan, 0), (math.inf, 0), (True, 0), (1, math.nan), (1, math.inf), (1, True), (1, np.zeros(3))],
)
def test_bad_numbers_are_refused_before_anything_is_drawn(scale, centre, shape):
    for function in (rounded_laplace, rounded_cauchy):
        with pytest.raises(ParameterError):
            function(scale, centre=centre, shape=shape, rng=Untouched())


@pytest.mark.parametrize("exponent", [1, 0, -3, "1.9", math.nan, 2**70])
def test_bad_exponents_are_refused(exponent):
    with pytest.raises(ParameterError):
        rounded_lomax(1, exponent, rng=Untouched())


def test_messages_carry_no_private_number():
    for scale, centre in [(-123456, 0), (1, [123456])]:
        with pytest.raises(ParameterError) as caught:
            rounded_laplace(scale, centre=centre)

        assert "123456" not in str(caught.value)
