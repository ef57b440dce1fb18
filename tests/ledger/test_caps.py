"""discreet.ledger.caps: no cap enters the chain that could not be read back, and what belongs together is whole."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import DiscreetError, LedgerError, ParameterError
from discreet.ledger import Ledger, caps, steward
from discreet.ledger.amount import LARGEST, LONGEST
from discreet.privacy.guarantee import ZCDP, ApproxDP, PureDP
from discreet.privacy.neighbours import Replace
from tests.scale import counts

PATIENT = ApproxDP(1, 1e-6)
LONG = [
    ApproxDP(1, "1e-2000"),
    ApproxDP(1, "1e-400"),
    ApproxDP("1e-3900", "1e-9"),
    ApproxDP(10**2000, "1e-6"),
    ApproxDP("1e999", "1e-6"),
    ApproxDP(LARGEST + 1, "1e-6"),
    ApproxDP(Fraction(2**1200, 2**1201 - 1), "1e-6"),
]
WAYS = {
    "register": lambda ledger, cap: ledger.register(unit="doctor", cap=cap),
    "allot": lambda ledger, cap: ledger.allot("ada", cap, unit="patient"),
    "sub_cap": lambda ledger, cap: ledger.sub_cap("visits", cap, unit="patient"),
    "top_up": lambda ledger, cap: ledger.top_up("patient", cap, reason="more"),
    "renew": lambda ledger, cap: ledger.renew("patient", period="2027", cap=cap, reason="a new year"),
}
digits = st.integers(0, 5000).map(lambda size: 10**size - 1)  # Python spells 4,300 digits and no more
texts = st.builds("{}{}{}".format, st.sampled_from(["1", "0.1", "7"]), st.just("e"), st.integers(-5000, 5000))
ratios = st.builds(Fraction, st.integers(0, 2**1100), st.integers(1, 2**1100))
wide = st.one_of(texts, digits, ratios, st.floats(0, 1e308), st.sampled_from([LARGEST, Fraction(1, 2**LONGEST - 1)]))


def _cap(kind, numbers):
    """A cap of these numbers, if they are one."""
    try:
        return kind(*numbers[: 1 + (kind is ApproxDP)])
    except ParameterError:
        return None


@pytest.fixture
def ledger(place):
    with Ledger.open(place) as opened:
        opened.register(unit="patient", cap=PATIENT)
        yield opened


@pytest.mark.parametrize("cap", LONG, ids=range(len(LONG)))
@pytest.mark.parametrize("way", WAYS)
def test_a_cap_that_could_not_be_read_back_is_refused_and_changes_nothing(ledger, place, way, cap):
    before = ledger.anchor()

    with pytest.raises(ParameterError, match="in a cap, got"):
        WAYS[way](ledger, cap)
    assert ledger.verify() == before
    ledger.close()
    with Ledger.open(place, create=False, anchor=before) as again:
        assert again.budget("patient").balance.cap == PATIENT


@settings(max_examples=counts(quick=100, full=5_000), deadline=None)
@given(st.sampled_from(list(WAYS)), st.sampled_from([PureDP, ZCDP, ApproxDP]), st.tuples(wide, wide))
def test_whatever_the_numbers_a_cap_is_refused_or_the_ledger_still_verifies(way, kind, numbers):
    cap = _cap(kind, numbers)
    with Ledger.open(":memory:") as ledger:
        ledger.register(unit="patient", cap=PATIENT)
        before = ledger.anchor()
        if cap is None:
            return
        try:
            WAYS[way](ledger, cap)
        except (ParameterError, LedgerError):
            assert ledger.anchor() == before
        after = ledger.verify()

        str(ledger.budget("patient"))  # for people: floats of every amount
        ledger.report().to_html()
        assert after.id <= before.id + 1


@pytest.mark.parametrize(
    ("way", "module", "cap"),
    [
        ("allot", caps, ApproxDP(1, "1e-2000")),
        ("sub_cap", caps, ApproxDP(10**2000, "1e-6")),
        ("top_up", steward, ApproxDP(10**2000, "1e-6")),
    ],
    ids=["allot", "sub_cap", "top_up"],
)
def test_the_twin_that_writes_before_it_reads_closes_the_ledger_for_good(monkeypatch, tmp_path, way, module, cap):
    with Ledger.open(tmp_path / "ledger.db") as ledger:
        ledger.register(unit="patient", cap=PATIENT)
        monkeypatch.setattr(module, "bounded", lambda cap: None)
        monkeypatch.setattr(module, "rehearse", lambda entry, **more: None)
        WAYS[way](ledger, cap)

    with pytest.raises(LedgerError, match="ill-formed"):
        Ledger.open(tmp_path / "ledger.db")


def test_without_the_bound_the_rehearsal_alone_refuses_what_could_not_be_read(monkeypatch):
    monkeypatch.setattr(caps, "bounded", lambda cap: None)
    with Ledger.open(":memory:") as ledger:
        ledger.register(unit="patient", cap=PATIENT)
        before = ledger.anchor()
        for cap in (
            ApproxDP(1, "1e-2000"),
            ApproxDP(1, Fraction(1, 10**4999)),
        ):  # of these Python spells the first alone
            with pytest.raises((LedgerError, ValueError)):
                ledger.allot("ada", cap)
        assert ledger.verify() == before


def test_a_lifetime_that_is_too_long_to_be_kept_is_refused(ledger):
    """Each period's cap is short enough; their sum has the product of all denominators below it."""
    periods = [ApproxDP(Fraction(1, 3 ** (600 + i) - 2), "1e-9") for i in range(9)]
    with pytest.raises(LedgerError, match="could not be read back"):  # noqa: PT012 - which period it is does not matter
        for number, cap in enumerate(periods):
            ledger.renew("patient", period=str(number), cap=cap, reason="time passed")

    ledger.verify()
    assert 2 < len(ledger.budget("patient").periods) < len(periods)


def test_a_cap_of_earlier_days_that_is_above_the_bound_is_still_the_present_promise(monkeypatch):
    """A ledger that was registered with a cap nobody would write today goes on."""
    with Ledger.open(":memory:") as ledger:
        with monkeypatch.context() as patch:
            patch.setattr(caps, "bounded", lambda cap: None)
            ledger.register(unit="patient", cap=PureDP("1e30"))
        before = ledger.anchor()
        ledger.register(unit="patient", cap=PureDP("1e30"))

        assert ledger.verify() == before


def test_an_allotment_in_several_units_is_set_in_all_of_them_or_in_none(ledger):
    ledger.register(unit="doctor", cap=PATIENT)
    ledger.allot("ada", ApproxDP(0.1, 0), unit=["patient", "doctor"], reason="a pilot")
    before = ledger.anchor()

    assert [ledger.budget(unit).analysts["ada"].cap for unit in ledger.units()] == [ApproxDP(0.1, 0)] * 2
    for units in (["patient", "doctor", "nobody"], ["patient", ""]):
        with pytest.raises(DiscreetError):
            ledger.allot("ada", ApproxDP(0.2, 0), unit=units)
    assert ledger.verify() == before


def test_whoever_is_capped_in_the_units_there_are_is_capped_in_one_that_comes_later(ledger):
    ledger.register(unit="doctor", cap=PATIENT)
    ledger.allot("ada", ApproxDP(0.3, 1e-9), unit="patient")
    ledger.allot("ada", ApproxDP(0.2, 1e-8), unit="doctor")
    ledger.allot("bob", PureDP(0.5), unit="doctor")
    ledger.register(unit="pupil", cap=ApproxDP(2, 1e-6, neighbours=Replace), inherit=True)
    found = ledger.budget("pupil").analysts

    assert found["ada"].cap == ApproxDP(0.2, 1e-9, neighbours=Replace)
    assert found["bob"].cap == PureDP(0.5, neighbours=Replace)
    last = ledger.verify()
    ledger.register(unit="pupil", cap=ApproxDP(2, 1e-6, neighbours=Replace), inherit=True)
    ledger.allot("eve", PureDP(0.1), unit="doctor")
    ledger.register(unit="pupil", cap=ApproxDP(2, 1e-6, neighbours=Replace), inherit=True)
    assert ledger.anchor().id == last.id + 1  # a unit that is there inherits nothing
    ledger.register(unit="nurse", cap=PATIENT)
    assert ledger.budget("nurse").analysts == {}
    ledger.verify()
