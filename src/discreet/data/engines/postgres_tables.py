"""Where a PostgreSQL table is, and what its columns are: read from the catalogue, never from rows.

    "postgresql://host/hospital#visits"        the table visits of schema public
    "postgresql:///hospital#clinic.visits"     the table visits of schema clinic
    "visits", with Postgres(url=...)           the same, in the engine's own database

Names are taken as they are written, upper and lower case apart; %2E is a dot inside a name.
Ordinary and partitioned tables are read.  A view, a foreign table or a table with row-level security may
show other rows to every reader, or compute anything at all, and is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from discreet.data.engines.codes import literal, quoted
from discreet.data.engines.results import no_column
from discreet.errors import SourceError

if TYPE_CHECKING:
    import psycopg

SCHEMES = ("postgresql://", "postgres://")
KINDS = {"v": "a view", "m": "a materialized view", "f": "a foreign table"}


@dataclass(frozen=True, slots=True)
class Place:
    """A table of a database."""

    url: str
    schema: str
    table: str

    @property
    def sql(self) -> str:
        """Its name in SQL."""
        return f"{quoted(self.schema)}.{quoted(self.table)}"


def place(source: object, *, url: str | None) -> Place:
    """Where a source is; `url` is the engine's database, for sources that name only a table.

    >>> place("postgresql:///hospital#clinic.visits", url=None)
    Place(url='postgresql:///hospital', schema='clinic', table='visits')
    """
    if not isinstance(source, str):
        raise SourceError(f"need a source such as 'postgresql://host/database#table', got {type(source).__name__}")
    where, _, name = source.rpartition("#")
    if where.startswith(SCHEMES):
        parts = urlsplit(where)
        if parts.password is not None or "password" in parts.query:  # a source is printed; a password must not be
            raise SourceError("need a source without a password; keep it in a password file or in PGPASSWORD")
        url = where
    elif where or url is None:
        raise SourceError("need a source such as 'postgresql://host/database#table', or 'table' with Postgres(url=...)")
    parts = [unquote(part) for part in name.split(".")]
    if not 1 <= len(parts) <= 2 or not all(parts) or "\x00" in name:
        raise SourceError(f"need #table or #schema.table, got {name!r}")
    return Place(url, *(["public"] if len(parts) == 1 else []), *parts)


def columns(connection: psycopg.Connection, where: Place, needed: set[str]) -> dict[str, str]:
    """The physical types by column name; refused where the table or a needed column cannot be read."""
    shown = f"{where.schema}.{where.table}"
    found = _ask(
        connection,
        "SELECT c.oid, c.relkind, row_security_active(c.oid) FROM pg_class AS c "
        f"JOIN pg_namespace AS n ON n.oid = c.relnamespace AND n.nspname = {literal(where.schema)} "
        f"WHERE c.relname = {literal(where.table)} AND c.relkind IN ('r', 'p', 'v', 'm', 'f')",
    )
    if not found:
        raise SourceError(f"no table {shown!r}", declared=shown)
    ((oid, kind, secured),) = found
    kinds = [kind] + [row[0] for row in _ask(connection, _PARTS.format(oid=int(oid)))]
    for other in (kind for kind in kinds if kind not in ("r", "p")):
        raise SourceError(f"{shown!r} is or holds {KINDS.get(other, 'no table')}; only tables are read")
    if secured:
        raise SourceError(f"{shown!r} has row-level security for this role; use a role that may read all rows")
    known: dict[str, str] = {}
    for name, readable, *kind in _ask(connection, _COLUMNS.format(oid=int(oid))):
        known[name] = physical(*kind)
        if name in needed and not readable:
            raise SourceError(f"the role may not read column {name!r} of {shown!r}", declared=name)
    for name in sorted(needed):
        if name not in known:
            raise no_column(name, known)
    return known


def _ask(connection: psycopg.Connection, statement: str) -> list[tuple]:
    return connection.execute(statement.encode()).fetchall()


def physical(name: str, shown: str, kind: str, modifier: int, built_in: bool) -> str:  # noqa: FBT001 - a row of the catalogue
    """The name of a type as `postgres_codes.py` has it: its width and length left out, but for decimals.

    >>> physical("numeric", "numeric(10,2)", "b", (10 << 16) + 2 + 4, True)
    'numeric(10,2)'
    """
    if kind == "e":
        return "enum"
    if not built_in:
        return "citext" if name == "citext" else f"user-defined type {shown}"
    if name == "numeric" and modifier >= 4:
        width, scale = (modifier - 4) >> 16 & 0xFFFF, ((modifier - 4 & 0x7FF) ^ 1024) - 1024
        return f"numeric({width},{scale})"
    return _NAMES.get(name, shown)


_NAMES = {
    "varchar": "character varying",
    "bpchar": "character",
    "timestamp": "timestamp without time zone",
    "timestamptz": "timestamp with time zone",
    "time": "time without time zone",
}

# the partitions and children of a table, which are read with it
_PARTS = """
WITH RECURSIVE parts(oid) AS (
    SELECT inhrelid FROM pg_inherits WHERE inhparent = {oid}
    UNION SELECT i.inhrelid FROM pg_inherits AS i JOIN parts ON i.inhparent = parts.oid
)
SELECT DISTINCT c.relkind FROM pg_class AS c JOIN parts ON parts.oid = c.oid"""

# a domain is read as the type it is made of
_COLUMNS = """
WITH RECURSIVE base(attname, attnum, typid, typmod) AS (
    SELECT attname, attnum, atttypid, atttypmod FROM pg_attribute
    WHERE attrelid = {oid} AND attnum > 0 AND NOT attisdropped
    UNION ALL
    SELECT b.attname, b.attnum, t.typbasetype, t.typtypmod FROM base AS b JOIN pg_type AS t ON t.oid = b.typid
    WHERE t.typtype = 'd'
)
SELECT b.attname::text, has_column_privilege({oid}, b.attnum, 'SELECT'),
    t.typname::text, format_type(b.typid, NULL), t.typtype::text, b.typmod, n.nspname = 'pg_catalog'
FROM base AS b JOIN pg_type AS t ON t.oid = b.typid JOIN pg_namespace AS n ON n.oid = t.typnamespace
WHERE t.typtype <> 'd' ORDER BY b.attnum"""
