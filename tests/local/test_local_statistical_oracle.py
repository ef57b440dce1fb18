"""discreet.local.statistical_oracle: each claim, and the learners from statistical queries on it, unchanged."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

from discreet.bounds import samples
from discreet.errors import BudgetExhausted, ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.learning.statistical.conjunctions import learn_conjunction
from discreet.learning.statistical.means import learn_means
from discreet.local import LocalStatisticalOracle, OneBitMean, users_needed
from discreet.queries.statistical import RowFunction
from discreet.queries.statistical_pieces import Affine
from tests.scale import counts

RUNS = counts(quick=40, full=500)


def _column(j: int) -> RowFunction:
    return RowFunction(lambda rows: rows[:, j])


def test_the_number_of_users_is_the_stated_one():
    """The real number of the formula is 776,770; groups are whole, so 100 groups of 7,768 are needed."""
    slope = math.tanh(0.5)
    each = 2 / (slope**2 * 0.1**2) * math.log(2 * 100 / 0.05)

    assert math.ceil(100 * each) == 776_770
    assert users_needed(100, tau=0.1, epsilon=1.0, beta=0.05) == 776_800 == 100 * math.ceil(each)
    assert samples("statistical", m=100, tau=0.1, beta=0.05, epsilon=1.0)["local"].n == pytest.approx(776_800, rel=1e-4)


@pytest.mark.statistical
def test_all_answers_are_within_the_tolerance_as_often_as_promised():
    """10 queries, beta = 0.2: with at most that chance each, more than 23 failures of 40 have a chance below 1e-6."""
    n = users_needed(10, tau=0.2, epsilon=1.0, beta=0.2)
    rng = np.random.default_rng(1)
    rows = rng.uniform(-1, 1, (n, 10)).round(3)
    failures, errors = 0, []
    for seed in range(RUNS):
        oracle = LocalStatisticalOracle(rows, queries=10, epsilon=1.0, rng=SeededRandom(seed))
        found = oracle.answer([_column(j) for j in range(10)])
        error = np.abs(found - rows.mean(axis=0))
        failures += error.max() > oracle.tolerance(0.2).noise
        errors.append(error.max())

    assert oracle.tolerance(0.2).noise <= 0.2 + 1e-9
    assert failures <= 0.2 * RUNS + 6 * math.sqrt(0.16 * RUNS)
    assert np.mean(errors) > 0.2 / 5  # and the tolerance is not idle


def test_each_user_sends_one_bit_to_one_query():
    """The groups of the queries are disjoint, whatever the queries are."""
    rows = np.arange(1000.0)[:, None] / 1000
    asked = []

    def spy(group):
        asked.append(set(group[:, 0].tolist()))
        return group[:, 0]

    oracle = LocalStatisticalOracle(rows, queries=7, epsilon=1.0, rng=SeededRandom(1))
    oracle.answer([RowFunction(spy)] * 3)
    oracle.answer([RowFunction(spy)] * 4)

    assert sum(len(group) for group in asked) == 1000 == len(set.union(*asked))
    assert min(len(group) for group in asked) >= 1000 // 7
    assert oracle.privacy() == OneBitMean(epsilon=1.0).privacy()


def test_sorted_users_do_not_make_an_answer_wrong():
    rows = np.repeat([[-1.0], [1.0]], 20_000, axis=0)
    oracle = LocalStatisticalOracle(rows, queries=2, epsilon=2.0, rng=SeededRandom(1))

    assert np.abs(oracle.answer([_column(0)] * 2)).max() <= oracle.tolerance(1e-6).noise


def test_the_twin_that_asks_the_same_users_again_loses_as_many_epsilons():
    from fractions import Fraction

    from discreet.privacy.enclosure import log_up

    ratio = Fraction(OneBitMean(epsilon=1).table().ratio())

    assert log_up(ratio) <= 1 < log_up(ratio**2)


def test_one_query_too_many_is_refused_and_asks_nobody():
    oracle = LocalStatisticalOracle(np.zeros((10, 1)), queries=2, epsilon=1, rng=SeededRandom(1))

    with pytest.raises(BudgetExhausted):
        oracle.answer([RowFunction(lambda rows: 1 / 0)] * 3)
    assert oracle.remaining == 2


def test_a_conjunction_is_learned_unchanged():
    rng = np.random.default_rng(4)
    n = users_needed(4, tau=0.15, epsilon=2.0, beta=0.05)
    bits = rng.integers(0, 2, (n, 4))
    oracle = LocalStatisticalOracle((bits, bits[:, 0] & bits[:, 2]), queries=4, epsilon=2.0, rng=SeededRandom(2))
    found = learn_conjunction(oracle, d=4, alpha=0.6)

    assert found.literals == ((0, True), (2, True))
    assert oracle.remaining == 0


def test_means_are_learned_unchanged():
    rng = np.random.default_rng(5)
    points = np.concatenate([rng.normal(-0.5, 0.1, 60_000), rng.normal(0.5, 0.1, 60_000)]).clip(-1, 1)[:, None]
    oracle = LocalStatisticalOracle(points, queries=8, epsilon=2.0, rng=SeededRandom(3))
    found = learn_means(oracle, features=[Affine.of({0: 1})], centres=[[-0.1], [0.1]], rounds=2)

    assert found.centres[:, 0] == pytest.approx([-0.5, 0.5], abs=0.15)


def test_bad_parameters_are_refused_and_copies_too():
    for bad in ({"queries": 0}, {"queries": 11}, {"queries": True}, {"epsilon": 0}, {"epsilon": math.inf}):
        with pytest.raises(ParameterError):
            LocalStatisticalOracle(np.zeros((10, 1)), **{"queries": 2, "epsilon": 1, **bad})
    with pytest.raises(ParameterError):
        users_needed(10, tau=0, epsilon=1)
    oracle = LocalStatisticalOracle(np.zeros((10, 1)), queries=2, epsilon=1)
    with pytest.raises(UnsupportedError, match="cannot be copied"):
        pickle.dumps(oracle)
    for beta in (0, 1, math.nan):
        with pytest.raises(ParameterError):
            oracle.tolerance(beta)
