"""discreet.privacy.loss: the expectation is delta, the mean is bounded, and tails go one way only."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.privacy import FiniteMechanism, privacy_loss
from discreet.privacy.loss import converse_tail, largest_mean_loss
from discreet.privacy.number import exact
from tests.privacy.test_finite import response, tables

thresholds = st.sampled_from([0, 0.1, 0.5, 1, 3])


@given(tables(inputs=2), thresholds)
def test_delta_is_the_expectation_over_the_loss(mechanism, epsilon):
    curve = max(exact(privacy_loss(mechanism, a, b).delta(epsilon)) for a, b in mechanism.neighbours)

    assert float(curve) == pytest.approx(float(mechanism.delta(epsilon)), abs=1e-15)
    if epsilon == 0:
        assert curve == exact(mechanism.delta(0))


@given(tables(inputs=2), tables(inputs=2))
def test_losses_of_a_product_add(first, second):
    both = privacy_loss(first.compose(second), 0, 1)

    assert both == privacy_loss(first, 0, 1) + privacy_loss(second, 0, 1)


@given(tables(inputs=2))
def test_the_mean_loss_of_a_private_pair_is_bounded(mechanism):
    if mechanism.epsilon() < math.inf:
        for a, b in mechanism.neighbours:
            assert privacy_loss(mechanism, a, b).mean() <= largest_mean_loss(mechanism.epsilon()) * (1 + 1e-12)


@pytest.mark.parametrize(("epsilon", "mean"), [(1, 0.462117), (0.1, 0.00499584)])
def test_randomized_response_attains_the_largest_mean(epsilon, mean):
    """epsilon tanh(epsilon / 2), below the epsilon^2 / 2 that is often quoted."""
    assert largest_mean_loss(epsilon) == pytest.approx(mean, abs=1e-6 if epsilon == 1 else 1e-8)
    assert privacy_loss(response(epsilon), 0, 1).mean() == pytest.approx(largest_mean_loss(epsilon), rel=1e-14)
    assert largest_mean_loss(epsilon) < epsilon**2 / 2


def test_the_mean_is_bounded_at_extreme_epsilons():
    assert largest_mean_loss(1e-300) == 0.0 or largest_mean_loss(1e-300) == 5e-324
    assert largest_mean_loss(800) == 800
    assert largest_mean_loss(1e308) == 1e308


@given(tables(inputs=2), thresholds, st.sampled_from([0.1, 0.5, 1, 2]))
def test_tails_are_bounded_by_the_true_converse(mechanism, epsilon, gap):
    delta = mechanism.delta(epsilon)

    for a, b in mechanism.neighbours:
        tail = privacy_loss(mechanism, a, b).tail(exact(epsilon) + exact(gap))
        assert float(tail) <= converse_tail(delta, gap) + 1e-12


@given(tables(inputs=2), thresholds)
def test_a_small_tail_is_enough(mechanism, epsilon):
    for a, b in mechanism.neighbours:
        loss = privacy_loss(mechanism, a, b)
        assert exact(loss.delta(epsilon)) <= loss.tail(epsilon) + Fraction(1, 10**15)


def test_a_small_tail_is_not_necessary():
    """The notes call (epsilon, delta)-DP and Pr[L > epsilon] <= delta essentially equivalent: they are not."""
    coin = FiniteMechanism({0: {0: 0.75, 1: 0.25}, 1: {0: 0.25, 1: 0.75}}, neighbours=[(0, 1)])

    assert coin.delta(1.0) < 0.0705
    assert privacy_loss(coin, 0, 1).tail(1) == Fraction(3, 4)


def test_an_output_that_rules_the_neighbour_out_is_an_infinite_loss():
    loss = privacy_loss(FiniteMechanism({0: {0: 0.5, 1: 0.5}, 1: {0: 1}}, neighbours=[(0, 1)]), 0, 1)

    assert loss.infinite == Fraction(1, 2)
    assert loss.mean() == math.inf
    assert loss.tail(100) == Fraction(1, 2)


def test_bad_input_is_refused():
    with pytest.raises(ParameterError, match="epsilon >= 0"):
        largest_mean_loss(-1)
    with pytest.raises(ParameterError, match="gap > 0"):
        converse_tail(0.1, 0)
    assert converse_tail("1e-6", "1e-50") == 1.0  # 1 - e^-t was below 0 here, and so was the bound
    assert converse_tail("1e-6", "1e-3") == pytest.approx(1e-6 / -math.expm1(-1e-3))
    assert converse_tail("1e-6", 10**6) == pytest.approx(1e-6)
