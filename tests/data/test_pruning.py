"""discreet.data.engines.pruning: a raw condition is true exactly where the filter's conjunct is."""

from __future__ import annotations

import datetime as dt
from itertools import product

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.data.aggregation import Aggregation, Measure
from discreet.data.columns import Date, Integer, Real
from discreet.data.domain import Domain
from discreet.data.engines import duckdb as engines
from discreet.data.engines import pruning
from discreet.data.engines.dialect import DUCKDB
from discreet.data.engines.duckdb import DuckDB
from discreet.data.engines.open_databases import lent
from discreet.data.engines.pruning import implied
from discreet.data.table import Table
from tests.data.tables import sql

OPERATORS = (">=", "<=", ">", "<", "=")
LOW, HIGH = 3, 7


def conditions(where, *, column=None, physical="INTEGER"):
    return implied(
        sql(where), domain=Domain({"x": column or Integer(LOW, HIGH)}), physical={"x": physical}, dialect=DUCKDB
    )


def truths(condition):
    """Whether it is true of each raw value from -1 to 11, and of NULL."""
    with duckdb.connect(config={"threads": 1}) as connection:
        code = DUCKDB.code(Integer(LOW, HIGH), name="x", physical="INTEGER")
        rows = "SELECT unnest(list_append(range(-1, 12), NULL))::INTEGER AS x"
        coded = f"SELECT x AS raw, {code} AS x FROM ({rows})" if "code" in condition else rows
        found = connection.execute(f"SELECT ({condition.replace('code', 'x')}) IS TRUE FROM ({coded})").fetchall()
    return [row[0] for row in found]


@pytest.mark.parametrize(("operator", "bound"), [*product(OPERATORS, range(LOW - 2, HIGH + 3))])
def test_each_condition_is_true_exactly_where_the_comparison_of_codes_is(operator, bound):
    made = conditions(f'"x" {operator} {bound}')
    useful = LOW < bound < HIGH or (bound == LOW and operator in ("<=", ">", "=")) or (
        bound == HIGH and operator in (">=", "<", "=")
    )  # fmt: skip

    assert len(made) == useful
    for condition in made:
        assert truths(condition) == truths(f"code {operator} {bound}")


def test_a_twin_that_prunes_at_the_bounds_is_caught():
    """x >= low is true of every code, but not of every raw value: values below are clamped to low."""
    assert truths(f"x >= {LOW}") != truths(f"code >= {LOW}")
    assert truths(f"x = {HIGH}") != truths(f"code = {HIGH}")


def test_conjuncts_are_found_on_both_sides_and_nothing_else_is():
    assert conditions('("x" > 4) AND (6 >= ("x")) AND "x" <> 5') == [
        '"x" > CAST(4 AS BIGINT)',
        '"x" <= CAST(6 AS BIGINT)',
    ]
    for other in ('"x" > 4 OR "x" > 5', 'NOT ("x" > 4)', '"x" + 1 > 4', '"x" > "x"', '"y" > 4', '"x" IS NULL'):
        assert conditions(other) == []
    assert conditions('"x" > -4', column=Integer(-9, 9)) == ['"x" > CAST(-4 AS BIGINT)']


def test_only_columns_whose_code_is_their_value_are_pruned():
    assert conditions('"x" > 4', physical="DOUBLE") == []
    assert conditions('"x" > 4', physical="VARCHAR") == []
    assert conditions('"x" > 4', column=Real(0, 10, step="0.5")) == []
    days = Date("2026-01-01", "2026-12-31")
    assert conditions('"x" >= 20500', column=days, physical="DATE") == ["\"x\" >= DATE '2026-02-16'"]
    assert conditions('"x" >= 20500', column=days, physical="TIMESTAMP") == []


def test_no_answer_changes_and_row_groups_are_left_out(tmp_path, monkeypatch):
    days = [dt.date(2026, 1, 1) + dt.timedelta(days=i // 100) for i in range(20_000)]
    pq.write_table(pa.table({"x": days, "u": range(20_000)}), tmp_path / "days.parquet", row_group_size=1_000)
    domain = Domain({"x": Date("2026-01-01", "2026-06-30"), "u": Integer(0, 1 << 40)})
    plan = Aggregation(
        columns=("x",), where=sql('"x" >= 20500 AND "x" <= 20510'), keys=(), measures=(Measure(kind="rows"),), unit="u",
        rows_per_unit=1, groups_per_unit=1, salt=1,
    )  # fmt: skip
    table = Table(str(tmp_path / "days.parquet"), domain=domain, unit="u")

    def run(*, plain):
        return DuckDB(plain=plain, threads=1).run(table, plan).through(lambda cells: cells.tolist())

    with lent(DuckDB(), [table.source]) as (connection, places):
        shown = engines._located(connection, places, table, plan).sql
    assert "\"x\" >= DATE '2026-02-16' AND \"x\" <= DATE '2026-02-26'" in shown
    pruned = run(plain=True), run(plain=False)
    monkeypatch.setattr(pruning, "_comparisons", lambda where: iter(()))
    assert pruned == (run(plain=True), run(plain=False)) == ([[1100]], [[1100]])
