"""A unit's budget: its account, with those of its periods, tables and analysts inside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from discreet.composition.refusal import lanes_of, left
from discreet.errors import LedgerError
from discreet.ledger.account import Account, Balance


@dataclass(frozen=True, kw_only=True, slots=True)
class Budget:
    """One unit's account, and those of its tables and analysts inside it.

    >>> from discreet.ledger import Ledger
    >>> from discreet.privacy import PureDP
    >>> ledger = Ledger.open(":memory:")
    >>> ledger.register(unit="patient", cap=PureDP(1))
    >>> budget = ledger.budget("patient")
    >>> budget.unit, budget.balance.cap, budget.balance.remaining.epsilon
    ('patient', PureDP(epsilon=1.0), Fraction(1, 1))
    >>> ledger.close()
    """

    unit: str
    balance: Balance
    tables: Mapping[str, Balance] = field(default_factory=dict)
    analysts: Mapping[str, Balance] = field(default_factory=dict)
    periods: Mapping[str, Balance] = field(default_factory=dict)

    @property
    def period(self) -> str | None:
        """The present period, if the budget was ever renewed."""
        return next((name for name, balance in self.periods.items() if balance.state is None), None)

    @property
    def present(self) -> Balance:
        """The cap that decides now, with what is spent of it: of the present period, or of the unit itself."""
        return self.balance if self.period is None else self.periods[self.period]

    def __str__(self) -> str:
        """One line an account: cap, spent, remaining."""
        lines = [f"{account.scope} {account.name}: {_amounts(balance)}" for account, balance in self.accounts()]
        if self.periods:
            lines[0] = f"unit {self.unit}, all periods: {_amounts(self.balance)}"
        return "\n".join(lines)

    def accounts(self) -> Iterator[tuple[Account, Balance]]:
        """Every account: the unit's own, its periods, its tables, its analysts."""
        yield Account(self.unit, "unit", self.unit), self.balance
        for scope, inside in (("period", self.periods), ("table", self.tables), ("analyst", self.analysts)):
            yield from ((Account(self.unit, scope, name), balance) for name, balance in inside.items())


def budget_of(found: Mapping[Account, Balance], unit: str) -> Budget:
    """The budget of one unit, among all accounts."""
    own = found.get(Account(unit, "unit", unit))
    if own is None:
        raise LedgerError(f"no cap is registered for unit {unit!r}; register one first")
    tables, analysts, periods = (
        {account.name: found[account] for account in sorted(found) if (account.unit, account.scope) == (unit, scope)}
        for scope in ("table", "analyst", "period")
    )
    return Budget(unit=unit, balance=own, tables=tables, analysts=analysts, periods=periods)


def _amounts(balance: Balance) -> str:
    """Cap, spent and remaining amounts of one account, for people."""
    spent = balance.spent
    epsilon = "closed" if spent.epsilon is None else f"{float(spent.epsilon):g}"
    text = f"spent epsilon {epsilon}, rho {float(spent.rho):.6g}, delta {float(spent.delta):g}"
    if balance.cap is not None:
        text = f"cap {balance.cap}; {text}"
    if balance.state is not None:
        return f"{text}; {balance.state}"
    return text if balance.remaining is None else f"{text}; remaining {left(lanes_of(balance.cap, balance.remaining))}"
