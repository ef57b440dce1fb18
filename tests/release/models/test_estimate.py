"""discreet.release.models.estimate: each claim in the module docstring, in order, against a general convex solver."""

import itertools
import math

import cvxpy as cp
import numpy as np
import pytest

from discreet.data import Domain, Integer
from discreet.errors import ParameterError, UnsupportedError
from discreet.release.models.estimate import Measurement, estimate
from discreet.release.models.estimate_descent import Point, descend
from discreet.release.models.estimate_problem import alone
from tests.release.models.enumeration import SHAPES, dense_marginal, small_domain

SIZES = (2, 3, 2, 3, 2)
ROWS = 200


def noisy(domain, sets, *, seed, sds=(3.0, 5.0)):
    rng = np.random.default_rng(seed)
    true = ROWS * rng.dirichlet(np.full(domain.size, 0.1)).reshape([declared.size for declared in domain.values()])
    made = []
    for index, columns in enumerate(sets):
        table = dense_marginal(domain, true, columns)
        sd = sds[index % len(sds)]
        made.append(Measurement(columns, table + rng.normal(0, sd, table.shape), sd))
    return made


def marginal_matrix(domain, columns):
    cells = list(itertools.product(*(range(declared.size) for declared in domain.values())))
    places = [list(domain).index(name) for name in columns]
    shape = [domain[name].size for name in columns]
    matrix = np.zeros((math.prod(shape), len(cells)))
    for column, cell in enumerate(cells):
        matrix[np.ravel_multi_index([cell[place] for place in places], shape), column] = 1
    return matrix


def solved(domain, measurements, *, temperature, rows=ROWS, allowed=None):
    """The least value of P, and where, by a general solver."""
    p = cp.Variable(domain.size, nonneg=True)
    squares = sum(
        cp.sum_squares(rows * marginal_matrix(domain, m.columns) @ p - np.ravel(m.values)) / (2 * m.sd**2)
        for m in measurements
    )
    keep = np.ones(domain.size, bool) if allowed is None else allowed.ravel()
    constraints = [cp.sum(p) == 1, p[~keep] == 0] if (~keep).any() else [cp.sum(p) == 1]
    entropy = temperature * (cp.sum(-cp.entr(p)) + math.log(keep.sum())) if temperature else 0
    problem = cp.Problem(cp.Minimize(squares + entropy), constraints)
    problem.solve(solver=cp.CLARABEL)
    return problem.value, squares.value, p.value


def energy(domain, fitted, measurements, temperature):
    """P of a fitted model, from its cells alone."""
    p = fitted.model.marginal(list(domain)).ravel() / fitted.model.total
    squares = sum(
        ((fitted.model.marginal(m.columns) - np.reshape(m.values, [domain[n].size for n in m.columns])) ** 2).sum()
        / (2 * m.sd**2)
        for m in measurements
    )
    positive = p[p > 0]
    return squares, squares + temperature * float(positive @ np.log(positive * domain.size))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("temperature", [2.0, 20.0])
def test_the_fit_is_the_least_of_squares_and_entropy(shape, temperature):
    domain = small_domain(*SIZES)
    measurements = noisy(domain, SHAPES[shape], seed=1)
    fitted = estimate(domain, measurements, total=ROWS, temperature=temperature, tolerance=1e-9)
    least, _, where = solved(domain, measurements, temperature=temperature)
    squares, found = energy(domain, fitted, measurements, temperature)

    assert found == pytest.approx(least, rel=1e-5)
    assert fitted.loss == pytest.approx(squares, rel=1e-9)
    np.testing.assert_allclose(fitted.model.marginal(list(domain)).ravel() / ROWS, where, atol=1e-4)


@pytest.mark.parametrize("iterations", [1, 3, 10, 30])
def test_the_gap_bounds_how_far_an_early_stop_is_from_the_least(iterations):
    domain = small_domain(*SIZES)
    measurements = noisy(domain, SHAPES["loop"], seed=2)
    fitted = estimate(domain, measurements, total=ROWS, temperature=5, tolerance=1e-12, iterations=iterations)
    least, _, _ = solved(domain, measurements, temperature=5)
    _, found = energy(domain, fitted, measurements, 5)

    assert -1e-4 <= found - least <= fitted.gap + 1e-4
    assert found - least > 1e-3 or iterations >= 10  # the bound is put to the test, not passed by having arrived


def test_the_squares_are_within_the_temperature_of_their_least():
    domain = small_domain(*SIZES)
    measurements = noisy(domain, SHAPES["triples"], seed=3)
    least, _, _ = solved(domain, measurements, temperature=0)
    for temperature in (1.0, 10.0, 100.0):
        fitted = estimate(domain, measurements, total=ROWS, temperature=temperature)

        assert fitted.loss - least <= fitted.gap + temperature * math.log(domain.size)


def test_more_steps_come_nearer_to_the_least_squares():
    domain = small_domain(*SIZES)
    measurements = noisy(domain, SHAPES["loop"], seed=4)
    least, _, _ = solved(domain, measurements, temperature=0)
    losses = [
        estimate(domain, measurements, total=ROWS, temperature=10, steps=k, tolerance=1e-8).loss for k in (1, 4, 64)
    ]

    assert losses == sorted(losses, reverse=True)
    for k, loss in zip((1, 4, 64), losses, strict=True):
        assert -1e-4 <= loss - least <= 10 / k * math.log(domain.size)
    assert losses[0] - least > 10 * (losses[2] - least)


def test_the_descent_never_rises():
    domain = small_domain(*SIZES)
    for seed, shape in enumerate(SHAPES):
        values = estimate(domain, noisy(domain, SHAPES[shape], seed=seed), tolerance=1e-10).values

        assert len(values) > 3 or shape == "apart"  # which the first point solves
        assert all(later <= earlier + 1e-12 * abs(earlier) for earlier, later in itertools.pairwise(values))


def test_a_direction_that_rises_is_halved_until_it_falls():
    def steep(x):
        return Point(x, float(np.cosh(x).sum()), np.sinh(x), np.full(x.shape, 0.2))  # a diagonal far too small

    last, values = descend(steep, np.array([3.0]), done=lambda point: point.value < 1 + 1e-9, iterations=50)

    assert last.value < 1 + 1e-9
    assert values == sorted(values, reverse=True)


@pytest.mark.parametrize("ridge", [1e-6, 1e-4, 1.0])
def test_a_table_alone_moves_to_its_least(ridge):
    rng = np.random.default_rng(5)
    found, target = rng.dirichlet(np.full(30, 0.3)), rng.dirichlet(np.full(30, 0.3)) + rng.normal(0, 0.02, 30)
    step = alone(found, target, ridge)
    moved = found * np.exp(step - step.max())

    np.testing.assert_allclose(moved / moved.sum() - target + ridge * step, 0, atol=1e-9)


def test_an_earlier_model_changes_the_time_and_not_the_answer():
    domain = small_domain(*SIZES)
    before = noisy(domain, SHAPES["tree"], seed=6)
    after = [*before, *noisy(domain, [("a", "e")], seed=6)]
    first = estimate(domain, before, total=ROWS, tolerance=1e-10)
    cold = estimate(domain, after, total=ROWS, tolerance=1e-10)
    warm = estimate(domain, after, total=ROWS, tolerance=1e-10, start=first)
    again = estimate(domain, after, total=ROWS, tolerance=1e-6, start=cold)

    np.testing.assert_allclose(warm.model.marginal(list(domain)), cold.model.marginal(list(domain)), atol=1e-2)
    assert len(again.values) < 3


def test_structural_zeros_stay_empty_and_the_rest_is_the_least():
    domain = small_domain(*SIZES)
    measurements = noisy(domain, SHAPES["tree"], seed=7)
    barred = np.zeros((2, 3), bool)
    barred[0, 1] = barred[1, 2] = True
    fitted = estimate(domain, measurements, total=ROWS, zeros={("a", "d"): barred}, temperature=5, tolerance=1e-9)
    allowed = ~np.broadcast_to(barred[:, None, None, :, None], [declared.size for declared in domain.values()])
    where = solved(domain, measurements, temperature=5, allowed=allowed)[2]

    assert np.all(fitted.model.marginal(["a", "d"])[barred] == 0)
    np.testing.assert_allclose(fitted.model.marginal(list(domain)).ravel() / ROWS, where, atol=1e-4)
    warm = estimate(
        domain, measurements, total=ROWS, zeros={("a", "d"): barred}, temperature=5, tolerance=1e-9, start=fitted
    )
    assert warm.loss == pytest.approx(fitted.loss, rel=1e-6)


def test_zeros_on_measured_columns_are_kept_apart_from_the_fit():
    domain = small_domain(3, 3)
    barred = np.eye(3, dtype=bool)
    measurements = [Measurement(("a", "b"), np.full((3, 3), 10.0))]
    fitted = estimate(domain, measurements, zeros={("a", "b"): barred})
    again = estimate(domain, measurements, zeros={("a", "b"): barred}, start=fitted)

    assert np.all(fitted.model.marginal(["a", "b"])[barred] == 0)
    assert len(again.values) <= 2
    with pytest.raises(ParameterError, match="at least one row"):
        estimate(domain, measurements, zeros={("a", "b"): np.ones((3, 3), bool)})


def test_tables_that_contradict_the_zeros_are_fitted_at_a_higher_temperature():
    """Rows that cannot be, counted to within five: the log-factors would be in the thousands."""
    domain, rows = small_domain(4, 4, 4, 4), 400_000
    rng = np.random.default_rng(13)
    true = rows * rng.dirichlet(np.ones(domain.size)).reshape(4, 4, 4, 4)
    sets = [("a", "b", "c", "d"), ("a",), ("d",), ("a", "b", "d"), ("b", "c")]
    measurements = [
        Measurement(columns, dense_marginal(domain, true, columns), sd)
        for columns, sd in zip(sets, (5, 31, 32, 55, 40), strict=True)
    ]
    zeros = {("a", "c"): rng.random((4, 4)) < 0.3}
    fitted = estimate(domain, measurements, zeros=zeros)
    stuck = estimate(domain, measurements, zeros=zeros, temperature=rows / 5 / 32)

    assert fitted.gap <= 1e-3 * (fitted.loss + 4**4 + 4**3 + 4**2 + 8)
    assert fitted.loss <= stuck.loss
    assert stuck.gap > fitted.gap


def binned(domain, bins):
    """The matrix that puts the cells of a table of columns a and b into bins."""
    a, b = (
        np.arange(domain[name].size) if one is None else np.asarray(one) for name, one in zip("ab", bins, strict=True)
    )
    matrix = np.zeros(((a.max() + 1) * (b.max() + 1), domain["a"].size * domain["b"].size))
    for i, j in itertools.product(range(len(a)), range(len(b))):
        matrix[a[i] * (b.max() + 1) + b[j], i * len(b) + j] = 1
    return matrix


@pytest.mark.parametrize("bins", [(None, [0, 0, 1, 1, 2]), ([1, 0, 1, 0], [0, 1, 1, 1, 0])])
def test_tables_whose_values_were_put_into_bins_are_fitted_in_their_bins(bins):
    domain = small_domain(4, 5)
    rng, gather = np.random.default_rng(11), binned(domain, bins)
    table, single = 100 * rng.dirichlet(np.full(20, 0.5)), np.array([50.0, 10, 20, 20])
    values = gather @ table + rng.normal(0, 2, len(gather))
    measurements = [Measurement(("a", "b"), values, 2.0, bins), Measurement(("a",), single, 3.0)]
    fitted = estimate(domain, measurements, total=100, temperature=3, tolerance=1e-10)
    p = cp.Variable(20, nonneg=True)
    squares = cp.sum_squares(100 * gather @ p - values) / 8
    squares += cp.sum_squares(100 * marginal_matrix(domain, ("a",)) @ p - single) / 18
    cp.Problem(cp.Minimize(squares - 3 * cp.sum(cp.entr(p))), [cp.sum(p) == 1]).solve(solver=cp.CLARABEL)

    np.testing.assert_allclose(fitted.model.marginal("ab").ravel() / 100, p.value, atol=1e-4)
    turned = Measurement(("b", "a"), values.reshape(gather_shape(bins)).T, 2.0, bins[::-1])
    again = estimate(domain, [turned, measurements[1]], total=100, temperature=3, tolerance=1e-6, start=fitted)
    assert len(again.values) <= 2


def gather_shape(bins):
    return [size if one is None else max(one) + 1 for one, size in zip(bins, (4, 5), strict=True)]


@pytest.mark.parametrize("bins", [([0, 1, 0],), ([0, 0, 1, 3], None), ([0.0, 1, 1, 0], None), ([0, 0, 1], None)])
def test_rejects_bins_that_leave_a_value_or_a_bin_out(bins):
    with pytest.raises(ParameterError):
        estimate(small_domain(4, 5), [Measurement(("a", "b"), np.ones(10), 1.0, bins)])


def test_an_earlier_fit_helps_although_its_tree_had_another_order():
    """The tables of the first tree lie in another order of columns in the second; a scrambled start takes long."""
    domain = small_domain(5, 4, 3, 2)
    before = noisy(domain, [("a", "b"), ("b", "c"), ("c", "d")], seed=12)
    after = [*before, *noisy(domain, [("a", "d")], seed=12)]
    first, cold = (estimate(domain, tables, total=ROWS, tolerance=1e-9) for tables in (before, after))
    kept = {key: table for key, table in cold.tables.items() if key[0] != ("a", "d")}

    assert [table.shape for table in first.tables.values()] == [(5, 4), (4, 3), (3, 2)]
    assert [table.shape for table in kept.values()] == [(5, 4), (4, 3), (3, 2)]
    assert len(estimate(domain, before, total=ROWS, tolerance=1e-6, start=first).values) == 1
    assert len(estimate(domain, after, total=ROWS, tolerance=1e-6, start=cold).values) == 1


def test_the_total_weighs_the_sums_by_their_precision():
    domain = small_domain(2, 8)
    measurements = [Measurement(("a",), [60.0, 60.0], 1.0), Measurement(("a", "b"), np.full((2, 8), 5.0), 1.0)]
    expected = (120 / 2 + 80 / 16) / (1 / 2 + 1 / 16)

    assert estimate(domain, measurements).model.total == pytest.approx(expected)
    counted = estimate(domain, [Measurement((), 90.0, 0.1), *measurements])
    assert counted.model.total == pytest.approx(90, abs=0.5)
    assert estimate(domain, measurements, start=counted).loss == pytest.approx(
        estimate(domain, measurements).loss, rel=0.01
    )
    assert estimate(domain, [Measurement(("a",), [-5.0, -9.0])]).model.total == 1
    assert estimate(domain, measurements, total=70).model.total == 70


def test_two_measurements_of_one_table_count_as_their_best_combination():
    domain = small_domain(2, 3)
    one, two = np.array([[9.0, 5, 1], [4, 8, 3]]), np.array([[11.0, 3, 2], [5, 6, 4]])
    twice = [Measurement(("a", "b"), one, 1.0), Measurement(("b", "a"), two.T, 2.0)]
    merged = [Measurement(("a", "b"), (4 * one + two) / 5, math.sqrt(4 / 5))]
    first, second = (estimate(domain, m, total=30, temperature=1, tolerance=1e-12) for m in (twice, merged))

    np.testing.assert_allclose(first.model.marginal("ab"), second.model.marginal("ab"), rtol=1e-6)


def test_weights_matter():
    """The twin that forgets the standard deviations is not the least."""
    domain = small_domain(*SIZES)
    measurements = noisy(domain, SHAPES["loop"], seed=8, sds=(1.0, 30.0))
    careless = [Measurement(m.columns, m.values, 1.0) for m in measurements]
    least, _, _ = solved(domain, measurements, temperature=1)
    _, right = energy(domain, estimate(domain, measurements, total=ROWS, temperature=1), measurements, 1)
    _, wrong = energy(domain, estimate(domain, careless, total=ROWS, temperature=1), measurements, 1)

    assert right - least < 0.1
    assert wrong - least > 1


def test_exact_tables_of_a_tree_are_reproduced():
    domain = Domain({name: Integer(0, 5) for name in "abcd"})
    rng = np.random.default_rng(9)
    true = 10_000 * rng.dirichlet(np.ones(domain.size)).reshape(6, 6, 6, 6)
    sets = [("a", "b"), ("b", "c"), ("c", "d")]
    measurements = [Measurement(columns, dense_marginal(domain, true, columns), 1.0) for columns in sets]
    fitted = estimate(domain, measurements, temperature=1, tolerance=1e-8)
    for columns in sets:
        np.testing.assert_allclose(fitted.model.marginal(columns), dense_marginal(domain, true, columns), atol=0.01)
    middle = dense_marginal(domain, true, ("b",))
    chained = np.einsum(
        "ab,bc,b->ac", dense_marginal(domain, true, ("a", "b")), dense_marginal(domain, true, ("b", "c")), 1 / middle
    )

    np.testing.assert_allclose(fitted.model.marginal(["a", "c"]), chained, atol=0.05)


@pytest.mark.parametrize("sd", [-1, -5e-324, math.nan, math.inf, -math.inf, True, False])
def test_rejects_a_standard_deviation_that_is_none(sd):
    """None is below 0, and none is a truth value; 0 is one: that of counts without noise."""
    with pytest.raises(ParameterError, match=rf"need a finite sd >= 0, got sd={sd}$"):
        Measurement(("a",), [1.0, 2.0], sd)


@pytest.mark.parametrize("sd", [0, 0.0, -0.0, 5e-324])
def test_a_table_without_noise_is_taken_as_exact(sd):
    """Against a table of the same column with noise, and ones whose squared noise is no float: it is reproduced."""
    domain = small_domain(2, 3)
    exact, noisy = [30.0, 70.0], [60.0, 40.0]
    found = estimate(
        domain, [Measurement(("a",), exact, sd), Measurement(("a",), noisy, 50.0)], total=100, tolerance=1e-9
    )

    assert np.isfinite(found.loss)
    np.testing.assert_allclose(found.model.marginal(("a",)), exact, atol=0.01)


@pytest.mark.parametrize(
    "wrong",
    [
        {"total": 0},
        {"total": math.nan},
        {"temperature": 0},
        {"temperature": math.inf},
        {"tolerance": 0},
        {"steps": 0},
        {"steps": True},
        {"iterations": 1.5},
        {"zeros": {("a",): [0, 1]}},
    ],
)
def test_rejects_parameters_outside_their_domain(wrong):
    with pytest.raises(ParameterError):
        estimate(small_domain(2), [Measurement(("a",), [1.0, 2.0])], **wrong)


@pytest.mark.parametrize("values", [[1.0], [1.0, math.nan], [1.0, math.inf]])
def test_rejects_tables_that_do_not_fit(values):
    with pytest.raises(ParameterError, match="need a finite value for each cell"):
        estimate(small_domain(2), [Measurement(("a",), values)])


def test_rejects_no_measurements_and_models_over_the_limit():
    domain = small_domain(4, 4, 4)
    with pytest.raises(ParameterError, match="at least one measurement"):
        estimate(domain, [])
    with pytest.raises(UnsupportedError, match="over the limit of 10"):
        estimate(domain, [Measurement(("a", "b"), np.ones(16))], limit=10)
