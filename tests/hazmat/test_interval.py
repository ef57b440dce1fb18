"""discreet.hazmat.interval: every bracket holds its number, and is narrow."""

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.hazmat import interval
from discreet.hazmat.interval import exp_bounds, log_bounds, tan_bounds

precisions = st.integers(min_value=8, max_value=300)
wide = st.integers(min_value=1, max_value=10**60)
positive = st.builds(Fraction, wide, wide)
exponents = st.builds(lambda a, b: Fraction(a % (200 * b), b), wide, wide)
quarters = st.builds(lambda a, b: Fraction(a % (b + 1), 2 * b), wide, wide)

CASES = [
    (log_bounds, mpmath.log, positive),
    (exp_bounds, mpmath.exp, exponents),
    (tan_bounds, lambda x: mpmath.tan(mpmath.pi * x / 2), quarters),
]


def true_value(function, x, bits):
    with mpmath.workprec(2 * bits + 1200):
        return function(mpmath.mpf(x.numerator) / x.denominator) * mpmath.mpf(2) ** bits


@pytest.mark.parametrize(("bounds", "function", "arguments"), CASES, ids=["log", "exp", "tan"])
def test_the_bracket_holds_the_number_and_is_at_most_two_wide(bounds, function, arguments):
    @given(arguments, precisions)
    def check(x, bits):
        low, high = bounds(x, bits)

        assert low <= true_value(function, x, bits) <= high
        assert high - low <= 2

    check()


def holds_without_guard_bits():
    """Whether all brackets hold when no spare bit hides a wrong rounding; they may then be wide."""
    cases = [Fraction(k, 97) for k in range(1, 49)]
    return all(
        low <= true_value(function, x, bits) <= high
        for bounds, function, _ in CASES
        for x in cases
        for bits in (12, 13, 40)
        for low, high in [bounds(x, bits)]
    )


@pytest.fixture
def no_guard_bits(monkeypatch):
    def forget():
        interval._log_two.cache_clear()
        interval._half_pi.cache_clear()

    forget()
    monkeypatch.setattr(interval, "GUARD", 0)
    monkeypatch.setattr(interval, "_constant_width", lambda width: width)
    yield monkeypatch
    monkeypatch.undo()
    forget()


@pytest.mark.usefixtures("no_guard_bits")
def test_the_bracket_holds_at_any_precision():
    """The proof uses guard bits for narrowness only, never for the bracket itself."""
    assert holds_without_guard_bits()


@pytest.mark.parametrize("twin", ["all sums round down", "all sums round up", "sums round to nearest, with no rest"])
def test_a_wrong_rounding_is_caught(no_guard_bits, twin):
    if twin == "all sums round down":
        no_guard_bits.setattr(interval, "_up", lambda top, bottom: top // bottom)
    elif twin == "all sums round up":
        no_guard_bits.setattr(interval, "_down", lambda top, bottom: -(-top // bottom))
    else:
        powers, odd = interval._powers, interval._odd_powers

        def to_nearest(top, bottom):
            return (2 * top + bottom) // (2 * bottom)

        no_guard_bits.setattr(interval, "_powers", lambda x, width, _: powers(x, width, to_nearest))
        no_guard_bits.setattr(interval, "_odd_powers", lambda a, b, width, _: odd(a, b, width, to_nearest))

    assert not holds_without_guard_bits()


def test_exact_values_are_met_exactly():
    assert log_bounds(Fraction(1), 50) == (0, 0)
    assert exp_bounds(Fraction(0), 50)[0] == 1 << 50
    assert tan_bounds(Fraction(0), 50)[0] == 0
    assert tan_bounds(Fraction(1, 2), 50)[1] - (1 << 50) in (0, 1)
