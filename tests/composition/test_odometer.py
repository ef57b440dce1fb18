"""discreet.composition.odometer: valid at all times at once."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from discreet.composition import Odometer, concentrated
from discreet.composition.odometer import ORDERS
from discreet.composition.price import price
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
    """At most two fifths more than a conversion with the stopping time known in advance."""
    odometer = Odometer(delta=1e-6)
    for rho_steps in range(1, 400):
        odometer.record(GaussianEvent(sigma=10, sensitivity=1))
        if rho_steps in (1, 10, 399):
            fixed = float(concentrated([GaussianEvent(sigma=10, sensitivity=1)] * rho_steps, 1e-6).epsilon)
            assert fixed < odometer.reading.epsilon < 1.4 * fixed


def honest(items: tuple[Fraction, ...], delta: float) -> float:
    odometer = Odometer(delta=delta)
    for item in items:
        odometer.record(PureDP(item))
    return float(odometer.reading.epsilon)


def exceedance(choose, steps: int, delta: float, reading=honest) -> float:
    """Pr over P that some reading along the way is below the loss, by enumerating all transcripts."""

    def walk(transcript: tuple[int, ...], loss: float, items: tuple[Fraction, ...], mass: float) -> float:
        if items and loss > reading(items, delta) + 1e-12:
            return mass
        if len(transcript) == steps:
            return 0.0
        epsilon = choose(transcript)
        p = 1 / (1 + math.exp(-float(epsilon)))
        up = walk((*transcript, 1), loss + float(epsilon), (*items, epsilon), mass * p)
        return up + walk((*transcript, 0), loss - float(epsilon), (*items, epsilon), mass * (1 - p))

    return walk((), 0.0, (), 1.0)


def bold(transcript: tuple[int, ...]) -> Fraction:
    return Fraction(3) if transcript and transcript[-1] else Fraction(1, 10)


def timid(transcript: tuple[int, ...]) -> Fraction:
    return Fraction(2) if sum(transcript) < len(transcript) / 2 else Fraction(1, 2)


@pytest.mark.parametrize("delta", [0.3, 0.9])
@pytest.mark.parametrize("choose", [bold, timid])
def test_no_adaptive_choice_makes_a_reading_fail_more_often_than_delta(choose, delta):
    assert exceedance(choose, 8, delta) <= delta


def test_reading_the_expected_loss_instead_is_caught():
    """The broken twin reports the drift, sum epsilon tanh(epsilon / 2), without a deviation."""

    def twin(items: tuple[Fraction, ...], _: float) -> float:
        return sum(float(e) * math.tanh(float(e) / 2) for e in items)

    assert exceedance(timid, 8, 0.3, twin) > 0.3


def test_own_deltas_add_to_the_probability_of_failure():
    odometer = Odometer(delta="1e-6")
    odometer.record(ApproxEvent(epsilon="0.1", delta="1e-6"))

    assert odometer.reading == ApproxDP(0.1, 2e-6)
    with pytest.raises(UnsupportedError, match="no pure epsilon"):
        _ = odometer.pure
    odometer.record(ApproxEvent(epsilon="0.1", delta="0.999999"))
    with pytest.raises(UnsupportedError, match="no guarantee is left"):
        _ = odometer.reading


def test_what_is_recorded_while_another_is_priced_counts(monkeypatch):
    """As two threads would: one record begins and ends while the price of another is worked out."""
    odometer = Odometer(delta="1e-6")
    others = [PureDP(1)]

    def slow_price(item):
        if others:
            odometer.record(others.pop())
        return price(item)

    monkeypatch.setattr("discreet.composition.odometer.price", slow_price)
    odometer.record(PureDP(2))

    assert odometer.pure == PureDP(3)


def test_relations_are_never_mixed_and_delta_is_checked():
    odometer = Odometer(delta=1e-6, neighbours=Replace)

    with pytest.raises(UnsupportedError, match="never mixed"):
        odometer.record(PureDP(1, neighbours=AddRemove))
    with pytest.raises(ParameterError, match="0 < delta < 1"):
        Odometer(delta=0)
