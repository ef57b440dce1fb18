"""Sums over rows of integer functions of a row: of rows in memory, or of a table in its engine, the same integers.

    SumsOfRows    encoded rows in memory
    SumsOfTable   a table on any engine: a round of sums is one aggregation, and no row leaves the engine

A round has layers, each of named integers (`discreet.data.whole`) that are computed once a row from the positions of
the columns and from the layers before, and the integers that are added up.  All rounds are of the same rows: a row with
a NULL where none is declared is dropped, and of each unit at most `rows_per_unit` rows are kept, chosen by their codes
alone (`chosen_rows.py`).  So a row that is added or removed adds or removes its integers in every round, and no others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from discreet.data.aggregation import Aggregation, IntegerSQL, Measure, Sealed
from discreet.data.domain import Domain
from discreet.data.engines.base import Engine
from discreet.data.engines.dialect import unused_prefix
from discreet.data.engines.tables_of_counts import position
from discreet.data.records import Records
from discreet.data.table import Table
from discreet.data.whole import Whole, constant, named
from discreet.errors import require

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]

AT_ONCE = 800  # sums of one statement: PostgreSQL knows no more than 1664 columns
STRETCH = 1 << 14  # rows that are worked on at a time
WIDEST = 1 << 31  # a term of a sum; 64 bits hold the sum of 2^32 rows, and what is beyond is their end (`fitted`)

Layers = Sequence[Mapping[str, Whole]]


class IntegerSums:
    """Base: some columns of private rows, of which sums are asked.  Private: shown as the number of columns only."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self.prefix = unused_prefix(domain)

    @property
    def places(self) -> dict[str, Whole]:
        """The position of each column's value, NULL of a nullable column the last."""
        return {
            name: named(f"{self.prefix}p{number}", 0, declared.size - 1)
            for number, (name, declared) in enumerate(self.domain.items())
        }

    def sums(self, layers: Layers, asked: Sequence[Whole]) -> Ints:
        """The sum of each over all rows; a term lies within 31 bits."""
        for one in asked:
            fits = max(-one.low, one.high) < WIDEST
            require(fits, "terms within 31 bits", low=one.low, high=one.high)
        return self._sums(layers, asked)

    def count(self) -> int:
        """The number of rows."""
        return int(self.sums([], [constant(1)])[0])

    def _sums(self, layers: Layers, asked: Sequence[Whole]) -> Ints:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}(columns={len(self.domain)})"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("private rows cannot be copied or stored")


class SumsOfRows(IntegerSums):
    """Of encoded rows.

    >>> import numpy as np
    >>> from discreet.data.columns import Integer
    >>> rows = SumsOfRows(Records(Domain({"age": Integer(0, 9)}), [np.array([3, 1])]))
    >>> rows.sums([], [rows.places["age"] * 2]).tolist(), rows
    ([8], SumsOfRows(columns=1))
    """

    def __init__(self, rows: Records) -> None:
        super().__init__(rows.domain)
        self._rows = rows

    def _sums(self, layers: Layers, asked: Sequence[Whole]) -> Ints:
        import numpy as np

        columns = [self._rows.column(name).astype(np.int64) for name in self.domain]
        found = [0] * len(asked)
        for start in range(0, len(self._rows), STRETCH):
            known = {f"{self.prefix}p{n}": column[start : start + STRETCH] for n, column in enumerate(columns)}
            size = min(STRETCH, len(self._rows) - start)
            for layer in layers:
                known |= {name: np.broadcast_to(one.on(known), (size,)) for name, one in layer.items()}
            found = [
                total + int(np.broadcast_to(one.on(known), (size,)).sum())
                for total, one in zip(found, asked, strict=True)
            ]
        return fitted(found)


class SumsOfTable(IntegerSums):
    """Of a table, in its engine.

    >>> import pandas as pd
    >>> from discreet.data.columns import Integer
    >>> from discreet.data.engines.duckdb import DuckDB
    >>> ages = Table(pd.DataFrame({"age": [3, 1]}), domain=Domain({"age": Integer(0, 9)}), unit=None)
    >>> rows = SumsOfTable(ages, ages.domain, DuckDB())
    >>> rows.sums([], [rows.places["age"] * 2]).tolist(), rows
    ([8], SumsOfTable(columns=1))
    """

    def __init__(self, table: Table, domain: Domain, engine: Engine) -> None:
        super().__init__(domain)
        self._table, self._engine = table, engine

    def ready(self) -> None:
        """Refuse a source or column that is not there; only the schema is read."""
        self._engine.ready(self._table, self.aggregation([], [place.within(0, 1) for place in self.places.values()]))

    def aggregation(self, layers: Layers, asked: Sequence[Whole]) -> Aggregation:
        """What the engine is asked in a round."""
        table = self._table
        first = {
            f"{self.prefix}p{number}": position(name, declared).code
            for number, (name, declared) in enumerate(self.domain.items())
        }
        return Aggregation(
            columns=tuple(self.domain),
            where=None,
            keys=(),
            measures=tuple(Measure(kind="sum", value=IntegerSQL(one.sql), low=one.low, high=one.high) for one in asked),
            unit=table.unit,
            rows_per_unit=table.rows_per_unit,
            groups_per_unit=1,
            salt=table.salt,
            layers=(first, *({name: IntegerSQL(one.sql) for name, one in layer.items()} for layer in layers)),
            rows_first=True,
        )

    def _sums(self, layers: Layers, asked: Sequence[Whole]) -> Ints:
        """One aggregation; of very many sums several, which are of the same rows."""
        import numpy as np

        parts = []
        for start in range(0, len(asked), AT_ONCE):
            sealed = self._engine.run(self._table, self.aggregation(layers, asked[start : start + AT_ONCE]))
            assert isinstance(sealed, Sealed)
            parts.append(sealed.through(lambda cells: fitted(cells[0])))
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def fitted(sums: Iterable[int]) -> Ints:
    """Sums in 64 bits; one beyond is the end of them, as where noise is added: no two sums are moved apart by that.

    >>> fitted([1 << 70, -(1 << 70), 3]).tolist() == [(1 << 63) - 1, -(1 << 63), 3]
    True
    """
    import numpy as np

    end = 1 << 63
    return np.array([max(-end, min(int(total), end - 1)) for total in sums], dtype=np.int64)
