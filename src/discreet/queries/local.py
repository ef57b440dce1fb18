"""Single queries that look at few columns: their answers and updates touch few axes, and no other query of a workload.

    Box     the count of the rows in a box: each named column between two positions.  A cell of a marginal, a
            conjunction, a threshold, a range.  `view` is the part of a dense array that it counts, without a copy.
    Junta   a sum of a function of the named columns, given as a table.  A parity, a disjunction, a predicate.

Theorem.  A query with values q(x) moves by at most max |q| when a row is added or removed and by max q - min q
when one is replaced; both are attained.  Proof: docs/theory/workloads.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.data.arrays import Array, floats, like, namespace, total, wide
from discreet.data.columns import Column
from discreet.data.domain import Domain
from discreet.errors import require
from discreet.privacy.exact_sums import whole
from discreet.privacy.neighbours import Neighbours
from discreet.privacy.number import tidy
from discreet.queries.workload import Workload, small_entries, swaps

if TYPE_CHECKING:
    import numpy.typing as npt

    from discreet.queries.workload import Countable


class Local(Workload):
    """One query, a function of the columns `names`, in the order of the domain."""

    __slots__ = ()
    names: tuple[str, ...]

    def __len__(self) -> int:
        return 1

    @property
    def table(self) -> npt.NDArray[Any]:
        """The values, shaped by the sizes of the columns."""
        raise NotImplementedError

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        """The least and the greatest value."""
        raise NotImplementedError

    def blocks(self, cells: Array) -> Array:
        """The cells with all axes that the query does not look at merged: odd axes are its columns.

        A view of the array, shaped (others, columns, others, columns, ..., others).
        """
        return cells.reshape(self._runs()[0])

    def from_marginals(self, data: Countable) -> npt.NDArray[Any]:
        """From one marginal."""
        return (data.marginal(self.names).reshape(-1) @ self.table.reshape(-1)).reshape(1)

    def squared(self, neighbours: type[Neighbours]) -> Fraction:
        """The square of the other."""
        return self.absolute(neighbours) ** 2

    def absolute(self, neighbours: type[Neighbours]) -> Fraction:
        """The largest value, or the largest difference of two."""
        low, high = self.ends
        return high - low if swaps(neighbours) else max(abs(low), abs(high))

    def row(self, index: int) -> Workload:
        """Itself."""
        return self

    def _runs(self) -> tuple[list[int], list[list[int]]]:
        """The shape of `blocks`, and the columns (as places in `names`) merged into each odd axis."""
        shape, members = [1], []
        places = {name: place for place, name in enumerate(self.names)}
        for name, declared in self.domain.items():
            inside = name in places
            if inside != (len(shape) % 2 == 0):
                shape.append(1)
                if inside:
                    members.append([])
            shape[-1] *= declared.size
            if inside:
                members[-1].append(places[name])
        return shape if len(shape) % 2 else [*shape, 1], members


class Box(Local):
    """`value` times the number of rows whose position in every named column lies between two bounds, inclusive.

    >>> import numpy as np
    >>> from discreet.data.columns import Boolean, Integer
    >>> domain = Domain({"age": Integer(0, 3), "icu": Boolean()})
    >>> box = Box(domain, ("age",), (1,), (2,))
    >>> cells = np.arange(8)
    >>> box.apply(cells).tolist(), box.view(cells).tolist()
    ([14], [[[2, 3], [4, 5]]])
    """

    __slots__ = ("domain", "high", "low", "names", "value")

    def __init__(
        self, domain: Domain, names: Sequence[str], low: Sequence[int], high: Sequence[int], value: Fraction | int = 1
    ) -> None:
        order = list(domain)
        places = [order.index(name) for name in names]
        require(places == sorted(set(places)), "distinct columns in the order of the domain", names=list(names))
        require(len(names) == len(low) == len(high), "one pair of bounds per column", names=list(names))
        for name, least, most in zip(names, low, high, strict=True):
            require(
                0 <= least <= most < domain[name].size, "0 <= low <= high < size", column=name, low=least, high=most
            )
        self.domain, self.names = domain, tuple(names)
        self.low, self.high, self.value = tuple(low), tuple(high), Fraction(value)
        small_entries(self)

    @property
    def entry(self) -> Fraction:
        """The value."""
        return abs(self.value)

    @property
    def integral(self) -> bool:
        """Where the value is."""
        return self.value.denominator == 1

    @property
    def table(self) -> npt.NDArray[Any]:
        """`value` inside, zero outside."""
        import numpy as np

        made = np.zeros([self.domain[name].size for name in self.names], dtype=np.int64 if self.integral else float)
        made[tuple(slice(low, high + 1) for low, high in zip(self.low, self.high, strict=True))] = plain(self.value)
        return made

    @property
    def whole(self) -> bool:
        """Whether every row is inside."""
        bounds = zip(self.names, self.low, self.high, strict=True)
        return all(low == 0 and high == self.domain[name].size - 1 for name, low, high in bounds)

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        """Zero and the value, or the value alone."""
        return (self.value, self.value) if self.whole else (min(Fraction(0), self.value), max(Fraction(0), self.value))

    def view(self, cells: Array) -> Array:
        """The cells inside, without a copy: writing to it writes to them.  Columns not named are merged."""
        shape: list[int] = [1]
        index: list[slice] = [slice(None)]
        bounds = {name: slice(a, b + 1) for name, a, b in zip(self.names, self.low, self.high, strict=True)}
        for name, declared in self.domain.items():
            if name in bounds:
                shape += [declared.size, 1]
                index += [bounds[name], slice(None)]
            else:
                shape[-1] *= declared.size
        kept = [place for place, size in enumerate(shape) if size > 1 or place == 0]
        return cells.reshape([shape[place] for place in kept])[tuple(index[place] for place in kept)]

    def apply(self, cells: Array) -> Array:
        """The sum over the box."""
        return wide(total(self.view(cells)).reshape(1)) * plain(self.value)

    def transpose(self, answers: Array) -> Array:
        """The answer in every cell of the box."""
        library = namespace(answers)
        if library.__name__.startswith("jax"):
            return _spread(self, answers)
        amount = answers * plain(self.value)
        made = library.zeros_like(library.broadcast_to(amount, (self.domain.size,)))
        self.view(made)[...] = amount[0]
        return made

    def tilt(self, cells: Array, rate: float) -> None:
        """Multiply by exp(rate * query) in place: only the cells of the box change."""
        view = self.view(cells)
        view *= math.exp(rate * float(self.value))

    def __str__(self) -> str:
        conditions = [
            _condition(self.domain[name], name, low, high)
            for name, low, high in zip(self.names, self.low, self.high, strict=True)
        ]
        times = "" if self.value == 1 else f"{self.value} x "
        return f"{times}{' AND '.join(text for text in conditions if text) or 'all rows'}"

    def to_dict(self) -> dict[str, Any]:
        """The columns and bounds."""
        bounds = {"names": list(self.names), "low": list(self.low), "high": list(self.high)}
        return {"type": "box", "domain": self.domain.to_dict(), **bounds, "value": str(self.value)}


class Junta(Local):
    """The sum over the rows of a function of the named columns, integers or floats that are read exactly.

    >>> import numpy as np
    >>> from discreet.data.columns import Boolean
    >>> domain = Domain({"a": Boolean(), "b": Boolean(), "c": Boolean()})
    >>> Junta(domain, ("a", "c"), np.array([[1, -1], [-1, 1]])).apply(np.arange(8)).tolist()
    [0]
    """

    __slots__ = ("_table", "domain", "names")

    def __init__(self, domain: Domain, names: Sequence[str], table: npt.NDArray[Any]) -> None:
        import numpy as np

        order = list(domain)
        places = [order.index(name) for name in names]
        require(places == sorted(set(places)), "distinct columns in the order of the domain", names=list(names))
        array = np.asarray(table)
        require(array.dtype.kind in "iubf" and bool(np.isfinite(array).all()), "finite values", kind=str(array.dtype))
        shape = tuple(domain[name].size for name in names)
        require(array.size == math.prod(shape), "one value per combination", values=array.size, cells=math.prod(shape))
        self.domain, self.names = domain, tuple(names)
        self._table = (whole(array) if array.dtype.kind in "iub" else array.astype(float)).reshape(shape)
        self._table.flags.writeable = False
        small_entries(self)

    @property
    def entry(self) -> Fraction:
        """The largest value."""
        return max(abs(Fraction(self._table.max().item())), abs(Fraction(self._table.min().item())))

    @property
    def table(self) -> npt.NDArray[Any]:
        """The values, shaped by the sizes of the columns."""
        return self._table

    @property
    def integral(self) -> bool:
        """Where all values are."""
        return self._table.dtype.kind == "i" or bool((self._table == self._table.round()).all())

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        """The least and the greatest value."""
        return Fraction(self._table.min().item()), Fraction(self._table.max().item())

    def apply(self, cells: Array) -> Array:
        """The table of the columns, times the values."""
        blocks = self.blocks(cells)
        others = tuple(range(0, len(blocks.shape), 2))
        table = wide(total(blocks, others).reshape(-1))
        return total(table * self._values(table)).reshape(1)

    def transpose(self, answers: Array) -> Array:
        """The values, spread over the cells."""
        return _spread(self, answers)

    def tilt(self, cells: Array, rate: float) -> None:
        """Multiply by exp(rate * query) in place."""
        import numpy as np

        blocks = self.blocks(cells)
        shape = [size if place % 2 else 1 for place, size in enumerate(blocks.shape)]
        blocks *= like(np.exp(rate * self._table.astype(float)).reshape(shape), cells)

    def __str__(self) -> str:
        return f"a function of {', '.join(self.names)}" if self.names else "a constant"

    def to_dict(self) -> dict[str, Any]:
        """The columns and the table."""
        values = {"names": list(self.names), "table": self._table.reshape(-1).tolist()}
        return {"type": "junta", "domain": self.domain.to_dict(), **values}

    def _values(self, array: Array) -> Array:
        """The table on the array's device: integers unless a side has fractions."""
        exact = self._table.dtype.kind == "i" or self.integral
        wide = self._table.reshape(-1)
        return like(wide, array) if exact or "float" in str(array.dtype) else like(wide, floats(array))


def _condition(declared: Column, name: str, low: int, high: int) -> str:
    """What a box asks of one column; nothing where all values are allowed."""
    first, last = declared.codes
    values = [None if place > last - first else declared.decode(first + place) for place in (low, high)]
    if low == high:
        return f"{name} = {values[0]}" if values[0] is not None else f"{name} IS NULL"
    if low == 0 and high == declared.size - 1:
        return ""
    least = "" if low == 0 else f"{values[0]} <= "
    most = "" if high == declared.size - 1 else f" <= {values[1]}"
    return f"{least}{name}{most}"


def _spread(query: Local, answers: Array) -> Array:
    """answer * table over all cells."""
    shape, _ = query._runs()
    table = query.table
    thin = [size if place % 2 else 1 for place, size in enumerate(shape)]
    values = like(table.reshape(thin), answers if table.dtype.kind == "i" else floats(answers)) * answers[0]
    return namespace(answers).broadcast_to(values, tuple(shape)).reshape(-1)


def plain(value: Fraction) -> int | float:
    """A rational as the number to compute with.

    >>> plain(Fraction(3)), plain(Fraction(1, 2))
    (3, 0.5)
    """
    found = tidy(value)
    return int(value) if value.denominator == 1 else float(found)
