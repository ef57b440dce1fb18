"""discreet.local.choose: every protocol for the task, the best first, and why."""

from __future__ import annotations

import pytest

from discreet.errors import ParameterError
from discreet.local import (
    HierarchicalRanges,
    HybridMean,
    OneBitMean,
    PrivUnit,
    RandomizedResponse,
    SampledThresholds,
    choose,
)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("size", [2, 10, 1024])
def test_the_chosen_one_is_within_a_percent_of_the_least_error(epsilon, size):
    found = choose("frequency", epsilon=epsilon, size=size, n=10_000)
    least = min(c.error for c in found.candidates)
    near = [c for c in found.candidates if c.error <= 1.01 * least]

    assert found.candidates[0].error <= 1.01 * least
    assert found.candidates[0].bits == min(c.bits for c in near)
    assert len(found.candidates) == 7


def test_predictions_are_those_of_the_protocols():
    for c in choose("frequency", epsilon=1.0, size=100, n=5_000).candidates:
        assert c.error**2 == pytest.approx(c.protocol.variance(5_000))
        assert c.bits == c.protocol.bits


def test_the_known_winners_win():
    assert choose("frequency", epsilon=2.0, size=4, n=100).protocol == RandomizedResponse(epsilon=2.0, size=4)
    assert isinstance(choose("mean", epsilon=0.5, n=100).protocol, OneBitMean)
    assert isinstance(choose("mean", epsilon=2.0, n=100).protocol, HybridMean)
    assert isinstance(choose("vector", epsilon=4.0, size=50, n=100).protocol, PrivUnit)


@pytest.mark.parametrize(("epsilon", "winner"), [(0.5, SampledThresholds), (4.0, HierarchicalRanges)])
def test_running_counts_have_their_own_candidates(epsilon, winner):
    found = choose("cdf", epsilon=epsilon, size=1024, n=10_000)

    assert isinstance(found.protocol, winner)
    assert {c.name for c in found.candidates} == {"SampledThresholds", "HierarchicalRanges", "LocalFactorization"}
    for c in found.candidates:
        assert c.error**2 == pytest.approx(c.protocol.variance(10_000))
        assert c.bits == c.protocol.bits
    assert str(found).startswith("cdf of 1,024 values")
    assert "not LocalFactorization: a report would take" in str(choose("cdf", epsilon=epsilon, size=4096, n=100))


def test_the_table_says_what_was_chosen_and_why_others_are_out():
    text = str(choose("frequency", epsilon=1.0, size=1 << 20, n=1_000_000))

    assert text.count("->") == 1
    assert "not OptimalUnaryEncoding: a report would take 1,048,576 bits" in text
    assert "error" in text
    assert repr(choose("mean", epsilon=1.0, n=10)).startswith("mean, epsilon = 1.0, n = 10")


@pytest.mark.parametrize("bad", [{"task": "median"}, {"epsilon": 0}, {"n": 0}, {"n": 2.0}, {"size": 1}])
def test_bad_questions_are_refused(bad):
    with pytest.raises(ParameterError):
        choose(**{"task": "frequency", "epsilon": 1.0, "n": 10, "size": 4} | bad)
