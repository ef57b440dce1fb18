"""Caps, spent and remaining amounts, as text for people and as a dictionary for programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.composition.refusal import lanes_of, number
from discreet.curator.curator import Curator
from discreet.errors import LedgerError
from discreet.ledger import Balance, Budget
from discreet.ledger.account import read_balance, write_balance
from discreet.privacy.guarantee import ApproxDP

if TYPE_CHECKING:
    from rich.table import Table as RichTable


def balances(curator: Curator) -> list[dict[str, object]]:
    """One record an account: the unit's cap (over all periods, if there are any), its periods, tables and analysts."""
    found = curator.budget
    budgets = [found] if isinstance(found, Budget) else list(found.values())
    records = []
    for budget in budgets:
        records += [record(budget.unit, one.scope, one.name, balance) for one, balance in budget.accounts()]
    return records


def record(unit: str, scope: str, name: str, balance: Balance) -> dict[str, object]:
    """One account, JSON-ready: amounts for people, and the exact ones."""
    spent = balance.spent
    return {
        "unit": unit,
        "scope": scope,
        "name": name,
        "cap": None if balance.cap is None else str(balance.cap),
        "spent_epsilon": None if spent.epsilon is None else float(spent.epsilon),
        "spent_rho": float(spent.rho),
        "spent_delta": float(spent.delta),
        "rho_cap": None if balance.rho_cap is None else float(balance.rho_cap),
        "state": balance.state,
        "exact": write_balance(balance),
    }


def budgets_of(records: Iterable[Mapping[str, object]]) -> dict[str, Budget]:
    """The budgets that `balances` told of, by unit, exactly."""
    found: dict[str, dict[str, dict[str, Balance]]] = {}
    for record in records:
        exact, (unit, scope, name) = record.get("exact"), (str(record.get(key)) for key in ("unit", "scope", "name"))
        if not isinstance(exact, dict):
            raise LedgerError("ill-formed balance: no exact amounts")
        found.setdefault(unit, {}).setdefault(scope, {})[name] = read_balance(exact)
    return {
        unit: Budget(
            unit=unit,
            balance=scopes["unit"][unit],
            tables=scopes.get("table", {}),
            analysts=scopes.get("analyst", {}),
            periods=scopes.get("period", {}),
        )
        for unit, scopes in found.items()
        if unit in scopes.get("unit", {})
    }


def rich_balances(records: Iterable[Mapping[str, object]]) -> RichTable:
    """A table for the terminal: a line for each lane of each account."""
    from rich.table import Table as RichTable

    told = list(records)
    renewed = {record["unit"] for record in told if record["scope"] == "period"}
    table = RichTable(title="what has been spent, and what is left")
    for name in ("scope", "name", "cap", "lane", "spent", "left", "state"):
        table.add_column(name, overflow="fold")
    for record in told:
        exact = record["exact"]
        assert isinstance(exact, dict)
        over = record["scope"] == "unit" and record["unit"] in renewed
        head = (str(record["scope"]), str(record["name"]), str(record["cap"] or "-"))
        state = "all periods" if over else str(record["state"] or "")
        for line in lines(read_balance(exact), decides=not over):
            table.add_row(*head, *line, state)
            head, state = ("", "", ""), ""
    return table


def lines(balance: Balance, *, decides: bool = True) -> list[tuple[str, str, str]]:
    """Name of the lane, spent, left: of every lane that the account has.

    `decides` is False for a unit with periods: what is left is told of the present one.

    >>> from discreet.composition.price import Price
    >>> from discreet.privacy.guarantee import PureDP
    >>> lines(Balance(PureDP(1), spent=Price(Fraction(1, 4), Fraction(1, 32), Fraction(0))))
    [('epsilon', '0.25', '0.75')]
    """
    spent = {"epsilon": balance.spent.epsilon, "rho": balance.spent.rho}
    if balance.cap is None or balance.remaining is None:
        lanes: dict[str, Fraction | None] = dict.fromkeys(spent)
    else:
        lanes = lanes_of(balance.cap, balance.remaining)
    open_ = decides and balance.cap is not None and balance.state is None
    found = [
        (name, _amount(spent[name]), ("closed" if amount is None else number(amount)) if open_ else "-")
        for name, amount in lanes.items()
    ]
    if isinstance(balance.cap, ApproxDP) or balance.spent.delta:
        least = number(balance.remaining.delta) if open_ and balance.remaining is not None else "-"
        found.append(("delta", number(balance.spent.delta), least))
    return found


def _amount(spent: Fraction | None) -> str:
    return "unbounded" if spent is None else number(spent)
