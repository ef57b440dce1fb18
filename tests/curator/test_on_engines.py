"""The curator where the data lives: the same questions of PostgreSQL and of Spark, paid for in PostgreSQL."""

from __future__ import annotations

from urllib.parse import urlsplit

import numpy as np
import psycopg
import pyarrow as pa
import pytest

import discreet as dc
from discreet.data.engines.choose import engine_for
from discreet.errors import UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.ledger import Ledger
from discreet.queries import counts
from discreet.queries.statistical_pieces import Affine, Piece
from discreet.release import IndependentNoise
from discreet.release.reading import Reading
from discreet.synthesis.stored import to_bytes
from tests import spark as local
from tests.data.test_spark import framed

WARDS = ["cardiology", "oncology", "surgery"]
DOMAIN = dc.Domain({
    "patient": dc.Identifier(), "ward": dc.Categorical(WARDS), "age": dc.Integer(0, 119),
    "cost": dc.Real(0, 5000, step="0.01"), "readmitted": dc.Boolean(),
})  # fmt: skip
TOTALS = (
    "WITH t AS (SELECT patient, SUM(cost) AS total FROM visits GROUP BY patient)"
    " SELECT AVG(LEAST(total, 10000)) AS m, COUNT(*) AS n FROM t"
)
MEDIAN = "SELECT MEDIAN(cost) AS m FROM visits WHERE age >= 65"


def visits():
    rng = np.random.default_rng(4)
    patient = np.repeat(np.arange(500), 4)
    return pa.table({
        "patient": patient, "ward": rng.choice(WARDS, 2000), "age": rng.integers(0, 120, 2000),
        "cost": np.round(rng.uniform(0, 2000, 2000), 2), "readmitted": rng.random(2000) < 0.2,
    })  # fmt: skip


@pytest.fixture
def here(fresh_postgres_url, monkeypatch):
    """A database that is found by its name alone, with the table in it."""
    place = urlsplit(fresh_postgres_url)
    for name, value in (("PGHOST", place.hostname), ("PGPORT", str(place.port)), ("PGUSER", place.username)):
        monkeypatch.setenv(name, value)
    with psycopg.connect(fresh_postgres_url) as connection:
        connection.execute(
            "CREATE TABLE visits (patient bigint, ward text, age int, cost double precision, readmitted boolean)"
        )
        with connection.cursor().copy("COPY visits FROM STDIN") as copy:
            for row in visits().to_pylist():
                copy.write_row(list(row.values()))
    return f"postgresql:///{place.path.removeprefix('/')}"


def test_postgresql_gives_the_same_model_and_refuses_what_it_cannot_count_free(here):
    """Cell by cell, and of a universe that cannot be listed table by table, in intervals."""
    small, wide = [], []
    for source in (visits(), f"{here}#visits"):
        table = dc.Table(source, domain=DOMAIN, unit="patient", rows_per_unit=4)
        with Ledger.open(":memory:", testing=True) as ledger:
            curator = dc.Curator({"visits": table}, budget=dc.PureDP(9), ledger=ledger, rng=SeededRandom(1))
            small.append(to_bytes(curator.synthesize(table="visits", epsilon=1, columns=["ward", "readmitted"])))
            wide.append(to_bytes(curator.synthesize(table="visits", epsilon=1, cells=20_000, rounds=3)))
            left = curator.budget
            if source == f"{here}#visits":
                with pytest.raises(UnsupportedError, match="read row by row"):
                    curator.synthesize(table="visits", epsilon=1, method="mwem", most=12)
                assert curator.budget == left

    assert small[0] == small[1]
    assert wide[0] == wide[1]


def test_postgresql_keeps_the_same_rows_for_a_release(here):
    small = DOMAIN.project(["ward", "readmitted"])
    found = []
    for source in (visits(), f"{here}#visits"):
        table = dc.Table(source, unit="patient", rows_per_unit=2, domain=DOMAIN)
        reading = Reading(table, small, engine_for(table.source))
        reading.ready()
        found.append(reading.through(counts(small).answer))

    assert found[0].sum() == 1000  # two rows of each of 500 patients
    assert np.array_equal(*found)
    with dc.Curator({"visits": table}, budget=dc.PureDP(1), ledger=here) as c:
        release = c.release(counts(small), table="visits", epsilon=1, mechanism=IndependentNoise)

        assert np.abs(release.answers - found[0]).max() <= release.accuracy(1e-6)


def test_postgresql_answers_statistical_queries_alike(here):
    asked = [Piece(factors=(Affine.scaled(0, 0, 119), Affine.scaled(1, 0, 5000))), Piece(factors=(Affine.of({2: 1}),))]
    found = []
    for source in (visits(), f"{here}#visits"):
        table = dc.Table(source, domain=DOMAIN, unit="patient", rows_per_unit=4)
        with Ledger.open(":memory:", testing=True) as ledger:
            curator = dc.Curator({"visits": table}, budget=dc.ZCDP(9), ledger=ledger, rng=SeededRandom(1))
            columns = ["age", "cost", "readmitted"]
            oracle = curator.oracle(table="visits", queries=2, columns=columns, budget=dc.ZCDP(1))
            found.append(oracle.answer(asked).tolist())

    assert found[0] == found[1]


def test_postgresql_is_asked_and_pays(here):
    pg = dc.Table(f"{here}#visits", unit="patient", rows_per_unit=10, domain=DOMAIN)
    with dc.Curator({"visits": pg}, budget=dc.ApproxDP(1.0, 1e-6), ledger=here) as c:
        totals, median = c.ask(TOTALS, epsilon=0.2), c.ask(MEDIAN, epsilon=0.2)

        assert c.ask(TOTALS, epsilon=0.2).table == totals.table  # free, and the same
        assert float(c.budget.balance.spent.epsilon) == pytest.approx(0.4)
    true = visits().to_pandas()
    low, high = (totals.errors()[f"m_{end}"][0].as_py() for end in ("low", "high"))
    assert low <= true.groupby("patient").cost.sum().clip(upper=10_000).mean() <= high
    low, high = (median.errors()[f"m_{end}"][0].as_py() for end in ("low", "high"))
    assert low <= true[true.age >= 65].cost.median() <= high
    with (
        pytest.raises(dc.errors.BudgetExhausted),
        dc.Curator({"visits": pg}, budget=dc.ApproxDP(1.0, 1e-6), ledger=here) as c,
    ):
        c.ask(MEDIAN, epsilon=0.7)


def test_spark_is_asked_by_the_same_words(tmp_path):
    session = local.session()
    framed(session, visits()).createOrReplaceTempView("visits_of_the_curator")
    spark = dc.Table(
        "spark://visits_of_the_curator", unit="patient", rows_per_unit=10, domain=DOMAIN,
        engine=dc.data.engines.Spark(session),
    )  # fmt: skip
    embedded = dc.Table(visits(), unit="patient", rows_per_unit=10, domain=DOMAIN)
    asked = {"visits": spark}, {"visits": embedded}
    found = []
    for place, tables in enumerate(asked):
        with dc.Curator(tables, budget=dc.PureDP(1_000_000_000), ledger=tmp_path / f"{place}.db") as c:
            found.append([c.ask(sql, epsilon=400_000_000).table.to_pylist() for sql in (TOTALS, MEDIAN)])
    assert found[0] == found[1]  # noise of such an epsilon rounds to nothing


def test_spark_makes_the_same_model_of_a_wide_table():
    """Table by table, in intervals: nobody has more rows than are kept, so that all passes count the same."""
    session = local.session()
    framed(session, visits()).createOrReplaceTempView("visits_to_make_up")
    spark = {"source": "spark://visits_to_make_up", "engine": dc.data.engines.Spark(session)}
    found = []
    for held in (spark, {"source": visits()}):
        table = dc.Table(held.pop("source"), domain=DOMAIN, unit="patient", rows_per_unit=4, **held)
        with Ledger.open(":memory:", testing=True) as ledger:
            curator = dc.Curator({"visits": table}, budget=dc.ZCDP(9), ledger=ledger, rng=SeededRandom(1))
            found.append(to_bytes(curator.synthesize(table="visits", budget=dc.ZCDP("1/10"), cells=20_000, rounds=2)))

    assert found[0] == found[1]
