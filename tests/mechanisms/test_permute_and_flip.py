"""discreet.mechanisms.permute_and_flip: each claim in the module docstring, in order; then the numbers."""

from fractions import Fraction
from itertools import permutations, product
from math import ceil, exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from discreet.errors import ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.privacy.event import PureEvent
from discreet.privacy.neighbours import AddRemove, Replace
from tests.mechanisms.selection_laws import exponential_law, flip_law, moves, renyi, worst_ratio
from tests.scale import counts

epsilons = st.fractions(min_value=Fraction(1, 100), max_value=4, max_denominator=100)
HALF, MOST = Fraction(1, 2), Fraction(9, 10)


def visiting_law(scores, t):
    """The algorithm as published: the average over all orders of who is accepted first."""
    weights = [t ** (max(scores) - score) for score in scores]
    law = [Fraction(0)] * len(scores)
    orders = list(permutations(range(len(scores))))
    for order in orders:
        reached = Fraction(1)
        for i in order:
            law[i] += reached * weights[i] / len(orders)
            reached *= 1 - weights[i]
    return tuple(law)


def test_visiting_in_random_order_is_choosing_among_all_successes():
    for scores in product(range(4), repeat=4):
        assert visiting_law(scores, HALF) == flip_law(scores, HALF)
        assert sum(flip_law(scores, HALF)) == 1


def test_exponential_noise_gives_the_same_law():
    """Pr[i has the largest score + noise], by integrating over the noise of i; two laws, fifteen digits."""
    from scipy.integrate import quad

    rate, scores = 0.7, (0, 1, 3)
    law = PermuteAndFlip(epsilon=Fraction(7, 5), sensitivity=1).probabilities(scores)
    for i, u in enumerate(scores):

        def density(x, i=i, u=u):  # noise x at i, and every other noisy score below u + x
            others = [1 - exp(-rate * max(0.0, u + x - v)) for j, v in enumerate(scores) if j != i]
            return rate * exp(-rate * x) * np.prod(others)

        assert quad(density, max(scores) - u, 60)[0] == pytest.approx(law[i], rel=1e-8)


@pytest.mark.parametrize(("size", "top"), [(2, 6), (3, 4), (4, 2)])
@pytest.mark.parametrize("t", [HALF, MOST])
def test_neighbours_differ_by_at_most_epsilon(size, top, t):
    """The definition, in rationals, and tight: two candidates attain e^epsilon = t^-2."""
    worst = worst_ratio(flip_law, t, size=size, top=top, steps=range(-1, 2))

    assert worst <= t**-2
    assert size > 2 or worst == t**-2


def test_a_sensitivity_of_two_costs_what_it_should():
    assert worst_ratio(flip_law, HALF, size=2, top=5, steps=range(-2, 3)) == 2**4


@pytest.mark.parametrize(("size", "top"), [(2, 6), (3, 4)])
def test_monotone_scores_are_worth_twice_as_much(size, top):
    worst = worst_ratio(flip_law, HALF, size=size, top=top, steps=range(2))

    assert worst <= 2
    assert size > 2 or worst == 2
    assert PermuteAndFlip(epsilon=1, sensitivity=3, monotone=True, neighbours=AddRemove).rate == Fraction(1, 3)


def test_the_monotone_rate_sold_for_any_scores_is_caught():
    assert worst_ratio(flip_law, HALF, size=2, top=6, steps=range(-1, 2)) == 4  # e^epsilon would be 2


@pytest.mark.parametrize("t", [HALF, MOST])
def test_it_is_never_worse_than_the_exponential_mechanism(t):
    for scores in product(range(5), repeat=3):
        flip, exponential = flip_law(scores, t), exponential_law(scores, t)
        for bar in range(max(scores) + 1):  # also in the stochastic order, not only on average
            assert sum(p for p, u in zip(flip, scores, strict=True) if u >= bar) >= sum(
                p for p, u in zip(exponential, scores, strict=True) if u >= bar
            )


@given(epsilons, st.integers(1, 200), st.floats(min_value=1e-6, max_value=0.9))
def test_accuracy_is_the_least_alpha_that_holds_for_all_scores(epsilon, size, beta):
    mechanism = PermuteAndFlip(epsilon=epsilon, sensitivity=1)
    alpha = mechanism.accuracy(beta, size=size)

    def failure(lead):
        return 1 - mechanism.probabilities([lead] + [0] * (size - 1))[0]

    assert failure(alpha + 1) <= beta + 1e-9
    assert alpha == 0 or failure(alpha) > beta - 1e-9
    assert alpha <= max(0, ceil(log(max(1, size - 1) / (2 * beta)) / mechanism.rate))
    assert alpha <= Exponential(epsilon=epsilon, sensitivity=1).accuracy(beta, size=size)


def test_no_scores_do_worse_than_one_leader():
    for alpha in range(5):
        worst = 1 - flip_law((alpha + 1, 0, 0), HALF)[0]
        for scores in product(range(7), repeat=3):
            bad = sum(p for p, u in zip(flip_law(scores, HALF), scores, strict=True) if max(scores) - u > alpha)

            assert bad <= worst


def test_an_eighth_of_epsilon_squared_would_be_a_false_claim():
    """Charged as the exponential mechanism it would be sold up to four times too cheap."""
    worst = 0.0
    for t in (MOST, Fraction(99, 100)):
        for scores in product(range(4), repeat=3):
            for move in moves(3, range(-1, 2)):
                there = tuple(u + m for u, m in zip(scores, move, strict=True))
                loss = renyi(flip_law(scores, t), flip_law(there, t), 1.01) / 1.01
                worst = max(worst, loss / (4 * log(t) ** 2 / 8))  # epsilon = -2 ln t

    assert 1.5 < worst <= 4 + 1e-6
    assert PermuteAndFlip(epsilon=1, sensitivity=1).event() == PureEvent(epsilon=1)


@pytest.mark.parametrize("scores", [(3,), (0, 0), (0, 5), (2, 2, 0), (9, 0, 4, 4)])
def test_probabilities_are_those_of_the_enumeration(scores):
    rate = Fraction(1, 3)
    law = flip_law(scores, Fraction(exp(-1 / 3)))

    assert np.allclose(PermuteAndFlip(epsilon=2 * rate, sensitivity=1).probabilities(scores), [float(p) for p in law])


def test_probabilities_of_many_candidates_sum_to_one():
    scores = np.random.default_rng(1).integers(0, 100, 100_000)
    for epsilon in (0.001, 0.5, 20):
        assert abs(PermuteAndFlip(epsilon=epsilon, sensitivity=1).probabilities(scores).sum() - 1) < 1e-10


@pytest.mark.statistical
def test_choices_follow_the_stated_law():
    mechanism, runs = PermuteAndFlip(epsilon=1, sensitivity=2), counts(quick=100_000, full=10_000_000)
    scores = [5, 9, 0, 7]
    seen = np.bincount(mechanism.releases(scores, runs, rng=SeededRandom(1)), minlength=4)

    assert chisquare(seen, runs * mechanism.probabilities(scores)).pvalue > 1e-6
    assert chisquare(seen, runs * Exponential(epsilon=1, sensitivity=2).probabilities(scores)).pvalue < 1e-6


def test_two_candidates_are_confused_half_as_often_as_by_the_exponential_mechanism():
    wrong = PermuteAndFlip(epsilon=1, sensitivity=1).probabilities([0, 10])[0]

    assert wrong == pytest.approx(0.00336897, rel=1e-5)
    assert wrong == pytest.approx(exp(-5) / 2)


@pytest.mark.parametrize(("epsilon", "chance"), [(1, 0.00271475), (5, 0.144985), (10, 0.971182)])
def test_the_movies_of_the_notes(epsilon, chance):
    movies = [2, 1, 1] + [0] * 997

    assert PermuteAndFlip(epsilon=epsilon, sensitivity=1).probabilities(movies)[0] == pytest.approx(chance, rel=1e-5)


@pytest.mark.parametrize(
    ("epsilon", "sensitivity"), [(0, 1), (-1, 1), (float("nan"), 1), (True, 1), (1, 0), (1, 1.0), (1, True)]
)
def test_rejects_bad_parameters(epsilon, sensitivity):
    with pytest.raises(ParameterError):
        PermuteAndFlip(epsilon=epsilon, sensitivity=sensitivity)


def test_refuses_what_no_theorem_covers():
    with pytest.raises(UnsupportedError):
        PermuteAndFlip(epsilon=1, sensitivity=1, monotone=True, neighbours=Replace)
    with pytest.raises(UnsupportedError):
        PermuteAndFlip(epsilon=1, sensitivity=1).accuracy(0.05)
