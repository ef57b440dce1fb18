"""The local model, workloads and strings: variances of running counts, heavy hitters, statistical queries, memory.

The comparison for running counts is the hierarchy, textbook and with levels that agree, measured on the same users in
the same run.  No peer that is installed answers workloads or finds strings locally: pure-ldp has frequency oracles
only, which `local` measures.  Times are processor time, after the compiled loops were loaded.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

from benchmarks import Row, publish, size
from discreet.local import (
    HeavyHitters,
    HierarchicalRanges,
    LocalFactorization,
    LocalProtocol,
    LocalStatisticalOracle,
    run,
    users_needed,
)
from discreet.queries.ordered import thresholds
from discreet.queries.statistical import RowFunction

CELLS, USERS, RUNS = size((1024, 20_000, 40), quick=(16, 1000, 2))
MANY = size(1_000_000, quick=5000)
STRINGS, LONG, HEAVY = size((1_000_000, 64, 20), quick=(50_000, 16, 2))
QUERIES = size(100, quick=8)


def measure() -> list[Row]:
    return [*_running_counts(), *_million(), *_strings(), *_queries()]


def _seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def _variance(protocol: LocalProtocol, values: np.ndarray) -> float:
    """The mean squared error of all running counts, times the users."""
    truth = np.cumsum(np.bincount(values, minlength=CELLS)) / len(values)
    squares = [((run(protocol, values).estimate() - truth) ** 2).mean() for _ in range(RUNS)]
    return float(np.mean(squares)) * len(values)


def _running_counts() -> list[Row]:
    values = np.random.default_rng(0).integers(0, CELLS, USERS)
    kinds = {
        "factorization": LocalFactorization(thresholds(CELLS), epsilon=1.0),
        "hierarchy, levels that agree": HierarchicalRanges(epsilon=1.0, size=CELLS),
        "hierarchy, textbook": HierarchicalRanges(epsilon=1.0, size=CELLS, branches=2, consistent=False),
    }
    measured = {name: _variance(protocol, values) for name, protocol in kinds.items()}
    rows = [Row(what=f"1,024 running counts, {name}", value=v, unit="n x variance") for name, v in measured.items()]
    rows += [
        Row(what=f"predicted for the worst count, {name}", value=kind.variance(1), unit="n x variance")
        for name, kind in kinds.items()
    ]
    ratio = measured["hierarchy, textbook"] / measured["factorization"]
    agreeing = measured["hierarchy, levels that agree"] / measured["factorization"]
    rows += [
        Row(what="textbook hierarchy / factorization", value=ratio, unit="x", promise=">= 2", holds=ratio >= 2),
        Row(what="agreeing hierarchy / factorization", value=agreeing, unit="x"),
    ]
    return rows


def _million() -> list[Row]:
    values = np.random.default_rng(0).integers(0, CELLS, MANY)
    protocol = LocalFactorization(thresholds(CELLS), epsilon=1.0)
    run(protocol, values[:1000])
    return [
        Row(what="a million users, 1,024 running counts", value=_seconds(lambda: run(protocol, values)), unit="CPU s")
    ]


def _strings() -> list[Row]:
    finder, rng = HeavyHitters(bits=LONG, epsilon=2.0), np.random.default_rng(1)
    threshold = finder.threshold(STRINGS)
    names = rng.integers(0, 2**LONG, HEAVY, dtype=np.uint64)
    counts = [round(STRINGS * threshold * (1 + i / HEAVY)) for i in range(HEAVY)]
    strings = rng.integers(0, 2**LONG, STRINGS, dtype=np.uint64)
    strings[: sum(counts)] = np.repeat(names, counts)
    start = time.process_time()
    found = finder(strings)
    seconds = time.process_time() - start
    listed = set(found.values())
    heavy = {int(name) for name, count in zip(names, counts, strict=True) if count / STRINGS > found.threshold}
    recall = len(listed & heavy) / max(1, len(heavy))
    precision = len(listed & set(names.tolist())) / max(1, len(listed))
    return [
        Row(what="64-bit strings, n = 10^6, epsilon 2", value=seconds, unit="CPU s"),
        Row(what="threshold that is stated", value=100 * found.threshold, unit="%"),
        Row(what="recall above the threshold", value=recall, unit="", promise=">= 0.9", holds=recall >= 0.9),
        Row(what="precision", value=precision, unit="", promise=">= 0.9", holds=precision >= 0.9),
    ]


def _queries() -> list[Row]:
    n = users_needed(QUERIES, tau=0.1, epsilon=1.0, beta=0.05)
    rows = np.random.default_rng(2).uniform(-1, 1, (n, 4))
    asked = [RowFunction(lambda part, j=j: part[:, j % 4]) for j in range(QUERIES)]
    worst = []

    def work() -> None:
        answers = LocalStatisticalOracle(rows, queries=QUERIES, epsilon=1.0).answer(asked)
        worst.append(float(np.abs(answers - np.tile(rows.mean(axis=0), QUERIES // 4)).max()))

    seconds = _seconds(work)
    return [
        Row(what="100 statistical queries, 776,800 users", value=seconds, unit="CPU s"),
        Row(what="their largest error", value=worst[0], unit="", promise="<= 0.1", holds=worst[0] <= 0.1),
    ]


if __name__ == "__main__":
    sys.exit(0 if publish(__name__ if __name__ != "__main__" else "local_workloads", measure()) else 1)
