"""LinearRegression and Ridge: moments measured once, never an explosion, and least squares where there is no noise."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression as Exact
from sklearn.linear_model import Ridge as ExactRidge

from discreet.data.columns import Boolean, Categorical, Integer, Real
from discreet.data.domain import Domain
from discreet.data.records import Records
from discreet.errors import ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.learning import LinearRegression, Ridge
from discreet.learning.design import Design
from discreet.learning.linear import sufficient_statistics
from discreet.learning.linear.losses import RESIDUAL, STEPS, Squared
from discreet.learning.linear.sufficient_statistics import ends, solve
from discreet.learning.vectors.clipped_moments import SCALE, sensitivities, weighted, within
from discreet.privacy.event import ComposedEvent, ExponentialEvent, RepeatedEvent
from discreet.privacy.guarantee import ZCDP, ApproxDP, GaussianDP, PureDP
from discreet.privacy.neighbours import AddRemove

DOMAIN = Domain({"a": Integer(0, 100), "b": Integer(0, 10), "c": Boolean()})
MODELS = [LinearRegression, Ridge]


def lines(n, *, seed=0, noise=2.0):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, 101, n), rng.integers(0, 11, n), rng.integers(0, 2, n)])
    return X, X[:, 0] / 4 + 3 * X[:, 1] - 10 * X[:, 2] + rng.normal(0, noise, n)


def fitted(model, budget, *, n=3000, **how):
    X, y = lines(n)
    return model(budget=budget, domain=DOMAIN, bounds=(-20, 60), **how).fit(X, y, rng=SeededRandom(1))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("budget", [PureDP(2.0), ZCDP(0.05), ApproxDP(1.0, 1e-6)], ids=repr)
def test_every_budget_is_kept_and_buys_a_line(model, budget):
    found = fitted(model, budget)
    X, y = lines(1000, seed=5)

    assert found.privacy() == budget.under(AddRemove)
    assert found.score(X, y) > (0.3 if isinstance(budget, PureDP) else 0.85)


def parts(event):
    """What ran, one by one."""
    match event:
        case ComposedEvent():
            return [part for inner in event.events for part in parts(inner)]
        case RepeatedEvent():
            return parts(event.event) * event.count
    return [event]


@pytest.mark.parametrize("n", [60, 30_000])  # a descent, and moments
@pytest.mark.parametrize(("budget", "allowed"), [(PureDP(1), 1), (ZCDP(0.05), 0.05)], ids=repr)
def test_what_ran_costs_the_budget_and_no_more(budget, allowed, n):
    event = fitted(Ridge, budget, n=n).event()

    def spent(quieter):
        if isinstance(budget, PureDP):
            return sum(
                part.epsilon if isinstance(part, ExponentialEvent) else part.sensitivity / part.scale * quieter
                for part in parts(event)
            )
        halves = (
            part.epsilon / 2 if isinstance(part, ExponentialEvent) else part.sensitivity / part.sigma * quieter
            for part in parts(event)
        )
        return sum(half**2 / 2 for half in halves)

    assert (len(parts(event)) > 4) == (n == 60)
    assert 0.999 * allowed < float(spent(1)) <= allowed * (1 + 1e-11)
    assert float(spent(Fraction(10, 9))) > 1.05 * allowed  # the twin with 0.9 of the noise


def test_a_descent_sees_rows_and_targets_by_their_own_row_alone():
    """Squared errors are cut at half of the declared range, and are targets less scores before that."""
    places = np.array([[0], [STEPS], [-(2**40)], [2**40]])
    found = Squared().residuals(places, np.array([STEPS // 4, STEPS // 4, 0, 0]))

    assert found[:, 0].tolist() == [RESIDUAL // 4, -3 * RESIDUAL // 4, RESIDUAL, -RESIDUAL]
    assert Squared().square(1) == 1


def test_few_rows_are_fitted_by_descent_and_many_by_moments(monkeypatch):
    """The rule sees the noisy count, the budget and the width: public numbers."""
    ran = []
    for name in ("_by_moments", "_by_descent"):
        real = getattr(sufficient_statistics, name)
        monkeypatch.setattr(sufficient_statistics, name, lambda *a, name=name, real=real: ran.append(name) or real(*a))
    fitted(Ridge, ZCDP(0.05), n=60)
    fitted(Ridge, ZCDP(0.05), n=30_000)

    assert ran == ["_by_descent", "_by_moments"]


def test_a_descent_finds_the_line_too():
    """At a budget where both would do: forced to descend, it is as good up to a few hundredths."""
    X, y = lines(3000)
    model = LinearRegression(budget=ZCDP(1), domain=DOMAIN, bounds=(-20, 60))
    by_moments = model.fit(X, y, rng=SeededRandom(1)).score(X, y)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sufficient_statistics, "clearness", lambda rows, noise: 0.5)
        by_descent = model.fit(X, y, rng=SeededRandom(1)).score(X, y)

    assert by_moments > 0.95
    assert by_descent > by_moments - 0.05


def test_a_row_moves_the_moments_by_at_most_what_is_claimed():
    """All extreme rows with all extreme targets; half of the claim would be caught."""
    joint = Domain({**DOMAIN, "y": Real(-20, 60)})
    ends_ = [[0, column.size // 2, column.size - 1] for column in joint.values()]
    rows = Records(joint, [np.array(found) for found in zip(*product(*ends_), strict=True)])
    vectors = Design(joint).floats(rows) - 0.25
    moved = []
    for vector in vectors:
        change = weighted(within(vector[None], 1.5), np.zeros(1, dtype=np.int64), 1, SCALE // 2)[0]
        moved.append((int(np.abs(change).sum()), int((change.astype(object) ** 2).sum())))
    absolute, square = sensitivities(4, SCALE // 2)

    assert max(moved)[0] <= absolute
    assert max(change for _, change in moved) <= square
    assert max(change for _, change in moved) > 0.9 * square


def test_squares_get_noise_as_products_do(monkeypatch):
    """The diagonal of the matrix is private too: with the same rows, every entry of it differs from run to run."""
    seen = []
    real = sufficient_statistics.noisy_moments
    monkeypatch.setattr(sufficient_statistics, "noisy_moments", lambda *a, **k: seen.append(real(*a, **k)) or seen[-1])
    X, y = lines(500)
    for seed in range(2):
        Ridge(budget=ZCDP(0.1), domain=DOMAIN, bounds=(-20, 60)).fit(X, y, rng=SeededRandom(seed))

    assert (seen[0].seconds != seen[1].seconds).all()
    assert np.array_equal(seen[0].seconds[0], seen[0].seconds[0].T)


def test_without_noise_it_is_scikit_learn():
    X, y = lines(2000)
    vectors = Design(DOMAIN).floats(Records(DOMAIN, [X[:, 0], X[:, 1], X[:, 2]]))
    plain = LinearRegression(budget=ZCDP(1e14), domain=DOMAIN, bounds=(-20, 60)).fit(X, y, rng=SeededRandom(1))
    heavy = Ridge(ridge=500.0, budget=ZCDP(1e14), domain=DOMAIN, bounds=(-20, 60)).fit(X, y, rng=SeededRandom(1))
    exact, ridge = Exact().fit(vectors, y), ExactRidge(alpha=500.0).fit(vectors, y)

    assert plain.coef_ == pytest.approx(exact.coef_, abs=0.1)
    assert plain.intercept_ == pytest.approx(exact.intercept_, abs=0.1)
    assert heavy.coef_ == pytest.approx(ridge.coef_, abs=0.1)
    assert np.abs(exact.coef_ - ridge.coef_).max() > 1  # the two are told apart


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0])
@pytest.mark.parametrize("model", MODELS)
def test_it_never_explodes(model, epsilon):
    """Diabetes at any epsilon: predictions lie in the declared range, so no error is larger than that range."""
    X, y = load_diabetes(return_X_y=True)
    domain = Domain({f"c{i}": Real("-0.2", "0.2") for i in range(10)})
    for seed in range(5):
        found = model(budget=ApproxDP(epsilon, 1e-6), domain=domain, bounds=(0, 400)).fit(X, y, rng=SeededRandom(seed))
        values = found.predict(X)

        assert values.min() >= 0
        assert values.max() <= 400
        assert found.score(X, y) > -10


def test_diabetes_at_epsilon_ten_is_nearly_exact():
    X, y = load_diabetes(return_X_y=True)
    domain = Domain({f"c{i}": Real("-0.2", "0.2") for i in range(10)})
    found = LinearRegression(budget=ApproxDP(10.0, 1e-6), domain=domain, bounds=(0, 400)).fit(X, y, rng=SeededRandom(1))

    assert found.score(X, y) > 0.4  # 0.52 without privacy


def test_a_matrix_without_inverse_is_solved():
    assert solve(np.zeros((2, 2)), np.ones(2), 0.0, 0.0).tolist() == [0.0, 0.0]
    assert np.abs(solve(np.diag([-5.0, 1e-9]), np.ones(2), 1.0, 0.0)).max() < 1


def test_rows_and_targets_outside_their_ranges_are_clamped():
    X, y = lines(300)
    model = Ridge(budget=ZCDP(1e6), domain=DOMAIN, bounds=(-20, 60))
    wild, tame = X.astype(float), X.astype(float)
    wild[0], tame[0] = (1e12, -1e12, 1), (100, 0, 1)
    target, clamped = y.copy(), y.copy()
    target[0], clamped[0] = 1e12, 60
    found = [model.fit(*data, rng=SeededRandom(1)).coef_ for data in ((wild, target), (tame, clamped))]

    assert np.array_equal(*found)


@pytest.mark.parametrize("model", MODELS)
def test_no_row_at_all_gives_a_model_all_the_same(model):
    X, y = lines(5)
    found = model(budget=ZCDP(1), domain=DOMAIN, bounds=(-20, 60)).fit(X[:0], y[:0])

    assert found.coef_.shape == (3,)
    assert np.isfinite(found.predict(X)).all()


@pytest.mark.parametrize("model", MODELS)
def test_it_is_an_estimator_of_scikit_learn(model):
    made = model(budget=PureDP(1), domain=DOMAIN, bounds=(0, 1))

    assert clone(made).get_params() == made.get_params()
    assert model.__name__ in repr(made)


@pytest.mark.parametrize("ridge", [-1.0, float("nan"), float("inf"), True])
def test_a_bad_ridge_is_refused_before_anything_is_drawn(ridge, monkeypatch):
    monkeypatch.setattr(sufficient_statistics, "noisy_count", lambda *a, **k: pytest.fail("drawn"))
    with pytest.raises(ParameterError, match="ridge"):
        fitted(Ridge, ZCDP(1), n=10, ridge=ridge)


def test_a_target_that_is_no_number_is_refused():
    with pytest.raises(UnsupportedError, match="regression is of numbers"):
        ends(Categorical(["a", "b"]))
    with pytest.raises(ParameterError, match="bounds"):
        Ridge(budget=ZCDP(1), domain=DOMAIN).fit(*lines(10))
    with pytest.raises(UnsupportedError, match="PureDP, ApproxDP or ZCDP"):
        fitted(Ridge, GaussianDP(1.0), n=10)


@pytest.mark.parametrize("model", MODELS)
def test_a_stored_model_predicts_the_same(model, tmp_path):
    from discreet.learning.stored import load, save

    X, _ = lines(100)
    found = fitted(model, ZCDP(0.5), n=500)
    save(found, tmp_path / "model")
    again = load(tmp_path / "model")

    assert np.array_equal(again.predict(X), found.predict(X))
    assert again.event() == found.event()
