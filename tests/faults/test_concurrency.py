"""Many clients near the cap: what is granted is exactly what the cap holds, on either store."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction

from discreet.ledger import Ledger
from discreet.privacy.guarantee import PureDP
from tests.faults.processes import PATIENCE_S, ROOT
from tests.scale import counts

PROCESSES, PRICE = 4, Fraction(3, 100)


def _opened(target, cap) -> Ledger:
    ledger = Ledger.open(target)
    ledger.register(unit="patient", cap=PureDP(cap))
    return ledger


@contextmanager
def _started(*arguments) -> Iterator[list[subprocess.Popen]]:
    """Processes that begin once all of them are ready; killed if the test fails."""
    command = [sys.executable, "-m", "tests.faults.spending", *map(str, arguments)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "cwd": ROOT}
    running = [subprocess.Popen(command, **pipes) for _ in range(PROCESSES)]
    try:
        assert [process.stdout.readline() for process in running] == ["ready\n"] * PROCESSES
        for process in running:
            process.stdin.write("begin\n")
            process.stdin.flush()
        yield running
    finally:
        for process in running:
            process.kill()
            process.communicate()


def _granted(running) -> int:
    outputs = [process.communicate(timeout=PATIENCE_S)[0] for process in running]
    assert [process.returncode for process in running] == [0] * PROCESSES
    return sum(json.loads(output) for output in outputs)


def test_many_clients_are_granted_exactly_what_the_cap_holds(empty, record_property):
    """64 clients in 4 processes, twice as many attempts as the cap holds, and a reader that looks all the while."""
    threads, attempts = 16, counts(quick=6, full=1563)
    total = PROCESSES * threads * attempts
    cap = (total // 2) * PRICE + Fraction(1, 100)
    ledger, looks = _opened(empty, cap), 0
    with _started("spend", empty, threads, attempts) as running:
        while any(process.poll() is None for process in running):
            assert ledger.budget("patient").balance.spent.epsilon <= cap
            looks += 1
            threading.Event().wait(0.05)
        granted = _granted(running)
    record_property("attempts", total)
    record_property("granted", granted)
    record_property("looks", looks)
    ledger.verify()
    spends = sum(entry.record["kind"] == "spend" for entry in ledger.entries())
    spent = ledger.budget("patient").balance.spent.epsilon
    ledger.close()

    assert granted == cap // PRICE == total // 2
    assert spends == granted  # none lost
    assert spent == granted * PRICE


def test_the_twin_that_checks_and_then_acts_is_caught(empty):
    """The same count, on a ledger that looks first and spends later."""
    ledger = _opened(empty, 10 * PRICE)
    with _started("race", empty, 30) as running:
        granted = _granted(running)
    spent = ledger.budget("patient").balance.spent.epsilon
    ledger.close()

    assert granted > 10
    assert spent > 10 * PRICE
