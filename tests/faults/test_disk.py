"""A disk that fails: at every write and every sync the ledger closes, and nothing unpaid is answered."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys

import pytest

from discreet.errors import LedgerError
from discreet.ledger import Ledger
from discreet.privacy.event import PureEvent
from tests.faults.disk import need_strace
from tests.faults.injection import SPENDS
from tests.faults.processes import ROOT, run
from tests.scale import FULL, counts

PRICE = PureEvent(epsilon="3/100")
ONCE, ALWAYS = "", "+"


@pytest.fixture(autouse=True, scope="module")
def _strace():
    need_strace()


def _answers(said: list[str]) -> list[int]:
    return [int(line.split()[1]) for line in said if line.startswith("released")]


def _after(said: list[str]) -> list[str]:
    """What was said once a failure was noticed."""
    return said[said.index("failed") :] if "failed" in said else []


def _kept(runs) -> None:
    """What must hold of every run, whatever failed in it."""
    for seen in runs:
        said, again = seen["said"], _answers(seen["again"])

        assert seen["injected"], seen["fault"]
        assert said[-1] in ("done", "failed"), seen["fault"]
        assert _answers(_after(said)) == [], seen["fault"]  # the store stays closed
        assert set(_answers(said)) <= set(seen["sure"]), seen["fault"]  # also if the power is cut now
        assert set(_answers(said)) <= set(again), seen["fault"]
        assert again[: len(again) // 2] == again[len(again) // 2 :], seen["fault"]  # each request is there once
        assert len(again) == 2 * SPENDS, seen["fault"]
        assert set(again) <= set(seen["sure_again"]), seen["fault"]  # also if the power is cut after the restart
        assert len(seen["sure_again"]) == SPENDS + 1, seen["fault"]


def _faults(pages: int, tmp_path) -> list[str]:
    """Every write full or broken and every sync broken, once and from then on; a part of them unless in full."""
    (probe,) = run("injection", "each", tmp_path, "stop", pages, "pwrite64:error=ENOSPC:when=60000")
    made = probe["calls"]
    every = [
        f"{call}:error={error}:when={number}{mode}"
        for call, errors in (("fdatasync", ["EIO"]), ("pwrite64", ["ENOSPC", "EIO"]))
        for error in errors
        for number in range(1, made[call] + 1)
        for mode in (ONCE, ALWAYS)
    ]
    return every if FULL else every[:: len(every) // 8]


@pytest.mark.parametrize("mode", ["stop", "die"])
@pytest.mark.parametrize("pages", [1000, 4], ids=["log", "checkpoint"])
def test_a_write_or_sync_that_fails_closes_the_ledger(tmp_path, pages, mode, record_property):
    """Also those of a checkpoint: what it could not move is still in the log.

    The next process takes nothing for granted that the failed sync left in memory only.
    """
    faults = _faults(pages, tmp_path)
    runs = run("injection", "each", tmp_path, mode, pages, *faults)
    record_property("faults", len(runs))
    record_property("noticed", sum("failed" in seen["said"] for seen in runs))
    record_property("answers_after", sum(len(_answers(_after(seen["said"]))) for seen in runs))
    _kept(runs)

    assert len(runs) >= counts(quick=8, full=100)
    if pages == 1000:  # without a checkpoint there is no failure that may be passed over
        assert all("failed" in seen["said"] for seen in runs)


def test_the_twin_that_syncs_again_is_caught(tmp_path):
    """The second sync succeeds, and what it seems to keep is lost."""
    runs = run("injection", "each", tmp_path, "resync", 1000, "fdatasync:error=EIO:when=1")

    with pytest.raises(AssertionError):
        _kept(runs)
    assert not set(_answers(runs[0]["said"])) <= set(runs[0]["sure"])


def _paid(path) -> list[int]:
    """The spends on the disk, after a restart that verifies everything."""
    with Ledger.open(path, create=False) as ledger:
        return [entry.id for entry in ledger.entries() if entry.record["kind"] == "spend"]


def _fill_the_disk() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, 150_000))


def test_a_full_disk_fails_closed(path):
    """The log may grow no further; the ledger refuses, and what was granted is there."""
    program = f"""
import json
from discreet.errors import LedgerError
from tests.faults.injection import Ledger, PRICE
ledger, granted, refused = Ledger.open({str(path)!r}), [], 0
for _ in range(200):
    try:
        granted.append(ledger.spend(PRICE, unit="patient", tables=["visits"], query="x" * 1000).id)
    except LedgerError:
        refused += 1
print(json.dumps([granted, refused]))
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT, preexec_fn=_fill_the_disk)
    granted, refused = json.loads(done.stdout)

    assert granted
    assert refused == 200 - len(granted)
    assert set(granted) <= set(_paid(path))


def test_an_error_closes_the_store_until_it_is_opened_anew(path, monkeypatch):
    from discreet.ledger.transaction import Transaction

    def broken(*_, **__):
        raise OSError(5, "Input/output error")

    ledger = Ledger.open(path)
    with monkeypatch.context() as patch:
        patch.setattr(Transaction, "append", broken)
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
