"""Graphs made to look as if no vertex had more than D neighbours, so that one vertex changes little.

Theorem.  Let G and G' differ in the edges at one vertex (NodeNeighbours).

    flow_D(G)  the largest sum over directed edges of numbers in [0, 1] such that no vertex sends or
               receives more than D: a maximum flow, and a whole number.  It is twice the number of
               edges where degrees are at most D, and |flow_D(G) - flow_D(G')| <= 2 D
               (Kasiviswanathan, Nissim, Raskhodnikova, Smith 2013).
    kept_D(G)  edges taken in a fixed order of all pairs of vertices, as long as both ends have fewer than
               D.  It keeps everything where degrees are at most D, and the degrees of the other vertices in
               kept_D(G) and kept_D(G') differ by at most 2 D in l1 (after Day, Li, Lyu 2016).

So the histogram of the degrees in kept_D moves by at most 4 D + 2 in l1.
Proof: docs/theory/node_privacy.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.data.graph import Graph

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Counts = npt.NDArray[np.int64]

MULTIPLIERS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)  # of splitmix64


def flow(graph: Graph, bound: int) -> int:
    """flow_D, by a maximum flow from a sending copy of every vertex to a receiving one.  Private.

    >>> star = Graph.from_edges([(0, leaf) for leaf in range(1, 6)], vertices=6)
    >>> [flow(star, bound) for bound in (1, 2, 5)]
    [2, 4, 10]
    """
    import numpy as np
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    degrees, n = graph.degrees, graph.vertices
    if not graph.indices.size or degrees.max() <= bound:
        return int(graph.indices.size)
    # Nodes: senders 0 .. n-1, receivers n .. 2n-1, the source 2n and the sink 2n+1.
    caps = np.minimum(degrees, bound).astype(np.int32)
    starts = np.concatenate([[0], graph.indptr[1:], graph.indices.size + np.arange(1, n + 1)])
    starts = np.concatenate([starts, [starts[-1] + n, starts[-1] + n]]).astype(np.int32)
    heads = np.concatenate([graph.indices + n, np.full(n, 2 * n + 1), np.arange(n)]).astype(np.int32)
    capacity = np.concatenate([np.ones(graph.indices.size, dtype=np.int32), caps, caps])
    network = csr_array((capacity, heads, starts), shape=(2 * n + 2, 2 * n + 2))
    return int(maximum_flow(network, 2 * n, 2 * n + 1).flow_value)


def kept_degrees(graph: Graph, bound: int) -> Counts:
    """The degree of every vertex in kept_D.  Private.

    >>> star = Graph.from_edges([(0, leaf) for leaf in range(1, 6)], vertices=6)
    >>> degrees = kept_degrees(star, 2)
    >>> int(degrees[0]), int(degrees.sum())
    (2, 4)
    """
    import numpy as np

    from discreet.structured.graphs.graph_kernels import bounded

    edges = graph.edges
    order = np.argsort(_place(edges[:, 0], edges[:, 1]), kind="stable")
    load = np.zeros(graph.vertices, dtype=np.int64)
    bounded(np.ascontiguousarray(edges[order]), bound, load)
    return load


def _place(u: npt.NDArray[np.int32], v: npt.NDArray[np.int32]) -> npt.NDArray[np.uint64]:
    """A fixed mixing (splitmix64) of each pair: an order of all pairs that favours no vertex and knows no edge."""
    import numpy as np

    mixed = u.astype(np.uint64) << np.uint64(32) | v.astype(np.uint64)
    for shift, factor in zip((30, 27), MULTIPLIERS, strict=True):
        mixed = (mixed ^ mixed >> np.uint64(shift)) * np.uint64(factor)
    return mixed ^ mixed >> np.uint64(31)  # one to one: two pairs never share a place
