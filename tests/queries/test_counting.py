"""discreet.queries.counting: every sensitivity against brute force, and every query against its histogram row."""

import random
from fractions import Fraction
from itertools import combinations, product

import pytest

from discreet.errors import DomainError, ParameterError, UnsupportedError
from discreet.privacy.neighbours import AddRemove, EdgeNeighbours, Local, NullRow, Replace, datasets
from discreet.privacy.sensitivity import brute_force, parities2
from discreet.queries import (
    Bits,
    Conjunction,
    Counting,
    Distance,
    Holds,
    Linear,
    Max,
    Members,
    Parity,
    Proportion,
    Stack,
    Threshold,
    all_equal,
    distance_to,
)

PAIRS = (0b00, 0b01, 0b10, 0b11)  # the universe {0, 1}^2
RELATIONS = (AddRemove, Replace, NullRow)
SYMMETRIC = Linear(lambda row: row - 2, low=-1, high=1)  # -2 is clamped
TALL = Linear(lambda row: Fraction(7 * row - 3, 12), low=Fraction(-1, 4), high=Fraction(3, 2))

QUERIES = [
    Counting(Bits(mask=0b01, pattern=0b01)),
    Counting(Threshold(1)),
    Counting(Parity(0b11)),
    Counting(lambda row: row in (0, 3)),
    SYMMETRIC,
    TALL,
    Max((Counting(Bits(mask=1, pattern=1)), Counting(Bits(mask=2, pattern=2)))),
    Max((Counting(Threshold(1)), TALL)),
]


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("query", QUERIES, ids=lambda query: type(query).__name__)
def test_the_sensitivity_is_what_brute_force_finds(query, relation):
    found = brute_force(query, universe=PAIRS, n=3, relation=relation)

    assert found == query.sensitivity(relation)  # attained, so half of it would fail


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: type(query).__name__)
def test_one_record_moves_like_a_replaced_row(query):
    assert brute_force(query, universe=PAIRS, n=1, relation=Local) <= query.sensitivity(Local)


def test_a_range_that_does_not_touch_zero_has_two_different_sensitivities():
    far = Linear(lambda row: 10 + row, low=10, high=13)

    assert [brute_force(far, universe=PAIRS, n=3, relation=r) for r in RELATIONS] == [13, 3, 13]
    assert [far.sensitivity(r) for r in RELATIONS] == [13, 3, 13]


def test_an_unclamped_function_would_break_the_claim():
    """The broken twin: the same sum without clamping moves further than it says."""

    def unclamped(rows):
        return sum(row - 2 for row in rows if row is not None)

    assert brute_force(unclamped, universe=PAIRS, n=3, relation=Replace) > SYMMETRIC.sensitivity(Replace)


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("relation", RELATIONS)
def test_a_stack_with_its_universe_is_exact(relation, norm):
    chance = random.Random(4)
    for _ in range(6):
        chosen = [frozenset(row for row in PAIRS if chance.random() < 0.5) for _ in range(3)]
        stack = Stack((*(Counting(rows.__contains__) for rows in chosen), SYMMETRIC))
        found = brute_force(stack, universe=PAIRS, n=2, relation=relation, norm=norm)

        assert stack.sensitivity(relation, norm=norm, universe=PAIRS) == found
        assert stack.sensitivity(relation, norm=norm) >= found


def test_a_histogram_moves_in_two_cells_when_a_row_is_replaced():
    cells = Stack(tuple(Counting(Bits(mask=3, pattern=row)) for row in PAIRS))

    assert cells.sensitivity(Replace, norm=1, universe=PAIRS) == 2
    assert cells.sensitivity(AddRemove, norm=1, universe=PAIRS) == 1
    assert cells.sensitivity(Replace, norm=2, universe=PAIRS) == pytest.approx(2**0.5)
    assert brute_force(cells, universe=PAIRS, n=3, relation=Replace) == 2


@pytest.mark.parametrize("d", [2, 3, 4, 5])
@pytest.mark.parametrize("relation", [AddRemove, Replace])
def test_parities_of_pairs_agree_with_their_closed_form(d, relation):
    masks = [(1 << i) | (1 << j) for i, j in combinations(range(d), 2)]
    stack = Stack(tuple(Linear(Parity(mask).sign, low=-1, high=1) for mask in masks))

    for norm in (1, 2):
        exact = stack.sensitivity(relation, norm=norm, universe=range(2**d))
        assert exact == parities2(d, relation=relation, norm=norm)
    if d == 5 and relation is Replace:
        assert exact == pytest.approx(24**0.5)


@pytest.mark.parametrize("relation", [Replace, NullRow])
def test_a_proportion_moves_by_one_nth(relation):
    largest = Proportion(Max((Counting(Bits(mask=1, pattern=1)), Counting(Bits(mask=2, pattern=2)))), n=3)

    assert brute_force(largest, universe=PAIRS, n=3, relation=relation) == largest.sensitivity(relation)
    assert largest.sensitivity(relation) == pytest.approx(1 / 3)


def test_a_proportion_needs_a_public_number_of_rows():
    with pytest.raises(UnsupportedError, match="public n"):
        Proportion(Counting(Threshold(0)), n=3).sensitivity(AddRemove)
    with pytest.raises(ParameterError, match="the public number of rows"):
        Proportion(Counting(Threshold(0)), n=3)((1, 2))


def test_a_row_of_coefficients_is_the_query_on_the_histogram():
    for rows in datasets(PAIRS, n=3, relation=AddRemove):
        histogram = [rows.count(row) for row in PAIRS]
        for query in QUERIES[:6]:
            assert query(rows) == sum(a * b for a, b in zip(query.row(PAIRS), histogram, strict=True))


def test_the_null_row_counts_for_nothing():
    assert Counting(lambda row: True)((None, 0, None)) == 1
    assert Linear(lambda row: 5, low=4, high=6)((None, 0, None)) == 5
    assert Counting(Threshold(9)).row((None, 1)) == (0, 1)


def test_predicates_mean_what_they_say():
    for row in range(16):
        bits = [row >> i & 1 for i in range(4)]

        assert Bits(mask=0b1010, pattern=0b0010)(row) == (bits[1] == 1 and bits[3] == 0)
        assert Parity(0b1011)(row) == (bits[0] ^ bits[1] ^ bits[3] == 1)
        assert Parity(0b1011).sign(row) == (1 - 2 * bits[0]) * (1 - 2 * bits[1]) * (1 - 2 * bits[3])
        assert Threshold(7)(row) == (row <= 7)


def test_a_conjunction_reads_columns_and_null_satisfies_nothing():
    old = Conjunction(("ward", "age"), (("age", ">=", 65), ("ward", "<>", "surgery")))
    rows = (("oncology", 65), ("oncology", 64), ("surgery", 80), ("oncology", None), (None, 90), None)

    assert Counting(old)(rows) == 1
    assert str(old) == "age >= 65 AND ward <> 'surgery'"
    assert Conjunction(("x",), ())((3,))
    for operator, expected in {"=": 1, "<>": 2, "<": 1, "<=": 2, ">": 1, ">=": 2}.items():
        assert Counting(Conjunction(("x",), (("x", operator, 2),)))(((1,), (2,), (3,))) == expected


def test_the_distance_to_all_equal_of_the_notes():
    assert distance_to(all_equal)((0, 0, 1, 1, 1)) == 2
    assert distance_to(all_equal)(()) == 0


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_all_equal_in_closed_form_is_all_equal_by_enumeration(n):
    universe = (0, 1, 2)
    closed = distance_to(all_equal)
    listed = distance_to(Members(frozenset((row,) * n for row in universe)))
    tried = distance_to(Holds(lambda rows: len(set(rows)) <= 1, universe=universe))

    for rows in product(universe, repeat=n):
        assert closed(rows) == listed(rows) == tried(rows)


@pytest.mark.parametrize("relation", [Replace, NullRow])
def test_the_distance_to_any_property_moves_by_at_most_one(relation):
    chance = random.Random(9)
    everything = list(product((0, 1, 2), repeat=3))
    for size in (1, 2, 5, 20):
        listed = frozenset(chance.sample(everything, size))
        for query in (distance_to(Members(listed)), distance_to(Holds(listed.__contains__, universe=(0, 1, 2)))):
            assert brute_force(query, universe=(0, 1, 2), n=3, relation=relation) == 1 == query.sensitivity(relation)


def test_a_property_that_keeps_null_rows_would_move_further():
    """Why `Holds` wants every row in the universe: else H would depend on the data, and one step could move it by 3."""
    query = distance_to(Holds(lambda rows: rows in {(0, None, None), (1, 1, 1)}, universe=(0, 1)))

    assert query((0, None, None)) == 3
    assert brute_force(query, universe=(0, 1), n=3, relation=NullRow) == 1


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_distance_to_all_equal_moves_by_one_also_where_rows_come_and_go(relation):
    assert brute_force(distance_to(all_equal), universe=(0, 1, 2), n=4, relation=relation) == 1
    assert distance_to(all_equal).sensitivity(relation) == 1


def test_other_distances_need_a_public_number_of_rows():
    zeros = Distance(Members(frozenset({(0, 0)})))

    with pytest.raises(UnsupportedError, match="public n"):
        zeros.sensitivity(AddRemove)
    with pytest.raises(ParameterError, match="n is public"):
        zeros((0, 0, 0))


def test_what_cannot_be_answered_is_refused():
    with pytest.raises(DomainError, match="no dataset of 2 rows"):
        distance_to(Holds(lambda rows: False, universe=(0, 1)))((0, 1))
    with pytest.raises(ParameterError, match="datasets to try"):
        distance_to(Holds(lambda rows: True, universe=tuple(range(9))))(tuple(range(9)))
    with pytest.raises(UnsupportedError, match="graphs"):
        Counting(Threshold(1)).sensitivity(EdgeNeighbours)
    for wrong in (
        lambda: Bits(mask=1, pattern=2), lambda: Bits(mask=-1, pattern=0), lambda: Parity(True), lambda: Stack(()),
        lambda: Max(()), lambda: Linear(abs, low=1, high=1), lambda: Linear(abs, low=0, high=float("nan")),
        lambda: Threshold(float("inf")), lambda: Proportion(Counting(abs), n=0), lambda: Members(frozenset()),
        lambda: Members(frozenset({(0,), (0, 0)})), lambda: Conjunction(("x",), (("y", "=", 1),)),
        lambda: Conjunction(("x",), (("x", "~", 1),)),
    ):  # fmt: skip
        with pytest.raises(ParameterError):
            wrong()
