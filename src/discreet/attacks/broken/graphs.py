"""A graph count that is not private: the degree bound is read off the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from discreet.attacks.broken.twin import Twin, laplace
from discreet.data.graph import Graph
from discreet.hazmat.entropy import RandomSource
from discreet.privacy.guarantee import PureDP
from discreet.privacy.neighbours import NodeNeighbours
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    from discreet.attacks.broken.twin import Array


@dataclass(frozen=True, kw_only=True, slots=True)
class DegreeBoundFromData(Twin[Graph]):
    """Twice the number of edges, with noise for the largest degree that happens to be there.

    Nothing is ever cut, and the scale of the noise tells whether there is a hub.
    """

    flaw: ClassVar[str] = "the degree bound is the largest degree of the data"
    epsilon: Number

    def releases(self, value: Graph, count: int, *, rng: RandomSource | None = None) -> Array:
        bound = max(1, int(value.degrees.max()))
        return value.indices.size + laplace(2 * bound / exact(self.epsilon), (count,), rng)

    def privacy(self) -> PureDP:
        return PureDP(self.epsilon, neighbours=NodeNeighbours)

    @property
    def worst(self) -> tuple[Graph, Graph]:
        """An edge, and the same edge beside a vertex joined to everybody."""
        edge, hub = [(1, 2)], [(0, v) for v in range(1, 40)]
        return Graph.from_edges(edge, vertices=40), Graph.from_edges(edge + hub, vertices=40)
