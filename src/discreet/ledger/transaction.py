"""One transaction: what is read and written between two states of a ledger.

The store has locked the head before the first statement of a transaction that writes.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Row

from discreet.errors import LedgerError
from discreet.ledger import sqlite, statements
from discreet.ledger.account import Account, Balance, write_balance
from discreet.ledger.amount import amount, read, read_cap
from discreet.ledger.chain import FORMAT, Anchor, Entry, canonical
from discreet.ledger.watch import MISSING, Pending, Watch

_COLUMNS = ("cap", "rho_cap", "epsilon", "rho", "delta", "state")


class Transaction:
    """What is read and written in one transaction.

    `seen` is an entry that the same process saw before: a ledger that no longer has it was replaced by another.
    `watch` is the ledger's witness; a transaction asks it before its first entry.
    """

    def __init__(self, connection: Connection, *, seen: Anchor | None = None, watch: Watch | None = None) -> None:
        self._connection = connection
        self.seen = seen
        self.held: str | None = None  # whether the ledger says that it has a witness
        self.watch = watch
        self.pending: Pending | None = None  # once the witness was asked

    def last(self) -> Anchor:
        """The last entry's number and hash."""
        before = self.seen
        row = self._connection.execute(statements.LAST, {"seen": 0 if before is None else before.id}).one_or_none()
        if row is None or row.hash != row.found or row.id != row.largest:
            raise LedgerError("the head of the ledger is not its last entry; run verify")
        if row.format > FORMAT:
            raise later(row.format)
        if before is not None and row.kept != before.hash:
            raise LedgerError(f"entry {before.id} is not the one seen before: the ledger was replaced by another")
        self.seen, self.held = Anchor(row.id, row.hash), row.witness
        return self.seen

    def head(self) -> Anchor:
        """The last entry as the head says it, in any format."""
        return Anchor(*self._connection.execute(statements.HEAD).one())

    def witnessed(self) -> Pending | None:
        """Ask the witness, once; refused where the ledger has one and none was named."""
        if self.watch is None and self.held is not None:
            raise LedgerError(f"{MISSING}; nothing was spent")
        if self.watch is not None and self.pending is None:
            self.pending = self.watch.compare(self)
        return self.pending

    def hold(self, state: str | None) -> None:
        """Say whether the ledger has a witness from here on."""
        self._connection.execute(statements.HOLD, {"state": state})
        self.held = state

    def claim(self, spend: int) -> bool:
        """Take a spend that nothing was read under, to draw under it now; False if no witness can tell."""
        if self.watch is None or self.answered(spend):
            return False
        pending = self.witnessed()
        if pending is None or spend not in pending.unread:
            return False
        pending.drawn.add(spend)
        return True

    def draw(self, spend: int) -> None:
        """Say that a spend of this transaction is about to be read under."""
        if self.pending is not None:
            self.pending.drawn.add(spend)

    def format(self) -> int:
        """The version of the format it was written in."""
        return self._connection.execute(statements.FORMAT).scalar_one()

    def convert(self, written: int, steps: Iterable[str]) -> None:
        """Bring the tables to a later format, by its statements."""
        for step in steps:
            self._connection.exec_driver_sql(step)
        self._connection.execute(statements.CONVERT, {"written": written})

    @property
    def database(self) -> str:
        """Which database it is in: sqlite or postgresql."""
        return self._connection.dialect.name

    def entry(self, number: int) -> Entry | None:
        """The entry with this number."""
        return _entry(self._connection.execute(statements.ENTRY, {"number": number}).one_or_none())

    def latest(self, analyst: str | None, key: str) -> Entry | None:
        """The last spend under an analyst's key."""
        query = statements.LATEST_OF_NOBODY if analyst is None else statements.LATEST
        owner = {} if analyst is None else {"owner": analyst}
        return _entry(self._connection.execute(query, {"under": key} | owner).one_or_none())

    def page(self, start: int) -> list[tuple[Entry, str | None, str | None]]:
        """Some entries from `start` on, with the columns they can be found by."""
        rows = self._connection.execute(statements.PAGE, {"start": start})
        return [(Entry(row.id, row.body, row.hash), row.analyst, row.key) for row in rows]

    def append(self, entry: Entry, *, analyst: str | None = None, key: str | None = None, moves: bool = True) -> None:
        """Add the next entry and make it the head; one that changes no total need not move the witness."""
        if moves:
            self.witnessed()
        row = {"id": entry.id, "body": entry.body, "hash": entry.hash, "analyst": analyst, "key": key}
        self._connection.execute(statements.APPEND, row)
        self._connection.execute(statements.ADVANCE, {"number": entry.id, "digest": entry.hash})
        self.seen = entry.anchor

    def balances(self, unit: str, tables: Iterable[str], analyst: str | None) -> dict[Account, Balance]:
        """The accounts that a spend concerns, and the tables of these names under any unit."""
        wanted = {"of": unit, "tables": list(tables), "owner": analyst}
        return dict(map(_balance, self._connection.execute(statements.CONCERNED, wanted)))

    def all_balances(self) -> dict[Account, Balance]:
        """Every account."""
        return dict(map(_balance, self._connection.execute(statements.BALANCES)))

    def save(self, after: Mapping[Account, Balance], *, known: Container[Account]) -> None:
        """Write accounts; those not `known` are new."""
        rows = {account: _row(balance) for account, balance in after.items()}
        new = [
            {"unit": account.unit, "scope": account.scope, "name": account.name} | row
            for account, row in rows.items()
            if account not in known
        ]
        old = [
            {"in_unit": account.unit, "in_scope": account.scope, "of_name": account.name}
            | {f"new_{name}": value for name, value in row.items()}
            for account, row in rows.items()
            if account in known
        ]
        for statement, values in ((statements.NEW_BALANCE, new), (statements.BALANCE, old)):
            if values:
                self._connection.execute(statement, values)

    def answer(self, spend: int) -> tuple[int, bytes] | None:
        """A stored answer, with the number of the entry that holds its digest."""
        found = self._connection.execute(statements.ANSWER, {"number": spend}).one_or_none()
        return None if found is None else (found.record, found.bytes)

    def answered(self, spend: int) -> bool:
        """Whether the answer of a spend is stored; it is not read."""
        return self._connection.execute(statements.RECORDED, {"number": spend}).one_or_none() is not None

    def answers(self) -> int:
        """How many answers are stored."""
        return self._connection.execute(statements.ANSWERED).scalar_one()

    def keep(self, spend: int, record: int, content: bytes) -> None:
        """Store an answer."""
        self._connection.execute(statements.KEEP, {"spend": spend, "record": record, "bytes": content})

    def sound(self) -> None:
        """The database's own check of its files, where it has one."""
        if self.database == "sqlite":
            sqlite.sound(self._connection)


def later(written: int) -> LedgerError:
    """The refusal of a ledger that a later release has written."""
    return LedgerError(f"the ledger has format {written}, and this release reads up to {FORMAT}; upgrade discreet")


def _entry(row: Row | None) -> Entry | None:
    return None if row is None else Entry(row.id, row.body, row.hash)


def _row(balance: Balance) -> dict[str, object]:
    record = write_balance(balance)
    return record | {"cap": None if record["cap"] is None else canonical(record["cap"])}


def stored(balance: Balance) -> Balance:
    """The balance as it will be read from its row."""
    return _read(_row(balance))


def _balance(row: Row) -> tuple[Account, Balance]:
    return Account(row.unit, row.scope, row.name), _read({name: getattr(row, name) for name in _COLUMNS})


def _read(row: Mapping[str, Any]) -> Balance:
    """A balance from its columns."""
    spent = read({name: row[name] for name in ("epsilon", "rho", "delta")})
    return replace(_limits(row["cap"], row["rho_cap"]), spent=spent, state=row["state"])


@lru_cache(maxsize=1000)
def _limits(cap: str | None, rho_cap: str | None) -> Balance:
    """A stored cap, without a fresh proof of its zCDP lane: `verify` compares it with its entry."""
    try:
        guarantee = None if cap is None else read_cap(json.loads(cap))
    except ValueError:
        raise LedgerError("ill-formed cap; run verify") from None
    return Balance(guarantee, None if rho_cap is None else amount(rho_cap))
