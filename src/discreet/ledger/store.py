"""Where a ledger is kept: one transaction a spend, and closed at the first error.

An error of the database is never retried: after a failed fsync the kernel may have
dropped what it could not write, and the next fsync would report success.  Where a server
is lost during a commit nobody knows whether it took place.  The store then refuses
everything until it is opened anew, which reads what really is there; a spend that had a
key is found under it.  Only what certainly changed nothing leaves the store open: a lock
that was waited for in vain, and a server that could not be reached to begin with.

Connections are closed before a process forks: locks do not survive a fork, and two
processes cannot share one conversation with a server.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Protocol
from weakref import WeakSet

from sqlalchemy import Connection, Engine, insert
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from discreet.errors import LedgerError
from discreet.ledger import postgres, sqlite
from discreet.ledger.chain import FORMAT, Anchor, Entry, link
from discreet.ledger.request import now
from discreet.ledger.schema import entries, head, metadata
from discreet.ledger.transaction import Transaction, later
from discreet.ledger.turns import InMemory, OnFile, OnServer, Turns
from discreet.ledger.watch import LOCK, Watch


class Dialect(Protocol):
    """What differs between databases; the modules `sqlite` and `postgres` are two."""

    READING: dict[str, object]

    def prepare(self, connection: Connection, *, testing: bool) -> None:
        """Make a transaction durable, or refuse it."""

    def lock(self, connection: Connection, *, whole: bool) -> None:
        """Become the only writer; of the `whole` head, where its columns will change."""

    def protect(self, connection: Connection) -> None:
        """Refuse to change or delete an entry."""

    def kept(self, connection: Connection) -> None:
        """Refuse to go on if what was written is not where the ledger is."""

    def busy(self, error: object) -> bool:
        """Whether an error means that another writer was waited for in vain."""
        ...


def dialect(engine: Engine) -> Dialect:
    """What is particular to the database of an engine."""
    return sqlite if engine.dialect.name == "sqlite" else postgres


class Store:
    """A database, or nothing once it has failed."""

    def __init__(self, engine: Engine, turns: Turns, *, memory: bool = False) -> None:
        self._engine, self._memory = engine, memory
        self.turns = turns
        self._dialect = dialect(engine)
        self._lock = threading.Lock()
        self._failure: str | None = None
        self._seen: Anchor | None = None  # the last entry that a finished transaction saw
        self.testing = False  # whether its commits may be lost with the power
        self.watch: Watch | None = None  # the ledger's witness
        _FORKS.watch(self)

    @contextmanager
    def writing(self, *, whole: bool = False) -> Iterator[Transaction]:
        """A transaction that holds the only write lock; durable when the block ends, undone if it raises.

        Where it asked the witness, that has seen it too when the block ends; or `Unmoved` is raised, and it stands.
        """
        with self._guarded(), self._charging(), self._connected() as connection:
            with connection.begin():
                self._dialect.prepare(connection, testing=self.testing)
                self._dialect.lock(connection, whole=whole)
                transaction = Transaction(connection, seen=self._seen, watch=self.watch)
                yield transaction
                pending = transaction.pending
                state = None if pending is None else pending.after(transaction)
            self._dialect.kept(connection)
            self._seen = transaction.seen
            if pending is not None and state is not None and self.watch is not None:
                self.watch.move(state, pending.drawn)

    def settle(self) -> None:
        """Compare the ledger with its witness, and move that on; a ledger that never had one begins it."""
        assert self.watch is not None
        with self.writing() as transaction:
            last = transaction.last()
            if transaction.held is not None:
                transaction.witnessed()
                return
            transaction.pending = self.watch.begin(transaction)
            transaction.append(link(last, kind="witness", time=now(), state="begun", reason=None))
            transaction.hold("begun")

    @contextmanager
    def _charging(self) -> Iterator[None]:
        """Be the only process that writes, until the witness has seen it."""
        if self.watch is None:
            yield
            return
        with self.turns.turn(LOCK):
            yield

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """A consistent view of the ledger."""
        with self._guarded(), self._connected() as raw:
            connection = raw.execution_options(**self._dialect.READING)
            with connection.begin():
                transaction = Transaction(connection, seen=self._seen, watch=self.watch)
                yield transaction
            self._dialect.kept(connection)
            self._seen = transaction.seen

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        """A connection; a server that cannot be reached has done nothing, and may be back later."""
        try:
            connection = self._engine.connect()
        except DBAPIError as error:
            if self._engine.dialect.name == "sqlite":
                raise
            raise LedgerError("the ledger cannot be reached; nothing was spent") from error
        with connection:
            yield connection

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        with self._lock:
            if self._failure is not None:
                raise LedgerError(self._failure)
            try:
                yield
            except (SQLAlchemyError, OSError, UnicodeError) as error:
                cause = error.orig if isinstance(error, DBAPIError) else error
                if self._dialect.busy(cause):
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
        if self._memory:
            return
        try:
            self._engine.dispose()
        except (SQLAlchemyError, OSError):  # parent and child would share what did not close
            self._failure = self._failure or "the ledger could not be closed for a fork; open it again"

    def after_fork(self, *, child: bool) -> None:
        """A ledger in memory stays with the parent: two copies would pay twice from one budget."""
        if child:
            self.turns.forget()
        if child and self._memory:
            self._failure = "a ledger in memory does not survive a fork"
        self._lock.release()


class _Forks:
    """Every open store is told of a fork; the hooks are set when the first one is opened.

    Forks of several threads come one after another, from before to after: what one of them holds is what it gives back,
    and no store is opened meanwhile.  A child has the gate as its only thread left it, and gives it back too.
    """

    def __init__(self) -> None:
        self._open: WeakSet[Store] = WeakSet()
        self._gate = threading.Lock()
        self._held: list[Store] = []  # by whoever has the gate
        self._set = False

    def watch(self, store: Store) -> None:
        with self._gate:
            if not self._set:
                parent, child = (partial(self._after, child=child) for child in (False, True))
                os.register_at_fork(before=self._before, after_in_parent=parent, after_in_child=child)
                self._set = True
            self._open.add(store)

    def _before(self) -> None:
        self._gate.acquire()
        for store in list(self._open):
            store.before_fork()
            self._held.append(store)

    def _after(self, *, child: bool) -> None:
        held, self._held = self._held, []
        for store in held:
            store.after_fork(child=child)
        self._gate.release()


_FORKS = _Forks()


def connect(target: str, *, create: bool, first: Entry) -> Store:
    """Open a ledger by path, URL or ":memory:"; `first` is the entry that starts a new one."""
    try:
        return _connect(target, create=create, first=first)
    except (SQLAlchemyError, OSError) as error:
        cause = error.orig if isinstance(error, DBAPIError) else error
        raise LedgerError(f"cannot open the ledger ({type(cause).__name__})") from error


def _connect(target: str, *, create: bool, first: Entry) -> Store:
    scheme, mark, rest = target.partition("://")
    if mark and scheme in postgres.SCHEMES:
        connect = postgres.connector(target)
        return _on_server(postgres.engine(connect), OnServer(connect), create=create, first=first)
    if mark and scheme != "sqlite":
        raise LedgerError(f"a ledger is a file, sqlite:// or postgresql://, not {scheme}://")
    place = (rest[1:] or ":memory:") if mark else target
    if place == ":memory:":
        engine = sqlite.engine(None)
        with engine.begin() as connection:
            _fill(connection, first)
        return _checked(Store(engine, InMemory(), memory=True))
    path = Path(place).absolute()
    if not path.exists():
        if not create:
            raise LedgerError(f"there is no ledger at {path}")
        sqlite.make(path, lambda connection: _fill(connection, first))
    sqlite.private(path)
    return _checked(Store(sqlite.engine(path), OnFile(path)))


def _on_server(engine: Engine, turns: Turns, *, create: bool, first: Entry) -> Store:
    """The ledger of a database, on its search path."""
    try:
        _make(engine, create=create, first=first)
    except BaseException:
        engine.dispose()
        raise
    return _checked(Store(engine, turns))


def _make(engine: Engine, *, create: bool, first: Entry) -> None:
    """Create what is missing; of several processes that do so at once, one does, and the others wait for it."""
    with engine.begin() as connection:
        postgres.prepare(connection, testing=True)
        if postgres.exists(connection):
            return
    if not create:
        raise LedgerError("there is no ledger in this database")
    with engine.begin() as connection:
        postgres.prepare(connection, testing=first.record.get("testing") is True)
        if postgres.first(connection):
            _fill(connection, first)


def _fill(connection: Connection, first: Entry) -> None:
    """Create the tables and write the first entry."""
    metadata.create_all(connection)
    dialect(connection.engine).protect(connection)
    connection.execute(insert(head), {"slot": 1, "format": FORMAT, "id": first.id, "hash": first.hash})
    connection.execute(insert(entries), {"id": first.id, "body": first.body, "hash": first.hash})


def _checked(store: Store) -> Store:
    """Refuse what is not a ledger, and a ledger whose format this release does not know."""
    try:
        with store.reading() as transaction:
            written = transaction.format()
            genesis = transaction.entry(0)
    except LedgerError:
        store.close()
        raise
    if written > FORMAT:
        store.close()
        raise later(written)
    store.testing = genesis is not None and genesis.record.get("testing") is True
    if written < FORMAT:
        _migrated(store)
    return store


def _migrated(store: Store) -> None:
    from discreet.ledger.migrations import migrate

    try:
        migrate(store)
    except LedgerError:
        store.close()
        raise
