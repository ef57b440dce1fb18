"""A program to be traced: it makes a ledger, and two processes spend and say so.

python -m tests.faults.power spends PATH SPENDS SYNCHRONOUS

A line `released N` is an answer that left the machine; everything about it must be sure by then.
"""

from __future__ import annotations

from collections.abc import Callable

from discreet.ledger import Ledger, sqlite
from discreet.privacy.event import PureEvent
from discreet.privacy.guarantee import PureDP
from tests.faults.processes import Child, main

PRICE = PureEvent(epsilon="3/100")
WORKERS = 2


def weaken(synchronous: str) -> None:
    """Let every connection sync as a twin would: NORMAL syncs at checkpoints only."""
    prepare = sqlite._prepare

    def weaker(connection, **options) -> None:
        prepare(connection, **options)
        connection.execute(f"PRAGMA synchronous = {synchronous}")

    sqlite._prepare = weaker


def _spend(path: str, spends: int, say: Callable[[str], None]) -> None:
    ledger = Ledger.open(path, create=False, verify=False)
    for _ in range(spends):
        receipt = ledger.spend(PRICE, unit="patient", tables=["visits"])
        ledger.store(receipt, b"answer %d" % receipt.id)
        say(f"released {receipt.id}")
    ledger.close()


def spends(path: str, each: int, synchronous: str) -> list[int]:
    """The numbers of the spends that were released."""
    if synchronous != "FULL":
        weaken(synchronous)
    with Ledger.open(path) as ledger:
        ledger.register(unit="patient", cap=PureDP(10**6))
    working = [Child(lambda say: _spend(path, each, say)) for _ in range(WORKERS)]
    return [int(line.split()[1]) for worker in working for line in worker.end()]


if __name__ == "__main__":
    main({"spends": spends})
