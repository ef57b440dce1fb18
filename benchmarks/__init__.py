"""Speed and accuracy against peers and against the limit, as ratios measured in one run.

Each module here has `measure()`, which returns rows; `python -m benchmarks.noise` runs one
module and `python -m benchmarks` all of them.  Rows are printed as a table and written to
`benchmarks/results/`, so that a regression shows as a diff.

`python -m benchmarks --quick`, or DISCREET_QUICK=1 before either, runs everything at its smallest
meaningful size: it shows that all of them run, promises nothing and writes no figure.
"""

from __future__ import annotations

import datetime
import importlib
import json
import math
import os
import pkgutil
import platform
import traceback
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TypeVar

RESULTS = Path(__file__).parent / "results"
ABSENT = ": not measured"
Size = TypeVar("Size")


def is_quick() -> bool:
    """Whether this run shows only that everything runs."""
    return os.environ.get("DISCREET_QUICK") == "1"


def size(full: Size, *, quick: Size) -> Size:
    """How much a benchmark measures: in full, or the least that has a meaning.

    Titles name the sizes in full.
    """
    return quick if is_quick() else full


def names() -> list[str]:
    """The modules of the folder, in the order in which they run."""
    return [found.name for found in pkgutil.iter_modules(__path__) if found.name != "__main__"]


def run(name: str, *, folder: Path = RESULTS) -> list[Row] | None:
    """Measure and publish one; no rows where it only serves others, None where it died, which is shown.

    Where a package of others is not installed nothing is published, and what the last run found stays.
    """
    try:
        module = importlib.import_module(f"benchmarks.{name}")
        rows = module.measure() if hasattr(module, "measure") else []
        if rows:
            own = hasattr(module, "STORED") and folder == RESULTS  # a table of its own shape, that it writes itself
            publish(name, rows, folder=None if own else folder)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in {"", "discreet", "benchmarks"}:  # our own mistake
            traceback.print_exc()
            return None
        rows = [absent(f"all of it: {package} is not installed")]
        publish(name, rows, folder=None)
    except Exception:
        traceback.print_exc()
        return None
    return rows


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
    rows = [row if row.value is not None else replace(row, value=math.nan) for row in rows]
    return [replace(row, since=row.since or since) for row in rows]


def absent(what: str) -> Row:
    """In place of what cannot be measured here."""
    return Row(what=f"{what}{ABSENT}", value=math.nan, unit="")


def publish(name: str, rows: list[Row], *, folder: Path | None = RESULTS) -> bool:
    """Print the rows, write them to <folder>/<name>.json with day and machine, and say whether every promise holds.

    A quick run promises nothing, and its figures are never written over those that count.
    """
    short = name.rsplit(".", maxsplit=1)[-1]
    width = max([len(row.what) for row in rows], default=0)
    print(f"\n{short}{' (quick: the sizes are not those of the titles)' if is_quick() else ''}")
    for row in rows:
        verdict = "" if row.holds is None or is_quick() else "  holds" if row.holds else "  FAILS"
        promise = f"  need {row.promise}" if row.promise and not is_quick() else ""
        since = f"  (kept: {row.since})" if row.since else ""
        print(f"  {row.what:{width}}  {row.value:12.4g} {row.unit}{promise}{verdict}{since}")
    holds = is_quick() or all(row.holds is not False for row in rows)
    if folder is None or (is_quick() and folder.resolve() == RESULTS.resolve()):
        return holds
    folder.mkdir(exist_ok=True)
    records = [
        asdict(row) | {"value": None if math.isnan(row.value) else float(f"{row.value:.4g}")} for row in rows
    ]  # JSON has no word for what is no number
    made = {"day": today(), "machine": machine(), "rows": records}
    (folder / f"{short}.json").write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    return holds


def today() -> str:
    """The day of a measurement."""
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def machine() -> str:
    """Where a measurement was made: cores, processor, Python."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines() if Path("/proc/cpuinfo").exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{os.cpu_count()} cores, {names[0] if names else platform.machine()}, Python {platform.python_version()}"
