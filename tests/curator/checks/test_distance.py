"""One patient with any number of rows moves the input of every mechanism by at most what is declared."""

from dataclasses import replace

import pytest

from discreet.data.engines import relations
from discreet.errors import DiscreetError
from discreet.privacy import ApproxDP
from discreet.queries.per_unit import Grouped
from discreet.queries.source import Source
from discreet.queries.stacked import Stacked
from tests.curator.checks.distance import neighbours, planned, violations
from tests.queries.clinic import question
from tests.scale import counts

PLANS = counts(quick=80, full=10_000)
HEAVY = counts(quick=150, full=10_000)
WORLDS = counts(quick=8, full=100)
DELTA = {"budget": ApproxDP(1, "1e-6")}


@pytest.fixture(scope="module")
def worlds():
    """Worlds with bounds of all sizes, each used by many questions."""
    made = {}

    def world(seed):
        if seed not in made:
            made[seed] = neighbours(seed, heavy=HEAVY, rows=[1, 2, 3, 5][seed % 4], groups=[1, 2, 3][seed % 3])
        return made[seed]

    return world


def test_no_question_is_moved_by_more_than_it_says(worlds):
    answered = 0
    for seed in range(PLANS):
        sql, found = question(seed, depth=1 + seed % 3, wide=True), worlds(seed % WORLDS)
        try:
            planned(sql, found.whole)
        except DiscreetError:  # too wide, or too many groups
            continue
        answered += 1

        assert violations(sql, found, plain=seed % 4 == 0) == [], (seed, sql)
    assert answered >= PLANS * 3 // 5


SHAPES = {
    "self-join": "SELECT COUNT(*), SUM(a.age + b.age) FROM visits a JOIN visits b ON a.patient = b.patient",
    "self-join on values": "SELECT COUNT(*) FROM visits a JOIN visits b USING (patient, ward, age)",
    "three sides": "SELECT SUM(b.level) FROM visits a JOIN labs b USING (patient) JOIN visits c"
    " ON c.patient = a.patient",
    "union of a table with itself": "SELECT ward, COUNT(*) FROM (SELECT patient, ward FROM visits UNION ALL"
    " SELECT patient, ward FROM visits UNION ALL SELECT patient, ward FROM visits) t GROUP BY ward",
    "union of different steps": "SELECT SUM(x) FROM (SELECT patient, cost AS x FROM visits UNION ALL"
    " SELECT patient, level * 100 AS x FROM labs) t",
    "a column redefined": "SELECT SUM(age) FROM (SELECT patient, age * 1000 AS age FROM visits) t",
    "a column redefined after truncation": "SELECT SUM(age) FROM (SELECT a.patient, a.age * b.level AS age"
    " FROM visits a JOIN labs b ON a.patient = b.patient) t",
    "per patient": "SELECT AVG(LEAST(total, 1000)), COUNT(*) FROM (SELECT patient, SUM(cost) AS total FROM visits"
    " GROUP BY patient) t",
    "per patient and ward": "SELECT ward, SUM(n) FROM (SELECT patient, ward, COUNT(*) AS n FROM visits"
    " GROUP BY patient, ward) t GROUP BY ward",
    "nested": "SELECT SUM(m) FROM (SELECT patient, MAX(n) AS m FROM (SELECT patient, ward, COUNT(*) AS n FROM visits"
    " GROUP BY patient, ward) t GROUP BY patient) s",
    "one of many joined with one of many": "SELECT COUNT(*) FROM (SELECT patient, ward FROM visits"
    " GROUP BY patient, ward) a JOIN (SELECT patient, level FROM labs GROUP BY patient, level) b"
    " ON a.patient = b.patient",
    "few kept of many, joined": "SELECT COUNT(*), COUNT(DISTINCT a.patient) FROM (SELECT patient, ward FROM visits"
    " GROUP BY patient, ward) a JOIN visits b ON a.patient = b.patient",
    "outer join": "SELECT COUNT(*), COUNT(b.level), SUM(b.result) FROM visits a LEFT JOIN labs b"
    " ON a.patient = b.patient",
    "outer join on a missing value": "SELECT COUNT(*), SUM(COALESCE(b.level, 9)) FROM labs a LEFT JOIN labs b"
    " ON a.patient = b.patient AND a.ward = b.ward WHERE b.level IS NULL",
    "public partners": "SELECT p.beds, COUNT(*), SUM(v.cost * p.beds) FROM visits v JOIN places p ON v.ward = p.ward"
    " GROUP BY p.beds",
    "public partners per patient": "SELECT SUM(n) FROM (SELECT v.patient, COUNT(*) AS n FROM visits v"
    " LEFT JOIN places p ON v.ward = p.ward GROUP BY v.patient) t",
    "a thousand groups": "SELECT cost * 4, COUNT(*), COUNT(DISTINCT patient) FROM visits GROUP BY cost * 4",
    "a thousand groups of a sub-query": "SELECT x, SUM(n) FROM (SELECT patient, cost * 4 AS x, COUNT(*) AS n"
    " FROM visits GROUP BY patient, cost * 4) t GROUP BY x",
    "quantiles": "SELECT ward, MEDIAN(age), QUANTILE(cost, 0.9), MIN(cost) FROM visits GROUP BY ward",
    "quantiles of a join": "SELECT MEDIAN(a.age - b.level) FROM visits a JOIN labs b ON a.patient = b.patient",
    "quantiles per patient": "SELECT MAX(s) FROM (SELECT patient, SUM(level) AS s FROM labs GROUP BY patient) t",
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_a_shape_that_libraries_got_wrong_is_moved_by_no_more_than_it_says(shape, worlds):
    for seed in range(counts(quick=3, full=40)):
        assert violations(SHAPES[shape], worlds(seed), plain=seed == 1) == []


PRIVATE = {
    "texts": "SELECT note, COUNT(*), SUM(age) FROM visits GROUP BY note",
    "texts and declared keys": "SELECT kind, ward, COUNT(DISTINCT patient) FROM labs GROUP BY kind, ward",
    "two texts": "SELECT a.note, b.kind, COUNT(*) FROM visits a JOIN labs b ON a.patient = b.patient GROUP BY 1, 2",
    "texts of a sub-query": "SELECT t.note, SUM(t.n) FROM (SELECT patient, note, COUNT(*) AS n FROM visits"
    " GROUP BY patient, note) t GROUP BY t.note",
    "texts of a union": "SELECT t.x, COUNT(*) FROM (SELECT patient, note AS x FROM visits UNION ALL"
    " SELECT patient, kind AS x FROM labs) t GROUP BY t.x",
    "one text of each patient": "SELECT t.x, COUNT(*) FROM (SELECT a.patient, b.name AS x FROM visits a JOIN places b"
    " ON a.ward = b.ward) t GROUP BY t.x",
}


@pytest.mark.parametrize("shape", PRIVATE)
def test_groups_that_nobody_declared_gain_one_unit_each_and_no_more_of_them_than_declared(shape, worlds):
    for seed in range(counts(quick=3, full=40)):
        assert violations(PRIVATE[shape], worlds(seed), **DELTA) == []


def loose(pass_):
    """The truncation at the end is forgotten."""
    return replace(pass_, rows_per_unit=10**6, groups_per_unit=10**6)


def test_truncation_before_the_join_alone_is_seen(worlds):
    assert violations(SHAPES["self-join"], worlds(1), rows_per_unit=2, groups_per_unit=1, epsilon=1) == []
    assert violations(SHAPES["self-join"], worlds(1), altered=loose, rows_per_unit=2, groups_per_unit=1, epsilon=1)
    assert violations(SHAPES["public partners"], worlds(1), altered=loose)


def test_a_clamp_of_values_per_unit_that_is_dropped_is_seen(worlds, monkeypatch):
    """The clamp of the measure is a second one behind it: the twin lacks both."""
    sql = "SELECT SUM(s) FROM (SELECT patient, SUM(level) AS s FROM labs GROUP BY patient) t"
    monkeypatch.setattr(relations, "_between", lambda value, bounds: value)

    def unclamped(pass_):
        return replace(pass_, measures=tuple(replace(m, low=-(10**9), high=10**9) for m in pass_.measures))

    assert violations(sql, worlds(1)) == []
    assert violations(sql, worlds(1), altered=unclamped)


def test_a_number_of_rows_that_is_off_by_one_is_seen(worlds, monkeypatch):
    """A sub-query that is believed to have one row of each patient is not truncated."""
    sql = "SELECT COUNT(*) FROM (SELECT patient, level < 5 AS x FROM labs GROUP BY patient, level < 5) t"
    honest = Grouped.most.fget
    assert violations(sql, worlds(1)) == []

    monkeypatch.setattr(Grouped, "most", property(lambda source: max(1, honest(source) - 1)))
    assert violations(sql, worlds(1))


def test_a_side_that_is_bounded_by_more_than_it_is_counted_with_is_seen(worlds, monkeypatch):
    """Three rows of a patient by declaration, of which a join counts one."""
    sql, found = SHAPES["few kept of many, joined"], worlds(0)
    assert violations(sql, found) == []

    monkeypatch.setattr(Source, "bounded", property(lambda source: source.most is not None))
    assert violations(sql, found)


def test_a_union_that_is_counted_once_is_seen(worlds, monkeypatch):
    sql, found = SHAPES["union of a table with itself"], worlds(1)
    honest = planned(sql, found.whole).rows

    def all_parts(pass_):
        return replace(pass_, rows_per_unit=honest, groups_per_unit=10**6)

    assert violations(sql, found) == []
    monkeypatch.setattr(Stacked, "rows", property(lambda source: max(part.rows for part in source.parts)))
    assert violations(sql, found, altered=all_parts)


def test_a_join_of_other_peoples_rows_is_seen(worlds, monkeypatch):
    """The twin joins on what was written and forgets the unit: everybody's rows meet the heavy patient's."""
    sql = "SELECT COUNT(*) FROM visits a JOIN visits b ON a.patient = b.patient AND a.ward = b.ward"
    honest = relations._join

    def forgetful(node, left, right, dialect):
        made = honest(node, left, right, dialect)
        unit = dialect.quoted(relations.UNIT)
        return replace(made, sql=made.sql.replace(f"l.{unit} = r.{unit} AND ", ""))

    assert [violations(sql, worlds(seed)) for seed in range(4)] == [[]] * 4
    monkeypatch.setattr(relations, "_join", forgetful)
    assert any(violations(sql, worlds(seed)) for seed in range(4))
