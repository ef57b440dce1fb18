"""discreet.composition.odometer: valid at all times at once."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from discreet.composition import Odometer, concentrated
from discreet.composition.odometer import ORDERS
from discreet.errors import ParameterError, UnsupportedError
from discreet.privacy import AddRemove, ApproxDP, PureDP, Replace
from discreet.privacy.event import ApproxEvent, GaussianEvent


def test_the_reading_is_the_least_line_or_the_sum():
    odometer = Odometer(delta=1e-6)
    odometer.record(PureDP("0.1"))

    assert odometer.reading == ApproxDP(0.1, 1e-6)
    for _ in range(399):
        odometer.record(PureDP("0.1"))
    lines = [float(a) * 2 + math.log(len(ORDERS) * 1e6) / float(a - 1) for a in ORDERS]
    assert odometer.reading.epsilon == pytest.approx(min(lines), rel=1e-12)
    assert odometer.pure == PureDP(40)


def test_the_price_of_reading_at_all_times_is_modest():
    """At most a third more than a conversion with the stopping time known in advance."""
    odometer = Odometer(delta=1e-6)
    for rho_steps in range(1, 400):
        odometer.record(GaussianEvent(sigma=10, sensitivity=1))
        if rho_steps in (1, 10, 399):
            fixed = float(concentrated([GaussianEvent(sigma=10, sensitivity=1)] * rho_steps, 1e-6).epsilon)
            assert fixed < odometer.reading.epsilon < 1.35 * fixed


def exceedance(choose, steps: int, delta: float) -> float:
    """Pr over P that some reading along the way is below the loss, by enumerating all transcripts."""

    def walk(transcript: tuple[int, ...], loss: float, odometer_items: tuple[Fraction, ...], mass: float) -> float:
        odometer = Odometer(delta=delta)
        for item in odometer_items:
            odometer.record(PureDP(item))
        if odometer_items and loss > float(odometer.reading.epsilon) + 1e-12:
            return mass
        if len(transcript) == steps:
            return 0.0
        epsilon = choose(transcript)
        p = 1 / (1 + math.exp(-float(epsilon)))
        up = walk((*transcript, 1), loss + float(epsilon), (*odometer_items, epsilon), mass * p)
        return up + walk((*transcript, 0), loss - float(epsilon), (*odometer_items, epsilon), mass * (1 - p))

    return walk((), 0.0, (), 1.0)


@pytest.mark.parametrize("delta", [0.3, 0.9])
def test_no_adaptive_choice_makes_a_reading_fail_more_often_than_delta(delta):
    def bold(transcript: tuple[int, ...]) -> Fraction:
        return Fraction(3) if transcript and transcript[-1] else Fraction(1, 10)

    def timid(transcript: tuple[int, ...]) -> Fraction:
        return Fraction(2) if sum(transcript) < len(transcript) / 2 else Fraction(1, 2)

    for choose in (bold, timid):
        assert exceedance(choose, 8, delta) <= delta


def test_forgetting_to_split_delta_over_the_orders_reads_too_low():
    """The broken twin has no union over orders: its reading is below ours by ln J / (order - 1)."""
    odometer = Odometer(delta=1e-6)
    odometer.record(GaussianEvent(sigma=1, sensitivity=1))
    twin = min(float(a) / 2 + math.log(1e6) / float(a - 1) for a in ORDERS)

    assert twin < float(odometer.reading.epsilon)


def test_own_deltas_add_to_the_probability_of_failure():
    odometer = Odometer(delta="1e-6")
    odometer.record(ApproxEvent(epsilon="0.1", delta="1e-6"))

    assert odometer.reading == ApproxDP(0.1, 2e-6)
    with pytest.raises(UnsupportedError, match="no pure epsilon"):
        _ = odometer.pure
    odometer.record(ApproxEvent(epsilon="0.1", delta="0.999999"))
    with pytest.raises(UnsupportedError, match="no guarantee is left"):
        _ = odometer.reading


def test_relations_are_never_mixed_and_delta_is_checked():
    odometer = Odometer(delta=1e-6, neighbours=Replace)

    with pytest.raises(UnsupportedError, match="never mixed"):
        odometer.record(PureDP(1, neighbours=AddRemove))
    with pytest.raises(ParameterError, match="0 < delta < 1"):
        Odometer(delta=0)
