"""discreet.local.hierarchy: each claim in the module docstring, in order."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.hazmat.entropy import SeededRandom
from discreet.local import (
    HierarchicalRanges,
    LocalFactorization,
    ProjectiveGeometryResponse,
    RandomizedResponse,
    SampledThresholds,
    run,
)
from discreet.local.hierarchy import _most, agreed, path_sums, prefix_variances
from discreet.privacy.enclosure import log_up
from discreet.privacy.number import exact
from discreet.queries.ordered import thresholds
from tests.scale import counts

RUNS = counts(quick=60, full=500)
SPREADS = [0.7, 2.0, 1.3]


def _tree(branching: int, height: int) -> np.ndarray:
    """Which leaves each node holds, level by level."""
    leaves = branching**height
    return np.vstack(
        [np.kron(np.eye(branching**level), np.ones(leaves // branching**level)) for level in range(1, height + 1)]
    )


def _weights(branching: int, spreads: list[float]) -> np.ndarray:
    return np.concatenate([np.full(branching ** (level + 1), 1 / s) for level, s in enumerate(spreads)])


@pytest.mark.parametrize("epsilon", [0.5, 1, 3])
@pytest.mark.parametrize(("size", "branches"), [(5, 2), (8, 2), (9, 3), (16, 4)])
def test_a_report_keeps_epsilon_and_needs_it(size, branches, epsilon):
    found = HierarchicalRanges(epsilon=epsilon, size=size, branches=branches).table()

    assert log_up(Fraction(found.ratio())) <= exact(epsilon)
    assert found.epsilon() >= epsilon * (1 - 1e-9)


def test_the_twin_that_reports_at_every_level_with_the_whole_epsilon_is_caught():
    """Two levels for one user: the likelihoods multiply."""
    protocol = HierarchicalRanges(epsilon=1, size=4, branches=2)
    one, two = (protocol.oracles[level].table() for level in (0, 1))

    assert log_up(Fraction(one.ratio()) * Fraction(two.ratio())) > 1


@pytest.mark.parametrize(("branching", "height"), [(2, 3), (3, 2), (4, 2)])
def test_two_passes_are_the_least_squares_with_a_known_total(branching, height):
    """Against the dense problem, with the last leaf written as 1 minus the others."""
    spreads = SPREADS[:height]
    rng = np.random.default_rng(1)
    tree, weights = _tree(branching, height), _weights(branching, spreads)
    noisy = rng.normal(0, 1, len(tree)) + tree @ np.full(tree.shape[1], 1 / tree.shape[1])
    free, offset = tree[:, :-1] - tree[:, -1:], tree[:, -1]
    root = np.sqrt(weights)
    solved = np.linalg.lstsq(free * root[:, None], (noisy - offset) * root, rcond=None)[0]
    starts = np.cumsum([0] + [branching ** (level + 1) for level in range(height)])
    levels = [noisy[a:b] for a, b in pairwise(starts)]

    assert agreed(levels, spreads, branching) == pytest.approx(np.append(solved, 1 - solved.sum()))


@pytest.mark.parametrize(("branching", "height"), [(2, 3), (3, 2), (4, 2)])
def test_variances_of_running_counts_are_those_of_the_least_squares(branching, height):
    spreads = SPREADS[:height]
    tree, weights = _tree(branching, height), _weights(branching, spreads)
    free = tree[:, :-1] - tree[:, -1:]
    covariance = np.linalg.inv(free.T @ (free * weights[:, None]))
    prefixes = np.tril(np.ones((tree.shape[1] - 1,) * 2))
    by_hand = np.append(np.diag(prefixes @ covariance @ prefixes.T), 0)

    assert prefix_variances(spreads, branching) == pytest.approx(by_hand)
    assert (
        prefix_variances(spreads, branching) <= prefix_variances(spreads, branching, consistent=False) + 1e-12
    ).all()


def test_the_first_seven_of_eight_are_four_and_two_and_one():
    levels = [np.array([0.4, 0.6]), np.array([0.1, 0.3, 0.35, 0.25]), np.arange(8) / 28]
    found = path_sums(levels, 2)

    assert found[6] == pytest.approx(levels[0][0] + levels[1][2] + levels[2][6])
    assert prefix_variances([1.0, 1.0, 1.0], 2, consistent=False)[6] == 3


@pytest.mark.parametrize(
    "oracle", [RandomizedResponse(epsilon=1, size=7), ProjectiveGeometryResponse(epsilon=1, size=21)]
)
def test_no_combination_of_estimates_varies_more_than_is_claimed(oracle):
    """The largest eigenvalue of the covariance of the supports, over the law itself, for every value."""
    codes = list(oracle.law(0))
    gap = float(oracle.truth - oracle.noise)
    supports = np.array([oracle.support(oracle.tally(np.array([code]))) for code in codes]) / gap
    largest = 0.0
    for value in range(0, oracle.size, 5):
        chances = np.array([float(oracle.law(value)[code]) for code in codes])
        mean = chances @ supports
        covariance = supports.T @ (supports * chances[:, None]) - np.outer(mean, mean)
        largest = max(largest, float(np.linalg.eigvalsh(covariance).max()))

    assert largest <= _most(oracle) * (1 + 1e-9)
    assert largest >= _most(oracle) / 4


@pytest.mark.statistical
def test_estimates_are_unbiased_and_errors_hold_as_often_as_they_say():
    """Chebyshev at 0.05 for each number; the means of RUNS runs lie within 6 standard errors (below 1e-6 together)."""
    values = np.random.default_rng(2).integers(0, 40, 3000)
    protocol = HierarchicalRanges(epsilon=1, size=40)
    truth = np.cumsum(np.bincount(values, minlength=40)) / len(values)
    errors, bounds = [], []
    for seed in range(RUNS):
        server = run(protocol, values, rng=SeededRandom(seed))
        errors.append(server.estimate() - truth)
        bounds.append(server.error(0.05))
    errors, bounds = np.array(errors), np.array(bounds)

    assert (np.abs(errors.mean(axis=0)) <= 6 * errors.std(axis=0) / math.sqrt(RUNS) + 1e-12).all()
    assert (np.abs(errors) > bounds).mean() <= 0.05
    assert (bounds.mean(axis=0) <= 12 * errors.std(axis=0) + 1e-9).all()  # and they are not idle
    assert ((errors**2).mean() * len(values)) <= protocol.variance(1) * 1.3


@pytest.mark.statistical
def test_the_factorization_has_less_than_half_of_the_textbook_hierarchys_variance():
    """1,024 cells, epsilon 1: predicted, and measured over all running counts; levels that agree do better."""
    size, n, runs = 1024, 20_000, counts(quick=12, full=200)
    values = np.random.default_rng(3).integers(0, size, n)
    truth = np.cumsum(np.bincount(values, minlength=size)) / n
    kinds = {
        "factorization": LocalFactorization(thresholds(size), epsilon=1),
        "agreeing": HierarchicalRanges(epsilon=1, size=size),
        "textbook": HierarchicalRanges(epsilon=1, size=size, branches=2, consistent=False),
    }
    measured = {
        name: np.mean(
            [((run(p, values, rng=SeededRandom(seed)).estimate() - truth) ** 2).mean() for seed in range(runs)]
        )
        * n
        for name, p in kinds.items()
    }
    predicted = {name: p.variance(1) for name, p in kinds.items()}

    assert isinstance(kinds["factorization"].inner, SampledThresholds)
    assert 2 * predicted["factorization"] <= predicted["textbook"]
    assert 2 * measured["factorization"] <= measured["textbook"]
    assert predicted["factorization"] < predicted["agreeing"] < predicted["textbook"]
    assert 0.5 * predicted["factorization"] <= measured["factorization"] <= predicted["factorization"] * 1.2


def test_a_level_that_nobody_reported_at_is_left_out():
    protocol = HierarchicalRanges(epsilon=1, size=8, branches=2)
    server = protocol.server()
    server.add(np.array([protocol.starts[2]]))

    assert np.isfinite(server.estimate()).all()
    assert server.estimate()[-1] == pytest.approx(1)


def test_servers_merge_and_bad_parameters_are_refused():
    protocol = HierarchicalRanges(epsilon=1, size=30)
    left, right = run(protocol, [3] * 50, rng=SeededRandom(1)), run(protocol, [4] * 50, rng=SeededRandom(2))
    left.merge(right)

    assert left.n == 100
    assert protocol.fingerprint() == HierarchicalRanges(epsilon=1, size=30, branches=protocol.branching).fingerprint()
    for bad in ({"epsilon": 0, "size": 4}, {"epsilon": 1, "size": 1}, {"epsilon": 1, "size": 4, "branches": 1}):
        with pytest.raises(ParameterError):
            HierarchicalRanges(**bad)
    with pytest.raises(ParameterError):
        protocol.client().report(np.array([0.5]))
    assert protocol.checked([30, -1, None]).tolist() == [29, 0, 0]
