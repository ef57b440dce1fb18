"""The README tells the truth: its example runs, and its map is the disk."""

from __future__ import annotations

import re

from scripts.reference import LAYERS, helps
from tests.house.repository import MADE, PACKAGE, ROOT

README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)  # language, text


def _map() -> list[str]:
    """The lines of the README's map, without their descriptions."""
    block = next(text for _, text in BLOCKS if text.startswith("src/"))
    return [line.split()[0] for line in block.splitlines()]


def test_the_map_of_folders_equals_the_disk():
    top = {
        f"{path.name}/" for path in ROOT.iterdir() if path.is_dir() and path.name[0] != "." and path.name not in MADE
    }
    inside = {
        path.name + "/" * path.is_dir()
        for path in PACKAGE.iterdir()
        if path.name[0] != "_" and path.suffix in ("", ".py")
    }

    assert set(_map()) == (top - {"src/"}) | {"src/discreet/"} | inside


def test_the_map_is_in_the_order_of_the_layers():
    folders = [entry.rstrip("/") for entry in _map() if (PACKAGE / entry / "__init__.py").exists()]

    assert folders == [*LAYERS, "cli"]


def test_the_example_is_the_first_of_the_examples():
    shown = [text for language, text in BLOCKS if language == "python"]
    body = (ROOT / "examples/00_ten_lines.py").read_text().split("[start:body]\n")[1].split("# --8<--")[0]

    assert shown == [body]
    assert len([line for line in body.splitlines() if line]) <= 10


def test_the_commands_shown_are_commands():
    shown = [line.removeprefix("$ discreet ") for _, text in BLOCKS for line in text.splitlines() if line[:2] == "$ "]
    known = tuple(command.removeprefix("discreet ") + " " for command, _ in helps())

    assert len(shown) >= 3
    assert [line for line in shown if not f"{line} ".startswith(known)] == []


def test_the_links_lead_somewhere():
    assert [link for link in re.findall(r"\]\(([^)]+)\)", README) if not (ROOT / link).exists()] == []
    assert "docs/limitations.md" in README
