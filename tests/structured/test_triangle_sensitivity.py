"""discreet.structured.graphs.triangle_sensitivity: against every graph on five vertices, and sparse matrices."""

from fractions import Fraction
from functools import cache
from math import exp, log

import numpy as np
import pytest
import scipy.sparse

from discreet.data.graph import Graph
from discreet.structured.graphs.triangle_sensitivity import (
    Ranked,
    TriangleSensitivity,
    smooth_maximum,
    smooth_sensitivity,
)
from tests.structured.small_graphs import SmallGraphs

FIVE = SmallGraphs(5)
DISTANCE = 9


@cache
def within() -> list[list[int]]:
    return FIVE.within(FIVE.local(FIVE.triangles), DISTANCE)


@cache
def ranked() -> list[Ranked]:
    return [Ranked.of(FIVE.graph(mask)) for mask in FIVE.all]


@cache
def sensitivities() -> list[TriangleSensitivity]:
    return [TriangleSensitivity.of(graph) for graph in ranked()]


def random_graph(n, m, seed):
    return Graph.from_edges(np.random.default_rng(seed).integers(0, n, (m, 2)), vertices=n)


def by_matrix(graph):
    """Triangles, LS and the frontier from the square of the adjacency matrix."""
    n = graph.vertices
    matrix = scipy.sparse.csr_array((np.ones(graph.indices.size), graph.indices, graph.indptr), shape=(n, n)).toarray()
    common = matrix @ matrix
    triangles = round((common * matrix).sum() / 6)
    a = common[np.triu_indices(n, 1)].astype(int)
    one = (graph.degrees[:, None] + graph.degrees[None, :] - 2 * common - 2 * matrix)[np.triu_indices(n, 1)].astype(int)
    return triangles, a.max(), {int(k): int(one[a == k].max()) for k in np.unique(a)}


def test_triangles_are_counted():
    assert [graph.triangles() for graph in ranked()] == [FIVE.triangles(mask) for mask in FIVE.all]


def test_the_local_sensitivity_is_the_most_common_neighbours_of_any_two():
    assert [graph.common_neighbours()[0] for graph in ranked()] == within()[0]
    assert [graph.common_neighbours(enough=0)[0] for graph in ranked()] == within()[0]


def test_looking_at_joined_pairs_alone_would_be_caught():
    joined = [
        max((FIVE.triangles(mask) - FIVE.triangles(mask ^ 1 << i) for i in range(10) if mask >> i & 1), default=0)
        for mask in FIVE.all
    ]

    assert joined != within()[0]


@pytest.mark.parametrize("distance", range(DISTANCE + 1))
def test_the_sensitivity_at_a_distance_is_the_largest_within_so_many_flips(distance):
    assert [one.at(distance) for one in sensitivities()] == within()[distance]


def test_one_more_common_neighbour_a_step_would_be_too_much():
    """The twin that forgets that a vertex joined to neither costs two flips."""
    assert any(min(within()[0][mask] + 2, 3) > within()[2][mask] for mask in FIVE.all)


@pytest.mark.parametrize("reach", [2, 3, 5, 10])
def test_the_smooth_sensitivity_is_the_largest_discounted_one(reach):
    ratio = 1 - Fraction(1, reach)
    for mask, graph in enumerate(ranked()):
        exactly = max(ratio**s * within()[s][mask] for s in range(DISTANCE + 1))
        found = smooth_sensitivity(graph, reach)

        assert exactly <= found <= exactly * (1 + Fraction(1, 2**40))


@pytest.mark.parametrize("reach", [2, 10])
def test_the_smooth_sensitivity_is_smooth_and_large_enough(reach):
    found = [smooth_sensitivity(graph, reach) for graph in ranked()]
    most = Fraction(reach, reach - 1) * (1 + Fraction(1, 2**32))  # what the noise is calibrated for

    assert all(there <= here * most for a, b in FIVE.edge_pairs() for here, there in ((found[a], found[b]),))
    assert all(value >= local for value, local in zip(found, within()[0], strict=True))


def test_a_smoothness_exponent_twice_as_large_would_be_caught():
    found = [smooth_sensitivity(graph, 2) for graph in ranked()]

    assert any(found[there] > found[here] * Fraction(3, 2) for here, there in FIVE.edge_pairs())


def test_the_local_sensitivity_itself_is_not_smooth():
    local = within()[0]

    assert any(local[there] > 0 == local[here] for here, there in FIVE.edge_pairs())


@pytest.mark.parametrize(("n", "m"), [(2, 3), (3, 4), (40, 60), (60, 200), (80, 1500), (300, 600), (200, 6000)])
def test_kernels_agree_with_the_square_of_the_adjacency_matrix(n, m):
    graph = random_graph(n, m, seed=n)
    triangles, local, frontier = by_matrix(graph)
    fast = Ranked.of(graph)
    most, widest = fast.common_neighbours()

    assert (fast.triangles(), most) == (triangles, local)
    assert {a: int(b) for a, b in enumerate(widest) if b >= 0} == frontier
    for enough in (0, 1, local, local + 1):
        assert fast.common_neighbours(enough=enough)[0] == local


def test_a_hub_counts_for_pairs_that_share_nothing():
    """Two stars: their centres share nothing and are joined to everything else between them."""
    graph = Graph.from_edges([(0, v) for v in range(2, 50)] + [(1, v) for v in range(50, 90)], vertices=100)
    sensitivity = TriangleSensitivity.of(Ranked.of(graph))

    assert sensitivity.at(0) == 1
    assert [sensitivity.at(s) for s in (10, 88, 98, 108, 200)] == [10, 88, 93, 98, 98]


@pytest.mark.parametrize("reach", [2, 7, 100, 1000])
def test_beyond_the_reach_the_local_sensitivity_is_the_smooth_one(reach):
    """Both ways of working it out agree, at every frontier of one pair."""
    for a in (0, 1, reach // 2, reach - 1, reach, 3 * reach):
        for b in (0, 1, 5, 10 * reach):
            pair = TriangleSensitivity(20 * reach, np.array([a]), np.array([b]))
            rate = -log(1 - 1 / reach)
            slowly = max(exp(-rate * s) * pair.at(s) for s in range(40 * reach if reach < 100 else 4 * reach))

            assert float(smooth_maximum(pair, reach)) == pytest.approx(slowly, rel=1e-9)
            assert a < reach or slowly == pytest.approx(a)


def test_graphs_without_pairs_have_no_sensitivity():
    for n in range(3):
        graph = Ranked.of(Graph.from_edges([], vertices=n))

        assert graph.triangles() == smooth_sensitivity(graph, 10) == TriangleSensitivity.of(graph).at(5) == 0
