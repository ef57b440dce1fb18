"""The number of triangles in a private graph, when all edges of one vertex are the secret.

Theorem.  Under NodeNeighbours, for a public degree bound D and cap = C(D, 2), the packing of `triangle_packing`
rounded to an integer moves by at most cap + 1, so that Laplace noise of scale (cap + 1) / epsilon is
epsilon-DP.  On graphs whose degrees are at most D it is noise around the true count; on others the answer
is too small, never less private.  Where D is not declared, half of epsilon chooses it.  The linear
program has a variable for each triangle at a vertex with more than `cap` of them: it takes seconds for ten
thousand, minutes for a million.  Proof: docs/theory/node_privacy.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.data.graph import Graph, checked
from discreet.errors import UnsupportedError, require
from discreet.hazmat.entropy import RandomSource
from discreet.mechanisms.laplace import Laplace
from discreet.privacy.event import ComposedEvent, Event, ExponentialEvent, PureEvent
from discreet.privacy.guarantee import PureDP
from discreet.privacy.neighbours import NodeNeighbours
from discreet.privacy.number import Number, exact
from discreet.structured.graphs.extension_choice import ExtensionChoice
from discreet.structured.graphs.node_privacy import DegreeBound, check_bound
from discreet.structured.graphs.triangle_packing import Packing


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeTriangleCount:
    """Count the triangles of a graph; all edges of one vertex are hidden.

    `degree_bound` is public, or None: then it is chosen privately, for half of epsilon.

    >>> ring = Graph.from_edges([(i, (i + j) % 900) for i in range(900) for j in (1, 2)], vertices=900)  # 900 of them
    >>> count = NodeTriangleCount(epsilon=1.0, degree_bound=4)
    >>> abs(count(ring) - 900) < 150, count.privacy(), count.accuracy(beta=0.05)
    (True, PureDP(epsilon=1.0), 21)
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
        return Laplace(epsilon=self._counting, sensitivity=math.comb(bound, 2) + 1)

    def __call__(self, graph: Graph, *, rng: RandomSource | None = None) -> int:
        """The noisy count; too small where degrees exceed the bound."""
        return self.with_bound(graph, rng=rng)[0]

    def with_bound(self, graph: Graph, *, rng: RandomSource | None = None) -> tuple[int, int]:
        """The noisy count and the degree bound it was made with, for the same price."""
        vertices = checked(graph).vertices
        bounds = DegreeBound.candidates(vertices) if self.degree_bound is None else [self.degree_bound]
        values = [Packing.of(graph, math.comb(bound, 2)).value() for bound in bounds]
        place = 0
        if self.degree_bound is None:
            moves = [math.comb(bound, 2) + 1 for bound in bounds]
            place = ExtensionChoice(epsilon=self._counting, counting=self._counting)(values, moves, rng=rng)
        noisy = self._noise(bounds[place])(values[place], rng=rng)
        assert isinstance(noisy, int)
        return noisy, bounds[place]

    def privacy(self) -> PureDP:
        """epsilon, for all edges of one vertex."""
        return PureDP(self.epsilon, neighbours=NodeNeighbours)

    def accuracy(self, beta: float = 0.05) -> int:
        """Pr[|error| > alpha] <= beta where no degree exceeds the declared bound."""
        if self.degree_bound is None:
            raise UnsupportedError("the error depends on the bound that is chosen; declare degree_bound=")
        return self._noise(self.degree_bound).accuracy(beta)

    def event(self) -> Event:
        """What ran."""
        if self.degree_bound is not None:
            return self._noise(self.degree_bound).event()
        choice = ExponentialEvent(epsilon=self._counting)
        return ComposedEvent(events=(choice, PureEvent(epsilon=self._counting)))  # for the price, whatever D is
