"""Triangles, and how far one edge, or s edges, can move their number.

Theorem (Nissim, Raskhodnikova, Smith 2007; Karwa, Raskhodnikova, Smith, Yaroslavtsev 2011).
For a graph on n vertices let a_uv be the number of common neighbours of u and v, and b_uv
the number of other vertices joined to exactly one of them.  Under EdgeNeighbours the local
sensitivity of the number of triangles is LS = max a_uv, over all pairs, joined or not, and its
largest value within s steps is

    LS(s) = max over pairs of min(a_uv + floor((s + min(s, b_uv)) / 2), n - 2).

Hence LS(s) <= LS(s + 1) <= LS(s) + 1, and LS(s) of a graph is at most LS(s + 1) of its
neighbours.  Only the largest b for each a matters: `widest` keeps that and nothing else.
Proof: docs/theory/graphs.md.
"""

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.data.graph import Graph, checked

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    import numpy.typing as npt

THREADS = min(8, os.cpu_count() or 1)  # each needs memory for a few numbers a vertex


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """The same graph with its vertices numbered by decreasing degree."""

    indptr: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int32]

    @classmethod
    def of(cls, graph: Graph) -> Ranked:
        """Renumber; linear in the edges, but for sorting the degrees."""
        import numpy as np

        from discreet.structured.graphs.graph_kernels import renumbered

        order = np.argsort(-checked(graph).degrees, kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(order.size)
        indptr = np.zeros(order.size + 1, dtype=np.int64)
        np.cumsum(graph.degrees[order], out=indptr[1:])
        indices = np.empty_like(graph.indices)
        renumbered(graph.indptr, graph.indices, order, place, indptr[:-1].copy(), indices)
        return cls(indptr, indices)

    @property
    def vertices(self) -> int:
        """Their number, which is public."""
        return self.indptr.size - 1

    def triangles(self) -> int:
        """The number of triangles."""
        from discreet.structured.graphs.graph_kernels import triangles

        return sum(self._shared(lambda thread: triangles(self.indptr, self.indices, thread, THREADS)))

    def common_neighbours(self, *, enough: int | None = None) -> tuple[int, npt.NDArray[np.int64]]:
        """LS, and for a = 0, 1, ... the largest b_uv of a pair with a_uv = a, or -1 where there is no such pair.

        If LS >= `enough` the second is not worked out, and means nothing.
        """
        import numpy as np

        from discreet.structured.graphs.graph_kernels import common

        size = self._largest_degree + 1  # no pair has more common neighbours
        limit = size if enough is None else min(size, enough)
        best, widest = np.zeros(THREADS, dtype=np.int64), np.full((THREADS, limit), -1, dtype=np.int64)
        self._shared(lambda t: common(self.indptr, self.indices, t, THREADS, limit, best, widest[t]))
        return int(best.max()), widest.max(axis=0)

    @property
    def _largest_degree(self) -> int:
        return int(self.indptr[1]) if self.indptr.size > 1 else 0

    @staticmethod
    def _shared(work: Callable[[int], int]) -> list[int]:
        with ThreadPoolExecutor(THREADS) as pool:
            return list(pool.map(work, range(THREADS)))


@dataclass(frozen=True, slots=True, eq=False)
class TriangleSensitivity:
    """LS(s) of one graph, from the pairs (a, b) that matter.  Private.

    >>> path = Graph.from_edges([(0, 1), (1, 2), (2, 3)], vertices=6)
    >>> sensitivity = TriangleSensitivity.of(Ranked.of(path))
    >>> [sensitivity.at(s) for s in range(6)]
    [1, 2, 2, 3, 3, 4]
    """

    most: int
    a: npt.NDArray[np.int64]
    b: npt.NDArray[np.int64]

    @classmethod
    def of(cls, graph: Ranked) -> TriangleSensitivity:
        """From one pass over the paths of length two."""
        return cls.from_frontier(graph.vertices, graph.common_neighbours()[1])

    @classmethod
    def from_frontier(cls, vertices: int, widest: npt.NDArray[np.int64]) -> TriangleSensitivity:
        """From the largest b for each a; a graph with fewer than two vertices has no pairs."""
        import numpy as np

        a = np.flatnonzero(widest >= 0)
        return cls(max(0, vertices - 2), a if a.size else np.array([0]), widest[a] if a.size else np.array([0]))

    def at(self, distance: int) -> int:
        """LS(distance)."""
        import numpy as np

        reached = self.a + (distance + np.minimum(distance, self.b)) // 2
        return int(min(reached.max(), self.most))


def smooth_sensitivity(graph: Ranked, reach: int) -> Fraction:
    """max over s of r^s LS(s), for r = 1 - 1 / reach, rounded up by less than a 2^-40 part.

    LS(s + 1) <= LS(s) + 1, so that r^s LS(s) never rises again once LS(s) >= reach - 1.  Where LS itself
    is so large, it is the answer, and no b is needed.
    """
    local, widest = graph.common_neighbours(enough=reach)
    if local >= reach:
        return Fraction(local)
    return smooth_maximum(TriangleSensitivity.from_frontier(graph.vertices, widest), reach)


def smooth_maximum(sensitivity: TriangleSensitivity, reach: int) -> Fraction:
    """The same from the pairs (a, b): for each, the value rises by one a step, then by one every other step.

    r^s (c + s) rises while c + s < reach - 1, and r^2j (c + j) while c + j < r^2 / (1 - r^2).
    """
    import numpy as np

    a, b, most, rate = sensitivity.a, sensitivity.b, sensitivity.most, -math.log1p(-1 / reach)
    ones = np.clip(reach - 1 - a, 0, np.minimum(b, most - a))
    turn = math.ceil(1 / math.expm1(2 * rate))
    twos = np.clip(turn - a - b, 0, np.maximum(most - a - b, 0))
    steep = np.exp(-rate * ones) * (a + ones)
    flat = np.exp(-rate * (b + 2 * twos)) * np.minimum(a + b + twos, most)
    # Exponents are below 4 and each operation is good to a 2^-50 part, so that this rounds up.
    return Fraction(max(float(steep.max()), float(flat.max())) * (1 + 2.0**-42))
