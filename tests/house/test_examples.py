"""Every example runs from anywhere, is short, has one idea, which it states, and the guides show nothing else."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.site import whole_examples
from tests.house.repository import ROOT, syntax

EXAMPLES = sorted([*(ROOT / "examples").glob("*.py"), *(ROOT / "examples").glob("*.sh")])
STORIES = sorted((ROOT / "examples/stories").glob("*.py"))
GUIDES = sorted([*(ROOT / "docs/guide").glob("*.md"), *(ROOT / "docs/tutorial").glob("*.md"), ROOT / "docs/stories.md"])


@pytest.mark.parametrize("path", [*EXAMPLES, *STORIES], ids=lambda path: path.stem)
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
    assert len({path.name[:2] for path in EXAMPLES}) == len(EXAMPLES)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_shorter_than_sixty_lines(path):
    assert len(path.read_text().splitlines()) < 60


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_has_its_picture_in_the_gallery(path):
    assert (ROOT / f"docs/images/gallery/{path.stem}.svg").exists(), "run `make gallery`"
    assert f"images/gallery/{path.stem}.svg" in (ROOT / "docs/gallery.md").read_text()


@pytest.mark.parametrize("picture", sorted((ROOT / "docs/images/gallery").glob("*.svg")), ids=lambda one: one.stem)
def test_a_picture_shows_something_and_is_not_heavy(picture):
    """Bars on a logarithmic axis that start at 0 have no width, and look like an empty frame."""
    text = picture.read_text()
    bars = re.findall(r'aria-roledescription="bar"[^>]*? d="M[^hv]*h([-\d.]+)v([-\d.]+)', text)

    assert not bars or any(float(wide) and float(high) for wide, high in bars)
    assert len(text) < 300_000


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_a_story_has_its_picture_and_its_place_on_the_page(path):
    page = (ROOT / "docs/stories.md").read_text()

    assert len(path.read_text().splitlines()) < 100
    assert f"images/gallery/{path.stem}.svg" in page
    assert (ROOT / f"docs/images/gallery/{path.stem}.svg").exists()


@pytest.mark.parametrize("path", [*EXAMPLES, *STORIES], ids=lambda path: path.stem)
def test_the_example_states_its_idea(path):
    idea = ast.get_docstring(syntax(path)) if path.suffix == ".py" else path.read_text().splitlines()[1].strip("# ")

    assert idea


def test_the_site_links_to_the_whole_of_an_example_once():
    """A part that is copied would lack its imports."""
    part = '```python\n--8<-- "examples/40_workloads.py:release"\n```'
    made = whole_examples(f"{part}\nand\n\n{part}\n", up="../")

    assert made.count(part) == 2
    assert made.count("[examples/40_workloads.py](../gallery.md#40-workloads)") == 1


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
def test_a_guide_shows_only_code_that_an_example_runs(page):
    blocks = re.findall(r"^```(?:python|bash|sql|toml|console)\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)
    included = [re.fullmatch(r'--8<-- "(examples/[\w./]+):(\w+)"\n', block) for block in blocks]

    assert all(included), "include it from examples/"
    for found in included:
        assert f"[start:{found[2]}]" in (ROOT / found[1]).read_text()
