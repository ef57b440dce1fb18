"""Boosted trees, and all trees and naive Bayes on Adult; others beside their peers are in `estimators_peers`."""

from __future__ import annotations

import statistics
import sys
import time
from typing import Any

import numpy as np

from benchmarks import Row, absent, kept, size
from benchmarks.estimators import CLASSED, EPSILONS, FITS, Set, adult, budget, figure, home, main, scores, sets
from discreet.learning import (
    DecisionTreeClassifier,
    GradientBoostedTrees,
    GradientBoostedTreesRegressor,
    NaiveBayes,
    RandomForestClassifier,
)

MODELS: dict[str, Any] = {
    "NaiveBayes": NaiveBayes,
    "DecisionTreeClassifier": DecisionTreeClassifier,
    "RandomForestClassifier": RandomForestClassifier,
    "GradientBoostedTrees": GradientBoostedTrees,
}
ADULT = {"GradientBoostedTrees": {1.0: 0.83}, "RandomForestClassifier": {1.0: 0.83}}  # above, the median of twenty
SECONDS, ADULT_FITS = 5, size(20, quick=2)


def measure() -> list[Row]:
    return table(FITS, home())


def table(fits: int, folder: str | None) -> list[Row]:
    """The figures of all of them."""
    data = sets()
    rows: list[Row] = []
    for name in CLASSED:
        rows += _classifiers(data[name], fits)
    rows += _regression(data["diabetes"], fits)
    if folder is None:
        return rows + (
            kept("estimators_trees", starting="Adult, ") or [absent("Adult: DISCREET_DATA names no adult.csv")]
        )
    return rows + _adult(folder)


def _classifiers(data: Set, fits: int) -> list[Row]:
    from sklearn.ensemble import RandomForestClassifier as Exact

    rows = figure(f"{data.name}, forest, not private", scores(data, Exact, min(fits, 20)))
    for epsilon in EPSILONS:
        found = scores(
            data,
            lambda: GradientBoostedTrees(budget=budget(epsilon), domain=data.domain, classes=data.classes),  # noqa: B023
            fits,
        )
        rows += figure(f"{data.name}, GradientBoostedTrees, epsilon {epsilon:g}", found)
    return rows


def _regression(data: Set, fits: int) -> list[Row]:
    rows: list[Row] = []
    for epsilon in EPSILONS:
        found = scores(
            data,
            lambda: GradientBoostedTreesRegressor(budget=budget(epsilon), domain=data.domain, bounds=data.bounds),  # noqa: B023
            fits,
        )
        rows += figure(f"{data.name}, GradientBoostedTreesRegressor, epsilon {epsilon:g}", found, unit="R2")
    return rows


def _adult(folder: str) -> list[Row]:
    table, domain, target = adult(folder)
    rows: list[Row] = []
    for name, model in MODELS.items():
        for epsilon in EPSILONS:
            found, seconds = [], []
            for seed in range(ADULT_FITS):
                order = np.random.default_rng(seed).permutation(len(table))
                train, test = table.iloc[order[: int(0.8 * len(table))]], table.iloc[order[int(0.8 * len(table)) :]]
                start = time.process_time()
                made = model(budget=budget(epsilon), domain=domain).fit(train[list(domain)], train[target])
                seconds.append(time.process_time() - start)
                found.append(float(made.score(test[list(domain)], test[target])))
            least, middle, slow = ADULT.get(name, {}).get(epsilon), statistics.median(found), statistics.median(seconds)
            what = f"Adult, {name}, epsilon {epsilon:g}"
            promise, holds = ("", None) if least is None else (f"> {least}", middle > least)
            rows += [
                Row(what=what, value=middle, unit="accuracy", promise=promise, holds=holds),
                Row(what=f"{what}, a fit", value=slow, unit="CPU s", promise=f"<= {SECONDS}", holds=slow <= SECONDS),
            ]
    return rows


if __name__ == "__main__":
    sys.exit(main("trees"))
