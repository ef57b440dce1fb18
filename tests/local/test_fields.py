"""discreet.local.fields: tables of fields, uniform differences of hashes, sums along hyperplanes."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.local import OptimalLocalHashing
from discreet.local.fields import affine_sums, field, hyperplane_sums, orders


@pytest.mark.parametrize("order", [2, 3, 4, 5, 8, 9, 16, 25, 27])
def test_the_tables_are_those_of_a_field(order):
    found = field(order)
    a, b, c = (x.ravel() for x in np.meshgrid(*[np.arange(order)] * 3))
    plus, times = found.plus, found.times

    assert (plus[a, b] == plus[b, a]).all()
    assert (times[a, b] == times[b, a]).all()
    assert (plus[plus[a, b], c] == plus[a, plus[b, c]]).all()
    assert (times[times[a, b], c] == times[a, times[b, c]]).all()
    assert (times[a, plus[b, c]] == plus[times[a, b], times[a, c]]).all()
    assert (plus[found.minus[a, b], b] == a).all()
    assert (times[np.arange(1, order), found.inverse[1:]] == 1).all()


def test_integers_modulo_four_are_no_field():
    """The twin that would be easier to write: 2 times 2 is 0 there."""
    numbers = np.arange(4)
    times = np.multiply.outer(numbers, numbers) % 4

    assert (np.sort(times[1:, 1:] - 1, axis=1) != np.arange(3)).any()


def test_orders_are_primes_and_powers_of_primes():
    assert orders()[:14] == (2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 19, 23, 25)
    with pytest.raises(ParameterError, match="the size of a field"):
        field(6)


@pytest.mark.parametrize(("epsilon", "size"), [(1, 20), (1.5, 30), (2.2, 80)])
def test_differences_of_hashes_are_exactly_uniform(epsilon, size):
    protocol = OptimalLocalHashing(epsilon=epsilon, size=size)
    seeds = np.arange(protocol.seeds)
    hashes = np.array([protocol.hashes(seeds, np.full(protocol.seeds, x)) for x in range(size)])
    minus = field(protocol.order).minus
    for x, y in [(0, 1), (0, size - 1), (3, 7), (11, 12)]:
        seen = Counter(minus[hashes[x], hashes[y]].tolist())

        assert set(seen.values()) == {protocol.seeds // protocol.order}


def _dot(a, x, found):
    total = 0
    for left, right in zip(a, x, strict=True):
        total = found.plus[total, found.times[left, right]]
    return int(total)


@pytest.mark.parametrize(("order", "length"), [(2, 4), (3, 3), (4, 3), (5, 2), (7, 1)])
def test_hyperplane_sums_are_those_of_the_definition(order, length):
    found = field(order)
    counts = np.random.default_rng(1).integers(0, 9, (order**length, order))
    vectors = list(product(range(order), repeat=length))
    naive = [sum(counts[i, _dot(a, x, found)] for i, a in enumerate(vectors)) for x in vectors]

    assert hyperplane_sums(counts, found).tolist() == naive


@pytest.mark.parametrize(("order", "length"), [(2, 3), (3, 2), (4, 2), (5, 1)])
def test_affine_sums_are_those_of_the_definition(order, length):
    found = field(order)
    counts = np.random.default_rng(2).integers(0, 9, order**length)
    vectors = list(product(range(order), repeat=length))
    naive = [
        [
            sum(int(c) for c, a in zip(counts, vectors, strict=True) if _dot(a, x, found) == found.minus[0, s])
            for s in range(order)
        ]
        for x in vectors
    ]

    assert affine_sums(counts, found).tolist() == naive
