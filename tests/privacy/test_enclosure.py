"""discreet.privacy.enclosure and normal: brackets hold, and are narrow, against mpmath at 120 digits."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.privacy import normal
from discreet.privacy.enclosure import exp_down, exp_up, expm1_bounds, log_down, log_up, root_bounds, root_up
from discreet.privacy.number import exact

exponents = st.one_of(
    st.fractions(min_value=-1000, max_value=1000),
    st.integers(-300, 2).map(lambda k: Fraction(10) ** k),
    st.integers(-300, 2).map(lambda k: -(Fraction(10) ** k)),
)
positive = st.one_of(
    st.fractions(min_value=Fraction(1, 10**9), max_value=10**9),
    st.integers(-300, 300).map(lambda k: Fraction(10) ** k),
    st.integers(1, 60).map(lambda k: 1 + Fraction(1, 10**k)),
    st.integers(1, 60).map(lambda k: 1 - Fraction(1, 10**k)),
)


def real(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


def encloses(low: Fraction, truth: mpmath.mpf, high: Fraction, width: float = 1e-36) -> bool:
    return real(low) <= truth <= real(high) and real(high) - real(low) <= width * abs(truth)


@given(exponents)
def test_exp_is_enclosed(x):
    with mpmath.workdps(400):
        assert encloses(exp_down(x), mpmath.exp(real(x)), exp_up(x))


@given(positive)
def test_log_is_enclosed(x):
    with mpmath.workdps(400):
        assert encloses(log_down(x), mpmath.log(real(x)), log_up(x))


@given(exponents.map(abs))
def test_expm1_is_enclosed_however_small(x):
    with mpmath.workdps(800):
        assert encloses(expm1_bounds(x)[0], mpmath.expm1(real(x)), expm1_bounds(x)[1])


@given(positive)
def test_roots_are_enclosed_and_rational_ones_exact(x):
    low, high = root_bounds(x)

    assert low * low <= x <= high * high
    assert exact(root_up(x)) ** 2 >= x
    assert root_up(x * x) == x


@given(st.fractions(min_value=-40, max_value=40), st.integers(20, 200))
def test_the_normal_law_is_enclosed(x, digits):
    low, high = normal.cdf_bounds(x, digits=digits)

    with mpmath.workdps(600):
        assert real(low) <= mpmath.ncdf(real(x)) <= real(high)
    assert high - low <= Fraction(1, 10**digits)


def test_far_exponents_are_bounded_rather_than_evaluated():
    assert exp_down(Fraction(10) ** 300) == exp_down(Fraction(100_000))
    assert exp_down(-(Fraction(10) ** 300)) == 0
    assert 0 < exp_up(-(Fraction(10) ** 300)) < Fraction(1, 10**40_000)
    with pytest.raises(ParameterError, match="exponent"):
        exp_up(Fraction(10) ** 300)
