"""Linear models on Adult, and those that have no peer, beside no privacy; others are in `estimators_peers`."""

from __future__ import annotations

import statistics
import sys
import time
from typing import Any

import numpy as np

from benchmarks import Row, absent, kept, size
from benchmarks.estimators import CLASSED, EPSILONS, FITS, Set, adult, budget, figure, home, main, peer, scores, sets
from discreet.learning import LinearRegression, LinearSVC, LogisticRegression, Ridge

ADULT = {0.1: 0.825, 1.0: 0.843, 10.0: 0.847}  # at least, the median of twenty fits
SECONDS, ADULT_FITS = 5, size(20, quick=2)

PEER = """
import json, sys, numpy as np
from sklearn.model_selection import train_test_split
from diffprivlib.models import LinearRegression
data, about = np.load(sys.argv[1]), json.loads(sys.argv[2])
X, y, low, high = data["X"], data["y"], data["low"].astype(float), data["high"].astype(float)
made = {}
for epsilon in about["epsilons"]:
    scores = []
    for seed in range(about["fits"]):
        A, B, a, b = train_test_split(X, y, test_size=0.3, random_state=seed)
        model = LinearRegression(epsilon=epsilon, bounds_X=(low, high), bounds_y=tuple(about["bounds"]))
        scores.append(float(model.fit(A, a).score(B, b)))
    made[str(epsilon)] = scores
print(json.dumps(made))
"""


def measure() -> list[Row]:
    return table(FITS, home())


def table(fits: int, folder: str | None) -> list[Row]:
    """The figures of all linear models."""
    data = sets()
    rows: list[Row] = []
    for name in CLASSED:
        rows += _classifiers(data[name], fits)
    rows += _regressions(data["diabetes"], fits, (Ridge,))
    rows += _regressions(_line(), min(fits, 20), (LinearRegression, Ridge))
    if folder is None:
        return rows + (
            kept("estimators_linear", starting="Adult, ") or [absent("Adult: DISCREET_DATA names no adult.csv")]
        )
    return rows + _adult(folder)


def _classifiers(data: Set, fits: int) -> list[Row]:
    from sklearn.linear_model import LogisticRegression as Exact
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rows = figure(
        f"{data.name}, logistic regression, not private",
        scores(data, lambda: make_pipeline(StandardScaler(), Exact(max_iter=2000)), min(fits, 20)),
    )
    for epsilon in EPSILONS:
        found = scores(
            data, lambda: LinearSVC(budget=budget(epsilon), domain=data.domain, classes=data.classes), fits  # noqa: B023
        )  # fmt: skip
        rows += figure(f"{data.name}, LinearSVC, epsilon {epsilon:g}", found)
    return rows


def _regressions(data: Set, fits: int, models: tuple[Any, ...]) -> list[Row]:
    from sklearn.linear_model import LinearRegression as Exact

    theirs = peer(PEER, data, fits) if LinearRegression in models else None
    rows = figure(f"{data.name}, least squares, not private", scores(data, Exact, min(fits, 20)), unit="R2")
    if LinearRegression in models and theirs is None:
        rows.append(absent(f"{data.name}, diffprivlib"))
    for epsilon in EPSILONS:
        beside = None if theirs is None else theirs[str(epsilon)]
        for model in models:
            other = beside if model is LinearRegression else None
            found = scores(
                data, lambda: model(budget=budget(epsilon), domain=data.domain, bounds=data.bounds), fits  # noqa: B023
            )  # fmt: skip
            rows += figure(f"{data.name}, {model.__name__}, epsilon {epsilon:g}", found, other, unit="R2")
    return rows


def _line() -> Set:
    """A hundred thousand rows on a line with noise, ten columns."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (size(100_000, quick=2000), 10))
    exact = X @ rng.normal(size=10)
    y = exact + rng.normal(0, float(exact.std()) * 0.365, len(X))
    return Set("line of 100,000 rows", X, y, (-1.0,) * 10, (1.0,) * 10, bounds=(-8.0, 8.0))


def _adult(folder: str) -> list[Row]:
    table, domain, target = adult(folder)
    rows: list[Row] = []
    for epsilon in EPSILONS:
        found, seconds = [], []
        for seed in range(ADULT_FITS):
            order = np.random.default_rng(seed).permutation(len(table))
            train, test = table.iloc[order[: int(0.8 * len(table))]], table.iloc[order[int(0.8 * len(table)) :]]
            start = time.process_time()
            model = LogisticRegression(budget=budget(epsilon), domain=domain).fit(train[list(domain)], train[target])
            seconds.append(time.process_time() - start)
            found.append(float(model.score(test[list(domain)], test[target])))
        least, middle, slow = ADULT[epsilon], statistics.median(found), max(seconds)
        what = f"Adult, LogisticRegression, epsilon {epsilon:g}"
        rows += [
            Row(what=what, value=middle, unit="accuracy", promise=f">= {least}", holds=middle >= least),
            Row(what=f"{what}, slowest fit", value=slow, unit="CPU s", promise=f"<= {SECONDS}", holds=slow <= SECONDS),
        ]
    return rows


if __name__ == "__main__":
    sys.exit(main("linear"))
