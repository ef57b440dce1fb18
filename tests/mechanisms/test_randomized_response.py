"""discreet.mechanisms.randomized_response: each claim in the module docstring, and exercises 1 to 3 of the notes."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from discreet.errors import ParameterError
from discreet.hazmat.entropy import SeededRandom
from discreet.hazmat.exponent import exp_bounds
from discreet.mechanisms import randomized_response
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.privacy.event import PureEvent, RandomizedResponseEvent
from discreet.privacy.guarantee import PureDP
from discreet.privacy.neighbours import Local
from discreet.privacy.number import exact
from tests.scale import counts

DRAWS = counts(quick=1_000_000, full=10_000_000)
epsilons = st.fractions(min_value=Fraction(1, 100), max_value=8, max_denominator=100)
WARNER = RandomizedResponse.with_truth_probability(0.75)


@given(epsilons, st.integers(2, 9))
def test_reports_of_two_values_differ_by_exactly_epsilon(epsilon, categories):
    response = RandomizedResponse(epsilon=epsilon, categories=categories)
    lie = (1 - response.truth) / (categories - 1)

    assert math.log(response.truth / lie) == pytest.approx(float(epsilon), rel=1e-9)
    assert response.gap == pytest.approx(response.truth - lie, rel=1e-6)
    assert response.privacy() == PureDP(epsilon, neighbours=Local)


@given(epsilons, st.integers(2, 9), st.sampled_from([8, 64, 200]))
def test_the_coin_is_told_its_probability_exactly(epsilon, categories, bits):
    """The brackets handed to the exact coin hold the probability of a lie, and are as narrow as integers can be."""
    response = RandomizedResponse(epsilon=epsilon, categories=categories)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(randomized_response, "coin", lambda bounds, *_: bounds)
        low, high = response._lies(None, SeededRandom(1))(bits)
    with mpmath.workdps(80):
        lie = (categories - 1) / (mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator) + categories - 1)

        assert low <= lie * 2**bits <= high
        assert high - low <= 2 + categories


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [0.1, 1, 3])
def test_truth_is_told_as_often_as_stated(epsilon):
    response = RandomizedResponse(epsilon=epsilon)
    reports = response(np.ones(DRAWS, dtype=int), rng=SeededRandom(1))

    assert binomtest(int(reports.sum()), DRAWS, response.truth).pvalue > 1e-6
    twin = RandomizedResponse(epsilon=epsilon / 0.8)  # a coin with four fifths of the noise
    assert (
        binomtest(int(twin(np.ones(DRAWS, dtype=int), rng=SeededRandom(2)).sum()), DRAWS, response.truth).pvalue < 1e-6
    )


@pytest.mark.statistical
def test_lies_are_uniform_on_the_other_categories():
    response = RandomizedResponse(epsilon=1, categories=4)
    reports = response(np.full(DRAWS, 2), rng=SeededRandom(2))
    lie = (1 - response.truth) / 3

    for category in range(4):
        chance = response.truth if category == 2 else lie
        assert binomtest(int((reports == category).sum()), DRAWS, chance).pvalue > 1e-6


def test_the_estimate_is_unbiased_exactly():
    """The expectation over both reports of one user, by enumeration."""
    for epsilon in (0.1, 1, 5):
        response = RandomizedResponse(epsilon=epsilon)
        for bit in (0, 1):
            right, wrong = response.estimate([bit]), response.estimate([1 - bit])
            assert response.truth * right + (1 - response.truth) * wrong == pytest.approx(bit, abs=1e-12)


def test_the_estimate_of_categories_sums_to_one():
    response = RandomizedResponse(epsilon=2, categories=5)
    shares = response.estimate(response(np.arange(1000) % 5, rng=SeededRandom(4)))

    assert shares.shape == (5,)
    assert shares.sum() == pytest.approx(1)


@pytest.mark.parametrize("n", [5, 40, 200])
@pytest.mark.parametrize("epsilon", [0.5, 2])
def test_the_error_bound_holds_for_all_data_and_is_tight(n, epsilon):
    response, beta = RandomizedResponse(epsilon=epsilon), 0.05
    alpha = response.error(n, beta)
    estimates = np.array([(k / n - (1 - response.truth)) / response.gap for k in range(n + 1)])
    tails = []
    for ones in range(n + 1):
        law = response.yes_count(ones, n - ones)
        off = np.abs(estimates - ones / n)
        tails.append((law[off > alpha].sum(), law[off >= alpha * 0.99].sum()))

    assert max(tail for tail, _ in tails) <= beta * (1 + 1e-9)
    assert max(tail for _, tail in tails) > beta  # a smaller alpha fails for some data
    assert alpha <= math.sqrt(math.log(2 / beta) / (2 * n)) / response.gap


@pytest.mark.statistical
def test_hoeffding_holds_for_many_users():
    response, n = RandomizedResponse(epsilon=1), 100_000
    bits = np.arange(n) % 10 < 3
    misses = sum(
        abs(response.estimate(response(bits, rng=SeededRandom(seed))) - 0.3) > response.error(n, 0.05)
        for seed in range(100)
    )

    assert misses <= 20  # at most five expected


def test_the_variance_does_not_depend_on_the_bits():
    response = RandomizedResponse(epsilon=1)
    k = np.arange(51)
    variances = []
    for ones in (0, 10, 50):
        law = response.yes_count(ones, 50 - ones)
        variances.append((law * k**2).sum() - (law * k).sum() ** 2)

    assert variances == pytest.approx([50 * response.truth * (1 - response.truth)] * 3)


def test_the_warner_coin_is_ln_three_private():
    epsilon = exact(WARNER.epsilon)
    low, high = exp_bounds(epsilon, 200)

    assert high <= 2**200 // 3 + 1  # e^-epsilon <= 1/3: rounded up
    assert low > 2**200 // 3 * (1 - Fraction(1, 10**12))
    assert WARNER.truth == 0.75
    assert WARNER.estimate([1, 1, 1, 0]) == pytest.approx(1)  # P(yes) = 1/4 + p/2


@given(st.fractions(Fraction(501, 1000), Fraction(999, 1000), max_denominator=1000))
def test_the_epsilon_of_a_coin_is_rounded_up(p):
    epsilon = exact(RandomizedResponse.with_truth_probability(p).epsilon)

    assert exp_bounds(epsilon, 256)[0] <= (1 - p) / p * 2**256
    assert float(epsilon) == pytest.approx(math.log(p / (1 - p)), rel=1e-14)


@pytest.mark.parametrize(("epsilon", "true"), [("0.1", 0.200671), ("0.5", 1.098612), ("0.9", 2.944439)])
def test_the_bias_of_the_notes_costs_more_than_twice_its_epsilon(epsilon, true):
    """p = (1 + epsilon) / 2 is 2 artanh(epsilon)-DP, with variance (1 - epsilon^2) / (4 n epsilon^2)."""
    e = exact(epsilon)
    twin = RandomizedResponse.with_truth_probability((1 + e) / 2)
    p = float((1 + e) / 2)

    assert twin.epsilon == pytest.approx(true, abs=1e-6)
    assert twin.epsilon == pytest.approx(2 * math.atanh(float(e)))
    assert twin.epsilon > 2 * float(e)
    assert not twin.privacy() <= PureDP(e)
    assert p * (1 - p) / (2 * p - 1) ** 2 == pytest.approx((1 - float(e) ** 2) / (4 * float(e) ** 2))


def test_exercise_1_the_number_of_yes_answers():
    """100 people, 30 of them with the property: Bin(30, 3/4) + Bin(70, 1/4)."""
    law, k = WARNER.yes_count(30, 70), np.arange(101)

    assert law[40] == pytest.approx(0.0920156, abs=1e-7)
    assert law[35:46].sum() == pytest.approx(0.796791, abs=1e-6)
    for ones in (0, 30, 100):
        law = WARNER.yes_count(ones, 100 - ones)
        mean = (law * k).sum()
        assert mean == pytest.approx(25 + ones / 2)
        assert (law * k**2).sum() - mean**2 == pytest.approx(18.75)


def test_exercise_2_both_errors_have_probability_one_quarter():
    assert WARNER.yes_count(1, 0)[0] == pytest.approx(0.25)
    assert WARNER.yes_count(0, 1)[1] == pytest.approx(0.25)


def test_exercise_3_the_joint_law_and_the_estimator():
    share = 0.3
    joint = {(1, 1): share * 0.75, (1, 0): share * 0.25, (0, 1): (1 - share) / 4, (0, 0): (1 - share) * 0.75}

    for (bit, report), mass in joint.items():
        weight = share if bit else 1 - share
        assert WARNER.yes_count(bit, 1 - bit)[report] * weight == pytest.approx(mass)
    assert math.sqrt(0.75 * 0.25 / 100) / 0.5 == pytest.approx(0.0866025, abs=1e-7)


@pytest.mark.parametrize("reports", [[-1], [2], [0.5], [math.nan], [], ["1"], [2**70]])
def test_reports_that_nobody_can_have_sent_are_refused(reports):
    """Reports are public: what is none of them is a mistake of the caller, and was a raw error or a wrong estimate."""
    with pytest.raises(ParameterError):
        RandomizedResponse(epsilon=1).estimate(reports)


def test_accuracy_says_whether_a_report_is_right():
    assert RandomizedResponse(epsilon=1).accuracy(0.05) == 1
    assert RandomizedResponse(epsilon=5).accuracy(0.05) == 0
    assert RandomizedResponse(epsilon=5).accuracy(0.05, size=100) == 1


def test_events_and_types():
    response = RandomizedResponse(epsilon=1)

    assert response.event() == RandomizedResponseEvent(epsilon=1)
    assert RandomizedResponse(epsilon=1, categories=3).event() == PureEvent(epsilon=1)
    assert type(response(True)) is int
    assert set(response(np.array([True, False] * 50)).tolist()) == {0, 1}
    assert response([[0, 1], [1, 0]]).shape == (2, 2)


@pytest.mark.parametrize(
    ("value", "held"), [(2, 1), (-1, 0), (2**70, 1), ([0, 2], [0, 1]), (np.array([0, -1]), [0, 0]), ([1, None], [1, 0])]
)
def test_a_value_outside_the_domain_is_reported_as_the_nearest(value, held):
    """A call that fails would tell that somebody holds another one."""
    sure = RandomizedResponse(epsilon=10**5)

    assert np.array_equal(sure(value), held)


@pytest.mark.parametrize("value", [0.5, "1", None, [0.5], np.array([math.nan])], ids=str)
def test_rejects_values_that_are_not_integers(value):
    with pytest.raises(ParameterError, match="need integers"):
        RandomizedResponse(epsilon=1)(value)


@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf, None, True, "x"])
def test_rejects_a_bad_epsilon(bad):
    with pytest.raises(ParameterError, match="need"):
        RandomizedResponse(epsilon=bad)


@pytest.mark.parametrize("bad", [0.5, 0, 1, 1.1, math.nan])
def test_rejects_a_bad_truth_probability(bad):
    with pytest.raises(ParameterError, match="need"):
        RandomizedResponse.with_truth_probability(bad)


def test_a_truth_probability_cannot_be_sold_as_less():
    with pytest.raises(ParameterError, match="epsilon of the truth probability"):
        RandomizedResponse(epsilon=1, given_truth=0.75)


@pytest.mark.parametrize("categories", [2, 3, 10])
@pytest.mark.parametrize("given", [0, "1/100", "1/20", "1/11", "1/10", "1/3", "1/2", 1, 1.5, -1, math.nan, math.inf])
def test_a_given_coin_is_refused_or_loses_at_most_its_claim(categories, given):
    """A coin that favours lies was sold at 0.1: ln(p / q) is negative there, and it loses 4.6 the other way."""
    try:
        response = RandomizedResponse(epsilon="0.1", categories=categories, given_truth=given)
    except ParameterError:
        return
    p = exact(given)
    loss = abs(math.log(p * (categories - 1) / (1 - p)))

    assert loss <= float(exact(response.privacy().epsilon))


@pytest.mark.parametrize("given", ["1/100", "499/1000", "1/2"])
def test_a_coin_that_favours_lies_is_refused_at_any_price(given):
    with pytest.raises(ParameterError, match="1 / categories < p < 1"):
        RandomizedResponse(epsilon=100, given_truth=given)


@pytest.mark.parametrize("bad", [1, 0, 2.0, True])
def test_rejects_bad_categories(bad):
    with pytest.raises(ParameterError, match="need"):
        RandomizedResponse(epsilon=1, categories=bad)


@pytest.mark.parametrize("epsilon", [5e-324, 1e-300, 1e300])
def test_extreme_epsilons_work(epsilon):
    response = RandomizedResponse(epsilon=epsilon)

    assert response(1) in (0, 1)
    assert response(np.ones(10, dtype=int)).shape == (10,)
    assert 0 <= response.gap <= 1
