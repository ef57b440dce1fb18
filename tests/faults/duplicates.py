"""The same questions from several processes and threads at once, some of them killed and started again.

python -m tests.faults.duplicates ask TARGET KEYS KILLS CACHE    every answer that was seen

CACHE `ledger` asks as everybody does; `memory` is the twin whose processes remember keys by themselves.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable

from discreet.curator import Curator
from discreet.data import Table
from discreet.data.aggregation import Aggregation, Sealed
from discreet.ledger.chain import digest
from tests.faults.life import EPSILON, Memory, ask, opened, question, warm
from tests.faults.processes import Child, main

PROCESSES, THREADS = 4, 4


class Slow(Memory):
    """Long enough for others to ask the same."""

    def run(self, table: Table, aggregation: Aggregation) -> Sealed:
        time.sleep(0.003)
        return super().run(table, aggregation)


def _remember(asked: Curator, number: int, known: dict[int, str]) -> str:
    """A process that takes what it has not seen for new."""
    if number not in known:
        answer = asked.ask(question(number), epsilon=EPSILON, fresh=True)
        known[number] = f"{number} {answer.receipt.id} {digest(answer.to_bytes())}"
    return known[number]


def _work(target: str, keys: range, cache: str, say: Callable[[str], None]) -> None:
    """Ask every question from several threads, which wait for one another at each."""
    asked, known, together = opened(target, engine=Slow()), {}, threading.Barrier(THREADS)

    def one() -> None:
        for number in keys:
            together.wait()
            say(ask(asked, number) if cache == "ledger" else _remember(asked, number, known))

    running = [threading.Thread(target=one, daemon=True) for _ in range(THREADS)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    asked.ledger.close()


def ask_all(target: str, keys: int, kills: int, cache: str) -> list[str]:
    """Let the processes ask, kill some on the way, and let those that follow begin a little earlier."""
    chance, said = random.Random(1), []
    warm(target)

    def start(first: int) -> Child:
        return Child(lambda say: _work(target, range(first, keys), cache, say))

    working = [start(0) for _ in range(PROCESSES)]
    for _ in range(kills):
        victim = working.pop(chance.randrange(PROCESSES))
        if victim.hears():
            time.sleep(chance.random() * 0.02)
        heard = victim.stop()
        said += heard
        reached = max((int(line.split()[0]) for line in heard), default=0)
        working.append(start(max(0, reached - 3)))
    for worker in working:
        said += worker.end()
        assert worker.status == 0
    return said


if __name__ == "__main__":
    main({"ask": ask_all})
