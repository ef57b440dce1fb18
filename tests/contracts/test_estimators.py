"""What every estimator of discreet.learning keeps, whatever it learns."""

from __future__ import annotations

import functools

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from discreet import learning
from discreet.composition.price import price
from discreet.data.columns import Boolean, Categorical, Integer, Real
from discreet.data.domain import Domain
from discreet.errors import DiscreetError, ParameterError, UnsupportedError
from discreet.learning.estimator import PrivateClassifier, PrivateRegressor
from discreet.learning.stored import estimators, from_bytes, load, named, save, to_bytes
from discreet.privacy.guarantee import ZCDP, ApproxDP, PureDP
from discreet.privacy.neighbours import AddRemove, Local, Replace
from discreet.privacy.number import exact

DOMAIN = Domain(
    {
        "age": Integer(0, 99),
        "cost": Real(0, 100, step="0.5"),
        "ward": Categorical(["a", "b", "c"]),
        "icu": Boolean(),
        "weight": Real(0, 200, step="0.1", nullable=True),
    }
)
SETTINGS: dict[str, dict[str, object]] = {
    "KMeans": {"n_clusters": 2},
    "KNeighborsClassifier": {"queries": 20},
    "NeuralNetwork": {"hidden": (4,), "epochs": 1, "rows": 200, "batch": 50},
    "NeuralNetworkRegressor": {"hidden": (4,), "epochs": 1, "rows": 200, "batch": 50},
    "PCA": {"n_components": 2},
}
BUDGETS = {"pure": PureDP(1.0), "zcdp": ZCDP(0.5), "approximate": ApproxDP(1.0, 1e-6)}
NAMES = [name for name in estimators() if name not in ("Pipeline",)]


def rows(n=200, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(0, 100, n),
            "cost": rng.random(n) * 100,
            "ward": rng.choice(list("abc"), n),
            "icu": rng.random(n) < 0.3,
            "weight": np.where(rng.random(n) < 0.1, np.nan, rng.random(n) * 200),
        }
    )
    return frame, (frame["age"] > 50).astype(int).to_numpy(), frame["cost"].to_numpy() / 2


def made(name, budget):
    kind = named(name)
    settings = dict(SETTINGS.get(name, {}))
    if issubclass(kind, PrivateRegressor):
        settings["bounds"] = (0, 100)
    return kind(budget=budget, domain=DOMAIN, **settings)


def fitted(name, budget, n=200):
    model = made(name, budget)
    frame, label, value = rows(n)
    if isinstance(model, PrivateClassifier):
        return model.fit(frame, label)
    return model.fit(frame, value) if isinstance(model, PrivateRegressor) else model.fit(frame)


@functools.cache
def attempts(name):
    """Models under all budgets that the estimator takes; at least one of them."""
    found = []
    for budget in BUDGETS.values():
        try:
            found.append(fitted(name, budget))
        except UnsupportedError:
            continue
    assert found
    return found


@pytest.mark.parametrize("name", NAMES)
def test_the_budget_is_kept_by_what_ran(name):
    for model in attempts(name):
        promised, ran = model.privacy(), price(model.event()) if not model.approximate else None

        assert promised.neighbours is (Local if name == "LabelPrivateNeighbors" else AddRemove)
        if ran is None:
            continue
        if isinstance(promised, PureDP):
            assert ran.epsilon is not None
            assert ran.epsilon <= exact(promised.epsilon)
            assert ran.epsilon > exact(promised.epsilon) * exact("0.9")
        if isinstance(promised, ZCDP):
            assert exact(promised.rho) * exact("0.9") < ran.rho <= exact(promised.rho)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n", [0, 1])
def test_no_rows_and_one_row_are_as_good_as_any(name, n):
    budget = next(model.guarantee_ for model in attempts(name))
    model = fitted(name, budget, n)
    frame, _, _ = rows(20)

    if hasattr(model, "predict"):
        assert len(model.predict(frame)) == 20
    else:
        assert len(model.transform(frame)) == 20


@pytest.mark.parametrize("name", NAMES)
def test_rows_that_cannot_be_read_are_dropped_without_a_word(name):
    budget = next(model.guarantee_ for model in attempts(name))
    model = made(name, budget)
    frame, label, value = rows(50)
    frame.loc[3, "ward"] = "nowhere"
    frame["cost"] = frame["cost"].astype(object)
    frame.loc[5, "cost"] = float("inf")
    frame["cost"] = frame["cost"].astype(float)
    label = label.copy()
    label[7] = 17
    y = label if isinstance(model, PrivateClassifier) else value

    model.fit(frame, y) if model.supervised else model.fit(frame)


@pytest.mark.parametrize("name", NAMES)
def test_a_copy_has_the_same_parameters_and_no_model(name):
    model = attempts(name)[-1]
    copy = clone(model)

    assert repr(copy.get_params()) == repr(model.get_params())
    with pytest.raises(ParameterError, match="call fit"):
        copy.privacy()


@pytest.mark.parametrize("name", NAMES)
def test_a_stored_model_predicts_the_same(name, tmp_path):
    model = attempts(name)[-1]
    frame, _, _ = rows(20, seed=1)
    if name == "KNeighborsClassifier":
        with pytest.raises(UnsupportedError):
            to_bytes(model)  # it holds private rows
        return
    again = from_bytes(to_bytes(model), made(name, None))
    save(model, tmp_path / "m")
    third = load(tmp_path / "m")

    act = "predict" if hasattr(model, "predict") else "transform"
    for other in (again, third):
        one, two = (pd.DataFrame(getattr(which, act)(frame)) for which in (other, model))
        assert one.equals(two)
        assert other.privacy() == model.privacy()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("budget", [None, "1.0", PureDP(1, neighbours=Replace)])
def test_a_missing_or_wrong_budget_is_refused(name, budget):
    frame, label, value = rows(20)
    with pytest.raises(DiscreetError):
        made(name, budget).fit(frame, label if issubclass(named(name), PrivateClassifier) else value)


def test_every_estimator_is_exported():
    assert set(NAMES) <= set(dir(learning))
    assert len(NAMES) >= 12
