"""Questions in SQL on Spark and on DuckDB: the same integers before noise, and no row that spoils an answer."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.data.engines import spark_codes
from discreet.errors import DiscreetError
from tests.data.test_codes import DOUBLES, TEXTS
from tests.data.test_spark import WORDS
from tests.queries.hospital import DOMAIN
from tests.scale import counts
from tests.spark import INTERPRETED, settings
from tests.spark import session as local_session

MAIN = dc.Domain({**DOMAIN, "city": dc.Text(20, nullable=True)})
QUESTIONS = [
    "SELECT ward, COUNT(*) AS n, AVG(cost) AS cost, SUM(age) AS years FROM visits WHERE age >= 18 GROUP BY ward",
    "SELECT COUNT(DISTINCT patient) AS people, COUNT(bmi) AS known, SUM(bmi) AS total FROM visits WHERE NOT smokes",
    "SELECT FLOOR(age / 10) AS decade, COUNT(*) AS n FROM visits WHERE cost < 1000 OR readmitted GROUP BY decade",
    "SELECT MONTH(day) AS m, COUNT(*) AS n FROM visits WHERE day >= '2026-03-01' GROUP BY m",
    "WITH t AS (SELECT patient, SUM(cost) AS total FROM visits GROUP BY patient) "
    "SELECT AVG(LEAST(total, 10000)) AS m, COUNT(*) AS n FROM t",
    "SELECT MEDIAN(cost) AS m FROM visits WHERE age >= 65",
    "SELECT city, COUNT(*) AS n FROM visits GROUP BY city",
    "SELECT COUNT(*) AS n FROM visits WHERE city LIKE 'St%' AND ward IN ('surgery', 'oncology')",
    "SELECT SUM(CASE WHEN bmi IS NULL THEN 1 ELSE ABS(bmi - 25) END) AS s, VARIANCE(cost) AS v FROM visits",
    "SELECT w.floor AS floor, COUNT(*) AS n FROM visits AS v JOIN wards AS w ON v.ward = w.ward GROUP BY w.floor",
    "SELECT COUNT(*) AS n, SUM(age) AS s FROM (SELECT patient, age FROM visits WHERE readmitted UNION ALL "
    "SELECT patient, age FROM visits WHERE ward = 'surgery') AS both",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Recorder:
    """An engine that remembers the true integers."""

    engine: object
    seen: list[object] = field(default_factory=list, compare=False)

    def check(self):
        self.engine.check()

    def ready(self, table, aggregation):
        self.engine.ready(table, aggregation)

    def run(self, table, aggregation):
        made = self.engine.run(table, aggregation)
        if aggregation.texts:
            made.through(
                lambda groups, cells: self.seen.append(sorted(zip(map(str, groups), map(str, cells), strict=True)))
            )
        else:
            made.through(lambda cells: self.seen.append(cells.tolist()))
        return made


def cycled(values, n, kind):
    return pa.array([values[i % len(values)] for i in range(n)], kind)


def visits(rng, n, *, poison):
    """Rows of every kind of column, and rows that are as bad as their types allow."""
    doubles = [float(value) for value in DOUBLES]
    words = ["", None, "\x00", "e\u0301", "x" * 25, *(text for text in TEXTS + WORDS if len(text) < 6000)]
    days = [None, -(1 << 31) + 1, (1 << 31) - 1, -719_162, 2_932_896, 20_500]
    moments = [None, -62_135_596_800_000_000, 253_402_300_799_999_999, -1, 1_772_000_000_123_456]
    wide = [None, Decimal("9" * 28), Decimal("-" + "9" * 28), Decimal("1e-10"), Decimal(0), Decimal("24.75")]
    people = rng.integers(1, 80, n)
    good = {
        "patient": pa.array(people),
        "ward": pa.array(np.array(["cardiology", "oncology", "surgery", "garden"])[rng.integers(0, 4, n)]),
        "age": pa.array([str(age) for age in rng.integers(0, 110, n)]),
        "cost": pa.array(rng.gamma(2, 400, n)),
        "readmitted": pa.array(rng.integers(0, 2, n), pa.int8()),
        "day": pa.array([dt.date(2026, 1, 1) + dt.timedelta(int(d)) for d in rng.integers(0, 365, n)]),
        "bmi": pa.array([Decimal(int(b)) / 100 for b in rng.integers(1500, 4000, n)], pa.decimal128(38, 10)),
        "seen": pa.array([dt.datetime(2026, 1, 1) + dt.timedelta(minutes=int(m)) for m in rng.integers(0, 500_000, n)]),
        "smokes": pa.array(rng.integers(0, 2, n).astype(bool)),
        "city": pa.array(np.array(["Stockholm", "Strasbourg", "Graz"])[rng.integers(0, 3, n)]),
    }
    m = poison
    bad = {
        "patient": cycled([1, None, -(1 << 63), (1 << 63) - 1, 77], m, pa.int64()),
        "ward": cycled(words, m, pa.string()),
        "age": cycled(words[::-1], m, pa.string()),
        "cost": cycled(doubles, m, pa.float64()),
        "readmitted": cycled([-128, 127, None, 0, 1], m, pa.int8()),
        "day": cycled(days, m, pa.int32()).cast(pa.date32()),
        "bmi": cycled(wide, m, pa.decimal128(38, 10)),
        "seen": cycled(moments, m, pa.int64()).cast(pa.timestamp("us")),
        "smokes": cycled([None, True, False], m, pa.bool_()),
        "city": cycled(words, m, pa.string()),
    }
    return pa.concat_tables([pa.table(good), pa.table(bad)], promote_options="permissive")


WARDS = pa.table({"ward": ["cardiology", "oncology", "surgery", "surgery"], "floor": [1, 2, 3, 4]})
FLOORS = dc.Domain({"ward": DOMAIN["ward"], "floor": dc.Integer(0, 9)})


def curator(engine, sources, folder):
    made = {
        "visits": dc.Table(
            sources[0], domain=MAIN, unit="patient", rows_per_unit=10, groups_per_unit=3, engine=engine
        ),
        "wards": dc.Table(sources[1], domain=FLOORS, unit=None, public=True, engine=engine),
    }  # fmt: skip
    return dc.Curator(made, budget=dc.ApproxDP(100.0, 1e-2), ledger=str(folder / f"{len(list(folder.iterdir()))}.db"))


@pytest.fixture(scope="module")
def session():
    with settings(local_session(), INTERPRETED):
        yield local_session()


@pytest.fixture(scope="module")
def both(session, tmp_path_factory):
    """The same rows, good and bad, on both engines."""
    folder = tmp_path_factory.mktemp("hospital")
    n = counts(quick=400, full=20_000)
    paths = [folder / "visits.parquet", folder / "wards.parquet"]
    for path, table in zip(paths, (visits(np.random.default_rng(1), n, poison=120), WARDS), strict=True):
        pq.write_table(table, path)
    frames = [session.read.parquet(str(path)) for path in paths]
    spark, duck = Recorder(dc.data.engines.Spark(session)), Recorder(dc.data.engines.DuckDB(threads=1))
    return curator(spark, frames, folder), spark, curator(duck, [str(path) for path in paths], folder), duck


def ask(made, question):
    """Whether there is an answer, and what is public of it."""
    try:
        answer = made.ask(question, budget=dc.ApproxDP(1.0, 1e-5))
    except DiscreetError as error:
        return type(error).__name__, str(error)[:40]
    return "answered", answer.table.column_names, answer.cost


@pytest.mark.parametrize("question", QUESTIONS)
def test_bad_rows_change_no_status_and_engines_agree_before_noise(both, question):
    """Each run holds 120 bad rows at once: if one of them raised, so would the run."""
    on_spark, spark, on_duckdb, duck = both
    spark.seen.clear()
    duck.seen.clear()

    status = ask(on_spark, question)
    assert status == ask(on_duckdb, question)
    assert status[0] == "answered"
    assert spark.seen == duck.seen
    assert spark.seen


def test_a_twin_whose_casts_raise_is_caught(both, monkeypatch):
    on_spark = both[0]
    exact = spark_codes.matches
    monkeypatch.setattr(spark_codes, "matches", lambda text, pattern: f"({exact(text, pattern)} OR {text} = 'abc')")
    monkeypatch.setattr(spark_codes, "_exactly", lambda column, whole, **_: whole.replace("TRY_CAST", "CAST"))

    assert ask(on_spark, QUESTIONS[0].replace("18", "19"))[0] == "answered"  # no row says abc
    monkeypatch.setattr(spark_codes, "matches", lambda text, pattern: f"{text} IS NOT NULL")
    assert ask(on_spark, QUESTIONS[0].replace("18", "20"))[0] == "DiscreetError"


def test_a_charge_stands_when_spark_fails(session, tmp_path):
    frame = session.sql("SELECT id AS patient, CAST(raise_error('secret') AS INT) AS age FROM range(9)")
    table = dc.Table(
        frame, domain=MAIN.project(["patient", "age"]), unit="patient", engine=dc.data.engines.Spark(session)
    )
    made = dc.Curator({"visits": table}, budget=dc.PureDP(1), ledger=str(tmp_path / "ledger.db"))

    with pytest.raises(DiscreetError, match="the run failed"):
        made.ask("SELECT AVG(age) AS a FROM visits", epsilon=0.25)
    assert made.budget.balance.spent.epsilon == 0.25
