"""What a steward does to a ledger besides opening it, each as an entry of the chain.

    top_up    raise a cap: the promise to everybody, also for what was released before, is now the larger one
    renew     begin a period with a cap of its own: the promise of a lifetime is the sum over all periods
    retire    take no more spends on a table; `reopen` takes them again
    erase     note that people were erased: their rows are gone from a version on, what was spent stays spent
    witness   name another witness in the place of one that was lost, or none

Nothing here gives budget back, and no total is reset.  What is proven of the caps, and
from which assumptions: docs/theory/ledger.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from discreet.errors import LedgerError, require
from discreet.ledger.account import RETIRED, Account, Balance, capped, raised, write_limits
from discreet.ledger.amount import bounded
from discreet.ledger.book import Book
from discreet.ledger.chain import Entry, link
from discreet.ledger.rehearsal import rehearse
from discreet.ledger.request import checked_name, checked_text, now
from discreet.privacy.guarantee import Guarantee

if TYPE_CHECKING:
    from discreet.ledger.store import Store, Transaction
    from discreet.ledger.watch import Watch


def top_up(store: Store, cap: Guarantee, *, unit: str, reason: str) -> Entry:
    """Raise the cap of a unit, or of its present period."""
    fields = {"unit": checked_name("unit", unit), "reason": checked_text("reason", reason)}
    capped(cap)  # refuses another currency before the ledger is locked
    bounded(cap)
    with store.writing() as transaction:
        known, book = _book(transaction)
        new = raised(cap, book.balances.get(book.present(unit), Balance()))
        return _enter(transaction, "top_up", fields | write_limits(new), known, book.top_up(unit, new))


def renew(store: Store, cap: Guarantee, *, unit: str, period: str, reason: str) -> Entry:
    """Begin a period."""
    fields = {"unit": checked_name("unit", unit), "period": checked_name("period", period)}
    new = capped(cap)
    bounded(cap)
    fields |= {"reason": checked_text("reason", reason)} | write_limits(new)
    with store.writing() as transaction:
        known, book = _book(transaction)
        return _enter(transaction, "renewal", fields, known, book.renew(unit, period, new))


def retire(store: Store, table: str, *, unit: str | None, reason: str, state: str | None = RETIRED) -> Entry:
    """Take no more spends on a table; with state None, take them again."""
    fields = {"table": checked_name("table", table), "reason": checked_text("reason", reason)}
    with store.writing() as transaction:
        known, book = _book(transaction)
        owner = _owner(known, table, unit)
        kind = "reopening" if state is None else "retirement"
        return _enter(transaction, kind, fields | {"unit": owner}, known, book.retire(owner, table, state))


def erase(store: Store, table: str, *, unit: str | None, version: str, requests: int) -> Entry:
    """Note that the rows of some people are gone from a version of a table on: how many people, and never who."""
    whole = isinstance(requests, int) and not isinstance(requests, bool) and requests >= 1
    require(whole, "a whole number of requests, at least 1", requests=requests)
    fields = {"table": checked_name("table", table), "version": checked_name("version", version)}
    with store.writing() as transaction:
        known, _ = _book(transaction)
        owner = _owner(known, table, unit)
        return _enter(transaction, "erasure", fields | {"unit": owner, "requests": requests}, known, {})


def witness_anew(store: Store, watch: Watch | None, *, reason: str) -> Entry:
    """Let another witness see the ledger as it stands, in the place of one that was lost; or none from here on."""
    fields: dict[str, object] = {"reason": checked_text("reason", reason)}
    store.watch = watch
    with store.writing() as transaction:
        last = transaction.last()
        fields["state"] = "ended" if watch is None else "begun"
        if watch is None and transaction.held is None:
            raise LedgerError("this ledger has no witness")
        transaction.pending = None if watch is None else watch.begin_anew()
        transaction.hold(None if watch is None else "begun")
        entry = link(last, kind="witness", time=now(), **fields)
        transaction.append(entry)
        return entry


def _book(transaction: Transaction) -> tuple[dict[Account, Balance], Book]:
    known = transaction.all_balances()
    return known, Book(dict(known))


def _owner(known: Mapping[Account, Balance], table: str, unit: str | None) -> str:
    """The unit that a table belongs to: it need not be named once the table is known."""
    owners = [account.unit for account in known if account.scope == "table" and account.name == table]
    owner = next(iter(owners), unit)
    if owner is None:
        raise LedgerError(f"the ledger knows no table {table!r}; name its unit")
    if unit not in (None, owner):
        raise LedgerError(f"table {table!r} belongs to unit {owner!r}, not to {unit!r}")
    if Account(owner, "unit", owner) not in known:
        raise LedgerError(f"no cap is registered for unit {owner!r}; register one first")
    return owner


def _enter(
    transaction: Transaction,
    kind: str,
    fields: Mapping[str, object],
    known: Mapping[Account, Balance],
    after: Mapping[Account, Balance],
) -> Entry:
    entry = link(transaction.last(), kind=kind, time=now(), **fields)
    rehearse(entry, known=known, after=after)
    transaction.append(entry)
    transaction.save(after, known=known)
    return entry
