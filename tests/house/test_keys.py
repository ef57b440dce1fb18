"""Keys are made in one place: no other code hashes, prints or names what an order is made of."""

from __future__ import annotations

import ast

import pytest

from tests.house.repository import ROOT

PACKAGE = ROOT / "src/discreet"
MAKERS = {"key", "key_of", "settings_of", "_steps"}  # functions that say what makes two orders the same
PRINTED = {"repr", "str", "hash", "id", "format", "vars"}
FILES = sorted([*(PACKAGE / "curator").glob("*.py"), PACKAGE / "synthesis/stored.py"])


def _calls(tree):
    return {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}


def faults(source):
    """What a module does by itself that the home of keys does."""
    tree = ast.parse(source)
    found = [
        "hashlib"
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for name in node.names
        if name.name == "hashlib"
    ]
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name in MAKERS:
            found += sorted(_calls(node) & PRINTED)
            found += [
                name.attr
                for name in ast.walk(node)
                if isinstance(name, ast.Attribute) and name.attr in ("__module__", "__qualname__")
            ]
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_no_module_makes_keys_by_printing(path):
    assert faults(path.read_text()) == []


@pytest.mark.parametrize(
    "twin",
    [
        "def key(self):\n    return digest(repr(self.model))",
        "def key_of(step):\n    return digest(str(step.price))",
        "import hashlib",
        "def key(self):\n    return digest(type(self).__module__)",
    ],
)
def test_a_twin_that_prints_is_caught(twin):
    assert len(faults(twin)) == 1
