"""The benchmarks, which travel with the package: complete on any machine, and honest about what was not measured."""

import importlib
import json
import pkgutil
import re
import sys
from pathlib import Path

import pytest

import benchmarks
from benchmarks import Row, __main__, absent, kept, publish

NAMES = [found.name for found in pkgutil.iter_modules(benchmarks.__path__) if found.name != "__main__"]
STORED = sorted(path.stem for path in benchmarks.RESULTS.glob("*.json"))


@pytest.mark.parametrize("name", NAMES)
def test_every_benchmark_can_be_imported_without_its_peers_and_without_a_card(name):
    assert importlib.import_module(f"benchmarks.{name}").__doc__


def test_figures_are_read_as_they_are_written(tmp_path):
    rows = [Row(what="on a card: speed", value=1.5, unit="x"), Row(what="other", value=2.0, unit="s", holds=True)]
    publish("some", rows, folder=tmp_path)
    made = json.loads((tmp_path / "some.json").read_text())

    assert [(row.what, row.value, row.holds) for row in kept("some", folder=tmp_path)] == [
        ("on a card: speed", 1.5, None),
        ("other", 2.0, True),
    ]
    assert {row.since for row in kept("some", folder=tmp_path)} == {f"{made['day']}, {made['machine']}"}
    assert [row.what for row in kept("some", starting="on a card: ", folder=tmp_path)] == ["on a card: speed"]
    assert kept("none", folder=tmp_path) == []


def test_a_kept_figure_keeps_its_day_however_often_it_is_published(tmp_path):
    publish("some", [Row(what="fast", value=1.0, unit="x", since="2026-11-16, one H200")], folder=tmp_path)
    publish("some", kept("some", folder=tmp_path), folder=tmp_path)

    assert kept("some", folder=tmp_path)[0].since == "2026-11-16, one H200"


@pytest.mark.parametrize(
    "name", [name for name in STORED if "rows" in (benchmarks.RESULTS / f"{name}.json").read_text()]
)
def test_every_stored_table_can_be_kept(name):
    made = json.loads((benchmarks.RESULTS / f"{name}.json").read_text())

    if isinstance(made["rows"][0], dict) and "what" in made["rows"][0]:
        assert len(kept(name)) == len(made["rows"])


def test_where_there_is_no_card_the_figures_of_the_last_run_with_one_are_kept(monkeypatch):
    """Both read a list, and the file holds a dictionary: `make bench` died."""
    from benchmarks import mwem_device, neural

    monkeypatch.setitem(sys.modules, "torch", None)  # importing it fails

    assert [row.what for row in mwem_device.measure()] == [row.what for row in kept("mwem_device")]
    assert all(row.since for row in mwem_device.measure())
    assert all(row.what.startswith(neural.ON_CARD) and row.since for row in neural._card())


def test_no_benchmark_reads_stored_figures_past_the_one_reader():
    reads = re.compile(r"RESULTS\s*/[^)]*\)\.read_text")
    by_hand = {path.stem for path in Path(benchmarks.__path__[0]).glob("*.py") if reads.search(path.read_text())}

    assert by_hand <= {"estimators_peers"}  # which writes a page of the guide from them


def test_one_benchmark_that_dies_does_not_stop_the_others(monkeypatch, tmp_path, capsys):
    class Good:
        @staticmethod
        def measure():
            return [Row(what="one", value=1.0, unit="x", holds=True)]

    class Bad:
        @staticmethod
        def measure():
            raise FileNotFoundError("no such peer")

    modules = {"benchmarks.bad": Bad, "benchmarks.good": Good}
    found = [type("Found", (), {"name": name})() for name in ("bad", "good")]
    monkeypatch.setattr(__main__.pkgutil, "iter_modules", lambda path: found)
    monkeypatch.setattr(__main__.importlib, "import_module", modules.__getitem__)

    assert __main__.main(tmp_path) == 1
    assert (tmp_path / "good.json").exists()
    assert "could not be run: bad" in capsys.readouterr().out


def test_what_is_not_measured_is_said_and_is_no_failure(tmp_path):
    assert publish("some", [absent("PostgreSQL")], folder=tmp_path)
