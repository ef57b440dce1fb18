"""discreet.release.gamma2 and its parts: sets of vectors, certificate, solver, closed forms."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from discreet.data.columns import Boolean, Integer
from discreet.data.domain import Domain
from discreet.errors import ParameterError, UnsupportedError
from discreet.privacy.neighbours import Replace
from discreet.queries.combined import kron
from discreet.queries.marginals import marginals
from discreet.queries.ordered import counts, ranges, thresholds
from discreet.queries.products import monotone_conjunctions, parities
from discreet.queries.written import random_counting
from discreet.release.gamma2 import gamma2, written
from discreet.release.gamma2_certificate import trace_of_root
from discreet.release.gamma2_closed import gamma2_lower, marginals_value, ranges_bound, thresholds_bound
from discreet.release.gamma2_sets import Cells, Intervals, Pairs, Prefixes, Written
from discreet.release.gamma2_solver import solve

CONJUNCTIONS = np.array([[1, 1], [1, 0], [0, 1]])  # of one bit: anything, a one, a zero


def bits(d):
    return Domain({f"b{i}": Boolean() for i in range(d)})


def semidefinite(matrix):
    """gamma_2 as the semidefinite program that defines it."""
    import cvxpy

    m, n = matrix.shape
    whole, t = cvxpy.Variable((m + n, m + n), PSD=True), cvxpy.Variable()
    program = cvxpy.Problem(cvxpy.Minimize(t), [whole[:m, m:] == matrix, cvxpy.diag(whole) <= t])
    return program.solve(solver="CLARABEL")


# --- the sets of vectors


@pytest.mark.parametrize("known_total", [False, True])
@pytest.mark.parametrize("kind", [Prefixes, Intervals])
def test_running_sums_agree_with_the_written_rows(kind, known_total):
    rng, rows = np.random.default_rng(1), kind(7, known_total)
    matrix = written(rows)
    weights, form = rng.uniform(size=rows.size), rng.normal(size=(rows.dimension, rows.dimension))
    form = form @ form.T

    assert matrix.shape == (rows.size, rows.dimension)
    assert np.allclose(rows.gram(weights), Written(matrix).gram(weights))
    assert np.allclose(rows.norms(form), Written(matrix).norms(form))


@pytest.mark.parametrize(("kind", "workload"), [(Prefixes, thresholds(7)), (Intervals, ranges(7))])
def test_the_written_rows_are_those_of_the_workload(kind, workload):
    matrix = workload.matrix()

    assert (written(kind(7)) == matrix).all()
    assert (written(kind(7, known_total=True)) == matrix[:, :-1] - matrix[:, -1:]).all()


@pytest.mark.parametrize("points", [None, np.random.default_rng(2).integers(-2, 3, (6, 4)).astype(float)])
def test_pairs_are_all_differences_of_two_points(points):
    rng = np.random.default_rng(3)
    pairs = Pairs(5) if points is None else Pairs(4, points)
    every = np.vstack([np.zeros(pairs.dimension), np.eye(5) if points is None else points])
    apart = np.array([every[i] - every[j] for i in range(len(every)) for j in range(i + 1, len(every))])
    weights, form = rng.uniform(size=len(apart)), rng.normal(size=(pairs.dimension, pairs.dimension))

    assert pairs.size == len(apart)
    assert np.allclose(pairs.gram(weights), Written(apart).gram(weights))
    assert np.allclose(pairs.norms(form @ form.T), Written(apart).norms(form @ form.T))


# --- the certificate


def test_the_bound_is_below_the_trace_norm_in_exact_arithmetic():
    rng = np.random.default_rng(4)
    for size in (3, 6):
        factor = rng.integers(-5, 6, (size, size)).astype(float)
        gram = factor.T @ factor  # integers: exact
        values, vectors = np.linalg.eigh(gram)
        bound = trace_of_root(gram, values, vectors, error=0.0)
        with mpmath.workdps(60):
            roots = mpmath.eigsy(mpmath.matrix(gram.tolist()), eigvals_only=True)
            true = mpmath.fsum(mpmath.sqrt(max(value, mpmath.mpf(0))) for value in roots)

            assert true * (1 - mpmath.mpf(1e-9)) < mpmath.mpf(bound) <= true


def test_a_plain_sum_of_singular_values_can_exceed_the_truth():
    """The twin: all ones has trace norm 16, and the square roots of rounding errors are added to it."""
    gram = np.ones((16, 16)) * 16.0
    values = np.append(np.full(15, 1e-14), 256.0)  # as eigenvalue routines return them
    vectors = np.linalg.eigh(gram)[1]

    assert np.sqrt(values).sum() > 16
    assert trace_of_root(gram, values, vectors, error=0.0) <= 16


def test_wrong_vectors_cost_the_bound_and_not_its_truth():
    gram = np.diag([4.0, 9.0])
    tilted = np.array([[1.0, 0.1], [-0.1, 1.0]])

    assert 0 <= trace_of_root(gram, np.array([4.0, 9.0]), tilted, error=0.0) < 5
    assert trace_of_root(gram, np.array([16.0, 36.0]), np.eye(2), error=0.0) <= 5
    assert trace_of_root(gram, np.array([4.0, 9.0]), np.eye(2), error=1.0) <= math.sqrt(3) + math.sqrt(8)


# --- the solver


@pytest.mark.parametrize(
    ("size", "value"),
    [(1, 1), (2, 2 / math.sqrt(3)), (3, 1.253197), (4, 1.326123), (8, 1.510484), (16, 1.704480), (64, 2.111367)],
)
def test_thresholds_have_the_known_values(size, value):
    found = gamma2(thresholds(size), tolerance=2e-6)

    assert found.lower_bound <= value + 1e-6
    assert found.value >= value - 1e-6
    assert found.value <= found.lower_bound * (1 + 2e-6) * (1 + 1e-9)


def test_thresholds_of_256_have_gamma_2_of_2_5327():
    found = gamma2(thresholds(256))

    assert 2.5327 <= found.lower_bound <= found.value < 2.53275


@pytest.mark.parametrize(
    "matrix",
    [
        np.tril(np.ones((6, 6))),
        np.random.default_rng(5).integers(0, 2, (9, 5)),
        np.random.default_rng(6).integers(-3, 4, (4, 8)),
        np.random.default_rng(7).normal(size=(5, 5)),
    ],
    ids=["thresholds", "tall", "wide", "real"],
)
def test_the_bracket_holds_the_optimum_of_the_semidefinite_program(matrix):
    found, optimum = gamma2(matrix, tolerance=1e-5), semidefinite(matrix)

    assert found.lower_bound <= optimum * (1 + 1e-6)
    assert optimum <= found.value * (1 + 1e-6)
    assert found.value <= found.lower_bound * 1.0001


def test_the_factors_have_the_stated_value():
    for workload in (thresholds(20), ranges(9), random_counting(Domain({"x": Integer(0, 11)}), 30, seed=1)):
        found = gamma2(workload)
        left, right = found.left, found.right

        assert np.allclose(left @ right, workload.matrix(), atol=1e-9)
        assert np.linalg.norm(left, axis=1).max() * np.linalg.norm(right, axis=0).max() == pytest.approx(found.value)


def test_known_matrices():
    assert gamma2(np.eye(7)).value == pytest.approx(1)
    assert gamma2(np.outer([1, 2, -3], [4, 5, 1])).value == pytest.approx(15, rel=1e-4)  # rank one
    assert gamma2(parities(4, 2)).value == pytest.approx(math.sqrt(6))
    assert gamma2(np.array([[1, 1], [1, -1]])).value == pytest.approx(math.sqrt(2))


def test_products_multiply():
    one, other = np.tril(np.ones((3, 3))), np.random.default_rng(8).integers(0, 2, (4, 3))
    product = gamma2(one).value * gamma2(other).value

    assert gamma2(np.kron(one, other), tolerance=1e-5).value == pytest.approx(product, rel=2e-5)


@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_all_conjunctions_have_two_over_root_three_to_the_d(d):
    matrix = CONJUNCTIONS
    for _ in range(d - 1):
        matrix = np.kron(matrix, CONJUNCTIONS)
    found = gamma2(matrix, tolerance=1e-6)

    assert found.lower_bound <= (2 / math.sqrt(3)) ** d <= found.value * (1 + 1e-9)


def test_the_total_error_of_thresholds_is_the_best_known():
    """2.52441 is what HDMM reaches at 256 cells; no strategy has less than 2.5243."""
    found = gamma2(thresholds(256), objective="total", tolerance=1e-5)

    assert found.lower_bound >= 2.52439
    assert found.value <= 2.52443


def test_total_error_is_at_most_the_largest_and_its_bound_holds_for_other_strategies():
    rows, rng = Intervals(12), np.random.default_rng(9)
    total = gamma2(ranges(12), objective="total")

    assert total.lower_bound <= total.value <= gamma2(ranges(12)).value
    for _ in range(20):
        strategy = np.eye(12) + 0.3 * rng.normal(size=(12, 12))
        strategy /= np.linalg.norm(strategy, axis=0)
        error = rows.norms(np.linalg.inv(strategy.T @ strategy)).mean()

        assert math.sqrt(error) >= total.lower_bound


def test_where_rows_are_replaced_thresholds_are_as_hard_as_the_ranges_of_one_cell_less():
    one = gamma2(thresholds(13), neighbours=Replace, tolerance=1e-4)
    other = gamma2(ranges(12), tolerance=1e-4)

    assert one.lower_bound <= other.value
    assert other.lower_bound <= one.value
    assert one.value <= one.lower_bound * 1.0002


def test_replaced_rows_move_differences_of_columns():
    matrix = np.random.default_rng(10).integers(0, 2, (6, 5))
    apart = np.array([matrix[:, i] - matrix[:, j] for i in range(5) for j in range(i)]).T
    one, other = gamma2(matrix, neighbours=Replace, tolerance=1e-5), semidefinite(apart)

    assert one.lower_bound <= other * (1 + 1e-6)
    assert other <= one.value * (1 + 1e-6)
    assert one.value <= one.lower_bound * 1.0001


def test_a_space_of_queries_gives_the_same_value_as_the_cells():
    matrix = np.random.default_rng(11).integers(0, 2, (5, 9)).astype(float)
    cells = gamma2(matrix, tolerance=1e-6)
    queries = solve(Written(np.eye(5)), Written(matrix.T), tolerance=1e-6)

    assert queries.lower_bound <= cells.value
    assert cells.lower_bound <= queries.value


def test_a_search_cut_short_still_brackets():
    """The bound is proven and the value attained after any number of steps."""
    for iterations in (1, 2, 5):
        found = solve(Prefixes(32), Cells(32), tolerance=1e-9, iterations=iterations)

        assert found.lower_bound <= 1.909 <= found.value
    assert gamma2(thresholds(8), time_limit=1e-9).value > 1.5104


@pytest.mark.parametrize(
    "arguments",
    [{"tolerance": 0}, {"tolerance": 2.0}, {"tolerance": math.nan}, {"time_limit": 0}, {"objective": "mean"}],
)
def test_bad_settings_are_refused(arguments):
    with pytest.raises(ParameterError):
        gamma2(thresholds(4), **arguments)


@pytest.mark.parametrize("matrix", [np.zeros((2, 2)), np.array([[math.nan]]), np.array([[math.inf]]), np.ones(3)])
def test_bad_matrices_are_refused(matrix):
    with pytest.raises(ParameterError):
        gamma2(matrix)


def test_what_is_too_large_is_refused():
    with pytest.raises(UnsupportedError):
        gamma2(thresholds(5000))
    with pytest.raises(UnsupportedError):
        gamma2(marginals(bits(20), 2))


# --- closed forms


@pytest.mark.parametrize(
    ("d", "t", "value"),
    [(4, 1, 1.5), (4, 2, 1.569479), (4, 3, 1.338343), (10, 2, 3.04508), (100, 2, 21.3746)],
)
def test_marginals_of_bits_have_the_closed_form(d, t, value):
    closed = 2.0**-t * sum(math.sqrt(math.comb(t, j) * math.comb(d, j)) for j in range(t + 1))

    assert closed == pytest.approx(value, rel=1e-5)
    assert marginals_value(marginals(bits(d), t)) == pytest.approx(closed, rel=1e-9)
    assert gamma2_lower(marginals(bits(d), t)) < closed


@pytest.mark.parametrize("sets", [[("a", "b"), ("b", "c")], [("a",), ("b", "c"), ()], [("a", "c")]])
@pytest.mark.parametrize("weights", [False, True])
def test_marginals_of_any_columns_have_the_closed_form(sets, weights):
    domain = Domain({"a": Integer(0, 2), "b": Integer(0, 3), "c": Boolean()})
    chosen = [Fraction(i + 2, 3) for i in range(len(sets))] if weights else None
    workload = marginals(domain, sets, weights=chosen)
    found = gamma2(workload, tolerance=1e-5)

    assert found.lower_bound <= marginals_value(workload) * (1 + 1e-7)
    assert marginals_value(workload) <= found.value * (1 + 1e-7)
    assert gamma2_lower(workload, neighbours=Replace) <= gamma2(workload, neighbours=Replace).value


def test_bounds_of_thresholds_and_ranges_are_their_trace_norms():
    for size in (1, 2, 9):
        triangle, every = thresholds(size).matrix(), ranges(size).matrix()
        root = math.sqrt(len(every) * size)

        assert thresholds_bound(size) == pytest.approx(np.linalg.norm(triangle, "nuc") / size)
        assert ranges_bound(size) == pytest.approx(np.linalg.norm(every, "nuc") / root)


def test_the_cheap_bound_is_below_the_value_for_every_kind():
    cases = [
        thresholds(30),
        ranges(15),
        2 * thresholds(9),
        parities(5, 2, at_most=True),
        monotone_conjunctions(5, 2),
        counts(bits(4)),
        thresholds(6) + ranges(6),
        random_counting(Domain({"x": Integer(0, 15)}), 20, seed=3),
        kron(thresholds(Domain({"a": Integer(0, 4)})), counts(Domain({"b": Boolean()}))),
        thresholds(30)[4],
        thresholds(30)[3:9],
    ]
    for workload in cases:
        value = gamma2(workload).value

        assert 0.97 * value <= gamma2_lower(workload) <= value, workload


def test_large_workloads_have_bounds_at_once():
    assert gamma2_lower(thresholds(1 << 16)) == pytest.approx(4.2321, rel=1e-4)
    assert gamma2_lower(ranges(1024)) == pytest.approx(3.4923, rel=1e-4)
    assert gamma2_lower(thresholds(1025), neighbours=Replace) == pytest.approx(3.4923, rel=1e-4)
    assert gamma2_lower(thresholds(5000) + thresholds(5000)) >= thresholds_bound(5000) * (1 - 1e-9)
    with pytest.raises(UnsupportedError):
        gamma2_lower(random_counting(bits(20), 50, seed=1))


def test_thresholds_under_replacement_are_solved_by_the_transpose():
    """The same bracket as that of the pairs of cells, and factors with the stated value."""
    found = gamma2(thresholds(14), neighbours=Replace, tolerance=1e-4)
    pairs = solve(Prefixes(14, known_total=True), Pairs(13), tolerance=1e-4)
    moved = Pairs(13).norms(found.right.T @ found.right)
    spread = Prefixes(14, known_total=True).norms(np.linalg.inv(found.right.T @ found.right))

    assert found.lower_bound <= pairs.value
    assert pairs.lower_bound <= found.value
    assert moved.max() == pytest.approx(1)
    assert math.sqrt(spread.max()) == pytest.approx(found.value)
