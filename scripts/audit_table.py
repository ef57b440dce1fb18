"""The table and the picture of the audit of everything public: docs/guide/audit.md, docs/images/audit.svg.

    python scripts/audit_table.py          runs `discreet audit --all`, which takes minutes, and keeps out/audit.json
    python scripts/audit_table.py FILE     reads out/audit.json, or what `discreet audit --all --json > FILE` printed

The day, the machine and the seconds are written beside the table.  Of a file that was printed by the command the day is
that of the file, and the seconds are those of its rows over two processes.
"""

from __future__ import annotations

import json
import math
import os
import platform
import subprocess
import sys
import time
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from discreet.curator.audits.finding import Finding
from discreet.curator.audits.picture import save
from discreet.curator.audits.table import markdown

HERE = Path(__file__).resolve().parent.parent
PAGE, PICTURE, KEPT = HERE / "docs/guide/audit.md", HERE / "docs/images/audit.svg", HERE / "out/audit.json"
BEGIN, END = "<!-- the table of scripts/audit_table.py -->", "<!-- end of the table -->"
WORKERS = 2


def main() -> None:
    """Run or read, and write."""
    told = read(Path(sys.argv[1])) if len(sys.argv) > 1 else ran()
    found = [finding(row) for row in told["findings"]]
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), about(told, found)), encoding="utf-8")
    save(found, PICTURE)
    print(f"{len(found)} rows in {PAGE.relative_to(HERE)}, drawn in {PICTURE.relative_to(HERE)}")
    if any(one.violated for one in found):
        sys.exit(1)


def ran() -> dict[str, Any]:
    """What the command finds now, with the seconds that it took."""
    KEPT.parent.mkdir(exist_ok=True)
    command = [str(Path(sys.executable).with_name("discreet")), "audit", "--all", "--json", "--workers", str(WORKERS)]
    started, before = time.perf_counter(), os.times()
    made = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if made.returncode not in (0, 1):
        sys.exit(made.returncode)
    after = os.times()
    told = {
        "day": datetime.now(tz=UTC).date().isoformat(),
        "machine": machine(),
        "seconds": time.perf_counter() - started,
        "processor": after.children_user + after.children_system - before.children_user - before.children_system,
        "findings": json.loads(made.stdout),
    }
    KEPT.write_text(json.dumps(told, indent=2), encoding="utf-8")
    return told


def read(file: Path) -> dict[str, Any]:
    """What was kept, or what the command printed."""
    found = json.loads(file.read_text(encoding="utf-8"))
    if isinstance(found, dict):
        return found
    day = datetime.fromtimestamp(file.stat().st_mtime, tz=UTC).date().isoformat()
    total = sum(row["seconds"] for row in found)
    return {"day": day, "machine": machine(), "seconds": total / WORKERS, "processor": total, "findings": found}


def machine() -> str:
    """The processor, and how many of it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{os.cpu_count()} cores of {names[0] if names else platform.machine()}"


def finding(row: dict[str, Any]) -> Finding:
    """A row as it was found."""
    known: dict[str, Any] = {each.name: row[each.name] for each in fields(Finding) if each.name in row}
    known["violations"] = tuple(part for part in str(row.get("violations", "")).split("; ") if part)
    known |= {key: math.inf for key, value in known.items() if value == "infinite"}
    return Finding(**known)


def about(told: dict[str, Any], found: list[Finding]) -> str:
    """The picture, where it comes from, and the table."""
    minutes, processor = told["seconds"] / 60, told["processor"]
    said = (
        f"Written on {told['day']} by `scripts/audit_table.py`, which runs `discreet audit --all`,"
        f" on {told['machine']}: {minutes:.1f} minutes with {WORKERS} processes,"
        f" {processor:.0f} seconds of processor time."
    )
    picture = "![What audits find of every claim, and of every broken twin](../images/audit.svg)"
    return f"{picture}\n\n{said}\n\n{markdown(found)}"


def written(page: str, table: str) -> str:
    """The page with this between its marks."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise SystemExit(f"need the marks {BEGIN} and {END} in {PAGE.name}")
    return f"{before}{BEGIN}\n\n{table}\n\n{END}{after}"


if __name__ == "__main__":
    main()
