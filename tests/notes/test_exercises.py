"""Worked numbers of the lecture notes that concern noise, with the notes' misprints put right."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, stats

from discreet.hazmat.entropy import SeededRandom
from discreet.mechanisms import Exponential, Laplace


def test_a_laplace_variable_has_twice_the_variance_of_an_exponential_one():
    """Exercise 5: 2 b^2 against b^2; the sigmoid's derivative is the logistic density, variance pi^2 / 3."""
    scale = 3.0
    laplace, exponential = stats.laplace(scale=scale), stats.expon(scale=scale)

    def bell(x):
        return math.exp(-abs(x)) / (1 + math.exp(-abs(x))) ** 2

    assert laplace.var() == pytest.approx(2 * exponential.var())
    assert integrate.quad(lambda x: x * x * bell(x), -60, 60)[0] == pytest.approx(3.289868, abs=1e-6)
    assert bell(30.0) / math.exp(-30.0) == pytest.approx(1, abs=1e-9)  # it decays like e^-|x|


def test_the_discrete_variance_approaches_the_continuous_one_from_below():
    for epsilon, share in [(1, 0.9206735), (Fraction(1, 10), 0.9991671), (Fraction(1, 100), 0.9999917)]:
        p, scale = math.exp(-float(epsilon)), 1 / float(epsilon)

        assert 2 * p / (1 - p) ** 2 / (2 * scale**2) == pytest.approx(share, abs=1e-7)


def test_the_accuracy_theorem_needs_the_two_sided_tail():
    """Exercise 7: one side has probability alpha / (2 k), both together alpha / k."""
    scale, k, alpha = 2.0, 50, 0.1
    at = scale * math.log(k / alpha)
    noise = stats.laplace(scale=scale)

    assert noise.sf(at) == pytest.approx(alpha / (2 * k))
    assert 2 * noise.sf(at) == pytest.approx(alpha / k)


def test_ten_thousand_first_names_are_within_28_of_the_truth():
    """The notes' 27.6 is 2 ln(10^6); exactly 27.6210 for the continuous law; 28 on the integers."""
    names = Laplace(epsilon=1, sensitivity=2)

    assert 2 * math.log(1e6) == pytest.approx(27.6310, abs=1e-4)
    assert -2 * math.log(-math.expm1(math.log1p(-0.01) / 10_000)) == pytest.approx(27.6210, abs=1e-4)
    assert names.accuracy(0.01, size=10_000) == 28
    assert Laplace(epsilon=1, sensitivity=1).accuracy(0.01, size=10_000) == 14  # the factor 2 forgotten
    assert Laplace(epsilon=1, sensitivity=1).accuracy(0.01) == 4  # "Albert" alone; 4.605 on the reals


@pytest.mark.statistical
def test_first_names_keep_their_promise():
    """Failure probability of 100 histograms: each is outside with probability at most 0.01; 9 or more has 7e-7."""
    names, rng = Laplace(epsilon=1, sensitivity=2), SeededRandom(11)
    zero = np.zeros(10_000, dtype=int)
    outside = sum(np.abs(names(zero, rng=rng)).max() > 28 for _ in range(100))

    assert outside <= 8


def test_mean_absolute_noise_grows_with_the_number_of_questions():
    """E|Lap(k / epsilon)| = k / epsilon on the reals; 2 p / (1 - p^2) on the integers."""
    p = math.exp(-1 / 20)

    assert 2 * p / (1 - p * p) == pytest.approx(20, rel=1e-3)
    draws = np.arange(-4000, 4001)
    assert (np.abs(draws) * stats.dlaplace(1 / 20).pmf(draws)).sum() == pytest.approx(2 * p / (1 - p * p), rel=1e-9)


def test_inverse_transform_sampling_gives_the_law():
    """Exercise 9: F^-1(u) = -b sgn(u - 1/2) ln(1 - 2 |u - 1/2|); fine on paper, unsafe in floating point."""
    scale = 1.7

    for u in (0.01, 0.3, 0.7, 0.999):
        z = -scale * math.copysign(1, u - 0.5) * math.log(1 - 2 * abs(u - 0.5))
        assert stats.laplace(scale=scale).cdf(z) == pytest.approx(u)


def test_which_of_two_conditions_is_more_common():
    """Exercise 11: exactly 1 / (1 + e^(g eps / 2)); the notes' bound is loose by 2 and vacuous at small epsilon."""
    for epsilon, gap, wrong, bound in [(1, 10, 0.00669285, 0.0134759), (0.1, 10, 0.377541, 1.2131)]:
        law = Exponential(epsilon=epsilon, sensitivity=1).probabilities([0, gap])

        assert law[0] == pytest.approx(wrong, rel=1e-5)
        assert 2 * math.exp(-gap * epsilon / 2) == pytest.approx(bound, rel=1e-4)


def test_the_difference_of_two_answers_hardly_gives_a_person_away():
    """Exercise 16: a density of 0.0025 at (1, 0); thresholding a - b at 1/2 is right with probability 0.512495."""
    scale, t = 10.0, 0.5
    noise = stats.laplace(scale=scale)

    def larger(a):
        return noise.pdf(a) * noise.cdf(a + t)

    numeric = integrate.quad(larger, -300, -t)[0] + integrate.quad(larger, -t, 0)[0] + integrate.quad(larger, 0, 300)[0]

    assert noise.pdf(0) ** 2 == pytest.approx(0.0025)
    assert 1 - math.exp(-t / scale) * (2 + t / scale) / 4 == pytest.approx(0.512495, abs=1e-6)
    assert numeric == pytest.approx(0.512495, abs=1e-6)
    assert -math.expm1(-1 / (2 * scale)) == pytest.approx(0.0487706, abs=1e-7)
