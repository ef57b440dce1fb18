"""What is asked of a ledger, in its canonical form, and the receipt that is given for it.

A request is what a key stands for: the same key with another request is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from discreet.composition.price import Item, Price, gather, price
from discreet.errors import LedgerError, UnsupportedError, require
from discreet.ledger.amount import read, settled, write
from discreet.ledger.chain import Entry
from discreet.privacy.event import Event
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.neighbours import AddRemove

LONGEST_NAME = 500  # characters of a name or a key
MOST_BYTES = 1200  # of them: an index of PostgreSQL holds two such names and no more
LONGEST_TEXT = 10_000  # characters of a reason
_UNSTORABLE = re.compile("[\\0\\ud800-\\udfff]")


@dataclass(frozen=True, kw_only=True, slots=True)
class Receipt:
    """Proof of a spend: the number, time and hash of its entry.

    `replayed` is True when an earlier call with the same key paid.  Its answer may be
    recalled; running the mechanism again would be a second release and needs a spend of its own (`fresh=True`).

    >>> from discreet.ledger import Ledger
    >>> from discreet.privacy import PureDP
    >>> ledger = Ledger.open(":memory:")
    >>> ledger.register(unit="patient", cap=PureDP(1))
    >>> paid = [ledger.spend(PureDP(0.1), unit="patient", tables=["visits"], key="k") for _ in range(2)]
    >>> [receipt.replayed for receipt in paid]
    [False, True]
    >>> ledger.close()
    """

    id: int
    time: str
    price: Price
    hash: str
    key: str | None = None
    replayed: bool = False


def requested(
    item: Price | Item, *, unit: str, tables: Iterable[str], analyst: str | None, query: str, version: str | None
) -> dict[str, object]:
    """Everything that is asked for, checked, as it stands in the entry."""
    require(not isinstance(tables, str), "a list of tables", tables=tables)
    return {
        "unit": checked_name("unit", unit),
        "tables": sorted({checked_name("table", table) for table in tables}),
        "analyst": None if analyst is None else checked_name("analyst", analyst),
        "query": _text("query", query),
        "version": None if version is None else _text("version", version),
        "price": write(settled(item if isinstance(item, Price) else price(item))),
        "event": item.to_dict() if isinstance(item, Event) else None,
    }


def same_relation(item: Price | Item, cap: Guarantee | None) -> None:
    """A cap without a relation means adding or removing one unit; relations are never mixed."""
    relation = None if isinstance(item, Price) else gather([item]).relation
    promised = AddRemove if cap is None else cap.neighbours or AddRemove
    if relation is not None and relation is not promised:
        raise UnsupportedError(f"the cap holds under {promised.__name__}, and the mechanism under {relation.__name__}")


def receipt_of(entry: Entry, *, replayed: bool = False) -> Receipt:
    """The receipt for a spend."""
    record = entry.record
    key = record.get("key")
    return Receipt(
        id=entry.id,
        time=str(record["time"]),
        price=read(record["price"]),
        hash=entry.hash,
        key=None if key is None else str(key),
        replayed=replayed,
    )


def replayed(entry: Entry, request: dict[str, object]) -> Receipt:
    """The receipt of an earlier call, if it asked for the same."""
    record = entry.record
    other = [name for name, value in request.items() if record.get(name) != value]
    if other:
        raise LedgerError(f"this key was used for another request: {', '.join(other)} differ; nothing was spent")
    return receipt_of(entry, replayed=True)


def now() -> str:
    """The time, for people: nothing in the ledger depends on it."""
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def checked_name(what: str, value: str) -> str:
    """A name that can be kept and indexed."""
    short = isinstance(value, str) and 0 < len(value) <= LONGEST_NAME
    require(short, f"a name of 1 to {LONGEST_NAME} characters for the {what}", **{what: value})
    text = _text(what, value)
    size = len(text.encode())
    require(size <= MOST_BYTES, f"at most {MOST_BYTES} bytes for the {what}", bytes=size)
    return text


def checked_text(what: str, value: str) -> str:
    """Text that somebody has to write, such as a reason."""
    written = isinstance(value, str) and len(value.strip()) > 0 and len(value) <= LONGEST_TEXT
    require(written, f"1 to {LONGEST_TEXT} characters for the {what}", **{what: value})
    return _text(what, value)


def _text(what: str, value: str) -> str:
    """Text that every database can hold."""
    plain = isinstance(value, str) and not _UNSTORABLE.search(value)
    require(plain, f"Unicode text without a zero byte for the {what}", **{what: value})
    return value
