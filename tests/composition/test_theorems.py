"""discreet.composition.theorems: basic and advanced composition, number by number."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.composition import advanced, basic, closed_form_share, optimal
from discreet.composition.theorems import drift_epsilon, drv_epsilon
from discreet.errors import ParameterError, UnsupportedError
from discreet.privacy import ZCDP, AddRemove, ApproxDP, GaussianDP, PureDP
from discreet.privacy.event import GaussianEvent, LaplaceEvent
from tests.composition.oracle import least_epsilon, product_delta, response

lists = st.lists(st.fractions(min_value=Fraction(1, 50), max_value=2, max_denominator=50), min_size=1, max_size=6)


def test_two_randomized_responses_lose_exactly_the_sum():
    """The definition: at epsilon 1.0 nothing is left over, and just below it something is."""
    pairs = [response(0.3), response(0.7)]

    assert basic([PureDP(0.3), PureDP(0.7)]) == PureDP(1.0)
    assert product_delta(pairs, 1.0) == pytest.approx(0, abs=1e-15)
    assert product_delta(pairs, 0.999) > 1e-4


def test_basic_composition_adds_in_the_common_currency():
    assert basic([PureDP(0.3), ApproxDP(0.7, 1e-6)]) == ApproxDP(1.0, 1e-6)
    assert basic([ZCDP(0.1), ZCDP(0.2)]) == ZCDP(0.3)
    assert basic([GaussianDP(3), GaussianDP(4)]) == GaussianDP(5)
    assert basic([LaplaceEvent(scale=10, sensitivity=1)] * 3) == PureDP(0.3)
    assert basic([PureDP(1, neighbours=AddRemove)]).neighbours is AddRemove
    assert basic([]) == PureDP(0)
    with pytest.raises(UnsupportedError, match="no finite epsilon"):
        basic([GaussianEvent(sigma=1, sensitivity=1)])


@pytest.mark.parametrize(
    ("epsilon", "k", "drv", "tanh", "least"),
    [
        ("0.1", 100, 6.308231, 5.756106, 5.756106),
        ("0.01", 1000, 1.762760, 1.712258, 1.712258),
        ("0.1", 30, 3.194628, 3.028991, 3.0),
        ("0.5", 20, 18.24, 14.20, 10.0),
    ],
)
def test_the_two_advanced_bounds_and_the_sum_have_their_published_values(epsilon, k, drv, tanh, least):
    counts, slack = {Fraction(epsilon): k}, Fraction(1, 10**6)

    assert drv_epsilon(counts, slack) == pytest.approx(drv, rel=1e-4 if drv > 10 else 1e-6)
    assert drift_epsilon(counts, slack) == pytest.approx(tanh, rel=1e-3 if tanh > 10 else 1e-6)
    assert advanced([PureDP(epsilon)] * k, 1e-6).epsilon == pytest.approx(least, rel=1e-6)


@given(lists, st.floats(1e-8, 0.3))
def test_advanced_composition_is_above_the_truth_and_not_above_the_sum(epsilons, delta):
    truth = least_epsilon(lambda e: product_delta([response(float(x)) for x in epsilons], e), delta, 20.0)
    found = float(advanced([PureDP(x) for x in epsilons], delta).epsilon)

    assert truth <= found <= float(sum(epsilons)) + 1e-15


def test_forgetting_the_drift_is_caught():
    """The broken twin: the deviation alone is below the truth for large epsilons."""
    truth = least_epsilon(lambda e: product_delta([response(2.0)] * 6, e), 0.2, 20.0)
    twin = math.sqrt(2 * math.log(1 / 0.2) * 6 * 4)

    assert twin < truth


def test_advanced_composition_spends_the_mechanisms_own_deltas_first():
    found = advanced([ApproxDP(0.1, 1e-8)] * 50, delta=1e-6)

    assert found.epsilon == advanced([PureDP(0.1)] * 50, delta=5e-7).epsilon
    assert advanced([ApproxDP(0.1, 1e-8)] * 50, delta=5e-7).epsilon == 5.0
    with pytest.raises(ParameterError, match="own deltas"):
        advanced([ApproxDP(0.1, 1e-6)] * 50, delta=1e-6)


def test_the_closed_form_of_the_notes_is_valid_and_twice_too_strict():
    share = closed_form_share(ApproxDP(1.0, 1e-6), count=100)

    assert share.epsilon == pytest.approx(0.009512, abs=5e-7)
    assert drv_epsilon({Fraction(str(share.epsilon)): 100}, Fraction(1, 10**6)) == pytest.approx(0.5091, abs=5e-5)
    assert optimal([share] * 100, 1e-6).epsilon == pytest.approx(0.3719, abs=5e-5)


def test_the_closed_form_is_refused_where_it_is_false():
    with pytest.raises(ParameterError, match="2 ln"):
        closed_form_share(ApproxDP(3.0, 0.3), count=100)
    with pytest.raises(ParameterError, match="<= 1"):
        closed_form_share(ApproxDP(20.0, 1e-6), count=1)
    with pytest.raises(ParameterError, match="delta > 0"):
        closed_form_share(ApproxDP(1.0, 0), count=10)


def test_basic_beats_the_closed_form_for_few_queries():
    few, many = 110, 111  # 8 ln(10^6) = 110.5

    assert Fraction(1, few) > Fraction(str(closed_form_share(ApproxDP(1.0, 1e-6), count=few).epsilon))
    assert Fraction(1, many) < Fraction(str(closed_form_share(ApproxDP(1.0, 1e-6), count=many).epsilon))


@pytest.mark.parametrize("delta", [-0.1, 1.0, float("nan"), float("inf")])
def test_rejects_a_delta_outside_its_range(delta):
    with pytest.raises(ParameterError):
        advanced([PureDP(1)], delta)
