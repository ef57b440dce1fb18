"""Models by rounds: seconds of one aggregation of integers on DuckDB, against plain sums of the same columns.

A million rows of ten numbers and a truth value, each row a unit.  The plain query adds up the products of the columns
as they are, or the columns weighted by a logistic function of theirs, in floating point.  Runs alternate, and the least
of each counts.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from benchmarks import Row, publish, size

ROWS, COLUMNS, RUNS = size((1_000_000, 10, 3), quick=(5000, 3, 1))


def measure() -> list[Row]:
    import duckdb
    import numpy as np
    import pyarrow as pa

    from discreet.data.columns import Boolean, Integer
    from discreet.data.domain import Domain
    from discreet.data.engines.duckdb import DuckDB
    from discreet.data.engines.integer_sums import SumsOfTable
    from discreet.data.table import Table
    from discreet.learning.design import Design
    from discreet.learning.linear.logistic import LogisticRegression
    from discreet.learning.rounds.sums import WEIGHT, gradient, moments
    from discreet.learning.rounds.vectors import Lattice, lattice_radius
    from discreet.learning.vectors.clipped_moments import SCALE

    dice = np.random.default_rng(1)
    names = [f"x{place}" for place in range(COLUMNS)]
    made = pa.table({name: dice.integers(0, 1000, ROWS) for name in names} | {"late": dice.random(ROWS) < 0.3})
    domain = Domain({**{name: Integer(0, 999) for name in names}, "late": Boolean()})
    sums = SumsOfTable(Table(made, domain=domain, unit=None), domain, DuckDB())
    lattice = Lattice(sums, Design(domain.project(names)))
    moved, radius = lattice.moved(np.zeros(COLUMNS, dtype=np.int64)), lattice_radius(1.5)
    step = gradient(moved, radius, SCALE, sums.places["late"], 1, LogisticRegression.loss, 1 << 20)
    weights = np.full((COLUMNS + 1, 1), WEIGHT / SCALE / 4)
    pairs = [f"SUM({a} * {b})" for place, a in enumerate(names) for b in names[place:]]
    score = " + ".join(f"0.001 * {name}" for name in names)
    slope = ", ".join(f"SUM({name} * (CAST(late AS INTEGER) - r))" for name in names)
    with duckdb.connect() as connection:
        connection.register("rows", made)
        asked = {
            "second moments": (
                lambda: moments(moved, radius, SCALE // 2),
                lambda: connection.execute(f"SELECT {', '.join(pairs)} FROM rows").fetchall(),
            ),
            "one gradient": (
                lambda: step(weights),
                lambda: connection.execute(
                    f"SELECT {slope} FROM (SELECT *, 1 / (1 + exp(-({score}))) AS r FROM rows)"
                ).fetchall(),
            ),
        }
        found = []
        for what, (round_, plain) in asked.items():
            ours, theirs = _least(round_, plain)
            found += [
                Row(what=f"{what}: one round", value=ours, unit="s"),
                Row(what=f"{what}: plain query", value=theirs, unit="s"),
                Row(what=f"{what}: round / plain query", value=ours / theirs, unit="x"),
            ]
    return found


def _least(first: Callable[[], object], second: Callable[[], object]) -> tuple[float, float]:
    """The least seconds of each, in turns."""
    took: list[tuple[float, float]] = []
    for _ in range(RUNS):
        start = time.perf_counter()
        first()
        middle = time.perf_counter()
        second()
        took.append((middle - start, time.perf_counter() - middle))
    return min(one for one, _ in took), min(other for _, other in took)


if __name__ == "__main__":
    sys.exit(0 if publish("fit_on_engines", measure()) else 1)
