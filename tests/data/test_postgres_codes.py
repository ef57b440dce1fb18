"""discreet.data.engines.postgres_codes: the same codes as DuckDB's, for every declared type and every value."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import duckdb
import numpy as np
import psycopg
import pytest

from discreet.data.columns import Boolean, Categorical, Date, Identifier, Integer, Real, Text, Timestamp
from discreet.data.engines import codes, postgres_codes
from discreet.data.engines.codes import SPACES, literal
from discreet.data.engines.dialect import DUCKDB
from discreet.data.engines.postgres import MEANING
from discreet.data.engines.postgres_sql import POSTGRES
from tests.data.test_codes import BYTES, BYTES_CODES, BYTES_DECLARED, DECLARED, DOUBLES, TEXTS, UNREAD, ZONED, rounded
from tests.scale import counts

COUNT = counts(quick=150, full=2_000)
WIDTHS = [(4, 1), (9, 2), (18, 4), (18, 18), (18, 0), (19, 0), (30, 20), (30, 2), (38, 0), (38, 10), (38, 38)]
NUMERIC = [column for column in DECLARED if isinstance(column, (Integer, Real))]


@pytest.fixture(scope="module")
def postgres(postgres_url):
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        for name, value in MEANING.items():
            connection.execute(f"SELECT set_config('{name}', '{value}', false)")
        connection.execute("CREATE TEMPORARY TABLE warm ()")
        yield connection


@pytest.fixture(scope="module")
def duck():
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        yield connection


def fill(connection, kind, values):
    """The table t of text values cast to a type, and NULL."""
    connection.execute("DROP TABLE IF EXISTS pg_temp.t" if isinstance(connection, psycopg.Connection) else
                       "DROP TABLE IF EXISTS t")  # fmt: skip
    connection.execute(f"CREATE TEMPORARY TABLE t (i INTEGER, v {kind})")
    rows = ", ".join(f"({i}, CAST({literal(value)} AS {kind}))" for i, value in enumerate(values))
    connection.execute(f"INSERT INTO {place(connection)} VALUES {rows}, (1000000, NULL)".encode() if place(connection)
                       != "t" else f"INSERT INTO t VALUES {rows}, (1000000, NULL)")  # fmt: skip


def place(connection):
    return "pg_temp.t" if isinstance(connection, psycopg.Connection) else "t"


def ask(connection, expression):
    statement = f"SELECT {expression} FROM {place(connection)} ORDER BY i"
    if isinstance(connection, psycopg.Connection):
        statement = statement.encode()
    return [row[0] for row in connection.execute(statement).fetchall()]


def differences(postgres, duck, kinds, values, declared):
    """Fill both, and name each declared type whose codes differ."""
    (theirs, shown), (ours, physical) = kinds
    fill(postgres, theirs, values)
    fill(duck, ours, values)
    found = []
    for column in declared:
        left = ask(postgres, postgres_codes.code(column, name="v", physical=shown))
        right = ask(duck, codes.code(column, name="v", physical=physical))
        found += [(column, value, a, b) for value, a, b in zip([*values, None], left, right, strict=True) if a != b]
    return found


def same(name):
    return (name, name)


def test_integers_have_the_same_codes(postgres, duck):
    for theirs, ours, bits in (("smallint", "SMALLINT", 15), ("integer", "INTEGER", 31), ("bigint", "BIGINT", 63)):
        rng = random.Random(bits)
        values = [-(1 << bits), (1 << bits) - 1, 0, 1, -1, 100] + [
            rng.randrange(-(1 << bits), 1 << bits) for _ in range(COUNT)
        ]
        values += [rng.randrange(-200, 6000) for _ in range(COUNT)]

        assert not differences(postgres, duck, (same(theirs), same(ours)), list(map(str, values)), DECLARED)


@pytest.mark.parametrize(("width", "scale"), WIDTHS)
def test_decimals_have_the_same_codes(postgres, duck, width, scale):
    rng = random.Random(width * 100 + scale)
    whole = [0, 5 * 10**scale // 10, 10**width - 1, 1 - 10**width]
    whole += [rng.randrange(1 - 10**width, 10**width) for _ in range(COUNT)]
    whole += [
        w for w in (rng.randrange(-(10 ** (scale + 3)), 10 ** (scale + 3)) for _ in range(COUNT)) if abs(w) < 10**width
    ]
    values = [written(w, scale) for w in whole]
    kinds = ((f"numeric({width},{scale})",) * 2, (f"DECIMAL({width},{scale})",) * 2)

    assert not differences(postgres, duck, kinds, values, DECLARED)


def written(whole, scale):
    digits = f"{abs(whole):0{scale + 1}d}"
    return ("-" if whole < 0 else "") + (f"{digits[:-scale]}.{digits[-scale:]}" if scale else digits)


def test_decimals_without_width_are_rounded_exactly(postgres):
    rng = random.Random(3)
    values = [f"{rng.randrange(-(10**k), 10**k)}e-{rng.randrange(0, 60)}" for k in (3, 9, 40) for _ in range(COUNT)]
    values += ["0.005", "0.015", "-0.005", "0.00500000000000000000000000000000000000000000000000001", "1e-400", "1e400"]
    fill(postgres, "numeric", [*values, "NaN", "Infinity", "-Infinity"])
    for column in NUMERIC:
        expected = [rounded(column, Fraction(value)) for value in values]
        expected += [None, column.codes[1], column.codes[0], None]

        assert ask(postgres, postgres_codes.code(column, name="v", physical="numeric")) == expected


@pytest.mark.parametrize(("theirs", "ours"), [("double precision", "DOUBLE"), ("real", "FLOAT")])
def test_doubles_have_the_same_codes(postgres, duck, theirs, ours):
    rng = np.random.default_rng(4)
    values = [d for d in DOUBLES if d != "-nan" and (ours == "DOUBLE" or ("e308" not in d and "e-324" not in d))]
    values += ["1e-45", "3e38", "-1e-38", "9223372036854775808", "-9223372036854775808", "9223372036854774784"]
    if ours == "DOUBLE":
        values += [repr(float(x)) for x in np.frombuffer(rng.bytes(8 * COUNT)) if not math.isnan(x)]
    values += [repr(float(np.float32(x)) if ours == "FLOAT" else float(x)) for x in rng.normal(0, 2000, COUNT)]
    values += [f"{k}.{k % 10}5" for k in range(100)]

    assert not differences(postgres, duck, (same(theirs), same(ours)), values, DECLARED)


def texts(rng):
    """Numbers, days and noise, as people and machines write them."""
    spaces = ["", "", " ", "\u00a0", "\t", "  "]
    digits = lambda n: "".join(rng.choice("0123456789") for _ in range(rng.randrange(n)))  # noqa: E731
    for _ in range(4 * COUNT):
        kind = rng.randrange(6)
        if kind < 2:
            made = rng.choice(["", "-", "+"]) + digits(25) + rng.choice(["", ".", "." + digits(30)])
            made += rng.choice(["", f"e{rng.choice('+-')}{digits(4)}", "E5", "e400", "e-400", "e999999999"])
        elif kind == 2:
            made = f"{rng.choice('0129')}{digits(4)}-{rng.randrange(14):02d}-{rng.randrange(33):02d}"
        elif kind == 3:
            year = rng.choice(["0000", "0004", "1900", "2000", "2026", "9999"])
            clock = f"{rng.choice([0, 7, 23, 24, 25]):02d}:{rng.choice([0, 30, 59, 60]):02d}"
            clock += rng.choice(
                ["", f":{rng.choice([0, 59, 60]):02d}" + rng.choice(["", ".0", ".5", ".123456", ".1234567"])]
            )
            day = f"{year}-{rng.randrange(1, 13):02d}-{rng.choice([1, 28, 29, 30, 31]):02d}"
            made = f"{day}{rng.choice(' T')}{clock}{rng.choice(['', '', 'Z', '+02'])}"
        elif kind == 4:
            made = rng.choice(["true", "T", "YES", "No", "f", "1", "0", "y", "tr\u00fce", "\u212a", "\uff11", "\u0661"])
        else:
            made = "".join(rng.choice("ab01.eE+-'\\ \u00e9\u0301\u4e2d\U0001f600%_\n") for _ in range(rng.randrange(6)))
        yield rng.choice(spaces) + made + rng.choice(spaces)


def test_texts_have_the_same_codes(postgres, duck):
    values = [text for text in TEXTS if "\x00" not in text] + list(texts(random.Random(5)))
    values += [
        "0." + "0" * 700 + "5",
        "0." + "0" * 500 + "1e500",
        "9" * 5000 + "e-5000",
        "0" * 5000 + "7",
        "1" + "0" * 140_000,
    ]
    values += ["1" + "0" * 20 + "e-20", "0.5" + "0" * 2000, "0.4999999999999999722444243843710864894092082977294921875",
               "0.49999999999999997224442438437108648940920829772949218750000" + "0" * 2000 + "1"]  # fmt: skip

    for kind in ("text", "varchar"):
        assert not differences(postgres, duck, ((kind, "text"), same("VARCHAR")), values, DECLARED)


def test_text_is_trimmed_of_the_spaces_that_duckdb_trims(postgres, duck):
    around = [chr(c) for c in range(1, 0x3100) if not 0xD800 <= c < 0xE000]
    fill(duck, "VARCHAR", [f"{c}7{c}" for c in around])
    trimmed = ask(duck, "trim(v) = '7'")

    assert [c for c, gone in zip(around, trimmed, strict=False) if gone] == list(SPACES)
    assert not differences(postgres, duck, (same("text"), same("VARCHAR")), [f"{c}7{c}" for c in around], NUMERIC[:1])


def test_days_and_moments_have_the_same_codes(postgres, duck):
    rng = random.Random(6)
    days = [
        "infinity",
        "-infinity",
        "2026-01-01",
        "2026-12-31",
        "2027-01-01",
        "1969-12-31",
        "0001-01-01",
        "5874897-12-31",
    ]
    days += [
        f"{rng.randrange(1, 9999):04d}-{rng.randrange(1, 13):02d}-{rng.randrange(1, 29):02d}" for _ in range(COUNT)
    ]
    written = [*ZONED, *UNREAD, "2025-12-01 24:00:00-23:59", "0001-01-01 00:00+12", "9999-12-31 24:00-12"]
    assert not differences(postgres, duck, (same("text"), same("VARCHAR")), written, DECLARED)
    moments = ["infinity", "-infinity", "1969-12-31 23:59:59.5", "2026-12-31 23:59:59.999999", "294246-01-10 04:00:54"]
    moments += [
        f"{day} {rng.randrange(24):02d}:{rng.randrange(60):02d}:59.{rng.randrange(10**6):06d}" for day in days[8:]
    ]
    zoned = [m if m.endswith("y") else f"{m}{rng.choice(['+00', '-11', '+05:30'])}" for m in moments]

    assert not differences(postgres, duck, (same("date"), same("DATE")), days, DECLARED)
    kinds = (("timestamp", "timestamp without time zone"), same("TIMESTAMP"))
    assert not differences(postgres, duck, kinds, moments, DECLARED)
    kinds = (("timestamptz", "timestamp with time zone"), same("TIMESTAMP WITH TIME ZONE"))
    assert not differences(postgres, duck, kinds, zoned, DECLARED)


def test_other_types_have_the_same_codes(postgres, duck):
    fill(postgres, "integer", ["1"])
    kinds = {
        ("boolean", "boolean", "BOOLEAN"): ["true", "false"],
        ("uuid", "uuid", "UUID"): ["12345678-1234-5678-1234-56781234ABCD"],
        ("time", "time without time zone", "TIME"): ["12:00:00"],
        ("interval", "interval", "INTERVAL"): ["1 day"],
        ("bytea", "bytea", "BLOB"): ["a"],
        ("json", "json", "JSON"): ['"a"', "1", "true", "null", "[1]", "1e3"],
    }
    words = Categorical(["true", "12345678-1234-5678-1234-56781234abcd", '"a"', "1"])
    for (theirs, shown, ours), values in kinds.items():
        assert not differences(postgres, duck, ((theirs, shown), same(ours)), values, [*DECLARED, words])


def test_far_days_are_written_as_duckdb_writes_them(postgres, duck):
    """Before the year 1 the two engines write days differently; categories of days are equal all the same."""
    fill(postgres, "date", ["0044-03-15 BC", "12345-01-01", "infinity"])
    fill(duck, "DATE", ["0044-03-15 (BC)", "12345-01-01", "infinity"])
    column = Categorical(["infinity", "0044-03-15 (BC)", "12345-01-01"])

    for connection, dialect, physical in ((postgres, POSTGRES, "date"), (duck, DUCKDB, "DATE")):
        assert ask(connection, dialect.code(column, name="v", physical=physical)) == [1, 2, 0, None]


@pytest.mark.parametrize(
    "kind", ["citext", "char(12)", "enumerated", "shouting", "name", "jsonb"], ids=lambda kind: kind.split("(")[0]
)
def test_every_kind_of_text_is_compared_byte_for_byte(postgres, kind):
    statements = {
        "citext": "CREATE EXTENSION IF NOT EXISTS citext SCHEMA public",
        "enumerated": "CREATE TYPE pg_temp.enumerated AS ENUM ('a', 'A', 'b')",
        "shouting": "CREATE COLLATION public.shouting (provider = icu, locale = 'und-u-ks-level1', deterministic = 0)",
    }
    if kind in statements:
        postgres.execute(statements[kind])
    raw = {"citext": "public.citext", "shouting": "text COLLATE public.shouting", "enumerated": "pg_temp.enumerated"}
    values = ['"a"', '"A"', "7"] if kind == "jsonb" else ["a", "A", "b"]
    postgres.execute("DROP TABLE IF EXISTS pg_temp.t")
    postgres.execute(f"CREATE TEMPORARY TABLE t (i INTEGER, v {raw.get(kind, kind)})")
    for i, value in enumerate(values):
        postgres.execute(f"INSERT INTO pg_temp.t VALUES ({i}, '{value}')")
    shown = {"char(12)": "character", "enumerated": "enum", "shouting": "text"}.get(kind, kind)

    column = Categorical(values[::-1])
    assert ask(postgres, postgres_codes.code(column, name="v", physical=shown)) == [2, 1, 0]
    unit, _ = POSTGRES.unit("v", physical=shown)
    assert ask(postgres, unit) == values
    for declared in DECLARED:
        ask(postgres, postgres_codes.code(declared, name="v", physical=shown))


def test_undeclared_texts_are_cut_by_bytes_as_in_duckdb(postgres, duck):
    values = ["", "a", "\u00e9\u00e9", "\u00e9\u00e9a", "\U0001f600", "x" * 1001, " a "]

    for column in (Text(4), Identifier()):
        assert not differences(postgres, duck, (same("text"), same("VARCHAR")), values, [column])
        assert not differences(postgres, duck, (same("bigint"), same("BIGINT")), ["12345", "-1"], [column])
        assert not differences(postgres, duck, (same("double precision"), same("DOUBLE")), ["1"], [column])


UNITS = {
    ("integer", "integer", "INTEGER"): ["1", "-5"],
    ("bigint", "bigint", "BIGINT"): [str(-(1 << 63)), "7"],
    ("numeric(18,4)", "numeric(18,4)", "DECIMAL(18,4)"): ["1.5", "-0.0001", "0"],
    ("numeric(9,9)", "numeric(9,9)", "DECIMAL(9,9)"): ["0.5", "-0.000000001", "0"],
    ("numeric(38,0)", "numeric(38,0)", "DECIMAL(38,0)"): ["9" * 38, "-1"],
    ("text", "text", "VARCHAR"): ["a", " a", "A", "\u00e9", ""],
    ("boolean", "boolean", "BOOLEAN"): ["true", "false"],
    ("uuid", "uuid", "UUID"): ["12345678-1234-5678-1234-56781234ABCD"],
    ("date", "date", "DATE"): ["2026-01-31", "infinity", "0001-01-01"],
    ("timestamp", "timestamp without time zone", "TIMESTAMP"): ["2026-01-31 12:00:00.5", "2026-01-31 12:00:00"],
    ("timestamptz", "timestamp with time zone", "TIMESTAMP WITH TIME ZONE"): ["2026-01-31 12:00:00.25+02"],
}


def test_units_have_the_names_they_have_in_duckdb(postgres, duck):
    """The keyed hash of the name decides which rows are kept: other names, other rows."""
    for (theirs, shown, ours), values in UNITS.items():
        fill(postgres, theirs, values)
        fill(duck, ours, values)
        (left, kind), (right, expected) = POSTGRES.unit("v", physical=shown), DUCKDB.unit("v", physical=ours)

        assert kind == expected
        assert ask(postgres, left) == ask(duck, right)


@pytest.mark.parametrize(("theirs", "ours"), [("double precision", "DOUBLE"), ("real", "FLOAT")])
def test_floats_name_units_as_in_duckdb(postgres, duck, theirs, ours):
    rng = np.random.default_rng(8)
    wide, kind = (np.float64, 8) if ours == "DOUBLE" else (np.float32, 4)
    values = [x for x in np.frombuffer(rng.bytes(kind * 4 * COUNT), wide) if np.isfinite(x)]
    values += [wide(x) for x in 10 ** rng.uniform(-8, 16, 4 * COUNT)] + [wide(10.0**k) for k in range(-20, 30)]
    values = [repr(x.item()) if ours == "DOUBLE" else str(x) for x in values]
    values += [
        "9007199254740992",
        "-9007199254740992",
        "9007199254740994",
        "0",
        "-0.0",
        "nan",
        "inf",
        "-inf",
        "1e15",
        "1e16",
        "0.0001",
        "0.00001",
        "123456789",
    ]
    fill(postgres, theirs, values)
    fill(duck, ours, values)
    left, right = (d.unit("v", physical=p)[0] for d, p in ((POSTGRES, theirs), (DUCKDB, ours)))

    assert [(v, a, b) for v, a, b in zip(values, ask(postgres, left), ask(duck, right), strict=False) if a != b] == []


def test_decimals_without_scale_name_a_unit_by_their_value(postgres):
    fill(postgres, "numeric", ["1.50", "1.5", "1.500", "NaN", "Infinity"])

    assert ask(postgres, POSTGRES.unit("v", physical="numeric")[0]) == ["1.5", "1.5", "1.5", None, None, None]


def test_a_code_is_null_or_in_range_and_nothing_raises(postgres):
    """Values that DuckDB's types cannot hold."""
    kinds = {
        ("numeric", "numeric"): ["NaN", "Infinity", "-Infinity", "1e-16000", "1e130000", "0"],
        ("numeric(50,10)", "numeric(50,10)"): ["NaN", "1e39", "-1e39"],
        ("numeric(5,-3)", "numeric(5,-3)"): ["12345678", "0"],
        ("numeric(3,5)", "numeric(3,5)"): ["0.00123", "0"],
        ("date", "date"): ["4713-01-01 BC", "5874897-12-31"],
        ("timestamp", "timestamp without time zone"): ["4713-01-01 BC", "294276-12-31 23:59:59.999999"],
        ("money", "money"): ["12.5"],
        ("integer[]", "integer[]"): ["{1,2}"],
        ("point", "point"): ["(1,2)"],
    }
    for (kind, shown), values in kinds.items():
        fill(postgres, kind, values)
        for column in DECLARED:
            low, high = column.codes
            made = ask(postgres, postgres_codes.code(column, name="v", physical=shown))

            assert all(c is None or low <= c <= high for c in made), (kind, column)
            assert made[-1] is None


@pytest.mark.parametrize(
    ("twin", "kind", "values"),
    [
        (lambda sql: sql.replace("0.5", "0.49999"), "double precision", ["0.015", "2.5", "0.005"]),
        (lambda sql: sql.replace("floor(", "ceil("), "double precision", ["0.3", "1.7"]),
        (lambda sql: sql.replace('"v" AS DOUBLE', 'CAST("v" AS REAL) AS DOUBLE'), "double precision", ["4999.994999"]),
    ],
    ids=["mis-rounded", "rounded up", "single precision"],
)
def test_a_twin_that_rounds_otherwise_is_caught(postgres, duck, monkeypatch, twin, kind, values):
    column, exact = Real(0, 5000), postgres_codes.code
    assert not differences(postgres, duck, (same(kind), same("DOUBLE")), values, [column])
    monkeypatch.setattr(postgres_codes, "code", lambda *a, **k: twin(exact(*a, **k)))

    assert differences(postgres, duck, (same(kind), same("DOUBLE")), values, [column])


def test_the_twin_that_casts_raises_where_the_code_does_not(postgres):
    for kind, value in (("double precision", "inf"), ("text", "abc"), ("text", "1e400"), ("numeric", "NaN")):
        fill(postgres, kind, [value])
        shown = "text" if kind == "text" else kind
        ask(postgres, postgres_codes.code(Integer(0, 9), name="v", physical=shown))

        with pytest.raises(psycopg.Error):
            ask(postgres, 'CAST(CAST("v" AS DOUBLE PRECISION) AS BIGINT)')


def test_a_quotient_too_small_for_a_double_is_zero(postgres):
    """PostgreSQL raises where a quotient underflows; the twin without the guard shows it."""
    fill(postgres, "double precision", ["5e-324", "-5e-324", "1e-320"])
    made = postgres_codes.code(Real(0, 10**30, step=10**15), name="v", physical="double precision")

    assert ask(postgres, made) == [0, 0, 0, None]
    with pytest.raises(psycopg.errors.NumericValueOutOfRange):
        ask(postgres, '"v" / CAST(1e15 AS DOUBLE PRECISION)')


def test_boundaries_between_doubles_are_read_to_the_nearest(postgres):
    """The decimal half way between 2^51 and the next double, 2^51 + 1/2, and a hair above it."""
    column, half = Real(0, 1 << 52, step=1), f"{1 << 51}.25"
    fill(postgres, "text", [half, half + "1", half + "0" * 900, half + "0" * 1500 + "1"])

    codes_of = ask(postgres, postgres_codes.code(column, name="v", physical="text"))
    assert codes_of == [1 << 51, (1 << 51) + 1, 1 << 51, (1 << 51) + 1, None]


def test_declared_types_are_the_ones_the_other_engine_is_tested_with():
    assert {type(column) for column in DECLARED} == {Integer, Real, Boolean, Categorical, Date, Timestamp}


@pytest.mark.parametrize("column", range(len(BYTES_DECLARED)))
def test_bytes_are_the_text_that_they_are_in_utf8(postgres, column):
    made = postgres_codes.code(BYTES_DECLARED[column], name="v", physical="bytea")
    fill(postgres, "bytea", ["\\x" + one.hex() for one in BYTES])

    assert tuple(ask(postgres, made)[:-1]) == BYTES_CODES[column]
