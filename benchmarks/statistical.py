"""Statistical queries: seconds and errors of many means, rounds on a table, and how tight the sample sizes are.

The peer for means is OpenDP, with clamped sums of the same million rows at the same epsilon; it is named in the table
if it is not installed.  The least sizes that work are found by simulation: 95 runs in a hundred succeed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from benchmarks import Row, absent, publish, size
from discreet.bounds import samples
from discreet.data import Boolean, Domain, Identifier, Integer, Table
from discreet.learning import StatisticalQueryOracle, learn_conjunction
from discreet.queries import Affine, Piece

ROWS, MEANS, ROUNDS = size((1_000_000, 10, 5), quick=(5000, 10, 1))
RUNS, TRIED, FRESH = size((1000, 60, 50_000), quick=(20, 2, 1000))
D, ALPHA, BETA, EPSILON = 10, 0.1, 0.05, 1.0


def measure() -> list[Row]:
    return [*_means(), _round_on_a_table(), *_thresholds(), *_conjunctions()]


def _means() -> list[Row]:
    values = np.random.default_rng(0).uniform(-1, 1, (ROWS, MEANS))
    truth = values.mean(axis=0)
    asked = [Piece(factors=(Affine.of({i: 1}),)) for i in range(MEANS)]

    def ours() -> np.ndarray:
        return StatisticalQueryOracle(values, queries=MEANS, epsilon=EPSILON, n=ROWS).answer(asked)

    seconds, off = _seconds(ours), _error(ours, truth)
    rows = [
        Row(what="ten means of a million rows", value=seconds, unit="CPU s"),
        Row(what="their rms error", value=off, unit=""),
    ]
    peer = _opendp(values)
    if peer is None:
        return [*rows, absent("OpenDP")]
    theirs, wrong = _seconds(peer), _error(peer, truth)
    return [
        *rows,
        Row(what="OpenDP: ten means", value=theirs, unit="CPU s"),
        Row(what="OpenDP / ours", value=theirs / seconds, unit="x"),
        Row(what="OpenDP: rms error", value=wrong, unit=""),
        Row(what="error of ours / OpenDP", value=off / wrong, unit="x"),
    ]


def _seconds(work: Callable[[], object]) -> float:
    """CPU seconds, the median of a few runs after one that warms up."""
    work()
    found = []
    for _ in range(ROUNDS):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return float(np.median(found))


def _error(work: Callable[[], np.ndarray], truth: np.ndarray) -> float:
    return float(np.sqrt(np.mean([(work() - truth) ** 2 for _ in range(2 * ROUNDS)])))


def _opendp(values: np.ndarray) -> Callable[[], np.ndarray] | None:
    try:
        import opendp.prelude as dp
    except ImportError:
        return None
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=ROWS), dp.symmetric_distance()
    sums = space >> dp.t.then_clamp((-1.0, 1.0)) >> dp.t.then_sum()

    def make(scale: float):  # noqa: ANN202 - OpenDP's own type
        return sums >> dp.m.then_laplace(scale)

    noisy = make(dp.binary_search_param(make, d_in=2, d_out=EPSILON / MEANS, T=float))  # one row replaced: two steps
    columns = [np.ascontiguousarray(values[:, i]) for i in range(MEANS)]
    return lambda: np.array([noisy(column) for column in columns]) / ROWS


def _round_on_a_table() -> Row:
    rng = np.random.default_rng(1)
    bits = {f"b{i}": rng.random(ROWS) < 0.5 for i in range(D)}
    source = pa.table({"who": np.arange(ROWS), "age": rng.integers(0, 100, ROWS), **bits})
    columns = {"who": Identifier(), "age": Integer(0, 99), **{name: Boolean() for name in bits}}
    table = Table(source, domain=Domain(columns), unit="who")
    asked = [
        Piece(factors=(Affine.scaled(0, 0, 99),), conditions=((Affine.of({i: 1}, offset=-0.5),),)) for i in range(1, 11)
    ]

    def ours() -> object:
        return StatisticalQueryOracle(table, queries=MEANS, epsilon=EPSILON).answer(asked)

    return Row(what="ten conditional means of a table of a million rows", value=_seconds(ours), unit="CPU s")


def _thresholds() -> list[Row]:
    """Rows from which the exponential mechanism learns thresholds on 2^10 points, targets in the middle."""
    table = samples("thresholds", d=D, alpha=ALPHA, beta=BETA, epsilon=EPSILON)
    rng, points, runs = np.random.default_rng(2), 2**D, RUNS

    def works(n: int) -> bool:
        x = rng.integers(0, points, (runs, n))
        right = np.stack([np.bincount(row[row >= points // 2], minlength=points) for row in x])
        left = np.stack([np.bincount(row[row < points // 2], minlength=points) for row in x])
        missed = np.concatenate([np.zeros((runs, 1)), right.cumsum(axis=1)], axis=1)
        false = np.concatenate([left[:, ::-1].cumsum(axis=1)[:, ::-1], np.zeros((runs, 1))], axis=1)
        chosen = (rng.gumbel(size=missed.shape) - EPSILON / 2 * (missed + false)).argmax(axis=1)
        return float((np.abs(chosen - points // 2) > ALPHA * points).mean()) <= BETA

    found = _least(works, 8, 1024)
    moments, notes = table["private, realizable, by moments"].n, table["private, realizable"].n
    return [
        Row(what="thresholds: least n that works, uniform points", value=found, unit="rows"),
        Row(what="thresholds: by moments", value=moments, unit="rows", promise=">= found", holds=moments >= found),
        Row(what="thresholds: the notes / by moments", value=notes / moments, unit="x"),
        Row(what="thresholds: what every learner needs", value=table["private, lower bound"].n, unit="rows"),
    ]


def _conjunctions() -> list[Row]:
    name = "statistical queries, central, shared sample"
    enough = samples("conjunctions", d=D, alpha=ALPHA, beta=BETA, epsilon=EPSILON)[name].n
    rng, runs = np.random.default_rng(3), TRIED
    fresh = (rng.random((FRESH, D)) < 0.8).astype(np.float64)

    def works(n: int) -> bool:
        fails = 0
        for _ in range(runs):
            bits = rng.random((n, D)) < 0.8
            oracle = StatisticalQueryOracle((bits, bits[:, :3].all(axis=1)), queries=D, epsilon=EPSILON, n=n)
            found = learn_conjunction(oracle, d=D, alpha=ALPHA)
            fails += (found.predict(fresh) != fresh[:, :3].all(axis=1)).mean() > ALPHA
        return fails <= BETA * runs

    found = _least(works, 64, 16_384)
    return [
        Row(what="conjunctions of 10 bits: least n that works", value=found, unit="rows"),
        Row(
            what="conjunctions: enough for every law",
            value=enough,
            unit="rows",
            promise=">= found",
            holds=enough >= found,
        ),
    ]


def _least(works: Callable[[int], bool], low: int, high: int) -> int:
    """The least n, to a fiftieth."""
    while high / low > 1.02 and high - low > 1:
        middle = round((low * high) ** 0.5)
        low, high = (low, middle) if works(middle) else (middle, high)
    return high


if __name__ == "__main__":
    sys.exit(0 if publish("statistical", measure()) else 1)
