"""discreet.privacy.deniability: what repeated answers give away."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.privacy import Deniability

tenth = Deniability(epsilon=0.1, sensitivity=1)
one = Deniability(epsilon=1, sensitivity=1)


@pytest.mark.parametrize(("repeats", "cap"), [(1, 0.524979), (10, 0.731059), (50, 0.993307), (100, 0.999955)])
def test_repeats_wear_deniability_down(repeats, cap):
    assert tenth.posterior(repeats=repeats) == pytest.approx(cap, abs=1e-6)


def test_an_answer_is_near_the_truth_as_often_as_the_law_says():
    assert tenth.within(10) == pytest.approx(1 - math.exp(-1))
    assert Deniability(epsilon=0.1, sensitivity=2).within(10) == pytest.approx(1 - math.exp(-0.5))


def test_averages_sharpen_with_the_root_of_their_number():
    assert tenth.averaged(repeats=1) == pytest.approx(10 * math.sqrt(2))
    assert tenth.averaged(repeats=200) == pytest.approx(1)


@pytest.mark.parametrize(("repeats", "error"), [(1, 0.304), (10, 0.083), (20, 0.026), (30, 0.0087)])
def test_the_best_test_errs_as_measured(repeats, error):
    assert one.test_error(repeats=repeats) == pytest.approx(error, rel=0.03)
    assert one.test_error(repeats=repeats) <= one.test_error_bound(repeats=repeats)


def test_one_answer_errs_exactly_as_the_tail():
    assert one.test_error(repeats=1) == pytest.approx(math.exp(-0.5) / 2, rel=1e-3)
    assert one.test_error_bound(repeats=3) == pytest.approx(0.5 * (1.5 * math.exp(-0.5)) ** 3)


@pytest.mark.statistical
def test_the_error_of_the_test_matches_simulation():
    """400,000 runs of 10 answers; the error, about 0.083, has standard deviation 4.4e-4: 5 of them is 1e-6."""
    noise = np.random.default_rng(3).laplace(size=(400_000, 10))
    evidence = (np.abs(noise - 1) - np.abs(noise)).sum(axis=1)
    wrong = np.mean(evidence < 0) + np.mean(evidence == 0) / 2

    assert one.test_error(repeats=10) == pytest.approx(wrong, abs=5 * 4.4e-4)


def test_about_29_answers_tell_apart_at_one_per_cent():
    assert one.repeats_to_tell(0.01) == 29
    assert one.test_error(repeats=28) > 0.01 >= one.test_error(repeats=29)


def test_bad_input_is_refused():
    for make in (lambda: Deniability(epsilon=0, sensitivity=1), lambda: Deniability(epsilon=1, sensitivity=0)):
        with pytest.raises(ParameterError):
            make()
    for call in (
        lambda: one.posterior(repeats=0), lambda: one.within(-1), lambda: one.averaged(repeats=0),
        lambda: one.test_error(repeats=0), lambda: one.repeats_to_tell(0.5),
    ):  # fmt: skip
        with pytest.raises(ParameterError):
            call()
