"""One bounded question on every engine, each against the engine's own plain query, and how Spark grows.

COUNT and SUM by 20 wards, at most 10 rows and 3 wards of a patient, over patients with 5 rows each.  The plain query
clips the sum and bounds nothing.  Runs alternate, and the least of each counts.  What is compared is the CPU time of
this process and all that it started (the JVM, the server), which other work on the machine changes little.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import Row, absent, publish, size

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from discreet.data.aggregation import Aggregation
    from discreet.data.engines.base import Engine
    from discreet.data.table import Table

CACHE = Path(__file__).resolve().parent.parent / ".cache"
SIZES = size((100_000, 1_000_000, 10_000_000), quick=(10_000, 20_000))
ALIKE = size(1_000_000, quick=20_000)  # rows at which the engines are compared
WARDS = [f"ward-{i:02d}" for i in range(20)]
PLAIN = "SELECT ward, COUNT(*), SUM(LEAST(GREATEST(cost, 0), 5000)) FROM {} WHERE age >= 18 GROUP BY ward"
ROUNDS = size(2, quick=1)
TICK = 1 / os.sysconf("SC_CLK_TCK")  # what CPU seconds are counted in
Took = tuple[float, float]  # wall and CPU, in seconds


def measure() -> list[Row]:
    rows = _embedded() + _postgres()
    if shutil.which("java") is None:
        return [*rows, absent("Spark: Java is not installed")]
    if importlib.util.find_spec("pyspark") is None:
        return [*rows, absent("Spark: pyspark is not installed")]
    return rows + _spark()


def _compared(name: str, least: dict[str, Took]) -> list[Row]:
    made = []
    for what, (wall, cpu) in least.items():
        made.append(Row(what=f"{name}: {what}", value=wall, unit="s"))
        made.append(Row(what=f"{name}: {what}, CPU", value=cpu, unit="s"))
        if what != "plain query":
            ratio = cpu / max(least["plain query"][1], TICK)
            made.append(Row(what=f"{name}: {what} / plain query, CPU", value=ratio, unit="x"))
    return made


def _embedded() -> list[Row]:
    import duckdb

    from discreet.data.engines.duckdb import DuckDB

    path = _visits(ALIKE)
    connection = duckdb.connect()
    works: dict[str, Callable[[], object]] = {
        "plain query": lambda: connection.execute(PLAIN.format(f"read_parquet('{path}')")).fetchall(),
        "bounded, compiled": _run(DuckDB(), str(path)),
        "bounded, SQL": _run(DuckDB(plain=True), str(path)),
    }
    return _compared(f"DuckDB, {ALIKE:,} rows", _least(works))


def _postgres() -> list[Row]:
    """On a server of our own, gone at the end; its tables are in its cache, not in Parquet."""
    import pyarrow.parquet as pq

    try:
        import psycopg
        import pytest

        from tests.services import start
    except ImportError:
        return [absent("PostgreSQL: psycopg is not installed")]
    from discreet.data.engines.postgres import Postgres

    folder = Path(tempfile.mkdtemp(prefix="discreet-pg-"))
    try:
        server = start(folder)
    except (OSError, pytest.fail.Exception):  # how the tests say that there is no server
        return [absent("PostgreSQL: no server is installed")]
    try:
        with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
            connection.execute("CREATE TABLE visits (patient bigint, ward text, age integer, cost double precision)")
            with connection.cursor().copy("COPY visits FROM STDIN") as copy:
                for batch in pq.ParquetFile(_visits(ALIKE)).iter_batches():
                    copy.write(
                        "".join(f"{p}\t{w}\t{a}\t{c}\n" for p, w, a, c in zip(*map(_list, batch.columns), strict=True))
                    )
            connection.execute("VACUUM ANALYZE visits")
            plain = PLAIN.format("visits").encode()
            works: dict[str, Callable[[], object]] = {
                "plain query": lambda: connection.execute(plain).fetchall(),
                "bounded, SQL": _run(Postgres(), server.url("postgres") + "#visits"),
            }
            return _compared(f"PostgreSQL, {ALIKE:,} rows", _least(works))
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _list(column: object) -> list[object]:
    return column.to_pylist()  # type: ignore[attr-defined]


def _spark() -> list[Row]:
    from discreet.data.engines.spark import Spark

    rows, ours = [], dict[int, float]()
    with _session() as session:
        for rows_read in SIZES:
            frame = session.read.parquet(str(_visits(rows_read)))
            frame.createOrReplaceTempView("visits")
            works: dict[str, Callable[[], object]] = {
                "plain query": lambda: session.sql(PLAIN.format("visits")).collect(),
                "bounded, SQL": _run(Spark(session), "spark://visits"),
            }
            least = _least(works)
            ours[rows_read] = least["bounded, SQL"][1]
            rows += _compared(f"Spark local[2], {rows_read:,} rows", least)
    slope = (ours[SIZES[-1]] - ours[SIZES[-2]]) / (SIZES[-1] - SIZES[-2])
    rows.append(Row(what="Spark local[2]: each further million rows, bounded, CPU", value=1e6 * slope, unit="s"))
    growth = ours[SIZES[-1]] / ours[SIZES[-2]] / (SIZES[-1] / SIZES[-2])
    what = f"Spark local[2]: CPU a row at {SIZES[-1]:,} / at {SIZES[-2]:,}"
    rows.append(Row(what=what, value=growth, unit="x", promise="<= 1.25", holds=growth <= 1.25))
    return [*rows, Row(what="Spark: shuffled", value=_shuffled() / ALIKE, unit="bytes a row read")]


def _shuffled() -> int:
    """The bytes that one question shuffles, from Spark's own log of events."""
    from discreet.data.engines.spark import Spark

    with tempfile.TemporaryDirectory() as folder:
        events = {"enabled": "true", "dir": f"file:{folder}", "compress": "false", "rolling.enabled": "false"}
        with _session({f"spark.eventLog.{name}": value for name, value in events.items()}) as session:
            session.read.parquet(str(_visits(ALIKE))).createOrReplaceTempView("visits")
            _run(Spark(session), "spark://visits")()
        (log,) = Path(folder).iterdir()
        found = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    ended = [event["Task Metrics"] for event in found if event["Event"] == "SparkListenerTaskEnd"]
    return sum(metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"] for metrics in ended)


@contextlib.contextmanager
def _session(more: dict[str, str] | None = None) -> Iterator[SparkSession]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of PySpark, about the versions of others
        from pyspark.sql import SparkSession

        settings = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.driver.memory": "3g"}
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
        settings |= {"spark.sql.shuffle.partitions": "8", "spark.log.level": "OFF"}
        builder = SparkSession.builder.master("local[2]").appName("discreet")
        for name, value in (settings | (more or {})).items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
    try:
        yield session
    finally:
        session.stop()


def _least(works: dict[str, Callable[[], object]]) -> dict[str, Took]:
    least: dict[str, Took] = {}
    for turn in range(1 + ROUNDS):  # the first turn warms up
        for what, work in works.items():
            wall, cpu = time.perf_counter(), _cpu()
            work()
            took = time.perf_counter() - wall, _cpu() - cpu
            least[what] = (min(took[0], least[what][0]), min(took[1], least[what][1])) if turn > 1 else took
    return least


def _cpu() -> float:
    """The CPU seconds of this process and its descendants, those that have ended included."""
    parents, spent = dict[int, int](), dict[int, int]()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):  # it has just ended
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
                parents[int(entry.name)], spent[int(entry.name)] = int(fields[1]), sum(map(int, fields[11:15]))
    ours = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return sum(spent.get(pid, 0) for pid in ours) * TICK


def _run(engine: Engine, source: object) -> Callable[[], object]:
    table, plan = _declared(source)
    return lambda: engine.run(table, plan)


def _declared(source: object) -> tuple[Table, Aggregation]:
    import sqlglot

    from discreet.data import Categorical, Domain, Identifier, Integer, Real, Table
    from discreet.data.aggregation import Aggregation, Key, Measure

    cost = Real(0, 5000, step="0.01")
    domain = Domain({"patient": Identifier(), "ward": Categorical(WARDS), "age": Integer(0, 119), "cost": cost})
    table = Table(source, domain=domain, unit="patient", rows_per_unit=10, groups_per_unit=3)
    where, ward, value = (sqlglot.parse_one(text, dialect="duckdb") for text in ('"age" >= 18', '"ward"', '"cost"'))
    plan = Aggregation(
        columns=("ward", "age", "cost"),
        where=where,
        keys=(Key(code=ward, size=len(WARDS)),),
        measures=(Measure(kind="rows"), Measure(kind="sum", value=value, low=0, high=cost.codes[1])),
        unit="patient",
        rows_per_unit=table.rows_per_unit,
        groups_per_unit=table.groups_per_unit,
        salt=table.salt,
    )
    return table, plan


def _visits(rows: int) -> Path:
    """Visits of rows / 5 patients."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = CACHE / f"engines-{rows}.parquet"
    if not path.exists():
        CACHE.mkdir(exist_ok=True)
        rng = np.random.default_rng(1)
        columns = {
            "patient": rng.integers(0, rows // 5, rows),
            "ward": pa.array(np.array(WARDS)[rng.integers(0, len(WARDS), rows)]),
            "age": rng.integers(0, 120, rows).astype(np.int32),
            "cost": np.round(rng.gamma(2, 300, rows), 2),
        }
        pq.write_table(pa.table(columns), path, row_group_size=1 << 18)
    return path


if __name__ == "__main__":
    sys.exit(0 if publish("engines", measure()) else 1)
