"""discreet.ledger.steward: caps are raised, renewed and retired without giving anything back."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.composition.filter import PrivacyFilter
from discreet.composition.price import FREE
from discreet.errors import BudgetExhausted, LedgerError, ParameterError, UnsupportedError
from discreet.ledger import Ledger, book
from discreet.ledger.account import Balance, capped, lifetime, raised
from discreet.ledger.amount import amounts
from discreet.privacy.event import ApproxEvent, GaussianEvent, LaplaceEvent
from discreet.privacy.guarantee import ZCDP, ApproxDP, GaussianDP, PureDP
from discreet.privacy.neighbours import Replace
from tests.scale import counts

LAPLACE = LaplaceEvent(scale=10, sensitivity=1)  # epsilon 1/10
ITEMS = [
    LAPLACE,
    LaplaceEvent(scale=100, sensitivity=1),
    GaussianEvent(sigma=12, sensitivity=1),
    ApproxEvent(epsilon="1/10", delta="1/10000000"),
]


@pytest.fixture
def ledger(place):
    with Ledger.open(place) as opened:
        opened.register(unit="patient", cap=PureDP(1))
        yield opened
        opened.verify()


def _spend(ledger, item=LAPLACE, **wanted):
    return ledger.spend(item, **{"unit": "patient", "tables": ["visits"]} | wanted)


def _granted(ledger, item=LAPLACE, **wanted) -> int:
    for count in range(10_000):
        try:
            _spend(ledger, item, **wanted)
        except BudgetExhausted:
            return count
    raise AssertionError("the budget never ends")


def _fed(spend, items) -> list[bool]:
    """Which of the items are accepted."""
    accepted = []
    for item in items:
        try:
            spend(item)
            accepted.append(True)
        except (BudgetExhausted, UnsupportedError):
            accepted.append(False)
    return accepted


# Raising a cap.

items = st.lists(st.sampled_from(ITEMS), max_size=40)
factors = st.sampled_from([Fraction(1), Fraction(3, 2), Fraction(4)])


@settings(max_examples=counts(quick=40, full=1000))
@given(st.sampled_from([PureDP(1), ZCDP(0.05), ApproxDP(1, 1e-6), ApproxDP(0.4, 0)]), factors, factors, items, items)
def test_a_raised_cap_decides_as_if_it_had_been_the_cap_all_along(cap, more, also, before, after):
    """The theorem: the run under both caps is a run under the larger one, of someone who asked for less."""
    numbers = amounts(cap)
    new = type(cap)(*(n * f for n, f in zip(numbers, (more, also), strict=False)))
    filter_ = PrivacyFilter(new)
    with Ledger.open(":memory:") as ledger:
        ledger.register(unit="patient", cap=cap)
        first = _fed(lambda item: _spend(ledger, item), before)
        for item, accepted in zip(before, first, strict=True):
            if accepted:
                filter_.spend(item)  # never refused: what the smaller cap accepted, the larger one accepts
        if amounts(new) != numbers:
            ledger.top_up("patient", new, reason="more questions than we thought")
        later = _fed(lambda item: _spend(ledger, item), after)

        assert later == _fed(filter_.spend, after)
        ledger.verify()


def test_the_twin_that_forgets_what_was_spent_is_caught(monkeypatch):
    """A top-up that resets the total grants 20 spends of 1/10 under a cap that was 1 and is 1.5."""
    with Ledger.open(":memory:") as ledger:
        ledger.register(unit="patient", cap=PureDP(1))
        assert _granted(ledger) == 10
        honest = book.Book.top_up

        def forgetful(self, unit, new):
            after = honest(self, unit, new)
            self.balances.update({account: Balance(b.cap, b.rho_cap) for account, b in after.items()})
            return {account: self.balances[account] for account in after}

        with monkeypatch.context() as patch:
            patch.setattr(book.Book, "top_up", forgetful)
            ledger.top_up("patient", PureDP(1.5), reason="why not")
        assert _granted(ledger) == 15
        with pytest.raises(LedgerError, match="never allowed"):
            ledger.verify()


def test_what_is_spent_stays_spent_under_a_raised_cap(ledger):
    assert _granted(ledger) == 10
    entry = ledger.top_up("patient", PureDP(1.5), reason="a second study")

    assert (entry.record["kind"], entry.record["reason"]) == ("top_up", "a second study")
    assert _granted(ledger) == 5
    assert ledger.budget("patient").balance.cap == PureDP(1.5)
    assert ledger.budget("patient").balance.spent.epsilon == Fraction(3, 2)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (PureDP(1), PureDP(1)),
        (PureDP(1), PureDP(0.5)),
        (ApproxDP(1, 1e-6), ApproxDP(2, 1e-7)),
        (ApproxDP(1, 1e-6), ApproxDP(0.5, 1e-5)),
        (PureDP(1), ApproxDP(2, 1e-6)),
        (PureDP(1), PureDP(2, neighbours=Replace)),
    ],
    ids=repr,
)
def test_a_cap_is_only_ever_raised(old, new):
    with Ledger.open(":memory:") as ledger:
        ledger.register(unit="patient", cap=old)
        before = ledger.anchor()

        with pytest.raises(LedgerError):
            ledger.top_up("patient", new, reason="none")
        assert ledger.anchor() == before


def test_a_raised_cap_keeps_the_longer_zcdp_lane():
    """The end of the lane is searched for from below: two searches may differ in the last digits."""
    long = Balance(ApproxDP(1, 1e-6), capped(ApproxDP(1, 1e-6)).rho_cap + Fraction(1, 10**14))

    assert raised(ApproxDP(1, 1.000001e-6), long).rho_cap >= long.rho_cap
    held = book.Book()
    held.set_cap(book.Account("patient", "unit", "patient"), long)
    with pytest.raises(LedgerError, match="shorter"):
        held.top_up("patient", Balance(ApproxDP(1, 2e-6), Fraction(1, 100)))


def test_after_a_raise_the_ledger_knows_only_the_new_promise(ledger):
    ledger.top_up("patient", PureDP(2), reason="more")
    ledger.register(unit="patient", cap=PureDP(2))

    with pytest.raises(LedgerError, match=r"has the cap PureDP\(epsilon=2.0\); .* only raised with a reason"):
        ledger.register(unit="patient", cap=PureDP(1))


# Periods.


def test_a_new_period_has_its_own_cap_and_the_lifetime_is_the_sum(ledger):
    assert _granted(ledger) == 10
    ledger.renew("patient", period="2027", cap=PureDP(0.5), reason="a new year")
    budget = ledger.budget("patient")

    assert (budget.period, budget.present.cap, budget.balance.cap) == ("2027", PureDP(0.5), PureDP(1.5))
    assert budget.present.spent == FREE
    assert _granted(ledger) == 5
    budget = ledger.budget("patient")
    assert budget.balance.spent.epsilon == Fraction(3, 2)  # of a lifetime
    assert budget.present.spent.epsilon == Fraction(1, 2)  # of the period
    assert {name: balance.spent.epsilon for name, balance in budget.periods.items()} == {
        "first": 1, "2027": Fraction(1, 2),
    }  # fmt: skip


def test_what_is_left_of_a_period_lapses(ledger):
    _spend(ledger)
    ledger.renew("patient", period="2027", cap=PureDP(0.3), reason="a new year")

    assert _granted(ledger) == 3
    with pytest.raises(BudgetExhausted, match="of period '2027'"):
        _spend(ledger)


@settings(max_examples=counts(quick=30, full=500))
@given(st.lists(st.tuples(st.sampled_from([(1, 1e-6), (0.5, 1e-6), (2, 1e-5)]), items), min_size=1, max_size=4))
def test_each_period_is_a_filter_and_the_lifetime_is_their_sum(periods):
    """What is accepted in a period is what a fresh filter with its cap accepts; nothing is lost from the totals."""
    caps = [ApproxDP(*numbers) for numbers, _ in periods]
    with Ledger.open(":memory:") as ledger:
        ledger.register(unit="patient", cap=caps[0])
        for i, (cap, (_, wanted)) in enumerate(zip(caps, periods, strict=True)):
            if i:
                ledger.renew("patient", period=str(i), cap=cap, reason="time passed")

            assert _fed(lambda item: _spend(ledger, item), wanted) == _fed(PrivacyFilter(cap).spend, wanted)
        budget = ledger.budget("patient")

        assert budget.balance.cap == ApproxDP(sum(map(_epsilon, caps)), sum(map(_delta, caps)))
        parts = list(budget.periods.values()) or [budget.balance]
        assert budget.balance.spent.rho == sum(part.spent.rho for part in parts)
        assert budget.balance.spent.delta == sum(part.spent.delta for part in parts)
        ledger.verify()


def _epsilon(cap) -> Fraction:
    return amounts(cap)[0]


def _delta(cap) -> Fraction:
    return amounts(cap)[1]


def test_the_twin_that_resets_the_lifetime_is_caught(monkeypatch):
    with Ledger.open(":memory:") as ledger:
        ledger.register(unit="patient", cap=PureDP(1))
        _spend(ledger)
        with monkeypatch.context() as patch:
            patch.setattr(book, "lifetime", lambda promised, cap: cap)  # the new cap instead of the sum
            ledger.renew("patient", period="2027", cap=PureDP(1), reason="a new year")
            assert ledger.budget("patient").balance.cap == PureDP(1)
        with pytest.raises(LedgerError, match="balances are not the sums"):
            ledger.verify()


def test_a_period_is_not_begun_twice(ledger):
    ledger.renew("patient", period="2027", cap=PureDP(1), reason="a new year")

    for name in ("2027", "first"):
        with pytest.raises(LedgerError, match="not begun twice"):
            ledger.renew("patient", period=name, cap=PureDP(1), reason="again")
    ledger.renew("patient", period="2028", cap=PureDP(1), reason="the next")
    with pytest.raises(LedgerError, match="not begun twice"):
        ledger.renew("patient", period="2027", cap=PureDP(1), reason="again")
    assert ledger.budget("patient").balance.cap == PureDP(3)


def test_a_period_is_in_the_currency_and_the_relation_of_the_unit(ledger):
    for cap in (ZCDP(1), ApproxDP(1, 1e-6), PureDP(1, neighbours=Replace)):
        with pytest.raises(LedgerError):
            ledger.renew("patient", period="2027", cap=cap, reason="a new year")
    with pytest.raises(UnsupportedError):
        ledger.renew("patient", period="2027", cap=GaussianDP(1), reason="a new year")
    assert ledger.budget("patient").periods == {}


def test_a_lifetime_that_promises_nothing_is_refused():
    with Ledger.open(":memory:") as ledger:
        ledger.register(unit="patient", cap=ApproxDP(1, 0.6))

        with pytest.raises(ParameterError, match="delta < 1"):
            ledger.renew("patient", period="2027", cap=ApproxDP(1, 0.4), reason="a new year")


def test_a_raise_within_a_period_raises_the_lifetime_by_the_difference(ledger):
    ledger.renew("patient", period="2027", cap=PureDP(0.5), reason="a new year")
    _spend(ledger)
    ledger.top_up("patient", PureDP(0.8), reason="more")
    budget = ledger.budget("patient")

    assert (budget.present.cap, budget.balance.cap) == (PureDP(0.8), PureDP(1.8))
    assert _granted(ledger) == 7
    assert lifetime(PureDP(1.5), PureDP(0.8), instead_of=PureDP(0.5)) == PureDP(1.8)


def test_tables_and_analysts_are_not_renewed_with_the_unit(ledger):
    ledger.allot("ada", PureDP(0.2))
    ledger.sub_cap("visits", PureDP(0.3))
    assert _granted(ledger, analyst="ada") == 2
    ledger.renew("patient", period="2027", cap=PureDP(1), reason="a new year")

    assert _granted(ledger, analyst="ada") == 0
    assert _granted(ledger) == 1
    assert _granted(ledger, tables=["bills"]) == 9


def test_a_curator_states_the_cap_of_the_present_period(ledger):
    ledger.renew("patient", period="2027", cap=PureDP(0.5), reason="a new year")
    ledger.register(unit="patient", cap=PureDP(0.5))

    with pytest.raises(LedgerError, match="cannot be changed"):
        ledger.register(unit="patient", cap=PureDP(1.5))


# Tables that are retired, people who are erased.


def test_a_retired_table_takes_no_spend_and_keeps_what_was_spent(ledger):
    ledger.store(_spend(ledger, key="k"), b"answer")
    ledger.retire("visits", reason="the study is over")
    before = ledger.anchor()

    for tables in (["visits"], ["visits", "bills"]):
        with pytest.raises(LedgerError, match="table 'visits' is retired; nothing was spent"):
            _spend(ledger, tables=tables)
    assert ledger.anchor() == before
    assert _spend(ledger, key="k").replayed  # what was paid for is still given
    assert ledger.recall("k") == b"answer"
    assert ledger.budget("patient").tables["visits"].spent.epsilon == Fraction(1, 10)
    assert _granted(ledger, tables=["bills"]) == 9


def test_a_reopened_table_goes_on_where_it_was(ledger):
    ledger.sub_cap("visits", PureDP(0.3))
    _spend(ledger)
    ledger.retire("visits", reason="a mistake")
    ledger.sub_cap("visits", PureDP(0.2))  # a cap does not reopen it
    with pytest.raises(LedgerError, match="retired"):
        _spend(ledger)
    with pytest.raises(LedgerError, match="retired already"):
        ledger.retire("visits", reason="again")
    ledger.reopen("visits", reason="it was a mistake")

    assert _granted(ledger) == 1
    with pytest.raises(LedgerError, match="not retired"):
        ledger.reopen("visits", reason="again")


def test_a_table_is_retired_in_its_own_unit_only(ledger):
    ledger.register(unit="doctor", cap=PureDP(1))
    _spend(ledger)

    with pytest.raises(LedgerError, match="belongs to unit 'patient'"):
        ledger.retire("visits", unit="doctor", reason="none")
    with pytest.raises(LedgerError, match="knows no table 'nights'"):
        ledger.retire("nights", reason="none")
    ledger.retire("nights", unit="doctor", reason="before anybody asks")
    with pytest.raises(LedgerError, match="retired"):
        ledger.spend(LAPLACE, unit="doctor", tables=["nights"])
    with pytest.raises(LedgerError, match="no cap is registered"):
        ledger.retire("days", unit="nurse", reason="none")


def test_an_erasure_is_a_number_and_gives_nothing_back(ledger):
    _spend(ledger, version="6")
    before = ledger.budget("patient")
    entry = ledger.erase("visits", version="7", requests=3)
    record = json.loads(entry.body)

    assert ledger.budget("patient") == before
    assert {name: record[name] for name in ("kind", "unit", "table", "version", "requests")} == {
        "kind": "erasure", "unit": "patient", "table": "visits", "version": "7", "requests": 3,
    }  # fmt: skip
    assert set(record) == {"id", "time", "kind", "previous", "unit", "table", "version", "requests"}  # nobody is named


# What is refused before the ledger is touched.


@pytest.mark.parametrize(
    "wrong",
    [
        lambda ledger: ledger.top_up("patient", PureDP(2), reason=""),
        lambda ledger: ledger.top_up("patient", PureDP(2), reason="  \n"),
        lambda ledger: ledger.top_up("patient", PureDP(2), reason=None),
        lambda ledger: ledger.top_up("patient", PureDP(float("nan")), reason="x"),
        lambda ledger: ledger.top_up("", PureDP(2), reason="x"),
        lambda ledger: ledger.renew("patient", period="", cap=PureDP(1), reason="x"),
        lambda ledger: ledger.renew("patient", period="2027", cap=PureDP(1), reason=""),
        lambda ledger: ledger.retire("visits", reason=""),
        lambda ledger: ledger.erase("visits", version="7", requests=0),
        lambda ledger: ledger.erase("visits", version="7", requests=True),
        lambda ledger: ledger.erase("visits", version="7", requests=2.0),
        lambda ledger: ledger.erase("visits", version="", requests=2),
        lambda ledger: ledger.erase("visits", version=7, requests=2),
    ],
)
def test_what_is_missing_or_wrong_is_refused(wrong):
    with Ledger.open(":memory:") as ledger:
        ledger.register(unit="patient", cap=PureDP(1))
        before = ledger.anchor()

        with pytest.raises(ParameterError):
            wrong(ledger)
        assert ledger.anchor() == before


def test_an_unknown_unit_is_refused(ledger):
    for refused in (
        lambda: ledger.top_up("doctor", PureDP(2), reason="x"),
        lambda: ledger.renew("doctor", period="2027", cap=PureDP(2), reason="x"),
    ):
        with pytest.raises(LedgerError, match="no cap is registered for unit 'doctor'"):
            refused()


def test_everything_a_steward_did_is_there_after_a_restart(place):
    with Ledger.open(place) as ledger:
        ledger.register(unit="patient", cap=ApproxDP(1, 1e-6))
        _spend(ledger, GaussianEvent(sigma=30, sensitivity=1))
        ledger.top_up("patient", ApproxDP(2, 1e-6), reason="more")
        ledger.renew("patient", period="2027", cap=ApproxDP(1, 1e-6), reason="a new year")
        _spend(ledger, tables=["bills"])
        ledger.retire("visits", reason="over")
        ledger.erase("bills", version="2", requests=1)
        kept = ledger.budget("patient"), ledger.anchor()
    with Ledger.open(place, create=False, anchor=kept[1]) as ledger:
        assert (ledger.budget("patient"), ledger.anchor()) == kept
        assert kept[0].balance.cap == ApproxDP(3, 2e-6)
        assert "unit patient, all periods: cap" in str(kept[0])
        assert "table visits: spent epsilon closed, rho 0.000555556, delta 0; retired" in str(kept[0])
