"""discreet.local.memoised: each claim in the module docstring, in order."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from discreet.errors import BudgetExhausted, ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.local import (
    HadamardResponse,
    HierarchicalRanges,
    HybridMean,
    LaplaceMean,
    Memoised,
    OneBitMean,
    OptimalLocalHashing,
    OptimalUnaryEncoding,
    PiecewiseMean,
    ProjectiveGeometryResponse,
    RandomizedResponse,
    SampledThresholds,
    run,
)
from discreet.privacy.enclosure import exp_up, log_up
from tests.scale import counts

N = counts(quick=60_000, full=1_000_000)
RUNS = counts(quick=150, full=1_000)
AFFINE = [
    RandomizedResponse(epsilon=2, size=4),
    HadamardResponse(epsilon=2, size=5),
    HadamardResponse(epsilon=4, size=20),
    OptimalLocalHashing(epsilon=2, size=5),
    ProjectiveGeometryResponse(epsilon=2, size=7),
    OneBitMean(epsilon=2),
    PiecewiseMean(epsilon=8, slots=16),
]


def _life(protocol: Memoised, values: tuple[int, ...], reports: int) -> dict:
    """The exact law of all that a device sends: `reports` reports in each period, values at their beginnings."""
    codes = range(protocol.form.limit)
    teller = {b: protocol.teller.law(b) for b in codes}

    def period(value: int) -> dict:
        permanent = protocol.protocol.law(value)
        return {
            sent: sum(
                (permanent[b] * math.prod((teller[b][z] for z in sent), start=Fraction(1)) for b in codes), Fraction(0)
            )
            for sent in product(codes, repeat=reports)
        }

    law = {(): Fraction(1)}
    for value in values:
        one = period(value)
        law = {before + sent: p * q for before, p in law.items() for sent, q in one.items()}
    return law


def _loss(one: dict, other: dict) -> Fraction:
    return max(max(one[t] / other[t], other[t] / one[t]) for t in one)


@pytest.mark.parametrize("reports", [1, 2, 4])
def test_any_number_of_reports_in_a_period_costs_no_more_than_the_permanent_one(reports):
    protocol = Memoised(RandomizedResponse(epsilon=1, size=2), instant=2)
    loss = _loss(_life(protocol, (0,), reports), _life(protocol, (1,), reports))

    assert loss <= exp_up(Fraction(1))
    assert log_up(loss) > Fraction(7, 10)
    assert protocol.lifetime().epsilon == 1


def test_a_whole_life_costs_the_periods_and_tends_to_all_of_them():
    protocol = Memoised(RandomizedResponse(epsilon=1, size=2), instant=3, periods=2)
    lives = {values: _life(protocol, values, 3) for values in product((0, 1), repeat=2)}
    worst = max(_loss(one, other) for one in lives.values() for other in lives.values())

    assert log_up(worst) <= 2 == protocol.lifetime().epsilon
    assert log_up(worst) > Fraction(19, 10)


def test_the_twin_that_draws_again_on_every_report_loses_as_many_epsilons():
    """Fresh permanent reports each day: three reports cost three times one."""
    protocol = Memoised(RandomizedResponse(epsilon=1, size=2), instant=2)
    zero, one = protocol.law(0), protocol.law(1)
    once = max(zero[z] / one[z] for z in zero)

    assert log_up(once**3) > 1
    assert log_up(_loss(_life(protocol, (0,), 3), _life(protocol, (1,), 3))) <= 1


def test_the_twin_that_draws_when_the_value_changes_shows_that_it_changed():
    """A value that alternates uses two memories, a constant one uses one: no bound by the two permanent epsilons."""
    protocol = Memoised(RandomizedResponse(epsilon="0.1", size=2), instant=6)
    codes, permanent = range(2), {v: protocol.protocol.law(v) for v in range(2)}
    teller = {b: protocol.teller.law(b) for b in codes}

    def remembered(values: tuple[int, ...]) -> dict:
        law = {}
        for sent in product(codes, repeat=len(values)):
            law[sent] = sum(
                (
                    permanent[0][b0]
                    * permanent[1][b1]
                    * math.prod((teller[(b0, b1)[v]][z] for v, z in zip(values, sent, strict=True)), start=Fraction(1))
                    for b0, b1 in product(codes, repeat=2)
                ),
                Fraction(0),
            )
        return law

    assert log_up(_loss(remembered((0, 1, 0, 1)), remembered((0, 0, 0, 0)))) > 10 * Fraction(2, 10)


def test_one_report_alone_costs_what_the_law_says():
    protocol = Memoised(RandomizedResponse(epsilon=2, size=3), instant=1)
    zero, one = protocol.law(0), protocol.law(1)

    assert sum(zero.values()) == 1
    assert protocol.once() == pytest.approx(math.log(max(zero[z] / one[z] for z in zero)))
    assert protocol.once() < 1


@pytest.mark.parametrize("inner", AFFINE, ids=repr)
def test_estimates_are_unbiased_exactly_and_no_more_variable_than_stated(inner):
    """Over the law itself, for every value."""
    protocol = Memoised(inner, instant=1)
    codes = np.arange(protocol.form.limit)
    single = np.array([np.atleast_1d(protocol.decode(protocol.tally(codes[c : c + 1]), 1)) for c in codes])
    for value in protocol.inputs():
        chances = np.array([float(protocol.law(value)[int(c)]) for c in codes])
        truth = np.array([float(value)]) if isinstance(inner, OneBitMean | PiecewiseMean) else np.eye(inner.size)[value]
        variance = chances @ (single - truth) ** 2

        assert chances @ single == pytest.approx(truth, abs=1e-8)
        assert variance.max() <= protocol.variance(1) * (1 + 1e-9)


def _misses(protocol: Memoised, values, truth, bound) -> float:
    random, missed = SeededRandom(11), 0.0
    for _ in range(RUNS):
        server = run(protocol, values, rng=random)
        missed += np.mean(np.abs(server.estimate() - truth) > bound(server))
    return missed / RUNS


@pytest.mark.statistical
@pytest.mark.parametrize("inner", AFFINE, ids=repr)
def test_errors_hold_at_one_in_twenty(inner):
    """Each number alone, over runs: one miss in twenty at most, and six deviations of the share for chance."""
    protocol = Memoised(inner, instant=0.5)
    mean = isinstance(inner, OneBitMean | PiecewiseMean)
    values = np.tile([-1.0, 1.0, 0.5, 0.0], 250) if mean else np.arange(1000) % 3
    truth = values.mean() if mean else np.bincount(values, minlength=inner.size) / 1000

    assert _misses(protocol, values, truth, lambda server: server.error(0.05)) <= 0.05 + 6 * math.sqrt(0.0475 / RUNS)


@pytest.mark.statistical
def test_the_twin_that_uses_the_variance_of_permanent_reports_misses():
    inner = PiecewiseMean(epsilon=8, slots=16)
    protocol = Memoised(inner, instant=0.5)
    values = np.tile([-1.0, 1.0, 0.5, 0.0], 250)

    def narrow(server) -> float:
        return inner.bound(server._tally, server.n, 0.05) / protocol.gamma

    assert _misses(protocol, values, values.mean(), narrow) > 0.3


def test_estimates_that_are_not_affine_in_the_counts_are_refused():
    for kind in (
        HierarchicalRanges(epsilon=1, size=16),
        SampledThresholds(epsilon=1, size=16),
        HybridMean(epsilon=1, slots=16),
        Memoised(RandomizedResponse(epsilon=1, size=2), instant=1),
    ):
        with pytest.raises(UnsupportedError, match="affine"):
            Memoised(kind, instant=1)


@pytest.mark.statistical
def test_errors_hold_and_memory_makes_days_alike():
    """Intervals at 1e-6; two days of one period agree more than two periods do."""
    protocol = Memoised(RandomizedResponse(epsilon=1, size=3), instant=4, periods=2)
    values = np.arange(N) % 3
    devices = protocol.devices(rng=SeededRandom(3))
    devices.begin(values)
    days = [devices.report() for _ in range(2)]
    devices.begin(values)
    later = devices.report()
    server = protocol.server()
    server.add(days[0])

    assert (np.abs(server.estimate() - 1 / 3) <= server.error(1e-6)).all()
    assert (days[0] == days[1]).mean() > 0.8
    assert (days[0] == later).mean() < 0.6
    assert run(protocol, values, rng=SeededRandom(1)).n == N


def test_a_device_reports_from_memory_and_stops_after_its_periods():
    protocol = Memoised(RandomizedResponse(epsilon=1, size=2), instant=1, periods=1)
    devices = protocol.devices(rng=SeededRandom(1))
    with pytest.raises(ParameterError, match="a period that has begun"):
        devices.report()
    devices.begin([0, 1])
    devices.report()
    with pytest.raises(BudgetExhausted):
        devices.begin([0, 1])
    assert devices.begun == 1


def test_bad_parameters_are_refused_and_other_kinds_of_reports():
    inner = RandomizedResponse(epsilon=1, size=2)
    for bad in ({"instant": 0}, {"instant": math.nan}, {"periods": 0}, {"periods": True}, {"periods": 1.5}):
        with pytest.raises(ParameterError):
            Memoised(inner, **{"instant": 1, "periods": 1, **bad})
    for kind in (OptimalUnaryEncoding(epsilon=1, size=3), LaplaceMean(epsilon=1)):
        with pytest.raises(UnsupportedError, match="permanent reports must be"):
            Memoised(kind, instant=1)
    assert Memoised(inner, instant=1).fingerprint() != Memoised(inner, instant=2).fingerprint()
    assert Memoised(inner, instant=1).event().epsilon == 1
