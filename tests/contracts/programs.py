"""Programs that release something: every mechanism of `discreet.release` and `discreet.structured`, with neighbours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.data import Boolean, Domain, Histogram
from discreet.data.graph import Graph
from discreet.hazmat.entropy import SeededRandom
from discreet.privacy.guarantee import ZCDP, ApproxDP, PureDP
from discreet.privacy.neighbours import AddRemove, Replace
from discreet.queries import marginals, parities, thresholds
from discreet.release import (
    MWEM,
    BoostedQueries,
    Factorization,
    IndependentNoise,
    LeastSquaresProjection,
    OfflineWeights,
    PrivateMultiplicativeWeights,
    SmallDatabase,
)
from discreet.structured import (
    ChebyshevConjunctions,
    ContinualCounter,
    DegreeBound,
    DegreeHistogram,
    DegreeSequence,
    EdgeCount,
    GridQuantile,
    GridQuantiles,
    MarginalRelease,
    NodeDegreeHistogram,
    NodeEdgeCount,
    NodeTriangleCount,
    ParityProjection,
    PrefixTree,
    PrivateQuantile,
    ProjectedParities,
    SampleAndAggregate,
    SmoothMedian,
    StableMedian,
    StarCount,
    TriangleBound,
    TriangleCount,
    boosted_parities,
)
from discreet.structured.graphs.triangle_plan import METHODS
from discreet.structured.graphs.triangle_plan import PURE as PURE_METHODS

BITS = Domain({"a": Boolean(), "b": Boolean(), "c": Boolean()})
PURE, RHO, APPROX = PureDP(1), ZCDP("1/10"), ApproxDP(1, 1e-6)


def histograms(domain, n):
    """Neighbours: a row more where n is private, another row where it is public; or `apart` of them."""

    def pair(seed, apart=1):
        draw = np.random.default_rng(seed)
        one = Histogram.random(domain, n=n or 7, seed=seed)
        two = one.counts.copy()
        cells = two.reshape(-1)
        for _ in range(apart):
            if n is not None:
                cells[draw.choice(np.flatnonzero(cells))] -= 1
            cells[draw.integers(cells.size)] += 1
        return one, Histogram(domain, two)

    return pair


def bit_rows(n, d, *, public, signs=False):
    def pair(seed, apart=1):
        draw = np.random.default_rng(seed)
        rows = draw.random((n, d)) < 0.7
        other = np.concatenate([rows[apart if public else 0 :], draw.random((apart, d)) < 0.3])
        return tuple(np.where(side, 1, -1) if signs else side for side in (rows, other))

    return pair


def numbers(*, public):
    def pair(seed, apart=1):
        draw = np.random.default_rng(seed)
        rows = draw.normal(50, 10, 60)
        far = draw.choice([-1e9, 0.0, 50.0, 1e9], 1).repeat(5 * apart - 4)
        apart = len(far)
        return rows, np.concatenate([rows[apart if public else 0 :], far])

    return pair


def grids(seed, apart=1):
    draw = np.random.default_rng(seed)
    one = draw.integers(0, 30, (3, 8))
    two = one.copy()
    for _ in range(apart):
        two[draw.integers(3), draw.integers(8)] += 1
    return one, two


def streams(seed, apart=1):
    draw = np.random.default_rng(seed)
    one = draw.integers(0, 4, 20)
    two = one.copy()
    where = draw.choice(20, apart, replace=False)
    two[where] = np.where(one[where] < 2, 3, 0)
    return one, two


def graphs(*, nodes):
    """Another vertex, or an edge more or less."""

    def pair(seed, apart=1):
        draw = np.random.default_rng(seed)
        size, density = 14, draw.choice([0.1, 0.3])
        edges = {(i, j) for i in range(size) for j in range(i) if draw.random() < density}
        if nodes:
            fresh = {(j, i) for i in range(apart) for j in range(i + 1, size) if draw.random() < 0.8}
            other = {edge for edge in edges if min(edge) >= apart} | fresh
        else:
            every = [(i, j) for i in range(size) for j in range(i)]
            changed = draw.choice(len(every), 5 * apart - 4, replace=False)
            other = edges ^ {every[place] for place in changed}
        return tuple(Graph.from_edges(sorted(side), vertices=size) for side in (edges, other))

    return pair


@dataclass(frozen=True)
class Program:
    """A release mechanism, how it is run, and what to run it on."""

    made: Any
    pair: Callable[..., tuple[Any, Any]]
    run: Callable[[Any, Any], Any] | None = None
    pieces: bool = False  # one declaration for all calls together

    def __call__(self, data):
        if self.run is not None:
            return self.run(self.made, data)
        found = self.made(data, rng=SeededRandom(3))
        return getattr(found, "answers", found)

    def __str__(self):
        return f"{type(self.made).__name__}-{self.made.privacy()}"


def base(sample, budget):
    return LeastSquaresProjection(sample, budget=budget, n=7)


def asked(weights, data):
    session = weights.open(data, rng=SeededRandom(3))
    queries = marginals(BITS, 2)
    return [session.ask(queries[i]) for i in range(len(queries))], session.histogram.counts


def streamed(counter, data):
    """A stream in pieces, by a counter like the one given."""
    again = ContinualCounter(
        horizon=counter.horizon, upper=counter.upper, budget=counter.budget, mechanism=counter.mechanism
    )
    return [*again.add_many(data[:7]), again.add(int(data[7])), *again.add_many(data[8:])]


def summary(chebyshev, data):
    found = chebyshev(data)
    return [found.answer({0: True, 2: False}), found.answer({1: True, 3: True, 4: True})]


BOTH = (PURE, RHO, APPROX)
W, STEPS, FOUR = marginals(BITS, 2), thresholds(8), Domain({f"b{i}": Boolean() for i in range(4)})
EDGE, NODE = graphs(nodes=False), graphs(nodes=True)
LINE = {"epsilon": 1, "lower": 0, "upper": 100, "step": "0.1"}


def of_workloads():
    for n in (None, 9):
        rows = histograms(BITS, n)
        for budget in BOTH:
            yield Program(IndependentNoise(W, budget=budget, n=n), rows)
            yield Program(Factorization(W, budget=budget, n=n), rows)
            yield Program(MWEM(W, budget=budget, n=n, rounds=4), rows)
            yield Program(LeastSquaresProjection(W, budget=budget, n=n), rows)
            yield Program(PrefixTree(STEPS, budget=budget, n=n), histograms(STEPS.domain, n))
        for budget in (RHO, APPROX):
            yield Program(MarginalRelease(W, budget=budget, n=n), rows, pieces=True)
        yield Program(PrivateMultiplicativeWeights(BITS, n=n, budget=APPROX, queries=20), rows, run=asked)
        yield Program(ProjectedParities(parities(BITS, 2), budget=RHO, n=n), rows)
    many = histograms(BITS, 3000)
    for budget in (PURE, RHO):
        yield Program(OfflineWeights(W, budget=budget, n=3000), many)
    yield Program(PrivateMultiplicativeWeights(BITS, n=3000, budget=PURE, queries=20), many, run=asked)
    yield Program(SmallDatabase(W, budget=PURE, rows=3, n=9), histograms(BITS, 9))
    yield Program(BoostedQueries(base, W, budget=RHO, n=7, sample=4, error=50), histograms(BITS, 7))
    yield Program(boosted_parities(4, n=9, budget=RHO, sample=3, error=30), histograms(FOUR, 9))


def of_bits_and_streams():
    for n in (None, 12):
        rows = bit_rows(12, 6, signs=True, public=n is not None)
        yield Program(ParityProjection(d=6, n=n, budget=RHO), rows)
        yield Program(
            ChebyshevConjunctions(d=6, t=3, alpha=0.2, budget=RHO, n=n), bit_rows(12, 6, public=n is not None), summary
        )
    for budget, kind in ((PURE, "tree"), (RHO, "toeplitz"), (RHO, "banded"), (APPROX, "auto")):
        counter = ContinualCounter(horizon=20, upper=3, budget=budget, mechanism=kind)
        yield Program(counter, streams, streamed, pieces=True)


def of_graphs():
    yield Program(EdgeCount(epsilon=1), EDGE)
    yield Program(DegreeSequence(epsilon=1), EDGE)
    yield Program(DegreeHistogram(epsilon=1, largest=9), EDGE)
    for method in METHODS:
        delta = 0 if method in PURE_METHODS else 1e-6
        yield Program(TriangleCount(epsilon=1, delta=delta, method=method), EDGE)
    yield Program(TriangleBound(epsilon=1, delta=1e-6), EDGE)
    yield Program(StarCount(epsilon=1, k=2), EDGE)
    for bound in (3, None):
        yield Program(NodeEdgeCount(epsilon=1, degree_bound=bound), NODE)
        yield Program(NodeTriangleCount(epsilon=1, degree_bound=bound), NODE)
    yield Program(NodeDegreeHistogram(epsilon=1, degree_bound=3), NODE)
    yield Program(DegreeBound(epsilon=1, counting=1), NODE)


def of_ranks():
    for relation in (AddRemove, Replace):
        rows = numbers(public=relation is Replace)
        yield Program(SmoothMedian(neighbours=relation, **LINE), rows)
        yield Program(StableMedian(delta=1e-6, bound=5, neighbours=relation, **LINE), rows)
        inner = SmoothMedian(neighbours=Replace, **LINE)
        parts = SampleAndAggregate(statistic=np.median, blocks=7, aggregate=inner, neighbours=relation)
        yield Program(parts, rows)
    for method in ("independent", "joint", "recursive"):
        yield Program(PrivateQuantile([0.1, 0.5, 0.9], method=method, **LINE), numbers(public=False))
    yield Program(GridQuantile(quantile=0.5, epsilon=1, size=8), grids)
    for method in ("independent", "recursive"):
        yield Program(GridQuantiles([0.25, 0.5], epsilon=1, size=8, method=method), grids, pieces=True)


PROGRAMS = [*of_workloads(), *of_bits_and_streams(), *of_graphs(), *of_ranks()]
