"""discreet.queries.compile: sensitivities, centred sums, keys."""

import math

import duckdb
import pytest

from discreet.errors import UnsupportedError
from discreet.queries.compile import Part, groupings, parts
from discreet.queries.sql import parse
from tests.queries.hospital import SCHEMA


def one(sql):
    return parse(sql, SCHEMA).aggregates[0]


def test_counts_and_sums_change_by_the_rows_of_one_unit():
    assert parts(one("select count(*) from visits"))[0].sensitivity(10, 3) == (10, 100)
    assert parts(one("select count(distinct patient) from visits"))[0].sensitivity(10, 3) == (3, 3)
    assert parts(one("select count(distinct patient) from visits"))[0].sensitivity(2, 3) == (2, 2)
    assert parts(one("select sum(cost) from visits"))[0].sensitivity(10, 3) == (5_000_000, 25 * 10**12)


def test_an_average_is_measured_from_the_middle_which_halves_its_sensitivity():
    count, total = parts(one("select avg(cost) from visits"))

    assert count == Part("rows")
    assert total.bounds == (-250_000, 250_000)
    assert total.sensitivity(1, 1)[0] == 250_000


def test_a_variance_needs_the_square_too():
    _, total, square = parts(one("select variance(age) from visits"))

    assert total.bounds == (-59, 60)
    assert square.bounds == (0, 3600)


def test_counting_a_column_that_is_never_null_is_counting_rows():
    assert parts(one("select count(age) from visits")) == parts(one("select count(*) from visits"))
    assert parts(one("select count(bmi) from visits")) != parts(one("select count(*) from visits"))


def test_a_constant_column_still_gets_noise():
    assert parts(one("select sum(age * 0) from visits"))[0].sensitivity(1, 1) == (1, 1)


def test_every_declared_key_is_listed_and_null_comes_last():
    keys = groupings(
        parse(
            "select ward, smokes, floor(age / 50), count(*) from visits group by ward, smokes, floor(age / 50)", SCHEMA
        )
    )

    assert [key.values() for key in keys] == [["cardiology", "oncology", "surgery"], [False, True, None], [0, 1, 2]]
    assert [key.size for key in keys] == [3, 3, 3]


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("floor(age / 50) * 50", [0, 50, 100]),
        ("-3 * floor(age / 50)", [-6, -3, 0]),
        ("floor(age / 50) * 0.5", [0, 0.5, 1.0]),
        ("2 * (3 * floor(age / 60))", [0, 6]),
        ("0 * age", [0]),
    ],
)
def test_multiples_are_listed_and_nothing_between(key, values):
    (grouping,) = groupings(parse(f"select {key} as k, count(*) from visits group by k", SCHEMA))
    code = grouping.key().code.sql("duckdb")
    found = duckdb.execute(f"SELECT DISTINCT {code} AS code FROM range(120) AS t(age) ORDER BY code").fetchall()

    assert grouping.values() == values
    assert [row[0] for row in found] == list(range(len(values)))  # every one of them occurs, and no other


def test_too_many_keys_are_refused_with_their_number():
    with pytest.raises(UnsupportedError, match=f"{120 * 500_001:,}"):
        groupings(parse("select age, cost, count(*) from visits group by age, cost", SCHEMA))


def test_the_l2_change_is_never_above_the_l1_change():
    for sql in (
        "select count(*) from visits",
        "select sum(bmi) from visits",
        "select count(distinct patient) from visits",
    ):
        l1, square = parts(one(sql))[0].sensitivity(7, 4)
        assert math.sqrt(square) <= l1
