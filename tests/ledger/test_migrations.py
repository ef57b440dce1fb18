"""discreet.ledger.migrations: a ledger of any release opens, verifies and spends, on both databases."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
import threading
from fractions import Fraction
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import inspect

from discreet.errors import BudgetExhausted, LedgerError
from discreet.ledger import Anchor, Ledger, migrations
from discreet.ledger.chain import FORMAT
from discreet.ledger.transaction import Transaction
from discreet.privacy.event import LaplaceEvent
from discreet.privacy.guarantee import ApproxDP, PureDP

FORMATS = Path(__file__).with_name("formats")
ITEM = LaplaceEvent(scale=10, sensitivity=1)
ANCHORS = {  # of the last entry that the release of that format wrote
    "sqlite": {
        1: Anchor(14, "4220b13ad227ff54ff3d2985ac78ecc11cd280c9bd2cd820b3ec9d5d55250546"),
        2: Anchor(21, "df771c645f2c5f881ecdbc34382aab9b9272e33f09387be08f711da1829ff98f"),
        3: Anchor(24, "8b83a42026342e75680e9f1fcf0dfb8abd9b2468c3c09a7c53e4af9f8a537b61"),
    },
    "postgresql": {
        1: Anchor(14, "b5a371a5881047d9203c4cd42dfc39071c4c7e7b7b94fe12629aa207f5cf4924"),
        2: Anchor(21, "6c333e1e5d396fff3ab124b329aaca5e2dc3640c5a4f5210b031b434d40a1da5"),
        3: Anchor(24, "0eb351805d2edb17d32cd7c24e624ecd9b66b3edfb543040bd1d661c802ccb43"),
    },
}


def _restored(url: str, number: int) -> None:
    """What the release of that format left in a schema."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute((FORMATS / f"v{number}.sql").read_text(encoding="utf-8"))


def _kept(request, database: str, number: int) -> tuple[str, Anchor]:
    """A place, and the anchor, of a ledger of one format."""
    if database == "sqlite":
        place = str(shutil.copy(FORMATS / f"v{number}.db", request.getfixturevalue("tmp_path") / "ledger.db"))
    else:
        place = request.getfixturevalue("schema_url")
        _restored(place, number)
    return place, ANCHORS[database][number]


@pytest.fixture(params=["sqlite", "postgresql"])
def old(request):
    """A ledger of the first format."""
    return _kept(request, request.param, 1)


@pytest.fixture(params=["sqlite", "postgresql"])
def second(request):
    """A ledger of the second format."""
    return _kept(request, request.param, 2)


def _spend(ledger, **wanted):
    return ledger.spend(ITEM, **{"unit": "patient", "tables": ["visits"]} | wanted)


def _first_request(ledger):
    """The first spend that the old release made, once more."""
    query = "SELECT COUNT(*) FROM visits WHERE age = 0"
    return _spend(ledger, analyst="ada", key="k0", version="1", query=query)


def test_a_ledger_of_the_first_format_says_what_it_said(old):
    place, anchor = old
    with Ledger.open(place, create=False, anchor=anchor) as ledger:
        budget = ledger.budget("patient")

        assert ledger.units() == ["device", "doctor", "patient"]
        assert budget.balance.cap == ApproxDP(1, 1e-6)
        assert (budget.balance.spent.epsilon, budget.balance.spent.delta) == (Fraction(2, 5), Fraction(1, 10**7))
        assert budget.analysts["ada"].cap == PureDP(0.6)
        assert ledger.budget("device").balance.spent.epsilon is None
        assert ledger.recall("k0", analyst="ada") == b"answer 0" + bytes(range(256))
        assert ledger.recall("k2", analyst="ada") is None  # paid for and never stored
        assert not ledger.testing


def test_a_ledger_of_the_first_format_goes_on(old):
    place, anchor = old
    with Ledger.open(place) as ledger:
        again = _first_request(ledger)
        paid = _spend(ledger, analyst="ada", key="new")
        ledger.store(paid, b"new")
        ledger.top_up("doctor", PureDP(3), reason="a second year")
        ledger.retire("bills", reason="sold")

        assert (again.id, again.replayed) == (7, True)
        assert paid.id == anchor.id + FORMAT  # after the entries that say which format it is in now
    with Ledger.open(place, anchor=anchor) as ledger:
        assert ledger.recall("new", analyst="ada") == b"new"
        _spend(ledger, analyst="ada")
        _spend(ledger, analyst="ada")
        with pytest.raises(BudgetExhausted, match="analyst 'ada'"):
            _spend(ledger, analyst="ada")


def test_a_cap_with_a_reason_follows_the_entries_that_have_none(old):
    place, anchor = old
    with Ledger.open(place) as ledger:
        ledger.allot("ada", PureDP(0.9), unit="patient", reason="a second study")
        kept = [entry.record for entry in ledger.entries() if entry.record["kind"] == "cap"]

        assert [record.get("reason") for record in kept[-2:]] == [None, "a second study"]
    with Ledger.open(place, create=False, anchor=anchor) as ledger:
        assert ledger.budget("patient").analysts["ada"].cap == PureDP(0.9)


def test_no_entry_is_rewritten_and_the_step_is_an_entry(old):
    place, anchor = old
    with Ledger.open(place) as ledger:
        lines = list(ledger.entries())

        assert lines[anchor.id].anchor == anchor
        assert [entry.record["kind"] for entry in lines[anchor.id + 1 :]] == ["format"] * (FORMAT - 1)
        assert lines[-1].record["format"] == FORMAT
    with Ledger.open(place) as ledger:  # once is enough
        assert ledger.anchor() == lines[-1].anchor


def test_a_ledger_of_the_second_format_says_what_it_said_and_goes_on(second):
    place, anchor = second
    with Ledger.open(place, create=False, anchor=anchor) as ledger:
        budget = ledger.budget("patient")

        assert (budget.period, budget.present.cap, budget.balance.cap) == (
            "2027", ApproxDP(1, 1e-6), ApproxDP(2.5, 2e-6),
        )  # fmt: skip
        assert (budget.present.spent.epsilon, budget.balance.spent.epsilon) == (Fraction(1, 10), Fraction(1, 2))
        assert ledger.recall("k1", analyst="ada") == b"answer 1" + bytes(range(256))
        assert ledger.spend(ITEM, unit="doctor", tables=["wards"]).id > anchor.id
        with pytest.raises(LedgerError, match="retired"):
            _spend(ledger, tables=["bills"])
        _spend(ledger, analyst="ada")


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_a_ledger_of_the_third_format_says_what_it_said_and_goes_on(request, database):
    place, anchor = _kept(request, database, 3)
    with Ledger.open(place, create=False, anchor=anchor) as ledger:
        kinds = [entry.record["kind"] for entry in ledger.entries()]

        assert ledger.budget("nurse").balance.spent.epsilon == Fraction(1, 4)  # booked from a witness
        assert (kinds.count("witness"), kinds.count("recovery")) == (2, 1)
        assert ledger.spend(ITEM, unit="doctor", tables=["wards"]).id > anchor.id  # its witness was ended


def _shape(ledger: Ledger) -> dict:
    """The tables, columns and indexes of a ledger."""
    with ledger._store._engine.connect() as connection:
        found = inspect(connection)
        return {
            name: (
                {column["name"]: (str(column["type"]), column["nullable"]) for column in found.get_columns(name)},
                {index["name"] for index in found.get_indexes(name)},
                found.get_pk_constraint(name)["constrained_columns"],
            )
            for name in ("answers", "balances", "entries", "head")
        }


def test_a_migrated_ledger_has_the_tables_of_a_new_one(old, tmp_path):
    place, _ = old
    with Ledger.open(place) as migrated:
        found = _shape(migrated)
    if "://" in place:
        with psycopg.connect(place, autocommit=True) as connection:
            connection.execute("DROP TABLE head, entries, balances, answers")
            connection.execute("DROP FUNCTION discreet_append_only")
    with Ledger.open(place if "://" in place else tmp_path / "new.db") as new:
        assert found == _shape(new)


def test_entries_of_a_migrated_ledger_are_guarded(old):
    place, _ = old
    Ledger.open(place).close()
    if "://" in place:
        with psycopg.connect(place) as connection, pytest.raises(psycopg.errors.RaiseException, match="append-only"):
            connection.execute("DELETE FROM entries")
    else:
        raw = sqlite3.connect(place)
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            raw.execute("DELETE FROM entries")
        raw.close()


def test_several_processes_may_migrate_the_same_ledger_at_once(old):
    place, _ = old
    program = f"from discreet.ledger import Ledger; print(Ledger.open({place!r}).anchor().hash)"
    running = [subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    hashes = {process.communicate(timeout=300)[0] for process in running}

    assert [process.returncode for process in running] == [0] * 3
    assert len(hashes) == 1


def test_one_that_waits_for_a_migration_does_not_keep_it_waiting(schema_url, monkeypatch):
    """On a server: the first holds the row and wants the table, a second holds the table and waits for the row."""
    _restored(schema_url, 2)
    convert, opened, waiting = Transaction.convert, [], threading.Thread(target=lambda: opened.append(_end(schema_url)))

    def slowly(transaction, *given):
        if not waiting.is_alive() and not opened:
            waiting.start()
            with psycopg.connect(schema_url, autocommit=True) as watching:
                held = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                while watching.execute(held).fetchone() == (0,):
                    assert waiting.is_alive()
        convert(transaction, *given)

    monkeypatch.setattr(Transaction, "convert", slowly)
    first = _end(schema_url)
    waiting.join()

    assert opened == [first]


def _end(place) -> Anchor:
    with Ledger.open(place) as ledger:
        return ledger.anchor()


def test_a_ledger_that_was_altered_is_not_migrated(tmp_path):
    path = shutil.copy(FORMATS / "v1.db", tmp_path / "ledger.db")
    raw = sqlite3.connect(path)
    raw.execute("UPDATE balances SET epsilon = '0' WHERE scope = 'unit'")
    raw.commit()
    raw.close()

    for how in ({}, {"verify": False}):
        with pytest.raises(LedgerError, match="balances are not the sums"):
            Ledger.open(path, **how)
    raw = sqlite3.connect(path)
    assert raw.execute("SELECT format, id FROM head").fetchone() == (1, 14)
    assert "state" not in {row[1] for row in raw.execute("PRAGMA table_info(balances)")}
    raw.close()


def test_a_migration_that_fails_leaves_the_old_ledger(tmp_path, monkeypatch):
    path = shutil.copy(FORMATS / "v1.db", tmp_path / "ledger.db")
    broken = {2: {"sqlite": (*migrations.STEPS[2]["sqlite"], "no statement")}}
    with monkeypatch.context() as patch:
        patch.setattr(migrations, "STEPS", broken)
        with pytest.raises(LedgerError, match="failed and is closed"):
            Ledger.open(path)
    with Ledger.open(path, anchor=ANCHORS["sqlite"][1]) as ledger:
        assert ledger.anchor().id == 14 + FORMAT - 1


def test_a_format_out_of_turn_is_found(tmp_path):
    from discreet.ledger.chain import link

    with Ledger.open(tmp_path / "ledger.db") as ledger:
        with ledger._store.writing() as transaction:
            transaction.append(link(transaction.last(), kind="format", time="now", format=FORMAT))
        with pytest.raises(LedgerError, match="states a format that cannot be"):
            ledger.verify()


def test_a_running_process_refuses_a_ledger_that_a_later_release_has_taken_over(tmp_path):
    path = tmp_path / "ledger.db"
    with Ledger.open(path) as ledger:
        ledger.register(unit="patient", cap=PureDP(1))
        raw = sqlite3.connect(path)
        raw.execute(f"UPDATE head SET format = {FORMAT + 1}")
        raw.commit()
        raw.close()

        with pytest.raises(LedgerError, match="upgrade discreet"):
            _spend(ledger)


def test_every_format_has_a_step_and_a_ledger_to_try_it_on():
    assert set(migrations.STEPS) == set(range(2, FORMAT + 1))
    for number in range(1, FORMAT + 1):
        assert (FORMATS / f"v{number}.db").exists()
        assert (FORMATS / f"v{number}.sql").exists()
        assert all(number in anchors for anchors in ANCHORS.values())
