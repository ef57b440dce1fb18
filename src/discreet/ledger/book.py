"""The book: what every account may spend and has spent, as a function of the entries alone.

One account per privacy unit, one for each of its tables and one for each analyst inside
it.  A spend is charged to the unit, to every table it reads and to the analyst: all of
them accept, by the rule of `discreet.composition.filter`, or none is charged.  A unit
whose budget was renewed has an account for each period, and the present one decides in its place.

Theorem.  Each unit's account is a privacy filter with the unit's cap, whatever the other
accounts refuse, so everything accepted is together within the cap: after it was raised,
within the largest it ever had; after renewals, within the sum of the caps of all periods,
and what each period accepted within its own.  A unit's totals never decrease and no
entry resets one; in particular a new version of a table does not, and a new period does not.
Proof: docs/theory/ledger.md.

The live ledger and its verification run this one module.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from discreet.composition.filter import Lanes, accepts, chargeable
from discreet.composition.price import FREE, Price
from discreet.composition.refusal import refusal
from discreet.errors import BudgetExhausted, LedgerError
from discreet.ledger.account import (
    CLOSED,
    RETIRED,
    Account,
    Balance,
    Remainder,
    larger,
    larger_of,
    lifetime,
    read_limits,
    read_totals,
    same_currency,
    same_relation,
)
from discreet.ledger.amount import charge, read

SCOPES = ("unit", "table", "analyst")  # that a cap can be given to
FIRST = "first"  # the name of the period before the first renewal


@dataclass(slots=True)
class Book:
    """The accounts, replayed or loaded."""

    balances: dict[Account, Balance] = field(default_factory=dict)
    _owners: dict[str, str] = field(default_factory=dict)  # the unit that each table belongs to
    _periods: dict[str, Account] = field(default_factory=dict)  # the present one of each unit that has any

    def __post_init__(self) -> None:
        for account, balance in self.balances.items():
            if account.scope == "table":
                self._owners[account.name] = account.unit
            elif account.scope == "period" and balance.state is None:
                self._periods[account.unit] = account

    def present(self, unit: str) -> Account:
        """The account that decides for a unit: of its present period, or its own."""
        return self._periods.get(unit, Account(unit, "unit", unit))

    def set_cap(self, account: Account, new: Balance) -> Balance:
        """Give an account its cap.  A unit's is given once; the others stay in one currency and keep what is spent."""
        old = self.balances.get(account, Balance())
        if account.scope == "unit" and old.cap is not None:
            raise LedgerError(
                f"{account} has the cap {self.balances[self.present(account.unit)].cap}; a promise that was made"
                f" cannot be changed to {new.cap}, only raised with a reason (top_up)"
            )
        if account.scope != "unit":
            same_relation(new.cap, self._unit(account.unit).cap)
            self._bound([account.name] if account.scope == "table" else [], account.unit)
        if old.cap is not None and type(old.cap) is not type(new.cap):
            raise LedgerError(f"{account} is capped in {type(old.cap).__name__}, not in {type(new.cap).__name__}")
        if account.scope == "table":
            self._owners[account.name] = account.unit
        self.balances[account] = replace(new, spent=old.spent, state=old.state)
        return self.balances[account]

    def top_up(self, unit: str, new: Balance) -> dict[Account, Balance]:
        """Raise the cap of a unit, or that of its present period; what is spent stays spent."""
        own, account = self._unit(unit), self.present(unit)
        old = self.balances[account]
        assert own.cap is not None and old.cap is not None and new.cap is not None  # noqa: PT018 - of our own making
        same_relation(new.cap, own.cap)
        larger(new.cap, old.cap)
        if (new.rho_cap or 0) < (old.rho_cap or 0):
            raise LedgerError(f"the zCDP lane of {new.cap} is shorter than that of {old.cap}")
        after = {account: replace(new, spent=old.spent)}
        if account.scope == "period":
            promised = lifetime(own.cap, new.cap, instead_of=old.cap)
            after[Account(unit, "unit", unit)] = replace(own, cap=promised)
        self.balances.update(after)
        return after

    def renew(self, unit: str, period: str, new: Balance) -> dict[Account, Balance]:
        """Begin a period with a cap of its own; the unit's promise grows by it, and its totals go on."""
        own, before = self._unit(unit), self.present(unit)
        account = Account(unit, "period", period)
        if account in self.balances or period == FIRST:
            raise LedgerError(f"unit {unit!r} has had a period {period!r}; a period is not begun twice")
        assert own.cap is not None and new.cap is not None  # noqa: PT018 - of our own making
        same_relation(new.cap, own.cap)
        same_currency(new.cap, own.cap)
        closed = self.balances[before] if before.scope == "period" else own
        over = before if before.scope == "period" else Account(unit, "period", FIRST)
        promised = lifetime(own.cap, new.cap)
        after = {
            over: replace(closed, state=CLOSED),
            Account(unit, "unit", unit): Balance(promised, spent=own.spent),
            account: replace(new, spent=FREE),
        }
        self.balances.update(after)
        self._periods[unit] = account
        return after

    def retire(self, unit: str, table: str, state: str | None = RETIRED) -> dict[Account, Balance]:
        """Take no more spends on a table, or (with state None) take them again; what is spent stays spent."""
        self._unit(unit)
        self._bound([table], unit)
        account = Account(unit, "table", table)
        old = self.balances.get(account, Balance())
        if old.state == state:
            raise LedgerError(f"table {table!r} is {'retired already' if state else 'not retired'}")
        self.balances[account] = replace(old, state=state)
        self._owners[table] = unit
        return {account: self.balances[account]}

    def recover(self, totals: Mapping[Account, Balance]) -> dict[Account, Balance]:
        """Book what a lost ledger had: its caps and states, and in each lane the larger of two totals."""
        after = {
            account: replace(lost, spent=larger_of(lost.spent, self.balances.get(account, Balance()).spent))
            for account, lost in totals.items()
        }
        self._bound_all(after)
        self.balances.update(after)
        self._periods.clear()
        self.__post_init__()
        return after

    def _bound_all(self, accounts: Iterable[Account]) -> None:
        for account in accounts:
            if account.scope == "table":
                self._bound([account.name], account.unit)

    def charge(self, unit: str, tables: Iterable[str], analyst: str | None, price: Price) -> dict[Account, Balance]:
        """The balances after a spend, which every account has accepted; otherwise nothing changes."""
        self._unit(unit)
        names = list(tables)
        self._bound(names, unit)
        after, period = {}, self._periods.get(unit)
        for account in touched(unit, names, analyst, period):
            balance = self.balances.get(account, Balance())
            after[account] = Balance(balance.cap, balance.rho_cap, charge(balance.spent, price), balance.state)
            if balance.state == RETIRED:
                raise LedgerError(f"{account} is retired; nothing was spent")
            if balance.cap is not None and (account.scope != "unit" or period is None):
                chargeable(price, balance.cap)
                if not accepts(after[account].spent, balance.cap, balance.rho_cap):
                    left = balance.remaining or Lanes(None, None, Fraction(0))
                    requested = Lanes(price.epsilon, price.rho, price.delta)
                    said = refusal(requested, left, cap=balance.cap, whose=str(account))
                    raise BudgetExhausted(requested=requested, remaining=Remainder(account, left), said=said)
        self.balances.update(after)
        self._owners.update(dict.fromkeys(names, unit))
        return after

    def _unit(self, unit: str) -> Balance:
        balance = self.balances.get(Account(unit, "unit", unit))
        if balance is None or balance.cap is None:
            raise LedgerError(f"no cap is registered for unit {unit!r}; register one first")
        return balance

    def _bound(self, tables: list[str], unit: str) -> None:
        """A table belongs to one unit for ever: under another name its budget would start anew."""
        for table in tables:
            owner = self._owners.get(table, unit)
            if owner != unit:
                raise LedgerError(f"table {table!r} belongs to unit {owner!r}, not to {unit!r}")

    def apply(self, record: dict[str, object]) -> None:
        """Replay one entry."""
        match record:
            case {"kind": "cap", "unit": str(unit), "scope": str(scope), "name": str(name)} if scope in SCOPES:
                self.set_cap(Account(unit, scope, name), read_limits(record))
            case {"kind": "spend", "unit": str(unit), "tables": list(tables), "analyst": str() | None as analyst}:
                self.charge(unit, map(str, tables), analyst, read(record.get("price")))
            case {"kind": "top_up", "unit": str(unit)}:
                self.top_up(unit, read_limits(record))
            case {"kind": "renewal", "unit": str(unit), "period": str(period)}:
                self.renew(unit, period, read_limits(record))
            case {"kind": "retirement" | "reopening" as kind, "unit": str(unit), "table": str(table)}:
                self.retire(unit, table, RETIRED if kind == "retirement" else None)
            case {"kind": "erasure", "unit": str(unit), "table": str(table), "version": str(), "requests": int()}:
                self._bound([table], unit)
            case {"kind": "recovery", "totals": list(totals)}:
                self.recover(read_totals(totals))
            case {"kind": "genesis" | "answer" | "resumption" | "format" | "witness"}:
                pass
            case _:
                raise LedgerError(f"entry {record.get('id')} is of an unknown form")


def touched(unit: str, tables: Iterable[str], analyst: str | None, period: Account | None = None) -> Iterator[Account]:
    """Every account that a spend is charged to."""
    yield Account(unit, "unit", unit)
    if period is not None:
        yield period
    yield from (Account(unit, "table", name) for name in tables)
    if analyst is not None:
        yield Account(unit, "analyst", analyst)
