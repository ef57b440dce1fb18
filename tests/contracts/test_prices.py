"""Price counted = draws made: what mechanisms draw for any order of a curator is what the ledger was charged."""

from __future__ import annotations

import pytest

import discreet as dc
from discreet.attacks.hooks import HOOKS
from discreet.attacks.hooks_elsewhere import learners
from discreet.attacks.replay import Tape
from discreet.composition.price import FREE, price
from discreet.curator import plan
from discreet.ledger import Ledger
from discreet.structured.quantiles.quantile_bound import QuantileBound
from tests.contracts.orders import BUYING, ELSEWHERE, OTHERS, QUESTIONS, ask, buys, curator, session

BUDGETS = [dc.PureDP(2), dc.ZCDP(0.5)]
SLACK = 1 + 2.0**-30  # sigmas are rounded up, and read back


def drawn(tape):
    """The sum of what ran: calls that share one declaration are due once for their object."""
    whole = {step.of: step.whole for step in tape.steps if step.whole is not None}
    return sum([step.price for step in tape.steps if step.price is not None], sum(whole.values(), FREE))


def recorded(run):
    """The price of what was drawn from the charge on: what plans and rehearsals draw before reads no row."""
    with pytest.MonkeyPatch.context() as patch, Tape().recording((*HOOKS, *learners())) as tape:

        def spend(ledger, *given, real=Ledger.spend, **more):
            tape.steps.clear()
            return real(ledger, *given, **more)

        patch.setattr(Ledger, "spend", spend)
        run()
    assert tape.steps
    return drawn(tape)


def within(made, paid, budget):
    """No more than was charged, and most of it: what is charged is spent on something."""
    if isinstance(budget, dc.PureDP):
        assert made.epsilon is not None
        return float(paid.epsilon) * 0.5 <= float(made.epsilon) <= float(paid.epsilon) * SLACK
    return float(paid.rho) * 0.5 <= float(made.rho) <= float(paid.rho) * SLACK


def test_every_order_is_here():
    assert buys() == BUYING | ELSEWHERE


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("sql", QUESTIONS.values(), ids=QUESTIONS)
def test_an_answer_draws_what_was_charged(sql, budget):
    with curator() as held:
        paid = []
        made = recorded(lambda: paid.append(ask(held, sql, budget).receipt.price))

        assert within(made, paid[0], budget)
        assert within(made, price(budget), budget)
        assert made.delta == paid[0].delta == 0


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("order", OTHERS.values(), ids=OTHERS)
def test_every_other_order_draws_what_was_charged(order, budget):
    if order is session and not isinstance(budget, dc.PureDP):
        budget = dc.PureDP(1)  # a session takes no other
    with curator() as held:
        made = recorded(lambda: order(held, budget))

        assert within(made, price(budget), budget)
        assert within(made, held.budget.balance.spent, budget)


def test_ends_of_an_interval_that_cost_nothing_are_seen(monkeypatch):
    """The twin: they are drawn, and not in the price."""

    def cheap(releases, selection=None, real=plan._event):
        return real(tuple(one for one in releases if not isinstance(one.mechanism, QuantileBound)), selection)

    monkeypatch.setattr(plan, "_event", cheap)
    with curator() as held:
        paid = []
        made = recorded(lambda: paid.append(ask(held, QUESTIONS["median"], BUDGETS[0]).receipt.price))

        assert not within(made, paid[0], BUDGETS[0])
