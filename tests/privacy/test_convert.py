"""discreet.privacy.convert: no conversion strengthens a promise, and each is tight, against mpmath."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from discreet.errors import ParameterError
from discreet.privacy import ZCDP, ApproxDP, GaussianDP, PureDP, RenyiDP, convert
from discreet.privacy.number import exact
from tests.scale import counts

COUNT = counts(quick=60, full=1000)
DIGITS = 60

epsilons = st.one_of(
    st.floats(min_value=1e-6, max_value=40), st.sampled_from([1e-300, 1e-9, 0.1, 1, 30, 700, 800, Fraction(1, 3)])
)
deltas = st.one_of(
    st.floats(min_value=1e-12, max_value=0.99), st.sampled_from([1e-300, 1e-6, 0.5, 1 - 1e-12, Fraction(2, 3)])
)
mus = st.one_of(st.floats(min_value=1e-4, max_value=30), st.sampled_from([1e-20, 1e-8, 0.1, 1, 99]))


def real(value) -> mpmath.mpf:
    number = exact(value)
    return mpmath.mpf(number.numerator) / number.denominator


def response_delta(epsilon: mpmath.mpf, at: mpmath.mpf, failure: mpmath.mpf) -> mpmath.mpf:
    """The tight delta of randomized response that reveals everything with probability `failure`."""
    excess = (mpmath.exp(epsilon) - mpmath.exp(at)) / (1 + mpmath.exp(epsilon))
    return failure + (1 - failure) * max(mpmath.mpf(0), excess)


def gaussian_delta(mu: mpmath.mpf, epsilon: mpmath.mpf) -> mpmath.mpf:
    return mpmath.ncdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - epsilon / mu)


@settings(max_examples=COUNT)
@given(epsilons, deltas)
def test_pure_to_approximate_is_the_curve_of_randomized_response(epsilon, delta):
    converted = PureDP(epsilon).to_approx(delta)

    with mpmath.workdps(DIGITS + 400):
        at, slack = real(converted.epsilon), mpmath.mpf(10) ** -14
        assert response_delta(real(epsilon), at, mpmath.mpf(0)) <= real(delta)
        if at > 0 and exact(converted.epsilon) < exact(epsilon):
            assert response_delta(real(epsilon), at * (1 - slack), mpmath.mpf(0)) > real(delta)


@settings(max_examples=COUNT)
@given(st.floats(min_value=1e-6, max_value=20), st.floats(0, 0.4), st.floats(0, 0.59))
def test_approximate_moves_along_the_same_curve(epsilon, own, more):
    delta = exact(own) + exact(more)
    converted = ApproxDP(epsilon, own).to_approx(delta)

    with mpmath.workdps(DIGITS):
        at = real(converted.epsilon)
        assert response_delta(real(epsilon), at, real(own)) <= real(delta) + mpmath.mpf(10) ** -50
        if 0 < at < real(epsilon) * (1 - mpmath.mpf(10) ** -12):
            assert response_delta(real(epsilon), at * (1 - mpmath.mpf(10) ** -12), real(own)) > real(delta)


@settings(max_examples=COUNT)
@given(epsilons)
def test_pure_to_gaussian_touches_at_the_kink(epsilon):
    mu = PureDP(epsilon).to_gaussian().mu

    with mpmath.workdps(DIGITS + 400):
        target = 1 / (1 + mpmath.exp(real(epsilon)))
        assert mpmath.ncdf(-real(mu) / 2) <= target
        assert mpmath.ncdf(-real(mu) * mpmath.mpf("0.98") / 2) > target
        if 1e-30 < exact(epsilon) < 600:
            assert mpmath.ncdf(-real(mu) * (1 - mpmath.mpf(10) ** -13) / 2) > target


@given(st.floats(min_value=0.01, max_value=5))
def test_pure_to_concentrated_bounds_every_order_of_randomized_response(epsilon):
    rho = PureDP(epsilon).to_zcdp().rho

    with mpmath.workdps(DIGITS):
        e = real(epsilon)
        p, q = 1 / (1 + mpmath.exp(-e)), 1 / (1 + mpmath.exp(e))
        for order in map(mpmath.mpf, (1.0001, 1.5, 2, 3, 10, 100)):
            divergence = mpmath.log(p**order * q ** (1 - order) + q**order * p ** (1 - order)) / (order - 1)
            assert divergence <= real(rho) * order


@settings(max_examples=COUNT)
@given(mus, deltas)
def test_gaussian_to_approximate_is_the_root_from_above(mu, delta):
    epsilon = GaussianDP(mu).to_approx(delta).epsilon

    with mpmath.workdps(DIGITS + 700):
        at, m = real(epsilon), real(mu)
        assert gaussian_delta(m, at) <= real(delta)
        far = not Fraction(1, 10**250) < exact(delta) < Fraction(999, 1000) or exact(epsilon) > 900
        if at > 0 and not far:
            assert gaussian_delta(m, at * (1 - mpmath.mpf(10) ** -9)) > real(delta)


@settings(max_examples=COUNT)
@given(epsilons, deltas)
def test_concentrated_to_approximate_is_the_least_over_orders(rho, delta):
    epsilon = ZCDP(rho).to_approx(delta).epsilon

    with mpmath.workdps(DIGITS):
        r, d = real(rho), real(delta)

        def bound(order: mpmath.mpf) -> mpmath.mpf:
            return r * order - mpmath.log(order * d) / (order - 1) + mpmath.log(1 - 1 / order)

        centre = mpmath.sqrt(-mpmath.log(d) / r)
        grid = [bound(1 + centre * mpmath.mpf(2) ** (mpmath.mpf(k) / 8)) for k in range(-80, 81)]
        least = max(mpmath.mpf(0), min(grid))
        coarse = r + 2 * mpmath.sqrt(-r * mpmath.log(d))
        assert real(epsilon) <= max(least, 0) * (1 + mpmath.mpf(10) ** -12) + mpmath.mpf(10) ** -30
        assert real(epsilon) <= coarse * (1 + mpmath.mpf(10) ** -12)
        # Never below what the Gaussian mechanism, which is rho-zCDP, really needs.
        if 1e-9 < exact(rho) < 300 and exact(delta) > Fraction(1, 10**20):
            assert gaussian_delta(mpmath.sqrt(2 * r), real(epsilon)) <= d


@settings(max_examples=COUNT)
@given(st.sampled_from([Fraction(10**10 + 1, 10**10), 1.5, 2, 64, 1e9]), epsilons, deltas)
def test_renyi_to_approximate_is_the_formula_from_above(order, epsilon, delta):
    got = RenyiDP(order, epsilon).to_approx(delta).epsilon

    with mpmath.workdps(DIGITS):
        a = real(order)
        truth = real(epsilon) - mpmath.log(a * real(delta)) / (a - 1) + mpmath.log(1 - 1 / a)
        assert real(got) >= truth
        assert real(got) <= max(truth, 0) * (1 + mpmath.mpf(10) ** -15)


@given(st.sampled_from([1e-300, 1e-9, 0.1, 0.5, 1, 20]), st.integers(1, 60))
def test_group_factor_is_the_geometric_sum_from_above(epsilon, size):
    got = convert.group_factor(exact(epsilon), size)

    with mpmath.workdps(400):
        truth = mpmath.fsum(mpmath.exp(k * real(epsilon)) for k in range(size))
        assert truth <= real(got) <= truth * (1 + mpmath.mpf(10) ** -30)


def test_published_numbers():
    assert ZCDP(0.5).to_approx(1e-6).epsilon == pytest.approx(5.221535, abs=1e-6)
    assert 0.5 + 2 * np.sqrt(0.5 * np.log(1e6)) == pytest.approx(5.756522, abs=1e-6)
    assert GaussianDP(exact(1) / exact("4.224679")).to_approx(1e-6).epsilon == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize(("mu", "epsilon"), [(1, 1), (0.25, 1), (0.5, 0.1), (3, 2), (1, 0), (8, 10)])
def test_the_float_profile_is_the_expectation_over_the_loss(mu, epsilon):
    """L ~ N(mu^2 / 2, mu^2), and delta = E[max(0, 1 - e^(epsilon - L))]."""
    loss = norm(mu * mu / 2, mu)
    integral, _ = quad(
        lambda t: (1 - np.exp(epsilon - t)) * loss.pdf(t), epsilon, mu * mu / 2 + 40 * mu, epsabs=1e-14, limit=400
    )

    assert convert.gaussian_delta(mu, epsilon) == pytest.approx(integral, abs=1e-10)
    assert float(convert.gaussian_delta_up(exact(mu) ** 2, exact(epsilon))) == pytest.approx(integral, abs=1e-10)


@settings(max_examples=COUNT)
@given(mus, st.floats(0, 30))
def test_the_rational_profile_is_from_above(mu, epsilon):
    got = convert.gaussian_delta_up(exact(mu) ** 2, exact(epsilon))

    with mpmath.workdps(DIGITS + 200):
        truth = gaussian_delta(real(mu), real(epsilon))
        assert truth <= real(got) <= truth + mpmath.mpf(10) ** -40


def test_rounding_to_nearest_would_be_caught():
    """The broken twin of every test above: the nearest float is below the truth in about half of all cases."""
    with mpmath.workdps(DIGITS):
        below = 0
        for k in range(1, 60):
            epsilon = float(mpmath.log(mpmath.exp(k) - (1 + mpmath.exp(k)) / 10))
            below += response_delta(mpmath.mpf(k), real(epsilon), mpmath.mpf(0)) > mpmath.mpf(1) / 10
    assert below > 10


@pytest.mark.parametrize("delta", [0, 1, 2, -1])
def test_deltas_outside_their_range_are_refused(delta):
    for one in (ZCDP(1), GaussianDP(1), RenyiDP(2, 1)):
        with pytest.raises(ParameterError):
            one.to_approx(delta)
    with pytest.raises(ParameterError):
        ApproxDP(1, 0.5).to_approx(0.4)
