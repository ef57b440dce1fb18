"""Processes that spend, read, grant and revoke while they are killed, stopped, and their clocks jump.

python -m tests.faults.histories run TARGET RUN OPERATIONS READS    everything they did, with times

Each run is about a unit of its own.  Times are of the system's monotonic clock, which all processes
share.  READS `fresh` is the ledger's; `cached` is the twin that shows a balance for a while.
"""

from __future__ import annotations

import json
import random
import select
import signal
import time
from collections.abc import Callable
from copy import deepcopy
from fractions import Fraction
from functools import partial

from discreet.errors import BudgetExhausted
from discreet.ledger import Ledger, ledger
from discreet.privacy.event import PureEvent
from discreet.privacy.guarantee import PureDP
from discreet.privacy.number import exact
from tests.faults.processes import Child, main

WORKERS = 4
ANALYSTS = ("ada", "bob", "eve")
PRICES = ("1/100", "3/100", "7/100")
DEATHS = 6  # of each run


def unit(run: int) -> str:
    return f"patient {run}"


def cap(operations: int) -> Fraction:
    """About half of what will be asked for."""
    return Fraction(operations, 100)


def _shown(book: Ledger, run: int) -> list[object]:
    """What a reader sees: every total, and the caps of the analysts."""
    budget = book.budget(unit(run))
    tables = {name: str(balance.spent.epsilon) for name, balance in budget.tables.items()}
    analysts = {
        name: [None if balance.cap is None else str(exact(balance.cap.epsilon)), str(balance.spent.epsilon)]
        for name, balance in budget.analysts.items()
    }
    return [str(budget.balance.spent.epsilon), tables, analysts]


def _spend(book: Ledger, price: str, wanted: dict) -> int | None:
    try:
        return book.spend(PureEvent(epsilon=price), **wanted).id
    except BudgetExhausted:
        return None


def _work(target: str, run: int, serial: int, operations: int, reads: str, say: Callable[[str], None]) -> None:
    chance = random.Random(f"{run} {serial}")
    ledger.now = lambda: f"{chance.randrange(1970, 2100)}-01-01T00:00:00.000000Z"  # a clock that jumps
    book, cached = Ledger.open(target, create=False, verify=False), None

    def timed(kind: str, act: Callable[[], object], **wanted: object) -> object:
        begun = time.monotonic_ns()
        say(json.dumps({"kind": kind, "begin": begun} | wanted))
        found = act()
        say(json.dumps({"of": begun, "end": time.monotonic_ns(), "found": found}))
        return found

    for i in range(operations):
        name, kind = chance.choice(ANALYSTS), chance.choices(["spend", "read", "cap"], [6, 3, 1])[0]
        if kind == "spend":
            price, table = chance.choice(PRICES), chance.choice([f"visits {run}", f"bills {run}"])
            wanted = {"unit": unit(run), "tables": [table], "analyst": name, "key": f"{run}.{serial}.{i}"}
            timed(kind, partial(_spend, book, price, wanted), price=price, **wanted)
        elif kind == "read" and (reads == "fresh" or cached is None or i % 20 == 0):
            cached = timed(kind, partial(_shown, book, run))
        elif kind == "read":
            timed(kind, partial(deepcopy, cached))
        else:  # more than before is a grant, less is a revocation; no two caps are equal
            most = Fraction(chance.randrange(1, 300), 100) + Fraction(serial * 10**4 + i, 10**12)
            timed(kind, partial(book.allot, name, PureDP(most), unit=unit(run)), analyst=name, cap=str(most))
    book.close()


def run(target: str, number: int, operations: int, reads: str) -> list[dict[str, object]]:
    """The operations of one run; those without an end were cut off by a kill."""
    chance, heard, deaths, serial = random.Random(number), [], DEATHS, WORKERS
    with Ledger.open(target, create=False) as book:
        book.register(unit=unit(number), cap=PureDP(cap(operations)))

    def start(serial: int, left: int) -> tuple[Child, int]:
        return Child(lambda say: _work(target, number, serial, left, reads, say)), left

    working = [start(i, operations // WORKERS) for i in range(WORKERS)]
    stopped: Child | None = None
    while working:
        ready, *_ = select.select([child for child, _ in working], [], [], 0.02)
        for child, left in [pair for pair in working if pair[0] in ready]:
            if not child.hears():
                working.remove((child, left))
                heard += child.end()
                assert child.status == 0
                stopped = None if child is stopped else stopped
        if stopped is not None:
            stopped.signal(signal.SIGCONT)
            stopped = None
        elif working and chance.random() < 0.05:
            child, left = chance.choice(working)
            if deaths and chance.random() < 0.5:
                deaths -= 1
                working.remove((child, left))
                lines = child.stop()
                heard += lines
                done = sum('"found"' in line for line in lines)
                working.append(start(serial, left - done))
                serial += 1
            else:
                child.signal(signal.SIGSTOP)
                stopped = child
    return _paired(heard)


def _paired(lines: list[str]) -> list[dict[str, object]]:
    """Each operation with its end, where it had one."""
    records = [json.loads(line) for line in lines]
    ends = {record["of"]: record for record in records if "of" in record}
    begun = [record for record in records if "of" not in record]
    assert len({record["begin"] for record in begun}) == len(begun)
    return [record | ends.get(record["begin"], {}) for record in begun]


if __name__ == "__main__":
    main({"run": run})
