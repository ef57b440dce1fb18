"""The ledger: what has been spent, written down before the data is read.

    exact cap          every amount is a rational; a spend is accepted iff all its caps accept it
    spend, then read   `spend` returns after the entry is on the disk, and never gives anything back
    append-only        entries form a hash chain; `verify` finds every change, and with an anchor every rollback
    exactly once       one key, one charge; the same key with another request is refused
    witnessed          with a witness outside it, an old copy or a second one is refused before anything is read

What is proven, and from which assumptions: docs/theory/ledger.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self
from uuid import uuid4

from discreet.composition.price import Item, Price
from discreet.errors import LedgerError, require
from discreet.ledger.account import Account, Balance
from discreet.ledger.amount import read
from discreet.ledger.book import Book
from discreet.ledger.budget import Budget, budget_of
from discreet.ledger.chain import FORMAT, Anchor, Entry, digest, link
from discreet.ledger.request import (
    Receipt,
    checked_name,
    checked_text,
    now,
    receipt_of,
    replayed,
    requested,
    same_relation,
)
from discreet.ledger.turns import OnFile, number
from discreet.privacy.guarantee import Guarantee

if TYPE_CHECKING:
    from discreet.ledger.report import Report
    from discreet.ledger.store import Store
    from discreet.ledger.transaction import Transaction
    from discreet.ledger.watch import Watch
    from discreet.ledger.witness import State, Witness


class Ledger:
    """Spend from the caps of privacy units, durably.

    >>> from discreet.privacy.guarantee import PureDP
    >>> ledger = Ledger.open(":memory:")
    >>> ledger.register(unit="patient", cap=PureDP(1))
    >>> ledger.spend(PureDP(0.75), unit="patient", tables=["visits"]).id
    2
    >>> ledger.budget("patient").balance.remaining.epsilon
    Fraction(1, 4)
    >>> ledger.spend(PureDP(0.5), unit="patient", tables=["visits"])
    Traceback (most recent call last):
    discreet.errors.BudgetExhausted: budget exhausted: this asks for epsilon 0.5, and epsilon 0.25 is left of unit
    'patient'
    >>> ledger.close()
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self.testing = store.testing

    @classmethod
    def open(
        cls,
        target: str | Path,
        *,
        create: bool = True,
        testing: bool = False,
        verify: bool = True,
        anchor: Anchor | None = None,
        witness: Witness | str | Path | None = None,
    ) -> Ledger:
        """Open a ledger by path or URL, or ":memory:" for one that is gone with the process.

        A new one is created if there is none.  The whole chain is verified first, unless `verify` is False.
        With `testing` it accepts releases drawn from a predictable source, and says so in its first entry for ever.

        A `witness` is a file on another volume, `postgresql://...#table`, or an object that is a `Witness`.  It sees
        each charge before anything is read, and a ledger that lacks what it saw is refused.
        """
        from discreet.ledger.store import connect

        require(isinstance(target, (str, Path)), 'a path, a URL or ":memory:" for a ledger', target=target)
        watch = None if witness is None else _watch(witness, str(target))
        seen, unreachable = _seen(watch)
        first = link(None, kind="genesis", time=now(), format=FORMAT, ledger=uuid4().hex, testing=testing)
        try:
            ledger = cls(connect(str(target), create=create and seen is None and unreachable is None, first=first))
        except LedgerError as error:
            if unreachable is not None:
                raise unreachable from error
            if seen is None or not str(error).startswith("there is no ledger"):
                raise
            found = f"{error}, and the witness has seen one up to entry {seen.last.id}"
            raise LedgerError(f"{found}: restore it, or book what it had spent: discreet ledger recover") from None
        if testing and not ledger.testing:
            ledger.close()
            raise LedgerError("this ledger is not for testing; create another with testing=True")
        try:
            if verify or anchor is not None:
                ledger.verify(anchor=anchor)
            if watch is not None:
                ledger._store.watch = watch
                ledger._settle(unreachable)
        except BaseException:
            ledger.close()
            raise
        return ledger

    @property
    def file(self) -> Path | None:
        """The file it is kept in; None in memory and on a server."""
        turns = self._store.turns
        return turns.file if isinstance(turns, OnFile) else None

    @classmethod
    def recover(cls, target: str | Path, *, witness: Witness | str | Path, reason: str) -> Ledger:
        """Book what a lost ledger had spent, from its witness: in an old copy that was restored, or in a new ledger.

        The copy must not have answered anything since it was made: what it spent apart is in no witness.
        """
        from discreet.ledger.recover import recover

        return cls(recover(str(target), _watch(witness, str(target)), reason=checked_text("reason", reason)))

    def _settle(self, unreachable: LedgerError | None) -> None:
        """Compare the ledger with its witness; where that cannot be reached, one that has it is left to each charge."""
        if unreachable is None:
            self._store.settle()
            return
        with self._store.reading() as transaction:
            transaction.last()
            if transaction.held is None:
                raise unreachable

    def witness_anew(self, witness: Witness | str | Path | None, *, reason: str) -> Entry:
        """Name another witness in the place of one that was lost, or None to go on without any."""
        from discreet.ledger import steward

        watch = None if witness is None else _watch(witness, None)
        return steward.witness_anew(self._store, watch, reason=reason)

    def unread(self) -> frozenset[int]:
        """The spends under which, as the witness can tell, nothing was read: by their keys they may still be drawn."""
        with self._store.reading() as transaction:
            transaction.last()
            pending = transaction.witnessed() if self._store.watch is not None else None
            return frozenset() if pending is None else frozenset(pending.unread)

    def register(self, *, unit: str, cap: Guarantee, inherit: bool = False) -> None:
        """Promise a cap for a privacy unit.  The present promise again changes nothing; another one is refused.

        With `inherit`, analysts who have an allotment in other units get the least of theirs in a unit that is new.
        """
        from discreet.ledger import caps

        caps.register(self._store, checked_name("unit", unit), cap, inherit=inherit)

    def sub_cap(self, table: str, cap: Guarantee, *, unit: str | None = None, reason: str | None = None) -> None:
        """Cap one table inside its unit; a later call replaces the cap and keeps what was spent.

        A `reason` is kept in the entry for whoever reads the ledger later.
        """
        self._cap([Account(self._only(unit), "table", checked_name("table", table))], cap, reason)

    def allot(
        self, analyst: str, cap: Guarantee, *, unit: str | Sequence[str] | None = None, reason: str | None = None
    ) -> None:
        """Cap one analyst inside a unit; a later call replaces the cap and keeps what was spent.

        In several units it is set in all of them or in none.  A `reason` is kept in the entry for whoever reads the
        ledger later.
        """
        units = [self._only(unit)] if unit is None or isinstance(unit, str) else [checked_name("unit", u) for u in unit]
        self._cap([Account(unit, "analyst", checked_name("analyst", analyst)) for unit in units], cap, reason)

    def top_up(self, unit: str, cap: Guarantee, *, reason: str) -> Entry:
        """Raise the cap of a unit, or of its present period; from now on everybody was promised the larger one."""
        from discreet.ledger import steward

        return steward.top_up(self._store, cap, unit=unit, reason=reason)

    def renew(self, unit: str, *, period: str, cap: Guarantee, reason: str) -> Entry:
        """Begin a period with a cap of its own.  Over all periods a person may lose the sum; what is left lapses."""
        from discreet.ledger import steward

        return steward.renew(self._store, cap, unit=unit, period=period, reason=reason)

    def retire(self, table: str, *, reason: str, unit: str | None = None) -> Entry:
        """Refuse further spends on a table.  What was spent stays spent, and stored answers are still recalled."""
        from discreet.ledger import steward

        return steward.retire(self._store, table, unit=unit, reason=reason)

    def reopen(self, table: str, *, reason: str, unit: str | None = None) -> Entry:
        """Take spends on a retired table again; nothing starts anew."""
        from discreet.ledger import steward

        return steward.retire(self._store, table, unit=unit, reason=reason, state=None)

    def erase(self, table: str, *, version: str, requests: int, unit: str | None = None) -> Entry:
        """Note that the rows of so many people are gone from this version of a table on; nobody is named."""
        from discreet.ledger import steward

        return steward.erase(self._store, table, unit=unit, version=version, requests=requests)

    def _only(self, unit: str | None) -> str:
        """The unit that is meant: it need not be named if there is only one."""
        if unit is not None:
            return checked_name("unit", unit)
        units = self.units()
        require(len(units) == 1, "the name of the unit, as there is not exactly one", units=units)
        return units[0]

    def _cap(self, accounts: Sequence[Account], cap: Guarantee, reason: str | None) -> None:
        from discreet.ledger import caps

        why = {} if reason is None else {"reason": checked_text("reason", reason)}
        caps.cap_inside(self._store, accounts, cap, why)

    def spend(
        self,
        item: Price | Item,
        *,
        unit: str,
        tables: Iterable[str],
        analyst: str | None = None,
        query: str = "",
        key: str | None = None,
        version: str | None = None,
        secure: bool = True,
        fresh: bool = False,
    ) -> Receipt:
        """Charge the unit, its tables and the analyst, or raise `BudgetExhausted` and charge nobody.

        The entry is on the disk when this returns.  A `key` belongs to the analyst: the same
        key with the same request gives back the first receipt, free, unless `fresh` asks to pay again.
        """
        request = requested(item, unit=unit, tables=tables, analyst=analyst, query=query, version=version)
        if key is not None:
            checked_name("key", key)
        if not secure and not self.testing:
            raise LedgerError("the release would be drawn from a predictable source; only a testing ledger pays for it")
        cost = read(request["price"])
        names: list[str] = request["tables"]  # type: ignore[assignment]
        with self._store.writing() as transaction:
            last = transaction.last()
            earlier = None if key is None else transaction.latest(analyst, key)
            first = None if earlier is None else replayed(earlier, request)
            if first is not None and transaction.claim(first.id):
                return replace(first, replayed=False)  # charged before, and nothing was read: drawn under that charge
            if first is not None and not fresh:
                return first
            known = transaction.balances(unit, names, analyst)
            same_relation(item, known.get(Account(unit, "unit", unit), Balance()).cap)
            after = Book(dict(known)).charge(unit, names, analyst, cost)
            entry = link(last, kind="spend", time=now(), key=key, secure=secure, **request)
            transaction.append(entry, analyst=analyst, key=key)
            transaction.draw(entry.id)
            transaction.save(after, known=known)
        return receipt_of(entry)

    @contextmanager
    def turn(self, key: str, *, analyst: str | None = None) -> Iterator[None]:
        """Be the only one who spends, draws and stores under an analyst's key; others wait, in any process.

        >>> ledger = Ledger.open(":memory:")
        >>> with ledger.turn("k1", analyst="ada"):
        ...     ledger.recall("k1", analyst="ada")  # None: nobody has paid, and nobody is about to
        >>> ledger.close()
        """
        with self._store.turns.turn(number(analyst, checked_name("key", key))):
            yield

    def resume(self, receipt: Receipt) -> None:
        """Let the witness see that a stopped run goes on under a charge of its own: an old copy is refused, free.

        To be called before it reads again, in the turn of the charge's key; without a witness it changes nothing.
        """
        with self._store.writing() as transaction:
            last = transaction.last()
            if self._store.watch is None and transaction.held is None:
                return
            _own(transaction, receipt)
            if transaction.answered(receipt.id):
                raise LedgerError(f"receipt {receipt.id} has an answer already; its run has ended")
            transaction.append(link(last, kind="resumption", time=now(), of=receipt.id))
            transaction.claim(receipt.id)

    def store(self, receipt: Receipt, answer: bytes, *, ends: bool = False) -> None:
        """Keep the answer that a receipt paid for, durably, before it is handed out.

        If it `ends` a run that could be resumed from a file, the witness sees it: no copy of both goes on after it.
        """
        require(isinstance(answer, bytes), "an answer in bytes", answer=type(answer).__name__)
        if receipt.replayed:
            raise LedgerError("an earlier call paid for this receipt; only that call may store its answer")
        with self._store.writing() as transaction:
            last = transaction.last()
            _own(transaction, receipt)
            stored = transaction.answer(receipt.id)
            if stored is not None and stored[1] == answer:
                return
            if stored is not None:
                raise LedgerError(f"receipt {receipt.id} has an answer already; a second draw is a second release")
            entry = link(last, kind="answer", time=now(), of=receipt.id, digest=digest(answer), size=len(answer))
            transaction.append(entry, moves=ends)
            transaction.keep(receipt.id, entry.id, answer)

    def recall(self, key: str, *, analyst: str | None = None) -> bytes | None:
        """The answer stored for this analyst's key, byte for byte; None if nothing was paid for or stored."""
        with self._store.reading() as transaction:
            spend = transaction.latest(analyst, key)
            stored = None if spend is None else transaction.answer(spend.id)
            if spend is None or stored is None:
                return None
            if not _witnessed(transaction.entry(stored[0]), spend.id, stored[1]):
                raise LedgerError(f"the stored answer of entry {spend.id} was altered")
            return stored[1]

    def budget(self, unit: str) -> Budget:
        """Caps, totals and remainders, exact, in every lane."""
        with self._store.reading() as transaction:
            return budget_of(transaction.all_balances(), unit)

    def units(self) -> list[str]:
        """The privacy units that have a cap."""
        with self._store.reading() as transaction:
            return sorted(account.unit for account in transaction.all_balances() if account.scope == "unit")

    def entries(self, *, start: int = 0) -> Iterator[Entry]:
        """Every entry from number `start` on, read a page at a time."""
        while True:
            with self._store.reading() as transaction:
                page = transaction.page(start)
            if not page:
                return
            yield from (entry for entry, *_ in page)
            start = page[-1][0].id + 1

    def export(self) -> Iterator[str]:
        """The entries as lines of JSON."""
        return (entry.line for entry in self.entries())

    def anchor(self) -> Anchor:
        """The number and hash of the last entry: what to keep elsewhere."""
        with self._store.reading() as transaction:
            return transaction.last()

    def has(self, anchor: Anchor) -> bool:
        """Whether it has this very entry."""
        with self._store.reading() as transaction:
            entry = transaction.entry(anchor.id)
            return entry is not None and entry.hash == anchor.hash

    def verify(self, *, anchor: Anchor | None = None) -> Anchor:
        """Replay the whole ledger; `LedgerError` unless it is whole, unaltered and continues the anchor."""
        from discreet.ledger.verify import verify

        with self._store.reading() as transaction:
            return verify(transaction, anchor=anchor)

    def report(self, *, anchor: Anchor | None = None) -> Report:
        """What an auditor wants to see, with the result of a verification: a page (`to_html`) or JSON (`to_json`)."""
        from discreet.ledger.report import report

        with self._store.reading() as transaction:
            return report(transaction, anchor=anchor)

    def close(self) -> None:
        """Close the database."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _watch(witness: Witness | str | Path, target: str | None) -> Watch:
    """The witness that is meant, as a ledger at this place uses it."""
    from discreet.ledger.watch import Watch
    from discreet.ledger.witness import opened

    return Watch(opened(witness, ledger=target))


def _seen(watch: Watch | None) -> tuple[State | None, LedgerError | None]:
    """What a witness has seen, or why it could not be reached."""
    from discreet.ledger.watch import Unreachable

    try:
        return None if watch is None else watch.look(), None
    except Unreachable as error:
        return None, error


def _own(transaction: Transaction, receipt: Receipt) -> None:
    """Refuse a receipt of another ledger."""
    spend = transaction.entry(receipt.id)
    if spend is None or spend.hash != receipt.hash:
        raise LedgerError(f"receipt {receipt.id} is not from this ledger")


def _witnessed(witness: Entry | None, spend: int, answer: bytes) -> bool:
    """An answer is only as good as the entry that holds its digest."""
    record = {} if witness is None else witness.record
    return (record.get("kind"), record.get("of"), record.get("digest")) == ("answer", spend, digest(answer))
