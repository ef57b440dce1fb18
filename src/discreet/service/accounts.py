"""Budgets as a principal may see them: caps, totals and remainders, before a question and after it.

An analyst sees the accounts of the units and tables they may ask about, and their own; never another analyst's, which
would tell who asks how much.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from discreet.composition.filter import accepts
from discreet.composition.price import Price
from discreet.curator.balance import record as balance_record
from discreet.errors import UnsupportedError
from discreet.ledger import Account, Balance, Budget
from discreet.service.access import Principal
from discreet.service.problems import amounts

if TYPE_CHECKING:
    from discreet.service.desk import Desk


def seen(budget: Budget, principal: Principal, tables: Iterable[str]) -> Iterator[tuple[Account, Balance]]:
    """The accounts of a unit that a principal may see."""
    mine = set(tables)
    for account, balance in budget.accounts():
        shown = {"table": account.name in mine, "analyst": account.name == principal.name}
        if principal.role != "analyst" or shown.get(account.scope, True):
            yield account, balance


def record(account: Account, balance: Balance) -> dict[str, object]:
    """One account, JSON-ready: what `discreet ledger show --json` prints, and what is left in each lane."""
    left = balance.remaining
    told = balance_record(account.unit, account.scope, account.name, balance)
    return told | {"remaining": None if left is None else amounts(left)}


def touched(budget: Budget, tables: Iterable[str], analyst: str) -> list[tuple[Account, Balance]]:
    """The accounts that a spend is charged to: the unit or its present period, the tables, and the analyst."""
    unit = Account(budget.unit, "unit", budget.unit)
    found = [(unit, budget.balance)]
    if budget.period is not None:
        found.append((Account(budget.unit, "period", budget.period), budget.present))
    found += [(Account(budget.unit, "table", name), budget.tables.get(name, Balance())) for name in tables]
    return [*found, (Account(budget.unit, "analyst", analyst), budget.analysts.get(analyst, Balance()))]


def forecast(budget: Budget, tables: Iterable[str], analyst: str, cost: Price) -> dict[str, object]:
    """The accounts before and after a spend, and whether all of them would accept it now."""
    before = touched(budget, tables, analyst)
    after = [(account, replace(balance, spent=balance.spent + cost)) for account, balance in before]
    decide = [(account, balance) for account, balance in after if account.scope != "unit" or budget.period is None]
    fits = all(balance.cap is None or _accepts(balance) for _, balance in decide)
    return {
        "before": {"units": {budget.unit: [record(*one) for one in before]}},
        "after": {"units": {budget.unit: [record(*one) for one in after]}},
        "fits": fits and all(balance.state is None for _, balance in decide),
    }


def _accepts(balance: Balance) -> bool:
    assert balance.cap is not None
    try:
        return accepts(balance.spent, balance.cap, balance.rho_cap)
    except UnsupportedError:
        return False


def own(desk: Desk, principal: Principal) -> dict[str, object]:
    """What a principal was allotted, by unit; a unit without an allotment has only its own cap."""
    found: dict[str, object] = {}
    for unit in desk.units(principal):
        balance = desk.budget(unit).analysts.get(principal.name)
        if balance is not None:
            found[unit] = record(Account(unit, "analyst", principal.name), balance)
    return found
