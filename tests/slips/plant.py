"""Plant a slip in a copy of the source, run the tests that should notice it, and say whether they do.

    python -m tests.slips.plant [names]

A slip is plausible: what a tired author might write and a reviewer might pass.  Each names the tests that must fail.
Every run is a fork of one process that has loaded the libraries, not this package.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import shutil
import sys
import tempfile
import time
import tomllib
import traceback
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
LIBRARIES = ("numpy", "scipy.stats", "pandas", "pyarrow", "duckdb", "sklearn", "sqlalchemy", "mpmath", "numba")


@dataclass(frozen=True, slots=True)
class Slip:
    """What to replace with what in which file below src/discreet, and the tests that must notice."""

    name: str
    file: str
    old: str
    new: str
    tests: str  # as pytest takes them, below tests/

    @property
    def path(self) -> Path:
        return Path("discreet") / self.file

    def planted(self, source: str) -> str:
        """The source with the slip: the old text stands in it exactly once."""
        if source.count(self.old) != 1:
            raise ValueError(f"{self.name}: the text to replace stands {source.count(self.old)} times in {self.file}")
        return source.replace(self.old, self.new)


NONE = Slip("no slip", "errors.py", "class DiscreetError(", "class DiscreetError(", "hazmat/test_words.py")


def slips() -> list[Slip]:
    """All of them, as they are written beside this module."""
    with (Path(__file__).parent / "planted.toml").open("rb") as file:
        return [Slip(**one) for one in tomllib.load(file)["slip"]]


def noticed(slip: Slip, source: Path) -> bool:
    """Whether its tests fail on a copy of the source with this slip, at `source`."""
    place = source / slip.path
    right = place.read_text(encoding="utf-8")
    place.write_text(slip.planted(right), encoding="utf-8")
    try:
        child = os.fork()
        if child == 0:
            os._exit(_run(slip, source))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code not in (0, 1):
            raise RuntimeError(f"{slip.name}: its tests did not run\n{(source.parent / 'told').read_text()[-2000:]}")
        return code == 1
    finally:
        place.write_text(right, encoding="utf-8")


def _run(slip: Slip, source: Path) -> int:
    import pytest

    os.chdir(ROOT)
    os.environ.update(PYTHONPATH=str(source), PYTHONDONTWRITEBYTECODE="1", NUMBA_CACHE_DIR=str(source / "numba"))
    os.environ.pop("DISCREET_ACCEPTANCE", None)  # the counts of `make test` must be enough
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(source))
    tests = [f"tests/{one}" for one in slip.tests.split()]
    told = os.open(source.parent / "told", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(told, 1)
    os.dup2(told, 2)
    try:
        return int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *tests]))
    except BaseException:
        traceback.print_exc()
        return 3


@contextlib.contextmanager
def copied():
    """A copy of src/ to plant in."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "src", Path(folder) / "src", ignore=shutil.ignore_patterns("__pycache__"))
        yield Path(folder) / "src"


def main(words: list[str]) -> int:
    for library in LIBRARIES:
        importlib.import_module(library)
    chosen = [slip for slip in [*slips(), NONE] if (slip is not NONE if not words else slip.name in words)]
    missed = []
    with copied() as source:
        for slip in chosen:
            before = time.perf_counter()
            found = noticed(slip, source)
            print(f"{'noticed' if found else 'MISSED '} {time.perf_counter() - before:6.1f} s  {slip.name}", flush=True)
            missed += [] if found else [slip.name]
    print(f"{len(chosen) - len(missed)} of {len(chosen)} slips noticed: {', '.join(slip.name for slip in chosen)}")
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
