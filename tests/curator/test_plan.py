"""discreet.curator.plan and explain: shares add up, better than even, least epsilon for an error."""

from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.composition.price import price
from discreet.curator.plan import _error, _laplace, _Task, _weight, plan
from discreet.errors import ParameterError, UnsupportedError
from discreet.privacy import ZCDP, ApproxDP, GaussianDP, PureDP
from discreet.privacy.number import exact
from discreet.queries.compile import parts
from discreet.queries.sql import parse

MIXED = "SELECT ward, COUNT(*) AS n, AVG(cost) AS mean, COUNT(DISTINCT patient) AS p FROM visits GROUP BY ward"


@pytest.mark.parametrize("epsilon", [0.1, Fraction(1, 3), 7])
def test_shares_add_up_to_the_budget_exactly(visits, epsilon):
    step = plan(parse(MIXED, {"visits": visits}), visits, epsilon=epsilon)

    assert sum(exact(release.mechanism.epsilon) for release in step.releases) == exact(epsilon)
    assert step.price.epsilon == exact(epsilon)


def test_gaussian_shares_cost_at_most_the_budget(visits):
    step = plan(parse(MIXED, {"visits": visits}), visits, budget=ZCDP(0.01))

    assert step.price.rho == Fraction(1, 100)
    assert Fraction(99999, 10**7) < price(step.event).rho <= Fraction(1, 100)


def test_noise_covers_what_one_unit_can_change(visits):
    step = plan(parse(MIXED, {"visits": visits}), visits, epsilon=1)

    for release in step.releases:
        assert release.mechanism.sensitivity == release.part.sensitivity(2, 2)[0]


def test_the_split_beats_an_even_one(visits):
    query = parse(
        "SELECT COUNT(*) AS n, AVG(cost) AS m, AVG(age) AS a, VARIANCE(age) AS v FROM visits", {"visits": visits}
    )
    step = plan(query, visits, epsilon=1)
    needed = tuple(release.part for release in step.releases)
    made_of = [(aggregate, parts(aggregate)) for aggregate in query.aggregates]
    weights = tuple(_weight(part, made_of, 2, 1) for part in needed)
    task = _Task(needed, weights, rows=2, groups=1, cells=1)
    even = _laplace(replace(task, weights=(1.0,) * len(needed)), Fraction(1))

    assert _error(step.releases, task) < 0.95 * _error(even, task)


def test_a_delta_buys_gaussian_noise_where_that_is_better(visits):
    many = "SELECT " + ", ".join(f"SUM(age * {i}) AS s{i}" for i in range(1, 30)) + " FROM visits"
    one = "SELECT COUNT(*) AS n FROM visits"

    assert (
        type(plan(parse(many, {"visits": visits}), visits, budget=ApproxDP(1, 1e-6)).releases[0].mechanism).__name__
        == "Gaussian"
    )
    assert (
        type(plan(parse(one, {"visits": visits}), visits, budget=ApproxDP(1, 1e-6)).releases[0].mechanism).__name__
        == "Laplace"
    )


def test_a_question_without_groups_has_one_group(visits):
    step = plan(parse("SELECT COUNT(DISTINCT patient) AS p FROM visits", {"visits": visits}), visits, epsilon=1)

    assert step.releases[0].mechanism.sensitivity == 1


def test_the_epsilon_for_an_error_is_the_least(curator):
    sql = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
    found = curator.explain(sql, error=20)

    assert found.lines[0].error <= 20
    assert curator.explain(sql, epsilon=found.epsilon * 0.97).lines[0].error > 20
    with pytest.raises(UnsupportedError, match="depends on how many rows"):
        curator.explain("SELECT AVG(age) AS a FROM visits", error=1)
    with pytest.raises(ParameterError, match="one of"):
        curator.explain(sql, error=1, epsilon=1)


@pytest.mark.parametrize("error", [0, -1, float("nan"), float("inf"), 10**400, 10**5000, -(10**5000)], ids=range(7))
def test_an_error_that_no_float_can_hold_is_refused_with_a_sentence(curator, error):
    """Of the longest Python writes no digits: the twin that quotes it, or makes it a float, raises something else."""
    with pytest.raises(ParameterError, match="error > 0"):
        curator.explain("SELECT COUNT(*) AS n FROM visits", error=error)


def test_an_explanation_says_why_and_what_is_removed(curator):
    found = curator.explain(MIXED, epsilon=1)
    text = str(found)

    assert "one unit changes it by at most 500,000 = 2 rows x 250,000 steps of 0.01" in text
    assert "rows of one patient beyond 2" in text
    assert "outside their declared bounds" in text
    assert found.to_dict()["price"]["epsilon"] == 1


def test_other_currencies_are_refused(visits):
    with pytest.raises(UnsupportedError, match="PureDP, ApproxDP or ZCDP"):
        plan(parse(MIXED, {"visits": visits}), visits, budget=GaussianDP(1))
    with pytest.raises(ParameterError, match="epsilon > 0"):
        plan(parse(MIXED, {"visits": visits}), visits, budget=PureDP(0))


@pytest.mark.parametrize(
    "price",
    [
        {"epsilon": "1e-200"},
        {"epsilon": 1e308},
        {"budget": ZCDP("1e-320")},
        {"budget": ApproxDP("1e-200", "1e-6")},
        {"budget": ZCDP(1e300)},
    ],
    ids=str,
)
def test_absurd_prices_are_refused_with_a_sentence(curator, price):
    for sql in ("SELECT COUNT(*) AS n FROM visits", "SELECT AVG(cost) AS a, VARIANCE(cost) AS v FROM visits"):
        with pytest.raises(ParameterError, match="1e-30 <="):
            curator.explain(sql, **price)


def test_an_answer_too_large_to_hold_is_refused_before_it_is_paid(curator):
    many = ", ".join(f"SUM(age * {i}) AS s{i}" for i in range(1, 60))
    with pytest.raises(UnsupportedError, match="too large; at most 20,000,000"):
        curator.ask(f"SELECT cost, {many} FROM visits GROUP BY cost", epsilon=1)

    assert curator.budget.balance.spent.epsilon == 0
