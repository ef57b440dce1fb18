"""DuckDB, the embedded engine: one source, only generated SQL, capped memory, nothing else in reach.

Each run opens a fresh connection, attaches the one source, takes away access to every other file, to
extensions and to settings, and computes the aggregation.  After the first private row may have been read,
every failure becomes one constant message; its kind goes to the operator's log under a reference.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from discreet.data.aggregation import Aggregation, Sealed, SealedGroups
from discreet.data.engines import sources
from discreet.data.engines.dialect import DUCKDB
from discreet.data.engines.reference import Candidates, candidates, reference
from discreet.data.engines.relations import needs, rows
from discreet.data.engines.results import constant_faults, no_column, reached, sealed
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
        with self._open() as connection:
            self._attach(connection, table, aggregation)

    def run(self, table: Table, aggregation: Aggregation) -> Sealed | SealedGroups:
        """Every cell and measure: (cells, measures), cells in C order over the keys, absent cells zero."""
        checked(self)
        connection = self._open()
        try:
            rows = self._attach(connection, table, aggregation)
            return constant_faults(lambda: self._compute(connection, aggregation, rows))
        finally:
            connection.close()

    def sql(self, table: Table, aggregation: Aggregation) -> str:
        """The statement that defines the result; compiled code may compute the same integers from its candidates."""
        with self._open() as connection:
            return reference(aggregation, self._attach(connection, table, aggregation))

    def _compute(
        self, connection: duckdb.DuckDBPyConnection, aggregation: Aggregation, rows: Candidates
    ) -> Sealed | SealedGroups:
        """Where each row is a unit there is nothing to bound, and the SQL is as fast."""
        if self.plain or rows.unit is None or rows.texts:
            return sealed(aggregation, connection.execute(reference(aggregation, rows)).fetchall())
        from discreet.data.engines.bounding import BATCH, aggregate

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
        return duckdb.connect(":memory:", config=settings)  # type: ignore[arg-type]

    def _attach(self, connection: duckdb.DuckDBPyConnection, table: Table, aggregation: Aggregation) -> Candidates:
        """Attach the source and write the SQL of the candidate rows.  Only the schema is read."""
        return reached(lambda: _attached(connection, table, aggregation), "the source cannot be opened")


def _attached(connection: duckdb.DuckDBPyConnection, table: Table, aggregation: Aggregation) -> Candidates:
    relation = table.source
    if not isinstance(relation, Relation):
        (place,) = sources.attach(connection, [relation])
        needed = {*aggregation.columns, *([aggregation.unit] if aggregation.unit else [])}
        physical = _columns(connection, place, needed)
        return candidates(aggregation, domain=table.domain, source=place, physical=physical)
    relation = relation.pruned(aggregation.columns)
    read = needs(relation)
    places = dict(zip(read, sources.attach(connection, [one.source for one in read]), strict=True))
    found = {one: (place, _columns(connection, place, read[one])) for one, place in places.items()}
    made = rows(relation, found.__getitem__, DUCKDB)
    return candidates(aggregation, domain=table.domain, source=made, physical={})


def _columns(connection: duckdb.DuckDBPyConnection, place: str, needed: set[str]) -> dict[str, str]:
    """The physical types of a source; refused where a column is not there."""
    physical = sources.columns(connection, place)
    for name in sorted(needed):
        if name not in physical:
            raise no_column(name, physical)
    return physical


@functools.cache
def checked(engine: DuckDB) -> None:
    """The self-test, once in a process for each setting."""
    engine.check()
