"""Every example runs from anywhere, is short, has one idea, which it states, and the guides show nothing else."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.repository import ROOT, syntax

EXAMPLES = sorted([*(ROOT / "examples").glob("*.py"), *(ROOT / "examples").glob("*.sh")])
GUIDES = sorted((ROOT / "docs/guide").glob("*.md"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_runs(path, tmp_path):
    bin = Path(sys.executable).parent
    environment = os.environ | {"PYTHONWARNINGS": "error", "PATH": f"{bin}:{os.environ['PATH']}"}
    program = "bash" if path.suffix == ".sh" else sys.executable
    run = subprocess.run(
        [program, str(path)], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
    )

    assert run.returncode == 0, run.stderr
    assert run.stdout


def test_every_example_is_numbered():
    assert [path.name for path in EXAMPLES if not re.match(r"\d\d_[a-z]", path.name)] == []


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_shorter_than_sixty_lines(path):
    assert len(path.read_text().splitlines()) < 60


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_states_its_idea(path):
    idea = ast.get_docstring(syntax(path)) if path.suffix == ".py" else path.read_text().splitlines()[1].strip("# ")

    assert idea


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
def test_a_guide_shows_only_code_that_an_example_runs(page):
    blocks = re.findall(r"^```(?:python|bash|sql|toml|console)\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)
    included = [re.fullmatch(r'--8<-- "(examples/[\w.]+):(\w+)"\n', block) for block in blocks]

    assert all(included), "include it from examples/"
    for found in included:
        assert f"[start:{found[2]}]" in (ROOT / found[1]).read_text()
