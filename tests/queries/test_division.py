"""discreet.queries.division: // and % are SQL's, cut toward zero, on every engine and in every list of keys."""

from fractions import Fraction

import duckdb
import psycopg
import pyarrow as pa
import pytest

import discreet as dc
from discreet.data.columns import Integer, Real
from discreet.data.domain import Domain
from discreet.data.engines.dialect import DUCKDB
from discreet.data.engines.postgres_sql import POSTGRES
from discreet.data.engines.spark_sql import SPARK
from discreet.data.table import Table
from discreet.errors import ParameterError
from discreet.queries.compile import groupings
from discreet.queries.division import Quotient, Remainder
from discreet.queries.expression import Ref, tree
from discreet.queries.sql import parse
from tests import spark as local

VALUES = range(-9, 10)
DIVISORS = [-7, -3, -2, -1, 1, 2, 3, 5, 9, 10, 11]
RANGES = [(-9, 9), (0, 9), (-9, 0), (-9, -1), (1, 9), (-2, 7), (4, 5), (-5, -4)]


def schema(low, high, step=1):
    column = Integer(low, high) if step == 1 else Real(low, high, step=step)
    return {"t": Table("t.parquet", domain=Domain({"x": column}), unit=None)}


def compiled(sql):
    """The one aggregate's argument, as read from SQL."""
    return parse(f"SELECT SUM({sql}) AS s FROM t", schema(-9, 9)).aggregates[0].argument


def stated(operator, divisor):
    return compiled(f"x {operator} {divisor}")


def plain(operator, divisor):
    """What DuckDB itself has for every value."""
    with duckdb.connect() as connection:
        listed = ", ".join(f"({x})" for x in VALUES)
        sql = f"SELECT x, x {operator} ({divisor}) FROM (VALUES {listed}) t(x)"
        return dict(connection.execute(sql).fetchall())


def rendered(operator, dialect):
    """One SELECT of all divisors over a table `codes` of all values."""
    made = [dialect.render(tree(stated(operator, divisor).code())) for divisor in DIVISORS]
    return f"SELECT x, {', '.join(made)} FROM codes ORDER BY x"


@pytest.fixture
def codes():
    return ", ".join(f"(CAST({x} AS BIGINT))" for x in VALUES)


@pytest.mark.parametrize("operator", ["//", "%"])
def test_every_small_quotient_is_that_of_duckdb(operator, codes):
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE codes AS SELECT * FROM (VALUES {codes}) v(x)")
        found = connection.execute(rendered(operator, DUCKDB)).fetchall()

    for place, divisor in enumerate(DIVISORS, start=1):
        assert {row[0]: row[place] for row in found} == plain(operator, divisor), divisor


@pytest.mark.parametrize("operator", ["//", "%"])
def test_every_small_quotient_is_that_of_postgresql(operator, codes, postgres_url):
    word = {"//": "/"}.get(operator, operator)
    own = ", ".join(f"x {word} ({divisor})" for divisor in DIVISORS)
    with psycopg.connect(postgres_url) as connection:
        connection.execute(f"CREATE TEMPORARY TABLE codes AS SELECT * FROM (VALUES {codes}) v(x)")
        expected = connection.execute(f"SELECT x, {own} FROM codes ORDER BY x").fetchall()
        found = connection.execute(rendered(operator, POSTGRES).encode()).fetchall()

    assert found == expected


@pytest.mark.parametrize("operator", ["//", "%"])
def test_every_small_quotient_is_the_same_on_spark(operator, codes):
    session = local.session()
    session.sql(f"SELECT * FROM VALUES {codes} AS v(x)").createOrReplaceTempView("codes")
    found = session.sql(rendered(operator, SPARK)).collect()

    for place, divisor in enumerate(DIVISORS, start=1):
        assert {row[0]: row[place] for row in found} == plain(operator, divisor), divisor


@pytest.mark.parametrize("operator", ["//", "%"])
@pytest.mark.parametrize(("low", "high"), RANGES)
def test_the_keys_are_what_the_declared_range_gives_and_no_more(operator, low, high):
    for divisor in DIVISORS:
        query = parse(f"SELECT x {operator} {divisor} AS k, COUNT(*) AS n FROM t GROUP BY 1", schema(low, high))
        values = [value for x, value in plain(operator, divisor).items() if low <= x <= high]

        assert groupings(query)[0].values() == list(range(min(values), max(values) + 1)), divisor


def test_three_remainders_are_three_keys():
    query = parse("SELECT x % 3 AS k, COUNT(*) AS n FROM t GROUP BY x % 3", schema(0, 9))

    assert groupings(query)[0].values() == [0, 1, 2]


def test_multiples_have_fewer_keys():
    query = parse("SELECT (x * 2) % 6 AS k, COUNT(*) AS n FROM t GROUP BY 1", schema(-9, 9))

    assert groupings(query)[0].values() == [-4, -2, 0, 2, 4]


@pytest.mark.parametrize("divisor", [Fraction(3, 4), Fraction(-1, 3), Fraction(5, 2), Fraction(100)])
@pytest.mark.parametrize("made", [Quotient, Remainder])
def test_fractions_are_divided_exactly(made, divisor):
    column = Real(-5, 5, step="0.25")
    expression = made(Ref("x", column), divisor)
    known = expression.type
    with duckdb.connect() as connection:
        for code in range(-20, 21):
            ((found,),) = connection.execute(f"SELECT {expression.code()} FROM (SELECT {code}::BIGINT AS x)").fetchall()
            value, whole = Fraction(code, 4), int(Fraction(code, 4) / divisor)

            assert found * known.step == (whole if made is Quotient else value - divisor * whole)
            assert known.low <= found <= known.high


@pytest.mark.parametrize(
    "sql", ["x % 7", "x % -3", "x // 2", "x // -2", "x % 0.75", "(x + 1) % (1 / 3)", "(x // 2) % 2"]
)
def test_a_question_reads_as_it_prints(sql):
    tables = schema(-9, 9)
    query = parse(f"SELECT SUM({sql}) AS s FROM t WHERE {sql} = 1", tables)

    assert parse(str(query), tables) == query


def test_nothing_is_divided_by_zero():
    with pytest.raises(ParameterError, match="a divisor other than 0"):
        Quotient(Ref("x", Integer(0, 9)), Fraction(0))


@pytest.mark.parametrize(("sql", "expected"), [("SUM(x % 7)", 0), ("SUM(x // 3)", 0), ("COUNT(*)", 4)])
def test_a_curator_answers_as_sql_does(sql, expected):
    """The sum of x % 7 over -8 .. 8 was 49, and x % 2 = -1 never held."""
    where = "" if sql != "COUNT(*)" else " WHERE x % 2 = -1"
    table = Table(pa.table({"x": list(range(-8, 9))}), domain=Domain({"x": Integer(-8, 8)}), unit=None)
    with dc.Curator({"t": table}, budget=dc.PureDP(10**6), ledger=":memory:") as curator:
        answer = curator.ask(f"SELECT {sql} AS n FROM t{where}", epsilon=10**5)

    assert answer.table["n"].to_pylist() == [expected]
