"""Write docs/checked.md: for each promise, how its tests ended last, and the figures that they recorded.

    python scripts/promises.py out/tests.xml [out/acceptance.xml ...]

`make test` and `make acceptance` write those files (JUnit).  A test that ran at full counts takes the place of the same
test at reduced ones.  A test of the house checks that the page has every promise and that all of them were held.
"""

from __future__ import annotations

import datetime
import re
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"
OPENING = """# When it was checked

Each [promise](promises.md) with how many of the cases of its tests passed, the last time they ran, and what those tests
recorded. Counts are *full*, or *reduced* where the
long ones were those of `make test` and not of `make acceptance`. Written by `scripts/promises.py`
from the records of the runs.

| | passed | counts | day | figures |
|---|---|---|---|---|
"""
Test = tuple[str, str]  # file, name


@dataclass(frozen=True, slots=True)
class Case:
    """One run of one test with one set of parameters."""

    passed: bool
    full: bool
    day: str
    figures: tuple[str, ...]


def promises() -> dict[str, list[Test]]:
    """The tests of every promise, by its id."""
    rows = re.findall(r"^\| (P\d+) \|(.*)$", (DOCS / "promises.md").read_text(encoding="utf-8"), re.MULTILINE)
    return {name: re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", row) for name, row in rows}


def cases(record: Path) -> Iterator[tuple[Test, Case]]:
    """Every case of a run that was not skipped."""
    for suite in ElementTree.parse(record).getroot().iter("testsuite"):
        day = datetime.datetime.fromisoformat(suite.get("timestamp", "")).date().isoformat()
        for case in suite.iter("testcase"):
            path = case.get("classname", "").replace(".", "/") + ".py"
            name = case.get("name", "").partition("[")[0]
            if case.find("skipped") is None:
                wrong = case.find("failure") is not None or case.find("error") is not None
                figures = tuple(f"{one.get('name')} {one.get('value')}" for one in case.iter("property"))
                yield (path, name), Case(not wrong, _full(record), day, figures)


def _full(record: Path) -> bool:
    return record.stem.startswith("acceptance")


def page(records: list[Path]) -> str:
    """The table: what ran at full counts takes the place of what did not, test by test."""
    found: dict[Test, list[Case]] = {}
    for record in sorted(records, key=_full):
        fresh: dict[Test, list[Case]] = {}
        for test, case in cases(record):
            fresh.setdefault(test, []).append(case)
        found |= fresh
    return OPENING + "".join(_row(name, tests, found) for name, tests in promises().items())


def _scaled(path: str) -> bool:
    """Whether the tests of a file take counts that `make test` reduces."""
    return "from tests.scale import" in (DOCS.parent / path).read_text(encoding="utf-8")


def _row(name: str, tests: list[Test], found: dict[Test, list[Case]]) -> str:
    ran = [case for test in tests for case in found.get(test, [])]
    missing = [test for test in tests if test not in found]
    passed = f"{sum(case.passed for case in ran)} of {len(ran)}"
    passed += f", {len(missing)} tests not run" if missing else ""
    scaled = [case for test in tests if _scaled(test[0]) for case in found.get(test, [])]
    counts = ("full" if all(case.full for case in scaled) else "reduced") if ran else ""
    figures = "; ".join(dict.fromkeys(figure for case in ran for figure in case.figures))
    days = sorted({case.day for case in ran})
    return f"| {name} | {passed} | {counts} | {days[0] if days else ''} | {figures.replace('|', '/')} |\n"


if __name__ == "__main__":
    (DOCS / "checked.md").write_text(page([Path(one) for one in sys.argv[1:]]), encoding="utf-8")
