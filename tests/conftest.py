"""How every test runs: hypothesis repeats itself, and `make acceptance` keeps only the long checks."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

from tests.scale import FULL
from tests.services import fresh_postgres_url as fresh_postgres_url
from tests.services import postgres_server as postgres_server
from tests.services import postgres_url as postgres_url

# Examples are derived from the test itself, so that a run never flakes; the full run looks for new ones.
settings.register_profile(
    "house", deadline=None, derandomize=not FULL, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("house")


def _is_long(item: pytest.Item) -> bool:
    """Whether the test draws samples or scales its repetitions by tests/scale.py."""
    marked = any(item.get_closest_marker(name) for name in ("statistical", "acceptance"))
    return marked or (isinstance(item, pytest.Function) and hasattr(item.module, "counts"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    addresses = [item.nodeid for item in items if " at 0x" in item.nodeid]
    if addresses:  # noise is keyed by the name, and workers must agree on it
        raise pytest.UsageError(f"need names that are the same in every process, got {addresses[0]}")
    if FULL:
        config.hook.pytest_deselected(items=[item for item in items if not _is_long(item)])
        items[:] = [item for item in items if _is_long(item)]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line a check: what it measured (record_property), how long it took, whether it held."""
    if not FULL:
        return
    terminalreporter.section("acceptance")
    reports = [
        report
        for outcome in ("passed", "failed")
        for report in terminalreporter.stats.get(outcome, [])
        if getattr(report, "when", "") == "call"
    ]
    for report in sorted(reports, key=lambda report: report.nodeid):
        measured = "  ".join(f"{name}={value}" for name, value in report.user_properties)
        terminalreporter.line(f"{report.outcome:7} {report.duration:8.1f} s  {report.nodeid}  {measured}")
    held = sum(report.passed for report in reports)
    terminalreporter.line(f"{held} of {len(reports)} checks hold")
