"""discreet.structured.quantiles.quantile_tree, quantile_joint, quantile_many and quantile_predict: each claim."""

from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, product
from math import exp, lcm

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from discreet.errors import ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.privacy.event import ExponentialEvent, RepeatedEvent
from discreet.privacy.guarantee import PureDP
from discreet.privacy.neighbours import AddRemove
from discreet.structured import GridQuantiles
from discreet.structured.quantiles import quantile_many
from discreet.structured.quantiles.quantile_joint import draw_all
from discreet.structured.quantiles.quantile_joint_weights import Floating, JointWeights, Whole, levels_of
from discreet.structured.quantiles.quantile_predict import joint_sensitivity, predicted
from discreet.structured.quantiles.quantile_tree import inherited, tree
from discreet.structured.quantiles.rank_draw import Part
from discreet.structured.quantiles.rank_index import CountIndex
from tests.scale import counts as scale
from tests.structured.quantile_laws import (
    datasets,
    grown,
    joint_law,
    loss,
    node_sensitivity,
    pvalue,
    recursive_law,
    softmax,
    worst,
)

HALF = Fraction(1, 2)
QUARTILES = (Fraction(1, 4), HALF, Fraction(3, 4))
LISTS = [(HALF,), (Fraction(1, 3), Fraction(2, 3)), QUARTILES, (Fraction(1, 10), HALF, Fraction(9, 10))]
fractions = st.lists(st.fractions(0, 1, max_denominator=20), min_size=1, max_size=9, unique=True).map(sorted).map(tuple)


@given(fractions)
def test_the_tree_visits_every_quantile_once_and_is_as_low_as_can_be(quantiles):
    top = tree(quantiles)

    assert sorted(node.place for node in top) == list(range(len(quantiles)))
    assert top.height <= len(quantiles).bit_length() + 1
    assert 0 in quantiles or top.height == len(quantiles).bit_length()  # the minimum is never asked first
    assert all(0 <= node.relative <= 1 for node in top)


@given(fractions)
def test_what_is_inherited_adds_up_to_the_error(quantiles):
    """Place every boundary wrongly by hand: the shares predict where the relative targets then lie."""
    errors = {i: Fraction(i * i + 1, 7) for i in range(len(quantiles))}
    found = {}

    def walk(node, low, high):
        if node is not None:
            found[node.place] = low + node.relative * (high - low) + errors[node.place]
            walk(node.left, low, found[node.place])
            walk(node.right, found[node.place], high)

    walk(tree(quantiles), Fraction(0), Fraction(1000))
    for place, shares in enumerate(inherited(quantiles)):
        assert found[place] - 1000 * quantiles[place] == sum(share * errors[at] for at, share in shares.items())


@pytest.mark.parametrize("quantiles", LISTS)
@pytest.mark.parametrize(("cells", "depth"), [(3, 0), (2, 1)])
def test_every_pair_of_small_neighbours_differs_by_at_most_epsilon_recursively(quantiles, cells, depth):
    """Exhaustive and in rationals: with t = e^-(epsilon / (2 height s)), e^epsilon is t^(-2 height s)."""
    pairs = [(x, y) for x in datasets(cells, 3) for y in grown(x)]
    ratio = worst(lambda x: recursive_law(x, quantiles, HALF, depth=depth), pairs)

    assert ratio <= HALF ** (-2 * tree(quantiles).height * node_sensitivity(quantiles))


def test_a_tree_paid_for_once_instead_of_once_a_level_is_caught():
    pairs = [(x, y) for x in datasets(3, 4) for y in grown(x)]

    assert worst(lambda x: recursive_law(x, QUARTILES, HALF), pairs) > HALF ** (-2 * node_sensitivity(QUARTILES))


@pytest.mark.parametrize("quantiles", LISTS)
@pytest.mark.parametrize(("cells", "depth"), [(4, 0), (2, 1)])
def test_every_pair_of_small_neighbours_differs_by_at_most_epsilon_jointly(quantiles, cells, depth):
    pairs = [(x, y) for x in datasets(cells, 4) for y in grown(x)]
    ratio = worst(lambda x: joint_law(x, quantiles, HALF, depth=depth), pairs)

    assert ratio <= HALF ** (-2 * joint_sensitivity(quantiles, 1))


def test_half_the_sensitivity_of_the_joint_loss_is_caught():
    quantiles = LISTS[1]
    pairs = [(x, y) for x in datasets(4, 5) for y in grown(x)]

    assert worst(lambda x: joint_law(x, quantiles, HALF), pairs) > HALF ** -joint_sensitivity(quantiles, 1)


@given(st.lists(st.integers(0, 3), min_size=3, max_size=5).map(tuple), st.sampled_from(LISTS), st.integers(0, 4))
def test_one_row_moves_a_joint_loss_by_at_most_its_sensitivity(counts, quantiles, cell):
    b = lcm(*(q.denominator for q in quantiles))
    more = list(counts)
    more[cell % len(counts)] += 1

    def joint_loss(table, places):
        n, rho = sum(table), [0, *(sum(table[:p]) for p in places), sum(table)]
        steps = [int(b * (hi - lo)) for lo, hi in pairwise([Fraction(0), *quantiles, Fraction(1)])]
        return sum(abs(b * (hi - lo) - step * n) for (lo, hi), step in zip(pairwise(rho), steps, strict=True))

    moves = [
        abs(joint_loss(counts, places) - joint_loss(more, places))
        for places in product(range(len(counts)), repeat=len(quantiles))
        if list(places) == sorted(places)
    ]

    assert max(moves) <= joint_sensitivity(quantiles, 1)


@pytest.mark.parametrize("quantiles", [(Fraction(0), HALF), (Fraction(0), HALF, Fraction(1))])
def test_extremes_cost_no_more_than_they_should(quantiles):
    pairs = [(x, y) for x in datasets(3, 4) for y in grown(x)]
    ratio = worst(lambda x: recursive_law(x, quantiles, HALF, depth=1, margin=2), pairs)

    assert ratio <= HALF ** (-2 * tree(quantiles).height * node_sensitivity(quantiles))


@pytest.mark.statistical
@pytest.mark.parametrize("quantiles", LISTS[1:])
@pytest.mark.parametrize("table", [(2, 0, 3), (0, 9, 1), (0, 0, 0)])
def test_recursive_releases_follow_their_law(quantiles, table, monkeypatch):
    monkeypatch.setattr(quantile_many, "DEPTH", 1)
    runs = scale(quick=2_000, full=20_000)
    many = GridQuantiles(quantiles, epsilon=2, size=3, method="recursive")
    found = many(np.tile(table, (runs, 1)), rng=SeededRandom(11))
    seen = Counter(map(tuple, found.tolist()))
    t = exp(-2 / (2 * tree(quantiles).height * node_sensitivity(quantiles)))

    assert pvalue(seen, recursive_law(table, quantiles, t, depth=1), runs) > 1e-6


@pytest.mark.statistical
@pytest.mark.parametrize("width", [64, 3])
@pytest.mark.parametrize(
    ("quantiles", "table"),
    [(LISTS[1], (2, 0, 3)), (LISTS[1], (0, 9, 1)), (QUARTILES, (1, 1, 1)), (LISTS[1], (0, 0, 0))],
)
def test_joint_releases_follow_their_law(quantiles, table, width):
    """Words of three bits leave the sums in floating point undecided: the whole numbers decide."""
    runs = scale(quick=1_500, full=15_000) // (1 if width == 64 else 5)
    rate, depth = Fraction(1, 2 * joint_sensitivity(quantiles, 1)), 1
    index, part, rng = CountIndex(np.array(table)), Part(0, 5, 0, sum(table)), SeededRandom(12)
    draws = [draw_all(index, part, quantiles, rate, depth=depth, rng=rng, width=width) for _ in range(runs)]
    seen = Counter(tuple(place >> depth for place in places) for places in draws)

    assert pvalue(seen, joint_law(table, quantiles, exp(-rate), depth=depth), runs) > 1e-6
    if width == 64 and sum(table):
        assert pvalue(seen, joint_law(table, quantiles, exp(-4 * rate), depth=depth), runs) < 1e-6


@pytest.mark.parametrize("epsilon", [200, 400, 1000, 10**5])
def test_no_number_of_rows_raises_at_a_large_epsilon(epsilon):
    """Where the first look is narrower than a row, whether a run lies in it would depend on n modulo b."""
    quartiles = GridQuantiles(QUARTILES, epsilon=epsilon, size=8)
    rng = SeededRandom(1)

    assert all(quartiles([n, 0, 0, n, 0, 0, 0, 1], rng=rng).shape == (3,) for n in range(8))
    assert "joint" not in GridQuantiles(QUARTILES, epsilon=1000, size=8).alternatives()


def test_more_ties_than_places_can_part_do_not_raise():
    """All rows at one place, so that no run has |d| within the first reach of the median."""
    index, part = CountIndex(np.array([0, 8, 0])), Part(0, 2, 0, 8)
    rate, rng = Fraction(100, 2 * joint_sensitivity(QUARTILES, 1)), SeededRandom(1)

    found = {tuple(draw_all(index, part, QUARTILES, rate, depth=0, rng=rng)) for _ in range(200)}
    assert found == set(combinations_with_replacement(range(3), 3))  # all have the loss 48


class AlmostOne:
    """The first number drawn begins with so many ones, and leads as far from the quantiles as can be."""

    secure = False

    def __init__(self, ones):
        self.ones, self.then = ones, SeededRandom(1)

    def bits(self, count):
        self.ones -= count
        return (1 << count) - 1 if self.ones >= 0 else self.then.bits(count)

    def words(self, count):
        return self.then.words(count)


def test_a_run_far_out_of_the_first_reach_is_followed_up():
    index, part = CountIndex(np.array([1] * 24)), Part(0, 23, 0, 24)
    rate = Fraction(100, 2 * joint_sensitivity(QUARTILES, 1))
    places = draw_all(index, part, QUARTILES, rate, depth=0, rng=AlmostOne(2000))

    assert places == sorted(places)
    assert abs(4 * places[-1] - 3 * 24) > 16  # d of the last quantile, where the first reach is 8 or less


@pytest.mark.parametrize("rows", [12, 400])
def test_the_sums_in_floating_point_lie_between_the_bounds_in_whole_numbers(rows):
    """With few rows the levels overlap, with many they do not: two ways of summing."""
    table, b, numerators, rate = np.full(rows // 4, 4), 10, [3, 5, 8], Fraction(1, 40)
    part = Part(0, 2 * table.size - 1, 0, rows)
    levels = levels_of(CountIndex(table), part, numerators, b, reach=300, depth=1)
    quick = JointWeights(levels, numerators, rows, Floating(rate))
    low, high = (JointWeights(levels, numerators, rows, Whole(rate, 80, side)) for side in (0, 1))

    assert (max(levels[0].rho) < min(levels[1].rho)) == (rows == 400)
    for i in (1, 2, 3):
        scale = 2.0 ** (80 * i)
        for value, least, most in zip(quick.last[i - 1], low.last[i - 1], high.last[i - 1], strict=True):
            assert least / scale * (1 - 1e-12) <= value <= most / scale * (1 + 1e-12)


@pytest.mark.statistical
def test_independent_releases_follow_their_law():
    runs, table = scale(quick=20_000, full=1_000_000), (2, 0, 3)
    found = GridQuantiles([0.5, 0.25], epsilon=2, size=3, method="independent")(
        np.tile(table, (runs, 1)), rng=SeededRandom(13)
    )

    for column, q in enumerate((HALF, Fraction(1, 4))):
        law = softmax(loss(table, q), exp(-1 / (2 * max(q.numerator, q.denominator - q.numerator))))
        assert chisquare(np.bincount(found[:, column], minlength=3), runs * np.array(law)).pvalue > 1e-6


@pytest.mark.parametrize("method", ["independent", "recursive", "joint"])
@pytest.mark.parametrize("table", ["even", "ties", "sparse"])
def test_every_method_stays_within_its_bound_and_in_order(method, table):
    counts = {"even": np.full(400, 25), "ties": np.zeros(400, int), "sparse": np.zeros(400, int)}[table]
    counts[{"even": [], "ties": [17, 50, 51, 300], "sparse": [3]}[table]] = 3000
    quantiles = [Fraction(i, 10) for i in (1, 3, 5, 7, 9)]
    many = GridQuantiles(quantiles, epsilon=4, size=400, method=method)
    upto, n = np.cumsum(counts), counts.sum()
    bound = many.accuracy(1e-6)
    for seed in range(5):
        found = many(counts, rng=SeededRandom(seed))
        below, through = upto[found] - counts[found], upto[found]
        targets = np.array([float(q) for q in quantiles]) * n

        assert (np.maximum(below - targets, targets - through) <= bound).all()
        assert method == "independent" or (np.diff(found) >= 0).all()


def test_ties_do_not_bias_what_is_found_after_them():
    """Half of the rows are equal, and the quantile asked first lies in their midst."""
    counts = np.array([2500, 5000, 2500])
    found = GridQuantiles([0.26, 0.5, 0.74], epsilon=8, size=3, method="recursive")(np.tile(counts, (50, 1)))

    assert (found == 1).mean() > 0.99


def test_extremes_are_found_with_the_others():
    counts = np.zeros(1000, dtype=int)
    counts[400:600] = 50
    found = GridQuantiles([0, 0.5, 1], epsilon=4, size=1000)(counts, rng=SeededRandom(1))

    assert 400 <= found[0] <= 405
    assert 495 <= found[1] <= 505
    assert 594 <= found[2] <= 599


def test_the_minimum_is_rarely_below_all_rows_however_it_is_found():
    counts = np.zeros((300, 200), dtype=int)
    counts[:, 80:120] = 100
    for quantiles in ([0, 1], [0, 0.5, 1], [0, 0.5], [0.5, 1], [0.25, 0.5, 1]):
        found = GridQuantiles(quantiles, epsilon=4, size=200)(counts)

        assert ((found < 80) | (found >= 120)).mean() < 0.05


def test_groups_and_the_order_asked_for_are_kept():
    counts = np.zeros((2, 3, 20), dtype=int)
    counts[..., 4], counts[..., 15] = 1000, 1000
    found = GridQuantiles([0.9, 0.1, 0.9], epsilon=8, size=20)(counts, rng=SeededRandom(1))

    assert found.shape == (2, 3, 3)
    assert (found == [15, 4, 15]).all()


@settings(max_examples=20)
@given(fractions)
def test_the_method_is_chosen_by_the_least_predicted_error(quantiles):
    many = GridQuantiles(quantiles, epsilon=1, size=100)
    errors = many.alternatives()

    assert list(errors.values()) == sorted(errors.values())
    assert "independent" in errors
    assert ("joint" in errors) == (len(quantiles) > 1 and 0 not in quantiles and 1 not in quantiles)


@pytest.mark.parametrize(("groups", "count"), [(1, 1), (1000, 4), (10**6, 9)])
def test_for_many_groups_a_quicker_method_is_chosen(groups, count):
    deciles = GridQuantiles(np.linspace(0.1, 0.9, 9), epsilon=1, size=100, groups=groups)

    assert getattr(deciles.event(), "count", 1) == count  # jointly, recursively, independently


@pytest.mark.statistical
@pytest.mark.parametrize("method", ["independent", "recursive", "joint"])
def test_the_prediction_is_about_right_where_rows_are_dense(method):
    """Four rows a cell: the rank of the released cell against the quantile, over 300 runs or more."""
    quantiles = tuple(Fraction(i, 10) for i in (2, 4, 6, 8))
    many = GridQuantiles(quantiles, epsilon=0.8, size=5000, method=method)
    runs = scale(quick=60, full=600)
    found = many(np.ones((runs, 5000), dtype=int), rng=SeededRandom(5))
    error = np.abs(found + 0.5 - np.array([float(q) for q in quantiles]) * 5000).mean()
    wanted = predicted(quantiles, Fraction(4, 5), 1, 5000 << 24)[method]

    assert 0.6 * wanted < error < 1.4 * wanted + 0.5


def test_the_event_and_the_guarantee_say_what_ran():
    def made(method):
        return GridQuantiles(QUARTILES, epsilon=1, size=10, method=method)

    assert made("auto").privacy() == PureDP(1, neighbours=AddRemove)
    assert made("joint").event() == ExponentialEvent(epsilon=1)
    assert made("recursive").event() == RepeatedEvent(event=ExponentialEvent(epsilon=HALF), count=2)
    assert made("independent").event() == RepeatedEvent(event=ExponentialEvent(epsilon=Fraction(1, 3)), count=3)
    assert GridQuantiles([0.5], epsilon=1, size=10).event() == ExponentialEvent(epsilon=1)


@pytest.mark.parametrize(
    "wrong",
    [
        {"quantiles": []}, {"quantiles": [0.5, 2]}, {"quantiles": [float("nan")]}, {"epsilon": 0}, {"epsilon": True},
        {"epsilon": float("inf")}, {"size": 0}, {"size": 1 << 40}, {"rows_per_unit": 0}, {"rows_per_unit": True},
        {"method": "best"}, {"groups": 0}, {"groups": True},
    ],
)  # fmt: skip
def test_rejects_bad_parameters(wrong):
    with pytest.raises(ParameterError):
        GridQuantiles(**{"quantiles": [0.5, 0.9], "epsilon": 1, "size": 3} | wrong)


@pytest.mark.parametrize(
    "wrong", [{"quantiles": [0, 0.5]}, {"quantiles": np.linspace(0.05, 0.95, 19)}, {"epsilon": 1e-4}]
)
def test_refuses_the_joint_way_where_it_is_not_open(wrong):
    with pytest.raises(UnsupportedError, match="recursive"):
        GridQuantiles(**{"quantiles": [0.5, 0.9], "epsilon": 1, "size": 3, "method": "joint"} | wrong)
