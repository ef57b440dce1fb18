"""Caps as they are set: a unit's once, a table's or an analyst's as often as a steward likes, each as an entry.

What is set together is set in one transaction, whole or not at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from discreet.ledger.account import Account, Balance, capped, write_limits
from discreet.ledger.amount import amounts, bounded
from discreet.ledger.book import Book
from discreet.ledger.chain import link
from discreet.ledger.rehearsal import rehearse
from discreet.ledger.request import now
from discreet.privacy.guarantee import Guarantee

if TYPE_CHECKING:
    from discreet.ledger.store import Store, Transaction


def register(store: Store, unit: str, cap: Guarantee, *, inherit: bool) -> None:
    """Promise a cap for a unit; with `inherit`, analysts who are capped in others are capped in a new one too."""
    new, account = capped(cap), Account(unit, "unit", unit)
    with store.writing() as transaction:
        transaction.last()
        known = transaction.balances(unit, [], None)
        old = known.get(Book(dict(known)).present(unit))
        if old is not None and old.cap == cap:
            return
        _enter(transaction, known, account, new, {})
        for analyst, allotted in (inherited(transaction.all_balances(), cap) if inherit else {}).items():
            _enter(transaction, known, Account(unit, "analyst", analyst), capped(allotted), {})


def cap_inside(store: Store, accounts: Iterable[Account], cap: Guarantee, why: Mapping[str, str]) -> None:
    """Cap a table, or an analyst in one or several units; where the cap is this one already nothing changes."""
    new = capped(cap)
    with store.writing() as transaction:
        transaction.last()
        for account in accounts:
            tables = [account.name] if account.scope == "table" else []
            known = transaction.balances(account.unit, tables, account.name if account.scope == "analyst" else None)
            if known.get(account, Balance()).cap != cap:
                _enter(transaction, known, account, new, why)


def inherited(found: Mapping[Account, Balance], cap: Guarantee) -> dict[str, Guarantee]:
    """What each analyst may spend in a unit that is new: the least, number by number, of what they may in the others.

    Of caps in several currencies those in the new unit's count, if there are any.

    >>> from discreet.privacy.guarantee import PureDP
    >>> allotted = {Account(unit, "analyst", "ada"): Balance(PureDP(most)) for unit, most in (("a", 2), ("b", 1))}
    >>> inherited(allotted, PureDP(9))
    {'ada': PureDP(epsilon=1.0)}
    """
    caps: dict[str, list[Guarantee]] = {}
    for account in sorted(found):
        allotted = found[account].cap
        if account.scope == "analyst" and allotted is not None:
            caps.setdefault(account.name, []).append(allotted)
    least: dict[str, Guarantee] = {}
    for analyst, every in caps.items():
        kind = type(cap) if any(type(one) is type(cap) for one in every) else type(every[0])
        numbers = zip(*(amounts(one) for one in every if type(one) is kind), strict=True)
        least[analyst] = kind(*map(min, numbers), neighbours=cap.neighbours)  # type: ignore[call-arg]
    return least


def _enter(
    transaction: Transaction, known: dict[Account, Balance], account: Account, new: Balance, why: Mapping[str, str]
) -> None:
    """Append one cap; `known` has its balance afterwards."""
    assert new.cap is not None
    bounded(new.cap)
    after = {account: Book(dict(known)).set_cap(account, new)}
    fields = {"unit": account.unit, "scope": account.scope, "name": account.name, **why}
    entry = link(transaction.last(), kind="cap", time=now(), **fields, **write_limits(new))
    rehearse(entry, known=known, after=after)
    transaction.append(entry)
    transaction.save(after, known=known)
    known |= after
