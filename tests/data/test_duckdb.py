"""discreet.data.engines.duckdb: sources, isolation, constant faults and the self-test."""

from __future__ import annotations

import dataclasses
import logging
from decimal import Decimal

import duckdb
import numpy as np
import pandas
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.data.aggregation import Aggregation, Key, Measure
from discreet.data.columns import Categorical, Date, Identifier, Integer, Real, Text
from discreet.data.domain import Domain
from discreet.data.engines import positions, semantics, sources
from discreet.data.engines.duckdb import DuckDB, checked
from discreet.data.table import Table
from discreet.errors import DiscreetError, DomainError, ParameterError, SourceError, UnsupportedError
from tests.data.damage import damage
from tests.data.tables import sql

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


def run(source, plan=PLAN, *, domain=DOMAIN, engine=None):
    declared = Table(source, domain=domain, unit="who", rows_per_unit=2, groups_per_unit=2)
    return (engine or DuckDB(threads=1)).run(declared, plan).through(lambda cells: cells.tolist())


def stored(folder):
    """The same rows in every kind of source."""
    table = pa.table(ROWS)
    pq.write_table(table, folder / "visits.parquet")
    pq.write_table(table.slice(0, 2), folder / "part-1.parquet")
    pq.write_table(table.slice(2), folder / "part-2.parquet")
    table.to_pandas().astype({"who": "Int64"}).to_csv(folder / "visits.csv", index=False)
    table.to_pandas().astype({"who": "Int64"}).to_csv(folder / "visits.csv.gz", index=False)
    with duckdb.connect(str(folder / "visits.duckdb")) as connection:
        connection.execute("CREATE TABLE visits AS SELECT * FROM read_parquet($1)", [str(folder / "visits.parquet")])
    files = ["visits.parquet", "part-*.parquet", "visits.csv", "visits.csv.gz", "visits.duckdb::visits"]
    frame = table.to_pandas()
    return [str(folder / name) for name in files] + [
        folder / "visits.parquet", (str(folder / "visits.duckdb"), "visits"), table, table.to_batches()[0], frame,
        frame.astype(object), polars.from_arrow(table),
    ]  # fmt: skip


def test_every_source_gives_the_same_integers(tmp_path):
    for source in stored(tmp_path):
        assert run(source) == ANSWER
        assert run(source, engine=DuckDB(plain=True)) == ANSWER


def test_rows_that_are_their_own_units_are_all_counted():
    plan = dataclasses.replace(PLAN, unit=None, rows_per_unit=1, groups_per_unit=1)
    declared = Table(pa.table(ROWS), domain=DOMAIN, unit=None)

    assert DuckDB().run(declared, plan).through(lambda cells: cells.tolist()) == [[3, 3, 18], [1, 1, 119]]


def test_an_empty_table_gives_zeros():
    empty = pa.table(ROWS).slice(0, 0)

    assert run(empty) == run(empty, engine=DuckDB(plain=True)) == [[0, 0, 0], [0, 0, 0]]


def test_a_row_without_a_value_that_must_be_there_is_dropped():
    plan = dataclasses.replace(PLAN, columns=("ward", "age", "cost"))

    assert run(pa.table(ROWS), plan) == [[1, 1, 10], [1, 1, 119]]  # the NaN


def test_a_column_may_have_the_name_of_our_own():
    renamed = pa.table({"_u": ROWS["ward"], "u": ROWS["who"], "g": ROWS["age"]})
    domain = Domain({"_u": Categorical(["a", "b"]), "u": Text(9), "g": Integer(0, 119)})
    plan = dataclasses.replace(
        PLAN, columns=("_u", "g"), unit="u", where=sql('"g" >= 0'), keys=(Key(code=sql('"_u"'), size=2),),
        measures=(*PLAN.measures[:2], Measure(kind="sum", value=sql('"g"'), low=0, high=119)),
    )  # fmt: skip

    assert DuckDB().run(Table(renamed, domain=domain, unit="u"), plan).through(lambda cells: cells.tolist()) == ANSWER


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("nowhere.parquet", "no file 'nowhere.parquet'"),
        ("no-*.csv", r"no file 'no-\*.csv'"),
        ("no.duckdb::visits", "no file 'no.duckdb'"),
        ("visits.xlsx", "need a source among"),
        ([1, 2], "got list"),
        (pa.table({"who": [1], "word": ["a"], "age": [1]}), "no column 'ward'; did you mean 'word'"),
    ],
)
def test_a_missing_source_or_column_is_named(source, message):
    with pytest.raises(DomainError, match=message):
        run(source)


def test_a_file_without_a_header_line_tells_no_row_of_it(tmp_path):
    """Its first line is taken for names: of those, none is told but one that is nearly a declared name."""
    file = tmp_path / "visits.csv"
    file.write_text("4711,oncology,57\n4712,surgery,58\n")

    with pytest.raises(SourceError, match=r"no column '\w+' in the source") as caught:
        run(str(file))
    assert caught.value.declared in (*PLAN.columns, PLAN.unit)
    assert not any(word in str(caught.value) for word in ("4711", "oncology", "57"))


def test_nothing_but_the_source_can_be_reached(tmp_path):
    others = stored(tmp_path)
    other = str(tmp_path / "part-1.parquet")
    for source in (others[0], others[2], others[4], others[7]):
        with DuckDB()._open() as connection:
            (relation,) = sources.attach(connection, [source])
            connection.execute(f"SELECT * FROM {relation}").fetchall()
            for forbidden in (
                f"SELECT * FROM read_parquet('{other}')", f"SELECT * FROM '{other}'",
                f"SELECT * FROM read_text('{other}')",
                f"SELECT * FROM glob('{tmp_path}/*')", f"COPY (SELECT 1) TO '{tmp_path}/out.csv'",
                f"ATTACH '{tmp_path}/new.duckdb'", "SET enable_external_access = true",
                "SET lock_configuration = false",
                "SET memory_limit = '9GB'", "LOAD httpfs", "SELECT * FROM others",
            ):  # fmt: skip
                with pytest.raises(duckdb.Error):
                    connection.execute(forbidden).fetchall()
    assert not (tmp_path / "out.csv").exists()
    assert not (tmp_path / "new.duckdb").exists()


def test_a_csv_is_read_the_same_whatever_its_rows(tmp_path):
    """No type, dialect or name is inferred from rows, and no row raises."""
    good = b"who,ward,age,cost\n1,a,10,1\n2,b,5,2\n"
    poison = [
        b"", b"3", b"3,a,5,6,7,8", b"3,a,x,y", b"3,\xff\xfe,5,5", b'3,"q""r",5,5', b"3;a;5;5", b"3,\x00,5,1",
        b"3," + b"z" * 3_000_000 + b",1,1",
    ]  # fmt: skip
    for row in poison:
        (tmp_path / "a.csv").write_bytes(good + row + b"\n4,a,7,7\n")

        answer = run(str(tmp_path / "a.csv"))
        assert answer[1] == [1, 1, 5]
        assert answer[0] in ([2, 2, 17], [3, 3, 22])


def test_python_objects_are_read_as_text_one_by_one():
    frame = pandas.DataFrame({"who": [1, "x", None], "ward": ["a", 5, b"a"], "age": ["7", {}, 3.0]}, dtype=object)

    assert run(frame) == [[1, 1, 7], [0, 0, 0]]


@pytest.mark.parametrize(
    "ids",
    [
        pandas.Series(["secret\ud800", "x"], dtype=object),
        pandas.Series(["secret\ud800", "x"], dtype="string[python]"),
        pandas.Series([np.array([1, 2]), "x"], dtype=object),
        pandas.Series([Decimal("sNaN"), "x"], dtype=object),
        pandas.Series([10**5000, "x"], dtype=object),
    ],
    ids=["surrogate", "surrogate text", "array", "signalling NaN", "long integer"],
)
def test_a_python_value_without_a_text_is_absent(ids):
    frame = pandas.DataFrame({"who": ids, "ward": ["a", "a"], "age": [1, 2]})

    DuckDB().ready(Table(frame, domain=DOMAIN, unit="who"), PLAN)
    assert run(frame) == [[1, 1, 2], [0, 0, 0]]


def test_categories_of_several_types_are_read_as_text():
    frame = pandas.DataFrame({"who": pandas.Categorical(["secret", 1, 1]), "ward": ["a"] * 3, "age": [1, 2, 3]})

    assert run(frame) == [[3, 2, 6], [0, 0, 0]]


def test_a_table_that_cannot_be_read_is_refused_without_its_values(monkeypatch):
    def quote(frame):
        raise ValueError("secret")

    monkeypatch.setattr(sources, "_pandas", quote)
    with pytest.raises(DomainError) as failed:
        run(pandas.DataFrame(ROWS))
    assert "secret" not in str(failed.value)
    assert failed.value.__context__ is None


@pytest.mark.parametrize("plain", [False, True])
def test_names_are_compared_byte_for_byte_whatever_the_collation(tmp_path, plain):
    path = tmp_path / "hospital.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE visits (who VARCHAR COLLATE NOCASE, ward VARCHAR, age INTEGER)")
        connection.execute("INSERT INTO visits VALUES ('x', 'a', 1), ('X', 'a', 2), ('x', 'a', 3), ('X', 'a', 4)")

    assert run(f"{path}::visits", engine=DuckDB(plain=plain)) == [[4, 2, 10], [0, 0, 0]]


@pytest.mark.parametrize("plain", [False, True])
def test_both_zeros_are_one_name(plain):
    table = pa.table({"who": [0.0, -0.0, 0.0, float("nan")], "ward": ["a"] * 4, "age": [1, 1, 1, 1]})

    assert run(table, engine=DuckDB(plain=plain)) == [[2, 1, 2], [0, 0, 0]]


@pytest.mark.parametrize("who", [[[1], [2]], [{"id": 1}, {"id": 2}], [[Decimal("1.5")], [Decimal("2.5")]]])
def test_a_column_of_lists_or_structures_cannot_name_a_unit(who):
    with pytest.raises(DomainError, match="cannot name a unit"):
        run(pa.table({"who": who, "ward": ["a", "a"], "age": [1, 2]}))


def test_a_failure_after_the_first_row_is_one_constant_sentence(tmp_path, caplog):
    """A page that cannot be unpacked breaks every reader."""
    table = pa.table({"who": [1, 2] * 500, "ward": ["secret"] * 1000, "age": [1] * 1000})
    damage(tmp_path / "broken.parquet", table, "age")
    with caplog.at_level(logging.DEBUG, logger="discreet.operator"), pytest.raises(DiscreetError) as caught:
        run(str(tmp_path / "broken.parquet"))

    assert str(caught.value)[:-8] == "the run failed; see the operator log, reference "
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert type(caught.value) is DiscreetError
    assert "secret" not in caplog.text
    assert str(caught.value)[-8:] in caplog.text


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Paris"])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_a_moment_that_no_calendar_has_is_clamped_and_fails_nobody(unit, zone, tmp_path):
    """DuckDB raises on seconds and milliseconds with a time zone that do not fit its microseconds."""
    far, near = (1 << 63) - 1, 1_767_268_800 * {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]  # 2026-01-01 12:00
    at = pa.array([far, -far, near, None], pa.int64()).cast(pa.timestamp(unit, tz=zone))
    domain = Domain({"who": Identifier(), "at": Date("2026-01-01", "2026-01-03")})
    plan = dataclasses.replace(
        PLAN, columns=("at",), where=None, keys=(Key(code=sql('"at" - 20454'), size=3),), measures=PLAN.measures[:1]
    )

    table = pa.table({"who": [1, 2, 3, 4], "at": at})
    assert run(table, plan, domain=domain) == [[2], [0], [1]]
    if unit != "s":  # Parquet has no seconds
        pq.write_table(table, tmp_path / "visits.parquet")
        assert run(str(tmp_path / "visits.parquet"), plan, domain=domain) == [[2], [0], [1]]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("secret.parquet", b"PAR1 secret PAR1"),
        ("secret.csv.gz", b"no gzip"),
    ],
)
def test_a_source_that_cannot_be_opened_is_told_without_the_words_of_the_engine(tmp_path, caplog, name, content):
    (tmp_path / name).write_bytes(content)
    declared = Table(str(tmp_path / name), domain=DOMAIN, unit="who", rows_per_unit=2, groups_per_unit=2)
    for act in (DuckDB().ready, DuckDB().run, DuckDB().sql):
        with pytest.raises(DomainError, match="the source cannot be opened; see the operator log") as caught:
            act(declared, PLAN)

        assert caught.value.__context__ is None
        assert "secret" not in str(caught.value)
        assert str(caught.value)[-8:] in caplog.text


def test_memory_is_capped():
    many = pa.table({"who": np.arange(400_000).astype(str), "ward": ["a"] * 400_000, "age": np.arange(400_000)})

    with pytest.raises(DiscreetError, match="the run failed"):
        run(many, engine=DuckDB(memory="5MB", plain=True, threads=1))


def test_this_duckdb_computes_as_assumed():
    DuckDB().check()


def test_an_engine_that_computes_otherwise_is_refused(monkeypatch):
    monkeypatch.setattr(semantics, "ASSUMED", (*semantics.ASSUMED, ("1 // 0 IS NULL", True)))  # DuckDB 1.5

    with pytest.raises(UnsupportedError, match="1 // 0 IS NULL"):
        DuckDB().check()
    with pytest.raises(UnsupportedError):
        run(pa.table(ROWS), engine=DuckDB(memory="1GB"))
    with pytest.raises(UnsupportedError):
        DuckDB(memory="1GB").ready(Table(pa.table(ROWS), domain=DOMAIN, unit="who"), PLAN)


def test_an_engine_that_computes_otherwise_reads_no_row(monkeypatch):
    monkeypatch.setattr(semantics, "ASSUMED", (*semantics.ASSUMED, ("1 // 0 IS NULL", True)))
    checked.cache_clear()  # the self-test ran before, on an engine that passed it

    for engine in (None, DuckDB(memory="1GB")):
        for read in (positions.positions, positions.ready):
            with pytest.raises(UnsupportedError, match="1 // 0"):
                read(pa.table(ROWS), DOMAIN.project(["age"]), unit="who", engine=engine)


def test_every_assumption_can_fail(monkeypatch):
    for expression, expected in semantics.ASSUMED:
        other = not expected if isinstance(expected, bool) else "" if isinstance(expected, str) else -1
        monkeypatch.setattr(semantics, "ASSUMED", ((expression, other),))
        with pytest.raises(UnsupportedError):
            DuckDB().check()


def test_threads_must_be_positive():
    with pytest.raises(ParameterError, match="threads >= 1"):
        DuckDB(threads=0)


def test_a_long_question_prints_nothing():
    """A bar of progress on the standard output would stand among the results of a program."""
    for engine in (DuckDB(), DuckDB(threads=1)):
        with engine._open() as connection:
            for one in (connection, connection.cursor()):
                assert one.execute("SELECT current_setting('enable_progress_bar')").fetchone() == (False,)
