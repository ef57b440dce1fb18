"""What the generated SQL assumes of Spark, each assumption with the answer it needs.

The list is run in the session itself, without data, before its first aggregation and whenever one of the settings
that touch meaning has changed; if one answer differs, nothing is ever run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.data.columns import Boolean, Categorical, Column, Date, Integer, Real, Timestamp
from discreet.data.engines import hashing, spark_codes
from discreet.data.engines.semantics import hold
from discreet.data.engines.spark_codes import END, literal, trimmed
from discreet.data.engines.spark_sql import SPARK

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BIG = (1 << 62) - 1
SETTINGS = (
    "spark.sql.ansi.enabled",
    "spark.sql.caseSensitive",
    "spark.sql.session.timeZone",
    "spark.sql.timestampType",
    "spark.sql.parser.escapedStringLiterals",
    "spark.sql.decimalOperations.allowPrecisionLoss",
    "spark.sql.legacy.timeParserPolicy",
)

ASSUMED: tuple[tuple[str, object], ...] = (
    # integer arithmetic: exact in 64 bits, and in decimals of 38 digits, on nonnegative dividends
    ("7L DIV 2L", 3),
    ("CAST(7 AS BIGINT) % CAST(4 AS BIGINT)", 3),
    (f"{BIG}L + {BIG}L", 2 * BIG),
    ("typeof(7L DIV 2L)", "bigint"),
    ("typeof(7L * 2L)", "bigint"),
    (f"CAST('{10**37}' AS DECIMAL(38,0)) DIV CAST('{10**20 + 1}' AS DECIMAL(38,0))", 10**37 // (10**20 + 1)),
    (f"(CAST({BIG}L AS DECIMAL(38,0)) * CAST('{10**18}' AS DECIMAL(38,0)) + CAST('7' AS DECIMAL(38,0))) "
     f"DIV CAST('{10**18}' AS DECIMAL(38,0))", BIG),
    ("CAST(CAST('123.45' AS DECIMAL(10,2)) * CAST('100' AS DECIMAL(3,0)) AS BIGINT)", 12345),
    ("CAST('12.50' AS DECIMAL(10,2)) % CAST(1 AS DECIMAL(1,0)) = 0", False),
    # three-valued logic
    ("CAST(NULL AS BIGINT) + 1 IS NULL", True),
    ("(NULL AND false) <=> false AND (NULL OR true) <=> true AND (NOT CAST(NULL AS BOOLEAN)) IS NULL", True),
    ("(CAST(NULL AS BIGINT) = CAST(NULL AS BIGINT)) IS NULL", True),
    ("CASE WHEN CAST(NULL AS BOOLEAN) THEN 1 ELSE 2 END", 2),
    ("CASE WHEN CAST(NULL AS BIGINT) BETWEEN 0 AND 9 THEN 1 WHEN CAST(NULL AS BIGINT) < 0 THEN 2 END IS NULL", True),
    ("greatest(0, least(9, coalesce(CAST(NULL AS INT), 5)))", 5),
    ("greatest(CAST(NULL AS BIGINT), 3L)", 3),
    # floats: NaN is above everything and can be told apart; infinities compare
    ("isnan(CAST('nan' AS DOUBLE)) AND NOT isnan(CAST('inf' AS DOUBLE)) AND NOT isnan(CAST(NULL AS DOUBLE))", True),
    ("CAST('nan' AS DOUBLE) BETWEEN CAST('0.0' AS DOUBLE) AND CAST('1.0' AS DOUBLE)", False),
    ("CAST('nan' AS DOUBLE) < CAST('0.0' AS DOUBLE)", False),
    ("CAST('-inf' AS DOUBLE) < CAST('-1e308' AS DOUBLE) AND CAST('inf' AS DOUBLE) > CAST('1e308' AS DOUBLE)", True),
    ("floor(CAST('0.015' AS DOUBLE) * CAST('100.0' AS DOUBLE) + CAST('0.5' AS DOUBLE))", 2),
    ("floor(CAST('-2.5' AS DOUBLE) + CAST('0.5' AS DOUBLE))", -2),
    ("typeof(floor(CAST('4611686018427387904.0' AS DOUBLE)))", "bigint"),
    ("CAST('5e-324' AS DOUBLE) > CAST('0.0' AS DOUBLE)", True),
    # casts that may fail give NULL
    ("TRY_CAST('abc' AS DOUBLE) IS NULL AND TRY_CAST('abc' AS BIGINT) IS NULL", True),
    ("TRY_CAST('1e999' AS DOUBLE)", float("inf")),
    ("TRY_CAST('2026-02-30' AS DATE) IS NULL", True),
    ("TRY_CAST(CAST('1e300' AS DOUBLE) AS BIGINT) IS NULL", True),
    # text
    (f"concat('12', {literal(chr(10))}) RLIKE '^(?:[0-9]+){END}'", False),
    (f"'12' RLIKE '^(?:[0-9]+){END}'", True),
    (trimmed(literal("\u00a012\u3000 ")), "12"),
    (trimmed(literal("\t12")), "\t12"),
    (literal("a'\\n\"\u00e9"), "a'\\n\"\u00e9"),
    ("'a' = 'A' OR 'a' = 'a '", False),
    ("array_position(array('a', 'b'), 'b')", 2),
    ("array_position(array('a', 'b'), 'B')", 0),
    ("octet_length('abc')", 3),
    # days and moments
    ("unix_date(DATE '2026-01-01')", 20454),
    ("unix_micros(CAST('1969-12-31 23:59:59.5+00:00' AS TIMESTAMP))", -500_000),
    ("hour(CAST('2026-03-29 02:30:15.25' AS TIMESTAMP_NTZ))", 2),
    ("CAST(extract(SECOND FROM CAST('2026-03-29 02:30:15.25' AS TIMESTAMP_NTZ)) * 1000000 AS BIGINT)", 15_250_000),
    ("unix_date(CAST(CAST('2026-03-29 02:30:15' AS TIMESTAMP_NTZ) AS DATE))", 20541),
    # sums and groups
    (f"(SELECT SUM(x) FROM VALUES ({1 << 61}L), ({1 << 61}L), (NULL) AS t(x))", 1 << 62),
    (f"(SELECT CAST(SUM(CAST(x AS DECIMAL(38,0))) AS STRING) FROM VALUES ({BIG}L), ({BIG}L), ({BIG}L) AS t(x))",
     str(3 * BIG)),
    ("(SELECT COUNT(x) FROM VALUES (1), (NULL) AS t(x))", 1),
    ("(SELECT COUNT(*) FROM (SELECT x FROM VALUES ('a'), ('A'), (NULL), (NULL) AS t(x) GROUP BY x))", 3),
    # the keyed hash
    (f"(-5L & {hashing.MASK})", hashing.MASK - 4),
    (f"({SPARK.shift('-5L', 32)} & {hashing.MASK})", hashing.MASK),
    (hashing.absorb_sql("4294967295L", "12345678", SPARK), hashing.absorb(hashing.MASK, 12345678)),
    (hashing.text_words_sql("'abc'", SPARK)[0], 0x90015098),
    (SPARK.whole("'18446744073709551614'"), -2),
    (SPARK.whole("'01'") + " IS NULL AND " + SPARK.whole("'18446744073709551616'") + " IS NULL", True),
    (hashing.text_words_sql("'abc'", SPARK)[1], 0x3CD24FB0),
)  # fmt: skip

# whole codes: a column, a type, a value in SQL, and its code
CODED: tuple[tuple[Column, str, str, int | None], ...] = (
    (Integer(0, 119), "bigint", "CAST('-9223372036854775808' AS BIGINT)", 0),
    (Real(0, 5000), "double", "CAST('0.015' AS DOUBLE)", 2),
    (Real(0, 5000), "decimal(38,20)", "CAST('1.005' AS DECIMAL(38,20))", 100),
    (Real(-1, 1, step="0.001"), "string", "' 1e-1 '", 100),
    (Boolean(), "string", "'Yes'", 1),
    (Categorical(["a", "it's"]), "string", literal("it's"), 1),
    (Date("2026-01-01", "2026-12-31"), "string", "'2026-01-02T24:00Z'", 20456),
    (
        Timestamp("2026-01-01", "2026-12-31"),
        "timestamp_ntz",
        "CAST('2026-03-29 02:30:00' AS TIMESTAMP_NTZ)",
        1774751400,
    ),
    (Timestamp("2026-01-01", "2026-12-31"), "string", "'2026-02-30'", None),
)


def settings(session: SparkSession) -> tuple[str | None, ...]:
    """The settings that touch meaning, as they are now."""
    return tuple(session.conf.get(name, None) for name in SETTINGS)


def verify(session: SparkSession) -> None:
    """Raise unless the session gives every answer that is assumed."""
    asked = list(ASSUMED)
    for column, physical, value, answer in CODED:
        made = spark_codes.code(column, name="v", physical=physical)
        asked.append((f"(SELECT {made} FROM (SELECT {value} AS v))", answer))
    try:  # all in one statement
        (row,) = session.sql(f"SELECT {', '.join(expression for expression, _ in asked)}").collect()
        answers = dict(zip((expression for expression, _ in asked), row, strict=True))
    except Exception:  # one of them raises: find out which
        answers = {expression: _alone(session, expression) for expression, _ in asked}
    hold(asked, answers.__getitem__, engine=f"Spark {session.version} under these settings")


def _alone(session: SparkSession, expression: str) -> object:
    try:
        return session.sql(f"SELECT {expression}").collect()[0][0]
    except Exception as error:
        return type(error).__name__
