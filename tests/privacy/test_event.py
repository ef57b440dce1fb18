"""discreet.privacy.event: what was written is what is read, and nothing else is read."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import LedgerError, ParameterError
from discreet.privacy import event
from discreet.privacy.event import (
    ApproxEvent,
    ComposedEvent,
    Event,
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    PoissonSampledEvent,
    PureEvent,
    RandomizedResponseEvent,
    RepeatedEvent,
    ZCDPEvent,
    from_dict,
)

amounts = st.one_of(st.floats(0, 1e308), st.fractions(min_value=0))
positive = amounts.filter(lambda value: value > 0)
probabilities = st.fractions(min_value=0, max_value=1)
whole = st.integers(1, 10**30)
leaves = st.one_of(
    st.builds(PureEvent, epsilon=amounts),
    st.builds(ApproxEvent, epsilon=amounts, delta=probabilities.filter(lambda p: p < 1)),
    st.builds(ZCDPEvent, rho=amounts),
    st.builds(LaplaceEvent, scale=positive, sensitivity=whole),
    st.builds(GaussianEvent, sigma=positive, sensitivity=positive),
    st.builds(RandomizedResponseEvent, epsilon=amounts),
    st.builds(ExponentialEvent, epsilon=amounts),
)
events = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(ComposedEvent, events=st.lists(inner, max_size=3).map(tuple)),
        st.builds(RepeatedEvent, event=inner, count=whole),
        st.builds(PoissonSampledEvent, rate=probabilities, event=inner),
    ),
    max_leaves=6,
)


@given(events)
def test_what_was_written_is_read_back_through_json(one):
    """An event inside an event too: its own name must not hide the outer one's."""
    assert from_dict(json.loads(json.dumps(one.to_dict()))) == one


def test_every_class_is_generated_above():
    assert {cls.__name__ for cls in Event.__subclasses__()} == set(event._CLASSES)


def test_no_field_hides_the_name_of_the_class():
    record = RepeatedEvent(event=PureEvent(epsilon=1), count=2).to_dict()

    assert record == {"kind": "RepeatedEvent", "event": {"kind": "PureEvent", "epsilon": "1"}, "count": 2}


def test_numbers_are_kept_exactly():
    assert PureEvent(epsilon=0.1).epsilon == Fraction(1, 10)
    assert LaplaceEvent(scale=1e-300, sensitivity=1).to_dict()["scale"] == f"1/{10**300}"


@pytest.mark.parametrize(
    "record",
    [
        {}, {"kind": "Unheard"}, {"kind": None}, {"kind": "PureEvent"}, {"kind": "PureEvent", "epsilon": "-1"},
        {"kind": "PureEvent", "epsilon": True}, {"kind": "PureEvent", "epsilon": "1", "delta": "0"},
        {"kind": "PureEvent", "epsilon": "1e999999999"}, {"kind": "RepeatedEvent", "event": "1", "count": 2},
        {"kind": "LaplaceEvent", "scale": "1", "sensitivity": "1/2"},
        {"kind": "ComposedEvent", "events": ["1"]}, {"kind": "ComposedEvent", "events": 3},
    ],
)  # fmt: skip
def test_torn_records_are_refused(record):
    with pytest.raises(LedgerError):
        from_dict(record)


@pytest.mark.parametrize(
    "make",
    [
        lambda: PureEvent(epsilon=-1), lambda: PureEvent(epsilon=float("nan")),
        lambda: ApproxEvent(epsilon=1, delta=1), lambda: ApproxEvent(epsilon=1, delta=-1),
        lambda: ZCDPEvent(rho=-1), lambda: LaplaceEvent(scale=0, sensitivity=1),
        lambda: LaplaceEvent(scale=1, sensitivity=0), lambda: LaplaceEvent(scale=1, sensitivity=1.5),
        lambda: LaplaceEvent(scale=1, sensitivity=True), lambda: GaussianEvent(sigma=0, sensitivity=1),
        lambda: GaussianEvent(sigma=1, sensitivity=0), lambda: RandomizedResponseEvent(epsilon=-1),
        lambda: ExponentialEvent(epsilon=-1), lambda: RepeatedEvent(event=PureEvent(epsilon=1), count=0),
        lambda: RepeatedEvent(event=1, count=1), lambda: ComposedEvent(events=(1,)),
        lambda: PoissonSampledEvent(rate=1.5, event=PureEvent(epsilon=1)),
        lambda: PoissonSampledEvent(rate=0.5, event=None),
    ],
)  # fmt: skip
def test_ill_formed_events_are_refused(make):
    with pytest.raises(ParameterError):
        make()
