"""Clients that spend near the cap, many at once.

python -m tests.faults.spending spend TARGET THREADS ATTEMPTS   how many spends were granted to so many threads
python -m tests.faults.spending race TARGET ATTEMPTS            the same by a look and a later act: a broken twin
"""

from __future__ import annotations

import sys
import threading
import time
from dataclasses import replace

from discreet.composition.price import price
from discreet.errors import BudgetExhausted
from discreet.ledger import Account, Ledger
from discreet.ledger.amount import charge
from discreet.privacy.event import PureEvent
from tests.faults.processes import main

PRICE = PureEvent(epsilon="3/100")


def _wait() -> None:
    """All processes begin at the same time, when they are told to."""
    print("ready", flush=True)
    sys.stdin.readline()


def spend(target: str, threads: int, attempts: int) -> int:
    """Spend from several threads until all attempts are made."""
    granted = []
    ledger = Ledger.open(target, create=False, verify=False)
    _wait()

    def one() -> None:
        for _ in range(attempts):
            try:
                granted.append(ledger.spend(PRICE, unit="patient", tables=["visits"]).id)
            except BudgetExhausted:
                continue

    running = [threading.Thread(target=one) for _ in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    ledger.close()
    assert len(set(granted)) == len(granted)
    return len(granted)


def race(target: str, attempts: int) -> int:
    """Look at the balance in one transaction, and spend in another without looking again."""
    ledger, granted, cost = Ledger.open(target, create=False, verify=False), 0, price(PRICE)
    account = Account("patient", "unit", "patient")
    _wait()
    for _ in range(attempts):
        left = ledger.budget("patient").balance.remaining.epsilon
        if left is not None and left >= cost.epsilon:
            time.sleep(0.2)
            with ledger._store.writing() as transaction:
                balance = transaction.balances("patient", [], None)[account]
                transaction.save({account: replace(balance, spent=charge(balance.spent, cost))}, known={account})
            granted += 1
    ledger.close()
    return granted


if __name__ == "__main__":
    main({"spend": spend, "race": race})
