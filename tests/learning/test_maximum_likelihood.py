"""discreet.learning.vectors.maximum_likelihood: each claim in the module docstring, in order."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.naive_bayes import GaussianNB

from discreet.data.columns import Boolean, Categorical, Integer, Real
from discreet.data.domain import Domain
from discreet.errors import ParameterError
from discreet.hazmat.entropy import SeededRandom
from discreet.learning.stored import from_bytes, to_bytes
from discreet.learning.vectors import clipped_moments, maximum_likelihood
from discreet.learning.vectors.maximum_likelihood import KINDS, MaximumLikelihoodClassifier
from discreet.privacy.guarantee import ZCDP, ApproxDP, PureDP
from discreet.release.allowance import Allowance
from tests.learning.replay import moved, spent
from tests.scale import counts

BUDGETS = [PureDP(0.5), ZCDP(0.1), ApproxDP(1.0, 1e-6)]
DOMAIN = Domain({"a": Integer(0, 100), "c": Categorical(["x", "y", "z"]), "d": Boolean()})
TRIALS = counts(quick=5, full=60)


def data(n, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    X = pd.DataFrame(
        {"a": (20 + 25 * y + rng.normal(0, 8, n)).round(), "c": rng.choice(["x", "y", "z"], n), "d": y == 1}
    )
    return X, pd.Series(y, name="y")


ODD = [
    (0, "x", True, 0),
    (1e300, "z", False, 1),
    (-1e300, "nowhere", True, 2),
    (float("nan"), "y", True, 0),
    (50, "y", True, 9),
]


def with_row(X, y, row):
    a, c, d, label = row
    extra = pd.DataFrame({"a": [a], "c": [c], "d": [d]})
    if not len(X):
        return extra, pd.Series([label], name="y")
    return pd.concat([X, extra], ignore_index=True), pd.concat([y, pd.Series([label], name="y")], ignore_index=True)


def model(kind, budget, **how):
    return MaximumLikelihoodClassifier(covariance=kind, budget=budget, domain=DOMAIN, classes=(0, 1, 2), **how)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
def test_no_row_moves_any_step_by_more_than_it_declares(budget, kind, monkeypatch):
    def run(pair):
        return model(kind, budget).fit(*pair, rng=SeededRandom(1))

    for n in (0, 20):
        for row in ODD:
            parts = moved(monkeypatch, run, data(n), with_row(*data(n), row))
            assert len(parts) == 4
            assert max(parts) <= 1


def test_the_twin_with_half_the_sensitivity_is_caught(monkeypatch):
    for name in ("mean_sensitivities", "sensitivities"):
        real = getattr(clipped_moments, name)
        with monkeypatch.context() as patch:
            patch.setattr(clipped_moments, name, lambda *a, f=real: tuple(one // 2 for one in f(*a)))
            run = lambda pair: model("shared", ZCDP(1)).fit(*pair, rng=SeededRandom(1))  # noqa: E731
            parts = moved(patch, run, data(20), with_row(*data(20), ODD[0]))

        assert max(parts) > 1


def test_a_relabelled_row_moves_more_than_an_added_one_so_replacement_is_not_sold(monkeypatch):
    X, y = data(20)
    other = y.copy()
    other[0] = (y[0] + 1) % 3
    parts = moved(monkeypatch, lambda p: model("each", ZCDP(1)).fit(*p, rng=SeededRandom(1)), (X, y), (X, other))

    assert max(parts) > 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
def test_the_shares_add_up_to_the_budget(budget, kind):
    assert 0.999 < spent(model(kind, budget).fit(*data(60)), budget) <= 1 + 1e-9


def test_the_twin_with_less_noise_is_caught(monkeypatch):
    real = Allowance.noise
    monkeypatch.setattr(Allowance, "noise", lambda self, share, **how: real(self, share / Fraction(81, 100), **how))

    assert spent(model("shared", ZCDP(0.1)).fit(*data(60)), ZCDP(0.1)) > 1.1


def gaussian(n, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    first = rng.normal(0, 1, (n, 2)) @ np.array([[8, 3], [0, 5]]) + [30, 40]
    second = rng.normal(0, 1, (n, 2)) @ np.array([[4, -4], [0, 8]]) + [50, 50]
    return np.where(y[:, None] == 0, first, second).clip(0, 100).round(1), y


@pytest.mark.parametrize(
    ("kind", "exact"),
    [("shared", LinearDiscriminantAnalysis()), ("each", QuadraticDiscriminantAnalysis()), ("diagonal", GaussianNB())],
)
@pytest.mark.parametrize("budget", [ZCDP(1e12), PureDP(1e12)], ids=repr)
def test_without_noise_it_is_scikit_learns(kind, exact, budget):
    X, y = gaussian(4000)
    domain = Domain({"a": Real(0, 100), "b": Real(0, 100)})
    ours = MaximumLikelihoodClassifier(covariance=kind, budget=budget, domain=domain).fit(X, y, rng=SeededRandom(1))
    fresh, _ = gaussian(2000, seed=1)
    theirs = exact.fit(X, y)

    assert (ours.predict(fresh) == theirs.predict(fresh)).mean() > 0.985
    assert np.abs(ours.predict_proba(fresh) - theirs.predict_proba(fresh)).mean() < 0.02


def test_of_unit_variance_the_likeliest_mean_is_the_mean_of_the_rows():
    """The first two examples of the notes: X_1, and (X_1 + X_2) / 2."""
    domain = Domain({"x": Real(0, 10)})
    for values in ([3.0], [3.0, 4.0]):
        X = np.array(values * 500)[:, None]
        y = np.zeros(len(X), dtype=int)
        fitted = MaximumLikelihoodClassifier(budget=ZCDP(1e12), domain=domain).fit(X, y, rng=SeededRandom(1))

        assert abs((fitted.normals_[0].mean[0] + 1) * 5 - np.mean(values)) < 0.01


def test_the_exponents_of_the_likelihood_are_not_swapped():
    """With Y = 1 the factor is f_1(X) P(1): a swap would give each class the other's mean."""
    domain = Domain({"x": Real(0, 10)})
    X, y = np.array([2.0] * 300 + [8.0] * 100)[:, None], np.array([0] * 300 + [1] * 100)
    fitted = MaximumLikelihoodClassifier(budget=ZCDP(1e12), domain=domain).fit(X, y, rng=SeededRandom(1))

    assert [round((normal.mean[0] + 1) * 5) for normal in fitted.normals_] == [2, 8]
    assert np.exp([normal.log_weight for normal in fitted.normals_]).round(2).tolist() == [0.75, 0.25]


def test_on_breast_cancer_it_is_better_than_peers_naive_bayes():
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import train_test_split

    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))
    domain = Domain({f"x{place}": Real(0, 1) for place in range(30)})

    def accuracy(epsilon):
        found = []
        for seed in range(TRIALS):
            a, b, c, d = train_test_split(X, y, random_state=seed, test_size=0.3)
            fitted = MaximumLikelihoodClassifier(budget=ApproxDP(epsilon, 1e-6), domain=domain)
            found.append(fitted.fit(a, c, rng=SeededRandom(seed)).score(b, d))
        return np.median(found)

    assert accuracy(1.0) > 0.85  # diffprivlib's naive Bayes 0.65
    assert accuracy(10.0) > 0.94  # 0.85


def test_with_nothing_but_noise_it_still_predicts():
    fitted = model("each", PureDP(1e-6)).fit(*data(0))

    assert set(fitted.predict(data(50)[0])) <= {0, 1, 2}
    assert np.isfinite(fitted.predict_proba(data(50)[0])).all()


def test_classes_are_declared_and_never_read_off_the_labels():
    X, y = data(50)
    fitted = model("shared", ZCDP(1)).fit(X, y * 0)

    assert fitted.classes_.tolist() == [0, 1, 2]
    assert len(fitted.normals_) == 3


def test_it_is_stored_without_its_rows():
    X, y = data(300)
    for kind in KINDS:
        fitted = model(kind, ZCDP(1)).fit(X, y)
        again = from_bytes(to_bytes(fitted), clone(fitted))

        assert (again.predict(X) == fitted.predict(X)).all()


def test_another_kind_of_covariance_is_refused():
    with pytest.raises(ParameterError, match="covariance one of shared, each, diagonal"):
        model("full", ZCDP(1)).fit(*data(5))


def test_it_has_scikit_learns_face():
    made = model("each", ZCDP(1))

    assert clone(made).get_params() == made.get_params()
    assert made.set_params(covariance="diagonal").covariance == "diagonal"
    assert maximum_likelihood.REST > 0
