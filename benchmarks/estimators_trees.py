"""Naive Bayes, trees, forests and boosted trees, beside diffprivlib and beside no privacy."""

from __future__ import annotations

import statistics
import sys
import time
from typing import Any

import numpy as np

from benchmarks import Row
from benchmarks.estimators import EPSILONS, Set, adult, budget, figure, main, peer, scores, sets
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
PEERS = {"NaiveBayes": "bayes", "DecisionTreeClassifier": "tree", "RandomForestClassifier": "forest"}
ADULT = {"GradientBoostedTrees": {1.0: 0.83}, "RandomForestClassifier": {1.0: 0.83}}  # above, the median of twenty
SECONDS, ADULT_FITS = 5, 20

PEER = """
import json, sys, numpy as np
from sklearn.model_selection import train_test_split
from diffprivlib.models import DecisionTreeClassifier, GaussianNB, RandomForestClassifier
data, about = np.load(sys.argv[1]), json.loads(sys.argv[2])
X, y, bounds = data["X"], data["y"], (data["low"].astype(float), data["high"].astype(float))
classes, made = about["classes"], {}
for epsilon in about["epsilons"]:
    for name in ("bayes", "tree", "forest"):
        scores = []
        for seed in range(about["fits"]):
            A, B, a, b = train_test_split(X, y, test_size=0.3, random_state=seed)
            if name == "bayes":
                model = GaussianNB(epsilon=epsilon, bounds=bounds)
            elif name == "tree":
                model = DecisionTreeClassifier(epsilon=epsilon, bounds=bounds, classes=classes, max_depth=5)
            else:
                model = RandomForestClassifier(epsilon=epsilon, bounds=bounds, classes=classes, n_estimators=10)
                model.max_depth = 5
            scores.append(float(model.fit(A, a).score(B, b)))
        made[f"{name} {epsilon}"] = scores
print(json.dumps(made))
"""


def table(fits: int, folder: str | None) -> list[Row]:
    """The figures of all of them."""
    data = sets()
    rows: list[Row] = []
    for name in ("iris", "breast cancer", "digits"):
        rows += _classifiers(data[name], fits)
    rows += _regression(data["diabetes"], fits)
    if folder is None:
        print("Adult is left out: pass the folder that holds adult.csv")
        return rows
    return rows + _adult(folder)


def _classifiers(data: Set, fits: int) -> list[Row]:
    from sklearn.ensemble import RandomForestClassifier as Exact

    theirs = peer(PEER, data, fits, classes=data.classes)
    if theirs is None:
        print(f"diffprivlib is not installed: {data.name} stands alone")
    rows = figure(f"{data.name}, forest, not private", scores(data, Exact, min(fits, 20)))
    for name, model in MODELS.items():
        for epsilon in EPSILONS:
            beside = None if theirs is None or name not in PEERS else theirs[f"{PEERS[name]} {epsilon}"]
            found = scores(
                data, lambda: model(budget=budget(epsilon), domain=data.domain, classes=data.classes), fits  # noqa: B023
            )  # fmt: skip
            rows += figure(f"{data.name}, {name}, epsilon {epsilon:g}", found, beside)
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
