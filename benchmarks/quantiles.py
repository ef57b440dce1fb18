"""Quantiles: the time of a median of 10^7 numbers against numpy's, and errors against peers at the same epsilon.

`DISCREET_DATA` may name a folder that holds UCI Adult's `adult.data`: its weights, drawn with replacement, are then
the real column; without it, a column of the same shape is made.  Peers that are not installed are left out.
Where a peer spends most of its time on work that does not depend on its noise, that is done once.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks import Row, absent, publish, size
from discreet.hazmat.entropy import system
from discreet.structured import GridQuantile, PrivateQuantile
from discreet.structured.quantiles.quantile_many import ManyQuantiles
from discreet.structured.quantiles.rank_index import RankIndex

Reals = npt.NDArray[np.float64]
Peer = Callable[[Reals, list[float], float, tuple[float, float], int], Reals]
REPETITIONS = size(200, quick=3)
MANY, FEWER, GROUPS = size((10_000_000, 1_000_000, 100_000), quick=(20_000, 5000, 500))
NINE = [i / 10 for i in range(1, 10)]


def _seconds(work: Callable[[], object], repeat: int = 3) -> float:
    """Processor time of the quickest run."""
    times = []
    for _ in range(repeat):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def _ours(values: Reals, quantiles: list[float], epsilon: float, bounds: tuple[float, float], runs: int) -> Reals:
    step = (bounds[1] - bounds[0]) / 10**8
    points = 10**8 + 1
    many, places = ManyQuantiles.of(quantiles, epsilon=epsilon, size=points, rows_per_unit=1, method="auto")
    index = RankIndex(values, lower=bounds[0], step=step, size=points)
    found = np.array([many.find(index, rng=system()) for _ in range(runs)])
    return bounds[0] + found[:, places] * step


def _diffprivlib(
    values: Reals, quantiles: list[float], epsilon: float, bounds: tuple[float, float], runs: int
) -> Reals:
    """The steps of diffprivlib.tools.quantile, the draw repeated."""
    from diffprivlib.mechanisms import Exponential

    ends = np.sort(np.append(np.clip(values, *bounds), bounds))
    generator, columns = np.random.default_rng(1), []
    for q in quantiles:
        utility = (-np.abs(np.arange(values.size + 1) - q * values.size)).tolist()
        mechanism = Exponential(
            epsilon=epsilon / len(quantiles), sensitivity=1, utility=utility, measure=np.diff(ends).tolist()
        )
        chosen = np.searchsorted(mechanism._probabilities, generator.random(runs))
        columns.append(ends[chosen] + generator.random(runs) * (ends[chosen + 1] - ends[chosen]))
    return np.stack(columns, axis=1)


def _opendp(values: Reals, quantiles: list[float], epsilon: float, bounds: tuple[float, float], runs: int) -> Reals:
    """10,001 candidates; the scores once, permute-and-flip every time."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    candidates = np.linspace(*bounds, 10_001).tolist()
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
    columns = []
    for q in quantiles:
        score = dp.t.make_quantile_score_candidates(*space, candidates, alpha=q)
        scores = score(values.tolist())
        scale = 2 * score.map(1) * len(quantiles) / epsilon
        select = dp.m.make_noisy_max(*score.output_space, dp.max_divergence(), scale, negate=True)
        assert select.map(score.map(1)) <= epsilon / len(quantiles) * (1 + 1e-9)
        columns.append([candidates[select(scores)] for _ in range(runs)])
    return np.array(columns).T


def _peers() -> Iterator[tuple[str, Peer]]:
    for name, peer in PEERS.items():
        if importlib.util.find_spec(name):
            yield name, peer


PEERS: dict[str, Peer] = {"diffprivlib": _diffprivlib, "opendp": _opendp}


def _real_column() -> tuple[str, Reals]:
    generator = np.random.default_rng(0)
    folder = os.environ.get("DISCREET_DATA")
    files = sorted(Path(folder).rglob("adult.data")) if folder else []
    if files:
        lines = [line.split(",") for line in files[0].read_text().splitlines() if line.count(",") == 14]
        return "Adult's weights", generator.choice(np.array([float(line[2]) for line in lines]), FEWER)
    return "made weights", np.round(generator.lognormal(12, 0.5, FEWER))


def _median() -> Iterator[Row]:
    values = np.random.default_rng(0).normal(20, 15, MANY)
    truth = float(np.median(values))
    median = PrivateQuantile(0.5, epsilon=1, lower=0, upper=100, step="0.000001")
    median(values[:1000])  # imports and compiled loops
    ours, theirs = _seconds(lambda: median(values)), _seconds(lambda: np.median(values))
    yield Row(what="median of 1e7, 1e8 lattice points: processor time", value=ours, unit="s")
    yield Row(
        what="  over numpy's, which is not private",
        value=ours / theirs,
        unit="x",
        promise="<= 3",
        holds=ours <= 3 * theirs,
    )
    errors = np.abs(_ours(values, [0.5], 1, (0, 100), REPETITIONS) - truth)
    yield Row(what="  mean absolute error, epsilon 1", value=float(errors.mean()), unit="")
    for name, peer in _peers():
        runs = peer(values[:FEWER], [0.5], 1, (0, 100), REPETITIONS)
        mine = _ours(values[:FEWER], [0.5], 1, (0, 100), REPETITIONS)
        truth_here = np.median(values[:FEWER])
        ratio = float(np.abs(mine - truth_here).mean() / np.abs(runs - truth_here).mean())
        yield Row(what=f"  over {name}'s, on 1e6 of them", value=ratio, unit="x", promise="<= 1", holds=ratio <= 1)


def _nine() -> Iterator[Row]:
    name, values = _real_column()
    bounds = (0.0, 1_500_000.0)
    truth = np.quantile(values, NINE)
    ours = float(np.abs(_ours(values, NINE, 1, bounds, REPETITIONS) - truth).mean())
    yield Row(what=f"nine deciles of 1e6 of {name}, epsilon 1: mean absolute error", value=ours, unit="")
    for peer_name, peer in _peers():
        theirs = float(np.abs(peer(values, NINE, 1, bounds, REPETITIONS) - truth).mean())
        yield Row(
            what=f"  over {peer_name}'s ({theirs:.4g})",
            value=ours / theirs,
            unit="x",
            promise="<= 1",
            holds=ours <= theirs,
        )


def _groups() -> Iterator[Row]:
    counts = np.random.default_rng(0).poisson(3, (GROUPS, 100))
    for method in ("permute_and_flip", "exponential"):
        median = GridQuantile(quantile=0.5, epsilon=1, size=100, method=method)
        yield Row(
            what=f"medians of 1e5 groups on 100 cells, {method}: processor time",
            value=_seconds(lambda median=median: median(counts)),
            unit="s",
        )


def measure() -> list[Row]:
    return [*_median(), *_nine(), *_groups(), *(absent(name) for name in PEERS if not importlib.util.find_spec(name))]


if __name__ == "__main__":
    sys.exit(0 if publish("quantiles", measure()) else 1)
