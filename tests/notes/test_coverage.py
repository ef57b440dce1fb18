"""Everything that the notes construct has a module, and a test that holds it to its known numbers."""

from __future__ import annotations

import ast
import importlib
import re

import pytest

from tests.house.repository import ROOT, syntax
from tests.notes.coverage import ENTRIES
from tests.notes.worked import WORKED

ROOMS = {"A": 14, "B": 11, "C": 12, "D": 8, "E": 10, "F": 12, "G": 14, "H": 12, "I": 20, "J": 7}


def test_no_entry_is_left_out():
    assert list(ENTRIES) == [f"{room}{number}" for room, last in ROOMS.items() for number in range(1, last + 1)]


@pytest.mark.parametrize("name", ENTRIES)
def test_an_entry_has_its_module_and_its_oracles(name):
    entry = ENTRIES[name]
    importlib.import_module(entry.module)

    assert entry.oracles
    for oracle in entry.oracles:
        file, test = oracle.split("::")
        folder, stem = file.split("/")
        tree = syntax(ROOT / f"tests/{folder}/test_{stem}.py")
        assert f"test_{test}" in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, oracle


@pytest.mark.parametrize("asked", WORKED)
def test_a_worked_example_of_the_notes_is_an_example_here(asked):
    _, entries, example = WORKED[asked]

    assert set(entries) <= set(ENTRIES)
    assert (ROOT / f"examples/{example}.py").exists()


def test_every_exercise_of_the_notes_has_its_example():
    numbers = re.findall(r"exercises? (\d+)(?: (to|and) (\d+))?", " ".join(WORKED))
    found = {
        n for a, joined, b in numbers for n in (range(int(a), int(b) + 1) if joined == "to" else map(int, (a, b or a)))
    }

    assert found == set(range(1, 19))
