"""discreet.structured.prefixes.prefix_tree and its parts: each claim of the module docstrings, in order."""

from __future__ import annotations

import math
from datetime import date
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.data.histogram import Histogram
from discreet.data.records import Records
from discreet.errors import DomainError, ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.hazmat.samplers import discrete_gaussian
from discreet.privacy.neighbours import AddRemove, Replace
from discreet.privacy.number import exact
from discreet.queries.ordered import ranges, thresholds
from discreet.release.noise import variance
from discreet.structured.prefixes.prefix_levels import Levels, best_levels, radices
from discreet.structured.prefixes.prefix_root import SteppedRoot
from discreet.structured.prefixes.prefix_tree import PrefixTree
from tests.scale import counts

RUNS = counts(quick=4000, full=40_000)
AGES = dc.Domain({"age": dc.Integer(0, 119)})
TREES = [
    Levels(radices=shape, root=root)
    for shape in [(2, 2, 2), (3, 2), (2, 3, 4), (5,), (4, 3)]
    for root in ("measured", "left out", "known")
]


def matrix(tree):
    """The measured nodes, as rows over the cells."""
    sizes = tree.sizes if tree.root == "measured" else tree.sizes[:-1]
    rows = [np.repeat(np.eye(tree.cells // size), size, axis=1) for size in sizes]
    return np.concatenate(rows)


def covariance(tree):
    """Of the least-squares estimates of the cells, by the textbook; a known total is projected out."""
    inverse = np.linalg.inv(matrix(tree).T @ matrix(tree))
    if tree.root == "known":
        ones = np.ones(tree.cells)
        inverse -= np.outer(inverse @ ones, ones @ inverse) / (ones @ inverse @ ones)
    return inverse


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_variances_of_prefixes_and_ranges_are_those_of_least_squares(tree):
    found, triangle = covariance(tree), np.tril(np.ones((tree.cells, tree.cells)))

    assert tree.variances(tree.cells) == pytest.approx(np.diag(triangle @ found @ triangle.T), abs=1e-9)
    for low in range(tree.cells):
        for high in range(low + 1, tree.cells + 1):
            asked = (np.arange(tree.cells) >= low) & (np.arange(tree.cells) < high)
            assert tree.range_variance(low, high) == pytest.approx(asked @ found @ asked, abs=1e-9)


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_two_passes_are_least_squares(tree):
    rng = np.random.default_rng(1)
    leaves = rng.integers(0, 50, tree.cells)
    noisy = [level + rng.normal(size=len(level)) for level in tree.counts(leaves)]
    total = float(leaves.sum()) if tree.root == "known" else None
    direct = covariance(tree) @ matrix(tree).T @ np.concatenate(noisy)
    if total is not None:
        inverse, ones = np.linalg.inv(matrix(tree).T @ matrix(tree)), np.ones(tree.cells)
        direct += inverse @ ones / (ones @ inverse @ ones) * total

    assert tree.consistent(noisy, total) == pytest.approx(direct, abs=1e-9)
    assert np.cumsum(tree.consistent(tree.counts(leaves), total)) == pytest.approx(np.cumsum(leaves))
    assert tree.plainly(tree.counts(leaves), tree.cells, total) == pytest.approx(np.cumsum(leaves))


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_consistency_lowers_every_variance(tree):
    plain, fitted = tree.variances(tree.cells, consistent=False), tree.variances(tree.cells)

    assert (fitted <= plain + 1e-12).all()
    assert (fitted[:-1] < plain[:-1] - 1e-3).any() or len(tree.radices) == 1
    assert plain == pytest.approx([tree.plain(end) for end in range(1, tree.cells + 1)])


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_no_measurement_has_a_factor_above_one_in_a_prefix(tree):
    factors = np.tril(np.ones((tree.cells, tree.cells))) @ covariance(tree) @ matrix(tree).T

    assert np.abs(factors).max() <= 1 + 1e-9


def test_seven_of_eight_cells_are_three_nodes():
    """[1..7] = (0, 4] + (4, 6] + (6, 7]."""
    tree = Levels(radices=(2, 2, 2), root="measured")

    assert tree.plain(7) == 3
    assert tree.variances(8, consistent=False)[6] == 3


@pytest.mark.parametrize(("height", "multiplier"), [(3, 3.4641), (4, 4.4721), (8, 8.485), (10, 10.49)])
def test_binary_trees_have_the_known_multipliers(height, multiplier):
    tree = Levels(radices=(2,) * height, root="measured")
    largest = tree.variances(tree.cells, consistent=False).max()

    assert math.sqrt(largest * tree.measured) == pytest.approx(multiplier, rel=1e-3)
    assert math.sqrt(largest * tree.measured) == pytest.approx(math.sqrt(height * (height + 1)))
    charged_short = math.sqrt(largest * (tree.measured - 1))  # one level not charged: too little noise
    assert charged_short < 0.96 * multiplier


@pytest.mark.parametrize("pure", [True, False])
@pytest.mark.parametrize("known", [True, False])
def test_the_best_tree_is_the_best_of_all_even_ones(pure, known):
    best = best_levels(200, pure=pure, known=known, consistent=True)

    def largest(tree):
        return tree.variances(200).max() * tree.measured ** (2 if pure else 1)

    roots = ["known"] if known else ["measured", "left out"]
    others = [
        Levels(radices=(b,) * height, root=root)
        for b in range(2, 201)
        for height in range(1, 9)
        if b ** (height - 1) < 200 <= b**height
        for root in roots
    ]
    assert largest(best) <= min(map(largest, others))
    assert math.prod(best.radices) >= 200


@pytest.mark.parametrize("size", [2, 3, 10, 97, 1000, 12345])
def test_radices_cover_all_cells(size):
    for levels in range(1, 8):
        found = radices(size, levels)

        assert math.prod(found) >= size
        assert len(found) == levels
        assert max(found) - min(found) <= 1


@pytest.mark.parametrize("gain", [True, False])
@pytest.mark.parametrize("size", [1, 2, 7, 13, 200])
def test_the_square_root_moves_as_charged_and_no_more(size, gain):
    """The influence of every cell, and of every pair of cells where rows are replaced, by enumeration."""
    root = SteppedRoot(size, gain=gain)
    columns = np.stack([root.measure(cell) for cell in np.eye(size, dtype=np.int64)]).astype(object)

    assert max(int((abs(column)).sum()) for column in columns) == root.absolute
    assert max(int((column**2).sum()) for column in columns) == root.square
    if size < 50:
        pairs = [(left - right) for left in columns for right in columns]
        assert max(int((pair**2).sum()) for pair in pairs) <= 2 * root.square
        assert max(int(abs(pair).sum()) for pair in pairs) <= 2 * root.absolute


@pytest.mark.parametrize("size", [1, 2, 13, 1000, 100_000])
def test_the_square_root_without_noise_gives_the_prefixes(size):
    cells = np.random.default_rng(2).integers(0, 1000, size)
    root = SteppedRoot(size)
    found = root.prefixes(root.measure(cells).astype(float))

    assert np.abs(found - np.cumsum(cells)).max() < 1e-3


@pytest.mark.parametrize("size", [8, 16, 256, 1024, 100_000])
def test_steps_cost_a_thousandth(size):
    exact_sum = 1 + float(np.exp(2 * np.cumsum(np.log1p(-0.5 / np.arange(1, size)))).sum())

    assert exact_sum <= SteppedRoot(size, gain=False).multiplier * (1 + 1e-9)
    assert SteppedRoot(size, gain=False).multiplier <= 1.001 * exact_sum


@pytest.mark.parametrize(("size", "gamma2"), [(2, 1.154701), (8, 1.510484), (64, 2.11138), (1024, 2.9621)])
def test_gains_bring_prefixes_within_a_twentieth_of_gamma_2(size, gamma2):
    assert gamma2 <= SteppedRoot(size).multiplier * (1 + 1e-6)
    assert SteppedRoot(size).multiplier <= 1.055 * gamma2
    assert size == 2 or SteppedRoot(size, gain=False).multiplier > 1.1 * gamma2


@pytest.mark.parametrize("gain", [True, False])
def test_the_square_root_knows_the_variance_of_ranges(gain):
    root = SteppedRoot(40, gain=gain)
    inverse = np.linalg.inv(np.stack([root.measure(cell) for cell in np.eye(40, dtype=np.int64)]).T.astype(float))
    found = inverse @ inverse.T
    for low, high in [(0, 40), (0, 1), (3, 17), (39, 40)]:
        asked = (np.arange(40) >= low) & (np.arange(40) < high)

        assert root.range_variance(low, high) == pytest.approx(asked @ found @ asked)
    assert root.variances()[30] == pytest.approx(root.range_variance(0, 31))


@pytest.mark.parametrize("size", [2, 3, 5, 10, 64, 65, 100, 500, 1024, 5000])
def test_gaussian_noise_takes_whichever_is_better_of_the_square_root_and_the_best_tree(size):
    tree = best_levels(size, pure=False, known=False, consistent=True)
    better = SteppedRoot(size).multiplier ** 2 < tree.variances(size).max() * tree.measured

    assert better == (size > 2)  # at two cells the tree attains gamma_2 = 2 / sqrt(3)
    assert isinstance(PrefixTree(size, budget=dc.ZCDP(1)).plan, SteppedRoot) == better
    assert isinstance(PrefixTree(size, budget=dc.PureDP(1)).plan, Levels)


BUDGETS = [dc.PureDP(0.5), dc.ZCDP(0.1), dc.ApproxDP(1.0, 1e-6)]


@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
@pytest.mark.parametrize("n", [None, 100])
@pytest.mark.parametrize("strategy", ["auto", "tree", "toeplitz"])
def test_what_neighbours_move_is_what_the_event_charges(budget, n, strategy):
    mechanism = PrefixTree(12, budget=budget, n=n, strategy=strategy, rows_per_unit=2)
    plan, event = mechanism.plan, mechanism.event()

    def measure(cells):
        levels = [plan.measure(cells)] if isinstance(plan, SteppedRoot) else plan.counts(cells)
        return np.concatenate(levels).astype(object)

    moved = [measure(2 * cell) for cell in np.eye(12, dtype=np.int64)]
    if n is not None:
        moved = [left - right for left in moved for right in moved]
    absolute, square = max(int(abs(m).sum()) for m in moved), max(int((m**2).sum()) for m in moved)

    assert mechanism.privacy().neighbours is (AddRemove if n is None else Replace)
    if isinstance(budget, dc.PureDP):
        assert absolute <= event.sensitivity
        assert Fraction(event.sensitivity) / exact(event.scale) == Fraction(1, 2)
    else:
        assert square <= exact(event.sensitivity) ** 2
    if strategy == "tree" and isinstance(budget, dc.PureDP):
        assert absolute == event.sensitivity  # not loose; and a replacement sold as a removal would be caught
        assert absolute > event.sensitivity // 2


@pytest.mark.statistical
@pytest.mark.parametrize(
    "mechanism",
    [
        PrefixTree(30, budget=dc.PureDP(1)),
        PrefixTree(30, budget=dc.PureDP(1), n=500),
        PrefixTree(30, budget=dc.PureDP(1), branching=2, consistency=False),
        PrefixTree(30, budget=dc.ZCDP(0.5)),
        PrefixTree(30, budget=dc.ZCDP(0.5), n=500),
        PrefixTree(30, budget=dc.ZCDP(0.5), strategy="tree"),
    ],
    ids=lambda mechanism: f"{mechanism}-{mechanism.n}-{mechanism.strategy}-{mechanism.branching}",
)
def test_errors_have_the_stated_variance_and_rarely_exceed_the_stated_bound(mechanism):
    """Each of 30 variances within 7 standard deviations of its estimate, for a kurtosis of up to 6: 1e-6 fails."""
    histogram = Histogram.random(thresholds(30).domain, n=500, seed=3)
    true, runs = np.cumsum(histogram.counts), RUNS // 4
    errors = np.array([mechanism(histogram).answers - true for _ in range(runs)])
    stated = mechanism.variances()
    ratios = (errors**2).mean(axis=0)[stated > 0] / stated[stated > 0]
    beyond = (np.abs(errors).max(axis=1) > mechanism.accuracy(0.1)).sum()

    assert np.abs(ratios - 1).max() < 7 * math.sqrt(5 / runs)
    assert (np.abs(errors[:, stated == 0]) < 1e-6).all()
    assert beyond <= 0.1 * runs + 5 * math.sqrt(0.09 * runs)
    assert np.abs(errors.mean(axis=0)).max() < 6 * math.sqrt(stated.max() / runs)


def test_noise_of_nine_tenths_is_seen():
    """The test above, on the sum over cells, catches a twin with 0.9 of the noise."""
    root = SteppedRoot(16)
    noise = np.asarray(discrete_gaussian(Fraction(81, 100) * 10**14, shape=(RUNS, 16), rng=SeededRandom(4)))
    last = np.array([root.prefixes(row.astype(float))[-1] for row in noise])
    ratio = float((last**2).mean() / (1e14 * root.variances()[-1]))

    assert abs(ratio - 1) > 6 * math.sqrt(2 / RUNS)
    assert abs(ratio / 0.81 - 1) < 6 * math.sqrt(2 / RUNS)


def test_all_sources_of_rows_give_the_same_counts(tmp_path):
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"age": rng.integers(0, 120, 2000), "patient": np.arange(2000)})
    frame[["age"]].to_csv(tmp_path / "ages.csv", index=False)
    mechanism = PrefixTree(AGES, budget=dc.ZCDP(10**9))
    true = np.cumsum(np.bincount(frame["age"], minlength=120))
    declared = dc.Domain({"age": dc.Integer(0, 119), "patient": dc.Identifier()})
    sources = [
        frame[["age"]],
        Records.from_frame(frame[["age"]], AGES),
        Histogram.from_frame(frame[["age"]], AGES),
        dc.Table(frame, domain=declared, unit="patient"),
        dc.Table(str(tmp_path / "ages.csv"), domain=AGES, unit=None),
    ]

    for source in sources:
        assert np.abs(mechanism(source).answers - true).max() < 0.1


def test_a_table_keeps_no_more_rows_of_a_unit_than_are_charged():
    frame = pd.DataFrame({"age": [5] * 1000, "patient": ["one"] * 1000})
    table = dc.Table(
        frame, domain=dc.Domain({"age": dc.Integer(0, 9), "patient": dc.Identifier()}), unit="patient", rows_per_unit=3
    )
    ages = dc.Domain({"age": dc.Integer(0, 9)})
    charged = PrefixTree(ages, budget=dc.PureDP(10**6), rows_per_unit=3)

    assert charged(table).answers[-1] == pytest.approx(3, abs=0.1)
    assert charged.event().sensitivity == 3 * PrefixTree(ages, budget=dc.PureDP(1)).event().sensitivity
    with pytest.raises(ParameterError, match="rows_per_unit"):
        PrefixTree(ages, budget=dc.PureDP(1), rows_per_unit=2)(table)
    with pytest.raises(DomainError, match="declared differently"):
        PrefixTree(dc.Domain({"age": dc.Integer(0, 8)}), budget=dc.PureDP(1), rows_per_unit=3)(table)
    with pytest.raises(ParameterError, match="names the column"):
        PrefixTree(10, budget=dc.PureDP(1), rows_per_unit=3)(table)


def test_missing_values_are_the_last_cell():
    column = dc.Integer(0, 3, nullable=True)
    release = PrefixTree(dc.Domain({"age": column}), budget=dc.ZCDP(10**9))(pd.DataFrame({"age": [0, 2, None, None]}))

    assert release.answers == pytest.approx([1, 1, 2, 2, 4], abs=0.01)
    assert release.range(0, 3).value == pytest.approx(2, abs=0.01)
    assert release.quantile(1.0).value is None


def test_monotone_prefixes_are_no_farther_from_the_truth():
    rng = np.random.default_rng(6)
    for _ in range(50):
        cells = rng.integers(0, 4, 60)
        release = PrefixTree(60, budget=dc.PureDP(0.3))(Histogram(thresholds(60).domain, cells))
        true = np.cumsum(cells)

        assert (np.diff(release.monotone) >= 0).all()
        assert np.abs(release.monotone - true).max() <= np.abs(release.answers - true).max() + 1e-9
        assert (np.diff(release.cdf()) >= 0).all()
        assert release.cdf()[-1] == 1
        assert release.cdf().min() >= 0


@pytest.mark.statistical
@pytest.mark.parametrize("n", [None, 2000])
@pytest.mark.parametrize("budget", [dc.PureDP(0.5), dc.ZCDP(0.05)], ids=repr)
def test_intervals_of_ranges_and_quantiles_hold_as_often_as_stated(budget, n):
    rng = np.random.default_rng(7)
    ages = np.clip(rng.normal(40, 15, 2000).round(), 0, 119).astype(int)
    histogram, runs = Histogram(AGES, np.bincount(ages, minlength=120)), RUNS // 20
    ordered, missed = np.sort(ages), np.zeros(4)
    inside = int(((ages >= 30) & (ages <= 52)).sum())
    for _ in range(runs):
        release = PrefixTree(AGES, budget=budget, n=n)(histogram)
        found = release.range(30, 52, beta=0.1)
        missed[0] += not found.low <= inside <= found.high
        for place, p in enumerate((0.1, 0.5, 0.99), start=1):
            bar = release.quantile(p, beta=0.1)
            missed[place] += not bar.low <= ordered[math.ceil(p * 2000) - 1] <= bar.high

    assert (missed <= 0.1 * runs + 5 * math.sqrt(0.09 * runs)).all()


ENDS = [
    PrefixTree(11, budget=budget, n=n, **options)
    for n in (None, 330)
    for budget, options in [
        (dc.ZCDP(0.5), {}),
        (dc.ZCDP(0.5), {"strategy": "toeplitz"}),
        (dc.ZCDP(0.5), {"branching": 2}),
        (dc.ZCDP(0.5), {"branching": 2, "consistency": False}),
        (dc.PureDP(1), {}),
        (dc.PureDP(1), {"strategy": "toeplitz"}),
    ]
]
EVERY = [(low, high) for low in range(11) for high in range(low + 1, 12)]


def _label(mechanism):
    return f"{mechanism}-{mechanism.n}-{mechanism.strategy}-{mechanism.branching}-{mechanism.consistency}"


@pytest.mark.parametrize("mechanism", [one for one in ENDS if one.consistency], ids=_label)
def test_the_error_of_every_range_has_the_variance_of_what_is_published(mechanism):
    """From the factor of every measurement in every published prefix; where n is public it has none in the last."""
    plan = mechanism.plan
    if isinstance(plan, SteppedRoot):
        factors = np.stack([plan.prefixes(draw) for draw in np.eye(11)], axis=1)
    else:
        ends = np.cumsum([len(level) for level in plan.counts(np.zeros(11, dtype=np.int64))])
        total = 0.0 if plan.root == "known" else None
        draws = (plan.consistent(np.split(draw, ends[:-1]), total) for draw in np.eye(ends[-1]))
        factors = np.stack([np.cumsum(draw)[:11] for draw in draws], axis=1)
    if mechanism.n is not None:
        factors[-1] = 0.0
    factors = np.concatenate([np.zeros((1, factors.shape[1])), factors])

    for low, high in EVERY:
        square = float(((factors[high] - factors[low]) ** 2).sum())
        if isinstance(mechanism.budget, dc.ZCDP):
            stated = mechanism.range_error(low, high, 0.05) ** 2 / (2 * math.log(40) * variance(mechanism.noise))
            assert stated == pytest.approx(square, rel=1e-6, abs=1e-9), (low, high)
        elif square > 1e-9:
            assert mechanism.range_error(low, high, 0.05) > math.sqrt(square * variance(mechanism.noise)), (low, high)


@pytest.mark.statistical
@pytest.mark.parametrize("mechanism", ENDS, ids=_label)
def test_intervals_of_all_ranges_hold_those_to_the_last_value_too(mechanism):
    """Each of 66 misses 5 in 100 at most; more by 7 standard deviations has probability 1e-6 in all."""
    cells = np.full(11, 30)
    runs, missed = RUNS // 10, np.zeros(len(EVERY))
    alphas = np.array([mechanism.range_error(low, high, 0.05) for low, high in EVERY])
    true = np.array([30 * (high - low) for low, high in EVERY])
    lows, highs = np.array(EVERY).T
    for _ in range(runs):
        prefixes = np.concatenate([[0], mechanism(Histogram(thresholds(11).domain, cells)).answers])
        missed += np.abs(prefixes[highs] - prefixes[lows] - true) > alphas + 1e-9
    release = mechanism(Histogram(thresholds(11).domain, cells))
    bars = [release.range(low, high - 1, beta=0.05) for low, high in EVERY]

    assert (missed <= 0.05 * runs + 7 * math.sqrt(0.0475 * runs)).all()
    assert np.array([bar.high - bar.value for bar in bars]) == pytest.approx(alphas)
    if mechanism.n is not None:
        assert release.range(0, 10).low == release.range(0, 10).high == 330


def test_values_are_those_of_the_column():
    days = dc.Domain({"day": dc.Date("2024-01-01", "2024-12-31")})
    frame = pd.DataFrame({"day": [date(2024, 3, 1)] * 50 + [date(2024, 6, 1)] * 50})
    release = PrefixTree(days, budget=dc.ZCDP(10**9))(frame)

    assert release.quantile(0.49).value == date(2024, 3, 1)
    assert release.quantile(0.51).value == date(2024, 6, 1)
    assert release.range(date(2024, 5, 1), date(2024, 6, 1)).value == pytest.approx(50, abs=0.1)
    assert release.range(date(2025, 5, 1), date(2025, 6, 1)).value == 0
    assert release.range(date(2023, 5, 1), date(2025, 6, 1)).value == pytest.approx(100, abs=0.1)
    with pytest.raises(ParameterError, match="a value of the column"):
        release.range(3, 4)


def test_the_release_says_what_it_cost_and_how_wrong_it_is():
    mechanism = PrefixTree(thresholds(50), budget=dc.ApproxDP(1.0, 1e-6))
    release = mechanism(Histogram.random(thresholds(50).domain, n=100, seed=1))

    assert len(release) == len(release.answers) == len(release.workload) == 50
    assert release.privacy() == mechanism.privacy() == dc.ApproxDP(1.0, 1e-6, neighbours=AddRemove)
    assert release.accuracy(0.05) == mechanism.accuracy(0.05) == release.errors.accuracy(0.05)
    assert release.errors.each(0.05).max() < release.accuracy(0.05)
    sigma1 = math.sqrt(variance(mechanism.noise) / SteppedRoot(50).square)
    assert math.sqrt(mechanism.variances().max()) == pytest.approx(sigma1 * SteppedRoot(50).multiplier)
    assert sigma1 == pytest.approx(4.2247, rel=1e-3)


@pytest.mark.parametrize(
    ("over", "wrong"),
    [
        (0, {}),
        (True, {}),
        (2.0, {}),
        (1 << 29, {}),
        (10, {"branching": 1}),
        (10, {"branching": 2.0}),
        (10, {"branching": 3, "strategy": "toeplitz"}),
        (10, {"strategy": "best"}),
        (10, {"consistency": 1}),
        (10, {"rows_per_unit": 0}),
        (10, {"n": 0}),
        (10, {"budget": dc.ZCDP(0)}),
        (10, {"budget": dc.PureDP(1, neighbours=Replace)}),
    ],
    ids=repr,
)
def test_parameters_outside_their_domain_are_refused(over, wrong):
    with pytest.raises(ParameterError):
        PrefixTree(over, **({"budget": dc.PureDP(1)} | wrong))


def test_what_no_theorem_covers_is_refused():
    with pytest.raises(UnsupportedError, match="no order"):
        PrefixTree(dc.Categorical(["a", "b"]), budget=dc.PureDP(1))
    with pytest.raises(UnsupportedError, match="thresholds"):
        PrefixTree(ranges(5), budget=dc.PureDP(1))
    with pytest.raises(UnsupportedError):
        PrefixTree(5, budget=dc.GaussianDP(1))
    release = PrefixTree(5, budget=dc.PureDP(1))(Histogram.random(thresholds(5).domain, n=9, seed=1))
    for p in (-0.1, 1.1, math.nan, True):
        with pytest.raises(ParameterError, match="0 <= p <= 1"):
            release.quantile(p)
