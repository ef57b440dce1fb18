"""Processes that spend, are killed, run out of disk: run as a program by the tests beside it.

python tests/ledger/workers.py spend PATH THREADS ATTEMPTS     how many spends were granted
python tests/ledger/workers.py race PATH ATTEMPTS              the same by check, then act: a broken twin
python tests/ledger/workers.py kill PATH KILLS ORDER SEED      the spends released before each kill
python tests/ledger/workers.py trace PATH SPENDS SYNCHRONOUS   a line after each spend, for strace
python tests/ledger/workers.py fault PATH FIRST LAST MODE      the spends released around each failing call
"""

from __future__ import annotations

import ctypes
import json
import os
import random
import signal
import sys
import threading
import time
from dataclasses import replace

from discreet.composition.price import price
from discreet.errors import BudgetExhausted, LedgerError
from discreet.ledger import Account, Ledger, sqlite
from discreet.ledger.amount import charge
from discreet.privacy.event import PureEvent

PRICE = PureEvent(epsilon="3/100")


def spend(ledger: Ledger, **wanted):
    return ledger.spend(PRICE, unit="patient", tables=["visits"], **wanted)


def _wait() -> None:
    """All workers begin at the same time, when they are told to."""
    print("ready", flush=True)
    sys.stdin.readline()


def many(path: str, threads: int, attempts: int) -> int:
    """Spend from several threads until all attempts are made."""
    granted = []
    ledger = Ledger.open(path, create=False, verify=False)
    _wait()

    def one() -> None:
        for _ in range(attempts):
            try:
                granted.append(spend(ledger).id)
            except BudgetExhausted:
                continue

    running = [threading.Thread(target=one) for _ in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert len(set(granted)) == len(granted)
    return len(granted)


def race(path: str, attempts: int) -> int:
    """Look at the balance in one transaction, and spend in another without looking again."""
    ledger, granted, cost = Ledger.open(path, create=False, verify=False), 0, price(PRICE)
    account = Account("patient", "unit", "patient")
    _wait()
    for _ in range(attempts):
        balance = ledger.budget("patient").balance
        if balance.remaining.epsilon is not None and balance.remaining.epsilon >= cost.epsilon:
            time.sleep(0.02)
            with ledger._store.writing() as transaction:
                balance = transaction.balances("patient", [], None)[account]
                transaction.save({account: replace(balance, spent=charge(balance.spent, cost))}, known={account})
            granted += 1
    return granted


def _release(out: int, number: int) -> None:
    os.write(out, f"{number}\n".encode())


def _live(path: str, order: str, out: int) -> None:
    """Spend and release for ever, in the right order or in the wrong one."""
    ledger = Ledger.open(path, create=False, verify=False)
    while True:
        key = f"{os.getpid()}-{time.monotonic_ns()}"
        if order == "spend-first":
            _release(out, spend(ledger, key=key).id)
        else:
            _release(out, ledger.anchor().id + 1)
            spend(ledger, key=key)


def kill(path: str, kills: int, order: str, seed: int) -> list[int]:
    """Fork workers, kill them at random moments, and gather what they released."""
    chance, released = random.Random(seed), []
    Ledger.open(path).close()  # everything is imported before the first fork
    for _ in range(kills):
        inward, out = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(inward)
            _live(path, order, out)
        os.close(out)
        first = os.read(inward, 1)  # it is at work
        time.sleep(chance.random() * 0.05)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        with os.fdopen(inward, "rb") as pipe:
            released += [int(line) for line in (first + pipe.read()).splitlines()]
    return released


def trace(path: str, spends: int, synchronous: str) -> None:
    """A line on standard output after each spend."""
    if synchronous != "FULL":
        prepare = sqlite._prepare

        def weaker(connection, *, durable):
            prepare(connection, durable=durable)
            connection.execute(f"PRAGMA synchronous = {synchronous}")

        sqlite._prepare = weaker
    ledger = Ledger.open(path, create=False, verify=False)
    spend(ledger)
    for _ in range(spends):
        os.write(1, f"RELEASED {spend(ledger).id}\n".encode())


def _faulty(path: str, at: int, mode: str, out: int) -> None:
    """Spend while the call numbered `at` from now on fails, once or always; or forget the failure and try again."""
    ledger = Ledger.open(path, create=False, verify=False)
    spend(ledger)
    library = ctypes.CDLL(None)
    ctypes.c_long.in_dll(library, "fail_for").value = 1 << 40 if mode == "always" else 1
    ctypes.c_long.in_dll(library, "fail_in").value = at
    failed = 0
    for _ in range(6):
        try:
            number = spend(ledger).id
        except LedgerError:
            failed += 1
            ledger._store._failure = None if mode == "retry" else ledger._store._failure
            continue
        if failed:
            _release(out, -1)  # a spend after a failure: the store must stay closed
        _release(out, number)
    _release(out, -2 if failed else -3)


def fault(path: str, first: int, last: int, mode: str) -> list[int]:
    """Let every call that writes or syncs fail in turn."""
    released = []
    Ledger.open(path).close()
    for at in range(first, last):
        inward, out = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(inward)
            _faulty(path, at, mode, out)
            os._exit(0)
        os.close(out)
        os.waitpid(child, 0)
        with os.fdopen(inward) as pipe:
            released += [int(line) for line in pipe.read().splitlines()]
    return released


def main(job: str, path: str, *arguments: str) -> None:
    """Do one job and print what it gives as JSON."""
    jobs = {"spend": many, "race": race, "kill": kill, "trace": trace, "fault": fault}
    print(json.dumps(jobs[job](path, *(int(word) if word.isdigit() else word for word in arguments))))


if __name__ == "__main__":
    main(*sys.argv[1:])
