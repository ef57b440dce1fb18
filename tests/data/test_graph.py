"""discreet.data.graph: what a graph is, whatever it was made from, and what it does not tell."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse

import discreet
from discreet.data import Graph
from discreet.errors import ParameterError, SourceError

EDGES = [(0, 1), (1, 0), (1, 2), (2, 2), (3, 1), (1, 3), (1, 3)]  # loops and repetitions in both directions
CLEAN = [[0, 1], [1, 2], [1, 3]]


def test_loops_and_repetitions_are_dropped():
    graph = Graph.from_edges(EDGES, vertices=5)

    assert graph.edges.tolist() == CLEAN
    assert graph.degrees.tolist() == [1, 3, 1, 1, 0]


def test_an_edge_listed_many_times_is_one_edge():
    """A counter of one byte would lose the edge at 256."""
    for times in (1, 2, 128, 255, 256, 257, 512):
        assert Graph.from_edges([(0, 1)] * times + [(1, 0)] * times, vertices=2).edges.tolist() == [[0, 1]]


def test_lists_of_neighbours_are_symmetric_and_sorted():
    pairs = np.random.default_rng(1).integers(0, 50, (400, 2))
    graph = Graph.from_edges(pairs, vertices=50)
    rows = [graph.indices[a:b].tolist() for a, b in zip(graph.indptr[:-1], graph.indptr[1:], strict=True)]

    assert all(row == sorted(set(row)) for row in rows)
    assert all((u in rows[v]) and u != v for u, row in enumerate(rows) for v in row)
    assert {(u, v) for u, row in enumerate(rows) for v in row if u < v} == {
        (min(u, v), max(u, v)) for u, v in pairs.tolist() if u != v
    }


class Network:
    """What a networkx graph shows of itself; the vertices have names."""

    def nodes(self):
        return "abcde"

    def edges(self):
        return [("abcde"[u], "abcde"[v]) for u, v in EDGES]


def test_every_constructor_makes_the_same_graph(tmp_path):
    pq.write_table(pa.table({"a": [u for u, _ in EDGES], "b": [v for _, v in EDGES]}), tmp_path / "edges.parquet")
    matrix = np.zeros((5, 5))
    for u, v in EDGES:
        matrix[u, v] = 7
    graphs = [
        Graph.from_edges(np.array(EDGES, dtype=np.uint32), vertices=5),
        Graph.from_edges(EDGES, vertices=range(5)),
        Graph.from_parquet(tmp_path / "edges.parquet", vertices=5, source="a", target="b"),
        Graph.from_networkx(Network()),
        Graph.from_scipy(scipy.sparse.coo_array(matrix)),
        Graph.from_scipy(scipy.sparse.csr_matrix(matrix)),
    ]

    assert [graph.edges.tolist() for graph in graphs] == [CLEAN] * len(graphs)
    assert {graph.vertices for graph in graphs} == {5}


def test_names_stand_for_their_places_in_the_list():
    graph = Graph.from_edges([("eve", "bob"), ("bob", "ann")], vertices=["eve", "ann", "bob"])

    assert graph.edges.tolist() == [[0, 2], [1, 2]]
    assert Graph.from_edges([], vertices=["eve"]).degrees.tolist() == [0]


def test_one_edge_more_is_one_edge_more_however_long_the_names_are():
    """numpy makes floats of 2^60 and 2^63 together, in which 2^60 and 2^60 + 1 are one vertex."""
    names = np.array([1, 2**63, 2**60, 2**60 + 1, 2**60 + 2, 2**60 + 3], dtype=np.uint64)
    edges = [(2**60, 2**60 + 1), (2**60 + 2, 2**60 + 3)]
    more = [*edges, (2**63, 1)]

    assert Graph.from_edges(edges, vertices=names).degrees.tolist() == [0, 0, 1, 1, 1, 1]
    assert Graph.from_edges(more, vertices=names).degrees.tolist() == [1, 1, 1, 1, 1, 1]
    assert Graph.from_edges(np.array(more, dtype=np.uint64), vertices=names).degrees.tolist() == [1, 1, 1, 1, 1, 1]
    assert len({float(name) for name in names}) == 3  # the twin


@pytest.mark.parametrize("edge", [(5.0, 7), ("5", "7"), (5, None), (5.5, 7), (-1, 5), (2**63, 5), (2**70, 5), ([5], 7)])
def test_an_edge_to_what_is_no_vertex_is_dropped_and_blurs_no_other(edge):
    names = [1, 5, 7, 2**60, 2**60 + 1]

    assert Graph.from_edges([(2**60, 2**60 + 1), edge], vertices=names).edges.tolist() == [[3, 4]]


def test_edges_of_another_type_are_refused():
    for edges in (np.array([[5.0, 7.0]]), np.array([[True, False]]), [(1, 2, 3)], [1, 2]):
        with pytest.raises(ParameterError):
            Graph.from_edges(edges, vertices=[1, 5, 7])
        with pytest.raises(ParameterError):
            Graph.from_edges(edges, vertices=9)


def test_names_are_read_from_parquet(tmp_path):
    pq.write_table(pa.table({"source": ["eve", "bob"], "target": ["bob", "ann"]}), tmp_path / "edges.parquet")
    graph = Graph.from_parquet(tmp_path / "edges.parquet", vertices=["eve", "ann", "bob"])

    assert graph.edges.tolist() == [[0, 2], [1, 2]]


@pytest.mark.parametrize("vertices", [0, 1, 3])
def test_a_graph_may_have_no_edges(vertices):
    for edges in ([], np.empty((0, 2), dtype=np.int64)):
        graph = Graph.from_edges(edges, vertices=vertices)

        assert graph.degrees.tolist() == [0] * vertices
        assert graph.edges.shape == (0, 2)


def test_what_is_private_is_not_shown():
    assert repr(Graph.from_edges(EDGES, vertices=5)) == "Graph(vertices=5)"


def test_an_edge_to_nowhere_is_dropped_so_that_no_edge_decides_whether_a_call_fails(tmp_path):
    for bad in ((0, 5), (-1, 0), (2**40, 1), (None, 1), (float("nan"), 1), (2**70, 1)):
        assert Graph.from_edges([(0, 1), bad], vertices=5).edges.tolist() == [[0, 1]]
    for known in (["ann", "bob"], ["bob", "ann", 3]):
        kept = Graph.from_edges([("ann", "bob"), ("ann", "mallory"), ("bob", None)], vertices=known)
        assert kept.edges.tolist() == [[0, 1]]
    assert Graph.from_edges([("ann", "mallory")], vertices=[]).vertices == 0
    pq.write_table(pa.table({"source": [0, None, 3], "target": [1, 2, None]}), tmp_path / "edges.parquet")
    assert Graph.from_parquet(tmp_path / "edges.parquet", vertices=5).edges.tolist() == [[0, 1]]


@pytest.mark.parametrize("vertices", [-1, True, 2**31, 2.5, ["a", "a"]])
def test_bad_vertices_are_refused(vertices):
    with pytest.raises((ParameterError, TypeError)):
        Graph.from_edges([(0, 1)], vertices=vertices)


@pytest.mark.parametrize("edges", [[0, 1], [(0, 1, 2)], np.array([(0.5, 1.0)]), np.array([(True, False)])])
def test_what_is_not_a_pair_of_whole_numbers_is_refused(edges):
    with pytest.raises(ParameterError):
        Graph.from_edges(edges, vertices=5)


def test_a_matrix_that_is_not_square_is_refused():
    with pytest.raises(ParameterError, match="a square matrix"):
        Graph.from_scipy(scipy.sparse.csr_array((2, 3)))


def test_the_package_has_graphs_at_the_top():
    assert discreet.Graph is Graph


def test_files_of_edges_that_do_not_fit_together_are_refused_without_a_value(tmp_path):
    """Arrow casts to the types of the first file, and its error quotes the number that does not fit."""
    for name, kind, end in (("a", pa.int8(), 1), ("b", pa.int64(), 4711)):
        edges = pa.table({"source": pa.array([0], kind), "target": pa.array([end], kind)})
        pq.write_table(edges, tmp_path / f"{name}.parquet")

    with pytest.raises(SourceError, match=r"cannot be read in .*: Arrow") as caught:
        Graph.from_parquet(tmp_path, vertices=5000)
    assert "4711" not in str(caught.value)
    assert caught.value.__context__ is None
    with pytest.raises(SourceError, match="no file"):
        Graph.from_parquet(tmp_path / "nowhere.parquet", vertices=5)
