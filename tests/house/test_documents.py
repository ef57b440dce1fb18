"""The documents are complete: what exists is described, and what is described exists."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from functools import cache

import pytest

from discreet import errors
from scripts.reference import LAYERS, helps, pages, public_names
from tests.house.repository import PACKAGE, ROOT, calls, modules, named, syntax

THEORY = ROOT / "docs/theory"
NAMES = [(layer, name) for layer in LAYERS for name in public_names(layer)]
RAISED = {named(call.func) for path in modules(PACKAGE) for call in calls(path)}  # every name the package calls
WITHOUT_THEORY = {"__init__", "base"}  # a list of names, and a protocol


PAGES = pages()  # made once: each run of the script takes a second


@pytest.mark.parametrize("page", sorted(PAGES))
def test_pages_written_from_the_source_say_what_it_says(page):
    assert (ROOT / "docs" / page).read_text() == PAGES[page], "run `make reference`"


@pytest.mark.parametrize(("layer", "name"), NAMES)
def test_every_public_name_has_an_entry_and_a_docstring(layer, name):
    thing = getattr(importlib.import_module(f"discreet.{layer}"), name)

    assert f"::: discreet.{layer}.{name}\n" in PAGES[f"reference/{layer}.md"]
    if inspect.isclass(thing) or inspect.isroutine(thing):
        assert inspect.getdoc(thing)


@pytest.mark.parametrize(("command", "help"), [pytest.param(*found, id=found[0]) for found in helps()])
def test_every_command_has_an_entry_and_explains_its_options(command, help):
    options = [line for line in help.splitlines() if re.match(r"  -", line)]

    assert f"\n## {command}\n" in (ROOT / "docs/reference/cli.md").read_text()
    assert [line for line in options if not re.search(r"\S {2,}\S", line)] == []


def _shows(thing: object) -> bool:
    """Whether its docstring, or that of a method of ours, has an example that runs."""
    methods = inspect.getmembers(thing, inspect.isroutine) if inspect.isclass(thing) else []
    ours = [method for _, method in methods if str(getattr(method, "__module__", "")).startswith("discreet")]
    return any(">>> " in (inspect.getdoc(one) or "") for one in (thing, *ours))


@pytest.mark.parametrize(("layer", "name"), NAMES)
def test_every_public_name_shows_an_example_that_runs(layer, name):
    thing = getattr(importlib.import_module(f"discreet.{layer}"), name)

    assert _shows(thing) or not (inspect.isclass(thing) or inspect.isroutine(thing))


@cache
def _raised_in_tests() -> frozenset[str]:
    raised = (call for path in modules(ROOT / "tests") for call in calls(path) if named(call.func) == "raises")
    return frozenset(named(word) for call in raised for arg in call.args for word in ast.walk(arg) if named(word))


ERRORS = sorted(name for name, thing in vars(errors).items() if inspect.isclass(thing) and name != "DiscreetError")


@pytest.mark.parametrize("error", [name for name in ERRORS if name in RAISED])
def test_every_error_is_raised_by_an_example_in_the_tests(error):
    assert error in _raised_in_tests()


@pytest.mark.parametrize("error", ERRORS)
def test_the_docstring_of_every_error_raises_it(error):
    shown = inspect.getdoc(getattr(errors, error)) or ""

    assert ">>> " in shown
    assert f"\ndiscreet.errors.{error}: " in shown


@pytest.mark.parametrize("error", ERRORS)
def test_the_tree_of_errors_is_drawn(error):
    assert f"── {error} " in (errors.__doc__ or "")


def _mentioned(text: str) -> set[str]:
    return set(re.findall(r"docs/[\w/-]+\.md", text))


@pytest.mark.parametrize("path", modules(PACKAGE), ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_every_page_a_module_cites_exists(path):
    assert [page for page in sorted(_mentioned(path.read_text())) if not (ROOT / page).exists()] == []


@pytest.mark.parametrize(
    "path",
    [
        path
        for layer in ("mechanisms", "composition")
        for path in modules(PACKAGE / layer)
        if path.stem not in WITHOUT_THEORY and not path.stem.startswith("_")
    ],
    ids=lambda path: path.relative_to(PACKAGE).as_posix(),
)
def test_every_module_of_a_theory_folder_has_a_theory_page(path):
    cited = {page for page in _mentioned(ast.get_docstring(syntax(path)) or "") if page.startswith("docs/theory/")}

    assert cited or (THEORY / f"{path.stem}.md").exists()


@pytest.mark.parametrize("folder", ["theory", "adr", "guide", "reference"])
def test_every_page_is_linked_from_the_index_of_its_folder(folder):
    index = (ROOT / "docs" / folder / "index.md").read_text()
    linked = set(re.findall(r"\]\(([\w-]+\.md)\)", index))
    there = {page.name for page in (ROOT / "docs" / folder).glob("*.md")} - {"index.md"}

    assert linked == there


def test_every_theory_page_opens_with_its_title():
    assert [page.name for page in THEORY.glob("*.md") if not page.read_text().startswith("# ")] == []


def _tests(path: str) -> set[str]:
    return {node.name for node in ast.walk(syntax(ROOT / path)) if isinstance(node, ast.FunctionDef)}


PROMISES = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", (ROOT / "docs/promises.md").read_text())


def test_every_promise_names_a_test():
    rows = [line for line in (ROOT / "docs/promises.md").read_text().splitlines() if re.match(r"\| P\d", line)]

    assert len(rows) >= 50
    assert [row for row in rows if not re.search(r"`tests/[\w/]+\.py::test_\w+`", row)] == []


def test_every_promise_was_held_the_last_time():
    ids = re.findall(r"^\| (P\d+) \|", (ROOT / "docs/promises.md").read_text(), re.MULTILINE)
    rows = re.findall(r"^\| (P\d+) \| (\d+) of (\d+) \|", (ROOT / "docs/checked.md").read_text(), re.MULTILINE)

    assert [name for name, _, _ in rows] == ids  # `make promises` writes the page
    assert [row for row in rows if row[1] != row[2] or row[1] == "0"] == []


@pytest.mark.parametrize(("path", "name"), PROMISES)
def test_the_test_that_holds_a_promise_exists(path, name):
    assert name.startswith("test_")
    assert name in _tests(path)
