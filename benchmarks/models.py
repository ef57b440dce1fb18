"""Graphical models: CPU seconds to fit one to noisy marginals and to draw rows, against mbi (private-pgm).

The task is that of a tree synthesizer on Adult: 14 one-way tables and 13 pairs that form a tree, with Gaussian noise
for rho = 0.0115, and 48,842 rows.  DISCREET_TABLE names a table of integer codes with a header (adult.csv); without
it, rows are made up over columns of the same sizes.  mbi needs JAX, so it runs by the interpreter that DISCREET_MBI
names, and is left out where there is none; its first fit compiles.  Losses are sums of squares over twice the
variance: the lower, the closer the fit.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

from benchmarks import Row, absent, publish, size
from discreet.data import Domain, Integer, Records
from discreet.release import GraphicalModel, Measurement, estimate, junction_size

Made = TypeVar("Made")
SIZES = size((85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2), quick=(8, 9, 5, 2))
ROWS = size(48_842, quick=1000)
RHO = 0.0115
LARGE = size(500_000, quick=500)  # cells of the larger model

PEER = """
import json, sys, time, numpy as np, mbi
from mbi import estimation
task = np.load(sys.argv[1])
names, sizes, sd = task["names"].tolist(), task["sizes"].tolist(), float(task["sd"])
sets = json.loads(str(task["sets"]))
tables = [task[f"t{i}"] for i in range(len(sets))]
measured = [mbi.LinearMeasurement(t.ravel(), tuple(s), sd) for s, t in zip(sets, tables)]
domain, seconds = mbi.Domain(names, sizes), []
for _ in range(2):
    start = time.process_time()
    model = estimation.MirrorDescent().estimate(domain, measured, iters=1000)
    model.project(sets[0]).datavector()
    seconds.append(time.process_time() - start)
loss = sum(((np.asarray(model.project(s).datavector(), float) - t.ravel()) ** 2).sum() for s, t in zip(sets, tables))
start = time.process_time()
model.synthetic_data(int(task["rows"]))
print(json.dumps({"first": seconds[0], "again": seconds[1], "loss": loss / (2 * sd**2),
                  "sample": time.process_time() - start}))
"""


def measure() -> list[Row]:
    people = _people()
    domain, names = people.domain, list(people.domain)
    sets = [(name,) for name in names] + _tree(people)
    sd = math.sqrt(len(sets) / (2 * RHO))
    noise = np.random.default_rng(0)
    measured = []
    for columns in sets:
        table = people.marginal(columns)
        measured.append(Measurement(columns, table + noise.normal(0, sd, table.shape), sd))
    first, fitted = _seconds(lambda: estimate(domain, measured))
    again, fitted = _seconds(lambda: estimate(domain, measured))
    warm, hotter = _seconds(lambda: estimate(domain, measured, temperature=len(people) / sd))
    close, closer = _seconds(lambda: estimate(domain, measured, steps=10))
    draw, _ = _seconds(lambda: fitted.model.sample(len(people)))
    rows = [
        Row(what="tree: fit, the first in a process", value=first, unit="CPU s"),
        Row(what="tree: fit", value=again, unit="CPU s", promise="<= 1", holds=again <= 1),
        Row(what="tree: loss", value=fitted.loss, unit=""),
        Row(what="tree: fit at five times the temperature", value=warm, unit="CPU s"),
        Row(what="tree: loss at five times the temperature", value=hotter.loss, unit=""),
        Row(what="tree: fit of ten steps", value=close, unit="CPU s"),
        Row(what="tree: loss of ten steps", value=closer.loss, unit=""),
        Row(what="tree: draw the rows", value=draw, unit="CPU s", promise="<= 0.5", holds=draw <= 0.5),
        *_larger(domain),
    ]
    peer = _mbi(people, sets, measured, sd)
    if peer is None:
        return [*rows, absent("mbi: DISCREET_MBI names no interpreter that has it")]
    return [
        *rows,
        Row(what="mbi: fit, the first in a process", value=peer["first"], unit="CPU s"),
        Row(what="mbi: fit", value=peer["again"], unit="CPU s"),
        Row(what="mbi: loss", value=peer["loss"], unit=""),
        Row(what="mbi: draw the rows", value=peer["sample"], unit="CPU s"),
        Row(what="fit: mbi / ours", value=peer["again"] / again, unit="x"),
        Row(what="fit, the first: mbi / ours", value=peer["first"] / first, unit="x"),
        Row(what="draw: mbi / ours", value=peer["sample"] / draw, unit="x"),
        Row(
            what="loss: ours / mbi",
            value=fitted.loss / peer["loss"],
            unit="x",
            promise="<= 1.01",
            holds=fitted.loss <= 1.01 * peer["loss"],
        ),
    ]


def _larger(domain: Domain) -> list[Row]:
    """A model as large as an adaptive synthesizer may grow: pairs are added while they fit."""
    sets = [(name,) for name in domain]
    pairs = list(itertools.combinations(domain, 2))
    for place in np.random.default_rng(1).permutation(len(pairs)):
        if junction_size(domain, [*sets, pairs[place]]) <= LARGE:
            sets.append(pairs[place])
    noise = np.random.default_rng(2)
    factors = {columns: noise.normal(size=[domain[name].size for name in columns]) for columns in sets}
    GraphicalModel(domain, factors, total=1)
    calibrate, model = _seconds(lambda: GraphicalModel(domain, factors, total=1))
    answers, _ = _seconds(lambda: [model.marginal(pair) for pair in pairs])
    sizes, _ = _seconds(lambda: [junction_size(domain, [*sets, pair]) for pair in pairs])
    return [
        Row(what=f"{model.size} cells, {len(sets)} tables: build and calibrate", value=calibrate * 1e3, unit="CPU ms"),
        Row(what="all pairs of its columns", value=answers, unit="CPU s"),
        Row(what="its size with one more pair", value=sizes / len(pairs) * 1e3, unit="CPU ms"),
    ]


def _people() -> Records:
    path = os.environ.get("DISCREET_TABLE")
    if path is None:
        return Records.random(Domain({f"x{i}": Integer(0, most - 1) for i, most in enumerate(SIZES)}), ROWS, seed=0)
    names = Path(path).read_text().splitlines()[0].split(",")
    codes = np.genfromtxt(path, delimiter=",", skip_header=1, dtype=np.int64)
    sizes = SIZES if len(names) == len(SIZES) else codes.max(axis=0) + 1
    domain = Domain({name: Integer(0, int(most) - 1) for name, most in zip(names, sizes, strict=True)})
    return Records(domain, list(codes.T))


def _tree(people: Records) -> list[tuple[str, ...]]:
    """The spanning tree of the pairs furthest from independence; not private, only a task for the fit."""
    far = {}
    for one, other in itertools.combinations(people.domain, 2):
        alone = np.outer(people.marginal([one]), people.marginal([other])) / len(people)
        far[one, other] = np.abs(people.marginal([one, other]) - alone).sum()
    part = {name: name for name in people.domain}
    tree = []
    for one, other in sorted(far, key=far.__getitem__, reverse=True):
        if part[one] != part[other]:
            tree.append((one, other))
            gone = part[other]
            part = {name: part[one] if place == gone else place for name, place in part.items()}
    return tree


def _mbi(
    people: Records, sets: list[tuple[str, ...]], measured: list[Measurement], sd: float
) -> dict[str, float] | None:
    python = os.environ.get("DISCREET_MBI")
    if python is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        task = Path(folder) / "task.npz"
        arrays = {f"t{index}": np.asarray(m.values) for index, m in enumerate(measured)}
        arrays["names"] = np.array(list(people.domain))
        arrays["sizes"] = np.array([declared.size for declared in people.domain.values()])
        arrays |= {"sd": np.array(sd), "rows": np.array(len(people)), "sets": np.array(json.dumps(sets))}
        np.savez(task, allow_pickle=False, **arrays)
        done = subprocess.run([python, "-c", PEER, str(task)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def _seconds(work: Callable[[], Made]) -> tuple[float, Made]:
    """CPU seconds, and what was made."""
    start = time.process_time()
    made = work()
    return time.process_time() - start, made


if __name__ == "__main__":
    sys.exit(0 if publish("models", measure()) else 1)
