"""discreet.learning.budget_curve: free on public rows, paid for on private ones."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.data.columns import Integer
from discreet.data.domain import Domain
from discreet.errors import ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.learning import LogisticRegression, accuracy_curve, cross_validation
from discreet.privacy.guarantee import ZCDP, ApproxDP, GaussianDP, PureDP
from discreet.privacy.neighbours import AddRemove

MODEL = LogisticRegression(domain=Domain({"a": Integer(0, 100), "b": Integer(0, 100)}), bins=0)


def rows(n=600):
    X = np.random.default_rng(0).integers(0, 101, (n, 2))
    return X, X.sum(axis=1) > 100


def test_more_budget_is_more_accurate_and_public_rows_cost_nothing():
    curve = accuracy_curve(
        MODEL, *rows(), budgets=[ZCDP(1e-5), ZCDP(1)], public=True, fits=4, progress=False, rng=SeededRandom(1)
    )

    assert curve.points[0].mean < curve.points[1].mean
    assert curve.points[1].mean > 0.9
    assert all(point.low <= point.high for point in curve.points)
    assert curve.privacy() is None


def test_private_rows_pay_for_every_point(monkeypatch):
    """Every fit and every score is one of a cross-validation under its budget, and the budgets are added up."""
    paid = []
    real = cross_validation.cross_validate

    def watched(*args, budget, **how):
        paid.append(budget)
        return real(*args, budget=budget, **how)

    monkeypatch.setattr(cross_validation, "cross_validate", watched)
    curve = accuracy_curve(
        MODEL, *rows(), budgets=[ApproxDP(1, 1e-6), ApproxDP(4, 1e-6)], public=False, fits=2, rng=SeededRandom(1)
    )

    assert paid == [ApproxDP(1, 1e-6), ApproxDP(4, 1e-6)]
    assert curve.privacy() == ApproxDP(5, 2e-6).under(AddRemove)


def test_it_draws_its_points():
    curve = accuracy_curve(MODEL, *rows(100), budgets=[PureDP(1), PureDP(10)], public=True, fits=2, rng=SeededRandom(1))
    drawn = curve.plot().to_dict()

    assert [value["budget"] for value in drawn["data"]["values"]] == [1.0, 10.0]
    assert "epsilon" in str(drawn)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"budgets": []}, "at least one"),
        ({"budgets": [PureDP(1), ZCDP(1)]}, "one kind"),
        ({"fits": 1}, "fits"),
        ({"fits": True}, "fits"),
        ({"public": 1}, "public"),
    ],
)
def test_bad_settings_are_refused_before_anything_is_fitted(how, message):
    settings = {"budgets": [PureDP(1)], "public": True, "fits": 2} | how
    with pytest.raises(ParameterError, match=message):
        accuracy_curve(MODEL, *rows(10), **settings)


def test_budgets_without_an_amount_are_refused():
    with pytest.raises(UnsupportedError, match="PureDP, ApproxDP or ZCDP"):
        accuracy_curve(MODEL, *rows(10), budgets=[GaussianDP(1)], public=True)
