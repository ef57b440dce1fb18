"""Parameters round toward more noise: no scale below sensitivity / epsilon, no NaN, no infinity."""

import math
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.mechanisms.bounded_laplace import BoundedLaplace
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.mechanisms.truncated_laplace import TruncatedLaplace
from discreet.privacy.enclosure import log_down
from discreet.privacy.gaussian_profile import gaussian_delta
from discreet.privacy.number import exact
from tests.scale import counts

TRIPLES = counts(quick=2_000, full=100_000)
SLOW = counts(quick=30, full=1000)

positive = st.floats(min_value=5e-324, max_value=1.7e308, allow_nan=False, allow_infinity=False)
fractions = st.fractions(min_value=Fraction(1, 10**9), max_value=10**9)
epsilons = positive | fractions | st.sampled_from([5e-324, 2.2e-308, 1e-308, 1e308, 0.1, Fraction(1, 3)])
sensitivities = st.integers(1, 10**6) | st.integers(1, 2**200)


@settings(max_examples=TRIPLES)
@given(epsilons, sensitivities, st.floats(1e-12, 0.5))
def test_scales_are_exact(epsilon, sensitivity, delta):
    for mechanism in (
        Laplace(epsilon=epsilon, sensitivity=sensitivity),
        TruncatedLaplace(epsilon=epsilon, delta=delta, sensitivity=sensitivity),
    ):
        assert mechanism.scale * exact(epsilon) == sensitivity
    assert exact(Laplace(epsilon=epsilon, sensitivity=sensitivity).privacy().epsilon) == exact(epsilon)
    assert exact(Laplace.with_scale(epsilon, sensitivity=sensitivity).privacy().epsilon) == sensitivity / exact(epsilon)


def test_float_division_rounds_toward_less_noise_and_is_caught():
    """The twin errs on the wrong side for about half of all parameters."""
    pairs = [(s, Fraction(k, 7)) for s in range(1, 40) for k in range(1, 40) if k % 7]
    low = sum(exact(s / float(epsilon)) < s / epsilon for s, epsilon in pairs)

    assert low > len(pairs) // 5
    assert all(Laplace(epsilon=epsilon, sensitivity=s).scale >= s / epsilon for s, epsilon in pairs)


@settings(max_examples=SLOW)
@given(st.floats(1e-6, 1e3) | st.fractions(Fraction(1, 1000), 100), st.integers(1, 10**6), st.integers(1, 10**6))
def test_bounded_noise_is_at_least_plain_noise(epsilon, sensitivity, span):
    bounded = BoundedLaplace(epsilon=epsilon, sensitivity=sensitivity, lower=0, upper=span)

    assert bounded.scale >= min(sensitivity, span) / exact(epsilon)
    assert bounded.scale <= 2.001 * min(sensitivity, span) / float(exact(epsilon))


@settings(max_examples=SLOW)
@given(st.floats(1e-3, 50), st.floats(1e-12, 0.5), st.integers(1, 100))
def test_gaussian_sigma_is_finite_and_meets_its_delta(epsilon, delta, sensitivity):
    gaussian = Gaussian(epsilon=epsilon, delta=delta, sensitivity=sensitivity)

    assert math.isfinite(gaussian.sigma)
    assert gaussian_delta(exact(gaussian.sigma) ** 2, sensitivity, exact(epsilon)) <= exact(delta)


@settings(max_examples=SLOW)
@given(st.fractions(Fraction(500_001, 10**6), Fraction(999_999, 10**6)))
def test_coins_promise_no_less_than_they_cost(p):
    response = RandomizedResponse.with_truth_probability(p)

    assert log_down(p / (1 - p)) <= exact(response.epsilon) <= log_down(p / (1 - p)) * (1 + Fraction(1, 2**40))
