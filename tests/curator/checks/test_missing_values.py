"""Missing and undeclared values: one number for a count, however it is asked, and that of plain SQL."""

from __future__ import annotations

import math
import random
import re

import duckdb
import pyarrow as pa
import pytest

import discreet as dc
from discreet.data.engines.duckdb import DuckDB
from discreet.data.engines.postgres import Postgres
from discreet.data.engines.spark import Spark
from tests import spark as local
from tests.data.postgres_tables import stored
from tests.data.test_spark import framed
from tests.scale import counts

STRICT = {"crp", "ward", "urgent", "level"}
DOMAINS = {
    "visits": dc.Domain({
        "patient": dc.Identifier(), "ward": dc.Categorical(["a", "b"]), "crp": dc.Integer(-5, 9),
        "bmi": dc.Integer(0, 40, nullable=True), "urgent": dc.Boolean(),
        "place": dc.Categorical(["x", "y"], nullable=True),
    }),
    "labs": dc.Domain({"patient": dc.Identifier(), "level": dc.Integer(0, 9), "dose": dc.Integer(0, 9, nullable=True)}),
}  # fmt: skip


def _clamped(name, low, high):
    return f"CASE WHEN {name} < {low} THEN {low} WHEN {name} > {high} THEN {high} ELSE {name} END AS {name}"


AS_DECLARED = f"""
CREATE VIEW visits_declared AS SELECT patient, urgent, CASE WHEN ward IN ('a', 'b') THEN ward END AS ward,
    {_clamped("crp", -5, 9)}, {_clamped("bmi", 0, 40)}, CASE WHEN place IN ('x', 'y') THEN place END AS place
    FROM visits_rows WHERE patient IS NOT NULL;
CREATE VIEW labs_declared AS SELECT patient, {_clamped("level", 0, 9)}, {_clamped("dose", 0, 9)}
    FROM labs_rows WHERE patient IS NOT NULL;
"""
BUDGET = 10**9  # so large that no noise is left


def frames(seed):
    draw = random.Random(seed)

    def some(options, n=300):
        return [draw.choice(options) for _ in range(n)]

    visits = pa.table({
        "patient": pa.array(some([None, *range(1, 60)]), pa.int64()), "ward": some(["a", "b", "c", "A", None]),
        "crp": pa.array(some([None, None, -9, -5, -1, 0, 3, 9, 10**6]), pa.int64()),
        "bmi": pa.array(some([None, -3, 0, 20, 40, 70]), pa.int64()),
        "urgent": pa.array(some([True, False, None]), pa.bool_()), "place": some(["x", "y", "z", None]),
    })  # fmt: skip
    labs = pa.table({
        "patient": pa.array(some([None, *range(30, 90)], 100), pa.int64()),
        "level": pa.array(some([None, 0, 4, 99], 100), pa.int64()),
        "dose": pa.array(some([None, 1, 2], 100), pa.int64()),
    })  # fmt: skip
    return {"visits": visits, "labs": labs}


def aggregates(name):
    return [f"COUNT({name})", f"SUM({name})", f"AVG({name})", f"VARIANCE({name})", f"STDDEV({name})", f"MEDIAN({name})"]


def question(draw):
    """A question and the names of its keys, of which a missing one is a group of its own where it may be missing."""
    kind = draw.randrange(5)
    if kind <= 2:
        source, numbers, unit = "visits", ["crp", "bmi", "crp % 3", "bmi + crp"], "patient"
        words, keys = ["ward", "urgent", "place"], ["ward", "place", "urgent", "crp % 3", "crp // 4"]
    elif kind == 3:
        inner = draw.choice(["COUNT(crp)", "SUM(crp)", "COUNT(*)", "COUNT(ward)", "COUNT(bmi)", "MAX(crp)"])
        source = f"(SELECT patient, {inner} AS c FROM visits GROUP BY patient) AS t"
        numbers, words, keys, unit = ["c"], [], [], "patient"
    else:
        source = f"visits AS v {draw.choice(['JOIN', 'LEFT JOIN'])} labs AS l ON v.patient = l.patient"
        numbers, words, keys, unit = ["v.crp", "l.level", "l.dose"], ["v.ward"], ["v.ward"], "v.patient"
    chosen = [f"COUNT({draw.choice([*numbers, *words])})"]
    pool = ["COUNT(*)", f"COUNT(DISTINCT {unit})", *aggregates(draw.choice(numbers)), *(f"COUNT({w})" for w in words)]
    chosen = list(dict.fromkeys([*chosen, *draw.sample(pool, draw.randint(0, 2))]))
    key = draw.choice(keys) if keys and draw.random() < 0.5 else None
    wheres = ["", "", f" WHERE {numbers[0]} >= 0", f" WHERE {numbers[-1]} IS NOT NULL"]
    shown = [*([f"{key} AS k"] if key else []), *(f"{text} AS o{i}" for i, text in enumerate(chosen))]
    group = f" GROUP BY {key}" if key else ""
    return f"SELECT {', '.join(shown)} FROM {source}{draw.choice(wheres)}{group}", key, chosen


def plain(frame, sql):
    """The same SQL in DuckDB on the tables as declared; rows that lack what is used and may not be missing are out."""
    used = STRICT & set(re.findall(r"\w+", sql))
    for name, domain in DOMAINS.items():
        needed = [f"{one} IS NOT NULL" for one in sorted(used & set(domain))]
        rows = f"(SELECT * FROM {name}_declared{' WHERE ' + ' AND '.join(needed) if needed else ''})"
        sql = re.sub(
            rf"\b{name}\b( AS \w+)?", lambda found, rows=rows, name=name: rows + (found[1] or f" AS {name}"), sql
        )
    sql = sql.replace("VARIANCE(", "VAR_POP(").replace("STDDEV(", "STDDEV_POP(")
    with duckdb.connect() as connection:
        for name, rows in frame.items():
            connection.register(f"{name}_rows", rows)
        connection.execute(AS_DECLARED)
        return connection.execute(sql).fetchall()


def declared(sources, engine=None):
    bounds = {"unit": "patient", "rows_per_unit": 40, "groups_per_unit": 40, "engine": engine}
    return {name: dc.Table(sources[name], domain=DOMAINS[name], **bounds) for name in DOMAINS}


def agree(tables, frame, sql, key, chosen):
    with dc.Curator(tables, budget=dc.PureDP(10**12), ledger=":memory:") as curator:
        rows = curator.ask(sql, epsilon=BUDGET).table.to_pylist()
    expected = {row[0] if key else None: row[1:] if key else row for row in plain(frame, sql)}
    for row in rows:
        place = row.pop("k") if key else None
        for name, text, value in zip(row, chosen, row.values(), strict=True):
            truth = expected[place][list(row).index(name)] if place in expected else None
            if text.startswith(("COUNT", "SUM")):
                assert value == (truth or 0), (sql, place, name)
            elif truth is not None and not text.startswith("MEDIAN"):
                assert math.isclose(value, truth, rel_tol=1e-6, abs_tol=1e-6), (sql, place, name)


@pytest.mark.parametrize("seed", range(counts(quick=40, full=2_000)))
@pytest.mark.parametrize("plainly", [False, True], ids=["compiled", "sql"])
def test_every_count_sum_and_average_is_that_of_plain_sql(seed, plainly):
    draw, frame = random.Random(seed), frames(seed % 5)
    agree(declared(frame, DuckDB(threads=1, plain=plainly)), frame, *question(draw))


def test_they_are_the_same_on_postgresql(postgres_url):
    frame = frames(1)
    tables = declared({name: stored(postgres_url, rows) for name, rows in frame.items()}, Postgres())
    for seed in range(counts(quick=12, full=200)):
        agree(tables, frame, *question(random.Random(seed)))


def test_they_are_the_same_on_spark():
    frame, session = frames(2), local.session()
    for name, rows in frame.items():
        framed(session, rows).createOrReplaceTempView(f"missing_{name}")
    tables = declared({name: f"spark://missing_{name}" for name in frame}, Spark(session))
    for seed in range(counts(quick=4, full=100)):
        agree(tables, frame, *question(random.Random(seed)))


@pytest.mark.parametrize("beside", ["", ", AVG(crp) AS a", ", MEDIAN(crp) AS m", ", SUM(crp) AS s, COUNT(*) AS n"])
def test_a_count_of_a_column_is_the_same_number_beside_anything(beside):
    rows = pa.table({"crp": [3 if i % 2 else None for i in range(10_000)]})
    table = dc.Table(rows, domain=dc.Domain({"crp": dc.Integer(0, 9)}), unit=None)
    with dc.Curator({"t": table}, budget=dc.PureDP(10**6), ledger=":memory:") as curator:
        sql = f"SELECT COUNT(crp) AS k{beside} FROM t"
        answer, told = curator.ask(sql, epsilon=10**5), curator.explain(sql, epsilon=1)

    assert answer.table["k"].to_pylist() == [5_000]
    assert "rows where crp is NULL or not as declared" in told.removed


def test_a_count_of_undeclared_categories_leaves_them_out():
    rows = pa.table({"ward": ["a", "b", "b", "a", "attic"] * 2_000})
    table = dc.Table(rows, domain=dc.Domain({"ward": dc.Categorical(["a", "b"])}), unit=None)
    with dc.Curator({"t": table}, budget=dc.PureDP(10**6), ledger=":memory:") as curator:
        answer = curator.ask("SELECT COUNT(ward) AS n FROM t", epsilon=10**5)

    assert answer.table["n"].to_pylist() == [8_000]


def test_an_explanation_names_the_columns_that_sub_queries_and_joins_read():
    with dc.Curator(declared(frames(0)), budget=dc.PureDP(1), ledger=":memory:") as curator:
        per_unit = "SELECT SUM(c) AS s FROM (SELECT patient, COUNT(crp) AS c FROM visits GROUP BY patient) AS t"
        joined = "SELECT COUNT(l.level) AS n FROM visits AS v JOIN labs AS l ON v.patient = l.patient"

        assert "rows where crp is NULL or not as declared" in curator.explain(per_unit, epsilon=1).removed
        assert "rows where level is NULL or not as declared" in curator.explain(joined, epsilon=1).removed
