"""discreet.privacy.number: a float is the decimal it prints, and rounding goes the stated way."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.privacy.number import down, exact, tidy, up

finite = st.floats(allow_nan=False, allow_infinity=False)


@given(finite)
def test_a_float_is_the_decimal_it_prints(value):
    assert exact(value) == Fraction(repr(value))
    assert exact(np.float64(value)) == exact(value)


def test_numpy_numbers_mean_what_they_print():
    assert exact(np.float32(0.1)) == Fraction(1, 10)
    assert exact(np.int64(7)) == 7
    assert exact(np.array(0.25)) == Fraction(1, 4)
    assert exact(Decimal("0.1")) == exact("1/10") == Fraction(1, 10)


@given(st.fractions())
def test_up_is_the_least_float_above(value):
    above = up(value)

    assert exact(above) >= value
    assert exact(math.nextafter(above, -math.inf)) < value


@given(st.fractions())
def test_down_is_the_greatest_float_below(value):
    assert down(value) == -up(-value)


@given(st.one_of(finite, st.fractions()))
def test_tidy_keeps_the_number(value):
    assert exact(tidy(value)) == exact(value)
    assert tidy(tidy(value)) == tidy(value)


def test_numbers_beyond_the_floats_round_to_infinity_or_to_the_last_float():
    huge = Fraction(10) ** 400

    assert up(huge) == math.inf
    assert down(huge) == math.nextafter(math.inf, 0)
    assert up(-huge) == -math.nextafter(math.inf, 0)
    assert tidy(huge) == huge
    assert up(1 / huge) == 5e-324
    assert down(1 / huge) == 0.0


@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, -math.inf, "nan", "inf", "", "1/0", "1e999999999", "9" * 9999, "\u0663", Decimal("nan"),
     np.float64("nan"), np.float32("inf")],
)  # fmt: skip
def test_what_is_not_a_finite_number_is_refused(value):
    with pytest.raises(ParameterError, match="need a finite number"):
        exact(value)


@pytest.mark.parametrize("value", [True, False, np.True_, None, 1j, [1], np.array([1.0, 2.0]), object()])
def test_what_is_not_a_number_is_refused(value):
    with pytest.raises(ParameterError, match="need a number"):
        exact(value)


def test_the_test_of_up_can_fail():
    """The broken twin: rounding to nearest is below a third."""
    assert exact(float(Fraction(1, 3))) < Fraction(1, 3) < exact(up(Fraction(1, 3)))
