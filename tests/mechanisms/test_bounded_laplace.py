"""discreet.mechanisms.bounded_laplace: each claim in the module docstring, and the resampling trap."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from discreet.errors import ParameterError
from discreet.hazmat.entropy import SeededRandom
from discreet.mechanisms.bounded_laplace import BoundedLaplace
from discreet.privacy.event import PureEvent
from discreet.privacy.guarantee import PureDP
from discreet.privacy.number import exact
from discreet.privacy.profile import bounded_laplace_loss
from tests.privacy.test_profile import real

epsilons = st.fractions(min_value=Fraction(1, 20), max_value=5, max_denominator=20)


def log_law(scale, span, x):
    weights = [-abs(y - x) / real(scale) for y in range(span + 1)]
    total = mpmath.log(sum(map(mpmath.exp, weights)))
    return [w - total for w in weights]


def loss(scale, span, shift):
    """The largest log-ratio over all values at most `shift` apart and all outputs."""
    laws = [log_law(scale, span, x) for x in range(span + 1)]
    return max(
        p - q
        for x, z in itertools.product(range(span + 1), repeat=2)
        if abs(x - z) <= shift
        for p, q in zip(laws[x], laws[z], strict=True)
    )


@hypothesis_settings(max_examples=40)
@given(epsilons, st.integers(1, 8), st.integers(1, 12))
def test_neighbours_differ_by_at_most_epsilon_and_the_scale_is_the_least(epsilon, sensitivity, span):
    bounded = BoundedLaplace(epsilon=epsilon, sensitivity=sensitivity, lower=0, upper=span)
    found = loss(bounded.scale, span, sensitivity)

    assert found <= real(epsilon)
    assert found >= real(epsilon) * (1 - mpmath.mpf(10) ** -9)
    assert loss(bounded.scale * Fraction(9, 10), span, sensitivity) > real(epsilon)  # the twin: noise times 0.9


@hypothesis_settings(max_examples=25)
@given(epsilons, st.integers(2, 5), st.integers(2, 9), st.integers(2, 3))
def test_vectors_pay_for_every_entry_that_moves(epsilon, sensitivity, span, dimension):
    """The worst split of the l1 change over the entries, all splits tried."""
    bounded = BoundedLaplace(epsilon=epsilon, sensitivity=sensitivity, lower=0, upper=span, dimension=dimension)
    splits = itertools.product(range(sensitivity + 1), repeat=dimension)
    worst = max(
        sum(bounded_laplace_loss(bounded.scale, span, part) for part in split)
        for split in splits
        if sum(split) <= sensitivity
    )

    assert worst <= epsilon
    assert worst >= epsilon * Fraction(999_999, 10**6)


RESAMPLED = [(1, 1.489880), (0.5, 0.831797), (0.1, 0.190903)]


@pytest.mark.parametrize(("epsilon", "known"), RESAMPLED)
def test_resampling_until_the_answer_fits_costs_more(epsilon, known):
    """The naive twin: Laplace at scale sensitivity / epsilon, drawn again until it is not negative.

    Its loss between the values 0 and Delta is epsilon + ln(2 - e^-epsilon).
    """
    closed = epsilon + math.log(2 - math.exp(-epsilon))
    steps = 2000  # a fine lattice, and far from the upper end
    twin = bounded_laplace_loss(steps / exact(epsilon), 10**7, steps)

    assert closed == pytest.approx(known, abs=1e-6)
    assert float(twin) == pytest.approx(closed, rel=1e-3)
    assert twin > exact(epsilon)


@pytest.mark.parametrize(("epsilon", "known"), RESAMPLED)
def test_the_supremum_over_truncated_densities_is_the_closed_form(epsilon, known):
    """Densities of Lap(1/epsilon) around 0 and 1, conditioned on y >= 0: normalisers 1/2 and 1 - e^-epsilon / 2."""
    y = np.linspace(0, 5, 5001)
    zero = np.log(epsilon / 2) - epsilon * y - math.log(0.5)
    one = np.log(epsilon / 2) - epsilon * np.abs(y - 1) - math.log(1 - math.exp(-epsilon) / 2)

    assert np.max(np.abs(zero - one)) == pytest.approx(epsilon + math.log(2 - math.exp(-epsilon)), abs=1e-12)
    assert np.max(np.abs(zero - one)) == pytest.approx(known, abs=1e-6)


def test_the_scale_pays_for_the_normaliser():
    bounded = BoundedLaplace(epsilon=1, sensitivity=1, lower=0, upper=10)

    assert bounded.scale > 1  # the plain Laplace scale
    assert bounded.privacy() == PureDP(1)
    assert bounded.event() == PureEvent(epsilon=1)
    assert BoundedLaplace(epsilon=1, sensitivity=99, lower=0, upper=10).scale == pytest.approx(10)


def tail(scale, span, x, alpha):
    y = np.arange(span + 1)
    weights = np.exp(-np.abs(y - x) / float(scale))
    return weights[np.abs(y - x) > alpha].sum() / weights.sum()


@hypothesis_settings(max_examples=50)
@given(
    st.sampled_from([0.1, 1, 3]),
    st.integers(1, 3),
    st.integers(1, 25),
    st.floats(1e-4, 0.95),
    st.sampled_from([1, 20]),
)
def test_accuracy_is_the_least_alpha_that_holds_for_every_value(epsilon, sensitivity, span, beta, size):
    bounded = BoundedLaplace(epsilon=epsilon, sensitivity=sensitivity, lower=-5, upper=span - 5)
    alpha = bounded.accuracy(beta, size=size)

    def fails(bound):
        worst = max(tail(bounded.scale, span, x, bound) for x in range(span + 1))
        return -math.expm1(size * math.log1p(-min(worst, 1 - 1e-16)))

    assert fails(alpha) <= beta * (1 + 1e-9)
    assert alpha == 0 or fails(alpha - 1) > beta * (1 - 1e-9)


@pytest.mark.statistical
@pytest.mark.parametrize("value", [-3, 0, 2, 5, 9, 100])
def test_sampler_follows_the_stated_law(value):
    bounded, runs = BoundedLaplace(epsilon=1, sensitivity=2, lower=0, upper=9), 100_000
    draws = bounded.releases(value, runs, rng=SeededRandom(1))
    weights = np.exp(-np.abs(np.arange(10) - min(max(value, 0), 9)) / float(bounded.scale))

    assert chisquare(np.bincount(draws, minlength=10), weights / weights.sum() * runs).pvalue > 1e-6


def test_values_outside_are_clamped_and_outputs_stay_inside():
    bounded = BoundedLaplace(epsilon=0.1, sensitivity=1, lower=-2, upper=2, dimension=3)

    assert {bounded(10**30) for _ in range(200)} <= set(range(-2, 3))
    assert np.abs(bounded(np.array([-(2**62), 0, 2**62]))).max() <= 2
    assert all(abs(int(y)) <= 2 for y in bounded([-(10**30), 0, 10**30]))


def test_more_entries_than_the_dimension_are_refused():
    with pytest.raises(ParameterError, match="pass dimension=2"):
        BoundedLaplace(epsilon=1, sensitivity=1, lower=0, upper=9)([1, 2])


@pytest.mark.parametrize("epsilon", [5e-324, 1e-308, 1e308])
@pytest.mark.parametrize("upper", [1, 10**30])
def test_extreme_parameters_work(epsilon, upper):
    bounded = BoundedLaplace(epsilon=epsilon, sensitivity=1, lower=0, upper=upper)

    assert bounded.scale >= 1 / exact(epsilon)
    assert 0 <= bounded(0) <= upper
    assert 0 <= bounded.accuracy(0.05) <= upper


@pytest.mark.parametrize(
    "bad",
    [
        {"epsilon": 0}, {"epsilon": math.nan}, {"sensitivity": 0}, {"sensitivity": 1.0}, {"lower": 10}, {"lower": 0.0},
        {"upper": math.inf}, {"upper": True}, {"dimension": 0},
    ],
    ids=str,
)  # fmt: skip
def test_rejects_bad_parameters(bad):
    with pytest.raises(ParameterError, match="need"):
        BoundedLaplace(**({"epsilon": 1, "sensitivity": 1, "lower": 0, "upper": 10} | bad))
