"""discreet.local.factorization, factors, threshold_factors, sampled_thresholds: each claim in turn."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import DomainError, ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.local import DuchiVector, LocalFactorization, OneBitMean, PrivUnit, SampledThresholds, run
from discreet.local import sampled_thresholds as sampled_module
from discreet.local.factorization import repeated_error
from discreet.local.factors import DenseFactors, ThresholdFactors, factors_of
from discreet.local.threshold_factors import columns, decoded, moduli, threshold_norm
from discreet.privacy.enclosure import log_up
from discreet.privacy.number import exact
from discreet.queries.ordered import ranges, thresholds
from discreet.release.gamma2 import gamma2
from tests.scale import counts

RUNS = counts(quick=60, full=1000)
DRAWS = counts(quick=30_000, full=1_000_000)


def _signs(dimension: int) -> np.ndarray:
    i, x = np.arange(dimension)[:, None], np.arange(dimension + 1)[None, :]
    return np.where(x <= i, 1.0, -1.0)


def _within(protocol, epsilon) -> bool:
    return log_up(Fraction(protocol.table().ratio())) <= exact(epsilon)


@pytest.mark.parametrize("dimension", [1, 2, 3, 7, 10, 31])
def test_the_closed_factors_multiply_to_the_signs_and_have_equal_norms(dimension):
    right = columns(dimension, np.arange(dimension + 1)).T
    product = np.array([decoded(right[:, x].copy()) for x in range(dimension + 1)]).T
    left = np.array([decoded(row) for row in np.eye(dimension)]).T
    norm = threshold_norm(dimension + 1)

    assert np.allclose(product, _signs(dimension) / 2, atol=1e-12)
    assert np.allclose(np.linalg.norm(right, axis=0) ** 2, 2 * norm)
    assert np.allclose(np.linalg.norm(left, axis=1) ** 2, norm / 2)


@pytest.mark.parametrize("dimension", [1, 2, 5, 16])
def test_no_factors_of_the_centred_running_counts_have_a_smaller_norm(dimension):
    """The trace norm over the size is a lower bound for every matrix, and here it is the value."""
    signs = _signs(dimension)
    trace = np.linalg.svd(signs[:, :dimension], compute_uv=False).sum() / dimension / 2
    solved = gamma2(signs / 2)

    assert threshold_norm(dimension + 1) == pytest.approx(trace, rel=1e-9)
    assert solved.lower_bound <= threshold_norm(dimension + 1) * (1 + 1e-9) <= solved.value * (1 + 1e-6)


def test_the_norm_grows_like_the_logarithm_that_is_stated():
    for cells in (1 << 10, 1 << 16):
        stated = (math.log(cells - 1) + 0.5772156649 + math.log(8 / math.pi)) / math.pi
        assert threshold_norm(cells) == pytest.approx(stated, abs=1e-3)


@pytest.mark.parametrize("epsilon", [0.3, 1, 3])
@pytest.mark.parametrize("size", [2, 3, 4, 7, 8])
def test_a_sampled_angle_keeps_epsilon_and_needs_it(size, epsilon):
    protocol = SampledThresholds(epsilon=epsilon, size=size)

    assert _within(protocol, epsilon)
    assert protocol.table().epsilon() >= epsilon * (1 - 1e-9)


def test_the_twin_that_tells_the_truth_a_tenth_too_often_is_caught(monkeypatch):
    sampled_module._arc.cache_clear()
    honest = sampled_module.favoured
    monkeypatch.setattr(sampled_module, "favoured", lambda e, **sides: honest(e * Fraction(11, 10), **sides))
    found = _within(SampledThresholds(epsilon=1, size=6), 1)
    sampled_module._arc.cache_clear()

    assert not found


@pytest.mark.parametrize("epsilon", [0.5, 2])
@pytest.mark.parametrize("size", [2, 3, 4, 5, 8, 9])
def test_a_sampled_angle_is_unbiased_with_exactly_the_stated_worst_variance(size, epsilon):
    """Over the whole law, for every value and every running count."""
    protocol = SampledThresholds(epsilon=epsilon, size=size)
    codes = np.arange(protocol.form.limit)
    single = np.array([protocol.decode(protocol.tally(codes[c : c + 1]), 1) for c in codes])  # (codes, queries)
    worst = 0.0
    for value in range(size):
        law = protocol.law(value)
        chances = np.array([float(law[c]) for c in codes])
        truth = (np.arange(size) >= value) * 1.0

        assert chances @ single == pytest.approx(truth, abs=1e-6)
        worst = max(worst, float((chances @ (single - truth) ** 2).max()))

    assert worst == pytest.approx(protocol.variance(1), rel=1e-6)


@pytest.mark.statistical
def test_the_sampler_of_angles_follows_its_law():
    """A chi-squared statistic: above its quantile of 1 - 1e-6 with that probability at most, at a fixed seed."""
    from scipy.stats import chisquare

    protocol = SampledThresholds(epsilon=1, size=5)
    law = protocol.law(3)
    reports = protocol.client().report(np.full(DRAWS, 3), rng=SeededRandom(3))
    seen = np.bincount(reports, minlength=protocol.form.limit)
    expected = DRAWS * np.array([float(law[c]) for c in range(protocol.form.limit)])

    assert chisquare(seen, expected).pvalue > 1e-6


@pytest.mark.statistical
@pytest.mark.parametrize("randomizer", ["duchi", "privunit"])
def test_answers_are_unbiased_and_vary_as_predicted(randomizer):
    """The workload of the answers to a cell far from the others: mean and variance of every answer."""
    workload = np.array([[1, 0, 0, 0.5], [0, 1, 1, 0.25], [1, 1, 1, 1], [0.5, -0.5, 0.25, 0]])
    protocol = LocalFactorization(workload, epsilon=1, randomizer=randomizer)
    made = protocol.factors
    reports = protocol.client().report(np.full(DRAWS, 1), rng=SeededRandom(4)) * protocol.inner.unit
    answers = np.array([made.decode(row * made.radius) for row in reports[:2000]])
    mean = made.decode(reports.mean(axis=0) * made.radius)
    variances = ((reports * made.radius - made.encode(np.array([1]))) @ made.left.T).var(axis=0)
    predicted = protocol._variances(protocol.inner)

    assert isinstance(made, DenseFactors)
    assert np.abs(mean - workload[:, 1]).max() <= 6 * math.sqrt(predicted.max() / DRAWS) + 1e-9
    assert (variances <= predicted * 1.1 + 1e-9).all()
    assert variances.max() >= predicted.max() * 0.6
    assert answers[:, 2] == pytest.approx(1.0)  # a query that everybody answers alike has no noise


def test_the_variance_formula_is_that_of_the_report_over_all_cells():
    """For Duchi's directions E (R_i . report)^2 = |R_i|^2 B^2 / d, and the worst variance is that less the least."""
    workload = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1]])
    protocol = LocalFactorization(workload, epsilon=1, randomizer="duchi")
    made, inner = protocol.factors, protocol.inner
    square = made.rows[:, None] ** 2 * made.radius**2 * inner.coordinate_variance()
    by_hand = (square - (made.left @ made.right) ** 2).max()

    assert protocol.variance(1) == pytest.approx(by_hand, rel=1e-9)


@pytest.mark.statistical
@pytest.mark.parametrize("kind", ["sampled", "duchi"])
def test_errors_hold_as_often_as_they_say(kind):
    """Bernstein's bound at 0.2 is 2.1 standard deviations: 60 runs have more than 12 misses with chance < 1e-6."""
    values = np.arange(2000) % 16
    protocol = LocalFactorization(thresholds(16), epsilon=1, randomizer=kind)
    truth = np.cumsum(np.bincount(values, minlength=16)) / len(values)
    misses, widths = 0, []
    for seed in range(RUNS):
        server = run(protocol, values, rng=SeededRandom(seed))
        error = server.estimate() - truth
        misses += abs(error[7]) > server.error(0.2)[7]
        widths.append(error[7] ** 2)

    assert misses <= 0.2 * RUNS
    assert np.mean(widths) >= protocol.variance(len(values)) / 3  # the bound is not idle


def test_centring_and_projecting_keep_the_workload_and_lower_the_norm():
    for workload in (np.eye(6), np.tril(np.ones((6, 6))), np.array([[0, 1, 2.5], [2, 1, 0]])):
        made = factors_of(workload)
        assert np.allclose(made.left @ made.right + made.centre[:, None], workload)
        assert made.radius * made.rows.max() <= gamma2(workload).value * (1 + 1e-6)
    assert factors_of(ranges(8)).dimension <= 8
    assert isinstance(factors_of(thresholds(8)), ThresholdFactors)


def test_repeating_a_query_costs_nothing_and_splitting_costs_as_many_times_the_users():
    one = LocalFactorization([[1, 0, -1]], epsilon=1)
    many = LocalFactorization([[1, 0, -1]] * 50, epsilon=1)
    copies, split = repeated_error(50, n=10_000, epsilon=1)

    assert isinstance(many.inner, OneBitMean)
    assert many.norm == pytest.approx(1.0)
    assert many.variance(1) == pytest.approx(one.variance(1)) == pytest.approx(OneBitMean(epsilon=1).variance(1))
    assert (split / copies) ** 2 == pytest.approx(50)


def test_one_bit_workloads_are_verified_exactly():
    protocol = LocalFactorization([[1, 0, -1], [2, 0, -2]], epsilon=1)

    assert _within(protocol, 1)
    assert protocol.table().epsilon() >= 1 - 1e-8
    assert _within(LocalFactorization(thresholds(5), epsilon=1, randomizer="sampled"), 1)


def test_a_column_beyond_the_radius_is_cut_so_that_a_radius_halved_by_mistake_loses_no_more():
    protocol = LocalFactorization(np.eye(4), epsilon=1, randomizer="duchi")
    halved = protocol.factors.encode(np.arange(4)) / (protocol.factors.radius / 2)

    assert (np.linalg.norm(protocol.inner.checked(halved), axis=1) <= 1 + 1e-9).all()


def test_the_best_randomizer_is_the_one_of_least_predicted_variance():
    for epsilon in (0.5, 1, 4):
        kinds = [
            LocalFactorization(thresholds(64), epsilon=epsilon, randomizer=r) for r in ("duchi", "privunit", "sampled")
        ]
        best = LocalFactorization(thresholds(64), epsilon=epsilon)
        assert best.variance(1) == min(k.variance(1) for k in kinds)
    assert isinstance(kinds[0].inner, DuchiVector)
    assert isinstance(kinds[1].inner, PrivUnit)


def test_a_given_strategy_is_used_and_one_that_cannot_answer_is_refused():
    given = LocalFactorization(np.tril(np.ones((4, 4))), epsilon=1, strategy=np.eye(4))

    assert np.allclose(given.factors.right, np.eye(4))
    assert given.variance(1) > LocalFactorization(np.tril(np.ones((4, 4))), epsilon=1).variance(1)
    with pytest.raises(UnsupportedError, match="cannot answer"):
        LocalFactorization(np.eye(4), epsilon=1, strategy=np.ones((1, 4)))


def test_reports_travel_and_other_factors_are_refused():
    protocol = LocalFactorization(np.eye(4), epsilon=1, randomizer="duchi")
    reports = protocol.client().report([0, 1, 2, 3], rng=SeededRandom(1))

    assert (protocol.from_bytes(protocol.to_bytes(reports)) == reports).all()
    with pytest.raises(DomainError, match="another protocol"):
        LocalFactorization(np.tril(np.ones((4, 4))), epsilon=1, randomizer="duchi").from_bytes(
            protocol.to_bytes(reports)
        )


def test_moduli_are_those_of_the_eigenvalues():
    signs = _signs(9)[:, :9]

    assert np.sort(np.abs(np.linalg.eigvals(signs))) == pytest.approx(np.sort(moduli(9)))


def test_bad_parameters_and_values_are_refused_without_quoting_them():
    for bad in (0, -1, math.nan, math.inf, True):
        with pytest.raises(ParameterError):
            LocalFactorization(np.eye(3), epsilon=bad)
        with pytest.raises(ParameterError):
            SampledThresholds(epsilon=bad, size=4)
    for size in (1, 2.0, True):
        with pytest.raises(ParameterError):
            SampledThresholds(epsilon=1, size=size)
    for workload in ([[1, 1], [2, 2]], [1, 2], [[math.nan, 1]]):
        with pytest.raises(ParameterError):
            LocalFactorization(workload, epsilon=1)
    with pytest.raises(ParameterError, match="randomizer"):
        LocalFactorization(np.eye(3), epsilon=1, randomizer="laplace")
    with pytest.raises(UnsupportedError, match="sampled frequencies"):
        LocalFactorization(np.eye(3), epsilon=1, randomizer="sampled")
    for protocol in (LocalFactorization(thresholds(4), epsilon=1), LocalFactorization(np.eye(4), epsilon=1)):
        for values in (np.array([1.5]), [[1]]):
            with pytest.raises(ParameterError):
                protocol.client().report(values)
        assert protocol.checked([77, -1, None]).tolist() == [3, 0, 0]


def test_a_copy_with_another_epsilon_is_another_protocol():
    protocol = SampledThresholds(epsilon=1, size=9)

    assert replace(protocol, epsilon=2).fingerprint() != protocol.fingerprint()
