"""A private graph: who is there is public, who is joined to whom is not.

Vertices are 0, 1, ..., vertices - 1 and their number is public, as both relations on graphs say:

    EdgeNeighbours   one edge is added or removed
    NodeNeighbours   the edges at one vertex are changed, however many

Edges are undirected; loops are dropped, as are edges that lead to what is no vertex, and an edge listed twice is one
edge, so that no step of either relation changes more than it says, and no edge decides whether a call fails.
The adjacency is compressed by rows: the neighbours of
v are indices[indptr[v] : indptr[v + 1]], in increasing order.  Memory is linear in the edges.
"""

from __future__ import annotations

from collections.abc import Sequence, Sized
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import ParameterError, SourceError, require

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

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("a private graph cannot be copied or stored")

    @classmethod
    def from_edges(cls, edges: Labels, *, vertices: int | Labels) -> Graph:
        """The graph with these edges, pairs of vertices.

        `vertices` is their number, and then edges are pairs of 0 .. vertices - 1; or it is the list of
        their names, which is public, and then edges are pairs of names.

        >>> Graph.from_edges([("ann", "bob")], vertices=["ann", "bob", "eve"]).degrees
        array([1, 1, 0])
        """
        import numpy as np

        ends = _pairs(edges)
        require(ends.ndim == 2 and ends.shape[1] == 2, "edges as pairs of vertices", dimensions=ends.ndim)
        if isinstance(vertices, (int, np.integer)):
            require(not isinstance(vertices, bool) and 0 <= vertices <= MOST, "0 <= vertices < 2^31", vertices=vertices)
            return cls._from_ends(*_numbered(ends), int(vertices))
        names = np.unique(np.asarray(vertices))
        require(names.ndim == 1 and names.size <= MOST, "a list of vertices", vertices=type(vertices).__name__)
        require(names.size == len(vertices), "vertices without repetition", distinct=names.size, listed=len(vertices))
        if names.dtype.kind in "iu" and ends.size:
            require(ends.dtype.kind in "iuO", "vertices as integers, as they are listed", dtype=str(ends.dtype))
            ends = _exactly(ends, names.dtype)
        return cls._from_ends(*_named(ends, names, np.asarray(vertices)), names.size)

    @classmethod
    def from_parquet(
        cls, path: str | Path, *, vertices: int | Labels, source: str = "source", target: str = "target"
    ) -> Graph:
        """The graph whose edges are the rows of a Parquet file, or of all files in a folder."""
        import numpy as np
        import pyarrow.parquet as pq

        table, kind = None, ""
        try:
            table = pq.read_table(path, columns=[source, target], use_threads=False, pre_buffer=False)
        except FileNotFoundError:
            raise SourceError(f"no file {str(path)!r}", declared=str(path)) from None
        except Exception as error:  # its text may quote a value
            kind = type(error).__name__
        if table is None:
            raise SourceError(f"edges from {source!r} to {target!r} cannot be read in {str(path)!r}: {kind}")
        kept = table.drop_null()  # an edge without one of its two vertices is none
        ends = [kept.column(name).to_numpy() for name in (source, target)]
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

        apart = (u != v) & (u >= 0) & (v >= 0) & (u < vertices) & (v < vertices)
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


def _pairs(edges: Labels) -> npt.NDArray[Any]:
    """The edges as an array (edges, 2), of objects where no other type holds all ends of a list as they are."""
    import numpy as np

    try:
        ends = np.asarray(edges)
    except ValueError:  # ends that are themselves lists
        ends = np.empty(0, dtype=object)
    if isinstance(edges, (list, tuple)) and len(edges) and ends.dtype.kind not in "iu":
        ends = np.empty((len(edges), 2), dtype=object)  # else one end would set the type of all
        for place, pair in enumerate(edges):
            require(isinstance(pair, Sized) and len(pair) == 2, "edges as pairs of vertices", edges="another kind")
            ends[place, 0], ends[place, 1] = pair  # type: ignore[misc]
    return ends.reshape(0, 2) if ends.size == 0 else ends


def _numbered(ends: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Both columns, which must hold integers; in an array of objects -1 stands for what is none."""
    import numpy as np

    kind = ends.dtype.kind
    require(kind in "iuO" or ends.size == 0, "vertices as integers, or their names", dtype=str(ends.dtype))
    if kind == "O" and ends.size:
        ends = np.array([_whole(end) for end in ends.flat], dtype=np.int64).reshape(ends.shape)
    return ends[:, 0], ends[:, 1]


def _whole(end: object) -> int:
    """The number of a vertex, or -1."""
    import numpy as np

    number = isinstance(end, (int, np.integer)) and not isinstance(end, bool)
    return int(end) if number and 0 <= end <= MOST else -1  # type: ignore[operator, call-overload]


def _exactly(ends: npt.NDArray[Any], kind: np.dtype[Any]) -> npt.NDArray[Any]:
    """The edges whose ends are whole numbers of another type, in it: signed and unsigned ones would meet as floats."""
    import numpy as np

    if ends.dtype == object:
        whole = [isinstance(end, (int, np.integer)) and not isinstance(end, bool) for end in ends.flat]
        ends = ends[np.array(whole, dtype=bool).reshape(ends.shape).all(axis=1)]
    range_of = np.iinfo(kind)
    inside = ((ends >= range_of.min) & (ends <= range_of.max)).astype(bool).all(axis=1)
    return ends[inside].astype(kind)


def _named(
    ends: npt.NDArray[Any], names: npt.NDArray[Any], order: npt.NDArray[Any]
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Both columns, each name replaced by its place in the list; edges to what is not listed are dropped."""
    import numpy as np

    if not ends.size:
        return ends[:, 0].astype(np.int64), ends[:, 1].astype(np.int64)
    if ends.dtype == object or names.dtype == object:  # of any types, which need not have an order among them
        at = {name: i for i, name in enumerate(order.tolist())}
        known = [tuple(at.get(end, -1) if _hashable(end) else -1 for end in pair) for pair in ends.tolist()]
        found = np.array(known, dtype=np.int64).reshape(-1, 2)
        return found[:, 0], found[:, 1]
    found = np.minimum(np.searchsorted(names, ends), max(names.size - 1, 0))
    there = (names[found] == ends).all(axis=1) if names.size else np.zeros(len(ends), dtype=bool)
    place = np.empty(names.size, dtype=np.int64)
    place[np.searchsorted(names, order)] = np.arange(names.size)
    kept = found[there]
    return place[kept[:, 0]], place[kept[:, 1]]


def _hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True
