"""discreet.privacy.exact_sums: sums, norms, products and casts of arrays, against Python's integers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.privacy.exact_sums import (
    END,
    difference,
    farthest,
    largest,
    largest_norm,
    norms,
    over_one_denominator,
    product,
    roomy,
    total,
    whole,
)
from discreet.privacy.neighbours import AddRemove, Replace
from discreet.privacy.sensitivity import matrix
from discreet.queries.workload import from_columns

EDGES = [0, 1, -1, 4095, 4096, -4096, 2**24, 2**31, 2**53 + 1, 2**62, -(2**62), 2**63 - 1, -(2**63), 2**70]


@st.composite
def tables(draw, rows=None):
    """Integers of any size, in 64 bits where they fit: the ends of the range above all."""
    shape = rows or draw(st.integers(1, 4)), draw(st.integers(1, 4))
    most = draw(st.sampled_from([1, 13, 24, 40, 62, 70]))
    one = st.one_of(st.integers(-(2**most), 2**most), st.sampled_from([edge for edge in EDGES if abs(edge) <= 2**most]))
    values = [draw(one) for _ in range(shape[0] * shape[1])]
    fits = all(-END <= value < END for value in values)
    return np.array(values, dtype=np.int64 if fits else object).reshape(shape)


@given(tables(), st.sampled_from([1, 2]))
def test_sums_norms_and_distances_are_those_of_pythons_integers(table, power):
    columns = [[int(value) for value in column] for column in table.T]
    moved = [sum(abs(a - b) ** power for a, b in zip(one, other, strict=True)) for one in columns for other in columns]

    assert total(table) == sum(map(sum, columns))
    assert norms(table, power=power).tolist() == [sum(abs(v) ** power for v in column) for column in columns]
    assert largest_norm(table, power=power) == max(norms(table, power=power))
    assert farthest(table, power=power) == max(moved)
    assert largest(table) == max(abs(v) for column in columns for v in column)
    assert difference(table, table[:, :1]).tolist() == [[int(v) - int(row[0]) for v in row] for row in table]


@given(tables(), st.data())
def test_products_are_those_of_pythons_integers(left, data):
    right = data.draw(tables(rows=left.shape[1]))
    exact = [
        [sum(int(a) * int(b) for a, b in zip(row, column, strict=True)) for column in right.T.tolist()]
        for row in left.tolist()
    ]

    assert product(left, right).tolist() == exact
    assert product(left, right, within=largest(right) + 5).tolist() == exact


def test_sums_that_wrap_in_64_bits_do_not():
    """The sum that was claimed to be 2^48 once: numpy alone says 0, and then no column is longer than the other."""
    table = np.full((1 << 16, 1), 1 << 24)

    assert int((table * table).sum()) == 0
    assert largest_norm(table, power=2) == 1 << 64
    assert total(np.full(4, 1 << 62)) == 1 << 64
    assert product(table.T, table).tolist() == [[1 << 64]]


def test_many_columns_are_compared_in_blocks():
    table = np.arange(-1500, 1500)[None, :]

    assert farthest(table, power=2) == 2999**2
    assert farthest(table, power=1) == 2999
    assert farthest(table[:, :1], power=1) == 0


def test_how_many_parts_are_multiplied_depends_on_the_bound_alone(monkeypatch):
    """The second factor may be private: how long a product takes says nothing of it."""
    from discreet.privacy import exact_sums

    counted = []
    parts = exact_sums._parts
    monkeypatch.setattr(exact_sums, "_parts", lambda *given: counted.append(len(parts(*given))) or parts(*given))
    for secret in (0, 1, (1 << 20) - 1):
        product(np.array([[5]]), np.array([[secret]]), within=1 << 20)

    assert counted == [2, 1] * 3


@pytest.mark.parametrize(
    "bad",
    [[0.5], [np.nan], [np.inf], [1e19], [2.0**63], [-(2.0**63) - 2048], np.array([2**63], dtype=np.uint64), ["1"]],
)
def test_a_cast_that_would_wrap_is_refused(bad):
    with pytest.raises(ParameterError, match="fit 64 bits"):
        whole(np.asarray(bad))
    with pytest.raises(ParameterError, match="fit 64 bits"):
        whole(np.array([2**63], dtype=object))


def test_casts_and_room():
    assert whole(np.array([-(2.0**63), 2.0**62])).tolist() == [-(2**63), 2**62]
    assert whole(np.array([True])).tolist() == [1]
    assert roomy(np.array([2**31]), power=2).dtype == np.int64
    assert (roomy(np.array([2**31]), times=2, power=2) ** 2 * 2).tolist() == [2**63]
    assert over_one_denominator(np.array([[0.5, 2.0]]), read=Fraction)[0].tolist() == [[1, 4]]


def test_sensitivities_of_matrices_use_it():
    tall = np.full((1 << 10, 2), 1 << 27)
    tall[:, 1] *= -1

    assert from_columns(tall, AddRemove, power=2) == 1 << 64
    assert from_columns(tall, Replace, power=2) == 1 << 66
    assert from_columns(tall, Replace, power=1) == 1 << 38
    assert matrix(tall, relation=Replace, norm=2) == 2.0**33
    assert matrix([[2**64, 0]], relation=Replace, norm=1) == 2.0**64
