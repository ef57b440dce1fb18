"""discreet.release.factorization: each claim in the module docstring, in order."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta as beta_law
from scipy.stats import chi2, norm

from discreet.composition.price import price
from discreet.data.columns import Boolean, Integer
from discreet.data.domain import Domain
from discreet.data.histogram import Histogram
from discreet.errors import ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.mechanisms.gaussian import Gaussian
from discreet.privacy.guarantee import ZCDP, ApproxDP, GaussianDP, PureDP
from discreet.privacy.neighbours import AddRemove, Replace
from discreet.privacy.number import exact
from discreet.queries.marginals import marginals
from discreet.queries.ordered import counts, ranges, thresholds
from discreet.queries.written import random_counting
from discreet.release.errors import SubGaussian
from discreet.release.factorization import Factorization
from discreet.release.factorization_errors import LaplaceSums, NormalSums
from discreet.release.noise import noise_for, variance
from discreet.release.strategies import BITS
from tests.scale import counts as repetitions

LINE = Domain({"x": Integer(0, 19)})
BITS4 = Domain({f"b{i}": Boolean() for i in range(4)})
WORKLOADS = [
    thresholds(12),
    ranges(8),
    marginals(BITS4, 2),
    counts(BITS4),
    random_counting(LINE, 30, seed=1),
    random_counting(LINE, 6, seed=2),
    0.5 * thresholds(6),
]
BUDGETS = [PureDP(1.0), ZCDP(0.5), ApproxDP(1.0, 1e-6)]
RUNS = repetitions(quick=1500, full=40_000)


def residuals(mechanism, data, runs):
    """The noise of the measurements and of the answers, over the stated spreads."""
    strategy, noise = mechanism.measured, mechanism.noise
    true = strategy.measure(strategy.space.coordinates(data))
    rng = SeededRandom(5)
    draws = np.stack([np.asarray(noise(true, rng=rng) - true, dtype=float) for _ in range(runs)])
    return draws / math.sqrt(variance(noise))


# --- privacy


@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
@pytest.mark.parametrize("n", [None, 50])
@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda w: f"{type(w).__name__}{w.shape}")
def test_the_noise_is_that_of_the_exact_integers_under_the_budget(workload, budget, n):
    mechanism = Factorization(workload, budget=budget, n=n)
    relation = AddRemove if n is None else Replace
    strategy = mechanism.measured
    stated = noise_for(
        budget, absolute=strategy.absolute(relation), square=strategy.squared(relation), size=strategy.size
    )

    assert mechanism.noise == stated
    assert mechanism.privacy() == replace(budget, neighbours=relation)


def test_the_accountant_finds_the_same_promise():
    rho = price(Factorization(thresholds(12), budget=ZCDP(0.5)).event()).rho
    epsilon = price(Factorization(thresholds(12), budget=PureDP(0.3)).event()).epsilon
    approx = Factorization(thresholds(64), budget=ApproxDP(0.1, 1e-3), strategy="optimal")
    gaussian = approx.noise

    assert exact(0.5) * (1 - exact(1e-9)) < rho <= exact(0.5)
    assert epsilon == exact(0.3)
    assert isinstance(gaussian, Gaussian)
    assert gaussian.privacy() == ApproxDP(0.1, 1e-3)
    assert gaussian.square >= approx.measured.squared(AddRemove)


def test_the_budget_decides_the_relation():
    budget = replace(PureDP(1.0), neighbours=AddRemove)

    assert Factorization(thresholds(4), budget=budget, n=10).neighbours is AddRemove
    with pytest.raises(ParameterError, match="public n"):
        Factorization(thresholds(4), budget=replace(PureDP(1.0), neighbours=Replace))


# --- the answers


@pytest.mark.parametrize("n", [None, 200])
@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda w: f"{type(w).__name__}{w.shape}")
def test_without_noise_the_answers_are_the_truth(workload, n):
    mechanism = Factorization(workload, budget=ZCDP(0.5), n=n)
    data = Histogram.random(workload.domain, n=200, seed=3)
    strategy = mechanism.measured
    true = strategy.measure(strategy.space.coordinates(data))

    assert np.allclose(strategy.space.answers(strategy.estimate(true)), workload.answer(data), atol=1e-6)


@pytest.mark.statistical
@pytest.mark.parametrize("workload", [thresholds(8), marginals(BITS4, 2)], ids=lambda w: type(w).__name__)
def test_the_covariance_of_the_answers_is_that_of_the_factors(workload):
    """Both ways at 10^-6: a chi-square of each answer's variance and of the correlation of some pairs."""
    mechanism = Factorization(workload, budget=ZCDP(0.5))
    data = Histogram.random(workload.domain, n=100, seed=4)
    true, rng = workload.answer(data), SeededRandom(6)
    errors = np.stack([mechanism(data, rng=rng).answers - true for _ in range(RUNS)])
    stated = mechanism.variances()
    matrix = mechanism.measured.matrix
    rows = (
        mechanism.measured.space.rows.matrix if hasattr(mechanism.measured.space.rows, "matrix") else workload.matrix()
    )
    left = rows @ np.linalg.pinv(matrix)
    covariance = left @ left.T * variance(mechanism.noise) * 4.0**-BITS
    pairs = [(i, j) for i in range(3) for j in range(i)]
    tail = 1e-6 / (2 * (len(stated) + 2 * len(pairs)))

    def fits(sample, spread):
        sums = (sample**2).sum(axis=0) / spread
        return bool(((chi2.ppf(tail, RUNS) < sums) & (sums < chi2.isf(tail, RUNS))).all())

    assert np.allclose(np.diag(covariance), stated)
    assert fits(errors, stated)
    assert not fits(errors, stated / 0.9**2)  # the twin: noise of nine tenths
    for i, j in pairs:
        spread = covariance[i, i] + covariance[j, j] + 2 * covariance[i, j]
        assert fits((errors[:, i] + errors[:, j])[:, None], spread)


@pytest.mark.statistical
def test_the_noise_has_mean_zero():
    mechanism = Factorization(ranges(6), budget=ZCDP(0.1))
    draws = residuals(mechanism, Histogram.random(mechanism.workload.domain, n=10, seed=1), RUNS)

    assert (np.abs(draws.mean(axis=0)) * math.sqrt(RUNS) < norm.isf(1e-6 / (2 * draws.shape[1]))).all()


def test_a_public_total_is_answered_exactly():
    mechanism = Factorization(thresholds(9), budget=PureDP(1.0), n=77)
    release = mechanism(Histogram.random(mechanism.workload.domain, n=77, seed=2))

    assert release.answers[-1] == pytest.approx(77, abs=1e-9)
    assert mechanism.variances()[-1] == 0


def test_frames_are_read_by_the_declaration():
    domain = Domain({"age": Integer(0, 3)})
    mechanism = Factorization(thresholds(domain), budget=PureDP(1e6))
    release = mechanism(pd.DataFrame({"age": [0, 0, 2, 3]}))

    assert release.answers.round().tolist() == [2, 2, 3, 4]


# --- the errors


@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
@pytest.mark.parametrize("objective", ["max", "total"])
def test_no_worse_than_the_cells_or_the_binary_tree(budget, objective):
    for workload in (thresholds(16), ranges(16), thresholds(100)):
        costs = {}
        for name in (None, "identity", "tree"):
            spread = Factorization(workload, budget=budget, objective=objective, strategy=name).variances()
            costs[name] = spread.max() if objective == "max" else spread.mean()

        assert costs[None] <= min(costs["identity"], costs["tree"])


@pytest.mark.parametrize("objective", ["max", "total"])
def test_the_shipped_integers_are_as_good_as_the_factors(objective):
    for n in (None, 100):
        mechanism = Factorization(thresholds(40), budget=ZCDP(0.5), objective=objective, n=n)

        assert mechanism.lower_bound <= mechanism.gamma2 <= 1.0003 * mechanism.lower_bound
        spread = mechanism.variances()
        cost = spread.max() if objective == "max" else spread.mean()
        assert math.sqrt(cost) == pytest.approx(mechanism.gamma2)  # sigma is 1 for rho = 1/2


def test_the_example_of_thresholds():
    mechanism = Factorization(thresholds(256), budget=ApproxDP(1.0, 1e-6))

    assert round(mechanism.gamma2, 4) == 2.5327
    assert 2.5327 <= mechanism.lower_bound <= mechanism.gamma2


@pytest.mark.statistical
@pytest.mark.parametrize("budget", [PureDP(1.0), ZCDP(0.5)], ids=repr)
@pytest.mark.parametrize("workload", [thresholds(16), ranges(8)], ids=lambda w: type(w).__name__)
def test_errors_exceed_the_stated_bound_as_seldom_as_stated(budget, workload):
    mechanism = Factorization(workload, budget=budget)
    data, beta = Histogram.random(workload.domain, n=100, seed=4), 0.1
    true, rng = workload.answer(data), SeededRandom(7)
    errors = np.abs(np.stack([mechanism(data, rng=rng).answers - true for _ in range(RUNS)]))
    failures = int((errors.max(axis=1) > mechanism.accuracy(beta)).sum())
    each = (errors > mechanism.errors().each(beta)).sum(axis=0)

    def at_least(count):  # Clopper and Pearson, 10^-6
        return beta_law.ppf(1e-6 / 20, count, RUNS - count + 1) if count else 0.0

    assert at_least(failures) <= beta
    assert all(at_least(int(count)) <= beta for count in each)
    assert mechanism.accuracy(beta) <= SubGaussian(np.sqrt(mechanism.variances())).accuracy(beta) * 1.6


@pytest.mark.parametrize("sigma", [0.5, 1.0, 3.0, 20.0])
def test_discrete_gaussians_are_nearly_rounded_normal(sigma):
    """The total variation distance is at most 1 / (8 sigma^2), and not far less."""
    z = np.arange(-400, 401)
    weights = np.exp(-(z**2) / (2 * sigma**2))
    rounded = norm.cdf((z + 0.5) / sigma) - norm.cdf((z - 0.5) / sigma)
    distance = np.abs(weights / weights.sum() - rounded).sum() / 2

    assert 1e-2 / (8 * sigma**2) < distance <= 1 / (8 * sigma**2)


def test_normal_sums_have_the_quantiles_of_sidak_and_fall_back_where_noise_is_coarse():
    sums = NormalSums(np.ones(10), sigma=1e9, draws=10)
    coarse = NormalSums(np.ones(10), sigma=0.5, draws=10)

    assert sums.accuracy(0.05) == pytest.approx(norm.isf((1 - 0.95**0.1) / 2), rel=1e-6)
    assert sums.each(0.05) == pytest.approx(np.full(10, 1.959964), rel=1e-6)
    assert coarse.accuracy(0.05) == SubGaussian(np.ones(10)).accuracy(0.05)
    assert (coarse.each(0.05) == SubGaussian(np.ones(10)).each(0.05)).all()
    assert NormalSums(np.zeros(3), sigma=1e9, draws=3).accuracy(0.05) == 0


def test_the_bound_of_laplace_sums_holds_on_exact_tails():
    """One draw: the tail is known; many equal draws: the convolution is computed."""
    scale = 5.0
    p = math.exp(-1 / scale)
    z = np.arange(-600, 601)
    law = (1 - p) / (1 + p) * p ** np.abs(z)
    for draws in (1, 3, 8):
        total = law
        for _ in range(draws - 1):
            total = np.convolve(total, law)
        reach = np.abs(np.arange(len(total)) - len(total) // 2)
        sums = LaplaceSums(np.array([scale * math.sqrt(2 * draws)]), np.array([scale]))
        for beta in (0.2, 0.05, 1e-4):
            alpha = float(sums.each(beta)[0])

            assert total[reach > alpha].sum() <= beta
            assert (beta > 0.1 and draws > 1) or total[reach > alpha / 2].sum() > beta  # and is of the right size
            assert sums.accuracy(beta) == pytest.approx(alpha)


def test_the_largest_weights_are_those_of_the_answers():
    mechanism = Factorization(ranges(7), budget=PureDP(1.0))
    strategy = mechanism.measured
    left = np.abs(mechanism.workload.matrix() @ np.linalg.pinv(strategy.matrix)).max(axis=1)

    assert np.allclose(strategy.peaks, left)


def test_weights_of_many_intervals_are_bounded(monkeypatch):
    strategy = Factorization(ranges(7), budget=PureDP(1.0)).measured
    exactly = strategy.peaks
    monkeypatch.setattr("discreet.release.strategies.EXAMINED", 0)
    bounded = Factorization(ranges(7), budget=PureDP(1.0)).measured.peaks

    assert (bounded >= exactly * (1 - 1e-12)).all()


# --- refusals


@pytest.mark.parametrize(
    "arguments",
    [
        {"objective": "mean"},
        {"strategy": "best"},
        {"strategy": np.ones((3, 12))},
        {"strategy": np.full((12, 12), math.nan)},
        {"strategy": np.ones((12, 11))},
        {"n": 0},
        {"n": True},
        {"n": 2.5},
        {"budget": PureDP(0)},
        {"budget": ZCDP(0)},
    ],
    ids=lambda given: next(iter(given)),
)
def test_bad_settings_are_refused(arguments):
    with pytest.raises(ParameterError):
        Factorization(thresholds(12), **({"budget": PureDP(1.0)} | arguments))


def test_what_no_theorem_covers_is_refused():
    with pytest.raises(UnsupportedError):
        Factorization(thresholds(12), budget=GaussianDP(1.0))
    with pytest.raises(ParameterError, match="a tree"):
        Factorization(marginals(BITS4, 2), budget=PureDP(1.0), strategy="tree")
    with pytest.raises(ParameterError):
        Factorization(thresholds(12), budget=PureDP(1.0)).accuracy(0.0)


@pytest.mark.parametrize("n", [None, 50])
@pytest.mark.parametrize("budget", [ZCDP("0.5"), PureDP(1)])
def test_a_tall_strategy_pays_for_all_its_measurements(budget, n):
    """65,536 equal measurements of 2^24 each: their squares add up to 2^64, which 64 bits read as 0."""
    tall = np.vstack([np.tile([1.0, 0.0], (65536, 1)), [[0.0, 1.0]]])
    made = Factorization(thresholds(2), budget=budget, n=n, strategy=tall)
    largest = max(made.noise.sensitivity, 0)

    assert exact(largest) >= (1 << 32 if isinstance(budget, ZCDP) else 1 << 40)
    cost = price(made.event())
    if isinstance(budget, ZCDP):
        truth = Fraction(1 << 64) / (2 * exact(made.noise.sigma) ** 2)
        assert truth <= cost.rho <= exact(budget.rho)
    else:
        assert Fraction(1 << 40) / exact(made.noise.scale) <= cost.epsilon <= exact(budget.epsilon)


def test_a_strategy_that_no_integer_holds_is_refused():
    """So small that its scale overflows: the cast would have made integers of NaN."""
    with pytest.raises(ParameterError, match="whole numbers that fit 64 bits"):
        Factorization(thresholds(2), budget=ZCDP(1), strategy=[[5e-324, 0.0], [0.0, 5e-324]])


def test_a_given_strategy_is_used():
    mechanism = Factorization(thresholds(3), budget=ZCDP(0.5), strategy=np.tril(np.ones((3, 3))))

    assert mechanism.measured.name == "given"
    assert mechanism.variances() == pytest.approx(np.full(3, 3.0))  # the answers themselves: sensitivity sqrt(3)
