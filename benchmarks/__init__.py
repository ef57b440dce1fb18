"""Speed and accuracy against peers and against the limit, as ratios measured in one run.

Each module here has `measure()`, which returns rows; `python -m benchmarks.noise` runs one
module and `python -m benchmarks` all of them.  Rows are printed as a table and written to
`benchmarks/results/`, so that a regression shows as a diff.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
from dataclasses import asdict, dataclass, replace
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One figure; `holds` is None where nothing is promised, and `since` says of which run it is, where not of this."""

    what: str
    value: float
    unit: str
    promise: str = ""
    holds: bool | None = None
    since: str = ""


def kept(name: str, *, starting: str = "", folder: Path = RESULTS) -> list[Row]:
    """The figures of the last run, for what this machine lacks: each says when and where it was measured."""
    path = folder / f"{name}.json"
    if not path.exists():
        return []
    made = json.loads(path.read_text(encoding="utf-8"))
    since = f"{made['day']}, {made['machine']}"
    rows = [Row(**({"since": since} | record)) for record in made["rows"] if record["what"].startswith(starting)]
    return [replace(row, since=row.since or since) for row in rows]


def absent(what: str) -> Row:
    """In place of what cannot be measured here."""
    return Row(what=f"{what}: not measured", value=float("nan"), unit="")


def publish(name: str, rows: list[Row], *, folder: Path = RESULTS) -> bool:
    """Print the rows, write them to <folder>/<name>.json with day and machine, and say whether every promise holds."""
    short = name.rsplit(".", maxsplit=1)[-1]
    width = max([len(row.what) for row in rows], default=0)
    print(f"\n{short}")
    for row in rows:
        verdict = "" if row.holds is None else "  holds" if row.holds else "  FAILS"
        promise = f"  need {row.promise}" if row.promise else ""
        since = f"  (kept: {row.since})" if row.since else ""
        print(f"  {row.what:{width}}  {row.value:12.4g} {row.unit}{promise}{verdict}{since}")
    folder.mkdir(exist_ok=True)
    records = [asdict(row) | {"value": float(f"{row.value:.4g}")} for row in rows]
    made = {"day": today(), "machine": machine(), "rows": records}
    (folder / f"{short}.json").write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    return all(row.holds is not False for row in rows)


def today() -> str:
    """The day of a measurement."""
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def machine() -> str:
    """Where a measurement was made: cores, processor, Python."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines() if Path("/proc/cpuinfo").exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{os.cpu_count()} cores, {names[0] if names else platform.machine()}, Python {platform.python_version()}"
