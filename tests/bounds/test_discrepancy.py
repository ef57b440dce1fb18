"""discreet.bounds.discrepancy and its parts: every claim against naive enumeration and known values."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.linalg import hadamard

from discreet.bounds.determinant import determinant_bound
from discreet.bounds.discrepancy import coloured, discrepancy
from discreet.bounds.discrepancy_exact import NONE, enumerable, every_set, integer_program, members, partial
from discreet.bounds.discrepancy_matrix import colourable
from discreet.bounds.discrepancy_vector import certified, least_eigenvalue, vector_bound
from discreet.bounds.discrepancy_walk import edge_walk
from discreet.bounds.gamma2 import gamma2
from discreet.data import Domain, Integer
from discreet.errors import ParameterError, UnsupportedError
from discreet.privacy.neighbours import Replace
from discreet.queries import Dense, kron, marginals, thresholds
from discreet.queries.products import bits
from discreet.release.gamma2 import gamma2 as factored
from tests.scale import counts

TRIES = counts(quick=6, full=60)


def naive(rows, least):
    """The definition: all z in {-1, 0, 1}^N with at least `least` entries that are not 0."""
    columns = rows.shape[1]
    values = [
        abs(rows @ np.array(z)).max()
        for z in itertools.product((-1, 0, 1), repeat=columns)
        if sum(map(abs, z)) >= least
    ]
    return min(values)


def naive_hereditary(rows, kappa, choose=max):
    columns = range(rows.shape[1])
    sets = [some for size in range(1, len(columns) + 1) for some in itertools.combinations(columns, size)]
    return choose(naive(rows[:, some], coloured(len(some), kappa)) for some in sets)


def subsets(n):
    return np.array(list(itertools.product((0, 1), repeat=n)))


def test_all_colourings_at_once_are_those_of_the_definition():
    rng = np.random.default_rng(1)
    for _ in range(TRIES):
        rows = rng.integers(-2, 3, (int(rng.integers(1, 6)), int(rng.integers(1, 7))))
        every = every_set(rows)
        for least in range(1, rows.shape[1] + 1):
            assert partial(every, least)[-1] == naive(rows, least)
    assert partial(every_set(np.eye(3, dtype=int)), 3)[1] == NONE


def test_queries_that_agree_on_half_of_the_columns_are_one_pair():
    """Many queries of few columns: the largest and the least product of each group are enough."""
    rng = np.random.default_rng(7)
    for _ in range(TRIES):
        low = -int(rng.integers(0, 2))
        rows = rng.integers(low, 2, (int(rng.integers(20, 80)), int(rng.integers(1, 6))))
        every = every_set(rows)
        sets = [members(place) for place in range(1, len(every))]
        assert every[1:].tolist() == [naive(rows[:, some], len(some)) for some in sets]


def test_all_sets_of_14_cells_are_exact():
    """16,383 queries: once above the limit, and answered by 2 and 14."""
    found = discrepancy(subsets(14), hereditary=True)

    assert (found.lower, found.upper, found.method) == (7, 7, "enumerate")
    assert abs(subsets(14)[:, found.columns] @ found.colouring[list(found.columns)]).max() == 7
    assert enumerable(np.random.default_rng(1).integers(-1, 2, (20_000, 14)))
    assert not enumerable(np.random.default_rng(1).integers(-9, 10, (70_000, 14)))


@pytest.mark.parametrize("kappa", [Fraction(0), Fraction(1, 3), Fraction(1, 2), Fraction(1)])
def test_hereditary_discrepancy_is_the_largest_over_all_sets(kappa):
    rng = np.random.default_rng(2)
    different = 0
    for _ in range(TRIES):
        rows = rng.integers(0, 2, (5, 6))
        found = discrepancy(rows, kappa=kappa, hereditary=True)

        assert found.exact
        assert found.upper == naive_hereditary(rows, kappa)
        different += found.upper != naive_hereditary(rows, kappa, choose=min)
    assert different  # the least over all sets, as the notes print, is another number


def test_the_witness_attains_what_is_claimed():
    rng = np.random.default_rng(3)
    for hereditary, kappa in itertools.product((False, True), (Fraction(1, 4), Fraction(1))):
        rows = rng.integers(0, 2, (9, 11))
        found = discrepancy(rows, kappa=kappa, hereditary=hereditary)

        assert abs(rows @ found.colouring).max() == found.upper
        assert set(np.flatnonzero(found.colouring)) <= set(found.columns)
        assert np.count_nonzero(found.colouring) >= found.least == coloured(len(found.columns), kappa)


def test_known_values():
    assert discrepancy(np.eye(9, dtype=int), kappa=0.5).upper == 1
    assert discrepancy(thresholds(14), hereditary=True).upper == 1
    assert discrepancy(thresholds(40)).exact  # alternating signs
    assert discrepancy(thresholds(40), kappa=0.5).upper == 1


@pytest.mark.parametrize("n", [4, 7, 9])
def test_all_subsets_have_half_of_what_is_coloured(n):
    """ceil((floor(kappa n) + 1) / 2): the larger of the two colours, and > for >= would be caught at kappa n whole."""
    for kappa in (Fraction(0), Fraction(1, 100), Fraction(1, 3), Fraction(1, n), Fraction(n - 1, n)):
        expected = math.ceil((math.floor(kappa * n) + 1) / 2)

        assert discrepancy(subsets(n), kappa=kappa).upper == expected
    assert coloured(100, Fraction(1, 2)) == 51 != math.ceil(100 / 2)


def test_a_hundredth_of_fewer_than_a_hundred_columns_is_one_column():
    """With the constant of the notes every workload of 0 and 1 has partial discrepancy at most 1."""
    rows = np.random.default_rng(4).integers(0, 2, (60, 16))

    assert discrepancy(rows, kappa="0.01").upper <= 1 < discrepancy(rows, kappa="0.9").lower


def test_the_integer_program_agrees_with_enumeration():
    rng = np.random.default_rng(5)
    for least in (3, 7, 10):
        rows = rng.integers(0, 2, (8, 10))
        lower, colouring = integer_program(rows, least, nodes=10_000)

        assert lower == abs(rows @ colouring).max() == int(partial(every_set(rows), least)[-1])
        assert np.count_nonzero(colouring) >= least


def test_the_integer_program_decides_24_columns():
    rows = np.random.default_rng(0).integers(0, 2, (24, 24))
    found = discrepancy(rows)

    assert found.method == "integer program"
    assert found.exact
    assert abs(rows @ found.colouring).max() == found.upper
    assert (found.colouring != 0).all()


def relaxation(rows, least):
    """The semidefinite program, by an independent solver."""
    import cvxpy as cp

    columns = rows.shape[1]
    gram = cp.Variable((columns, columns), PSD=True)
    top = cp.Variable()
    limits = [row @ gram @ row <= top for row in rows.astype(float)]
    limits += [cp.diag(gram) <= 1, cp.trace(gram) >= least]
    return cp.Problem(cp.Minimize(top), limits).solve(solver=cp.CLARABEL)


@pytest.mark.parametrize(
    ("queries", "columns", "least"), [(6, 6, 6), (12, 9, 9), (12, 9, 4), (20, 14, 14), (10, 16, 8)]
)
def test_the_vector_bound_is_the_value_of_the_relaxation(queries, columns, least):
    """No more than it, by the certificate, and within two hundredths; never above the discrepancy."""
    rows = np.random.default_rng(queries).integers(0, 2, (queries, columns))
    value, found = relaxation(rows, least), vector_bound(rows, least).squared
    scale = float((rows**2).sum()) / rows.size

    assert found <= value + 1e-6 * max(1, value)
    assert found >= value - 0.02 * max(value, scale)
    assert found <= float(int(partial(every_set(rows), least)[-1])) ** 2 + 1e-9


def test_hadamard_matrices_meet_the_vector_bound():
    for n, least in ((8, 8), (16, 5)):
        assert vector_bound(hadamard(n), least).squared == pytest.approx(least, rel=1e-9)
        assert vector_bound(hadamard(n), least).squared <= least


def test_any_weights_prove_a_bound_that_holds():
    """Weights from a generator, and a bound for the wrong number of colours, which enumeration refutes."""
    rng = np.random.default_rng(6)
    refuted = 0
    for _ in range(TRIES):
        rows = rng.integers(-1, 2, (7, 6))
        least = int(rng.integers(1, 7))
        true = int(partial(every_set(rows), least)[-1])
        bound = certified(rows, least, rng.dirichlet(np.ones(7)), rng.exponential(0.1, 6))

        assert bound.squared <= true**2
        refuted += 4 * vector_bound(rows, least).squared > true**2 > 0  # the broken twin
    assert refuted


def test_the_least_eigenvalue_is_bounded_from_below():
    rng = np.random.default_rng(7)
    for size in (1, 5, 40):
        basis, _ = np.linalg.qr(rng.normal(size=(size, size)))
        values = np.sort(rng.normal(size=size))
        bound = least_eigenvalue((basis * values) @ basis.T)

        assert values[0] - 1e-11 < bound <= values[0] + 1e-14


def test_the_edge_walk_finds_what_it_says_and_spencers_six():
    rows = np.random.default_rng(8).integers(0, 2, (64, 64))
    for least in (64, 32):
        found = edge_walk(rows, least)

        assert set(np.unique(found)) <= {-1, 0, 1}
        assert np.count_nonzero(found) >= least
        assert abs(rows @ found).max() <= 6 * math.sqrt(64)
    assert abs(rows @ edge_walk(rows, 64)).max() < abs(rows @ np.ones(64)).max() / 3


def test_determinants_bound_hereditary_discrepancy_from_below():
    rng = np.random.default_rng(9)
    beaten = 0
    for _ in range(TRIES):
        rows = rng.integers(-1, 2, (5, 6))
        if not rows.any():
            continue
        found = determinant_bound(rows)
        hereditary = discrepancy(rows, hereditary=True).upper

        assert found.exact
        assert found.value / 2 <= hereditary
        assert found.value <= gamma2(rows).upper
        beaten += 2 * found.value > hereditary
        block = rows[np.ix_(found.rows, found.columns)]
        assert abs(np.linalg.det(block)) ** (1 / len(block)) == pytest.approx(found.value, rel=1e-9)
    assert beaten  # four times the bound is refuted


def test_the_determinant_of_hadamard_matrices_is_the_root_of_their_side():
    for n in (2, 4, 8, 16, 32):
        value = determinant_bound(hadamard(n)).value

        assert Fraction(value) ** 2 <= n
        assert value == pytest.approx(math.sqrt(n), rel=1e-12)
    assert determinant_bound(thresholds(6)).value == 1
    assert determinant_bound(thresholds(40)).value == 1


def test_the_gap_of_thresholds_is_real():
    """Hereditary discrepancy 1, determinant bound 1, gamma_2 about 0.76 + ln N / pi."""
    found = gamma2(thresholds(256))

    assert found.lower == pytest.approx(0.76 + math.log(256) / math.pi, abs=0.02)
    assert discrepancy(thresholds(12), hereditary=True).upper == determinant_bound(thresholds(12)).value == 1


@pytest.mark.parametrize("d", [2, 4, 6])
def test_all_conjunctions_have_a_power_of_two_over_root_three(d):
    """All 2^d monotone conjunctions: a product of d triangles."""
    triangle = np.array([[1, 1], [0, 1]])
    matrix = np.eye(1)
    for _ in range(d):
        matrix = np.kron(matrix, triangle)
    found = gamma2(matrix)

    assert found.lower <= (2 / math.sqrt(3)) ** d * (1 + 1e-9)
    assert found.upper >= (2 / math.sqrt(3)) ** d * (1 - 1e-9)
    assert found.gap <= 1e-3


def test_beyond_enumeration_the_bounds_hold_what_is_known():
    rows = np.random.default_rng(10).integers(0, 2, (30, 30))
    whole = discrepancy(rows, hereditary=True)
    part = discrepancy(rows[:, :12], hereditary=True).lower  # a set of columns has no more than all

    assert 0 < whole.lower <= whole.upper
    assert part <= whole.upper
    smaller = discrepancy(rows[:9, :9], hereditary=True).lower
    forced = discrepancy(np.hstack([rows[:9, :9], np.zeros((9, 20), dtype=int)]), hereditary=True)
    assert forced.lower <= smaller <= forced.upper


def test_real_matrices_are_rounded_outward():
    rng = np.random.default_rng(11)
    matrix = rng.normal(size=(5, 6))
    found = discrepancy(matrix)

    assert found.lower <= naive(matrix, 6) <= found.upper
    assert found.upper - found.lower < 1e-5
    halves = discrepancy(matrix.round(0) / 2)
    assert halves.exact
    assert halves.upper == naive(matrix.round(0) / 2, 6)


@pytest.mark.parametrize("kind", ["uint8", "int8", "uint64", "float16"])
def test_differences_are_those_of_the_numbers_whatever_type_holds_them(kind):
    """In a byte 0 - 1 is 255 and -100 - 100 is 56; in half a word 2048 - 0.5 is 2048."""
    pairs = {"uint8": [[0, 255], [255, 0]], "int8": [[-100, 100], [0, 1]], "uint64": [[0, 7], [7, 0]],
             "float16": [[2048, 0.5], [0, 1]]}  # fmt: skip
    read = colourable(np.array(pairs[kind], dtype=kind), neighbours=Replace)
    wanted = [Fraction(a) - Fraction(b) for a, b in pairs[kind]]
    some = [wanted[place] for place in read.places]

    assert [Fraction(int(row[0])) / read.unit for row in read.rows] == some
    assert read.slack == 0
    assert max(map(abs, some)) == max(map(abs, wanted))


def test_where_rows_are_replaced_columns_are_differences():
    read = colourable(thresholds(4), neighbours=Replace)

    assert read.rows.tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    assert marginals(bits(3), 1).shape == (6, 8)
    assert len(colourable(marginals(bits(3), 1)).rows) == 6


def test_gamma_2_of_products_and_multiples_is_within_the_tolerance():
    """Three factors of 8 thresholds had a gap of 1.9e-3 at 1e-3, three times 32 thresholds one of 3.7e-4 at 1e-5."""
    steps = np.tril(np.ones((8, 8), dtype=int))
    factors = [Dense(steps, Domain({name: Integer(0, 7)})) for name in "abc"]
    for tolerance in (1e-3, 1e-4):
        found = gamma2(kron(*factors), tolerance=tolerance)
        one = gamma2(steps, tolerance=1e-7)

        assert found.gap <= tolerance
        assert found.lower <= one.upper**3
        assert found.upper >= one.lower**3
        assert gamma2(2 * kron(*factors), tolerance=tolerance).gap <= tolerance
    assert gamma2(3 * thresholds(32), tolerance=1e-5).gap <= 1e-5


@pytest.mark.parametrize(("queries", "cells"), [(1, 6), (3, 20), (5, 40), (10, 40), (5, 100)])
def test_gamma_2_of_few_queries_is_within_the_tolerance_where_rows_are_replaced(queries, cells):
    """In all coordinates the search ended at 1.2e-2 for 5 queries of 40 cells; in those of the queries it does not."""
    rng = np.random.default_rng(queries * cells)
    for matrix in (rng.normal(size=(queries, cells)), rng.integers(-2, 3, (queries, cells))):
        found, whole = gamma2(matrix, neighbours=Replace), factored(matrix, tolerance=1e-3, neighbours=Replace)
        fine = gamma2(matrix, neighbours=Replace, tolerance=1e-5)

        assert found.method == "solver, in the span of the queries"
        assert found.gap <= 1e-3
        assert fine.gap <= 1e-5
        assert max(found.lower, whole.lower_bound, fine.lower) <= min(found.upper, whole.value * (1 + 1e-9), fine.upper)
        if queries == 1:  # the largest difference of two answers
            assert found.lower <= np.ptp(matrix) <= found.upper


def test_what_the_span_of_the_queries_leaves_out_is_in_the_bounds():
    """A direction of 1e-13 is left out of the span, and paid for: the bounds still hold those of all of it."""
    rng = np.random.default_rng(2)
    matrix = rng.normal(size=(3, 12))
    matrix[2] = matrix[0] + matrix[1] + 1e-13 * matrix[2]
    found, whole = gamma2(matrix, neighbours=Replace), factored(matrix, tolerance=1e-3, neighbours=Replace)

    assert found.lower <= whole.value
    assert whole.lower_bound <= found.upper
    assert found.gap <= 1e-3


@pytest.mark.parametrize("matrix", ["x", None, [["a"]], [[10**400]], [[1e200, 1.0]], [[1e-200]], [[0.0]], [[]]])
def test_a_matrix_that_cannot_be_computed_with_is_refused(matrix):
    with pytest.raises(ParameterError):
        gamma2(matrix)


def test_the_integer_program_does_not_know_hereditary_discrepancy():
    with pytest.raises(ParameterError, match="another method"):
        discrepancy([[1, 1], [1, 0]], hereditary=True, method="integer")


def test_bad_questions_are_refused():
    for bad in ({"kappa": -0.1}, {"kappa": 1.5}, {"kappa": math.nan}, {"method": "guess"}, {"hereditary": 1}):
        with pytest.raises(ParameterError):
            discrepancy(np.eye(3, dtype=int), **bad)
    for matrix in ([[math.nan, 1]], [1, 2], [[]], [["a"]], [[True, False]]):
        with pytest.raises(ParameterError):
            discrepancy(matrix)
    with pytest.raises(UnsupportedError, match="too many"):
        discrepancy(np.eye(30, dtype=int), method="enumerate")
