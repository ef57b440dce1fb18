"""discreet.curator.fit_run with a neural network: what it costs, and that it is kept and given again as it was."""

from __future__ import annotations

from fractions import Fraction

import duckdb
import numpy as np
import pandas as pd
import pytest

from discreet.composition.choose import best
from discreet.curator import Curator
from discreet.data import Boolean, Domain, Identifier, Real, Table
from discreet.errors import BudgetExhausted, ParameterError, UnsupportedError
from discreet.learning import NeuralNetwork
from discreet.learning.stored import to_bytes
from discreet.privacy.guarantee import ZCDP, ApproxDP
from discreet.privacy.neighbours import AddRemove
from tests.arrays import torch

torch.set_num_threads(1)  # threads that wait for one another take a hundred times longer on a busy machine

DOMAIN = Domain({"patient": Identifier(), "x": Real(-1, 1), "y": Real(-1, 1), "ill": Boolean()})
SPENT = ApproxDP(2.0, 1e-7)


def held(folder, *, rows_per_unit=1):
    """A thousand patients in a file, read by DuckDB."""
    chance = np.random.default_rng(8)
    patients = pd.DataFrame(chance.uniform(-1, 1, size=(1000, 2)), columns=["x", "y"])
    patients.insert(0, "patient", np.arange(1000))
    patients["ill"] = patients["x"] > patients["y"]
    duckdb.from_df(patients).write_parquet(str(folder / "patients.parquet"))
    table = Table(folder / "patients.parquet", domain=DOMAIN, unit="patient", rows_per_unit=rows_per_unit)
    return Curator({"patients": table}, budget=ApproxDP(5.0, 1e-6), ledger=folder / "ledger.db")


def network(**changed):
    return NeuralNetwork(**{"hidden": (8,), "rows": 1000, "batch": 100, "epochs": 3} | changed)


def fitted(curator, budget=SPENT, **changed):
    return curator.fit(network(**changed), table="patients", target="ill", budget=budget)


def spent(curator):
    balance = curator.budget.balance.spent
    return balance.epsilon, balance.delta


@pytest.fixture
def patients():
    chance = np.random.default_rng(9)
    return pd.DataFrame(chance.uniform(-1, 1, size=(400, 2)), columns=["x", "y"])


def test_a_network_is_charged_epsilon_and_delta_and_learns(tmp_path, patients):
    curator = held(tmp_path)
    model = fitted(curator)

    assert spent(curator) == (2, Fraction(1, 10**7))
    assert model.privacy() == SPENT.under(AddRemove)
    assert best([model.event()], 1e-7) <= SPENT
    assert (model.predict(patients) == (patients["x"] > patients["y"])).mean() > 0.8


def test_it_is_given_again_as_it_was_by_a_curator_that_was_opened_anew(tmp_path, patients):
    first = fitted(held(tmp_path))
    curator = held(tmp_path)
    again = fitted(curator)

    assert to_bytes(again) == to_bytes(first)
    assert torch.equal(again.network_.weights, first.network_.weights)
    assert np.array_equal(again.predict_proba(patients), first.predict_proba(patients))
    assert again.privacy() == first.privacy()
    assert spent(curator) == (2, Fraction(1, 10**7))
    other = fitted(curator, seed=1)  # twin: another network is another charge
    assert not torch.equal(other.network_.weights, first.network_.weights)
    assert spent(curator) == (4, Fraction(2, 10**7))
    with pytest.raises(BudgetExhausted):
        fitted(curator, seed=2)


def test_a_unit_of_two_rows_is_charged_in_zcdp_with_twice_the_noise(tmp_path):
    """(epsilon, delta) for one row is not (epsilon, delta) for two: such a budget is spent in zCDP as well."""
    (tmp_path / "two").mkdir()
    curators = held(tmp_path), held(tmp_path / "two", rows_per_unit=2)
    one, two = (fitted(curator, ZCDP("0.05"), epochs=1) for curator in curators)

    assert [curator.budget.balance.spent.rho for curator in curators] == [Fraction(1, 20)] * 2
    assert float(two.run_.noise_multiplier) == pytest.approx(2 * float(one.run_.noise_multiplier))
    assert two.privacy() == ZCDP("0.05", neighbours=AddRemove)
    assert isinstance(fitted(curators[1], epochs=1).privacy(), ZCDP)


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"clip": 0}, ParameterError),
        ({"noise": "none"}, ParameterError),
        ({"module": torch.nn.Linear(2, 2)}, UnsupportedError),
        ({"budget": ZCDP(1e-18)}, ParameterError),
    ],
    ids=["clip", "noise", "module", "too much noise"],
)
def test_a_network_that_cannot_be_trained_or_kept_is_refused_for_free(tmp_path, changed, error):
    curator = held(tmp_path)

    with pytest.raises(error):
        fitted(curator, **{"epochs": 1} | changed)

    assert spent(curator) == (0, 0)
