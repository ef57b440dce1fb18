"""What is particular to PostgreSQL: durable commits, writers that queue at the head, one ledger a schema.

A transaction that writes sets `synchronous_commit` for itself, checks that the server
syncs what it writes, and locks the one row of `head` by a statement of its own.  Each
statement that follows reads what was committed before it began (READ COMMITTED), hence
after the lock was granted: no writer sees a balance that another is about to change.
A transaction that reads has one snapshot (REPEATABLE READ) and cannot write.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import Connection, Engine, create_engine, inspect, text
from sqlalchemy.pool import QueuePool

from discreet.errors import LedgerError
from discreet.ledger import statements
from discreet.ledger.schema import head

if TYPE_CHECKING:
    from collections.abc import Callable

    import psycopg

    Connector = Callable[[], psycopg.Connection[tuple[object, ...]]]

PATIENCE = 30  # seconds that a writer waits for another
IDLE = 20  # seconds that a writer may hold the lock and do nothing; then the server undoes what it did
SCHEMES = ("postgresql", "postgres", "postgresql+psycopg")
READING: dict[str, object] = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}

_WAITED = {"55P03", "40P01"}  # lock not available, deadlock: the transaction was undone
_CREATION = 0x6469736372656574  # the advisory lock of whoever creates a ledger in this database
_SETTINGS = text(
    "SELECT set_config('synchronous_commit', CASE current_setting('synchronous_commit')"
    " WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true) AS synchronous_commit,"
    " set_config('lock_timeout', :patience, true) AS patience,"
    " set_config('idle_in_transaction_session_timeout', :idle, true) AS idle,"
    " current_setting('fsync') AS fsync,"
    " current_setting('full_page_writes') AS full_page_writes,"
    " current_setting('data_sync_retry') AS data_sync_retry,"
    " current_setting('server_encoding') AS server_encoding"
)
_WHOLE = text("LOCK TABLE head IN ACCESS EXCLUSIVE MODE")
_DURABLE = {"fsync": "on", "full_page_writes": "on", "data_sync_retry": "off"}
_TRIGGERS = (
    "CREATE OR REPLACE FUNCTION discreet_append_only() RETURNS trigger LANGUAGE plpgsql AS"
    " $$ BEGIN RAISE EXCEPTION 'entries are append-only'; END $$",
    "CREATE OR REPLACE TRIGGER entries_change BEFORE UPDATE OR DELETE ON entries"
    " FOR EACH ROW EXECUTE FUNCTION discreet_append_only()",
    "CREATE OR REPLACE TRIGGER entries_truncate BEFORE TRUNCATE ON entries"
    " FOR EACH STATEMENT EXECUTE FUNCTION discreet_append_only()",
)


def connector(target: str) -> Connector:
    """What connects to a database, by any URL that PostgreSQL's own programs take."""
    try:
        from psycopg import Connection as Driver
        from psycopg import ProgrammingError
        from psycopg.conninfo import conninfo_to_dict
    except ImportError as error:
        raise LedgerError("a ledger in PostgreSQL needs psycopg: pip install 'discreet[postgres]'") from error
    try:
        wanted = conninfo_to_dict("postgresql://" + target.partition("://")[2])
    except ProgrammingError:  # its text may quote a password
        raise LedgerError("cannot read the ledger's address; need postgresql://user@host:port/database") from None
    alive = {"keepalives_idle": PATIENCE, "keepalives_interval": 10, "keepalives_count": 3}
    options = (
        {"connect_timeout": PATIENCE, "application_name": "discreet"} | alive | wanted | {"client_encoding": "utf8"}
    )

    def connect() -> psycopg.Connection[tuple[object, ...]]:
        return Driver.connect(**options)  # type: ignore[arg-type]

    return connect


def engine(connect: Connector) -> Engine:
    """An engine with one connection."""
    pool = {"poolclass": QueuePool, "pool_size": 1, "max_overflow": 0, "pool_pre_ping": True}
    return create_engine(
        "postgresql+psycopg://", creator=connect, hide_parameters=True, isolation_level="READ COMMITTED", **pool
    )


def prepare(connection: Connection, *, testing: bool) -> None:
    """Make this transaction durable, or refuse it; and let it wait no longer than our patience."""
    row = connection.execute(_SETTINGS, {"patience": _ms(PATIENCE), "idle": _ms(IDLE)}).one()
    for name, wanted in _DURABLE.items():
        found = getattr(row, name)
        if found != wanted and not testing:
            raise LedgerError(f"the server has {name} = {found}; the ledger would not be durable")
    if row.server_encoding != "UTF8":
        raise LedgerError(f"the database is encoded in {row.server_encoding}; a ledger needs UTF8")


def _ms(seconds: float) -> str:
    return f"{round(seconds * 1000)}ms"


def lock(connection: Connection, *, whole: bool) -> None:
    """Hold the head until the transaction ends.

    Who changes its columns holds the table from the start: a second one that waits for the row has a lock on the table,
    and each would wait for the other.
    """
    connection.execute(_WHOLE if whole else statements.LOCK)


def exists(connection: Connection) -> bool:
    """Whether there is a ledger in this database, on the search path."""
    return inspect(connection).has_table(head.name)


def first(connection: Connection) -> bool:
    """Whether this transaction is to create the ledger: of several that want to, one, and the others wait for it."""
    connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _CREATION})
    return not exists(connection)


def protect(connection: Connection) -> None:
    """Triggers that refuse to change or delete an entry."""
    for statement in _TRIGGERS:
        connection.exec_driver_sql(statement)


def kept(connection: Connection) -> None:
    """What was committed is where the server keeps it."""


def busy(error: object) -> bool:
    """Whether another writer held the lock for longer than our patience."""
    return getattr(error, "sqlstate", None) in _WAITED
