"""One pass over a table: what the engine computes, and nothing else leaves it.

An `Aggregation` is made from public facts by `discreet.queries.compile` and run by an engine.
Its expressions are trees over the integer codes of the declared columns (`discreet.data.columns`; the
engine makes the codes from its raw columns) that give integers or NULL on every row and
cannot raise.  The result is one integer per cell and measure, in a `Sealed` array.

Bounding.  Rows that pass `where` and whose keys are all non-NULL are candidates.  Of each unit
the groups with the smallest keyed hashes are kept, at most `groups_per_unit`, and of its rows in
them those with the smallest keyed hashes, at most `rows_per_unit`.  What is kept of a unit is a
function of that unit's rows alone, so adding or removing a unit changes nothing else.  With
`rows_first` the rows are chosen by the hash of all codes of `columns` instead, whatever is added up of them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeVar

from discreet.data.columns import MOST
from discreet.errors import require

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from sqlglot import Expr

    IntArray = npt.NDArray[np.int64] | npt.NDArray[np.object_]

Released = TypeVar("Released")


@dataclass(frozen=True, slots=True)
class IntegerSQL:
    """An expression of `discreet.data.whole`: BIGINT constants, "names", + - * //, comparisons, CASE, GREATEST, LEAST.

    >>> IntegerSQL('("_p0" // CAST(2 AS BIGINT))').names
    {'_p0'}
    """

    sql: str

    @property
    def names(self) -> set[str]:
        """The names in it, none of which is a column's."""
        return set(re.findall('"([^"]*)"', self.sql))


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Key:
    """A grouping: each row's group is an integer 0 .. size - 1, or NULL, which drops the row."""

    code: Expr
    size: int


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Measure:
    """What is added up in each group.

    rows: the kept rows whose value is not NULL (all of them where value is None);
    units: the units with a kept row;  sum: the values of the kept rows, NULL as 0, all between low and high or 0.
    """

    kind: Literal["rows", "units", "sum"]
    value: Expr | IntegerSQL | None = None
    low: int = 0
    high: int = 0

    def __post_init__(self) -> None:
        require(self.low <= self.high, "low <= high", low=self.low, high=self.high)
        require(self.low > -MOST and self.high < MOST, "bounds within 62 bits", low=self.low, high=self.high)
        require(self.kind != "sum" or self.value is not None, "something to sum", value=self.value)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Aggregation:
    """Filter, bound each unit's contribution, group and add up."""

    columns: tuple[str, ...]  # all that is read
    where: Expr | None
    keys: tuple[Key, ...]
    measures: tuple[Measure, ...]
    unit: str | None  # None: each row is a unit of its own
    rows_per_unit: int
    groups_per_unit: int
    salt: int  # public; it decides which rows and groups of a unit are kept
    texts: tuple[Expr, ...] = ()  # keys that nobody declared: a group is a combination of them and of the others
    layers: tuple[
        Mapping[str, Expr | IntegerSQL], ...
    ] = ()  # integers that are computed once a row, each layer of those before it
    rows_first: bool = False  # a unit's rows are chosen by all codes of `columns`, before anything is computed of them

    def __post_init__(self) -> None:
        require(self.rows_per_unit >= 1, "rows_per_unit >= 1", rows_per_unit=self.rows_per_unit)
        require(self.groups_per_unit >= 1, "groups_per_unit >= 1", groups_per_unit=self.groups_per_unit)
        require(self.cells < 1 << 31, "fewer than 2^31 groups", groups=self.cells)
        require(self.rows_first or not self.layers, "layers of rows that are chosen first", layers=len(self.layers))
        alone = self.cells == 1 and not self.texts and self.where is None
        require(alone or not self.rows_first, "rows chosen first of a single group, and all of it", groups=self.cells)

    @property
    def cells(self) -> int:
        """The number of groups."""
        return math.prod(key.size for key in self.keys)


class SealedGroups:
    """True integers of groups whose keys are private too: neither leaves except through a mechanism.

    >>> import numpy as np
    >>> SealedGroups([("Smith", 0)], np.array([[7]]))
    SealedGroups()
    """

    __slots__ = ("_cells", "_groups")

    def __init__(self, groups: list[tuple[str | int | None, ...]], cells: IntArray) -> None:
        self._groups, self._cells = groups, cells

    def through(self, release: Callable[[list[tuple[str | int | None, ...]], IntArray], Released]) -> Released:
        """Hand groups (their texts and their number among the declared keys) and integers to a release mechanism."""
        return release(self._groups, self._cells)

    def __repr__(self) -> str:
        return "SealedGroups()"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("sealed values cannot be copied or stored")


def dtype(aggregation: Aggregation) -> type[np.int64] | type[object]:
    """int64 for what counts, of which every engine holds fewer than 2^63; Python's integers for what adds up more.

    This is decided from the declaration: no number of rows makes a sum too large for where it is put.
    """
    import numpy as np

    widest = max((max(-m.low, m.high) for m in aggregation.measures if m.kind == "sum"), default=0)
    return np.int64 if widest <= 1 else object


class Sealed:
    """True integers on their way to a mechanism.  They are never shown, compared or stored.

    >>> import numpy as np
    >>> Sealed(np.array([7]))
    Sealed(shape=(1,))
    """

    __slots__ = ("_cells",)

    def __init__(self, cells: IntArray) -> None:
        self._cells = cells

    @property
    def shape(self) -> tuple[int, ...]:
        """Public: the number of cells and measures."""
        return self._cells.shape

    def through(self, release: Callable[[IntArray], Released]) -> Released:
        """Hand the integers to a release mechanism and return what it releases."""
        return release(self._cells)

    def __repr__(self) -> str:
        return f"Sealed(shape={self.shape})"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("sealed values cannot be copied or stored")
