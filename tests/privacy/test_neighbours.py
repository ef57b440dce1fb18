"""discreet.privacy.neighbours: distances, neighbours and enumeration, against the notes and brute force."""

from __future__ import annotations

from itertools import permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ParameterError, UnsupportedError
from discreet.privacy import AddRemove, EdgeNeighbours, Local, NullRow, Replace
from discreet.privacy.neighbours import datasets, neighbouring_pairs

r = ((1, 2), (5, 6), (7, 8), (11, 5))
s = ((1, 2), (5, 7), (7, 8), (5, 11))
v = ((5, 6), (1, 2), (7, 8), (11, 5))
w = ((5, 6), (1, 2), (7, 8), (0, 0))
zero = ((0, 0),) * 4

rows = st.lists(st.integers(0, 2), max_size=5)


def largest_balance(table):
    return max(a + b for a, b in table)


def test_the_tables_of_the_notes_are_as_far_apart_as_they_say():
    assert Replace.distance(r, s) == 2
    assert Replace.distance(r, v) == 2
    assert Replace.distance(w, zero) == 3
    assert [largest_balance(table) for table in (r, s, w)] == [16, 16, 15]


def test_order_matters_to_tuples_and_not_to_multisets():
    assert AddRemove.distance(r, v) == 0
    assert Replace.distance(r, v) == 2


@given(st.lists(st.integers(0, 2), min_size=1, max_size=4), st.data())
def test_equal_multisets_are_twice_the_least_hamming_distance_apart(left, data):
    """The factor of two between adding or removing a row and replacing one."""
    right = data.draw(st.lists(st.integers(0, 2), min_size=len(left), max_size=len(left)))
    hamming = min(Replace.distance(left, order) for order in permutations(right))

    assert AddRemove.distance(left, right) == 2 * hamming


@pytest.mark.parametrize("relation", [AddRemove, Replace, NullRow])
def test_distance_is_the_length_of_the_shortest_path(relation):
    """Breadth-first search over neighbours; a wrong NullRow distance (Hamming) fails here."""
    universe = (0, 1)
    everything = datasets(universe, n=3, relation=relation)

    def canonical(data):
        return tuple(sorted(data)) if relation is AddRemove else data

    for start in everything:
        steps, frontier = {start: 0}, [start]
        while frontier:
            here = frontier.pop(0)
            for there in map(canonical, relation.of(here, universe)):
                if there not in steps and len(there) <= 3:
                    steps[there] = steps[here] + 1
                    frontier.append(there)
        assert all(steps[end] == relation.distance(start, end) for end in everything)


@pytest.mark.parametrize(
    ("relation", "n"), [(Local, 1), *((relation, n) for relation in (AddRemove, Replace, NullRow) for n in (1, 2, 3))]
)
def test_every_pair_of_neighbours_is_listed_once(relation, n):
    universe = (0, 1, 2)
    everything = datasets(universe, n=n, relation=relation)
    pairs = [frozenset(pair) for pair in neighbouring_pairs(universe, n=n, relation=relation)]
    expected = {frozenset((a, b)) for a, b in product(everything, repeat=2) if a != b and relation.distance(a, b) == 1}

    assert len(pairs) == len(set(pairs))
    assert set(pairs) == expected


def test_two_by_two_bits_make_48_pairs_that_differ_in_one_row():
    universe = list(product((0, 1), repeat=2))

    assert sum(1 for _ in neighbouring_pairs(universe, n=2, relation=Replace)) == 48


@given(rows)
def test_a_dataset_has_as_many_neighbours_as_counted(data):
    universe = (0, 1, 2)

    assert len(list(Replace.of(data, universe))) == 2 * len(data)
    assert len(list(AddRemove.of(data, universe))) == len(set(data)) + 3


def test_bad_input_is_refused():
    with pytest.raises(ParameterError, match="equally many rows"):
        Replace.distance("ab", "abc")
    with pytest.raises(ParameterError, match="n = 1"):
        datasets("ab", n=2, relation=Local)
    with pytest.raises(ParameterError, match="null row"):
        datasets((0, None), n=2, relation=NullRow)
    with pytest.raises(UnsupportedError, match="graphs"):
        datasets("ab", n=2, relation=EdgeNeighbours)
