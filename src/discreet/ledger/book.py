"""The book: what every account may spend and has spent, as a function of the entries alone.

One account per privacy unit, one for each of its tables and one for each analyst inside
it.  A spend is charged to the unit, to every table it reads and to the analyst: all of
them accept, by the rule of `discreet.composition.filter`, or none is charged.

Theorem.  Each unit's account is a privacy filter with the unit's cap, whatever the other
accounts refuse, so everything accepted is together within the cap.  Totals never
decrease and no entry resets one; in particular a new version of a table does not.
Proof: docs/theory/ledger.md.

The live ledger and its verification run this one module.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction

from discreet.composition.filter import Lanes, accepts, chargeable, largest_rho
from discreet.composition.price import FREE, Price
from discreet.errors import BudgetExhausted, LedgerError, UnsupportedError
from discreet.ledger.amount import amount, charge, read, read_cap, write, write_cap
from discreet.privacy.convert import zcdp_to_approx
from discreet.privacy.guarantee import ZCDP, ApproxDP, Guarantee, PureDP
from discreet.privacy.neighbours import AddRemove
from discreet.privacy.number import exact

SCOPES = ("unit", "table", "analyst")


@dataclass(frozen=True, slots=True, order=True)
class Account:
    """Whose budget: a unit's own (scope "unit", name equal to the unit's), a table's or an analyst's inside it."""

    unit: str
    scope: str
    name: str

    def __str__(self) -> str:
        return f"{self.scope} {self.name!r}"


@dataclass(frozen=True, slots=True)
class Balance:
    """A cap, if there is one, and what has been spent: exact totals in every lane.

    >>> Balance(PureDP(1), spent=Price(Fraction(1, 4), Fraction(1, 32), Fraction(0))).remaining
    Lanes(epsilon=Fraction(3, 4), rho=None, delta=Fraction(0, 1))
    """

    cap: Guarantee | None = None
    rho_cap: Fraction | None = None  # of an ApproxDP cap: the end of its zCDP lane
    spent: Price = FREE

    @property
    def remaining(self) -> Lanes | None:
        """The cap less what is spent, lane by lane; a closed lane is None, and so is the whole without a cap."""
        epsilon, spent = self.spent.epsilon, self.spent
        match self.cap:
            case None:
                return None
            case PureDP():
                return Lanes(_left(exact(self.cap.epsilon), epsilon), None, Fraction(0))
            case ZCDP():
                return Lanes(None, _left(exact(self.cap.rho), spent.rho), Fraction(0))
            case ApproxDP():
                delta = max(Fraction(0), exact(self.cap.delta) / 2 - spent.delta)
                return Lanes(_left(exact(self.cap.epsilon), epsilon), _left(self.rho_cap, spent.rho), delta)
            case _:
                raise AssertionError("a cap is one of three currencies")


def _left(cap: Fraction | None, spent: Fraction | None) -> Fraction | None:
    return None if cap is None or spent is None or spent > cap else cap - spent


@dataclass(frozen=True, slots=True)
class Remainder:
    """What the account that refused has left; `BudgetExhausted.remaining` is one of these."""

    account: Account
    lanes: Lanes

    def __str__(self) -> str:
        return f"{self.lanes} of {self.account}"


def capped(cap: Guarantee) -> Balance:
    """A new balance under a cap."""
    if not isinstance(cap, (PureDP, ApproxDP, ZCDP)):
        raise UnsupportedError(f"a ledger's cap is PureDP, ApproxDP or ZCDP, got {type(cap).__name__}")
    if not isinstance(cap, ApproxDP):
        return Balance(cap)
    return Balance(cap, largest_rho(exact(cap.epsilon), exact(cap.delta) / 2))


@dataclass(slots=True)
class Book:
    """The accounts, replayed or loaded."""

    balances: dict[Account, Balance] = field(default_factory=dict)
    _owners: dict[str, str] = field(default_factory=dict)  # the unit that each table belongs to

    def __post_init__(self) -> None:
        self._owners.update((account.name, account.unit) for account in self.balances if account.scope == "table")

    def set_cap(self, account: Account, new: Balance) -> Balance:
        """Give an account its cap.  A unit's never changes; the others stay in one currency and keep what is spent."""
        old = self.balances.get(account, Balance())
        if account.scope == "unit" and old.cap is not None:
            raise LedgerError(
                f"{account} has the cap {old.cap}; a promise that was made cannot be changed to {new.cap}"
            )
        if account.scope != "unit":
            same_relation(new.cap, self._unit(account.unit).cap)
            self._bound([account.name] if account.scope == "table" else [], account.unit)
        if old.cap is not None and type(old.cap) is not type(new.cap):
            raise LedgerError(f"{account} is capped in {type(old.cap).__name__}, not in {type(new.cap).__name__}")
        if account.scope == "table":
            self._owners[account.name] = account.unit
        self.balances[account] = replace(new, spent=old.spent)
        return self.balances[account]

    def charge(self, unit: str, tables: Iterable[str], analyst: str | None, price: Price) -> dict[Account, Balance]:
        """The balances after a spend, which every account has accepted; otherwise nothing changes."""
        self._unit(unit)
        names = list(tables)
        self._bound(names, unit)
        after = {}
        for account in touched(unit, names, analyst):
            balance = self.balances.get(account, Balance())
            after[account] = replace(balance, spent=charge(balance.spent, price))
            if balance.cap is not None:
                chargeable(price, balance.cap)
                if not accepts(after[account].spent, balance.cap, balance.rho_cap):
                    left = balance.remaining or Lanes(None, None, Fraction(0))
                    requested = Lanes(price.epsilon, price.rho, price.delta)
                    raise BudgetExhausted(requested=requested, remaining=Remainder(account, left))
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
                self.set_cap(Account(unit, scope, name), _read_limits(record))
            case {"kind": "spend", "unit": str(unit), "tables": list(tables), "analyst": str() | None as analyst}:
                self.charge(unit, map(str, tables), analyst, read(record.get("price")))
            case {"kind": "genesis" | "answer"}:
                pass
            case _:
                raise LedgerError(f"entry {record.get('id')} is of an unknown form")


def same_relation(cap: Guarantee | None, promised: Guarantee | None) -> None:
    """A cap inside a unit's holds under the unit's relation; without one, both mean adding or removing one unit."""
    mine, other = ((cap and cap.neighbours) or AddRemove for cap in (cap, promised))
    if mine is not other:
        raise LedgerError(f"the unit's cap holds under {other.__name__}; a cap inside it cannot under {mine.__name__}")


def touched(unit: str, tables: Iterable[str], analyst: str | None) -> Iterator[Account]:
    """Every account that a spend is charged to."""
    yield Account(unit, "unit", unit)
    yield from (Account(unit, "table", name) for name in tables)
    if analyst is not None:
        yield Account(unit, "analyst", analyst)


def write_limits(balance: Balance) -> dict[str, object]:
    """The cap and the end of its zCDP lane, as text."""
    assert balance.cap is not None
    return {"cap": write_cap(balance.cap), "rho_cap": None if balance.rho_cap is None else str(balance.rho_cap)}


def _read_limits(record: dict[str, object]) -> Balance:
    """A cap from its entry; the end of its zCDP lane must imply the cap."""
    cap, rho_cap = read_cap(record.get("cap")), record.get("rho_cap")
    if not isinstance(cap, ApproxDP) and rho_cap is None:
        return Balance(cap)
    if not isinstance(cap, ApproxDP) or not isinstance(rho_cap, str):
        raise LedgerError(f"ill-formed cap {record.get('cap')!r}")
    rho, half = amount(rho_cap), exact(cap.delta) / 2
    if rho > 0 and (half == 0 or exact(zcdp_to_approx(rho, half)) > exact(cap.epsilon)):
        raise LedgerError(f"the zCDP lane {rho_cap} does not imply the cap {cap}")
    return Balance(cap, rho)


def write_balance(balance: Balance) -> dict[str, object]:
    """A balance as it is stored."""
    none: dict[str, object] = {"cap": None, "rho_cap": None}
    return (none if balance.cap is None else write_limits(balance)) | write(balance.spent)
