"""Edges and degrees of a private graph, when one edge is the secret.

Theorem.  Under EdgeNeighbours one step moves

    the number of edges                            by 1,
    the degrees, sorted from the largest,          by at most 2 in l1   (Hay, Li, Miklau, Jensen 2009),
    the histogram of degrees                       by at most 4 in l1,

and discrete Laplace noise of that scale over epsilon is epsilon-DP.  The noisy sequence is then moved to
the nearest non-increasing one in l2, which is post-processing, and never makes the largest error
larger.  Proof: docs/theory/graphs.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.data.graph import Graph, checked
from discreet.errors import UnsupportedError, require
from discreet.hazmat.entropy import RandomSource
from discreet.mechanisms.laplace import Laplace
from discreet.privacy.event import LaplaceEvent
from discreet.privacy.guarantee import PureDP
from discreet.privacy.neighbours import EdgeNeighbours
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Counts = npt.NDArray[np.int64]

TWO_ENDS = 2  # an edge moves two degrees by one
TWO_BINS = 4  # and each of them leaves one bin for another


@dataclass(frozen=True, kw_only=True, slots=True)
class EdgeCount:
    """Count the edges of a graph; one edge more or less is hidden.

    >>> path = Graph.from_edges([(i, i + 1) for i in range(1000)], vertices=1001)
    >>> count = EdgeCount(epsilon=1.0)
    >>> abs(count(path) - 1000) < 30, count.accuracy(beta=0.05)
    (True, 3)
    """

    epsilon: Number

    def __post_init__(self) -> None:
        require(exact(self.epsilon) > 0, "epsilon > 0", epsilon=self.epsilon)

    @property
    def _noise(self) -> Laplace:
        return Laplace(epsilon=self.epsilon, sensitivity=1)

    def __call__(self, graph: Graph, *, rng: RandomSource | None = None) -> int:
        """The noisy count."""
        noisy = self._noise(checked(graph).indices.size // 2, rng=rng)
        assert isinstance(noisy, int)
        return noisy

    def privacy(self) -> PureDP:
        """epsilon, for one edge."""
        return PureDP(self.epsilon, neighbours=EdgeNeighbours)

    def accuracy(self, beta: float = 0.05) -> int:
        """The least alpha with Pr[|error| > alpha] <= beta."""
        return self._noise.accuracy(beta)

    def event(self) -> LaplaceEvent:
        """What ran."""
        return self._noise.event()


@dataclass(frozen=True, kw_only=True, slots=True)
class DegreeSequence:
    """The degrees from the largest to the smallest, without names; one edge more or less is hidden.

    >>> star = Graph.from_edges([(0, leaf) for leaf in range(1, 101)], vertices=200)
    >>> degrees = DegreeSequence(epsilon=1.0)(star)
    >>> len(degrees), bool((degrees[:-1] >= degrees[1:]).all()), abs(int(degrees[0]) - 100) < 40
    (200, True, True)
    """

    epsilon: Number

    def __post_init__(self) -> None:
        require(exact(self.epsilon) > 0, "epsilon > 0", epsilon=self.epsilon)

    @property
    def _noise(self) -> Laplace:
        return Laplace(epsilon=self.epsilon, sensitivity=TWO_ENDS)

    def __call__(self, graph: Graph, *, rng: RandomSource | None = None) -> Counts:
        """The nearest non-increasing sequence to the noisy one, in whole numbers from 0 to n - 1."""
        import numpy as np

        noisy = self._noise(np.sort(checked(graph).degrees)[::-1].copy(), rng=rng)
        return np.clip(np.rint(non_increasing(np.asarray(noisy))), 0, max(0, graph.vertices - 1)).astype(np.int64)

    def privacy(self) -> PureDP:
        """epsilon, for one edge."""
        return PureDP(self.epsilon, neighbours=EdgeNeighbours)

    def accuracy(self, beta: float = 0.05, *, vertices: int | None = None) -> int:
        """alpha with Pr[some degree is off by more than alpha] <= beta."""
        if vertices is None:
            raise UnsupportedError("the largest error grows with the number of vertices; pass vertices=")
        return self._noise.accuracy(beta, size=max(1, vertices))

    def event(self) -> LaplaceEvent:
        """What ran."""
        return self._noise.event()


@dataclass(frozen=True, kw_only=True, slots=True)
class DegreeHistogram:
    """How many vertices have each degree 0, 1, ..., `largest`; higher degrees count as `largest`.

    >>> path = Graph.from_edges([(i, i + 1) for i in range(1000)], vertices=1001)
    >>> histogram = DegreeHistogram(epsilon=1.0, largest=4)(path)
    >>> histogram.shape, abs(int(histogram[2]) - 999) < 100
    ((5,), True)
    """

    epsilon: Number
    largest: int

    def __post_init__(self) -> None:
        require(exact(self.epsilon) > 0, "epsilon > 0", epsilon=self.epsilon)
        whole = isinstance(self.largest, int) and not isinstance(self.largest, bool)
        require(whole and self.largest >= 1, "a whole largest >= 1", largest=self.largest)

    @property
    def _noise(self) -> Laplace:
        return Laplace(epsilon=self.epsilon, sensitivity=TWO_BINS)

    def __call__(self, graph: Graph, *, rng: RandomSource | None = None) -> Counts:
        """The noisy counts."""
        import numpy as np

        counts = np.bincount(np.minimum(checked(graph).degrees, self.largest), minlength=self.largest + 1)
        return np.asarray(self._noise(counts, rng=rng))

    def privacy(self) -> PureDP:
        """epsilon, for one edge."""
        return PureDP(self.epsilon, neighbours=EdgeNeighbours)

    def accuracy(self, beta: float = 0.05) -> int:
        """The least alpha with Pr[some count is off by more than alpha] <= beta."""
        return self._noise.accuracy(beta, size=self.largest + 1)

    def event(self) -> LaplaceEvent:
        """What ran."""
        return self._noise.event()


def non_increasing(values: Counts) -> npt.NDArray[np.float64]:
    """The nearest non-increasing sequence in l2, by pooling neighbours that are out of order.

    >>> import numpy as np
    >>> non_increasing(np.array([3, 5, 1, 2, 0]))
    array([4. , 4. , 1.5, 1.5, 0. ])
    """
    import numpy as np

    from discreet.structured.graphs.graph_kernels import isotonic

    means, sizes = np.empty(values.size), np.empty(values.size, dtype=np.int64)
    blocks = isotonic(values.astype(np.float64), means, sizes)
    return np.repeat(means[:blocks], sizes[:blocks])
