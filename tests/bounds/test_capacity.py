"""discreet.bounds.capacity: each row of the theorem."""

import math

import pytest

from discreet.bounds.capacity import capacity
from discreet.errors import ParameterError, UnsupportedError
from discreet.privacy.guarantee import ZCDP, ApproxDP, PureDP

BUDGET = ApproxDP(1.0, 1e-6)


def queries(*, n, bits, budget=BUDGET):
    rows = capacity(n=n, universe=2**bits, alpha=0.1, budget=budget)
    assert list(rows) == sorted(rows, key=lambda row: -row.log_queries)
    return {row.mechanism: row.queries for row in rows}


@pytest.mark.parametrize(("n", "bits", "expected"), [(10**6, 10, 9.58e8), (10**6, 20, 2.19e4), (10**5, 10, 4.24)])
def test_small_databases_answer_as_many_as_the_formula_says(n, bits, expected):
    assert queries(n=n, bits=bits)["small databases"] == pytest.approx(expected, rel=0.005)


@pytest.mark.parametrize(("n", "bits", "expected"), [(10**6, 10, 5.06e4), (10**6, 20, 0), (10**7, 20, 3.3e41)])
def test_multiplicative_weights_answer_nothing_or_very_many(n, bits, expected):
    assert queries(n=n, bits=bits)["multiplicative weights"] == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize(("n", "expected"), [(10**5, 2.10e5), (10**6, 1.60e7), (10**7, 1.28e9)])
def test_independent_noise_answers_about_n_squared(n, expected):
    assert queries(n=n, bits=10)["independent noise"] == pytest.approx(expected, rel=0.005)


def test_pure_noise_answers_about_n_over_log_n():
    k = queries(n=10**6, bits=10, budget=PureDP(1.0))["independent noise"]

    assert k * math.log(k / 0.05) == pytest.approx(10**5, rel=1e-9)


def test_a_budget_without_a_statement_is_refused():
    with pytest.raises(UnsupportedError, match="PureDP and ApproxDP"):
        capacity(n=100, universe=4, alpha=0.1, budget=ZCDP(0.1))
    with pytest.raises(ParameterError, match="0 < alpha < 1"):
        capacity(n=100, universe=4, alpha=1.0, budget=BUDGET)
