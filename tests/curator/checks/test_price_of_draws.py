"""Whatever is drawn is paid for: the mechanisms that ran, as they ran, cost what the ledger charged."""

from __future__ import annotations

from fractions import Fraction

import pyarrow as pa
import pytest

import discreet as dc
from discreet.composition.price import price
from discreet.curator.plan import plan
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.partition_selection import PartitionSelection
from discreet.structured.quantiles.quantile_bound import QuantileBound
from discreet.structured.quantiles.quantile_grid import GridQuantile

KINDS = (Laplace, Gaussian, PartitionSelection, QuantileBound, GridQuantile)
ROWS = pa.table({
    "who": [i % 20 for i in range(60)], "age": [i % 10 for i in range(60)], "ward": ["ab"[i % 2] for i in range(60)],
    "note": ["xyz"[i % 3] for i in range(60)],
})  # fmt: skip
DOMAIN = dc.Domain({
    "who": dc.Identifier(), "age": dc.Integer(0, 9), "ward": dc.Categorical(["a", "b"]), "note": dc.Text(5),
})  # fmt: skip
AGGREGATES = [
    "COUNT(*)", "COUNT(DISTINCT who)", "SUM(age)", "AVG(age)", "VARIANCE(age)", "STDDEV(age)", "MEDIAN(age)",
    "MIN(age)", "QUANTILE(age, 0.9)", "MEDIAN(age) AS m, AVG(age)", "COUNT(*) AS n, MAX(age) AS b, MEDIAN(age)",
]  # fmt: skip
BUDGETS = [dc.PureDP(1), dc.ZCDP(Fraction(1, 2)), dc.ApproxDP(1, 1e-6)]


@pytest.fixture
def drawn(monkeypatch):
    """Every mechanism that is called, in order."""
    found = []
    for kind in KINDS:
        call = kind.__call__

        def recorded(self, *args, call=call, **kwargs):
            found.append(self)
            return call(self, *args, **kwargs)

        monkeypatch.setattr(kind, "__call__", recorded)
    return found


def total(mechanisms):
    return sum((price(one.event()) for one in mechanisms), start=price(dc.PureDP(0)))


@pytest.mark.parametrize("aggregate", AGGREGATES)
@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
@pytest.mark.parametrize("key", ["", "ward"], ids=["whole", "grouped"])
def test_what_is_drawn_is_what_is_charged(drawn, aggregate, budget, key):
    sql = f"SELECT {f'{key}, ' if key else ''}{aggregate} AS last FROM visits{f' GROUP BY {key}' if key else ''}"
    table = dc.Table(ROWS, domain=DOMAIN, unit="who", rows_per_unit=3, groups_per_unit=2)
    with dc.Curator({"visits": table}, budget=dc.ApproxDP(100, 0.01), ledger=":memory:") as made:
        step = plan(made.query(sql), made.query(sql).source.table(), budget=budget)
        answer = made.ask(sql, budget=budget)

    paid = answer.plan.price
    assert len(drawn) == len(answer.plan.releases)
    assert {id(one) for one in drawn} == {id(release.mechanism) for release in answer.plan.releases}
    assert total(drawn).rho <= paid.rho
    assert paid.epsilon is None or total(drawn).epsilon <= paid.epsilon
    assert [one.share for one in step.releases] == [one.share for one in answer.plan.releases]
    assert sum(one.share for one in answer.plan.releases) == 1


@pytest.mark.parametrize("aggregate", ["COUNT(*)", "AVG(age)", "COUNT(DISTINCT who)"])
def test_a_selection_of_groups_is_paid_for_with_the_rest(drawn, aggregate):
    table = dc.Table(ROWS, domain=DOMAIN, unit="who", rows_per_unit=3, groups_per_unit=2)
    with dc.Curator({"visits": table}, budget=dc.ApproxDP(100, 0.01), ledger=":memory:") as made:
        answer = made.ask(f"SELECT note, {aggregate} AS n FROM visits GROUP BY note", budget=dc.ApproxDP(9, 1e-3))

    paid = answer.plan.price
    assert len(drawn) == len(answer.plan.releases) + 1
    assert total(drawn).epsilon <= paid.epsilon <= 9
    assert total(drawn).delta <= paid.delta <= Fraction(1, 1000)


def test_a_twin_whose_intervals_cost_nothing_is_caught(drawn, monkeypatch):
    """The ends of a quantile's interval are draws like the quantile itself."""
    from discreet.curator import plan as module

    counted = module._event

    def forgetful(releases, selection=None):
        return counted(tuple(one for one in releases if not isinstance(one.mechanism, QuantileBound)), selection)

    monkeypatch.setattr(module, "_event", forgetful)
    table = dc.Table(ROWS, domain=DOMAIN, unit="who", rows_per_unit=3)
    with dc.Curator({"visits": table}, budget=dc.PureDP(100), ledger=":memory:") as made:
        answer = made.ask("SELECT MEDIAN(age) AS m FROM visits", epsilon=1)

    assert total(drawn).epsilon > answer.plan.price.epsilon
