"""discreet.release.models.graphical and junction_messages: every claim against enumeration of all cells."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import chisquare

from discreet.data import Domain, Integer
from discreet.errors import DomainError, ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.queries.marginals import marginals
from discreet.release.models.factor import Factor, Layout
from discreet.release.models.graphical import GraphicalModel
from discreet.release.models.junction import junction_size
from tests.release.models.enumeration import SHAPES, TREE, dense, dense_marginal, random_factors, small_domain

SIZES = (2, 3, 4, 3, 2)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(3))
def test_every_marginal_and_the_partition_function_are_those_of_the_enumeration(shape, seed):
    domain = small_domain(*SIZES)
    factors = random_factors(domain, SHAPES[shape], seed=seed)
    cells = dense(domain, factors)
    model = GraphicalModel(domain, factors, total=1000)

    assert model.log_partition == pytest.approx(math.log(cells.sum()), abs=1e-12)
    for k in range(6):
        for columns in itertools.combinations(domain, k):
            expected = dense_marginal(domain, cells, columns) * 1000 / cells.sum()
            np.testing.assert_allclose(model.marginal(columns), expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("seed", range(8))
def test_larger_random_graphs_agree_with_the_enumeration_too(seed):
    domain = small_domain(2, 3, 2, 4, 2, 3, 2, 2)
    rng = np.random.default_rng(seed)
    sets = [tuple(rng.choice(list(domain), size=rng.integers(2, 4), replace=False).tolist()) for _ in range(6)]
    factors = random_factors(domain, sets, seed=seed)
    cells = dense(domain, factors)
    model = GraphicalModel(domain, factors, total=1)

    for columns in itertools.combinations(domain, 3):
        np.testing.assert_allclose(
            model.marginal(columns), dense_marginal(domain, cells, columns) / cells.sum(), rtol=1e-11, atol=1e-13
        )


def test_columns_may_be_asked_for_in_any_order():
    domain = small_domain(*SIZES)
    model = GraphicalModel(domain, random_factors(domain, TREE, seed=1), total=10)

    np.testing.assert_allclose(model.marginal(["e", "a"]), model.marginal(["a", "e"]).T)
    np.testing.assert_allclose(model.marginal(["b", "a"]), model.marginal(["a", "b"]).T)


def test_huge_factors_neither_overflow_nor_underflow():
    """Shifting by the row keeps a separator cell alive that is e^-900 in one clique and e^900 in the next."""
    domain = small_domain(2, 2, 2)
    pair = np.array([[0.0, 1.0], [-900.0, -900.5]])
    back = np.array([[0.0, 0.3], [900.0, 900.2]])
    model = GraphicalModel(domain, {("b", "a"): pair, ("b", "c"): back}, total=1)
    first, second = np.exp(pair + np.array([[0.0], [900.0]])), np.exp(back - np.array([[0.0], [900.0]]))
    expected = np.einsum("ba,bc->abc", first, second)

    np.testing.assert_allclose(model.marginal(["a", "b", "c"]), expected / expected.sum(), rtol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_forbidden_cells_have_exactly_nothing(shape):
    domain = small_domain(*SIZES)
    factors = random_factors(domain, SHAPES[shape], seed=3)
    barred = next(iter(factors))
    factors[barred][(0,) * len(barred)] = -np.inf
    factors[barred][(1,) * len(barred)] = -np.inf
    cells = dense(domain, factors)
    model = GraphicalModel(domain, factors, total=1)

    assert model.marginal(barred)[(0,) * len(barred)] == 0
    np.testing.assert_allclose(model.marginal(list(domain)), cells / cells.sum(), rtol=1e-11, atol=1e-300)
    assert np.all(model.sample(500).marginal(barred)[(1,) * len(barred)] == 0)


def test_a_column_value_may_be_forbidden_altogether():
    domain = small_domain(2, 3, 2)
    bar = np.zeros((2, 3))
    bar[:, 1] = -np.inf
    model = GraphicalModel(domain, {("a", "b"): bar, ("b", "c"): np.zeros((3, 2))}, total=8)

    assert model.marginal(["b"]).tolist() == pytest.approx([4, 0, 4])
    assert model.marginal(["b", "c"])[1].tolist() == [0, 0]
    assert model.marginal(["a", "c"]).tolist() == [[2, 2], [2, 2]]


def test_workloads_are_answered_as_on_the_histogram():
    domain = small_domain(*SIZES)
    model = GraphicalModel(domain, random_factors(domain, TREE, seed=4), total=500)
    workload = marginals(domain, 2)

    np.testing.assert_allclose(model.answer(workload), workload.answer(model.histogram()), rtol=1e-10)
    assert model.histogram().n == pytest.approx(500)


def test_rows_drawn_follow_the_joint_distribution():
    """Chi-square over all cells; rounding at random has less variance than independent draws, so it passes easily."""
    domain = small_domain(2, 3, 2, 2)
    model = GraphicalModel(domain, random_factors(domain, [("a", "b"), ("b", "c"), ("b", "d")], seed=5), total=1)
    drawn = model.sample(40_000, rng=SeededRandom(1)).marginal(list(domain))

    assert chisquare(drawn.ravel(), 40_000 * model.marginal(list(domain)).ravel()).pvalue > 1e-6


def test_marginals_of_the_root_are_rounded_not_resampled():
    domain = small_domain(*SIZES)
    model = GraphicalModel(domain, random_factors(domain, TREE, seed=6), total=1)
    root = model.tree.cliques[0]
    drawn = model.sample(10_001, rng=SeededRandom(2)).marginal(root)

    assert np.abs(drawn - 10_001 * model.marginal(root)).max() < 1


def comonotone_rows(rows):
    """The same rounding without the random order: each child rises within the group of its parent."""
    a = np.repeat([0, 1], rows // 2)
    child = np.tile(np.repeat([0, 1], rows // 4), 2)
    return a, child, child


def correlation_within(a, b, c):
    return max(abs(np.corrcoef(b[a == value], c[a == value])[0, 1]) for value in (0, 1))


def test_children_of_one_column_are_independent_given_it():
    domain, rows = small_domain(2, 2, 2), 40_000
    half = np.zeros((2, 2))
    model = GraphicalModel(domain, {("a", "b"): half, ("a", "c"): half}, total=1)
    records = model.sample(rows, rng=SeededRandom(3))
    a, b, c = (records.column(name) for name in "abc")

    assert correlation_within(a, b, c) < 5 / math.sqrt(rows / 2)  # five standard deviations: 6e-7
    assert correlation_within(*comonotone_rows(rows)) == pytest.approx(1)


def test_a_chain_of_fifty_columns_is_small_and_its_ends_agree_with_the_matrix_power():
    names = [f"x{i}" for i in range(50)]
    domain = Domain({name: Integer(0, 2) for name in names})
    step = np.array([[2.0, 1.0, 1.0], [1.0, 3.0, 1.0], [1.0, 1.0, 4.0]])
    model = GraphicalModel(domain, {pair: np.log(step) for pair in itertools.pairwise(names)}, total=1)
    ends = np.linalg.matrix_power(step, 49)

    assert model.size == 49 * 9
    np.testing.assert_allclose(model.marginal(["x0", "x49"]), ends / ends.sum(), rtol=1e-10)
    with pytest.raises(UnsupportedError, match="over the limit"):
        model.histogram()


def test_a_chain_of_a_thousand_columns_and_more_is_no_deeper_than_one_of_two():
    names = [f"x{i}" for i in range(1200)]
    domain = Domain({name: Integer(0, 1) for name in names})
    step = np.log([[0.999, 0.001], [0.001, 0.999]])
    model = GraphicalModel(domain, dict.fromkeys(itertools.pairwise(names), step), total=1)

    assert model.marginal(["x0", "x1199"])[0, 0] == pytest.approx((1 + 0.998**1199) / 4, rel=1e-9)
    assert len(model.sample(10)) == 10


def test_a_model_over_the_limit_is_refused_before_it_is_built():
    domain = small_domain(*SIZES)
    cells = junction_size(domain, TREE)

    assert GraphicalModel(domain, random_factors(domain, TREE, seed=1), total=1, limit=cells).size == cells
    with pytest.raises(UnsupportedError, match=f"{cells} cells is over the limit of {cells - 1}"):
        GraphicalModel(domain, random_factors(domain, TREE, seed=1), total=1, limit=cells - 1)


def test_a_large_table_on_the_way_to_a_marginal_is_refused():
    domain = small_domain(8, 2, 8, 8)
    sets = [("a", "b"), ("b", "c"), ("b", "d")]
    model = GraphicalModel(domain, random_factors(domain, sets, seed=1), total=1, limit=100)

    assert model.marginal(["a", "c"]).shape == (8, 8)
    with pytest.raises(UnsupportedError, match="over the limit"):
        model.marginal(["a", "c", "d"])
    with pytest.raises(UnsupportedError, match="on the way"):
        Factor(("a",), np.ones(20)).times(Factor(("b",), np.ones(20)), keep=("a", "b"), limit=399)


@pytest.mark.parametrize("columns", [(), ("a",), ("c",), ("a", "d"), ("b", "c"), ("a", "b", "c", "d")])
@pytest.mark.parametrize("sizes", [(2, 3, 4, 5), (5, 2, 30, 2), (2, 2, 2, 40), (300, 2, 2, 3)])
def test_layouts_sum_and_spread_as_numpy_does(columns, sizes):
    shape = dict(zip("abcd", sizes, strict=True))
    table = np.random.default_rng(1).random(sizes)
    layout = Layout.inside(shape, "abcd", columns)
    kept = [name for name in "abcd" if name in columns]
    found = layout.project(table.reshape(-1))
    spread = table.copy()
    layout.spread(np.ascontiguousarray(found).reshape(-1), spread.reshape(-1))

    np.testing.assert_allclose(found, table.sum(axis=tuple("abcd".index(n) for n in "abcd" if n not in kept)))
    np.testing.assert_allclose(
        spread - table, np.broadcast_to(found.reshape([shape[n] if n in kept else 1 for n in "abcd"]), sizes)
    )


@pytest.mark.parametrize("total", [0, -1, math.nan, math.inf, True])
def test_rejects_a_total_that_is_no_number_of_rows(total):
    with pytest.raises(ParameterError, match="need a finite total > 0"):
        GraphicalModel(small_domain(2), {}, total=total)


@pytest.mark.parametrize("table", [[0.0], [0.0, math.nan], [0.0, math.inf], [[0.0, 1.0], [0.0, 1.0]]])
def test_rejects_factors_that_are_no_logarithms(table):
    with pytest.raises(ParameterError, match="need a finite logarithm or -inf"):
        GraphicalModel(small_domain(2), {("a",): table}, total=1)


def test_rejects_factors_that_forbid_every_row():
    with pytest.raises(ParameterError, match="at least one row"):
        GraphicalModel(small_domain(2, 2), {("a",): [-math.inf, 0], ("a", "b"): [[0, 0], [-math.inf] * 2]}, total=1)


@pytest.mark.parametrize("rows", [0, -1, 2.0, True])
def test_rejects_a_number_of_rows_that_is_none(rows):
    with pytest.raises(ParameterError, match="an integer rows >= 1"):
        GraphicalModel(small_domain(2), {}, total=1).sample(rows)


def test_rejects_unknown_and_repeated_columns():
    model = GraphicalModel(small_domain(2, 2), {}, total=1)

    with pytest.raises(DomainError, match="no column 'z'"):
        model.marginal(["z"])
    with pytest.raises(DomainError, match="need distinct columns"):
        model.marginal(["a", "a"])
