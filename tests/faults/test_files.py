"""The files of a live ledger: nobody deletes the log under it, and what somebody moved is not written to."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from discreet.errors import LedgerError
from discreet.ledger import Ledger, sqlite
from discreet.privacy.event import PureEvent
from tests.faults.processes import ROOT

PRICE = PureEvent(epsilon="3/100")


def _spend(ledger: Ledger) -> int:
    return ledger.spend(PRICE, unit="patient", tables=["visits"]).id


def _from_another_process(path) -> list[int]:
    """The spends that a process sees which opens the ledger and closes it."""
    program = f"""
from discreet.ledger import Ledger
with Ledger.open({str(path)!r}, create=False) as ledger:
    print(*(entry.id for entry in ledger.entries() if entry.record["kind"] == "spend"))
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT, timeout=600)
    return [int(word) for word in done.stdout.split()]


def test_a_ledger_opened_twice_in_one_process_loses_nothing_to_another(path):
    """To look at the file by itself would drop the locks on it: POSIX drops all of a process when one handle closes."""
    with Ledger.open(path) as first, Ledger.open(path) as second:
        spent = [_spend(first), _spend(second)]

        assert _from_another_process(path) == spent
        spent += [_spend(first), _spend(second)]
        assert _from_another_process(path) == spent


def _drop_the_locks(path) -> None:
    """What a backup by hand does to the process it is made in."""
    shutil.copy(path, f"{path}.backup")


def test_a_log_that_was_deleted_under_the_ledger_closes_it(path):
    with Ledger.open(path) as ledger:
        before = _spend(ledger)
        _drop_the_locks(path)
        _from_another_process(path)
        with pytest.raises(LedgerError, match=r"failed and is closed.*Replaced"):
            _spend(ledger)
        with pytest.raises(LedgerError, match="open it again"):
            _spend(ledger)

    assert before in _from_another_process(path)


def test_the_twin_that_does_not_look_loses_the_spend(path, monkeypatch):
    monkeypatch.setattr(sqlite, "kept", lambda connection: None)
    with Ledger.open(path) as ledger:
        before = _spend(ledger)
        _drop_the_locks(path)
        _from_another_process(path)

        assert _spend(ledger) > before
        assert _from_another_process(path) == [before]


@pytest.mark.parametrize("how", ["moved", "replaced"])
def test_a_file_that_was_put_in_place_of_the_ledger_closes_it(path, tmp_path, how):
    """A backup that is restored under a live process: both would spend the same budget."""
    with Ledger.open(path) as ledger:
        _spend(ledger)
        if how == "replaced":
            shutil.copy(path, tmp_path / "backup.db")
            shutil.move(tmp_path / "backup.db", path)
        else:
            shutil.move(path, tmp_path / "elsewhere.db")
        with pytest.raises(LedgerError, match=r"failed and is closed.*Replaced"):
            _spend(ledger)
