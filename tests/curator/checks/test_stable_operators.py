"""Operators that look at more than one row, or at the order of rows, are refused: they have no bounded stability."""

import duckdb
import pyarrow as pa
import pytest

from discreet.errors import DiscreetError
from discreet.queries.compile import grid, parts
from discreet.queries.sql import parse
from tests.queries.hospital import SCHEMA

OPERATORS = [
    "RANK() OVER (ORDER BY age)",
    "DENSE_RANK() OVER (ORDER BY age)",
    "ROW_NUMBER() OVER ()",
    "PERCENT_RANK() OVER (ORDER BY age)",
    "CUME_DIST() OVER (ORDER BY age)",
    "NTILE(4) OVER (ORDER BY age)",
    "LAG(age) OVER ()",
    "LEAD(age) OVER ()",
    "FIRST_VALUE(age) OVER ()",
    "LAST_VALUE(age) OVER ()",
    "NTH_VALUE(age, 2) OVER ()",
    "SUM(age) OVER (ORDER BY day)",
    "AVG(age) OVER (ROWS 3 PRECEDING)",
    "FIRST(age)",
    "LAST(age)",
    "ANY_VALUE(age)",
    "ARBITRARY(age)",
    "MODE(age)",
    "MEDIAN(ward)",
    "MEDIAN(DISTINCT age)",
    "QUANTILE_CONT(age, cost)",
    "QUANTILE_DISC(age, [0.1, 0.5])",
    "APPROX_QUANTILE(age, 1.5)",
    "MIN(age, 3)",
    "MAX(patient)",
    "MAX_BY(age, cost)",
    "MAD(age)",
    "ARG_MIN(age, cost)",
    "ARG_MAX(age, cost)",
    "LIST(age)",
    "ARRAY_AGG(age)",
    "STRING_AGG(ward, ',')",
    "HISTOGRAM(age)",
    "APPROX_COUNT_DISTINCT(age)",
    "COUNT(DISTINCT age)",
    "SUM(DISTINCT age)",
    "ENTROPY(age)",
    "KURTOSIS(age)",
    "SKEWNESS(age)",
    "CORR(age, cost)",
    "REGR_SLOPE(age, cost)",
    "PRODUCT(age)",
    "BIT_XOR(age)",
    "RESERVOIR_QUANTILE(age, 0.5, 10)",
    "FSUM(cost)",
    "SUM(age - (SELECT AVG(age) FROM visits))",
    "SUM(ENUM_CODE(ward))",
    "SUM(rowid)",
    "SUM(hash(ward))",
]
CLAUSES = ["LIMIT 5) AS first", "USING SAMPLE 10) AS some", "ORDER BY age LIMIT 5) AS youngest"]


@pytest.mark.parametrize("operator", OPERATORS)
def test_an_operator_on_whole_columns_is_refused(operator):
    with pytest.raises(DiscreetError):
        parse(f"SELECT {operator} FROM visits", SCHEMA)


@pytest.mark.parametrize("operator", [operator for operator in OPERATORS if "OVER" in operator or "SELECT" in operator])
def test_it_is_refused_inside_an_aggregate_and_as_a_key_too(operator):
    for sql in (
        f"SELECT SUM({operator}) FROM visits",
        f"SELECT COUNT(*) FROM visits GROUP BY {operator}",
        f"SELECT COUNT(*) FROM visits WHERE {operator} > 1",
    ):
        with pytest.raises(DiscreetError):
            parse(sql, SCHEMA)


@pytest.mark.parametrize("clause", CLAUSES)
def test_rows_are_never_chosen_by_their_place(clause):
    with pytest.raises(DiscreetError):
        parse(f"SELECT COUNT(*) FROM (SELECT * FROM visits {clause}", SCHEMA)


@pytest.mark.parametrize(
    "ranked",
    ["MEDIAN(age)", "QUANTILE(age, 0.9)", "QUANTILE_CONT(age, 0.5)", "QUANTILE_DISC(age, 0.5)",
     "APPROX_QUANTILE(age, 0.5)", "MIN(age)", "MAX(age)", "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age)"],
)  # fmt: skip
def test_ranks_are_read_only_as_counts_on_a_declared_grid(ranked):
    """They look at whole columns, so what the engine computes for them is a count of rows, never a rank."""
    (aggregate,) = parse(f"SELECT {ranked} FROM visits", SCHEMA).aggregates
    (middle, *_) = parts(aggregate)
    step = grid(parse(f"SELECT {ranked} FROM visits", SCHEMA), SCHEMA["visits"], middle, rows=2)

    assert aggregate.function == "quantile"
    assert [measure.kind for measure in step.measures] == ["rows"]
    assert [key.size for key in step.keys] == [120]


def test_there_are_more_than_forty():
    assert len(set(OPERATORS)) >= 40


def test_passed_to_the_engine_they_move_everybody():
    """The twin: one person in front, and the rank of all others is another."""
    connection = duckdb.connect()
    results = []
    for ages in ([0, *range(1, 100)], list(range(1, 100))):
        connection.register("visits", pa.table({"age": ages}))
        ranks = connection.execute("SELECT RANK() OVER (ORDER BY age) FROM visits").fetchall()
        results.append(sum(rank for (rank,) in ranks))

    assert abs(results[0] - results[1]) >= 99  # one row, declared sensitivity 1
