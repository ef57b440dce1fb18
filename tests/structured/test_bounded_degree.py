"""Extensions of graph counts to unbounded degrees, and their choice: every pair of node neighbours on few vertices."""

import math
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest

from discreet.data.graph import Graph
from discreet.errors import ParameterError
from discreet.hazmat.entropy import SeededRandom
from discreet.privacy.number import exact
from discreet.structured.graphs.bounded_degree import flow, kept_degrees
from discreet.structured.graphs.extension_choice import UNIT, ExtensionChoice
from discreet.structured.graphs.triangle_packing import Packing, simplex
from tests.structured.small_graphs import SmallGraphs

FIVE, FOUR = SmallGraphs(5), SmallGraphs(4)
BOUNDS = (1, 2, 3)
CAPS = (1, 3)


@cache
def node_pairs(n):
    here, there = np.array(list((FIVE if n == 5 else FOUR).node_pairs())).T
    return here, there


def furthest(values, n=5):
    """The largest l1 change over all pairs of node neighbours."""
    here, there = node_pairs(n)
    change = np.abs(values[here] - values[there])
    return int((change if change.ndim == 1 else change.sum(axis=1)).max())


@cache
def flows(bound):
    return np.array([flow(FIVE.graph(mask), bound) for mask in FIVE.all])


@cache
def kept(bound):
    return np.array([kept_degrees(FIVE.graph(mask), bound) for mask in FIVE.all])


@cache
def packings(cap):
    return [Packing.of(FIVE.graph(mask), cap) for mask in FIVE.all]


@cache
def exactly(cap):
    """The whole value, in rationals."""
    return np.array([p.free + (p.exactly() if p.overfull else 0) for p in packings(cap)], dtype=object)


@cache
def rounded(cap):
    return np.array([packing.value() for packing in packings(cap)])


DEGREES = np.array([FIVE.degrees(mask) for mask in FIVE.all])
TRIANGLES = np.array([FIVE.triangles(mask) for mask in FIVE.all])


@pytest.mark.parametrize("bound", BOUNDS)
def test_the_flow_is_twice_the_edges_where_degrees_are_bounded_and_no_more_elsewhere(bound):
    edges = DEGREES.sum(axis=1)
    within = DEGREES.max(axis=1) <= bound

    assert (flows(bound)[within] == edges[within]).all()
    assert (flows(bound) <= np.minimum(DEGREES, bound).sum(axis=1)).all()


@pytest.mark.parametrize("bound", BOUNDS)
def test_the_flow_moves_by_at_most_twice_the_bound(bound):
    assert furthest(flows(bound)) == 2 * bound


def test_the_flow_at_the_largest_degree_of_the_data_moves_by_more():
    """The twin: a bound read off the data."""
    own, bound = DEGREES.sum(axis=1), np.maximum(DEGREES.max(axis=1), 1)
    here, there = node_pairs(5)

    assert (np.abs(own[here] - own[there]) > 2 * np.minimum(bound[here], bound[there])).any()


@pytest.mark.parametrize("bound", [1, 2])
def test_the_flow_is_the_best_of_all_flows(bound):
    """By the linear program on graphs with four vertices."""
    from scipy.optimize import linprog

    for mask in FOUR.all:
        arcs = [(u, v) for a, b in FOUR.edges(mask) for u, v in ((a, b), (b, a))]
        if not arcs:
            continue
        rows = [[float(arc[end] == v) for arc in arcs] for end in (0, 1) for v in range(4)]
        best = linprog([-1.0] * len(arcs), A_ub=rows, b_ub=[float(bound)] * 8, bounds=(0, 1))

        assert flow(FOUR.graph(mask), bound) == round(-best.fun)


@pytest.mark.parametrize("bound", BOUNDS)
def test_everything_is_kept_where_degrees_are_bounded_and_never_too_much(bound):
    within = DEGREES.max(axis=1) <= bound

    assert (kept(bound)[within] == DEGREES[within]).all()
    assert kept(bound).max() <= bound
    assert (kept(bound) <= DEGREES).all()


@pytest.mark.parametrize("bound", BOUNDS)
def test_other_degrees_move_by_at_most_twice_the_bound_and_the_histogram_by_four_times_and_two(bound):
    histograms = (kept(bound)[:, :, None] == np.arange(bound + 1)).sum(axis=1)

    assert furthest(kept(bound)) <= 3 * bound
    assert furthest(histograms) <= 4 * bound + 2


def test_dropping_the_vertices_above_the_bound_would_be_caught():
    """The naive twin: one new edge takes many vertices over the bound, and all their edges go at once."""
    naive = []
    for mask in FIVE.all:
        out = {v for v, degree in enumerate(DEGREES[mask]) if degree > 1}
        naive.append([sum(v in edge for edge in FIVE.edges(mask) if not out & set(edge)) for v in range(5)])
    histograms = (np.array(naive)[:, :, None] == np.arange(2)).sum(axis=1)

    assert furthest(histograms) > 4 * 1 + 2


def test_the_order_of_edges_knows_no_edge():
    """Keeping the whole order when an edge goes is what the proof rests on."""
    graph = Graph.from_edges(np.random.default_rng(3).integers(0, 40, (300, 2)), vertices=40)
    for left_out in range(0, len(graph.edges), 17):
        fewer = Graph.from_edges(np.delete(graph.edges, left_out, axis=0), vertices=40)

        assert np.abs(kept_degrees(graph, 5) - kept_degrees(fewer, 5)).sum() <= 2 + 2


@pytest.mark.parametrize("seed", range(4))
def test_larger_graphs_move_no_further(seed):
    rng = np.random.default_rng(seed)
    pairs = rng.integers(0, 60, (500, 2))
    for v in range(0, 60, 7):
        others = pairs[(pairs != v).all(axis=1)]
        star = np.array([(v, w) for w in range(60) if w != v and rng.random() < 0.8])
        graphs = [Graph.from_edges(edges, vertices=60) for edges in (pairs, np.concatenate([others, star]))]
        for bound in (2, 6, 15):
            degrees = [np.delete(kept_degrees(graph, bound), v) for graph in graphs]

            assert abs(flow(graphs[0], bound) - flow(graphs[1], bound)) <= 2 * bound
            assert np.abs(degrees[0] - degrees[1]).sum() <= 2 * bound


@pytest.mark.parametrize("cap", CAPS)
def test_the_packing_is_enclosed_and_rounded_to_within_three_quarters(cap):
    for packing, value in zip(packings(cap)[::3], exactly(cap)[::3], strict=True):
        if packing.overfull:
            low, high = packing.enclosure(*packing.solution())

            assert low <= value - packing.free <= high
            assert high - low < 1e-6
    assert max(abs(rounded(cap) - exactly(cap))) <= Fraction(3, 4)


@pytest.mark.parametrize("cap", CAPS)
def test_the_packing_counts_where_no_vertex_is_overfull_and_moves_by_at_most_the_cap(cap):
    within = [not packing.overfull for packing in packings(cap)]
    here, there = node_pairs(5)

    assert (exactly(cap)[within] == TRIANGLES[within]).all()
    assert (exactly(cap) <= TRIANGLES).all()
    assert max(abs(exactly(cap)[here] - exactly(cap)[there])) <= cap
    assert furthest(rounded(cap)) <= cap + 1


@pytest.mark.parametrize("bound", [2, 3])
def test_degrees_within_the_bound_leave_the_triangles_whole(bound):
    within = DEGREES.max(axis=1) <= bound
    values = [packings(math.comb(bound, 2))[mask].value() for mask in np.flatnonzero(within)]

    assert values == TRIANGLES[within].tolist()


def test_the_count_itself_moves_by_more():
    assert furthest(TRIANGLES) > 3


def test_an_enclosure_holds_for_any_numbers_at_all():
    packing, rng = next(p for p in packings(3) if p.overfull == 5), np.random.default_rng(1)
    exactly = packing.exactly()
    for _ in range(50):
        x, y = rng.normal(1, 2, len(packing.often)), rng.normal(0.3, 1, packing.overfull)
        low, high = packing.enclosure(x, y)

        assert low <= exactly <= high


def test_where_floats_fail_rationals_decide(monkeypatch):
    packing = next(p for p in packings(3) if p.overfull == 5)
    monkeypatch.setattr(Packing, "solution", lambda self: (np.full(len(self.often), np.nan), np.zeros(self.overfull)))

    assert packing.value() == packing.free + math.floor(packing.exactly() + Fraction(1, 2))


def test_the_simplex_method_is_exact():
    from scipy.optimize import linprog

    rng = np.random.default_rng(2)
    for _ in range(40):
        rows = rng.integers(0, 2, (4, 6))
        rows[0] = 1
        limits = rng.integers(0, 9, 4)
        best = linprog(-np.ones(6), A_ub=rows, b_ub=limits)

        assert float(simplex(rows.tolist(), limits.tolist())) == pytest.approx(-best.fun)


def test_normalised_scores_move_by_at_most_one_unit():
    """All small values and moves: f_i may move by m_i, each in its own direction."""
    choice, moves = ExtensionChoice(epsilon=1, counting="1/2"), [1, 2, 4]
    worst = 0
    for values in product((0, 3, 7), repeat=3):
        here = choice.scores(list(values), moves)
        for signs in product((-1, 0, 1), repeat=3):
            there = choice.scores([f + s * m for f, s, m in zip(values, signs, moves, strict=True)], moves)
            worst = max(worst, *(abs(a - b) for a, b in zip(here, there, strict=True)))

    assert UNIT - 3 <= worst <= UNIT  # floors of exact quotients


def rounded_up(choice, values, moves):
    """The twin: costs in whole numbers, so that a move costs itself twice however large the budget is."""
    calm = math.ceil(2 / exact(choice.epsilon) * Fraction(math.log(len(values) / 0.05)))
    cost = [math.ceil(m / exact(choice.counting)) - f + calm * m for f, m in zip(values, moves, strict=True)]
    return [
        -max((c - d) * UNIT // (m + n) for d, n in zip(cost, moves, strict=True))
        for c, m in zip(cost, moves, strict=True)
    ]


def test_with_budget_enough_an_extension_that_loses_nothing_is_chosen():
    values, moves = [990, 998, 999, 1000, 1000], [2, 4, 8, 16, 32]
    choice = ExtensionChoice(epsilon=10**6, counting=10**6)
    twin = rounded_up(choice, values, moves)

    assert {choice(values, moves, rng=SeededRandom(seed)) for seed in range(20)} <= {3, 4}
    assert twin.index(max(twin)) < 3  # it goes on losing edges to save noise that is not there


def test_scores_that_are_not_normalised_would_be_caught():
    values, moved = [10, 10, 10], [10, 10, 14]
    cost = [[m - f for f, m in zip(row, (1, 2, 4), strict=True)] for row in (values, moved)]

    assert max(abs(a - b) for a, b in zip(*cost, strict=True)) > 1


@pytest.mark.statistical
def test_a_good_extension_is_chosen():
    """Values rise to 1000 at a move of 8, and stay: beyond that only noise is added."""
    choice, rng = ExtensionChoice(epsilon=1, counting=1), SeededRandom(1)
    values, moves = [125, 250, 500, 1000, 1000, 1000, 1000], [1, 2, 4, 8, 16, 32, 64]
    seen = Counter(choice(values, moves, rng=rng) for _ in range(500))

    assert seen[3] + seen[4] > 400


@pytest.mark.parametrize("bad", [{"epsilon": 0}, {"counting": 0}, {"epsilon": math.nan}, {"counting": True}])
def test_rejects_bad_numbers(bad):
    with pytest.raises(ParameterError):
        ExtensionChoice(**{"epsilon": 1, "counting": 1} | bad)
