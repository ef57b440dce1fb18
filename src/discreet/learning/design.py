"""Rows as vectors of numbers between -1 and 1, by the declaration alone.

    number, day, moment   (2 value - low - high) / (high - low); NULL of a nullable column is 0
    category              one entry a value, 1 where the row has it, else 0; a truth value is one entry, -1 or 1

A nullable number has one entry more, 1 where it is NULL.  With `bins` an ordered column of more values is cut into so
many intervals of equal width over its declared range, and these count as categories.  No row is looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.data.columns import Boolean, Categorical, Column
from discreet.data.domain import Domain
from discreet.data.records import Records
from discreet.errors import require

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


def ordered(column: Column) -> bool:
    """Whether the values of a column are numbers, days or moments."""
    return not isinstance(column, Boolean | Categorical)


@dataclass(frozen=True, slots=True)
class Design:
    """The entries of a row's vector, column by column.

    >>> import numpy as np
    >>> from discreet.data.columns import Integer
    >>> domain = Domain({"age": Integer(0, 10), "ward": Categorical(["a", "b", "c"]), "icu": Boolean()})
    >>> design = Design(domain)
    >>> design.floats(Records(domain, [np.array([10, 5]), np.array([1, 2]), np.array([0, 1])])).tolist()
    [[1.0, 0.0, 1.0, 0.0, -1.0], [0.0, 0.0, 0.0, 1.0, 1.0]]
    >>> design.names, design.square
    (('age', 'ward=a', 'ward=b', 'ward=c', 'icu'), 3)
    """

    domain: Domain
    bins: int = 0

    def __post_init__(self) -> None:
        whole = isinstance(self.bins, int) and not isinstance(self.bins, bool)
        require(whole and (self.bins == 0 or self.bins >= 2), "bins >= 2, or 0 for none", bins=self.bins)

    def kind(self, column: Column) -> str:
        """How a column becomes entries: number, two, each or binned."""
        values = column.size - column.nullable
        if ordered(column):
            return "binned" if self.bins and values > 2 else "number"
        return "two" if values == 2 and not column.nullable else "each"

    def _cells(self, column: Column) -> int:
        """How many intervals or values a column has, NULL apart."""
        values = column.size - column.nullable
        return min(self.bins, values) if self.kind(column) == "binned" else values

    def starts(self, column: Column) -> list[int]:
        """The first position of each interval or value that has an entry of its own."""
        values, cells = column.size - column.nullable, self._cells(column)
        return [0, *_edges(values, cells)] if self.kind(column) == "binned" else list(range(cells))

    @property
    def names(self) -> tuple[str, ...]:
        """What each entry stands for."""
        made: list[str] = []
        for name, column in self.domain.items():
            kind = self.kind(column)
            if kind in ("number", "two"):
                made.append(name)
            elif kind == "each":
                made += [f"{name}={column.decode(column.codes[0] + place)}" for place in range(self._cells(column))]
            else:
                cells, low, values = self._cells(column), column.codes[0], column.size - column.nullable
                made += [f"{name}>={column.decode(low + edge)}" for edge in (0, *_edges(values, cells))]
            if column.nullable:
                made.append(f"{name} is NULL")
        return tuple(made)

    @property
    def width(self) -> int:
        """How many entries a vector has."""
        return len(self.names)

    @property
    def square(self) -> int:
        """The largest squared length of a vector: one for each column."""
        return len(self.domain)

    def floats(self, rows: Records) -> npt.NDArray[np.float64]:
        """One vector a row."""
        import numpy as np

        made = np.zeros((len(rows), self.width))
        place = 0
        for name, column in self.domain.items():
            positions = rows.column(name).astype(np.int64)
            values, kind, cells = column.size - column.nullable, self.kind(column), self._cells(column)
            missing = positions >= values
            if kind in ("number", "two"):
                spread = max(values - 1, 1)
                made[:, place] = np.where(
                    missing, 0.0, (positions - (spread - positions)) / spread
                )  # 2 * positions may be 2^63
                place += 1
            else:
                inside = ~missing
                cell = (
                    np.searchsorted(_edges(values, cells), positions, side="right") if kind == "binned" else positions
                )
                made[np.nonzero(inside)[0], place + cell[inside]] = 1.0
                place += cells
            if column.nullable:
                made[:, place] = missing
                place += 1
        return made

    def integers(self, rows: Records, *, scale: int) -> npt.NDArray[np.int64]:
        """The vectors times `scale`, rounded toward 0: their squared length is at most `scale`^2 `square`."""
        import numpy as np

        return np.trunc(self.floats(rows) * scale).astype(np.int64)


def _edges(values: int, cells: int) -> list[int]:
    """The first position of every interval but the first: the least p with floor(p cells / values) = cell, exactly."""
    return [-(-cell * values // cells) for cell in range(1, cells)]
