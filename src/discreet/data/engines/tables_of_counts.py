"""Many marginal tables of a table on any engine, by few group-bys: no row leaves it, and no universe is listed.

Sets of columns are joined into larger ones as long as these have at most `MOST` combinations of values.  Each
joined set is one aggregation, one pass of the engine; the tables are sums of its cells.

A column may be cut into intervals of about equal width (`cuts`): its positions are then those of the intervals, which
the engine computes.

A row with a NULL where none is declared, in any column of the domain, is dropped from all tables.  Of each unit at
most `rows_per_unit` rows enter each pass, chosen by a keyed hash of that unit's rows alone, in each pass anew.  So
every table moves by at most so many rows when a unit is added or removed, but not every table by the same rows: a
mechanism may rely on the move of each table alone (docs/theory/marginal_release.md, section 1).  Where a unit is
replaced even that is not enough, and mechanisms ask for `same_rows` (section 4 there).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from discreet.data.aggregation import Aggregation, Key, Measure, Sealed
from discreet.data.columns import Column
from discreet.data.domain import Domain
from discreet.data.engines.base import Engine
from discreet.data.engines.choose import engine_for
from discreet.data.table import Table
from discreet.errors import UnsupportedError, require

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from sqlglot import Expr

MOST = 1 << 20  # cells of one pass
PASSES = 256  # beyond which the rows are better read once


class TablesOfCounts:
    """Counts of some sets of columns of a private table.  Private: shown as the number of passes only.

    >>> import pandas as pd
    >>> from discreet.data.columns import Boolean, Integer
    >>> frame = pd.DataFrame({"age": [3, 1, 1], "icu": [True, False, False]})
    >>> rows = Table(frame, domain=Domain({"age": Integer(0, 3), "icu": Boolean()}), unit=None)
    >>> counts = TablesOfCounts(rows, [("age",), ("icu",)], domain=rows.domain)
    >>> counts.marginal(("age",)).tolist(), counts
    ([0, 2, 0, 1], TablesOfCounts(passes=1))
    """

    __slots__ = ("_covers", "_cuts", "_engine", "_found", "_table", "domain")

    def __init__(
        self,
        table: Table,
        sets: Iterable[Sequence[str]],
        *,
        domain: Domain,
        engine: Engine | None = None,
        cuts: Mapping[str, int] | None = None,
    ) -> None:
        self.domain, self._table, self._cuts = domain, table, dict(cuts or {})
        self._engine: Engine = engine or table.engine or engine_for(table.source)
        self._covers = covers([frozenset(names) for names in sets], domain)
        self._found: dict[frozenset[str], npt.NDArray[np.int64]] = {}

    @property
    def passes(self) -> int:
        """How often the engine reads the table."""
        return len(self._covers)

    @property
    def same_rows(self) -> bool:
        """Whether all tables count the same rows: no unit is bounded, or all are counted in one pass."""
        return self._table.unit is None or self.passes == 1

    def ready(self) -> None:
        """Refuse a source or column that is not there; only the schema is read."""
        self._engine.ready(self._table, self._aggregation(self._covers[0]))

    def marginal(self, names: Sequence[str]) -> npt.NDArray[np.int64]:
        """The table of the named columns, in the order of the domain."""
        wanted = [name for name in self.domain if name in names]
        require(list(names) == wanted, "columns in the order of the domain", names=list(names))
        cover = next((one for one in self._covers if one >= set(names)), None)
        require(cover is not None, "columns that lie within one of the declared sets", names=list(names))
        assert cover is not None
        counts = self._counts(cover)
        order = [name for name in self.domain if name in cover]
        return counts.sum(axis=tuple(place for place, name in enumerate(order) if name not in names))

    def marginals(self, sets: Sequence[Sequence[str]]) -> list[npt.NDArray[np.int64]]:
        """Many tables."""
        return [self.marginal(names) for names in sets]

    def _counts(self, cover: frozenset[str]) -> npt.NDArray[np.int64]:
        """All cells of a joined set: one pass, the first time they are needed."""
        if cover not in self._found:
            sealed = self._engine.run(self._table, self._aggregation(cover))
            assert isinstance(sealed, Sealed)
            shape = [declared.size for name, declared in self.domain.items() if name in cover]
            self._found[cover] = sealed.through(lambda cells: cells[:, 0].reshape(shape))  # type: ignore[arg-type, return-value]
        return self._found[cover]

    def _aggregation(self, cover: frozenset[str]) -> Aggregation:
        rows = self._table.rows_per_unit
        needed = [f"{quoted(name)} IS NOT NULL" for name, declared in self.domain.items() if not declared.nullable]
        return Aggregation(
            columns=tuple(name for name in self._table.domain if name in self.domain),
            where=tree(" AND ".join(needed)) if needed else None,
            keys=tuple(self._key(name) for name in self.domain if name in cover),
            measures=(Measure(kind="rows"),),
            unit=self._table.unit,
            rows_per_unit=rows,
            groups_per_unit=rows,
            salt=self._table.salt,
        )

    def _key(self, name: str) -> Key:
        whole = self._table.domain[name]
        return interval(name, whole, self._cuts[name]) if name in self._cuts else position(name, whole)

    def __repr__(self) -> str:
        return f"TablesOfCounts(passes={self.passes})"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("private counts cannot be copied or stored")


def covers(sets: Sequence[frozenset[str]], domain: Domain) -> list[frozenset[str]]:
    """Joined sets that contain all given ones: each set joins the first that stays small enough, largest sets first.

    >>> from discreet.data.columns import Integer
    >>> domain = Domain({name: Integer(0, 999) for name in "abc"})
    >>> [sorted(one) for one in covers([frozenset("a"), frozenset("ab"), frozenset("bc")], domain)]
    [['a', 'b'], ['b', 'c']]
    """

    def cells(names: frozenset[str]) -> int:
        return math.prod(domain[name].size for name in names)

    joined: list[frozenset[str]] = []
    for names in sorted(dict.fromkeys(sets), key=lambda names: (-cells(names), sorted(names))):
        require(cells(names) < 1 << 31, "fewer than 2^31 cells in a table", names=sorted(names))
        fits = (place for place, one in enumerate(joined) if cells(one | names) <= max(MOST, cells(one)))
        place = next(fits, None)
        if place is None:
            joined.append(names)
        else:
            joined[place] |= names
        if len(joined) > PASSES:
            raise UnsupportedError(f"these tables need more than {PASSES} passes of the engine; read the rows instead")
    return joined


def position(name: str, declared: Column) -> Key:
    """The position of a value; NULL of a nullable column is the last."""
    low, high = declared.codes
    shifted = f"{quoted(name)} - ({low})"
    if declared.nullable:
        shifted = f"CASE WHEN {quoted(name)} IS NULL THEN {high - low + 1} ELSE {shifted} END"
    return Key(code=tree(shifted), size=declared.size)


def interval(name: str, declared: Column, count: int) -> Key:
    """The interval of a value, of `count` that begin at the positions place * values // count; NULL is the last.

    The last place whose beginning is at most p is ((p + 1) * count - 1) // values.

    >>> from discreet.data.columns import Integer
    >>> interval("age", Integer(0, 9), 4).code.sql(dialect="duckdb")
    '(("age" - (0) + 1) * 4 - 1) // 10'
    """
    low, high = declared.codes
    values = high - low + 1
    place = f"(({quoted(name)} - ({low}) + 1) * {count} - 1) // {values}"
    if declared.nullable:
        place = f"CASE WHEN {quoted(name)} IS NULL THEN {count} ELSE {place} END"
    return Key(code=tree(place), size=count + declared.nullable)


def quoted(name: str) -> str:
    """A column in an expression over codes."""
    return '"' + name.replace('"', '""') + '"'


def tree(code: str) -> Expr:
    """An expression over codes as a tree."""
    import sqlglot

    return sqlglot.parse_one(code, dialect="duckdb")
