"""Where things are: the files that the tests of the house look at."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src/discreet"
MADE = {"build", "dist", "out", "site", "__pycache__"}  # folders that are made, not kept


def modules(folder: Path) -> list[Path]:
    """The Python files below a folder."""
    return sorted(path for path in folder.rglob("*.py") if not MADE.intersection(path.relative_to(ROOT).parts))


def syntax(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def calls(path: Path) -> Iterator[ast.Call]:
    """Every call written in a file."""
    return (node for node in ast.walk(syntax(path)) if isinstance(node, ast.Call))


def named(node: ast.expr) -> str:
    """The last word of a name: `raises` for `pytest.raises`."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
