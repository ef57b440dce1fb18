"""The number of triangles in a private graph, when one edge is the secret.

Theorem.  Under EdgeNeighbours, on n public vertices, with LS and LS(s) of `triangle_sensitivity`:

    laplace      the count + discrete Laplace noise of scale (n - 2) / epsilon            epsilon-DP
    smooth       the count + Lomax noise in proportion to max over s of r^s LS(s)        epsilon-DP
    ladder       an integer y with Pr[y] ~ exp(-epsilon rung(y) / 2), widths LS(t)       epsilon-DP
    noisy-local  a bound on LS + margin, and noise for that bound                  (epsilon, delta)-DP
    auto         the best of the first three, by n and epsilon alone                     epsilon-DP

One edge can move the count by n - 2, and on real graphs moves it by a few dozen: all but the first
have noise for the latter.  Proofs: docs/theory/graphs.md, docs/theory/ladder.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.data.graph import Graph
from discreet.errors import require
from discreet.hazmat.entropy import RandomSource
from discreet.mechanisms.admissible_noise import check_epsilon
from discreet.mechanisms.laplace import Laplace
from discreet.privacy.event import ApproxEvent, ExponentialEvent, PureEvent
from discreet.privacy.guarantee import ApproxDP, PureDP
from discreet.privacy.neighbours import EdgeNeighbours
from discreet.privacy.number import Number, exact
from discreet.structured.graphs import triangle_plan
from discreet.structured.graphs.edge_smoothing import EdgeSmoothing
from discreet.structured.graphs.ladder import Ladder
from discreet.structured.graphs.noisy_local import NoisyLocal, SensitivityBound
from discreet.structured.graphs.triangle_plan import METHODS, PURE, TrianglePlan, choose
from discreet.structured.graphs.triangle_sensitivity import Ranked, TriangleSensitivity, smooth_sensitivity

if TYPE_CHECKING:
    from discreet.hazmat.integers import Integers


@dataclass(frozen=True, kw_only=True, slots=True)
class TriangleCount:
    """Count the triangles of a graph; one edge more or less is hidden.

    `delta` is spent by "noisy-local" alone, and 0 will do for the others.

    >>> from discreet.hazmat.entropy import SeededRandom
    >>> friends = Graph.from_edges([(i, j) for i in range(30) for j in range(i)], vertices=1000)  # 4060 triangles
    >>> count = TriangleCount(epsilon=1.0, delta=0, method="smooth")
    >>> abs(count(friends, rng=SeededRandom(1)) - 4060) < 200
    True
    >>> count.privacy()
    PureDP(epsilon=1.0)
    >>> count.accuracy(vertices=1000, max_degree=30)
    113
    """

    epsilon: Number
    delta: Number
    method: str = "auto"

    def __post_init__(self) -> None:
        require(exact(self.epsilon) > 0, "epsilon > 0", epsilon=self.epsilon)
        if self.method == "smooth":
            check_epsilon(self.epsilon)
        require(0 <= exact(self.delta) < 1, "0 <= delta < 1", delta=self.delta)
        require(self.method in ("auto", *METHODS), f"method one of auto, {', '.join(METHODS)}", method=self.method)
        needs = self.method == "noisy-local"
        require(not needs or exact(self.delta) > 0, "delta > 0 for method 'noisy-local'", delta=self.delta)

    def __call__(self, graph: Graph, *, rng: RandomSource | None = None) -> int:
        """The noisy count, an integer of any sign."""
        drawn = self._draw(graph, None, rng)
        assert isinstance(drawn, int)
        return drawn

    def releases(self, graph: Graph, count: int, *, rng: RandomSource | None = None) -> Integers:
        """`count` independent releases, for audits; as a release they would cost `count` times."""
        return self._draw(graph, (count,), rng)

    def _draw(self, graph: Graph, shape: tuple[int] | None, rng: RandomSource | None) -> Integers:
        import numpy as np

        ranked = Ranked.of(graph)
        most = max(0, ranked.vertices - 2)
        value = ranked.triangles()
        match self.chosen(graph.vertices):
            case "laplace":
                noisy = Laplace(epsilon=self.epsilon, sensitivity=max(1, most))
                return noisy(value if shape is None else np.full(shape, value), rng=rng)
            case "smooth":
                smoothing = EdgeSmoothing(self.epsilon)
                sensitivity = smooth_sensitivity(ranked, smoothing.reach)
                return smoothing.noise.release(value, sensitivity, shape=shape, rng=rng)
            case "ladder":
                ladder, steps = Ladder(epsilon=self.epsilon), TriangleSensitivity.of(ranked).at
                if shape is None:
                    return ladder(value, steps, most=most, rng=rng)
                return ladder.releases(value, steps, shape[0], most=most, rng=rng)
            case _:
                by_bound = NoisyLocal(epsilon=self.epsilon, delta=self.delta)
                local = ranked.common_neighbours(enough=0)[0]
                drawn = [
                    by_bound(value, local=local, most=most, rng=rng)[0] for _ in range(1 if shape is None else shape[0])
                ]
                return drawn[0] if shape is None else np.array(drawn, dtype=np.int64)

    def chosen(self, vertices: int) -> str:
        """The method for a graph on so many vertices."""
        return choose(vertices, exact(self.epsilon)) if self.method == "auto" else self.method

    def privacy(self) -> PureDP | ApproxDP:
        """The claim, for one edge."""
        return self._claim(self.method)

    def _claim(self, method: str) -> PureDP | ApproxDP:
        if method == "noisy-local":
            return ApproxDP(self.epsilon, self.delta, neighbours=EdgeNeighbours)
        return PureDP(self.epsilon, neighbours=EdgeNeighbours)

    def accuracy(self, beta: float = 0.05, *, vertices: int | None = None, max_degree: int | None = None) -> int:
        """alpha with Pr[|error| > alpha] <= beta, for every graph with these public facts.

        Without a largest degree the worst graph on so many vertices counts.
        """
        method = self.method if vertices is None else self.chosen(_whole(vertices=vertices))
        largest = None if max_degree is None else _whole(max_degree=max_degree)
        budget = {"epsilon": exact(self.epsilon), "delta": exact(self.delta)}
        return triangle_plan.proven(method, vertices=vertices, largest=largest, beta=beta, **budget)

    def explain(
        self, *, vertices: int, max_degree: int | None = None, local_sensitivity: int | None = None, beta: float = 0.05
    ) -> TrianglePlan:
        """The predicted error of every method, from public facts; nothing is read.

        `max_degree` is declared; `local_sensitivity` is what a `TriangleBound` released, and was paid for.

        >>> print(TriangleCount(epsilon=1.0, delta=1e-6).explain(vertices=5242, max_degree=81))
        triangles of a graph on 5,242 vertices: error exceeded with probability 0.05
        if two vertices share at most             81
          noisy-local (1.0, 1e-06)               713
        * smooth      1.0                        304
          ladder      1.0                        588
          laplace     1.0                     15,698
        * what auto takes: from the vertices and epsilon alone
        """
        known = [_whole(fact=fact) for fact in (max_degree, local_sensitivity) if fact is not None]
        methods = METHODS if exact(self.delta) > 0 else PURE
        return triangle_plan.explain(
            vertices=_whole(vertices=vertices),
            epsilon=exact(self.epsilon),
            delta=exact(self.delta),
            at_most=min(known, default=None),
            beta=beta,
            claims={method: self._claim(method) for method in methods},
        )

    def event(self) -> PureEvent | ExponentialEvent | ApproxEvent:
        """What ran, for the accountant."""
        if self.method == "noisy-local":
            return ApproxEvent(epsilon=self.epsilon, delta=self.delta)
        return (ExponentialEvent if self.method == "ladder" else PureEvent)(epsilon=self.epsilon)


@dataclass(frozen=True, kw_only=True, slots=True)
class TriangleBound:
    """A private upper bound on how far one edge moves the triangle count; too small with probability delta at most.

    It pays for a prediction: `TriangleCount.explain(local_sensitivity=)` takes what it releases.

    >>> friends = Graph.from_edges([(i, j) for i in range(30) for j in range(i)], vertices=1000)
    >>> bound = TriangleBound(epsilon=0.1, delta=1e-3)
    >>> bound(friends) >= 28, bound.privacy()
    (True, PureDP(epsilon=0.1))
    """

    epsilon: Number
    delta: Number

    def __post_init__(self) -> None:
        _ = self._bound

    @property
    def _bound(self) -> SensitivityBound:
        return SensitivityBound(epsilon=self.epsilon, delta=self.delta, neighbours=EdgeNeighbours)

    def __call__(self, graph: Graph, *, rng: RandomSource | None = None) -> int:
        """At least the most common neighbours of any two vertices, but for a probability delta."""
        local = Ranked.of(graph).common_neighbours(enough=0)[0]
        return self._bound(local, most=max(0, graph.vertices - 2), rng=rng)

    def privacy(self) -> PureDP:
        """epsilon: one edge moves the largest number of common neighbours by one."""
        return self._bound.privacy()

    def accuracy(self, beta: float = 0.05) -> int:
        """Pr[bound - truth > alpha] <= beta."""
        return self._bound.accuracy(beta)

    def event(self) -> PureEvent:
        """What ran."""
        return PureEvent(epsilon=self.epsilon)


def _whole(**given: object) -> int:
    """A whole number of at least 0."""
    ((name, value),) = given.items()
    require(isinstance(value, int) and not isinstance(value, bool) and value >= 0, f"a whole {name} >= 0", **given)
    assert isinstance(value, int)
    return value
