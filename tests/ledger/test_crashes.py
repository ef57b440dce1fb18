"""discreet.ledger under kill -9, power loss, a full disk and a failing fsync: no answer without a durable spend."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from discreet.errors import LedgerError
from discreet.ledger import Ledger
from discreet.privacy.event import PureEvent
from discreet.privacy.guarantee import PureDP
from tests.scale import counts

WORKERS = Path(__file__).with_name("workers.py")
PRICE = PureEvent(epsilon="3/100")


@pytest.fixture
def path(tmp_path):
    with Ledger.open(tmp_path / "ledger.db") as ledger:
        ledger.register(unit="patient", cap=PureDP(10**6))
    return tmp_path / "ledger.db"


def _run(*arguments, before=(), **options) -> subprocess.CompletedProcess:
    command = [*before, sys.executable, str(WORKERS), *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=900, **options)


def _paid(path) -> list[int]:
    """The spends on the disk, after a restart that verifies everything."""
    with Ledger.open(path, create=False) as ledger:
        return [entry.id for entry in ledger.entries() if entry.record["kind"] == "spend"]


def test_no_answer_is_released_before_its_spend_survives_a_kill(path, record_property):
    kills = counts(quick=60, full=1000)
    released = json.loads(_run("kill", path, kills, "spend-first", 1).stdout)
    began = time.monotonic()
    paid = _paid(path)
    record_property("kills", kills)
    record_property("released", len(released))
    record_property("paid_unreleased", len(set(paid) - set(released)))
    record_property("restart_s", round(time.monotonic() - began, 2))

    assert len(released) > kills
    assert set(released) <= set(paid)  # none unpaid, none lost
    assert len(released) == len(set(released))  # none paid for twice by one entry
    assert len(paid) - len(released) <= kills  # at most the one in flight


def test_the_twin_that_releases_first_is_caught(path):
    released = json.loads(_run("kill", path, 20, "release-first", 1).stdout)

    assert not set(released) <= set(_paid(path))


def test_what_a_power_cut_leaves_after_a_spend_contains_the_spend(path, tmp_path):
    """The files as they are the moment `spend` returns, without the shared memory that a cut erases."""
    with Ledger.open(path) as ledger:
        for i in range(counts(quick=20, full=1000)):
            receipt = ledger.spend(PRICE, unit="patient", tables=["visits"])
            cut = tmp_path / f"cut{i}"
            cut.mkdir()
            for end in ("", "-wal"):
                shutil.copy(f"{path}{end}", f"{cut}/ledger.db{end}")

            assert _paid(cut / "ledger.db")[-1] == receipt.id
            shutil.rmtree(cut)


def _synced_before_each_release(path, tmp_path, synchronous: str, spends: int) -> list[bool]:
    """From a system-call trace: whether the log was synced between each release and the one before."""
    log = tmp_path / "trace"
    strace = ["strace", "-f", "-y", "-e", "trace=fsync,fdatasync,write", "-o", str(log)]
    _run("trace", path, spends, synchronous, before=strace)
    synced, found = False, []
    for line in log.read_text().splitlines():
        if re.search(r"f(data)?sync\(\d+<[^>]*ledger\.db-wal>\)\s+= 0", line):
            synced = True
        elif "RELEASED" in line:
            found.append(synced)
            synced = False
    return found


def _can_trace() -> bool:
    probe = ["strace", "-e", "trace=none", "true"]
    return shutil.which("strace") is not None and subprocess.run(probe, capture_output=True).returncode == 0


@pytest.mark.skipif(not _can_trace(), reason="needs strace")
def test_the_log_is_synced_before_each_release(path, tmp_path, record_property):
    spends = counts(quick=20, full=1000)
    found = _synced_before_each_release(path, tmp_path, "FULL", spends)
    record_property("synced", sum(found))

    assert found == [True] * spends


@pytest.mark.skipif(not _can_trace(), reason="needs strace")
def test_the_twin_that_syncs_at_checkpoints_only_is_caught(path, tmp_path):
    """synchronous=NORMAL survives every kill -9 and loses the spend in a power cut."""
    found = _synced_before_each_release(path, tmp_path, "NORMAL", 20)

    assert len(found) == 20
    assert not all(found)


FAULTS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sys/types.h>
long fail_in = -1, fail_for = 1;  /* calls before the one that fails (none if negative), and how many fail */
static int fails(int reason) {
  if (fail_in > 0) { fail_in--; return 0; }
  if (fail_in < 0 || fail_for-- <= 0) return 0;
  errno = reason;
  return 1;
}
#define REAL(type, name) ((type)dlsym(RTLD_NEXT, name))
int fdatasync(int f) { return fails(EIO) ? -1 : REAL(int (*)(int), "fdatasync")(f); }
int fsync(int f) { return fails(EIO) ? -1 : REAL(int (*)(int), "fsync")(f); }
ssize_t pwrite64(int f, const void *b, size_t n, off_t o) {
  return fails(ENOSPC) ? -1 : REAL(ssize_t (*)(int, const void *, size_t, off_t), "pwrite64")(f, b, n, o);
}
"""


def _with_faults(path, tmp_path, mode: str, points: int) -> list[int]:
    """What was released while each write and sync failed in turn: -1 after a failure, -2 for each run that failed."""
    (tmp_path / "faults.c").write_text(FAULTS)
    library = tmp_path / "faults.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, tmp_path / "faults.c", "-ldl"], check=True)
    return json.loads(_run("fault", path, 0, points, mode, env=os.environ | {"LD_PRELOAD": str(library)}).stdout)


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
@pytest.mark.parametrize("mode", ["once", "always"])
def test_a_write_or_sync_that_fails_closes_the_ledger(path, tmp_path, mode, record_property):
    """Every write and every sync of a spend fails in turn; nothing is retried and nothing unpaid is released."""
    released = _with_faults(path, tmp_path, mode, counts(quick=16, full=200))
    record_property("failures", released.count(-2))

    assert released.count(-2) >= 12
    assert released.count(-1) == 0
    assert {number for number in released if number > 0} <= set(_paid(path))


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_the_twin_that_tries_again_after_a_failure_is_caught(path, tmp_path):
    assert _with_faults(path, tmp_path, "retry", 4).count(-1) > 0


def _fill_the_disk() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, 150_000))


def test_a_full_disk_fails_closed(path):
    """The log may grow no further; the ledger refuses, and what was granted is there."""
    program = f"""
import json
from discreet.errors import LedgerError
from tests.ledger.workers import Ledger, spend
ledger, granted, refused = Ledger.open({str(path)!r}), [], 0
for _ in range(200):
    try:
        granted.append(spend(ledger, query="x" * 1000).id)
    except LedgerError:
        refused += 1
print(json.dumps([granted, refused]))
"""
    root = WORKERS.parents[2]
    command = [sys.executable, "-c", program]
    run = subprocess.run(command, check=True, capture_output=True, text=True, cwd=root, preexec_fn=_fill_the_disk)
    granted, refused = json.loads(run.stdout)

    assert granted
    assert refused == 200 - len(granted)
    assert set(granted) <= set(_paid(path))


def test_an_error_closes_the_store_until_it_is_opened_anew(path, monkeypatch):
    from discreet.ledger import store

    def broken(*_, **__):
        raise OSError(5, "Input/output error")

    ledger = Ledger.open(path)
    with monkeypatch.context() as patch:
        patch.setattr(store.Transaction, "append", broken)
        with pytest.raises(LedgerError, match="failed and is closed"):
            ledger.spend(PRICE, unit="patient", tables=["visits"])
    for refused in (ledger.anchor, ledger.verify, lambda: ledger.spend(PRICE, unit="patient", tables=["visits"])):
        with pytest.raises(LedgerError, match="open it again"):
            refused()
    ledger.close()

    assert _paid(path) == []


def test_a_read_only_ledger_fails_closed(path):
    """A connection that may not write: what a read-only file system looks like, also to root."""
    with Ledger.open(path) as ledger:
        with ledger._store._engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA query_only = ON")
        with pytest.raises(LedgerError, match="failed and is closed"):
            ledger.spend(PRICE, unit="patient", tables=["visits"])

    assert _paid(path) == []
