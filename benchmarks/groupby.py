"""COUNT and SUM by group over 20 million rows of a million units: plain DuckDB, and ours with bounding.

The queries run in turn, several times, and the fastest run of each counts; peak memory is that of a process of its
own.  The plain query clips the sum as ours does and bounds nothing.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks import Row, publish, size

CACHE = Path(__file__).resolve().parent.parent / ".cache"
UNITS, CITIES = size((1_000_000, 100), quick=(5000, 10))
MILLION = size(1_000_000, quick=10_000)
SIZES = size((1, 5, 20), quick=(1, 2))  # million rows
ALL = {"city": ("city",), "(city, day)": ("city", "day")}
GROUPINGS = size(ALL, quick={"(city, day)": ALL["(city, day)"]})
ROUNDS = size(5, quick=1)


def measure() -> list[Row]:
    rows: list[Row] = []
    for by in GROUPINGS:
        ours, seconds = dict[int, float](), dict[str, float]()
        for million in SIZES:
            seconds = _apart("times", by, million)
            ours[million] = seconds["user, CPU"]
            name = f"{million} M rows by {by}"
            labels = {"plain": "plain DuckDB", "user": "bounded, integer ids", "name": "bounded, text ids"}
            for what, label in labels.items():
                rows.append(Row(what=f"{name}: {label}", value=seconds[what], unit="s"))
                rows.append(Row(what=f"{name}: {label}, CPU", value=seconds[f"{what}, CPU"], unit="s"))
        rows += _promises(by, seconds)
        first, last = min(SIZES), max(SIZES)
        growth = (ours[last] / last) / (ours[first] / first)
        rows.append(_promise(f"by {by}: CPU a row at {last} M / at {first} M", growth, "", 1.25))
    return rows


def _promises(by: str, seconds: dict[str, float]) -> list[Row]:
    """What is promised at the largest size."""
    name, rows = f"{max(SIZES)} M rows by {by}", []
    for what, label, most in (("user", "integer ids", 5), ("name", "text ids", 10)):
        for kind in ("", ", CPU"):
            ratio = seconds[what + kind] / seconds["plain" + kind]
            rows.append(_promise(f"{name}: {label} / plain{kind}", ratio, "", most))
        rows.append(_promise(f"{name}: peak memory, {label}", _apart(what, by, max(SIZES))["memory"], "GB", 4))
    return rows


def _promise(what: str, value: float, unit: str, most: float) -> Row:
    return Row(what=what, value=value, unit=unit, promise=f"<= {most:g}", holds=value <= most)


def _apart(what: str, by: str, million: int) -> dict[str, float]:
    """Measure in a fresh process."""
    _table(million)
    command = [sys.executable, "-m", "benchmarks.groupby", what, by, str(million)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def _table(million: int) -> Path:
    """Rows of Zipf-like frequent users: user (and the same as text), city, day, amount."""
    import duckdb

    path = CACHE / f"groupby-{million * MILLION}.parquet"
    if not path.exists():
        CACHE.mkdir(exist_ok=True)
        unfinished = path.with_suffix(f".{os.getpid()}")
        with duckdb.connect() as connection:
            connection.execute("SELECT setseed(0.5)")
            connection.execute(
                f"""
                COPY (
                    SELECT id AS user, 'user-' || lpad(CAST(id AS VARCHAR), 8, '0') AS name,
                        'city-' || lpad(CAST(floor({CITIES} * pow(c, 1.5)) AS VARCHAR), 2, '0') AS city,
                        DATE '2025-01-01' + CAST(floor(365 * d) AS INTEGER) AS day, round(exp(4 * a) * 10, 2) AS amount
                    FROM (SELECT CAST(floor({UNITS} * pow(random(), 2)) AS BIGINT) AS id, random() AS c, random() AS d,
                        random() AS a FROM range({million * MILLION}))
                ) TO '{unfinished}' (FORMAT parquet)
                """
            )
        unfinished.rename(path)
    return path


def plain(path: Path, by: str) -> Callable[[], object]:
    import duckdb

    keys = ", ".join(GROUPINGS[by])
    connection = duckdb.connect()
    query = f"SELECT {keys}, COUNT(*), SUM(LEAST(GREATEST(amount, 0), 500)) FROM read_parquet('{path}') GROUP BY {keys}"
    return lambda: connection.execute(query).fetchall()


def bounded(path: Path, by: str, unit: str) -> Callable[[], object]:
    import sqlglot

    from discreet.data.aggregation import Aggregation, Key, Measure
    from discreet.data.columns import Categorical, Date, Identifier, Real
    from discreet.data.domain import Domain
    from discreet.data.engines.duckdb import DuckDB
    from discreet.data.table import Table

    cities = Categorical([f"city-{i:02d}" for i in range(CITIES)])
    days, amount = Date("2025-01-01", "2025-12-31"), Real(0, 500, step="0.01")
    domain = Domain({"user": Identifier(), "name": Identifier(), "city": cities, "day": days, "amount": amount})
    table = Table(str(path), domain=domain, unit=unit, rows_per_unit=100, groups_per_unit=5)
    codes = {"city": ('"city"', CITIES), "day": (f'"day" - {days.codes[0]}', days.size)}
    keys = [Key(code=sqlglot.parse_one(text, dialect="duckdb"), size=n) for text, n in map(codes.get, GROUPINGS[by])]  # type: ignore[misc]
    value = sqlglot.parse_one('"amount"', dialect="duckdb")
    plan = Aggregation(
        columns=(*GROUPINGS[by], "amount"),
        where=None,
        keys=tuple(keys),
        measures=(Measure(kind="rows"), Measure(kind="sum", value=value, low=0, high=amount.codes[1])),
        unit=unit,
        rows_per_unit=table.rows_per_unit,
        groups_per_unit=table.groups_per_unit,
        salt=table.salt,
    )
    return lambda: DuckDB().run(table, plan)


def _times(path: Path, by: str) -> dict[str, float]:
    """The fastest run of each, in turn: what else the machine does falls on all alike."""
    works = {"plain": plain(path, by), "user": bounded(path, by, "user"), "name": bounded(path, by, "name")}
    fastest: dict[str, float] = {}
    for turn in range(1 + ROUNDS):  # the first turn warms up
        for what, work in works.items():
            wall, cpu = time.perf_counter(), time.process_time()
            work()
            for kind, took in (("", time.perf_counter() - wall), (", CPU", time.process_time() - cpu)):
                fastest[what + kind] = min(took, fastest[what + kind]) if turn > 1 else took
    return fastest


def _one(what: str, by: str, million: int) -> dict[str, float]:
    """Times of all, or the peak memory of one in GB."""
    path = _table(million)
    if what == "times":
        return _times(path, by)
    bounded(path, by, what)()
    return {"memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6}


if __name__ == "__main__":
    if len(sys.argv) == 4:
        print(json.dumps(_one(sys.argv[1], sys.argv[2], int(sys.argv[3]))))
    else:
        sys.exit(0 if publish("groupby", measure()) else 1)
