"""Medians at epsilon 1: CPU seconds for ten million numbers, and the error over many smaller datasets.

The error on one dataset depends on the gaps around its own median, so it is taken over two hundred
datasets, a release each.  OpenDP chooses among 10,001 candidates; diffprivlib is shown if it is installed.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

from benchmarks import Row, absent, publish, size
from discreet.structured import SmoothMedian

SIZE = size(10_000_000, quick=20_000)
UPPER = 100
CANDIDATES = 10_001  # for OpenDP, which chooses among them
ROUNDS, PEER_ROUNDS = size((7, 3), quick=(1, 1))
DATASETS, SMALLER = size((200, 50_000), quick=(3, 2000))


def measure() -> list[Row]:
    x = _numbers(0, SIZE)
    smooth = SmoothMedian(epsilon=1, lower=0, upper=UPPER, step=1e-7)
    numpy, ours = _seconds(lambda: np.median(x)), _seconds(lambda: smooth(x))
    slower, error = statistics.median(b / a for a, b in zip(numpy, ours, strict=True)), _error(smooth)
    rows = [
        Row(what="numpy (not private)", value=statistics.median(numpy), unit="CPU s"),
        Row(what="SmoothMedian", value=statistics.median(ours), unit="CPU s"),
        Row(what="SmoothMedian / numpy", value=slower, unit="x", promise="<= 3", holds=slower <= 3),
        Row(what="SmoothMedian: median error", value=error, unit=""),
    ]
    for name, peer in (("OpenDP", _opendp()), ("diffprivlib", _diffprivlib())):
        if peer is None:
            rows.append(absent(name))
            continue
        theirs, off = statistics.median(_seconds(lambda peer=peer: peer(x), rounds=PEER_ROUNDS)), _error(peer)
        rows += [
            Row(what=f"{name}", value=theirs, unit="CPU s"),
            Row(what=f"{name} / SmoothMedian", value=theirs / statistics.median(ours), unit="x"),
            Row(what=f"{name}: median error", value=off, unit=""),
            Row(
                what=f"error of SmoothMedian / {name}", value=error / off, unit="x", promise="<= 1", holds=error <= off
            ),
        ]
    return rows


def _numbers(seed: int, many: int) -> np.ndarray:
    return np.random.default_rng(seed).lognormal(3, 0.6, many)


def _error(median: Callable[[np.ndarray], float]) -> float:
    datasets = (_numbers(seed, SMALLER) for seed in range(1, DATASETS + 1))
    return statistics.median(abs(median(x) - float(np.median(x))) for x in datasets)


def _seconds(work: Callable[[], object], *, rounds: int = ROUNDS) -> list[float]:
    """CPU seconds of each of several runs, after one that warms up."""
    work()
    seconds: list[float] = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return seconds


def _opendp() -> Callable[[np.ndarray], float] | None:
    try:
        import opendp.prelude as dp
    except ImportError:
        return None
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
    grid = [float(value) for value in np.linspace(0, UPPER, CANDIDATES)]

    def make(scale: float):  # noqa: ANN202 - OpenDP's own type
        return dp.m.make_private_quantile(*space, dp.max_divergence(), candidates=grid, alpha=0.5, scale=scale)

    return make(dp.binary_search_param(make, d_in=1, d_out=1.0, T=float))


def _diffprivlib() -> Callable[[np.ndarray], float] | None:
    try:
        from diffprivlib import tools
    except ImportError:
        return None
    return lambda x: float(tools.median(x, epsilon=1, bounds=(0, UPPER)))


if __name__ == "__main__":
    sys.exit(0 if publish("medians", measure()) else 1)
