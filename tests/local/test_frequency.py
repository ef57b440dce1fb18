"""discreet.local: the claims of every frequency oracle, over all of them."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2, chisquare

from discreet.errors import ParameterError
from discreet.hazmat.entropy import SeededRandom
from discreet.local import (
    HadamardResponse,
    OptimalLocalHashing,
    OptimalUnaryEncoding,
    ProjectiveGeometryResponse,
    RandomizedResponse,
    SubsetSelection,
    SymmetricUnaryEncoding,
    run,
)
from discreet.local.frequency import spread
from tests.local.protocols import ORACLES, named, tally_of
from tests.scale import counts

DRAWS = counts(quick=20_000, full=200_000)
RUNS = counts(quick=4, full=50)
ZIPF = np.random.default_rng(0).zipf(1.5, counts(quick=100_000, full=200_000)) % 1024


@pytest.mark.parametrize("epsilon", [0.5, 1, 3])
@pytest.mark.parametrize("kind", ORACLES)
@pytest.mark.parametrize("size", [2, 5, 6])
def test_the_estimate_is_unbiased_by_its_law(kind, size, epsilon):
    """The mean over the law of what one report says is the indicator of the value, for every value."""
    protocol = kind(epsilon=epsilon, size=size)
    said = {name: protocol.decode(tally_of(protocol, name), 1) for name in protocol.law(0)}
    for value in range(size):
        mean = sum(float(chance) * said[name] for name, chance in protocol.law(value).items())

        assert mean == pytest.approx(np.eye(size)[value], abs=1e-9)


@pytest.mark.parametrize("kind", [kind for kind in ORACLES if kind is not HadamardResponse])
def test_the_variance_is_that_of_the_law(kind):
    protocol = kind(epsilon=1, size=5)
    said = {name: protocol.decode(tally_of(protocol, name), 1)[2] for name in protocol.law(0)}

    for value, fraction in [(2, 1.0), (3, 0.0)]:
        law = protocol.law(value)
        second = sum(float(chance) * said[name] ** 2 for name, chance in law.items())
        assert second - fraction == pytest.approx(protocol.variance(1, fraction=fraction), rel=1e-9)


@pytest.mark.parametrize(("epsilon", "size", "blocks"), [(1, 31, 1), (2, 28, 4), (4, 96, 32)])
def test_the_variance_of_hadamard_blocks_is_that_of_the_law_where_blocks_are_equally_full(epsilon, size, blocks):
    protocol = HadamardResponse(epsilon=epsilon, size=size)
    full = [x for x in range(size) if x != 1]
    shares = Counter(x // (protocol.columns - 1) for x in full)
    weight = {x: 1 / shares[x // (protocol.columns - 1)] / blocks for x in full}  # every block alike
    said = {name: protocol.decode(tally_of(protocol, name), 1)[1] for name in protocol.law(0)}
    second = sum(weight[x] * float(chance) * said[name] ** 2 for x in full for name, chance in protocol.law(x).items())

    assert (protocol.blocks, blocks * (protocol.columns - 1)) == (blocks, size)
    assert second == pytest.approx(protocol.variance(1), rel=1e-9)


def test_variances_are_the_published_ones():
    """Per user, for a rare value: SUE, OUE, hashing and subsets at epsilon 1 and 4."""
    table = {
        SymmetricUnaryEncoding: (3.9177, 0.18102),
        OptimalUnaryEncoding: (3.6827, 0.07602),
        OptimalLocalHashing: (3.6917, 0.07602),
        SubsetSelection: (3.6733, 0.07387),
    }
    for kind, wanted in table.items():
        for epsilon, value in zip((1, 4), wanted, strict=True):
            assert kind(epsilon=epsilon, size=1000).variance(1) == pytest.approx(value, rel=1e-3)

    assert RandomizedResponse(epsilon=1, size=10).variance(1) == pytest.approx(3.63025, rel=1e-5)
    assert RandomizedResponse(epsilon=1, size=1000).variance(1) == pytest.approx(338.94, rel=1e-4)
    assert HadamardResponse(epsilon=1, size=1000).variance(1) == pytest.approx(1 / math.tanh(0.5) ** 2, rel=1e-9)


def test_projective_geometry_is_as_good_as_unary_encoding_with_log_k_bits():
    for epsilon in (0.5, 1, 2, 4):
        geometry, unary = (
            kind(epsilon=epsilon, size=1000) for kind in (ProjectiveGeometryResponse, OptimalUnaryEncoding)
        )

        assert geometry.variance(1) <= 1.06 * unary.variance(1)
        assert geometry.bits <= 13


@pytest.mark.statistical
@pytest.mark.parametrize("kind", ORACLES)
@pytest.mark.parametrize(("size", "epsilon"), [(5, 1), (6, 3)])
def test_reports_follow_their_law(kind, size, epsilon):
    protocol = kind(epsilon=epsilon, size=size)
    for value in (0, size - 1):
        seen = Counter(named(protocol, protocol.client().report(np.full(DRAWS, value), rng=SeededRandom(value))))
        law = protocol.law(value)

        assert set(seen) <= set(law)
        assert _p_value(seen, law) > 1e-6


def _p_value(seen, law) -> float:
    """Chi-squared, with rare reports put together."""
    total = sum(seen.values())
    common = [name for name, chance in law.items() if chance * total >= 5]
    expected = np.array([float(law[name]) * total for name in common])
    observed = np.array([seen[name] for name in common], dtype=float)
    rest = total - expected.sum()
    if rest > 5:
        expected, observed = np.append(expected, rest), np.append(observed, total - observed.sum())
    elif rest > 0:
        expected *= observed.sum() / expected.sum()
    return float(chisquare(observed, expected).pvalue)


@pytest.mark.statistical
@pytest.mark.parametrize("kind", ORACLES)
def test_a_sampler_with_nine_tenths_of_the_noise_is_caught(kind):
    honest, twin = kind(epsilon=1, size=5), kind(epsilon=Fraction(10, 9), size=5)
    runs = 200_000
    seen = Counter(named(twin, twin.client().report(np.full(runs, 2), rng=SeededRandom(1))))

    assert set(seen) - set(honest.law(2)) or _p_value(seen, honest.law(2)) < 1e-6


@pytest.mark.statistical
@pytest.mark.parametrize("kind", ORACLES)
def test_the_mean_squared_error_is_the_predicted_one(kind):
    """Over all 1,024 values; the standard error of the mean of RUNS runs is at most 7 % / sqrt(RUNS)."""
    protocol = kind(epsilon=1, size=1024)
    truth = np.bincount(ZIPF, minlength=1024) / len(ZIPF)
    predicted = np.mean([protocol.variance(len(ZIPF), fraction=f) for f in truth])
    found = np.mean([np.mean((run(protocol, ZIPF).estimate() - truth) ** 2) for _ in range(RUNS)])

    assert found / predicted == pytest.approx(1, abs=0.05 if RUNS >= 50 else 0.25)


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [0.5, 4])
@pytest.mark.parametrize("kind", ORACLES)
def test_errors_hold_for_at_least_the_stated_share_of_values_and_are_not_loose(kind, epsilon):
    protocol = kind(epsilon=epsilon, size=256)
    values = np.random.default_rng(3).zipf(1.3, 50_000) % 256
    truth = np.bincount(values, minlength=256) / len(values)
    server = run(protocol, values)
    off, bound = np.abs(server.estimate() - truth), server.error(0.05)

    assert (off > bound).mean() <= 0.05  # in truth about one in a hundred: the bound is Chernoff's
    assert np.median(bound) <= 2 * 2.72 * math.sqrt(protocol.variance(len(values)))


@pytest.mark.parametrize("kind", ORACLES)
def test_errors_of_a_handful_of_users_hold_for_every_report(kind):
    """A few users of one value: by the law of their tally, the error exceeds the bound with less than beta."""
    protocol = kind(epsilon=2, size=3)
    law = protocol.law(1)
    users = 3 if len(law) < 20 else 2
    tallies: dict[bytes, float] = {np.zeros(protocol.cells, dtype=np.int64).tobytes(): 1.0}
    ones = {name: tally_of(protocol, name) for name in law}
    for _ in range(users):
        more: dict[bytes, float] = {}
        for state, weight in tallies.items():
            for name, chance in law.items():
                key = (np.frombuffer(state, dtype=np.int64) + ones[name]).tobytes()
                more[key] = more.get(key, 0.0) + weight * float(chance)
        tallies = more
    missed = np.zeros(3)
    for state, weight in tallies.items():
        tally = np.frombuffer(state, dtype=np.int64)
        off = np.abs(protocol.decode(tally, users) - np.eye(3)[1])
        missed += weight * (off > protocol.bound(tally, users, 0.2) + 1e-12)

    assert missed.max() <= 0.2


@pytest.mark.parametrize("kind", ORACLES)
@pytest.mark.parametrize("bad", [np.array([0.0]), np.array([True]), [[1, 2]], np.array(["a"]), 5])
def test_what_holds_no_integers_is_refused(kind, bad):
    with pytest.raises(ParameterError):
        kind(epsilon=1, size=5).client().report(bad)


@pytest.mark.parametrize("kind", ORACLES)
def test_a_value_outside_the_domain_is_reported_as_the_nearest_and_none_as_the_first(kind):
    held = kind(epsilon=1, size=5).checked([7, -1, 2**70, None, float("nan"), 3])

    assert held.tolist() == [4, 0, 4, 0, 0, 3]


@pytest.mark.parametrize("kind", ORACLES)
@pytest.mark.parametrize(
    "bad",
    [
        {"epsilon": 0},
        {"epsilon": -1},
        {"epsilon": math.nan},
        {"epsilon": math.inf},
        {"epsilon": True},
        {"size": 1},
        {"size": 2.0},
        {"size": True},
    ],
)
def test_bad_parameters_are_refused_before_anything_is_drawn(kind, bad):
    with pytest.raises(ParameterError):
        kind(**{"epsilon": 1, "size": 4} | bad)


def test_an_epsilon_too_small_for_the_coins_is_refused():
    with pytest.raises(ParameterError, match="64-bit coins"):
        RandomizedResponse(epsilon=1e-30, size=2).client().report([1])
    with pytest.raises(ParameterError, match="48-bit coins"):
        OptimalUnaryEncoding(epsilon=1e-30, size=2).client().report([1])


@pytest.mark.parametrize("kind", ORACLES)
def test_a_huge_epsilon_tells_the_truth(kind):
    protocol = kind(epsilon=60, size=4)
    assert protocol.privacy().epsilon == 60
    values = np.arange(400) % 4
    estimate = run(protocol, values).estimate()

    assert estimate == pytest.approx(np.full(4, 0.25), abs=0.15)
    if kind not in (OptimalUnaryEncoding,):
        assert estimate == pytest.approx(np.full(4, 0.25), abs=1e-3)


def test_the_predicted_spread_is_that_of_its_definition():
    """k-ary randomized response: one output favoured of k, none in common."""
    assert spread(1.0, inside=1, both=0, outside=9) == pytest.approx(3.63025, rel=1e-5)


def test_the_law_of_chi_squared_is_the_one_meant():
    assert chi2.sf(30, 4) < 1e-5  # the statistic above rejects what is this far off
