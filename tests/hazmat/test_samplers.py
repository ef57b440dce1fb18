"""discreet.hazmat.samplers: each law, statistically, at scales from 1e-6 to 1e12."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.errors import ParameterError
from discreet.hazmat import samplers
from discreet.hazmat.entropy import SeededRandom
from discreet.hazmat.exponent import exp_bounds
from discreet.hazmat.samplers import (
    bernoulli,
    bernoulli_exp,
    discrete_gaussian,
    discrete_laplace,
    geometric,
    uniform_below,
)
from tests.hazmat.enumeration import agrees
from tests.scale import counts

DRAWS = counts(quick=1_000_000, full=10_000_000)
RARE = 1e-6  # the chance that a correct sampler fails a test below
SCALES = [Fraction(1, 10**6), Fraction(1, 3), 1, 10, 1000, 10**6, 10**12]


def laplace_cdf(z, scale):
    a = np.exp(-1 / float(scale))
    z = np.asarray(z, dtype=float)
    return np.where(z < 0, a ** np.maximum(-z, 0) / (1 + a), 1 - a ** (np.maximum(z, 0) + 1) / (1 + a))


def chi_square(draws, edges, cdf):
    """The p-value of the counts between edges (cells are (e[i-1], e[i]])."""
    probabilities = np.diff(np.concatenate([[0.0], cdf(edges), [1.0]]))
    observed = np.bincount(np.searchsorted(edges, draws, side="left"), minlength=len(probabilities))
    enough = probabilities * len(draws) > 10
    if enough.sum() < 2:
        return float((observed == np.round(probabilities * len(draws))).all())
    expected = probabilities[enough] * observed[enough].sum() / probabilities[enough].sum()
    return stats.chisquare(observed[enough], expected).pvalue


def edges_for(scale, reach=8.0):
    return np.unique(np.round(np.linspace(-reach, reach, 161) * max(1.0, float(scale))).astype(np.int64))


@pytest.mark.statistical
@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_discrete_laplace_follows_its_law(scale):
    draws = discrete_laplace(scale, shape=(DRAWS,), rng=SeededRandom(1))

    assert chi_square(draws, edges_for(scale), lambda z: laplace_cdf(z, scale)) > RARE


@pytest.mark.statistical
@pytest.mark.parametrize("scale", [1, 1000])
def test_a_scale_three_percent_too_small_is_caught(scale):
    draws = discrete_laplace(Fraction(97, 100) * scale, shape=(DRAWS,), rng=SeededRandom(1))

    assert chi_square(draws, edges_for(scale), lambda z: laplace_cdf(z, scale)) < RARE


@pytest.mark.statistical
@pytest.mark.parametrize("sigma", SCALES, ids=str)
def test_discrete_gaussian_follows_its_law(sigma):
    draws = discrete_gaussian(Fraction(sigma) ** 2, shape=(DRAWS,), rng=SeededRandom(2))

    assert chi_square(draws, edges_for(sigma, 5.0), lambda z: gaussian_cdf(z, float(sigma))) > RARE


@pytest.mark.statistical
@pytest.mark.parametrize("sigma", [1, 1000])
def test_a_sigma_three_percent_too_small_is_caught(sigma):
    draws = discrete_gaussian((Fraction(97, 100) * sigma) ** 2, shape=(DRAWS,), rng=SeededRandom(2))

    assert chi_square(draws, edges_for(sigma, 5.0), lambda z: gaussian_cdf(z, float(sigma))) < RARE


def gaussian_cdf(z, sigma):
    """The discrete law: summed where sigma is small, by the midpoint rule (error e^-2 pi^2 sigma^2) where large."""
    if sigma > 30:
        return stats.norm.cdf((np.asarray(z) + 0.5) / sigma)
    points = np.arange(-400, 401)
    with np.errstate(under="ignore"):
        weights = np.exp(-(points.astype(float) ** 2) / (2 * sigma * sigma))
    return (np.cumsum(weights) / weights.sum())[np.clip(np.asarray(z) + 400, 0, 800)]


@pytest.mark.statistical
def test_scalar_draws_follow_the_same_laws():
    rng = SeededRandom(3)
    runs = counts(quick=30_000, full=300_000)
    laplace = np.array([discrete_laplace(40, rng=rng) for _ in range(runs)])
    gaussian = np.array([discrete_gaussian(200**2, rng=rng) for _ in range(runs)])

    assert chi_square(laplace, edges_for(40), lambda z: laplace_cdf(z, 40)) > RARE
    assert chi_square(gaussian, edges_for(200, 5.0), lambda z: gaussian_cdf(z, 200.0)) > RARE


@pytest.mark.statistical
@pytest.mark.parametrize("scale", [Fraction(1, 2), 7, 5000], ids=str)
def test_geometric_follows_its_law(scale):
    draws = geometric(scale, shape=(DRAWS,), rng=SeededRandom(4))
    edges = np.unique(np.round(np.linspace(0, 8, 81) * max(1.0, float(scale))).astype(np.int64))

    assert draws.min() == 0
    assert chi_square(draws, edges, lambda g: -np.expm1(-(g + 1) / float(scale))) > RARE


@pytest.mark.statistical
@pytest.mark.parametrize("bound", [1, 2, 6, 1000, 3 * 2**61])
def test_uniform_below_has_no_bias(bound):
    draws = uniform_below(bound, shape=(DRAWS,), rng=SeededRandom(5))
    cells = np.bincount((draws // max(1, bound // 6)).astype(np.int64))

    assert draws.min() >= 0
    assert draws.max() < bound
    if bound in (6, 3 * 2**61):
        assert stats.chisquare(cells).pvalue > RARE


@pytest.mark.statistical
def test_the_modulo_twin_of_uniform_below_is_caught():
    """64-bit words cover the range 2 2/3 times, so word mod bound hits two thirds 3 times and the rest twice."""
    bound = 3 * 2**61
    biased = SeededRandom(5).words(DRAWS) % np.uint64(bound)

    assert stats.chisquare(np.bincount((biased // np.uint64(bound // 6)).astype(np.int64))).pvalue < RARE


def test_small_coins_and_dice_are_exact():
    import mpmath

    assert agrees(lambda tape: uniform_below(5, rng=tape), lambda _: mpmath.mpf(1) / 5, depth=15)


@pytest.mark.statistical
def test_coins_have_their_probability():
    for heads, p in [
        (bernoulli(Fraction(1, 3), shape=(DRAWS,), rng=SeededRandom(6)), 1 / 3),
        (bernoulli_exp(Fraction(3, 2), shape=(DRAWS,), rng=SeededRandom(7)), np.exp(-1.5)),
    ]:
        assert stats.binomtest(int(heads.sum()), DRAWS, p).pvalue > RARE
    assert bernoulli(1, shape=(100,)).all()
    assert not bernoulli(0, shape=(100,)).any()
    assert bernoulli_exp(0, shape=(100,)).all()
    assert bernoulli_exp(0) is True


def test_long_and_short_arrays_read_the_same_words():
    short = discrete_laplace(1000, shape=(100,), rng=SeededRandom(8))

    assert short.dtype == np.int64
    assert discrete_laplace(5, shape=(2, 3), rng=SeededRandom(8)).shape == (2, 3)
    assert isinstance(discrete_laplace(5, rng=SeededRandom(8)), int)
    assert isinstance(discrete_gaussian(5, rng=SeededRandom(8)), int)
    assert discrete_gaussian(5, shape=(0,)).shape == (0,)


def test_scales_beyond_64_bits_give_exact_python_integers():
    draws = discrete_laplace(10**40, shape=(50,), rng=SeededRandom(9))

    assert draws.dtype == object
    assert max(abs(z) for z in draws) > 2**64
    assert all(isinstance(z, int) for z in draws)


@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf"), "one", None, True])
@pytest.mark.parametrize("sampler", [geometric, discrete_laplace, discrete_gaussian])
def test_bad_scales_are_refused_before_anything_is_drawn(sampler, bad):
    class NoBits:
        secure = False

        def bits(self, count):
            raise AssertionError("drew bits")

        words = bits

    with pytest.raises(ParameterError, match="need"):
        sampler(bad, rng=NoBits())


@pytest.mark.parametrize("bad", [-0.1, 1.5, float("nan")])
def test_bad_probabilities_are_refused(bad):
    with pytest.raises(ParameterError, match="need"):
        bernoulli(bad)
    with pytest.raises(ParameterError, match="need"):
        bernoulli_exp(-1)
    with pytest.raises(ParameterError, match="need an integer bound"):
        uniform_below(0)


@pytest.mark.parametrize("sigma", [65, 1000, 10**9, 2**52])
def test_a_gaussian_try_kept_at_once_is_kept_rightly(sigma):
    """Below the bound, every word with other low bits is below the chance to keep the last integer of its block."""
    variance = Fraction(sigma) ** 2
    table, block = samplers._gaussian_table(variance)
    sure = samplers._surely_kept(variance)
    heads = range(0, len(table.thresholds), 7)

    def chance(head):  # at least, over 2^64
        last, peak = block - 1, (head >> 1) * block + (head & 1)
        return exp_bounds(last * (2 * peak + last) / (2 * variance), 64)[0]

    assert all((int(sure[head]) | (block - 1)) + 1 <= chance(head) for head in heads)
    assert all(int(sure[head]) > 2**63 for head in heads)  # and few are left in doubt
    assert len(sure) == len(table.thresholds) + 1
    assert sure[-1] == 0


@pytest.mark.parametrize("sigma", [65, 1000, 2**52])
def test_compiled_and_plain_gaussian_arrays_are_the_same(sigma, monkeypatch):
    compiled = discrete_gaussian(sigma**2, shape=(100_000,), rng=SeededRandom(3))
    monkeypatch.setattr(samplers, "COMPILED", 1 << 60)

    assert (compiled == discrete_gaussian(sigma**2, shape=(100_000,), rng=SeededRandom(3))).all()


@pytest.mark.parametrize("dropped", [[], [0], [9], [0, 9], [7, 8, 9], [0, 1, 2, 8], list(range(10))], ids=str)
def test_dropped_tries_leave_all_others_once(dropped):
    left = samplers._without(np.arange(10), np.array(dropped, dtype=np.int64))

    assert sorted(left) == [i for i in range(10) if i not in dropped]
