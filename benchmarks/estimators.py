"""Estimators against diffprivlib's and against none: accuracy or R2 on held-out rows, all in one run.

    python -m benchmarks.estimators_<part> [fits] [folder with adult.csv]

Bounds are declared by hand and written down here; nothing is read off the data.  Each fit draws a new split of 70/30
and new noise; a figure is the mean of the fits with a 95 % interval.  diffprivlib runs in an interpreter of its own,
because it needs an older scikit-learn: DISCREET_PEERS names it, or .venv-peers/bin/python; without one, the table says
so.  Each module estimators_<part> has `table(fits, folder)`, and stores its own figures; this one is what they share.
The folder is DISCREET_DATA unless it is named; without one, the figures of the last run with Adult are kept.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks import Row, publish, size
from discreet.data.columns import Categorical, Integer, Real
from discreet.data.domain import Domain
from discreet.privacy.guarantee import ApproxDP

FITS = size(200, quick=2)
EPSILONS = size((0.1, 1.0, 10.0), quick=(1.0,))
CLASSED = size(("iris", "breast cancer", "digits"), quick=("iris",))  # sets with classes that are measured
DELTA = 1e-6
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Set:
    """Rows with declared bounds: `low` and `high` of every column, and of the target or its classes."""

    name: str
    X: Floats
    y: npt.NDArray[Any]
    low: tuple[float, ...]
    high: tuple[float, ...]
    classes: tuple[int, ...] = ()
    bounds: tuple[float, float] = (0.0, 1.0)

    @property
    def domain(self) -> Domain:
        """The columns as numbers."""
        ends = zip(self.low, self.high, strict=True)
        return Domain({f"c{place}": Real(str(low), str(high)) for place, (low, high) in enumerate(ends)})


def sets() -> dict[str, Set]:
    """Iris, breast cancer, digits and diabetes."""
    from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris

    iris: Any = load_iris()
    cancer: Any = load_breast_cancer()
    digits: Any = load_digits()
    diabetes: Any = load_diabetes()
    tall = {"radius": 40.0, "texture": 60.0, "perimeter": 300.0, "area": 5000.0}
    high = tuple(next((tall[word] for word in tall if word in name), 2.0) for name in cancer.feature_names)
    return {
        "iris": Set("iris", iris.data, iris.target, (4, 2, 1, 0), (8, 5, 7, 3), classes=(0, 1, 2)),
        "breast cancer": Set("breast cancer", cancer.data, cancer.target, (0.0,) * 30, high, classes=(0, 1)),
        "digits": Set("digits", digits.data, digits.target, (0,) * 64, (16,) * 64, classes=tuple(range(10))),
        "diabetes": Set("diabetes", diabetes.data, diabetes.target, (-0.2,) * 10, (0.2,) * 10, bounds=(0.0, 400.0)),
    }


def adult(folder: str) -> tuple[Any, Domain, str]:
    """The Adult table and its declaration: five columns are numbers, the others lists of codes."""
    import pandas as pd

    rows = pd.read_csv(Path(folder) / "adult.csv")
    sizes = json.loads((Path(folder) / "adult-domain.json").read_text(encoding="utf-8"))
    numbers = {"age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"}
    target = "income>50K"
    columns = {
        name: Integer(0, size - 1) if name in numbers else Categorical(list(range(size)))
        for name, size in sizes.items()
        if name != target
    }
    return rows, Domain(columns), target


def split(data: Set, seed: int) -> tuple[Floats, Floats, npt.NDArray[Any], npt.NDArray[Any]]:
    """Rows and targets to learn from, and to judge by."""
    from sklearn.model_selection import train_test_split

    X, held, y, truth = (
        np.asarray(part) for part in train_test_split(data.X, data.y, test_size=0.3, random_state=seed)
    )
    return X, held, y, truth


def scores(data: Set, make: Callable[[], Any], fits: int) -> list[float]:
    """The score of each fit on rows it has not seen."""
    found = []
    for seed in range(fits):
        X, held, y, truth = split(data, seed)
        found.append(float(make().fit(X, y).score(held, truth)))
    return found


def budget(epsilon: float) -> ApproxDP:
    """What a fit may cost."""
    return ApproxDP(epsilon, DELTA)


def interval(found: list[float]) -> tuple[float, float]:
    """The mean, and half the width of its 95 % interval."""
    values = np.asarray(found)
    return float(values.mean()), float(1.96 * values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def figure(what: str, found: list[float], peer: list[float] | None = None, unit: str = "accuracy") -> list[Row]:
    """The figure with its interval; beside the peer's, it is promised to be no worse, up to its interval."""
    mean, half = interval(found)
    if peer is None:
        return [Row(what=f"{what} (+- {half:.3f})", value=mean, unit=unit)]
    theirs, off = interval(peer)
    holds = mean + half >= theirs
    return [
        Row(
            what=f"{what} (+- {half:.3f})",
            value=mean,
            unit=unit,
            promise=f">= {theirs:.4g}",
            holds=holds,
        ),
        Row(what=f"{what}: diffprivlib (+- {off:.3g})", value=theirs, unit=unit),
    ]


def interpreter() -> str | None:
    """The peers' interpreter, where there is one."""
    python = os.environ.get("DISCREET_PEERS") or str(Path(".venv-peers/bin/python").absolute())
    return python if Path(python).exists() else None


def peer(script: str, data: Set, fits: int, **settings: object) -> dict[str, list[float]] | None:
    """Run a script in the peers' interpreter: it reads X, y and settings, and prints scores by name as JSON."""
    python = interpreter()
    if python is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder) / "data.npz", X=data.X, y=data.y, low=np.array(data.low), high=np.array(data.high))
        about = json.dumps({"fits": fits, "bounds": data.bounds, "epsilons": EPSILONS, **settings})
        run = subprocess.run(
            [python, "-W", "ignore", "-c", script, str(Path(folder) / "data.npz"), about],
            capture_output=True, text=True, check=False, timeout=7200,
        )  # fmt: skip
    if run.returncode:
        return None
    return json.loads(run.stdout.splitlines()[-1])


def home() -> str | None:
    """The folder with adult.csv, where one is named that has it."""
    folder = os.environ.get("DISCREET_DATA")
    return folder if folder and (Path(folder) / "adult.csv").exists() else None


def main(part: str) -> int:
    """Run one part."""
    fits = int(sys.argv[1]) if len(sys.argv) > 1 else FITS
    folder = sys.argv[2] if len(sys.argv) > 2 else home()
    module = importlib.import_module(f"benchmarks.estimators_{part}")
    return 0 if publish(f"estimators_{part}", module.table(fits, folder)) else 1
