"""discreet.attacks.confidence: the bounds hold, exactly, and are not loose."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from discreet.attacks.confidence import clopper_pearson, fisher_level, log_ratio_bound, lower, upper
from discreet.errors import ParameterError

TRIALS = 12
BETA = 0.05


def fixed_split(hits, trials, *, beta):
    """The pair of bounds at the risk beta / 2 each."""
    p, q = float(lower(hits[0], trials[0], beta / 2)), float(upper(hits[1], trials[1], beta / 2))
    return max(0.0, math.log(p / q)) if p > 0 else 0.0


def failure(bound, p, q):
    """The exact probability that the bound exceeds ln(p / q), by enumeration of all counts."""
    k = np.arange(TRIALS + 1)
    exceeds = np.array([[bound((i, j), (TRIALS, TRIALS), beta=BETA) > max(0.0, math.log(p / q)) for j in k] for i in k])
    return float((np.outer(binom.pmf(k, TRIALS, p), binom.pmf(k, TRIALS, q)) * exceeds).sum())


def test_the_interval_is_the_textbook_one():
    assert clopper_pearson(3, 10, beta=0.05) == pytest.approx((0.0667395, 0.6524529), abs=1e-6)
    assert clopper_pearson(10, 10, beta=0.05)[1] == 1.0


def test_a_product_of_two_uniforms_is_below_the_level_with_probability_beta():
    c = fisher_level(BETA)

    assert c + c * math.log(1 / c) == pytest.approx(BETA, rel=1e-12)  # the area of {u v <= c}


@pytest.mark.parametrize(("p", "q"), [(0.5, 0.25), (0.9, 0.1), (0.3, 0.3), (0.75, 0.5), (0.99, 0.9), (0.05, 0.02)])
def test_the_bound_fails_with_probability_at_most_beta(p, q):
    assert failure(log_ratio_bound, p, q) <= BETA


def test_a_bound_without_confidence_fails_often():
    def plug_in(hits, trials, *, beta):
        return math.log((hits[0] + 1e-9) / (hits[1] + 1e-9))

    assert failure(plug_in, 0.5, 0.25) > 5 * BETA


@pytest.mark.parametrize("hits", [(6000, 3000), (300, 100), (5250, 4750)])
def test_all_splits_at_once_beat_one_split_when_both_counts_are_uncertain(hits):
    ours = log_ratio_bound(hits, (10_000, 10_000), beta=1e-5)

    assert fixed_split(hits, (10_000, 10_000), beta=1e-5) < ours < math.log(hits[0] / hits[1])


def test_no_hits_say_nothing():
    assert log_ratio_bound((0, 5), (10, 10), beta=1e-5) == 0.0
    assert log_ratio_bound((10, 10), (10, 10), beta=1e-5) == 0.0


def test_delta_is_taken_off_the_likelier_side():
    plain = log_ratio_bound((500_000, 250_000), (10**6, 10**6), beta=1e-5)
    less = log_ratio_bound((500_000, 250_000), (10**6, 10**6), delta=0.1, beta=1e-5)

    assert less == pytest.approx(plain + math.log(0.4 / 0.5), abs=0.005)


@pytest.mark.parametrize(("hits", "trials", "beta"), [(-1, 10, 0.1), (11, 10, 0.1), (1, 10, 0.0), (1, 10, math.nan)])
def test_rejects_what_is_no_count(hits, trials, beta):
    with pytest.raises(ParameterError):
        clopper_pearson(hits, trials, beta=beta)
