"""Run every benchmark in the folder, and fail if a promise does not hold."""

from __future__ import annotations

import importlib
import pkgutil
import sys

import benchmarks


def main() -> int:
    names = [found.name for found in pkgutil.iter_modules(benchmarks.__path__) if found.name != "__main__"]
    modules = {name: importlib.import_module(f"benchmarks.{name}") for name in names}
    held = [
        benchmarks.publish(name, module.measure()) for name, module in modules.items() if hasattr(module, "measure")
    ]
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
