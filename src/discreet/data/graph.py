"""A private graph: who is there is public, who is joined to whom is not.

Vertices are 0, 1, ..., vertices - 1 and their number is public, as both relations on graphs say:

    EdgeNeighbours   one edge is added or removed
    NodeNeighbours   the edges at one vertex are changed, however many

Edges are undirected; loops are dropped and an edge listed twice is one edge, so that no step of
either relation changes more than it says.  The adjacency is compressed by rows: the neighbours of
v are indices[indptr[v] : indptr[v + 1]], in increasing order.  Memory is linear in the edges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import DomainError, ParameterError, require

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Indptr = npt.NDArray[np.int64]
    Indices = npt.NDArray[np.int32]
    Labels = Sequence[object] | npt.NDArray[Any]

MOST = (1 << 31) - 1  # vertices: their numbers fit 32 bits with sign


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """An undirected graph without loops on public vertices; made by one of the `from_` constructors.

    >>> triangle_and_tail = Graph.from_edges([(0, 1), (1, 2), (2, 0), (2, 3), (3, 2), (1, 1)], vertices=4)
    >>> triangle_and_tail  # what is private is not shown
    Graph(vertices=4)
    >>> triangle_and_tail.degrees
    array([2, 2, 3, 1])
    """

    vertices: int
    indptr: Indptr
    indices: Indices

    @classmethod
    def from_edges(cls, edges: Labels, *, vertices: int | Labels) -> Graph:
        """The graph with these edges, pairs of vertices.

        `vertices` is their number, and then edges are pairs of 0 .. vertices - 1; or it is the list of
        their names, which is public, and then edges are pairs of names.

        >>> Graph.from_edges([("ann", "bob")], vertices=["ann", "bob", "eve"]).degrees
        array([1, 1, 0])
        """
        import numpy as np

        ends = np.asarray(edges)
        ends = ends.reshape(0, 2) if ends.size == 0 else ends
        require(ends.ndim == 2 and ends.shape[1] == 2, "edges as pairs of vertices", dimensions=ends.ndim)
        if isinstance(vertices, (int, np.integer)):
            require(not isinstance(vertices, bool) and 0 <= vertices <= MOST, "0 <= vertices < 2^31", vertices=vertices)
            return cls._from_ends(*_numbered(ends), int(vertices))
        names = np.unique(np.asarray(vertices))
        require(names.ndim == 1 and names.size <= MOST, "a list of vertices", vertices=type(vertices).__name__)
        require(names.size == len(vertices), "vertices without repetition", distinct=names.size, listed=len(vertices))
        if names.dtype.kind in "iu" and ends.size:
            ends = _exactly(np.asarray(edges, dtype=object) if ends.dtype.kind not in "iu" else ends, names.dtype)
        return cls._from_ends(*_named(ends, names, np.asarray(vertices)), names.size)

    @classmethod
    def from_parquet(
        cls, path: str | Path, *, vertices: int | Labels, source: str = "source", target: str = "target"
    ) -> Graph:
        """The graph whose edges are the rows of a Parquet file, or of all files in a folder."""
        import numpy as np
        import pyarrow.parquet as pq

        table = pq.read_table(path, columns=[source, target], use_threads=False, pre_buffer=False)
        if table.column(source).null_count or table.column(target).null_count:
            raise DomainError("an edge without one of its two vertices")
        ends = [table.column(name).to_numpy() for name in (source, target)]
        return cls.from_edges(np.column_stack(ends), vertices=vertices)

    @classmethod
    def from_networkx(cls, graph: Any) -> Graph:  # noqa: ANN401 - any object with networkx's nodes and edges
        """The graph of a networkx graph: its nodes, in their order, are the public vertices; directions are dropped."""
        place = {node: i for i, node in enumerate(graph.nodes())}
        return cls.from_edges([(place[u], place[v]) for u, v in graph.edges()], vertices=len(place))

    @classmethod
    def from_scipy(cls, matrix: Any) -> Graph:  # noqa: ANN401 - any scipy sparse matrix or array
        """The graph of a square sparse matrix: u and v are joined if entry (u, v) or (v, u) is not zero.

        >>> import scipy.sparse
        >>> Graph.from_scipy(scipy.sparse.csr_array([[0, 1, 0], [0, 0, 2], [0, 0, 5]])).degrees
        array([1, 2, 1])
        """
        require(matrix.shape[0] == matrix.shape[1] <= MOST, "a square matrix", shape=matrix.shape)
        entries = matrix.tocoo()
        there = entries.data != 0
        return cls._from_ends(entries.row[there], entries.col[there], int(matrix.shape[0]))

    @classmethod
    def _from_ends(cls, u: npt.NDArray[Any], v: npt.NDArray[Any], vertices: int) -> Graph:
        """Symmetric, without loops and repetitions, by a counting sort: time and memory linear in the edges."""
        import numpy as np
        from scipy.sparse import coo_array

        if u.size and (min(u.min(), v.min()) < 0 or max(u.max(), v.max()) >= vertices):
            raise DomainError("an edge leads to a vertex outside 0 .. vertices - 1")
        apart = u != v
        rows, columns = u[apart].astype(np.int32), v[apart].astype(np.int32)
        one_way = coo_array((np.ones(rows.size, dtype=bool), (rows, columns)), shape=(vertices, vertices)).tocsr()
        both = (one_way + one_way.T).tocsr()  # of truth values, where 1 + 1 = 1
        both.sum_duplicates()
        both.sort_indices()
        return cls(vertices, both.indptr.astype(np.int64), both.indices.astype(np.int32))

    def __repr__(self) -> str:
        return f"Graph(vertices={self.vertices})"

    @property
    def degrees(self) -> Indptr:
        """How many neighbours each vertex has.  Private."""
        import numpy as np

        return np.diff(self.indptr)

    @property
    def edges(self) -> Indices:
        """Every edge once, the smaller vertex first, in lexicographic order.  Private."""  # (edges, 2)
        import numpy as np

        left = np.repeat(np.arange(self.vertices, dtype=np.int32), self.degrees)
        once = left < self.indices
        return np.column_stack([left[once], self.indices[once]])


def checked(graph: object) -> Graph:
    """The graph, if it is one: what every count of a graph begins with."""
    if not isinstance(graph, Graph):
        raise ParameterError(f"need a Graph, got {type(graph).__name__}")
    return graph


def _numbered(ends: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Both columns, which must hold integers."""
    require(ends.dtype.kind in "iu" or ends.size == 0, "vertices as integers, or their names", dtype=str(ends.dtype))
    return ends[:, 0], ends[:, 1]


def _exactly(ends: npt.NDArray[Any], kind: np.dtype[Any]) -> npt.NDArray[Any]:
    """The same whole numbers in another type: signed and unsigned ones would meet as floats, and lose their ends."""
    import numpy as np

    if ends.dtype == object:
        whole = all(isinstance(end, (int, np.integer)) and not isinstance(end, bool) for end in ends.flat)
        require(whole, "vertices as integers, as they are listed", dtype=str(ends.dtype))
    range_of = np.iinfo(kind)
    if not ((ends >= range_of.min) & (ends <= range_of.max)).all():
        raise DomainError("an edge leads to a vertex that is not in the list")
    return ends.astype(kind)


def _named(
    ends: npt.NDArray[Any], names: npt.NDArray[Any], order: npt.NDArray[Any]
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Both columns, each name replaced by its place in the list."""
    import numpy as np

    if not ends.size:
        return ends[:, 0].astype(np.int64), ends[:, 1].astype(np.int64)
    found = np.minimum(np.searchsorted(names, ends), max(names.size - 1, 0))
    if not names.size or not (names[found] == ends).all():
        raise DomainError("an edge leads to a vertex that is not in the list")
    place = np.empty(names.size, dtype=np.int64)
    place[np.searchsorted(names, order)] = np.arange(names.size)
    return place[found[:, 0]], place[found[:, 1]]
