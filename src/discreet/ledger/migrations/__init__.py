"""The formats of a ledger, and how one becomes the next: a stored ledger loads for ever.

    1   head, entries, balances, answers
    2   an account has a state, and a unit may have periods; entries of stewards
    3   a ledger may have a witness; entries that begin or end it, and that book what a lost ledger had spent

A step changes tables and never an entry: what was hashed stays as it was written.  Each
step is itself an entry, so that the chain says which rules hold from where on.  All steps,
and a verification of the whole ledger after them, are one transaction: a ledger that is
not sound, or a process that dies, leaves the old one.  A step is never edited once released.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.errors import LedgerError
from discreet.ledger.chain import FORMAT, link
from discreet.ledger.migrations import format_2, format_3
from discreet.ledger.request import now
from discreet.ledger.verify import verify

if TYPE_CHECKING:
    from discreet.ledger.store import Store

STEPS = {2: format_2.STATEMENTS, 3: format_3.STATEMENTS}  # by the format they lead to; then by database


def migrate(store: Store) -> None:
    """Bring a ledger of an earlier format to the present one; nothing is done if another process did it first."""
    with store.writing(whole=True) as transaction:
        written = transaction.format()
        if not 1 <= written <= FORMAT:
            raise LedgerError(f"there is no format {written}")
        for number in range(written + 1, FORMAT + 1):
            last = transaction.head()
            transaction.convert(number, STEPS[number][transaction.database])
            transaction.append(link(last, kind="format", time=now(), format=number), moves=False)
        if written < FORMAT:
            verify(transaction, anchor=None)
