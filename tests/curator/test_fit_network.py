"""discreet.curator.fit_run with a neural network: what it costs, and that it is kept and given again as it was."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from fractions import Fraction

import duckdb
import numpy as np
import pandas as pd
import pytest

from discreet.cli.models import _watched
from discreet.composition.choose import best
from discreet.curator import Curator
from discreet.data import Boolean, Domain, Identifier, Real, Table
from discreet.errors import BudgetExhausted, LedgerError, ParameterError, UnsupportedError
from discreet.learning import NeuralNetwork
from discreet.learning.neural.checkpoint import Checkpoint
from discreet.learning.neural.training import BlockSums
from discreet.learning.stored import load, save, to_bytes
from discreet.ledger import Ledger
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


# A run that stops goes on under the charge that paid for it


def stopping(at):
    """Whom an epoch is told, and who then ends the run; a list of those that were told."""
    seen = []

    def progress(epoch):
        seen.append(epoch.number)
        if epoch.number == at:
            raise KeyboardInterrupt

    return seen, progress


def stopped(curator, file, at=2, **changed):
    """A fit that ends once an epoch was shown."""
    seen, progress = stopping(at)
    with pytest.raises(KeyboardInterrupt):
        fitted(curator, checkpoint=str(file), progress=progress, **changed)
    return seen


def steps_of(monkeypatch):
    """A list that grows by one with every step that reads rows."""
    steps, real = [], BlockSums.__call__
    monkeypatch.setattr(BlockSums, "__call__", lambda self, taken: steps.append(len(taken)) or real(self, taken))
    return steps


def test_a_stopped_network_goes_on_under_the_charge_that_paid_for_it(tmp_path, monkeypatch):
    """No step is taken twice and nothing is paid again; without its file it would be."""
    curator, file = held(tmp_path), tmp_path / "run.npz"
    steps = steps_of(monkeypatch)
    assert stopped(curator, file) == [1, 2]
    assert spent(curator) == (2, Fraction(1, 10**7))
    curator, taken, again = held(tmp_path), len(steps), []
    model = fitted(curator, checkpoint=str(file), progress=lambda epoch: again.append(epoch.number))

    assert spent(curator) == (2, Fraction(1, 10**7))
    assert again == [2, 3]
    assert (taken, len(steps)) == (20, model.run_.steps)
    assert not file.exists()
    assert to_bytes(fitted(curator)) == to_bytes(fitted(curator, checkpoint=str(file))) == to_bytes(model)
    assert len(steps) == model.run_.steps
    stopped(curator, file, seed=1)
    file.unlink()
    with pytest.raises(BudgetExhausted):  # twin: a second run is a second release, 2 + 2 + 2 of 5
        fitted(curator, checkpoint=str(file), seed=1)


def test_a_stopped_network_goes_on_for_its_own_order_only(tmp_path):
    """Another price, other settings, somebody else or a fresh model: refused before anything is paid or read."""
    curator, file = held(tmp_path), tmp_path / "run.npz"
    stopped(curator, file)
    before = file.read_bytes()
    others = [{"seed": 1}, {"epochs": 4}, {"learning_rate": 0.1}, {"hidden": (9,)}]
    asked = {"table": "patients", "target": "ill", "budget": SPENT}
    for changed in others:
        with pytest.raises(ParameterError, match="settings of the stopped run"):
            fitted(curator, checkpoint=str(file), **changed)
    with pytest.raises(ParameterError, match="settings of the stopped run"):
        fitted(curator, ApproxDP(1.0, 1e-7), checkpoint=str(file))
    for who in ({"analyst": "bob"}, {"fresh": True}, {"columns": ["y", "x"]}):
        with pytest.raises(ParameterError, match="paid for by another order"):
            curator.fit(network(checkpoint=str(file)), **asked | who)
    with pytest.raises(ParameterError, match="settings of the stopped run"):  # nor by who holds the rows himself
        network(checkpoint=str(file), budget=SPENT, domain=DOMAIN.project(["x", "y"])).resume([[0.0, 0.0]], [True])

    assert spent(curator) == (2, Fraction(1, 10**7))
    assert file.read_bytes() == before
    fitted(curator, checkpoint=str(file))
    assert spent(curator) == (2, Fraction(1, 10**7))


def test_the_checkpoint_of_nobody_pays_for_nothing(tmp_path):
    """One of a run outside the curator, one that somebody holds, and one in no folder."""
    curator, file = held(tmp_path), tmp_path / "run.npz"
    _, progress = stopping(1)
    alone = network(checkpoint=str(file), progress=progress, budget=SPENT, domain=DOMAIN.project(["x", "y"]))
    with pytest.raises(KeyboardInterrupt):
        alone.fit(np.zeros((10, 2)), np.zeros(10, dtype=bool))

    with pytest.raises(ParameterError, match="paid for by another order"):
        fitted(curator, checkpoint=str(file))
    with Checkpoint(tmp_path / "held.npz", {}), pytest.raises(LedgerError, match="a run is going on"):
        fitted(curator, checkpoint=str(tmp_path / "held.npz"))
    with pytest.raises(ParameterError, match="a folder that can be written"):
        fitted(curator, checkpoint=str(tmp_path / "nowhere" / "run.npz"))
    assert spent(curator) == (0, 0)


def test_a_run_that_ended_and_was_not_stored_goes_on_by_no_step_to_the_same_model(tmp_path, monkeypatch):
    curator, file = held(tmp_path), tmp_path / "run.npz"
    kept = []

    def die(ledger, receipt, answer, **_):
        kept.append(answer)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "store", die)
        with pytest.raises(KeyboardInterrupt):
            fitted(curator, checkpoint=str(file))
    steps = steps_of(monkeypatch)
    model = fitted(curator, checkpoint=str(file))

    assert steps == []
    assert to_bytes(model) == kept[0]
    assert spent(curator) == (2, Fraction(1, 10**7))
    assert not file.exists()


def test_the_rehearsal_takes_no_step_and_shows_nobody_anything(tmp_path, monkeypatch):
    """It happens before the charge; and how a fit is watched does not make it another one."""
    curator, seen, steps, real = held(tmp_path), [], [], BlockSums.__call__
    paid = []
    monkeypatch.setattr(BlockSums, "__call__", lambda self, taken: steps.append(spent(curator)) or real(self, taken))
    model = fitted(curator, progress=lambda epoch: (seen.append(epoch.number), paid.append(spent(curator))))
    again = fitted(curator, progress=lambda epoch: seen.append(epoch.number))

    assert seen == [1, 2, 3]
    assert set(paid) == set(steps) == {(2, Fraction(1, 10**7))}
    assert len(steps) == model.run_.steps
    assert to_bytes(again) == to_bytes(model)
    save(again, tmp_path / "fitted.model")  # without who watched
    assert to_bytes(load(tmp_path / "fitted.model")) == to_bytes(model)


@pytest.mark.parametrize(("terminal", "here", "told"), [(True, True, [1, 2, 3]), (True, False, []), (False, True, [])])
def test_the_command_shows_the_epochs_of_a_network_where_somebody_watches(tmp_path, monkeypatch, terminal, here, told):
    """A bar for a network that is trained here; at a service, or in a log, there is none."""
    shown, model = [], network()

    @contextmanager
    def bar(epochs, **how):
        assert (epochs, how) == (3, {"shown": True, "doing": "training", "things": "epochs"})
        yield shown.append

    monkeypatch.setattr("discreet.synthesis.progress_bar.bar", bar)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    with _watched(model, here=here):
        held(tmp_path).fit(model, table="patients", target="ill", budget=SPENT)

    assert shown == told


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"clip": 0}, ParameterError),
        ({"noise": "none"}, ParameterError),
        ({"module": torch.nn.Linear(2, 2)}, UnsupportedError),
        ({"budget": ZCDP(1e-18)}, ParameterError),
        ({"progress": 3}, ParameterError),
        ({"public_rows": ([[0.0]], [True])}, ParameterError),
    ],
    ids=["clip", "noise", "module", "too much noise", "progress", "public rows"],
)
def test_a_network_that_cannot_be_trained_or_kept_is_refused_for_free(tmp_path, changed, error):
    curator = held(tmp_path)

    with pytest.raises(error):
        fitted(curator, **{"epochs": 1} | changed)

    assert spent(curator) == (0, 0)
