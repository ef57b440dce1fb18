"""discreet.structured.graphs.triangles and triangle_plan: each method keeps its claim, and the choice sees no graph."""

import math
from fractions import Fraction
from functools import cache
from itertools import accumulate, product

import numpy as np
import pytest

from discreet.attacks import audit
from discreet.attacks.confidence import clopper_pearson
from discreet.data import Graph
from discreet.errors import ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.privacy.event import ApproxEvent, ExponentialEvent, PureEvent
from discreet.privacy.guarantee import ApproxDP, PureDP
from discreet.privacy.neighbours import EdgeNeighbours
from discreet.structured import TriangleBound, TriangleCount
from discreet.structured.graphs.edge_smoothing import EdgeSmoothing
from discreet.structured.graphs.ladder import Ladder
from discreet.structured.graphs.triangle_plan import METHODS, PURE, _above, choose
from discreet.structured.graphs.triangle_sensitivity import Ranked, smooth_sensitivity
from tests.scale import counts
from tests.structured.small_graphs import SmallGraphs

FIVE = SmallGraphs(5)
SHARED = 38  # common neighbours of the two vertices in question
BOOK = Graph.from_edges([(0, 1)] + [(i, v) for i in (0, 1) for v in range(2, 40)], vertices=60)  # 38 triangles
SHUT = Graph.from_edges([(i, v) for i in (0, 1) for v in range(2, 40)], vertices=60)  # without the edge they share

PAIRS = {
    "shared": (BOOK, SHUT),
    "first edges": (Graph.from_edges([], vertices=60), Graph.from_edges([(0, 1)], vertices=60)),
    "hubs": tuple(
        Graph.from_edges([(i, v) for i in (0, 1) for v in range(2 + i, 58 + i)][: 111 + more], vertices=60)
        for more in (0, 1)
    ),  # two stars over nearly the same leaves, one edge apart: their sensitivity moves
}


class Silent:
    """A random source that must not be touched."""

    secure = True

    def bits(self, count):
        raise AssertionError("drew bits")

    words = bits


def lomax_loss(move, here, there, noise, shrink=1.0):
    """The largest log-ratio of two Lomax laws: at the centres, and far away on both sides."""
    a, c = float(noise.exponent), float(noise.scale) * shrink
    s, t = c * here, c * there

    def log_density(z, size):
        return -math.log(size) - a * math.log1p(abs(z) / size)

    points = [0.0, float(move), -1e18 * s, 1e18 * s]
    return max(abs(log_density(z, s) - log_density(z - move, t)) for z in points)


@cache
def smooth(reach):
    return [float(smooth_sensitivity(Ranked.of(FIVE.graph(mask)), reach)) for mask in FIVE.all]


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1, 4])
def test_smooth_noise_keeps_epsilon_on_every_pair_of_small_graphs(epsilon):
    smoothing = EdgeSmoothing(epsilon)
    noise, value = smoothing.noise, [FIVE.triangles(mask) for mask in FIVE.all]
    s = smooth(smoothing.reach)
    pairs = {(abs(value[b] - value[a]), s[a], s[b]) for a, b in FIVE.edge_pairs()}

    assert max(lomax_loss(*pair, noise) for pair in pairs) <= epsilon * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1])
def test_smooth_noise_is_no_larger_than_it_must_be(epsilon):
    """Two vertices that share everything: the count moves by all of the sensitivity."""
    noise = EdgeSmoothing(epsilon).noise
    other = 1000 * math.exp(float(noise.smoothness))  # as far as a smooth sensitivity can move
    honest, shrunk = (
        max(lomax_loss(1000, 1000, there, noise, shrink) for there in (1000, other)) for shrink in (1, 0.9)
    )

    assert epsilon * 0.97 < honest <= epsilon * (1 + 1e-9) < shrunk


@pytest.mark.parametrize("method", ["auto", *METHODS])
def test_the_count_is_the_number_of_triangles(method):
    """At a large epsilon little noise is left."""
    count = TriangleCount(epsilon=1000, delta=0.1, method=method)

    assert [count(graph, rng=SeededRandom(1)) for graph in (BOOK, SHUT)] == [SHARED, 0]


def test_a_budget_for_which_no_noise_is_scaled_is_refused_before_a_graph_is_seen_and_the_rule_takes_another():
    with pytest.raises(ParameterError, match=r"epsilon >= 10\^-5 .*Laplace"):
        TriangleCount(epsilon=1e-6, delta=0, method="smooth")
    assert TriangleCount(epsilon=1e-6, delta=0).chosen(1000) == "laplace"


@pytest.mark.parametrize("epsilon", ["1e-6", "1e-3", 101, 10**4, 10**6])
def test_the_rule_serves_every_budget_and_takes_a_method_that_does(epsilon):
    count = TriangleCount(epsilon=epsilon, delta=0)

    assert float(count.privacy().epsilon) == float(epsilon)
    assert isinstance(count(BOOK), int)
    assert count.accuracy(vertices=BOOK.vertices) >= 0


def test_what_is_stated_falls_as_the_budget_grows_and_is_nothing_in_the_end():
    """A ladder's bound had at least one rung, the local sensitivity, however large epsilon was."""
    for method in ("ladder", "smooth", "laplace", "auto"):
        stated = [
            TriangleCount(epsilon=epsilon, delta=0, method=method).accuracy(vertices=1000, max_degree=69)
            for epsilon in (1, 3, 10, 30, 100, 1000, 10**6)
        ]

        assert stated == sorted(stated, reverse=True)
        assert stated[-1] == 0
        assert method == "laplace" or stated[-3:] == [0, 0, 0]


def test_a_ladder_of_too_many_rungs_is_refused_before_a_rung_is_made():
    asked = []
    with pytest.raises(ParameterError, match=r"epsilon >= 0\.00.* for a ladder up to 1000"):
        Ladder(epsilon="1e-6")(7, lambda t: asked.append(t) or 1, most=1000)

    assert not asked


@pytest.mark.statistical
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("epsilon", [0.5, 1, 4])
def test_an_audit_finds_no_more_than_epsilon(method, epsilon, pair):
    slow = method == "noisy-local"
    count = TriangleCount(epsilon=epsilon, delta=1e-6, method=method)
    samples = counts(quick=2_000 if slow else 20_000, full=100_000 if slow else 1_000_000)
    found = audit(count, PAIRS[pair], samples, delta=1e-6, rng=SeededRandom(1))
    seen = {"smooth": 0.6, "ladder": 0.2, "laplace": 0.3, "noisy-local": 0.0} if pair == "shared" else {}

    assert not found.violates()
    assert found.epsilon >= seen.get(method, 0) * epsilon  # the audit sees


@pytest.mark.statistical
def test_an_audit_catches_half_the_sensitivity():
    class Halved:
        def releases(self, graph, count, *, rng=None):
            smoothing = EdgeSmoothing(1)
            ranked = Ranked.of(graph)
            sensitivity = smooth_sensitivity(ranked, smoothing.reach) / 2
            return smoothing.noise.release(ranked.triangles(), sensitivity, shape=(count,), rng=rng)

        def privacy(self):
            return PureDP(1)

        def __call__(self, graph, *, rng=None):
            return self.releases(graph, 1, rng=rng)[0]

    assert audit(Halved(), (BOOK, SHUT), 60_000, rng=SeededRandom(2)).violates()


@pytest.mark.statistical
def test_an_audit_catches_the_local_sensitivity_used_as_it_is():
    """A vertex joins two leaves of a star or not: no noise at all, or some."""

    class Local:
        def releases(self, graph, count, *, rng=None):
            local = Ranked.of(graph).common_neighbours()[0]
            return EdgeSmoothing(1).noise.release(0, local, shape=(count,), rng=rng)

        def privacy(self):
            return PureDP(1)

        def __call__(self, graph, *, rng=None):
            return self.releases(graph, 1, rng=rng)[0]

    empty, path = Graph.from_edges([(0, 1)], vertices=3), Graph.from_edges([(0, 1), (1, 2)], vertices=3)

    assert audit(Local(), (empty, path), 20_000, rng=SeededRandom(3)).violates()


@pytest.mark.statistical
@pytest.mark.parametrize("method", METHODS)
def test_the_error_exceeds_alpha_with_probability_at_most_beta(method):
    count, runs = TriangleCount(epsilon=1, delta=1e-6, method=method), 5_000
    errors = np.abs(count.releases(BOOK, runs, rng=SeededRandom(4)) - SHARED)

    for beta in (0.5, 0.05):
        alpha = count.accuracy(beta, vertices=60, max_degree=39)
        assert clopper_pearson(int((errors > alpha).sum()), runs, beta=1e-6)[0] <= beta
    assert (errors > alpha / 4).mean() > 0.05


@pytest.mark.parametrize("method", METHODS)
def test_predicted_errors_are_measured(method):
    """What `explain` says for the true sensitivity is exceeded about as often as it says."""
    count, runs = TriangleCount(epsilon=1, delta=1e-6, method=method), 5_000
    errors = np.abs(count.releases(BOOK, runs, rng=SeededRandom(5)) - SHARED)
    (row,) = [row for row in count.explain(vertices=60, local_sensitivity=SHARED).predictions if row.method == method]
    often = (errors > row.errors[0]).mean()

    assert often <= 0.06
    assert method == "noisy-local" or often >= 0.01


@pytest.mark.parametrize("epsilon", [0.3, 1, 3])
def test_no_ladder_is_above_a_rung_more_often_than_the_bound_says(epsilon):
    """Every ladder of eight rungs that rises by 0 or 1, from any start, and for ever by 1 after them."""
    w = math.exp(-epsilon / 2)
    for top in (2, 5, 8):
        bound, closest = _above(epsilon / 2, top), 0.0
        for start in (0, 1, 3, 50):
            for rises in product((0, 1), repeat=top - 1):
                ladder = list(accumulate((start, *rises)))
                ladder += [ladder[-1] + 1 + t for t in range(400)]
                weights = [2 * width * w ** (t + 1) for t, width in enumerate(ladder)]
                closest = max(closest, sum(weights[top:]) / (1 + sum(weights)))

        assert closest <= bound * (1 + 1e-12)
        assert closest > bound / 4


def test_the_choice_is_made_from_public_facts():
    count = TriangleCount(epsilon=1, delta=1e-6)

    assert count.chosen(5000) == "smooth"
    assert count.chosen(4) == "laplace"
    assert all(choose(n, Fraction(1, 2)) in PURE for n in (0, 1, 2, 3, 10, 10**6))


@pytest.mark.parametrize("n", [10, 100, 5000])
def test_the_choice_is_never_far_from_the_best(n):
    """Over every local sensitivity, the chosen method errs by at most twice what the best one does, or by two."""
    count = TriangleCount(epsilon=1, delta=0)
    for local in (1, 2, 5, 20, n // 2, n - 2):
        plan = count.explain(vertices=n, local_sensitivity=local)
        errors = {row.method: row.errors[0] for row in plan.predictions}

        assert errors[plan.chosen] <= 2 * min(errors.values()) + 2


def test_the_table_lists_every_method_and_marks_one():
    plan = TriangleCount(epsilon=1, delta=1e-6).explain(vertices=5000)
    pure = TriangleCount(epsilon=1, delta=0).explain(vertices=5000, max_degree=100)

    assert [row.method for row in plan.predictions] == list(METHODS)
    assert str(plan).count("*") == 2
    assert plan.locals[0] == 1
    assert plan.locals[-1] == 4998
    assert [row.method for row in pure.predictions] == list(PURE)
    assert pure.locals == (100,)


def test_what_was_paid_for_sharpens_the_prediction():
    bound = TriangleBound(epsilon=0.5, delta=1e-6)
    released = bound(BOOK, rng=SeededRandom(6))
    count = TriangleCount(epsilon=1, delta=1e-6)
    before, after = count.explain(vertices=1000), count.explain(vertices=1000, local_sensitivity=released)

    assert SHARED <= released <= SHARED + bound.accuracy(1e-6)
    assert bound.privacy() == PureDP(0.5, neighbours=EdgeNeighbours)
    assert bound.event() == PureEvent(epsilon=0.5)
    assert max(after.predictions[1].errors) < max(before.predictions[1].errors) / 5


def test_claims_and_events_say_what_ran():
    made = {method: TriangleCount(epsilon=0.5, delta=1e-6, method=method) for method in ("auto", *METHODS)}
    pure = PureDP(0.5, neighbours=EdgeNeighbours)

    assert {m: c.privacy() for m, c in made.items()} == dict.fromkeys(("auto", *PURE), pure) | {
        "noisy-local": ApproxDP(0.5, 1e-6, neighbours=EdgeNeighbours)
    }
    assert made["auto"].event() == made["smooth"].event() == made["laplace"].event() == PureEvent(epsilon=0.5)
    assert made["ladder"].event() == ExponentialEvent(epsilon=0.5)
    assert made["noisy-local"].event() == ApproxEvent(epsilon=0.5, delta=1e-6)


def test_the_example_of_the_guide_runs():
    graph = Graph.from_edges(np.random.default_rng(1).integers(0, 5000, (50_000, 2)), vertices=5000)
    count = TriangleCount(epsilon=1.0, delta=1e-6, method="auto")

    assert isinstance(count(graph), int)
    assert count.privacy() == PureDP(1.0, neighbours=EdgeNeighbours)


@pytest.mark.parametrize("n", range(4))
@pytest.mark.parametrize("method", ["auto", *METHODS])
def test_the_smallest_graphs_are_counted_too(n, method):
    assert isinstance(TriangleCount(epsilon=1, delta=1e-6, method=method)(Graph.from_edges([], vertices=n)), int)


@pytest.mark.parametrize(
    "bad",
    [{"epsilon": e} for e in (0, -1, math.nan, math.inf, True, "x")]
    + [{"delta": d} for d in (-0.1, 1, math.nan, True)]
    + [{"method": m} for m in ("best", None, "Smooth")]
    + [{"method": "noisy-local", "delta": 0}],
)
def test_rejects_bad_parameters(bad):
    with pytest.raises(ParameterError):
        TriangleCount(**{"epsilon": 1, "delta": 1e-6} | bad)


@pytest.mark.parametrize("method", ["auto", *METHODS])
def test_what_is_not_a_graph_is_refused_before_anything_is_drawn(method):
    for value in (None, 5, [(0, 1)], np.eye(3)):
        with pytest.raises(ParameterError, match="need a Graph"):
            TriangleCount(epsilon=1, delta=1e-6, method=method)(value, rng=Silent())


def test_the_error_is_not_known_without_public_facts():
    count = TriangleCount(epsilon=1, delta=1e-6)
    with pytest.raises(UnsupportedError, match="pass vertices="):
        count.accuracy()
    for bad in ({"vertices": -1}, {"vertices": 2.5}, {"vertices": 10, "max_degree": True}):
        with pytest.raises(ParameterError):
            count.accuracy(**bad)
    with pytest.raises(ParameterError):
        count.accuracy(0, vertices=10)
