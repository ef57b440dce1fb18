"""discreet.learning.trees.naive_bayes: each claim in the module docstring, in order."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.naive_bayes import CategoricalNB

from discreet.curator import Curator
from discreet.data.columns import Boolean, Categorical, Identifier, Integer, Real
from discreet.data.domain import Domain
from discreet.data.engines.tables_of_counts import TablesOfCounts
from discreet.data.table import Table
from discreet.errors import ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.learning.stored import from_bytes, to_bytes
from discreet.learning.trees import naive_bayes
from discreet.learning.trees.cells import Cells
from discreet.learning.trees.naive_bayes import CELLS, NaiveBayes, merged
from discreet.privacy.guarantee import ZCDP, ApproxDP, GaussianDP, PureDP
from discreet.privacy.neighbours import AddRemove, Replace
from discreet.release.allowance import Allowance
from tests.learning.replay import moved, spent

DOMAIN = Domain(
    {"a": Integer(0, 99), "b": Categorical(["x", "y", "z"]), "c": Real(0, 1, nullable=True), "d": Boolean()}
)
CLASSES = ["no", "perhaps", "yes"]
BUDGETS = [PureDP(1.0), ZCDP(0.05), ApproxDP(1.0, 1e-6), ApproxDP(4.0, 1e-3)]


def people(n, *, seed=0):
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 3, n)
    frame = pd.DataFrame(
        {
            "a": np.clip(rng.normal(20 + 30 * label, 12), 0, 99).round().astype(int),
            "b": np.array(["x", "y", "z"])[(label + (rng.random(n) < 0.3)) % 3],
            "c": np.where(rng.random(n) < 0.1, np.nan, rng.random(n)),
            "d": rng.random(n) < 0.2 + 0.3 * label,
        }
    )
    return frame, np.array(CLASSES)[label]


def fitted(budget, rows, *, seed=1, **how):
    return NaiveBayes(budget=budget, domain=DOMAIN, classes=CLASSES, **how).fit(*rows, rng=SeededRandom(seed))


def with_one_more(rows, values, label):
    frame, labels = rows
    return pd.concat([frame, pd.DataFrame([values])], ignore_index=True), np.append(labels, label)


EXTREME = [
    {"a": 0, "b": "x", "c": 0.0, "d": False},
    {"a": 99, "b": "z", "c": 1.0, "d": True},
    {"a": 10**9, "b": "y", "c": float("nan"), "d": True},
]


@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
def test_a_row_moves_every_release_by_exactly_what_is_declared(budget, monkeypatch):
    rows = people(40)
    for values in EXTREME:
        for label in CLASSES:
            parts = moved(monkeypatch, lambda data: fitted(budget, data), rows, with_one_more(rows, values, label))

            assert parts == [pytest.approx(1, abs=1e-9)] * 2


@pytest.mark.parametrize("budget", BUDGETS[:2], ids=repr)
def test_half_the_sensitivity_is_caught(budget, monkeypatch):
    real = Allowance.noise
    monkeypatch.setattr(
        Allowance, "noise", lambda self, share, absolute, square: real(self, share, absolute=2, square=square // 2)
    )
    rows = people(40)
    parts = moved(monkeypatch, lambda data: fitted(budget, data), rows, with_one_more(rows, EXTREME[0], "no"))

    assert max(parts) > 1.4


@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
def test_what_ran_costs_the_budget_and_no_more(budget):
    model = fitted(budget, people(100))

    assert 0.99 < spent(model, budget) <= 1 + 1e-9
    assert model.privacy() == budget.under(AddRemove)


@pytest.mark.statistical
def test_the_tables_carry_the_noise_that_is_declared():
    """4,000 cells: the variance is known within 15 % at 1e-6 and more, and 0.9 of the noise would be 19 % less."""
    domain = Domain({f"b{i}": Boolean() for i in range(1000)})
    X, y = np.zeros((10, 1000), dtype=bool), np.repeat([0, 1], 5)
    model = NaiveBayes(budget=ZCDP(0.5), domain=domain).fit(X, y, rng=SeededRandom(5))
    noise = np.stack(model.tables_) - np.array([[5, 5], [0, 0]])
    spread = float((noise.astype(float) ** 2).mean()) / 1000  # sigma^2 = 1000 / (2 rho)

    assert 0.85 < spread < 1.15
    assert not 0.85 < 0.9**2 * spread < 1.15


def test_a_label_that_is_no_class_and_a_row_that_cannot_be_read_move_nothing():
    rows = people(60)
    plain = fitted(ZCDP(0.1), rows)
    unknown = fitted(ZCDP(0.1), with_one_more(rows, EXTREME[0], "never"))
    unread = fitted(ZCDP(0.1), with_one_more(rows, {**EXTREME[0], "b": "nowhere"}, "no"))

    for other in (unknown, unread):
        assert all(np.array_equal(*pair) for pair in zip(plain.tables_, other.tables_, strict=True))


def test_classes_and_rows_are_not_read_off_the_data():
    """No row at all, or only one class: the model has the declared classes and tables of the declared shape."""
    frame, labels = people(50)
    for rows in ((frame[:0], labels[:0]), (frame, np.full(50, "yes"))):
        model = fitted(ZCDP(0.1), rows)

        assert model.classes_.tolist() == CLASSES
        assert np.isfinite(model.predict_proba(frame)).all()
        assert [table.shape[1] for table in model.tables_] == [3] * 4


def test_without_noise_it_is_naive_bayes():
    frame, labels = people(3000)
    model = fitted(ZCDP(1e12), (frame, labels))
    rows = model._read(frame)
    binned = np.stack([b[line] for b, line in zip(model.bins_, model.cells_.of(rows), strict=True)], axis=1)
    exact = CategoricalNB(alpha=1e-6, force_alpha=True).fit(binned, labels)

    assert np.array_equal(model.predict(frame), exact.predict(binned))
    assert np.allclose(model.class_log_prior_, exact.class_log_prior_, atol=1e-6)
    for found, wanted in zip(model.feature_log_prob_, exact.feature_log_prob_, strict=True):
        assert np.allclose(np.exp(found), np.exp(wanted.T), atol=1e-6)


def test_it_learns_at_epsilon_one():
    frame, labels = people(2000)

    assert fitted(ApproxDP(1.0, 1e-6), (frame, labels)).score(*people(1000, seed=2)) > 0.8


def test_tables_of_an_engine_are_as_good_as_rows():
    """The same noise on the same counts, wherever the target stands among the columns."""
    frame, labels = people(200)
    whole = frame.assign(label=labels)
    declared = Categorical(CLASSES)
    model = NaiveBayes(budget=ZCDP(0.1), domain=DOMAIN, classes=CLASSES)
    here = clone(model).fit(frame, labels, rng=SeededRandom(3))
    for order in (["a", "b", "c", "d", "label"], ["label", "a", "b", "c", "d"], ["a", "b", "label", "c", "d"]):
        domain = Domain({name: declared if name == "label" else DOMAIN[name] for name in order})
        table = Table(whole[order], domain=domain, unit=None)
        counts = TablesOfCounts(table, NaiveBayes.tables(domain, "label"), domain=domain)
        there = clone(model).fit_rows(counts, target="label", rng=SeededRandom(3))  # type: ignore[arg-type]

        assert all(np.array_equal(*pair) for pair in zip(here.tables_, there.tables_, strict=True))
        assert np.array_equal(here.predict(frame), there.predict(frame))


def test_a_curator_fits_it_from_tables_with_noise_for_all_rows_of_a_unit(tmp_path):
    """Two rows a unit: rho / 4 for a row, so that the noise on a count is twice as wide."""
    frame, labels = people(400)
    domain = Domain({"person": Identifier(), **DOMAIN, "label": Categorical(CLASSES)})
    sigma = []
    for rows in (1, 2):
        held = frame.assign(person=np.arange(400) // rows, label=labels)
        table = Table(held, domain=domain, unit="person", rows_per_unit=rows)
        curator = Curator({"people": table}, budget=ZCDP(1), ledger=tmp_path / f"{rows}.db")
        model = curator.fit(NaiveBayes(), table="people", target="label", budget=ZCDP(1))
        sigma.append(float(model.event().events[1].sigma))

        assert model.score(*people(1000, seed=2)) > 0.8
        assert curator.budget.balance.spent.rho == 1
    assert sigma[1] == pytest.approx(2 * sigma[0])


def test_a_stored_model_is_the_same_model():
    model = fitted(ZCDP(0.1), people(100))
    again = from_bytes(to_bytes(model), clone(model))

    assert np.array_equal(again.predict_proba(people(50)[0]), model.predict_proba(people(50)[0]))
    assert again.event() == model.event()


def test_bins_have_about_equal_mass_and_null_its_own():
    bins = merged(np.array([0, 0, 500, 500, 0, 0, 500, 500, 40]), 8, 2, sd=1.0)

    assert bins.tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 2]
    assert merged(np.array([5, -3, 2]), 3, 4, sd=1.0).tolist() == [0, 1, 2]


def test_it_is_an_estimator_of_scikit_learn():
    made = NaiveBayes(budget=PureDP(1), domain=DOMAIN, classes=CLASSES, bins=5)

    assert clone(made).get_params() == made.get_params()
    assert "NaiveBayes" in repr(made)
    assert made.set_params(bins=7).bins == 7


def test_what_it_cannot_promise_is_refused():
    rows = people(10)
    with pytest.raises(ParameterError, match="one row added or removed"):
        fitted(PureDP(1.0).under(Replace), rows)
    with pytest.raises(UnsupportedError, match="PureDP, ApproxDP or ZCDP"):
        fitted(GaussianDP(1.0), rows)
    with pytest.raises(ParameterError, match="bins"):
        fitted(PureDP(1.0), rows, bins=0)
    with pytest.raises(ParameterError, match="bins"):
        fitted(PureDP(1.0), rows, bins=True)


def test_more_cells_than_the_noise_was_set_for_are_refused(monkeypatch):
    monkeypatch.setattr(naive_bayes, "ENTRIES", 10)
    with pytest.raises(ParameterError, match="at most 10 cells"):
        fitted(PureDP(1.0), people(10))


def test_many_categories_share_64_cells_as_the_page_says():
    cells = Cells(Domain({"few": Categorical(range(64)), "many": Categorical(range(65)), "a": Integer(0, 999)}), CELLS)

    assert cells.sizes == (64, 33, 63)
    assert cells.starts("many")[:3] == [0, 2, 4]
