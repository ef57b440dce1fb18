"""Exact verification: likelihood ratios of every discrete randomizer, in rationals, over all inputs and outputs."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binomtest

from discreet.hazmat.entropy import SeededRandom
from discreet.local import (
    HybridMean,
    LaplaceMean,
    OneBitMean,
    OptimalLocalHashing,
    OptimalUnaryEncoding,
    PiecewiseMean,
    RandomizedResponse,
    SymmetricUnaryEncoding,
)
from discreet.local import coins as coin_module
from discreet.local.coins import ONE, favoured
from discreet.local.laplace_mean import STEPS
from discreet.local.unary import WIDTH, flip
from discreet.privacy.enclosure import exp_down, exp_up, log_up
from discreet.privacy.finite import FiniteMechanism
from discreet.privacy.number import exact
from tests.local.protocols import CODES, ORACLES
from tests.scale import counts

EPSILONS = [0.1, 0.5, 1, 2, 4, 8]
SIZES = [2, 3, 4, 5, 6]
DOMAIN = counts(quick=16, full=64)
INPUTS = counts(quick=8, full=64)
AUDIT = 40_000  # reports from either end
LARGEST = 5000  # reports in a table


def _within(mechanism: FiniteMechanism, epsilon) -> bool:
    """Whether every likelihood ratio is at most e^epsilon, decided in rationals."""
    return log_up(Fraction(mechanism.ratio())) <= exact(epsilon)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("kind", ORACLES)
def test_every_report_of_every_small_domain_keeps_epsilon_and_needs_it(kind, epsilon):
    for size in SIZES:
        protocol = kind(epsilon=epsilon, size=size)
        if kind is OptimalLocalHashing and protocol.cells > LARGEST:
            continue  # fields grow with e^epsilon; the test of every seed below takes over
        found = protocol.table()

        assert _within(found, epsilon)
        assert found.epsilon() >= epsilon * (1 - 1e-9)  # tight


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("kind", CODES)
def test_reports_that_are_codes_keep_epsilon_on_larger_domains(kind, epsilon):
    protocol = kind(epsilon=epsilon, size=DOMAIN)
    if protocol.cells > LARGEST:
        protocol = RandomizedResponse(epsilon=epsilon, size=DOMAIN)  # the test of every seed below takes over

    assert _within(protocol.table(range(min(protocol.size, INPUTS))), epsilon)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("kind", [SymmetricUnaryEncoding, OptimalUnaryEncoding])
def test_unary_bits_keep_epsilon_whatever_the_domain(kind, epsilon):
    """Two values differ in two bits, so the worst ratio is a product of two, for every size."""
    protocol = kind(epsilon=epsilon, size=64)
    truth, noise = protocol.truth, protocol.noise
    worst = max(Fraction(truth, noise) * (1 - noise) / (1 - truth), Fraction(noise, truth) * (1 - truth) / (1 - noise))

    assert log_up(worst) <= exact(epsilon)
    assert float(log_up(worst)) >= epsilon * (1 - 1e-9)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_hashes_keep_epsilon_given_every_seed(epsilon):
    protocol = OptimalLocalHashing(epsilon=epsilon, size=64)
    lie = (1 - protocol.truth) / (protocol.order - 1)

    assert log_up(protocol.truth / lie) <= exact(epsilon)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(
    "protocol", [OneBitMean(epsilon=1), PiecewiseMean(epsilon=1, slots=12), HybridMean(epsilon=1, slots=9)]
)
def test_means_keep_epsilon_over_places_and_ends_and_need_it(protocol, epsilon):
    mean = replace(protocol, epsilon=epsilon)
    inputs = [Fraction(j, 16) - 1 for j in range(33)]
    found = mean.table(inputs)

    assert _within(found, epsilon)
    assert found.epsilon() >= epsilon * (1 - 1e-6)


def _laplace_loss(scale: Fraction) -> Fraction:
    """The largest ln Pr[report | one end] - ln Pr[report | other end] on the lattice, exactly."""
    return max((abs(z - STEPS) - abs(z)) / scale for z in range(-3 * STEPS, 3 * STEPS, STEPS // 8))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_laplace_reports_keep_epsilon_over_the_whole_interval(epsilon):
    assert _laplace_loss(LaplaceMean(epsilon=epsilon).scale) == exact(epsilon)


def test_half_of_the_sensitivity_is_caught():
    """Notes that scale the noise for [-1, 1] by 1 / epsilon lose twice epsilon: in likelihoods and in an audit."""
    honest, twin = LaplaceMean(epsilon=1), LaplaceMean(epsilon=2)  # the twin's scale is half the width over 1

    assert _laplace_loss(twin.scale) == 2
    assert twin.scale * 2 == honest.scale
    assert _audited(twin) > 1 >= _audited(honest)


def _audited(protocol) -> float:
    """A lower bound on epsilon, wrong with probability 2e-6 at most: how often reports reach the upper end."""
    hits = [
        int((protocol.client().report(np.full(AUDIT, end), rng=SeededRandom(1)) >= STEPS).sum()) for end in (1.0, -1.0)
    ]
    high, low = (binomtest(found, AUDIT).proportion_ci(1 - 2e-6) for found in hits)
    return math.log(high.low / low.high)


def test_a_probability_rounded_to_the_nearest_float_is_caught():
    twins = 0
    for epsilon in EPSILONS:
        for size in (3, 5, 6):
            p = Fraction(math.exp(epsilon) / (math.exp(epsilon) + size - 1))  # a float's own value
            law = {v: {x: p if x == v else (1 - p) / (size - 1) for x in range(size)} for v in range(size)}
            twin = FiniteMechanism(law, neighbours=[(0, 1), (1, 0)])
            twins += not _within(twin, epsilon)

    assert twins >= 3


@pytest.mark.parametrize("kind", [SymmetricUnaryEncoding, OptimalUnaryEncoding])
def test_a_bit_rounded_the_other_way_is_caught(kind):
    honest = kind(epsilon=1, size=3)
    noise = honest.noise - Fraction(1, 1 << WIDTH)
    truth = 1 - noise if kind is SymmetricUnaryEncoding else Fraction(1, 2)

    assert log_up(truth / noise * (1 - noise) / (1 - truth)) > 1


def test_noise_and_truth_exchanged_are_caught():
    """An own bit that is as rare as noise, and others that are as frequent as truth, cost more than epsilon."""
    honest = OptimalUnaryEncoding(epsilon=1, size=3)
    noise, truth = Fraction(1, 2), 1 - honest.noise / 2

    assert log_up(truth / noise * (1 - noise) / (1 - truth)) > 1


def test_a_seed_that_looks_at_the_value_is_caught():
    """Choosing the seed so that one's hash is 0 makes the seed tell the value."""
    protocol = OptimalLocalHashing(epsilon=1, size=6)
    seeds = np.arange(protocol.seeds)
    law = {}
    for value in range(6):
        kept = seeds[protocol.hashes(seeds, np.full(protocol.seeds, value)) == 0]
        law[value] = {int(seed): Fraction(1, len(kept)) for seed in kept}
    twin = FiniteMechanism(law, neighbours=[(a, b) for a in range(6) for b in range(a)])

    assert twin.ratio() == math.inf


@pytest.mark.parametrize("kind", ORACLES)
def test_nine_tenths_of_the_noise_is_caught(kind):
    twin = kind(epsilon=Fraction(10, 9), size=4)

    assert not _within(twin.table(), 1)


def test_the_coin_is_the_largest_on_its_grid():
    for epsilon in map(exact, EPSILONS):
        for inside, outside in [(1, 1), (1, 7), (5, 11)]:
            p = favoured(epsilon, inside=inside, outside=outside)

            assert p * outside <= exp_down(epsilon) * (1 - p) * inside
            above = p + Fraction(2, ONE)
            assert above * outside > exp_up(epsilon) * (1 - above) * inside


def test_coins_toss_exactly_their_words():
    """Word for word: below 2^64 p is a head, and nothing else is."""
    p = favoured(Fraction(1), inside=1, outside=1)
    level = int(p * ONE)

    class Words:
        def words(self, count):
            return np.array([0, level - 1, level, ONE - 1], dtype=np.uint64)

    assert coin_module.toss(p, 4, Words()).tolist() == [True, True, False, False]


def test_flips_lie_on_their_grid_from_above():
    for epsilon in map(exact, EPSILONS):
        noise = flip(epsilon)

        assert (noise * (1 << WIDTH)).denominator == 1
        assert (1 - noise) <= exp_down(epsilon) * noise
        below = noise - Fraction(1, 1 << WIDTH)
        assert (1 - below) > exp_down(epsilon) * below


def test_a_single_value_of_randomized_response_is_that_of_the_mechanism():
    from discreet.mechanisms import RandomizedResponse as Mechanism

    for epsilon in EPSILONS:
        ours = RandomizedResponse(epsilon=epsilon, size=2)

        assert float(ours.truth) == pytest.approx(Mechanism(epsilon=epsilon).truth, rel=1e-15)
