"""discreet.privacy.posterior: Bayes' rule, the exact worst shift, and its converse."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.privacy import FiniteMechanism, posterior, statistical_distance
from discreet.privacy.posterior import (
    epsilon_from_half_prior,
    epsilon_from_shift,
    largest_shift,
    posterior_bound,
    worst_prior,
)
from tests.privacy.test_finite import response, tables

weights = st.lists(st.integers(1, 20), min_size=3, max_size=3)


@pytest.mark.parametrize(("epsilon", "shift"), [(1, 0.244919), (0.1, 0.024995), (2, 0.462117)])
def test_the_largest_shift_is_tanh_of_a_quarter(epsilon, shift):
    assert largest_shift(epsilon) == pytest.approx(shift, abs=1e-6)
    assert largest_shift(epsilon) < epsilon / 4


def test_exercise_six_caps_the_posterior():
    assert posterior_bound(0.5, 0.1) == pytest.approx(0.524979, abs=1e-6)


@given(tables(least=1), weights)
def test_no_prior_moves_farther_than_the_bound(mechanism, masses):
    """Over priors on three values, not only two."""
    prior = {x: Fraction(w, sum(masses)) for x, w in enumerate(masses)}
    epsilon = mechanism.epsilon()

    for y in mechanism.outputs:
        if any(mechanism.law(x)[y] for x in prior):
            after = posterior(prior, mechanism, y)
            assert statistical_distance(prior, after) <= largest_shift(epsilon) + 1e-15
            for x, p in prior.items():
                assert after[x] <= posterior_bound(p, epsilon) + 1e-15
                assert math.exp(-epsilon) - 1e-12 <= after[x] / p <= math.exp(epsilon) + 1e-9
            assert sum(after.values()) == 1


@pytest.mark.parametrize("epsilon", [0.1, 1, 2, 5])
def test_a_two_point_prior_attains_the_bound(epsilon):
    mass = Fraction(worst_prior(epsilon))
    prior = {0: mass, 1: 1 - mass}
    shift = statistical_distance(prior, posterior(prior, response(epsilon), 0))

    assert float(shift) == pytest.approx(largest_shift(epsilon), abs=1e-15)
    assert float(shift) > largest_shift(0.99 * epsilon)  # half the claim would be refuted


@given(tables(least=1))
def test_the_converse_bounds_epsilon_by_the_shift(mechanism):
    """The largest shift over the worst priors proves an epsilon that is not below the true one."""
    assume(mechanism.epsilon() > 0)
    epsilon = mechanism.epsilon()
    mass = Fraction(worst_prior(epsilon))

    def largest(prior_mass):
        return max(
            statistical_distance(prior, posterior(prior, mechanism, y))
            for a, b in mechanism.neighbours
            for prior in ({a: prior_mass, b: 1 - prior_mass},)
            for y in mechanism.outputs
        )

    shift, half = largest(mass), largest(Fraction(1, 2))

    assert epsilon_from_shift(shift) >= epsilon * (1 - 1e-9)
    assert epsilon_from_shift(shift) <= epsilon * (1 + 1e-9)
    assert epsilon_from_half_prior(half) == pytest.approx(epsilon, rel=1e-9)


@given(st.floats(1e-6, 50))
def test_bounds_are_rounded_up(epsilon):
    with mpmath.workdps(60):
        e = mpmath.mpf(repr(epsilon))
        assert mpmath.mpf(repr(largest_shift(epsilon))) >= mpmath.tanh(e / 4)
        assert mpmath.mpf(repr(posterior_bound(0.5, epsilon))) >= 1 / (1 + mpmath.exp(-e))
        shift = largest_shift(epsilon)
        if shift < 1:
            assert mpmath.mpf(repr(epsilon_from_shift(shift))) >= 4 * mpmath.atanh(mpmath.mpf(repr(shift)))


def test_extreme_epsilons_are_handled():
    assert largest_shift(1e-300) == pytest.approx(2.5e-301)
    assert largest_shift(800) == 1.0
    assert largest_shift(1e308) == 1.0
    assert posterior_bound(0.5, 1e308) == 1.0
    assert posterior_bound(0, 800) == 0.0
    assert worst_prior(1e308) < 1e-200


def test_bad_input_is_refused():
    coin = FiniteMechanism({0: {0: 1, 1: 0}, 1: {0: 1, 1: 0}}, neighbours=[(0, 1)])

    with pytest.raises(ParameterError, match="sums to 1"):
        posterior({0: 0.5, 1: 0.4}, coin, 0)
    with pytest.raises(ParameterError, match="possible under the prior"):
        posterior({0: 0.5, 1: 0.5}, coin, 1)
    with pytest.raises(ParameterError, match="nowhere negative"):
        posterior({0: 1.5, 1: -0.5}, coin, 0)
    for bad in (1, -0.1):
        with pytest.raises(ParameterError, match="shift"):
            epsilon_from_shift(bad)
    with pytest.raises(ParameterError, match="shift"):
        epsilon_from_half_prior(0.5)
    with pytest.raises(ParameterError, match="epsilon >= 0"):
        largest_shift(-1)
