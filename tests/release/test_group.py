"""discreet.release.group: what a unit of several rows costs."""

from fractions import Fraction

import pytest

import discreet as dc
from discreet.composition.price import price
from discreet.errors import UnsupportedError
from discreet.privacy.event import (
    ComposedEvent,
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    PoissonSampledEvent,
    PureEvent,
    RepeatedEvent,
)
from discreet.privacy.neighbours import AddRemove
from discreet.release.group import for_a_unit, for_one_row
from discreet.synthesis import Synthesizer

DOMAIN = dc.Domain({"age": dc.Integer(0, 9), "ward": dc.Categorical(list("pqr")), "icu": dc.Boolean()})


@pytest.mark.parametrize("k", [1, 2, 5])
def test_a_pure_event_costs_k_times_and_a_concentrated_one_k_squared_times(k):
    pure = ComposedEvent(events=(LaplaceEvent(scale=7, sensitivity=2), ExponentialEvent(epsilon=Fraction(1, 3))))
    both = RepeatedEvent(event=ComposedEvent(events=(pure, PureEvent(epsilon=Fraction(1, 9)))), count=4)
    normal = GaussianEvent(sigma=30, sensitivity=3)

    assert price(for_a_unit(both, k)).epsilon == k * price(both).epsilon
    assert price(for_a_unit(normal, k)).rho == k**2 * price(normal).rho


@pytest.mark.parametrize("share", [dc.PureDP(1), dc.ZCDP(Fraction(1, 7), neighbours=AddRemove)])
def test_the_budget_of_one_row_is_the_share_for_the_unit(share):
    one = for_one_row(share, 3)
    factor, name = (3, "epsilon") if isinstance(share, dc.PureDP) else (9, "rho")

    assert Fraction(getattr(price(one), name)) * factor == getattr(price(share), name)
    assert one.neighbours is share.neighbours


def test_what_is_not_settled_is_refused():
    with pytest.raises(UnsupportedError, match="PoissonSampledEvent"):
        for_a_unit(PoissonSampledEvent(rate=Fraction(1, 2), event=PureEvent(epsilon=1)), 2)


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("method", ["adaptive", "tree", "independent", "mwem"])
@pytest.mark.parametrize("budget", [dc.PureDP(1), dc.ZCDP(Fraction(1, 10))], ids=repr)
def test_the_event_of_a_synthesizer_is_that_of_a_unit_and_costs_the_budget(budget, method, k):
    """The twin states what one row would cost: less than was promised to the unit."""
    synthesizer = Synthesizer(DOMAIN, budget=budget, method=method, rows_per_unit=k)
    twin = synthesizer.mwem.event() if method == "mwem" else synthesizer.schedule.event(synthesizer.singles.event())
    name = "epsilon" if isinstance(budget, dc.PureDP) else "rho"
    spent, promised = getattr(price(synthesizer.event()), name), getattr(price(budget), name)

    assert promised * Fraction(999, 1000) < spent <= promised
    assert k == 1 or getattr(price(twin), name) < promised * Fraction(9, 10)
