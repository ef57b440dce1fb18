"""discreet.composition.optimal and transform: never below the exact value, and close to it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.composition import optimal
from discreet.composition.optimal import _transformed
from discreet.composition.transform import Law, least_epsilon, split
from discreet.errors import ParameterError, UnsupportedError
from discreet.privacy import ApproxDP, PureDP
from discreet.privacy.event import GaussianEvent, PureEvent, RepeatedEvent
from tests.composition.oracle import binomial_delta, product_delta, response, responses_delta
from tests.work import calls

fractions = st.fractions(min_value=Fraction(1, 20), max_value=3, max_denominator=20)
deltas = st.sampled_from([1e-2, 1e-4, 1e-6, 1e-9, 1e-12])


@pytest.mark.parametrize(
    ("epsilon", "k", "exact"),
    [("0.1", 100, 4.774568), ("0.01", 1000, 1.365447), ("0.1", 30, 2.345888), ("0.5", 20, 9.986798)],
)
def test_equal_epsilons_have_their_published_values(epsilon, k, exact):
    assert optimal([PureDP(epsilon)] * k, 1e-6).epsilon == pytest.approx(exact, abs=1e-6)


def test_the_point_of_the_theorem_on_its_grid():
    """(k - 2 i) epsilon = 4.8 has delta_i = 8.0549e-7."""
    assert float(binomial_delta(Fraction(1, 10), 100, 4.8)) == pytest.approx(8.0549e-7, rel=1e-4)
    assert optimal([PureDP(0.1)] * 100, 8.0549e-7).epsilon == pytest.approx(4.8, abs=1e-5)


def test_a_hundred_thousand_equal_mechanisms_take_a_few_calls_each():
    items = [PureDP("0.001") for _ in range(100_000)]
    found = float(optimal(items, 1e-6).epsilon)

    assert calls(lambda: optimal(items, 1e-6)) < 3_000_000
    assert 1.367549 < found < 1.36755 * 1.001
    assert binomial_delta(Fraction(1, 1000), 2000, 0.2) > 0  # the oracle itself, at a size it can bear


@given(fractions, st.integers(1, 60), deltas)
@settings(max_examples=20, deadline=None)
def test_equal_epsilons_meet_delta_and_hardly_less_would(epsilon, k, delta):
    found = float(optimal([PureDP(epsilon)] * k, delta).epsilon)

    assert binomial_delta(epsilon, k, found) <= delta
    assert found < 1e-9 or binomial_delta(epsilon, k, found * (1 - 1e-7)) > delta * (1 - 1e-12)


@given(st.lists(fractions, min_size=2, max_size=9), deltas)
@settings(max_examples=20, deadline=None)
def test_different_epsilons_meet_delta_and_hardly_less_would(epsilons, delta):
    found = float(optimal([PureDP(e) for e in epsilons], delta).epsilon)

    assert responses_delta(epsilons, found) <= delta
    assert found < 1e-9 or responses_delta(epsilons, found * (1 - 1e-7)) > delta * (1 - 1e-12)


@given(st.lists(fractions, min_size=1, max_size=12), deltas)
@settings(max_examples=20, deadline=None)
def test_the_transform_is_never_below_the_exact_value_and_within_one_percent(epsilons, delta):
    counts = {e: epsilons.count(e) for e in epsilons}
    found, total = _transformed(counts, delta), float(sum(epsilons))

    assert responses_delta(epsilons, found) <= delta
    assert found < 1e-6 or found > total * 0.99 or responses_delta(epsilons, found * 0.99) > delta


def test_the_transform_agrees_with_the_closed_form_for_a_million_mechanisms():
    exact = float(optimal([PureDP("0.001")] * 1_000_000, 1e-6).epsilon)
    found = _transformed({Fraction(1, 1000): 999_999, Fraction(1001, 10**6): 1}, 1e-6)

    assert exact <= found <= exact * 1.0001


def test_a_thousand_million_mechanisms_are_not_enumerated():
    """The normal limit from below, two percent from above; nothing of that size is allocated."""
    found = float(optimal([RepeatedEvent(event=PureEvent(epsilon="0.00001"), count=10**9)], 1e-6).epsilon)

    assert 1.3675 < found < 1.3675 * 1.02


def test_many_different_epsilons_lie_between_those_of_their_bounds():
    epsilons = [PureDP(Fraction(1000 + i, 10**6)) for i in range(1000)]
    found = float(optimal(epsilons, 1e-6).epsilon)

    assert optimal([PureDP("0.001")] * 1000, 1e-6).epsilon < found < optimal([PureDP("0.002")] * 1000, 1e-6).epsilon


@given(st.lists(st.tuples(fractions, st.sampled_from(["0", "1e-3", "0.01"])), min_size=1, max_size=5))
@settings(max_examples=15, deadline=None)
def test_own_deltas_multiply_as_in_the_theorem(mechanisms):
    """delta = 1 - prod (1 - delta_i) (1 - D), the exact value."""
    delta = 0.1
    found = float(optimal([ApproxDP(e, d) for e, d in mechanisms], delta).epsilon)
    survive = np.prod([1 - float(d) for _, d in mechanisms])

    def total(epsilon: float) -> float:
        return 1 - survive * (1 - float(responses_delta([e for e, _ in mechanisms], epsilon)))

    assert total(found) <= delta * (1 + 1e-12)
    assert found == 0 or total(found * (1 - 1e-6)) > delta * (1 - 1e-9)


def test_a_hundred_mechanisms_with_deltas():
    found = float(optimal([ApproxDP(0.1, 1e-9)] * 100, 1e-6).epsilon)

    assert optimal([PureDP(0.1)] * 100, 1e-6).epsilon < found <= optimal([PureDP(0.1)] * 100, 9e-7).epsilon
    with pytest.raises(ParameterError, match="delta at least"):
        optimal([ApproxDP(0.1, 1e-7)] * 100, 1e-6)


def test_a_delta_of_zero_gives_the_sum():
    assert optimal([PureDP(0.1), PureDP(0.2)], 0).epsilon == 0.3
    assert optimal([], 1e-6).epsilon == 0
    with pytest.raises(UnsupportedError, match="no finite epsilon"):
        optimal([GaussianEvent(sigma=1, sensitivity=1)], 1e-6)


def test_splitting_keeps_both_masses_and_only_adds_to_delta():
    losses, masses = np.array([0.31, -0.31]), np.array([0.576885, 0.423115])
    law = split(losses, masses, 0.1)
    at = law.indices * 0.1

    assert law.masses.sum() == pytest.approx(masses.sum())
    assert (law.masses * np.exp(-at)).sum() == pytest.approx((masses * np.exp(-losses)).sum())
    for epsilon in (0.0, 0.1, 0.25, 0.305):
        before = np.sum(masses * np.maximum(0, -np.expm1(epsilon - losses)))
        after = np.sum(law.masses * np.maximum(0, -np.expm1(epsilon - at)))
        assert after >= before


def test_rounding_to_the_nearest_cell_is_caught():
    """The broken twin of splitting: the nearest lattice point may lie below the loss."""
    epsilon, step = 0.34, 0.1
    p = 1 / (1 + np.exp(-epsilon))
    twin = Law(np.array([-3, 3]), np.array([1 - p, p]))
    honest = split(np.array([epsilon, -epsilon]), np.array([p, 1 - p]), step)
    pairs = [response(epsilon)] * 8

    assert product_delta(pairs, least_epsilon([(honest, 8)], step, 1e-3)) <= 1e-3
    assert product_delta(pairs, least_epsilon([(twin, 8)], step, 1e-3)) > 1e-3


def test_an_epsilon_below_the_window_is_never_returned():
    """Found by the long check: the window lay above 0, and the losses between were not in it."""
    epsilons = [Fraction(8, 25)] * 38
    exact = float(optimal([PureDP(e) for e in epsilons], 1e-9).epsilon)
    for step in (1e-4, 0.0009863062404750363, 0.01):
        p = 1 / (1 + np.exp(-0.32))
        law = split(np.array([0.32, -0.32]), np.array([p, 1 - p]), step)
        found = least_epsilon([(law, 38)], step, 1e-9)

        assert exact <= found <= exact * 1.02


@given(fractions, st.integers(2, 120), deltas, st.sampled_from([1e-4, 1e-3, 0.013, 0.1]))
@settings(max_examples=60)
def test_the_transform_is_safe_on_any_lattice(epsilon, k, delta, step):
    e = float(epsilon)
    p = 1 / (1 + np.exp(-e))
    law = split(np.array([e, -e]), np.array([p, 1 - p]), step)
    exact = float(optimal([PureDP(epsilon)] * k, delta).epsilon)

    assert least_epsilon([(law, k)], step, delta) >= exact * (1 - 1e-8)


def test_no_finite_epsilon_is_reported_as_infinite():
    law = Law(np.array([0]), np.array([0.9]), 0.1)

    assert least_epsilon([(law, 1)], 1.0, 0.05) == float("inf")
