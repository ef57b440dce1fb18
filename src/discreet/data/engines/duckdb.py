"""DuckDB, the embedded engine: one source, only generated SQL, capped memory, nothing else in reach.

Each run has a connection that was given the one source and lost access to every other file, to extensions and to
settings (`open_databases.py`), and computes the aggregation.  After the first private row may have been read,
every failure becomes one constant message; its kind goes to the operator's log under a reference.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from discreet.data.aggregation import Aggregation, Sealed, SealedGroups
from discreet.data.engines import sources
from discreet.data.engines.dialect import DUCKDB
from discreet.data.engines.mending import read_again, reading
from discreet.data.engines.open_databases import lent
from discreet.data.engines.reference import Candidates, candidates, reference
from discreet.data.engines.relations import needs, rows
from discreet.data.engines.results import no_column, reached, sealed
from discreet.data.engines.semantics import verify
from discreet.data.relation import Relation
from discreet.errors import require

if TYPE_CHECKING:
    import duckdb

    from discreet.data.table import Table


@dataclass(frozen=True, kw_only=True, slots=True)
class DuckDB:
    """Runs aggregations in an embedded DuckDB.

    `memory` caps what DuckDB takes; `threads=None` uses every core; `plain=True` computes by the SQL of
    `reference.py`, which gives the same integers and is slower; `reads_rows=False` has models
    and workloads take it as they take the other engines: what would read all encoded rows is asked in sums and tables
    that the engine makes, or refused.
    """

    memory: str = "2GB"
    threads: int | None = None
    plain: bool = False
    reads_rows: bool = field(default=True, repr=False)

    def __post_init__(self) -> None:
        require(self.threads is None or self.threads >= 1, "threads >= 1", threads=self.threads)

    def check(self) -> None:
        """Test that this DuckDB computes what the generated SQL assumes (`semantics.py`); raise if it does not."""
        with self._open() as connection:
            verify(connection)

    def ready(self, table: Table, aggregation: Aggregation) -> None:
        """Refuse an engine that fails its test, or a source or column that is not there; only the schema is read."""
        checked(self)
        wanted = _read(table, aggregation)
        with lent(self, wanted, rows=False) as (connection, places):
            _located(connection, places, table, aggregation)
        sources.check(wanted, _named(table, aggregation))

    def run(self, table: Table, aggregation: Aggregation) -> Sealed | SealedGroups:
        """Every cell and measure: (cells, measures), cells in C order over the keys, absent cells zero."""
        checked(self)
        wanted = _read(table, aggregation)
        sources.seal(wanted)

        def compute(wanted: Sequence[object]) -> Sealed | SealedGroups:
            with lent(self, wanted) as (connection, places):
                rows = _located(connection, places, table, aggregation)
                with reading():
                    return self._compute(connection, aggregation, rows)

        return read_again(compute, wanted)

    def sql(self, table: Table, aggregation: Aggregation) -> str:
        """The statement that defines the result; compiled code may compute the same integers from its candidates."""
        with lent(self, _read(table, aggregation), rows=False) as (connection, places):
            return reference(aggregation, _located(connection, places, table, aggregation))

    def _compute(
        self, connection: duckdb.DuckDBPyConnection, aggregation: Aggregation, rows: Candidates
    ) -> Sealed | SealedGroups:
        """Where each row is a unit there is nothing to bound, and the SQL is as fast."""
        if self.plain or rows.unit is None or rows.texts:
            return sealed(aggregation, connection.execute(reference(aggregation, rows)).fetchall())
        from discreet.data.engines.bounding import BATCH, SURE, aggregate

        if aggregation.rows_per_unit > SURE:  # the compiled sums of one unit are of 64 bits
            return sealed(aggregation, connection.execute(reference(aggregation, rows)).fetchall())
        batches = connection.sql(rows.sql).to_arrow_reader(BATCH)
        return Sealed(aggregate(batches, aggregation, rows, threads=self.threads))

    def _open(self) -> duckdb.DuckDBPyConnection:
        import duckdb

        settings: dict[str, str | int] = {
            "memory_limit": self.memory,
            "temp_directory": "",  # nothing private is ever written to disk
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "allow_community_extensions": "false",
            "python_enable_replacements": "false",
            "preserve_insertion_order": "false",
            "arrow_large_buffer_size": "true",
        }
        if self.threads is not None:
            settings["threads"] = self.threads
        if self.threads == 1:
            settings["async_threads"] = 0
        connection = duckdb.connect(":memory:", config=settings)  # type: ignore[arg-type]
        connection.execute("SET enable_progress_bar = false")  # it would be printed among the results of a program
        return connection


def _read(table: Table, aggregation: Aggregation) -> list[object]:
    """The sources that a question needs."""
    relation = table.source
    if not isinstance(relation, Relation):
        return [relation]
    return [one.source for one in needs(relation.pruned(aggregation.columns))]


def _named(table: Table, aggregation: Aggregation) -> set[str]:
    """The columns that a question needs, of whichever source."""
    relation = table.source
    if not isinstance(relation, Relation):
        return {*aggregation.columns, *([aggregation.unit] if aggregation.unit else [])}
    return set().union(*needs(relation.pruned(aggregation.columns)).values())


def _located(
    connection: duckdb.DuckDBPyConnection, places: list[str], table: Table, aggregation: Aggregation
) -> Candidates:
    """The SQL of the candidate rows in the attached sources.  Only the schema is read."""
    return reached(lambda: _candidates(connection, places, table, aggregation), "the source cannot be opened")


def _candidates(
    connection: duckdb.DuckDBPyConnection, places: list[str], table: Table, aggregation: Aggregation
) -> Candidates:
    relation = table.source
    if not isinstance(relation, Relation):
        needed = {*aggregation.columns, *([aggregation.unit] if aggregation.unit else [])}
        physical = _columns(connection, relation, places[0], needed)
        return candidates(aggregation, domain=table.domain, source=places[0], physical=physical)
    relation = relation.pruned(aggregation.columns)
    read = needs(relation)
    found = {
        one: (place, _columns(connection, one.source, place, read[one]))
        for one, place in zip(read, places, strict=True)
    }
    made = rows(relation, found.__getitem__, DUCKDB)
    return candidates(aggregation, domain=table.domain, source=made, physical={})


def _columns(connection: duckdb.DuckDBPyConnection, source: object, place: str, needed: set[str]) -> dict[str, str]:
    """The physical types of a source; refused where a column is not there."""
    physical = sources.columns(connection, place)
    for name in sorted(needed):
        if name not in physical:
            raise no_column(name, sources.told(source, physical))
    return physical


@functools.cache
def checked(engine: DuckDB) -> None:
    """The self-test, once in a process for each setting."""
    engine.check()
