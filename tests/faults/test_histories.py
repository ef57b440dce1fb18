"""Linearizable histories: whatever is killed, stopped or mistaken about the time, the ledger is one sequential book."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet.ledger import Ledger
from tests.faults.histories import cap, unit
from tests.faults.linear import anomalies
from tests.faults.processes import run
from tests.scale import counts


def _chain(target, number) -> list[dict]:
    """The entries about one run's unit, less the promise that began it."""
    with Ledger.open(target, create=False) as ledger:
        records = [entry.record for entry in ledger.entries() if entry.record.get("unit") == unit(number)]
    return [
        record | {"cap": str(Fraction(record["cap"]["epsilon"]))} if "cap" in record else record
        for record in records[1:]
    ]


def test_every_history_is_that_of_one_book(target, record_property):
    """On each store: half of the runs."""
    runs, operations = counts(quick=1, full=25), counts(quick=200, full=2000)
    total = cut = refused = 0
    found = []
    for number in range(runs):
        history = run("histories", "run", target, number, operations, "fresh")
        found += anomalies(history, _chain(target, number), cap=cap(operations))
        total += len(history)
        cut += sum("end" not in operation for operation in history)
        refused += sum(operation["kind"] == "spend" and operation.get("found", 0) is None for operation in history)
    record_property("operations", total)
    record_property("cut_off", cut)
    record_property("refused", refused)
    record_property("anomalies", len(found))

    assert total >= runs * operations
    assert refused > total // 20  # caps were met
    assert found == []


def test_the_twin_with_a_cached_balance_is_caught(target):
    history = run("histories", "run", target, 0, 120, "cached")

    assert list(anomalies(history, _chain(target, 0), cap=cap(120))) != []


def _spend(begin, end, number, *, price="1", analyst="ada"):
    wanted = {"kind": "spend", "key": f"k{begin}", "price": price, "analyst": analyst, "tables": ["t"]}
    return wanted | {"begin": begin, "end": end, "found": number}


def _read(begin, end, spent):
    shown = [str(spent), {"t": str(spent)} if spent else {}, {"ada": [None, str(spent)]} if spent else {}]
    return {"kind": "read", "begin": begin, "end": end, "found": shown}


def _entry(operation, number):
    return {"kind": "spend", "key": operation["key"], "id": number}


def test_the_checker_accepts_what_some_order_explains():
    first, second = _spend(0, 10, 1), _spend(5, 20, 2)
    seen = [_read(2, 4, 0), _read(3, 9, 1), _read(6, 18, 2), _read(12, 19, 2), _read(21, 22, 2)]
    refused = _spend(23, 24, None)

    assert (
        list(anomalies([first, second, refused, *seen], [_entry(first, 1), _entry(second, 2)], cap=Fraction(2))) == []
    )


@pytest.mark.parametrize(
    ("extra", "chain", "why"),
    [
        ([_read(25, 26, 1)], [0, 1], "never was"),  # a stale read
        ([_read(2, 3, 1), _read(4, 4.5, 0)], [0, 1], "never was"),  # two reads that go back
        ([_spend(-3, -2, None)], [0, 1], "never was"),  # a refusal with nothing spent
        ([], [1, 0], "stands earlier"),  # real time reversed
        ([], [0], "lost"),  # a granted spend that is not there
        ([], [0, 1, 1], "nobody's"),  # one that is there twice
        ([_spend(25, 26, 3)], [0, 1, 2], "not allowed"),  # an overdraft
        ([_spend(25, 26, 7)], [0, 1, 2], "says 7"),  # a receipt for another entry
    ],
)
def test_the_checker_sees(extra, chain, why):
    history = [_spend(0, 10, 1), _spend(12, 20, 2), *extra]
    entries = [_entry(history[i], number) for number, i in enumerate(chain, start=1)]

    assert any(why in anomaly for anomaly in anomalies(history, entries, cap=Fraction(2)))
