"""COUNT and SUM by group over 20 million rows of a million units: plain DuckDB, and ours with bounding.

Each measurement is a process of its own that runs one query several times and reports its fastest run and its
peak memory.  The plain query clips the sum as ours does and bounds nothing.
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

from benchmarks import Row, publish

CACHE = Path(__file__).resolve().parent.parent / ".cache"
UNITS, CITIES = 1_000_000, 100
SIZES = (1, 5, 20)  # million rows
GROUPINGS = {"city": ("city",), "(city, day)": ("city", "day")}
ROUNDS = 3


def measure() -> list[Row]:
    rows: list[Row] = []
    for by in GROUPINGS:
        ours: dict[int, dict[str, float]] = {}
        for million in SIZES:
            plain, ours[million], texts = (_apart(what, by, million) for what in ("plain", "user", "name"))
            name = f"{million} M rows by {by}"
            rows += [
                Row(what=f"{name}: plain DuckDB", value=plain["wall"], unit="s"),
                Row(what=f"{name}: plain DuckDB, CPU", value=plain["cpu"], unit="s"),
                Row(what=f"{name}: bounded, integer ids", value=ours[million]["wall"], unit="s"),
                Row(what=f"{name}: bounded, integer ids, CPU", value=ours[million]["cpu"], unit="s"),
                Row(what=f"{name}: bounded, text ids", value=texts["wall"], unit="s"),
                Row(what=f"{name}: bounded, text ids, CPU", value=texts["cpu"], unit="s"),
            ]
            if million == max(SIZES):
                rows += _ratios(name, plain, ours[million], texts)
        first, last = min(SIZES), max(SIZES)
        growth = (ours[last]["cpu"] / last) / (ours[first]["cpu"] / first)
        rows.append(_promise(f"by {by}: CPU a row at {last} M / at {first} M", growth, "", 1.25))
    return rows


def _ratios(name: str, plain: dict[str, float], ours: dict[str, float], texts: dict[str, float]) -> list[Row]:
    return [
        _promise(f"{name}: integer ids / plain", ours["wall"] / plain["wall"], "", 5),
        _promise(f"{name}: integer ids / plain, CPU", ours["cpu"] / plain["cpu"], "", 5),
        _promise(f"{name}: text ids / plain", texts["wall"] / plain["wall"], "", 10),
        _promise(f"{name}: text ids / plain, CPU", texts["cpu"] / plain["cpu"], "", 10),
        _promise(f"{name}: peak memory, integer ids", ours["memory"], "GB", 4),
        _promise(f"{name}: peak memory, text ids", texts["memory"], "GB", 4),
    ]


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

    path = CACHE / f"groupby-{million}.parquet"
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
                        random() AS a FROM range({million * 1_000_000}))
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


def _one(what: str, by: str, million: int) -> dict[str, float]:
    """The fastest of several runs, after one to warm up, and the peak memory in GB."""
    path = _table(million)
    work = plain(path, by) if what == "plain" else bounded(path, by, what)
    work()
    walls, cpus = [], []
    for _ in range(ROUNDS):
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return {"wall": min(walls), "cpu": min(cpus), "memory": peak}


if __name__ == "__main__":
    if len(sys.argv) == 4:
        print(json.dumps(_one(sys.argv[1], sys.argv[2], int(sys.argv[3]))))
    else:
        sys.exit(0 if publish("groupby", measure()) else 1)
