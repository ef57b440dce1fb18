"""discreet.learning.pac.panel: the best of a few public classifiers."""

from math import exp

import numpy as np
import pytest
from scipy.stats import binom

from discreet.errors import ParameterError
from discreet.hazmat.entropy import SeededRandom
from discreet.learning import Thresholds, best_of_panel
from discreet.privacy.guarantee import PureDP
from discreet.privacy.neighbours import AddRemove, Replace


@pytest.mark.statistical
@pytest.mark.parametrize(("n", "rate"), [(None, 0.25), (40, 0.125)])
def test_the_worse_of_two_is_chosen_as_often_as_it_should_be(n, rate):
    """Gap 6: 1 / (1 + e^(rate 6)); two-sided at 10^-6, and another rate would be caught."""
    x, y = np.arange(40), np.arange(40) >= 20
    doctors = [lambda x: x >= 20, lambda x: x >= 26]
    rng, runs = SeededRandom(1), 3000
    worse = sum(best_of_panel(doctors, x, y, epsilon=0.25, n=n, rng=rng).index_ for _ in range(runs))

    def likely(rate):
        chance = 1 / (1 + exp(6 * rate))
        return binom.ppf(5e-7, runs, chance) <= worse <= binom.isf(5e-7, runs, chance)

    assert likely(rate)
    assert not likely(2 * rate)


def test_models_and_functions_are_both_classifiers():
    class Model:
        def predict(self, x):
            return x >= 10

    x = np.arange(20)
    best = best_of_panel([Thresholds(20).hypothesis(3), Model()], x, x >= 10, epsilon=20, rng=SeededRandom(1))

    assert best.index_ == 1
    assert best.predict([9, 10]).tolist() == [False, True]
    assert best.privacy() == PureDP(20, neighbours=AddRemove)
    assert best_of_panel([Model()], x, x >= 10, epsilon=1, n=20).privacy() == PureDP(1, neighbours=Replace)


def test_what_cannot_classify_is_refused():
    with pytest.raises(ParameterError, match="functions or have predict, got int"):
        best_of_panel([3], [1], [1], epsilon=1)
    with pytest.raises(ParameterError, match="epsilon > 0"):
        best_of_panel([np.isnan], [1], [1], epsilon=0)
