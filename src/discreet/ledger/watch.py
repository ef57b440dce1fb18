"""A ledger under its witness: each charge is compared with it before, and known to it before anything is read.

A charge takes these steps, one process at a time (a lock beside the ledger):

    1  the witness is read; where it cannot be, the charge is refused, free
    2  what it saw must be in this ledger, chained to the last entry; a ledger that is behind, or different, is refused
    3  the entry is written, and the ledger is synced
    4  the witness is replaced by compare-and-set, from the version that step 1 read
    5  `spend` returns, and the data is read

Theorem.  Let the witness keep what it promises (`discreet.ledger.witness`) and never go back.  Of all copies of a
ledger there ever are, restored or forked, at any time, everything that was read under this witness was charged in one
chain of entries, the witness's: so all of it together is within the caps.  And nothing was read under a spend of that
chain which the witness has as `unread`, or has not seen; it may be drawn once, by whoever takes it off by step 4.
To go on with a stopped run is an entry too, made by these steps, and so is the answer that ends it.
Proof: docs/theory/ledger.md#witnessed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import uuid4

from discreet.errors import LedgerError
from discreet.ledger.chain import digest
from discreet.ledger.witness import State, Version, Witness

if TYPE_CHECKING:
    from discreet.ledger.transaction import Transaction

LOCK = 1 << 60  # the turn of whoever charges; numbers of keys are below
MOST_UNREAD = 1000  # spends that nobody drew under and that are remembered; of older ones it is forgotten
MISSING = "this ledger has a witness; open it with its witness (`witness=`, or [ledger] witness in curator.toml)"
LOST = (
    "this ledger has a witness, and the one that was named has seen nothing: is its volume there? if it was lost, begin"
    " another with: discreet ledger witness --reason ..."
)


class Unmoved(LedgerError):
    """An entry was written, and the witness could not be moved to it: nothing is read under it until it is."""


class Unreachable(LedgerError):
    """The witness could not be read; nothing was spent."""


class Watch:
    """A witness, as the ledger of one process uses it; whoever uses it has the ledger's lock."""

    def __init__(self, witness: Witness) -> None:
        self.witness = witness
        self._version: Version = None
        self._tried: tuple[str, frozenset[int]] = "", frozenset()  # the mark of an attempt that failed, and its spends

    def look(self) -> State | None:
        """What the witness has seen; nothing was spent if it cannot be reached."""
        try:
            self._version, text = self.witness.read()
        except LedgerError:
            raise
        except Exception as error:
            raise Unreachable(f"the witness cannot be reached ({type(error).__name__}); nothing was spent") from error
        return None if text is None else State.read(text)

    def compare(self, transaction: Transaction) -> Pending:
        """Refuse a ledger that is not the one that was seen, or is behind; what it has more moves the witness on."""
        state = self.look()
        if state is None:
            raise LedgerError(f"{LOST}; nothing was spent")
        unread = set(state.unread) | follows(transaction, state)
        mark, drawn = self._tried
        if mark and state.mark == mark:  # the attempt was written all the same, and nobody has moved the witness since
            unread |= drawn
        return Pending(state, {number for number in unread if not transaction.answered(number)})

    def move(self, state: State, drawn: Iterable[int]) -> None:
        """Let the witness see these entries; only then may anything be read under the spends `drawn`."""
        state = replace(state, mark=uuid4().hex)
        self._tried = state.mark, frozenset(drawn)
        told = f"entry {state.last.id} stands, and nothing was read: ask again, and it is not charged again"
        try:
            moved = self.witness.compare_and_set(self._version, state.text())
        except Exception as error:
            raise Unmoved(f"the witness could not be written ({type(error).__name__}); {told}") from error
        if not moved:
            raise Unmoved(f"the witness was moved by another copy of this ledger; {told}")
        self._tried = "", frozenset()

    def begin(self, transaction: Transaction) -> Pending:
        """Let a witness that has seen nothing see a ledger that never had one."""
        if self.look() is None:
            self.move(state_of(transaction, unread=frozenset()), ())
        return self.compare(transaction)

    def begin_anew(self) -> Pending:
        """Let the witness see the ledger as it stands, whatever it saw before: the steward answers for that."""
        try:
            self.look()
        except LedgerError:
            if self._version is None:  # it was not reached
                raise
        return Pending(None, set())


class Pending:
    """What one transaction has found, and will let the witness see."""

    def __init__(self, state: State | None, unread: set[int]) -> None:
        self.state, self.unread, self.drawn = state, unread, set[int]()

    def after(self, transaction: Transaction) -> State | None:
        """What the witness is to see; None where that is what it saw."""
        unread = frozenset(sorted(self.unread - self.drawn)[-MOST_UNREAD:])
        made = state_of(transaction, unread=unread)
        same = self.state is not None and made == replace(self.state, mark=made.mark)
        return None if same and not self.drawn else made


def state_of(transaction: Transaction, *, unread: frozenset[int]) -> State:
    """The ledger as it is within a transaction."""
    return State(
        ledger=ledger_of(transaction), last=transaction.last(), totals=transaction.all_balances(), unread=unread
    )


def ledger_of(transaction: Transaction) -> str:
    """The identity of a ledger, from its first entry."""
    genesis = transaction.entry(0)
    if genesis is None:
        raise LedgerError("the ledger has no entries; it was emptied")
    return str(genesis.record.get("ledger"))


def follows(transaction: Transaction, state: State) -> set[int]:
    """The spends that a ledger has beyond what its witness saw; refused unless they follow it, link by link."""
    last, seen = transaction.last(), state.last
    if ledger_of(transaction) != state.ledger:
        raise LedgerError("the witness is of another ledger; nothing was spent")
    if last.id < seen.id:
        raise LedgerError(
            f"the ledger ends at entry {last.id}, and its witness has seen entry {seen.id}: an old copy was put in its"
            " place; nothing was spent (restore the newest, or book what is missing: discreet ledger recover)"
        )
    spends, before = set[int](), seen
    start = transaction.entry(seen.id)
    if start is None or start.hash != seen.hash or digest(start.body.encode()) != seen.hash:
        raise LedgerError(
            f"entry {seen.id} is not the one that the witness has seen: another copy of this ledger was used, or it was"
            " altered; nothing was spent (discreet ledger forked tells where two copies part)"
        )
    while before.id < last.id:
        for entry, *_ in transaction.page(before.id + 1):
            record = entry.record
            follows = (entry.id, record.get("previous")) == (before.id + 1, before.hash)
            if not follows or digest(entry.body.encode()) != entry.hash:
                raise LedgerError(f"entry {entry.id} does not follow entry {before.id}; run verify")
            spends |= {entry.id} if record.get("kind") == "spend" else set()
            before = entry.anchor
    return spends
