"""Synthetic data: mean total variation of tables of two and three columns, and CPU seconds.

DISCREET_DATA names a folder with adult.csv and adult-domain.json, and in it or in its folder tabular/ adult32, nltcs
and PUMS; without it rows are made up over columns of the sizes of Adult.  The bootstrap draws as many rows from the
real ones.  A peer runs on the same rows in benchmarks/synthesis_peers.py.
Private-pgm at epsilon 1, measured elsewhere on the same machine: AIM with a model of 4 MB on Adult 0.0385, 0.064 and
752 CPU seconds, its MST 0.0525, 0.094 and 116; AIM on NLTCS 0.0094, 0.0171 and 1,599.  The errors are figures about the
rows themselves, of public data: nothing here is a release.
"""

from __future__ import annotations

import itertools
import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from benchmarks import Row, absent, publish, size
from discreet.data import Boolean, Domain, Integer, Records
from discreet.hazmat.entropy import SeededRandom
from discreet.privacy import ApproxDP
from discreet.queries import marginals
from discreet.synthesis import LinkedSynthesizer, Synthesizer
from discreet.synthesis.quality_learning import learned
from discreet.synthesis.quality_tables import distances

SIZES = size((85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2), quick=(8, 5, 4, 2))
ROWS = size(48_842, quick=1000)  # made up
DELTA = 1e-9
CURVE = size(
    ((14, 50_000), (28, 150_000), (84, 1_000_000)), quick=((4, 500),)
)  # error against time, besides the usual setting
PUMS = {"age": 100, "sex": 2, "educ": 16, "race": 6, "income": 50, "married": 2}  # income in steps of 10,000


def measure() -> list[Row]:
    real = "DISCREET_DATA" in os.environ
    adult = table_of("adult")
    rows = _adult(adult, real=real)
    if not real:
        rows.append(absent("Adult, adult32, NLTCS and PUMS: DISCREET_DATA names no folder of them"))
    for name in ("adult32", "nltcs", "PUMS") if real else ():
        table, ways = table_of(name), 3 if name == "nltcs" else 2
        for epsilon in (0.1, 1.0, 10.0):
            rows += figures(f"{name}, epsilon {epsilon:g}", table, epsilon=epsilon, ways=ways)
        for rounds, cells in CURVE[:2]:
            what = f"{name}, {rounds} rounds, {cells} cells"
            rows += figures(what, table, rounds=rounds, cells=cells, ways=ways)
        rows += figures(f"{name}, tree", table, method="tree")
        if name == "nltcs":
            rows += figures(f"{name}, mwem", table, method="mwem")
    return [*rows, *_linked(), *_wide()]


def _adult(adult: Records, *, real: bool) -> list[Row]:
    name = "Adult" if real else "made-up rows"
    boot = distances(adult, adult, [])
    rows = [
        Row(what=f"{name}, bootstrap: {found.columns} columns", value=found.bootstrap, unit="mean TV")
        for found in boot[1:]
    ]
    rows += figures(f"{name}, independent", adult, method="independent")
    rows += figures(f"{name}, tree", adult, method="tree")
    rows += figures(f"{name}, adaptive", adult, promises=real)
    for epsilon in (0.1, 10.0):
        rows += figures(f"{name}, adaptive, epsilon {epsilon:g}", adult, epsilon=epsilon)
    for rounds, cells in CURVE:
        rows += figures(f"{name}, {rounds} rounds, {cells} cells", adult, rounds=rounds, cells=cells)
    return rows


def figures(
    what: str,
    table: Records,
    *,
    epsilon: float = 1.0,
    promises: bool = False,
    method: Literal["adaptive", "tree", "independent", "mwem"] = "adaptive",
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


def _linked() -> list[Row]:
    """20,000 people with up to 5 visits each, linked by age and region: pairs that join the tables, made-up rows."""
    rng, n = np.random.default_rng(0), size(20_000, quick=1000)
    age, region = rng.binomial(9, 0.5, n), rng.integers(0, 6, n)
    owner = np.repeat(np.arange(n), np.minimum(rng.poisson(0.5 + 0.3 * age), 5))
    icu = rng.random(len(owner)) < 0.05 + 0.08 * age[owner]
    ward = np.where(rng.random(len(owner)) < 0.6, region[owner], rng.integers(0, 6, len(owner)))
    people = pd.DataFrame({"who": np.arange(n), "age": age, "region": region})
    visits = pd.DataFrame({"who": owner, "icu": icu, "ward": ward})
    domains = {
        "people": Domain({"age": Integer(0, 9), "region": Integer(0, 5)}),
        "visits": Domain({"icu": Boolean(), "ward": Integer(0, 5)}),
    }
    start = time.process_time()
    fitted = LinkedSynthesizer(domains, parent="people", rows_per_unit={"visits": 5}, budget=ApproxDP(1.0, DELTA)).fit(
        {"people": people, "visits": visits}, unit="who", rng=SeededRandom(1)
    )
    made = {name: table.to_pandas() for name, table in fitted.sample(n, rng=SeededRandom(2)).items()}
    seconds = time.process_time() - start

    def shares(left: pd.DataFrame, right: pd.DataFrame, one: str, other: str) -> pd.DataFrame:
        joined = right.merge(left, on="who")
        return pd.crosstab(joined[one], joined[other]) / len(joined)

    off = []
    for pair in itertools.product(["icu", "ward"], ["age", "region"]):
        true, ours = shares(people, visits, *pair), shares(made["people"], made["visits"], *pair)
        off.append(0.5 * true.sub(ours, fill_value=0).abs().to_numpy().sum())
    return [
        Row(what="linked tables: pairs that join them", value=float(np.mean(off)), unit="mean TV"),
        Row(what="linked tables: time", value=seconds, unit="CPU s"),
    ]


def _wide() -> list[Row]:
    """50 columns of 10 values, a million rows."""
    domain = Domain({f"x{i}": Integer(0, 9) for i in range(size(50, quick=4))})
    table = Records.random(domain, size(1_000_000, quick=1000), seed=0)
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


def table_of(name: str) -> Records:
    folder = os.environ.get("DISCREET_DATA")
    if folder is None:
        return Records.random(Domain({f"x{i}": Integer(0, most - 1) for i, most in enumerate(SIZES)}), ROWS, seed=0)
    home = next(place for place in (Path(folder), Path(folder) / "tabular") if (place / f"{name}.csv").exists())
    if name == "PUMS":
        return pums(home / "PUMS.csv")
    sizes = json.loads((home / f"{name}-domain.json").read_text())
    codes = np.genfromtxt(home / f"{name}.csv", delimiter=",", skip_header=1, dtype=np.int64)
    names = (home / f"{name}.csv").read_text().splitlines()[0].split(",")
    return Records(Domain({column: Integer(0, sizes[column] - 1) for column in names}), list(codes.T))


def pums(file: Path) -> Records:
    """The 1,000 rows of the extract, income in steps of 10,000 up to 490,000."""
    codes = np.genfromtxt(file, delimiter=",", skip_header=1)
    codes[:, 2:4] -= 1
    codes[:, 4] //= 10_000
    positions = [
        np.clip(column, 0, most - 1).astype(np.int64) for column, most in zip(codes.T, PUMS.values(), strict=True)
    ]
    return Records(Domain({name: Integer(0, most - 1) for name, most in PUMS.items()}), positions)


if __name__ == "__main__":
    sys.exit(0 if publish("synthesis", measure()) else 1)
