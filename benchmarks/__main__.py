"""Run every benchmark in the folder, and fail at the end if a promise does not hold or one could not be run."""

from __future__ import annotations

import importlib
import pkgutil
import sys
import traceback
from pathlib import Path

import benchmarks


def main(folder: Path = benchmarks.RESULTS) -> int:
    """All of them, whatever happens to one: what failed is shown at the end, and the others are published."""
    names = [found.name for found in pkgutil.iter_modules(benchmarks.__path__) if found.name != "__main__"]
    broken, failed = [], []
    for name in names:
        try:
            module = importlib.import_module(f"benchmarks.{name}")
            if hasattr(module, "measure") and not benchmarks.publish(name, module.measure(), folder=folder):
                broken.append(name)
        except Exception:
            traceback.print_exc()
            failed.append(name)
    print(
        f"\npromises that do not hold: {', '.join(broken) or 'none'}; could not be run: {', '.join(failed) or 'none'}"
    )
    return 1 if broken or failed else 0


if __name__ == "__main__":
    sys.exit(main())
