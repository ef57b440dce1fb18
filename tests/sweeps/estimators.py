"""Every public callable that takes a budget and returns an estimate: how it is run, and how wrong it is.

A run returns the largest error of one release, against the answer without privacy, and the error that the estimator
states at 95 % (None where it states none).  What is left however large the budget is, is `floor` and `sampling` divided
by the root of n, with `why`; `forced` names the theorem that makes a stated error more than twice what is observed.
As rows are more, an error is not more than it was times the ratio of the rows to the power `grows`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd

from discreet import learning, local, mechanisms, release, structured, synthesis
from discreet.data import Boolean, Domain, Histogram, Integer, Records
from discreet.data.graph import Graph
from discreet.errors import UnsupportedError
from discreet.local.protocol import run
from discreet.mechanisms.admissible_noise import nearest
from discreet.privacy.guarantee import ZCDP, ApproxDP, Guarantee, PureDP
from discreet.queries import marginals, parities, thresholds
from discreet.structured.graphs.triangle_sensitivity import Ranked
from discreet.synthesis import Synthesizer

Run = Callable[[Guarantee, int, Any], tuple[float, float | None]]
KINDS: dict[str, Callable[[str], Guarantee]] = {
    "pure": PureDP,
    "zcdp": ZCDP,
    "approximate": lambda amount: ApproxDP(amount, "1e-6"),
}


@dataclass(frozen=True, kw_only=True)
class Swept:
    """One estimator, and what is declared about its limits."""

    names: tuple[str, ...]
    run: Run
    kinds: tuple[str, ...] = ("pure",)
    sizes: tuple[int, ...] = (1000, 100_000)
    floor: float = 0.0
    sampling: float = 0.0  # what is left of n users, times the root of n
    grows: float = 0.0
    why: str = ""
    forced: str = ""
    slow: bool = False  # one size, fewer budgets in `make test`

    def __str__(self) -> str:
        return "-".join(self.names)

    def left(self, n: int) -> float:
        """The error that no budget lowers."""
        return self.floor + self.sampling / n**0.5


PURE, ALL, NOT_PURE = ("pure",), ("pure", "zcdp", "approximate"), ("zcdp", "approximate")
AGES = Domain({"age": Integer(0, 99)})
BITS = Domain({f"b{i}": Boolean() for i in range(5)})
TWO = Domain({f"b{i}": Boolean() for i in range(2)})
WIDE = {"lower": 0, "upper": 100, "step": "0.01"}


@cache
def normals(n: int) -> np.ndarray:
    return np.random.default_rng(n).normal(50, 10, n).clip(0, 100)


@cache
def bits(n: int) -> Records:
    draw = np.random.default_rng(n)
    first = draw.random(n) < 0.7
    columns = [first, first ^ (draw.random(n) < 0.1), *(draw.random((3, n)) < 0.4)]
    return Records(BITS, [column.astype(np.int64) for column in columns])


def pair(n: int) -> Records:
    return Records(TWO, [bits(n).column(name) for name in ("b0", "b1")])


@cache
def ages(n: int) -> Records:
    return Records(AGES, [normals(n).astype(np.int64).clip(0, 99)])


@cache
def graph(n: int) -> Graph:
    """A few hundred vertices with clusters: sizes of tables mean little to a graph, whose work is its paths."""
    vertices = 150 if n <= 1000 else 300
    draw = np.random.default_rng(n)
    edges = draw.integers(0, vertices, (4 * vertices, 2))
    groups = [draw.choice(vertices, 5, replace=False) for _ in range(vertices // 5)]
    edges = np.concatenate([edges, *([[a, b] for a in group for b in group] for group in groups)])
    return Graph.from_edges(np.unique(np.sort(edges[edges[:, 0] != edges[:, 1]], axis=1), axis=0), vertices=vertices)


def stated(made: Any, **public: Any) -> float | None:
    """What it says of its error, where it says something."""
    try:
        return float(np.max(made.accuracy(0.05, **public)))
    except UnsupportedError:
        return None


def amount(budget: Guarantee) -> str:
    return str(getattr(budget, "epsilon", None) or budget.rho)  # type: ignore[attr-defined]


# Mechanisms on a number, and selections.


def number(kind: Callable[..., Any], budget: Guarantee, n: int, rng: Any, **more: Any) -> tuple[float, float | None]:
    made = kind(epsilon=amount(budget), sensitivity=1, **more)
    return abs(int(made(n, rng=rng)) - n), stated(made)


def gaussian(budget: Guarantee, n: int, rng: Any) -> tuple[float, float | None]:
    made = mechanisms.Gaussian(epsilon=amount(budget), delta="1e-6", sensitivity=1)
    return abs(int(made(n, rng=rng)) - n), stated(made)


def selection(kind: Callable[..., Any], budget: Guarantee, n: int, rng: Any) -> tuple[float, float | None]:
    scores = [n - 3 * gap for gap in range(20)]
    made = kind(epsilon=amount(budget), sensitivity=1)
    return n - scores[int(made(scores, rng=rng))], stated(made, size=20)


def scaled(made: Callable[[Any], Any], budget: Guarantee, n: int, rng: Any) -> tuple[float, float | None]:
    """Noise for a smooth sensitivity of 1."""
    noise = made(float(amount(budget)))
    return abs(int(noise.release(n, 1, rng=rng)) - n), float(nearest(noise.error(0.05)))


def answers(budget: Guarantee, n: int, rng: Any) -> tuple[float, float | None]:
    made = mechanisms.RandomizedResponse(epsilon=amount(budget), categories=4)
    values = np.arange(n) % 4
    found = made.estimate(np.asarray(made(values, rng=rng)))
    return float(np.abs(np.asarray(found) - np.bincount(values, minlength=4) / n).max()), None


# Order statistics.


def rank_error(values: np.ndarray, quantile: float, found: float) -> float:
    below, upto = np.searchsorted(values, [found - 0.005, found + 0.005])
    target = quantile * len(values)
    return max(0.0, below - target, target - upto)


def quantile(method: str, budget: Guarantee, n: int, rng: Any) -> tuple[float, float | None]:
    asked = [0.25, 0.5, 0.9]
    made = structured.PrivateQuantile(asked, epsilon=amount(budget), method=method, **WIDE)  # type: ignore[arg-type]
    ordered, found = np.sort(normals(n)), np.asarray(made(normals(n), rng=rng))
    return max(rank_error(ordered, q, x) for q, x in zip(asked, found, strict=True)), stated(made)


def grid(many: bool, budget: Guarantee, n: int, rng: Any) -> tuple[float, float | None]:
    counts = np.bincount(ages(n).column("age"), minlength=100)
    asked = [0.25, 0.5, 0.9] if many else [0.5]
    if many:
        made = structured.GridQuantiles(asked, epsilon=amount(budget), size=100)
        found = np.asarray(made(counts, rng=rng)).ravel()
    else:
        made = structured.GridQuantile(quantile=0.5, epsilon=amount(budget), size=100)
        found = np.array([made(counts, rng=rng)])
    upto = np.concatenate([[0], np.cumsum(counts)])
    off = [max(0.0, upto[x] - q * n, q * n - upto[x + 1]) for q, x in zip(asked, found, strict=True)]
    return float(max(off)), stated(made)


def median(kind: str, budget: Guarantee, n: int, rng: Any) -> tuple[float, float | None]:
    if kind == "stable":
        made = structured.StableMedian(epsilon=amount(budget), delta="1e-6", bound="0.5", **WIDE)
        found = made(normals(n), rng=rng)
        if not isinstance(found, float):
            return 50.0, None  # refused: as far as any answer
    else:
        made = structured.SmoothMedian(epsilon=amount(budget), **WIDE)
        found = made(normals(n), rng=rng)
    return abs(found - float(np.sort(normals(n))[(n + 1) // 2 - 1])), stated(made)


# Graphs.


def counted(kind: Callable[..., Any], truth: Callable[[Graph], Any], facts: Callable[[Graph], dict[str, int]]) -> Run:
    def of(budget: Guarantee, n: int, rng: Any) -> tuple[float, float | None]:
        made = kind(epsilon=amount(budget))
        found = np.asarray(made(graph(n), rng=rng), dtype=float)
        return float(np.abs(found - truth(graph(n))).max()), stated(made, **facts(graph(n)))

    return of


def triangle_bound(budget: Guarantee, n: int, rng: Any) -> tuple[float, float | None]:
    made = structured.TriangleBound(epsilon=amount(budget), delta="1e-6")
    local_ = Ranked.of(graph(n)).common_neighbours(enough=0)[0]
    return abs(made(graph(n), rng=rng) - local_), stated(made)


def nothing(_: Graph) -> dict[str, int]:
    return {}


def vertices(one: Graph) -> dict[str, int]:
    return {"vertices": one.vertices}


def triangles(one: Graph) -> int:
    return Ranked.of(one).triangles()


def degrees(one: Graph) -> np.ndarray:
    return np.sort(one.degrees)[::-1]


def histogram(one: Graph) -> np.ndarray:
    return np.bincount(np.minimum(one.degrees, 60), minlength=61)


# Workloads: the largest error of all answers.


def workload(made: Callable[..., Any], asked: Any, data: Callable[[int], Any], public: bool) -> Run:
    def of(budget: Guarantee, n: int, rng: Any) -> tuple[float, float | None]:
        mechanism = made(asked, budget=budget, n=n if public else None)
        found = mechanism(data(n), rng=rng)
        return float(np.abs(found.answers - asked.answer(data(n))).max()), stated(found)

    return of


def boosted(budget: Guarantee, n: int, rng: Any) -> tuple[float, float | None]:
    def base(sample: Any, part: Guarantee) -> Any:
        return release.LeastSquaresProjection(sample, budget=part, n=n)

    asked = marginals(BITS, 2)
    made = release.BoostedQueries(base, asked, budget=budget, n=n, sample=20, error=n // 20)
    found = made(bits(n), rng=rng)
    return float(np.abs(found.answers - asked.answer(bits(n))).max()), stated(found)


def weights(budget: Guarantee, n: int, rng: Any) -> tuple[float, float | None]:
    asked = marginals(BITS, 2)
    session = release.PrivateMultiplicativeWeights(BITS, n=n, budget=budget, queries=len(asked)).open(bits(n), rng=rng)
    found = np.array([float(session.ask(asked[i])) for i in range(len(asked))])
    return float(np.abs(found - asked.answer(bits(n))).max()), None


def counter(budget: Guarantee, n: int, rng: Any) -> tuple[float, float | None]:
    values = np.arange(64) % 3
    made = structured.ContinualCounter(horizon=64, upper=2, budget=budget, rng=rng)
    return float(np.abs(np.asarray(made.add_many(values)) - np.cumsum(values)).max()), stated(made)


def synthetic(method: str, budget: Guarantee, n: int, rng: Any) -> tuple[float, float | None]:
    made = Synthesizer(BITS, budget=budget, method=method).fit(bits(n), rng=rng)  # type: ignore[arg-type]
    asked = marginals(BITS, 1 if method == "independent" else 2)
    off = [
        np.abs(made.model.marginal(names) - bits(n).marginal(names)).max() / n for names in asked.sets
    ]  # of the rows
    return float(max(off)), None


# Local protocols: errors of fractions and means, against the same without noise.


def protocol(kind: Callable[..., Any], values: Callable[[int], Any], truth: Callable[[Any], Any]) -> Run:
    def of(budget: Guarantee, n: int, rng: Any) -> tuple[float, float | None]:
        made, given = kind(epsilon=amount(budget)), values(n)
        server = run(made, given, rng=rng)
        off = np.abs(np.asarray(server.estimate(), dtype=float) - truth(given))
        return float(off.max()), float(np.max(server.error(0.05)))

    return of


def cells(n: int) -> np.ndarray:
    return (normals(n) * 16 / 101).astype(np.int64)


def units(n: int) -> np.ndarray:
    angles = normals(n) / 20
    return np.column_stack([np.cos(angles) * 0.6, np.sin(angles) * 0.6, np.full(n, 0.8)]) * (1 - 1e-9)


def hitters(budget: Guarantee, n: int, rng: Any) -> tuple[float, float | None]:
    """The largest error of the two strings that a quarter of all users hold at least, found or not."""
    strings = np.where(np.arange(n) % 4 < 2, 11, np.where(np.arange(n) % 4 == 2, 40, np.arange(n) % 64)).astype(
        np.uint64
    )
    found = local.HeavyHitters(bits=6, epsilon=amount(budget))(strings, rng=rng)
    said = {item.value: item.fraction for item in found.items}
    return max(abs(said.get(value, 0.0) - float((strings == value).mean())) for value in (11, 40)), None


def shares(given: np.ndarray) -> np.ndarray:
    return np.bincount(given, minlength=16) / len(given)


def upto(given: np.ndarray) -> np.ndarray:
    return np.cumsum(shares(given))


# Learners: the share of rows that are wrong, or the error over the range.


@cache
def table(n: int) -> tuple[pd.DataFrame, np.ndarray]:
    draw = np.random.default_rng(n)
    x = pd.DataFrame({name: draw.integers(0, 101, n) for name in "ab"})
    return x, (x["a"] + 0.5 * x["b"]).to_numpy() / 1.5


def learner(name: str, budget: Guarantee, n: int, rng: Any, **settings: Any) -> tuple[float, float | None]:
    kind = getattr(learning, name)
    domain = Domain({name_: Integer(0, 100) for name_ in "ab"})
    x, value = table(n)
    unseen, truth = table(2003)
    if hasattr(kind, "predict_proba") or name in ("LinearSVC", "LabelPrivateNeighbors", "KNeighborsClassifier"):
        made = kind(budget=budget, domain=domain, classes=(False, True), **settings).fit(x, value > 50, rng=rng)
        return 1 - made.score(unseen, truth > 50), None
    made = kind(budget=budget, domain=domain, bounds=(0, 100), **settings).fit(x, value, rng=rng)
    return float(np.abs(made.predict(unseen) - truth).mean()), None


def network(name: str, budget: Guarantee, n: int, rng: Any) -> tuple[float, float | None]:
    return learner(name, budget, n, rng, hidden=(20,), epochs=max(1, min(20, 20_000 // n)), batch=100, rows=n)


def bounds(budget: Guarantee, n: int, rng: Any) -> tuple[float, float | None]:
    """The share of the rows that are clamped, at either end."""
    rows = normals(n).round()
    made = learning.PrivateBounds(budget=budget, domain=Domain({"a": Integer(0, 100)}))
    kept = made.fit(rows[:, None], rng=rng).domain_out_["a"]
    assert isinstance(kept, Integer)
    return float(max((rows < kept.low).mean(), (rows > kept.high).mean())), made.accuracy(0.05) / n


def pipeline(budget: Guarantee, n: int, rng: Any) -> tuple[float, float | None]:
    x, value = table(n)
    unseen, truth = table(2003)
    made = learning.Pipeline(
        [("bounds", learning.PrivateBounds()), ("model", learning.LogisticRegression(classes=(False, True)))],
        budget=budget,
        domain=Domain({name: Integer(0, 100) for name in "ab"}),
    ).fit(x, value > 50, rng=rng)
    return float(1 - made.score(unseen, truth > 50)), None


def linked(budget: Guarantee, n: int, rng: Any) -> tuple[float, float | None]:
    """The largest error of a share, of the parents or of the children."""
    who = np.arange(n)
    old, icu = who % 10 < 3, who % 4 == 0
    frames = {"people": pd.DataFrame({"who": who, "old": old}), "visits": pd.DataFrame({"who": who, "icu": icu})}
    domains = {"people": Domain({"old": Boolean()}), "visits": Domain({"icu": Boolean()})}
    made = synthesis.LinkedSynthesizer(domains, parent="people", rows_per_unit={"visits": 1}, budget=budget)
    drawn = made.fit(frames, unit="who", rng=rng).sample(4 * n)
    return max(
        abs(float(np.mean(drawn["people"]["old"].to_numpy(zero_copy_only=False))) - old.mean()),
        abs(float(np.mean(drawn["visits"]["icu"].to_numpy(zero_copy_only=False))) - icu.mean()),
    ), None


def clusters(budget: Guarantee, n: int, rng: Any) -> tuple[float, float | None]:
    draw = np.random.default_rng(n)
    centres = np.array([[20, 20], [80, 30], [50, 85]])
    points = (centres[draw.integers(0, 3, n)] + draw.normal(0, 3, (n, 2))).clip(0, 100).round()
    x = pd.DataFrame(points.astype(int), columns=["a", "b"])
    domain = Domain({name: Integer(0, 100) for name in "ab"})
    made = learning.KMeans(n_clusters=3, budget=budget, domain=domain).fit(x, rng=rng)
    found = np.asarray(made.cluster_centers_)
    return float(max(np.sqrt(((found - centre) ** 2).sum(axis=1)).min() for centre in centres)), None


def components(budget: Guarantee, n: int, rng: Any) -> tuple[float, float | None]:
    draw = np.random.default_rng(n)
    main = draw.normal(0, 12, n)
    x = pd.DataFrame({"a": 50 + main, "b": 50 + 0.5 * main + draw.normal(0, 3, n)}).round().clip(0, 100).astype(int)
    made = learning.PCA(n_components=1, budget=budget, domain=Domain({c: Integer(0, 100) for c in "ab"}))
    made.fit(x, rng=rng)
    spread = np.cov(((x - 50) / 50).to_numpy().T)
    best = np.linalg.eigh(spread)[1][:, -1]
    found = np.asarray(made.components_)[0]
    return float(1 - abs(found @ best) / np.linalg.norm(found)), None


def every() -> Iterator[Swept]:
    yield Swept(names=("Laplace",), run=partial(number, mechanisms.Laplace))
    yield Swept(names=("Staircase",), run=partial(number, mechanisms.Staircase))
    yield Swept(names=("TruncatedLaplace",), run=partial(number, mechanisms.TruncatedLaplace, delta="1e-6"))
    yield Swept(names=("Gaussian", "analytic_sigma", "classical_sigma"), run=gaussian, kinds=("approximate",))
    top = "the bound holds whatever the scores are; with one leader the loss is less"
    for kind in (mechanisms.Exponential, mechanisms.PermuteAndFlip, mechanisms.NoisyMax):
        yield Swept(names=(kind.__name__,), run=partial(selection, kind), forced=top)
    for name, make in {
        "CauchyNoise": lambda e: mechanisms.CauchyNoise(epsilon=e, smoothness=min(e, 1) / 4),
        "LomaxNoise": lambda e: mechanisms.LomaxNoise.best(epsilon=e, smoothness=min(e, 1) / 4),
        "PowerNoise": lambda e: mechanisms.PowerNoise(epsilon=e, smoothness=min(e, 1) / 8),
        "best_noise": lambda e: mechanisms.best_noise(epsilon=e, delta=0, smoothness=min(e, 1) / 4),
        "LaplaceNoise": lambda e: mechanisms.LaplaceNoise(epsilon=e, delta="1e-6", smoothness=min(e, 1) / 64),
        "GaussianNoise": lambda e: mechanisms.GaussianNoise(epsilon=e, delta="1e-6", smoothness=min(e, 1) / 256),
    }.items():
        yield Swept(names=(name,), run=partial(scaled, make), sizes=(1000,))
    yield Swept(names=("mechanisms.RandomizedResponse",), run=answers)
    inside = partial(mechanisms.BoundedLaplace, lower=0, upper=2 * 10**6)
    yield Swept(names=("BoundedLaplace",), run=partial(number, inside), floor=0.0)

    ranks = "docs/theory/quantiles.md: rows may all lie at one end, so that every other lattice point is as far"
    for method in ("auto", "independent", "joint", "recursive"):
        yield Swept(
            names=("PrivateQuantile", method), run=partial(quantile, method), forced=ranks, floor=1.0, why="rows"
        )
    yield Swept(names=("GridQuantile",), run=partial(grid, False), forced=ranks)
    yield Swept(names=("GridQuantiles",), run=partial(grid, True), forced=ranks)
    yield Swept(names=("SmoothMedian",), run=partial(median, "smooth"), floor=0.01, why="half a step of the lattice")
    far = "the bound is for the proposed sensitivity"
    yield Swept(
        names=("StableMedian",),
        run=partial(median, "stable"),
        floor=0.01,
        why="half a step of the lattice",
        forced=far,
        slow=True,
    )

    worst = "docs/theory/graphs.md: the worst graph on so many vertices, whose pairs share all others"
    pure = {
        name: partial(structured.TriangleCount, delta=0, method=name)
        for name in ("auto", "smooth", "ladder", "laplace")
    }
    for name, kind in pure.items():
        yield Swept(names=("TriangleCount", name), run=counted(kind, triangles, vertices), forced=worst, slow=True)
    noisy = partial(structured.TriangleCount, delta="1e-6", method="noisy-local")
    yield Swept(names=("TriangleCount", "noisy-local"), run=counted(noisy, triangles, vertices), forced=worst)
    yield Swept(
        names=("TriangleBound", "SensitivityBound"),
        run=triangle_bound,
        forced="the largest bound is a number of vertices, which `accuracy` is not told",
    )
    stars = partial(structured.StarCount, k=2)
    two = counted(stars, lambda g: sum(int(d) * (int(d) - 1) // 2 for d in g.degrees), vertices)
    yield Swept(names=("StarCount",), run=two, forced=worst)
    edges = counted(structured.EdgeCount, lambda g: g.indices.size // 2, nothing)
    yield Swept(names=("EdgeCount",), run=edges)
    pooled = (
        "docs/theory/graphs.md: the largest of n draws; pooling makes the error smaller and no bound says by how much"
    )
    yield Swept(names=("DegreeSequence",), run=counted(structured.DegreeSequence, degrees, vertices), forced=pooled)
    yield Swept(
        names=("DegreeHistogram",), run=counted(partial(structured.DegreeHistogram, largest=60), histogram, nothing)
    )
    bound = partial(structured.NodeDegreeHistogram, degree_bound=60)
    yield Swept(names=("NodeDegreeHistogram",), run=counted(bound, histogram, nothing))
    for name, truth in (("NodeEdgeCount", lambda g: g.indices.size // 2), ("NodeTriangleCount", triangles)):
        for given in (None, 64):
            chosen = partial(getattr(structured, name), degree_bound=given)
            yield Swept(
                names=(name, "DegreeBound" if given is None else "bound"),
                run=counted(chosen, truth, nothing),
                slow=True,
            )

    asked = marginals(BITS, 2)
    for public in (False, True):
        label = "n public" if public else "n private"
        yield Swept(
            names=("IndependentNoise", label), run=workload(release.IndependentNoise, asked, bits, public), kinds=ALL
        )
        yield Swept(
            names=("Factorization", label),
            run=workload(release.Factorization, asked, bits, public),
            kinds=ALL,
            slow=True,
            forced="docs/theory/release.md: a union over answers whose errors go together",
        )
        yield Swept(
            names=("MarginalRelease", label),
            run=workload(structured.MarginalRelease, asked, bits, public),
            kinds=NOT_PURE,
            forced="docs/theory/release.md: a union over answers whose errors go together",
        )
        yield Swept(
            names=("MWEM", label),
            run=workload(release.MWEM, asked, bits, public),
            kinds=ALL,
            floor=1.0,
            why="a sixteenth of a row of each cell, in all",
            slow=True,
        )
        yield Swept(
            names=("LeastSquaresProjection", label),
            run=workload(release.LeastSquaresProjection, asked, bits, public),
            kinds=ALL,
            floor=0.5,
            why="the gap that the search may leave",
            slow=True,
            forced="docs/theory/projection.md: the length of the error bounds each entry",
        )
        tree = workload(structured.PrefixTree, thresholds(64), steps, public)
        yield Swept(
            names=("PrefixTree", label),
            run=tree,
            kinds=ALL,
            forced="docs/theory/release.md: a union over answers whose errors go together",
        )
    yield Swept(
        names=("OfflineWeights",),
        run=workload(release.OfflineWeights, asked, bits, True),
        kinds=ALL,
        sizes=(20_000, 200_000),
        grows=1.0,
        floor=2000.0,
        why="answers within its threshold of the truth are never updated",
        forced="docs/theory/online.md: every update may be as small as the threshold lets it be",
        slow=True,
    )
    yield Swept(
        names=("SmallDatabase",),
        run=workload(partial(release.SmallDatabase, rows=12), marginals(TWO, 2), pair, True),
        grows=1.0,
        floor=60.0,
        why="twelve rows stand for all: fractions are twelfths",
        forced="docs/theory/small_database.md: the rounding to so many rows, and any data",
        sizes=(1000,),
        slow=True,
    )
    yield Swept(
        names=("BoostedQueries",),
        run=boosted,
        kinds=("zcdp",),
        sizes=(20_000, 200_000),
        floor=3000.0,
        grows=1.0,
        why="medians of releases that err by as much as the base is allowed to",
        forced="docs/theory/boosting.md: the base may err by `error` on all that it samples",
        slow=True,
    )
    signs = parities(BITS, 2)
    yield Swept(
        names=("ProjectedParities", "ParityProjection"),
        run=workload(structured.ProjectedParities, signs, bits, True),
        kinds=NOT_PURE,
        forced="docs/theory/parity_projection.md: the length of the error bounds each entry",
        slow=True,
    )
    yield Swept(
        names=("PrivateMultiplicativeWeights",),
        run=weights,
        kinds=ALL,
        sizes=(20_000, 200_000),
        grows=1.0,
        floor=2000.0,
        slow=True,
        why="answers within its threshold of the truth are never updated",
    )
    yield Swept(
        names=("ContinualCounter",),
        run=counter,
        kinds=ALL,
        forced="docs/theory/continual.md: a union over steps whose errors go together",
    )
    for method in ("adaptive", "tree", "independent", "mwem"):
        left = 0.02 if method == "tree" else 2e-4
        yield Swept(
            names=("Synthesizer", method),
            run=partial(synthetic, method),
            kinds=ALL,
            floor=left,
            slow=True,
            why="pairs outside the tree" if method == "tree" else "a sixteenth of a row of each cell",
        )

    each = {
        name: protocol(partial(getattr(local, name), size=16), cells, shares)
        for name in ("RandomizedResponse", "HadamardResponse", "OptimalLocalHashing", "OptimalUnaryEncoding",
                     "ProjectiveGeometryResponse", "SubsetSelection", "SymmetricUnaryEncoding")
    }  # fmt: skip
    half = "the own value is reported with probability one half, whatever epsilon is"
    hashed = "values of one hash are one"
    floors = {"OptimalUnaryEncoding": (1.0, half), "OptimalLocalHashing": (0.1, hashed)}
    chebyshev = "docs/theory/local_protocols.md: Chebyshev's inequality, for each fraction alone, over any population"
    for name, one in each.items():
        left, why = floors.get(name, (0.0, ""))
        yield Swept(names=(f"local.{name}",), run=one, sampling=left, why=why, forced=chebyshev)
    for name, left in (("HierarchicalRanges", 2.0), ("SampledThresholds", 4.0), ("LocalFactorization", 0.0)):
        kind = local.LocalFactorization if name == "LocalFactorization" else getattr(local, name)
        of = {"workload": thresholds(16)} if name == "LocalFactorization" else {"size": 16}
        yield Swept(
            names=(name,),
            run=protocol(partial(kind, **of), cells, upto),
            sampling=left,
            why="each user reports at one level, or at one threshold: what is left is sampling" if left else "",
            forced=chebyshev,
        )
    yield Swept(names=("HeavyHitters",), run=hitters, sampling=2.0, why="each user tells of one level", slow=True)
    for name in ("DuchiVector", "PrivUnit", "PrivUnitG"):
        yield Swept(
            names=(name,),
            run=protocol(partial(getattr(local, name), dimension=3), units, partial(np.mean, axis=0)),
            sampling=6.0 if name == "DuchiVector" else 2.0,
            why="a direction is drawn, whatever epsilon is" if name == "DuchiVector" else "the cap of directions",
            forced=chebyshev,
        )
    half = "one bit is drawn with the chance of the value"
    slots = "the lattice of slots, and noise for the largest epsilon that is served"
    for name, left in {"OneBitMean": 100.0, "LaplaceMean": 1.0, "PiecewiseMean": 0.01, "HybridMean": 0.01}.items():
        mean = protocol(partial(getattr(local, name), lower=0, upper=100), normals, np.mean)
        why = half if name == "OneBitMean" else slots
        yield Swept(names=(name,), run=mean, sampling=left, forced=chebyshev, why=why)

    for name, left in {
        "LogisticRegression": 0.02, "LinearSVC": 0.02, "NaiveBayes": 0.1, "DecisionTreeClassifier": 0.1,
        "RandomForestClassifier": 0.1, "GradientBoostedTrees": 0.05, "MaximumLikelihoodClassifier": 0.05,
    }.items():  # fmt: skip
        yield Swept(
            names=(name,),
            run=partial(learner, name),
            kinds=ALL,
            floor=left,
            slow=True,
            why="what the model can say, and the rows that it saw",
        )
    for name, left in {"Ridge": 0.5, "LinearRegression": 0.5, "GradientBoostedTreesRegressor": 6.0}.items():
        yield Swept(
            names=(name,),
            run=partial(learner, name),
            kinds=ALL,
            floor=left,
            slow=True,
            why="what the model can say, and the rows that it saw",
        )
    for name, settings in {
        "LabelPrivateNeighbors": {},
        "KNeighborsClassifier": {"queries": 2003, "rate": "0.1"},
    }.items():
        yield Swept(
            names=(name,),
            run=partial(learner, name, **settings),
            floor=0.05,
            kinds=("pure",) if name == "LabelPrivateNeighbors" else ("zcdp",),
            slow=True,
            why="neighbours on the other side of the border",
        )
    for name, left in (("NeuralNetwork", 0.05), ("NeuralNetworkRegressor", 4.0)):
        yield Swept(
            names=(name,),
            run=partial(network, name),
            kinds=("zcdp",),
            floor=left,
            why="what twenty units can say after so few steps",
            slow=True,
        )
    yield Swept(names=("PrivateBounds",), run=bounds, floor=0.01, why="one row at either end", slow=True)
    yield Swept(names=("Pipeline",), run=pipeline, floor=0.02, why="as the model at its end", slow=True)
    yield Swept(
        names=("LinkedSynthesizer",),
        run=linked,
        kinds=("pure", "zcdp"),
        floor=0.02,
        why="a sixteenth of a row of each cell, and the sample",
        slow=True,
        sizes=(1000,),
    )
    yield Swept(
        names=("KMeans",), run=clusters, kinds=ALL, floor=2.0, slow=True, why="the spread of the points, and one step"
    )
    yield Swept(names=("PCA",), run=components, kinds=ALL, floor=1e-3, slow=True, why="rows as integers of ten bits")


def steps(n: int) -> Histogram:
    return Histogram(thresholds(64).domain, np.bincount((normals(n) * 64 / 101).astype(np.int64), minlength=64))


SWEPT = list(every())
