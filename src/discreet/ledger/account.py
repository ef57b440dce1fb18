"""Accounts: whose budget, its cap, what is spent, and what may still be.

unit      one for each kind of person or thing that is protected
period    of a unit whose budget is renewed: the cap of that time alone
table     one for each table of a unit
analyst   one for each analyst of a unit
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

from discreet.composition.filter import Lanes, largest_rho
from discreet.composition.price import FREE, Price
from discreet.errors import LedgerError, UnsupportedError
from discreet.ledger.amount import amount, amounts, read, read_cap, write, write_cap
from discreet.privacy.convert import zcdp_to_approx
from discreet.privacy.guarantee import ZCDP, ApproxDP, Guarantee, PureDP
from discreet.privacy.neighbours import AddRemove
from discreet.privacy.number import exact

RETIRED = "retired"  # the state of a table that takes no more spends
CLOSED = "closed"  # the state of a period that is over


@dataclass(frozen=True, slots=True, order=True)
class Account:
    """Whose budget: a unit's own (scope "unit", name equal to the unit's), or one inside it.

    >>> Account("patient", "analyst", "ada")
    Account(unit='patient', scope='analyst', name='ada')
    """

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
    state: str | None = None

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
    """What the account that refused has left; `BudgetExhausted.remaining` is one of these.

    >>> print(Remainder(Account("patient", "unit", "patient"), Lanes(Fraction(1, 4), None, Fraction(0))))
    pure lane: epsilon 0.25; zCDP lane: closed; delta 0, of unit 'patient'
    """

    account: Account
    lanes: Lanes

    def __str__(self) -> str:
        return f"{self.lanes}, of {self.account}"


def capped(cap: Guarantee) -> Balance:
    """A new balance under a cap."""
    if not isinstance(cap, (PureDP, ApproxDP, ZCDP)):
        raise UnsupportedError(f"a ledger's cap is PureDP, ApproxDP or ZCDP, got {type(cap).__name__}")
    if not isinstance(cap, ApproxDP):
        return Balance(cap)
    return Balance(cap, largest_rho(exact(cap.epsilon), exact(cap.delta) / 2))


def raised(cap: Guarantee, old: Balance) -> Balance:
    """A larger cap in the place of an old one, with nothing spent; its lanes hold all that the old ones held."""
    new = capped(cap)
    if new.rho_cap is None or old.rho_cap is None:
        return new
    return Balance(cap, max(new.rho_cap, old.rho_cap))  # both are searched for to 12 digits, from below


def same_currency(cap: Guarantee, old: Guarantee) -> None:
    """Caps of one account are all in one currency."""
    if type(cap) is not type(old):
        raise LedgerError(f"the cap is in {type(old).__name__}, not in {type(cap).__name__}")


def larger(cap: Guarantee, old: Guarantee) -> None:
    """Refuse a cap that is not larger: what has been promised for more cannot be promised for less."""
    same_currency(cap, old)
    pairs = list(zip(amounts(cap), amounts(old), strict=True))
    if any(new < before for new, before in pairs) or all(new == before for new, before in pairs):
        raise LedgerError(f"a cap is only ever raised: {cap} is not larger than {old}")


def lifetime(promised: Guarantee, cap: Guarantee, *, instead_of: Guarantee | None = None) -> Guarantee:
    """The sum of the caps of all periods, once one more is promised, or one instead of another.

    >>> lifetime(ApproxDP(1, 1e-6), ApproxDP(0.5, 1e-6))
    ApproxDP(epsilon=1.5, delta=2e-06)
    """
    less = [Fraction(0)] * len(amounts(cap)) if instead_of is None else amounts(instead_of)
    sums = [a + b - c for a, b, c in zip(amounts(promised), amounts(cap), less, strict=True)]
    return type(promised)(*sums, neighbours=promised.neighbours)  # type: ignore[call-arg]


def same_relation(cap: Guarantee | None, promised: Guarantee | None) -> None:
    """A cap inside a unit's holds under the unit's relation; without one, both mean adding or removing one unit."""
    mine, other = ((cap and cap.neighbours) or AddRemove for cap in (cap, promised))
    if mine is not other:
        raise LedgerError(f"the unit's cap holds under {other.__name__}; a cap inside it cannot under {mine.__name__}")


def write_limits(balance: Balance) -> dict[str, object]:
    """The cap and the end of its zCDP lane, as text."""
    assert balance.cap is not None
    return {"cap": write_cap(balance.cap), "rho_cap": None if balance.rho_cap is None else str(balance.rho_cap)}


def read_limits(record: dict[str, object]) -> Balance:
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
    limits = none if balance.cap is None else write_limits(balance)
    return limits | write(balance.spent) | {"state": balance.state}


def read_balance(record: dict[str, object]) -> Balance:
    """Read back what `write_balance` wrote."""
    if record.get("cap") is None:
        limits = Balance()
    elif record.get("rho_cap") is None:  # of a unit with periods, which have the lanes, there is none either
        limits = Balance(read_cap(record.get("cap")))
    else:
        limits = read_limits(record)
    state, spent = record.get("state"), {name: record.get(name) for name in ("epsilon", "rho", "delta")}
    if state not in (None, RETIRED, CLOSED):
        raise LedgerError("ill-formed balance: an unknown state")
    return Balance(limits.cap, limits.rho_cap, read(spent), None if state is None else str(state))


def larger_of(one: Price, other: Price) -> Price:
    """The larger in each lane; a lane that is closed in one is closed.

    >>> larger_of(Price(None, Fraction(1), Fraction(0)), Price(Fraction(3), Fraction(1, 2), Fraction(1, 9)))
    Price(epsilon=None, rho=Fraction(1, 1), delta=Fraction(1, 9))
    """
    closed = one.epsilon is None or other.epsilon is None
    epsilon = None if closed else max(one.epsilon, other.epsilon)  # type: ignore[type-var]
    return Price(epsilon, max(one.rho, other.rho), max(one.delta, other.delta))


def write_totals(totals: Mapping[Account, Balance]) -> list[dict[str, object]]:
    """Every account with its balance, in order."""
    return [
        {"unit": account.unit, "scope": account.scope, "name": account.name} | write_balance(totals[account])
        for account in sorted(totals)
    ]


def read_totals(records: object) -> dict[Account, Balance]:
    """Balances by account, from a list of records."""
    if not isinstance(records, list):
        raise LedgerError("ill-formed totals")
    found: dict[Account, Balance] = {}
    for record in cast("list[object]", records):
        match record:
            case {"unit": str(unit), "scope": str(scope), "name": str(name), **rest}:
                found[Account(unit, scope, name)] = read_balance(cast("dict[str, object]", rest))
            case _:
                raise LedgerError("ill-formed totals")
    return found
