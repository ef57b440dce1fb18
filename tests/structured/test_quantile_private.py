"""discreet.structured.quantiles.private_quantile and the ranks it works on: each claim in their docstrings."""

from collections import Counter
from fractions import Fraction
from math import exp

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.attacks import audit
from discreet.errors import ParameterError
from discreet.hazmat import selection_runs
from discreet.hazmat.entropy import SeededRandom
from discreet.privacy.event import ExponentialEvent
from discreet.privacy.guarantee import PureDP
from discreet.privacy.neighbours import AddRemove
from discreet.structured import PrivateQuantile
from discreet.structured.quantiles import rank_index
from discreet.structured.quantiles.rank_draw import Part, draw
from discreet.structured.quantiles.rank_index import CountIndex, Points, RankIndex
from discreet.structured.quantiles.rank_spread import TIED, rows_before, spread
from tests.scale import counts as scale
from tests.structured import quantile_laws
from tests.structured.quantile_laws import loss, pvalue, softmax

HALF = Fraction(1, 2)


@settings(max_examples=30)
@given(st.integers(1, 3000), st.sampled_from([5, 300, 1 << 17, 1 << 30]), st.integers(0, 2**32), st.booleans())
def test_the_index_finds_the_rows_that_sorting_finds(n, size, seed, few):
    generator = np.random.default_rng(seed)
    values = generator.choice([generator.uniform(-1, size, n).round(), np.full(n, 3.0)], axis=0)
    wanted, often = np.unique(np.clip(values, 0, size - 1).astype(int), return_counts=True)
    first, after = sorted(generator.choice(n + 1, 2, replace=False)) if n > 1 else (0, 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rank_index, "FEW", rank_index.FEW if few else 0)
        patch.setattr(rank_index, "DENSE", 1 << 12)
        index = RankIndex(values, lower=0.0, step=1.0, size=size)
        found = index.points(int(first), int(after))
    before = np.cumsum(often) - often
    held = (before < after) & (before + often > first)

    assert index.rows == n
    assert found.codes.tolist() == wanted[held].tolist()
    assert found.counts.tolist() == often[held].tolist()
    assert found.before.tolist() == before[held].tolist()


def test_numbers_go_to_the_nearest_lattice_point_and_those_outside_to_the_ends():
    values = np.array([-7.0, 0.24, 0.26, 0.74, 99.0, -np.float64(1e308), 1e308])
    found = RankIndex(values, lower=0.0, step=0.5, size=4).points(0, 7)

    assert found.codes.tolist() == [0, 1, 3]
    assert found.counts.tolist() == [3, 2, 2]


@given(st.integers(1, 700), st.integers(0, 10))
def test_places_hold_the_rows_that_the_definition_puts_there(count, depth):
    wanted = quantile_laws.spread((count,), depth)
    points = Points(np.array([0]), np.array([count]), np.array([5]))
    found = spread(points, depth, first=5, after=5 + count)

    assert [rows_before(p, count, depth) for p in range(0, (1 << depth) + 1, 7)] == [
        sum(wanted[:p]) for p in range(0, (1 << depth) + 1, 7)
    ]
    assert found.codes.tolist() == [p for p, c in enumerate(wanted) if c]
    assert found.counts.tolist() == [c for c in wanted if c]
    assert found.before.tolist() == [5 + sum(wanted[:p]) for p, c in enumerate(wanted) if c]


@given(st.integers(0, 3000), st.integers(0, 7))
def test_a_row_more_is_a_row_more_at_one_place_and_all_parts_get_their_share(count, depth):
    here, there = (np.array(quantile_laws.spread((c,), depth)) for c in (count, count + 1))
    moved = there - here

    assert sorted(set(moved.tolist())) in ([0, 1], [1])
    assert moved.sum() == 1
    for j in range(depth + 1):
        shares = here.reshape(1 << j, -1).sum(axis=1)
        assert set(shares.tolist()) <= {count >> j, (count >> j) + 1}


def test_a_part_of_the_ties_is_listed_as_in_the_whole():
    count, depth = 5 * TIED + 3, 24
    points = Points(np.array([2]), np.array([count]), np.array([10]))
    whole, part = (spread(points, depth, first=10 + a, after=10 + b) for a, b in ((0, count), (400, 450)))
    start = whole.codes.tolist().index(part.codes[0])

    assert part.before[0] <= 410
    assert part.before[-1] + part.counts[-1] >= 460
    assert part.codes.size < 60
    for some, all_of_them in zip(part, whole, strict=True):
        assert some.tolist() == all_of_them[start : start + some.size].tolist()


@pytest.mark.statistical
@pytest.mark.parametrize("quantile", [HALF, Fraction(9, 10), Fraction(0)])
@pytest.mark.parametrize(("depth", "missed"), [(0, 28), (2, 28), (2, -2)])
def test_draws_follow_the_law_of_the_exponential_mechanism_over_all_places(quantile, depth, missed, monkeypatch):
    """Also where the first look is too short, so that the sampler has to look again."""
    monkeypatch.setattr(selection_runs, "MISSED", missed)
    runs, table = scale(quick=2_000, full=40_000), (0, 3, 0, 1, 6, 0)
    index, rng, rate = CountIndex(np.array(table)), SeededRandom(8), Fraction(1, 5)
    fine = quantile_laws.spread(table, depth)
    part = Part(0, len(fine) - 1, 0, sum(table))
    drawn = [draw(index, part, quantile, rate, depth=depth, margin=3, rng=rng) for _ in range(runs)]
    seen = Counter(place for place, _ in drawn)

    def law(rate):
        return dict(enumerate(softmax(loss(fine, quantile, 3), exp(-rate))))

    assert pvalue(seen, law(rate), runs) > 1e-6
    assert pvalue(seen, law(rate / 3), runs) < 1e-6
    for place, rank in drawn:
        assert rank == sum(fine[:place]) + fine[place] // 2


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("quantiles", [[0.5], [0.1, 0.5, 0.9], np.linspace(0.1, 0.9, 9), [0, 0.5, 1], [0.01, 0.99]])
def test_released_values_are_within_the_stated_rank_error(quantiles, ties):
    values = np.random.default_rng(1).normal(50, 10, 200_000)
    values = values.round() if ties else values
    mechanism = PrivateQuantile(quantiles, epsilon=1, lower=0, upper=100, step="0.001")
    found, bound = mechanism(values, rng=SeededRandom(2)), mechanism.accuracy(1e-6)
    codes = np.sort(np.floor(values / 0.001 + 0.5))
    below = np.searchsorted(codes, np.round(found / 0.001) - 0.5)
    through = np.searchsorted(codes, np.round(found / 0.001) + 0.5)
    targets = np.array([float(q) for q in quantiles]) * values.size

    assert (np.maximum(below - targets, targets - through) <= bound).all()
    assert bound < 3000


def test_ties_leave_no_error_at_all():
    """Ages in whole years on a lattice of thousandths: every decile is exact."""
    ages = np.random.default_rng(3).normal(45, 15, 300_000).clip(17, 90).round()
    deciles = np.linspace(0.1, 0.9, 9)
    for method in ("independent", "recursive", "joint"):
        found = PrivateQuantile(deciles, epsilon=1, lower=0, upper=120, step=0.001, method=method)(ages)

        assert found.tolist() == np.quantile(ages, deciles, method="inverted_cdf").tolist()


def test_one_quantile_is_a_number_and_several_an_array_in_the_order_asked_for():
    values = np.arange(10_000.0)
    one = PrivateQuantile(0.5, epsilon=5, lower=0, upper=9999, step=1)(values, rng=SeededRandom(1))
    many = PrivateQuantile([0.9, 0.1, 0.9], epsilon=5, lower=0, upper=9999, step=1)(values, rng=SeededRandom(1))

    assert isinstance(one, float)
    assert many[0] == many[2] > many[1]
    assert abs(one - 5000) < 100


def test_no_rows_at_all_still_give_an_answer():
    mechanism = PrivateQuantile([0.2, 0.5, 0.8], epsilon=1, lower=-5, upper=5, step=1)
    seen = Counter(mechanism(np.empty(0), rng=SeededRandom(i))[1] for i in range(200))

    assert set(seen) <= set(range(-5, 6))
    assert len(seen) > 5


def test_values_are_lattice_points_as_they_print():
    found = PrivateQuantile([0.3, 0.6], epsilon=0.1, lower="0.1", upper=1, step="0.1")(np.array([0.3, 0.4]))

    assert all(value in {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0} for value in found.tolist())


@pytest.mark.statistical
@pytest.mark.parametrize("quantiles", [0.5, [0.3, 0.5, 0.7]])
def test_an_audit_finds_no_more_than_the_claim_and_in_the_twin_more(quantiles):
    """A row more at the low end; the twin is declared one row a unit, and its unit has forty."""
    samples = scale(quick=1_000, full=20_000)
    values = np.array([1.0, 1, 5, 5, 6])

    mechanism = PrivateQuantile(quantiles, epsilon=1, lower=1, upper=6, step=1)

    def middle(value, *, rng):
        return float(np.median(mechanism(value, rng=rng)))

    honest = audit(middle, inputs=(values, np.append(values, 1.0)), samples=samples, rng=SeededRandom(1))
    twin = audit(middle, inputs=(values, np.append(values, [1.0] * 40)), samples=samples, rng=SeededRandom(1))

    assert honest.epsilon <= 1
    assert twin.epsilon > 1


def test_the_event_and_the_guarantee_say_what_ran():
    mechanism = PrivateQuantile(0.5, epsilon=0.5, lower=0, upper=1, step=0.1)

    assert mechanism.privacy() == PureDP(0.5, neighbours=AddRemove)
    assert mechanism.event() == ExponentialEvent(epsilon=0.5)
    assert list(mechanism.alternatives()) == ["independent"]


def test_the_mechanism_is_a_value():
    one, same = (PrivateQuantile(q, epsilon=1, lower=0, upper=1, step=0.1) for q in ([0.1, 0.9], (0.1, 0.9)))

    assert one == same
    assert hash(one) == hash(same)


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": 0}, {"epsilon": float("nan")}, {"epsilon": True}, {"lower": 100}, {"lower": float("-inf")},
        {"step": 0}, {"step": -1}, {"step": 1e-12}, {"upper": float("nan")}, {"rows_per_unit": 0}, {"method": "x"},
        {"quantiles": []}, {"quantiles": 1.2}, {"quantiles": [0.1, "x"]}, {"quantiles": None},
    ],
)  # fmt: skip
def test_rejects_bad_parameters(wrong):
    with pytest.raises(ParameterError):
        PrivateQuantile(**{"quantiles": [0.5], "epsilon": 1, "lower": 0, "upper": 100, "step": 0.01} | wrong)


@pytest.mark.parametrize("values", [np.array(["1.0"]), [[1.0, 2.0]], np.array([True]), np.array([1j]), None, 5.0])
def test_rejects_numbers_it_cannot_rank_before_anything_is_drawn(values):
    class Silent:
        def words(self, count):
            raise AssertionError("drew")

        bits = words

    with pytest.raises(ParameterError) as caught:
        PrivateQuantile(0.5, epsilon=1, lower=0, upper=1, step=0.1)(values, rng=Silent())
    assert "1.0" not in str(caught.value)


@pytest.mark.parametrize("one", [2**63, 2**64, -(2**70), 10**400, -(10**400)], ids=lambda one: one.bit_length())
@pytest.mark.parametrize("others", [[1, 2], [1.5, 2.5]])
def test_whole_numbers_of_any_size_count_at_the_bounds(one, others):
    """An error would tell that one row is so large."""
    end = 10 if one > 0 else 0
    median = PrivateQuantile(0.5, epsilon=99, lower=0, upper=10, step=1)

    assert median([*others, *[one] * 99], rng=SeededRandom(1)) == end


@pytest.mark.parametrize("kind", [np.float32, np.longdouble, np.int64, np.uint8, list])
def test_numbers_of_any_kind_are_read(kind):
    values = np.arange(100)
    values = values.tolist() if kind is list else values.astype(kind)

    assert abs(PrivateQuantile(0.5, epsilon=9, lower=0, upper=100, step=1)(values, rng=SeededRandom(1)) - 50) < 20


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", ["0.1", 1])
@pytest.mark.parametrize("method", ["independent", "recursive"])
def test_a_statement_prints_the_estimate_beside_the_bound_and_the_estimate_is_near(epsilon, method):
    """The bound holds whatever the numbers are; where they are spread it is ten times what is seen."""
    x = np.sort(np.random.default_rng(1).normal(50, 10, 20_000))
    asked = [0.25, 0.5, 0.9]
    quantiles = PrivateQuantile(asked, epsilon=epsilon, lower=0, upper=100, step="0.0001", method=method)
    bound, estimate = (
        float(part.replace(",", "").split("most ")[-1].split("about ")[-1].split()[0])
        for part in quantiles.statement().split(";")
    )
    off = []
    for seed in range(60):
        found = quantiles(x, rng=SeededRandom(seed))
        off.append(max(abs(np.searchsorted(x, one) - q * len(x)) for q, one in zip(asked, found, strict=True)))
    often = np.quantile(off, 0.95)

    assert bound == pytest.approx(quantiles.accuracy(), rel=1e-3)
    assert often / 2 < estimate < 2 * often + 2
    assert bound > often


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.longdouble, np.float64, float, Fraction])
@pytest.mark.parametrize("more", [None, float("nan"), "many", [1]])
def test_what_is_no_number_moves_no_other_row(kind, more):
    """In single precision 0.1 became 0.1 where one row was NULL, and was 0.10000000149 else."""
    rows = [kind("0.1"), kind("2.7")]

    assert rank_index.reals([*rows, more]).tolist() == rank_index.reals(rows).tolist()
