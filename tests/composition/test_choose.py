"""discreet.composition.choose: the least that applies, and the least noise from the private side."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet.composition import advanced, basic, best, calibrate, concentrated, numerical, optimal
from discreet.composition.choose import every
from discreet.errors import ParameterError, UnsupportedError
from discreet.privacy import ZCDP, ApproxDP, GaussianDP, PureDP, RenyiDP, Replace
from discreet.privacy.event import ExponentialEvent, GaussianEvent, LaplaceEvent, RepeatedEvent

LISTS = [
    [PureDP("0.1")] * 100,
    [PureDP("0.5")] * 3,
    [ApproxDP("0.1", "1e-9")] * 50,
    [ExponentialEvent(epsilon="0.1")] * 100,
    [GaussianEvent(sigma=20, sensitivity=1)] * 30,
    [LaplaceEvent(scale=50, sensitivity=5)] * 40 + [GaussianEvent(sigma=20, sensitivity=1)],
    [ZCDP("0.01"), PureDP("0.1")],
    [GaussianDP("0.1")] * 20,
]


@pytest.mark.parametrize("items", LISTS, ids=lambda items: f"{len(items)} x {items[0]!r}")
def test_best_is_never_worse_than_any_single_one(items):
    found, methods = best(items, 1e-6), every(items, 1e-6)

    assert methods
    assert all(found.epsilon <= other.epsilon for other in methods.values())
    assert found.epsilon in [other.epsilon for other in methods.values()]


def test_best_finds_each_method_where_it_wins():
    winners = {min(every(items, 1e-6).items(), key=lambda pair: pair[1].epsilon)[0] for items in LISTS}

    assert {"optimal", "concentrated", "numerical"} <= winners
    assert basic([PureDP(1)] * 2).to_approx(1e-6).epsilon >= best([PureDP(1)] * 2, 1e-6).epsilon


def test_best_keeps_the_relation_and_refuses_what_nothing_covers():
    assert best([PureDP(1, neighbours=Replace)], 1e-6).neighbours is Replace
    with pytest.raises(UnsupportedError):
        best([RenyiDP(2, 1)], 1e-6)
    with pytest.raises(ParameterError, match="own deltas"):
        best([ApproxDP(1, 1e-6)] * 3, 1e-6)
    with pytest.raises(ParameterError, match="0 < delta < 1"):
        best([PureDP(1)], 0)


def queries(scale: float) -> RepeatedEvent:
    return RepeatedEvent(event=LaplaceEvent(scale=scale, sensitivity=1), count=100)


@pytest.mark.parametrize(("by", "largest"), [(optimal, 0.024011), (advanced, 0.018692)])
def test_a_hundred_laplace_queries_get_the_largest_valid_epsilon(by, largest):
    scale = calibrate(queries, ApproxDP(1.0, 1e-6), by=by, tolerance=1e-9)

    assert 1 / scale == pytest.approx(largest, abs=1e-6)
    assert by([queries(scale)], 1e-6).epsilon <= 1
    assert by([queries(scale * (1 - 1e-8))], 1e-6).epsilon > 1


def test_the_discrete_gaussian_is_calibrated_on_its_own_law():
    sigma = calibrate(
        lambda s: GaussianEvent(sigma=s, sensitivity=1), ApproxDP(1.0, 1e-6), by=numerical, tolerance=1e-5
    )

    assert sigma == pytest.approx(4.2308, abs=2e-4)
    assert numerical([GaussianEvent(sigma=sigma, sensitivity=1)], 1e-6).epsilon <= 1


@pytest.mark.parametrize(
    ("make", "target", "least"),
    [
        (lambda b: LaplaceEvent(scale=b, sensitivity=3), PureDP("0.1"), 30),
        (lambda s: GaussianEvent(sigma=s, sensitivity=1), ZCDP("0.125"), 2),
        (lambda s: GaussianDP(1 / Fraction(s)), GaussianDP("0.25"), 4),
    ],
)
def test_every_currency_can_be_a_target(make, target, least):
    found = calibrate(make, target, tolerance=1e-9)

    assert least <= found <= least * (1 + 1e-8)


def test_a_target_no_noise_meets_is_refused():
    with pytest.raises(ParameterError, match="some noise meets"):
        calibrate(lambda _: PureDP(1), PureDP("0.5"))
    with pytest.raises(ParameterError, match="some noise misses"):
        calibrate(lambda _: PureDP("0.1"), PureDP("0.5"))
    with pytest.raises(ParameterError, match="start > 0"):
        calibrate(queries, PureDP(1), start=0)


def test_best_of_concentrated_items_is_concentrated():
    assert best([ZCDP("0.5")], 1e-6).epsilon == concentrated([ZCDP("0.5")], 1e-6).epsilon
