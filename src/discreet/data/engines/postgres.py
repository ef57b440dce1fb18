"""PostgreSQL as an engine: the whole aggregation is one SELECT, and only its sums and counts come back.

Each run opens a connection and one read-only transaction.  In it every setting that the SQL depends on is made and
read back, the table is looked up in the catalogue, and one statement is run: a pooler between us and the server that
hands out sessions by the transaction changes nothing.  After the first private row may have been
read, every failure becomes one constant message, as with every engine.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from discreet.data.aggregation import Aggregation, Sealed, SealedGroups
from discreet.data.engines import postgres_semantics
from discreet.data.engines.postgres_sql import POSTGRES
from discreet.data.engines.postgres_tables import Place, columns, place
from discreet.data.engines.reference import candidates, reference
from discreet.data.engines.relations import needs, rows
from discreet.data.engines.results import constant_faults, reached, sealed
from discreet.data.engines.semantics import hold
from discreet.data.relation import Relation
from discreet.errors import UnsupportedError, require

if TYPE_CHECKING:
    import psycopg

    from discreet.data.table import Table

Made = TypeVar("Made")

# what the meaning of the SQL depends on, for one transaction; the server must show each as it is set
MEANING = {
    "search_path": "pg_catalog, pg_temp",  # by itself, temporary tables and types would come first
    "TimeZone": "UTC",
    "DateStyle": "ISO, YMD",
    "IntervalStyle": "postgres",
    "extra_float_digits": "1",
    "standard_conforming_strings": "on",
    "transform_null_equals": "off",
    "client_encoding": "UTF8",
    "row_security": "off",  # an error rather than fewer rows
}
BEGUN = {"transaction_read_only": "on", "transaction_isolation": "repeatable read"}
_tested: set[tuple[str, object]] = set()  # the servers that passed the self-test in this process


@dataclass(frozen=True, kw_only=True, slots=True)
class Postgres:
    """Runs aggregations in a PostgreSQL server, version 14 or later.

    Tables are named by their sources (`postgresql://host/database#schema.table`), or by `url` and the table alone.
    `statement_timeout` is in seconds; `work_mem` is what each sort may take before the server sorts on its own disk.

    >>> Postgres(work_mem="256MB")
    Postgres(statement_timeout=3600, work_mem='256MB')
    """

    url: str | None = field(default=None, repr=False)  # it may hold a password
    statement_timeout: int = 3600
    work_mem: str = "64MB"

    def __post_init__(self) -> None:
        whole = type(self.statement_timeout) is int and 1 <= self.statement_timeout <= 1_000_000
        require(whole, "an integer statement_timeout from 1 to 1,000,000", statement_timeout=self.statement_timeout)
        size = isinstance(self.work_mem, str) and re.fullmatch("[1-9][0-9]{0,6}(kB|MB|GB)", self.work_mem) is not None
        require(size, "work_mem such as 64MB", work_mem=self.work_mem)

    def check(self) -> None:
        """Test that the server computes what the generated SQL assumes; raise if it does not.

        Without a `url` there is no server yet: each is tested before its first table is looked at.
        """
        if self.url is not None:
            with self._open(self.url):
                pass

    def ready(self, table: Table, aggregation: Aggregation) -> None:
        """Refuse a table or column that is not there, or a statement the server does not take; no row is read."""
        url, places = self._places(table, aggregation)
        with self._open(url) as connection:
            statement = _statement(connection, table, aggregation, places)
            _reached(lambda: connection.execute(f"PREPARE discreet AS {statement}".encode()))
            _reached(lambda: connection.execute("DEALLOCATE discreet"))

    def sql(self, table: Table, aggregation: Aggregation) -> str:
        """The statement that is run; made from public facts and the catalogue."""
        url, places = self._places(table, aggregation)
        with self._open(url) as connection:
            return _statement(connection, table, aggregation, places)

    def run(self, table: Table, aggregation: Aggregation) -> Sealed | SealedGroups:
        """Every cell and measure: (cells, measures), cells in C order over the keys, absent cells zero."""
        url, places = self._places(table, aggregation)
        with self._open(url) as connection:
            statement = _statement(connection, table, aggregation, places).encode()
            return constant_faults(lambda: sealed(aggregation, connection.execute(statement).fetchall()))

    def _places(self, table: Table, aggregation: Aggregation) -> tuple[str, dict[Table, tuple[Place, set[str]]]]:
        """The one database, and each table in it with the columns that are read."""
        if isinstance(table.source, Relation):
            needed = needs(table.source.pruned(aggregation.columns))
        else:
            needed = {table: {*aggregation.columns, *([aggregation.unit] if aggregation.unit else [])}}
        found = {one: (place(one.source, url=self.url), names) for one, names in needed.items()}
        urls = {where.url for where, _ in found.values()}
        if len(urls) > 1:
            raise UnsupportedError("the tables of one question must be in one database")
        return urls.pop(), found

    @contextmanager
    def _open(self, url: str) -> Iterator[psycopg.Connection]:
        """A connection whose settings are known and whose server passed the self-test."""
        try:
            import psycopg
        except ImportError:
            raise UnsupportedError("PostgreSQL needs psycopg: pip install 'discreet[postgres]'") from None
        options = {"application_name": "discreet", "prepare_threshold": None}
        connection = _reached(lambda: psycopg.connect(url, **options))
        try:
            connection.read_only, connection.isolation_level = True, psycopg.IsolationLevel.REPEATABLE_READ
            started = _reached(lambda: self._settle(connection))
            if (url, started) not in _tested:
                _verify(connection)
                _tested.add((url, started))
            yield connection
        finally:
            connection.close()

    def _settle(self, connection: psycopg.Connection) -> object:
        """Make the settings, and see that they are made; when the server was started."""
        costs = {"statement_timeout": f"{self.statement_timeout}s", "work_mem": self.work_mem, "jit": "off"}
        chosen = MEANING | costs | {"client_min_messages": "error"}
        made = ", ".join(f"set_config('{name}', '{value}', true)" for name, value in chosen.items())
        connection.execute(f"SELECT {made}".encode())
        needed = MEANING | BEGUN
        shown = ", ".join(f"current_setting('{name}')" for name in needed)
        ((*taken, started),) = connection.execute(f"SELECT {shown}, pg_postmaster_start_time()".encode()).fetchall()
        for (name, value), found in zip(needed.items(), taken, strict=True):
            if found != value:
                raise UnsupportedError(f"the server shows {name} = {found!r}, and {value!r} is needed")
        return started


def _reached(work: Callable[[], Made]) -> Made:
    """What is asked of the server before any row is read."""
    return reached(work, "the PostgreSQL server cannot be used")


def _verify(connection: psycopg.Connection) -> None:
    """Raise unless the server gives every answer that is assumed."""
    import psycopg

    def ask(expression: str) -> object:
        try:
            return connection.execute(f"SELECT {expression}".encode()).fetchall()[0][0]
        except psycopg.Error as error:
            return type(error).__name__

    version = connection.info.server_version
    hold(postgres_semantics.ASSUMED, ask, engine=f"PostgreSQL {version // 10000}.{version % 10000}")


def _statement(
    connection: psycopg.Connection,
    table: Table,
    aggregation: Aggregation,
    places: dict[Table, tuple[Place, set[str]]],
) -> str:
    """The aggregation in PostgreSQL's SQL.  Only the catalogue is read."""
    types = {
        one: _reached(lambda w=where, n=names: columns(connection, w, n)) for one, (where, names) in places.items()
    }
    found = {one: (where.sql, types[one]) for one, (where, _) in places.items()}
    if isinstance(table.source, Relation):
        source, physical = rows(table.source.pruned(aggregation.columns), found.__getitem__, POSTGRES), {}
    else:
        source, physical = found[table]
    made = candidates(aggregation, domain=table.domain, source=source, physical=physical, dialect=POSTGRES)
    statement = reference(aggregation, made, dialect=POSTGRES)
    if "\x00" in statement:
        raise UnsupportedError("PostgreSQL's text has no NUL character, so that nothing can be compared with one")
    return statement
