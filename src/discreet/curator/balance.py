"""Caps, spent and remaining amounts, as text for people and as a dictionary for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.curator.curator import Curator
from discreet.ledger import Balance, Budget

if TYPE_CHECKING:
    from rich.table import Table as RichTable


def balances(curator: Curator) -> list[dict[str, object]]:
    """One record an account: the unit's cap (over all periods, if there are any), its periods, tables and analysts."""
    found = curator.budget
    budgets = [found] if isinstance(found, Budget) else list(found.values())
    records = []
    for budget in budgets:
        records += [_record(budget.unit, one.scope, one.name, balance) for one, balance in budget.accounts()]
    return records


def _record(unit: str, scope: str, name: str, balance: Balance) -> dict[str, object]:
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
    }


def rich_balances(curator: Curator) -> RichTable:
    """A table for the terminal."""
    from rich.table import Table as RichTable

    table = RichTable(title="what has been spent")
    for name in ("scope", "name", "cap", "epsilon", "rho", "rho cap", "delta", "state"):
        table.add_column(name, overflow="fold")
    for record in balances(curator):
        amounts = (record["spent_epsilon"], record["spent_rho"], record["rho_cap"], record["spent_delta"])
        shown = ["-" if amount is None else f"{amount:.6g}" for amount in amounts]
        table.add_row(
            str(record["scope"]), str(record["name"]), str(record["cap"] or "-"), *shown, str(record["state"] or "")
        )
    return table
