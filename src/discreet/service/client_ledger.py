"""The ledger of a service, to read: its entries, its anchor, its verification and its report.

What a service says of its own ledger is as good as the service.  An anchor that was kept elsewhere is better: with one,
every entry is fetched and the chain is followed here, so that a history which was exchanged or cut short is seen
whatever the service says.  An analyst is shown their own spends alone, which are no chain.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.errors import LedgerError, ServiceError, require
from discreet.ledger import Anchor, Entry
from discreet.ledger.chain import canonical, digest, follow

if TYPE_CHECKING:
    from discreet.service.client_connection import Connection

PAGE = 1000  # entries that are fetched at once
JSON, HTML = "application/json", "text/html"


@dataclass(frozen=True, slots=True)
class ServedReport:
    """The report for an auditor, made by the service when it is asked for: as a page, or for programs."""

    connection: Connection

    def to_html(self) -> str:
        """One page, without scripts and without anything to load."""
        return self.connection.fetch("/v1/ledger/report", HTML).decode()

    def to_json(self) -> str:
        """The report as text for programs."""
        return self.connection.fetch("/v1/ledger/report", JSON).decode()

    def to_dict(self) -> dict[str, object]:
        """The report as JSON values; amounts are exact, as text."""
        return self.connection.get("/v1/ledger/report")


@dataclass(frozen=True, slots=True)
class ServedLedger:
    """What `Curator.ledger` shows, of the ledger of a service; nothing can be written through it."""

    connection: Connection

    def anchor(self) -> Anchor:
        """The number and hash of the last entry: what to keep elsewhere."""
        return _anchor(self.connection.get("/v1/ledger/anchor"))

    def verify(self, *, anchor: Anchor | None = None) -> Anchor:
        """Have the service replay its whole ledger; with an anchor, follow the chain here too.

        `LedgerError` where the chain that the service shows is torn, altered, or not the one the anchor names.
        """
        told = self.connection.get("/v1/ledger/verify")
        last = _anchor(told.get("anchor"))
        if told.get("verified") is not True:
            raise LedgerError("the service does not call its ledger whole")
        if anchor is not None:
            seen = {entry.id: entry.hash for entry, _ in follow(self.entries(), anchor=anchor) if entry.id == last.id}
            if seen != {last.id: last.hash}:
                raise LedgerError("the entries that the service shows are not those that it verified")
        return last

    def report(self) -> ServedReport:
        """What an auditor wants to see, with the result of a verification: a page (`to_html`) or JSON (`to_json`)."""
        return ServedReport(self.connection)

    def entries(self, *, start: int = 0) -> Iterator[Entry]:
        """Every entry that one may see from number `start` on, fetched a page at a time."""
        require(type(start) is int and start >= 0, "an integer start >= 0", start=start)
        after: object = start
        while type(after) is int and after >= start:
            page = self.connection.get("/v1/ledger", start=after, limit=PAGE)
            start, after = after + 1, page.get("next")
            listed = page.get("entries")
            if not isinstance(listed, list):
                raise _unreadable()
            yield from map(_entry, listed)


def _entry(told: object) -> Entry:
    """An entry whose hash is that of its body."""
    match told:
        case {"body": {"id": int(number)} as body, "hash": str(mark)}:
            text = canonical(body)
        case _:
            raise _unreadable()
    if digest(text.encode()) != mark:
        raise LedgerError(f"entry {number} was altered: its hash does not fit")
    return Entry(number, text, mark)


def _anchor(told: object) -> Anchor:
    match told:
        case {"id": int(number), "hash": str(mark)}:
            return Anchor(number, mark)
        case _:
            raise _unreadable()


def _unreadable() -> ServiceError:
    return ServiceError("the reply holds no ledger that this client can read", kind="unreadable")
