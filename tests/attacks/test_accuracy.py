"""discreet.attacks.accuracy: errors and the interval for their quantile."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from discreet.attacks import measure_accuracy
from discreet.attacks.accuracy import _ranks
from discreet.errors import ParameterError
from discreet.hazmat.entropy import SeededRandom
from discreet.mechanisms.laplace import Laplace
from tests.scale import counts


class RealLaplace:
    """Continuous Laplace noise of scale 1 on each of the entries."""

    def releases(self, value, count, *, rng=None):
        generator = np.random.Generator(np.random.PCG64(rng.bits(64)))
        return value + generator.laplace(0, 1, (count, len(value)))

    __call__ = None


@pytest.mark.statistical
def test_the_largest_of_a_hundred_errors():
    """The 0.95 quantile of the largest of 100 Laplace(1) errors is -ln(1 - 0.95^(1/100)) = 7.575622."""
    exact = -math.log(1 - 0.95 ** (1 / 100))
    found = measure_accuracy(RealLaplace(), np.zeros(100), counts(quick=20_000, full=200_000), rng=SeededRandom(1))

    assert exact == pytest.approx(7.575622, abs=5e-7)
    assert found.interval[0] <= exact <= found.interval[1]
    assert found.quantile == pytest.approx(exact, rel=0.02)
    assert not found.refutes(exact)
    assert found.refutes(0.9 * exact)  # the twin: noise claimed a tenth smaller


@pytest.mark.statistical
@pytest.mark.parametrize("beta", [0.5, 0.05, 0.01])
def test_laplace_accuracy_is_the_least_alpha(beta):
    laplace = Laplace(epsilon=0.2, sensitivity=1)
    found = measure_accuracy(laplace, 0, 200_000, beta=beta, rng=SeededRandom(2))
    alpha = laplace.accuracy(beta)

    assert not found.refutes(alpha)
    assert found.refutes(alpha - 2)
    assert found.interval[0] <= alpha <= found.interval[1]


def test_mean_and_rms_are_those_of_the_errors():
    answers = iter([3, -4] * 50)
    found = measure_accuracy(lambda value, rng=None: value + next(answers), 10, 100, batched=False)

    assert (found.largest, found.mean) == (4.0, 3.5)
    assert found.rms == pytest.approx(math.sqrt(12.5))


@pytest.mark.parametrize(("trials", "beta", "risk"), [(100, 0.05, 0.01), (1000, 0.05, 1e-6), (50, 0.5, 1e-3)])
def test_the_ranks_hold_with_the_stated_risk_and_are_tight(trials, beta, risk):
    """The i-th smallest exceeds the quantile iff fewer than i errors are at or below it, and so on."""
    low, high = _ranks(trials, beta, risk)
    law = binom(trials, 1 - beta)

    assert low == 0 or law.cdf(low - 1) <= risk / 2 < law.cdf(low)
    assert high == trials + 1 or law.sf(high - 1) <= risk / 2 < law.sf(high - 2)


def test_too_few_trials_bound_nothing_from_above():
    found = measure_accuracy(Laplace(epsilon=1, sensitivity=1), 0, 20, beta=0.01, rng=SeededRandom(3))

    assert found.interval[1] == math.inf


def test_answers_that_are_no_numbers_are_refused():
    with pytest.raises(ParameterError, match="numeric"):
        measure_accuracy(lambda value, rng=None: "yes", 0, 10)


@pytest.mark.parametrize("bad", [{"trials": 1}, {"beta": 0.0}, {"beta": math.nan}, {"risk": 1.0}], ids=str)
def test_bad_input_is_refused_before_anything_is_drawn(bad):
    def never(value, *, rng=None):
        raise AssertionError("drawn")

    with pytest.raises(ParameterError):
        measure_accuracy(never, 0, **bad)
