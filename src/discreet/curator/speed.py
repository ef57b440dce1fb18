"""A quick look at this machine: noise a second, and what privacy adds to a question.  For peers, see `make bench`."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from discreet.curator.curator import Curator
from discreet.curator.sample import hospital
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.privacy.guarantee import PureDP

DRAWS = 1_000_000
SQL = "SELECT ward, COUNT(*) AS n, SUM(cost) AS total FROM visits GROUP BY ward"


def _seconds(call: Callable[[], object]) -> float:
    """The best of three, after one to warm up."""
    call()
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def speed(*, visits: int = 1_000_000) -> list[tuple[str, float, str]]:
    """Rows of (what, figure, unit)."""
    import numpy as np

    zeros, unsafe = np.zeros(DRAWS, dtype=np.int64), np.random.default_rng()
    numpy_rate = DRAWS / _seconds(lambda: unsafe.laplace(0.0, 1000.0, DRAWS)) / 1e6
    rows = [("numpy's Laplace noise (unsafe), scale 1000", numpy_rate, "million a second")]
    for name, mechanism in (
        ("exact Laplace noise, scale 1000", Laplace.with_scale(1000, sensitivity=1)),
        ("exact Gaussian noise, sigma 1000", Gaussian.with_sigma(1000, sensitivity=1)),
    ):
        rate = DRAWS / _seconds(lambda mechanism=mechanism: mechanism(zeros)) / 1e6
        rows.append((name, rate, "million a second"))
    with tempfile.TemporaryDirectory() as folder:
        table = hospital(Path(folder) / "visits.parquet", visits=visits, patients=max(1, visits // 10))
        plain = _seconds(lambda: _plain(table.source))
        curator = Curator({"visits": table}, budget=PureDP(10**6), ledger=":memory:")
        private = _seconds(lambda: curator.ask(SQL, epsilon=1, fresh=True))
        curator.ledger.close()
    rows.append((f"plain DuckDB, {visits:,} rows", 1000 * plain, "ms"))
    rows.append(("the same question, private", 1000 * private, "ms"))
    return rows


def _plain(source: object) -> object:
    import duckdb

    with duckdb.connect() as connection:
        return connection.execute(SQL.replace("visits", f"'{source}'")).fetchall()
