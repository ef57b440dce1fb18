"""Edges and degrees of a private graph, when all edges of one vertex are the secret.

Theorem.  Under NodeNeighbours, for a public bound D, with flow_D and kept_D of `bounded_degree`:

    edges      flow_D + Laplace noise of scale 2 D / epsilon, halved                    epsilon-DP
    histogram  the degrees of kept_D + Laplace noise of scale (4 D + 2) / epsilon       epsilon-DP
    D itself   chosen among powers of two by `extension_choice`                         epsilon-DP

No condition on the graph: where degrees exceed D the answer is too small, never less private.  A
bound read off the data is not a bound.  Proof: docs/theory/node_privacy.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.data.graph import Graph, checked
from discreet.errors import UnsupportedError, require
from discreet.hazmat.entropy import RandomSource
from discreet.mechanisms.laplace import Laplace
from discreet.privacy.event import ComposedEvent, Event, ExponentialEvent, LaplaceEvent, PureEvent
from discreet.privacy.guarantee import PureDP
from discreet.privacy.neighbours import NodeNeighbours
from discreet.privacy.number import Number, exact
from discreet.structured.graphs.bounded_degree import flow, kept_degrees
from discreet.structured.graphs.extension_choice import ExtensionChoice

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, slots=True)
class DegreeBound:
    """Choose a degree bound D for counting edges at `counting` = epsilon: lost edges against noise.

    >>> ring = Graph.from_edges([(i, (i + 1) % 500) for i in range(500)], vertices=500)
    >>> bound = DegreeBound(epsilon=2.0, counting=1.0)
    >>> bound(ring) <= 32, bound.privacy()
    (True, PureDP(epsilon=2.0))
    """

    epsilon: Number
    counting: Number

    def __post_init__(self) -> None:
        require(exact(self.epsilon) > 0, "epsilon > 0", epsilon=self.epsilon)
        require(exact(self.counting) > 0, "counting > 0", counting=self.counting)

    def __call__(self, graph: Graph, *, rng: RandomSource | None = None) -> int:
        """A power of two."""
        candidates = self.candidates(checked(graph).vertices)
        flows, moves = [flow(graph, bound) for bound in candidates], [2 * bound for bound in candidates]
        choice = ExtensionChoice(epsilon=self.epsilon, counting=self.counting)
        return candidates[choice(flows, moves, rng=rng)]

    @staticmethod
    def candidates(vertices: int) -> list[int]:
        """1, 2, 4, ... up to the first that no degree exceeds.

        >>> DegreeBound.candidates(100)
        [1, 2, 4, 8, 16, 32, 64, 128]
        """
        return [1 << j for j in range(max(1, vertices - 1).bit_length() + (vertices > 2))]

    def privacy(self) -> PureDP:
        """epsilon, for all edges of one vertex."""
        return PureDP(self.epsilon, neighbours=NodeNeighbours)

    def accuracy(self, beta: float = 0.05) -> float:
        """Refused: how good a bound is depends on the graph."""
        raise UnsupportedError("how good a degree bound is depends on the graph; see the theorem on the theory page")

    def event(self) -> ExponentialEvent:
        """What ran."""
        return ExponentialEvent(epsilon=self.epsilon)


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeEdgeCount:
    """Count the edges of a graph; all edges of one vertex are hidden.

    `degree_bound` is public, or None: then it is chosen privately, for half of epsilon.

    >>> ring = Graph.from_edges([(i, (i + 1) % 5000) for i in range(5000)], vertices=5000)
    >>> count = NodeEdgeCount(epsilon=1.0, degree_bound=4)
    >>> abs(count(ring) - 5000) < 100, count.privacy(), count.accuracy(beta=0.05)
    (True, PureDP(epsilon=1.0), 12)
    """

    epsilon: Number
    degree_bound: int | None

    def __post_init__(self) -> None:
        require(exact(self.epsilon) > 0, "epsilon > 0", epsilon=self.epsilon)
        if self.degree_bound is not None:
            check_bound(self.degree_bound)

    @property
    def _counting(self) -> Fraction:
        return exact(self.epsilon) / (2 if self.degree_bound is None else 1)

    def _noise(self, bound: int) -> Laplace:
        return Laplace(epsilon=self._counting, sensitivity=2 * bound)

    def __call__(self, graph: Graph, *, rng: RandomSource | None = None) -> int:
        """The noisy count, rounded down; too small where degrees exceed the bound."""
        return self.with_bound(checked(graph), rng=rng)[0]

    def with_bound(self, graph: Graph, *, rng: RandomSource | None = None) -> tuple[int, int]:
        """The noisy count and the degree bound it was made with, for the same price."""
        bound = self.degree_bound
        if bound is None:
            bound = DegreeBound(epsilon=self._counting, counting=self._counting)(graph, rng=rng)
        noisy = self._noise(bound)(flow(graph, bound), rng=rng)
        assert isinstance(noisy, int)
        return noisy // 2, bound

    def privacy(self) -> PureDP:
        """epsilon, for all edges of one vertex."""
        return PureDP(self.epsilon, neighbours=NodeNeighbours)

    def accuracy(self, beta: float = 0.05) -> int:
        """Pr[|error| > alpha] <= beta where no degree exceeds the declared bound."""
        if self.degree_bound is None:
            raise UnsupportedError("the error depends on the bound that is chosen; declare degree_bound=")
        return -(-self._noise(self.degree_bound).accuracy(beta) // 2)

    def event(self) -> Event:
        """What ran."""
        if self.degree_bound is not None:
            return self._noise(self.degree_bound).event()
        choice = ExponentialEvent(epsilon=self._counting)
        return ComposedEvent(events=(choice, PureEvent(epsilon=self._counting)))  # for the price, whatever D is


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeDegreeHistogram:
    """How many vertices have each degree 0 .. degree_bound; all edges of one vertex are hidden.

    >>> ring = Graph.from_edges([(i, (i + 1) % 5000) for i in range(5000)], vertices=5000)
    >>> histogram = NodeDegreeHistogram(epsilon=1.0, degree_bound=4)
    >>> abs(int(histogram(ring)[2]) - 5000) < 500, histogram.privacy()
    (True, PureDP(epsilon=1.0))
    """

    epsilon: Number
    degree_bound: int

    def __post_init__(self) -> None:
        require(exact(self.epsilon) > 0, "epsilon > 0", epsilon=self.epsilon)
        check_bound(self.degree_bound)

    @property
    def _noise(self) -> Laplace:
        return Laplace(epsilon=self.epsilon, sensitivity=4 * self.degree_bound + 2)

    def __call__(self, graph: Graph, *, rng: RandomSource | None = None) -> Counts:
        """The noisy counts; edges above the bound are dropped first."""
        import numpy as np

        degrees = kept_degrees(checked(graph), self.degree_bound)
        return np.asarray(self._noise(np.bincount(degrees, minlength=self.degree_bound + 1), rng=rng))

    def privacy(self) -> PureDP:
        """epsilon, for all edges of one vertex."""
        return PureDP(self.epsilon, neighbours=NodeNeighbours)

    def accuracy(self, beta: float = 0.05) -> int:
        """Pr[some count is off by more than alpha] <= beta, where no degree exceeds the bound."""
        return self._noise.accuracy(beta, size=self.degree_bound + 1)

    def event(self) -> LaplaceEvent:
        """What ran."""
        return self._noise.event()


def check_bound(bound: object) -> None:
    """A degree bound is a whole number that fits 31 bits."""
    whole = isinstance(bound, int) and not isinstance(bound, bool)
    require(whole and 1 <= bound < 1 << 31, "a whole degree_bound of 1 to 2^31 - 1", degree_bound=bound)  # type: ignore[operator]
