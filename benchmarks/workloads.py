"""Applying workloads without their matrices, and counting many marginals of rows, in processor seconds.

The peers are what one writes with numpy and pandas: a sum over axes for each table, a whole Walsh-Hadamard transform,
`bincount` of combined codes, `groupby` (figures per table, from a sample of tables).  HDMM and private-pgm answer
marginals of a dense vector by a sum over axes for each table, as the first peer does; neither is installed here.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable

import numpy as np
import pandas as pd

from benchmarks import Row, publish, size
from benchmarks.noise import _ratio, _seconds
from discreet.data import Boolean, Domain, Integer, Records
from discreet.queries import Marginals, marginals, parities

BITS = Domain({f"b{i}": Boolean() for i in range(size(20, quick=8))})
WIDE = Domain({f"c{i}": Integer(0, 9) for i in range(size(100, quick=8))})
ROWS = size(48_842, quick=500)
SAMPLE = size(200, quick=20)  # tables that the slower peers count


def measure() -> list[Row]:
    return [*_dense(), *_rows()]


def _dense() -> list[Row]:
    cells = np.random.default_rng(1).random(1 << len(BITS))
    three, signs = marginals(BITS, 3), parities(BITS, 3)
    answers, query = three.apply(cells), three[len(three) // 2]
    seconds = _seconds(
        {
            "apply": lambda: three.apply(cells),
            "tables": lambda: _one_by_one(cells, three),
            "transpose": lambda: three.transpose(answers),
            "parities": lambda: signs.apply(cells),
            "transform": lambda: _walsh_hadamard(cells),
            "query": lambda: query.apply(cells),
        },
        rounds=3,
    )
    return [
        _time("2^20 cells, 1,140 3-way marginals of bits: apply", seconds["apply"]),
        _time("2^20 cells, 1,140 3-way marginals of bits: transpose", seconds["transpose"]),
        _ratio("apply / numpy, a sum for each table", seconds["apply"], seconds["tables"], least=10),
        _time("2^20 cells, 1,140 parities of 3 bits: apply", seconds["parities"]),
        _ratio(
            "parities / whole Walsh-Hadamard transform in numpy", seconds["parities"], seconds["transform"], least=2
        ),
        _time("one cell of a marginal", seconds["query"]),
        _ratio("one cell / the whole workload", seconds["query"], seconds["apply"], least=10),
    ]


def _rows() -> list[Row]:
    records = Records.random(WIDE, ROWS, seed=1)
    frame = pd.DataFrame({name: records.column(name).astype(np.int64) for name in WIDE})
    sets = [names for k in (1, 2, 3) for names in itertools.combinations(list(WIDE)[:40], k)]
    some = sets[:: len(sets) // SAMPLE][:SAMPLE]
    seconds = _seconds(
        {
            "together": lambda: records.marginals(sets),
            "bincount": lambda: [records.marginal(names) for names in some],
            "groupby": lambda: [frame.groupby(list(names)).size() for names in some[:20]],
        },
        rounds=3,
    )
    ours = [t / len(sets) for t in seconds["together"]]
    return [
        _time(f"{len(sets):,} marginals of 40 of 100 columns, {ROWS:,} rows", seconds["together"]),
        _ratio("a marginal of rows / numpy bincount", ours, [t / SAMPLE for t in seconds["bincount"]], least=2),
        _ratio("a marginal of rows / pandas groupby", ours, [t / 20 for t in seconds["groupby"]], least=10),
    ]


def _time(what: str, seconds: list[float]) -> Row:
    return Row(what=what, value=1000 * sorted(seconds)[len(seconds) // 2], unit="ms")


def _one_by_one(cells: np.ndarray, workload: Marginals) -> list[np.ndarray]:
    cube, order = cells.reshape((2,) * len(BITS)), list(BITS)
    dropped = [tuple(i for i, name in enumerate(order) if name not in names) for names in workload.sets[:SAMPLE]]
    part: Callable[[], list[np.ndarray]] = lambda: [cube.sum(axis=axes) for axes in dropped]  # noqa: E731
    return [table for _ in range(len(workload.sets) // SAMPLE) for table in part()]


def _walsh_hadamard(cells: np.ndarray) -> np.ndarray:
    values = cells
    for _ in range(len(BITS)):
        pairs = values.reshape(2, -1)
        values = np.stack([pairs[0] + pairs[1], pairs[0] - pairs[1]], axis=1).reshape(-1)
    return values


if __name__ == "__main__":
    sys.exit(0 if publish("workloads", measure()) else 1)
