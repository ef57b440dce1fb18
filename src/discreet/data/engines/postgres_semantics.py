"""What the generated SQL assumes of PostgreSQL, each assumption with the answer it needs."""

from __future__ import annotations

from discreet.data.engines import hashing
from discreet.data.engines.postgres_sql import POSTGRES

BIG = (1 << 62) - 1
NAN, INF = "CAST('NaN' AS DOUBLE PRECISION)", "CAST('inf' AS DOUBLE PRECISION)"

ASSUMED: tuple[tuple[str, object], ...] = (
    # what the session was told
    ("current_setting('server_encoding')", "UTF8"),
    ("current_setting('integer_datetimes')", "on"),
    ("current_setting('server_version_num')::int >= 140000", True),
    # integer arithmetic: exact in 64 bits and in decimals, on nonnegative dividends
    ("CAST(7 AS BIGINT) / CAST(2 AS BIGINT)", 3),
    ("CAST(7 AS BIGINT) % CAST(4 AS BIGINT)", 3),
    (f"CAST({BIG} AS BIGINT) + CAST({BIG} AS BIGINT)", 2 * BIG),
    ("pg_typeof(CAST(1 AS BIGINT) * 2)::text", "bigint"),
    (f"div(CAST({BIG} AS NUMERIC) * {BIG}, 7)::text", str(BIG * BIG // 7)),
    ("CAST(div(7.9, 2) AS BIGINT)", 3),
    ("CAST(div(0.9999999999999999999999999999 * 2 + 1, 2) AS BIGINT)", 1),
    ("CAST(CAST('-9223372036854775808' AS BIGINT) AS TEXT)", "-9223372036854775808"),
    # three-valued logic
    ("CAST(NULL AS BIGINT) + 1 IS NULL", True),
    ("(NULL AND false) IS FALSE AND (NULL OR true) IS TRUE AND (NOT CAST(NULL AS BOOLEAN)) IS NULL", True),
    ("(CAST(NULL AS BIGINT) = NULL) IS NULL", True),
    ("CASE WHEN CAST(NULL AS BIGINT) BETWEEN 0 AND 9 THEN 1 WHEN CAST(NULL AS BIGINT) < 0 THEN 2 END IS NULL", True),
    ("COALESCE(CAST(NULL AS BIGINT), 5)", 5),
    ("GREATEST(1, LEAST(5, COALESCE(CAST(NULL AS BIGINT), 0)))", 1),
    # CASE computes only the branch it takes
    ("(SELECT MAX(CASE WHEN t ~ '^(?:[0-9]+)$' THEN CAST(t AS BIGINT) END) FROM (VALUES ('a'), ('7')) AS v(t))", 7),
    # floats: NaN is above everything and equal to itself
    (f"{NAN} = {NAN} AND {NAN} > {INF} AND NOT {NAN} BETWEEN 0 AND 1 AND NOT {NAN} < 0", True),
    (f"{INF} > CAST('1e308' AS DOUBLE PRECISION) AND -{INF} < CAST('-1e308' AS DOUBLE PRECISION)", True),
    ("CAST(floor(CAST('0.015' AS DOUBLE PRECISION) * CAST('100.0' AS DOUBLE PRECISION) + 0.5) AS BIGINT)", 2),
    ("CAST(floor(CAST('-2.5' AS DOUBLE PRECISION) + CAST('0.5' AS DOUBLE PRECISION)) AS BIGINT)", -2),
    ("CAST('5e-324' AS DOUBLE PRECISION) > 0", True),
    ("CAST(CAST('4611686018427387904' AS DOUBLE PRECISION) AS BIGINT)", 1 << 62),
    ("CAST(CAST('9007199254740993.0000000000000000000000001' AS NUMERIC) AS DOUBLE PRECISION)", 9007199254740994.0),
    ("CAST(CAST('0.1' AS REAL) AS DOUBLE PRECISION)", 0.10000000149011612),
    ("CAST(CAST(0.1 AS DOUBLE PRECISION) + CAST(0.2 AS DOUBLE PRECISION) AS TEXT)", "0.30000000000000004"),
    # decimals: infinities and NaN compare as floats do
    ("CAST('NaN' AS NUMERIC) = 'NaN' AND 'NaN' > CAST('inf' AS NUMERIC) AND CAST('-inf' AS NUMERIC) < 0", True),
    ("CAST(trim_scale(1.500) AS TEXT)", "1.5"),
    # text
    ("'12a' ~ '^(?:[0-9]+)$' OR E'12\\n' ~ '^(?:[0-9]+)$'", False),
    ("btrim('  12 ' COLLATE \"C\", ' ')", "12"),
    ("lower('AbC' COLLATE \"C\")", "abc"),
    ("'a' COLLATE \"C\" = 'A' OR 'a' COLLATE \"C\" = 'a '", False),
    ("length('\\')", 1),
    ('CAST(CAST(\'{"a": 3, "b": 4}\' AS JSONB) ->> (\'b\' COLLATE "C") AS BIGINT)', 4),
    ('(CAST(\'{"a": 3}\' AS JSONB) ->> (\'A\' COLLATE "C")) IS NULL', True),
    ("CAST(true AS TEXT) || CAST(CAST(true AS INTEGER) AS TEXT)", "true1"),
    # dates
    ("CAST(DATE '2026-01-01' - DATE '1970-01-01' AS BIGINT)", 20454),
    ("CAST('infinity' AS DATE) > DATE '9999-12-31' AND CAST('-infinity' AS DATE) < DATE '0001-01-01'", True),
    ("CAST(extract(epoch FROM CAST('1969-12-31 23:59:59.5' AS TIMESTAMP)) * 1000000 AS BIGINT)", -500_000),
    ("CAST(extract(epoch FROM TIMESTAMP '9999-12-31 23:59:59.999999') * 1000000 AS BIGINT)", 253_402_300_799_999_999),
    ("CAST(extract(epoch FROM CAST('2026-01-01 00:00:00+00' AS TIMESTAMPTZ)) AS BIGINT)", 20454 * 86_400),
    ("CAST(make_date(400, 2, 29) - DATE '1970-01-01' - 146097 AS BIGINT)", -719469),
    ("CAST(CAST('2026-01-31 12:00:00+02' AS TIMESTAMPTZ) AS TEXT)", "2026-01-31 10:00:00+00"),
    ("CAST(DATE '2026-01-31' AS TEXT)", "2026-01-31"),
    # sums and groups
    (f"(SELECT SUM(x)::text FROM (VALUES ({BIG}), ({BIG}), ({BIG})) AS t(x))", str(3 * BIG)),
    ("(SELECT COUNT(x) FROM (VALUES (1), (NULL)) AS t(x))", 1),
    ("(SELECT COUNT(DISTINCT x) FROM (VALUES ('a'), ('A'), ('a')) AS t(x))", 2),
    ("(SELECT COUNT(*) FROM (SELECT x FROM (VALUES (1), (NULL), (NULL)) AS t(x) GROUP BY x) AS l)", 2),
    # the keyed hash
    ("(CAST(-5 AS BIGINT) & 4294967295)", 4294967291),
    ("((CAST(-5 AS BIGINT) >> 32) & 4294967295)", 4294967295),
    (hashing.absorb_sql("CAST(4294967295 AS BIGINT)", "12345678", POSTGRES), hashing.absorb(4294967295, 12345678)),
    (hashing.text_words_sql("'abc'", POSTGRES)[0], 0x90015098),
    (POSTGRES.whole("'18446744073709551614'"), -2),
    (POSTGRES.whole("'01'") + " IS NULL AND " + POSTGRES.whole("'18446744073709551616'") + " IS NULL", True),
    (hashing.text_words_sql("chr(233)", POSTGRES)[0], 0x66DDCD97),
)  # fmt: skip
