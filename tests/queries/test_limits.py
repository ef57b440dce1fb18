"""What the reader refuses so that reading, printing and compiling stay total and quick."""

import random
from fractions import Fraction

import duckdb
import pytest

from discreet.data import Boolean, Categorical, Domain, Identifier, Integer, Real, Table
from discreet.errors import DiscreetError, UnsupportedError
from discreet.queries.expression import Floor, Ref
from discreet.queries.sql import parse
from tests.queries.hospital import SCHEMA
from tests.work import calls


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM visits WHERE age > 1e999999999",
        "SELECT COUNT(*) FROM visits WHERE age > 1e-999999999",
        "SELECT COUNT(*) FROM visits WHERE age > " + "9" * 100,
        "SELECT SUM(" + "(" * 60 + "age" + " % 7)" * 60 + ") FROM visits",
        "SELECT SUM(" + "ABS(" * 40 + "bmi" + ")" * 40 + ") FROM visits",
        "SELECT SUM(LEAST(" + ", ".join(["age"] * 200) + ")) FROM visits",
        "SELECT SUM(" + "COALESCE(" * 40 + "bmi" + ", 1)" * 40 + ") FROM visits",
        "SELECT COUNT(*) FROM visits WHERE " + "NOT " * 500 + "smokes",
        "SELECT SUM(" + " + ".join(["age"] * 1_000) + ") FROM visits",
        "SELECT COUNT(*) AS n FROM visits HAVING n > 1e40" + " / 1e-40" * 9 + " / 3",
        "SELECT COUNT(*) AS n FROM visits HAVING n > 1e40" + " / 1e-40" * 150,
        "SELECT COUNT(*) FROM visits LIMIT 1e40" + " / 1e-40" * 150,
        "SELECT QUANTILE(age, 1" + " / 1e40" * 150 + ") FROM visits",
    ],
)
def test_questions_that_grow_when_compiled_are_refused_at_once(sql):
    def refused():
        with pytest.raises(DiscreetError):
            str(parse(sql, SCHEMA))

    assert calls(refused) < 1_000_000


def test_half_a_surrogate_pair_is_no_text():
    with pytest.raises(UnsupportedError, match="Unicode"):
        parse("SELECT COUNT(*) FROM visits WHERE ward LIKE '\ud800%'", SCHEMA)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT SUM(FLOOR()) FROM visits",
        "SELECT COUNT(*) FROM visits GROUP BY 1.5",
        "SELECT COUNT(*) FROM visits ORDER BY 1.5",
        "SELECT COUNT(*) FROM visits GROUP BY 1e3",
        "SELECT COUNT(*) FROM visits WHERE age BETWEEN SYMMETRIC 5 AND 1",
        "SELECT COUNT(*) FROM visits LIMIT 10 PERCENT",
        "SELECT COUNT(*) FROM visits LIMIT 1 WITH TIES",
        "SELECT ward, COUNT(*) FROM visits GROUP BY ward ORDER BY 2 NULLS FIRST",
        "SELECT COUNT(*) FROM visits AS v(patient, age)",
    ],
)
def test_modifiers_are_refused_rather_than_ignored(sql):
    with pytest.raises(DiscreetError):
        parse(sql, SCHEMA)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT SUM(cost * (2 / 3)) FROM visits",
        "SELECT SUM(cost / 0.3) FROM visits",
        "SELECT SUM(cost * (-1 / 3)) FROM visits",
        "SELECT COUNT(*) FROM visits WHERE 1 < 2",
        "SELECT SUM(LEAST(5, age)), SUM(GREATEST(bmi, 20, age)) FROM visits",
        'SELECT COUNT(*) AS a, SUM(age) AS "A" FROM visits ORDER BY "A"',
        "SELECT COUNT(*) FROM visits HAVING count > (1 / 3)",
    ],
)
def test_one_text_means_one_question(sql):
    query = parse(sql, SCHEMA)

    assert parse(str(query), SCHEMA) == query


def test_columns_named_like_words_of_sql_are_quoted():
    words = [
        "group",
        "order",
        "true",
        "null",
        "select",
        "case",
        "date",
        "interval",
        "left",
        "Mixed",
        "two words",
        'a"b',
        "x1",
    ]
    domain = Domain({"u": Identifier()} | {word: Integer(0, 9) for word in words})
    schema = {"t": Table("t.parquet", domain=domain, unit="u")}
    for word in words:
        name = '"' + word.replace('"', '""') + '"'
        query = parse(f"SELECT {name}, SUM({name}) FROM t WHERE {name} > 1 GROUP BY {name}", schema)

        assert query.columns() == {word}
        assert parse(str(query), schema) == query


def test_least_and_greatest_skip_nulls():
    """Against the engine's own functions, which skip NULLs too."""
    domain = Domain(
        {
            "u": Identifier(),
            "a": Integer(0, 9, nullable=True),
            "b": Integer(0, 9, nullable=True),
            "c": Integer(0, 9),
            "z": Boolean(),
            "k": Categorical(["x"]),
        }
    )
    schema = {"t": Table("t.parquet", domain=domain, unit="u")}
    draw, connection = random.Random(6), duckdb.connect()
    for function in ("LEAST", "GREATEST"):
        for items in (["a"], ["a", "b"], ["a", "5", "c"], ["c", "a", "b", "3"]):
            code = parse(f"SELECT SUM({function}({', '.join(items)})) FROM t", schema).aggregates[0].argument.code()
            for _ in range(20):
                row = {"a": draw.choice([None, 1, 5, 9]), "b": draw.choice([None, 0, 5]), "c": draw.randint(0, 9)}
                values = ", ".join(f"CAST({'NULL' if v is None else v} AS BIGINT) AS {k}" for k, v in row.items())
                found = connection.execute(
                    f"SELECT {code}, {function}({', '.join(items)}) FROM (SELECT {values})"
                ).fetchall()

                assert found[0][0] == found[0][1], (function, items, row)


def test_floors_whose_way_would_overflow_are_refused():
    """The result fits 62 bits, but code * numerator of the step does not: the engine would raise on such a row."""
    step = Fraction(1_000_001, 1_000)
    wide = Ref("x", Real(0, step * 2**50, step=step))
    with pytest.raises(UnsupportedError, match="62 bits"):
        _ = Floor(wide).type

    assert Floor(Ref("x", Real(0, step * 2**20, step=step))).type.high == int(step * 2**20)
