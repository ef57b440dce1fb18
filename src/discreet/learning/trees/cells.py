"""Columns as at most 256 cells each, by the declaration alone: what trees split and tables count.

A column with an order is cut into cells of equal width over its declared range, a category has a cell a value (many
categories are put together in the order of their declaration), and NULL of a nullable column has the last cell.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.data.columns import Boolean, Categorical, Column, Value
from discreet.data.domain import Domain
from discreet.data.records import Records
from discreet.errors import require

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

MOST = 256  # cells of a column: one byte a row


@dataclass(frozen=True, slots=True)
class Cells:
    """The cells of every column of a domain, at most `most` values apart from NULL in each.

    >>> import numpy as np
    >>> from discreet.data.columns import Integer
    >>> domain = Domain({"age": Integer(0, 99), "ward": Categorical(["a", "b", "c"])})
    >>> cells = Cells(domain, most=10)
    >>> cells.sizes, cells.ordered
    ((10, 3), (True, False))
    >>> cells.of(Records(domain, [np.array([9, 10, 99]), np.array([0, 1, 2])])).tolist()
    [[0, 1, 9], [0, 1, 2]]
    """

    domain: Domain
    most: int

    def __post_init__(self) -> None:
        require(2 <= self.most < MOST, f"2 <= most < {MOST}", most=self.most)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many cells each column has."""
        return tuple(_cells(column, self.most) + column.nullable for column in self.domain.values())

    @property
    def ordered(self) -> tuple[bool, ...]:
        """Whether the cells of a column lie in an order."""
        return tuple(not isinstance(column, Boolean | Categorical) for column in self.domain.values())

    def starts(self, name: str) -> list[Value]:
        """The first value of every cell of a column; None for NULL.

        >>> from discreet.data.columns import Integer
        >>> Cells(Domain({"age": Integer(0, 99, nullable=True)}), most=4).starts("age")
        [0, 25, 50, 75, None]
        """
        column = self.domain[name]
        low, width = column.codes[0], _width(column, self.most)
        made = [column.decode(low + cell * width) for cell in range(_cells(column, self.most))]
        return [*made, None] if column.nullable else made

    def of(self, rows: Records) -> npt.NDArray[np.uint8]:
        """The cells of all rows, one line a column."""
        import numpy as np

        made = np.empty((len(self.domain), len(rows)), dtype=np.uint8)
        for place, (name, column) in enumerate(self.domain.items()):
            made[place] = self.places(column, rows.column(name))
        return made  # (columns, rows)

    def places(self, column: Column, positions: npt.NDArray[np.integer]) -> npt.NDArray[np.uint8]:
        """The cells of positions of one column."""
        import numpy as np

        values, cells = _values(column), _cells(column, self.most)
        width = np.array(_width(column, self.most), dtype=positions.dtype)
        return np.where(positions >= values, cells, positions // width).astype(np.uint8)


def _values(column: Column) -> int:
    return column.size - column.nullable


def _width(column: Column, most: int) -> int:
    """How many values share a cell."""
    return -(-_values(column) // most)


def _cells(column: Column, most: int) -> int:
    return -(-_values(column) // _width(column, most))
