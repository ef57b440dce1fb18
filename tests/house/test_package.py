"""The package as installed: quick to import, small modules, nothing heavy until it is used."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions

import pytest

import discreet
from tests.house.repository import PACKAGE, ROOT, modules, syntax

SIZE = 600  # lines of a module: it is split where a second idea starts, and no thought is longer
SLOW = {"altair", "dp_accounting", "duckdb", "hypothesis", "mkdocs", "numba", "numpy", "pandas", "pyarrow", "scipy"}
SLOW |= {"sqlalchemy", "sqlglot"}


def _loaded(statement: str) -> set[str]:
    """The slow packages that are loaded after a statement in a new interpreter."""
    program = f"import sys; {statement}; print(*{{name.split('.')[0] for name in sys.modules}})"
    run = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    return SLOW.intersection(run.stdout.split())


@pytest.mark.parametrize("statement", ["import discreet", "import discreet.errors, discreet.privacy"])
def test_importing_the_package_loads_nothing_slow(statement):
    assert _loaded(statement) == set()


def test_importing_the_mechanisms_loads_no_compiler_and_no_accountant():
    assert _loaded("import discreet.mechanisms, discreet.composition, discreet.hazmat") <= {"numpy"}


def test_importing_the_curator_and_the_command_line_loads_no_engine_no_parser_and_no_database():
    statement = "import discreet.curator, discreet.data, discreet.queries, discreet.ledger, discreet.cli"

    assert _loaded(statement) <= {"numpy"}


def test_a_slow_import_would_be_seen():
    assert _loaded("import numpy") == {"numpy"}


@pytest.mark.parametrize("name", dir(discreet))
def test_every_name_of_the_package_can_be_had(name):
    assert getattr(discreet, name) is not None


def test_an_unknown_name_is_refused_like_in_any_module():
    with pytest.raises(AttributeError, match="no attribute 'Laplac'"):
        discreet.Laplac  # noqa: B018 - the lookup is the test


@pytest.mark.parametrize("path", modules(PACKAGE), ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_a_module_is_one_idea_and_is_said_in_its_first_line(path):
    text = path.read_text()

    assert len(text.splitlines()) <= SIZE
    assert text.startswith('"""') or path.stem == "_version"
    assert "TODO" not in text


def _imported() -> set[str]:
    """The first word of every import in the package."""
    nodes = [node for path in modules(PACKAGE) for node in ast.walk(syntax(path))]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    return {name.split(".")[0] for name in names} - {"discreet"} - sys.stdlib_module_names


@pytest.mark.parametrize("module", sorted(_imported()))
def test_everything_imported_is_declared(module):
    """What is not installed, such as PyTorch, is declared under the name it is imported by."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needs = [need for needs in project["optional-dependencies"].values() for need in needs] + project["dependencies"]
    declared = {re.match(r"[\w.-]+", need)[0].lower() for need in needs}

    assert {name.lower().replace("_", "-") for name in packages_distributions().get(module, [module])} & declared
