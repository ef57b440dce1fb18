"""discreet.composition.filter: the rule of the lanes, exactly, and what is refused."""

from __future__ import annotations

import threading
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.composition import Lanes, PrivacyFilter
from discreet.composition.filter import largest_rho
from discreet.composition.price import price
from discreet.errors import BudgetExhausted, ParameterError, UnsupportedError
from discreet.privacy import ZCDP, AddRemove, ApproxDP, GaussianDP, PureDP, RenyiDP, Replace
from discreet.privacy.convert import zcdp_to_approx
from discreet.privacy.event import (
    ApproxEvent,
    ComposedEvent,
    GaussianEvent,
    LaplaceEvent,
    PoissonSampledEvent,
    PureEvent,
    RepeatedEvent,
    ZCDPEvent,
)
from discreet.privacy.number import exact
from tests.work import calls

HALF = Fraction(1, 2)


def test_the_cap_is_spent_to_the_last_tenth_exactly():
    """Ten tenths are one, in rationals; an eleventh spend is refused and charges nothing."""
    f = PrivacyFilter(PureDP(1))
    for _ in range(10):
        f.spend(PureEvent(epsilon=0.1))

    assert f.spent == PureDP(1)
    assert f.remaining == PureDP(0)
    with pytest.raises(BudgetExhausted, match=r"requested PureDP\(epsilon=1e-30\), remaining PureDP\(epsilon=0.0\)"):
        f.spend(PureEvent(epsilon="1e-30"))
    assert f.spent == PureDP(1)


def test_the_zcdp_and_gaussian_caps_add_rho_and_squares():
    z, g = PrivacyFilter(ZCDP(1)), PrivacyFilter(GaussianDP(5))
    z.spend(GaussianEvent(sigma=1, sensitivity=1))
    z.spend(PureEvent(epsilon=1))
    g.spend(GaussianDP(3))
    g.spend(GaussianDP(4))

    assert z.remaining == ZCDP(0)
    assert g.remaining == GaussianDP(0)
    for f, item in ((z, ZCDPEvent(rho="1e-20")), (g, PureDP("0.001"))):
        with pytest.raises(BudgetExhausted):
            f.spend(item)


def test_rho_star_is_the_largest_from_below():
    rho = largest_rho(Fraction(1), Fraction(1, 2 * 10**6))

    assert ZCDP(rho) <= ApproxDP(1, 5e-7)
    assert not ZCDP(rho * (1 + Fraction(1, 10**9))) <= ApproxDP(1, 5e-7)
    assert largest_rho(Fraction(1), Fraction(0)) == 0


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [("1", "1e-6"), ("0.1", "5e-7"), ("0.000001", "1e-9"), ("1000", "1e-6"), ("3", "0.9"), ("1", "1e-320")],
)
def test_rho_star_is_that_of_halving_the_interval_forty_four_times(epsilon, delta):
    """Ledgers hold it, so it never changes; the search begins elsewhere only to be fast."""
    cap, allowed = Fraction(epsilon), Fraction(delta)
    low, high = Fraction(0), cap
    for _ in range(44):
        middle = (low + high) / 2
        low, high = (middle, high) if exact(zcdp_to_approx(middle, allowed)) <= cap else (low, middle)

    assert largest_rho(cap, allowed) == low


def test_a_lane_that_is_exceeded_stays_closed_and_the_other_carries_on():
    f = PrivacyFilter(ApproxDP(1, 1e-6))
    f.spend(RepeatedEvent(event=PureEvent(epsilon="0.01"), count=100))

    assert f.remaining.epsilon == 0
    f.spend(PureEvent(epsilon="0.01"))  # beyond the pure lane, within the zCDP lane
    assert f.remaining.epsilon is None
    more = 0
    while f.affords(PureEvent(epsilon="0.01")):
        f.spend(PureEvent(epsilon="0.01"))
        more += 1
    assert f.spent.rho <= f.rho_cap < f.spent.rho + Fraction(1, 20000)
    assert 101 + more == f.rho_cap // Fraction(1, 20000)


def test_one_large_pure_answer_uses_the_pure_lane_only():
    f = PrivacyFilter(ApproxDP(1, 1e-6))
    f.spend(PureEvent(epsilon="0.9"))

    assert f.remaining == Lanes(Fraction(1, 10), None, Fraction(1, 2 * 10**6))
    with pytest.raises(BudgetExhausted):
        f.spend(GaussianEvent(sigma=1000, sensitivity=1))  # it has no epsilon, and the zCDP lane is closed
    f.spend(PureEvent(epsilon="0.1"))
    assert f.remaining.epsilon == 0


def test_own_deltas_are_a_condition_and_not_a_third_lane():
    f = PrivacyFilter(ApproxDP(1, 1e-6))
    f.spend(ApproxEvent(epsilon="0.1", delta="5e-7"))

    assert f.remaining.delta == 0
    with pytest.raises(BudgetExhausted):
        f.spend(ApproxEvent(epsilon="0.0001", delta="1e-12"))
    f.spend(PureEvent(epsilon="0.1"))


@given(
    st.lists(st.tuples(st.fractions(0, HALF, max_denominator=50), st.sampled_from([0, "1e-7", "2e-7"])), max_size=30)
)
def test_accepts_exactly_when_the_rule_says(spends):
    f = PrivacyFilter(ApproxDP(1, "1e-6"))
    epsilons, rhos, deltas = Fraction(0), Fraction(0), Fraction(0)
    for epsilon, delta in spends:
        e, r, d = epsilons + epsilon, rhos + epsilon**2 / 2, deltas + Fraction(delta)
        rule = (e <= 1 or r <= f.rho_cap) and d <= Fraction(1, 2 * 10**6)
        item = ApproxEvent(epsilon=epsilon, delta=delta)

        assert f.affords(item) == rule
        if rule:
            f.spend(item)
            epsilons, rhos, deltas = e, r, d
        else:
            with pytest.raises(BudgetExhausted):
                f.spend(item)
        assert f.spent == Lanes(epsilons, rhos, deltas)


def test_a_composed_event_is_accepted_whole_or_not_at_all():
    f = PrivacyFilter(PureDP(1))

    with pytest.raises(BudgetExhausted):
        f.spend(ComposedEvent(events=(PureEvent(epsilon="0.6"), PureEvent(epsilon="0.6"))))
    assert f.spent == PureDP(0)


def test_a_delta_under_a_pure_or_zcdp_cap_says_what_to_do_instead():
    for cap in (PureDP(1), ZCDP(1), GaussianDP(1)):
        with pytest.raises(UnsupportedError, match="declare the keys"):
            PrivacyFilter(cap).spend(ApproxEvent(epsilon="0.1", delta="1e-9"))
    with pytest.raises(UnsupportedError, match="no finite epsilon"):
        PrivacyFilter(PureDP(1)).spend(GaussianEvent(sigma=1, sensitivity=1))
    with pytest.raises(UnsupportedError, match="not mu-GDP"):
        PrivacyFilter(GaussianDP(1)).spend(GaussianEvent(sigma=10, sensitivity=1))


def test_relations_are_never_mixed():
    f = PrivacyFilter(PureDP(3, neighbours=Replace))
    f.spend(PureDP(1, neighbours=Replace))
    adopted = PrivacyFilter(PureDP(3))
    adopted.spend(PureDP(1, neighbours=AddRemove))

    assert f.remaining == PureDP(2, neighbours=Replace)
    for one, item in (
        (f, PureDP(1, neighbours=AddRemove)),
        (f, PoissonSampledEvent(rate="0.1", event=PureEvent(epsilon=1))),
        (adopted, PureDP(1, neighbours=Replace)),
    ):
        with pytest.raises(UnsupportedError, match="convert its guarantee"):
            one.spend(item)


def test_a_relation_settled_while_another_spend_is_priced_counts(monkeypatch):
    """As two threads would: a Replace guarantee is spent while an AddRemove one is being priced."""
    f = PrivacyFilter(PureDP(1))
    others = [PureDP("0.1", neighbours=Replace)]

    def slow_price(item):
        if others:
            f.spend(others.pop())
        return price(item)

    monkeypatch.setattr("discreet.composition.filter.price", slow_price)

    with pytest.raises(UnsupportedError, match="holds under Replace"):
        f.spend(PureDP("0.1", neighbours=AddRemove))
    assert f.spent == PureDP("0.1")


def test_a_sampled_event_is_charged_its_amplified_price():
    f = PrivacyFilter(PureDP(1))
    f.spend(PoissonSampledEvent(rate="0.1", event=LaplaceEvent(scale=1, sensitivity=1)))

    assert float(f.spent.epsilon) == pytest.approx(0.158565, abs=1e-6)


def test_two_threads_cannot_outspend_one_cap():
    f = PrivacyFilter(PureDP(10))
    accepted = []

    def spend() -> None:
        for _ in range(200):
            try:
                f.spend(PureEvent(epsilon="0.1"))
            except BudgetExhausted:
                return
            accepted.append(1)

    threads = [threading.Thread(target=spend) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(accepted) == 100
    assert f.spent == PureDP(10)


def test_a_spend_is_the_same_work_after_many():
    f = PrivacyFilter(ZCDP(10**6))
    event = LaplaceEvent(scale=7, sensitivity=1)
    f.spend(event)
    first = calls(lambda: f.spend(event))
    for _ in range(2000):
        f.spend(event)
    f.spend(RepeatedEvent(event=event, count=10**6))

    assert calls(lambda: f.spend(event)) <= 1.1 * first


def test_rejects_a_cap_or_an_item_it_does_not_know():
    with pytest.raises(UnsupportedError, match="a cap is"):
        PrivacyFilter(RenyiDP(2, 1))
    with pytest.raises(ParameterError, match="an event or a guarantee"):
        PrivacyFilter(PureDP(1)).spend(0.5)  # type: ignore[arg-type]


def test_randomized_response_is_not_paid_for_under_add_remove():
    """It hides what a person reports, not that the person reports."""
    from discreet.mechanisms import RandomizedResponse
    from discreet.privacy import AddRemove

    coin = RandomizedResponse(epsilon=0.1)
    with pytest.raises(UnsupportedError, match="Local"):
        PrivacyFilter(PureDP(1, neighbours=AddRemove)).spend(coin.event())
    PrivacyFilter(PureDP(1)).spend(coin.event())
