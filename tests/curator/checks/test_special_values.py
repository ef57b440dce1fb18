"""One poison row: it may change what mechanisms are fed, within the declared sensitivity, and nothing else."""

import ast
import math
import random
from decimal import Decimal

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from discreet.data import Table
from discreet.data.engines.duckdb import DuckDB
from discreet.ledger import Ledger
from discreet.queries.compile import aggregation, parts
from discreet.queries.sql import parse
from tests.curator.checks import worlds
from tests.curator.checks.replay import run, violations
from tests.curator.checks.worlds import DOMAIN, World
from tests.scale import counts

PROBES = counts(quick=200, full=1_000)
PERMUTATIONS = counts(quick=5, full=1_000)

NUMERIC = {
    "age": [
        "SUM(age), AVG(age)",
        "VARIANCE(age), COUNT(age)",
        "SUM(ABS(age - 5)), SUM(age % 10)",
        "SUM(FLOOR(age / 7)), STDDEV(-age)",
    ],
    "cost": [
        "SUM(cost), AVG(cost)",
        "VARIANCE(cost), SUM(cost * 3)",
        "SUM(cost - age), SUM(cost / 3)",
        "SUM(GREATEST(cost, 0)), COUNT(cost)",
    ],
    "bmi": [
        "SUM(bmi), COUNT(bmi)",
        "AVG(bmi), STDDEV(bmi)",
        "SUM(COALESCE(bmi, 0)), SUM(bmi * bmi)",
        "SUM(CASE WHEN bmi IS NULL THEN 1 ELSE 0 END)",
    ],
    "far": ["SUM(far), COUNT(far)", "SUM(far * 2 - age)"],
}
GROUPED = {
    "ward": ["ward"],
    "readmitted": ["readmitted"],
    "smokes": ["smokes"],
    "stage": ["stage"],
    "day": ["EXTRACT(month FROM day)", "EXTRACT(year FROM day)", "EXTRACT(dow FROM day)"],
    "bmi": ["FLOOR(bmi / 10)"],
    "age": ["FLOOR(age / 20)"],
}
TESTED = {
    "day": "day >= '2026-01-01'",
    "seen": "seen < '2026-06-01 12:00:00'",
    "cost": "cost BETWEEN 0 AND 10",
    "stage": "stage IN (1, 2)",
    "far": "far > 7",
    "bmi": "bmi > age OR bmi IS NULL",
    "smokes": "NOT smokes",
    "ward": "ward <> 'surgery'",
}


def questions(column):
    """Every operator and aggregate that can meet the column."""
    found = [f"SELECT {outputs} FROM visits" for outputs in NUMERIC.get(column, [])]
    found += [
        f"SELECT {key}, COUNT(*), COUNT(DISTINCT patient) FROM visits GROUP BY {key}" for key in GROUPED.get(column, [])
    ]
    return found + ([f"SELECT COUNT(*), AVG(age) FROM visits WHERE {TESTED[column]}"] if column in TESTED else [])


def poisons(kind):
    """The worst values of a physical type."""
    if pa.types.is_floating(kind):
        return worlds.FLOATS
    if pa.types.is_string(kind):
        return worlds.JUNK
    if pa.types.is_decimal(kind):
        return [Decimal(10**15 - 1), Decimal(-(10**15) + 1), Decimal("0.005"), Decimal("-0.001")]
    if pa.types.is_date(kind):
        return worlds.DAYS
    if pa.types.is_timestamp(kind):
        return worlds.MOMENTS
    if pa.types.is_boolean(kind):
        return [True, False]
    bits = kind.bit_width
    return [0, 2**bits - 1] if pa.types.is_unsigned_integer(kind) else [0, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1]


def probes():
    """(column, physical type, poison, question, other rows) for all of them."""
    return [
        (column, kind, poison, sql, others)
        for column, kinds in worlds.PHYSICAL.items()
        for kind, _ in kinds
        for poison in [None, *poisons(kind)]
        for sql in questions(column)
        for others in (0, 1, 4)
    ]


PLAIN = {name: kinds[0] for name, kinds in worlds.PHYSICAL.items()}
ORDINARY = {
    "ward": "surgery",
    "age": 44,
    "cost": 12.5,
    "readmitted": True,
    "day": worlds.DAYS[3],
    "bmi": 22.5,
    "seen": worlds.MOMENTS[2],
    "smokes": None,
    "stage": 2,
    "far": 9,
}


def case(column, kind, poison, sql, others):
    """The poison row added to a few ordinary ones."""
    columns = PLAIN | {column: (kind, None)}
    ordinary = ORDINARY | {column: None}
    found = [{"patient": 0} | ORDINARY | {column: poison}] + [{"patient": i + 1} | ordinary for i in range(others)]
    tables = [
        Table(
            worlds.arrow(rows, columns, pa.int64()), domain=DOMAIN, unit="patient", rows_per_unit=2, groups_per_unit=2
        )
        for rows in (found, found[1:])
    ]
    return World(sql, tables[0], tables[1], {"epsilon": 1})


@pytest.fixture(scope="module")
def ledger():
    with Ledger.open(":memory:", testing=True) as found:
        yield found


def sample(count):
    every = probes()
    assert len(every) >= 500
    return random.Random(5).sample(every, min(count, len(every)))


def test_a_poison_row_changes_nothing_but_what_mechanisms_are_fed(ledger):
    for probe in sample(PROBES):
        assert violations(case(*probe), ledger=ledger) == [], probe


def test_everything_shown_is_finite_or_missing(ledger):
    for probe in sample(PROBES // 5):
        world = case(*probe)
        shown = str(run(world.table, world, ledger=ledger).shown)

        assert "nan" not in shown
        assert "inf" not in shown
        assert all(math.isfinite(v) for v in _numbers(shown)), probe


def _numbers(shown):
    rows = shown[len("[{'rows': ") : shown.index("], 'beta'") + 1].replace("datetime.", "str")
    return [v for row in ast.literal_eval(rows) for v in row.values() if isinstance(v, (int, float))]


class Raw:
    """The twin: the analyst's aggregate on the raw column, engine errors and all."""

    def ready(self, table, aggregation):
        """Whatever is asked."""

    def check(self):
        """Nothing."""

    def run(self, table, aggregation):
        connection = duckdb.connect()
        connection.register("visits", table.source)
        column = aggregation.columns[0]
        found = connection.execute(f'SELECT SUM(CAST("{column}" AS DOUBLE)) FROM visits').fetchone()
        from discreet.data.aggregation import Sealed

        return Sealed(np.full((aggregation.cells, len(aggregation.measures)), int(found[0] or 0), dtype=object))


def test_the_raw_engine_is_seen_to_leak():
    numeric = [probe for probe in sample(2_000) if probe[0] in NUMERIC and "GROUP" not in probe[3]][:12]
    caught = [probe for probe in numeric if violations(case(*probe), engine=Raw())]

    assert len(caught) >= len(numeric) // 3


def test_sums_do_not_depend_on_the_order_of_rows_or_on_threads():
    draw = random.Random(8)
    columns = worlds.physical(draw)
    found = worlds.rows(draw, columns, [draw.randint(1, 20) for _ in range(200)])
    source = worlds.arrow(found, columns, pa.int64())
    bounds = {"rows_per_unit": 3, "groups_per_unit": 2}
    table = Table(source, domain=DOMAIN, unit="patient", **bounds)
    query = parse(
        "SELECT ward, COUNT(*), COUNT(DISTINCT patient), AVG(cost), SUM(bmi) FROM visits GROUP BY ward",
        {"visits": table},
    )
    needed = tuple(dict.fromkeys(part for aggregate in query.aggregates for part in parts(aggregate)))
    step = aggregation(query, table, needed, rows=3, groups=2)
    chance = np.random.default_rng(2)
    results = []
    for i in range(PERMUTATIONS):
        shuffled = Table(source.take(chance.permutation(200)), domain=DOMAIN, unit="patient", **bounds)
        engine = DuckDB(threads=1 + i % 2, plain=i % 5 == 4)
        results.append(engine.run(shuffled, step).through(lambda cells: cells.tolist()))

    assert all(result == results[0] for result in results)
