"""discreet.mechanisms.noisy_max: each claim in the module docstring, in order; then the erratum."""

from fractions import Fraction
from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from discreet.errors import ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.noisy_max import NoisyMax, difference_tail
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.privacy.event import ExponentialEvent, PureEvent
from discreet.privacy.guarantee import PureDP
from discreet.privacy.neighbours import AddRemove, NullRow, Replace
from tests.mechanisms.selection_laws import LEFT_OUT, laplace_law, mass, tail, worst_ratio
from tests.scale import counts

HALF = Fraction(1, 2)
SLACK = 1 + Fraction(1, 2**60)  # the enumeration leaves out less than LEFT_OUT of each probability
SCALES = st.fractions(min_value=Fraction(1, 10), max_value=50, max_denominator=20)


@given(st.integers(-40, 40), st.fractions(min_value=Fraction(1, 50), max_value=Fraction(49, 50), max_denominator=50))
def test_one_step_of_a_tail_costs_at_most_one_step_of_the_noise(z, a):
    """The lemma behind the discrete proof: Pr[Z >= z] <= Pr[Z >= z + 1] / a, with equality from 0 on."""
    assert tail(z, a) * a <= tail(z + 1, a)
    assert (tail(z, a) * a == tail(z + 1, a)) == (z >= 0)
    assert tail(z, a) - tail(z + 1, a) == mass(z, a)


@pytest.mark.parametrize(("size", "top"), [(2, 5), (3, 2)])
def test_neighbours_differ_by_at_most_epsilon_ties_included(size, top):
    """Discrete Laplace of scale b, any moves by one: e^epsilon = a^-2 with a = e^(-1/b)."""
    assert worst_ratio(laplace_law, HALF, size=size, top=top, steps=range(-1, 2)) <= HALF**-2 * SLACK
    assert sum(laplace_law((0,) * size, HALF)) > 1 - LEFT_OUT


@pytest.mark.parametrize(("size", "top"), [(2, 5), (3, 2)])
def test_monotone_scores_need_half_the_noise(size, top):
    assert worst_ratio(laplace_law, HALF, size=size, top=top, steps=range(2)) <= HALF**-1 * SLACK


def test_half_the_noise_sold_for_any_scores_is_caught():
    """The scale of monotone scores under Replace: e^epsilon would be 2, and 3 is exceeded."""
    assert worst_ratio(laplace_law, HALF, size=2, top=6, steps=range(-1, 2)) > 3


def test_ties_given_to_the_better_true_score_are_caught():
    """The lot must not look at the data."""

    def law(gap, a):  # of two candidates, the first `gap` ahead; z is its noise
        won = sum(mass(z, a) * (1 - tail(gap + z + (gap >= 0), a)) for z in range(-60, 61))
        return won, 1 - won

    a = Fraction(1, 100)  # little noise: ties decide
    pairs = [(law(gap, a), law(gap + step, a)) for gap in range(-3, 4) for step in (-2, -1, 1, 2)]

    assert max(p / q for here, there in pairs for p, q in zip(here, there, strict=True)) > a**-2 * Fraction(101, 100)


@pytest.mark.parametrize("monotone", [False, True])
def test_the_scale_is_the_theorems(monotone):
    noisy = NoisyMax(epsilon=0.1, sensitivity=3, monotone=monotone, neighbours=AddRemove)

    assert noisy.scale == (30 if monotone else 60)
    assert noisy.privacy() == PureDP(0.1, neighbours=AddRemove)


@pytest.mark.statistical
@pytest.mark.parametrize("noise", ["exponential", "gumbel", "laplace"])
def test_choices_follow_the_stated_law(noise):
    runs, scores = counts(quick=100_000, full=5_000_000), [5, 9, 0, 7]
    epsilon = Fraction(13862943611198906, 10**16)  # 2 ln 2: Laplace noise with e^(-1/b) = 1/2
    seen = np.bincount(
        NoisyMax(epsilon=epsilon, sensitivity=1, noise=noise).releases(scores, runs, rng=SeededRandom(1)), minlength=4
    )
    laws = {
        "exponential": PermuteAndFlip(epsilon=epsilon, sensitivity=1).probabilities(scores),
        "gumbel": Exponential(epsilon=epsilon, sensitivity=1).probabilities(scores),
        "laplace": np.array([float(p) for p in laplace_law(tuple(scores), HALF)]),
    }
    for name, law in laws.items():
        merged = (np.array([seen[2] + seen[0], seen[1], seen[3]]), np.array([law[2] + law[0], law[1], law[3]]))
        assert (chisquare(merged[0], runs * merged[1] / law.sum()).pvalue > 1e-6) == (name == noise)


@pytest.mark.statistical
def test_single_choices_follow_the_law_too():
    rng, noisy = SeededRandom(2), NoisyMax(epsilon=1, sensitivity=1, noise="laplace")
    seen = np.bincount([noisy([0, 1], rng=rng) for _ in range(10_000)], minlength=2)
    wrong = (difference_tail(1, noisy.scale, noisy.scale) + difference_tail(2, noisy.scale, noisy.scale)) / 2

    assert chisquare(seen, 10_000 * np.array([wrong, 1 - wrong])).pvalue > 1e-6


@given(SCALES, SCALES, st.integers(1, 60))
def test_the_tail_of_a_difference_is_the_sum_it_stands_for(first, second, m):
    a, b = exp(-1 / first), exp(-1 / second)
    z = np.arange(-4000, 4001)
    masses = (1 - a) / (1 + a) * a ** np.abs(z).astype(float)
    beyond = m + z  # Pr[other >= m + z], for noise -z
    tails = np.where(
        beyond >= 0, b ** np.maximum(beyond, 0.0) / (1 + b), 1 - b ** (1.0 - np.minimum(beyond, 0)) / (1 + b)
    )

    assert difference_tail(m, first, second) == pytest.approx((masses * tails).sum(), rel=1e-9)
    assert difference_tail(m, first, second) == pytest.approx(difference_tail(m, second, first), rel=1e-9)


@given(SCALES, st.floats(min_value=1e-6, max_value=0.4))
def test_accuracy_is_least_for_two_candidates_of_laplace_noise(scale, beta):
    noisy = NoisyMax(epsilon=2 / scale, sensitivity=1, noise="laplace")
    alpha = noisy.accuracy(beta, size=2)

    def failure(gap):
        return (difference_tail(gap, scale, scale) + difference_tail(gap + 1, scale, scale)) / 2

    assert failure(alpha + 1) <= beta
    assert alpha == 0 or failure(alpha) > beta


def test_accuracy_holds_for_more_candidates_and_beats_the_textbook_bound():
    noisy = NoisyMax(epsilon=Fraction(13862943611198906, 10**16), sensitivity=1, noise="laplace")
    for beta in (0.3, 0.05, 0.001):
        alpha = noisy.accuracy(beta, size=3)

        assert 1 - laplace_law((alpha + 1, 0, 0), HALF)[0] <= beta
        assert alpha <= 2 * noisy.scale * log(3 / beta)
        assert alpha == 0 or 1 - laplace_law((max(0, alpha - 2), 0, 0), HALF)[0] > beta  # not loose by more than 2


def test_accuracy_of_the_other_noises_is_that_of_their_twins():
    for noise, twin in (("exponential", PermuteAndFlip), ("gumbel", Exponential)):
        noisy = NoisyMax(epsilon=0.5, sensitivity=2, noise=noise, monotone=True, neighbours=AddRemove)

        assert noisy.accuracy(0.01, size=50) == twin(
            epsilon=0.5, sensitivity=2, monotone=True, neighbours=AddRemove
        ).accuracy(0.01, size=50)


def test_exponential_noise_is_the_best_and_the_default():
    errors = [
        NoisyMax(epsilon=0.1, sensitivity=1, noise=noise).accuracy(0.01, size=100) for noise in ("gumbel", "laplace")
    ]

    assert NoisyMax(epsilon=0.1, sensitivity=1).accuracy(0.01, size=100) < min(errors)


def test_only_gumbel_noise_has_the_smaller_zcdp_cost():
    events = {
        noise: NoisyMax(epsilon=1, sensitivity=1, noise=noise).event() for noise in ("exponential", "gumbel", "laplace")
    }

    assert events["gumbel"] == ExponentialEvent(epsilon=1)
    assert events["exponential"] == events["laplace"] == PureEvent(epsilon=1)


def continuous_tail(t, b):
    """Pr[Y - Z > t] for two Laplace variables of scale b."""
    return exp(-t / b) * (2 + t / b) / 4


@pytest.mark.parametrize(("epsilon", "loss"), [(0.1, 0.199601), (1, 1.996008)])
def test_the_erratum_laplace_noise_of_scale_one_over_epsilon_costs_two_epsilon_under_replace(epsilon, loss):
    """Two counts 500 / epsilon apart, one falls by 1 while the other rises by 1; fine lattice and closed form agree."""
    near, far = 498 if epsilon == 1 else 4998, 500 if epsilon == 1 else 5000
    fine = 200  # lattice points to a count
    scale = fine / Fraction(str(epsilon))
    ratio = difference_tail(near * fine, scale, scale) / difference_tail(far * fine, scale, scale)

    assert log(continuous_tail(near, 1 / epsilon) / continuous_tail(far, 1 / epsilon)) == pytest.approx(loss, abs=2e-6)
    assert log(ratio) == pytest.approx(loss, abs=2e-5)
    assert log(ratio) > 1.9 * epsilon


def test_one_count_that_rises_alone_costs_less_than_epsilon():
    loss = log(continuous_tail(49, 1) / continuous_tail(50, 1))

    assert loss == pytest.approx(0.980582, abs=1e-6)


def test_the_erratum_is_enforced():
    with pytest.raises(UnsupportedError, match="under Replace one score can rise while another falls"):
        NoisyMax(epsilon=1, sensitivity=1, noise="laplace", monotone=True, neighbours=Replace)
    for relation in (AddRemove, NullRow):
        assert NoisyMax(epsilon=1, sensitivity=1, monotone=True, neighbours=relation).scale == 1


@pytest.mark.parametrize(
    "parameters",
    [
        {"epsilon": 0, "sensitivity": 1},
        {"epsilon": float("nan"), "sensitivity": 1},
        {"epsilon": 1, "sensitivity": 0},
        {"epsilon": 1, "sensitivity": 1, "noise": "gaussian"},
        {"epsilon": 1, "sensitivity": 1, "monotone": 1},
    ],
)
def test_rejects_bad_parameters(parameters):
    with pytest.raises(ParameterError):
        NoisyMax(**parameters)


def test_only_an_index_comes_out():
    assert type(NoisyMax(epsilon=1, sensitivity=1)([3, 4])) is int
