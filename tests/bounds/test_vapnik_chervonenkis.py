"""discreet.bounds.vapnik_chervonenkis: exact dimensions against search by hand, and the classes of the notes."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.bounds.vapnik_chervonenkis import concepts, littlestone_dimension, sauer, shattered, vc_dimension
from discreet.errors import ParameterError

classes = st.integers(1, 6).flatmap(
    lambda points: st.tuples(st.just(points), st.sets(st.integers(0, 2**points - 1), min_size=1, max_size=24))
)


def by_hand(masks, points):
    """The largest shattered set among all of them."""
    sizes = [
        size
        for size in range(points + 1)
        for chosen in combinations(range(points), size)
        if len({tuple(mask >> x & 1 for x in chosen) for mask in masks}) == 2**size
    ]
    return max(sizes)


def tree_by_hand(masks, points):
    """The Littlestone dimension by its definition."""
    if not masks:
        return -1
    found = 0
    for x in range(points):
        ones = frozenset(mask for mask in masks if mask >> x & 1)
        if ones and ones != masks:
            found = max(found, 1 + min(tree_by_hand(ones, points), tree_by_hand(masks - ones, points)))
    return found


@given(classes)
def test_the_search_finds_the_largest_shattered_set(given_class):
    points, masks = given_class

    assert vc_dimension(sorted(masks), points=points) == by_hand(masks, points)


@given(classes)
def test_the_dimensions_are_in_order_and_sauer_holds(given_class):
    points, masks = given_class
    vc, tree = vc_dimension(sorted(masks), points=points), littlestone_dimension(sorted(masks), points=points)

    assert vc <= tree <= len(masks).bit_length() - 1
    assert len(masks) <= sauer(points, vc) <= (points + 1) ** vc


@given(st.integers(1, 4).flatmap(lambda p: st.tuples(st.just(p), st.frozensets(st.integers(0, 2**p - 1), max_size=9))))
def test_the_littlestone_dimension_is_that_of_the_definition(given_class):
    points, masks = given_class

    assert littlestone_dimension(sorted(masks), points=points) == tree_by_hand(masks, points)


@pytest.mark.parametrize("points", [1, 7, 20])
def test_thresholds_have_dimension_one_and_a_littlestone_dimension_of_a_logarithm(points):
    class_ = concepts(lambda c, x: x >= c, points=points, count=points + 1)

    assert vc_dimension(class_, points=points) == 1
    assert littlestone_dimension(class_, points=points) == (points + 1).bit_length() - 1
    assert len(class_) == sauer(points, 1)  # one more than 2^d for d VC = d: the bound of the notes fails by one


def test_intervals_have_dimension_two():
    ends = [(low, high) for low, high in product(range(13), repeat=2) if low <= high]
    class_ = concepts(lambda c, x: ends[c][0] <= x < ends[c][1], points=12, count=len(ends))

    assert vc_dimension(class_, points=12) == 2


@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_parities_and_monotone_conjunctions_of_d_bits_have_dimension_d(d):
    parities = concepts(lambda c, x: (c & x).bit_count() % 2, points=2**d, count=2**d)
    conjunctions = concepts(lambda c, x: c & x == c, points=2**d, count=2**d)

    assert vc_dimension(parities, points=2**d) == d
    assert vc_dimension(conjunctions, points=2**d) == d


def test_the_twin_that_wants_one_pattern_less_is_caught():
    class_ = concepts(lambda c, x: x >= c, points=5, count=6)

    assert len({(mask & 1, mask >> 1 & 1) for mask in class_}) == 3
    assert not shattered(class_, points=5, chosen=[0, 1])
    assert vc_dimension(class_, points=5) == 1


def test_all_functions_on_sixteen_points_shatter_them():
    assert vc_dimension(np.arange(2**16), points=16) == 16


def test_an_empty_class_has_no_dimension():
    assert vc_dimension([], points=3) == littlestone_dimension([], points=3) == -1
    assert vc_dimension([5], points=3) == littlestone_dimension([5], points=3) == 0


@pytest.mark.parametrize(("masks", "points"), [([8], 3), ([-1], 3), ([0], 21), ([0], 0), ([0], True), ([0], 2.0)])
def test_what_is_no_class_is_refused(masks, points):
    with pytest.raises(ParameterError):
        vc_dimension(masks, points=points)


def test_sizes_beyond_the_search_are_refused():
    with pytest.raises(ParameterError, match="at most 256 concepts"):
        littlestone_dimension(range(257), points=10)
    with pytest.raises(ParameterError, match="an integer dimension >= 0"):
        sauer(3, -1)
