"""K-means of many rows beside diffprivlib, and likelihood and neighbours, which have no peer, beside no privacy.

Inertia is that of a row, with every column scaled to [0, 1] by its declared range.  K-means sees all rows and is judged
by them, as its peer is.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from benchmarks import Row, absent, size
from benchmarks.estimators import (
    CLASSED,
    EPSILONS,
    FITS,
    Floats,
    Set,
    budget,
    figure,
    interval,
    main,
    peer,
    scores,
    sets,
)
from discreet.learning import KMeans, KNeighborsClassifier, MaximumLikelihoodClassifier

PEER = """
import json, sys, numpy as np
from diffprivlib.models import KMeans
data, about = np.load(sys.argv[1]), json.loads(sys.argv[2])
X, low, high = data["X"], data["low"].astype(float), data["high"].astype(float)
unit = (X - low) / (high - low)
made = {}
for epsilon in about["epsilons"]:
    scores = []
    for seed in range(about["fits"]):
        bounds = (np.zeros(X.shape[1]), np.ones(X.shape[1]))
        centres = KMeans(about["k"], epsilon=epsilon, bounds=bounds, random_state=seed).fit(unit).cluster_centers_
        away = np.stack([((unit - centre) ** 2).sum(1) for centre in centres], 1)
        scores.append(float(away.min(1).mean()))
    made[str(epsilon)] = scores
print(json.dumps(made))
"""


def measure() -> list[Row]:
    return table(FITS, None)


def table(fits: int, folder: str | None) -> list[Row]:
    """The figures of all of them; Adult has no numbers to cluster and is left out."""
    data = sets()
    rows: list[Row] = []
    rows += _means(_blobs(), 5, min(fits, 20))
    for name in CLASSED:
        rows += _classifiers(data[name], fits)
    return rows


def _blobs() -> Set:
    """Five groups of a hundred thousand rows in four columns."""
    from sklearn.datasets import make_blobs

    X, y = make_blobs(size(100_000, quick=2000), 4, centers=5, random_state=0)[:2]
    return Set("five blobs of 100,000 rows", np.asarray(X), np.asarray(y), (-20.0,) * 4, (20.0,) * 4)


def _unit(data: Set) -> Floats:
    low, high = np.array(data.low, dtype=float), np.array(data.high, dtype=float)
    return (data.X - low) / (high - low)


def _means(data: Set, k: int, fits: int) -> list[Row]:
    from sklearn.cluster import KMeans as Exact

    theirs = peer(PEER, data, fits, k=k)
    what = f"{data.name}, k = {k}, inertia a row"
    best: Any = Exact(k, n_init=3, random_state=0).fit(_unit(data))  # type: ignore[arg-type]
    rows = [Row(what=f"{what}, not private", value=best.inertia_ / len(data.X), unit="")]
    if theirs is None:
        rows.append(absent(f"k-means of {data.name}, diffprivlib"))
    for epsilon in EPSILONS:
        models = (KMeans(k, budget=budget(epsilon), domain=data.domain).fit(data.X) for _ in range(fits))
        mean, half = interval([-model.score(data.X) / len(data.X) / 4 for model in models])  # half ranges are 1/2
        label = f"{what}, KMeans, epsilon {epsilon:g}"
        if theirs is None:
            rows.append(Row(what=f"{label} (+- {half:.2g})", value=mean, unit=""))
            continue
        other, off = interval(theirs[str(epsilon)])
        holds = mean - half <= other
        rows.append(Row(what=f"{label} (+- {half:.2g})", value=mean, unit="", promise=f"<= {other:.4g}", holds=holds))
        rows.append(Row(what=f"{label}: diffprivlib (+- {off:.2g})", value=other, unit=""))
    return rows


def _classifiers(data: Set, fits: int) -> list[Row]:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.naive_bayes import GaussianNB

    few = min(fits, 20)
    rows = figure(f"{data.name}, discriminants, not private", scores(data, LinearDiscriminantAnalysis, few))
    rows += figure(f"{data.name}, naive Bayes, not private", scores(data, GaussianNB, few))
    for epsilon in EPSILONS:
        for kind in ("shared", "each", "diagonal"):
            found = scores(
                data,
                lambda: MaximumLikelihoodClassifier(
                    covariance=kind,  # type: ignore[arg-type]  # noqa: B023
                    budget=budget(epsilon),  # noqa: B023
                    domain=data.domain,
                    classes=data.classes,
                ),
                fits,
            )
            rows += figure(f"{data.name}, MaximumLikelihood {kind}, epsilon {epsilon:g}", found)
        found = scores(
            data,
            lambda: KNeighborsClassifier(budget=budget(epsilon), domain=data.domain, classes=data.classes),  # noqa: B023
            few,
        )
        rows += figure(f"{data.name}, KNeighbors, epsilon {epsilon:g}", found)
    return rows


if __name__ == "__main__":
    sys.exit(main("vectors"))
