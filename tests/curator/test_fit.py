"""discreet.curator.fit_run: models of a table, paid for first."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from discreet.composition.price import price
from discreet.curator import Curator
from discreet.data.columns import Boolean, Categorical, Identifier, Integer
from discreet.data.domain import Domain
from discreet.data.records import Records
from discreet.data.table import Table
from discreet.errors import BudgetExhausted, DiscreetError, DomainError, ParameterError, UnsupportedError, require
from discreet.learning.estimator import PrivateClassifier
from discreet.learning.stored import from_bytes, to_bytes
from discreet.privacy.guarantee import ZCDP, ApproxDP, PureDP
from discreet.privacy.neighbours import AddRemove
from discreet.privacy.number import exact
from discreet.release.allowance import Allowance

DOMAIN = Domain(
    {
        "patient": Identifier(),
        "ward": Categorical(["a", "b"]),
        "age": Integer(0, 9),
        "icu": Boolean(),
    }
)


CAP = ApproxDP(100.0, 1e-6)


class Counted(PrivateClassifier):
    """The most frequent class of every ward, by noisy counts: enough of a model to walk with."""

    seen: list[int]

    def __init__(self, *, strength=1, budget=None, domain=None, classes=None):
        self.strength = strength
        self.budget = budget
        self.domain = domain
        self.classes = classes

    def _learn(self, rows: Records, target, budget, rng):
        require(self.strength > 0, "strength > 0", strength=self.strength)
        counts = rows.marginal(["ward", target])
        noise = Allowance(budget, counts.size)
        made = noise.noise(noise.total, absolute=1, square=1)
        self.counts_ = made(counts, rng=rng)
        self.scale_ = float(getattr(made, "sigma", 0) or made.scale)
        self.event_ = made.event()
        if getattr(Counted, "fails", False) and len(rows):
            raise ValueError("patient 17 has age 4")

    def _scores(self, rows):
        return self.counts_[rows.column("ward")].astype(float)


def frame(n=400, seed=0):
    rng = np.random.default_rng(seed)
    wards = rng.choice(["a", "b"], n)
    return pd.DataFrame(
        {"patient": np.arange(n) // 2, "ward": wards, "age": rng.integers(0, 10, n), "icu": (wards == "b")}
    )


def curator(tmp_path, *, budget=CAP, rows_per_unit=2, rows=None):
    table = Table(frame() if rows is None else rows, domain=DOMAIN, unit="patient", rows_per_unit=rows_per_unit)
    return Curator({"visits": table}, budget=budget, ledger=tmp_path / "ledger.db")


def test_a_model_is_fitted_charged_and_kept(tmp_path):
    held = curator(tmp_path)

    model = held.fit(Counted(), table="visits", target="icu", budget=ZCDP(0.5))

    assert model.predict(pd.DataFrame({"ward": ["a", "b"], "age": [1, 2]})).tolist() == [False, True]
    assert model.privacy() == ZCDP(0.5, neighbours=AddRemove)
    assert held.budget.balance.spent.rho == Fraction(1, 2)
    assert list(model.domain_) == ["ward", "age"]


def test_a_unit_of_two_rows_gets_twice_the_noise(tmp_path):
    (tmp_path / "one").mkdir()
    two = curator(tmp_path).fit(Counted(), table="visits", target="icu", budget=ZCDP(0.5))
    one = curator(tmp_path / "one", rows_per_unit=1).fit(Counted(), table="visits", target="icu", budget=ZCDP(0.5))

    assert two.scale_ == pytest.approx(2 * one.scale_)


def test_what_ran_is_told_for_the_unit(tmp_path):
    model = curator(tmp_path).fit(Counted(), table="visits", target="icu", budget=ZCDP(0.5))

    assert exact("0.499999") < price(model.event()).rho <= exact("0.5")  # for one row it would be an eighth


def test_a_model_fits_a_table_without_a_curator_for_one_unit():
    table = Table(frame(), domain=DOMAIN, unit="patient", rows_per_unit=2)
    model = Counted(budget=ZCDP(0.5)).fit(table, "icu")

    assert model.privacy() == ZCDP(0.5, neighbours=AddRemove)
    assert exact("0.499999") < price(model.event()).rho <= exact("0.5")
    assert model.scale_ == pytest.approx(2.0)  # of one row at rho / 4
    with pytest.raises(ParameterError, match="name"):
        Counted(budget=ZCDP(0.5)).fit(table, frame()["icu"])
    with pytest.raises(UnsupportedError, match="several rows"):
        Counted(budget=ApproxDP(1.0, 1e-6)).fit(table, "icu")


def test_another_declaration_is_another_model(tmp_path):
    held = curator(tmp_path)
    first = held.fit(Counted(), table="visits", target="icu", budget=ZCDP(0.5))
    wider = Domain({**DOMAIN, "age": Integer(0, 99)})
    held.tables["visits"] = Table(frame(), domain=wider, unit="patient", rows_per_unit=2)
    second = held.fit(Counted(), table="visits", target="icu", budget=ZCDP(0.5))

    assert second.domain_ != first.domain_
    assert held.budget.balance.spent.rho == 1


def test_a_model_that_cannot_be_kept_is_refused_before_it_is_paid_for(tmp_path, monkeypatch):
    held = curator(tmp_path)
    monkeypatch.setattr(Counted, "_learned", lambda self: {"odd_": object()})

    with pytest.raises(UnsupportedError):
        held.fit(Counted(), table="visits", target="icu", budget=ZCDP(0.5))
    assert held.budget.balance.spent.rho == 0


def test_the_same_model_again_is_free_and_the_same(tmp_path):
    held = curator(tmp_path)
    first = held.fit(Counted(), table="visits", target="icu", budget=ZCDP(0.5))
    again = held.fit(Counted(), table="visits", target="icu", budget=ZCDP(0.5))
    other = held.fit(Counted(strength=2), table="visits", target="icu", budget=ZCDP(0.5))

    assert to_bytes(again) == to_bytes(first)
    assert other.counts_.tolist() != first.counts_.tolist()
    assert held.budget.balance.spent.rho == 1
    fresh = held.fit(Counted(), table="visits", target="icu", budget=ZCDP(0.5), fresh=True)
    assert fresh.counts_.tolist() != first.counts_.tolist()
    assert held.budget.balance.spent.rho == Fraction(3, 2)


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({"target": "nothing"}, DomainError),
        ({"target": None}, ParameterError),
        ({"target": "patient"}, DomainError),
        ({"target": "icu", "columns": ["nothing"]}, DomainError),
        ({"target": "icu", "model": Counted(strength=0)}, ParameterError),
        ({"target": "icu", "model": "LogisticRegression"}, ParameterError),
        ({"target": "icu", "table": "nowhere"}, DomainError),
        ({"target": "icu", "budget": ZCDP(0.5), "epsilon": 1.0}, ParameterError),
    ],
)
def test_what_is_refused_is_free(tmp_path, asked, error):
    held = curator(tmp_path)
    settings = {"table": "visits", "budget": ZCDP(0.5), "model": Counted(), **asked}

    with pytest.raises(error):
        held.fit(settings.pop("model"), **settings)

    assert held.budget.balance.spent.rho == 0


def test_a_failure_after_the_spend_stays_charged_and_says_nothing(tmp_path, monkeypatch):
    held = curator(tmp_path)
    monkeypatch.setattr(Counted, "fails", True, raising=False)

    with pytest.raises(DiscreetError) as caught:
        held.fit(Counted(), table="visits", target="icu", budget=ZCDP(0.5))

    assert "17" not in str(caught.value).replace(str(caught.value).split("reference")[-1], "")
    assert held.budget.balance.spent.rho == Fraction(1, 2)


def test_the_cap_holds(tmp_path):
    held = curator(tmp_path, budget=PureDP(1))
    held.fit(Counted(), table="visits", target="icu", epsilon=0.75)

    with pytest.raises(BudgetExhausted):
        held.fit(Counted(strength=2), table="visits", target="icu", epsilon=0.5)


def test_an_approximate_model_is_charged_as_it_is_proven(tmp_path, monkeypatch):
    monkeypatch.setattr(Counted, "approximate", True)
    one = curator(tmp_path, rows_per_unit=1)
    model = one.fit(Counted(), table="visits", target="icu", budget=ApproxDP(1.0, 1e-7))

    assert model.privacy() == ApproxDP(1.0, 1e-7, neighbours=AddRemove)
    assert one.budget.balance.spent.epsilon == 1
    assert one.budget.balance.spent.delta == Fraction(1, 10**7)
    two = one.fit(Counted(), table="visits", target="icu", budget=ZCDP(0.5))
    assert two.privacy() == ZCDP(0.5, neighbours=AddRemove)


def test_a_stored_model_is_the_same_and_another_is_refused(tmp_path):
    model = Counted(budget=ApproxDP(1.0, 1e-6), domain=DOMAIN.project(["ward", "age"])).fit(
        frame()[["ward", "age"]], frame()["icu"]
    )
    again = from_bytes(to_bytes(model), Counted())

    assert again.counts_.tolist() == model.counts_.tolist()
    assert again.privacy() == model.privacy()
    assert again.event() == model.event()
    assert again.domain_ == model.domain_
    for broken in (b"", b"PK", to_bytes(model)[:-40]):
        with pytest.raises(ParameterError):
            from_bytes(broken, Counted())
