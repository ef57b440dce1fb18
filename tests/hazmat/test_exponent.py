"""discreet.hazmat.exponent: the lemma, against mpmath at high precision."""

from fractions import Fraction

import mpmath
from hypothesis import given
from hypothesis import strategies as st

from discreet.hazmat.exponent import exp_bounds, minus, over, times

rationals = st.fractions(min_value=0, max_value=200, max_denominator=10**9)
tiny = st.integers(min_value=1, max_value=400).map(lambda k: Fraction(1, 2**k))


@given(rationals | tiny, st.integers(min_value=1, max_value=300))
def test_the_bounds_bracket_the_exponential_and_are_narrow(x, bits):
    low, high = exp_bounds(x, bits)
    with mpmath.workprec(bits + 700):
        true = mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator) * mpmath.mpf(2) ** bits

        assert low <= true <= high
        assert high - low <= 2


def test_a_twin_that_rounds_to_nearest_would_be_seen():
    """The test above fails for a one-sided rounding: the true value is strictly inside."""
    low, high = exp_bounds(Fraction(1), 64)

    assert high - low >= 1


def test_extreme_arguments_need_no_work():
    assert exp_bounds(Fraction(0), 64) == (1 << 64, 1 << 64)
    assert exp_bounds(Fraction(10**300), 64) == (0, 1)


intervals = st.tuples(st.integers(0, 2**32), st.integers(0, 50)).map(lambda pair: (pair[0], min(2**32, sum(pair))))


@given(intervals, intervals, st.fractions(0, 1), st.fractions(0, 1))
def test_interval_arithmetic_contains_every_result(a, b, s, t):
    x, y = a[0] + s * (a[1] - a[0]), b[0] + t * (b[1] - b[0])
    one = 1 << 32
    product, difference = times(a, b, 32), minus(one, a)

    assert product[0] <= x * y / one <= product[1]
    assert difference[0] <= one - x <= difference[1]
    if y:
        quotient = over(a, b, 32)
        assert quotient[0] <= min(one, x * one / y) <= quotient[1]
