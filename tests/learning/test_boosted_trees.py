"""discreet.learning.trees.boosted and boosted_trees_rounds: each claim in the docstrings, in order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import log_loss

from discreet.data.columns import Boolean, Categorical, Integer, Real
from discreet.data.domain import Domain
from discreet.errors import DomainError, ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.learning.stored import from_bytes, to_bytes
from discreet.learning.trees import boosted_rounds as boosted_trees_rounds
from discreet.learning.trees import kernels as tree_kernels
from discreet.learning.trees.boosted import GradientBoostedTrees, GradientBoostedTreesRegressor
from discreet.learning.trees.boosted_rounds import SCALE, SQUARES, classes_loss, shrunk
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.privacy.guarantee import ZCDP, ApproxDP, GaussianDP, PureDP
from discreet.privacy.neighbours import AddRemove, Replace
from tests.learning.replay import moved, spent

DOMAIN = Domain({"a": Integer(0, 99), "b": Categorical([0, 1, 2]), "c": Real(0, 1, nullable=True), "d": Boolean()})
BUDGETS = [PureDP(1.0), ZCDP(0.05), ApproxDP(1.0, 1e-6)]
KINDS = ["two classes", "three classes", "a number"]


def people(n, *, seed=0):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, 100, n), rng.integers(0, 3, n), rng.random(n), rng.integers(0, 2, n)])
    X[rng.random(n) < 0.1, 2] = np.nan
    score = X[:, 0] / 25 + 2 * (X[:, 1] == 1) - X[:, 3] + np.nan_to_num(X[:, 2], nan=3.0) + rng.normal(0, 0.3, n)
    return X, score  # -1 .. 9, about


def problem(kind, budget, n=40, *, seed=0, **how):
    X, score = people(n, seed=seed)
    if kind == "a number":
        model = GradientBoostedTreesRegressor(budget=budget, domain=DOMAIN, bounds=(-10, 10), **how)
        return model, X, score
    cuts = [3.0] if kind == "two classes" else [2.0, 4.0]
    labels = np.digitize(score, cuts)
    return GradientBoostedTrees(budget=budget, domain=DOMAIN, classes=range(len(cuts) + 1), **how), X, labels


EXTREME = [(0, 0, 0.0, 0), (99, 2, 1.0, 1), (1e12, 1, np.nan, 1)]
TARGETS = {"two classes": [0, 1], "three classes": [0, 1, 2], "a number": [-1e9, 0.0, 1e9]}


def with_one_more(X, y, row, target):
    return np.vstack([X, [row]]), np.append(y, target)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
def test_a_row_moves_every_release_by_at_most_what_is_declared(kind, budget, monkeypatch):
    model, X, y = problem(kind, budget, sweeps=3)
    largest = 0.0
    for row, target in zip(EXTREME, TARGETS[kind] + TARGETS[kind], strict=False):
        parts = moved(
            monkeypatch, lambda data: model.fit(*data, rng=SeededRandom(3)), (X, y), with_one_more(X, y, row, target)
        )
        largest = max(largest, *parts[2:])

        assert max(parts) <= 1 + 1e-9
        assert parts[0] == pytest.approx(1, abs=1e-9)  # the histograms, exactly
        assert parts[1] == pytest.approx(0 if target == 0.0 and kind == "a number" else 1, abs=1e-9)  # the labels
        assert len(parts) == 2 + 3 * len(DOMAIN)
    assert largest > 0.4  # what is declared is not far from what happens


@pytest.mark.parametrize("kind", KINDS)
def test_half_the_bound_on_residuals_is_caught(kind, monkeypatch):
    loss = SQUARES if kind == "a number" else classes_loss(2 if kind == "two classes" else 3)
    half = replace(loss, absolute=loss.absolute // 2, square=loss.square // 4)
    monkeypatch.setattr("discreet.learning.trees.boosted.classes_loss", lambda classes: half)
    monkeypatch.setattr("discreet.learning.trees.boosted.SQUARES", half)
    model, X, y = problem(kind, PureDP(0.01), sweeps=6)
    parts = []
    for row, target in zip(EXTREME, TARGETS[kind] + TARGETS[kind], strict=False):
        other = with_one_more(X, y, row, target)
        parts += moved(monkeypatch, lambda data: model.fit(*data, rng=SeededRandom(3)), (X, y), other)

    assert max(parts) > 1.2


@pytest.mark.parametrize("name", ["two_classes", "many_classes", "squares"])
def test_residuals_keep_their_bounds_at_any_score(name):
    """Scores that are huge, infinite or no number at all, and every label: integers within the declared bounds."""
    classes = 4 if name == "many_classes" else 1
    loss = {"two_classes": classes_loss(2), "many_classes": classes_loss(4), "squares": SQUARES}[name]
    values = [0.0, -0.0, 1e-300, 37.0, -37.0, 710.0, -710.0, 1e308, -1e308, np.inf, -np.inf, np.nan]
    rng = np.random.default_rng(1)
    seen = []
    for score in [*np.repeat(np.array(values)[:, None], classes, axis=1), *rng.choice(values, (200, classes))]:
        for label in range(4) if classes > 1 else (0, 1) if name == "two_classes" else (-SCALE, 0, SCALE):
            sums, byte = np.zeros((1, classes), dtype=np.int64), np.zeros(1, dtype=np.uint8)
            place = np.zeros(1, dtype=np.int64)
            label_of = np.array([label], dtype=np.int64)
            scores = np.array([score], dtype=float)
            getattr(tree_kernels, name)(scores, byte, np.zeros((1, classes)), label_of, byte, place, SCALE, sums)
            seen.append((int(np.abs(sums).sum()), int((sums**2).sum())))

    assert max(one for one, _ in seen) == loss.absolute  # reached, never exceeded
    assert max(two for _, two in seen) == loss.square


@pytest.mark.parametrize("name", ["two_classes", "many_classes", "squares"])
def test_the_residual_of_a_row_depends_on_no_other_row_and_on_no_place(name):
    """A cell and a leaf for each of 253 rows: together, backwards and alone the integers are the same, bit by bit."""
    n, classes = 253, 5 if name == "many_classes" else 1
    rng = np.random.default_rng(3)
    scores, steps = rng.normal(0, 3, (n, classes)), rng.normal(0, 1, (n, classes))
    labels = rng.integers(0, 5, n) if classes > 1 else rng.integers(0, 2, n)

    def residuals(order):
        taken, sums = scores[order].copy(), np.zeros((n, classes), dtype=np.int64)
        line = np.array(order, dtype=np.uint8)
        getattr(tree_kernels, name)(taken, line, steps, labels[order], line, np.arange(n), SCALE, sums)
        return sums[order], taken

    together, after = residuals(np.arange(n))
    backwards, _ = residuals(np.arange(n)[::-1])
    alone = [residuals(np.array([row])) for row in range(n)]

    assert np.array_equal(together, backwards[::-1])
    assert np.array_equal(together, np.concatenate([sums for sums, _ in alone]))
    assert np.array_equal(after, np.concatenate([taken for _, taken in alone]))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
def test_what_ran_costs_the_budget_and_no_more(kind, budget):
    model, X, y = problem(kind, budget)
    model.fit(X, y, rng=SeededRandom(1))

    assert 0.99 < spent(model, budget) <= 1 + 1e-9
    assert model.privacy() == budget.under(AddRemove)


def test_every_round_has_the_noise_that_is_declared(monkeypatch):
    """The sum of squares of the noise of 1,200 sums: within 20 % at 1e-6, where 0.9 of the noise is 19 % less."""
    drawn = []
    real = Gaussian.__call__

    def watched(mechanism, value, *, rng=None):
        noisy = real(mechanism, value, rng=rng)
        if np.ndim(value) == 2:
            drawn.append((noisy - value) / float(mechanism.sigma))
        return noisy

    monkeypatch.setattr(Gaussian, "__call__", watched)
    model, X, y = problem("two classes", ZCDP(0.05), sweeps=100, leaves=4)
    model.fit(X, y, rng=SeededRandom(2))
    noise = np.concatenate([one.ravel() for one in drawn])
    declared = float(model.event().events[2].event.sigma) ** 2
    needed = SCALE**2 * 400 / (2 * 0.05 * 0.88)

    assert len(noise) == 100 * (4 + 3 + 4 + 2)
    assert abs(float((noise**2).mean()) - 1) < 0.2
    assert declared == pytest.approx(needed, rel=1e-6)
    assert 0.9**2 * declared < needed  # the twin with 0.9 of the noise


@pytest.mark.parametrize("kind", KINDS)
def test_no_row_at_all_gives_a_model_all_the_same(kind):
    model, X, y = problem(kind, ZCDP(1.0))
    model.fit(X[:0], y[:0], rng=SeededRandom(1))

    assert len(model.predict(X)) == len(X)
    if kind != "a number":
        assert model.predict_proba(X).shape[1] == len(model.classes_)
        assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
def test_every_budget_buys_a_model(kind, budget):
    model, X, y = problem(kind, budget, n=6000)
    model.fit(X, y, rng=SeededRandom(1))
    _, later, truth = problem(kind, budget, n=2000, seed=9)
    dull = 0 if kind == "a number" else np.bincount(truth).max() / len(truth)

    assert model.score(later, truth) > dull + (0.02 if isinstance(budget, PureDP) else 0.1)


def test_without_noise_it_finds_the_additive_model():
    """Labels from an additive model: the probabilities are as good as the true ones, nearly."""
    rng = np.random.default_rng(4)
    X, _ = people(20_000)
    logit = np.where(X[:, 0] < 40, -1.0, 1.5) + np.where(X[:, 3] == 1, 1.0, -1.0) + np.where(X[:, 1] == 2, -1.5, 0.3)
    chance = 1 / (1 + np.exp(-logit))
    y = (rng.random(len(X)) < chance).astype(int)
    model = GradientBoostedTrees(budget=ZCDP(1e9), domain=DOMAIN).fit(X, y, rng=SeededRandom(1))

    assert model.sweeps_ == 30
    assert log_loss(y, model.predict_proba(X)[:, 1]) < log_loss(y, chance) + 0.003
    assert np.abs(model.predict_proba(X)[:, 1] - chance).mean() < 0.03


def test_without_noise_a_regression_finds_the_additive_model():
    X, score = people(20_000)
    model = GradientBoostedTreesRegressor(budget=ZCDP(1e9), domain=DOMAIN, bounds=(-10, 10))

    assert model.fit(X, score, rng=SeededRandom(1)).score(X, score) > 0.93


def test_a_step_is_smaller_the_more_noise_it_carries():
    sums, held = np.array([[50.0]]), np.array([[100.0]])

    assert shrunk(sums, held, 1e-9)[0, 0] == pytest.approx(0.5)
    assert shrunk(sums, held, 50.0)[0, 0] == pytest.approx(0.25)
    assert shrunk(sums * 100, held, 1e-9)[0, 0] == 2.0
    assert shrunk(np.array([[4.0, 1.0, 1.0]]), np.full((1, 3), 1.0), 1e-9)[0].tolist() == pytest.approx([2, -1, -1])


def test_values_outside_their_ranges_are_clamped_and_what_cannot_be_read_is_dropped():
    model, X, y = problem("two classes", ZCDP(0.1))
    wild, tame = with_one_more(X, y, (1e300, 1, np.nan, 1), 1), with_one_more(X, y, (99, 1, np.nan, 1), 1)
    lost, label = with_one_more(X, y, (np.nan, 1, 0.5, 1), 1), with_one_more(X, y, (5, 1, 0.5, 1), 7)
    fits = [clone(model).fit(*data, rng=SeededRandom(1)).terms_ for data in ((X, y), wild, tame, lost, label)]

    assert all(np.array_equal(*pair) for pair in zip(fits[1], fits[2], strict=True))
    assert not np.array_equal(fits[0][0], fits[1][0])
    for other in fits[3:]:
        assert all(np.array_equal(*pair) for pair in zip(fits[0], other, strict=True))


def test_settings_follow_from_noisy_counts_only(monkeypatch):
    """Fewer rows, with the same releases: the same number of sweeps and leaves."""
    found = []
    real = boosted_trees_rounds.Settings.resolved

    def watched(self, rows, sd):
        found.append((rows, real(self, rows, sd)))
        return found[-1][1]

    monkeypatch.setattr(boosted_trees_rounds.Settings, "resolved", watched)
    model, X, y = problem("two classes", ZCDP(0.5), n=500)
    moved(monkeypatch, lambda data: model.fit(*data, rng=SeededRandom(1)), (X, y), (X[:400], y[:400]))

    assert found[0] == found[1]
    assert found[0][0] != 250


def test_terms_say_what_values_add():
    """Predictions are the start and the terms of a row's values."""
    model, X, y = problem("a number", ZCDP(1.0), n=500)
    model.fit(X, y, rng=SeededRandom(1))
    added = [model.term(name) for name in DOMAIN]

    assert list(added[3]) == [False, True]
    assert list(added[2])[-1] is None
    assert model.predict([[0, 1, np.nan, 1]])[0] == pytest.approx(
        10 * float(model.start_[0]) + float(added[0][0][0] + added[1][1][0] + added[2][None][0] + added[3][True][0])
    )
    with pytest.raises(DomainError, match="did you mean"):
        model.term("aa")


@pytest.mark.parametrize("kind", KINDS)
def test_a_stored_model_is_the_same_model(kind):
    model, X, y = problem(kind, ZCDP(0.1))
    model.fit(X, y)
    again = from_bytes(to_bytes(model), clone(model))

    assert np.array_equal(again.predict(X), model.predict(X))
    assert again.event() == model.event()


@pytest.mark.parametrize("kind", KINDS)
def test_they_are_estimators_of_scikit_learn(kind):
    model, _, _ = problem(kind, PureDP(1), sweeps=2, leaves=3)

    assert clone(model).get_params() == model.get_params()
    assert type(model).__name__ in repr(model)


@pytest.mark.parametrize(
    "how", [{"sweeps": 0}, {"sweeps": True}, {"sweeps": 1 << 22}, {"leaves": 1}, {"leaves": 2.0}], ids=repr
)
def test_bad_settings_are_refused_before_anything_is_drawn(how, monkeypatch):
    for kind in (Laplace, Gaussian):
        monkeypatch.setattr(kind, "__call__", lambda *a, **k: pytest.fail("drawn"))
    model, X, y = problem("two classes", PureDP(1), **how)
    with pytest.raises(ParameterError, match=next(iter(how))):
        model.fit(X, y)


def test_what_it_cannot_promise_is_refused():
    model, X, y = problem("two classes", PureDP(1).under(Replace))
    with pytest.raises(ParameterError, match="one row added or removed"):
        model.fit(X, y)
    with pytest.raises(UnsupportedError, match="PureDP, ApproxDP or ZCDP"):
        model.set_params(budget=GaussianDP(1.0)).fit(X, y)
