"""discreet.privacy.profile and gaussian_profile: every delta against the definition, enumerated."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from discreet.privacy import convert
from discreet.privacy.gaussian_profile import (
    LARGE,
    _smooth,
    gaussian_delta,
    gaussian_vector_delta,
    unit_mu,
)
from discreet.privacy.profile import bounded_laplace_loss, laplace_delta, truncated_laplace_delta
from tests.scale import counts

TUPLES = counts(quick=400, full=10_000)
mpmath.mp.dps = 40
TINY = mpmath.mpf(10) ** -28  # what the oracle itself cannot see


def real(x):
    return mpmath.mpf(x.numerator) / x.denominator


def hockey_stick(p, q, epsilon):
    """The definition, in both directions, for two laws given as dictionaries."""
    factor = mpmath.exp(real(epsilon))
    points = p.keys() | q.keys()
    forth = sum(max(mpmath.mpf(0), p.get(z, 0) - factor * q.get(z, 0)) for z in points)
    back = sum(max(mpmath.mpf(0), q.get(z, 0) - factor * p.get(z, 0)) for z in points)
    return max(forth, back)


def law(weight, reach):
    weights = {z: weight(z) for z in range(-reach, reach + 1)}
    total = sum(weights.values())
    return {z: w / total for z, w in weights.items()}


def shifted(p, by):
    return {z + by: mass for z, mass in p.items()}


def gaussian_law(variance):
    inverse = 1 / (2 * real(variance))
    return law(lambda z: mpmath.exp(-z * z * inverse), 13 * math.ceil(math.sqrt(variance)) + 10)


def settings(seed, count):
    """Parameters spread over their range, the same on every run."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        epsilon = Fraction(round(10 ** rng.uniform(-1.5, 0.9), 4)).limit_denominator(10**4)
        sigma = Fraction(round(10 ** rng.uniform(-0.6, 1.1), 3)).limit_denominator(1000)
        yield epsilon, sigma, int(rng.integers(1, 4))


def test_the_discrete_gaussian_has_the_delta_of_the_definition():
    """Never below, and above by less than a millionth of it; 0 exceptions."""
    for epsilon, sigma, shift in settings(1, TUPLES):
        p = gaussian_law(sigma**2)
        exact = hockey_stick(p, shifted(p, shift), epsilon)
        claimed = real(gaussian_delta(sigma**2, shift, epsilon))

        assert exact - TINY <= claimed <= exact * (1 + mpmath.mpf(10) ** -20) + TINY


def test_a_sum_that_starts_one_term_late_is_caught():
    """The twin: > for >= in the threshold loses the largest terms."""
    p = gaussian_law(Fraction("4.2308") ** 2)
    exact = hockey_stick(p, shifted(p, 1), Fraction(1))
    first = math.floor(Fraction("4.2308") ** 2 - Fraction(1, 2)) + 1
    late = sum(p[k] - mpmath.e * p[k + 1] for k in range(first + 1, 50))

    assert real(gaussian_delta(Fraction("4.2308") ** 2, 1, Fraction(1))) >= exact
    assert late < exact * mpmath.mpf("0.99")


def test_the_largest_shift_is_the_worst():
    for epsilon, sigma, _ in settings(2, 20):
        deltas = [gaussian_delta(sigma**2, shift, epsilon) for shift in range(1, 6)]

        assert deltas == sorted(deltas)


@pytest.mark.parametrize(("sigma", "published"), [("4.2308", 9.9993e-7), ("4.2247", 1.0196e-6)])
def test_the_published_deltas_at_epsilon_one(sigma, published):
    assert float(gaussian_delta(Fraction(sigma) ** 2, 1, Fraction(1))) == pytest.approx(published, rel=1e-4)


@pytest.mark.parametrize("sigma", [20, 100, LARGE])
@pytest.mark.parametrize("shift", [1, 7])
@pytest.mark.parametrize("epsilon", [Fraction(1, 1000), Fraction(1, 100), Fraction(1, 25)])
def test_the_smooth_bound_is_above_the_enumerated_delta_and_close(sigma, shift, epsilon):
    """What is used beyond sigma = 500, checked where both can be computed."""
    variance = Fraction(sigma) ** 2
    turn = epsilon * variance / shift - Fraction(shift, 2)
    enumerated = gaussian_delta(variance, shift, epsilon)
    smooth = _smooth(variance, shift, epsilon, turn)

    assert enumerated <= smooth
    if enumerated > Fraction(1, 10**30):
        assert smooth <= enumerated * (1 + Fraction(2, sigma) * max(1, math.ceil(float(turn) / sigma)))


@pytest.mark.parametrize("sigma", [10**6, 10**12])
def test_large_sigma_is_close_to_the_continuous_law(sigma):
    ours = float(gaussian_delta(Fraction(sigma) ** 2, sigma // 4, Fraction(1)))

    assert ours == pytest.approx(convert.gaussian_delta(0.25, 1.0), rel=1e-5)
    assert ours >= convert.gaussian_delta(0.25, 1.0) * (1 - 1e-9)


@pytest.mark.parametrize("sigma", [Fraction(1), Fraction(3, 2), Fraction(4)])
@pytest.mark.parametrize("moves", [(1, 1), (1, 2), (1, 1, 1), (2, 2)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(2)])
def test_vectors_are_covered_and_not_loosely(sigma, moves, epsilon):
    """The exact delta of several moved entries: <K, v> and its shift by |v|^2 are a sufficient statistic."""
    p, statistic = gaussian_law(sigma**2), {0: mpmath.mpf(1)}
    for move in moves:
        fresh = {}
        for w, mass in statistic.items():
            for k in range(-math.ceil(9 * sigma), math.ceil(9 * sigma) + 1):
                fresh[w + move * k] = fresh.get(w + move * k, 0) + mass * p[k]
        statistic = fresh
    square = sum(move * move for move in moves)
    exact = hockey_stick(statistic, shifted(statistic, square), epsilon)
    claimed = real(gaussian_vector_delta(sigma**2, square, len(moves), epsilon))

    assert exact * (1 - mpmath.mpf(10) ** -12) <= claimed
    more = sigma * (1 + Fraction(1, 2) / sigma**2)  # this much more noise would do for sure
    assert real(gaussian_vector_delta(more**2, square, len(moves), epsilon)) <= exact


@pytest.mark.parametrize("sigma", [1, 2, 4, 10, 50])
def test_a_unit_step_costs_a_little_more_than_one_over_sigma(sigma):
    mu = float(unit_mu(Fraction(sigma) ** 2, 14.0))

    assert 1 < mu * sigma < 1 + 1.2 / (24 * sigma**2)
    assert mu < float(unit_mu(Fraction((LARGE + 1) ** 2), 14.0)) * (LARGE + 1) / sigma * (1 + 1 / sigma)


def test_the_discrete_laplace_has_the_delta_of_the_definition():
    for epsilon, sigma, shift in settings(3, TUPLES):
        p = law(lambda z, s=sigma: mpmath.exp(-abs(z) / real(s)), 60 + math.ceil(80 * sigma))
        exact = hockey_stick(p, shifted(p, shift), epsilon)
        claimed = real(laplace_delta(sigma, shift, epsilon))

        assert exact - mpmath.mpf(10) ** -25 <= claimed <= exact * (1 + mpmath.mpf(10) ** -20) + mpmath.mpf(10) ** -25


def test_on_a_fine_lattice_the_laplace_profile_is_the_continuous_one():
    """1 - e^((epsilon' - epsilon) / 2) for epsilon' <= epsilon, as the notes' proof has it."""
    for smaller in (Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(9, 10)):
        fine = float(laplace_delta(Fraction(10**6), 10**6, smaller))

        assert fine == pytest.approx(1 - math.exp((float(smaller) - 1) / 2), abs=1e-5)


def test_truncated_laplace_has_the_delta_of_the_definition():
    for epsilon, scale, shift in settings(4, TUPLES):
        bound = shift + math.ceil(epsilon * scale)
        p = law(lambda z, s=scale: mpmath.exp(-abs(z) / real(s)), bound)
        exact = max(hockey_stick(p, shifted(p, s), shift / scale) for s in range(1, shift + 1))
        claimed = real(truncated_laplace_delta(scale, bound, shift))

        assert exact * (1 - mpmath.mpf(10) ** -30) <= claimed <= exact * (1 + mpmath.mpf(10) ** -25)


def test_bounded_laplace_has_the_loss_of_the_definition():
    for _, scale, shift in settings(5, TUPLES):
        span = 3 + 4 * shift
        laws = [{y: mpmath.exp(-abs(y - x) / real(scale)) for y in range(span + 1)} for x in range(span + 1)]
        totals = [sum(weights.values()) for weights in laws]
        exact = max(
            mpmath.log(laws[x][y] / totals[x] * totals[z] / laws[z][y])
            for x in range(span + 1)
            for z in range(max(0, x - shift), min(span, x + shift) + 1)
            for y in range(span + 1)
        )
        claimed = real(bounded_laplace_loss(scale, span, shift))

        assert exact - mpmath.mpf(10) ** -30 <= claimed <= exact + mpmath.mpf(10) ** -25
