"""discreet.learning.estimator: whose change a fitted model hides, and what a fit that failed leaves."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pandas as pd
import pytest

from discreet.curator.fit_run import settle
from discreet.data.columns import Integer
from discreet.data.domain import Domain
from discreet.data.records import Records
from discreet.errors import ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.learning.estimator import PrivateRegressor
from discreet.learning.linear.ridge import Ridge
from discreet.learning.stored import estimators, named
from discreet.learning.trees.naive_bayes import NaiveBayes
from discreet.learning.vectors.nearest_neighbours_labels import LabelPrivateNeighbors
from discreet.privacy.guarantee import ZCDP, ApproxDP, PureDP
from discreet.privacy.neighbours import AddRemove, Local, Replace

DOMAIN = Domain({"a": Integer(0, 9), "b": Integer(0, 9)})


def data(n=30):
    X = np.random.default_rng(0).integers(0, 10, (n, 2))
    return X, (X[:, 0] > 4).astype(int)


def test_a_fit_that_failed_leaves_no_promise_and_no_model(monkeypatch):
    model = NaiveBayes(budget=PureDP(1), domain=DOMAIN).fit(*data())
    assert model.privacy() == PureDP(1, neighbours=AddRemove)

    def fail(self, rows, *rest):
        assert not hasattr(self, "event_")
        self.event_ = None
        raise RuntimeError

    monkeypatch.setattr(NaiveBayes, "_learn", fail)
    with pytest.raises(RuntimeError):
        model.set_params(budget=PureDP(2)).fit(*data())
    assert not hasattr(model, "guarantee_")
    with pytest.raises(ParameterError, match="call fit first"):
        model.privacy()
    with pytest.raises(ParameterError, match="call fit first"):
        model.predict(data()[0])


def test_a_second_fit_keeps_nothing_of_the_first():
    model = Ridge(budget=ZCDP(1), domain=DOMAIN, bounds=(0, 1)).fit(*data())
    model.left_over_ = 1
    model._kept_ = 2

    assert not hasattr(model.fit(*data()), "left_over_")
    assert model._kept_ == 2


def test_private_labels_promise_their_relation_from_the_start():
    X, y = data()
    rows = Records.from_frame(pd.DataFrame(X, columns=["a", "b"]).assign(y=y), Domain({**DOMAIN, "y": Integer(0, 1)}))
    for budget in (PureDP(1), PureDP(1, neighbours=Local)):
        model = LabelPrivateNeighbors(budget=budget, domain=DOMAIN)
        for fitted in (model.fit(X, y), model.fit_rows(rows, target="y")):
            assert fitted.guarantee_ == fitted.privacy() == PureDP(1, neighbours=Local)
    for wrong in (AddRemove, Replace):
        with pytest.raises(ParameterError, match="one label changed"):
            LabelPrivateNeighbors(budget=PureDP(1, neighbours=wrong), domain=DOMAIN).fit(X, y)
    with pytest.raises(ParameterError, match="one row added or removed"):
        NaiveBayes(budget=PureDP(1, neighbours=Local), domain=DOMAIN).fit(X, y)


def test_a_curator_refuses_by_the_attribute():
    for model in (LabelPrivateNeighbors(), LabelPrivateNeighbors(budget=PureDP(1), domain=DOMAIN)):
        assert not model.hides_rows
        with pytest.raises(UnsupportedError, match="hides labels, not rows"):
            settle(None, model, table="t", target="y", columns=None, epsilon=1, budget=None)
    assert NaiveBayes.hides_rows


@pytest.mark.parametrize("odd", [2, None, "x", float("nan"), [1]])
def test_a_private_label_that_is_no_class_drops_no_row(odd):
    X, y = data()
    labels = list(y)
    labels[4] = odd
    first = [*labels[:4], 0, *labels[5:]]
    one, two = (
        LabelPrivateNeighbors(3, budget=PureDP(1), domain=DOMAIN).fit(X, these, rng=SeededRandom(1))
        for these in (labels, first)
    )

    assert len(one.reports_) == len(y)
    assert (one.vectors_ == two.vectors_).all()
    assert (one.reports_ == two.reports_).all()  # it is read as the first class


@pytest.mark.parametrize("name", [name for name in estimators() if not name.startswith("Neural")])
def test_budgets_for_which_no_number_is_large_enough_are_refused_before_anything_is_read(name):
    """And the least of those that are taken are enough for a fit, without a warning."""
    kind = named(name)
    domain = Domain({f"x{place}": Integer(0, 9) for place in range(10)})
    X, y = np.zeros((20, 10), dtype=int), [np.arange(20) % 2] if kind.supervised else []
    how = {"domain": domain} | ({"bounds": (0, 1)} if issubclass(kind, PrivateRegressor) else {})
    for budget in (PureDP("1e-160"), ZCDP("1e-320"), ApproxDP("1e-320", "1e-6"), PureDP("1e-10"), ZCDP("1e-19")):
        with pytest.raises((ParameterError, UnsupportedError), match=r">= 1e-|PureDP"):
            kind(budget=budget, **how).fit(X, *y)
    for least in (PureDP(1e-9), ZCDP(1e-18), ApproxDP(1e-9, 1e-6)):
        with suppress(UnsupportedError):  # of a currency that it is not paid in
            assert kind(budget=least, **how).fit(X, *y).privacy().neighbours is not None
