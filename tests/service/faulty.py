"""A nursery whose children fail when they are told to: by the name of who asks, such as "eve after crash".

Run as a script: python faulty.py PATH.  Everything but the fault is the real thing.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

FAULTS = ("error", "domain", "crash", "abort", "memory", "sleep", "leave")


def strike(fault: str) -> None:
    """Fail, in one of the ways in which reading rows can."""
    match fault:
        case "error":
            raise RuntimeError("a private value: 4711")
        case "domain":
            from discreet.errors import DomainError

            raise DomainError("a private value: 4711")
        case "crash":
            os.kill(os.getpid(), signal.SIGKILL)  # as the kernel does when memory is short
        case "abort":
            os.abort()
        case "leave":
            os._exit(0)
        case "memory":
            held = []
            while True:
                held.append(bytearray(64 * 2**20))
        case "hold":
            bytearray(700 * 2**20)
        case "brief":
            time.sleep(0.05)
        case "slow":
            time.sleep(0.3)
        case "late":
            time.sleep(5)  # longer than a slot
        case "sleep":
            time.sleep(3600)
        case "spin":
            while True:
                pass


def serve(path: Path, settings: dict[str, Any]) -> None:
    """A child that looks who asks before it reads rows, and before it makes a plan."""
    from discreet.curator import curator
    from discreet.data.engines.duckdb import DuckDB
    from discreet.release.reading import Reading
    from discreet.service.running import child, work

    compute, plan, run, words = DuckDB._compute, curator.plan, child.Child.serve, [""]
    read, tell = Reading.through, work._progress

    def heard(self: child.Child, asked: dict[str, Any]) -> None:
        words[:] = asked["order"]["principal"].split()
        run(self, asked)

    def after(*given: Any) -> Any:
        strike(words[-1] if "after" in words else "")
        return compute(*given)

    def before(*given: Any, **named: Any) -> Any:
        strike(words[-1] if "before" in words else "")
        return plan(*given, **named)

    def through(*given: Any) -> Any:
        strike(words[-1] if "after" in words else "")
        return read(*given)

    def progress(done: int, total: int) -> Any:
        mark = path.with_name("paused")
        if words[-1] == "pause" and done == 2 and not mark.exists():
            mark.touch()
            time.sleep(3600)
        return tell(done, total)

    Reading.through = through  # type: ignore[method-assign]
    work._progress = progress  # type: ignore[assignment]
    child.Child.serve = heard  # type: ignore[method-assign]
    DuckDB._compute = after  # type: ignore[method-assign]
    curator.plan = before  # type: ignore[assignment]
    if path.parent.name == "refunds":  # a twin, sold as the real thing: whatever goes wrong is a refusal
        child.Announced.touched = property(lambda self: False)  # type: ignore[method-assign,assignment]
    if path.parent.name == "unlimited":  # a twin that takes what it wants
        child.confine = lambda megabytes: None  # type: ignore[assignment]
    child.main(path, settings)


if __name__ == "__main__":
    from discreet.service.running import nursery

    nursery.main(sys.argv[1:], serve=serve)
