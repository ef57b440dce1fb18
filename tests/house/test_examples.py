"""Every example runs from anywhere, is short, and has one idea, which it states."""

from __future__ import annotations

import ast
import os
import subprocess
import sys

import pytest

from tests.house.repository import ROOT, syntax

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
NUMBERED = [path for path in EXAMPLES if path.name[:2].isdigit()]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_runs(path, tmp_path):
    environment = os.environ | {"PYTHONWARNINGS": "error"}
    run = subprocess.run(
        [sys.executable, str(path)], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
    )

    assert run.returncode == 0, run.stderr
    assert run.stdout
    if path.stem == "demo":
        assert (tmp_path / "out/demo.svg").read_text().startswith("<svg")
        assert (tmp_path / "out/demo.png").read_bytes().startswith(b"\x89PNG")


def test_every_example_but_the_demo_is_numbered():
    assert [path.name for path in EXAMPLES if path not in NUMBERED] == ["demo.py"]


@pytest.mark.parametrize("path", NUMBERED, ids=lambda path: path.stem)
def test_a_numbered_example_is_shorter_than_sixty_lines(path):
    assert len(path.read_text().splitlines()) < 60


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_states_its_idea(path):
    assert ast.get_docstring(syntax(path))
