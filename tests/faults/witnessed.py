"""A question under a witness, by processes that are killed at every step of a charge.

python -m tests.faults.witnessed steps TARGET WITNESS    kill one at each step in turn, then ask the same again
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

from discreet.curator import Curator
from discreet.ledger import Ledger
from discreet.ledger.transaction import Transaction
from discreet.ledger.watch import Watch
from discreet.ledger.witness_file import FileWitness
from tests.faults import life
from tests.faults.processes import Child, main

STEPS = {  # where, before or after it; then how often the question is charged in all, and whether data was read before
    "before the witness is asked": (Watch, "compare", "before", 1, False),
    "after the witness was asked": (Watch, "compare", "after", 1, False),
    "inside the spend, after its entry": (Transaction, "append", "after", 1, False),
    "after the ledger was synced": (Watch, "move", "before", 1, False),
    "before the witness's file is replaced": (FileWitness, "compare_and_set", "before", 1, False),
    "after the witness has seen it": (FileWitness, "compare_and_set", "after", 2, False),
    "before reading": (Curator, "_release", "before", 2, False),
    "after reading": (Curator, "_release", "after", 2, True),
    "after storing": (Ledger, "store", "after", 1, True),
}


def _dying(step: str) -> None:
    owner, name, when, *_ = STEPS[step]
    real = getattr(owner, name)

    def patched(*arguments: object, **options: object) -> object:
        if when == "after":
            real(*arguments, **options)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(owner, name, patched)


def opened(target: str, witness: str) -> Curator:
    return life.opened(Ledger.open(target, create=False, verify=False, witness=witness))


def steps(target: str, witness: str) -> dict[str, object]:
    """What the one who was killed said, and what the next process gets for the same question."""
    life.warm(target)
    found = {}
    for number, name in enumerate(STEPS):

        def once(say: Callable[[str], None], number: int = number, name: str = name) -> None:
            asked = opened(target, witness)
            _dying(name)
            say(life.ask(asked, number))

        victim = Child(once)
        said = victim.end()
        again = Child(lambda say, number=number: say(life.ask(opened(target, witness), number))).end()
        found[name] = {"killed": os.WTERMSIG(victim.status), "said": said, "again": again}
    return found


if __name__ == "__main__":
    main({"steps": steps})
