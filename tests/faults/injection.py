"""A process whose writes and syncs fail, one after another, while everything it does to the disk is recorded.

python -m tests.faults.injection each FOLDER MODE CHECKPOINT FAULT...

For each FAULT (CALL:ERROR:WHEN, as strace has it) a process spends while that call fails; another one
opens the ledger after it and sends every request again, twice; then the power is cut.  What was answered must be
in what the disk is sure to hold.  After a failure the first process goes on trying (MODE `stop`), is killed
(`die`), or is the twin that syncs again and goes on (`resync`).
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from discreet.errors import LedgerError
from discreet.ledger import Ledger, sqlite
from discreet.privacy.event import PureEvent
from discreet.privacy.guarantee import PureDP
from tests.faults.disk import Disk, strace
from tests.faults.processes import Child, main

PRICE = PureEvent(epsilon="3/100")
SPENDS = 3
ATTACH_S = 120  # seconds; it takes a few milliseconds


def checkpoints(pages: int) -> None:
    """Move the log into the file after so many pages, instead of a thousand."""
    prepare = sqlite._prepare

    def sooner(connection, **options) -> None:
        prepare(connection, **options)
        connection.execute(f"PRAGMA wal_autocheckpoint = {pages}")

    sqlite._prepare = sooner


def spend(ledger: Ledger, key: str) -> int:
    receipt = ledger.spend(PRICE, unit="patient", tables=["visits"], key=key)
    if not receipt.replayed:
        ledger.store(receipt, b"answer %d" % receipt.id)
    return receipt.id


def _first(path: Path, mode: str, say: Callable[[str], None], wait: Callable[[], None]) -> None:
    """Spend under a fault."""
    ledger = Ledger.open(path, create=False, verify=False)
    last = spend(ledger, "before")
    say("ready")
    wait()
    for i in range(SPENDS):
        try:
            last = spend(ledger, f"key {i}")
        except LedgerError:
            say("failed")
            if mode == "die":
                os.kill(os.getpid(), signal.SIGKILL)
            if mode != "resync":
                continue
            log = os.open(f"{path}-wal", os.O_RDWR)
            os.fsync(log)  # it reports success for pages that are gone
            last += 1
        say(f"released {last}")
    say("done")
    os.kill(os.getpid(), signal.SIGKILL)


def _next(path: Path, say: Callable[[str], None], wait: Callable[[], None]) -> None:
    """Open what the first one left, and send every request twice."""
    say("ready")
    wait()
    ledger = Ledger.open(path, create=False)
    for i in (*range(SPENDS), *range(SPENDS)):
        say(f"released {spend(ledger, f'key {i}')}")
    os.kill(os.getpid(), signal.SIGKILL)


def _traced(work: Callable[..., None], disk: Disk, log: Path, *options: str) -> tuple[list[str], list[str]]:
    """What a process says, and the calls it makes; `disk` is what they leave."""
    inward, out = os.pipe()
    child = Child(lambda say: work(say, lambda: os.read(inward, 1) and None))
    assert child.hears()
    disk.settle()
    tracing = subprocess.Popen([*strace(log, *options), "-p", str(child.pid)], stderr=subprocess.DEVNULL)
    _attached(child.pid, tracing)
    os.write(out, b"!")
    said = child.end()
    tracing.wait(timeout=ATTACH_S)
    for end in (inward, out):
        os.close(end)
    return said[1:], [call.name for call in disk.replay(log)]


def _attached(pid: int, tracing: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + ATTACH_S
    status = Path(f"/proc/{pid}/status")
    while "TracerPid:\t0\n" in status.read_text():
        assert tracing.poll() is None, "strace did not attach"
        assert time.monotonic() < until, "strace does not attach"
        time.sleep(0.002)


def _with(folder: Path, mode: str, fault: str) -> dict[str, object]:
    """One process under one fault, and one after it."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "disk").mkdir(parents=True)
    path, log = folder / "disk" / "ledger.db", folder / "log"
    with Ledger.open(path) as ledger:
        ledger.register(unit="patient", cap=PureDP(10**6))
    disk = Disk(folder / "disk")
    said, calls = _traced(partial(_first, path, mode), disk, log, "-e", f"inject={fault}")
    injected = "(INJECTED)" in log.read_text()
    disk.cut(folder / "cut")
    sure = _spends(folder / "cut" / "ledger.db")
    again, _ = _traced(partial(_next, path), disk, log)
    disk.cut(folder / "cut")
    return {
        "fault": fault,
        "said": said,
        "injected": injected,
        "calls": {name: calls.count(name) for name in ("pwrite64", "fdatasync")},
        "sure": sure,
        "again": again,
        "sure_again": _spends(folder / "cut" / "ledger.db"),
    }


def _spends(path: Path) -> list[int]:
    """The numbers of the spends, after the whole ledger was verified."""
    with Ledger.open(path, create=False) as ledger:
        return [entry.id for entry in ledger.entries() if entry.record["kind"] == "spend"]


def each(folder: str, mode: str, pages: int, *faults: str) -> list[dict[str, object]]:
    """All faults, one after another."""
    checkpoints(pages)
    return [_with(Path(folder) / "run", mode, fault) for fault in faults]


if __name__ == "__main__":
    main({"each": each})
