"""discreet.queries.sql: what is read, what is refused, and that printing and reading are inverse."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.data import Categorical, Domain, Table
from discreet.errors import DiscreetError, DomainError, ParameterError, UnsupportedError
from discreet.queries.sql import parse
from tests.queries.hospital import SCHEMA

ACCEPTED = [
    "SELECT ward, COUNT(*) AS n, AVG(cost) AS cost FROM visits GROUP BY ward",
    "select count(*) from visits v where v.ward = 'cardiology' and age between 65 and 74 or not readmitted",
    "select floor(age / 10) as decade, count(distinct patient), sum(cost * 1.5 - 2) from visits"
    " where ward in ('cardiology', 'surgery') and bmi is not null group by decade"
    " having count(distinct patient) > 10 and decade <= 8 order by 2 desc, decade limit 5",
    "select extract(month from day) m, stddev(case when age >= 65 then cost else 0 end) from visits"
    " where day >= '2026-03-01' and day < DATE '2026-09-01' group by 1 order by m",
    "select variance(coalesce(bmi, 0)) from visits where readmitted = true and 65 <= age",
    "select sum(least(age, 90)), sum(greatest(bmi, 20, 21)), year(day) y from visits group by y",
    "select count(bmi) from visits where -age < 3 and age % 10 = 0 and age // 7 = 3",
    "select sum(readmitted), avg(abs(bmi)), count(smokes) from visits where smokes is null or not smokes",
    "select count(*) from visits where case ward when 'surgery' then 1 else 0 end = 1",
    'select "ward", count(*) from "visits" group by "ward" limit 0',
    "select age, seen, readmitted, count(*) from visits where seen > '2026-02-03 04:00:00' and age in (1, 2)"
    " group by age, seen, readmitted",
    "select if(age > 3, 1, 2) as x, count(*) from visits group by x",
    "select count(*) from visits where ward <> 'surgery' and ward not in ('oncology') and age not between 3 and 5",
    "select avg(cost / 3) from visits where 1 / 3 < cost",
]

REFUSED = [
    "select * from visits", "select age from visits", "select max(ward) from visits", "select first(age) from visits",
    "delete from visits", "insert into visits values (1)", "drop table visits", "copy visits to 'x'", "attach 'x'",
    "set memory_limit='1GB'", "pragma version", "summarize visits", "explain select count(*) from visits",
    "describe visits", "show tables", "call x()", "select count(*) from visits; select 1", "", "select", ";",
    "select count(*) from visits join visits b on true", "select count(*) from visits, visits b",
    "select count(*) from read_csv('x')", "select count(*) from 'x.parquet'", "select count(*) from (select 1) t",
    "select count(*) from main.visits", "select count(*) from information_schema.tables", "select count(*) from stats",
    "select count(*) from visits where ward > 'a'", "select count(*) from visits where wardd = 'a'",
    "select count(*) from visits where ward = 'oncologie'", "select count(*) from visits where patient = 3",
    "select patient, count(*) from visits group by patient", "select sum(age) / count(*) from visits",
    "with a as (select 1) select count(*) from a", "select count(*) over () from visits",
    "select row_number() over () from visits", "select count(*) from visits where age in (select 1)",
    "select count(*) from visits where exists (select 1)", "select count(*) from visits where random() < 0.5",
    "select distinct ward from visits", "select count(*) filter (where age > 3) from visits",
    "select count(*) from visits where age / 0 > 1", "select count(*) from visits where age / age > 1",
    "select sum(ward) from visits", "select sum(day) from visits", "select count(*) from visits tablesample 10%",
    "select count(*) from visits where age = 'x'", "select sum(cost * cost * cost * cost) from visits",
    "select count(*) from visits group by rollup(ward)", "select count(*) from visits group by all",
    "select count(*), ward from visits", "select getenv('HOME'), count(*) from visits",
    "select count(*) from visits where age > ?", "select count(*) from visits where age > $1",
    "select count(*) from visits order by random()", "select count(*) from visits qualify 1",
    "select count(distinct ward) from visits", "select sum(distinct age) from visits",
    "select count(age, ward) from visits",
    "select count(*) from visits where day > 'yesterday'", "select count(*) from visits where cast(age as int) = 3",
    "select count(*) from visits where ward like '%a'", "select count(*) from visits where sqrt(age) > 2",
    "select count(*) from visits where ln(age) > 2", "select count(*) from visits offset 3", "select 1",
    "select count(*) from visits limit 1.5", "select count(*) from visits where age",
    "select count(*) from visits union select 1",
    "select count(*) from visits having count(*) > ward", "select count(*) c, sum(age) c from visits",
    "select count(*) from visits where age = any(1)", "select count(*) from visits where age is distinct from 3",
    "select string_agg(ward, ',') from visits", "select median(day) from visits",
    "select count(*) from visits where extract(hour from day) = 1",
    "select count(*) from visits where extract(year from age) = 1", "select lag(age) over () from visits",
]  # fmt: skip


@pytest.mark.parametrize("sql", ACCEPTED)
def test_printing_and_reading_are_inverse(sql):
    query = parse(sql, SCHEMA)

    assert parse(str(query), SCHEMA) == query
    assert str(parse(str(query), SCHEMA)) == str(query)


@pytest.mark.parametrize("sql", REFUSED)
def test_everything_else_is_refused_with_a_sentence(sql):
    with pytest.raises((UnsupportedError, DomainError, DiscreetError)) as caught:
        parse(sql, SCHEMA)

    assert len(str(caught.value)) > 10


def test_a_misspelt_column_is_met_with_the_right_one():
    with pytest.raises(DomainError, match="no column 'agee'; did you mean 'age'"):
        parse("select sum(agee) from visits", SCHEMA)


@pytest.mark.parametrize(
    ("sql", "taken"),
    [
        ("select count(*) as n, sum(age) as n_low from visits", "n_low"),
        ("select sum(age) as n_high, count(*) as n from visits", "n_high"),
        ("select ward as n_low, count(*) as n from visits group by ward", "n_low"),
    ],
)
def test_no_column_is_called_like_an_end_of_the_interval_of_another(sql, taken):
    with pytest.raises(ParameterError, match=f"another name than '{taken}'.*interval of 'n'"):
        parse(sql, SCHEMA)


def test_a_key_has_no_interval_and_its_name_leaves_others_free():
    query = parse("select ward as n, count(*) as n_low, sum(age) as high from visits group by ward", SCHEMA)

    assert [output.name for output in query.outputs] == ["n", "n_low", "high"]


def test_the_unit_may_be_counted_and_nothing_else():
    assert parse("select count(distinct patient) from visits", SCHEMA).aggregates[0].function == "units"
    with pytest.raises(UnsupportedError, match=r"COUNT\(DISTINCT patient\)"):
        parse("select count(patient) from visits", SCHEMA)


TOKENS = (
    "select count ( * ) sum avg age ward cost from visits where group by and or not in ' 1 0.5 , ; --"
    " case when then end is null"
)
WORDS = re.split(" ", TOKENS)


@given(st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join) | st.text(max_size=60))
def test_no_text_makes_the_reader_fail_otherwise(text):
    """Whatever is written, it is read or refused with our own error: no other exception, and no engine is involved."""
    try:
        query = parse(text, SCHEMA)
    except DiscreetError:
        return
    assert parse(str(query), SCHEMA) == query


@pytest.mark.parametrize(("condition", "read"), [("s = 1.0", "(s = 1)"), ("s IN (-1, 2)", "(s IN (-1, 2))")])
def test_whole_numbers_are_categories(condition, read):
    table = Table("t.parquet", domain=Domain({"s": Categorical([-1, 1, 2])}), unit=None)
    query = parse(f"SELECT COUNT(*) AS n FROM t WHERE {condition}", {"t": table})

    assert str(query.where) == read
    assert parse(str(query), {"t": table}) == query


@pytest.mark.parametrize("condition", ["s = 1.5", "s = -1.5", "s IN (1, 2.5)"])
def test_a_fraction_is_not_cut_to_a_category(condition):
    """1.5 was read as 1."""
    table = Table("t.parquet", domain=Domain({"s": Categorical([-1, 1, 2])}), unit=None)

    with pytest.raises(DiscreetError):
        parse(f"SELECT COUNT(*) AS n FROM t WHERE {condition}", {"t": table})
