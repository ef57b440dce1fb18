"""A service under a witness: it uses it, refuses an old copy, and draws later what was charged and not read."""

from __future__ import annotations

import re
import shutil

import pytest

from discreet.errors import LedgerError
from discreet.ledger import Ledger
from discreet.ledger.witness_file import FileWitness
from discreet.service.app import create_app
from discreet.service.running.child import Child
from discreet.service.settings import Settings
from tests.service.conftest import hospital, opened
from tests.service.inline import Inline, ask

SQL = "SELECT COUNT(*) AS n FROM visits"


def _witnessed(folder):
    """A hospital whose ledger has a witness in another folder."""
    file = hospital(folder, rows=50)
    (folder / "elsewhere").mkdir()
    text = re.sub(r'(?m)^ledger = "[^"]*"\n', "", file.read_text())
    file.write_text(text + '\n[ledger]\nplace = "ledger.db"\nwitness = "elsewhere/witness.json"\n')
    return file


def _copied(folder, to) -> None:
    to.mkdir(exist_ok=True)
    for one in folder.glob("ledger.db*"):
        shutil.copy(one, to)


def _put_back(copy, folder) -> None:
    for one in folder.glob("ledger.db*"):
        one.unlink()
    for one in copy.iterdir():
        shutil.copy(one, folder)


def test_a_service_does_not_start_on_yesterdays_copy(tmp_path):
    file = _witnessed(tmp_path)
    with opened(file) as served:
        served.app.state.runner = Inline(served.app)
        assert ask(served, as_="ada").status_code == 200
    _copied(tmp_path, tmp_path / "copy")
    with opened(file) as served:
        served.app.state.runner = Inline(served.app)
        assert ask(served, as_="ada", epsilon=0.2).status_code == 200
    _put_back(tmp_path / "copy", tmp_path)
    with pytest.raises(LedgerError, match="an old copy was put in its place"):
        create_app(file)


def _child(file, said):
    return Child(file, memory=512, store=Settings.read(file).store, tell=said.append)


def _order(key="k1", **more):
    body = {"question": SQL, "epsilon": 0.1} | more
    return {"order": {"kind": "ask", "principal": "ada", "body": body, "key": key}}


def test_records_that_name_entries_which_the_ledger_lacks_do_not_start_a_service(tmp_path):
    """Without a witness too: the replies of a service are younger than its ledger."""
    file = hospital(tmp_path, rows=50)
    said = []
    child = _child(file, said)
    child.curator()
    _copied(tmp_path, tmp_path / "copy")
    child.serve(_order())
    child._forget()
    assert said[-1]["event"] == "done"
    create_app(file).state.desk.close()
    _put_back(tmp_path / "copy", tmp_path)
    with pytest.raises(LedgerError, match=r"the records of this service name entry \d+, and its ledger"):
        create_app(file)
    with Ledger.open(tmp_path / "ledger.db") as other:  # as long as the lost one, and another
        for number in range(9):
            other.sub_cap(f"table {number}", other.budget("patient").balance.cap, unit="patient")
    with pytest.raises(LedgerError, match="lacks it"):
        create_app(file)


def test_an_order_whose_witness_could_not_be_written_is_refused_and_drawn_later_under_its_charge(tmp_path, monkeypatch):
    file, said = _witnessed(tmp_path), []
    child = _child(file, said)
    child.curator()
    with monkeypatch.context() as patch:
        patch.setattr(FileWitness, "compare_and_set", lambda *_: (_ for _ in ()).throw(OSError(28, "full")))
        child.serve(_order())
    assert said[-1]["event"] == "refused"
    assert "nothing was read" in said[-1]["problem"]["detail"]
    child.serve(_order())
    assert (said[-1]["event"], said[-1]["replayed"]) == ("done", False)
    child.serve(_order())
    assert (said[-1]["event"], said[-1]["replayed"]) == ("done", True)
    child._forget()
    with Ledger.open(tmp_path / "ledger.db") as ledger:
        kinds = [entry.record["kind"] for entry in ledger.entries()]

    assert kinds.count("spend") == kinds.count("answer") == 1


def test_an_order_that_died_before_its_witness_was_moved_is_drawn_when_it_comes_again(tmp_path, monkeypatch):
    """The same idempotency key: the record says that it was about to pay, the ledger that it has, the witness not."""
    file, said = _witnessed(tmp_path), []
    child = _child(file, said)
    child.curator()

    def died(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(FileWitness, "compare_and_set", died)
        with pytest.raises(KeyboardInterrupt):
            child.serve(_order())
    child._forget()
    child.serve(_order())

    assert (said[-1]["event"], said[-1]["replayed"]) == ("done", False)
    child._forget()
    with Ledger.open(tmp_path / "ledger.db") as ledger:
        assert sum(entry.record["kind"] == "spend" for entry in ledger.entries()) == 1


def test_the_twin_that_does_not_ask_the_witness_withholds_it(tmp_path, monkeypatch):
    file, said = _witnessed(tmp_path), []
    child = _child(file, said)
    child.curator()
    with monkeypatch.context() as patch:
        patch.setattr(FileWitness, "compare_and_set", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            child.serve(_order())
    monkeypatch.setattr(Ledger, "unread", lambda _: frozenset())
    child.serve(_order())
    child._forget()

    assert said[-1]["event"] == "withheld"
