"""Verification: the entries are replayed, and every other table must be what they say.

Theorem.  If `verify` returns, then the entries form one unbroken chain that contains
the anchor, the balances are exactly the sums of their prices, every spend was within
the caps of its time, and every stored answer is the one that was stored.
Proof: docs/theory/ledger.md.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING

from discreet.errors import DiscreetError, LedgerError
from discreet.ledger.book import Book
from discreet.ledger.chain import FORMAT, Anchor, Entry, digest, follow

if TYPE_CHECKING:
    from discreet.ledger.store import Transaction


def verify(transaction: Transaction, *, anchor: Anchor | None) -> Anchor:
    """Replay everything, in constant memory; the anchor of the last entry if all is well."""
    transaction.sound()
    book, last, stored, written, held = Book(), None, 0, 0, None
    filed: deque[tuple[str | None, str | None]] = deque()
    for entry, record in follow(_filed(transaction, filed), anchor=anchor):
        if filed.popleft() != _file(record):
            raise LedgerError(f"entry {entry.id} was altered: it is filed under another key")
        written = _format(entry, record, written)
        _apply(book, entry, record)
        stored += _answer(transaction, entry, record)
        held = _held(entry, record, held)
        last = entry
    if last is None:
        raise LedgerError("the ledger has no entries; it was emptied")
    if written != transaction.format():
        raise LedgerError("the format of the ledger is not the one its entries say")
    if transaction.last() != last.anchor:
        raise LedgerError("the head of the ledger is not its last entry")
    if transaction.held != held:
        raise LedgerError("the ledger does not say of its witness what its entries say")
    if transaction.answers() != stored:
        raise LedgerError("there are stored answers that no entry speaks of")
    if transaction.all_balances() != book.balances:
        raise LedgerError("the balances are not the sums of the entries")
    return last.anchor


def _filed(transaction: Transaction, filed: deque[tuple[str | None, str | None]]) -> Iterator[Entry]:
    """The entries in order; `filed` takes the columns that each is found by."""
    start = 0
    while page := transaction.page(start):
        for entry, analyst, key in page:
            filed.append((analyst, key))
            yield entry
        start = page[-1][0].id + 1


def _file(record: dict[str, object]) -> tuple[object, object]:
    """What an entry is to be found by: only spends are looked for."""
    return (record.get("analyst"), record.get("key")) if record.get("kind") == "spend" else (None, None)


def _format(entry: Entry, record: dict[str, object], written: int) -> int:
    """The format from this entry on.  The first entry, and no other, opens the ledger; formats rise one by one."""
    kind, stated = record.get("kind"), record.get("format")
    if (entry.id == 0) != (kind == "genesis"):
        raise LedgerError(f"entry {entry.id} is not an opening, or not the only one")
    if kind not in ("genesis", "format"):
        return written
    known = isinstance(stated, int) and not isinstance(stated, bool) and 1 <= stated <= FORMAT
    if not known or (kind == "format" and stated != written + 1):
        raise LedgerError(f"entry {entry.id} states a format that cannot be")
    assert isinstance(stated, int)
    return stated


def _held(entry: Entry, record: dict[str, object], held: str | None) -> str | None:
    """Whether there is a witness from this entry on."""
    if record.get("kind") != "witness":
        return held
    if record.get("state") not in ("begun", "ended"):
        raise LedgerError(f"entry {entry.id} is of an unknown form")
    return "begun" if record["state"] == "begun" else None


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
