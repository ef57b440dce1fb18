"""discreet.mechanisms.staircase: each claim in the module docstring, in order."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from discreet.errors import ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.mechanisms.staircase import Staircase
from discreet.privacy.event import PureEvent
from discreet.privacy.guarantee import PureDP

epsilons = st.fractions(min_value=Fraction(1, 20), max_value=6, max_denominator=20)
sensitivities = st.integers(min_value=1, max_value=40)


def level(z, width, sensitivity):
    return (abs(z) + sensitivity - width) // sensitivity


def law(staircase, reach=60):
    """Pr[|Z| = z], by summing the stated weights."""
    z = np.arange(reach * staircase.sensitivity)
    weights = np.exp(-float(staircase.epsilon) * level(z, staircase.width, staircase.sensitivity))
    weights[1:] *= 2
    return z, weights / weights.sum()


@given(epsilons, sensitivities, st.data())
def test_neighbours_differ_by_exactly_epsilon(epsilon, sensitivity, data):
    """Losses are whole multiples of epsilon: the definition in integers, for every width, not only the best."""
    width = data.draw(st.integers(1, sensitivity))
    losses = {
        level(z - move, width, sensitivity) - level(z, width, sensitivity)
        for z in range(-4 * sensitivity, 4 * sensitivity + 1)
        for move in range(-sensitivity, sensitivity + 1)
    }

    assert losses == {-1, 0, 1}
    assert Staircase(epsilon=epsilon, sensitivity=sensitivity).privacy() == PureDP(epsilon)


def test_a_move_one_beyond_the_sensitivity_is_caught():
    """The twin: with a sensitivity one too small some loss is two levels."""
    losses = [level(z - 6, 2, 5) - level(z, 2, 5) for z in range(-30, 30)]

    assert max(losses) == 2


@pytest.mark.parametrize(("epsilon", "variance"), [(1, 1.9181), (4, 0.06498)])
def test_on_a_fine_lattice_the_variance_is_the_known_optimum(epsilon, variance):
    fine = Staircase(epsilon=epsilon, sensitivity=100_000)

    assert fine.variance() / 100_000**2 == pytest.approx(variance, rel=3e-5)
    assert variance < 2 / epsilon**2


@given(epsilons, sensitivities)
def test_it_is_never_worse_than_discrete_laplace(epsilon, sensitivity):
    a = math.exp(-float(epsilon) / sensitivity)

    assert Staircase(epsilon=epsilon, sensitivity=sensitivity).variance() <= 2 * a / (1 - a) ** 2 * (1 + 1e-9)
    shortest = Staircase(epsilon=epsilon, sensitivity=sensitivity, objective="magnitude").magnitude()
    assert shortest <= 2 * a / (1 - a * a) * (1 + 1e-9)


@given(epsilons, sensitivities, st.sampled_from(["variance", "magnitude"]))
def test_the_width_is_the_best_one(epsilon, sensitivity, objective):
    """Every width, with moments summed from the weights."""
    power = 2 if objective == "variance" else 1
    best = Staircase(epsilon=epsilon, sensitivity=sensitivity, objective=objective)
    z = np.arange(math.ceil(45 / epsilon) * sensitivity)
    moments = []
    for width in range(1, sensitivity + 1):
        weights = np.exp(-float(epsilon) * level(z, width, sensitivity))
        weights[1:] *= 2
        moments.append((weights * z**power).sum() / weights.sum())

    assert moments[best.width - 1] <= min(moments) * (1 + 1e-9)
    assert getattr(best, objective)() == pytest.approx(moments[best.width - 1], rel=1e-9)


def test_at_sensitivity_one_it_is_the_discrete_laplace_law():
    one = Staircase(epsilon=1, sensitivity=1)

    assert one.width == 1
    assert one.variance() == pytest.approx(1.841347, abs=1e-6)


@given(st.sampled_from([0.7, 1, 4, 10]), st.integers(1, 60), st.floats(1e-6, 0.95), st.sampled_from([1, 100]))
def test_accuracy_is_the_least_alpha_that_holds(epsilon, sensitivity, beta, size):
    staircase = Staircase(epsilon=epsilon, sensitivity=sensitivity)
    _, masses = law(staircase)
    above = np.append(np.cumsum(masses[::-1])[::-1][1:], 0.0)
    alpha = staircase.accuracy(beta, size=size)

    def fails(bound):
        return -math.expm1(size * math.log1p(-min(above[bound], 1 - 1e-16)))

    assert fails(alpha) <= beta * (1 + 1e-9)
    assert alpha == 0 or fails(alpha - 1) > beta * (1 - 1e-9)


@given(epsilons, sensitivities, st.sampled_from([8, 64, 200]))
def test_the_middle_step_has_its_exact_probability(epsilon, sensitivity, bits):
    staircase = Staircase(epsilon=epsilon, sensitivity=sensitivity)
    low, high = staircase._middle(bits)
    with mpmath.workdps(80):
        b, odd = mpmath.exp(-mpmath.mpf(epsilon.numerator) / epsilon.denominator), 2 * staircase.width - 1
        middle = odd * (1 - b) / (odd * (1 - b) + 2 * sensitivity * b)

        assert low <= middle * 2**bits <= high
        assert high - low <= 2


@pytest.mark.statistical
@pytest.mark.parametrize(("epsilon", "sensitivity"), [(1, 4), (3, 10), (0.2, 2), (8, 3)])
def test_sampler_follows_the_stated_law(epsilon, sensitivity):
    staircase, runs = Staircase(epsilon=epsilon, sensitivity=sensitivity), 200_000
    draws = staircase.releases(0, runs, rng=SeededRandom(1))
    z, masses = law(staircase)
    cells = z[masses * runs > 20][:-1]
    expected = np.append(masses[cells], 1 - masses[cells].sum()) * runs

    def pvalue(magnitudes):
        seen = np.array([(magnitudes == z).sum() for z in cells])
        return chisquare(np.append(seen, runs - seen.sum()), expected).pvalue

    assert pvalue(np.abs(draws)) > 1e-6
    assert abs((draws > 0).sum() - (draws < 0).sum()) < 5 * math.sqrt(runs)
    assert pvalue(np.abs(Staircase(epsilon=1.1 * epsilon, sensitivity=sensitivity).releases(0, runs))) < 1e-6  # twin


def test_the_scalar_sampler_agrees_with_the_vectorised_one():
    staircase, rng = Staircase(epsilon=2, sensitivity=3), SeededRandom(5)
    draws = np.array([staircase(0, rng=rng) for _ in range(4000)])
    _, masses = law(staircase)

    assert type(staircase(7)) is int
    assert abs((draws == 0).mean() - masses[0]) < 5 * math.sqrt(masses[0] / 4000)
    assert abs((draws == -1).mean() - masses[1] / 2) < 5 * math.sqrt(masses[1] / 4000)


def test_arrays_are_refused_because_each_entry_could_lose_epsilon():
    with pytest.raises(UnsupportedError, match="use Laplace for arrays"):
        Staircase(epsilon=1, sensitivity=2)([1, 2])
    assert Staircase(epsilon=1, sensitivity=1)([1, 2]).shape == (2,)
    assert Staircase(epsilon=1, sensitivity=2)([1]).shape == (1,)


def test_event_is_pure():
    assert Staircase(epsilon=0.5, sensitivity=3).event() == PureEvent(epsilon=0.5)


@pytest.mark.parametrize("epsilon", [5e-324, 1e-300, 1e300])
@pytest.mark.parametrize("sensitivity", [1, 7, 10**20])
def test_extreme_parameters_work(epsilon, sensitivity):
    staircase = Staircase(epsilon=epsilon, sensitivity=sensitivity)

    assert 1 <= staircase.width <= sensitivity
    assert isinstance(staircase(0), int)
    assert staircase.accuracy(0.05) >= 0


@pytest.mark.parametrize(
    "bad",
    [
        {"epsilon": 0}, {"epsilon": -1}, {"epsilon": math.nan}, {"epsilon": math.inf}, {"epsilon": True},
        {"sensitivity": 0}, {"sensitivity": 1.5}, {"sensitivity": True}, {"objective": "median"},
    ],
    ids=str,
)  # fmt: skip
def test_rejects_bad_parameters(bad):
    with pytest.raises(ParameterError, match="need"):
        Staircase(**({"epsilon": 1, "sensitivity": 1} | bad))


@pytest.mark.parametrize("bad", [0, 1, math.nan])
def test_rejects_a_bad_beta(bad):
    with pytest.raises(ParameterError, match="need 0 < beta < 1"):
        Staircase(epsilon=1, sensitivity=1).accuracy(bad)
