"""discreet.composition.price: the price of each event, exactly."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.composition.price import Price, amplify, gather, price
from discreet.errors import ParameterError, UnsupportedError
from discreet.privacy import ZCDP, AddRemove, ApproxDP, GaussianDP, PureDP, RenyiDP, Replace
from discreet.privacy.event import (
    ApproxEvent,
    ComposedEvent,
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    PoissonSampledEvent,
    PureEvent,
    RandomizedResponseEvent,
    RepeatedEvent,
    ZCDPEvent,
)

HALF, ZERO = Fraction(1, 2), Fraction(0)
epsilons = st.fractions(min_value=Fraction(1, 100), max_value=4, max_denominator=100)


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (PureEvent(epsilon=1), Price(Fraction(1), HALF, ZERO)),
        (PureDP(1), Price(Fraction(1), HALF, ZERO)),
        (RandomizedResponseEvent(epsilon=1), Price(Fraction(1), HALF, ZERO)),
        (LaplaceEvent(scale=3, sensitivity=2), Price(Fraction(2, 3), Fraction(2, 9), ZERO)),
        (ExponentialEvent(epsilon=1), Price(Fraction(1), Fraction(1, 8), ZERO)),
        (ApproxEvent(epsilon=1, delta="1e-6"), Price(Fraction(1), HALF, Fraction(1, 10**6))),
        (ApproxDP(1, "1e-6"), Price(Fraction(1), HALF, Fraction(1, 10**6))),
        (GaussianEvent(sigma=5, sensitivity=2), Price(None, Fraction(2, 25), ZERO)),
        (ZCDPEvent(rho=0.1), Price(None, Fraction(1, 10), ZERO)),
        (ZCDP(0.1), Price(None, Fraction(1, 10), ZERO)),
        (GaussianDP(0.5), Price(None, Fraction(1, 8), ZERO)),
    ],
)
def test_each_mechanism_has_its_exact_price(item, expected):
    assert price(item) == expected


@given(epsilons, st.integers(1, 50), st.integers(1, 5))
def test_repeating_costs_what_composing_one_by_one_costs(epsilon, count, outer):
    event = PureEvent(epsilon=epsilon)
    repeated = RepeatedEvent(event=RepeatedEvent(event=event, count=count), count=outer)
    listed = ComposedEvent(events=(event,) * (count * outer))

    assert price(repeated) == price(listed) == price(event).repeat(count * outer)


@given(epsilons, epsilons, st.fractions(min_value=0, max_value=Fraction(1, 100), max_denominator=10**6))
def test_every_part_of_a_price_adds_up(epsilon, other, delta):
    one, two = price(ApproxEvent(epsilon=epsilon, delta=delta)), price(ApproxEvent(epsilon=other, delta=delta / 3))

    for part in ("epsilon", "rho", "delta"):
        assert getattr(one + two, part) == getattr(one, part) + getattr(two, part)
        assert getattr(one.repeat(3), part) == getattr(one + one + one, part) == 3 * getattr(one, part)
    assert (one + two).delta == delta * Fraction(4, 3)


def test_one_gaussian_closes_the_pure_lane_of_a_whole_composition():
    mixed = ComposedEvent(events=(PureEvent(epsilon=1), GaussianEvent(sigma=1, sensitivity=1)))

    assert price(mixed) == Price(None, Fraction(1), ZERO)


@given(epsilons, st.fractions(min_value=Fraction(1, 1000), max_value=Fraction(999, 1000), max_denominator=1000))
def test_a_sampled_epsilon_is_never_rounded_down(epsilon, rate):
    import mpmath as mp

    with mp.workdps(40):
        true = mp.log1p(
            mp.mpf(rate.numerator) / rate.denominator * mp.expm1(mp.mpf(epsilon.numerator) / epsilon.denominator)
        )
        found = amplify(epsilon, rate)
        value = mp.mpf(found.numerator) / found.denominator

    assert true <= value <= true * (1 + mp.mpf(10) ** -14)


def test_sampling_a_gaussian_keeps_its_rho_and_sampling_a_pure_one_amplifies():
    sampled = PoissonSampledEvent(rate="0.1", event=GaussianEvent(sigma=1, sensitivity=1))
    pure = PoissonSampledEvent(rate="0.1", event=ApproxEvent(epsilon=1, delta="1e-5"))

    assert price(sampled) == Price(None, HALF, ZERO)
    assert float(price(pure).epsilon) == pytest.approx(0.15856508)
    assert price(pure).delta == Fraction(1, 10**6)
    assert price(PoissonSampledEvent(rate=0, event=PureEvent(epsilon=1))) == Price(ZERO, ZERO, ZERO)


def test_refuses_what_has_no_price():
    with pytest.raises(UnsupportedError, match="one Renyi order"):
        price(RenyiDP(2, 1))
    with pytest.raises(ParameterError, match="need an event or a guarantee"):
        price(0.5)  # type: ignore[arg-type]


def test_gathering_counts_equal_mechanisms_and_never_mixes_relations():
    batch = gather([PureDP(0.1)] * 3 + [PureDP(0.1), RepeatedEvent(event=PureEvent(epsilon=1), count=5)])

    assert batch.counts == {PureDP(0.1): 4, PureEvent(epsilon=1): 5}
    with pytest.raises(UnsupportedError, match="AddRemove and Replace"):
        gather([PureDP(1, neighbours=AddRemove), PureDP(1, neighbours=Replace)])
    with pytest.raises(UnsupportedError, match="AddRemove and Replace"):
        gather([PoissonSampledEvent(rate="0.1", event=PureEvent(epsilon=1)), PureDP(1, neighbours=Replace)])
