"""The cost of the ledger: a spend takes the same time after a million entries as after a thousand."""

from __future__ import annotations

import statistics
import time

import pytest
from sqlalchemy import event

from discreet.composition.price import FREE
from discreet.ledger import Ledger, statements
from discreet.ledger.amount import charge, read, settled, write
from discreet.ledger.book import Book
from discreet.ledger.chain import link
from discreet.privacy.event import LaplaceEvent
from discreet.privacy.guarantee import PureDP
from tests.scale import FULL, counts

ITEM = LaplaceEvent(scale=10, sensitivity=1)
FEW, MANY = 1000, counts(quick=20_000, full=1_000_000)
SPENDS = counts(quick=200, full=1000)
CLOCK = time.perf_counter if FULL else time.thread_time  # others may be using the machine: quick runs count work


def _spend(ledger, key):
    return ledger.spend(ITEM, unit="patient", tables=["visits"], analyst="ada", query="SELECT COUNT(*)", key=key)


def _grown(path, size: int) -> Ledger:
    """A genuine ledger of a given size, written in a few transactions."""
    ledger = Ledger.open(path)
    ledger.register(unit="patient", cap=PureDP(10**6))
    ledger.allot("ada", PureDP(10**6))
    _spend(ledger, "k")
    record = list(ledger.entries())[-1].record
    fields = {name: value for name, value in record.items() if name not in ("id", "previous", "key")}
    made = ledger.anchor().id
    while made < size:
        with ledger._store.writing() as transaction:
            last, rows, book = transaction.last(), [], Book(transaction.balances("patient", ["visits"], "ada"))
            known, after = dict(book.balances), {}
            for number in range(made + 1, min(size, made + 50_000) + 1):
                entry = link(last, **fields, key=f"k{number}")
                rows.append(
                    {"id": entry.id, "body": entry.body, "hash": entry.hash, "analyst": "ada", "key": f"k{number}"}
                )
                after = book.charge("patient", ["visits"], "ada", read(fields["price"]))
                last = entry.anchor
            transaction._connection.execute(statements.APPEND, rows)
            transaction._connection.execute(statements.ADVANCE, {"number": last.id, "digest": last.hash})
            transaction.save(after, known=known)
            made = last.id
    return ledger


@pytest.fixture(scope="module")
def ledgers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("speed")
    opened = [_grown(folder / f"{size}.db", size) for size in (FEW, MANY)]
    yield opened
    for ledger in opened:
        ledger.close()


def _times(ledgers) -> list[list[float]]:
    """Seconds of each spend, the ledgers taking turns so that a busy machine is busy for all."""
    found = [[] for _ in ledgers]
    for i in range(SPENDS):
        for ledger, times in zip(ledgers, found, strict=True):
            began = CLOCK()
            _spend(ledger, f"timed {time.time_ns()} {i}")
            times.append(CLOCK() - began)
    return found


def test_a_spend_costs_the_same_at_any_length(ledgers, record_property):
    few, many = _times(ledgers)
    p99 = statistics.quantiles(many, n=100)[-1]
    ratio = statistics.median(many) / statistics.median(few)
    record_property("entries", MANY)
    record_property("median_ms", round(1000 * statistics.median(many), 2))
    record_property("p99_ms", round(1000 * p99, 2))
    record_property("ratio", round(ratio, 2))

    assert ratio <= (1.5 if FULL else 2)
    assert not FULL or p99 <= 0.005  # milliseconds are promised of a quiet machine alone


def test_a_spend_is_the_same_few_statements_at_any_length(ledgers):
    found = []
    for ledger in ledgers:
        seen = []

        def count(connection, cursor, statement, parameters, context, executemany, seen=seen):
            seen.append(statement)

        event.listen(ledger._store._engine, "before_cursor_execute", count)
        _spend(ledger, "counted")
        event.remove(ledger._store._engine, "before_cursor_execute", count)
        found.append(seen)

    assert found[0] == found[1]
    assert len(found[0]) <= 7


def test_the_twin_that_adds_everything_up_again_is_caught(ledgers):
    def seconds(ledger):
        began, spent = time.thread_time(), FREE
        for entry in ledger.entries():
            record = entry.record
            spent = charge(spent, read(record["price"])) if record["kind"] == "spend" else spent
        return time.thread_time() - began

    few, many = map(seconds, ledgers)

    assert many / few > 4


def test_a_ledger_grown_for_these_tests_is_genuine(ledgers, record_property):
    began = time.perf_counter()
    ledgers[1].verify()
    record_property("verify_us_per_entry", round((time.perf_counter() - began) / MANY * 1e6, 1))

    assert write(settled(read(list(ledgers[0].entries(start=FEW))[-1].record["price"])))["epsilon"] == "1/10"
