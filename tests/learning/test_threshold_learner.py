"""discreet.learning.pac.threshold and bounded_range: each claim in the module docstrings, in order."""

from fractions import Fraction
from itertools import product
from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.hazmat.entropy import SeededRandom
from discreet.learning import ExponentialLearner, ThresholdLearner, Thresholds
from discreet.learning.pac.bounded_range import bounded_range
from discreet.privacy.event import ExponentialEvent
from discreet.privacy.finite import FiniteMechanism
from discreet.privacy.guarantee import ApproxDP, PureDP
from discreet.privacy.neighbours import AddRemove, Replace


def excess(epsilon, length):
    """The theorem's delta."""
    return (1 - exp(-(length - epsilon) / 2)) ** 2 / (1 - exp(-length))


@given(st.floats(0.01, 8), st.floats(1e-9, 0.3))
def test_the_range_is_the_largest_that_the_delta_allows(epsilon, delta):
    length = float(bounded_range(epsilon, delta))

    assert excess(epsilon, length) <= delta * (1 + 1e-9)
    assert excess(epsilon, length + 0.02 * (length - epsilon)) > delta  # and hardly less


@pytest.mark.parametrize("ratio", [2, 3, 8])
def test_the_exponential_mechanism_keeps_the_curve(ratio):
    """Every pair of score vectors that moves monotonely by at most 1, at e^-rate = 1 / ratio: exact delta, below it."""
    length, weight = log(ratio), Fraction(1, ratio)

    def law(errors):
        weights = [weight**e for e in errors]
        return {o: w / sum(weights) for o, w in enumerate(weights)}

    pairs = [
        (here, tuple(a + b for a, b in zip(here, move, strict=True)))
        for here in product(range(3), repeat=3)
        for move in product((0, 1), repeat=3)
    ]
    table = FiniteMechanism({errors: law(errors) for pair in pairs for errors in pair}, neighbours=pairs)
    shares = (0.1, 0.5, 0.9)

    assert all(float(table.delta(share * length)) <= excess(share * length, length) + 1e-12 for share in shares)


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 2.0])
def test_the_curve_is_attained_by_two_outcomes(epsilon):
    """So a range one percent longer would break the promise: the twin."""
    delta = 0.01
    length = float(bounded_range(epsilon, delta))

    def attained(length):
        t = (epsilon + length) / 2
        q = (1 - exp(t - length)) / (exp(t) - exp(t - length))
        return exp(t) * q - exp(epsilon) * q

    assert attained(length) == pytest.approx(delta, rel=1e-2)
    assert attained(length) <= delta * (1 + 1e-9)
    assert attained(1.01 * length) > delta


def test_without_delta_it_is_the_generic_learner():
    x = np.random.default_rng(0).integers(0, 100, 50)
    y = x >= 30
    pairs = [
        (
            ThresholdLearner(100, epsilon=0.3).fit(x, y, rng=SeededRandom(seed)).threshold_,
            ExponentialLearner(Thresholds(100), epsilon=0.3).fit(x, y, rng=SeededRandom(seed)).index_,
        )
        for seed in range(30)
    ]

    assert all(a == b for a, b in pairs)


def test_promises_and_events():
    assert ThresholdLearner(8, epsilon=1).privacy() == PureDP(1, neighbours=AddRemove)
    assert ThresholdLearner(8, epsilon=1, delta=1e-6, n=5).privacy() == ApproxDP(1, 1e-6, neighbours=Replace)
    assert ThresholdLearner(8, epsilon=1).event() == ExponentialEvent(epsilon=1)
    length = ThresholdLearner(8, epsilon=1, delta=0.01).event().epsilon
    assert 1.17 < length < 1.18


def test_delta_never_costs_accuracy():
    for points in (2, 1024, 10**8):
        pure = ThresholdLearner(points, epsilon=0.1).accuracy(0.05)
        errors = [ThresholdLearner(points, epsilon=0.1, delta=delta).accuracy(0.05) for delta in (1e-9, 1e-6, 1e-2)]

        assert [pure, *errors] == sorted([pure, *errors], reverse=True)
        assert errors[-1] < pure


@pytest.mark.statistical
def test_the_error_is_the_least_that_holds():
    """One threshold leads all others by g: at g = alpha + 1 it is missed in at most .05 of 400 runs (45 at 10^-6)."""
    learner = ThresholdLearner(10**12, epsilon=0.5)
    alpha = learner.accuracy(0.05)

    def missed(lead):
        x, rng = np.repeat([5 * 10**11 - 1, 5 * 10**11], lead), SeededRandom(1)
        return sum(learner.fit(x, x >= 5 * 10**11, rng=rng).threshold_ != 5 * 10**11 for _ in range(400))

    assert missed(alpha + 1) <= 45
    assert missed(alpha - 6) > 45


def test_the_lower_bound_lies_below_what_is_enough():
    """Success of the pure learner crosses 1/2 above the packing bound: d = 12, on its hard distribution."""
    points, alpha, epsilon = 2**12, 0.05, 0.5
    bound = (log(points - 1) - log(2)) / (8 * epsilon * alpha)
    target, data = 2000, np.random.default_rng(0)

    def success(n):
        rng, good = SeededRandom(0), 0
        for _ in range(60):
            ends = [0, target - 1, target, points - 1]
            x = data.choice(ends, n, p=[0.5 - 2 * alpha, 2 * alpha, 2 * alpha, 0.5 - 2 * alpha])
            good += ThresholdLearner(points, epsilon=epsilon, n=n).fit(x, x >= target, rng=rng).threshold_ == target
        return good / 60

    assert success(int(bound)) < 0.5
    assert success(int(30 * bound)) > 0.9


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: ThresholdLearner(8, epsilon=0),
        lambda: ThresholdLearner(8, epsilon=float("inf")),
        lambda: ThresholdLearner(8, epsilon=1, delta=1),
        lambda: ThresholdLearner(8, epsilon=1, delta=-1e-9),
        lambda: ThresholdLearner(8, epsilon=1, delta=float("nan")),
        lambda: ThresholdLearner(0, epsilon=1),
        lambda: ThresholdLearner(8.0, epsilon=1),
        lambda: ThresholdLearner(8, epsilon=1, n=-1),
        lambda: ThresholdLearner(8, epsilon=1).predict([1]),
        lambda: ThresholdLearner(8, epsilon=1).fit([0.5], [1]),
        lambda: ThresholdLearner(8, epsilon=1).fit([1], [0.5]),
    ],
)
def test_bad_parameters_are_refused(wrong):
    with pytest.raises(ParameterError):
        wrong()
