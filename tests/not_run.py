"""What a run did not run is counted and shown at its end; in `make test` and `make acceptance` it is a failure.

A module that is skipped as a whole counts as many as it has test functions: it would otherwise vanish without a number.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

WHOLE = os.environ.get("DISCREET_WHOLE") == "1"  # set by the Makefile: everything is meant to run
# Reasons that a whole run may have: packages that no lock of the tests holds, and checks of whole runs only.
ALLOWED = ("could not import 'prv_accountant'", "only part of the suite was asked for")


@dataclass(frozen=True, slots=True)
class Missing:
    """A test, or a module of tests, that was not run."""

    name: str
    reason: str
    functions: int

    @property
    def allowed(self) -> bool:
        return any(reason in self.reason for reason in ALLOWED)


def functions(path: Path) -> int:
    """How many tests a module has, before they are parametrised."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return sum(isinstance(one, ast.FunctionDef) and one.name.startswith("test_") for one in ast.walk(tree))


def missing(reports: Iterable[object], root: Path) -> list[Missing]:
    """What these reports of skips stand for."""
    found = []
    for report in reports:
        name = getattr(report, "nodeid", "")
        longrepr = getattr(report, "longrepr", None)
        reason = str(longrepr[2] if isinstance(longrepr, tuple) else longrepr)
        module = isinstance(report, pytest.CollectReport) and name.endswith(".py")
        found.append(Missing(name, reason, functions(root / name) if module else 1))
    return found


def _of(config: pytest.Config) -> list[Missing]:
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    return [] if reporter is None else missing(reporter.stats.get("skipped", []), config.rootpath)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line for each, and how many they are."""
    found = _of(terminalreporter.config)
    if not found:
        return
    terminalreporter.section("not run")
    for one in sorted(found, key=lambda one: one.name):
        terminalreporter.line(f"{one.functions:4} {one.name}: {one.reason}{'' if one.allowed else '  (MISSING)'}")
    terminalreporter.line(f"{sum(one.functions for one in found)} test functions were not run")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """A run that is meant to be whole, and is not, has failed."""
    ended_well = session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
    if WHOLE and ended_well and not all(one.allowed for one in _of(session.config)):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
