"""A witness: what a ledger is now, kept outside it, so that yesterday's copy of the ledger is refused and not believed.

It holds a little text with a version, and lets the text be replaced by whoever knows the version: a file on another
volume, a row of PostgreSQL, an object of a store that has conditional writes.  What a ledger does with it, and what
follows: `discreet.ledger.watch`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, cast, runtime_checkable

from discreet.errors import LedgerError
from discreet.ledger.account import Account, Balance, read_totals, write_totals
from discreet.ledger.chain import Anchor, canonical

FORMAT = 1  # of the text; another one is refused
Version = str | None  # None: nothing was ever written


@runtime_checkable
class Witness(Protocol):
    """Text with a version.  Any object that keeps these two promises is a witness; it must not fork.

    Whatever it raises means that it is not known whether the text was replaced: the ledger then reads nothing, and asks
    again.  A `compare_and_set` that returned True is durable: no power cut takes it back.

    >>> class Kept:
    ...     held = None, None
    ...     def read(self): return self.held
    ...     def compare_and_set(self, expected, text):
    ...         if expected == self.held[0]:
    ...             self.held = str(int(expected or 0) + 1), text
    ...         return self.held[1] == text
    >>> from discreet.ledger import Ledger
    >>> kept = Kept()
    >>> with Ledger.open(":memory:", witness=kept) as ledger:
    ...     [entry.record["kind"] for entry in ledger.entries()], isinstance(kept, Witness)
    (['genesis', 'witness'], True)
    """

    def read(self) -> tuple[Version, str | None]:
        """The version and the text as they are now; None and None before anything was written."""
        ...

    def compare_and_set(self, expected: Version, text: str) -> bool:
        """Replace the text if its version is the expected one, durably; False if it is another."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class State:
    """What a witness says of a ledger: which it is, its last entry that it saw, all totals, spends without a read.

    Nothing was read under an `unread` spend, nor ever will be unless its number is taken off before.
    """

    ledger: str
    last: Anchor
    totals: Mapping[Account, Balance]
    unread: frozenset[int] = frozenset()
    mark: str = ""  # of the one attempt that wrote it: two attempts at the same are told apart

    def text(self) -> str:
        """As it is kept."""
        return canonical(
            {"format": FORMAT, "ledger": self.ledger, "id": self.last.id, "hash": self.last.hash}
            | {"totals": write_totals(self.totals), "unread": sorted(self.unread), "mark": self.mark}
        )

    @classmethod
    def read(cls, text: str) -> State:
        """Read back what `text` wrote, and nothing else."""
        try:
            record = json.loads(text)
            if record["format"] != FORMAT:
                raise LedgerError(f"the witness was written by another release (format {record['format']!r})")
            unread = cast("list[int]", record["unread"])
            state = cls(
                ledger=str(record["ledger"]),
                last=Anchor.read(canonical({"id": record["id"], "hash": record["hash"]})),
                totals=read_totals(record["totals"]),
                unread=frozenset(int(number) for number in unread),
                mark=str(record["mark"]),
            )
        except (ValueError, KeyError, TypeError, AttributeError):
            raise LedgerError("the witness holds something that no ledger has written") from None
        if state.text() != text:
            raise LedgerError("the witness holds something that no ledger has written")
        return state


def opened(given: Witness | str | Path, *, ledger: str | None = None) -> Witness:
    """The witness that is meant: an object as it is, a path, or postgresql://...#table; `ledger` is what it is for."""
    if isinstance(given, Witness):
        return given
    if not isinstance(given, (str, Path)):
        raise LedgerError("a witness is a path, postgresql://...#table, or an object with read and compare_and_set")
    from discreet.ledger.postgres import SCHEMES

    place = str(given)
    scheme, mark, _ = place.partition("://")
    if mark and scheme in SCHEMES:
        from discreet.ledger.witness_postgres import PostgresWitness

        return PostgresWitness(place)
    if mark:
        raise LedgerError(f"a witness is a file, postgresql://...#table, or an object of yours, not {scheme}://")
    from discreet.ledger.witness_file import FileWitness

    if ledger is not None and Path(ledger).absolute() == Path(place).absolute():
        raise LedgerError("a ledger cannot be its own witness; name a file on another volume")
    return FileWitness(place)
