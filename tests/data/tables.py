"""Random tables and aggregations for the tests of the engines."""

from __future__ import annotations

from itertools import product

import numpy as np
import pyarrow as pa
import sqlglot

from discreet.data.aggregation import Aggregation, Key, Measure
from discreet.data.columns import Identifier, Integer, Real
from discreet.data.domain import Domain
from discreet.data.engines import hashing
from discreet.data.table import Table

DOMAIN = Domain(
    {"u": Identifier(), "a": Integer(0, 7), "b": Integer(0, 3, nullable=True), "x": Real(-100, 100, step="0.25"),
     "y": Integer(-5, 1 << 40, nullable=True)}
)  # fmt: skip


def sql(text):
    return sqlglot.parse_one(text, dialect="duckdb")


def values(rng, n):
    """Columns a, b, x, y of n rows, with NULL, NaN, infinities and values out of bounds."""
    x = rng.normal(0, 80, n)
    special = rng.random(n) < 0.1
    x[special] = rng.choice([np.nan, np.inf, -np.inf, -0.0, 5e-324, 1e308], special.sum())
    b = [None if v == 4 else int(v) for v in rng.integers(-1, 5, n)]
    y = [None if v > 30 else int(v) ** 9 for v in rng.integers(-3, 40, n)]
    return {
        "a": pa.array(rng.integers(0, 8, n), pa.int32()),
        "b": pa.array(b, pa.int8()),
        "x": pa.array(x),
        "y": pa.array(y, pa.int64()),
    }


def names(kind, numbers):
    """Units of three kinds; 0 is NULL."""
    if kind == "text":
        return pa.array([None if v == 0 else "name" * int(abs(v) % 20) + str(v) for v in numbers], pa.string())
    if kind == "unsigned":
        return pa.array([None if v == 0 else (1 << 64) - 1 - int(abs(v)) for v in numbers], pa.uint64())
    return pa.array([None if v == 0 else int(v) * (1 << 40) + 7 for v in numbers], pa.int64())


def frame(rng, n, *, kind="integer", units=30):
    return pa.table({"u": names(kind, rng.integers(-units, units, n))} | values(rng, n))


KEYS = {
    "a": Key(code=sql('"a"'), size=8),
    "b": Key(code=sql('CASE WHEN "b" IS NULL THEN 4 ELSE "b" END'), size=5),
    "bins": Key(code=sql('("x" + 400) // 100'), size=9),
}
MEASURES = (
    Measure(kind="rows"),
    Measure(kind="rows", value=sql('"y"')),
    Measure(kind="units"),
    Measure(kind="sum", value=sql('"x"'), low=-400, high=400),
    Measure(kind="sum", value=sql('"y" * 3'), low=-15, high=3 << 40),
    Measure(kind="sum", value=sql('CASE WHEN "b" > 1 THEN "a" END'), low=2, high=5),
)
WHERE = (None, sql('"x" >= -300'), sql('"b" IS NULL OR "a" <> 3'), sql('NOT ("y" < 100)'))


def aggregation(rng, *, rows=None, groups=None, unit="u", salt=None):
    """A random plan."""
    keys = [key for key, take in zip(KEYS.values(), rng.random(3) < 0.6, strict=True) if take]
    measures = [MEASURES[i] for i in rng.permutation(len(MEASURES))[: rng.integers(1, 5)]]
    return Aggregation(
        columns=("a", "b", "x", "y"), where=WHERE[rng.integers(len(WHERE))], keys=tuple(keys), measures=tuple(measures),
        unit=unit, rows_per_unit=int(rows or rng.integers(1, 15)), groups_per_unit=int(groups or rng.integers(1, 8)),
        salt=int(rng.integers(1 << 62)) if salt is None else salt,
    )  # fmt: skip


def table(source):
    return Table(source, domain=DOMAIN, unit="u", rows_per_unit=3, groups_per_unit=2)


def run(engine, source, plan):
    """The true integers, out of their seal."""
    return engine.run(table(source), plan).through(lambda cells: cells)


def sensitivity(plan, measure):
    """The declared change of one measure when one unit comes or goes: (l1, l2 squared)."""
    rows, groups = plan.rows_per_unit, min(plan.groups_per_unit, plan.rows_per_unit)
    if measure.kind == "units":
        return groups, groups
    most = 1 if measure.kind == "rows" else max(abs(measure.low), abs(measure.high))
    return rows * most, (rows * most) ** 2


def by_hand(units, groups, contributions, plan):
    """The definition of bounding, row by row in Python: (cells, units, rows, sums of contributions)."""
    cells = [[0] * (2 + contributions.shape[1]) for _ in range(plan.cells)]
    for unit in sorted(set(units)):
        rows = [(int(groups[i]), *map(int, contributions[i])) for i in range(len(units)) if units[i] == unit]
        mine = {g: hashed(plan, hashing.GROUPS, unit, [g]) for g, *_ in rows}
        kept = sorted(mine, key=lambda g: (mine[g], g))[: plan.groups_per_unit]
        rows = [row for row in rows if row[0] in kept]
        rows.sort(key=lambda row: (hashed(plan, hashing.ROWS, unit, [row[0], *words(row[1:])]), row))
        rows = rows[: plan.rows_per_unit]
        for g, *values in rows:
            cells[g] = [a + b for a, b in zip(cells[g], [0, 1, *values], strict=True)]
        for g in {row[0] for row in rows}:
            cells[g][0] += 1
    return cells


def words(values):
    return [word for value in values for word in hashing.words(value)]


def hashed(plan, purpose, unit, rest):
    state = hashing.start(plan.salt, purpose)
    for word in (*hashing.words(unit), *rest):
        state = hashing.absorb(state, word)
    return state


def every(**options):
    """All combinations, as dictionaries."""
    return [dict(zip(options, chosen, strict=True)) for chosen in product(*options.values())]
