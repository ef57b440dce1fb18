"""How the rows of a table reach a release mechanism: counted in the engine, or encoded one by one.

    cells   one group for every combination of values: a histogram, where they can be listed
    rows    the rows as positions, in memory, where there are too many combinations (DuckDB only)
    tables  where there are, on other engines: the marginal tables of the workload, by few group-bys
    rounds  on other engines, for whoever asks so: integer sums over rows, one aggregation a round

In all at most `rows_per_unit` rows of a unit are kept, by a keyed hash of that unit's rows alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from discreet.data.aggregation import Aggregation, Key, Measure, Sealed
from discreet.data.columns import Column, Identifier, Text
from discreet.data.domain import Domain, missing
from discreet.data.engines import positions
from discreet.data.engines.base import Engine
from discreet.data.engines.duckdb import DuckDB
from discreet.data.engines.integer_sums import IntegerSums, SumsOfRows, SumsOfTable
from discreet.data.engines.tables_of_counts import TablesOfCounts
from discreet.data.histogram import Histogram
from discreet.data.records import Records, countable
from discreet.data.table import Table
from discreet.errors import DomainError, ParameterError, UnsupportedError
from discreet.queries.expression import tree
from discreet.queries.marginals import Marginals
from discreet.queries.workload import Workload

LISTED = 1 << 22  # cells that are counted in the engine
Released = TypeVar("Released")
Read = Histogram | Records | TablesOfCounts | IntegerSums


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """Some columns of a table, on an engine.  Nothing is read before `through`.

    `whole=True` asks for a histogram whatever its size; `sets` are those of a workload of marginals, whose tables have
    the values of `coarse` where columns are cut into intervals (`cuts`).
    """

    table: Table
    domain: Domain
    engine: Engine
    whole: bool = False
    sets: tuple[tuple[str, ...], ...] = ()
    coarse: Domain | None = None
    cuts: Mapping[str, int] | None = None
    rounds: bool = False  # whether integer sums are enough

    def __post_init__(self) -> None:
        for name, declared in self.domain.items():
            if name not in self.table.domain:
                raise DomainError(missing(name, list(self.table.domain), what="column"))
            if name == self.table.unit:
                raise DomainError(f"the unit column {name!r} is in no workload: leave it out of the domain")
            if self.table.domain[name] != declared:
                raise DomainError(f"the table declares column {name!r} otherwise than the workload")
        if self.by_tables:
            self._tables()  # too many of them are refused
        elif not self.counted and not self.by_rounds and not self._reads:
            raise UnsupportedError(
                f"a universe of more than {LISTED:,} cells is read row by row, which this engine does not do;"
                " ask about fewer columns (Domain.project)"
            )

    @property
    def counted(self) -> bool:
        """Whether the engine counts every cell."""
        return self.whole or self.domain.size <= LISTED

    @property
    def by_tables(self) -> bool:
        """Whether the engine counts the tables of the workload."""
        return bool(self.sets) and not self.counted and not self._reads

    @property
    def by_rounds(self) -> bool:
        """Whether the engine adds up integers, as often as it is asked."""
        return self.rounds and not self.by_tables and not self.counted and not self._reads

    @property
    def _reads(self) -> bool:
        """Whether rows may be read one by one."""
        return isinstance(self.engine, DuckDB) and self.engine.reads_rows

    @property
    def _duckdb(self) -> DuckDB:
        """The engine that reads row by row."""
        assert isinstance(self.engine, DuckDB)
        return self.engine

    def _tables(self) -> TablesOfCounts:
        return TablesOfCounts(
            self.table, self.sets, domain=self.coarse or self.domain, engine=self.engine, cuts=self.cuts
        )

    def ready(self) -> None:
        """Refuse a source or column that is not there, before anything is paid."""
        if self.by_tables:
            self._tables().ready()
        elif self.by_rounds:
            SumsOfTable(self.table, self.domain, self.engine).ready()
        elif self.counted:
            self.engine.ready(self.table, self.aggregation())
        else:
            positions.ready(self.table.source, self.domain, unit=self.table.unit, engine=self._duckdb)

    def aggregation(self) -> Aggregation:
        """One group a cell; which groups the rows of a unit lie in does not matter, only how many rows."""
        rows = self.table.rows_per_unit
        return Aggregation(
            columns=tuple(name for name in self.table.domain if name in self.domain),
            where=None,
            keys=tuple(_key(name, declared) for name, declared in self.domain.items()),
            measures=(Measure(kind="rows"),),
            unit=self.table.unit,
            rows_per_unit=rows,
            groups_per_unit=rows,
            salt=self.table.salt,
        )

    def empty(self) -> Records | IntegerSums:
        """No rows, in the form in which they would be read; naive Bayes takes encoded ones for its tables."""
        import numpy as np

        none = Records(self.domain, [np.zeros(0, dtype=np.int64) for _ in self.domain])
        return SumsOfRows(none) if self.by_rounds else none

    def through(self, release: Callable[[Read], Released]) -> Released:
        """Read, and hand what was read to a release mechanism: the only way out."""
        if self.by_rounds:
            return release(SumsOfTable(self.table, self.domain, self.engine))
        if self.by_tables:
            return release(self._tables())
        if self.counted:
            sealed = self.engine.run(self.table, self.aggregation())
            assert isinstance(sealed, Sealed)
            return sealed.through(lambda cells: release(Histogram(self.domain, cells[:, 0])))
        table = self.table
        bound = {"unit": table.unit, "rows_per_unit": table.rows_per_unit, "salt": table.salt, "engine": self._duckdb}
        return release(Records(self.domain, positions.positions(table.source, self.domain, **bound)))


def rows_of(data: Read) -> Records:
    """Rows, where an engine counted the cells."""
    import numpy as np

    if isinstance(data, Records):
        return data
    assert isinstance(data, Histogram)
    cells = np.asarray(data.counts, dtype=np.int64)
    flat = np.repeat(np.arange(cells.size), cells.reshape(-1))
    return Records(data.domain, list(np.unravel_index(flat, cells.shape)))


def sets_of(workload: Workload) -> tuple[tuple[str, ...], ...]:
    """The sets of columns of a workload of marginals; none for others."""
    return workload.sets if isinstance(workload, Marginals) else ()


def columns_of(table: Table, columns: Sequence[str] | None = None) -> Domain:
    """The columns that can be counted, or the named ones among them; the unit is never one.

    >>> from discreet.data.columns import Boolean, Identifier
    >>> visits = Table("visits.csv", domain=Domain({"patient": Identifier(), "icu": Boolean()}), unit="patient")
    >>> list(columns_of(visits))
    ['icu']
    """
    if isinstance(columns, str):
        raise ParameterError(f"need a list of column names, got {columns!r}")
    if columns is not None:
        return countable(table.domain.project(list(columns)))
    listed = [
        name
        for name, declared in table.domain.items()
        if name != table.unit and not isinstance(declared, Identifier | Text)
    ]
    return countable(table.domain.project(listed))


def _key(name: str, declared: Column) -> Key:
    """The position of a value; NULL is the last."""
    low, high = declared.codes
    code = '"' + name.replace('"', '""') + '"'
    shifted = f"{code} - ({low})"
    if declared.nullable:
        shifted = f"CASE WHEN {code} IS NULL THEN {high - low + 1} ELSE {shifted} END"
    return Key(code=tree(shifted), size=declared.size)
