"""The number of k-stars in a private graph: a centre with k of its neighbours, the sum over vertices of C(degree, k).

Theorem (Karwa, Raskhodnikova, Smith, Yaroslavtsev 2011).  Under EdgeNeighbours, on n public vertices,
let x >= y be the degrees of u and v without the edge between them.  The flip of that edge moves the
number of k-stars by C(x, k - 1) + C(y, k - 1), and within s other flips this can be made

    LS(s) = max over pairs of C(x + p, k - 1) + C(y + q, k - 1),   p = min(s, n - 2 - x),  q = min(s - p, n - 2 - y).

Hence LS(s) of a graph is at most LS(s + 1) of its neighbours, and Lomax noise in proportion to the
largest r^s LS(s) is epsilon-DP.  Proof: docs/theory/graphs.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.data.graph import Graph
from discreet.errors import UnsupportedError, require
from discreet.hazmat.entropy import RandomSource
from discreet.mechanisms.admissible_noise import check_epsilon, nearest
from discreet.privacy.event import PureEvent
from discreet.privacy.guarantee import PureDP
from discreet.privacy.neighbours import EdgeNeighbours
from discreet.privacy.number import Number
from discreet.structured.graphs.edge_smoothing import EdgeSmoothing
from discreet.structured.graphs.triangle_sensitivity import Ranked

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.hazmat.integers import Integers

    Counts = npt.NDArray[np.int64]

LARGEST = 20  # k: then C(n, k) is a floating-point number for every n
BLOCK = 1024  # distances at a time


@dataclass(frozen=True, kw_only=True, slots=True)
class StarCount:
    """Count the k-stars of a graph; one edge more or less is hidden.

    >>> star = Graph.from_edges([(0, leaf) for leaf in range(1, 101)], vertices=1000)  # 4950 pairs of leaves
    >>> count = StarCount(epsilon=1.0, k=2)
    >>> abs(count(star) - 4950) < 2000
    True
    >>> count.privacy()
    PureDP(epsilon=1.0)
    """

    epsilon: Number
    k: int

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        whole = isinstance(self.k, int) and not isinstance(self.k, bool)
        require(whole and 2 <= self.k <= LARGEST, f"a whole k of 2 to {LARGEST}", k=self.k)

    def __call__(self, graph: Graph, *, rng: RandomSource | None = None) -> int:
        """The noisy count, an integer of any sign."""
        drawn = self._draw(graph, None, rng)
        assert isinstance(drawn, int)
        return drawn

    def releases(self, graph: Graph, count: int, *, rng: RandomSource | None = None) -> Integers:
        """`count` independent releases, for audits."""
        return self._draw(graph, (count,), rng)

    def _draw(self, graph: Graph, shape: tuple[int] | None, rng: RandomSource | None) -> Integers:
        smoothing = EdgeSmoothing(self.epsilon)
        sensitivity = StarSensitivity.of(graph, self.k).smooth(smoothing.reach)
        return smoothing.noise.release(stars(graph, self.k), sensitivity, shape=shape, rng=rng)

    def privacy(self) -> PureDP:
        """epsilon, for one edge."""
        return PureDP(self.epsilon, neighbours=EdgeNeighbours)

    def accuracy(self, beta: float = 0.05, *, vertices: int | None = None, max_degree: int | None = None) -> int:
        """alpha with Pr[|error| > alpha] <= beta, for every graph with these public facts."""
        import numpy as np

        if vertices is None:
            raise UnsupportedError("the error depends on the graph; pass vertices=, and max_degree= if it is public")
        facts = {"vertices": vertices} | ({} if max_degree is None else {"max_degree": max_degree})
        for name, fact in facts.items():
            whole = isinstance(fact, int) and not isinstance(fact, bool)
            require(whole and fact >= 0, f"a whole {name} >= 0", **{name: fact})
        most = max(0, vertices - 2)
        top = np.array([most if max_degree is None else min(max_degree, most)])
        smoothing = EdgeSmoothing(self.epsilon)
        smooth = float(StarSensitivity(most, self.k, top, top).smooth(smoothing.reach))
        return nearest(smoothing.noise.error(beta) * smooth * (1 + 1e-9))

    def event(self) -> PureEvent:
        """What ran."""
        return PureEvent(epsilon=self.epsilon)


def stars(graph: Graph, k: int) -> int:
    """The number of k-stars, exactly.  Private."""
    import numpy as np

    degrees, often = np.unique(graph.degrees, return_counts=True)
    return sum(math.comb(int(d), k) * int(c) for d, c in zip(degrees, often, strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class StarSensitivity:
    """LS(s) of one graph, from the pairs of degrees x >= y that no other pair exceeds.  Private."""

    most: int
    k: int
    x: Counts
    y: Counts

    @classmethod
    def of(cls, graph: Graph, k: int) -> StarSensitivity:
        """From one pass over the edges."""
        import numpy as np

        from discreet.structured.graphs.graph_kernels import partners

        ranked = Ranked.of(graph)
        ends = np.full((2, 2 * graph.vertices), -1, dtype=np.int64)
        partners(ranked.indptr, ranked.indices, ends[0], ends[1])
        x, y = ends.max(axis=0), ends.min(axis=0)
        order = np.lexsort((-y, -x))
        x, y = x[order], y[order]
        before = np.concatenate([[-1], np.maximum.accumulate(y)[:-1]])
        kept = (y > before) & (y >= 0)
        return cls(max(0, graph.vertices - 2), k, x[kept], y[kept])

    def at(self, distance: int) -> int:
        """LS(distance), exactly.

        >>> star = Graph.from_edges([(0, leaf) for leaf in range(1, 5)], vertices=10)
        >>> [StarSensitivity.of(star, 2).at(s) for s in range(8)]  # 8 others can be joined to the centre
        [4, 5, 6, 7, 8, 9, 10, 11]
        """
        reached = [0]
        for x, y in zip(self.x.tolist(), self.y.tolist(), strict=True):
            p = min(distance, self.most - x)
            q = min(distance - p, self.most - y)
            reached.append(math.comb(x + p, self.k - 1) + math.comb(y + q, self.k - 1))
        return max(reached)

    def smooth(self, reach: int) -> Fraction:
        """The largest (1 - 1 / reach)^s LS(s), rounded up by less than a 2^-34 part."""
        import numpy as np

        rate, most = -math.log1p(-1 / reach), 2 * math.comb(self.most, self.k - 1)
        best, start = 0.0, 0
        while best < math.exp(-rate * start) * most * (1 + 2.0**-36):
            s = np.arange(start, start + BLOCK)
            p = np.minimum(s, self.most - self.x[:, None])  # (pairs, distances)
            q = np.minimum(s - p, self.most - self.y[:, None])
            moved = _comb(self.x[:, None] + p, self.k - 1) + _comb(self.y[:, None] + q, self.k - 1)
            best = max(best, float((moved.max(axis=0) * np.exp(-rate * s)).max()))
            start += BLOCK
        return Fraction(best * (1 + 2.0**-36))


def _comb(n: Counts, k: int) -> npt.NDArray[np.float64]:
    """C(n, k) in floating point, good to a 2^-44 part; exactly 0 where n < k."""
    import numpy as np

    out = np.ones(n.shape)
    for j in range(k):
        out *= np.maximum(n - j, 0) / (j + 1)
    return out
