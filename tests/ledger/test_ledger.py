"""discreet.ledger.ledger: exact caps inside caps, keys, answers, versions, and a store that fails closed."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import subprocess
import sys
from fractions import Fraction

import pytest

from discreet.composition.filter import PrivacyFilter
from discreet.composition.price import Price
from discreet.errors import BudgetExhausted, LedgerError, ParameterError, UnsupportedError
from discreet.ledger import Ledger
from discreet.privacy.event import ApproxEvent, GaussianEvent, LaplaceEvent, PureEvent, ZCDPEvent
from discreet.privacy.guarantee import ZCDP, ApproxDP, GaussianDP, PureDP
from discreet.privacy.neighbours import AddRemove, Replace

LAPLACE = LaplaceEvent(scale=10, sensitivity=1)  # epsilon 1/10
GAUSSIAN = GaussianEvent(sigma=10, sensitivity=1)  # rho 1/200
CHOOSY = ApproxEvent(epsilon="1/10", delta="1/10000000")


@pytest.fixture
def ledger(place):
    with Ledger.open(place) as opened:
        opened.register(unit="patient", cap=PureDP(1))
        yield opened


def _spend(ledger, item=LAPLACE, **wanted):
    return ledger.spend(item, **{"unit": "patient", "tables": ["visits"]} | wanted)


def _granted(ledger, item, **wanted) -> int:
    """How often an item can be bought."""
    for count in range(100_000):
        try:
            _spend(ledger, item, **wanted)
        except BudgetExhausted:
            return count
    raise AssertionError("the budget never ends")


# Caps and lanes.


@pytest.mark.parametrize("cap", [PureDP(1), ZCDP(0.05), ApproxDP(1, 1e-6), ApproxDP(1, 0)], ids=repr)
@pytest.mark.parametrize("items", [[LAPLACE], [LAPLACE, PureEvent(epsilon="1/3")], [PureEvent(epsilon=1)]], ids=len)
def test_the_ledger_decides_as_the_privacy_filter_does(cap, items):
    filter_ = PrivacyFilter(cap)
    with Ledger.open(":memory:") as ledger:
        ledger.register(unit="patient", cap=cap)
        for item in items * 60:
            try:
                filter_.spend(item)
                refused = False
            except BudgetExhausted:
                refused = True
            if refused:
                with pytest.raises(BudgetExhausted):
                    _spend(ledger, item)
            else:
                _spend(ledger, item)


def test_a_mixed_session_switches_lanes_as_the_filter_does(place):
    cap = ApproxDP(1, 1e-6)
    filter_ = PrivacyFilter(cap)
    with Ledger.open(place) as ledger:
        ledger.register(unit="patient", cap=cap)
        for item in [LaplaceEvent(scale=100, sensitivity=1), CHOOSY, GaussianEvent(sigma=30, sensitivity=1)] * 40:
            affordable = filter_.affords(item)
            if affordable:
                filter_.spend(item)
                _spend(ledger, item)
            else:
                with pytest.raises(BudgetExhausted):
                    _spend(ledger, item)

        assert ledger.budget("patient").balance.remaining == filter_.remaining


def test_an_approximate_cap_pays_for_more_small_counts_than_basic_composition():
    """COUNT at epsilon 0.01 under (1, 1e-6): 100 by basic composition, 458 through the zCDP lane."""
    with Ledger.open(":memory:") as ledger:
        ledger.register(unit="patient", cap=ApproxDP(1, 1e-6))

        assert _granted(ledger, LaplaceEvent(scale=100, sensitivity=1)) == 458


def test_a_gaussian_closes_the_pure_lane_for_good(place):
    with Ledger.open(place) as ledger:
        ledger.register(unit="patient", cap=ApproxDP(1, 1e-6))
        _spend(ledger, GAUSSIAN)
        balance = ledger.budget("patient").balance

        assert balance.spent == Price(None, Fraction(1, 200), Fraction(0))
        assert balance.remaining.epsilon is None
        assert balance.remaining.rho == balance.rho_cap - Fraction(1, 200)


def test_deltas_of_the_mechanisms_have_half_of_the_cap(place):
    with Ledger.open(place) as ledger:
        ledger.register(unit="patient", cap=ApproxDP(100, 1e-6))

        assert _granted(ledger, CHOOSY) == 5
        assert _spend(ledger, LAPLACE).price.delta == 0  # others go on


@pytest.mark.parametrize(("cap", "item"), [(PureDP(1), GAUSSIAN), (PureDP(1), CHOOSY), (ZCDP(1), CHOOSY)])
def test_what_a_cap_cannot_express_is_refused_and_free(cap, item, place):
    with Ledger.open(place) as ledger:
        ledger.register(unit="patient", cap=cap)
        before = ledger.anchor()

        with pytest.raises(UnsupportedError):
            _spend(ledger, item)
        assert ledger.anchor() == before


def test_a_cap_in_another_currency_is_refused(ledger):
    with pytest.raises(UnsupportedError, match="PureDP, ApproxDP or ZCDP"):
        ledger.register(unit="doctor", cap=GaussianDP(1))


def test_a_cap_inside_a_unit_has_the_relation_of_the_unit(ledger):
    for cap in (ledger.sub_cap, ledger.allot):
        with pytest.raises(LedgerError, match="holds under AddRemove"):
            cap("visits", PureDP(0.5, neighbours=Replace))
        cap("visits", PureDP(0.5, neighbours=AddRemove))
        cap("visits", PureDP(0.5))


def test_relations_are_never_mixed(ledger):
    ledger.register(unit="pupil", cap=PureDP(1, neighbours=Replace))
    ledger.spend(PureDP(0.1, neighbours=Replace), unit="pupil", tables=["marks"])
    _spend(ledger, PureDP(0.1, neighbours=AddRemove))

    with pytest.raises(UnsupportedError, match="under AddRemove, and the mechanism under Replace"):
        _spend(ledger, PureDP(0.1, neighbours=Replace))
    with pytest.raises(UnsupportedError, match="under Replace, and the mechanism under AddRemove"):
        ledger.spend(PureDP(0.1, neighbours=AddRemove), unit="pupil", tables=["marks"])


def test_a_refusal_says_which_cap_and_charges_nobody(ledger):
    ledger.allot("ada", PureDP(0.15))
    _spend(ledger, analyst="ada")
    before = ledger.budget("patient"), ledger.anchor()

    with pytest.raises(BudgetExhausted, match=r"epsilon 0.05 is left of analyst 'ada'") as refusal:
        _spend(ledger, analyst="ada")
    assert refusal.value.remaining.lanes.epsilon == Fraction(1, 20)
    assert (ledger.budget("patient"), ledger.anchor()) == before


def test_all_caps_are_charged_together(ledger):
    ledger.sub_cap("visits", PureDP(0.5))
    ledger.allot("ada", PureDP(0.3))
    receipt = _spend(ledger, tables=["visits", "bills", "visits"], analyst="ada")
    budget = ledger.budget("patient")
    balances = [budget.balance, budget.tables["visits"], budget.tables["bills"], budget.analysts["ada"]]

    assert {balance.spent.epsilon for balance in balances} == {Fraction(1, 10)}
    assert receipt.price.epsilon == Fraction(1, 10)
    assert [balance.remaining and balance.remaining.epsilon for balance in balances] == [
        Fraction(9, 10), Fraction(4, 10), None, Fraction(2, 10),
    ]  # fmt: skip


def test_two_analysts_cannot_outspend_one_unit(ledger):
    ledger.allot("ada", PureDP(0.8))
    ledger.allot("bob", PureDP(0.8))

    assert _granted(ledger, LAPLACE, analyst="ada") == 8
    assert _granted(ledger, LAPLACE, analyst="bob") == 2


def test_a_join_is_stopped_by_the_least_of_its_tables(ledger):
    ledger.sub_cap("bills", PureDP(0.2))

    assert _granted(ledger, LAPLACE, tables=["visits", "bills"]) == 2
    assert _granted(ledger, LAPLACE, tables=["visits"]) == 8


def test_a_promise_once_made_cannot_be_changed(ledger):
    ledger.register(unit="patient", cap=PureDP(1.0))  # the same promise

    with pytest.raises(LedgerError, match="cannot be changed"):
        ledger.register(unit="patient", cap=PureDP(2))
    assert len(list(ledger.entries())) == 2


def test_an_allotment_can_be_replaced_and_what_was_spent_stays_spent(ledger):
    ledger.allot("ada", PureDP(0.1))
    _spend(ledger, analyst="ada")
    ledger.allot("ada", PureDP(0.25))

    assert _granted(ledger, LAPLACE, analyst="ada") == 1
    ledger.allot("ada", PureDP(0.05))
    assert ledger.budget("patient").analysts["ada"].remaining.epsilon is None
    with pytest.raises(LedgerError, match="capped in PureDP, not in ZCDP"):
        ledger.allot("ada", ZCDP(1))
    ledger.verify()


def test_why_a_cap_was_set_is_kept_beside_how_much_it_is(ledger):
    ledger.allot("ada", PureDP(0.1), reason="a pilot")
    ledger.sub_cap("visits", PureDP(0.5), reason="the rest is for bills")
    ledger.allot("ada", PureDP(0.2))
    first, second, third = (entry.record for entry in list(ledger.entries())[-3:])

    assert (first["name"], first["cap"]["epsilon"], first["reason"]) == ("ada", "1/10", "a pilot")
    assert (second["name"], second["cap"]["epsilon"], second["reason"]) == ("visits", "1/2", "the rest is for bills")
    assert set(second) - set(third) == {"reason"}  # without one an entry is what it always was
    page = ledger.report().to_html()
    assert "patient / ada" in page
    assert "epsilon 1/10 (a pilot)" in page
    ledger.verify()


@pytest.mark.parametrize("reason", ["", "  \n", "a\0b", 7, "x" * 10_001])
def test_a_reason_that_says_nothing_or_cannot_be_kept_is_refused(ledger, reason):
    before = ledger.anchor()

    for cap in (lambda: ledger.allot("ada", PureDP(0.1), reason=reason),
                lambda: ledger.sub_cap("visits", PureDP(0.1), reason=reason)):  # fmt: skip
        with pytest.raises(ParameterError, match="reason"):
            cap()
    assert ledger.anchor() == before


def test_a_table_cannot_start_anew_under_another_unit(ledger):
    ledger.register(unit="person", cap=PureDP(1))
    _spend(ledger)

    with pytest.raises(LedgerError, match="belongs to unit 'patient'"):
        _spend(ledger, unit="person")
    with pytest.raises(LedgerError, match="belongs to unit 'patient'"):
        ledger.sub_cap("visits", PureDP(1), unit="person")
    with pytest.raises(ParameterError, match="the name of the unit"):
        ledger.sub_cap("visits", PureDP(1))
    assert ledger.units() == ["patient", "person"]


def test_a_new_version_does_not_reset_what_was_spent(ledger):
    for version in ["2024", "2025", "2026", None] * 3:
        if _left(ledger) > 0:
            _spend(ledger, version=version)

    assert _left(ledger) == 0
    with pytest.raises(BudgetExhausted):
        _spend(ledger, version="2027")


def _left(ledger):
    return ledger.budget("patient").balance.remaining.epsilon


def test_an_unknown_unit_is_refused(ledger):
    for refused in (
        lambda: _spend(ledger, unit="doctor"),
        lambda: ledger.budget("doctor"),
        lambda: ledger.allot("ada", PureDP(1), unit="doctor"),
    ):
        with pytest.raises(LedgerError, match="no cap is registered for unit 'doctor'"):
            refused()


# Keys and answers.


def test_the_same_key_and_request_are_charged_once(ledger):
    first = _spend(ledger, key="k", query="SELECT 1")
    again = _spend(ledger, key="k", query="SELECT 1")

    assert (again.id, again.hash, again.time, again.price) == (first.id, first.hash, first.time, first.price)
    assert (first.replayed, again.replayed) == (False, True)
    assert _left(ledger) == Fraction(9, 10)


def test_a_replay_is_free_even_when_the_budget_is_gone(ledger):
    first = _spend(ledger, PureDP(1), key="k")

    assert _spend(ledger, PureDP(1), key="k").id == first.id


@pytest.mark.parametrize(
    "other",
    [{"query": "SELECT 2"}, {"tables": ["bills"]}, {"version": "2"}, {"item": PureEvent(epsilon="1/10")},
     {"item": PureEvent(epsilon="1/20")}],
    ids=str,
)  # fmt: skip
def test_the_same_key_with_another_request_is_refused_and_free(ledger, other):
    _spend(ledger, key="k", query="SELECT 1", version="1")
    before = ledger.anchor()

    for fresh in (False, True):
        with pytest.raises(LedgerError, match="used for another request"):
            _spend(ledger, **{"key": "k", "query": "SELECT 1", "version": "1", "fresh": fresh} | other)
    assert ledger.anchor() == before


def test_a_key_belongs_to_its_analyst(ledger):
    receipts = {name: _spend(ledger, key="k", analyst=name) for name in (None, "ada", "bob")}
    for name, receipt in receipts.items():
        ledger.store(receipt, f"answer for {name}".encode())

    assert len({receipt.id for receipt in receipts.values()}) == 3
    assert ledger.recall("k", analyst="ada") == b"answer for ada"
    assert ledger.recall("k") == b"answer for None"
    assert ledger.recall("k", analyst="eve") is None


def test_to_pay_again_is_to_get_another_answer(ledger):
    ledger.store(_spend(ledger, key="k"), b"first")
    again = _spend(ledger, key="k", fresh=True)

    assert ledger.recall("k") is None  # paid for, not drawn yet
    ledger.store(again, b"second")
    assert ledger.recall("k") == b"second"
    assert _left(ledger) == Fraction(8, 10)


def test_one_draw_for_one_charge(ledger):
    receipt = _spend(ledger, key="k")
    ledger.store(receipt, b"answer")
    ledger.store(receipt, b"answer")

    with pytest.raises(LedgerError, match="a second draw is a second release"):
        ledger.store(receipt, b"another")
    with pytest.raises(LedgerError, match="only that call may store"):
        ledger.store(_spend(ledger, key="k"), b"another")
    assert ledger.recall("k") == b"answer"


def test_a_receipt_of_another_ledger_stores_nothing(ledger):
    with Ledger.open(":memory:") as other:
        other.register(unit="patient", cap=PureDP(1))
        receipt = _spend(other)

    with pytest.raises(LedgerError, match="not from this ledger"):
        ledger.store(receipt, b"x")


def test_keys_and_answers_outlive_the_process(place):
    with Ledger.open(place) as ledger:
        ledger.register(unit="patient", cap=PureDP(1))
        first = _spend(ledger, key="k")
        ledger.store(first, bytes(range(256)))
    with Ledger.open(place, create=False) as ledger:
        again = _spend(ledger, key="k")

        assert (again.id, again.replayed) == (first.id, True)
        assert ledger.recall("k") == bytes(range(256))
        assert _left(ledger) == Fraction(9, 10)


@pytest.mark.parametrize(
    "wrong",
    [{"unit": ""}, {"unit": 3}, {"tables": "visits"}, {"tables": [""]}, {"analyst": ""}, {"analyst": "x" * 501},
     {"key": ""}, {"key": "x" * 501}, {"query": "a\0b"}, {"query": "\ud800"}, {"version": 3}, {"unit": "a\0"},
     {"key": "\U0001f512" * 301}],
    ids=ascii,
)  # fmt: skip
def test_names_that_cannot_be_kept_are_refused(ledger, wrong):
    with pytest.raises(ParameterError):
        _spend(ledger, **wrong)


def test_names_are_data(ledger):
    """Quotes, colons and letters of any script are kept as they are."""
    name = "Robert'); DROP TABLE entries;-- :of %s \u03b5\u4e2d\U0001f512"
    receipt = _spend(ledger, analyst=name, key=name, query=name, tables=[name])
    ledger.store(receipt, b"x")
    ledger.verify()

    assert ledger.recall(name, analyst=name) == b"x"
    assert ledger.budget("patient").analysts[name].spent.epsilon == Fraction(1, 10)


def test_a_predictable_source_is_paid_for_in_a_testing_ledger_only(tmp_path, ledger):
    with pytest.raises(LedgerError, match="predictable source"):
        _spend(ledger, secure=False)
    with Ledger.open(tmp_path / "test.db", testing=True) as tester:
        tester.register(unit="patient", cap=PureDP(1))
        _spend(tester, secure=False)
    with Ledger.open(tmp_path / "test.db") as tester:
        assert tester.testing
        _spend(tester, secure=False)
    Ledger.open(tmp_path / "real.db").close()

    with pytest.raises(LedgerError, match="not for testing"):
        Ledger.open(tmp_path / "real.db", testing=True)


# Entries.


def test_every_entry_says_what_ran(ledger):
    _spend(ledger, analyst="ada", query="SELECT COUNT(*)", version="7")
    record = list(ledger.entries())[-1].record

    assert record["event"] == LAPLACE.to_dict()
    assert record["price"] == {"epsilon": "1/10", "rho": "1/200", "delta": "0"}
    assert (record["analyst"], record["query"], record["version"], record["tables"]) == (
        "ada", "SELECT COUNT(*)", "7", ["visits"],
    )  # fmt: skip


def test_entries_are_read_a_page_at_a_time():
    with Ledger.open(":memory:") as ledger:
        ledger.register(unit="patient", cap=ZCDP(1000))
        for _ in range(1200):
            _spend(ledger, ZCDPEvent(rho="1/10"))
        stream = ledger.entries(start=3)
        first = next(stream)
        _spend(ledger, ZCDPEvent(rho="1/10"))  # a reader holds no lock

        assert [first.id, *(entry.id for entry in stream)] == list(range(3, 1203))


def test_an_export_is_lines_of_json_that_hash_to_the_anchor(ledger):
    ledger.store(_spend(ledger), b"x")
    lines = list(ledger.export())

    assert [json.loads(line)["body"]["kind"] for line in lines] == ["genesis", "cap", "spend", "answer"]
    assert json.loads(lines[-1])["hash"] == ledger.anchor().hash
    assert ledger.verify() == ledger.anchor()


# The store.


def test_every_connection_that_commits_is_durable(tmp_path, monkeypatch):
    """WAL and synchronous=FULL, asked of the very connection, inside the transaction that spends."""
    from discreet.ledger import store

    seen = []
    append = store.Transaction.append

    def spy(self, *args, **kwargs):
        pragmas = ("synchronous", "journal_mode", "fullfsync")
        seen.append(tuple(self._connection.exec_driver_sql(f"PRAGMA {name}").scalar_one() for name in pragmas))
        append(self, *args, **kwargs)

    monkeypatch.setattr(store.Transaction, "append", spy)
    with Ledger.open(tmp_path / "ledger.db") as ledger:
        ledger.register(unit="patient", cap=PureDP(1))
        ledger.store(_spend(ledger), b"x")

    assert seen == [(2, "wal", 1)] * 3


def test_the_file_is_its_owners_alone(tmp_path):
    path = tmp_path / "ledger.db"
    old = os.umask(0)
    try:
        with Ledger.open(path) as ledger:
            ledger.register(unit="patient", cap=PureDP(1))
            modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
        path.chmod(0o644)
        Ledger.open(path).close()
    finally:
        os.umask(old)

    assert modes == {"ledger.db": 0o600, "ledger.db-wal": 0o600, "ledger.db-shm": 0o600}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_ledger_that_should_be_there_is_not_made_anew(tmp_path):
    with pytest.raises(LedgerError, match="there is no ledger"):
        Ledger.open(tmp_path / "ledger.db", create=False)
    (tmp_path / "ledger.db-wal").write_bytes(b"left over")
    with pytest.raises(LedgerError, match="is missing but"):
        Ledger.open(tmp_path / "ledger.db")


@pytest.mark.parametrize("content", [b"", b"not a database" * 100], ids=["emptied", "text"])
def test_what_is_no_ledger_is_refused_and_left_alone(tmp_path, content):
    path = tmp_path / "ledger.db"
    path.write_bytes(content)

    with pytest.raises(LedgerError):
        Ledger.open(path)
    assert path.read_bytes() == content


def test_a_ledger_of_a_later_format_is_refused(tmp_path):
    path = tmp_path / "ledger.db"
    Ledger.open(path).close()
    with sqlite3.connect(path) as raw:
        raw.execute("UPDATE head SET format = 1000")
    raw.close()

    with pytest.raises(LedgerError, match=r"format 1000, and this release reads up to \d+; upgrade"):
        Ledger.open(path)


@pytest.mark.parametrize("target", [None, 7, b"ledger.db"])
def test_a_ledger_is_not_opened_by_something_that_is_no_place(target, tmp_path, monkeypatch):
    """None would be a file of that name."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ParameterError, match="need a path, a URL or"):
        Ledger.open(target)

    assert list(tmp_path.iterdir()) == []


def test_a_ledger_can_be_opened_by_url(tmp_path):
    with Ledger.open(f"sqlite:///{tmp_path}/a b?c#d%20.db") as ledger:
        ledger.register(unit="patient", cap=PureDP(1))
    with Ledger.open(tmp_path / "a b?c#d%20.db", create=False) as ledger:
        assert ledger.units() == ["patient"]


def test_a_closed_ledger_answers_nothing(ledger):
    ledger.close()

    with pytest.raises(LedgerError, match="closed"):
        ledger.budget("patient")


def test_entries_cannot_be_changed_by_accident(tmp_path):
    path = tmp_path / "ledger.db"
    Ledger.open(path).close()
    raw = sqlite3.connect(path)
    for accident in ("UPDATE entries SET body = ''", "DELETE FROM entries"):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            raw.execute(accident)
    raw.close()


def test_importing_the_ledger_loads_no_database():
    program = "import sys, discreet.ledger; print('sqlalchemy' in sys.modules, 'numpy' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)

    assert run.stdout.split() == ["False", "False"]


def test_the_statements_are_also_those_of_postgresql():
    """The head is locked by row, amounts are text, and the schema compiles."""
    from sqlalchemy.dialects import postgresql
    from sqlalchemy.schema import CreateTable

    from discreet.ledger import statements
    from discreet.ledger.schema import metadata

    dialect = postgresql.dialect()
    written = {name: str(value.compile(dialect=dialect)) for name, value in vars(statements).items() if name.isupper()}

    assert written["LOCK"].endswith("FOR UPDATE")
    assert "FOR UPDATE" not in written["LAST"]
    assert written["CONCERNED"].endswith("FOR UPDATE")
    assert len(written) >= 15
    for table in metadata.sorted_tables:
        assert "CREATE TABLE" in str(CreateTable(table).compile(dialect=dialect))
