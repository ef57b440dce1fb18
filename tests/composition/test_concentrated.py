"""discreet.composition.concentrated: sums of rho, Renyi curves, conversions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.composition import concentrated, renyi_curve
from discreet.composition.concentrated import ORDERS, renyi
from discreet.errors import ParameterError, UnsupportedError
from discreet.privacy import ZCDP, ApproxDP, PureDP
from discreet.privacy.event import (
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    PoissonSampledEvent,
    PureEvent,
    RepeatedEvent,
)


def divergence(p: np.ndarray, q: np.ndarray, order: int) -> float:
    """D_order(P || Q), summed directly."""
    kept = p > 0
    return float(np.log(np.sum(q[kept] * np.exp(order * (np.log(p[kept]) - np.log(q[kept])))))) / (order - 1)


def test_rho_adds_and_converts_to_the_published_epsilon():
    assert concentrated([ZCDP(0.25), ZCDP(0.25)]) == ZCDP(0.5)
    assert concentrated([PureDP(1), GaussianEvent(sigma=2, sensitivity=1)]) == ZCDP(0.625)
    assert concentrated([ZCDP(0.5)], 1e-6).epsilon == pytest.approx(5.221535, abs=2e-6)


def test_the_coarse_conversion_is_weaker():
    coarse = 0.5 + 2 * math.sqrt(0.5 * math.log(1e6))

    assert coarse == pytest.approx(5.756522, abs=1e-6)
    assert concentrated([ZCDP(0.5)], 1e-6).epsilon < coarse


@given(st.floats(0.01, 5), st.sampled_from([2, 3, 7, 64]))
def test_randomized_response_attains_its_curve(epsilon, order):
    p = 1 / (1 + math.exp(-epsilon))
    exact = divergence(np.array([p, 1 - p]), np.array([1 - p, p]), order)

    assert exact * (1 - 1e-9) - 1e-13 <= renyi(PureEvent(epsilon=epsilon), order) <= exact * (1 + 1e-6) + 1e-13


@pytest.mark.parametrize("shift", [1, 2, 5])
@pytest.mark.parametrize("order", [2, 5, 32])
def test_discrete_laplace_attains_its_curve(shift, order):
    z = np.arange(-400, 401)
    p, q = np.exp(-np.abs(z) / 4), np.exp(-np.abs(z - shift) / 4)
    exact = divergence(p / p.sum(), q / q.sum(), order)

    assert exact <= renyi(LaplaceEvent(scale=4, sensitivity=shift), order) <= exact * (1 + 1e-6)


@pytest.mark.parametrize("rate", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("sigma", [0.8, 2.0])
@pytest.mark.parametrize("order", [2, 3, 8])
def test_a_sampled_discrete_gaussian_stays_below_its_curve_in_both_directions(rate, sigma, order):
    """The law is summed over the integers; no continuous approximation is in it."""
    z = np.arange(-25, 26)
    q = np.exp(-(z**2) / (2 * sigma**2))
    p = np.exp(-((z - 1) ** 2) / (2 * sigma**2))
    q, p = q / q.sum(), p / p.sum()
    mixed = (1 - rate) * q + rate * p
    event = PoissonSampledEvent(rate=rate, event=GaussianEvent(sigma=sigma, sensitivity=1))
    bound = renyi(event, order)

    assert divergence(mixed, q, order) <= bound * (1 + 1e-9)
    assert divergence(q, mixed, order) <= bound * (1 + 1e-9)
    assert bound <= 1.3 * divergence(mixed, q, order)


def test_the_exponential_mechanism_costs_a_quarter_and_its_count_is_not_dropped():
    one, many = ExponentialEvent(epsilon=0.1), RepeatedEvent(event=ExponentialEvent(epsilon=0.1), count=100)

    assert concentrated([many]) == ZCDP(0.125)
    assert concentrated([many], 1e-6).epsilon > 5 * concentrated([one], 1e-6).epsilon
    assert renyi_curve([many], [2])[0] == pytest.approx(100 * renyi_curve([one], [2])[0])


def test_the_curve_beats_the_line_for_a_large_pure_epsilon():
    line = ZCDP(8).to_approx(1e-6).epsilon

    assert concentrated([PureDP(4)], 1e-6).epsilon < 4.01 < line


def test_own_deltas_are_taken_off_first():
    found = concentrated([ApproxDP(0.1, 1e-8)] * 10, 1e-6)

    assert found.epsilon == concentrated([PureDP(0.1)] * 10, 9e-7).epsilon
    with pytest.raises(UnsupportedError, match="give concentrated the delta"):
        concentrated([ApproxDP(0.1, 1e-8)])
    with pytest.raises(ParameterError, match="own deltas"):
        concentrated([ApproxDP(0.1, 1e-6)] * 10, 1e-6)


def test_the_curve_grows_with_the_order_and_wants_integers():
    curve = renyi_curve([PureDP(1), GaussianEvent(sigma=3, sensitivity=1)])

    assert curve == sorted(curve)
    assert len(curve) == len(ORDERS)
    with pytest.raises(ParameterError, match="integer orders"):
        renyi_curve([PureDP(1)], [1])
