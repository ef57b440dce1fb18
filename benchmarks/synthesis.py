"""Synthetic data: mean total variation of tables of two and three columns, and CPU seconds.

DISCREET_DATA names a folder with adult.csv and adult-domain.json, and in it or in its folder tabular/ adult32 and
nltcs; without it rows are made up over columns of the sizes of Adult.  The bootstrap draws as many rows from the real
ones.  Private-pgm at epsilon 1, measured elsewhere on the same machine: AIM with a model of 4 MB on Adult 0.0385, 0.064
and 752 CPU seconds, its MST 0.0525, 0.094 and 116; AIM on NLTCS 0.0094, 0.0171 and 1,599.  The errors are figures about
the rows themselves, of public data: nothing here is a release.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import Literal

import numpy as np

from benchmarks import Row, publish
from discreet.data import Domain, Integer, Records
from discreet.hazmat.entropy import SeededRandom
from discreet.privacy import ApproxDP
from discreet.queries import marginals
from discreet.synthesis import Synthesizer
from discreet.synthesis.quality_learning import learned
from discreet.synthesis.quality_tables import distances

SIZES = (85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2)
DELTA = 1e-9


def measure() -> list[Row]:
    real = "DISCREET_DATA" in os.environ
    if not real:
        print("rows are made up: DISCREET_DATA names no folder with adult.csv")
    adult = _table("adult")
    rows = [*_adult(adult, real=real)]
    for name in ("adult32", "nltcs") if real else ():
        table = _table(name)
        for epsilon in (0.1, 1.0, 10.0):
            ways = 3 if name == "nltcs" else 2
            rows += _figures(f"{name}, epsilon {epsilon:g}", table, epsilon=epsilon, ways=ways)
    return [*rows, *_wide()]


def _adult(adult: Records, *, real: bool) -> list[Row]:
    name = "Adult" if real else "made-up rows"
    boot = distances(adult, adult, [])
    rows = [
        Row(what=f"{name}, bootstrap: {found.columns} columns", value=found.bootstrap, unit="mean TV")
        for found in boot[1:]
    ]
    rows += _figures(f"{name}, independent", adult, method="independent")
    rows += _figures(f"{name}, tree", adult, method="tree")
    rows += _figures(f"{name}, adaptive", adult, promises=real)
    for epsilon in (0.1, 10.0):
        rows += _figures(f"{name}, adaptive, epsilon {epsilon:g}", adult, epsilon=epsilon)
    for rounds, cells in ((14, 50_000), (28, 150_000), (84, 1_000_000)):
        rows += _figures(f"{name}, {rounds} rounds, {cells} cells", adult, rounds=rounds, cells=cells)
    return rows


def _figures(
    what: str,
    table: Records,
    *,
    epsilon: float = 1.0,
    promises: bool = False,
    method: Literal["adaptive", "tree", "independent"] = "adaptive",
    rounds: int | None = None,
    cells: int = 500_000,
    ways: int = 2,
) -> list[Row]:
    synthesizer = Synthesizer(
        table.domain,
        budget=ApproxDP(epsilon, DELTA),
        workload=marginals(table.domain, ways),
        method=method,
        rounds=rounds,
        cells=cells,
        most=100,
    )
    start = time.process_time()
    made = synthesizer.fit(table, rng=SeededRandom(1))
    seconds = time.process_time() - start
    drawn = made.model.sample(len(table), rng=SeededRandom(2))
    two, three = distances(drawn, table, [])[1:]
    rows = [
        _row(f"{what}: 2 columns", two.mean, "mean TV", 0.0385 if promises else None),
        _row(f"{what}: 3 columns", three.mean, "mean TV", 0.064 if promises else None),
        _row(f"{what}: time", seconds, "CPU s", 75 if promises else None),
    ]
    if promises:
        lesson = learned(drawn, table, list(table.domain)[-1])
        rows.append(Row(what=f"{what}: trained on real rows", value=lesson.real, unit="predicted"))
        rows.append(Row(what=f"{what}: trained on synthetic rows", value=lesson.synthetic, unit="predicted"))
        rows.append(_row(f"{what}: what is lost by it", lesson.real - lesson.synthetic, "", 0.02))
    return rows


def _row(what: str, value: float, unit: str, most: float | None) -> Row:
    if most is None:
        return Row(what=what, value=value, unit=unit)
    return Row(what=what, value=value, unit=unit, promise=f"<= {most:g}", holds=value <= most)


def _wide() -> list[Row]:
    """50 columns of 10 values, a million rows."""
    domain = Domain({f"x{i}": Integer(0, 9) for i in range(50)})
    table = Records.random(domain, 1_000_000, seed=0)
    start, clock = time.process_time(), time.perf_counter()
    made = Synthesizer(domain, budget=ApproxDP(1.0, DELTA)).fit(table, rng=SeededRandom(1))
    seconds, wall = time.process_time() - start, time.perf_counter() - clock
    drawn = made.model.sample(len(table), rng=SeededRandom(2))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    two = distances(drawn, table, [])[1]
    what = "50 columns, a million rows"
    return [
        Row(what=f"{what}: time", value=seconds, unit="CPU s"),
        _row(f"{what}: wall time", wall, "s", 600),
        _row(f"{what}: memory", memory, "GB", 8),
        Row(what=f"{what}: 2 columns", value=two.mean, unit="mean TV"),
        Row(what=f"{what}: 2 columns, bootstrap", value=two.bootstrap, unit="mean TV"),
    ]


def _table(name: str) -> Records:
    folder = os.environ.get("DISCREET_DATA")
    if folder is None:
        return Records.random(Domain({f"x{i}": Integer(0, size - 1) for i, size in enumerate(SIZES)}), 48_842, seed=0)
    home = next(place for place in (Path(folder), Path(folder) / "tabular") if (place / f"{name}.csv").exists())
    sizes = json.loads((home / f"{name}-domain.json").read_text())
    codes = np.genfromtxt(home / f"{name}.csv", delimiter=",", skip_header=1, dtype=np.int64)
    names = (home / f"{name}.csv").read_text().splitlines()[0].split(",")
    return Records(Domain({column: Integer(0, sizes[column] - 1) for column in names}), list(codes.T))


if __name__ == "__main__":
    sys.exit(0 if publish("synthesis", measure()) else 1)
