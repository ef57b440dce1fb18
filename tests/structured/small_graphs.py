"""All graphs on a few vertices, what they hold counted naively, and their neighbours: the oracle of the graph tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from math import comb

from discreet.data.graph import Graph


class SmallGraphs:
    """Every graph on n vertices, as a set of bits, one for each pair of vertices."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.pairs = list(combinations(range(n), 2))
        self.all = range(1 << len(self.pairs))
        self._made: dict[int, Graph] = {}

    def edges(self, mask: int) -> list[tuple[int, int]]:
        return [pair for i, pair in enumerate(self.pairs) if mask >> i & 1]

    def graph(self, mask: int) -> Graph:
        if mask not in self._made:
            self._made[mask] = Graph.from_edges(self.edges(mask), vertices=self.n)
        return self._made[mask]

    def degrees(self, mask: int) -> list[int]:
        edges = self.edges(mask)
        return [sum(v in edge for edge in edges) for v in range(self.n)]

    def triangles(self, mask: int) -> int:
        edges = set(self.edges(mask))
        return sum(
            {(a, b), (a, c), (b, c)} <= edges for a, b, c in combinations(range(self.n), 3)
        )  # fmt: skip

    def stars(self, mask: int, k: int) -> int:
        return sum(comb(degree, k) for degree in self.degrees(mask))

    def edge_neighbours(self, mask: int) -> Iterator[int]:
        return (mask ^ 1 << i for i in range(len(self.pairs)))

    def edge_pairs(self) -> Iterator[tuple[int, int]]:
        """Both orders."""
        return ((here, there) for here in self.all for there in self.edge_neighbours(here))

    def node_pairs(self) -> Iterator[tuple[int, int]]:
        """Graphs that differ in the edges at one vertex, once for each such vertex."""
        for v in range(self.n):
            at = sum(1 << i for i, pair in enumerate(self.pairs) if v in pair)
            part = at
            changes = []
            while part:
                changes.append(part)
                part = (part - 1) & at
            for here in self.all:
                for change in changes:
                    if here < here ^ change:
                        yield here, here ^ change

    def local(self, count: Callable[[int], int]) -> list[int]:
        """The local sensitivity of every graph, by its definition."""
        value = [count(mask) for mask in self.all]
        return [max(abs(value[mask] - value[other]) for other in self.edge_neighbours(mask)) for mask in self.all]

    def within(self, local: list[int], distance: int) -> list[list[int]]:
        """LS(s) for s = 0 .. distance, of every graph, by going through everything near it."""
        table = [local]
        for _ in range(distance):
            last = table[-1]
            table.append([max(last[mask], *(last[other] for other in self.edge_neighbours(mask))) for mask in self.all])
        return table
