"""Power loss: every answer that left is in what the disk is sure to hold, whatever else it kept or tore."""

from __future__ import annotations

import random
import re

import pytest

from discreet.ledger import Ledger
from tests.faults.disk import Disk, calls, need_strace, strace
from tests.faults.power import WORKERS
from tests.faults.processes import run
from tests.scale import counts


@pytest.fixture(autouse=True, scope="module")
def _strace():
    need_strace()


RELEASED = re.compile(rb"released (\d+)\n")


def _trace(tmp_path, spends: int, synchronous: str = "FULL"):
    """A folder, and the trace of everything that was done to a ledger in it."""
    folder, log = tmp_path / "disk", tmp_path / "log"
    folder.mkdir()
    released = run("power", "spends", folder / "ledger.db", spends, synchronous, before=strace(log))
    assert len(released) == WORKERS * spends
    return folder, log


def _lost(folder, log, into, points: int) -> tuple[int, list[int], bool]:
    """Cut the power at so many points, before and after an answer left, and open what is left.

    How many copies were opened, the spends that had been answered and are missing, and whether a checkpoint was cut.
    """
    chance, disk, copies, missing, moved = random.Random(1), Disk(folder), 0, [], False
    total = sum(call.name in ("pwrite64", "fsync", "fdatasync") for call in Disk(folder).replay(log))
    rate, answered, ledger = points / total, set(), str(folder / "ledger.db")
    for call in disk.replay(log):
        left = RELEASED.fullmatch(call.texts[0]) if call.name == "write" and call.texts else None
        if left:
            answered.add(int(left[1]))
        elif call.name not in ("pwrite64", "fsync", "fdatasync") or chance.random() > rate:
            continue
        elif call.path == ledger and answered:
            moved = True  # into the file itself: a checkpoint
        if not left or chance.random() < rate:
            disk.cut(into, chance=chance if copies % 2 else None)
            copies += 1
            missing += sorted(answered - _spends(into / "ledger.db"))
    return copies, missing, moved


def _spends(path) -> set[int]:
    """The spends of a ledger that verifies as a whole; none where there is no ledger yet."""
    if not path.exists():
        return set()
    with Ledger.open(path, create=False) as ledger:
        return {entry.id for entry in ledger.entries() if entry.record["kind"] == "spend"}


def test_every_answer_that_left_survives_a_power_cut_at_any_point(tmp_path, record_property):
    folder, log = _trace(tmp_path, counts(quick=25, full=120))
    copies, missing, moved = _lost(folder, log, tmp_path / "cut", counts(quick=50, full=1250))
    record_property("copies", copies)
    record_property("answered_and_lost", len(missing))

    assert copies >= counts(quick=10, full=1000)
    assert missing == []
    assert moved or counts(quick=1, full=0)  # the full run cuts checkpoints too


def test_the_twin_that_syncs_at_checkpoints_only_loses_answers(tmp_path):
    """synchronous=NORMAL survives every kill -9 and loses spends in a power cut."""
    folder, log = _trace(tmp_path, 10, "NORMAL")

    assert _lost(folder, log, tmp_path / "cut", 40)[1] != []


def test_the_replayed_disk_is_the_disk(tmp_path):
    """The check of the check: what was replayed, synced or not, is what the files hold."""
    folder, log = _trace(tmp_path, 5)
    disk = Disk(folder)
    for _ in disk.replay(log):
        pass

    assert set(disk.names) == {str(file) for file in folder.iterdir()}
    assert {path: file.now() for path, file in disk.names.items()} == {
        str(file): file.read_bytes() for file in folder.iterdir()
    }


def _synced(tmp_path, spends: int, synchronous: str) -> list[bool]:
    """For each answer: whether its process wrote to the log, then synced it, then let the answer leave."""
    log, state, found = tmp_path / "log", {}, []
    ledger = tmp_path / "ledger.db"
    run("power", "spends", ledger, spends, synchronous, before=strace(log, longest=40))
    for call in calls(log):
        if call.path == f"{ledger}-wal" and call.result >= 0:
            if call.name == "pwrite64":
                state[call.pid] = "written"
            elif call.name in ("fsync", "fdatasync") and state.get(call.pid) == "written":
                state[call.pid] = "synced"
        elif call.name == "write" and call.texts and RELEASED.fullmatch(call.texts[0]):
            found.append(state.pop(call.pid, None) == "synced")
    return found


def test_the_log_is_synced_before_each_answer_leaves(tmp_path, record_property):
    spends = counts(quick=15, full=500)
    found = _synced(tmp_path, spends, "FULL")
    record_property("answers", len(found))
    record_property("synced_before", sum(found))

    assert found == [True] * WORKERS * spends


def test_the_twin_that_syncs_at_checkpoints_only_is_seen_in_the_trace(tmp_path):
    found = _synced(tmp_path, 10, "NORMAL")

    assert len(found) == WORKERS * 10
    assert not any(found)
