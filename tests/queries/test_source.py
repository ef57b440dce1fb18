"""discreet.queries.source and from_clause: what may stand after FROM, what it is called, and what is refused."""

from fractions import Fraction

import pytest

from discreet.data import Date, Domain, Identifier, Integer, Real, Table
from discreet.data.columns import Boolean, Categorical
from discreet.errors import DiscreetError, DomainError, UnsupportedError
from discreet.queries.joined import Joined
from discreet.queries.per_unit import Grouped
from discreet.queries.source import Named, Selected
from discreet.queries.sql import parse
from discreet.queries.stacked import Stacked
from tests.queries.clinic import question, schema
from tests.scale import counts

QUESTIONS = counts(quick=300, full=20_000)
CLINIC = schema([], [], rows=5, groups=2)
ROWS = {"rows": Table("rows.parquet", domain=Domain({"age": Integer(0, 9)}), unit=None)}
OTHERS = {"staff": Table("staff.parquet", domain=Domain({"nurse": Identifier(), "level": Integer(0, 9)}), unit="nurse")}


def source(sql):
    """What a question is asked of."""
    return parse(f"SELECT COUNT(*) FROM {sql}", CLINIC).source


def test_printing_and_reading_are_inverse_for_nested_questions():
    read = 0
    for seed in range(QUESTIONS):
        try:
            query = parse(question(seed, depth=1 + seed % 4, wide=True), CLINIC)
        except DiscreetError:  # too many tables
            continue
        read += 1

        assert parse(str(query), CLINIC) == query, seed
        assert str(parse(str(query), CLINIC)) == str(query)
    assert read >= QUESTIONS * 4 // 5


def test_with_is_only_another_way_to_write_a_sub_query():
    inner = "SELECT patient, SUM(cost) AS total FROM visits GROUP BY patient"
    first = parse(f"WITH t AS ({inner}) SELECT AVG(total) AS m FROM t", CLINIC)
    second = parse(f"SELECT AVG(total) AS m FROM ({inner}) AS t", CLINIC)

    assert first == second
    assert str(first) == str(second)


def test_a_name_given_by_with_hides_the_table_of_that_name_and_only_after_it():
    query = parse("WITH visits AS (SELECT patient, age * 2 AS age FROM visits) SELECT SUM(age) FROM visits", CLINIC)

    assert query.source.columns["age"] == Integer(-6, 238)
    assert query.tables == ("visits",)
    assert parse(str(query), CLINIC) == query


@pytest.mark.parametrize(
    ("sql", "kind", "rows", "most"),
    [
        ("visits", Named, 5, None),
        ("(SELECT patient, age FROM visits WHERE age > 3) t", Selected, 5, None),
        ("(SELECT patient, COUNT(*) AS n FROM visits GROUP BY patient) t", Grouped, 1, 1),
        ("(SELECT patient, ward, COUNT(*) AS n FROM visits GROUP BY patient, ward) t", Grouped, 3, 3),
        ("(SELECT patient, smokes, ward FROM visits GROUP BY patient, smokes, ward) t", Grouped, 5, 9),
        ("(SELECT patient, note FROM visits GROUP BY patient, note) t", Grouped, 5, None),
        ("visits a JOIN labs b USING (patient)", Joined, 25, 25),
        ("visits a LEFT JOIN labs b USING (patient)", Joined, 25, 25),
        ("visits a JOIN places p ON a.ward = p.ward", Joined, 5, None),
        ("(SELECT patient FROM visits UNION ALL SELECT patient FROM labs) t", Stacked, 10, None),
        ("(SELECT patient, MAX(age) AS m FROM visits GROUP BY patient) t JOIN labs b USING (patient)", Joined, 5, 5),
        ("(SELECT patient, smokes, ward FROM visits GROUP BY patient, smokes, ward) t JOIN labs b USING (patient)",
         Joined, 25, 25),
    ],
)  # fmt: skip
def test_each_source_knows_how_many_rows_of_a_unit_it_can_have(sql, kind, rows, most):
    found = source(sql)

    assert type(found) is kind
    assert (found.rows, found.most) == (rows, most)
    assert found.owner == "patient"


def test_values_per_unit_are_bounded_by_what_its_rows_can_give():
    found = source(
        "(SELECT patient, COUNT(*) AS n, COUNT(cost) AS c, SUM(cost) AS s, MIN(cost) AS low, AVG(age) AS m,"
        " MAX(day) AS last, SUM(urgent) AS u FROM visits GROUP BY patient) t"
    ).columns

    assert found["n"] == Integer(1, 5)
    assert found["c"] == Integer(0, 5)
    assert found["s"] == Real(-250, 2500, step="0.25", nullable=True)
    assert found["low"] == Real(-50, 500, step="0.25", nullable=True)
    assert found["m"] == Integer(-3, 119)
    assert found["last"] == Date("2025-11-01", "2026-02-28")
    assert found["u"] == Integer(0, 5)


def test_after_a_left_join_every_value_of_the_right_may_be_missing_and_its_unit_is_not_shown():
    found = source("visits a LEFT JOIN labs b USING (patient)")

    assert found.columns["b.level"] == Integer(0, 9, nullable=True)
    assert found.columns["a.age"] == Integer(-3, 119)
    assert "b.patient" not in found.columns
    with pytest.raises(UnsupportedError, match="IS NULL"):
        parse("SELECT COUNT(*) FROM visits a LEFT JOIN labs b USING (patient) WHERE b.patient IS NULL", CLINIC)


def test_a_union_has_the_hull_of_its_parts():
    found = source(
        "(SELECT patient, cost AS x, ward, urgent AS y FROM visits UNION ALL"
        " SELECT patient, level, ward, 7 AS y FROM labs WHERE ward IS NOT NULL) t"
    ).columns

    assert found["x"] == Real(-50, 500, step="0.25", nullable=True)
    assert found["ward"] == Categorical(["cardiology", "oncology", "surgery"], nullable=True)
    assert found["y"] == Integer(0, 7)


def test_two_truths_united_are_a_truth():
    found = source("(SELECT patient, urgent AS y FROM visits UNION ALL SELECT patient, smokes FROM visits) t").columns

    assert found["y"] == Boolean(nullable=True)


def test_names_are_found_in_any_case_and_told_apart_by_their_table():
    query = parse("SELECT SUM(A.AGE), SUM(level) FROM visits a JOIN LABS AS b USING (Patient)", CLINIC)

    assert query.columns() == {"a.age", "b.level"}
    with pytest.raises(DomainError, match=r"may be a\.ward or b\.ward; say which"):
        parse("SELECT COUNT(*) FROM visits a JOIN labs b USING (patient) WHERE ward = 'surgery'", CLINIC)


REFUSED = [
    ("SELECT COUNT(*) FROM visits a JOIN labs b ON a.ward = b.ward", "joined on the unit"),
    ("SELECT COUNT(*) FROM visits a JOIN labs b ON a.patient = b.patient OR a.ward = b.ward", "ON needs columns"),
    ("SELECT COUNT(*) FROM visits a JOIN labs b ON a.patient = b.patient AND a.age > b.level", "ON needs columns"),
    ("SELECT COUNT(*) FROM visits a JOIN labs b", "needs ON"),
    ("SELECT COUNT(*) FROM visits a RIGHT JOIN labs b USING (patient)", "only JOIN and LEFT JOIN"),
    ("SELECT COUNT(*) FROM places p JOIN visits a ON p.ward = a.ward", "private table with a unit on the left"),
    ("SELECT COUNT(*) FROM visits a JOIN visits USING (patient) JOIN visits USING (patient)", "name one of them"),
    ("SELECT COUNT(*) FROM visits a JOIN labs b JOIN labs c ON b.patient = c.patient ON a.patient = b.patient",
     "a join inside a join"),
    ("SELECT COUNT(*) FROM visits a JOIN places p ON a.age = p.ward", "not of one type"),
    ("SELECT COUNT(*) FROM visits a JOIN places p ON a.patient = p.name", "can only be used in COUNT"),
    ("SELECT COUNT(*) FROM visits a JOIN (SELECT age FROM visits) b ON a.patient = b.patient", "no"),
    ("SELECT COUNT(*) FROM places", "public tables alone"),
    ("SELECT COUNT(*) FROM (SELECT beds FROM places) t", "public tables alone"),
    ("SELECT COUNT(*) FROM (SELECT patient FROM visits UNION SELECT patient FROM labs) t", "UNION ALL"),
    ("SELECT COUNT(*) FROM (SELECT patient, age FROM visits UNION ALL SELECT patient FROM labs) t", "same columns"),
    ("SELECT COUNT(*) FROM (SELECT patient, age FROM visits UNION ALL SELECT level, patient FROM labs) t", "order"),
    ("SELECT COUNT(*) FROM (SELECT patient, ward FROM visits UNION ALL SELECT patient, level FROM labs) t", "one type"),
    ("SELECT COUNT(*) FROM (SELECT patient, day FROM visits UNION ALL SELECT patient, seen FROM labs) t", "one type"),
    ("SELECT COUNT(*) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) t", "GROUP BY patient"),
    ("SELECT COUNT(*) FROM (SELECT COUNT(*) AS n FROM visits) t", "GROUP BY patient"),
    ("SELECT COUNT(*) FROM (SELECT patient, SUM(age) AS n FROM visits GROUP BY patient HAVING n > 1) t", "WHERE"),
    ("SELECT COUNT(*) FROM (SELECT patient FROM visits ORDER BY age) t", "no order"),
    ("SELECT COUNT(*) FROM (SELECT patient FROM visits LIMIT 3) t", "other people's"),
    ("SELECT COUNT(*) FROM (SELECT DISTINCT ward FROM visits) t", "GROUP BY the columns"),
    ("SELECT COUNT(*) FROM (SELECT patient, MEDIAN(age) AS m FROM visits GROUP BY patient) t", "knows COUNT"),
    ("SELECT COUNT(*) FROM (SELECT patient, SUM(age) + 1 AS m FROM visits GROUP BY patient) t", "knows COUNT"),
    ("SELECT COUNT(*) FROM (SELECT patient, COUNT(DISTINCT ward) AS m FROM visits GROUP BY patient) t", "COUNT"),
    ("SELECT COUNT(*) FROM (SELECT patient, age FROM visits GROUP BY patient) t", "neither an aggregate nor"),
    ("SELECT COUNT(*) FROM (SELECT patient, MAX(ward) AS m FROM visits GROUP BY patient) t", "not a number"),
    ("SELECT COUNT(*) FROM (SELECT patient, age + 1 FROM visits) t", "name the column"),
    ("SELECT COUNT(*) FROM (SELECT patient, age + 1 FROM visits GROUP BY patient, age + 1) t", "name the column"),
    ("SELECT COUNT(*) FROM (SELECT age, cost AS Age FROM visits) t", "two columns"),
    ("SELECT COUNT(*) FROM (SELECT cost AS age, * FROM visits) t", "two columns"),
    ('SELECT COUNT(*) FROM (SELECT age AS "(u)" FROM visits) t', "parentheses"),
    ('SELECT COUNT(*) FROM (SELECT age AS "a.b" FROM visits) t', "dots"),
    ('SELECT COUNT(*) FROM visits AS "a.b" JOIN labs b USING (patient)', "dots"),
    ("SELECT COUNT(*) FROM (SELECT * FROM visits a JOIN labs b USING (patient)) t", "name the columns"),
    ("SELECT COUNT(*) FROM (SELECT age FROM visits WHERE age) t", "true or false"),
    ("SELECT COUNT(DISTINCT patient) FROM (SELECT age FROM visits) t", "COUNT"),
    ("WITH RECURSIVE t AS (SELECT age FROM visits) SELECT COUNT(*) FROM t", "RECURSIVE"),
    ("WITH t(a) AS (SELECT age FROM visits) SELECT COUNT(*) FROM t", "plain names"),
    ("SELECT COUNT(*) FROM nowhere", "no table"),
    ("SELECT patient, COUNT(*) FROM visits a JOIN labs b USING (patient) GROUP BY patient", "unit column"),
    ("SELECT COUNT(*) FROM visits WHERE note > 'a'", "has no order"),
    ("SELECT COUNT(*) FROM visits WHERE note LIKE '%a'", "prefixes"),
    ("SELECT COUNT(*) FROM visits WHERE note LIKE 'a_b%'", "prefixes"),
    ("SELECT COUNT(*) FROM visits WHERE age LIKE '1%'", "LIKE needs a text"),
    ("SELECT SUM(note) FROM visits", "not a number"),
    ("SELECT SUM(WIDTH_BUCKET(age, 5, 5, 2)) FROM visits", "low < high"),
    ("SELECT SUM(WIDTH_BUCKET(age, 0, 5, age)) FROM visits", "constants"),
    ("SELECT QUANTILE(age, 1.5) FROM visits", "between 0 and 1"),
    ("SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age DESC) FROM visits", "ascending"),
    ("SELECT EXTRACT(hour FROM day) AS h, COUNT(*) FROM visits GROUP BY h", "no hour"),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "said"), REFUSED)
def test_what_is_not_local_to_a_unit_is_refused_with_what_to_write(sql, said):
    with pytest.raises(DiscreetError, match=said):
        parse(sql, CLINIC)


def test_tables_of_other_people_and_rows_without_owner_are_never_joined_or_united():
    tables = CLINIC | OTHERS | ROWS
    for sql in (
        "SELECT COUNT(*) FROM visits a JOIN staff b ON a.patient = b.nurse",
        "SELECT COUNT(*) FROM visits a JOIN rows b ON a.age = b.age",
        "SELECT COUNT(*) FROM rows a JOIN places b ON a.age = b.beds",
        "SELECT COUNT(*) FROM (SELECT age FROM visits UNION ALL SELECT level FROM staff) t",
        "SELECT COUNT(*) FROM (SELECT age FROM visits UNION ALL SELECT age FROM rows) t",
        "SELECT COUNT(*) FROM (SELECT age FROM rows UNION ALL SELECT age FROM rows) t",
    ):
        with pytest.raises(UnsupportedError):
            parse(sql, tables)

    assert parse("SELECT SUM(a) FROM (SELECT age * 2 AS a FROM rows WHERE age > 2) t", tables).source.owner is None


def test_nesting_is_bounded_however_it_is_written():
    chain = "SELECT * FROM visits"
    for depth in range(12):
        names = ", ".join(f"t{i} AS (SELECT * FROM {f't{i - 1}' if i else 'visits'})" for i in range(depth + 1))
        written = f"WITH {names} SELECT COUNT(*) FROM t{depth}"
        if depth <= 6:
            query = parse(written, CLINIC)
            assert query == parse(str(query), CLINIC)
        else:
            with pytest.raises(UnsupportedError, match="8 deep"):
                parse(written, CLINIC)
        chain = f"SELECT * FROM ({chain}) AS t{depth}"
    parse(f"SELECT COUNT(*) FROM ({' UNION ALL '.join(['SELECT patient FROM visits'] * 8)}) t", CLINIC)
    for parts in (9, 300):
        with pytest.raises(UnsupportedError, match="at most 8 tables"):
            parse(f"SELECT COUNT(*) FROM ({' UNION ALL '.join(['SELECT patient FROM visits'] * parts)}) t", CLINIC)


def test_a_declared_name_in_parentheses_is_refused_where_ours_would_meet_it():
    domain = Domain({"patient": Identifier(), "(u)": Integer(0, 9)})
    tables = {"visits": Table("visits.parquet", domain=domain, unit="patient")}
    query = parse('SELECT SUM(x) FROM (SELECT "(u)" AS x FROM visits) t', tables)
    with pytest.raises(UnsupportedError, match="parentheses"):
        query.source.table()


def test_a_question_is_as_wide_as_its_columns_after_any_nesting():
    inner = "SELECT patient, cost * cost AS y FROM visits"
    sql = f"SELECT SUM(x) FROM (SELECT patient, SUM(y) AS x FROM ({inner}) s GROUP BY patient) t"
    known = parse(sql, CLINIC).aggregates[0].argument.type

    assert known.step == Fraction(1, 16)
    assert (known.low, known.high) == (-5 * 200 * 2000, 5 * 2000 * 2000)
    with pytest.raises(DiscreetError, match="62 bits"):
        parse(sql.replace("cost * cost", "cost * cost * cost * cost * cost * cost"), CLINIC)
