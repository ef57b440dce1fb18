"""discreet.data.engines.postgres: DuckDB's integers, only tables, fixed settings, constant faults, the self-test."""

from __future__ import annotations

import dataclasses
import datetime as dt
import logging

import numpy as np
import psycopg
import pyarrow as pa
import pytest

from discreet.data.aggregation import Aggregation, Key, Measure
from discreet.data.columns import Categorical, Date, Identifier, Integer, Real, Text
from discreet.data.domain import Domain
from discreet.data.engines import postgres, postgres_semantics
from discreet.data.engines.choose import engine_for
from discreet.data.engines.duckdb import DuckDB
from discreet.data.engines.postgres import Postgres
from discreet.data.engines.postgres_tables import columns, physical, place
from discreet.data.table import Table
from discreet.errors import DiscreetError, DomainError, ParameterError, UnsupportedError
from tests.data import tables
from tests.data.postgres_tables import stored
from tests.data.tables import aggregation, frame, sql
from tests.scale import counts

FRAMES, PLANS = counts(quick=10, full=250), 8
FAST, PLAIN = DuckDB(threads=1), DuckDB(threads=1, plain=True)
ROWS = {
    "who": [1, 1, 2, 3, None],
    "ward": ["a", "b", "a", "z", "a"],
    "age": [10, 200, -5, 7, 8],
    "cost": [1.5, 2.25, float("nan"), 4.0, 1.0],
}
DOMAIN = Domain(
    {"who": Identifier(), "ward": Categorical(["a", "b"]), "age": Integer(0, 119), "cost": Real(0, 10, step="0.01")}
)
PLAN = Aggregation(
    columns=("ward", "age"), where=sql('"age" >= 0'), keys=(Key(code=sql('"ward"'), size=2),),
    measures=(Measure(kind="rows"), Measure(kind="units"), Measure(kind="sum", value=sql('"age"'), low=0, high=119)),
    unit="who", rows_per_unit=2, groups_per_unit=2, salt=1,
)  # fmt: skip
ANSWER = [[2, 2, 10], [1, 1, 119]]


def run(source, plan=PLAN, *, domain=DOMAIN, engine=None, unit="who"):
    bounds = {} if unit is None else {"rows_per_unit": 2, "groups_per_unit": 2}
    declared = Table(source, domain=domain, unit=unit, **bounds)
    return (engine or Postgres()).run(declared, plan).through(lambda cells: cells.tolist())


def execute(url, *statements):
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


@pytest.mark.parametrize("kind", ["integer", "text"])
def test_three_computations_give_the_same_integers(postgres_url, kind):
    """DuckDB's SQL, the compiled path and PostgreSQL, on plans and rows with every special value."""
    rng = np.random.default_rng(len(kind))
    for _ in range(FRAMES // 2):
        rows = frame(rng, int(rng.integers(0, 500)), kind=kind, units=int(rng.integers(2, 60)))
        source = stored(postgres_url, rows)
        for _ in range(PLANS):
            plan = aggregation(rng)
            found = tables.run(Postgres(), source, plan)

            assert (found == tables.run(PLAIN, rows, plan)).all()
            assert (found == tables.run(FAST, rows, plan)).all()


@pytest.mark.parametrize(
    "twin",
    [
        lambda sql: sql.replace("WHERE rr <=", "WHERE 1 <="),
        lambda sql: sql.replace(">> 16", ">> 17"),
        lambda sql: sql.replace("WHERE rg <=", "WHERE rg <"),
    ],
    ids=["rows are not bounded", "another hash", "< for <="],
)
def test_a_twin_that_keeps_other_rows_is_caught(postgres_url, monkeypatch, twin):
    rng = np.random.default_rng(2)
    rows, plan = frame(rng, 400, units=10), dataclasses.replace(aggregation(rng, rows=3, groups=2), where=None)
    plan = dataclasses.replace(plan, keys=(tables.KEYS["a"],), measures=tables.MEASURES[:4])
    source = stored(postgres_url, rows)
    expected = tables.run(PLAIN, rows, plan)
    assert (tables.run(Postgres(), source, plan) == expected).all()
    exact = postgres.reference
    monkeypatch.setattr(postgres, "reference", lambda *a, **k: twin(exact(*a, **k)))

    assert (tables.run(Postgres(), source, plan) != expected).any()


def test_groups_by_undeclared_texts_are_those_of_duckdb(postgres_url):
    rng = np.random.default_rng(3)
    words = ["", "a", "A", "\u00e9", "e\u0301", None, "x" * 20, "b"]
    rows = pa.table({"u": rng.integers(0, 20, 300), "t": [words[i] for i in rng.integers(0, 8, 300)],
                     "a": rng.integers(0, 3, 300)})  # fmt: skip
    domain = Domain({"u": Identifier(), "t": Text(10, nullable=True), "a": Integer(0, 2)})
    plan = dataclasses.replace(
        PLAN, columns=("t", "a"), where=sql("SUBSTRING(\"t\", 1, 1) <> 'b'"), keys=(Key(code=sql('"a"'), size=3),),
        texts=(sql('"t"'),), unit="u", rows_per_unit=4, groups_per_unit=3,
        measures=(Measure(kind="rows"), Measure(kind="units"), Measure(kind="sum", value=sql('"a"'), low=0, high=2)),
    )  # fmt: skip

    def groups(engine, source):
        table = Table(source, domain=domain, unit="u", rows_per_unit=4, groups_per_unit=3)
        return engine.run(table, plan).through(
            lambda keys, cells: {key: row.tolist() for key, row in zip(keys, cells, strict=True)}
        )

    found = groups(Postgres(), stored(postgres_url, rows))
    assert len(found) > 8
    assert found == groups(PLAIN, rows)


def test_divisions_inside_divisions_are_of_whole_numbers(postgres_url):
    """Parts of a date are quotients of quotients; a quotient rendered as DIV or as a float would be another number."""
    from discreet.data.engines.postgres_sql import POSTGRES
    from discreet.queries.calendar import Part
    from discreet.queries.expression import Ref

    days = [dt.date(1599, 12, 31) + dt.timedelta(days=97 * i) for i in range(3000)]
    column = Date(days[0], days[-1])
    numbers = ", ".join(f"({(day - dt.date(1970, 1, 1)).days})" for day in days)
    parts = {"year": lambda d: d.year, "quarter": lambda d: (d.month + 2) // 3, "month": lambda d: d.month,
             "day": lambda d: d.day}  # fmt: skip
    with psycopg.connect(postgres_url) as connection:
        for part, expected in parts.items():
            made = POSTGRES.render(Part(part, Ref("d", column)).tree())
            rows = connection.execute(
                f"SELECT {made}, pg_typeof({made})::text FROM (VALUES {numbers}) AS v(d)"
            ).fetchall()

            assert rows == [(expected(day), "bigint") for day in days]


def test_the_source_may_name_schema_and_table_or_the_engine_the_database(postgres_url):
    source = stored(postgres_url, pa.table(ROWS))
    name = source.rpartition("#")[2]
    execute(
        postgres_url,
        'CREATE SCHEMA "the Ward"',
        f'CREATE TABLE "the Ward"."Visits.2026" AS TABLE {name}',
    )

    assert run(source) == ANSWER
    assert run(source, engine=engine_for(source)) == ANSWER
    assert run(f"{postgres_url}#public.{name}") == ANSWER
    assert run(f"{postgres_url}#the%20Ward.Visits%2E2026") == ANSWER
    assert run(name, engine=Postgres(url=postgres_url)) == ANSWER
    assert run("the Ward.Visits%2E2026", engine=Postgres(url=postgres_url)) == ANSWER


def test_rows_that_are_their_own_units_are_all_counted(postgres_url):
    plan = dataclasses.replace(PLAN, unit=None, rows_per_unit=1, groups_per_unit=1)

    assert run(stored(postgres_url, pa.table(ROWS)), plan, unit=None) == [[3, 3, 18], [1, 1, 119]]


def test_an_empty_table_gives_zeros(postgres_url):
    assert run(stored(postgres_url, pa.table(ROWS).slice(0, 0))) == [[0, 0, 0], [0, 0, 0]]


def test_a_row_without_a_value_that_must_be_there_is_dropped(postgres_url):
    plan = dataclasses.replace(PLAN, columns=("ward", "age", "cost"))

    assert run(stored(postgres_url, pa.table(ROWS)), plan) == [[1, 1, 10], [1, 1, 119]]  # the NaN


@pytest.mark.parametrize("names", [("_u", "u", "g"), ("layer", "c0", "w0"), ('a"b', "A'B", "%s")])
def test_a_column_may_have_any_name(postgres_url, names):
    ward, who, age = names
    renamed = pa.table({ward: ROWS["ward"], who: ROWS["who"], age: ROWS["age"]})
    with psycopg.connect(postgres_url) as connection:
        columns = ", ".join(f'"{name.replace(chr(34), chr(34) * 2)}" text' for name in names)
        connection.execute("DROP TABLE IF EXISTS odd")
        connection.execute(f"CREATE TABLE odd ({columns})")
        with connection.cursor().copy("COPY odd FROM STDIN") as copy:
            for row in renamed.to_pylist():
                copy.write_row([row[ward], row[who], row[age]])
    quoted = '"' + age.replace('"', '""') + '"'
    domain = Domain({ward: Categorical(["a", "b"]), who: Text(9), age: Integer(0, 119)})
    plan = dataclasses.replace(
        PLAN, columns=(ward, age), unit=who, where=sql(f"{quoted} >= 0"),
        keys=(Key(code=sql('"' + ward.replace('"', '""') + '"'), size=2),),
        measures=(*PLAN.measures[:2], Measure(kind="sum", value=sql(quoted), low=0, high=119)),
    )  # fmt: skip

    assert run(f"{postgres_url}#odd", plan, domain=domain, unit=who) == ANSWER


def test_a_wide_sum_is_exact(postgres_url):
    most = (1 << 62) - 1
    domain = Domain({"u": Identifier(), "v": Integer(-most, most)})
    plan = dataclasses.replace(
        PLAN, columns=("v",), where=None, keys=(), unit="u", rows_per_unit=1, groups_per_unit=1,
        measures=(Measure(kind="sum", value=sql('"v"'), low=-most, high=most),),
    )  # fmt: skip
    source = stored(postgres_url, pa.table({"u": list(range(300)), "v": [most] * 299 + [-5]}))

    assert run(source, plan, domain=domain, unit="u") == [[299 * most - 5]]


def test_domains_and_inherited_and_partitioned_tables_are_read(fresh_postgres_url):
    execute(
        fresh_postgres_url,
        "CREATE DOMAIN years AS numeric(5,1) CHECK (value < 500)",
        "CREATE DOMAIN age AS years NOT NULL",
        "CREATE TABLE visits (who bigint, ward varchar(3), age age) PARTITION BY LIST (ward)",
        "CREATE TABLE a PARTITION OF visits FOR VALUES IN ('a')",
        "CREATE TABLE rest PARTITION OF visits DEFAULT",
        "CREATE TABLE parent (who bigint, ward char(3), age age)",
        "CREATE TABLE child () INHERITS (parent)",
    )
    with psycopg.connect(fresh_postgres_url) as connection:
        for row in zip(ROWS["who"], ROWS["ward"], ROWS["age"], strict=True):
            connection.execute("INSERT INTO visits VALUES (%s, %s, %s)", row)
            connection.execute("INSERT INTO child VALUES (%s, %s, %s)", row)

    assert run(f"{fresh_postgres_url}#visits") == ANSWER
    assert run(f"{fresh_postgres_url}#parent") == ANSWER


def test_a_view_a_foreign_table_and_row_security_are_refused(fresh_postgres_url):
    url = fresh_postgres_url
    execute(
        url,
        "CREATE TABLE visits (who bigint, ward text, age integer)",
        "CREATE VIEW seen AS TABLE visits",
        "CREATE MATERIALIZED VIEW kept AS TABLE visits",
        "CREATE EXTENSION file_fdw",
        "CREATE SERVER files FOREIGN DATA WRAPPER file_fdw",
        "CREATE FOREIGN TABLE far (who bigint, ward text, age integer) SERVER files OPTIONS (filename '/dev/null')",
        "CREATE TABLE whole (who bigint, ward text, age integer) PARTITION BY LIST (ward)",
        "CREATE FOREIGN TABLE part PARTITION OF whole FOR VALUES IN ('a') SERVER files OPTIONS (filename '/dev/null')",
        "CREATE ROLE narrow LOGIN",
        "CREATE TABLE secured (who bigint, ward text, age integer)",
        "ALTER TABLE secured ENABLE ROW LEVEL SECURITY",
        "GRANT SELECT ON secured TO narrow",
        "GRANT SELECT (who, ward) ON visits TO narrow",
    )
    as_narrow = url.replace("postgres@", "narrow@")
    try:
        refused = {
            f"{url}#seen": "holds a view", f"{url}#kept": "holds a materialized view", f"{url}#far": "a foreign table",
            f"{url}#whole": "a foreign table", f"{as_narrow}#secured": "row-level security",
            f"{as_narrow}#visits": "may not read column 'age'",
        }  # fmt: skip
        assert run(f"{url}#visits") == [[0, 0, 0], [0, 0, 0]]
        assert run(f"{url}#secured") == [[0, 0, 0], [0, 0, 0]]  # the owner sees all rows
        for source, message in refused.items():
            declared = Table(source, domain=DOMAIN, unit="who", rows_per_unit=2, groups_per_unit=2)
            for act in (Postgres().ready, Postgres().run):
                with pytest.raises(DomainError, match=message):
                    act(declared, PLAN)
    finally:
        execute(url, "DROP OWNED BY narrow", "DROP ROLE narrow")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("{url}#nowhere", "no table 'public.nowhere'"),
        ("{url}#no.where", "no table 'no.where'"),
        ("{url}#a.b.c", "need #table or #schema.table"),
        ("{url}", "need a source such as"),
        ("{url}#", "need #table"),
        ("postgresql://me:secret@localhost/db#visits", "without a password"),
        ("postgresql:///db?user=me&password=secret#visits", "without a password"),
        ("visits", "need a source such as"),
        ("mysql://localhost/db#visits", "need a source such as"),
        (pa.table(ROWS), "got Table"),
    ],
)
def test_a_missing_or_misspelt_source_is_named(postgres_url, source, message):
    source = source.replace("{url}", postgres_url) if isinstance(source, str) else source

    with pytest.raises(DomainError, match=message) as failed:
        run(source)
    assert "secret" not in str(failed.value)


def test_a_missing_column_is_named(postgres_url):
    rows = pa.table({"who": [1], "word": ["a"], "age": [1]})

    with pytest.raises(DomainError, match="no column 'ward'; did you mean 'word'"):
        run(stored(postgres_url, rows))


def test_a_server_that_cannot_be_reached_is_told_without_its_name(caplog, tmp_path):
    with caplog.at_level(logging.ERROR, logger="discreet.operator"), pytest.raises(DomainError) as failed:
        run(f"postgresql:///hospital?host={tmp_path}#visits")

    assert str(failed.value)[:-8] == "the PostgreSQL server cannot be used; see the operator log, reference "
    assert str(failed.value)[-8:] in caplog.text
    assert failed.value.__context__ is None


def test_tables_of_two_databases_never_meet(postgres_url):
    from discreet.data.relation import Join, Scan

    domain = Domain({"who": Identifier(), "age": Integer(0, 119)})
    left, right = (Table(f"{url}#visits", domain=domain, unit="who") for url in (postgres_url, postgres_url + "?x=1"))
    both = Join(Scan(left, ("age",)), Scan(right, ("age",)), (), outer=False, names=("a", "b"))
    joined = Table(both, domain=Domain({"who": Identifier(), "a": Integer(0, 119)}), unit="who")

    with pytest.raises(UnsupportedError, match="in one database"):
        Postgres().ready(joined, dataclasses.replace(PLAN, columns=("a", "b")))


@pytest.mark.parametrize(
    "statement", ["CREATE TABLE public.written (x int)", "SELECT setval('public.s', 7)", "SET TRANSACTION READ WRITE"]
)
def test_nothing_can_be_written(postgres_url, statement):
    execute(postgres_url, "CREATE SEQUENCE IF NOT EXISTS s")
    with Postgres()._open(postgres_url) as connection, pytest.raises(psycopg.Error, match=r"read-only|read-write"):
        connection.execute(statement)


def test_every_session_is_settled_in_the_transaction_that_reads(postgres_url):
    """A pooler may give each transaction another session: what was set for one must hold in it, and only in it."""
    with Postgres()._open(postgres_url) as connection:
        assert connection.info.transaction_status.name == "INTRANS"
        assert connection.execute("SHOW search_path").fetchall() == [("pg_catalog, pg_temp",)]
        connection.rollback()

        assert connection.execute("SHOW search_path").fetchall() != [("pg_catalog, pg_temp",)]


SETTINGS = {
    "search_path": "hijack, pg_catalog, public", "TimeZone": "'Asia/Kolkata'", "DateStyle": "German, DMY",
    "extra_float_digits": "-15", "transform_null_equals": "on", "standard_conforming_strings": "off",
    "IntervalStyle": "sql_standard", "bytea_output": "escape", "default_transaction_isolation": "serializable",
}  # fmt: skip


def test_no_setting_of_the_database_and_no_function_of_its_own_changes_an_answer(fresh_postgres_url):
    url = fresh_postgres_url
    days = [dt.datetime(2026, 1, 1, 23, 30, tzinfo=dt.UTC), dt.datetime(2026, 1, 2, 0, 30, tzinfo=dt.UTC)]
    execute(
        url,
        "CREATE TABLE visits (who double precision, at timestamptz, note text)",
        f"INSERT INTO visits VALUES (0.1, '{days[0]}', '01/02/2026'), (0.30000000000000004, '{days[1]}', '2026-01-02')",
        f"INSERT INTO visits SELECT i / 7.0, '{days[0]}', NULL FROM generate_series(1, 50) AS i",
        "CREATE SCHEMA hijack",
        "CREATE FUNCTION hijack.md5(text) RETURNS text LANGUAGE sql AS 'SELECT repeat(''0'', 32)'",
        "CREATE FUNCTION hijack.btrim(text, text) RETURNS text LANGUAGE sql AS 'SELECT ''7'''",
        "CREATE FUNCTION hijack.same(bigint, bigint) RETURNS boolean LANGUAGE sql AS 'SELECT true'",
        "CREATE OPERATOR hijack.< (LEFTARG = bigint, RIGHTARG = bigint, PROCEDURE = hijack.same)",
    )
    domain = Domain(
        {
            "who": Identifier(),
            "at": Date("2026-01-01", "2026-01-03"),
            "note": Date("2026-01-01", "2026-01-03", nullable=True),
        }
    )
    plan = dataclasses.replace(
        PLAN, columns=("at", "note"), where=None, keys=(Key(code=sql('"at" - 20454'), size=3),), rows_per_unit=1,
        measures=(Measure(kind="units"), Measure(kind="rows", value=sql('"note"'))), groups_per_unit=1,
    )  # fmt: skip
    before = run(f"{url}#visits", plan, domain=domain)
    name = url.rpartition("/")[2]
    execute(url, *(f"ALTER DATABASE {name} SET {setting} = {value}" for setting, value in SETTINGS.items()))
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT md5('a'), 1.5::float8 / 7").fetchall()[0][0] == "0" * 32

    assert before == [[51, 0], [1, 1], [0, 0]]
    assert run(f"{url}#visits", plan, domain=domain) == before


def test_nothing_that_is_temporary_in_a_shared_session_stands_before_the_catalogue(postgres_url):
    """A pooler may hand out a session in which another client has made tables and types of its own."""
    where = place(stored(postgres_url, pa.table(ROWS)), url=None)
    with psycopg.connect(where.url) as connection:
        connection.execute('CREATE TEMPORARY TABLE pg_class (oid oid, relkind "char", relnamespace oid, relname name)')
        connection.execute("CREATE DOMAIN pg_temp.text AS pg_catalog.bool")
        connection.commit()
        connection.read_only, connection.isolation_level = True, psycopg.IsolationLevel.REPEATABLE_READ
        Postgres()._settle(connection)

        assert set(columns(connection, where, {"who"})) == set(ROWS)
        assert connection.execute("SELECT CAST('ward' AS TEXT)").fetchall() == [("ward",)]


def test_a_setting_the_server_does_not_take_is_refused(postgres_url, monkeypatch):
    monkeypatch.setitem(postgres.MEANING, "DateStyle", "ISO")  # the server shows "ISO, YMD" or another order

    with pytest.raises(UnsupportedError, match="the server shows DateStyle"):
        Postgres(url=postgres_url).check()


def test_a_database_in_another_encoding_is_refused(postgres_server):
    postgres_server.execute(
        "CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'", database="postgres"
    )

    with pytest.raises(UnsupportedError, match="server_encoding"):
        Postgres(url=postgres_server.url("latin")).check()


def test_this_postgresql_computes_as_assumed(postgres_url):
    postgres._tested.clear()
    Postgres(url=postgres_url).check()
    Postgres().check()  # no server is known yet


def test_every_assumption_can_fail(postgres_url, monkeypatch):
    with Postgres()._open(postgres_url) as connection:
        for expression, expected in postgres_semantics.ASSUMED:
            other = not expected if isinstance(expected, bool) else "" if isinstance(expected, str) else -1
            monkeypatch.setattr(postgres_semantics, "ASSUMED", ((expression, other),))
            with pytest.raises(UnsupportedError, match="PostgreSQL 1"):
                postgres._verify(connection)


def test_a_server_that_computes_otherwise_runs_nothing(postgres_url, monkeypatch):
    source = stored(postgres_url, pa.table(ROWS))
    monkeypatch.setattr(postgres, "_tested", set())
    monkeypatch.setattr(postgres_semantics, "ASSUMED", (("1 / 0 IS NULL", True),))

    for act in (Postgres().ready, Postgres().run):
        with pytest.raises(UnsupportedError, match="1 / 0 IS NULL as 'DivisionByZero'"):
            act(Table(source, domain=DOMAIN, unit="who", rows_per_unit=2, groups_per_unit=2), PLAN)


def test_a_failure_after_the_first_row_is_one_constant_sentence(postgres_url, monkeypatch, caplog):
    """PostgreSQL quotes the value that a cast refuses."""
    rows = pa.table({**ROWS, "ward": ["secret"] * 5})
    source = stored(postgres_url, rows)
    name = source.rpartition("#")[2]
    monkeypatch.setattr(postgres, "_statement", lambda *_: f"SELECT CAST(ward AS INTEGER) FROM public.{name}")
    with caplog.at_level(logging.DEBUG, logger="discreet.operator"), pytest.raises(DiscreetError) as caught:
        run(source)

    assert str(caught.value)[:-8] == "the run failed; see the operator log, reference "
    assert type(caught.value) is DiscreetError
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert "secret" not in caplog.text
    assert str(caught.value)[-8:] in caplog.text


def test_a_statement_that_takes_too_long_is_ended(postgres_url, monkeypatch):
    source = stored(postgres_url, pa.table(ROWS))
    monkeypatch.setattr(postgres, "_statement", lambda *_: "SELECT 0, 0, 0, 0 FROM pg_sleep(600)")

    with pytest.raises(DiscreetError, match="the run failed"):
        run(source, engine=Postgres(statement_timeout=1))


def test_a_statement_the_server_does_not_take_is_refused_before_it_is_paid(postgres_url, monkeypatch):
    table = Table(stored(postgres_url, pa.table(ROWS)), domain=DOMAIN, unit="who", rows_per_unit=2, groups_per_unit=2)
    Postgres().ready(table, PLAN)
    monkeypatch.setattr(postgres, "_statement", lambda *_: "SELECT no_such_function()")

    with pytest.raises(DomainError, match="cannot be used"):
        Postgres().ready(table, PLAN)


def test_only_the_columns_and_partitions_that_matter_are_read(fresh_postgres_url):
    url = fresh_postgres_url
    execute(
        url,
        "CREATE TABLE visits (who bigint, ward text, age integer, day date, secret text) PARTITION BY RANGE (day)",
        *(f"CREATE TABLE m{m} PARTITION OF visits FOR VALUES FROM ('2026-{m:02d}-01') TO ('2026-{m + 1:02d}-01')"
          for m in range(1, 12)),
    )  # fmt: skip
    domain = Domain({**DOMAIN, "day": Date("2026-01-01", "2026-11-30")})
    plan = dataclasses.replace(PLAN, columns=("ward", "age", "day"), where=sql('"day" >= 20500 AND "day" < 20510'))
    table = Table(f"{url}#visits", domain=domain, unit="who", rows_per_unit=2, groups_per_unit=2)
    shown = Postgres().sql(table, plan)
    with psycopg.connect(url) as connection:
        planned = "\n".join(row[0] for row in connection.execute(f"EXPLAIN {shown}").fetchall())
        whole = "\n".join(row[0] for row in connection.execute(f"EXPLAIN {Postgres().sql(table, PLAN)}").fetchall())

    assert "secret" not in shown
    assert "\"day\" >= DATE '2026-02-16' AND \"day\" < DATE '2026-02-26'" in shown
    assert [m for m in range(1, 12) if f" m{m}" in planned] == [2]
    assert [m for m in range(1, 12) if f" m{m}" in whole] == list(range(1, 12))


def test_the_right_engine_is_chosen():
    assert isinstance(engine_for("postgresql:///hospital#visits"), Postgres)
    assert isinstance(engine_for("postgres://me@host/hospital#visits"), Postgres)
    assert engine_for("postgresql:///a#b") is engine_for("postgresql:///c#d")
    for source in ("visits.parquet", "hospital.duckdb::visits", pa.table(ROWS)):
        assert isinstance(engine_for(source), DuckDB)


def test_a_place_is_read_as_it_is_written():
    assert place("postgresql://h/d#Visits", url=None).sql == '"public"."Visits"'
    assert place('a"b.c', url="postgresql://h/d").sql == '"a""b"."c"'


def test_types_are_named_without_their_length():
    assert physical("varchar", "character varying", "b", 24, True) == "character varying"
    assert physical("numeric", "numeric", "b", -1, True) == "numeric"
    assert physical("numeric", "numeric", "b", (5 << 16 | 2045) + 4, True) == "numeric(5,-3)"
    assert physical("int4", "integer", "b", -1, False) == "user-defined type integer"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"statement_timeout": 0}, "statement_timeout"),
        ({"statement_timeout": True}, "statement_timeout"),
        ({"statement_timeout": 1.5}, "statement_timeout"),
        ({"work_mem": "64MB'; DROP TABLE visits"}, "work_mem"),
        ({"work_mem": 64}, "work_mem"),
    ],
)
def test_settings_are_checked(options, message):
    with pytest.raises(ParameterError, match=message):
        Postgres(**options)


def test_a_password_is_not_shown():
    assert "secret" not in repr(Postgres(url="postgresql://me:secret@host/db"))
