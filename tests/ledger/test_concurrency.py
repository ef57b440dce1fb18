"""discreet.ledger under concurrency: threads, forks and processes that create it at once."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pytest

from discreet.errors import BudgetExhausted, LedgerError
from discreet.ledger import Ledger
from discreet.privacy.event import PureEvent
from discreet.privacy.guarantee import PureDP
from tests.scale import counts

PRICE = PureEvent(epsilon="3/100")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.db"


def _opened(path, cap) -> Ledger:
    ledger = Ledger.open(path)
    ledger.register(unit="patient", cap=PureDP(cap))
    return ledger


@pytest.mark.parametrize("target", ["file", ":memory:"])
def test_threads_of_one_ledger_are_granted_exactly_what_the_cap_holds(path, target):
    ledger = _opened(path if target == "file" else target, Fraction("1.01"))

    def attempt(_):
        try:
            return ledger.spend(PRICE, unit="patient", tables=["visits"]).id
        except BudgetExhausted:
            return None

    with ThreadPoolExecutor(16) as pool:
        granted = [number for number in pool.map(attempt, range(100)) if number is not None]
    ledger.verify()
    ledger.close()

    assert len(granted) == len(set(granted)) == 33


def test_one_key_in_many_threads_is_one_spend(path, record_property):
    attempts = counts(quick=200, full=10_000)
    ledger = _opened(path, 1)

    def attempt(i):
        return ledger.spend(PRICE, unit="patient", tables=["visits"], key=f"k{i % 5}", analyst="ada")

    with ThreadPoolExecutor(16) as pool:
        receipts = list(pool.map(attempt, range(attempts)))
    record_property("duplicates", attempts)

    assert sum(not receipt.replayed for receipt in receipts) == 5
    assert len({receipt.id for receipt in receipts}) == 5
    assert ledger.budget("patient").balance.spent.epsilon == Fraction(15, 100)
    ledger.close()


def test_several_processes_may_create_the_same_ledger_at_once(path):
    program = f"from discreet.ledger import Ledger; print(Ledger.open({str(path)!r}).anchor().hash)"
    running = [subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) for _ in range(4)]
    hashes = {process.communicate(timeout=120)[0] for process in running}

    assert len(hashes) == 1
    assert [file.name for file in path.parent.iterdir() if file.name.startswith(".")] == []


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # no thread of ours is running
def test_a_ledger_goes_on_in_both_processes_after_a_fork(path):
    """No connection is open during the fork, so that both sides lock as strangers do."""
    ledger = _opened(path, 3)
    ledger.spend(PRICE, unit="patient", tables=["visits"])
    children = []
    for _ in range(3):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                for _ in range(20):
                    ledger.spend(PRICE, unit="patient", tables=["visits"])
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    for _ in range(20):
        ledger.spend(PRICE, unit="patient", tables=["visits"])
    codes = [os.waitpid(child, 0)[1] for child in children]
    ledger.verify()

    assert codes == [0, 0, 0]
    assert ledger.budget("patient").balance.spent.epsilon == 81 * Fraction(3, 100)
    ledger.close()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # no thread of ours is running
def test_a_ledger_in_memory_does_not_survive_a_fork():
    """Its copy would pay a second time from the same budget."""
    ledger = _opened(":memory:", 1)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            ledger.spend(PRICE, unit="patient", tables=["visits"])
        except LedgerError:
            code = 0
        finally:
            os._exit(code)

    assert os.waitpid(child, 0)[1] == 0
    ledger.spend(PRICE, unit="patient", tables=["visits"])
    ledger.close()


FORKING = """
import os, sys, threading, warnings
from multiprocessing import get_context
from discreet.ledger import Ledger
from discreet.privacy.event import PureEvent
from discreet.privacy.guarantee import PureDP
warnings.simplefilter("ignore")  # threads and forks: that is the question
ledger = Ledger.open(sys.argv[1])
ledger.register(unit="patient", cap=PureDP(10**6))
others = [Ledger.open(":memory:") for _ in range(3)]
start, done = threading.Barrier(3), []

def spend():
    return ledger.spend(PureEvent(epsilon="3/100"), unit="patient", tables=["visits"]).id

def fork(how):
    start.wait()
    for turn in range(int(sys.argv[2])):
        if how == "os":
            child = os.fork()
            if not child:
                os._exit(0)
            os.waitpid(child, 0)
        else:
            work = {"target": spend} if turn % 5 == 0 else {"target": len, "args": ("",)}
            one = get_context("fork").Process(**work)
            one.start()
            one.join()
        done.append(how)

forking = [threading.Thread(target=fork, args=(how,)) for how in ("os", "multiprocessing")]
for one in forking:
    one.start()
start.wait()
mine = 0
while any(one.is_alive() for one in forking):
    spend()
    mine += 1
print(len(done), mine, ledger.budget("patient").balance.spent.epsilon / PureEvent(epsilon="3/100").epsilon)
"""


def test_threads_that_fork_at_the_same_time_leave_every_ledger_open(path):
    """The finding: one thread's list of the stores it held was the other's, and nobody gave them back."""
    forks = counts(quick=100, full=1000)
    command = [sys.executable, "-c", FORKING, str(path), str(forks)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        watchdog = threading.Timer(300, program.kill)  # it decides nothing unless the program hangs
        watchdog.start()
        said = program.communicate()[0].split()
        watchdog.cancel()

    assert program.returncode == 0
    done, mine, spent = map(int, said)
    assert done == 2 * forks
    assert spent == mine + forks // 5


def test_a_writer_that_waits_too_long_fails_closed_and_may_try_again(path, monkeypatch):
    from discreet.ledger import sqlite

    monkeypatch.setattr(sqlite, "PATIENCE", 0.05)
    first, second = _opened(path, 1), Ledger.open(path)
    with first._store.writing() as transaction:
        transaction.last()
        with pytest.raises(LedgerError, match="busy; nothing was spent"):
            second.spend(PRICE, unit="patient", tables=["visits"])

    assert second.spend(PRICE, unit="patient", tables=["visits"]).id == 2
    first.close()
    second.close()
