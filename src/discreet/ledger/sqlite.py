"""What is particular to SQLite: durable commits, one writer at a time, a private file.

Every connection is in WAL mode with synchronous=FULL, so that a commit returns after the
log has been fsynced; it is checked on the very connection that commits.  A writer
begins with BEGIN IMMEDIATE and so holds the lock from its first read on.

A new connection writes the log again and syncs it: a process that died of a failed sync may
have left pages that the kernel shows and the disk does not have, and what is appended to
them would be lost with them.  After each transaction the files must still be the ones
that were opened: an answer may not rest on a file that somebody moved or deleted.

Nothing here opens the database's file but SQLite.  POSIX drops all locks of a process on a
file when the process closes any handle of it; another process would then take itself for
the last one, and delete the log under us.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote
from uuid import uuid4

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.pool import QueuePool, StaticPool

from discreet.errors import LedgerError

PATIENCE = 30  # seconds that a writer waits for another
FULL = 2  # PRAGMA synchronous
_READS = "discreet_reading"
READING: dict[str, object] = {_READS: True}  # the execution options of transactions that do not write

_TRIGGERS = [
    f"CREATE TRIGGER entries_{verb.lower()} BEFORE {verb} ON entries"
    " BEGIN SELECT RAISE(ABORT, 'entries are append-only'); END"
    for verb in ("UPDATE", "DELETE")
]


def engine(path: Path | None) -> Engine:
    """An engine on a file that exists, or on memory if there is no path."""
    name = f"file:{quote(str(path))}?mode=rw" if path else ":memory:"

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(
            name, uri=path is not None, timeout=PATIENCE, check_same_thread=False, isolation_level=None, factory=_Opened
        )
        _prepare(connection, durable=path is not None)
        if path is not None:
            _settle(connection, path)
        return connection

    pool = {"poolclass": QueuePool, "pool_size": 1, "max_overflow": 0} if path else {"poolclass": StaticPool}
    made = create_engine("sqlite://", creator=connect, hide_parameters=True, **pool)
    event.listen(made, "begin", _begin)
    return made


def _prepare(connection: sqlite3.Connection, *, durable: bool) -> None:
    """Set up one connection, and make sure that it took."""
    for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "fullfsync = ON"):
        connection.execute(f"PRAGMA {pragma}")
    for pragma, wanted in (("journal_mode = WAL", "wal"), ("synchronous = FULL", FULL)) if durable else ():
        connection.execute(f"PRAGMA {pragma}")
        (found,) = connection.execute(f"PRAGMA {pragma.partition(' ')[0]}").fetchone()
        if found != wanted:
            raise LedgerError(f"SQLite refused {pragma}; the ledger would not be durable")


class _Opened(sqlite3.Connection):
    """A connection that knows which files it was opened on."""

    files: dict[str, tuple[int, int]]


class Replaced(OSError):
    """The files of the ledger are not the ones that were opened."""


def _identity(path: str) -> tuple[int, int]:
    found = os.stat(path)
    return found.st_dev, found.st_ino


def _settle(connection: _Opened, path: Path) -> None:
    """Make the log durable as it is read, while nobody writes; note which files these are."""
    try:
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        if not str(error.sqlite_errorname).startswith("SQLITE_READONLY"):
            raise
        connection.execute("BEGIN")  # nothing will be appended
    else:
        _write_again(f"{path}-wal")
    connection.files = {name: _identity(name) for name in (str(path), f"{path}-wal")}
    connection.execute("ROLLBACK")


def _write_again(path: str) -> None:
    """The same bytes in the same place, synced; SQLite keeps no locks on its log that closing it would drop."""
    log = os.open(path, os.O_RDWR)
    try:
        place = 0
        while chunk := os.pread(log, 1 << 20, place):
            place += os.pwrite(log, chunk, place)
        if place:
            os.fsync(log)
    finally:
        os.close(log)


def kept(connection: Connection) -> None:
    """Refuse to go on if a file was moved, replaced or deleted: what was written to it is gone."""
    opened = connection.connection.dbapi_connection
    files = getattr(opened, "files", {})
    for name, identity in files.items():
        if not os.path.exists(name) or _identity(name) != identity:
            raise Replaced(f"{name} is not the file that was opened")


def _begin(connection: Connection) -> None:
    reading = connection.get_execution_options().get(_READS, False)
    connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")


def prepare(connection: Connection, *, testing: bool) -> None:
    """Each connection was prepared when it was opened."""


def lock(connection: Connection, *, whole: bool) -> None:
    """BEGIN IMMEDIATE has taken the lock."""


def protect(connection: Connection) -> None:
    """Triggers that refuse to change or delete an entry."""
    for trigger in _TRIGGERS:
        connection.execute(text(trigger))


def sound(connection: Connection) -> None:
    """SQLite's own check of pages and indexes."""
    found = connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar_one()
    if found != "ok":
        raise LedgerError("the ledger's file is damaged; restore it and check it against its anchor")


def busy(error: object) -> bool:
    """Whether another writer held the lock for longer than our patience."""
    return str(getattr(error, "sqlite_errorname", "")).startswith("SQLITE_BUSY")


def make(path: Path, fill: Callable[[Connection], None]) -> None:
    """Create a ledger under another name, sync it, and give it its own: it is there as a whole or not at all."""
    left = [str(path) + end for end in ("-wal", "-shm", "-journal") if os.path.exists(str(path) + end)]
    if left:
        raise LedgerError(f"{path} is missing but {left[0]} is there: restore the ledger, or move that file away")
    draft = path.with_name(f".{path.name}.{uuid4().hex}")
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    try:
        made = engine(draft)
        with made.begin() as connection:
            fill(connection)
        made.dispose()  # the last connection moves the log into the file
        _sync(draft)
        with suppress(FileExistsError):  # another process was first, and its ledger is as good
            os.link(draft, path)
        _sync(path.parent)
    finally:
        for end in ("", "-wal", "-shm", "-journal"):
            Path(str(draft) + end).unlink(missing_ok=True)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def private(path: Path) -> None:
    """Only the owner reads and writes the file, and the log beside it; an empty file is no database.

    Its name is on the disk before anything rests on it: another process may have made it a moment ago.
    """
    if not path.stat().st_size:
        raise LedgerError(f"{path} is not a ledger")
    _sync(path.parent)
    for end in ("", "-wal", "-shm"):
        file = Path(str(path) + end)
        if file.exists() and file.stat().st_mode & 0o077:
            file.chmod(0o600)
