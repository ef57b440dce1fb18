"""A witness in a table of PostgreSQL, on another server than the ledger's: one row, replaced by its version.

The table is made on the first use.  Every replacement is a transaction that sets `synchronous_commit` for itself, on a
server that syncs what it writes; a row is locked by whoever updates it, so of two who expect one version one finds it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from discreet.errors import LedgerError
from discreet.ledger import postgres

if TYPE_CHECKING:
    import psycopg

    Session = psycopg.Connection[tuple[object, ...]]

_SETTINGS = (
    "SELECT set_config('lock_timeout', %s, true), set_config('statement_timeout', %s, true),"
    " set_config('synchronous_commit', CASE current_setting('synchronous_commit')"
    " WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true),"
    " current_setting('fsync'), current_setting('full_page_writes')"
)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}(\.[A-Za-z_][A-Za-z0-9_]{0,62})?", re.ASCII)


class PostgresWitness:
    """The one row of a table: `postgresql://user@host/database#table`, with any address that `psql` takes.

    >>> PostgresWitness("postgresql:///hospital#ledger_witness").table
    'ledger_witness'
    """

    def __init__(self, address: str) -> None:
        url, mark, table = address.partition("#")
        if not mark or not _NAME.fullmatch(table):
            raise LedgerError("a witness in PostgreSQL is postgresql://user@host/database#table")
        self.table = table
        self._connect = postgres.connector(url)

    def read(self) -> tuple[str | None, str | None]:
        """Version and text; None and None where there is no table, or no row in it."""
        with self._session() as session:
            if not self._exists(session):
                return None, None
            row = session.execute(f"SELECT version, text FROM {self._quoted} WHERE slot = 1").fetchone()  # type: ignore[arg-type]
            return (None, None) if row is None else (str(row[0]), str(row[1]))

    def compare_and_set(self, expected: str | None, text: str) -> bool:
        """Insert the row, or update it where its version is the expected one."""
        with self._session() as session:
            if expected is None:
                if not self._exists(session):
                    self._create(session)
                row = "INSERT INTO {} (slot, version, text) VALUES (1, 1, %s) ON CONFLICT (slot) DO NOTHING"
                return session.execute(row.format(self._quoted), [text]).rowcount == 1  # type: ignore[arg-type]
            row = "UPDATE {} SET version = version + 1, text = %s WHERE slot = 1 AND version = %s"
            return session.execute(row.format(self._quoted), [text, int(expected)]).rowcount == 1  # type: ignore[arg-type]

    @property
    def _quoted(self) -> str:
        return ".".join(f'"{part}"' for part in self.table.split("."))

    def _exists(self, session: Session) -> bool:
        return session.execute("SELECT to_regclass(%s) IS NOT NULL", [self._quoted]).fetchone() == (True,)

    def _create(self, session: Session) -> None:
        columns = "(slot integer PRIMARY KEY, version bigint NOT NULL, text text NOT NULL)"
        session.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [self._quoted])  # else two make it at once
        session.execute(f"CREATE TABLE IF NOT EXISTS {self._quoted} {columns}")  # type: ignore[arg-type]

    @contextmanager
    def _session(self) -> Iterator[Session]:
        """One transaction, durable when the block ends."""
        with closing(self._connect()) as session:
            wait = f"{round(postgres.PATIENCE * 1000)}ms"
            row = session.execute(_SETTINGS, [wait, wait]).fetchone()
            if row is None or row[-2:] != ("on", "on"):
                raise LedgerError("the witness's server has fsync or full_page_writes off; it would not be durable")
            yield session
            session.commit()
