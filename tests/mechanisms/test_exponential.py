"""discreet.mechanisms.exponential: each claim in the module docstring, in order; then the notes."""

from fractions import Fraction
from itertools import product
from math import ceil, exp, log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from discreet.errors import ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.mechanisms.exponential import Exponential
from discreet.privacy.event import ExponentialEvent
from discreet.privacy.guarantee import PureDP
from discreet.privacy.neighbours import AddRemove, Local, NodeNeighbours, Replace
from tests.mechanisms.selection_laws import exponential_law, moves, renyi, worst_ratio
from tests.scale import counts

epsilons = st.fractions(min_value=Fraction(1, 100), max_value=4, max_denominator=100)
HALF, MOST = Fraction(1, 2), Fraction(9, 10)
MOVIES = [2, 1, 1] + [0] * 997  # Forrest Gump twice, The Revenant, Harry Potter, and the rest
OTHERS = [1, 2, 1] + [0] * 997  # the customer who claims The Revenant instead


@pytest.mark.parametrize(("size", "top"), [(2, 6), (3, 4), (4, 2)])
@pytest.mark.parametrize("t", [HALF, MOST])
@pytest.mark.parametrize("sensitivity", [1, 2])
def test_neighbours_differ_by_at_most_epsilon(size, top, t, sensitivity):
    """The definition, in rationals: e^epsilon is t^(-2 sensitivity) when t = e^-rate."""
    assert worst_ratio(exponential_law, t, size=size, top=top, steps=range(-sensitivity, sensitivity + 1)) < t ** (
        -2 * sensitivity
    )


def test_the_claim_is_tight():
    """A candidate far behind gains while the leader loses: the ratio tends to e^epsilon."""
    here, there = exponential_law((0, 60), HALF), exponential_law((1, 59), HALF)

    assert 1 - Fraction(1, 2**50) < there[0] / here[0] * HALF**2 < 1


@pytest.mark.parametrize(("size", "top"), [(2, 6), (3, 4)])
def test_monotone_scores_are_worth_twice_as_much(size, top):
    assert worst_ratio(exponential_law, HALF, size=size, top=top, steps=range(2)) < 2
    assert Exponential(epsilon=1, sensitivity=3, monotone=True, neighbours=AddRemove).rate == Fraction(1, 3)
    assert Exponential(epsilon=1, sensitivity=3).rate == Fraction(1, 6)


def test_the_monotone_rate_sold_for_any_scores_is_caught():
    assert worst_ratio(exponential_law, HALF, size=2, top=6, steps=range(-1, 2)) > 3  # e^epsilon would be 2


@pytest.mark.parametrize("order", [1.01, 2.0, 8.0, 64.0])
@pytest.mark.parametrize("size", [2, 3])
def test_the_renyi_divergence_is_at_most_an_eighth_of_epsilon_squared(size, order):
    for t in (HALF, MOST):
        epsilon = -2 * log(t)
        for scores in product(range(5), repeat=size):
            for move in moves(size, range(-1, 2)):
                there = tuple(u + m for u, m in zip(scores, move, strict=True))
                loss = renyi(exponential_law(scores, t), exponential_law(there, t), order)

                assert loss <= epsilon**2 / 8 * order + 1e-9


@given(epsilons, st.integers(1, 200), st.floats(min_value=1e-6, max_value=0.9), st.booleans())
def test_accuracy_is_the_least_alpha_that_holds_for_all_scores(epsilon, size, beta, monotone):
    mechanism = Exponential(epsilon=epsilon, sensitivity=1, monotone=monotone, neighbours=AddRemove)
    alpha = mechanism.accuracy(beta, size=size)

    def failure(lead):
        return 1 - mechanism.probabilities([lead] + [0] * (size - 1))[0]

    assert failure(alpha + 1) <= beta * (1 + 1e-9)  # a gap above alpha is alpha + 1 or more
    assert alpha == 0 or failure(alpha) > beta * (1 - 1e-9)
    assert alpha <= ceil((log(size) + log(1 / beta)) / mechanism.rate)  # the theorem of the notes


def test_no_scores_do_worse_than_one_leader():
    mechanism = Exponential(epsilon=1, sensitivity=1)
    for alpha in range(6):
        worst = 1 - mechanism.probabilities([alpha + 1, 0, 0])[0]
        for scores in product(range(8), repeat=3):
            chances = mechanism.probabilities(scores)
            bad = sum(p for p, u in zip(chances, scores, strict=True) if max(scores) - u > alpha)

            assert bad <= worst + 1e-12


@pytest.mark.statistical
def test_choices_follow_the_stated_law():
    mechanism, runs = Exponential(epsilon=1, sensitivity=2), counts(quick=100_000, full=10_000_000)
    scores = [5, 9, 0, 7]
    seen = np.bincount(mechanism.releases(scores, runs, rng=SeededRandom(1)), minlength=4)

    assert chisquare(seen, runs * mechanism.probabilities(scores)).pvalue > 1e-6
    assert chisquare(seen, runs * Exponential(epsilon=1, sensitivity=1).probabilities(scores)).pvalue < 1e-6


def test_the_event_and_the_guarantee_say_what_ran():
    mechanism = Exponential(epsilon=0.5, sensitivity=1, neighbours=Replace)

    assert mechanism.event() == ExponentialEvent(epsilon=0.5)
    assert mechanism.privacy() == PureDP(0.5, neighbours=Replace)


@pytest.mark.parametrize(
    ("epsilon", "here", "there"),
    [
        (0.1, 0.00110494, 0.00105105),
        (0.5, 0.00164672, 0.00128246),
        (1, 0.00271011, 0.00164376),
        (2, 0.00731716, 0.00269183),
        (5, 0.126873, 0.0104144),
        (10, 0.944519, 0.00636412),
        (20, 0.999907, 0.0000453957),
    ],
)
def test_the_movies_of_the_notes(epsilon, here, there):
    """Example 3.4: both from the same total, so that the ratio is e^(epsilon / 2): half the budget is used."""
    mechanism = Exponential(epsilon=epsilon, sensitivity=1)
    true, claimed = mechanism.probabilities(MOVIES)[0], mechanism.probabilities(OTHERS)[0]

    assert true == pytest.approx(here, rel=1e-5)
    assert claimed == pytest.approx(there, rel=1e-5)
    assert log(true / claimed) == pytest.approx(epsilon / 2, rel=1e-9)


def test_scaling_the_score_changes_nothing_when_its_sensitivity_is_scaled_too():
    """Example 3.4, last question; and the slip: fifty times the score at the old sensitivity is 50 epsilon."""
    fifty = [50 * score for score in MOVIES]
    plain = Exponential(epsilon=0.1, sensitivity=1)

    assert np.allclose(Exponential(epsilon=0.1, sensitivity=50).probabilities(fifty), plain.probabilities(MOVIES))
    assert plain.probabilities(fifty)[0] == pytest.approx(0.126873, rel=1e-5)


def test_forrest_gump_is_chosen_half_of_the_time_at_epsilon_6_968():
    epsilon = 2 * log(1 + sqrt(998))

    assert epsilon == pytest.approx(6.968081, abs=1e-6)
    assert Exponential(epsilon=epsilon, sensitivity=1).probabilities(MOVIES)[0] == pytest.approx(0.5)


@given(st.lists(st.integers(0, 30), min_size=1, max_size=6).map(tuple))
def test_exercise_8_the_probabilities_sum_to_one(scores):
    assert sum(exponential_law(scores, MOST)) == 1
    assert abs(Exponential(epsilon=1, sensitivity=1).probabilities(scores).sum() - 1) < 1e-12


def test_exercise_10_the_fewest_votes_are_the_most_of_their_negatives():
    votes = np.array([310, 7, 150])
    fewest = Exponential(epsilon=1, sensitivity=1)

    assert fewest.probabilities(-votes).argmax() == 1
    assert fewest(-votes, rng=SeededRandom(1)) == 1


@pytest.mark.parametrize(("epsilon", "exact"), [(1, 0.00669285), (0.1, 0.377541)])
@pytest.mark.parametrize("fewer", [0, 3, 1000])
def test_exercise_11_only_the_difference_of_two_counts_matters(epsilon, exact, fewer):
    """Example 3.5 too: the exact chance of the wrong one is 1 / (1 + e^(gap epsilon / 2)), half the notes' bound."""
    wrong = Exponential(epsilon=epsilon, sensitivity=1).probabilities([fewer, fewer + 10])[0]

    assert wrong == pytest.approx(exact, rel=1e-5)
    assert wrong == pytest.approx(1 / (1 + exp(5 * epsilon)))
    assert wrong < 2 * exp(-5 * epsilon)


@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), float("inf"), True, "x"])
def test_rejects_a_bad_epsilon(epsilon):
    with pytest.raises(ParameterError):
        Exponential(epsilon=epsilon, sensitivity=1)


@pytest.mark.parametrize("sensitivity", [0, -1, 1.0, True, None])
def test_rejects_a_bad_sensitivity(sensitivity):
    with pytest.raises(ParameterError, match="need an integer sensitivity >= 1"):
        Exponential(epsilon=1, sensitivity=sensitivity)


@pytest.mark.parametrize("neighbours", [None, Replace, Local, NodeNeighbours])
def test_refuses_to_call_scores_monotone_where_they_are_not(neighbours):
    with pytest.raises(UnsupportedError, match="one score can rise while another falls"):
        Exponential(epsilon=1, sensitivity=1, monotone=True, neighbours=neighbours)
    assert Exponential(epsilon=1, sensitivity=1, monotone=True, neighbours=AddRemove).rate == 1


def test_rejects_what_accuracy_cannot_answer():
    mechanism = Exponential(epsilon=1, sensitivity=1)
    with pytest.raises(UnsupportedError, match="pass size="):
        mechanism.accuracy(0.05)
    for beta, size in ((0, 2), (1, 2), (0.1, 0), (0.1, True), (float("nan"), 2)):
        with pytest.raises(ParameterError):
            mechanism.accuracy(beta, size=size)


def test_float_scores_are_refused_before_anything_is_drawn():
    class Silent:
        def words(self, count):
            raise AssertionError("drew")

        bits = words

    with pytest.raises(ParameterError, match="moved to a lattice first"):
        Exponential(epsilon=1, sensitivity=1)([0.5, 1.5], rng=Silent())
