"""discreet.structured.graphs.stars: every claim in the module docstring, on every graph with five vertices."""

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from discreet.attacks.confidence import clopper_pearson
from discreet.data.graph import Graph
from discreet.errors import ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.privacy.event import PureEvent
from discreet.privacy.guarantee import PureDP
from discreet.privacy.neighbours import EdgeNeighbours
from discreet.structured.graphs.stars import StarCount, StarSensitivity, stars
from tests.structured.small_graphs import SmallGraphs

FIVE = SmallGraphs(5)
DISTANCE = 8
KS = (2, 3, 4)


@cache
def within(k):
    return FIVE.within(FIVE.local(lambda mask: FIVE.stars(mask, k)), DISTANCE)


@cache
def sensitivities(k):
    return [StarSensitivity.of(FIVE.graph(mask), k) for mask in FIVE.all]


@pytest.mark.parametrize("k", KS)
def test_stars_are_counted(k):
    assert [stars(FIVE.graph(mask), k) for mask in FIVE.all] == [FIVE.stars(mask, k) for mask in FIVE.all]


@pytest.mark.parametrize("k", KS)
def test_the_sensitivity_at_a_distance_is_the_largest_within_so_many_flips(k):
    for distance in range(DISTANCE + 1):
        assert [one.at(distance) for one in sensitivities(k)] == within(k)[distance]


def test_the_two_largest_degrees_alone_would_be_caught():
    """The twin that forgets to leave out the edge between them: it moves two degrees at once."""

    def top(mask):
        x, y = sorted(FIVE.degrees(mask))[-2:]
        return x + y

    assert any(top(there) > top(here) + 1 for here, there in FIVE.edge_pairs())


@pytest.mark.parametrize("k", KS)
@pytest.mark.parametrize("reach", [2, 10])
def test_the_smooth_sensitivity_is_the_largest_discounted_one_and_smooth(k, reach):
    ratio = 1 - Fraction(1, reach)
    found = [one.smooth(reach) for one in sensitivities(k)]
    for mask in FIVE.all:
        exactly = max(ratio**s * within(k)[s][mask] for s in range(DISTANCE + 1))

        assert exactly <= found[mask] <= exactly * (1 + Fraction(1, 2**34))
    most = (1 + Fraction(1, 2**32)) / ratio
    assert all(found[there] <= found[here] * most for here, there in FIVE.edge_pairs())


def test_many_distances_are_looked_at_where_much_can_still_come():
    """An empty graph on a million vertices, 5-stars: the largest discounted value lies thousands of steps away."""
    empty = StarSensitivity(10**6 - 2, 5, np.array([0]), np.array([0]))
    rate = -math.log(1 - 1 / 1000)
    slowly = max(math.exp(-rate * s) * empty.at(s) for s in range(3000, 6000))

    assert float(empty.smooth(1000)) == pytest.approx(slowly, rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_pairs_that_another_exceeds_are_not_needed(seed):
    graph = Graph.from_edges(np.random.default_rng(seed).integers(0, 30, (120, 2)), vertices=30)
    joined = {(int(u), int(v)) for u, v in graph.edges}
    degrees = graph.degrees.tolist()
    for s in (0, 1, 7, 40):
        best = 0
        for u in range(30):
            for v in range(u):
                a = (v, u) in joined
                x, y = sorted((degrees[u] - a, degrees[v] - a), reverse=True)
                p = min(s, 28 - x)
                best = max(best, math.comb(x + p, 2) + math.comb(y + min(s - p, 28 - y), 2))

        assert StarSensitivity.of(graph, 3).at(s) == best


@pytest.mark.statistical
def test_the_error_exceeds_alpha_with_probability_at_most_beta():
    ring = Graph.from_edges([(i, (i + j) % 200) for i in range(200) for j in (1, 2, 3)], vertices=200)
    count, runs = StarCount(epsilon=1, k=2), 50_000
    errors = np.abs(count.releases(ring, runs, rng=SeededRandom(1)) - 200 * 15)

    for beta in (0.5, 0.05):
        alpha = count.accuracy(beta, vertices=200, max_degree=6)
        assert clopper_pearson(int((errors > alpha).sum()), runs, beta=1e-6)[0] <= beta
    assert (errors > alpha // 3).mean() > 0.05
    assert count.accuracy(vertices=200) > alpha


def test_the_event_and_the_guarantee_say_what_ran():
    count = StarCount(epsilon=0.5, k=3)

    assert count.privacy() == PureDP(0.5, neighbours=EdgeNeighbours)
    assert count.event() == PureEvent(epsilon=0.5)
    assert isinstance(count(FIVE.graph(77)), int)


@pytest.mark.parametrize("bad", [{"epsilon": 0}, {"epsilon": math.nan}, {"k": 1}, {"k": 21}, {"k": 2.0}, {"k": True}])
def test_rejects_bad_numbers(bad):
    with pytest.raises(ParameterError):
        StarCount(**{"epsilon": 1, "k": 2} | bad)


def test_the_error_is_not_known_without_public_facts():
    with pytest.raises(UnsupportedError, match="pass vertices="):
        StarCount(epsilon=1, k=2).accuracy()
    for bad in ({"vertices": -1}, {"vertices": True}, {"vertices": 9, "max_degree": 2.5}):
        with pytest.raises(ParameterError):
            StarCount(epsilon=1, k=2).accuracy(**bad)


@pytest.mark.parametrize("n", range(3))
def test_the_smallest_graphs_have_no_stars(n):
    assert StarCount(epsilon=1, k=2)(Graph.from_edges([], vertices=n)) == 0
