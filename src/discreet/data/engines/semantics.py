"""What the generated SQL assumes of DuckDB, each assumption with the answer it needs.

Engines change: from one version to the next `//` by zero went from NULL to an error.  The list is run before the
first aggregation or reading of a process, on an engine without data; if one answer differs, nothing is ever run.
An engine of an unknown version is used if and only if it gives all of them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from discreet.data.engines import hashing
from discreet.data.engines.dialect import DUCKDB, LAYERS
from discreet.errors import UnsupportedError

if TYPE_CHECKING:
    import duckdb

BIG = (1 << 62) - 1
MANY = range(12345678, 12345678 + LAYERS + 1)  # words of a hash: more than are absorbed one by one

ASSUMED: tuple[tuple[str, object], ...] = (
    # integer arithmetic: exact in 64 and 128 bits, on nonnegative dividends
    ("CAST(7 AS BIGINT) // CAST(2 AS BIGINT)", 3),
    ("CAST(7 AS BIGINT) % CAST(4 AS BIGINT)", 3),
    ("CAST(0 AS BIGINT) // CAST(5 AS BIGINT)", 0),
    (f"CAST({BIG} AS BIGINT) // CAST(3 AS BIGINT)", BIG // 3),
    (f"CAST({BIG} AS BIGINT) + CAST({BIG} AS BIGINT)", 2 * BIG),
    (f"CAST({BIG} AS HUGEINT) * {BIG} // 7", BIG * BIG // 7),
    ("typeof(CAST(1 AS BIGINT) // CAST(1 AS BIGINT))", "BIGINT"),
    ("typeof(CAST(1 AS BIGINT) * CAST(1 AS BIGINT))", "BIGINT"),
    # three-valued logic
    ("CAST(NULL AS BIGINT) + 1 IS NULL", True),
    ("(NULL AND false) IS FALSE AND (NULL OR true) IS TRUE AND (NOT CAST(NULL AS BOOLEAN)) IS NULL", True),
    ("(CAST(NULL AS BIGINT) = CAST(NULL AS BIGINT)) IS NULL", True),
    ("CASE WHEN CAST(NULL AS BOOLEAN) THEN 1 ELSE 2 END", 2),
    ("CASE WHEN CAST(NULL AS BIGINT) BETWEEN 0 AND 9 THEN 1 WHEN CAST(NULL AS BIGINT) < 0 THEN 2 END IS NULL", True),
    ("COALESCE(CAST(NULL AS BIGINT), 5)", 5),
    # floats: NaN is above everything and can be told apart; infinities compare; products may overflow but never raise
    ("isnan(CAST('nan' AS DOUBLE)) AND NOT isnan(CAST('inf' AS DOUBLE)) AND isnan(CAST(NULL AS DOUBLE)) IS NULL", True),
    ("CAST('nan' AS DOUBLE) BETWEEN CAST(0 AS DOUBLE) AND CAST(1 AS DOUBLE)", False),
    ("CAST('nan' AS DOUBLE) < CAST(0 AS DOUBLE)", False),
    ("CAST('inf' AS DOUBLE) > CAST('1e308' AS DOUBLE) AND CAST('-inf' AS DOUBLE) < CAST('-1e308' AS DOUBLE)", True),
    ("CAST(floor(CAST('0.015' AS DOUBLE) * CAST('100.0' AS DOUBLE) + CAST('0.5' AS DOUBLE)) AS BIGINT)", 2),
    ("CAST(floor(CAST('-2.5' AS DOUBLE) + CAST('0.5' AS DOUBLE)) AS BIGINT)", -2),
    ("CAST('5e-324' AS DOUBLE) > CAST(0 AS DOUBLE)", True),
    ("CAST(CAST('4611686018427387904' AS DOUBLE) AS BIGINT)", 1 << 62),
    # casts that may fail give NULL
    ("TRY_CAST('abc' AS DOUBLE) IS NULL AND TRY_CAST('abc' AS BIGINT) IS NULL", True),
    ("TRY_CAST('1e999' AS DOUBLE)", float("inf")),
    (f"TRY_CAST(CAST({(1 << 128) - 1} AS UHUGEINT) AS HUGEINT) IS NULL", True),
    ("TRY_CAST('2026-02-30' AS TIMESTAMP) IS NULL", True),
    ("CAST(CAST('123.45' AS DECIMAL(10, 2)) * CAST(100 AS DECIMAL(3, 0)) AS BIGINT)", 12345),
    ("CAST(true AS BIGINT) + CAST(CAST(false AS INTEGER) AS BIGINT)", 1),
    # text
    ("regexp_full_match('12a', '[0-9]+')", False),
    ("trim('  12 ')", "12"),
    ("CAST(enum_code(TRY_CAST('b' AS ENUM('a', 'b'))) AS BIGINT)", 1),
    ("enum_code(TRY_CAST('B' AS ENUM('a', 'b'))) IS NULL AND enum_code(TRY_CAST(NULL AS ENUM('a'))) IS NULL", True),
    ("'a' = 'A' OR 'a' = 'a '", False),
    ("CAST('a' COLLATE NOCASE AS VARCHAR) COLLATE C = 'A'", False),
    # dates
    ("CAST(DATE '2026-01-01' - DATE '1970-01-01' AS BIGINT)", 20454),
    ("CAST('infinity' AS DATE) > DATE '9999-12-31' AND CAST('-infinity' AS DATE) < DATE '0001-01-01'", True),
    ("epoch_us(CAST('1969-12-31 23:59:59.5' AS TIMESTAMP))", -500_000),
    ("epoch_us(CAST('2026-01-01 00:00:00+00' AS TIMESTAMP WITH TIME ZONE)) // 86400000000", 20454),
    ("epoch_us(TRY_CAST('2026-01-01 10:00:00.123456789' AS TIMESTAMP)) % 1000000", 123456),
    ("regexp_extract('2026-01-01T10:00:00.5+05:30', '^[0-9-]+[ T][0-9:.]+')", "2026-01-01T10:00:00.5"),
    ("regexp_extract('2026-01-01 10:00+05:30', ':[0-9.]+ ?([+-][0-9:]+)$', 1)", "+05:30"),
    ("substr(rpad('+05', 7, '0'), 4, 2)", "00"),
    # sums and groups
    (f"(SELECT SUM(CAST(x AS HUGEINT)) FROM (VALUES ({BIG}), ({BIG}), ({BIG})) AS t(x))", 3 * BIG),
    ("(SELECT COUNT(x) FROM (VALUES (1), (NULL)) AS t(x))", 1),
    ("(SELECT COUNT(DISTINCT x) FROM (VALUES ('a'), ('A'), ('a')) AS t(x))", 2),
    ("(SELECT COUNT(*) FROM (SELECT x FROM (VALUES (1), (NULL), (NULL)) AS t(x) GROUP BY x))", 2),
    # the keyed hash
    ("(CAST(-5 AS BIGINT) & 4294967295)", 4294967291),
    ("((CAST(-5 AS BIGINT) >> 32) & 4294967295)", 4294967295),
    (hashing.absorb_sql("CAST(4294967295 AS BIGINT)", "12345678", DUCKDB), hashing.absorb(4294967295, 12345678)),
    (
        str(DUCKDB.folded(5, [str(word) for word in MANY], lambda s, w: hashing.absorb_sql(s, w, DUCKDB))),
        functools.reduce(hashing.absorb, MANY, 5),
    ),
    (hashing.text_words_sql("'abc'", DUCKDB)[0], 0x90015098),
    (DUCKDB.whole("'18446744073709551614'"), -2),
    (DUCKDB.whole("'01'") + " IS NULL AND " + DUCKDB.whole("'18446744073709551616'") + " IS NULL", True),
    ("TRY(decode('\\xFF'::BLOB)) IS NULL AND TRY(decode('\\xC3\\xA9'::BLOB)) = chr(233)", True),
    (hashing.text_words_sql("'abc'", DUCKDB)[1], 0x3CD24FB0),
)


def verify(connection: duckdb.DuckDBPyConnection) -> None:
    """Raise unless the engine gives every answer that is assumed."""
    import duckdb

    def ask(expression: str) -> object:
        try:
            return connection.execute(f"SELECT {expression}").fetchall()[0][0]
        except duckdb.Error as error:
            return type(error).__name__

    hold(ASSUMED, ask, engine=f"DuckDB {duckdb.__version__}")


def hold(assumed: Iterable[tuple[str, object]], ask: Callable[[str], object], *, engine: str) -> None:
    """Raise unless each expression has the answer that is assumed, of the same type."""
    for expression, expected in assumed:
        answer = ask(expression)
        if answer != expected or type(answer) is not type(expected):
            raise UnsupportedError(
                f"{engine} computes {expression} as {answer!r}, and {expected!r} is needed; "
                "use a version this release was tested with"
            )
