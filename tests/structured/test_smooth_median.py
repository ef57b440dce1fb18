"""discreet.structured: the smooth and the tested median, against all datasets of small universes."""

import math
import random
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from discreet.attacks import audit
from discreet.errors import ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.mechanisms import Refused
from discreet.mechanisms.admissible_noise import rounded_up
from discreet.privacy.guarantee import ApproxDP, PureDP
from discreet.privacy.neighbours import AddRemove, EdgeNeighbours, Replace, datasets, neighbouring_pairs
from discreet.privacy.number import exact
from discreet.structured import PrivateQuantile, SmoothMedian, StableMedian
from discreet.structured.medians.median_window import OUTWARD, Grid, Window
from tests.scale import counts

SAMPLES = counts(quick=100_000, full=1_000_000)
RELATIONS = [AddRemove, Replace]
SMALL = [(Replace, 5, 3, 3), (Replace, 3, 5, 5), (Replace, 4, 4, 4), (AddRemove, 4, 4, 9), (AddRemove, 3, 5, 10)]
# relation, |X|, most rows of x, most rows of the datasets around it


def median(rows, lowest=0):
    return sorted(rows)[(len(rows) + 1) // 2 - 1] if rows else lowest


@cache
def local_sensitivities(relation, size, n):
    universe = range(size)
    values = {rows: median(rows) for rows in datasets(universe, n=n + (relation is AddRemove), relation=relation)}
    return {
        rows: max(abs(values[rows] - median(other)) for other in relation.of(rows, universe))
        for rows in datasets(universe, n=n, relation=relation)
    }


@cache
def around(relation, size, n, rows):
    """Distance and local sensitivity of every dataset."""
    table = local_sensitivities(relation, size, n)
    return [(relation.distance(rows, other), sensitivity) for other, sensitivity in table.items()]


def cases(count):
    for relation, size, n, wide in SMALL:
        every = datasets(range(size), n=n, relation=relation)
        for rows in random.Random(size).sample(every, min(count, len(every))):
            reach = min(5, wide - len(rows)) if relation is AddRemove else n
            grid = Grid(lower=0, upper=size - 1, step=1)
            window = Window.around(list(rows), grid, reach=reach, neighbours=relation)
            yield window, around(relation, size, wide, rows), rows, reach, size - 1


COUNT = counts(quick=25, full=250)


# The closed forms, by brute force.


def test_the_local_sensitivity_at_every_distance_is_that_of_all_datasets():
    for window, others, rows, reach, _ in cases(COUNT):
        assert window.median == median(rows)
        for k in range(reach + 1):
            assert window.local(k) == max(s for distance, s in others if distance <= k)


@pytest.mark.parametrize("b", [Fraction(1, 10), Fraction(1, 2), Fraction(1)])
def test_the_smooth_bound_is_the_largest_over_all_datasets_and_the_floor(b):
    for window, others, _, reach, width in cases(COUNT):
        floor = width * math.exp(-float(b) * (reach + 1))
        inside = max(s * math.exp(-float(b) * distance) for distance, s in others if distance <= reach)

        assert float(window.smooth(b)) == pytest.approx(max(floor, inside), rel=1e-11)
        assert float(window.smooth(b)) > max(floor, inside)  # rounded up


def test_the_distance_to_a_larger_local_sensitivity_is_that_of_all_datasets():
    for window, others, _, reach, width in cases(COUNT):
        for bound in range(width + 1):
            true = min([distance for distance, s in others if s > bound and distance <= reach], default=reach + 1)

            assert window.distance(bound) == true


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("reach", [0, 1, 2, 7])
def test_the_bound_is_smooth_whatever_the_window(relation, reach):
    """All neighbouring datasets of up to five rows out of four values; exact but for the last rounding."""
    grid, b = Grid(lower=0, upper=3, step=1), Fraction(1, 3)
    windows = {
        rows: Window.around(list(rows), grid, reach=reach, neighbours=relation)
        for rows in datasets(range(4), n=5, relation=relation)
    }
    bounds = {rows: float(window.smooth(b)) for rows, window in windows.items()}
    for x, y in neighbouring_pairs(range(4), n=5, relation=relation):
        assert abs(windows[x].median - windows[y].median) <= min(bounds[x], bounds[y])
        assert abs(math.log(bounds[x] / bounds[y])) <= float(b) + 1e-10
        assert abs(windows[x].distance(1) - windows[y].distance(1)) <= 1
        if abs(windows[x].median - windows[y].median) > 1:
            assert windows[x].distance(1) == windows[y].distance(1) == 0


def test_a_bound_for_added_rows_sold_for_replaced_ones_is_seen():
    """The twin: under Replace some pair moves further than the bound for AddRemove says."""
    grid, b = Grid(lower=0, upper=3, step=1), Fraction(2)

    def broken(relation):
        windows = {
            rows: Window.around(list(rows), grid, reach=9, neighbours=relation)
            for rows in datasets(range(4), n=5, relation=Replace)
        }
        bounds = {rows: window.smooth(b) for rows, window in windows.items()}
        return sum(
            abs(windows[x].median - windows[y].median) > min(bounds[x], bounds[y])
            for x, y in neighbouring_pairs(range(4), n=5, relation=Replace)
        )

    assert broken(Replace) == 0
    assert broken(AddRemove) > 0


def test_figures_of_five_rows():
    grid = Grid(lower=0, upper=1, step=0.1)
    window = Window.around([0, 0.4, 0.5, 0.6, 1], grid, reach=6, neighbours=Replace)
    found = [float(window.smooth(exact(b))) / 10 for b in (0.5, 1, 0.1)]

    assert found == pytest.approx([0.3032653, 0.1839397, 0.7408182], abs=1e-7)
    ends = Window.around([0, 0, 1, 1, 1], grid, reach=6, neighbours=Replace)
    assert ends.local(0) == 10  # the local sensitivity is the global one


@pytest.mark.parametrize("seed", range(counts(quick=20, full=300)))
def test_divide_and_conquer_finds_the_widest_pair(seed):
    draw = np.random.default_rng(seed)
    rows, b = (
        draw.choice([draw.integers(0, 1000, 60), draw.integers(0, 8, 60) * 100][seed % 2], 41),
        draw.uniform(0.01, 1),
    )
    window = Window.around(rows, Grid(lower=0, upper=1000, step=1), reach=30, neighbours=Replace)
    pairs = [
        (int(right) - int(left)) * math.exp(-b * (i + j - 1))
        for i, left in enumerate(window.left)
        for j, right in enumerate(window.right)
        if i + j
    ]

    assert float(window.smooth(exact(b))) == pytest.approx(max(*pairs, 1000 * math.exp(-b * 31)), rel=1e-11)


def test_the_window_looks_at_few_rows_and_needs_no_sorting():
    median_of = SmoothMedian(epsilon=1, lower=0, upper=100, step=0.01)
    draw = np.random.default_rng(0)
    x = draw.normal(50, 10, 10_001)
    window, shuffled = median_of.window(x), median_of.window(draw.permutation(x))
    far = np.where(np.abs(x - np.median(x)) > 1, np.sign(x - 50) * 50 + 50, x)  # the outer rows at the bounds

    assert window.left.size + window.right.size == median_of.reach + 2 + median_of.reach % 2
    assert (window.left == shuffled.left).all()
    assert (median_of.window(far).left == window.left).all()


# The release.


def loss(relation, epsilon, beta, share=1.0):
    """The largest log-ratio over all neighbours of three or four rows out of seven values, and all answers."""
    median_of = SmoothMedian(epsilon=epsilon, lower=0, upper=6, step=1, neighbours=relation, beta=beta)
    law = median_of.mechanism.noise_law
    laws, n = {}, 4 if relation is AddRemove else 3
    for rows in datasets(range(7), n=n, relation=relation):
        window = median_of.window(list(rows))
        scale = share * float(law.scale * rounded_up(window.smooth(exact(law.smoothness))))
        cuts = [distribution(law, (k + 0.5 - window.median) / scale) for k in range(6)]
        laws[rows] = np.log(np.diff([0.0, *cuts, 1.0]))
    pairs = neighbouring_pairs(range(7), n=n, relation=relation)
    return max(float(np.abs(laws[x] - laws[y]).max()) for x, y in pairs)


def distribution(law, z):
    if law.name == "cauchy":
        return 0.5 + math.atan(z) / math.pi
    tail = (1 + abs(z)) ** (1 - float(exact(law.exponent))) / 2
    return tail if z < 0 else 1 - tail


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("epsilon", "beta"), [(0.5, 0.05), (1, 0.25), (1, 0.05), (3, 0.25)])
def test_all_neighbours_of_a_small_universe_are_within_epsilon(relation, epsilon, beta):
    """From rows to released lattice point, nothing left out."""
    assert 0.9 * epsilon < loss(relation, epsilon, beta) <= epsilon
    assert loss(relation, epsilon, beta, share=0.85) > epsilon  # with less noise it is not private


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_issue_of_a_million_rows(relation):
    x = np.random.default_rng(0).normal(50, 10, 1_000_000)
    median_of = SmoothMedian(epsilon=1.0, lower=0, upper=100, step=0.01, neighbours=relation)
    answer = median_of(x, rng=SeededRandom(1))

    assert abs(answer - np.median(x)) <= 0.02
    assert round(answer / 0.01) == pytest.approx(answer / 0.01)
    assert median_of.privacy() == PureDP(1, neighbours=relation)


@pytest.mark.statistical
def test_the_median_error_on_dense_data_is_about_one_gap():
    x = np.arange(100_001) / 1000
    median_of = SmoothMedian(epsilon=1, lower=0, upper=100, step=1e-6, beta=0.5)
    errors = np.abs(median_of.releases(x, 20_000, rng=SeededRandom(2)) - 50.0)

    assert 0.0008 < np.median(errors) < 0.0012


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.statistical
def test_the_audit_stays_below_the_claim(relation):
    """Hard neighbours: the median sits beside a gap that one row opens."""
    median_of = SmoothMedian(epsilon=1, lower=0, upper=1000, step=1, neighbours=relation)
    base, other = ([450] * left + [550] * right for left, right in ((31, 31 - (relation is Replace)), (30, 31)))
    found = audit(median_of, (base, other), SAMPLES, rng=SeededRandom(1))

    assert 0.7 < found.epsilon <= 1


@pytest.mark.statistical
def test_the_audit_sees_a_median_with_noise_for_its_local_sensitivity():
    """The twin: the window of length zero, without the floor, is no smooth bound."""
    from discreet.mechanisms import CauchyNoise

    noise = CauchyNoise(epsilon=1, smoothness=0.5)
    grid = Grid(lower=0, upper=1000, step=1)

    class Twin:
        def releases(self, rows, count, *, rng=None):
            window = Window.around(rows, grid, reach=2, neighbours=AddRemove)
            return noise.release(window.median, window.local(0), shape=(count,), rng=rng)

        def __call__(self, rows, *, rng=None):
            return self.releases(rows, 1, rng=rng)[0]

        def privacy(self):
            return noise.privacy()

    assert audit(Twin(), ([500] * 3 + [600] * 3, [500] * 3 + [600] * 2), 20_000, rng=SeededRandom(1)).violates()


def test_values_beyond_the_bounds_are_moved_to_them():
    median_of = SmoothMedian(epsilon=1, lower=0, upper=10, step=1)

    assert all(0 <= median_of([-5] * 50 + [10**9] * 51) <= 10 for _ in range(50))
    assert median_of.window([1e300, -1e300, 3]).median == 3


def test_no_rows_at_all_is_a_dataset_too():
    assert 0 <= SmoothMedian(epsilon=1, lower=0, upper=10, step=1)([]) <= 10
    assert SmoothMedian(epsilon=1, lower=0, upper=10, step=1).window([]).smooth(Fraction(1, 2)) >= 10
    with pytest.raises(ParameterError):
        SmoothMedian(epsilon=1, lower=0, upper=10, step=1, neighbours=Replace)([])


def test_integers_lists_and_single_precision():
    median_of = SmoothMedian(epsilon=50, lower=0, upper=100, step=1)
    rows = list(range(101))

    for values in (rows, tuple(rows), np.array(rows), np.array(rows, dtype=np.uint8), np.array(rows, dtype=np.float32)):
        assert median_of.window(values).median == 50


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.longdouble])
@pytest.mark.parametrize("x", [0.25, 0.5, 0.75])
def test_floats_of_any_length_are_rounded_wherever_they_lie(kind, x):
    """Halves are looked at again, exactly; an error there would tell that one row is a half."""
    assert SmoothMedian(epsilon=1, lower=0, upper=9, step=1).window(np.full(9, x, dtype=kind)).median == (x >= 0.5)


@pytest.mark.parametrize("one", [0.5, -1, 2**63, 10**400], ids=["half", "negative", "64 bits", "longer"])
def test_one_row_of_a_list_leaves_the_rounding_of_the_others_alone(one):
    """numpy would make floats of all of them, and move a median of large integers at no sensitivity."""
    low = 2**60
    median_of, rows = SmoothMedian(epsilon=1, lower=low, upper=low + 100, step=1), [low + 50] * 1001
    before, after = median_of.window(rows), median_of.window([*rows, one])

    assert before.median == low + 50
    assert abs(before.median - after.median) <= min(before.local(0), after.local(0))
    assert int(np.array([*rows, 0.5])[0]) != low + 50  # the twin


@pytest.mark.parametrize("bad", [None, np.nan, "many", [1], 1j, object()], ids=lambda bad: type(bad).__name__)
def test_a_row_that_is_no_number_is_not_there_or_counts_at_the_lower_bound(bad):
    rows = [7, 20, 30]
    alone = SmoothMedian(epsilon=1, lower=5, upper=100, step=1)
    public = SmoothMedian(epsilon=1, lower=5, upper=100, step=1, neighbours=Replace)

    assert alone.window([*rows, bad]).median == alone.window(rows).median
    assert public.window([*rows, bad, bad]).median == public.window([*rows, 5, 5]).median == 7


@pytest.mark.parametrize(("far", "end"), [(np.inf, 100), (-np.inf, 5), (2**70, 100), (-(2**70), 5), (1e308, 100)])
def test_a_row_beyond_the_bounds_counts_at_them(far, end):
    for relation in (AddRemove, Replace):
        median_of = SmoothMedian(epsilon=1, lower=5, upper=100, step=1, neighbours=relation)
        assert median_of.window([far]).median == end


def test_bounds_off_the_lattice_stay_inside():
    grid = Grid(lower=0.5, upper=2.5, step=1)

    assert (grid.first, grid.last) == (0, 2)
    assert grid.value(np.arange(-1, 4)).tolist() == [0.5, 0.5, 1.5, 2.5, 2.5]
    assert grid.indices(np.array([0.0, 0.99, 1.0, 1.99, 2.0, 9.0])).tolist() == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize("lower", [0, "0.3", -7, "-0.1", 1 / 3])
@pytest.mark.parametrize("step", [1, "0.7", 0.25])
def test_answers_lie_on_the_lattice_of_the_lower_bound_as_those_of_quantiles_do(lower, step):
    first, size = exact(lower), exact(step)
    upper = first + 20 * size + size / 3
    points = [float(first + k * size) for k in range(21)]
    rows = np.random.default_rng(1).uniform(points[0], points[-1], 200)
    median_of = SmoothMedian(epsilon=1, lower=lower, upper=upper, step=step)
    stable = StableMedian(epsilon=9, delta=0.1, bound=5 * size, lower=lower, upper=upper, step=step)
    quantile = PrivateQuantile(0.5, epsilon=1, lower=lower, upper=upper, step=step)

    assert set(median_of.releases(rows, 40, rng=SeededRandom(1)).tolist()) <= set(points)
    assert median_of(rows) in points
    assert stable(rows, rng=SeededRandom(1)) in points
    assert quantile(rows) in points


def test_every_row_of_a_shifted_lattice_goes_to_the_nearest_point():
    grid = Grid(lower="0.3", upper="10.3", step="0.7")
    rows = np.random.default_rng(2).uniform(-1, 12, 500)
    best = [
        min(range(15), key=lambda k, row=row: abs(exact(row) - Fraction("0.3") - k * Fraction("0.7"))) for row in rows
    ]

    assert grid.indices(rows).tolist() == best


def test_a_delta_is_spent_only_where_it_helps():
    median_of = SmoothMedian(epsilon=1, delta=1e-6, lower=0, upper=100, step=1)

    assert median_of.privacy() in (PureDP(1, neighbours=AddRemove), ApproxDP(1, 1e-6, neighbours=AddRemove))


def test_no_error_bar_without_a_sensitivity():
    median_of = SmoothMedian(epsilon=1, lower=0, upper=100, step=0.1)

    with pytest.raises(UnsupportedError):
        median_of.accuracy(0.05)
    assert median_of.accuracy(0.05, sensitivity=1) > median_of.accuracy(0.5, sensitivity=1) > 0.9


def test_rounding_up_covers_the_floats():
    assert Fraction(1, 2**40) < OUTWARD - 1
    assert OUTWARD * (1 + Fraction(1, 2**40)) < 1 + Fraction(1, 2**32)


BAD = [
    {"epsilon": 0}, {"epsilon": math.nan}, {"delta": 1}, {"delta": -1}, {"step": 0}, {"lower": 100},
    {"upper": math.inf}, {"step": 1e-15}, {"step": 1000}, {"beta": 0}, {"beta": 1},
]  # fmt: skip


@pytest.mark.parametrize("more", BAD, ids=str)
def test_bad_parameters_are_refused(more):
    with pytest.raises(ParameterError):
        SmoothMedian(**({"epsilon": 1, "lower": 0, "upper": 100, "step": 1} | more))


def test_other_relations_are_refused():
    with pytest.raises(UnsupportedError):
        SmoothMedian(epsilon=1, lower=0, upper=100, step=1, neighbours=EdgeNeighbours)


@pytest.mark.parametrize(
    "values", [[[1, 2]], 3, np.array(["a"]), np.array([True]), np.array([1 + 2j]), np.array([[1.0]])], ids=str
)
def test_bad_rows_are_refused_and_not_quoted(values):
    for mechanism in (
        SmoothMedian(epsilon=1, lower=0, upper=100, step=1),
        StableMedian(epsilon=1, delta=1e-6, bound=1, lower=0, upper=100, step=1),
    ):
        with pytest.raises(ParameterError):
            mechanism(values)


# Propose, test, release.


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_dense_median_is_released_and_a_sparse_one_refused(relation):
    stable = StableMedian(epsilon=1, delta=1e-6, bound=1, lower=0, upper=1000, step=0.1, neighbours=relation)
    dense, sparse = np.linspace(400, 600, 50_001), np.linspace(0, 1000, 21)

    assert abs(stable(dense, rng=SeededRandom(1)) - 500) <= stable.accuracy(1e-6)
    assert stable(sparse, rng=SeededRandom(1)) == Refused()
    assert stable.privacy().neighbours is relation
    assert exact(stable.privacy().delta) <= exact(1e-6)


def test_the_bound_is_rounded_up_to_whole_steps():
    stable = StableMedian(epsilon=1, delta=1e-6, bound=0.25, lower=0, upper=10, step=0.1)

    assert stable.mechanism.bound == 3
    assert stable.event().epsilon == 1


@pytest.mark.parametrize("more", [{"bound": -1}, {"delta": 0}, {"epsilon": 0}, {"step": 0}])
def test_bad_parameters_of_a_proposal_are_refused(more):
    with pytest.raises(ParameterError):
        StableMedian(**({"epsilon": 1, "delta": 1e-6, "bound": 1, "lower": 0, "upper": 100, "step": 1} | more))


def test_a_test_that_would_look_at_too_many_rows_is_refused_before_it_looks():
    """At an epsilon of 10^-6 hundreds of megabytes were sorted, to be refused in the end."""
    with pytest.raises(ParameterError, match=r"4,194,304 order statistics \(SmoothMedian serves less\)"):
        StableMedian(epsilon="1e-6", delta=1e-6, bound=1, lower=0, upper=100, step=1)


NEAR = Decimal("0.29999999999999999")  # above the float 0.3, which counts as the three tenths that it prints


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("lower", [0, "0.1"])
def test_rows_of_mixed_types_are_rounded_before_they_are_put_in_order(relation, lower):
    """In the order of unrounded rows codes fell, and local sensitivities were negative where the median could move."""
    grid = Grid(lower=lower, upper=30, step="0.6" if lower == 0 else "0.4")
    big = 10**23  # above the float 1e23, which counts as the integer that it prints
    pairs: list[tuple[float, Any, Grid]] = [
        (0.3, NEAR, grid),
        (1e23, big - 1, Grid(lower=0, upper=10**24, step=2 * big)),
    ]
    for low, high, at in pairs:
        assert low < high
        for rows in ([low] * 4 + [high] * 4, [low, high, low, 2, high, -1], [high, low], [Fraction(1, 3), low, high]):
            codes = np.sort([at.indices(np.array([row], dtype=object))[0] for row in rows])
            found = Window.around(rows, at, reach=4, neighbours=relation)
            told = Window.around(codes, Grid(lower=at.first, upper=at.last, step=1), reach=4, neighbours=relation)

            assert found.median == told.median
            assert [found.local(k) for k in range(4)] == [told.local(k) for k in range(4)]
            assert min(found.local(k) for k in range(4)) >= 0


@pytest.mark.parametrize(
    "bounds", [("0.005", 100, "0.01"), ("-7.3", 9, "0.7"), ("-1e300", "1e300", "3e290"), (0, 9, 1)]
)
def test_a_float_has_the_same_place_alone_in_an_array_and_among_objects(bounds):
    grid = Grid(lower=bounds[0], upper=bounds[1], step=bounds[2])
    draw = np.random.default_rng(3)
    halves = [
        float((int(k) + Fraction(1, 2)) * exact(grid.step) + grid.origin)
        for k in draw.integers(grid.first, grid.last, 300)
    ]
    values = np.array(
        [*halves, *np.nextafter(halves, np.inf), *np.nextafter(halves, -np.inf), 1.7e308, -1.7e308, 5e-324]
    )

    exactly = [
        max(grid.first, min(grid.last, math.floor((exact(v) - grid.origin) / exact(grid.step) + Fraction(1, 2))))
        for v in values.tolist()
    ]

    assert grid.indices(values).tolist() == exactly
    assert grid.indices(np.array([*values.tolist(), Fraction(1, 3)], dtype=object)).tolist()[:-1] == exactly
