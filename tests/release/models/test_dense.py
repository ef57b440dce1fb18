"""discreet.release.models.dense: each claim in the module docstring, in order."""

import math

import numpy as np
import pytest
from scipy.stats import chisquare

from discreet.data.columns import Boolean, Integer
from discreet.data.domain import Domain
from discreet.errors import ParameterError
from discreet.hazmat.entropy import SeededRandom
from discreet.queries.marginals import marginals
from discreet.release.models import dense
from discreet.release.models.dense import DenseModel, rows_needed
from tests.arrays import torch
from tests.scale import counts

DOMAIN = Domain({"age": Integer(0, 4), "icu": Boolean(), "ward": Integer(1, 3)})
SAMPLE = counts(quick=20_000, full=2_000_000)


def _model(seed=1, *, library=np.asarray):
    return DenseModel(DOMAIN, library(np.random.default_rng(seed).gamma(0.5, size=DOMAIN.size)))


@pytest.mark.parametrize("library", [np.asarray, torch.as_tensor, lambda cells: np.asarray(cells, dtype=np.float32)])
@pytest.mark.parametrize("names", [[], ["age"], ["icu"], ["ward"], ["age", "ward"], ["age", "icu", "ward"]])
def test_a_marginal_is_a_sum_over_the_other_axes(library, names):
    cube = _model().cells.reshape(5, 2, 3)
    gone = tuple(place for place, name in enumerate(DOMAIN) if name not in names)
    model = _model(library=library)

    np.testing.assert_allclose(model.marginal(names), cube.sum(axis=gone), rtol=1e-6)
    np.testing.assert_allclose(model.total, cube.sum(), rtol=1e-6)


def test_workloads_answer_themselves_on_the_model_as_on_its_histogram():
    model, workload = _model(), marginals(DOMAIN, 2)

    np.testing.assert_allclose(workload.answer(model), workload.answer(model.histogram()))


@pytest.mark.statistical
@pytest.mark.parametrize("block", [7, 1 << 22])
def test_rows_are_drawn_with_the_weights_of_their_cells(block, monkeypatch):
    monkeypatch.setattr(dense, "BLOCK", block)
    model = DenseModel(DOMAIN, _model(2).cells + 0.2)
    drawn = model.sample(SAMPLE, rng=SeededRandom(3)).histogram().counts.reshape(-1)

    assert chisquare(drawn, model.cells / model.cells.sum() * SAMPLE).pvalue > 1e-6


@pytest.mark.statistical
def test_weights_a_tenth_off_are_noticed():
    model = DenseModel(DOMAIN, _model(2).cells + 0.2)
    drawn = model.sample(max(SAMPLE, 200_000), rng=SeededRandom(3)).histogram().counts.reshape(-1)
    tilted = model.cells * np.where(np.arange(DOMAIN.size) % 2, 1.1, 1.0)

    assert chisquare(drawn, tilted / tilted.sum() * drawn.sum()).pvalue < 1e-6


def test_drawn_rows_are_not_sorted():
    column = _model(2).sample(1000, rng=SeededRandom(1)).column("age")

    assert (np.diff(column.astype(int)) < 0).any()


@pytest.mark.parametrize("rows", [1, 7, 30, 1000])
@pytest.mark.parametrize("block", [7, 1 << 22])
def test_rounded_rows_hold_every_interval_to_within_one(rows, block, monkeypatch):
    monkeypatch.setattr(dense, "BLOCK", block)
    model = _model(3)
    made = model.rounded(rows).histogram().counts.reshape(-1)
    shares = model.cells / model.cells.sum() * rows
    off = np.concatenate([[0], np.cumsum(made - shares)])

    assert made.sum() == rows
    assert off.max() - off.min() <= 1 + 1e-6


def test_plain_rounding_would_not_keep_the_number_of_rows():
    shares = np.full(DOMAIN.size, 0.4)

    assert np.rint(shares).sum() == 0
    assert len(DenseModel(DOMAIN, shares).rounded(12)) == 12


@pytest.mark.statistical
def test_the_rows_needed_suffice_for_all_queries():
    model, workload = _model(5), marginals(DOMAIN, 2)
    alpha, beta = 0.05, 0.05
    rows = rows_needed(len(workload), alpha=alpha, beta=beta)
    true = workload.answer(model) / model.total
    rng = SeededRandom(9)
    off = [np.abs(workload.answer(model.sample(rows, rng=rng)) / rows - true).max() for _ in range(60)]

    assert rows == math.ceil(math.log(2 * len(workload) / beta) / (2 * alpha**2))
    assert sum(error > alpha for error in off) <= 14  # Pr[more] < 1e-6 for 60 runs at 5 %


@pytest.mark.parametrize("rows", [0, -1, 1.5, True])
def test_rejects_a_number_of_rows_that_is_none(rows):
    with pytest.raises(ParameterError, match="an integer rows >= 1"):
        _model().sample(rows)
    with pytest.raises(ParameterError, match="an integer rows >= 1"):
        _model().rounded(rows)


@pytest.mark.parametrize(
    "wrong", [{"alpha": 0, "beta": 0.1}, {"alpha": 0.1, "beta": 1}, {"alpha": math.nan, "beta": 0.5}]
)
def test_rejects_numbers_outside_their_domain(wrong):
    with pytest.raises(ParameterError):
        rows_needed(10, **wrong)


def test_rejects_cells_of_another_shape():
    with pytest.raises(ParameterError, match="one weight per cell"):
        DenseModel(DOMAIN, np.ones(29))


def test_the_uniform_model_is_flat():
    model = DenseModel.uniform(DOMAIN, 60.0)

    assert set(model.cells.tolist()) == {2.0}
