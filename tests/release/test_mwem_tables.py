"""discreet.release.mwem_tables: each claim in the module docstring, in order."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from discreet.data.columns import Boolean, Integer
from discreet.data.domain import Domain
from discreet.data.histogram import Histogram
from discreet.queries.marginals import marginals
from discreet.release.mwem_tables import Components, turned, turned_back, turned_by_squares

DOMAIN = Domain({"age": Integer(0, 3), "icu": Boolean(), "ward": Integer(0, 2), "one": Integer(5, 5)})
WORKLOADS = [
    marginals(DOMAIN, 2),
    marginals(DOMAIN, [["age", "icu", "ward"]]),
    marginals(DOMAIN, [["ward"], ["age", "icu"], ["age", "ward"], ["one"], []]),
]


def _cells(seed):
    return np.random.default_rng(seed).dirichlet(np.ones(DOMAIN.size))


def _statistics(components, workload):
    """The value of every component at every cell."""
    return np.stack([components.of_answers(workload.apply(cell)) for cell in np.eye(DOMAIN.size)], axis=1)


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
def test_rotations_are_orthogonal_with_a_constant_first_row(size):
    q = turned(np.eye(size)).T

    np.testing.assert_allclose(q @ q.T, np.eye(size), atol=1e-12)
    np.testing.assert_allclose(q[0], q[0, 0])
    np.testing.assert_allclose(turned_back(np.eye(size)), q, atol=1e-14)
    np.testing.assert_allclose(turned_by_squares(np.eye(size)).T[1:], q[1:] ** 2, atol=1e-14)


def test_a_column_of_many_values_takes_no_square_of_them():
    """8,000 values took 2 GB at the peak, and 488 MB were kept."""
    many = marginals(Domain({"zip": Integer(0, 49_999), "icu": Boolean()}), [["zip"], ["zip", "icu"]])
    tables = many.apply(np.random.default_rng(1).dirichlet(np.ones(many.domain.size)))
    tracemalloc.start()
    try:
        components = Components(many)
        back = components.answers(components.of_answers(tables))
        components.spreads(components.of_answers(tables))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    np.testing.assert_allclose(back, tables, atol=1e-12)
    assert peak < 100 * tables.nbytes


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda w: str(len(w.sets)))
def test_tables_come_back_from_their_components(workload):
    components, tables = Components(workload), workload.apply(_cells(1))

    np.testing.assert_allclose(components.answers(components.of_answers(tables)), tables, atol=1e-12)


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda w: str(len(w.sets)))
def test_components_are_independent_of_one_another_and_of_the_total(workload):
    """The cells of overlapping tables are not: the rank of the workload is smaller than its length."""
    statistics = _statistics(Components(workload), workload)
    both = np.vstack([np.ones(DOMAIN.size), statistics])

    assert np.linalg.matrix_rank(both) == len(both) == np.linalg.matrix_rank(workload.matrix().astype(float))


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda w: str(len(w.sets)))
def test_a_combination_of_components_is_a_sum_of_functions_of_tables(workload):
    components = Components(workload)
    theta = np.random.default_rng(2).normal(size=components.count)
    spread = workload.transpose(components.on_answers(theta))

    np.testing.assert_allclose(spread, theta @ _statistics(components, workload), atol=1e-12)


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda w: str(len(w.sets)))
def test_spreads_are_the_variances_over_rows(workload):
    components, p = Components(workload), _cells(3)
    statistics = _statistics(components, workload)
    means = statistics @ p

    np.testing.assert_allclose(components.spreads(means), statistics**2 @ p - means**2, atol=1e-12)


def test_every_table_measures_the_same_components_with_the_stated_variance():
    workload = marginals(DOMAIN, 2)
    components = Components(workload)
    data = Histogram.random(DOMAIN, n=1000, seed=1)
    exact = components.of_answers(workload.answer(data).astype(float))
    start = 0
    for table, size in enumerate(workload.sizes):
        places, values, larger = components.measurement(table, workload.answer(data)[start : start + size])
        response = np.stack([components.measurement(table, cell)[1] for cell in np.eye(size)], axis=1)

        np.testing.assert_allclose(values, exact[places], atol=1e-9)
        np.testing.assert_allclose(response @ response.T, np.diag(larger), atol=1e-9)  # uncorrelated, of that variance
        start += size


def test_a_factor_of_the_variance_forgotten_would_be_noticed():
    components = Components(marginals(DOMAIN, 2))
    response = np.stack([components.measurement(0, cell)[1] for cell in np.eye(8)], axis=1)

    assert not np.allclose(response @ response.T, np.eye(len(response)))
