"""discreet.data.relation and its SQL: the rows of every node, against an evaluator that knows no engine."""

import math
import random
from dataclasses import replace

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from discreet.curator.plan import plan
from discreet.curator.question import passes_of
from discreet.data import Domain, Identifier, Integer, Table, relation
from discreet.data.engines import relations
from discreet.data.engines.dialect import DUCKDB
from discreet.data.engines.duckdb import DuckDB
from discreet.data.engines.relations import rows as rows_sql
from discreet.data.relation import Relation
from discreet.errors import DiscreetError, DomainError
from discreet.queries.sql import parse
from tests.curator.checks.distance import planned
from tests.data import row_by_row
from tests.queries.clinic import LABS, SCHEMAS, lab, people, question, schema
from tests.scale import counts

QUESTIONS = counts(quick=60, full=3_000)
MANY = 10**6  # more rows than there are


def reads(step, pass_):
    """Which columns of each table a pass reads, from left to right."""
    source = step.table.source
    if not isinstance(source, Relation):
        return [pass_.columns]
    return [scan.names for scan in source.pruned(pass_.columns).scans()]


def expected(step):
    """The cells of every pass, by the evaluator."""
    shape, made = [grouping.size for grouping in step.groupings], []
    for place, pass_ in enumerate(passes_of(step)):
        read = reads(step, pass_)
        if place == 0 and step.added:
            found = [row_by_row.cells(step.query, step.groupings, part, read) for part in step.added]
            cells = np.zeros((*shape, len(found)), dtype=object)
            for i, part in enumerate(found):
                for where, total in part.items():
                    cells[(*where, i)] = total
            made.append(cells.reshape(math.prod(shape), -1))
        else:
            rank = step.ranked[place - bool(step.added)]
            cells = np.zeros((*shape, rank.grid(math.prod(shape))[0]), dtype=object)
            for where, total in row_by_row.grid(step.query, step.groupings, rank, read).items():
                cells[where] = total
            made.append(cells.reshape(-1, 1))
    return made


def found(step, engine):
    """The cells of every pass, by an engine."""
    return [engine.run(step.table, pass_).through(lambda cells: cells) for pass_ in passes_of(step)]


def asked(sql, tables):
    """The plan of a question without bounds that would take something away, or None where it is refused."""
    try:
        query = parse(sql, tables)
        table = query.source.table()
        return plan(query, table, epsilon=1, rows_per_unit=MANY, groups_per_unit=MANY)
    except DiscreetError:
        return None


def test_joins_sub_queries_unions_and_values_per_unit_are_what_sql_says_on_both_paths():
    """With room for every row, so that nothing is taken away: counts, sums and grids are equal to the last integer."""
    answered = 0
    for seed in range(QUESTIONS):
        draw = random.Random(seed)
        tables = schema(
            *people(draw, patients=draw.choice([0, 1, 3, 6]), most=draw.choice([1, 3, 5])), rows=50, groups=9
        )
        sql = question(seed, depth=1 + seed % 3)
        step = asked(sql, tables)
        if step is None:
            continue
        answered += 1
        truth = expected(step)
        for engine in (DuckDB(threads=1), DuckDB(threads=1, plain=True)):
            for one, other in zip(found(step, engine), truth, strict=True):
                assert np.array_equal(one.astype(object), other), (seed, sql)
    assert answered >= QUESTIONS * 3 // 5


def units(kind, values):
    """A table whose unit column has a physical type."""
    domain = Domain({"patient": Identifier(), "age": Integer(0, 9)})
    source = pa.table({"patient": pa.array(values).cast(kind), "age": pa.array([1] * len(values))})
    return Table(source, domain=domain, unit="patient", rows_per_unit=2)


UNITED = "SELECT COUNT(*) FROM (SELECT patient, age FROM a UNION ALL SELECT patient, age FROM b) t"
JOINED = "SELECT COUNT(*) FROM a JOIN b ON a.patient = b.patient"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (pa.int64(), pa.uint64()),
        (pa.int64(), pa.float64()),
        (pa.float64(), pa.string()),
        (pa.int32(), pa.string()),
        (pa.decimal128(21, 1), pa.decimal128(22, 2)),
        (pa.decimal128(21, 1), pa.string()),
    ],
)
def test_a_person_whose_name_is_written_otherwise_in_another_table_is_refused(first, second):
    """Otherwise a union would count one person as two, each with its own bound, and a join would mix people up."""
    tables = {"a": units(first, [1, 2]), "b": units(second, [1, 2])}
    for sql in (UNITED, JOINED):
        step = planned(sql, tables)
        with pytest.raises(DomainError, match="unit columns of joined and united tables"):
            DuckDB().ready(step.table, passes_of(step)[0])


@pytest.mark.parametrize(
    ("first", "second"), [(pa.int8(), pa.int64()), (pa.uint32(), pa.int64()), (pa.string(), pa.large_string())]
)
def test_a_person_with_one_name_is_one_person(first, second):
    tables = {"a": units(first, [1, 2]), "b": units(second, [2, 3])}

    assert [int(found(planned(sql, tables), DuckDB())[0][0, 0]) for sql in (UNITED, JOINED)] == [4, 1]


def bounded(rows, salt, *, keep):
    """The rows that Bound keeps of each patient, in any order."""
    table = Table(pa.Table.from_pylist(rows, schema=SCHEMAS["labs"]), domain=LABS, unit="patient", rows_per_unit=99)
    node = relation.Bound(relation.Scan(table, ("ward", "level", "kind")), keep, salt)
    made = rows_sql(node, lambda _: ("labs", PHYSICAL), DUCKDB)
    connection = duckdb.connect()
    connection.register("labs", table.source)
    return sorted(connection.execute(made.sql).fetchall(), key=repr)


PHYSICAL = {
    "patient": "BIGINT", "ward": "VARCHAR", "result": "DOUBLE", "level": "BIGINT", "seen": "TIMESTAMP",
    "kind": "VARCHAR",
}  # fmt: skip


def test_bounding_before_a_join_keeps_the_same_rows_whatever_their_order_and_whoever_else_is_there():
    draw = random.Random(3)
    rows = [lab(draw, patient) | {"level": draw.randint(0, 9), "kind": "x"} for patient in (1, 2, 3) for _ in range(9)]
    kept = bounded(rows, 7, keep=4)
    for _ in range(3):
        draw.shuffle(rows)
        assert bounded(rows, 7, keep=4) == kept
    alone = [row for row in rows if row["patient"] == 2]

    assert [len([row for row in kept if row[0] == patient]) for patient in (1, 2, 3)] == [4, 4, 4]
    assert bounded(alone, 7, keep=4) == [row for row in kept if row[0] == 2]
    assert bounded(rows, 8, keep=4) != kept  # another version of the table, other rows
    assert len(bounded(rows, 7, keep=99)) == 27


def test_the_wrong_answer_of_a_row_is_seen(monkeypatch):
    """Twins of the SQL that the evaluator must tell from the truth."""
    tables = schema(*people(random.Random(5), patients=6, most=5), rows=50, groups=9)
    inner_join = "visits v JOIN places p ON v.ward = p.ward"
    clamp = f"SELECT SUM(n) FROM (SELECT v.patient, COUNT(*) AS n FROM {inner_join} GROUP BY v.patient) t"
    tight = schema(*people(random.Random(5), patients=6, most=5), rows=1, groups=9)
    for sql, given, name, twin in (
        (clamp, tight, "_between", lambda value, bounds: value),
        ("SELECT COUNT(*) FROM visits a LEFT JOIN labs b USING (patient, ward)", tables, "_join", inner),
        ("SELECT AVG(m) FROM (SELECT patient, MIN(cost) AS m FROM visits GROUP BY patient) t", tables, "_value",
         lambda value, dialect: f"MAX({dialect.quoted(value.column)})"),
    ):  # fmt: skip
        step = asked(sql, given)
        assert np.array_equal(found(step, DuckDB())[0].astype(object), expected(step)[0])
        with monkeypatch.context() as patched:
            patched.setattr(relations, name, twin)
            broken = [engine.run(step.table, replace(pass_, measures=tuple(map(loose, pass_.measures)))) for engine in
                      [DuckDB()] for pass_ in passes_of(step)]  # fmt: skip
            assert not np.array_equal(broken[0].through(lambda cells: cells.astype(object)), expected(step)[0])


def loose(measure):
    """Without the last clamp."""
    return replace(measure, low=-(10**9), high=10**9) if measure.kind == "sum" else measure


honest = relations._join


def inner(node, left, right, dialect):
    """A left join that forgets who has no partner."""
    made = honest(node, left, right, dialect)
    return replace(made, sql=made.sql.replace("LEFT JOIN", "JOIN"))
