"""discreet.learning.trees.random_forest, decision_tree and tree_growth: each claim in the docstrings, in order."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone

from discreet.data.columns import Boolean, Categorical, Integer, Real
from discreet.data.domain import Domain
from discreet.data.records import Records
from discreet.errors import ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.learning.reading import as_table
from discreet.learning.stored import from_bytes, to_bytes
from discreet.learning.trees import growth, random_forest
from discreet.learning.trees.budget import cheapest
from discreet.learning.trees.cells import Cells
from discreet.learning.trees.decision_tree import DecisionTreeClassifier
from discreet.learning.trees.growth import SCORE, Reach, candidates, central, gini, smoothed, tallied
from discreet.learning.trees.random_forest import Plan, RandomForestClassifier
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.privacy.event import PureEvent
from discreet.privacy.guarantee import ZCDP, ApproxDP, GaussianDP, PureDP
from discreet.privacy.neighbours import AddRemove, Replace
from discreet.privacy.number import exact
from discreet.release.allowance import Allowance
from tests.learning.replay import cost, moved, spent

DOMAIN = Domain({"a": Integer(0, 99), "b": Categorical([0, 1, 2]), "c": Real(0, 1, nullable=True), "d": Boolean()})
BUDGETS = [PureDP(1.0), ZCDP(0.05), ApproxDP(1.0, 1e-6), ApproxDP(4.0, 1e-3)]
MODELS = [DecisionTreeClassifier, RandomForestClassifier]


def people(n, *, seed=0):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, 100, n), rng.integers(0, 3, n), rng.random(n), rng.integers(0, 2, n)])
    X[rng.random(n) < 0.1, 2] = np.nan
    labels = np.where(X[:, 0] < 50, np.where(X[:, 1] == 1, 2, 0), np.where(X[:, 3] == 1, 1, 2))
    return X, np.where(rng.random(n) < 0.05, rng.integers(0, 3, n), labels)


def made(model, budget, **how):
    return model(budget=budget, domain=DOMAIN, classes=range(3), **how)


def with_one_more(X, y, row, label):
    return np.vstack([X, [row]]), np.append(y, label)


def test_one_row_moves_the_score_of_a_split_by_at_most_its_sensitivity():
    """All counts of three classes up to 6 on the side that the row joins; the bound is reached both ways."""
    moves = []
    for counts in product(range(7), repeat=3):
        before = gini(np.array([counts, (3, 1, 4)]))
        for label in range(3):
            after = gini(np.array([np.add(counts, np.eye(3, dtype=int)[label]), (3, 1, 4)]))
            moves.append(int(after - before))

    assert max(moves) == SCORE
    assert min(moves) > -SCORE
    assert int(gini(np.array([[5000, 1], [0, 0]])) - gini(np.array([[5000, 0], [0, 0]]))) < -0.99 * SCORE


def test_the_score_is_the_floor_of_the_exact_one():
    rng = np.random.default_rng(2)
    for counts in rng.integers(0, 10**6, (50, 2, 4)):
        exact = [Fraction(SCORE * sum(int(c) ** 2 for c in side), int(side.sum())) for side in counts]

        assert gini(counts) == sum(score.numerator // score.denominator for score in exact)


def test_a_row_changes_the_scores_of_one_node_of_a_level():
    X, y = people(200)
    cells, coins = Cells(DOMAIN, 64), np.random.default_rng(1)
    root = Reach.of(cells)
    reach = Reach(*(np.repeat(part, 4, axis=0) for part in (root.first, root.last, root.cuts)))
    offered = candidates(cells, reach, 10, coins)
    nodes = coins.integers(0, 4, 201)
    table = np.vstack([X, [(99, 2, 1.0, 1)]])
    lines = cells.of(Records.from_frame(as_table(table, DOMAIN), DOMAIN))
    labels = np.append(y, 2).astype(np.int64)
    more = gini(tallied(nodes, lines, labels, offered, 10, 3))
    less = gini(tallied(nodes[:-1], np.ascontiguousarray(lines[:, :-1]), labels[:-1], offered, 10, 3))

    assert np.nonzero((more != less).any(axis=1))[0].tolist() == [nodes[-1]]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
def test_a_row_moves_every_release_by_at_most_what_is_declared(model, budget, monkeypatch):
    X, y = people(40)
    how = {"depth": 2, "candidates": 5} | ({"trees": 2} if model is RandomForestClassifier else {})
    for row, label in product([(0, 0, 0.0, 0), (1e12, 2, np.nan, 1)], range(3)):
        parts = moved(
            monkeypatch,
            lambda data: made(model, budget, **how).fit(*data, rng=SeededRandom(3)),
            (X, y),
            with_one_more(X, y, row, label),
        )
        trees = how.get("trees", 1)

        assert len(parts) == 1 + trees * (1 + 2 + 1)
        assert max(parts) <= 1 + 1e-9
        assert parts[0] == pytest.approx(1)  # the number of rows
        assert parts[4] == pytest.approx(1)  # the leaves
        assert sum(part > 0 for part in parts[2:4]) <= 1  # nodes of a level: the row is in one


def elected(monkeypatch, model, budget, label):
    """How far one more of four rows moves the count and the election of every leaf, whatever the count said."""
    monkeypatch.setattr(Plan, "for_signal", lambda *a, **k: Plan(trees=1, depth=5, candidates=1, elected=True))
    X, y = people(4)
    fit = lambda data: made(model, budget).fit(*data, rng=SeededRandom(3))  # noqa: E731
    return moved(monkeypatch, fit, (X, y), with_one_more(X, y, (1e12, 2, np.nan, 1), label))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
def test_a_row_moves_one_election_of_all_leaves(model, budget, monkeypatch):
    for label in range(3):
        counted, *leaves = elected(monkeypatch, model, budget, label)

        assert counted == pytest.approx(1)
        assert len(leaves) == 2**5
        assert [part for part in leaves if part] == [pytest.approx(1)]


def test_a_row_that_is_counted_in_two_leaves_is_caught(monkeypatch):
    real = growth.leaf_counts
    monkeypatch.setattr(growth, "leaf_counts", lambda *given: (counts := real(*given)) + counts[::-1])
    _, *leaves = elected(monkeypatch, DecisionTreeClassifier, PureDP(1.0), 0)

    assert sum(leaves) == pytest.approx(2)


def test_half_the_sensitivity_of_a_split_is_caught(monkeypatch):
    monkeypatch.setattr(random_forest, "SCORE", SCORE // 2)
    X, y = np.zeros((40, 4)), np.zeros(40)
    model = made(DecisionTreeClassifier, ZCDP(1.0), depth=1, candidates=20)
    parts = moved(
        monkeypatch, lambda data: model.fit(*data, rng=SeededRandom(3)), (X, y), with_one_more(X, y, (0, 0, 0, 0), 0)
    )

    assert max(parts) == pytest.approx(2)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
@pytest.mark.parametrize("n", [3, 3000])
def test_what_ran_costs_the_budget_and_no_more(model, budget, n):
    """For few rows, where splits are taken at random, and for many."""
    found = made(model, budget).fit(*people(n), rng=SeededRandom(1))

    counted, grown = found.event().events
    first, name = (budget, "rho") if isinstance(budget, ZCDP) else (PureDP(budget.epsilon), "epsilon")
    elected = grown.event == PureEvent(epsilon=exact(getattr(budget, name)) * Fraction(19, 20))
    rest = replace(first if elected else budget, **{name: exact(getattr(budget, name)) * Fraction(19, 20)})

    assert found.plan_.elected == (n == 3)
    assert elected == (n == 3 and name == "epsilon")
    assert float(cost(counted, first)) == pytest.approx(float(getattr(budget, name)) / 20, rel=1e-9)
    assert 0.99 < spent(SimpleNamespace(event=lambda: grown), rest) <= 1 + 1e-9
    assert found.privacy() == budget.under(AddRemove)


def test_splits_are_taken_at_random_where_rows_are_few():
    few = made(DecisionTreeClassifier, PureDP(1.0)).fit(*people(30), rng=SeededRandom(1))
    many = made(DecisionTreeClassifier, PureDP(1.0)).fit(*people(3000), rng=SeededRandom(1))

    assert few.plan_.candidates == 1
    assert many.plan_.candidates == 100


@pytest.mark.parametrize("budget", [PureDP(1), ZCDP(0.1)], ids=repr)
def test_elections_of_all_leaves_cost_one(budget):
    """The joint law of the classes that two leaves elect, exactly, for small counts and every row that may be added.

    A row raises one count of one leaf, so that one law changes by at most epsilon, and the other's not at all.  Three
    twins are caught: a row in both leaves, scores sold as monotone of which a row lowers another one, and elections at
    twice the rate.
    """
    whole = Allowance(budget.under(AddRemove), entries=1)
    leaves = Plan(trees=1, depth=1, candidates=1, elected=True).growth(whole, whole.total).leaves
    sharper, epsilon = replace(leaves, epsilon=2 * exact(leaves.epsilon)), float(leaves.epsilon)
    law = cache(lambda counts: np.log(leaves.probabilities(counts)))
    sharp = cache(lambda counts: np.log(sharper.probabilities(counts)))

    def loss(one, other, *, of=law):
        """The largest ratio of joint laws, each of a pair of leaves."""
        (a, b), (c, d) = one, other
        return float(np.abs(np.add.outer(of(a), of(b)) - np.add.outer(of(c), of(d))).max())

    losses, both, lowered, twice = [], [], [], []
    for here, there, label in product(product(range(4), repeat=3), [(0, 0, 0), (3, 0, 1), (1, 2, 3)], range(3)):
        row = np.eye(3, dtype=int)[label]
        more, swapped = tuple(here + row), tuple(here + row - np.eye(3, dtype=int)[label - 1])
        losses += [loss((here, there), (more, there)), loss((there, here), (there, more))]
        both.append(loss((here, there), (more, tuple(there + row))))
        lowered.append(loss((here, there), (swapped, there)))
        twice.append(loss((here, there), (more, there), of=sharp))

    assert leaves.monotone
    assert leaves.sensitivity == 1
    assert 0.6 * epsilon < max(losses) <= epsilon + 1e-9
    assert min(max(both), max(lowered), max(twice)) > epsilon + 0.1


def test_leaves_that_elect_say_their_class_and_no_more():
    X, y = people(30)
    found = made(DecisionTreeClassifier, PureDP(1e6)).fit(X, y, rng=SeededRandom(1))
    voted = made(DecisionTreeClassifier, PureDP(1.0)).fit(X, y, rng=SeededRandom(1))

    assert not found.plan_.elected  # by the noise of a count, not by the rows
    assert voted.plan_.elected
    assert set(np.unique(voted.predict_proba(X))) == {0.0, 1.0}
    assert Plan(trees=1, depth=5, candidates=1, elected=True).given(trees=3, depth=None) == Plan(
        trees=3, depth=5, candidates=1
    )


def test_random_splits_are_in_the_middle_of_columns_in_turn():
    cells, coins = Cells(Domain({name: Integer(0, 63) for name in "abc"}), 64), np.random.default_rng(5)
    reach = Reach.of(cells)
    for _ in range(3):
        split = central(cells, reach, coins)
        node = np.arange(len(split.column))

        assert (reach.cuts[node, split.column] == 0).all()
        assert ((split.cut > 16) & (split.cut <= 48)).all()
        reach = reach.below(split, cells)
    assert (reach.cuts == 1).all()


def test_a_plan_never_needs_more_counts_than_the_noise_was_set_for():
    for signal, classes in product([0, 11, 39, 99, 1e9], [2, 1000]):
        plan = Plan.for_signal(signal, classes=classes, alone=False)

        assert 5 <= plan.depth <= 12
        assert plan.trees <= 10
        for trees in (None, 1000):
            fits = plan.given(trees=trees).fitting(classes)

            assert fits.trees * classes * 2**fits.depth < random_forest.ENTRIES
            assert fits.depth == plan.depth or fits.trees * classes * 2**plan.depth >= random_forest.ENTRIES


def test_a_pure_epsilon_is_used_where_it_has_less_noise():
    assert isinstance(cheapest(ApproxDP(1.0, 1e-6), steps=1, entries=100).budget, PureDP)
    assert isinstance(cheapest(ApproxDP(1.0, 1e-6), steps=20, entries=100).budget, ApproxDP)
    assert cheapest(ApproxDP(1.0, 1e-6), steps=1, entries=100).total == 1


@pytest.mark.statistical
def test_leaves_carry_the_noise_that_is_declared(monkeypatch):
    """12,288 counts: the variance is known within 7 % at 1e-6; 0.9 of the noise is 19 % less."""
    drawn = []
    real = Gaussian.__call__

    def watched(mechanism, value, *, rng=None):
        noisy = real(mechanism, value, rng=rng)
        if np.ndim(value) == 2:
            drawn.append(noisy - value)
        return noisy

    monkeypatch.setattr(Gaussian, "__call__", watched)
    model = made(RandomForestClassifier, ZCDP(0.01), trees=2, depth=11, candidates=1)
    model.fit(*people(50), rng=SeededRandom(4))
    spread = float((np.concatenate(drawn).astype(float) ** 2).mean()) * (2 * 0.01 * 0.95 / 2)

    assert abs(spread - 1) < 0.07
    assert abs(0.9**2 * spread - 1) > 0.07


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
def test_every_budget_buys_a_model(model, budget):
    found = made(model, budget).fit(*people(6000), rng=SeededRandom(1))

    assert found.score(*people(2000, seed=9)) > 0.65  # the largest class has 0.42
    assert found.predict_proba(people(5)[0]).sum(axis=1) == pytest.approx(np.ones(5))


def test_without_noise_a_tree_finds_the_rule():
    found = made(DecisionTreeClassifier, ZCDP(1e9), depth=6, candidates=200).fit(*people(20_000), rng=SeededRandom(1))

    assert found.score(*people(5000, seed=9)) > 0.93  # 0.967 is possible


def test_without_noise_leaves_hold_the_exact_frequencies():
    X, y = people(2000)
    found = made(DecisionTreeClassifier, ZCDP(1e12), depth=3).fit(X, y, rng=SeededRandom(1))
    leaves = found.tree_.leaves(found.cells_.of(found._read(X)))
    for leaf in np.unique(leaves):
        exact = np.bincount(y[leaves == leaf], minlength=3) / (leaves == leaf).sum()

        assert np.allclose(found.tree_.chances[leaf], exact, atol=1e-5)


def test_a_node_borrows_from_its_parent_what_its_noise_warrants():
    counts = np.array([[30, 0], [0, 0]])

    assert smoothed(counts, 1e-9)[0] == pytest.approx([1, 0], abs=1e-6)
    assert smoothed(counts, 1e-9)[1] == pytest.approx([1, 0], abs=1e-6)  # nothing of its own: the parent's
    assert smoothed(counts, 1e9) == pytest.approx(np.full((2, 2), 0.5), abs=1e-6)
    assert 0.9 < smoothed(counts, 1.0)[0, 0] < 1


def test_a_cut_is_between_cells_that_a_node_can_reach():
    """After a cut, both children cut inside their own part, and a column that is used up is left alone."""
    cells, coins = Cells(Domain({"a": Integer(0, 7), "d": Boolean()}), 64), np.random.default_rng(5)
    reach = Reach.of(cells)
    for level in range(4):
        offered = candidates(cells, reach, 50, coins)
        node = np.repeat(np.arange(1 << level), 50)
        ranked = offered.column == 0
        first, last = reach.first[node, 0], reach.last[node, 0]

        assert (offered.cut[ranked] > first[ranked]).all()
        assert (offered.cut[ranked] <= last[ranked]).all()
        reach = reach.below(offered.at(np.arange(1 << level) * 50), cells)
    assert reach.first.shape == (16, 2)
    assert (reach.first <= reach.last).all()


def test_splits_are_of_declared_cells():
    """A truth value is always split in two, whatever the coins; the empty tail of the bytes never matters."""
    cells = Cells(Domain({"d": Boolean(), "e": Integer(0, 4)}), 64)
    made_ = candidates(cells, Reach.of(cells), 200, np.random.default_rng(3))
    sizes = np.array([2, 5])[made_.column]
    right = np.array([line[:size].sum() for line, size in zip(made_.right, sizes, strict=True)])

    assert set(made_.column.tolist()) == {0, 1}
    assert (right >= 1).all()
    assert (right < sizes).all()


@pytest.mark.parametrize("model", MODELS)
def test_no_row_and_absent_classes_give_a_model_all_the_same(model):
    X, y = people(20)
    for rows in ((X[:0], y[:0]), (X, np.zeros(20))):
        found = made(model, ZCDP(1.0)).fit(*rows, rng=SeededRandom(1))

        assert found.predict_proba(X).shape == (20, 3)
        assert np.isfinite(found.predict_proba(X)).all()


@pytest.mark.parametrize("model", MODELS)
def test_values_outside_are_clamped_and_what_cannot_be_read_is_dropped(model):
    X, y = people(40)

    def chances(rows):
        return made(model, ZCDP(0.1), depth=3).fit(*rows, rng=SeededRandom(1)).predict_proba(X)

    wild, tame = with_one_more(X, y, (1e300, 1, np.nan, 1), 1), with_one_more(X, y, (99, 1, np.nan, 1), 1)
    lost, label = with_one_more(X, y, (np.nan, 1, 0.5, 1), 1), with_one_more(X, y, (5, 1, 0.5, 1), 7)

    assert np.array_equal(chances(wild), chances(tame))
    assert np.array_equal(chances(lost), chances((X, y)))
    assert np.array_equal(chances(label), chances((X, y)))


def test_a_tree_can_be_read():
    lines = made(DecisionTreeClassifier, ZCDP(1e6), depth=2).fit(*people(500), rng=SeededRandom(1)).text().splitlines()

    assert len(lines) == 2 + 4
    assert sum(line.startswith("  ") for line in lines) == 4
    assert all("%" in line for line in lines if line.startswith("  "))


@pytest.mark.parametrize("model", MODELS)
def test_a_stored_model_is_the_same_model(model):
    X, y = people(100)
    found = made(model, ZCDP(0.1)).fit(X, y)
    again = from_bytes(to_bytes(found), clone(found))

    assert np.array_equal(again.predict_proba(X), found.predict_proba(X))
    assert again.event() == found.event()


@pytest.mark.parametrize("model", MODELS)
def test_they_are_estimators_of_scikit_learn(model):
    found = made(model, PureDP(1), depth=3)

    assert clone(found).get_params() == found.get_params()
    assert model.__name__ in repr(found)


@pytest.mark.parametrize("how", [{"depth": 0}, {"depth": 13}, {"candidates": True}, {"trees": 2.0}], ids=repr)
def test_bad_settings_are_refused_before_anything_is_drawn(how, monkeypatch):
    for kind in (Laplace, Gaussian):
        monkeypatch.setattr(kind, "__call__", lambda *a, **k: pytest.fail("drawn"))
    with pytest.raises(ParameterError, match=next(iter(how))):
        made(RandomForestClassifier, PureDP(1), **how).fit(*people(10))


def test_more_counts_than_the_noise_was_set_for_are_refused_before_anything_is_drawn(monkeypatch):
    """A forest of 1000 x 2^12 leaves is too large from five classes on."""
    for kind in (Laplace, Gaussian):
        monkeypatch.setattr(kind, "__call__", lambda *a, **k: pytest.fail("drawn"))
    found = RandomForestClassifier(budget=PureDP(1), domain=Domain({"a": Integer(0, 9)}), depth=12, trees=1000)
    with pytest.raises(ParameterError, match="at most 16777216 counts"):
        found.set_params(classes=tuple(range(5))).fit([[1], [2]], [0, 1])
    with pytest.raises(pytest.fail.Exception, match="drawn"):
        found.set_params(classes=tuple(range(4))).fit([[1], [2]], [0, 1])


def test_what_it_cannot_promise_is_refused():
    with pytest.raises(ParameterError, match="one row added or removed"):
        made(RandomForestClassifier, PureDP(1).under(Replace)).fit(*people(10))
    with pytest.raises(UnsupportedError, match="PureDP, ApproxDP or ZCDP"):
        made(DecisionTreeClassifier, GaussianDP(1.0)).fit(*people(10))
