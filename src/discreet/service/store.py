"""The service's own records: tokens and approvals, and what the runner adds.

SQLite in one private file, in WAL mode with every commit synced, or PostgreSQL.  Nothing here is needed to trust an
answer: caps, charges and stored answers are the ledger's.  Tokens are kept as digests only.

Another module of the service keeps its own tables here: it declares them in a `MetaData` of its own and calls
`store.create(metadata)`.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Column, Connection, Engine, Float, Index, Integer, MetaData, Table, Text, create_engine, event
from sqlalchemy.pool import QueuePool, StaticPool

from discreet.ledger import postgres

if TYPE_CHECKING:
    from discreet.service.settings import Settings

PATIENCE = 30  # seconds that a writer waits for another
_READS = "discreet_reading"
metadata = MetaData()

tokens = Table(
    "service_tokens",
    metadata,
    Column("id", Text, primary_key=True),
    Column("kind", Text, nullable=False),  # token or session
    Column("principal", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("datasets", Text),  # a list in JSON; null: all of them
    Column("created", Float, nullable=False),
    Column("expires", Float, nullable=False),
    Column("revoked", Float),
    Column("parent", Text),  # the token that a session belongs to
    Column("digest", Text, nullable=False),
)

approvals = Table(
    "service_approvals",
    metadata,
    Column("id", Text, primary_key=True),
    Column("principal", Text, nullable=False),
    Column("digest", Text, nullable=False),  # of the request, as it must be repeated
    Column("kind", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("price", Text, nullable=False),
    Column("state", Text, nullable=False),  # waiting, approved, refused or used
    Column("created", Float, nullable=False),
    Column("decided", Float),
    Column("steward", Text),
    Column("reason", Text),
    Index("service_approvals_by_request", "principal", "digest"),
)

uses = Table(  # of approvals: what each was used for
    "service_approval_uses",
    metadata,
    Column("approval", Text, primary_key=True),
    Column("key", Text, nullable=False),  # of the order, by which it is told from another of the same request
    Column("holders", Integer, nullable=False),  # requests under way with it
    Column("charged", Integer, nullable=False),  # 1 where one of them was charged, or may have been
)


class Store:
    """A database of the service's own.

    >>> with open_store(":memory:") as store, store.reading() as connection:
    ...     connection.execute(tokens.select()).all()
    []
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.create(metadata)

    def create(self, tables: MetaData) -> None:
        """Create the tables that are missing."""
        with self.writing() as connection:
            if connection.dialect.name == "postgresql":  # several processes may start at once
                connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7235437890)")
            tables.create_all(connection)

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that may write; on the disk when the block ends, undone if it raises."""
        with self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that only reads, and waits for no writer."""
        with self.engine.connect() as raw:
            connection = raw.execution_options(**{_READS: True})
            with connection.begin():
                yield connection

    def close(self) -> None:
        """Close the database."""
        self.engine.dispose()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_store(where: Settings | str | Path) -> Store:
    """The store of these settings, or at a path, ":memory:" or URL; created if there is none."""
    place = where if isinstance(where, (str, Path)) else where.store
    text = str(place)
    if text.partition("://")[0] in postgres.SCHEMES and "://" in text:
        return Store(_on_server(text))
    return Store(_on_file(None if text == ":memory:" else Path(text).absolute()))


def _on_server(url: str) -> Engine:
    options = {"poolclass": QueuePool, "pool_size": 5, "max_overflow": 5, "pool_pre_ping": True}
    return create_engine("postgresql+psycopg://", creator=postgres.connector(url), hide_parameters=True, **options)


def _on_file(path: Path | None) -> Engine:
    if path is not None:
        with suppress(FileExistsError):  # private from its first moment; SQLite gives its other files the same mode
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(
            path or ":memory:", timeout=PATIENCE, check_same_thread=False, isolation_level=None
        )
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON", "trusted_schema = OFF"):
            connection.execute(f"PRAGMA {pragma}")
        return connection

    pool = {"poolclass": QueuePool, "pool_size": 8, "max_overflow": 8} if path else {"poolclass": StaticPool}
    made = create_engine("sqlite://", creator=connect, hide_parameters=True, **pool)
    event.listen(made, "begin", _begin)
    return made


def _begin(connection: Connection) -> None:
    """A writer holds the lock from its first read on."""
    reads = connection.get_execution_options().get(_READS)
    connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")
