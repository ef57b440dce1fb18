"""Every estimator that diffprivlib has, beside ours: one table, in one run.

    python -m benchmarks.estimators_peers [fits]     measure, store, and write the table of docs/guide/estimators.md
    python -m benchmarks.estimators_peers write      write that table again from what is stored

Accuracy on held-out rows for classifiers, R2 for the regression (below -1 counts as -1: diffprivlib's has no bound),
inertia a row for k-means and captured variance for components, both of all rows with columns scaled to [0, 1].
diffprivlib runs at the same time, in its own interpreter (`benchmarks.estimators`); what it has not fitted after
`PATIENCE` seconds for one cell, as components of wide rows, is left out, and a cell without two fits says so.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import RESULTS, Row, absent, is_quick, machine, publish, size, today
from benchmarks.estimators import (
    CLASSED,
    EPSILONS,
    FITS,
    Floats,
    Set,
    budget,
    interpreter,
    interval,
    peer,
    scores,
    sets,
)
from discreet.learning import (
    PCA,
    DecisionTreeClassifier,
    KMeans,
    LinearRegression,
    LogisticRegression,
    NaiveBayes,
    RandomForestClassifier,
)

PATIENCE = size(100, quick=20)  # seconds for all fits of one of diffprivlib's cells
WORST = -1.0  # of R2
STORED = RESULTS / "estimators_peers.json"
GUIDE = Path(__file__).parent.parent / "docs" / "guide" / "estimators.md"
START, END = "<!-- the table of benchmarks/estimators_peers.py -->", "<!-- end of the table -->"
ADULT = """On Adult (48,842 rows, 80 % of them to learn from), medians of 20 fits. diffprivlib's logistic regression,
measured apart, has 0.715, 0.804 and 0.853, its forest 0.764, which is the larger class; without privacy logistic
regression has 0.855."""
CLASSIFIERS: dict[str, Any] = {
    "LogisticRegression": LogisticRegression,
    "NaiveBayes": NaiveBayes,
    "DecisionTreeClassifier": DecisionTreeClassifier,
    "RandomForestClassifier": RandomForestClassifier,
}
GROUPS = {"iris": 3, "breast cancer": 2, "digits": 10, "diabetes": 5}
COMPONENTS = {"iris": 2, "breast cancer": 5, "digits": 5, "diabetes": 5}

PEER = """
import json, signal, sys, numpy as np
from sklearn.model_selection import train_test_split
from diffprivlib import models
data, about = np.load(sys.argv[1]), json.loads(sys.argv[2])
X, y, low, high = data["X"], data["y"], data["low"].astype(float), data["high"].astype(float)
unit, width, classes, model = (X - low) / (high - low), X.shape[1], about["classes"], about["model"]
centred, norm, made = unit - unit.mean(0), float(np.sqrt(X.shape[1])), {}

def score(epsilon, seed):
    if model == "KMeans":
        ends = (np.zeros(width), np.ones(width))
        found = models.KMeans(about["k"], epsilon=epsilon, bounds=ends, random_state=seed).fit(unit).cluster_centers_
        return np.stack([((unit - one) ** 2).sum(1) for one in found], 1).min(1).mean()
    if model == "PCA":
        found = models.PCA(about["k"], epsilon=epsilon, data_norm=norm, bounds=(0, 1), random_state=seed).fit(unit)
        return ((centred @ found.components_.T) ** 2).sum() / (centred**2).sum()
    A, B, a, b = train_test_split(X, y, test_size=0.3, random_state=seed)
    if model == "LogisticRegression":
        A, B = (2 * A - low - high) / (high - low), (2 * B - low - high) / (high - low)
        found = models.LogisticRegression(epsilon=epsilon, data_norm=norm)
    elif model == "LinearRegression":
        found = models.LinearRegression(epsilon=epsilon, bounds_X=(low, high), bounds_y=tuple(about["bounds"]))
    elif model == "NaiveBayes":
        found = models.GaussianNB(epsilon=epsilon, bounds=(low, high))
    elif model == "DecisionTreeClassifier":
        found = models.DecisionTreeClassifier(epsilon=epsilon, bounds=(low, high), classes=classes, max_depth=5)
    else:
        found = models.RandomForestClassifier(epsilon=epsilon, bounds=(low, high), classes=classes, n_estimators=10)
        found.max_depth = 5
    return found.fit(A, a).score(B, b)

def late(*_):
    raise TimeoutError

signal.signal(signal.SIGALRM, late)
for epsilon in about["epsilons"]:
    found = made[str(epsilon)] = []
    signal.alarm(about["patience"])
    try:
        for seed in range(about["fits"]):
            found.append(float(score(epsilon, seed)))
    except TimeoutError:
        pass
    signal.alarm(0)
print(json.dumps(made))
"""


def measured(fits: int = FITS, *, done: Callable[[dict[str, Any]], object] = lambda _: None) -> dict[str, Any]:
    """All cells, with the day, the machine and how often each was fitted; `done` is told after each estimator."""
    made: dict[str, Any] = {
        "day": today(),
        "machine": machine(),
        "page": GUIDE.relative_to(GUIDE.parents[1]).as_posix(),
        "cells": [],
    }
    for name, data in sets().items():
        models = ["LinearRegression"] if name == "diabetes" else list(CLASSIFIERS)
        for model in (*models, "KMeans", "PCA"):
            made["cells"] += _cells(data, model, fits)
            print(name, model, [(cell["ours"], cell["theirs"]) for cell in made["cells"][-3:]], flush=True)
            done(made)
    return made


def _cells(data: Set, model: str, fits: int) -> list[dict[str, Any]]:
    k = {"KMeans": GROUPS, "PCA": COMPONENTS}.get(model, {}).get(data.name)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(peer, PEER, data, fits, model=model, k=k, classes=data.classes, patience=PATIENCE)
        ours = {epsilon: _ours(data, model, k, epsilon, fits) for epsilon in EPSILONS}
        theirs = waiting.result()
    if theirs is None:
        raise RuntimeError("diffprivlib is not installed: DISCREET_PEERS names an interpreter that has it")
    return [
        _cell(data, model, epsilon, ours[epsilon], theirs[str(epsilon)], _best(data, model, k)) for epsilon in EPSILONS
    ]


def _cell(data: Set, model: str, epsilon: float, ours: list[float], theirs: list[float], best: float) -> dict[str, Any]:
    """Means and the 95 % interval of their difference; the sign is such that more is better."""
    if model == "LinearRegression":
        ours, theirs = ([max(one, WORST) for one in found] for found in (ours, theirs))
    mean, half = interval(ours)
    sign = -1 if model == "KMeans" else 1
    cell = {"model": model, "set": data.name, "epsilon": epsilon, "fits": len(ours), "their_fits": len(theirs)}
    cell |= {"ours": round(mean, 4), "best": round(best, 4)}
    if len(theirs) < 2:
        return cell | {"theirs": None}
    other, off = interval(theirs)
    better = {"better_by": round(sign * (mean - other), 4), "half": round(float(np.hypot(half, off)), 4)}
    return cell | {"theirs": round(other, 4)} | better


def _unit(data: Set) -> Floats:
    low, high = np.array(data.low, dtype=float), np.array(data.high, dtype=float)
    return (data.X - low) / (high - low)


def _captured(data: Set, directions: Floats) -> float:
    centred = _unit(data) - _unit(data).mean(axis=0)
    return float(((centred @ directions.T) ** 2).sum() / (centred**2).sum())


def _ours(data: Set, model: str, k: int | None, epsilon: float, fits: int) -> list[float]:
    how: dict[str, Any] = {"budget": budget(epsilon), "domain": data.domain}
    if model == "KMeans":  # half ranges are 1/2
        made = (KMeans(k or 1, **how).fit(data.X) for _ in range(fits))
        return [-one.score(data.X) / len(data.X) / 4 for one in made]
    if model == "PCA":
        return [_captured(data, PCA(k, **how).fit(data.X).components_) for _ in range(fits)]
    if model == "LinearRegression":
        return scores(data, lambda: LinearRegression(bounds=data.bounds, **how), fits)
    return scores(data, lambda: CLASSIFIERS[model](classes=data.classes, **how), fits)


def _best(data: Set, model: str, k: int | None) -> float:
    """Without privacy: scikit-learn's."""
    from sklearn import cluster, ensemble, linear_model, naive_bayes, pipeline, preprocessing, tree

    if model == "KMeans":
        found: Any = cluster.KMeans(k or 1, n_init=5, random_state=0).fit(_unit(data))  # type: ignore[arg-type]
        return float(found.inertia_) / len(data.X)
    if model == "PCA":
        unit = _unit(data)
        return _captured(data, np.linalg.svd(unit - unit.mean(axis=0), full_matrices=False)[2][:k])
    made: dict[str, Callable[[], Any]] = {
        "LogisticRegression": lambda: pipeline.make_pipeline(
            preprocessing.StandardScaler(), linear_model.LogisticRegression(max_iter=2000)
        ),
        "LinearRegression": linear_model.LinearRegression,
        "NaiveBayes": naive_bayes.GaussianNB,
        "DecisionTreeClassifier": tree.DecisionTreeClassifier,
        "RandomForestClassifier": ensemble.RandomForestClassifier,
    }
    return float(np.mean(scores(data, made[model], 5)))


def measure() -> list[Row]:
    """Measured where the peer is, else kept; the table is stored and written by this module's own command alone."""
    if interpreter() is not None:
        return table(measured()["cells"])
    if is_quick():  # ours is fitted all the same, to see that it can be
        for name in CLASSED:
            for model in (*CLASSIFIERS, "KMeans", "PCA"):
                _ours(sets()[name], model, GROUPS[name], EPSILONS[0], FITS)
    made = json.loads(STORED.read_text(encoding="utf-8"))
    return [absent("diffprivlib"), *table(made["cells"], since=f"{made['day']}, {made['machine']}")]


def table(cells: list[dict[str, Any]], *, since: str = "") -> list[Row]:
    """The cells as rows: each is promised to be no worse, up to its interval."""
    return [
        Row(
            what=f"{cell['set']}, {cell['model']}, epsilon {cell['epsilon']:g}: better by (+- {cell['half']})",
            value=cell["better_by"],
            unit="",
            promise=">= 0",
            holds=cell["better_by"] + cell["half"] >= 0,
            since=since,
        )
        for cell in cells
        if cell["theirs"] is not None
    ]


def markdown(stored: dict[str, Any]) -> str:
    """The table of the guide, from what is stored."""
    cells = {(cell["model"], cell["set"], cell["epsilon"]): cell for cell in stored["cells"]}
    pairs = list(dict.fromkeys((cell["model"], cell["set"]) for cell in stored["cells"]))
    order = [*CLASSIFIERS, "LinearRegression", "KMeans", "PCA"]
    lines = [
        "| | | fits | " + " | ".join(f"epsilon {epsilon:g}" for epsilon in EPSILONS) + " | not private |",
        "|---|---|---|" + "---|" * len(EPSILONS) + "---|",
    ]
    for model, name in sorted(pairs, key=lambda pair: order.index(pair[0])):
        row = [cells[model, name, epsilon] for epsilon in EPSILONS]
        shown = " | ".join(_shown(cell) for cell in row)
        lines.append(f"| `{model}` | {name} | {row[0]['fits']} | {shown} | {row[0]['best']:.3g} |")
    return f"Measured on {stored['day']}: {stored['machine']}.\n\n" + "\n".join(lines)


def adult_markdown() -> str:
    """The medians of twenty fits on Adult, from what the parts on linear models and on trees stored."""
    found: dict[str, dict[str, float]] = {}
    for part in ("linear", "trees"):
        for row in json.loads((RESULTS / f"estimators_{part}.json").read_text(encoding="utf-8"))["rows"]:
            if row["what"].startswith("Adult, ") and row["unit"] == "accuracy":
                model, epsilon = row["what"].removeprefix("Adult, ").split(", epsilon ")
                found.setdefault(model, {})[epsilon] = row["value"]
    names = [f"{epsilon:g}" for epsilon in EPSILONS]
    lines = ["| Adult | " + " | ".join(f"epsilon {name}" for name in names) + " |", "|---|" + "---|" * len(names)]
    lines += [f"| `{model}` | " + " | ".join(f"{by[name]:.3f}" for name in names) + " |" for model, by in found.items()]
    return "\n".join(lines)


def _shown(cell: dict[str, Any]) -> str:
    """Ours and theirs; bold where the interval of the difference is above 0, and said where it is below."""
    if cell["theirs"] is None:
        return f"{cell['ours']:.3g} (no fit)"
    text = f"{cell['ours']:.3g} ({cell['theirs']:.3g})"
    if cell["better_by"] - cell["half"] > 0:
        return f"**{text}**"
    return f"*worse:* {text}" if cell["better_by"] + cell["half"] < 0 else text


def written() -> str:
    """What stands between the marks of the guide, and the marks."""
    made = markdown(json.loads(STORED.read_text(encoding="utf-8")))
    return f"{START}\n\n{made}\n\n{ADULT}\n\n{adult_markdown()}\n\n{END}"


def write() -> None:
    """Put the table into the guide, between its marks."""
    text = GUIDE.read_text(encoding="utf-8")
    before, rest = text.split(START)
    after = rest.split(END)[1]
    GUIDE.write_text(f"{before}{written()}{after}", encoding="utf-8")


def _store(made: dict[str, Any]) -> None:
    STORED.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


def run() -> int:
    """Measure and store, or only write the guide."""
    asked = sys.argv[1] if len(sys.argv) > 1 else str(FITS)
    if is_quick():
        return 0 if publish("estimators_peers", measure(), folder=None) else 1
    if asked != "write":
        measured(int(asked), done=_store)
    write()
    return 0


if __name__ == "__main__":
    sys.exit(run())
