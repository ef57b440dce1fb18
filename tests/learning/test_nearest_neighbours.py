"""discreet.learning.vectors.nearest_neighbours and its parts: each claim in the module docstrings, in order."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier as Exact

from discreet.curator.fit_run import settle
from discreet.data.columns import Integer
from discreet.data.domain import Domain
from discreet.data.table import Table
from discreet.errors import BudgetExhausted, ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.learning.stored import from_bytes, to_bytes
from discreet.learning.vectors.nearest_neighbours import KNeighborsClassifier
from discreet.learning.vectors.nearest_neighbours_labels import LabelPrivateNeighbors
from discreet.learning.vectors.nearest_neighbours_votes import election, inside, votes
from discreet.mechanisms.exponential import Exponential
from discreet.privacy.finite import FiniteMechanism
from discreet.privacy.guarantee import ZCDP, ApproxDP, PureDP
from discreet.privacy.neighbours import AddRemove, Local
from tests.learning.replay import cost, moved, spent

DOMAIN = Domain({"a": Integer(0, 100), "b": Integer(0, 100)})
WIDE = Domain({f"x{place}": Integer(0, 100) for place in range(6)})
BUDGETS = [PureDP(0.5), ZCDP(0.1), ApproxDP(1.0, 1e-6)]
UNIVERSE = list(itertools.product((0, 1, 2), (0, 1)))  # squared distance, class


def multisets(most):
    return [rows for size in range(most + 1) for rows in itertools.combinations_with_replacement(UNIVERSE, size)]


def counts_of(rows, k):
    squares, classes = (np.array([row[i] for row in rows], dtype=np.int64) for i in (0, 1))
    return votes(squares, classes, k, 2)


def neighbours(most):
    known = set(multisets(most))
    for rows in multisets(most - 1):
        for row in UNIVERSE:
            yield rows, tuple(sorted((*rows, row)))
            assert tuple(sorted((*rows, row))) in known


@pytest.mark.parametrize("k", [1, 2, 3])
def test_a_row_moves_every_vote_by_at_most_one_but_not_all_one_way(k):
    changes = [counts_of(more, k) - counts_of(fewer, k) for fewer, more in neighbours(4)]

    assert max(abs(change).max() for change in changes) == 1
    assert max(abs(change).sum() for change in changes) == 2  # one swap
    assert any(change.tolist() == [1, -1] for change in changes)  # not monotone


@pytest.mark.parametrize(("k", "most"), [(1, 3), (3, 4)])
def test_a_prediction_keeps_epsilon_exactly(k, most):
    def law(choice):
        table = {rows: dict(enumerate(choice.probabilities(counts_of(rows, k)).tolist())) for rows in multisets(most)}
        return FiniteMechanism(table, neighbours=list(neighbours(most)))

    choice, _ = election(PureDP(2), 1, Fraction(1))
    twin = Exponential(epsilon=2, sensitivity=1, monotone=True, neighbours=AddRemove)

    assert law(choice).epsilon() <= 2
    if k == 3:
        assert law(choice).epsilon() > 1.7
        assert law(twin).epsilon() > 2  # counts that only rise would allow it; these do not


def test_a_sampled_prediction_keeps_epsilon_exactly():
    rate, k, most = Fraction(1, 4), 3, 4
    choice, event = election(PureDP(1), 1, rate)

    def law(rows):
        total = np.zeros(2)
        for kept in itertools.product((False, True), repeat=len(rows)):
            weight = math.prod(float(rate) if one else 1 - float(rate) for one in kept)
            total += weight * choice.probabilities(counts_of([r for r, one in zip(rows, kept, strict=True) if one], k))
        return dict(enumerate((total / total.sum()).tolist()))

    table = {rows: law(rows) for rows in multisets(most)}
    assert FiniteMechanism(table, neighbours=list(neighbours(most))).epsilon() <= 1
    assert event.epsilon == 1
    assert choice.epsilon > Fraction(2)  # sharper by far than the 1 it costs


def test_the_epsilon_inside_a_sample_is_from_below():
    for epsilon, rate in ((Fraction(1, 10), Fraction(1, 3)), (Fraction(3), Fraction(1, 50))):
        found = inside(epsilon, rate)

        assert 0.999 * epsilon < math.log1p(float(rate) * math.expm1(float(found))) <= float(epsilon) * (1 + 1e-12)


def test_ties_do_not_depend_on_the_order_of_rows():
    rng = np.random.default_rng(0)
    squares, classes = rng.integers(0, 4, 60), rng.integers(0, 3, 60)
    first = votes(squares, classes, 7, 3)
    for _ in range(20):
        order = rng.permutation(60)

        assert (votes(squares[order], classes[order], 7, 3) == first).all()


def data(n, seed=0, domain=DOMAIN):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = (30 + 40 * y[:, None] + rng.normal(0, 12, (n, len(domain)))).clip(0, 100).round()
    return pd.DataFrame(X, columns=list(domain)), pd.Series(y, name="y")


def with_row(pair, value, label):
    X, y = pair
    extra = pd.DataFrame([[value] * X.shape[1]], columns=X.columns)
    return pd.concat([X, extra], ignore_index=True), pd.concat([y, pd.Series([label], name="y")], ignore_index=True)


@pytest.mark.parametrize(
    ("queries", "domain"), [(6, DOMAIN), (None, DOMAIN), (None, WIDE)], ids=["votes", "grid", "wide"]
)
@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
def test_no_row_moves_any_step_by_more_than_it_declares(budget, queries, domain, monkeypatch):
    asked = data(6, seed=9, domain=domain)[0]

    def run(pair):
        model = KNeighborsClassifier(3, queries=queries, budget=budget, domain=domain, classes=(0, 1))
        return model.fit(*pair, rng=SeededRandom(1)).predict(asked)

    pair = data(25, domain=domain)
    for value, label in ((30.0, 1), (1e300, 0), (float("nan"), 0), (50.0, 7)):
        parts = moved(monkeypatch, run, pair, with_row(pair, value, label))

        assert max(parts) <= 1
    exactly_there = float(asked.iloc[0, 0]), 1
    assert len(parts) == (6 if queries else 2 if domain is DOMAIN else 4)
    assert max(moved(monkeypatch, run, pair, with_row(pair, *exactly_there))) > 0


@pytest.mark.parametrize("queries", [None, 10])
@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
def test_the_shares_add_up_to_the_budget(budget, queries):
    model = KNeighborsClassifier(3, queries=queries, budget=budget, domain=DOMAIN, classes=(0, 1)).fit(*data(30))

    assert 0.999 < spent(model, budget) <= 1 + 1e-9


@pytest.mark.parametrize("budget", [PureDP(1), ZCDP(0.1)], ids=repr)
def test_sampled_elections_add_up_to_the_budget(budget):
    model = KNeighborsClassifier(3, queries=10, rate="0.1", budget=budget, domain=DOMAIN, classes=(0, 1)).fit(*data(30))

    assert (
        0.999 < float(cost(model.event(), budget) / (1 if isinstance(budget, PureDP) else Fraction(1, 10))) <= 1 + 1e-9
    )
    assert model.predict([[30, 30]]).shape == (1,)


def test_many_sampled_elections_add_up_to_an_approximate_budget_in_gaussian_terms():
    budget = ApproxDP(1.0, 1e-6)
    for queries in (100, 1000):
        made = KNeighborsClassifier(3, queries=queries, rate="0.1", budget=budget, domain=DOMAIN, classes=(0, 1))
        model = made.fit(*data(30))

        assert 0.999 < spent(model, budget) <= 1 + 1e-9
        assert cost(model.event(), PureDP(1)) > 1  # more than epsilon would allow


def test_few_queries_are_paid_in_epsilon_and_many_in_gaussian_terms():
    budget = ApproxDP(1.0, 1e-6)

    assert election(budget, 2, Fraction(1))[0].epsilon == Fraction(1, 2)
    assert election(budget, 100, Fraction(1))[0].epsilon > Fraction(2, 100)


def test_queries_beyond_those_declared_are_refused_and_repeated_ones_are_free():
    model = KNeighborsClassifier(5, queries=3, budget=PureDP(3), domain=DOMAIN, classes=(0, 1))
    model.fit(*data(200), rng=SeededRandom(1))
    first = model.predict([[30, 30], [70, 70]])

    assert model.queries_left_ == 1
    assert (model.predict([[30, 30], [70, 70], [30, 30]]) == first[[0, 1, 0]]).all()
    with pytest.raises(BudgetExhausted, match="requested 2 queries, remaining 1"):
        model.predict([[1, 1], [2, 2]])
    assert model.queries_left_ == 1  # nothing was run


def test_without_noise_it_is_scikit_learns():
    X, y = data(500)
    model = KNeighborsClassifier(7, queries=200, budget=ZCDP(1e12), domain=DOMAIN, classes=(0, 1)).fit(X, y)
    fresh = np.random.default_rng(5).uniform(0, 100, (200, 2)).round(0)

    assert (model.predict(fresh) == Exact(7).fit(X.to_numpy(), y).predict(fresh)).mean() > 0.95


@pytest.mark.parametrize("domain", [DOMAIN, WIDE], ids=["narrow", "wide"])
def test_a_released_grid_classifies_well_and_for_ever(domain):
    X, y = data(5000, domain=domain)
    fresh, truth = data(2000, seed=3, domain=domain)
    model = KNeighborsClassifier(20, budget=ApproxDP(1.0, 1e-6), domain=domain, classes=(0, 1)).fit(
        X, y, rng=SeededRandom(1)
    )

    assert model.score(fresh, truth) > 0.97
    assert model.queries_left_ is None


def test_a_grid_of_noise_still_predicts():
    model = KNeighborsClassifier(budget=PureDP(1e-6), domain=DOMAIN, classes=(0, 1)).fit(*data(0))

    assert set(model.predict(data(30)[0])) <= {0, 1}


def test_a_model_that_holds_rows_is_neither_stored_nor_copied_nor_given_to_a_curator():
    X, y = data(30)
    model = KNeighborsClassifier(3, queries=5, budget=PureDP(1), domain=DOMAIN, classes=(0, 1)).fit(X, y)

    with pytest.raises(UnsupportedError, match="cannot be stored"):
        to_bytes(model)
    with pytest.raises(UnsupportedError, match="private rows"):
        copy.deepcopy(model)
    with pytest.raises(UnsupportedError, match="private rows"):
        pickle.dumps(model)
    with pytest.raises(UnsupportedError, match="holds private rows"):
        settle(None, clone(model), table="t", target="y", columns=None, epsilon=1, budget=None)
    with pytest.raises(UnsupportedError, match="holds private rows"):
        clone(model).fit(Table(X.assign(y=y), domain=Domain({**DOMAIN, "y": Integer(0, 1)}), unit=None), "y")
    for secret in (30.0, 70.0):
        assert str(secret) not in repr(vars(model)["voters_"])


def test_a_grid_is_stored():
    X, y = data(300)
    model = KNeighborsClassifier(3, budget=PureDP(1), domain=DOMAIN, classes=(0, 1)).fit(X, y)

    assert (from_bytes(to_bytes(model), clone(model)).predict(X) == model.predict(X)).all()


@pytest.mark.parametrize(
    "wrong",
    [{"n_neighbors": 0}, {"queries": 0}, {"queries": True}, {"queries": 5, "rate": 0}, {"rate": "0.5"}, {"rate": 2}],
)
def test_wrong_numbers_are_refused(wrong):
    with pytest.raises(ParameterError):
        KNeighborsClassifier(**wrong, budget=PureDP(1), domain=DOMAIN, classes=(0, 1)).fit(*data(5))


def test_private_labels_keep_epsilon_for_one_label_and_say_so():
    X, y = data(400)
    model = LabelPrivateNeighbors(60, budget=PureDP(1), domain=DOMAIN, classes=(0, 1)).fit(X, y, rng=SeededRandom(1))
    again = from_bytes(to_bytes(model), clone(model))

    assert model.score(*data(500, seed=4)) > 0.9
    assert model.privacy() == PureDP(1, neighbours=Local)
    assert again.privacy().neighbours is Local  # not what hides a row
    assert not model.privacy() <= PureDP(1, neighbours=AddRemove)


def test_private_labels_are_refused_to_curators_and_other_currencies():
    X, y = data(5)
    table = Table(X.assign(y=y), domain=Domain({**DOMAIN, "y": Integer(0, 1)}), unit=None)
    with pytest.raises(UnsupportedError, match="hides labels, not rows"):
        LabelPrivateNeighbors(budget=PureDP(1), domain=DOMAIN).fit(table, "y")
    with pytest.raises(UnsupportedError, match="PureDP or ApproxDP"):
        LabelPrivateNeighbors(budget=ZCDP(1), domain=DOMAIN).fit(X, y)


@pytest.mark.statistical
def test_many_rows_at_one_place_do_not_let_lies_decide():
    """Neighbours as far as the last were taken in the order of their classes: of 10,000 rows at nine places, lies."""
    places = np.array([(a, b) for a in (49, 50, 51) for b in (49, 50, 51)])
    X = places[np.arange(9000) % 9]
    domain = Domain({"a": Integer(0, 100), "b": Integer(0, 100)})
    model = LabelPrivateNeighbors(20, budget=PureDP(1), domain=domain, classes=(0, 1))
    model.fit(X, np.ones(9000, dtype=int), rng=SeededRandom(1))

    assert model.predict(places).tolist() == [1] * 9  # each fails by chance with probability below 1e-40
