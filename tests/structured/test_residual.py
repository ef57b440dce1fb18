"""discreet.structured.marginals.residual, residual_tables, residual_kernels and fourier: each claim, in order."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.data.columns import Boolean, Integer
from discreet.data.domain import Domain
from discreet.data.histogram import Histogram
from discreet.data.records import Records
from discreet.errors import ParameterError, UnsupportedError
from discreet.queries.marginals import marginals
from discreet.queries.products import parities
from discreet.structured.marginals import residual
from discreet.structured.marginals.fourier import parities_from_tables, tables_from_parities, walsh_hadamard
from discreet.structured.marginals.residual import inverse_norms, residuals_of
from discreet.structured.marginals.residual_kernels import analyse, synthesise
from discreet.structured.marginals.residual_tables import answers, measured


def mixed(*sizes):
    return Domain({f"c{i}": Integer(0, k - 1) for i, k in enumerate(sizes)})


def helmert(k):
    """The matrix (1; h_1; ...; h_(k-1)), from its definition."""
    rows = [[1] * k] + [[1] * j + [-j] + [0] * (k - j - 1) for j in range(1, k)]
    return np.array(rows)


def transform(shape):
    made = np.ones((1, 1), dtype=np.int64)
    for k in shape:
        made = np.kron(made, helmert(k))
    return made


def exact(values, numbers, shape):
    return values.astype(float)


@pytest.mark.parametrize("k", [2, 3, 5, 12])
def test_the_rows_are_orthogonal_with_the_stated_squares(k):
    rows = helmert(k)

    assert (rows @ rows.T == np.diag([k] + [j * (j + 1) for j in range(1, k)])).all()


@pytest.mark.parametrize("shape", [(4,), (2, 3), (3, 1, 4), (2, 2, 2, 2)])
def test_the_compiled_transform_is_the_matrix_and_its_inverse(shape):
    tables = np.random.default_rng(1).integers(0, 1000, size=(3, math.prod(shape)))
    sizes, made = np.array(shape), tables.copy()
    analyse(made, sizes)
    back = made.astype(float)
    synthesise(back, sizes)

    assert (made == tables @ transform(shape).T).all()
    assert back == pytest.approx(tables, abs=1e-9)


@pytest.mark.parametrize("shape", [(2,), (5,), (2, 3), (3, 4, 2)])
def test_every_row_has_the_same_share(shape):
    """Theorem 2, in rationals: the sum over c of h_c(row)^2 / N_c is the product of 1 - 1/k."""
    share = math.prod((1 - Fraction(1, k) for k in shape), start=Fraction(1))
    for cell in itertools.product(*(range(k) for k in shape)):
        total = Fraction(0)
        for c in itertools.product(*(range(1, k) for k in shape)):
            entry = math.prod(int(helmert(k)[j, v]) for k, j, v in zip(shape, c, cell, strict=True))
            total += Fraction(entry**2, math.prod(j * (j + 1) for j in c))

        assert total == share


def test_the_norms_are_those_of_the_rows():
    assert inverse_norms((3, 2)) == pytest.approx(np.array([[1 / 2], [1 / math.sqrt(12)]]))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.data())
def test_tables_come_back_from_their_residuals(sizes, data):
    """Theorem 1, on any domain and any list of tables, from rows and from a histogram alike."""
    domain = mixed(*sizes)
    every = [s for t in range(len(sizes) + 1) for s in itertools.combinations(domain, t)]
    sets = data.draw(st.lists(st.sampled_from(every), min_size=1, unique=True))
    workload, rows = marginals(domain, sets), Records.random(domain, 40, seed=data.draw(st.integers(0, 99)))
    residuals = residuals_of(workload)

    for counted in (rows, rows.histogram()):
        values = measured(residuals, counted, exact)
        assert answers(residuals, values, workload) == pytest.approx(workload.answer(rows), abs=1e-9)


def test_every_residual_is_measured_exactly_once():
    workload = marginals(mixed(3, 2, 4, 3, 2), [("c0",), ("c0", "c1", "c2"), ("c1", "c2", "c3"), ("c3", "c4"), ()])
    residuals, seen = residuals_of(workload), []

    def noted(values, numbers, shape):
        seen.extend(numbers.tolist())
        return values.astype(float)

    measured(residuals, Records.random(workload.domain, 50, seed=1), noted)

    assert sorted(seen) == list(range(len(residuals)))


def test_rebuilt_tables_agree_whatever_the_residuals_are():
    workload = marginals(mixed(3, 2, 4, 3), 3)
    residuals = residuals_of(workload)
    values = np.random.default_rng(2).normal(size=residuals.coordinates)
    tables = workload.tables(answers(residuals, values, workload))
    by_first = [table.sum(axis=tuple(range(1, 3))) for names, table in tables.items() if names[0] == "c0"]

    assert len(by_first) == 3
    assert np.ptp(np.array(by_first), axis=0).max() < 1e-9


def test_the_variances_are_those_of_the_matrices():
    """Theorem 3 against the covariance of the rebuilt tables, from the matrices."""
    workload = marginals(mixed(3, 2, 4), [("c0", "c1"), ("c1", "c2"), ("c0", "c1", "c2")])
    residuals = residuals_of(workload)
    noise = np.random.default_rng(3).uniform(0.5, 2, len(residuals))
    spread = np.empty(residuals.coordinates)
    for block in residuals.blocks:
        for i in range(block.count):
            size = math.prod(block.inner)
            here = slice(block.start + i * size, block.start + (i + 1) * size)
            spread[here] = noise[block.first + i] / inverse_norms(block.shape).ravel() ** 2
    columns = [answers(residuals, unit, workload) for unit in np.eye(residuals.coordinates)]
    variances = (np.array(columns) ** 2 * spread[:, None]).sum(axis=0)

    assert variances == pytest.approx(np.repeat(residuals.variances(noise), workload.sizes))


def test_weights_multiply_the_answers():
    domain = mixed(2, 3)
    workload = marginals(domain, [("c0",), ("c1",)], weights=[2, "1/2"])
    rows = Records.random(domain, 30, seed=4)
    residuals = residuals_of(workload)

    assert answers(residuals, measured(residuals, rows, exact), workload) == pytest.approx(workload.answer(rows))


def test_too_many_sets_of_columns_are_refused(monkeypatch):
    monkeypatch.setattr(residual, "MOST", 7)

    with pytest.raises(UnsupportedError, match="hold 8 sets of columns, and at most 7"):
        residuals_of(marginals(mixed(2, 2, 2), 3))


def test_wide_tables_of_many_columns_keep_their_sets_apart():
    """Beyond 64 bits of key."""
    domain = mixed(*[2] * 80)
    names = list(domain)
    residuals = residuals_of(marginals(domain, [names[:11], names[10:21], names[60:]][:2]))

    assert len(residuals) == 2 * 2**11 - 2  # they share one column and the empty set


def test_a_table_of_bits_and_its_parities_are_one_transform():
    d, t = 6, 3
    domain = Domain({f"b{i}": Boolean() for i in range(d)})
    data = Histogram.random(domain, n=500, seed=5)
    tables, signs = marginals(domain, t).answer(data), parities(d, t, at_most=True).answer(data)

    assert tables_from_parities(signs, d=d, t=t) == pytest.approx(tables)
    assert parities_from_tables(tables, d=d, t=t) == pytest.approx(signs)


def test_the_residuals_of_bits_are_their_parities():
    domain = Domain({f"b{i}": Boolean() for i in range(5)})
    data = Histogram.random(domain, n=300, seed=6)
    values = measured(residuals_of(marginals(domain, 2)), data, exact)

    assert values.tolist() == parities(5, 2, at_most=True).answer(data).tolist()


def test_the_corner_of_two_bits_is_a_quarter_of_four_parities():
    n, y1, y2, y12 = 60.0, 8.0, -20.0, 4.0

    assert tables_from_parities(np.array([n, y1, y2, y12]), d=2, t=2)[0] == (n + y1 + y2 + y12) / 4


@given(st.integers(0, 4), st.integers(0, 10**6))
def test_errors_of_parities_are_no_larger_in_cells(t, seed):
    errors = np.random.default_rng(seed).uniform(-1, 1, (1, 1 << t))

    assert np.abs(walsh_hadamard(errors) / (1 << t)).max() <= np.abs(errors).max() * (1 + 1e-12)


def test_the_bound_on_cells_is_attained():
    """The coefficients sum to exactly 1, not to less."""
    assert (walsh_hadamard(np.array([[1, -1, -1, 1]])) / 4).max() == 1


def test_a_transform_needs_a_power_of_two():
    with pytest.raises(ParameterError, match="a power of two columns"):
        walsh_hadamard(np.ones((1, 3)))
    with pytest.raises(ParameterError, match="4 parities"):
        tables_from_parities(np.ones(3), d=2, t=2)
    with pytest.raises(ParameterError, match="4 cells"):
        parities_from_tables(np.ones(3), d=2, t=2)
