"""The life of a question, from plan to answer, by processes that are killed on the way.

A worker asks questions that nobody asked before and says each answer it got: question, receipt,
digest.  What it said is what the analyst saw; the ledger must have been charged for all of it.

python -m tests.faults.life kills TARGET KILLS ORDER SEED    kill one of four workers at random moments
python -m tests.faults.life steps TARGET                     kill one at every step in turn, while three work
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from itertools import count

import numpy as np

from discreet.curator import Curator, curator
from discreet.data import Domain, Identifier, Integer, Table
from discreet.data.aggregation import Aggregation, Sealed
from discreet.ledger import Ledger
from discreet.ledger.chain import digest
from discreet.ledger.transaction import Transaction
from discreet.privacy.guarantee import PureDP
from tests.faults.processes import Child, main

CAP = PureDP(10**6)
EPSILON = "3/100"
WORKERS = 4
VICTIM = 10**6  # the question of the one that is killed at a step

STEPS = {  # each step of `ask`: where it is, whether we die before or after it, what is charged, what is kept
    "before planning": (curator, "plan", "before", 0, False),
    "after planning": (curator, "plan", "after", 0, False),
    "before spending": (Ledger, "spend", "before", 0, False),
    "inside the spend, locked": (Transaction, "last", "after", 0, False),
    "inside the spend, after its entry": (Transaction, "append", "after", 0, False),
    "inside the spend, after its balances": (Transaction, "save", "after", 0, False),
    "after the spend": (Ledger, "spend", "after", 1, False),
    "before reading": (Curator, "_release", "before", 1, False),
    "after reading": (Sealed, "through", "before", 1, False),
    "after the noise": (Sealed, "through", "after", 1, False),
    "before storing": (Ledger, "store", "before", 1, False),
    "inside the store, after its bytes": (Transaction, "keep", "after", 1, False),
    "after storing": (Ledger, "store", "after", 1, True),
    "before returning": (Curator, "ask", "after", 1, True),
}


class Memory:
    """An engine without a source: one number in every cell."""

    def check(self) -> None:
        """It computes as assumed."""

    def ready(self, table: Table, aggregation: Aggregation) -> None:
        """Whatever is asked."""

    def run(self, table: Table, aggregation: Aggregation) -> Sealed:
        return Sealed(np.full((aggregation.cells, len(aggregation.measures)), 1000, dtype=np.int64))


def opened(target: str | Ledger, *, engine: object = None) -> Curator:
    """A curator on an existing ledger."""
    domain = Domain({"patient": Identifier(), "age": Integer(0, 10**9)})
    table = Table("none.parquet", domain=domain, unit="patient", rows_per_unit=1)
    ledger = target if isinstance(target, Ledger) else Ledger.open(target, create=False, verify=False)
    return Curator({"visits": table}, budget=CAP, ledger=ledger, engine=engine or Memory())


def question(number: int) -> str:
    return f"SELECT COUNT(*) AS n FROM visits WHERE age > {number}"


def asked_number(query: str) -> int:
    """The number of a question, from its text in the ledger."""
    return int(query.rpartition(" ")[2].rstrip(")"))


def ask(asked: Curator, number: int) -> str:
    """What the analyst sees: question, receipt and digest of an answer."""
    answer = asked.ask(question(number), epsilon=EPSILON)
    return f"{number} {answer.receipt.id} {digest(answer.to_bytes())}"


def warm(target: str) -> None:
    """Import and compile everything before the first fork; verify the ledger."""
    Ledger.open(target, create=False).close()
    with Ledger.open(":memory:") as memory:
        ask(opened(memory), 1)


def _live(target: str, order: str, first: int, say: Callable[[str], None]) -> None:
    """Ask for ever, in the right order or in the wrong one."""
    asked = opened(target)
    for number in count(first):
        if order == "spend-first":
            say(ask(asked, number))
        else:  # the broken twin: the answer leaves, then the ledger is charged
            say(f"{number} {asked.ledger.anchor().id + 1} -")
            time.sleep(0.03)
            ask(asked, number)


def _start(target: str, order: str, serial: int) -> Child:
    return Child(lambda say: _live(target, order, serial * 10**4, say))


def kills(target: str, deaths: int, order: str, seed: int) -> dict[str, object]:
    """Kill one of the workers at random moments; what all of them said."""
    chance, said = random.Random(seed), []
    warm(target)
    serials = count(1)
    working = [_start(target, order, next(serials)) for _ in range(WORKERS)]
    for _ in range(deaths):
        victim = working.pop(chance.randrange(WORKERS))
        if victim.hears():  # it is at work
            time.sleep(chance.random() * 0.01)
        said += victim.kill()
        working.append(_start(target, order, next(serials)))
    for worker in working:
        said += worker.kill()
    return {"said": said, "killed": deaths + WORKERS}


def _dying(step: str) -> None:
    """Patch a step of `ask` so that the process is killed there."""
    owner, name, when, *_ = STEPS[step]
    real = getattr(owner, name)

    def patched(*arguments: object, **options: object) -> object:
        if when == "after":
            real(*arguments, **options)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(owner, name, patched)


def steps(target: str) -> dict[str, object]:
    """Kill a worker at every step of its question, while the others work; then ask again in a new process."""
    warm(target)
    working = [_start(target, "spend-first", serial) for serial in range(1, WORKERS)]
    assert all(worker.hears() for worker in working)
    found = {}
    for number, name in enumerate(STEPS, start=VICTIM):

        def once(say: Callable[[str], None], number: int = number, name: str = name) -> None:
            asked = opened(target)
            _dying(name)
            say(ask(asked, number))

        victim = Child(once)
        said = victim.end()
        (after,) = Child(lambda say, number=number: say(ask(opened(target), number))).end()
        found[name] = {"killed": os.WTERMSIG(victim.status), "said": said, "again": after}
    return {"steps": found, "others": [line for worker in working for line in worker.kill()]}


if __name__ == "__main__":
    main({"kills": kills, "steps": steps})
