"""discreet.release.models.product: each claim in the module docstring, in order."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import chisquare

from discreet.data import Boolean, Domain
from discreet.errors import DomainError, ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.queries.marginals import marginals
from discreet.release.models.graphical import GraphicalModel
from discreet.release.models.product import ProductModel
from tests.release.models.enumeration import small_domain


def example(total=60):
    rng = np.random.default_rng(1)
    domain = small_domain(2, 3, 2, 4)
    return ProductModel(domain, {("c", "a"): rng.random((2, 2)), ("b",): rng.random(3)}, total=total)


def test_every_marginal_is_the_product_of_those_of_the_blocks():
    model = example()
    pair, single = model.blocks["c", "a"], model.blocks[("b",)]
    cells = 60 * np.einsum("ca,b,d->abcd", pair, single, np.full(4, 0.25))
    for k in range(5):
        for columns in itertools.combinations("abcd", k):
            gone = tuple(axis for axis, name in enumerate("abcd") if name not in columns)

            np.testing.assert_allclose(model.marginal(columns), cells.sum(axis=gone))
    np.testing.assert_allclose(model.histogram().counts, cells)
    np.testing.assert_allclose(model.marginal(["b", "a"]), model.marginal(["a", "b"]).T)


def test_it_is_the_graphical_model_of_its_blocks():
    model = example()
    same = GraphicalModel(model.domain, {block: np.log(table) for block, table in model.blocks.items()}, total=60)
    workload = marginals(model.domain, 2)

    np.testing.assert_allclose(model.answer(workload), same.answer(workload))
    assert model.size == same.size == 4 + 3 + 4


def test_fifty_columns_take_a_hundred_cells():
    domain = Domain({f"x{i}": Boolean() for i in range(50)})
    model = ProductModel(domain, {(name,): [3, 1] for name in domain})

    assert (model.size, model.total) == (100, 4)
    assert model.marginal(["x0", "x49"]).tolist() == [[2.25, 0.75], [0.75, 0.25]]
    with pytest.raises(UnsupportedError, match="over the limit"):
        model.histogram()


def test_rows_drawn_follow_the_joint_distribution():
    model = example(total=40_000)
    drawn = model.sample(40_000, rng=SeededRandom(1)).histogram().counts

    assert chisquare(drawn.ravel(), model.histogram().counts.ravel()).pvalue > 1e-6
    assert np.abs(drawn.sum(axis=(1, 3)) - model.marginal(["a", "c"])).max() < 1


@pytest.mark.parametrize("table", [[1.0], [1.0, -0.5], [1.0, math.nan], [0.0, 0.0]])
def test_rejects_blocks_that_are_no_weights(table):
    with pytest.raises(ParameterError):
        ProductModel(small_domain(2), {("a",): table}, total=1)


@pytest.mark.parametrize("total", [0, math.nan, math.inf])
def test_rejects_a_total_that_is_no_number_of_rows(total):
    with pytest.raises(ParameterError, match="need a finite total > 0"):
        ProductModel(small_domain(2), {("a",): [1, 1]}, total=total)


def test_rejects_a_column_in_two_blocks_and_a_model_of_nothing():
    with pytest.raises(ParameterError, match="each column in one block"):
        ProductModel(small_domain(2, 2), {("a",): [1, 1], ("a", "b"): np.ones(4)})
    with pytest.raises(ParameterError, match="need a finite total > 0"):
        ProductModel(small_domain(2, 2), {})
    with pytest.raises(DomainError, match="no column 'z'"):
        ProductModel(small_domain(2, 2), {("z",): [1, 1]})
