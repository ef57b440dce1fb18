"""discreet.mechanisms.laplace: each claim in the module docstring, in order."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare, dlaplace

from discreet.errors import ParameterError
from discreet.hazmat.entropy import SeededRandom
from discreet.mechanisms.laplace import Laplace
from discreet.privacy.event import LaplaceEvent
from discreet.privacy.guarantee import PureDP
from discreet.privacy.number import exact

epsilons = st.fractions(min_value=Fraction(1, 100), max_value=4, max_denominator=100)
sensitivities = st.integers(min_value=1, max_value=5)


def losses(scale, sensitivity):
    """ln Pr[M(x) = z] - ln Pr[M(x') = z] for all z that matter, exactly; the normaliser cancels."""
    return [(abs(z - sensitivity) - abs(z)) / scale for z in range(-50, 51)]


@given(epsilons, sensitivities)
def test_neighbours_differ_by_at_most_epsilon(epsilon, sensitivity):
    """The definition itself, tight and exact: Fractions, no tolerance."""
    laplace = Laplace(epsilon=epsilon, sensitivity=sensitivity)

    assert max(losses(laplace.scale, sensitivity)) == epsilon
    assert exact(laplace.privacy().epsilon) == epsilon


@given(epsilons, sensitivities)
def test_nine_tenths_of_the_noise_is_not_private(epsilon, sensitivity):
    """The twin: the same check fails for a scale ten percent too small."""
    laplace = Laplace(epsilon=epsilon, sensitivity=sensitivity)

    assert max(losses(laplace.scale * Fraction(9, 10), sensitivity)) > exact(laplace.privacy().epsilon)


@given(
    st.lists(st.integers(-3, 3), min_size=1, max_size=6),
    st.lists(st.integers(-9, 9), min_size=6, max_size=6),
    epsilons,
)
def test_a_vector_pays_for_its_l1_change(change, output, epsilon):
    """Independent noise on each entry: losses add up to at most epsilon when the l1 change is the sensitivity."""
    laplace = Laplace(epsilon=epsilon, sensitivity=max(1, sum(map(abs, change))))
    total = sum((abs(z - d) - abs(z)) / laplace.scale for z, d in zip(output, change, strict=False))

    assert total <= epsilon


@given(epsilons, st.floats(min_value=1e-6, max_value=0.5), st.sampled_from([1, 7, 1000]))
def test_accuracy_is_the_least_alpha_that_holds(epsilon, beta, size):
    laplace = Laplace(epsilon=epsilon, sensitivity=1)
    noise = dlaplace(a=1 / float(laplace.scale))
    alpha = laplace.accuracy(beta, size=size)

    def fails(bound):
        return -math.expm1(size * math.log1p(-2 * noise.sf(bound)))

    assert fails(alpha) <= beta * (1 + 1e-9)
    assert alpha == 0 or fails(alpha - 1) > beta * (1 - 1e-9)


@pytest.mark.statistical
def test_sampler_follows_the_stated_law():
    laplace, rng, runs = Laplace(epsilon=1, sensitivity=1), SeededRandom(1), 40_000
    bins = np.arange(-6, 7)
    draws = np.clip(laplace(np.zeros(runs, dtype=int), rng=rng), -6, 6)
    law = dlaplace(a=1.0)
    expected = law.pmf(bins)
    expected[0], expected[-1] = law.cdf(-6), law.sf(5)

    assert chisquare([(draws == b).sum() for b in bins], runs * expected).pvalue > 1e-6


def test_the_law_at_epsilon_one_has_the_known_numbers():
    """Pr[0] = tanh(1/2), variance 1.841347 < 2, and neighbouring probabilities differ by e exactly."""
    a = math.exp(-1)

    assert (1 - a) / (1 + a) == pytest.approx(0.462117, abs=1e-6)
    assert 2 * a / (1 - a) ** 2 == pytest.approx(1.841347, abs=1e-6)
    assert dlaplace(a=1.0).var() == pytest.approx(1.841347, abs=1e-6)


def test_scalars_stay_scalars_and_arrays_keep_their_shape():
    laplace = Laplace(epsilon=0.5, sensitivity=1)

    assert type(laplace(10)) is int
    assert laplace(np.zeros((2, 3), dtype=np.int32)).shape == (2, 3)
    assert laplace([1, 2, 3]).shape == (3,)
    assert laplace.event() == LaplaceEvent(scale=2, sensitivity=1)
    assert laplace.privacy() == PureDP(0.5)
    assert Laplace.with_scale(2, sensitivity=1).privacy() == PureDP(0.5)


def test_integers_beyond_64_bits_are_exact_or_saturate_but_never_wrap():
    laplace, top = Laplace(epsilon=0.5, sensitivity=1), 2**63 - 1

    assert abs(laplace(2**200) - 2**200) < 10**4
    assert abs(laplace([2**70])[0] - 2**70) < 10**4
    assert (laplace(np.full(1000, top)) > top - 10**4).all()


@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf"), None, "x", True])
def test_rejects_a_bad_epsilon(bad):
    with pytest.raises(ParameterError, match="need"):
        Laplace(epsilon=bad, sensitivity=1)


def test_rejects_an_epsilon_of_zero_by_name():
    with pytest.raises(ParameterError, match=r"need epsilon > 0, got epsilon=0"):
        Laplace(epsilon=0, sensitivity=1)


@pytest.mark.parametrize("bad", [0, -1, 1.5, 1.0, True, None, float("inf")])
def test_rejects_a_bad_sensitivity(bad):
    with pytest.raises(ParameterError, match="need an integer sensitivity >= 1"):
        Laplace(epsilon=1, sensitivity=bad)


@pytest.mark.parametrize("bad", [0, 1, -0.1, 2.0, float("nan")])
def test_rejects_a_bad_beta(bad):
    with pytest.raises(ParameterError, match="need 0 < beta < 1"):
        Laplace(epsilon=1, sensitivity=1).accuracy(bad)


@pytest.mark.parametrize("epsilon", [5e-324, 1e-308, 1e308])
def test_extreme_epsilons_work(epsilon):
    laplace = Laplace(epsilon=epsilon, sensitivity=1)

    assert laplace.accuracy(0.05) >= 0
    assert exact(laplace.privacy().epsilon) == exact(epsilon)
    assert isinstance(laplace(0), int)
