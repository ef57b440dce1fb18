"""Verification: the entries are replayed, and every other table must be what they say.

Theorem.  If `verify` returns, then the entries form one unbroken chain that contains
the anchor, the balances are exactly the sums of their prices, every spend was within
the caps of its time, and every stored answer is the one that was stored.
Proof: docs/theory/ledger.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from discreet.errors import DiscreetError, LedgerError
from discreet.ledger.book import Book
from discreet.ledger.chain import Anchor, Entry, digest, follow

if TYPE_CHECKING:
    from discreet.ledger.store import Transaction


def verify(transaction: Transaction, *, anchor: Anchor | None) -> Anchor:
    """Replay everything, in constant memory; the anchor of the last entry if all is well."""
    transaction.sound()
    book, last, stored = Book(), None, 0
    for entry, record in follow(_indexed(transaction), anchor=anchor):
        _opening(entry, record, transaction)
        _apply(book, entry, record)
        stored += _answer(transaction, entry, record)
        last = entry
    if last is None:
        raise LedgerError("the ledger has no entries; it was emptied")
    if transaction.last() != last.anchor:
        raise LedgerError("the head of the ledger is not its last entry")
    if transaction.answered() != stored:
        raise LedgerError("there are stored answers that no entry speaks of")
    if transaction.all_balances() != book.balances:
        raise LedgerError("the balances are not the sums of the entries")
    return last.anchor


def _indexed(transaction: Transaction) -> Iterator[Entry]:
    """The entries in order; the columns they are found by must be those of their bodies."""
    start = 0
    while page := transaction.page(start):
        for entry, analyst, key in page:
            record = entry.record
            mine = (record.get("analyst"), record.get("key")) if record.get("kind") == "spend" else (None, None)
            if (analyst, key) != mine:
                raise LedgerError(f"entry {entry.id} was altered: it is filed under another key")
            yield entry
        start = page[-1][0].id + 1


def _opening(entry: Entry, record: dict[str, object], transaction: Transaction) -> None:
    """The first entry, and no other, opens the ledger."""
    if (entry.id == 0) != (record.get("kind") == "genesis"):
        raise LedgerError(f"entry {entry.id} is not an opening, or not the only one")
    if entry.id == 0 and record.get("format") != transaction.format():
        raise LedgerError("the format of the ledger is not the one it was opened with")


def _apply(book: Book, entry: Entry, record: dict[str, object]) -> None:
    try:
        book.apply(record)
    except LedgerError:
        raise
    except DiscreetError as error:
        raise LedgerError(f"entry {entry.id} was never allowed: {error}") from None


def _answer(transaction: Transaction, entry: Entry, record: dict[str, object]) -> int:
    """1 for an entry that speaks of a stored answer, once that has been found to be there."""
    if record.get("kind") != "answer":
        return 0
    spend = record.get("of")
    stored = transaction.answer(spend) if isinstance(spend, int) and spend < entry.id else None
    if stored is None or stored[0] != entry.id or digest(stored[1]) != record.get("digest"):
        raise LedgerError(f"the stored answer of entry {spend} was altered")
    return 1
