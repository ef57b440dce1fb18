"""discreet.structured.streams.continual and its strategies: each claim of the module docstrings, in order."""

from __future__ import annotations

import itertools
import json
import math
import os
import pickle
from fractions import Fraction

import numpy as np
import pytest

import discreet as dc
from discreet.errors import LedgerError, ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.hazmat.samplers import discrete_gaussian
from discreet.privacy.neighbours import EdgeNeighbours, Replace
from discreet.privacy.number import exact
from discreet.structured.streams.banded import Banded
from discreet.structured.streams.continual import ContinualCounter
from discreet.structured.streams.continual_tree import StreamTree, best_tree
from discreet.structured.streams.geometric_sums import geometric, power_down, power_up
from discreet.structured.streams.laplace_sums import LaplaceSums, laplace_tail, log_moment
from discreet.structured.streams.toeplitz import SquareRoot
from tests.scale import counts

RUNS = counts(quick=4000, full=40_000)

SHORT = [
    SquareRoot(horizon=13, upper=3),
    SquareRoot(horizon=13, upper=3, gain=False),
    SquareRoot(horizon=70, upper=5000),
    SquareRoot(horizon=1, upper=1),
    Banded(horizon=13, upper=3, bands=4),
    Banded(horizon=13, upper=2, bands=1),
    StreamTree(horizon=13, upper=3, branching=2),
    StreamTree(horizon=13, upper=3, branching=3),
    StreamTree(horizon=13, upper=1, branching=16),
]


def measured(strategy, stream):
    return strategy.measure(0, strategy.start()[0], np.asarray(stream, dtype=np.int64)).astype(object)


def moved(strategy, left, right):
    """The l1 and the squared l2 distance of all measurements of two streams."""
    difference = measured(strategy, left) - measured(strategy, right)
    return int(abs(difference).sum()), int((difference**2).sum())


def test_the_counter_runs_as_announced():
    counter = ContinualCounter(horizon=1_000_000, upper=5, budget=dc.ZCDP(0.1))
    counter.add(3)

    assert isinstance(counter.value, float)
    assert abs(counter.value - 3) <= counter.error(1e-9)
    assert len(counter._secret) + len(counter._public) < 40  # a dozen buffers for a million steps


@pytest.mark.parametrize("strategy", SHORT, ids=repr)
def test_without_noise_the_answers_are_the_running_counts(strategy):
    stream = np.random.default_rng(1).integers(0, strategy.upper + 1, strategy.horizon)
    secret, public = strategy.start()
    found, start = [], 0
    for size in (1, 4, 0, 3, strategy.horizon):  # in pieces
        piece = stream[start : start + size]
        found.extend(strategy.decode(start, public, strategy.measure(start, secret, piece), len(piece)))
        start += len(piece)

    assert np.abs(np.array(found) - np.cumsum(stream)).max() <= strategy.drift * strategy.spread(start)[1] + 1e-9


@pytest.mark.parametrize("strategy", SHORT, ids=repr)
def test_one_step_moves_all_measurements_by_no_more_than_is_charged(strategy):
    """The influence of every step, for steps far apart and streams that meet every rounding."""
    rng, worst = np.random.default_rng(2), [0, 0]
    for place in range(strategy.horizon):
        for _ in range(20):
            stream = rng.integers(0, strategy.upper + 1, strategy.horizon)
            stream[place] = rng.integers(0, 2)
            other = stream.copy()
            other[place] = strategy.upper
            worst = [max(pair) for pair in zip(worst, moved(strategy, stream, other), strict=True)]
        worst = [
            max(pair)
            for pair in zip(
                worst,
                moved(strategy, np.zeros(strategy.horizon), np.eye(strategy.horizon)[place] * strategy.upper),
                strict=True,
            )
        ]

    assert worst[0] <= strategy.absolute
    assert 0.99 * strategy.square <= worst[1] <= strategy.square  # and it is not loose


@pytest.mark.parametrize("upper", [1, 6])
def test_no_step_of_any_short_horizon_weighs_more_than_is_charged(upper):
    """Gains change along the stream: every step is tried, and a gain of one more step left would be caught."""
    caught = 0
    for horizon in range(1, 70):
        strategy = SquareRoot(horizon=horizon, upper=upper)
        steps = upper * np.eye(horizon, dtype=np.int64)
        found = [moved(strategy, step, np.zeros(horizon)) for step in steps]

        assert max(square for _, square in found) <= strategy.square
        assert max(absolute for absolute, _ in found) <= strategy.absolute
        gains = strategy.gains(0, horizon)
        raised = (int(square * (gains[t + 1] / gains[t]) ** 2) for t, (_, square) in enumerate(found[:-1]))
        caught += max(raised, default=0) > strategy.square
    assert caught > 60


def test_a_million_steps_are_charged_to_a_thousandth():
    strategy, rng = SquareRoot(horizon=1_000_000, upper=5), np.random.default_rng(3)
    stream = rng.integers(0, 6, 1_000_000)
    stream[0] = 0
    other = stream.copy()
    other[0] = 5
    absolute, square = moved(strategy, stream, other)

    assert 0.999 * strategy.square <= square <= strategy.square
    assert 0.99 * strategy.absolute <= absolute <= strategy.absolute


def test_a_tree_with_one_level_uncharged_would_be_caught():
    tree = StreamTree(horizon=16, upper=1, branching=2)
    _, square = moved(tree, np.zeros(16), np.eye(16)[0])

    assert square == tree.square == tree.levels
    assert square > tree.upper**2 * (tree.levels - 1)


@pytest.mark.parametrize(
    "strategy",
    [
        SquareRoot(horizon=12, upper=2, steps_per_unit=3, separation=4),
        SquareRoot(horizon=12, upper=2, steps_per_unit=2),
        Banded(horizon=12, upper=2, bands=4, steps_per_unit=3, separation=4),
        Banded(horizon=12, upper=2, bands=5, steps_per_unit=3, separation=2),
        StreamTree(horizon=12, upper=2, branching=2, steps_per_unit=3, separation=4),
        StreamTree(horizon=12, upper=2, branching=3, steps_per_unit=2, separation=1),
    ],
    ids=repr,
)
def test_a_unit_that_comes_back_is_charged_for_all_its_steps(strategy):
    worst = [0, 0]
    for places in itertools.combinations(range(12), strategy.steps_per_unit):
        if min(np.diff(places)) >= strategy.separation:
            other = np.zeros(12)
            other[list(places)] = strategy.upper
            worst = [max(pair) for pair in zip(worst, moved(strategy, np.zeros(12), other), strict=True)]

    assert worst[0] <= strategy.absolute
    assert worst[1] <= strategy.square
    assert strategy.square <= 1.3 * worst[1]  # charged k^2 it would be three times as much or more when they are apart


def test_steps_farther_apart_than_the_bands_cost_k_and_not_k_squared():
    once = Banded(horizon=1000, upper=1, bands=10)
    often = Banded(horizon=1000, upper=1, bands=10, steps_per_unit=7, separation=10)
    sooner = Banded(horizon=1000, upper=1, bands=10, steps_per_unit=7, separation=9)

    assert often.square == 7 * once.square
    assert sooner.square > 7 * once.square


def test_powers_and_geometric_sums_are_bracketed():
    for base in (Fraction(0), Fraction(1, 3), Fraction(1023, 1024), Fraction(1)):
        for exponent in (0, 1, 2, 7, 100):
            true = base**exponent

            assert power_down(base, exponent) <= true <= power_up(base, exponent)
            assert power_up(base, exponent) - power_down(base, exponent) < Fraction(1, 1 << 110)
            terms = sum((base**k for k in range(1, exponent + 1)), Fraction(0))
            assert terms <= geometric(base, exponent) <= terms + Fraction(1, 1 << 90)


@pytest.mark.parametrize(("steps", "sum_of_squares"), [(8, 1.71838), (16, 1.94388), (256, 2.83105), (1024, 3.27255)])
def test_the_buffers_are_as_good_as_the_square_root(steps, sum_of_squares):
    """sum of f_k^2 is the largest standard deviation of the square root, for noise of one release of one step."""
    whole = Banded(horizon=steps, upper=1, bands=steps)
    exact_sum = sum((math.comb(2 * k, k) / 4**k) ** 2 for k in range(steps))

    assert exact_sum == pytest.approx(sum_of_squares, abs=6e-6)
    assert whole.multiplier == pytest.approx(exact_sum, rel=1e-5)
    assert SquareRoot(horizon=steps, upper=1, gain=False).multiplier == pytest.approx(exact_sum, rel=2e-4)


def test_a_million_steps_are_within_a_tenth_of_the_best_factorization_there_can_be():
    lower = sum(1 / (2 * math.sin((2 * i - 1) * math.pi / 4_000_002)) for i in range(1, 1_000_001)) / 1e6
    found = SquareRoot(horizon=1_000_000, upper=5).multiplier

    assert lower == pytest.approx(5.0995, abs=1e-3)  # the normalised trace norm, which no factorization beats
    assert found <= 1.035 * lower


@pytest.mark.parametrize(("steps", "gamma2"), [(8, 1.510484), (64, 2.11138), (256, 2.53273), (1024, 2.9621)])
def test_gains_bring_short_streams_within_a_twentieth_of_gamma_2(steps, gamma2):
    with_gains, without = (SquareRoot(horizon=steps, upper=1, gain=gain).multiplier for gain in (True, False))

    assert gamma2 <= with_gains <= 1.055 * gamma2
    assert without > 1.1 * gamma2


@pytest.mark.parametrize("strategy", [SHORT[0], SHORT[1], SquareRoot(horizon=200, upper=1)], ids=repr)
def test_variances_are_those_of_the_decoder(strategy):
    """The factors of every draw of noise in every answer, by decoding each alone."""
    size = strategy.horizon
    factors = np.stack([strategy.decode(0, strategy.start()[1], row, size) for row in np.eye(size, dtype=np.int64)], 1)
    stated = [strategy.spread(count)[0] for count in range(1, size + 1)]

    assert stated == pytest.approx((factors**2).sum(axis=1), rel=1e-9)
    assert strategy.largest[0] == pytest.approx(max(stated))
    assert all(abs(factors[t]).sum() <= strategy.spread(t + 1)[1] + 1e-12 for t in range(size))
    assert 0.97 * strategy.heaviest <= factors.max() <= strategy.heaviest * (1 + 1e-12)
    assert factors.min() >= -1e-12


@pytest.mark.parametrize("horizon", [1, 2, 5, 100, 10**4, 10**6, 10**8])
@pytest.mark.parametrize("upper", [1, 5, 10**6])
def test_the_filter_can_be_inverted_and_its_coefficients_fall(horizon, upper):
    """alpha_0 exceeds the weights of all buffers together: then the zeros of the filter are outside the unit disc."""
    strategy = SquareRoot(horizon=horizon, upper=upper)
    weights = [add * theta for add, theta in zip(strategy.adds, strategy.decays, strict=True)]

    assert sum(weights) < sum(strategy.adds) < strategy.unit
    assert min(strategy.adds) > 0
    assert max(strategy.decays) == 1
    assert (
        2**strategy.point * float(strategy.unit * upper * strategy.highest) * math.sqrt(2 * horizon) < 2**61
    )  # no sum overflows
    charged = upper**2 * strategy.correlation(0) * 4**strategy.bits
    assert strategy.square <= 1.02 * charged  # what all roundings cost
    assert strategy.highest <= 3 << strategy.bits


def test_the_branching_is_the_best_of_all():
    for pure in (True, False):
        best = best_tree(1000, 1, 1, 1, pure=pure)

        def cost(tree, *, pure=pure):
            return tree.largest[0] * (tree.absolute**2 if pure else tree.square)

        others = [StreamTree(horizon=1000, upper=1, branching=b) for b in range(2, 1001)]
        assert cost(best) == min(map(cost, others))
        assert best.largest[0] == pytest.approx(max(best.spread(t)[0] for t in range(1, 1001)))


@pytest.mark.parametrize("budget", [dc.ZCDP(0.1), dc.ApproxDP(1.0, 1e-6), dc.PureDP(0.5)], ids=repr)
@pytest.mark.parametrize("mechanism", ["auto", "tree", "toeplitz", "banded"])
def test_the_event_costs_the_budget_and_no_less_than_nearly_all_of_it(budget, mechanism):
    counter = ContinualCounter(horizon=500, upper=3, budget=budget, mechanism=mechanism)
    event = counter.event()

    assert counter.privacy() == type(budget)(*_numbers(budget), neighbours=dc.privacy.AddRemove)
    if isinstance(budget, dc.PureDP):
        assert Fraction(event.sensitivity) / exact(event.scale) == Fraction(1, 2)
        assert event.sensitivity == counter.strategy.absolute
        return
    square = exact(event.sensitivity) ** 2
    assert square >= counter.strategy.square
    if isinstance(budget, dc.ZCDP):
        rho = counter.strategy.square / (2 * exact(event.sigma) ** 2)
        assert Fraction(999_999, 10_000_000) < rho <= Fraction(1, 10)
    else:
        from discreet.privacy.gaussian_profile import gaussian_vector_delta

        assert gaussian_vector_delta(exact(event.sigma) ** 2, counter.strategy.square, 1000, Fraction(1)) <= 1e-6


def _numbers(budget):
    match budget:
        case dc.ZCDP():
            return (budget.rho,)
        case dc.ApproxDP():
            return (budget.epsilon, budget.delta)
    return (budget.epsilon,)


def _divergence(tree, sigma, first):
    """exp(D_2) of the transcripts of two adaptive streams of 3 steps, whose first steps differ, by enumeration."""
    reach = np.arange(-9, 10)
    law = np.exp(-(reach**2) / (2 * sigma**2))
    law /= law.sum()

    def chance(y, value):
        place = y - value + 9
        return law[place] if 0 <= place < 19 else 0.0

    total = 0.0
    for y1 in range(-8, 9):
        for y2, y12 in itertools.product(range(-8, 9), repeat=2):
            second = int(y1 > 0)  # the stream answers what it saw
            p = chance(y1, first) * chance(y2, second) * chance(y12, first + second)
            q = chance(y1, 0) * chance(y2, second) * chance(y12, second)
            total += p * p / q if q else 0.0
    return total  # the third step's own measurement is the same in both


def test_streams_that_answer_what_they_saw_are_covered():
    """D_2 <= 2 rho for an adaptive stream, where rho counts both levels of the tree; with one uncharged it fails."""
    tree, sigma = StreamTree(horizon=3, upper=1, branching=2), 1.2
    rho = tree.square / (2 * sigma**2)
    found = math.log(_divergence(tree, sigma, 1)) / 2

    assert tree.levels == 2
    assert 0.99 * rho <= found <= rho * (1 + 1e-6)
    assert found > 1.5 * (tree.levels - 1) / (2 * sigma**2)


@pytest.mark.statistical
@pytest.mark.parametrize("strategy", [SHORT[0], SHORT[4], SHORT[7]], ids=repr)
def test_the_errors_have_the_stated_variance(strategy):
    """The variance over RUNS runs is within 6 of its standard deviations, sqrt(2 / RUNS) of it: 1e-6 fails."""
    size = len(measured(strategy, np.zeros(strategy.horizon)))
    noise = discrete_gaussian(10**14, shape=(RUNS, size), rng=SeededRandom(5))
    last = np.array(
        [strategy.decode(0, strategy.start()[1], row.copy(), strategy.horizon)[-1] for row in np.asarray(noise)]
    )
    ratio = last.var() / (1e14 * strategy.spread(strategy.horizon)[0])

    assert abs(ratio - 1) < 6 * math.sqrt(2 / RUNS)
    assert abs(0.81 * ratio - 1) > 6 * math.sqrt(2 / RUNS)  # noise of 0.9 times the scale is seen


@pytest.mark.statistical
@pytest.mark.parametrize("budget", [dc.ZCDP(0.5), dc.PureDP(1.0)], ids=repr)
def test_errors_beyond_the_stated_bounds_are_rarer_than_stated(budget):
    late, ever, runs = 0, 0, RUNS // 10
    true = np.arange(1, 41)
    for _ in range(runs):
        counter = ContinualCounter(horizon=40, upper=1, budget=budget)
        errors = abs(counter.add_many(np.ones(40, dtype=np.int64)) - true)
        late += errors[-1] > counter.error(0.1)
        ever += errors.max() > counter.accuracy(0.1)
    most = 0.1 * runs + 5 * math.sqrt(0.09 * runs)

    assert late <= most
    assert ever <= most


def test_the_bound_for_sums_of_laplace_noise_holds_and_is_not_loose():
    """Against the law of the sum itself, by convolution."""
    for scale, terms in [(0.7, 1), (3.0, 1), (3.0, 5), (10.0, 20)]:
        reach = int(60 * scale) + 5
        p = math.exp(-1 / scale)
        one = p ** abs(np.arange(-reach, reach + 1)) * (1 - p) / (1 + p)
        law = one
        for _ in range(terms - 1):
            law = np.convolve(law, one)
        middle = len(law) // 2
        beyond = 1 - np.cumsum(np.r_[law[middle], 2 * law[middle + 1 :]])
        for beta in (0.2, 1e-3, 1e-6):
            alpha = laplace_tail(float(terms), 1.0, scale, beta)

            assert beyond[math.floor(alpha)] <= beta + 1e-12
            if beta < 0.01:  # for a likely failure Chernoff's bound is loose
                assert beyond[math.floor(alpha * 0.6)] > beta
                assert beyond[math.floor(laplace_tail(float(terms), 1.0, scale / 2, beta))] > beta  # half the noise


def test_the_generating_function_is_that_of_the_noise():
    for scale in (0.5, 2.0, 9.0):
        z = np.arange(-2000, 2001)
        for u in (0.1 / scale, 0.7 / scale):
            direct = math.log(np.exp(u * z - abs(z) / scale).sum() / np.exp(-abs(z) / scale).sum())

            assert log_moment(u, scale) == pytest.approx(direct, rel=1e-9)
            assert log_moment(u / 2, scale) <= log_moment(u, scale) / 4  # g(u) / u^2 increases


def test_each_error_of_laplace_sums_is_bounded_by_its_own_variance():
    errors = LaplaceSums(np.array([0.0, 1.0, 9.0]), heaviest=1.0, scale=4.0)
    each = errors.each(0.01)

    assert each[0] == 0
    assert laplace_tail(1.0, 1.0, 4.0, 0.01) <= each[1] <= 1.01 * laplace_tail(1.0, 1.0, 4.0, 0.01)
    assert errors.accuracy(0.03) == laplace_tail(9.0, 1.0, 4.0, 0.01)


def test_steps_are_clipped_to_the_declared_range():
    counter = ContinualCounter(horizon=100, upper=2, budget=dc.ZCDP(10**6))
    values = counter.add_many([10**30, -5, 1, 2])

    assert np.abs(values - [2, 2, 3, 5]).max() < 0.1
    assert moved(counter.strategy, [10], [0])[1] > counter.strategy.square  # an unclipped step would not be covered


def test_the_horizon_is_never_exceeded():
    counter = ContinualCounter(horizon=5, upper=1, budget=dc.PureDP(1))
    counter.add_many([1, 1, 1])
    before = counter.value

    with pytest.raises(ParameterError, match="at most 5 steps in all"):
        counter.add_many([1, 1, 1])
    assert (counter.steps, counter.value) == (3, before)
    counter.add_many([1, 1])
    with pytest.raises(ParameterError, match="at most 5 steps"):
        counter.add(1)


def test_a_counter_whose_noise_failed_is_closed(monkeypatch):
    """Steps that were measured and not released must not be measured again."""
    from discreet.errors import EntropyError
    from discreet.mechanisms.gaussian import Gaussian

    def fails(*_: object, **__: object) -> None:
        raise EntropyError("no entropy")

    counter = ContinualCounter(horizon=5, upper=1, budget=dc.ZCDP(1))
    with monkeypatch.context() as patched:
        patched.setattr(Gaussian, "__call__", fails)
        with pytest.raises(EntropyError):
            counter.add(1)
    with pytest.raises(UnsupportedError, match="closed"):
        counter.add(1)


def test_many_returns_are_charged_nearly_exactly_and_quickly():
    strategy = SquareRoot(horizon=2000, upper=1, steps_per_unit=100, separation=7)
    other = np.zeros(2000)
    other[: 7 * 100 : 7] = 1
    _, square = moved(strategy, np.zeros(2000), other)

    assert square <= strategy.square <= 1.1 * square  # the last steps have less of a future than is charged


@pytest.mark.parametrize("bad", [1.0, math.nan, True, "3", None, [1]])
def test_a_step_must_be_an_integer(bad):
    counter = ContinualCounter(horizon=5, upper=1, budget=dc.PureDP(1))

    with pytest.raises(ParameterError):
        counter.add(bad)
    assert counter.steps == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"horizon": 0},
        {"horizon": 2.0},
        {"horizon": True},
        {"upper": 0},
        {"upper": math.nan},
        {"mechanism": "best"},
        {"steps_per_unit": 0},
        {"separation": -1},
        {"bands": 3},
        {"budget": 1.0},
        {"budget": dc.ZCDP(0)},
        {"mechanism": "banded", "bands": 0},
        {"mechanism": "toeplitz", "horizon": 1 << 40},
    ],
    ids=repr,
)
def test_parameters_outside_their_domain_are_refused(wrong):
    right = {"horizon": 10, "upper": 1, "budget": dc.PureDP(1)}

    with pytest.raises(ParameterError):
        ContinualCounter(**(right | wrong))


def test_relations_of_graphs_are_refused_and_others_kept():
    with pytest.raises(UnsupportedError):
        ContinualCounter(horizon=10, upper=1, budget=dc.PureDP(1, neighbours=EdgeNeighbours))
    replaced = ContinualCounter(horizon=10, upper=1, budget=dc.PureDP(1, neighbours=Replace))

    assert replaced.privacy().neighbours is Replace
    assert ContinualCounter(horizon=1 << 40, upper=1, budget=dc.ZCDP(1)).steps == 0  # a tree takes over


@pytest.mark.parametrize("mechanism", ["tree", "toeplitz", "banded"])
def test_a_resumed_counter_goes_on_with_the_noise_it_has(mechanism, tmp_path):
    budget = dc.ApproxDP(0.5, 1e-6)
    counter = ContinualCounter(horizon=200, upper=4, budget=budget, mechanism=mechanism, rng=SeededRandom(1))
    counter.add_many(np.arange(77) % 5)
    kept = counter._secret.copy(), counter._public.copy(), counter.value
    counter.save(tmp_path / "state.json")
    resumed = ContinualCounter.load(tmp_path / "state.json", rng=SeededRandom(2))

    assert resumed.value == kept[2]
    assert resumed.steps == 77
    assert np.array_equal(resumed._secret, kept[0])
    assert np.array_equal(resumed._public, kept[1])  # bit for bit: no measurement is drawn again
    assert resumed.error(0.1) == counter.error(0.1)
    assert resumed.event() == counter.event()
    fresh = ContinualCounter(horizon=200, upper=4, budget=budget, mechanism=mechanism)
    assert not np.array_equal(fresh._public, kept[1])  # a twin that forgot would start from here
    later = resumed.add_many(np.full(123, 4))
    assert abs(later[-1] - (np.arange(77) % 5).sum() - 492) < resumed.error(1e-6)
    with pytest.raises(ParameterError, match="at most 200 steps"):
        resumed.add(1)


def test_a_state_is_resumed_once_and_in_one_place(tmp_path):
    path = tmp_path / "state.json"
    counter = ContinualCounter(horizon=20, upper=1, budget=dc.ZCDP(1))
    counter.add(1)
    counter.save(path)

    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(UnsupportedError, match="closed"):
        counter.add(1)
    with pytest.raises(UnsupportedError, match="closed"):
        counter.save(tmp_path / "again.json")
    resumed = ContinualCounter.load(path)
    with pytest.raises(LedgerError):
        ContinualCounter.load(path)
    resumed.save(path)
    with pytest.raises(LedgerError, match="in the way"):
        ContinualCounter.load(path)
    with pytest.raises(UnsupportedError, match="cannot be copied or pickled"):
        pickle.dumps(ContinualCounter(horizon=20, upper=1, budget=dc.ZCDP(1)))


def test_a_saved_counter_is_never_overwritten(tmp_path):
    path = tmp_path / "state.json"
    path.write_text("something else")
    counter = ContinualCounter(horizon=20, upper=1, budget=dc.ZCDP(1))

    with pytest.raises(LedgerError, match="never overwritten"):
        counter.save(path)
    counter.add(1)  # it goes on here


@pytest.mark.parametrize("failing", [1, 2])
def test_a_counter_whose_saving_failed_late_does_not_go_on_in_two_places(failing, tmp_path, monkeypatch):
    """The state is whole when fsync reports an error, of the file or of its folder: only the loaded counter goes on."""
    path, calls, fsync = tmp_path / "state.json", [], os.fsync

    def broken(descriptor):
        calls.append(descriptor)
        if len(calls) == failing:
            raise OSError("the disk failed")
        fsync(descriptor)

    counter = ContinualCounter(horizon=20, upper=1, budget=dc.ZCDP(1))
    counter.add(1)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", broken)
        with pytest.raises(OSError, match="the disk failed"):
            counter.save(path)

    with pytest.raises(UnsupportedError, match="closed"):
        counter.add(1)
    assert ContinualCounter.load(path).steps == 1


def test_a_counter_is_closed_before_its_state_is_written(tmp_path, monkeypatch):
    counter, seen = ContinualCounter(horizon=20, upper=1, budget=dc.ZCDP(1)), []

    def interrupted(descriptor, path, text):
        seen.append(counter._closed)
        os.close(descriptor)
        raise KeyboardInterrupt

    monkeypatch.setattr("discreet.structured.streams.continual.write_through", interrupted)
    with pytest.raises(KeyboardInterrupt):
        counter.save(tmp_path / "state.json")
    with pytest.raises(UnsupportedError, match="closed"):
        counter.save(tmp_path / "other.json")
    with pytest.raises(LedgerError, match="damaged"):
        ContinualCounter.load(tmp_path / "state.json")

    assert seen == [True]


def test_a_counter_goes_on_where_no_file_was_created(tmp_path):
    counter = ContinualCounter(horizon=20, upper=1, budget=dc.ZCDP(1))

    with pytest.raises(FileNotFoundError):
        counter.save(tmp_path / "nowhere" / "state.json")
    counter.add(1)

    assert counter.steps == 1


def test_a_state_is_read_after_the_folder_without_it_is_on_the_disk(tmp_path, monkeypatch):
    """Else a loss of power would bring the name back, and a second counter would go on from it."""
    path, synced, fsync = tmp_path / "state.json", [], os.fsync
    ContinualCounter(horizon=20, upper=1, budget=dc.ZCDP(1)).save(path)

    def watched(descriptor):
        synced.append((os.fstat(descriptor).st_ino == tmp_path.stat().st_ino, sorted(os.listdir(tmp_path))))
        fsync(descriptor)

    def parsed(text):
        synced.append("read")
        raise LedgerError("stop here")

    monkeypatch.setattr(os, "fsync", watched)
    monkeypatch.setattr("discreet.structured.streams.continual_state.State.parse", parsed)
    with pytest.raises(LedgerError, match="stop here"):
        ContinualCounter.load(path)

    assert synced == [(True, ["state.json.resumed"]), "read"]


def test_damage_to_a_saved_counter_is_seen(tmp_path):
    path = tmp_path / "state.json"
    counter = ContinualCounter(horizon=20, upper=3, budget=dc.ApproxDP(1, 1e-6))
    counter.add_many([3, 2, 1])
    counter.save(path)
    text = path.read_text()
    broken = [text.replace(f'"{name}"', '"other"', 1) for name in ("state", "sha256", "steps", "secret")]
    broken += [text[: len(text) // 2], text.replace('"steps": 3', '"steps": 2'), "", "[]", "null"]
    rng = np.random.default_rng(4)
    for _ in range(200):
        place = int(rng.integers(len(text)))
        flipped = chr(ord(text[place]) ^ (1 << int(rng.integers(7))))
        broken.append(text[:place] + flipped + text[place + 1 :])
    original = json.loads(text)

    for number, damaged in enumerate(broken):
        try:
            same = json.loads(damaged) == original  # a flip of white space changes nothing
        except ValueError:
            same = False
        if not same:
            one = tmp_path / f"damaged{number}.json"
            one.write_text(damaged)
            with pytest.raises((LedgerError, ParameterError)):
                ContinualCounter.load(one)
