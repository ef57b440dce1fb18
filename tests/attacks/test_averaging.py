"""discreet.attacks.averaging: asking again."""

import math

import numpy as np
import pytest

from discreet.attacks import audit
from discreet.attacks.averaging import answers_needed, average, guessing_error
from discreet.errors import ParameterError
from discreet.hazmat.entropy import SeededRandom
from discreet.hazmat.samplers import discrete_laplace
from discreet.mechanisms.laplace import Laplace


@pytest.mark.statistical
def test_ten_thousand_answers_give_the_count_away():
    """The mean has a standard deviation of 0.1414: within a half with probability above 0.999."""
    laplace, rng = Laplace(epsilon=0.1, sensitivity=1), SeededRandom(1)
    errors = [average(laplace, 1234, 10_000, rng=rng) - 1234 for _ in range(200)]

    assert sum(abs(error) < 0.5 for error in errors) >= 195
    assert np.std(errors) == pytest.approx(0.1414, rel=0.3)


@pytest.mark.statistical
def test_a_remembered_answer_gives_no_more_away_the_second_time():
    laplace = Laplace(epsilon=0.1, sensitivity=1)
    once = laplace(1234, rng=SeededRandom(2))

    assert average(lambda value, rng=None: once, 1234, 100, batched=False) == once


@pytest.mark.statistical
@pytest.mark.parametrize("times", [1, 2, 5, 10])
def test_the_majority_vote_is_the_best_guess(times):
    """Simulated likelihood-ratio test between counts 0 and 1; 4e5 runs, failure probability 1e-6."""
    runs, rng = 400_000, SeededRandom(3)
    noise = discrete_laplace(1, shape=(runs, times), rng=rng)
    votes = (noise >= 1).sum(axis=1)  # the true count is 0: an answer of 1 or more speaks for 1
    wrong = (2 * votes > times).mean() + (2 * votes == times).mean() / 2

    assert abs(wrong - guessing_error(1, times)) < 5 * math.sqrt(0.25 / runs)


def test_one_answer_is_one_randomized_bit():
    assert guessing_error(1, 1) == pytest.approx(1 / (1 + math.e))
    assert guessing_error(1, 2) == pytest.approx(guessing_error(1, 1))  # a tie is broken by lot


@pytest.mark.statistical
def test_real_noise_needs_about_29_answers_and_integer_noise_23():
    """The notes' question for epsilon = 1 and an error of 1 %: the continuous law hides a little more."""
    generator, runs = np.random.Generator(np.random.PCG64(4)), 200_000
    noise = generator.laplace(0, 1, (runs, 29))
    loss = (np.abs(noise) - np.abs(noise - 1)).sum(axis=1)

    assert (loss > 0).mean() == pytest.approx(0.01, abs=0.001)
    assert answers_needed(1, 0.01) == 23
    assert guessing_error(1, 22) > 0.01 >= guessing_error(1, 23)


@pytest.mark.statistical
def test_many_answers_are_worth_many_epsilons_and_no_more():
    class Repeated:
        def releases(self, value, count, *, rng=None):
            return value + discrete_laplace(10, shape=(count, 5), rng=rng)

        __call__ = None

    found = audit(Repeated(), (0, 1), 200_000, rng=SeededRandom(5))

    assert 0.35 < found.epsilon <= 0.5


@pytest.mark.parametrize("times", [0, -1, True, 2.5])
def test_a_number_of_times_is_a_positive_integer(times):
    with pytest.raises(ParameterError):
        guessing_error(0.1, times)
