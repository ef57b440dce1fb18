"""Running counts and prefixes: time, and error against the best factorization known and against a peer's trees.

The peer is OpenDP's b-ary tree with its consistency, at the branching it recommends; it is left out where it is not
installed.  Errors are root mean squares over all prefixes, ours and the peer's on the same counts.
"""

from __future__ import annotations

import importlib.util
import math
import sys
import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from benchmarks import Row, absent, publish, size
from discreet.bounds.interval_table import GAMMA2, gamma2_prefix
from discreet.data.histogram import Histogram
from discreet.privacy.guarantee import ZCDP, PureDP
from discreet.queries.ordered import thresholds
from discreet.structured import ContinualCounter, PrefixTree
from discreet.structured.streams.banded import Banded
from discreet.structured.streams.toeplitz import SquareRoot

MILLION, SINGLE, CELLS = size((1_000_000, 5000, 10_000_000), quick=(2000, 100, 10_000))


def _seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def _counters() -> list[Row]:
    rows, ones = [], np.ones(MILLION, dtype=np.int64)
    for name, budget in {"zCDP": ZCDP(0.1), "pure DP": PureDP(1.0)}.items():
        ContinualCounter(horizon=10, upper=5, budget=budget).add(1)  # compiled
        counter = ContinualCounter(horizon=MILLION, upper=5, budget=budget)
        spent = _seconds(lambda counter=counter: counter.add_many(ones))
        rows.append(
            Row(what=f"a million steps at once, {name}", value=spent, unit="CPU s", promise="< 5", holds=spent < 5)
        )
        single = ContinualCounter(horizon=MILLION, upper=5, budget=budget)
        each = _seconds(lambda single=single: [single.add(1) for _ in range(SINGLE)]) / SINGLE
        rows.append(Row(what=f"one step, {name}", value=each * 1e6, unit="CPU us"))
    return rows


def _errors() -> list[Row]:
    root = SquareRoot(horizon=MILLION, upper=5).multiplier
    lower = gamma2_prefix(MILLION)[0]
    bands = Banded(horizon=1024, upper=1, bands=32).multiplier
    thousand = SquareRoot(horizon=1024, upper=1).multiplier
    return [
        Row(what="sd of a million steps, buffered square root with gains", value=root, unit="x sigma1"),
        Row(what="  over the trace norm, which no factorization beats", value=root / lower, unit="x",
            promise="<= 1.1", holds=root <= 1.1 * lower),
        Row(what="sd of 1,024 steps over certified gamma_2", value=thousand / GAMMA2[1024][1], unit="x"),
        Row(what="sd of 1,024 steps, 32 bands, over the square root", value=bands / thousand, unit="x"),
    ]  # fmt: skip


def _rms(made: PrefixTree) -> float:
    return math.sqrt(float(made.variances().mean()))


def _prefixes() -> list[Row]:
    rows, cells = [], CELLS
    histogram = Histogram(thresholds(cells).domain, np.random.default_rng(1).integers(0, 3, cells))
    for name, budget in {"zCDP": ZCDP(0.1), "pure DP": PureDP(1.0)}.items():
        spent = _seconds(lambda budget=budget: PrefixTree(cells, budget=budget)(histogram).answers)
        rows.append(Row(what=f"prefixes of ten million cells, {name}", value=spent, unit="CPU s"))
    best = _rms(PrefixTree(1024, budget=PureDP(1.0)))
    binary = _rms(PrefixTree(1024, budget=PureDP(1.0), branching=2, consistency=False))
    rows.append(Row(what="rms error of 1,024 prefixes, epsilon 1", value=best, unit="rows"))
    rows.append(Row(what="  the binary tree without consistency", value=binary / best, unit="x ours"))
    if importlib.util.find_spec("opendp") is None:
        return [*rows, absent("OpenDP")]
    return [*rows, *_opendp(best)]


def _opendp(best: float) -> list[Row]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    rows = []
    for cells, runs in size(((1024, 100), (1 << 17, 1)), quick=((64, 2), (64, 1))):
        counts = np.random.default_rng(2).integers(0, 50, cells)
        space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
        branching = dp.t.choose_branching_factor(size_guess=cells)
        tree = dp.t.make_b_ary_tree(*space, leaf_count=cells, branching_factor=branching)
        noisy = tree >> dp.m.then_laplace(scale=float(tree.map(1)))
        fit = dp.t.make_consistent_b_ary_tree(branching_factor=branching)

        def theirs(noisy=noisy, fit=fit, counts=counts) -> npt.NDArray[np.float64]:  # noqa: ANN001 - of the peer
            return np.cumsum(np.asarray(fit(noisy(counts.tolist())))[: counts.size])

        mechanism = PrefixTree(cells, budget=PureDP(1.0))
        histogram = Histogram(thresholds(cells).domain, counts)
        if runs > 1:
            errors = np.array([theirs() - np.cumsum(counts) for _ in range(runs)])
            rms = math.sqrt(float((errors**2).mean()))
            rows.append(
                Row(what=f"  OpenDP's tree of branching {branching}", value=rms / best, unit="x ours", promise="> 1",
                    holds=rms > best)
            )  # fmt: skip
        else:
            ratio = _seconds(theirs) / _seconds(lambda m=mechanism, h=histogram: m(h).answers)
            rows.append(Row(what=f"time of OpenDP's tree of {cells:,} cells", value=ratio, unit="x ours"))
    return rows


def measure() -> list[Row]:
    """Everything."""
    return [*_counters(), *_errors(), *_prefixes()]


if __name__ == "__main__":
    sys.exit(0 if publish("streams", measure()) else 1)
