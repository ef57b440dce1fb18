"""discreet.mechanisms.truncated_laplace: each claim in the module docstring, in order."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from discreet.errors import ParameterError
from discreet.hazmat.entropy import SeededRandom
from discreet.hazmat.truncated import _upper_side, truncated_laplace, truncated_laplaces
from discreet.mechanisms.truncated_laplace import TruncatedLaplace
from discreet.privacy.event import ApproxEvent
from discreet.privacy.number import exact
from tests.privacy.test_profile import hockey_stick, law, real, shifted
from tests.scale import counts

TUPLES = counts(quick=500, full=10_000)
epsilons = st.fractions(min_value=Fraction(1, 10), max_value=4, max_denominator=20)
deltas = st.sampled_from([1e-9, 1e-6, 1e-3, 0.1, 0.4, 0.9])


def noise_law(scale, bound):
    return law(lambda z: mpmath.exp(-abs(z) / real(scale)), bound)


def settings(seed, count):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        epsilon, delta = round(10 ** rng.uniform(-1, 0.8), 4), float(f"{10 ** rng.uniform(-9, -0.3):.3g}")
        yield epsilon, delta, int(rng.integers(1, 5))


def test_the_claimed_delta_is_that_of_the_definition_and_the_bound_is_the_least():
    """Hockey stick in both directions at every shift; one less of a bound, the twin, always exceeds the delta."""
    for epsilon, delta, sensitivity in settings(1, TUPLES):
        truncated = TruncatedLaplace(epsilon=epsilon, delta=delta, sensitivity=sensitivity)
        p = noise_law(truncated.scale, truncated.bound)
        true = max(hockey_stick(p, shifted(p, s), exact(epsilon)) for s in range(1, sensitivity + 1))
        claimed = real(exact(truncated.privacy().delta))

        assert true <= claimed <= true * mpmath.mpf("1.0001")
        assert claimed <= real(exact(delta))
        if truncated.bound > sensitivity - 1:
            twin = noise_law(truncated.scale, truncated.bound - 1)
            assert hockey_stick(twin, shifted(twin, sensitivity), exact(epsilon)) > delta


@given(st.lists(st.integers(0, 3), min_size=2, max_size=3), epsilons, deltas)
def test_a_vector_pays_for_its_l1_change(moves, epsilon, delta):
    """(epsilon s / S, delta(s)) adds up to at most (epsilon, delta(S)): delta is superadditive in the shift."""
    total = max(1, sum(moves))
    truncated = TruncatedLaplace(epsilon=epsilon, delta=delta, sensitivity=total)
    p = noise_law(truncated.scale, truncated.bound)
    spent = sum(hockey_stick(p, shifted(p, s), epsilon * s / total) for s in moves if s)

    assert spent <= real(exact(truncated.privacy().delta))


@given(epsilons, deltas, st.integers(1, 4), st.floats(1e-6, 0.95), st.sampled_from([1, 50]))
def test_accuracy_is_the_least_alpha_that_holds(epsilon, delta, sensitivity, beta, size):
    truncated = TruncatedLaplace(epsilon=epsilon, delta=delta, sensitivity=sensitivity)
    k = np.arange(truncated.bound + 1)
    weights = np.exp(-k / float(truncated.scale)) * np.where(k == 0, 1, 2)
    alpha = truncated.accuracy(beta, size=size)

    def fails(bound):
        tail = weights[k > bound].sum() / weights.sum()
        return -math.expm1(size * math.log1p(-min(tail, 1 - 1e-16)))

    assert fails(alpha) <= beta * (1 + 1e-9)
    assert alpha == 0 or fails(alpha - 1) > beta * (1 - 1e-9)
    assert alpha <= truncated.bound


def test_the_noise_never_exceeds_the_bound():
    truncated = TruncatedLaplace(epsilon=0.5, delta=0.01, sensitivity=2)
    noise = truncated(np.zeros(100_000, dtype=int))

    assert np.abs(noise).max() == truncated.bound
    assert truncated.accuracy(1e-9) == truncated.bound


@pytest.mark.statistical
@pytest.mark.parametrize(("epsilon", "delta", "sensitivity"), [(1, 1e-2, 1), (0.05, 0.4, 2), (2, 1e-3, 3)])
def test_sampler_follows_the_stated_law(epsilon, delta, sensitivity):
    truncated, runs = TruncatedLaplace(epsilon=epsilon, delta=delta, sensitivity=sensitivity), 200_000
    draws = truncated(np.zeros(runs, dtype=int), rng=SeededRandom(1))
    p = noise_law(truncated.scale, truncated.bound)
    cells = [z for z, mass in p.items() if mass * runs > 20]
    expected = np.array([float(p[z]) for z in cells])

    def pvalue(values):
        seen = np.array([(values == z).sum() for z in cells])
        return chisquare(seen, expected / expected.sum() * seen.sum()).pvalue

    assert pvalue(draws) > 1e-6
    assert pvalue(np.where(draws == 1, -1, draws)) < 1e-6  # the twin: a wrong side


@pytest.mark.parametrize(("scale", "under", "above"), [(Fraction(7, 2), 3, 5), (Fraction(1, 3), 2, 0), (10**6, 4, 9)])
def test_the_side_is_chosen_with_its_exact_probability(scale, under, above):
    a = mpmath.exp(-1 / real(Fraction(scale)))
    right = sum(a**k for k in range(above + 1))
    left = sum(a**k for k in range(1, under + 1))
    for bits in (8, 64, 128):
        low, high = _upper_side(Fraction(scale), under, above, bits)

        assert low <= right / (right + left) * 2**bits <= high
        assert high - low <= 3


@pytest.mark.parametrize("power", [200, 300, 308, 400])
def test_no_interval_makes_a_tiny_scale_fail(power):
    """Where the interval lies is private: not even a warning may depend on it."""
    ends = np.array([0, 5, 2**60])

    with np.errstate(all="raise", under="ignore"):
        draws = truncated_laplaces(Fraction(1, 10**power), under=ends, above=ends[::-1], rng=SeededRandom(1))

    assert draws.tolist() == [0, 0, 0]


def test_the_scalar_sampler_agrees_with_the_law():
    rng, a = SeededRandom(3), math.exp(-1 / 2)
    draws = np.array([truncated_laplace(Fraction(2), under=2, above=1, rng=rng) for _ in range(20_000)])
    total = 1 + 2 * a + a * a

    for z, mass in [(-2, a * a), (-1, a), (0, 1), (1, a)]:
        assert abs((draws == z).mean() - mass / total) < 5 * math.sqrt(mass / total / 20_000)


def test_event_and_shapes():
    truncated = TruncatedLaplace(epsilon=1, delta=1e-6, sensitivity=1)

    assert truncated.event() == ApproxEvent(epsilon=1, delta=truncated.privacy().delta)
    assert type(truncated(3)) is int
    assert truncated(np.zeros((2, 3), dtype=int)).shape == (2, 3)


@pytest.mark.parametrize(("epsilon", "delta"), [(1e-308, 1e-308), (1e308, 1e-308), (1e-6, 0.1), (700, 0.5)])
def test_extreme_parameters_work(epsilon, delta):
    truncated = TruncatedLaplace(epsilon=epsilon, delta=delta, sensitivity=3)

    assert exact(truncated.privacy().delta) <= exact(delta)
    assert abs(truncated(0)) <= truncated.bound
    assert truncated.accuracy(0.05) <= truncated.bound


@pytest.mark.parametrize(
    "bad",
    [
        {"epsilon": 0}, {"epsilon": math.nan}, {"epsilon": math.inf}, {"delta": 0}, {"delta": 1}, {"delta": math.nan},
        {"sensitivity": 0}, {"sensitivity": 1.0}, {"sensitivity": True},
    ],
    ids=str,
)  # fmt: skip
def test_rejects_bad_parameters(bad):
    with pytest.raises(ParameterError, match="need"):
        TruncatedLaplace(**({"epsilon": 1, "delta": 1e-6, "sensitivity": 1} | bad))
