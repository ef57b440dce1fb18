"""Engines that fail after the first row was read, in every way that leaves the process alive or kills it.

python -m tests.faults.failures deaths TARGET TIMES    processes die while they read, so many times in each way
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import resource
import signal
from collections.abc import Callable

from discreet.curator import Curator
from discreet.data import Table
from discreet.data.aggregation import Aggregation, Sealed
from discreet.errors import DiscreetError
from tests.faults.life import Memory, ask, opened, warm
from tests.faults.processes import Child, main

ERRORS = {
    "engine error": lambda: RuntimeError("Conversion Error: could not convert 'private'"),
    "error of ours": lambda: DiscreetError("the run failed; see the operator log, reference 0"),
    "timeout": lambda: TimeoutError("timed out"),
    "connection lost": lambda: ConnectionResetError("reset by peer"),
    "out of memory": MemoryError,
    "interrupt": KeyboardInterrupt,
    "cancelled": asyncio.CancelledError,
    "exit": lambda: SystemExit(1),
}


def _crash() -> None:
    """What a fault in the engine's own code does."""
    ctypes.string_at(0)


DEATHS = {
    "killed for memory": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "engine crash": _crash,
    "abort": os.abort,
    "terminated": lambda: os.kill(os.getpid(), signal.SIGTERM),
}


class Failing(Memory):
    """Reads everything, then fails."""

    def __init__(self, fail: Callable[[], object]) -> None:
        self._fail = fail

    def run(self, table: Table, aggregation: Aggregation) -> Sealed:
        super().run(table, aggregation)
        raised = self._fail()
        assert isinstance(raised, BaseException)
        raise raised


def deaths(target: str, times: int) -> dict[str, list[int]]:
    """How each process ended; none of them said anything."""
    warm(target)
    ended = {how: [] for how in DEATHS}
    for number, how in enumerate(times * list(DEATHS)):

        def once(say: Callable[[str], None], number: int = number, how: str = how) -> None:
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            say(ask(opened(target, engine=Failing(DEATHS[how])), number))

        child = Child(once)
        assert child.end() == []
        ended[how].append(child.status)
    return ended


def asked_under(curator: Curator, number: int) -> type[BaseException] | None:
    """Ask, and give back the type of what was raised."""
    try:
        ask(curator, number)
    except BaseException as error:
        return type(error)
    return None


if __name__ == "__main__":
    main({"deaths": deaths})
