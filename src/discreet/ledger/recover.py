"""What a lost ledger had spent, booked from its witness: in an old copy of it, or in a new ledger that begins there.

Theorem.  Let a ledger L have been lost, and its witness have seen L up to entry n.  After `recover` every account has,
in each lane, at least what it had in L at entry n: all that was ever read under L, since nothing was read under what it
charged after n (`discreet.ledger.watch`).  In a copy this holds if the copy is of L and nothing was read under an entry
of its own; a copy that has spent more than the witness saw, in any account, is refused.
Proof: docs/theory/ledger.md#witnessed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

from discreet.errors import LedgerError
from discreet.ledger.account import larger_of, write_totals
from discreet.ledger.book import Book
from discreet.ledger.chain import FORMAT, link
from discreet.ledger.rehearsal import rehearse
from discreet.ledger.request import now
from discreet.ledger.store import Store, connect
from discreet.ledger.verify import verify
from discreet.ledger.watch import ledger_of

if TYPE_CHECKING:
    from discreet.ledger.transaction import Transaction
    from discreet.ledger.watch import Watch
    from discreet.ledger.witness import State

_OPENING = {"genesis", "recovery", "witness"}  # of a new ledger in which nothing has happened yet


def recover(target: str, watch: Watch, *, reason: str) -> Store:
    """The ledger at this place, with everything booked that its witness has seen."""
    state = watch.look()
    if state is None:
        raise LedgerError("the witness has seen nothing: there is nothing to book")
    first = link(None, kind="genesis", time=now(), format=FORMAT, ledger=uuid4().hex, testing=False)
    store = connect(target, create=True, first=first)
    try:
        with store.reading() as transaction:
            verify(transaction, anchor=None)
        store.watch = watch
        with store.writing() as transaction:
            last = transaction.last()
            _may(transaction, state)
            transaction.pending = watch.begin_anew()
            known = transaction.all_balances()
            after = Book(dict(known)).recover(state.totals)
            lost = {"ledger": state.ledger, "id": state.last.id, "hash": state.last.hash}
            entry = link(last, kind="recovery", time=now(), lost=lost, totals=write_totals(state.totals), reason=reason)
            rehearse(entry, known=known, after=after)
            transaction.append(entry)
            transaction.save(after, known=known)
            if transaction.held is None:
                transaction.append(link(entry.anchor, kind="witness", time=now(), state="begun", reason=reason))
                transaction.hold("begun")
    except BaseException:
        store.close()
        raise
    return store


def _may(transaction: Transaction, state: State) -> None:
    """Refuse to book into a ledger that lacks nothing, is another one, or went its own way."""
    last = transaction.last()
    if ledger_of(transaction) != state.ledger:
        if any(entry.record.get("kind") not in _OPENING for entry, *_ in transaction.page(0)):
            raise LedgerError("the witness is of another ledger, and this one is in use; nothing was booked")
        return
    if last.id >= state.last.id:
        seen = transaction.entry(state.last.id)
        if seen is not None and seen.hash == state.last.hash:
            raise LedgerError(f"nothing is missing: the witness has seen entry {state.last.id}, and it is here")
        raise LedgerError(_APART)
    for account, balance in transaction.all_balances().items():
        lost = state.totals.get(account)
        if lost is None or larger_of(lost.spent, balance.spent) != lost.spent:
            raise LedgerError(_APART)


_APART = (
    "this copy has entries that the witness never saw: it was used apart from the ledger that was lost, and what it"
    " spent cannot be told from the witness alone (discreet ledger forked compares two copies); nothing was booked"
)
