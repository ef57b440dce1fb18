"""`discreet ledger recover`, `forked` and `witness`, and the section [ledger] of curator.toml."""

from __future__ import annotations

import json
import shutil
from fractions import Fraction

import pytest
from typer.testing import CliRunner

from discreet import Curator
from discreet.cli import app
from discreet.curator import config
from discreet.errors import LedgerError, ParameterError
from discreet.ledger import Ledger
from discreet.ledger.forked import parting
from discreet.privacy.guarantee import PureDP
from discreet.service.settings import Settings

TABLES = """
[budget]
epsilon = 1
[tables.visits]
source = 'visits.csv'
unit = 'patient'
[tables.visits.columns]
patient = { type = 'identifier' }
age = { type = 'integer', low = 0, high = 9 }
"""
SECTION = "[ledger]\nplace = 'l.db'\nwitness = 'elsewhere/w.json'\n"


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A curator's folder, with a ledger that has spent a quarter under its witness, and a copy from before that."""
    (tmp_path / "visits.csv").write_text("patient,age\n" + "".join(f"{i},{i % 10}\n" for i in range(40)))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "curator.toml").write_text(SECTION + TABLES)
    monkeypatch.chdir(tmp_path)
    with Curator.open("curator.toml"):
        pass
    shutil.copy("l.db", "copy.db")
    with Curator.open("curator.toml") as curator:
        _spend(curator.ledger)
    return tmp_path


def _spend(ledger, price="1/4", **asked):
    return ledger.spend(PureDP(price), **{"unit": "patient", "tables": ["visits"]} | asked)


def _run(*words, answer=None):
    return CliRunner().invoke(app, ["ledger", *words], input=answer)


def test_the_line_alone_still_opens_and_names_no_witness(tmp_path):
    settings = {"ledger": "l.db"}

    assert config.place(settings, tmp_path) == str(tmp_path / "l.db")
    assert config.witness(settings, tmp_path) is None
    assert config.place({}, tmp_path) == str(tmp_path / "ledger.db")


def test_a_section_names_a_place_and_a_witness_relative_to_the_file(tmp_path):
    settings = {"ledger": {"place": "l.db", "witness": "w.json"}}
    server = {"ledger": {"place": "postgresql:///a", "witness": "postgresql:///b#seen"}}

    assert (config.place(settings, tmp_path), config.witness(settings, tmp_path)) == (
        str(tmp_path / "l.db"), str(tmp_path / "w.json"),
    )  # fmt: skip
    assert (config.place(server, tmp_path), config.witness(server, tmp_path)) == (
        "postgresql:///a", "postgresql:///b#seen",
    )  # fmt: skip


@pytest.mark.parametrize(
    "named", [7, "", [], {"place": 7}, {"witness": "w"}, {"place": "l", "wittness": "w"}, {"place": "l", "witness": ""}]
)
def test_another_form_is_refused(tmp_path, named):
    with pytest.raises(ParameterError, match=r"ledger"):
        config.place({"ledger": named}, tmp_path)


def test_settings_with_a_witness_are_written_and_read_back(tmp_path):
    settings = {"ledger": {"place": "l.db", "witness": "w.json"}, "budget": {"epsilon": "1"}, "tables": {}}
    (tmp_path / "curator.toml").write_text(config.write(settings))

    assert config.read(tmp_path / "curator.toml")["ledger"] == settings["ledger"]


def test_a_service_keeps_its_records_beside_the_ledger_of_a_section(home):
    assert Settings.read(home / "curator.toml").store == str(home / "service.db")


def test_a_curator_of_a_file_uses_its_witness(home):
    (home / "l.db").write_bytes((home / "copy.db").read_bytes())
    for open_ in (lambda: Curator.open("curator.toml"), lambda: config.ledger("curator.toml")):
        with pytest.raises(LedgerError, match="an old copy was put in its place"):
            open_()
    assert "an old copy" in str(_run("verify").exception)


def test_what_is_missing_in_a_copy_is_booked_once_somebody_has_said_yes(home):
    (home / "l.db").write_bytes((home / "copy.db").read_bytes())
    declined = _run("recover", "--reason", "disk", answer="n\n")
    done = _run("recover", "--reason", "disk", answer="y\n")

    assert (declined.exit_code, done.exit_code) == (1, 0)
    assert "spent epsilon 0.25" in done.stdout
    assert "was asked of an old copy after it was put back" in done.stdout
    with Curator.open("curator.toml") as curator:
        assert curator.budget.balance.spent.epsilon == Fraction(1, 4)
        assert curator.ledger.verify() == curator.ledger.anchor()


def test_after_a_lost_disk_the_ledger_begins_at_the_totals_of_the_witness(home):
    for file in home.glob("l.db*"):
        file.unlink()

    assert "discreet ledger recover" in str(_run("show").exception)
    assert _run("recover", "--reason", "disk", "--yes").exit_code == 0
    assert _run("verify").exit_code == 0


def test_a_curator_without_a_witness_cannot_recover(home):
    (home / "curator.toml").write_text("ledger = 'l.db'\n" + TABLES)

    assert "names no witness" in str(_run("recover", "--reason", "disk", "--yes").exception)


def test_two_copies_are_told_where_they_part_and_what_both_spent(home):
    with Ledger.open("copy.db") as copy:
        copy.witness_anew(None, reason="nobody looks")
        _spend(copy, "1/2", analyst="ada")
    said, told = _run("forked", "l.db", "copy.db"), json.loads(_run("forked", "l.db", "copy.db", "--json").stdout)
    units = {name: next(one for one in told["spent"][name] if one["scope"] == "unit") for name in told["spent"]}

    assert said.exit_code == 0
    assert "both have entry 2," in said.stdout
    assert "they part there: both went on" in said.stdout
    assert "unit 'patient': epsilon 0, rho 0, delta 0 before, epsilon 0.25" in said.stdout
    assert (told["common"]["id"], told["entries_after"], told["forked"]) == (2, [1, 2], True)
    assert {name: one["epsilon"] for name, one in units.items()} == {
        "before": "0", "first": "1/4", "second": "1/2", "together": "3/4",
    }  # fmt: skip


def test_an_earlier_copy_is_called_one_and_two_ledgers_are_called_two(home):
    Ledger.open("other.db").close()
    same = parting(Ledger.open("l.db"), Ledger.open("l.db"))

    assert "one is an earlier copy of the other" in _run("forked", "copy.db", "l.db").stdout
    assert "these are two ledgers" in _run("forked", "other.db", "l.db").stdout
    assert (same.after, same.forked) == ((0, 0), False)


def test_an_altered_copy_is_not_compared(home):
    import sqlite3

    raw = sqlite3.connect("copy.db")
    raw.execute("UPDATE balances SET epsilon = '0', rho = '1'")
    raw.commit()
    raw.close()

    assert isinstance(_run("forked", "l.db", "copy.db").exception, LedgerError)


def test_a_lost_witness_is_begun_anew_and_one_may_be_ended(home):
    (home / "elsewhere" / "w.json").unlink()
    assert "has seen nothing" in str(_run("verify").exception)
    assert _run("witness", "--reason", "its disk", answer="n\n").exit_code == 1
    begun = _run("witness", "--reason", "its disk", "--yes")
    assert begun.exit_code == 0
    assert _run("verify").exit_code == 0
    assert "an old copy of the ledger will be believed" in _run("witness", "--end", "--reason", "x", "--yes").stdout
    (home / "curator.toml").write_text("ledger = 'l.db'\n" + TABLES)
    with Curator.open("curator.toml") as curator:
        _spend(curator.ledger)
    assert "names no witness" in str(_run("witness", "--reason", "x", "--yes").exception)


def test_a_witness_is_named_where_the_ledger_is_opened(home):
    with (
        Ledger.open(":memory:") as ledger,
        pytest.raises(ParameterError, match="the witness where the ledger is opened"),
    ):
        Curator(
            config.tables(config.read(home / "curator.toml"), home), budget=PureDP(1), ledger=ledger, witness="w.json"
        )
