"""The median of ten million numbers at epsilon 1: CPU seconds and error, beside numpy, OpenDP and diffprivlib."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

from benchmarks import Row, publish
from discreet.structured import SmoothMedian, StableMedian

SIZE = 10_000_000
UPPER = 100
CANDIDATES = 10_001  # for OpenDP, which chooses among them
ROUNDS, PEER_ROUNDS = 7, 5
RELEASES = 20_000


def measure() -> list[Row]:
    x = np.random.default_rng(0).lognormal(3, 0.6, SIZE)
    truth = float(np.median(x))
    smooth = SmoothMedian(epsilon=1, lower=0, upper=UPPER, step=1e-7)
    stable = StableMedian(epsilon=1, delta=1e-6, bound=3e-4, lower=0, upper=UPPER, step=1e-7)
    seconds = {"numpy": _seconds(lambda: np.median(x)), "smooth": _seconds(lambda: smooth(x))}
    slower = statistics.median(b / a for a, b in zip(seconds["numpy"], seconds["smooth"], strict=True))
    error = float(np.median(np.abs(smooth.releases(x, RELEASES) - truth)))
    tested = [abs(answer - truth) for answer in (stable(x) for _ in range(25)) if isinstance(answer, float)]
    rows = [
        Row(what="numpy (not private)", value=statistics.median(seconds["numpy"]), unit="CPU s"),
        Row(what="SmoothMedian", value=statistics.median(seconds["smooth"]), unit="CPU s"),
        Row(what="SmoothMedian / numpy", value=slower, unit="x", promise="<= 3", holds=slower <= 3),
        Row(what="SmoothMedian: median error", value=error, unit=""),
        Row(what="StableMedian: median error", value=statistics.median(tested), unit=""),
    ]
    for name, peer in (("OpenDP", _opendp()), ("diffprivlib", _diffprivlib())):
        if peer is not None:
            rows += _beside(name, peer, x, truth, error, statistics.median(seconds["smooth"]))
    return rows


def _beside(
    name: str, peer: Callable[[np.ndarray], float], x: np.ndarray, truth: float, error: float, ours: float
) -> list[Row]:
    times: list[float] = []
    errors: list[float] = []
    for _ in range(PEER_ROUNDS):
        start = time.process_time()
        errors.append(abs(peer(x) - truth))
        times.append(time.process_time() - start)
    theirs, off = statistics.median(times), statistics.median(errors)
    return [
        Row(what=name, value=theirs, unit="CPU s"),
        Row(what=f"{name} / SmoothMedian", value=theirs / ours, unit="x"),
        Row(what=f"{name}: median error", value=off, unit=""),
        Row(what=f"SmoothMedian's error / {name}'s", value=error / off, unit="x", promise="<= 1", holds=error <= off),
    ]


def _seconds(work: Callable[[], object]) -> list[float]:
    """CPU seconds of each of several runs, after one that warms up."""
    work()
    seconds: list[float] = []
    for _ in range(ROUNDS):
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
