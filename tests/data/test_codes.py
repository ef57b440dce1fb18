"""discreet.data.engines.codes: every declared type over every physical type is total, in range, and exact."""

from __future__ import annotations

import datetime as dt
import math
from fractions import Fraction

import duckdb
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from discreet.data.columns import Boolean, Categorical, Column, Date, Identifier, Integer, Real, Timestamp
from discreet.data.engines.codes import code, literal
from discreet.errors import UnsupportedError
from tests.scale import counts

TEXTS = [
    "", " ", "1", " 12 ", "-7", "+3", "1.5", "1e3", "1e999", "-1e999", "1e-999", ".5", "5.", "nan", "inf", "0x10",
    "1_000", "NULL", "true", "T", "no", "a", "b", "A", "a ", "2026-02-30", "2026-01-31", "2026-01-31 12:30:00",
    "2026-01-31T12:30Z", "99999-01-01", "0000-00-00", "infinity", "-infinity", "epoch", "12:00", "\x00", "e\u0301",
    "'", "9" * 400, "x" * 10_000, "2026-01-31 12:30:00.123456789+0530", "2026-01-31 12:30 UTC",
    "2026-01-01 00:00-23:59", "0000-00-00 00:00+01", "9999-12-31 23:59:59.999999-12:00",
]  # fmt: skip
INTEGERS = {"TINYINT": 7, "SMALLINT": 15, "INTEGER": 31, "BIGINT": 63, "HUGEINT": 127}
UNSIGNED = {"UTINYINT": 8, "USMALLINT": 16, "UINTEGER": 32, "UBIGINT": 64, "UHUGEINT": 128}
DOUBLES = [
    "nan", "-nan", "inf", "-inf", "-0.0", "0", "5e-324", "-5e-324", "1e308", "-1e308", "1.7976931348623157e308",
    "0.5", "1.5", "2.5", "-0.5", "119.5", "0.49999999999999994", "9007199254740993", "4611686018427387904",
]  # fmt: skip
DATES = [
    "infinity", "-infinity", "2026-01-01", "2026-12-31", "2027-01-01", "1969-12-31", "0001-01-01", "5881580-07-10",
    "290309-12-22 (BC)",
]  # fmt: skip
MOMENTS = [
    "infinity", "-infinity", "2026-01-01 00:00:00", "2026-12-31 23:59:59.999999", "1969-12-31 23:59:59.5",
    "1700-01-01 00:00:00", "2261-12-31 00:00:00",
]  # fmt: skip
FAR = ["290309-12-22 (BC) 00:00:00", "294247-01-10 04:00:54"]


def _physical() -> dict[str, list[str]]:
    """Physical types, each with SQL texts of its extreme and special values."""
    made = {name: [str(-(1 << n)), str((1 << n) - 1), "0", "1", "-1", "100"] for name, n in INTEGERS.items()}
    made |= {name: [str((1 << n) - 1), "0", "1", "100"] for name, n in UNSIGNED.items()}
    for width, scale in ((4, 1), (9, 2), (18, 4), (18, 18), (19, 0), (38, 0), (38, 10), (38, 38), (30, 20)):
        whole = "9" * (width - scale) or "0"
        made[f"DECIMAL({width},{scale})"] = [f"{sign}{whole}.{'9' * scale}" for sign in ("", "-")] + ["0", "0.5"]
    made |= {"FLOAT": [d for d in DOUBLES if "e308" not in d] + ["3.4e38", "1e-45"], "DOUBLE": DOUBLES}
    made |= {"VARCHAR": TEXTS, "ENUM('a', 'b', 'z', '7')": ["a", "z", "7"], "BOOLEAN": ["true", "false"]}
    made |= {"DATE": DATES, "TIMESTAMP": MOMENTS + FAR, "TIMESTAMP_S": MOMENTS + FAR, "TIMESTAMP_MS": MOMENTS}
    made |= {"TIMESTAMP_NS": MOMENTS, "TIMESTAMP WITH TIME ZONE": [m + "+00" if m[-1] != "y" else m for m in MOMENTS]}
    made |= {"TIME": ["12:00:00"], "INTERVAL": ["1 day"], "BLOB": ["\\xAA", ""], "UUID": ["0" * 32], "BIT": ["101"]}
    made |= {"INTEGER[]": ["[1, 2]"], "STRUCT(a INTEGER)": ["{'a': 1}"], "BIGNUM": ["0", "-5", "9" * 60]}
    return made


PHYSICAL = _physical()
DECLARED: list[Column] = [
    Integer(0, 119),
    Integer(-5, -5),
    Integer(-(1 << 62) + 1, (1 << 62) - 1),
    Real(0, 5000),
    Real(-1, 1, step="0.001"),
    Real("0.1", "0.7", step="0.1"),
    Real(-3, 3, step=Fraction(1, 3)),
    Real(0, 10**30, step=10**15),
    Real(0, (1 << 62) - 1, step=1),
    Real("1e-6", "2e-6", step="1e-9"),
    Boolean(),
    Categorical(["a", "b", "true", "1", "2026-01-01", "", "'", "e\u0301"]),
    Categorical([0, 1, 7, -1, 1 << 70]),
    Date("2026-01-01", "2026-12-31"),
    Date("0001-01-01", "9999-12-31"),
    Timestamp("2026-01-01", "2026-12-31 23:59:59"),
    Timestamp("1960-01-01 00:00:30", "2026-12-31", step=dt.timedelta(hours=1)),
    Timestamp("0001-01-01", "9999-12-31 23:59:59", step=7),
]


@pytest.fixture(scope="module")
def connection():
    with duckdb.connect() as opened:
        yield opened


def filled(connection, physical, values):
    """A table t of text values cast to a physical type, and NULL; returns the type's name as the schema has it."""
    rows = ", ".join(f"({i}, CAST({literal(value)} AS {physical}))" for i, value in enumerate(values))
    connection.execute(f"CREATE OR REPLACE TABLE t (i INTEGER, v {physical})")
    connection.execute(f"INSERT INTO t VALUES {rows}, (1000000, NULL)")
    return connection.execute("DESCRIBE t").fetchall()[1][1]


def coded(connection, column, physical, values):
    """The codes of the values in that type, and of NULL."""
    made = code(column, name="v", physical=filled(connection, physical, values))
    return [row[0] for row in connection.execute(f"SELECT {made} FROM t ORDER BY i").fetchall()]


@pytest.mark.parametrize("physical", PHYSICAL)
def test_every_value_has_a_code_in_range_or_none_and_nothing_raises(connection, physical):
    kind = filled(connection, physical, PHYSICAL[physical])
    for column in DECLARED:
        low, high = column.codes
        made = code(column, name="v", physical=kind)
        codes = [row[0] for row in connection.execute(f"SELECT {made} FROM t ORDER BY i").fetchall()]

        assert all(c is None or low <= c <= high for c in codes), column
        assert codes[-1] is None  # NULL


def rounded(column, value: Fraction) -> int:
    """The definition, in rationals."""
    low, high = column.codes
    return math.floor(min(max(value, low * column.step), high * column.step) / column.step + Fraction(1, 2))


numeric = st.sampled_from([c for c in DECLARED if isinstance(c, (Integer, Real))])


@settings(max_examples=counts(quick=40, full=10_000), deadline=None)
@given(
    numeric, st.lists(st.integers(-(1 << 127) + 1, (1 << 127) - 1) | st.integers(-200, 6000), min_size=1, max_size=9)
)
def test_integers_are_rounded_exactly(column, values):
    with duckdb.connect(config={"threads": 1}) as connection:
        assert coded(connection, column, "HUGEINT", map(str, values))[:-1] == [
            rounded(column, Fraction(v)) for v in values
        ]


@settings(max_examples=counts(quick=40, full=10_000), deadline=None)
@given(numeric, st.integers(1, 18), st.data())
def test_decimals_are_rounded_exactly(column, width, data):
    scale = data.draw(st.integers(0, min(width, 9)))
    whole = data.draw(st.lists(st.integers(-(10**width) + 1, 10**width - 1), min_size=1, max_size=9))
    values = [Fraction(w, 10**scale) for w in whole]
    texts = [
        f"{'-' if w < 0 else ''}{abs(w) // 10**scale}.{abs(w) % 10**scale:0{scale}d}" if scale else str(w)
        for w in whole
    ]

    with duckdb.connect(config={"threads": 1}) as connection:
        assert coded(connection, column, f"DECIMAL({width},{scale})", texts)[:-1] == [
            rounded(column, v) for v in values
        ]


def in_doubles(column, value: float) -> int | None:
    """floor(w * b / a + 1/2), each operation rounded once."""
    low, high = column.codes
    if math.isnan(value):
        return None
    made = min(max(value, float(low * column.step)), float(high * column.step))
    if column.step.denominator != 1:
        made = made * float(column.step.denominator)
    if column.step.numerator != 1:
        made = made / float(column.step.numerator)
    return min(max(math.floor(made + 0.5), low), high)


@settings(max_examples=counts(quick=60, full=10_000), deadline=None)
@given(numeric, st.lists(st.floats() | st.floats(-200, 6000) | st.floats(-1, 1), min_size=1, max_size=9))
@example(Real(0, 5000), [0.015, 0.005, math.nan, math.inf, -math.inf, -0.0, 5e-324, 1e308])
def test_doubles_follow_the_stated_arithmetic(column, values):
    with duckdb.connect(config={"threads": 1}) as connection:
        assert coded(connection, column, "DOUBLE", map(repr, values))[:-1] == [in_doubles(column, v) for v in values]


def test_text_is_read_as_a_number_or_not_at_all(connection):
    column = Real(-1000, 1000, step="0.5")
    texts = ["12", " 12 ", "-7.25", "1e2", ".5", "5.", "+3", "1e999", "abc", "", "0x10", "1_000", "nan", "inf", "1 2"]

    assert coded(connection, column, "VARCHAR", texts)[:-1] == [24, 24, -14, 200, 1, 10, 6, 2000, *[None] * 7]


def test_truth_values_of_numbers_and_words(connection):
    assert coded(connection, Boolean(), "DOUBLE", ["0", "-0.0", "2", "nan", "inf"])[:-1] == [0, 0, 1, None, 1]
    assert coded(connection, Boolean(), "UHUGEINT", ["0", "5"])[:-1] == [0, 1]
    assert coded(connection, Boolean(), "VARCHAR", ["Yes", "f", "1", "2", ""])[:-1] == [1, 0, 1, None, None]


def test_categories_are_equal_byte_for_byte(connection):
    words = Categorical(["a", "", "'", "e\u0301"])
    numbers = Categorical([5, -1, 1 << 70])

    assert coded(connection, words, "VARCHAR", ["a", "A", "a ", "", "'", "\u00e9", "e\u0301"])[:-1] == [
        0,
        None,
        None,
        1,
        2,
        None,
        3,
    ]
    assert coded(connection, numbers, "HUGEINT", ["5", "-1", str(1 << 70), "0"])[:-1] == [0, 1, 2, None]
    assert coded(connection, numbers, "VARCHAR", ["5", "05", " -1", "5.0", "x"])[:-1] == [0, 0, 1, None, None]
    assert coded(connection, numbers, "DOUBLE", ["5", "5.5", "nan", "-1", "1e300"])[:-1] == [0, None, None, 1, None]


def test_days_and_moments_clamp(connection):
    year, first = Date("2026-01-01", "2026-12-31"), (dt.date(2026, 1, 1) - dt.date(1970, 1, 1)).days
    hours = Timestamp("2026-01-01 00:30:00", "2026-01-02 10:59:00", step=3600)
    start = first * 24

    assert coded(connection, year, "DATE", DATES)[:-1] == [first + d for d in (364, 0, 0, 364, 364, 0, 0, 364, 0)]
    assert coded(connection, year, "TIMESTAMP", ["2026-01-02 23:59:59.999999", "infinity", "-infinity"])[:-1] == [
        first + 1, first + 364, first]  # fmt: skip
    assert coded(connection, year, "VARCHAR", ["2026-01-02", "2026-01-02 23:59", "2026-02-30", "1.1.2026"])[:-1] == [
        first + 1, first + 1, None, None]  # fmt: skip
    assert coded(connection, hours, "TIMESTAMP", ["2026-01-01 00:00:00", "2026-01-01 05:59:59", "infinity"])[:-1] == [
        start, start + 5, start + 34]  # fmt: skip
    assert coded(connection, hours, "DATE", ["2026-01-02", "2026-01-03", "infinity", "-infinity"])[:-1] == [
        start + 24, start + 34, start + 34, start]  # fmt: skip


ZONED = {  # a moment as somebody writes it: hours since midnight, in UTC, of 2026-01-02
    "2026-01-02 10:00:00+00:00": 10,  # pandas
    "2026-01-02 10:00:00.000000001+00:00": 10,
    "2026-01-02 10:00:00.123456789": 10,
    "2026-01-02 10:00:00.000000Z": 10,  # Arrow
    "2026-01-02 10:00:00.000000000+0900": 1,
    "2026-01-02T10:00:00.000000+0530": 4,  # Polars
    "2026-01-02 10:00:00-03": 13,  # PostgreSQL and DuckDB
    "2026-01-02 10:00:00 UTC": 10,  # BigQuery
    "2026-01-02 10:00 GMT": 10,
    "2026-01-02 10:00+05:30": 4,
    "2026-01-02 10:00:00 -01:30": 11,
    "2026-01-02 10:20:00+00:53:28": 9,  # local mean time, before zones
    "2026-01-02 24:00:00+23:59": 0,
    "2026-01-01 20:00:00-10:00": 6,
    " 2026-01-02T10:00:00Z ": 10,
}
UNREAD = [
    "2026-01-02 10:00:00+24:00", "2026-01-02 10:00:00+5", "2026-01-02 10:00:00+05:60", "2026-01-02 10:00:00 CET",
    "2026-01-02 10:00:00.1234567890", "2026-01-02+05:00", "2026-01-02 10:00:00+", "2026-02-30 10:00:00Z",
    "2026-01-02 25:00:00+05:00", "2026-01-02 10:00:00+05:00 UTC",
]  # fmt: skip


def test_moments_are_read_as_common_tools_write_them_with_their_zones(connection):
    hours = Timestamp("2026-01-02", "2026-01-02 23:59:59", step=3600)
    start = hours.codes[0]
    found = coded(connection, hours, "VARCHAR", [*ZONED, *UNREAD])[:-1]

    assert found == [start + hour for hour in ZONED.values()] + [None] * len(UNREAD)


def test_a_day_that_is_written_as_a_moment_is_the_day_in_utc(connection):
    days = Date("2026-01-01", "2026-01-31")
    texts = ["2026-01-02 00:00:00", "2026-01-02 00:00:00+09:00", "2026-01-02T23:00:00-0500", "2026-01-02"]

    assert [days.decode(c).day for c in coded(connection, days, "VARCHAR", texts)[:-1]] == [2, 1, 3, 2]


def test_an_offset_moves_no_moment_into_the_bounds_that_is_outside(connection):
    bounds = Timestamp("2026-01-02", "2026-01-02 23:59:59", step=1)
    first, last = bounds.codes
    texts = ["2025-12-01 24:00:00-23:59", "2026-03-01 00:00:00+23:59", "0001-01-01 00:00+12", "9999-12-31 24:00-12"]

    assert coded(connection, bounds, "VARCHAR", texts)[:-1] == [first, last, first, last]


def test_the_twin_that_casts_raises_where_the_code_does_not(connection):
    """A plain cast of the same values does raise: the check is able to fail."""
    for physical, value in (
        ("DOUBLE", "inf"),
        ("VARCHAR", "abc"),
        ("UHUGEINT", str((1 << 128) - 1)),
        ("HUGEINT", str(1 << 100)),
    ):
        coded(connection, Integer(0, 9), physical, [value])
        with pytest.raises(duckdb.Error):
            connection.execute("SELECT CAST(v AS BIGINT) FROM t").fetchall()


def test_an_identifier_is_its_text_and_has_no_integer_code(connection):
    assert coded(connection, Identifier(), "BIGINT", ["7", "-3", "0"]) == ["7", "-3", "0", None]
    with pytest.raises(UnsupportedError, match="can only name a unit"):
        _ = Identifier().codes


BYTES = [b"a", b"\xc3\xa9", b"\xff", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf4\x90\x80\x80", b"\xf0\x9f\x98\x80", b"", b"7"]
BYTES_DECLARED = [Categorical(["a", "\u00e9", "\U0001f600", "", "7"]), Categorical([3, 7]), Integer(0, 9), Identifier()]
BYTES_CODES = [(0, 1, None, None, None, None, 2, 3, 4), (None,) * 8 + (1,), (None,) * 8 + (7,),
               ("a", "\u00e9", None, None, None, None, "\U0001f600", "", "7")]  # fmt: skip


@pytest.mark.parametrize("column", range(len(BYTES_DECLARED)))
def test_bytes_are_the_text_that_they_are_in_utf8(column):
    with duckdb.connect() as connection:
        made = code(BYTES_DECLARED[column], name="v", physical="BLOB")
        found = [connection.execute(f"SELECT {made} FROM (SELECT ?::BLOB AS v)", [one]).fetchone() for one in BYTES]

    assert tuple(row[0] for row in found if row) == BYTES_CODES[column]
