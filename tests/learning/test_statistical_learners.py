"""Learners from statistical queries: each theorem against an oracle that errs as much as it may, and with privacy."""

from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom

from discreet.bounds.samples import samples
from discreet.data import Boolean, Domain, Identifier, Integer, Real, Table
from discreet.errors import BudgetExhausted, ParameterError
from discreet.hazmat.entropy import SeededRandom
from discreet.learning.statistical.conjunctions import learn_conjunction
from discreet.learning.statistical.descent import LearnedLinear, _logistic, descent_excess, learn_linear
from discreet.learning.statistical.halfspace import halfspace_rounds, learn_halfspace
from discreet.learning.statistical.means import learn_means
from discreet.learning.statistical.oracle import StatisticalQueryOracle
from discreet.learning.statistical.tree import Leaf, LearnedTree, learn_stump, learn_tree, tree_queries
from discreet.queries.statistical import Tolerance, centre, normalised, whole
from discreet.queries.statistical_pieces import Affine
from tests.scale import counts

RUNS = counts(quick=20, full=2000)


class Adversary:
    """Answers within tau of the mean over the rows, each off by tau times a wish: the worst that the model allows."""

    def __init__(self, rows, *, tau, wish=None, queries=10**6):
        self.rows, self.tau, self.remaining, self.asked = np.asarray(rows, dtype=float), tau, queries, 0
        self.wish = wish or np.random.default_rng(0).choice

    def answer(self, queries):
        if len(queries) > self.remaining:
            raise BudgetExhausted(requested=len(queries), remaining=self.remaining)
        self.remaining -= len(queries)
        self.asked += len(queries)
        found = []
        for query in queries:
            middle, half = (float(part) for part in centre(query))
            mean = middle + half * float(normalised(query, self.rows).mean())
            off = self.tau * half * self.wish([-1.0, 1.0])  # counts have half the width
            found.append(min(float(query.high), max(float(query.low), mean + off)))
        return np.array(found)

    def tolerance(self, beta):
        return Tolerance(noise=self.tau, population=self.tau, adaptive=self.tau)


def always(value):
    return lambda signs: value


cube = np.array(list(product([0, 1], repeat=6)))


def labelled(rows, literals):
    return np.all([rows[:, i] == sign for i, sign in literals], axis=0) if literals else np.ones(len(rows), dtype=bool)


@pytest.mark.parametrize("wish", [-1.0, 1.0, None])
@pytest.mark.parametrize("target", [(), ((0, 1),), ((1, 1), (4, 1)), ((0, 1), (2, 1), (3, 1), (5, 1))])
def test_a_conjunction_within_the_tolerance_errs_at_most_alpha_and_on_one_side(target, wish):
    alpha, labels = 0.1, labelled(cube, target)
    oracle = Adversary(np.c_[cube, labels], tau=alpha / 6, wish=always(wish) if wish else None)
    found = learn_conjunction(oracle, d=6, alpha=alpha)

    assert oracle.asked == 6
    assert set(target) <= set(found.literals)
    assert (found.predict(cube) != labels).mean() <= alpha
    assert not (found.predict(cube) & ~labels).any()


def test_the_twin_with_three_times_the_tolerance_is_caught():
    labels = labelled(cube, ((1, 1), (4, 1)))
    found = learn_conjunction(Adversary(np.c_[cube, labels], tau=0.5, wish=always(1.0)), d=6, alpha=0.1)

    assert (1, True) not in found.literals


def test_negated_literals_are_learned_too():
    labels = labelled(cube, ((0, 0), (3, 1)))
    found = learn_conjunction(Adversary(np.c_[cube, labels], tau=0.1 / 12), d=6, alpha=0.1, negations=True)

    assert (found.predict(cube) != labels).mean() <= 0.1
    assert {(0, False), (3, True)} <= set(found.literals)


@pytest.mark.statistical
def test_conjunctions_are_learned_privately_at_the_size_the_calculator_says(record_property):
    """d = 10, alpha = 0.1, beta = 0.05, epsilon = 1; fails with probability 1e-6."""
    d, alpha, beta = 10, 0.1, 0.05
    n = samples("conjunctions", d=d, alpha=alpha, beta=beta, epsilon=1.0)[
        "statistical queries, central, shared sample"
    ].n
    rng, seeded, failures = np.random.default_rng(3), SeededRandom(5), 0
    for _ in range(RUNS):
        target = rng.choice(d, 3, replace=False)
        bits = (rng.random((n, d)) < 0.8).astype(np.int8)
        oracle = StatisticalQueryOracle((bits, bits[:, target].all(axis=1)), queries=d, epsilon=1.0, n=n, rng=seeded)
        found = learn_conjunction(oracle, d=d, alpha=alpha)
        fresh = rng.random((20_000, d)) < 0.8
        failures += (found.predict(fresh) != fresh[:, target].all(axis=1)).mean() > alpha
    record_property("n", n)

    assert failures <= binom.ppf(1 - 1e-6, RUNS, beta)


def margin_points(rows, d, margin, seed=0):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(rows, d))
    points /= np.maximum(1, np.linalg.norm(points, axis=1))[:, None]
    normal = np.ones(d) / np.sqrt(d)
    kept = points[np.abs(points @ normal) >= margin]
    return kept, kept @ normal > 0


@pytest.mark.parametrize("wish", [-1.0, 1.0, None])
@pytest.mark.parametrize(("d", "margin"), [(2, 0.5), (5, 0.3), (10, 0.2)])
def test_the_perceptron_stops_in_the_promised_rounds_with_error_at_most_alpha(d, margin, wish):
    alpha = 0.05
    points, labels = margin_points(3000, d, margin)
    tau = alpha * margin / (20 * np.sqrt(d))
    oracle = Adversary(np.c_[points, labels], tau=tau, wish=always(wish) if wish else None)
    features = [Affine.of({i: 1}) for i in range(d)]
    found = learn_halfspace(oracle, features=features, label=d, alpha=alpha, margin=margin)

    assert found.rounds <= halfspace_rounds(margin)
    assert oracle.asked <= (found.rounds + 1) * (d + 1)
    assert (found.predict(points) != labels).mean() <= alpha


def test_a_perceptron_with_few_queries_says_the_best_it_has_seen():
    points, labels = margin_points(3000, 5, 0.05)
    oracle = Adversary(np.c_[points, labels], tau=0.001, queries=13)
    features = [Affine.of({i: 1}) for i in range(5)]
    found = learn_halfspace(oracle, features=features, label=5, alpha=0.001, margin=0.05)

    assert oracle.remaining >= 0
    assert found.mistakes < 0.5
    with pytest.raises(ParameterError, match="a query left"):
        learn_halfspace(Adversary(points, tau=0.1, queries=0), features=features, label=4, alpha=0.1, margin=0.1)


def stump_error(stump, rows, labels):
    return (stump.predict(rows) != labels).mean()


@pytest.mark.parametrize("wish", [-1.0, 1.0, None])
@pytest.mark.parametrize("seed", range(4))
def test_the_stump_is_within_three_tolerances_of_the_best_whatever_the_labels(seed, wish):
    rng, tau = np.random.default_rng(seed), 0.02
    ages = rng.integers(0, 50, (400, 1))
    labels = rng.random(400) < np.where(ages[:, 0] < 20, 0.7, 0.3)
    splits = [Affine.of({0: 1}, offset=-t) for t in range(51)]
    oracle = Adversary(np.c_[ages, labels], tau=tau, wish=always(wish) if wish else None)
    found = learn_stump(oracle, splits=splits, label=1)
    every = [LearnedTree(split, Leaf(not side, 0), Leaf(side, 0)) for split in splits for side in (False, True)]
    best = min(stump_error(stump, ages, labels) for stump in every)

    assert oracle.asked == len(splits) + 1
    assert stump_error(found, ages, labels) <= best + 3 * tau + 1e-4


def leaves(tree, rows, labels):
    """The error of the best labels of a tree's own leaves."""
    if isinstance(tree, Leaf):
        return min(labels.sum(), (~labels).sum())
    right = tree.split.on(rows) >= 0
    return leaves(tree.left, rows[~right], labels[~right]) + leaves(tree.right, rows[right], labels[right])


@pytest.mark.parametrize("wish", [-1.0, 1.0, None])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_the_leaves_of_a_tree_are_labelled_almost_as_well_as_can_be(depth, wish):
    rng, tau = np.random.default_rng(depth), 0.004
    bits = rng.integers(0, 2, (3000, 5))
    labels = (bits[:, 0] & bits[:, 1] | bits[:, 2]) ^ (rng.random(3000) < 0.05) == 1
    splits = [Affine.of({i: 1}, offset=-0.5) for i in range(5)]
    oracle = Adversary(np.c_[bits, labels], tau=tau, wish=always(wish) if wish else None)
    tree = learn_tree(oracle, splits=splits, label=5, depth=depth)
    best = leaves(tree, bits, labels) / 3000

    assert oracle.asked <= tree_queries(splits=5, depth=depth)
    assert stump_error(tree, bits, labels) <= best + 2**depth * (2 * depth + 2) * tau


def test_an_exact_oracle_grows_the_tree_of_the_rule():
    labels = (cube[:, 0] & cube[:, 1]) == 1
    splits = [Affine.of({i: 1}, offset=-0.5) for i in range(6)]
    tree = learn_tree(Adversary(np.c_[cube, labels], tau=0), splits=splits, label=6, depth=2)

    assert (tree.predict(cube) == labels).all()


def blobs(rows=2000, seed=0):
    rng = np.random.default_rng(seed)
    centres = np.array([[-0.5, -0.5], [0.5, 0.4], [0.0, 0.6]])
    return np.clip(centres[rng.integers(0, 3, rows)] + rng.normal(0, 0.1, (rows, 2)), -1, 1)


PLANE = [Affine.of({0: 1}), Affine.of({1: 1})]
START = [[-0.2, 0.0], [0.3, 0.1], [-0.1, 0.3]]


def lloyd(points, centres):
    nearest = ((points[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    return np.array([points[nearest == j].mean(axis=0) for j in range(len(centres))]), np.bincount(nearest) / len(
        points
    )


def test_a_round_without_error_is_a_round_of_lloyd():
    points = blobs()
    oracle = Adversary(points, tau=0)
    found = learn_means(oracle, features=PLANE, centres=START, rounds=1)
    centres, masses = lloyd(points, np.array(START))

    assert oracle.asked == 9
    assert found.centres == pytest.approx(centres, abs=2e-3)
    assert found.masses == pytest.approx(masses, abs=2e-3)


@pytest.mark.parametrize("wish", [-1.0, 1.0, None])
def test_a_centre_moves_to_within_the_promised_distance_of_lloyds(wish):
    points, tau = blobs(), 0.01
    oracle = Adversary(points, tau=tau, wish=always(wish) if wish else None)
    found = learn_means(oracle, features=PLANE, centres=START, rounds=1)
    centres, masses = lloyd(points, np.array(START))
    allowed = 2 * tau / (masses - tau)

    assert (np.abs(found.centres - centres).max(axis=1) <= allowed + 1e-3).all()
    assert np.abs(found.centres - centres).max() > 0.2 * allowed.min()


def test_ties_go_to_the_first_centre_and_nobody_is_counted_twice():
    points = np.zeros((10, 2))
    found = learn_means(Adversary(points, tau=0), features=PLANE, centres=[[0.5, 0], [-0.5, 0]], rounds=1)

    assert found.masses == pytest.approx([1, 0], abs=1e-6)
    assert found.predict(points).tolist() == [0] * 10


def test_private_means_find_separated_blobs():
    points = blobs(20_000)
    oracle = StatisticalQueryOracle(points, queries=45, epsilon=1.0, rng=SeededRandom(2))
    found = learn_means(oracle, features=PLANE, centres=START, rounds=5)

    assert sorted(found.centres[:, 0]) == pytest.approx([-0.5, 0.0, 0.5], abs=0.05)


def risk(rows, w, loss):
    x, y = rows[:, :2], rows[:, 2]
    margins = x @ w
    return (0.5 * (margins - y) ** 2).mean() if loss == "squared" else np.log1p(np.exp(-np.sign(y) * margins)).mean()


@pytest.mark.parametrize("wish", [-1.0, 1.0, None])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_descent_is_within_the_promised_excess_of_the_least_loss(loss, wish):
    rng, tau, rounds, radius = np.random.default_rng(1), 0.005, 50, 2.0
    x = rng.uniform(-0.7, 0.7, (2000, 2))
    y = np.clip(x @ [1.0, -0.5] + rng.normal(0, 0.1, 2000), -1, 1)
    rows = np.c_[x, y if loss == "squared" else np.where(y >= 0, 1.0, -1.0)]
    oracle = Adversary(rows, tau=tau, wish=always(wish) if wish else None)
    model = learn_linear(oracle, features=PLANE, target=Affine.of({2: 1}), radius=radius, rounds=rounds, loss=loss)
    angles, radii = np.linspace(0, 2 * np.pi, 200), np.linspace(0, radius, 60)
    grid = np.array([[r * np.cos(a), r * np.sin(a)] for a in angles for r in radii])
    least = min(risk(rows, w, loss) for w in grid)
    allowed = descent_excess(rounds=rounds, radius=radius, tau=tau, d=2, loss=loss)

    assert oracle.asked == 2 * rounds
    assert np.linalg.norm(model.weights) <= radius
    assert risk(rows, model.weights, loss) <= least + allowed


def test_learners_run_on_a_table_as_on_rows():
    """A million in epsilon: what is left is the algorithm, which sees the same sums."""
    rng, n = np.random.default_rng(7), 4000
    age, cost = rng.integers(0, 100, n), rng.integers(0, 1001, n) / 10
    ill = (age + cost > 100).astype(int)
    source = pa.table({"who": np.arange(n), "age": age, "cost": cost, "ill": ill.astype(bool)})
    domain = Domain({"who": Identifier(), "age": Integer(0, 99), "cost": Real(0, 100, step="0.1"), "ill": Boolean()})
    visits, rows = Table(source, domain=domain, unit="who"), np.c_[age, cost, ill]
    features = [Affine.scaled(0, 0, 99, reach=0.7), Affine.scaled(1, 0, 100, reach=0.7)]
    splits = [Affine.of({0: 1}, offset=-t) for t in (25, 50, 75)] + [Affine.of({1: 1}, offset=-t) for t in (25, 50, 75)]

    def oracle(data, queries):
        return StatisticalQueryOracle(
            data, queries=queries, epsilon=10**6, columns=None if data is rows else ["age", "cost", "ill"]
        )

    halves = [
        learn_halfspace(oracle(d, 40), features=features, label=2, alpha=0.02, margin=0.05) for d in (rows, visits)
    ]
    trees = [learn_tree(oracle(d, 40), splits=splits, label=2, depth=2) for d in (rows, visits)]
    means = [learn_means(oracle(d, 12), features=features, centres=START[:2], rounds=2) for d in (rows, visits)]

    assert halves[0].form.on(rows) == pytest.approx(halves[1].form.on(rows), abs=1e-2)
    assert (trees[0].predict(rows) == trees[1].predict(rows)).all()
    assert means[0].centres == pytest.approx(means[1].centres, abs=1e-2)
    assert (trees[0].predict(rows) == ill).mean() > 0.85


@pytest.mark.parametrize(
    "wrong",
    [
        lambda o: learn_conjunction(o, d=0, alpha=0.1),
        lambda o: learn_conjunction(o, d=True, alpha=0.1),
        lambda o: learn_conjunction(o, d=2, alpha=float("nan")),
        lambda o: learn_halfspace(o, features=PLANE, label=2, alpha=0.1, margin=0),
        lambda o: learn_halfspace(o, features=[], label=2, alpha=0.1, margin=0.1),
        lambda o: learn_stump(o, splits=[], label=1),
        lambda o: learn_tree(o, splits=PLANE, label=1, depth=1.5),
        lambda o: learn_means(o, features=PLANE, centres=[[2.0, 0.0]], rounds=1),
        lambda o: learn_means(o, features=PLANE, centres=[[0.0]], rounds=1),
        lambda o: learn_means(o, features=PLANE, centres=START, rounds=0),
        lambda o: learn_linear(o, features=PLANE, target=PLANE[0], radius=-1, rounds=3),
        lambda o: learn_linear(o, features=PLANE, target=PLANE[0], radius=1, rounds=3, loss="hinge"),
    ],
)
def test_what_cannot_be_learned_is_refused_before_anything_is_asked(wrong):
    oracle = Adversary(np.zeros((3, 3)), tau=0.1)
    with pytest.raises(ParameterError):
        wrong(oracle)

    assert oracle.asked == 0


@pytest.mark.parametrize("d", [3, 16, 40])
def test_what_a_row_says_is_the_same_to_the_last_bit_whatever_rows_are_beside_it(d):
    """A product of matrices adds in an order that depends on how many rows there are."""
    rng = np.random.default_rng(d)
    rows = rng.uniform(-1, 1, (300, d + 1))
    features, w = [Affine.of({i: 1}, offset=0.01 * i) for i in range(d)], rng.uniform(-1, 1, d)
    query = _logistic(features, Affine.of({d: 1}), w, 1.0)[0]
    model = LearnedLinear(tuple(features), w)
    for say in (query.values, model.predict, lambda part: whole(query, part)):
        together = say(rows).tolist()

        assert [say(rows[i : i + 1]).tolist()[0] for i in range(300)] == together
        assert say(rows[1:]).tolist() == together[1:]
