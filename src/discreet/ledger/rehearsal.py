"""A rehearsal: what a steward is about to write is read, as `verify` will read it, before it is written.

An entry of the chain is never taken back.  One that could not be read, or that would replay to other balances than
those beside it, would make the whole ledger unreadable for good; so it is refused while nothing has changed.  Spends
need none: their amounts are bounded by `discreet.ledger.amount.settled`, and so are the sums of them.
"""

from __future__ import annotations

from collections.abc import Mapping

from discreet.errors import DiscreetError, LedgerError
from discreet.ledger.account import Account, Balance
from discreet.ledger.book import Book
from discreet.ledger.chain import Entry
from discreet.ledger.transaction import stored


def rehearse(entry: Entry, *, known: Mapping[Account, Balance], after: Mapping[Account, Balance]) -> None:
    """Refuse an entry unless it can be read back, and gives exactly these balances when it is replayed."""
    book = Book(dict(known))
    try:
        book.apply(entry.record)
        same = all(book.balances[account] == balance == stored(balance) for account, balance in after.items())
    except (DiscreetError, ValueError) as error:
        raise LedgerError(f"this could not be read back from the ledger, so nothing was written: {error}") from None
    if not same:
        raise LedgerError("this would be read back from the ledger as something else, so nothing was written")
