"""discreet.privacy.sensitivity: each closed form equals brute force, and halving it would be caught."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ParameterError, UnsupportedError
from discreet.privacy import AddRemove, EdgeNeighbours, Local, NullRow, Replace, sensitivity
from discreet.privacy.number import exact

BITS = tuple(product((0, 1), repeat=2))
BOTH = pytest.mark.parametrize("relation", [AddRemove, Replace, NullRow])
NORMS = pytest.mark.parametrize("norm", [1, 2])


def rows_of(data):
    """The rows that count: the null row does not."""
    return [row for row in data if row is not None]


def brute(query, *, universe, relation, norm, n=3):
    return sensitivity.brute_force(query, universe=universe, n=n, relation=relation, norm=norm)


@BOTH
@NORMS
def test_one_counting_query(relation, norm):
    found = brute(lambda data: sum(a for a, _ in rows_of(data)), universe=BITS, relation=relation, norm=norm)

    assert found == sensitivity.counting(relation=relation, norm=norm) == 1


@BOTH
@NORMS
def test_the_histogram_counts_a_replaced_row_twice(relation, norm):
    found = brute(lambda data: [data.count(cell) for cell in BITS], universe=BITS, relation=relation, norm=norm)

    assert found == sensitivity.histogram(relation=relation, norm=norm)
    if relation is Replace:
        assert found == pytest.approx({1: 2, 2: math.sqrt(2)}[norm])
    else:
        assert found == 1


@BOTH
@pytest.mark.parametrize(("low", "high"), [(0, 1), (-1, 1), (2, 5)])
def test_one_linear_query(relation, low, high):
    """With values in [-1, 1] a replacement moves it by 2, not by 1."""
    found = brute(lambda data: sum(rows_of(data)), universe=(low, high), relation=relation, norm=1)

    assert found == sensitivity.linear(low, high, relation=relation)


def test_the_mean_needs_a_public_n():
    found = brute(lambda data: Fraction(sum(data), 3), universe=(0, 1), relation=Replace, norm=1)

    assert found == sensitivity.mean(0, 1, n=3, relation=Replace) == Fraction(1, 3)  # not 1, and not 2/3
    assert sensitivity.mean(0, 1, n=100, relation=NullRow) == 0.01
    with pytest.raises(UnsupportedError, match="public n"):
        sensitivity.mean(0, 1, n=3, relation=AddRemove)


@BOTH
@NORMS
def test_k_counting_queries_may_all_move(relation, norm):
    queries = [lambda a, b: a, lambda a, b: a, lambda a, b: a or b]
    found = brute(
        lambda data: [sum(q(*row) for row in rows_of(data)) for q in queries],
        universe=BITS,
        relation=relation,
        norm=norm,
    )

    assert found == sensitivity.counting_queries(3, relation=relation, norm=norm)


@BOTH
@NORMS
@pytest.mark.parametrize("t", [1, 2, 3])
def test_all_marginals(relation, norm, t):
    universe = tuple(product((0, 1), repeat=3))
    sets = list(combinations(range(3), t))

    def tables(data):
        return [
            sum(all(row[i] == v for i, v in zip(chosen, cell, strict=True)) for row in rows_of(data))
            for chosen in sets
            for cell in product((0, 1), repeat=t)
        ]

    found = brute(tables, universe=universe, relation=relation, norm=norm, n=1)

    assert found == sensitivity.marginals(3, t, relation=relation, norm=norm)


@NORMS
@pytest.mark.parametrize("relation", [AddRemove, Replace])
@pytest.mark.parametrize("d", [2, 3, 4, 5])
def test_products_of_two_signs(relation, norm, d):
    universe = tuple(product((-1, 1), repeat=d))

    def sums(data):
        return [sum(row[i] * row[j] for row in data) for i, j in combinations(range(d), 2)]

    assert brute(sums, universe=universe, relation=relation, norm=norm, n=1) == sensitivity.parities2(
        d, relation=relation, norm=norm
    )


def test_the_published_sensitivities_of_parities():
    assert sensitivity.parities2(4, relation=Replace, norm=2) == 4
    assert sensitivity.parities2(4, relation=AddRemove, norm=2) == pytest.approx(math.sqrt(6), abs=1e-15)
    assert sensitivity.parities2(5, relation=Replace, norm=2) == pytest.approx(4.898979, abs=1e-6)
    assert sensitivity.parities2(6, relation=Replace, norm=1) == 18  # d^2 / 2
    assert sensitivity.parities2(6, relation=Replace, norm=2) == 6  # d


def test_a_maximum_of_counts_moves_no_more_than_one_of_them():
    def largest(data):
        return Fraction(max(sum(a for a, _ in data), sum(b for _, b in data)), 3)

    assert brute(largest, universe=BITS, relation=Replace, norm=1) == Fraction(1, 3)


def test_a_distance_moves_by_one():
    def to_constant(data):  # Hamming distance to {000, 111}
        return min(sum(data), len(data) - sum(data))

    assert brute(to_constant, universe=(0, 1), relation=Replace, norm=1) == 1


@NORMS
@pytest.mark.parametrize("relation", [AddRemove, Replace])
@given(data=st.data())
def test_a_matrix_has_the_sensitivity_of_its_columns(relation, norm, data):
    entries = st.one_of(st.integers(-3, 3), st.sampled_from([0.1, -0.7, Fraction(1, 3)]))
    table = data.draw(st.lists(st.lists(entries, min_size=3, max_size=3), min_size=1, max_size=3))

    def answers(rows):
        return [sum((exact(weights[cell]) for cell in rows), Fraction(0)) for weights in table]

    found = brute(answers, universe=range(3), relation=relation, norm=norm, n=1)

    assert sensitivity.matrix(np.array(table, dtype=object), relation=relation, norm=norm) == found


def test_large_matrices_are_exact_and_quick():
    size = 400
    prefix = np.tril(np.ones((size, size), dtype=np.int64))

    assert sensitivity.matrix(prefix, relation=AddRemove, norm=1) == size
    assert sensitivity.matrix(prefix, relation=Replace, norm=1) == size - 1
    assert sensitivity.matrix(prefix, relation=AddRemove, norm=2) == 20
    assert sensitivity.matrix([[2**62, 2**62], [2**62, 0]], relation=AddRemove, norm=1) == 2**63  # no overflow
    assert sensitivity.matrix([[0.1, 0.2]], relation=Replace, norm=1) == 0.1


@given(st.lists(st.fractions(min_value=0, max_value=9), min_size=1, max_size=5))
def test_stacking_adds_in_the_norm(parts):
    assert exact(sensitivity.stacked(parts, norm=1)) == sum(parts)
    square = sum(part * part for part in parts)
    assert square <= exact(sensitivity.stacked(parts, norm=2)) ** 2 <= square * (1 + Fraction(1, 10**15))


@given(st.integers(1, 10**6), st.integers(2, 1000))
def test_irrational_roots_are_rounded_up(k, d):
    assert exact(sensitivity.counting_queries(k, relation=AddRemove, norm=2)) ** 2 >= k
    assert exact(sensitivity.parities2(d, relation=Replace, norm=2)) ** 2 >= 4 * (d * d // 4)


def test_a_halved_sensitivity_would_be_caught():
    """The broken twin: AddRemove's histogram sold under Replace."""
    true = brute(lambda data: [data.count(cell) for cell in BITS], universe=BITS, relation=Replace, norm=1)

    assert sensitivity.histogram(relation=AddRemove, norm=1) < true


def test_local_sensitivity_is_at_most_the_global_one():
    def median(data):
        return sorted(data)[len(data) // 2]

    universe = range(4)
    everywhere = max(
        sensitivity.local(median, data, universe=universe, relation=Replace) for data in product(universe, repeat=3)
    )

    assert everywhere == brute(median, universe=universe, relation=Replace, norm=1) == 3


def test_bad_input_is_refused():
    for call in (
        lambda: sensitivity.counting(relation=Replace, norm=3),
        lambda: sensitivity.counting(relation=Replace, norm=True),
        lambda: sensitivity.counting_queries(0, relation=Replace, norm=1),
        lambda: sensitivity.linear(1, 1, relation=Replace),
        lambda: sensitivity.linear(0, math.inf, relation=Replace),
        lambda: sensitivity.marginals(3, 4, relation=Replace, norm=1),
        lambda: sensitivity.parities2(1, relation=Replace, norm=1),
        lambda: sensitivity.matrix([1, 2], relation=Replace, norm=1),
        lambda: sensitivity.matrix([[math.nan]], relation=AddRemove, norm=1),
        lambda: sensitivity.stacked([-1], norm=1),
        lambda: sensitivity.mean(0, 1, n=0, relation=Replace),
    ):
        with pytest.raises(ParameterError):
            call()
    with pytest.raises(UnsupportedError, match="graphs"):
        sensitivity.counting(relation=EdgeNeighbours)
    assert sensitivity.linear(-1, 1, relation=Local) == 2
