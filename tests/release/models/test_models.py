"""The contract of every model of a distribution, over all of them at once."""

import itertools

import numpy as np
import pytest
from scipy.stats import chisquare

from discreet.data import Records
from discreet.errors import DiscreetError
from discreet.hazmat.entropy import SeededRandom
from discreet.queries.marginals import marginals
from discreet.release.models import DenseModel, GraphicalModel, ProductModel
from discreet.release.models.base import Model
from tests.release.models.enumeration import small_domain

DOMAIN = small_domain(2, 3, 4)
PAIR, SINGLE = np.array([[4.0, 2.0, 1.0], [1.0, 3.0, 1.0]]), np.array([1.0, 2.0, 3.0, 4.0])
CELLS = np.multiply.outer(PAIR, SINGLE)  # 120 rows
MODELS: dict[str, Model] = {
    "dense": DenseModel(DOMAIN, CELLS.reshape(-1)),
    "product": ProductModel(DOMAIN, {("a", "b"): PAIR, ("c",): SINGLE}, total=120),
    "graphical": GraphicalModel(DOMAIN, {("a", "b"): np.log(PAIR), ("c",): np.log(SINGLE)}, total=120),
}


@pytest.mark.parametrize("kind", MODELS)
def test_the_same_distribution_has_the_same_marginals_and_total_however_it_is_kept(kind):
    model = MODELS[kind]
    for k in range(4):
        for columns in itertools.combinations("abc", k):
            gone = tuple(axis for axis, name in enumerate("abc") if name not in columns)

            np.testing.assert_allclose(model.marginal(columns), CELLS.sum(axis=gone), rtol=1e-12)
    np.testing.assert_allclose(model.histogram().counts, CELLS)
    assert model.total == pytest.approx(120)


@pytest.mark.parametrize("kind", MODELS)
def test_workloads_answer_themselves_on_a_model(kind):
    workload = marginals(DOMAIN, 2)

    np.testing.assert_allclose(workload.answer(MODELS[kind]), workload.apply(CELLS.reshape(-1)))


@pytest.mark.parametrize("kind", MODELS)
def test_rows_of_a_model_follow_its_distribution(kind):
    rows = MODELS[kind].sample(12_000, rng=SeededRandom(1))

    assert isinstance(rows, Records)
    assert chisquare(rows.histogram().counts.reshape(-1), 100 * CELLS.reshape(-1)).pvalue > 1e-6
    assert chisquare(rows.histogram().counts.reshape(-1), 100 * CELLS[:, ::-1].reshape(-1)).pvalue < 1e-6


@pytest.mark.parametrize("kind", MODELS)
def test_a_seed_gives_the_same_rows_again(kind):
    one, other = (MODELS[kind].sample(50, rng=SeededRandom(2)) for _ in range(2))

    assert all(np.array_equal(one.column(name), other.column(name)) for name in DOMAIN)


@pytest.mark.parametrize("kind", MODELS)
def test_unknown_columns_and_no_rows_are_refused(kind):
    with pytest.raises(DiscreetError):
        MODELS[kind].marginal(["z"])
    with pytest.raises(DiscreetError):
        MODELS[kind].sample(0)
