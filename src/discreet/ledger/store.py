"""Where a ledger is kept: one transaction a spend, and closed at the first error.

An error of the database is never retried: after a failed fsync the kernel may have
dropped what it could not write, and the next fsync would report success.  The store then
refuses everything until it is opened anew, which reads what really is on the disk.

Connections are closed before a process forks: SQLite's locks do not survive a fork.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from weakref import WeakSet

from sqlalchemy import Connection, Engine, Row, create_engine, insert, inspect
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from discreet.errors import LedgerError
from discreet.ledger import sqlite, statements
from discreet.ledger.amount import amount, read, read_cap
from discreet.ledger.book import Account, Balance, write_balance
from discreet.ledger.chain import FORMAT, Anchor, Entry, canonical
from discreet.ledger.schema import entries, head, metadata


class Transaction:
    """What is read and written in one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def last(self) -> Anchor:
        """The last entry's number and hash, with the head locked until the transaction ends."""
        row = self._connection.execute(statements.LAST).one_or_none()
        if row is None or row.hash != row.found or row.id != row.largest:
            raise LedgerError("the head of the ledger is not its last entry; run verify")
        return Anchor(row.id, row.hash)

    def format(self) -> int:
        """The version of the format it was written in."""
        return self._connection.execute(statements.FORMAT).scalar_one()

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

    def append(self, entry: Entry, *, analyst: str | None = None, key: str | None = None) -> None:
        """Add the next entry and make it the head."""
        row = {"id": entry.id, "body": entry.body, "hash": entry.hash, "analyst": analyst, "key": key}
        self._connection.execute(statements.APPEND, row)
        self._connection.execute(statements.ADVANCE, {"number": entry.id, "digest": entry.hash})

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

    def answered(self) -> int:
        """How many answers are stored."""
        return self._connection.execute(statements.ANSWERED).scalar_one()

    def keep(self, spend: int, record: int, content: bytes) -> None:
        """Store an answer."""
        self._connection.execute(statements.KEEP, {"spend": spend, "record": record, "bytes": content})

    def sound(self) -> None:
        """The database's own check of its files, where it has one."""
        if self._connection.dialect.name == "sqlite":
            sqlite.sound(self._connection)


def _entry(row: Row | None) -> Entry | None:
    return None if row is None else Entry(row.id, row.body, row.hash)


def _row(balance: Balance) -> dict[str, object]:
    record = write_balance(balance)
    return record | {"cap": None if record["cap"] is None else canonical(record["cap"])}


def _balance(row: Row) -> tuple[Account, Balance]:
    spent = read({"epsilon": row.epsilon, "rho": row.rho, "delta": row.delta})
    return Account(row.unit, row.scope, row.name), replace(_limits(row.cap, row.rho_cap), spent=spent)


@lru_cache(maxsize=1000)
def _limits(cap: str | None, rho_cap: str | None) -> Balance:
    """A stored cap, without a fresh proof of its zCDP lane: `verify` compares it with its entry."""
    try:
        guarantee = None if cap is None else read_cap(json.loads(cap))
    except ValueError:
        raise LedgerError("ill-formed cap; run verify") from None
    return Balance(guarantee, None if rho_cap is None else amount(rho_cap))


class Store:
    """A database, or nothing once it has failed."""

    def __init__(self, engine: Engine, *, memory: bool = False) -> None:
        self._engine, self._memory = engine, memory
        self._lock = threading.Lock()
        self._failure: str | None = None
        _FORKS.watch(self)

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        """A transaction that holds the only write lock; durable when the block ends, undone if it raises."""
        with self._guarded(), self._engine.begin() as connection:
            yield Transaction(connection)

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """A consistent view of the ledger."""
        with self._guarded(), self._engine.connect() as raw:
            connection = raw.execution_options(**{sqlite.READING: True})
            with connection.begin():
                yield Transaction(connection)

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        with self._lock:
            if self._failure is not None:
                raise LedgerError(self._failure)
            try:
                yield
            except (SQLAlchemyError, OSError, UnicodeError) as error:
                cause = error.orig if isinstance(error, DBAPIError) else error
                if sqlite.busy(cause):
                    raise LedgerError("the ledger is busy; nothing was spent") from error
                self._failure = "the ledger failed and is closed; open it again to see what was written"
                raise LedgerError(f"{self._failure} ({type(cause).__name__})") from error

    def close(self) -> None:
        """Close the database; the store refuses everything afterwards."""
        with self._lock:
            self._failure = self._failure or "the ledger is closed"
            self._engine.dispose()

    def before_fork(self) -> None:
        """No connection may be open while the process forks."""
        self._lock.acquire()
        if not self._memory:
            self._engine.dispose()

    def after_fork(self, *, child: bool) -> None:
        """A ledger in memory stays with the parent: two copies would pay twice from one budget."""
        if child and self._memory:
            self._failure = "a ledger in memory does not survive a fork"
        self._lock.release()


class _Forks:
    """Every open store is told of a fork; the hooks are set when the first one is opened."""

    def __init__(self) -> None:
        self._open: WeakSet[Store] = WeakSet()
        self._held: list[Store] = []
        self._set = False

    def watch(self, store: Store) -> None:
        if not self._set:
            parent, child = (partial(self._after, child=child) for child in (False, True))
            os.register_at_fork(before=self._before, after_in_parent=parent, after_in_child=child)
            self._set = True
        self._open.add(store)

    def _before(self) -> None:
        self._held = list(self._open)
        for store in self._held:
            store.before_fork()

    def _after(self, *, child: bool) -> None:
        for store in self._held:
            store.after_fork(child=child)
        self._held = []


_FORKS = _Forks()


def connect(target: str, *, create: bool, first: Entry) -> Store:
    """Open a ledger by path, URL or ":memory:"; `first` is the entry that starts a new one."""
    try:
        return _connect(target, create=create, first=first)
    except (SQLAlchemyError, OSError) as error:
        raise LedgerError(f"cannot open the ledger ({type(error).__name__})") from error


def _connect(target: str, *, create: bool, first: Entry) -> Store:
    scheme, mark, rest = target.partition("://")
    if mark and not scheme.startswith("sqlite"):
        engine = create_engine(target, hide_parameters=True, isolation_level="READ COMMITTED")
        if create and not inspect(engine).has_table(head.name):
            _fill(engine, first)
        return _checked(Store(engine))
    place = (rest[1:] or ":memory:") if mark else target
    if place == ":memory:":
        engine = sqlite.engine(None)
        _fill(engine, first)
        return Store(engine, memory=True)
    path = Path(place).absolute()
    if not path.exists():
        if not create:
            raise LedgerError(f"there is no ledger at {path}")
        sqlite.make(path, lambda engine: _fill(engine, first))
    sqlite.private(path)
    return _checked(Store(sqlite.engine(path)))


def _fill(engine: Engine, first: Entry) -> None:
    """Create the tables and write the first entry, in one transaction."""
    with engine.begin() as connection:
        metadata.create_all(connection)
        if connection.dialect.name == "sqlite":
            sqlite.protect(connection)
        connection.execute(insert(head), {"slot": 1, "format": FORMAT, "id": first.id, "hash": first.hash})
        connection.execute(insert(entries), {"id": first.id, "body": first.body, "hash": first.hash})


def _checked(store: Store) -> Store:
    """Refuse what is not a ledger, and a ledger whose format this release does not know."""
    try:
        with store.reading() as transaction:
            written = transaction.format()
    except LedgerError:
        store.close()
        raise
    if written > FORMAT:
        store.close()
        raise LedgerError(f"the ledger has format {written}, and this release reads up to {FORMAT}; upgrade discreet")
    return store
