"""discreet.structured.graphs.node_privacy and node_triangles: claims, errors, and the bound read off the data."""

import math

import numpy as np
import pytest

from discreet.attacks import audit
from discreet.attacks.broken import DegreeBoundFromData
from discreet.attacks.confidence import clopper_pearson
from discreet.data import Graph
from discreet.errors import ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.privacy.event import ComposedEvent, ExponentialEvent, LaplaceEvent, PureEvent
from discreet.privacy.guarantee import PureDP
from discreet.privacy.neighbours import NodeNeighbours
from discreet.structured import DegreeBound, NodeDegreeHistogram, NodeEdgeCount, NodeTriangleCount
from discreet.structured.graphs.triangle_sensitivity import Ranked

RING = Graph.from_edges([(i, (i + j) % 200) for i in range(200) for j in (1, 2)], vertices=200)  # degrees 4
HUB = Graph.from_edges(
    [(i, (i + j) % 200) for i in range(200) for j in (1, 2)] + [(0, v) for v in range(3, 198)], vertices=200
)
COUNTS = (NodeEdgeCount, NodeTriangleCount)


@pytest.mark.parametrize(("make", "truth"), [(NodeEdgeCount, 400), (NodeTriangleCount, 200)])
def test_bounded_graphs_are_counted_whole(make, truth):
    assert make(epsilon=100_000, degree_bound=4)(RING) == truth


@pytest.mark.parametrize("make", COUNTS)
def test_a_hub_counts_for_no_more_than_the_bound(make):
    """One vertex rewired: the answers before the noise are as close as the noise is made for."""
    for bound in (4, 10):
        mechanism = make(epsilon=100_000, degree_bound=bound)
        sensitivity = mechanism.event().sensitivity

        assert abs(mechanism(HUB) - mechanism(RING)) <= sensitivity


def test_the_histogram_of_a_bounded_graph_is_its_own():
    assert NodeDegreeHistogram(epsilon=100_000, degree_bound=5)(RING).tolist() == [0, 0, 0, 0, 200, 0]


def test_noise_is_made_for_the_theorem():
    assert NodeEdgeCount(epsilon=1, degree_bound=7).event() == LaplaceEvent(scale=14, sensitivity=14)
    assert NodeTriangleCount(epsilon=1, degree_bound=7).event() == LaplaceEvent(scale=22, sensitivity=22)
    assert NodeDegreeHistogram(epsilon=1, degree_bound=7).event() == LaplaceEvent(scale=30, sensitivity=30)


@pytest.mark.parametrize("seed", range(3))
def test_without_a_bound_a_boundless_budget_counts_everything(seed):
    """Costs that were rounded up lost a sixth of the triangles at any epsilon."""
    places = np.random.default_rng(seed)
    edges = places.integers(0, 150, (1200, 2))
    graph = Graph.from_edges(np.unique(np.sort(edges[edges[:, 0] != edges[:, 1]], axis=1), axis=0), vertices=150)

    for epsilon in (10**6, 10**5):
        assert NodeEdgeCount(epsilon=epsilon, degree_bound=None)(graph) == graph.indices.size // 2
        assert NodeTriangleCount(epsilon=epsilon, degree_bound=None)(graph) == Ranked.of(graph).triangles()


@pytest.mark.parametrize("make", COUNTS)
def test_a_bound_that_is_chosen_is_paid_for(make):
    half = (ExponentialEvent(epsilon=0.25), PureEvent(epsilon=0.25))

    assert make(epsilon=0.5, degree_bound=None).event() == ComposedEvent(events=half)
    assert make(epsilon=0.5, degree_bound=None).privacy() == PureDP(0.5, neighbours=NodeNeighbours)
    assert make(epsilon=0.5, degree_bound=3).privacy() == PureDP(0.5, neighbours=NodeNeighbours)


@pytest.mark.statistical
def test_a_sensible_bound_is_chosen():
    """Degrees are 4 but for the hub: at this epsilon nearly always 4 to 16."""
    bound, rng = DegreeBound(epsilon=4, counting=4), SeededRandom(1)
    wide = Graph.from_edges([(i, (i + j) % 4000) for i in range(4000) for j in (1, 2)], vertices=4000)
    chosen = [bound(wide, rng=rng) for _ in range(20)]

    assert set(chosen) <= {2, 4, 8, 16, 32}
    assert sorted(chosen)[10] in (4, 8)


@pytest.mark.statistical
@pytest.mark.parametrize(("make", "truth"), [(NodeEdgeCount, 400), (NodeTriangleCount, 200)])
def test_the_error_exceeds_alpha_with_probability_at_most_beta(make, truth):
    mechanism, rng, runs = make(epsilon=1, degree_bound=4), SeededRandom(2), 1500
    errors = np.array([abs(mechanism(RING, rng=rng) - truth) for _ in range(runs)])

    for beta in (0.5, 0.05):
        assert clopper_pearson(int((errors > mechanism.accuracy(beta)).sum()), runs, beta=1e-6)[0] <= beta
    assert (errors > mechanism.accuracy(0.05) // 3).mean() > 0.15


@pytest.mark.statistical
def test_no_bin_is_off_by_more_than_alpha():
    mechanism, rng = NodeDegreeHistogram(epsilon=1, degree_bound=5), SeededRandom(3)
    released = np.array([mechanism(RING, rng=rng) for _ in range(200)])
    errors = np.abs(released - [0, 0, 0, 0, 200, 0]).max(axis=1)

    assert (errors > mechanism.accuracy(0.001)).sum() < 6  # six or more have a probability below 1e-6
    assert (errors > mechanism.accuracy(0.9)).sum() > 50


@pytest.mark.statistical
def test_an_audit_finds_no_more_than_epsilon():
    class Counted:
        """The same release many times: the flow is worked out once."""

        honest = NodeEdgeCount(epsilon=1, degree_bound=3)

        def releases(self, graph, count, *, rng=None):
            from discreet.structured.graphs.bounded_degree import flow

            return self.honest._noise(3)(np.full(count, flow(graph, 3)), rng=rng)

        def privacy(self):
            return self.honest.privacy()

        def __call__(self, graph, *, rng=None):
            return self.releases(graph, 1, rng=rng)[0]

    twin = DegreeBoundFromData(epsilon=1)
    honest = audit(Counted(), twin.worst, 100_000, rng=SeededRandom(4))

    assert not honest.violates()
    assert audit(twin, twin.worst, 100_000, rng=SeededRandom(4)).violates()


def test_both_numbers_are_released_for_one_price():
    value, bound = NodeEdgeCount(epsilon=8, degree_bound=None).with_bound(RING, rng=SeededRandom(5))

    assert bound in DegreeBound.candidates(200)
    assert abs(value - 400) < 2000
    assert NodeTriangleCount(epsilon=1, degree_bound=4).with_bound(RING)[1] == 4


@pytest.mark.parametrize("make", COUNTS)
def test_the_error_of_a_chosen_bound_is_not_known(make):
    with pytest.raises(UnsupportedError, match="declare degree_bound="):
        make(epsilon=1, degree_bound=None).accuracy()


def test_how_good_a_bound_is_depends_on_the_graph():
    with pytest.raises(UnsupportedError, match="depends on the graph"):
        DegreeBound(epsilon=1, counting=1).accuracy()


@pytest.mark.parametrize("n", range(4))
def test_the_smallest_graphs_are_counted_too(n):
    empty = Graph.from_edges([], vertices=n)
    for make in COUNTS:
        for bound in (None, 2):
            assert isinstance(make(epsilon=1, degree_bound=bound)(empty), int)
    assert NodeDegreeHistogram(epsilon=1, degree_bound=2)(empty).shape == (3,)


@pytest.mark.parametrize("make", [*COUNTS, NodeDegreeHistogram])
@pytest.mark.parametrize(
    "bad", [{"epsilon": e} for e in (0, math.nan, True)] + [{"degree_bound": d} for d in (0, 2.0, True)]
)
def test_rejects_bad_numbers(make, bad):
    with pytest.raises(ParameterError):
        make(**{"epsilon": 1, "degree_bound": 3} | bad)


@pytest.mark.parametrize("make", [*COUNTS, NodeDegreeHistogram])
def test_what_is_not_a_graph_is_refused(make):
    with pytest.raises(ParameterError, match="need a Graph"):
        make(epsilon=1, degree_bound=3)([(0, 1)])
