"""The benchmarks, which travel with the package: complete on any machine, and honest about what was not measured."""

import ast
import importlib
import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import benchmarks
from benchmarks import Row, __main__, absent, kept, publish, size
from tests.scale import FULL

HOME = Path(benchmarks.__path__[0])
NAMES = benchmarks.names()
SERVES = {"estimators"}  # others, and measures nothing itself
STORED = sorted(path.stem for path in benchmarks.RESULTS.glob("*.json"))


@pytest.mark.parametrize("name", NAMES)
def test_every_benchmark_can_be_imported_without_its_peers_and_without_a_card(name):
    module = importlib.import_module(f"benchmarks.{name}")

    assert module.__doc__
    assert hasattr(module, "measure") == (name not in SERVES)


def test_every_module_is_run_and_every_stored_table_has_its_benchmark():
    assert set(NAMES) == {path.stem for path in HOME.glob("*.py")} - {"__init__", "__main__"}
    assert set(STORED) <= set(NAMES) - SERVES


def _sizes(name):
    """The pairs of sizes of a benchmark, as they are written."""
    calls = [one for one in ast.walk(ast.parse((HOME / f"{name}.py").read_text())) if isinstance(one, ast.Call)]
    return [(one.args[0], one.keywords[0].value) for one in calls if getattr(one.func, "id", "") == "size"]


def _amount(node):
    """A number for each part of a literal, its length where it holds no numbers; None where it is no literal."""
    try:
        made = ast.literal_eval(node)
    except ValueError:
        return None
    flat = [made] if isinstance(made, int | float) else list(made)
    return flat if all(isinstance(one, int | float) for one in flat) else [len(flat)]


@pytest.mark.parametrize("name", NAMES)
def test_every_benchmark_has_a_quick_size_and_it_is_smaller(name):
    found = _sizes(name)

    assert found
    for full, quick in found:
        most, least = _amount(full), _amount(quick)
        if most is not None and least is not None:
            assert sum(least) < sum(most)
            assert len(least) < len(most) or all(a <= b for a, b in zip(least, most, strict=True))


def test_a_quick_run_is_asked_for_and_inherited(monkeypatch):
    monkeypatch.delenv("DISCREET_QUICK", raising=False)
    assert size(9, quick=1) == 9
    monkeypatch.setenv("DISCREET_QUICK", "1")
    assert size(9, quick=1) == 1


def test_a_quick_run_promises_nothing_and_writes_over_no_figure(monkeypatch, tmp_path):
    monkeypatch.setenv("DISCREET_QUICK", "1")
    monkeypatch.setattr(benchmarks, "RESULTS", tmp_path)
    failing = [Row(what="slow", value=9.0, unit="s", promise="<= 1", holds=False)]

    assert publish("some", failing, folder=tmp_path)
    assert publish("some", failing, folder=tmp_path / ".." / tmp_path.name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.acceptance
def test_every_benchmark_runs_at_its_smallest_size_without_a_card():
    """All of them in `make acceptance`; elsewhere one that measures and one that needs a card."""
    before = {path: path.read_bytes() for path in benchmarks.RESULTS.iterdir()}
    some = [] if FULL else ["accounting", "mwem_device"]
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--quick", *some],
        cwd=HOME.parent, env=os.environ | {"CUDA_VISIBLE_DEVICES": ""}, capture_output=True, text=True,
    )  # fmt: skip

    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-5000:]
    assert "could not be run: none" in run.stdout
    assert "mwem_device: figures kept from" in run.stdout
    assert {path: path.read_bytes() for path in benchmarks.RESULTS.iterdir()} == before


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


def no_number(word):
    raise ValueError(f"{word} is no JSON")


@pytest.mark.parametrize("name", STORED)
def test_every_stored_table_can_be_kept(name):
    made = json.loads((benchmarks.RESULTS / f"{name}.json").read_text(), parse_constant=no_number)

    if hasattr(importlib.import_module(f"benchmarks.{name}"), "STORED"):
        assert {"day", "machine", "cells"} <= set(made)
    else:
        assert len(kept(name)) == len(made["rows"]) > 0


def test_what_was_not_measured_is_written_as_json_and_read_again(tmp_path):
    publish("some", [absent("OpenDP")], folder=tmp_path)
    made = json.loads((tmp_path / "some.json").read_text(), parse_constant=no_number)

    assert made["rows"][0]["value"] is None
    assert math.isnan(kept("some", folder=tmp_path)[0].value)


def test_where_there_is_no_card_the_figures_of_the_last_run_with_one_are_kept(monkeypatch):
    """Both read a list, and the file holds a dictionary: `make bench` died."""
    from benchmarks import mwem_device, neural

    monkeypatch.setitem(sys.modules, "torch", None)  # importing it fails

    assert [row.what for row in mwem_device.measure()] == [row.what for row in kept("mwem_device")]
    assert all(row.since for row in mwem_device.measure())
    assert all(row.what.startswith(neural.ON_CARD) and row.since for row in neural._card())


def test_without_the_peer_of_the_estimators_their_stored_table_is_shown(monkeypatch):
    """It raised, and took every other estimator with it."""
    from benchmarks import estimators_peers

    monkeypatch.setenv("DISCREET_PEERS", "/nowhere")
    rows = estimators_peers.measure()

    assert rows[0].what == absent("diffprivlib").what
    assert len(rows) > 30
    assert all(row.since for row in rows[1:])


@pytest.mark.parametrize("part", ["linear", "trees"])
def test_without_adult_its_stored_figures_are_kept_for_the_guide(part, monkeypatch):
    module = importlib.import_module(f"benchmarks.estimators_{part}")
    for made in ("_classifiers", "_regressions", "_regression"):
        monkeypatch.setattr(module, made, lambda *given: [], raising=False)
    monkeypatch.delenv("DISCREET_DATA", raising=False)

    assert [row.what for row in module.measure()] == [row.what for row in kept(module.__name__[11:], starting="Adult")]


def test_no_benchmark_reads_stored_figures_past_the_one_reader():
    reads = re.compile(r"RESULTS\s*/[^)]*\)\.read_text")
    by_hand = {path.stem for path in Path(benchmarks.__path__[0]).glob("*.py") if reads.search(path.read_text())}

    assert by_hand <= {"estimators_peers"}  # which writes a page of the guide from them


def test_one_benchmark_that_dies_does_not_stop_the_others(monkeypatch, tmp_path, capsys):
    class Good:
        @staticmethod
        def measure():
            return [Row(what="one", value=1.0, unit="x", holds=True), absent("OpenDP")]

    class Bad:
        @staticmethod
        def measure():
            raise FileNotFoundError("no such peer")

    modules = {"benchmarks.bad": Bad, "benchmarks.good": Good}
    monkeypatch.setattr(benchmarks, "names", lambda: ["bad", "good"])
    monkeypatch.setattr(benchmarks.importlib, "import_module", modules.__getitem__)

    assert __main__.main(tmp_path) == 1
    assert (tmp_path / "good.json").exists()
    told = capsys.readouterr().out
    assert "could not be run: bad" in told
    assert "good: OpenDP" in told  # among what was not measured


@pytest.mark.parametrize(("package", "died"), [("pandas", False), ("sklearn.tree", False), ("discreet.absent", True)])
def test_a_package_of_others_that_is_missing_is_named_and_one_of_ours_is_a_failure(
    package, died, monkeypatch, tmp_path, capsys
):
    class Lacks:
        @staticmethod
        def measure():
            raise ModuleNotFoundError(f"No module named {package!r}", name=package)

    monkeypatch.setattr(benchmarks, "names", lambda: ["lacks"])
    monkeypatch.setattr(benchmarks.importlib, "import_module", lambda name: Lacks)

    assert __main__.main(tmp_path) == died
    told = capsys.readouterr().out
    assert ("could not be run: lacks" in told) == died
    assert (f"{package.split('.')[0]} is not installed" in told) == (not died)
    assert list(tmp_path.iterdir()) == []  # figures of the last run stay


def test_what_is_not_measured_is_said_and_is_no_failure(tmp_path):
    assert publish("some", [absent("PostgreSQL")], folder=tmp_path)
