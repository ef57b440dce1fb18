"""discreet.learning.neural.network: the estimators, their settings, and runs that stop and go on."""

from __future__ import annotations

import json
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from discreet.composition.choose import best
from discreet.data import Domain, Integer, Real
from discreet.errors import LedgerError, ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.learning import NeuralNetwork, NeuralNetworkRegressor
from discreet.learning.neural import run
from discreet.learning.neural.checkpoint import Checkpoint
from discreet.learning.neural.per_example_module import ModuleNetwork
from discreet.learning.neural.training import BlockSums
from discreet.mechanisms.laplace import Laplace
from discreet.privacy.guarantee import ZCDP, ApproxDP, PureDP
from discreet.privacy.neighbours import Replace
from tests.arrays import torch

torch.set_num_threads(1)  # threads that wait for one another take a hundred times longer on a busy machine

DOMAIN = Domain({"x": Real(-1, 1), "y": Real(-1, 1)})
BUDGET = ApproxDP(3.0, 1e-5)


def points(count, seed=1):
    made = np.random.default_rng(seed).uniform(-1, 1, size=(count, 2))
    return pd.DataFrame(made, columns=["x", "y"]), made[:, 0] * made[:, 1] > 0


def model(**changed):
    given = {"budget": BUDGET, "domain": DOMAIN, "rows": 2000, "batch": 200, "epochs": 4, "hidden": (16,)}
    return NeuralNetwork(**given | changed)


def test_it_learns_what_no_line_separates_and_keeps_its_budget():
    rows, labels = points(4000)
    fresh, answers = points(1000, seed=2)
    fitted = model(rows=4000, epochs=15, learning_rate=0.5).fit(rows, labels)

    assert fitted.score(fresh, answers) > 0.9
    assert fitted.privacy() == BUDGET.under(fitted.privacy().neighbours)
    assert best([fitted.event()], 1e-5) <= BUDGET
    assert fitted.predict_proba(fresh).sum(axis=1) == pytest.approx(1)


@pytest.mark.parametrize("noise", ["independent", "correlated"])
def test_the_number_of_rows_is_asked_for_if_it_is_not_given_and_paid_for(noise):
    rows, labels = points(1000)
    fitted = model(rows=None, noise=noise, epochs=1).fit(rows, labels)
    count, training = fitted.event().events

    assert best([fitted.event()], 1e-5) <= BUDGET
    assert float(count.sensitivity / count.scale) == pytest.approx(3.0 / 50)
    assert float(training.epsilon) == pytest.approx(3.0 * 49 / 50)
    assert fitted.run_.privacy(1e-5) <= ApproxDP(3.0 * 49 / 50, 1e-5)  # what ran costs no more than what was left


def test_training_with_the_whole_budget_after_asking_would_be_caught(monkeypatch):
    """Twin: the noise is for the budget, and not for what the count left of it."""
    real = run._plan
    monkeypatch.setattr(run, "_plan", lambda settings, network, rest, **how: real(settings, network, BUDGET, **how))
    fitted = model(rows=None, epochs=1).fit(*points(1000))

    assert not fitted.run_.privacy(1e-5) <= ApproxDP(3.0 * 49 / 50, 1e-5)


def test_noise_is_for_the_number_of_rows_that_was_measured(monkeypatch):
    """With the release as it was, a dataset twice as large gets the same run; the twin that counts rows does not."""
    monkeypatch.setattr(Laplace, "__call__", lambda self, true, rng=None: 700)
    measured = [model(rows=None, epochs=1).fit(*points(count)).run_ for count in (500, 1000)]
    monkeypatch.setattr(Laplace, "__call__", lambda self, true, rng=None: true)
    counted = [model(rows=None, epochs=1).fit(*points(count)).run_ for count in (500, 1000)]

    assert measured[0] == measured[1]
    assert counted[0] != counted[1]


def test_a_budget_in_zcdp_is_kept():
    rows, labels = points(500)
    asked, given = (model(budget=ZCDP(0.5), rows=rows_, epochs=1).fit(rows, labels) for rows_ in (None, 500))

    assert sum(float(event.rho) for event in asked.event().events[1:]) == pytest.approx(0.49)
    assert asked.run_.steps / (2 * float(asked.run_.noise_multiplier) ** 2) <= 0.49 * (1 + 1e-9)
    assert given.run_.steps / (2 * float(given.run_.noise_multiplier) ** 2) <= 0.5 * (1 + 1e-9)


def test_a_regression_follows_a_curve_inside_the_declared_range():
    rows, _ = points(4000)
    target = 10 + 5 * rows["x"].to_numpy() ** 2
    fitted = NeuralNetworkRegressor((32,), budget=BUDGET, domain=DOMAIN, bounds=(10, 15), rows=4000, epochs=15).fit(
        rows, target
    )
    predicted = fitted.predict(rows)

    assert fitted.score(rows, target) > 0.6
    assert predicted.min() >= 10
    assert predicted.max() <= 15


def test_any_module_can_be_trained_and_the_callers_stays_as_it_was():
    module = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
    before = [weight.detach().clone() for weight in module.parameters()]
    rows, _ = points(2000)
    labels = rows["x"].to_numpy() > 0
    fitted = model(module=module, epochs=2).fit(rows, labels)

    assert fitted.score(rows, labels) > 0.8
    assert all(torch.equal(a, b) for a, b in zip(before, module.parameters(), strict=True))


def test_it_is_an_estimator():
    given = model(learning_rate=0.3)

    assert clone(given).get_params()["learning_rate"] == 0.3
    with pytest.raises(ParameterError, match="call fit first"):
        given.predict(points(3)[0])


def test_all_randomness_is_that_of_the_source():
    """Neither numpy's nor PyTorch's generators are drawn from."""
    rows, labels = points(300)
    fits = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed + 5 * len(fits))
        np.random.seed(seed + 5 * len(fits))
        fits.append(model(rows=300, batch=50, epochs=1).fit(rows, labels, rng=SeededRandom(seed)).network_.weights)

    assert torch.equal(fits[0], fits[1])
    assert not torch.equal(fits[0], fits[2])


def test_no_rows_are_rows_too():
    rows, labels = points(10)

    assert model(epochs=1).fit(rows[:0], labels[:0]).predict(rows).shape == (10,)


def test_a_fitted_model_holds_nothing_but_its_weights():
    """No sum, no row and no noise is left in it."""
    rows, labels = points(50)
    fitted = model(rows=50, batch=25, epochs=1).fit(rows, labels)
    held = [value for value in vars(fitted.network_).values() if isinstance(value, torch.Tensor)]

    assert [len(tensor) for tensor in held] == [len(fitted.network_.weights)]
    assert not any(isinstance(value, BlockSums) for value in vars(fitted).values())


class Keeping(torch.nn.Module):
    """A habit of many modules: the last activations stay, and what was seen is counted."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(5)
        self.layer, self.features, self.calls = torch.nn.Linear(2, 2), None, 0

    def forward(self, rows):
        self.features, self.calls = rows, self.calls + 1
        return self.layer(rows) + torch.tensor([0.0, 10.0]) * (self.calls > 2)


def test_a_module_that_keeps_activations_hands_out_none_of_a_private_row():
    """Neither the fitted network nor the caller's module was ever shown one, and the curve is that of the network."""
    module = Keeping()
    rows, labels = points(50)
    public = points(20, seed=3)
    fitted = model(module=module, rows=50, batch=25, epochs=2, public_rows=public).fit(rows, labels)
    held = fitted.network_._module

    assert (module.features, module.calls) == (None, 0)
    assert (held.features, held.calls) == (None, 0)
    assert fitted.history_[-1].public_score == fitted.score(*public)
    assert (held.features, held.calls) == (None, 0)  # nor does what it predicts stay in it
    assert not torch.equal(fitted.network_.weights, torch.nn.utils.parameters_to_vector(module.parameters()))


def test_a_module_that_was_trained_on_would_be_caught():
    """Twin: the network that saw the rows."""
    network = ModuleNetwork(Keeping(), clip=1.0, block=4, table=4)
    network.rows(torch.ones(4, 2), torch.zeros(4, dtype=torch.int64))

    assert network._module.features is not None


class Untouched:
    """A source that must not be drawn from."""

    secure = True

    def bits(self, count):
        raise AssertionError("something was drawn")

    words = bits


@pytest.mark.parametrize(
    "wrong",
    [
        {"epochs": 0}, {"epochs": True}, {"batch": 2.5}, {"rows": 0}, {"clip": 0}, {"clip": float("nan")},
        {"clip": float("inf")}, {"learning_rate": -1}, {"momentum": 1}, {"momentum": float("nan")},
        {"progress": 3}, {"hidden": (0,)}, {"hidden": (3.0,)}, {"activation": "step"}, {"noise": "none"}, {"bands": 4},
        {"noise": "correlated", "bands": 1}, {"device": "tpu"}, {"seed": 1.5}, {"budget": None}, {"domain": None},
        {"budget": BUDGET.under(Replace)}, {"budget": ZCDP(1e-18)},
        {"budget": ZCDP(1e-10), "noise": "correlated"},
    ],
    ids=str,
)  # fmt: skip
def test_settings_outside_their_domain_are_refused_before_anything_is_drawn(wrong):
    with pytest.raises(ParameterError):
        model(**wrong).fit(*points(20), rng=Untouched())


def test_a_pure_budget_is_refused_before_anything_is_drawn():
    with pytest.raises(UnsupportedError, match="need"):
        model(budget=PureDP(1)).fit(*points(20), rng=Untouched())


def test_a_card_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)

    with pytest.raises(UnsupportedError, match="no graphics card"):
        model(device="cuda").fit(*points(20), rng=Untouched())


def test_without_pytorch_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)

    with pytest.raises(UnsupportedError, match=r"pip install 'discreet\[neural\]'"):
        model().fit(*points(20), rng=Untouched())


# What is shown along the way


def test_the_curve_is_about_public_rows():
    shown = []
    rows, labels = points(1000)
    fitted = model(rows=1000, public_rows=points(200, seed=3), progress=shown.append).fit(rows, labels)

    assert [epoch.number for epoch in shown] == [1, 2, 3, 4]
    assert fitted.history_ == shown
    assert fitted.history_[-1].public_score == pytest.approx(fitted.score(*points(200, seed=3)))


def test_the_curve_is_drawn_and_needs_public_rows():
    rows, labels = points(200)
    fitted = model(rows=200, epochs=3, public_rows=points(50, seed=3)).fit(rows, labels)
    drawn = fitted.plot_history("first").to_dict()

    scores = [epoch.public_score for epoch in fitted.history_]
    assert [point["score"] for point in drawn["data"]["values"]] == scores
    assert drawn["encoding"]["color"]["field"] == "network"
    assert "color" not in fitted.plot_history().to_dict()["encoding"]
    with pytest.raises(ParameterError, match="need public_rows"):
        model(rows=200, epochs=1).fit(rows, labels).plot_history()
    with pytest.raises(ParameterError, match="call fit first"):
        model().plot_history()


class Stop(Exception):
    """What ends a run."""


def stopped(path, at=2, **changed):
    """A run that ends after an epoch was shown; what was shown, and how many steps were taken."""
    shown = []

    def progress(epoch):
        shown.append(epoch)
        if epoch.number == at:
            raise Stop

    rows, labels = points(1000)
    given = model(rows=1000, checkpoint=str(path), progress=progress, public_rows=points(50, seed=3), **changed)
    with pytest.raises(Stop):
        given.fit(rows, labels)
    return shown


def counted(monkeypatch):
    """A list that grows by one a step."""
    steps = []
    whole = BlockSums.__call__

    def step(self, taken):
        steps.append(1)
        return whole(self, taken)

    monkeypatch.setattr(BlockSums, "__call__", step)
    return steps


@pytest.mark.parametrize("noise", ["independent", "correlated"])
def test_a_stopped_run_goes_on_where_it_stood_and_ends_once(tmp_path, monkeypatch, noise):
    path = tmp_path / "run.npz"
    shown = stopped(path, noise=noise)
    with np.load(path) as stored:
        names, weights = set(stored.files), stored["mean"]
    steps = counted(monkeypatch)
    again = []
    given = model(
        rows=1000, checkpoint=str(path), progress=again.append, public_rows=points(50, seed=3), noise=noise
    )  # fmt: skip
    fitted = given.resume(*points(1000))

    assert names == {"head", "weights", "velocity", "mean"}  # all of it computed from noisy sums
    assert weights.shape == (len(fitted.network_.weights),)
    assert [epoch.number for epoch in again] == [2, 3, 4]
    assert again[0] == shown[-1]  # what was shown is what it goes on from
    assert len(steps) == fitted.run_.steps // 2
    assert best([fitted.event()], 1e-5) <= BUDGET
    assert not path.exists()
    with pytest.raises(LedgerError, match="no stopped run"):
        given.resume(*points(1000))


def test_a_run_that_asked_for_the_number_of_rows_does_not_ask_again(tmp_path, monkeypatch):
    path = tmp_path / "run.npz"
    rows, labels = points(1000)

    def end(epoch):
        raise Stop

    with pytest.raises(Stop):
        model(rows=None, checkpoint=str(path), progress=end).fit(rows, labels)
    with np.load(path) as stored:
        asked = stored["head"].tobytes()
    monkeypatch.setattr("discreet.mechanisms.laplace.Laplace.__call__", None)
    fitted = model(rows=None, checkpoint=str(path)).resume(rows, labels)

    assert b'"rows"' in asked
    assert best([fitted.event()], 1e-5) <= BUDGET


def test_a_run_that_stops_in_its_first_epoch_goes_on_as_well(tmp_path, monkeypatch):
    """And does not ask for the number of rows again."""
    path = tmp_path / "run.npz"
    with monkeypatch.context() as patched:
        patched.setattr(BlockSums, "__call__", None)
        with pytest.raises(TypeError):
            model(rows=None, checkpoint=str(path)).fit(*points(1000))
    assert path.exists()
    monkeypatch.setattr("discreet.mechanisms.laplace.Laplace.__call__", None)
    steps = counted(monkeypatch)
    fitted = model(rows=None, checkpoint=str(path)).resume(*points(1000))

    assert len(steps) == fitted.run_.steps
    assert not path.exists()


@pytest.mark.parametrize("step", [-5, 3, 0, 15, 25])
def test_a_file_at_whose_step_no_run_stops_is_refused(tmp_path, monkeypatch, step):
    """The run of 20 steps stopped after 10: a file that tells of fewer would draw more."""
    path = tmp_path / "run.npz"
    stopped(path)
    with np.load(path) as stored:
        arrays = dict(stored)
    head = json.loads(arrays["head"].tobytes()) | {"step": step}
    np.savez(path, **arrays | {"head": np.frombuffer(json.dumps(head).encode(), dtype=np.uint8)})
    steps = counted(monkeypatch)

    with pytest.raises(LedgerError, match="was edited"):
        model(rows=1000, checkpoint=str(path)).resume(*points(1000))
    assert steps == []


def test_a_run_does_not_start_where_another_waits(tmp_path):
    stopped(tmp_path / "run.npz")

    with pytest.raises(LedgerError, match="a stopped run waits"):
        model(rows=1000, checkpoint=str(tmp_path / "run.npz")).fit(*points(1000))


@pytest.mark.parametrize("changed", [{"epochs": 5}, {"budget": ApproxDP(9.0, 1e-5)}, {"learning_rate": 0.1}], ids=str)
def test_a_stopped_run_goes_on_with_its_own_settings_only(tmp_path, changed):
    """Twin: a larger budget for the rest would be paid by nobody."""
    stopped(tmp_path / "run.npz")

    with pytest.raises(ParameterError, match="settings of the stopped run"):
        model(rows=1000, checkpoint=str(tmp_path / "run.npz"), **changed).resume(*points(1000))


def test_two_processes_do_not_go_on_from_one_file(tmp_path):
    stopped(tmp_path / "run.npz")

    with Checkpoint(tmp_path / "run.npz", {}), pytest.raises(LedgerError, match="a run is going on"):
        model(rows=1000, checkpoint=str(tmp_path / "run.npz")).resume(*points(1000))


@pytest.mark.parametrize("damage", [b"", b"no file of ours", None])
def test_a_damaged_file_is_refused(tmp_path, damage):
    path = tmp_path / "run.npz"
    stopped(path)
    path.write_bytes(path.read_bytes()[:-200] if damage is None else damage)

    with pytest.raises(LedgerError, match="damaged"):
        model(rows=1000, checkpoint=str(path)).resume(*points(1000))


def test_nothing_is_shown_before_it_is_on_the_disk(tmp_path):
    """Else a step that was shown could be drawn a second time."""
    path, steps = tmp_path / "run.npz", []

    def progress(epoch):
        with np.load(path) as stored:
            steps.append((epoch.number, stored["head"].tobytes()))

    rows, labels = points(1000)
    model(rows=1000, checkpoint=str(path), progress=progress).fit(rows, labels)

    assert [f'"step": {5 * number}'.encode() in head for number, head in steps] == [True] * 4


def test_integers_and_frames_are_read_by_the_declaration():
    frame = pd.DataFrame({"a": [0, 5, 9, 99], "b": [1, 2, 3, 4]})
    fitted = NeuralNetwork(
        (4,), budget=BUDGET, domain=Domain({"a": Integer(0, 9), "b": Integer(0, 9)}), rows=4, batch=4, epochs=1,
        classes=["no", "yes"],
    ).fit(frame, ["no", "yes", "yes", "perhaps"])  # fmt: skip

    assert set(fitted.predict(frame)) <= {"no", "yes"}
