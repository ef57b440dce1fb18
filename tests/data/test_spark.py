"""discreet.data.engines.spark: the same integers as DuckDB, under any settings, from a real Spark."""

from __future__ import annotations

import dataclasses
import logging
import re
import tempfile
from fractions import Fraction

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.curator.question import passes_of
from discreet.data.aggregation import Key, Measure
from discreet.data.columns import Categorical, Date, Identifier, Integer, Real, Text
from discreet.data.domain import Domain
from discreet.data.engines import codes, spark_bounding, spark_codes, spark_semantics
from discreet.data.engines.duckdb import DuckDB
from discreet.data.engines.reference import Candidates
from discreet.data.engines.spark import Spark
from discreet.data.table import Table
from discreet.errors import DiscreetError, DomainError, UnsupportedError
from tests.curator.checks.distance import planned
from tests.data import tables
from tests.data.test_codes import BYTES, BYTES_CODES, BYTES_DECLARED, DECLARED, DOUBLES, PHYSICAL, TEXTS, UNREAD, ZONED
from tests.data.test_duckdb import ANSWER, DOMAIN, PLAN, ROWS
from tests.scale import counts
from tests.spark import INTERPRETED, settings
from tests.spark import session as local_session

DAYS = ["2026-01-01", "2026-12-31", "2027-01-01", "1969-12-31", "0001-01-01", "9999-12-31", "1582-10-10", "2024-02-29"]
MOMENTS = [
    "2026-01-01 00:00:00", "2026-12-31 23:59:59.999999", "1969-12-31 23:59:59.5", "1700-01-01 00:00:00",
    "2026-03-08 02:30:00.25", "0001-01-01 00:00:00", "9999-12-31 23:59:59.999999", "1582-10-10 12:00:00",
]  # fmt: skip
WORDS = [
    "2026-01-31 24:00", "2026-01-31 24:00:00.5", "2026-01-31 23:59:60", "0000-01-01", "2026-01-31Z",
    "2026-01-31 12:30:05.123456Z", "2026-01-31 12:30:05.5Z", "\u00a012\u3000", "\t12", "12\n", "2026-06-10\n",
    "YES ", " No", "9" * 5000, "1" * 18, "-" + "9" * 18, "9" * 19, "1e-400", "2.4703282292062327e-324",
    "119.4999999999999999999999", "\u0130", "1E5", "1e+5", "1d", "5f", "0x1p3", "1e999999999", "+.5", "+", ".",
]  # fmt: skip
SPARK_TYPES: dict[str, tuple[str, list[str]]] = {  # by DuckDB's name
    **{name: (kind, PHYSICAL[name]) for name, kind in
       {"TINYINT": "tinyint", "SMALLINT": "smallint", "INTEGER": "int", "BIGINT": "bigint"}.items()},
    **{name: (name.lower(), [*values, "-0.5"]) for name, values in PHYSICAL.items() if name.startswith("DECIMAL")},
    "FLOAT": ("float", [v for v in PHYSICAL["FLOAT"] if v != "-nan"]),
    "DOUBLE": ("double", [v for v in DOUBLES if v != "-nan"]),
    "BOOLEAN": ("boolean", ["true", "false"]),
    "VARCHAR": ("string", [*TEXTS, *WORDS, *ZONED, *UNREAD]),
    "DATE": ("date", DAYS),
    "TIMESTAMP": ("timestamp_ntz", MOMENTS),
    "TIMESTAMP WITH TIME ZONE": ("timestamp", [m + "+00:00" for m in MOMENTS]),
}  # fmt: skip
OTHER = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.session.timeZone": "Asia/Kathmandu",
    "spark.sql.parser.escapedStringLiterals": "true",
    "spark.sql.caseSensitive": "true",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    "spark.sql.legacy.timeParserPolicy": "LEGACY",
    "spark.sql.adaptive.enabled": "true",
    **INTERPRETED,
}
FAST = DuckDB(threads=1)
KINDS = ("integer", "text")


@pytest.fixture(scope="module")
def session():
    return local_session()


@pytest.fixture(scope="module")
def engine(session):
    return Spark(session)


def framed(session, table):
    """An Arrow table as a DataFrame, by way of a Parquet file: no value is changed on the way."""
    folder = tempfile.mkdtemp(dir=session.conf.get("spark.sql.warehouse.dir").removeprefix("file:"))
    pq.write_table(table, f"{folder}/rows.parquet")
    return session.read.parquet(folder)


def in_duckdb(kind, values, columns):
    with duckdb.connect(config={"threads": 1}) as connection:
        rows = ", ".join(f"({i}, CAST({codes.literal(value)} AS {kind}))" for i, value in enumerate(values))
        connection.execute(f"CREATE TABLE t (i INTEGER, v {kind})")
        connection.execute(f"INSERT INTO t VALUES {rows}, (1000000, NULL)")
        made = ", ".join(codes.code(column, name="v", physical=kind) for column in columns)
        return [row[1:] for row in connection.execute(f"SELECT i, {made} FROM t ORDER BY i").fetchall()]


def in_spark(session, kind, values, columns, *, code=spark_codes.code):
    rows = ", ".join(f"({i}, {spark_codes.literal(value)})" for i, value in enumerate(values))
    made = ", ".join(f"{code(column, name='v', physical=kind)} AS c{k}" for k, column in enumerate(columns))
    source = f"SELECT i, CAST(v AS {kind}) AS v FROM VALUES {rows}, (1000000, NULL) AS t(i, v)"
    return [tuple(row)[1:] for row in session.sql(f"SELECT i, {made} FROM ({source}) ORDER BY i").collect()]


@pytest.mark.parametrize("kind", SPARK_TYPES)
def test_every_value_has_the_code_that_duckdb_gives(session, kind):
    physical, values = SPARK_TYPES[kind]

    assert in_spark(session, physical, values, DECLARED) == in_duckdb(kind, values, DECLARED)


def test_codes_do_not_depend_on_the_settings_of_the_session(session):
    for kind in ("VARCHAR", "TIMESTAMP", "DECIMAL(18,4)", "DECIMAL(38,0)", "DECIMAL(30,20)", "DOUBLE"):
        physical, values = SPARK_TYPES[kind]
        with settings(session, OTHER):
            found = in_spark(session, physical, values, DECLARED)

        assert found == in_duckdb(kind, values, DECLARED)


def test_a_twin_that_casts_raises_where_the_code_does_not(session):
    """A plain cast of the same values does raise: the check is able to fail."""

    def cast(column, *, name, physical):
        return f"CAST({name} AS BIGINT)"

    for physical, value in (("double", "inf"), ("string", "abc"), ("decimal(38,0)", "9" * 38)):
        in_spark(session, physical, [value], [Integer(0, 9)])
        with pytest.raises(Exception, match=r"CAST|OVERFLOW"):
            in_spark(session, physical, [value], [Integer(0, 9)], code=cast)


def test_a_twin_that_reads_moments_in_the_session_zone_is_caught(session):
    def zoned(column, *, name, physical):
        return f"unix_date(CAST(CAST({name} AS TIMESTAMP) AS DATE))"

    moments, year = ["2026-01-01 03:00:00+00:00"], Date("2025-01-01", "2026-12-31")
    right = in_duckdb("TIMESTAMP WITH TIME ZONE", moments, [year])

    assert in_spark(session, "timestamp", moments, [year]) == right
    assert in_spark(session, "timestamp", moments, [year], code=zoned) != right


def test_a_step_that_spark_cannot_compute_exactly_is_refused():
    step = Fraction((1 << 61) - 1, (1 << 61) - 2)
    column = Real(0, step * (1 << 61), step=step)  # exact in 128 bits, and not in 37 digits

    with pytest.raises(DomainError, match="more than 37 digits"):
        spark_codes.code(column, name="v", physical="bigint")


@pytest.mark.parametrize("kind", KINDS)
def test_spark_keeps_exactly_the_rows_that_duckdb_keeps(session, engine, kind):
    rng = np.random.default_rng(KINDS.index(kind))
    for turn in range(counts(quick=3, full=300)):
        source = tables.frame(rng, int(rng.integers(0, 400)), kind=kind, units=int(rng.integers(2, 60)))
        plan = tables.aggregation(rng)
        with settings(session, OTHER if turn % 2 else {}):
            found = tables.run(engine, framed(session, source), plan)

        assert (found == tables.run(FAST, source, plan)).all()


def test_the_order_of_rows_and_partitions_changes_nothing(session, engine):
    rng = np.random.default_rng(6)
    source, plan = tables.frame(rng, 600, units=20), tables.aggregation(rng, rows=7, groups=3)
    frame, expected = framed(session, source), tables.run(FAST, source, plan)
    for partitions in (1, 3, 7):
        with settings(session, {"spark.sql.shuffle.partitions": str(partitions)} | INTERPRETED):
            mixed = frame.repartition(partitions).sortWithinPartitions("y")

            assert (tables.run(engine, mixed, plan) == expected).all()


def test_rows_that_are_their_own_units_are_all_counted(session, engine):
    rng = np.random.default_rng(2)
    source = tables.frame(rng, 300)
    plan = dataclasses.replace(tables.aggregation(rng, unit=None), rows_per_unit=1, groups_per_unit=1)
    found, expected = (
        one.run(Table(rows, domain=tables.DOMAIN, unit=None), plan).through(lambda cells: cells)
        for one, rows in ((engine, framed(session, source)), (FAST, source))
    )

    assert (found == expected).all()


def test_partitions_columns_and_row_groups_that_are_not_needed_are_not_read(session, engine, tmp_path):
    made = "SELECT id AS who, 'a' AS ward, CAST(id % 90 AS INT) AS age, CAST(id AS STRING) AS cost, id % 5 AS year"
    session.sql(f"{made} FROM range(100)").write.partitionBy("year").parquet(str(tmp_path / "visits"))
    domain = Domain({**DOMAIN, "year": Integer(0, 9)})
    plan = dataclasses.replace(PLAN, columns=("ward", "age", "year"), where=tables.sql('"year" = 3 AND "age" >= 65'))
    session.read.parquet(str(tmp_path / "visits")).createOrReplaceTempView("parted")
    table = Table("spark://parted", domain=domain, unit="who", rows_per_unit=2, groups_per_unit=2)
    shown = session.sql(f"EXPLAIN FORMATTED {engine.sql(table, plan)}").collect()[0][0]

    assert re.search(r"PartitionFilters: \[.*year#\d+L? = 3\)\]", shown)
    assert re.search(r"PushedFilters: \[.*GreaterThanOrEqual\(age,65\)\]", shown)
    assert re.search(r"ReadSchema: struct<who:bigint,ward:string,age:int>", shown)  # and not the cost
    assert len(re.findall(r"\(\d+\) Exchange", shown)) == 2  # by unit, and of the sums


def test_a_twin_that_forgets_to_bound_is_caught(session, engine, monkeypatch):
    rng = np.random.default_rng(0)
    source, plan = tables.frame(rng, 300, units=5), tables.aggregation(rng, rows=1, groups=1)
    expected = tables.run(FAST, source, plan)
    monkeypatch.setattr(spark_bounding, "kept_rows", lambda plan, rows, present, dialect: present)

    assert (tables.run(engine, framed(session, source), plan) != expected).any()


def test_a_wide_sum_is_exact(session, engine):
    most = (1 << 62) - 1
    domain = Domain({"u": Identifier(), "v": Integer(-most, most)})
    plan = dataclasses.replace(
        tables.aggregation(np.random.default_rng(0), rows=1, groups=1), columns=("v",), where=None, keys=(),
        measures=(Measure(kind="sum", value=tables.sql('"v"'), low=-most, high=most),),
    )  # fmt: skip
    frame = framed(session, pa.table({"u": list(range(300)), "v": [most] * 299 + [-5]}))

    assert engine.run(Table(frame, domain=domain, unit="u"), plan).through(lambda c: c.tolist()) == [[299 * most - 5]]


def declared(source, **options):
    return Table(source, domain=DOMAIN, unit="who", rows_per_unit=2, groups_per_unit=2, **options)


@pytest.fixture(scope="module")
def visits(session):
    framed(session, pa.table(ROWS)).createOrReplaceTempView("visits")
    return "spark://visits"


def answer(engine, source, plan=PLAN):
    return engine.run(declared(source), plan).through(lambda cells: cells.tolist())


def test_a_table_a_view_and_a_frame_give_the_same_integers(session, engine, visits):
    session.sql("SELECT * FROM visits").write.mode("overwrite").saveAsTable("stored")

    assert answer(engine, visits) == ANSWER
    assert answer(engine, "spark://spark_catalog.default.stored") == ANSWER
    assert answer(engine, session.table("visits")) == ANSWER
    assert [view.name for view in session.catalog.listTables() if view.name.startswith("discreet_")] == []


def test_answers_do_not_depend_on_the_settings_and_none_is_changed(session, engine, visits):
    with settings(session, OTHER):
        before = dict(session.conf.getAll)

        assert answer(engine, visits) == ANSWER
        assert dict(session.conf.getAll) == before


def test_names_are_compared_byte_for_byte_whatever_the_collation(session, engine):
    names = "('x', 'a', 1), ('X', 'a', 2), ('x', 'A', 3), ('X', 'a', 4)"
    columns = "who COLLATE UTF8_LCASE AS who, ward COLLATE UTF8_LCASE AS ward, age"
    frame = session.sql(f"SELECT {columns} FROM VALUES {names} AS t(who, ward, age)")

    assert answer(engine, frame) == [[3, 2, 7], [0, 0, 0]]


def test_a_column_may_have_any_name(session, engine):
    odd = "we`ird.na\\me \u00e9"
    frame = session.table("visits").withColumnsRenamed({"age": odd, "ward": "_u"})
    domain = Domain({"who": Text(9), "_u": Categorical(["a", "b"]), odd: Integer(0, 119)})
    quoted = '"' + odd + '"'
    plan = dataclasses.replace(
        PLAN, columns=("_u", odd), where=tables.sql(f"{quoted} >= 0"), keys=(Key(code=tables.sql('"_u"'), size=2),),
        measures=(*PLAN.measures[:2], Measure(kind="sum", value=tables.sql(quoted), low=0, high=119)),
    )  # fmt: skip
    table = Table(frame, domain=domain, unit="who", rows_per_unit=2, groups_per_unit=2)

    assert engine.run(table, plan).through(lambda cells: cells.tolist()) == ANSWER


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("spark://nowhere", "no table `nowhere`"),
        ("visits.parquet", "need a source such as 'spark://visits'"),
        ("spark://", "need a source"),
        ([1, 2], "got list"),
    ],
)
def test_a_missing_source_is_named(engine, source, message):
    with pytest.raises(DomainError, match=message):
        engine.ready(declared(source), PLAN)


def test_a_missing_column_is_named_and_a_double_names_nobody(session, engine, visits):
    with pytest.raises(DomainError, match="no column 'ward'; did you mean 'word'"):
        engine.ready(declared(session.table("visits").withColumnRenamed("ward", "word")), PLAN)
    with pytest.raises(DomainError, match="cannot name a unit"):
        engine.ready(declared(session.table("visits").selectExpr("CAST(who AS DOUBLE) AS who", "ward", "age")), PLAN)


def test_being_ready_reads_no_row(session, engine):
    """A view that raises on every row can be made ready; only running it fails."""
    broken = session.sql("SELECT 1L AS who, 'a' AS ward, CAST(raise_error('secret') AS INT) AS age FROM range(3)")
    engine.ready(declared(broken), PLAN)

    with pytest.raises(DiscreetError, match="the run failed"):
        engine.run(declared(broken), PLAN)


def test_a_name_that_a_setting_could_fill_in_is_refused(session, engine, visits):
    odd = "${spark.app.name}"
    domain = Domain({"who": Identifier(), odd: Integer(0, 119)})
    plan = dataclasses.replace(PLAN, columns=(odd,), where=None, keys=(), measures=PLAN.measures[:1])
    frame = session.table("visits").withColumnRenamed("age", odd)

    with pytest.raises(DomainError, match="cannot be used with Spark"):
        engine.ready(Table(frame, domain=domain, unit="who"), plan)


@pytest.mark.parametrize(
    "question",
    [
        'SELECT SUM("${env:HOME}") FROM (SELECT who, age AS "${env:HOME}" FROM visits) AS t',
        'SELECT SUM("${env:HOME}".age) FROM visits AS "${env:HOME}" JOIN visits AS v ON v.who = "${env:HOME}".who',
    ],
)
def test_a_name_in_a_question_that_a_setting_could_fill_in_is_refused(engine, visits, question):
    """An analyst chooses names as well."""
    step = planned(question, {"visits": declared(visits)})

    with pytest.raises(DomainError, match="cannot be used with Spark"):
        engine.ready(step.table, passes_of(step)[0])


def test_a_failure_after_the_first_row_is_one_constant_sentence(session, engine, caplog, capfd):
    broken = session.sql("SELECT id AS who, 'a' AS ward, CAST(raise_error('secret') AS INT) AS age FROM range(3)")
    with caplog.at_level(logging.DEBUG, logger="discreet.operator"), pytest.raises(DiscreetError) as caught:
        answer(engine, broken)

    assert str(caught.value)[:-8] == "the run failed; see the operator log, reference "
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert type(caught.value) is DiscreetError
    assert "secret" not in caplog.text
    assert "secret" not in "".join(capfd.readouterr())  # where PySpark has its own logs
    assert str(caught.value)[-8:] in caplog.text


def test_this_spark_computes_as_assumed(engine):
    engine.check()


def test_every_assumption_can_fail(session, engine, monkeypatch):
    """Each answer is really compared: another expected one is refused, by name."""
    chosen = spark_semantics.ASSUMED[:: counts(quick=9, full=1)]
    for expression, expected in chosen:
        other = not expected if isinstance(expected, bool) else "" if isinstance(expected, str) else -1
        monkeypatch.setattr(spark_semantics, "ASSUMED", ((expression, other),))
        with pytest.raises(UnsupportedError, match="is needed"):
            engine.check()


def test_a_session_that_computes_otherwise_is_refused(session, visits, monkeypatch):
    monkeypatch.setattr(spark_semantics, "ASSUMED", (("1 DIV 0 IS NULL", True),))

    with settings(session, {"spark.sql.ansi.enabled": "true"}), pytest.raises(UnsupportedError, match="1 DIV 0"):
        answer(Spark(session), visits)


def test_bytes_are_the_text_that_they_are_in_utf8(session):
    rows = ", ".join(f"({i}, X'{one.hex()}')" for i, one in enumerate(BYTES))
    made = ", ".join(spark_codes.code(column, name="v", physical="binary") for column in BYTES_DECLARED)
    found = session.sql(f"SELECT {made} FROM VALUES {rows} AS t(i, v) ORDER BY i").collect()

    assert list(zip(*found, strict=True)) == BYTES_CODES


def test_spark_keeps_the_same_rows_whatever_type_holds_the_units(session, engine):
    rng = np.random.default_rng(5)
    numbers = pa.array(rng.integers(0, 30, 400) * 7_919)
    large = pa.array([(1 << 64) - 1 - i for i in numbers.to_pylist()], pa.uint64())
    rows = tables.values(rng, 400)
    plan = tables.aggregation(rng, rows=4, groups=3)
    for known, kinds in ((numbers, (pa.int32(), pa.string(), pa.decimal128(20))), (large, (pa.uint64(), pa.string()))):
        expected = tables.run(FAST, pa.table({"u": known} | rows), plan)
        for kind in kinds:
            found = tables.run(engine, framed(session, pa.table({"u": known.cast(kind)} | rows)), plan)

            assert (found == expected).all()


@pytest.mark.parametrize("unit", [None, "u"])
def test_totals_of_very_many_rows_do_not_wrap(session, unit):
    """What is added up over units, or over rows that are units, is a decimal."""
    plan = dataclasses.replace(
        tables.aggregation(np.random.default_rng(0), unit=unit), keys=(), where=None, columns=("y",),
        measures=(Measure(kind="sum", value=tables.sql('"y"'), low=0, high=3 << 40),),
    )  # fmt: skip
    made = spark_bounding.distributed(
        plan, Candidates(sql="SELECT 1", unit=None if unit is None else "BIGINT", summed=(0,))
    )
    (final,) = re.findall(r"^SELECT g, .*? FROM", made)
    most = (1 << 63) - 1

    assert final.count("SUM(") == final.count("DECIMAL(28, 0)") >= 2
    shown = session.sql(f"SELECT {spark_bounding._total('v')} AS s FROM VALUES ({most}L), ({most}L) AS t(v)").collect()
    assert int(shown[0][0]) == 2 * most
