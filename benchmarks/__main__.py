"""Run every benchmark in the folder, and fail at the end if a promise does not hold or one could not be run.

python -m benchmarks [--quick] [name ...]
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import benchmarks


def main(folder: Path = benchmarks.RESULTS, *, only: list[str] | None = None) -> int:
    """All of them, whatever happens to one: what failed is shown at the end, and the others are published."""
    broken, failed, missing = [], [], []
    for name in only or benchmarks.names():
        start = time.process_time()
        rows = benchmarks.run(name, folder=folder)
        if rows is None:
            failed.append(name)
            continue
        if any(row.holds is False for row in rows) and not benchmarks.is_quick():
            broken.append(name)
        missing += [
            f"{name}: {row.what.removesuffix(benchmarks.ABSENT)}"
            for row in rows
            if row.what.endswith(benchmarks.ABSENT)
        ]
        missing += [f"{name}: figures kept from {since}" for since in dict.fromkeys(row.since for row in rows) if since]
        if rows:
            print(f"  {name}: {time.process_time() - start:.1f} CPU s of this process", flush=True)
    print("\nnot measured here:", *(missing or ["nothing"]), sep="\n  ")
    print(f"promises that do not hold: {', '.join(broken) or 'none'}; could not be run: {', '.join(failed) or 'none'}")
    if benchmarks.is_quick():
        print("a quick run: sizes are the smallest, nothing is promised and no figure was written")
    return 1 if broken or failed else 0


if __name__ == "__main__":
    asked = sys.argv[1:]
    if "--quick" in asked:
        os.environ["DISCREET_QUICK"] = "1"  # before a benchmark is imported; those it starts inherit it
    sys.exit(main(only=[name for name in asked if name != "--quick"]))
