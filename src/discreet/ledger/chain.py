"""The chain: each entry carries the hash of the one before it.

Theorem.  Let H be SHA-256, and let entry i be hashed as H(canonical JSON of its body),
the body holding its number i and the hash of entry i - 1.  If `follow` accepts two
sequences whose entries numbered n have the same hash, then the first n + 1 entries of
both are equal, or a collision of H has been found.  So an anchor (n, hash), kept
elsewhere, fixes everything that was written up to entry n.  Proof: docs/theory/ledger.md.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from discreet.errors import LedgerError

FORMAT = 3  # of what is written; a reader refuses a later one
START = "0" * 64  # the hash before the first entry


@dataclass(frozen=True, slots=True)
class Anchor:
    """One entry's number and hash: keep it away from the ledger, and no rollback past it goes unseen.

    >>> Anchor.read('{"hash": "%s", "id": 7}' % ("ab" * 32)).id
    7
    """

    id: int
    hash: str

    def __str__(self) -> str:
        return canonical({"id": self.id, "hash": self.hash})

    @classmethod
    def read(cls, text: str) -> Anchor:
        """The anchor that `str` wrote."""
        match _parsed(text):
            case {"id": int(number), "hash": str(digest)} if number >= 0 and len(digest) == 64:
                return cls(number, digest)
            case _:
                raise LedgerError('need an anchor {"hash": ..., "id": ...}')


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the ledger: its number, its body as it was hashed, and the hash.

    The body is JSON with the keys `id`, `time`, `kind`, `previous` and those of its kind:

        genesis      format, ledger, testing
        cap          unit, scope (unit, table or analyst), name, cap, rho_cap; reason where one was given
        spend        unit, tables, analyst, query, key, version, price, event, secure
        answer       of (the number of a spend), digest, size
        resumption   of (the number of a spend whose run was stopped and goes on)
        format       format (from here on)
        top_up       unit, cap, rho_cap, reason
        renewal      unit, period, cap, rho_cap, reason
        retirement   unit, table, reason
        reopening    unit, table, reason
        erasure      unit, table, version, requests
        witness      state (begun or ended), reason
        recovery     lost (ledger, id and hash of the entry that was seen last), totals of accounts, reason

    >>> from discreet.ledger import Ledger
    >>> ledger = Ledger.open(":memory:")
    >>> [(entry.id, entry.record["kind"]) for entry in ledger.entries()]
    [(0, 'genesis')]
    >>> ledger.close()
    """

    id: int
    body: str
    hash: str

    @property
    def record(self) -> dict[str, object]:
        """The body, read."""
        record = _parsed(self.body)
        if not isinstance(record, dict):
            raise LedgerError(f"entry {self.id} is ill-formed")
        return record

    @property
    def anchor(self) -> Anchor:
        """This entry as an anchor."""
        return Anchor(self.id, self.hash)

    @property
    def line(self) -> str:
        """The entry as one line of JSON: the body and its hash."""
        return canonical({"body": self.record, "hash": self.hash})


def canonical(record: object) -> str:
    """The one spelling of a JSON value that is hashed: sorted keys, no spaces, ASCII."""
    return json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def digest(content: bytes) -> str:
    """SHA-256, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def link(previous: Anchor | None, *, kind: str, time: str, **fields: object) -> Entry:
    """The entry that follows `previous`.

    >>> first = link(None, kind="genesis", time="2026-01-01T00:00:00Z")
    >>> link(first.anchor, kind="spend", time="2026-01-01T00:00:01Z").id
    1
    """
    number = 0 if previous is None else previous.id + 1
    before = START if previous is None else previous.hash
    body = canonical(fields | {"id": number, "time": time, "kind": kind, "previous": before})
    return Entry(number, body, digest(body.encode()))


def follow(entries: Iterable[Entry], *, anchor: Anchor | None = None) -> Iterator[tuple[Entry, dict[str, object]]]:
    """Each entry with its record, once it has been found to be the next link; `LedgerError` if it is not."""
    expected, before = 0, START
    for entry in entries:
        if entry.id != expected:
            raise LedgerError(f"entry {expected} is missing; entry {entry.id} stands in its place")
        if digest(entry.body.encode()) != entry.hash:
            raise LedgerError(f"entry {entry.id} was altered: its hash does not fit")
        record = entry.record
        if record.get("previous") != before or record.get("id") != entry.id or canonical(record) != entry.body:
            raise LedgerError(f"entry {entry.id} does not follow entry {entry.id - 1}")
        if anchor is not None and anchor.id == entry.id and anchor.hash != entry.hash:
            raise LedgerError(f"entry {entry.id} is not the one the anchor names: another history was put in its place")
        yield entry, record
        expected, before = entry.id + 1, entry.hash
    if anchor is not None and anchor.id >= expected:
        raise LedgerError(f"the ledger was rolled back: the anchor is entry {anchor.id}, the last is {expected - 1}")


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
