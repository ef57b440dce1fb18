"""Workloads: many linear queries over the cells of a domain, as structured matrices that are never written out.

A workload W has a row for each query and a column for each cell: W x are its answers on a histogram x.
`apply` and `transpose` are fast (sums over axes, running sums, Walsh-Hadamard), for arrays of numpy or of a
GPU library.  Entries are integers or exact rationals.

Theorem.  ||W x - W x'|| is at most, and for some neighbours equal to, in either norm

    AddRemove, NullRow   the largest norm of a column
    Replace              the largest norm of the difference of two columns.

Each constructor states both in closed form.  Proof: docs/theory/workloads.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from discreet.data.arrays import Array, like, namespace, stack
from discreet.data.domain import Domain
from discreet.data.histogram import Histogram
from discreet.errors import DomainError, ParameterError, UnsupportedError, require
from discreet.privacy.enclosure import root_up
from discreet.privacy.exact_sums import farthest, largest_norm, over_one_denominator, roomy
from discreet.privacy.neighbours import AddRemove, Local, Neighbours, NullRow, Replace
from discreet.privacy.number import Number, tidy

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol

    import numpy as np
    import numpy.typing as npt

    class Countable(Protocol):
        """Rows, a histogram or a model: what can be summed up over all but some columns."""

        @property
        def domain(self) -> Domain: ...

        def marginal(self, names: Sequence[str], /) -> npt.NDArray[Any]: ...


Norm = Literal[1, 2]
Known = dict[tuple[bool, int], Fraction]  # sensitivities that were computed: (whether rows are replaced, power)
FEW = 8  # queries that are answered one by one
WRITTEN = 1 << 22  # entries up to which columns are compared in full
DENSEST = 1 << 26  # entries of a matrix that is written out


class Workload:
    """Base of the closed set of workloads.  `w[i]` is one query, `w[a:b]` some, `len(w)` their number.

    >>> from discreet.queries import thresholds
    >>> w = thresholds(8)
    >>> w.shape, len(w[2:5])
    ((8, 8), 3)
    """

    __slots__ = ()
    domain: Domain

    def __len__(self) -> int:
        raise NotImplementedError

    @property
    def shape(self) -> tuple[int, int]:
        """Queries and cells."""
        return len(self), self.domain.size

    @property
    def integral(self) -> bool:
        """Whether all entries are integers, so that all true answers are."""
        return True

    @property
    def entry(self) -> Fraction:
        """No entry is larger in absolute value."""
        return Fraction(1)

    @property
    def exact(self) -> bool:
        """Whether the stated sensitivities are attained, not only upper bounds."""
        return True

    @property
    def cheap(self) -> bool:
        """Whether one query can be answered without the others."""
        return type(self).row is not Workload.row

    def answer(self, data: Countable) -> npt.NDArray[Any]:
        """The answers on a histogram, on rows or on a model, as a numpy array."""
        from discreet.data.arrays import to_numpy

        same_domain(self.domain, data.domain)
        if isinstance(data, Histogram):
            return to_numpy(self.apply(data.counts.reshape(-1)))
        return self.from_marginals(data)

    def apply(self, cells: Array) -> Array:
        """W x for a flat array of cells; integers stay integers."""
        raise NotImplementedError

    def transpose(self, answers: Array) -> Array:
        """W^T y: a flat array of cells."""
        raise NotImplementedError

    def from_marginals(self, data: Countable) -> npt.NDArray[Any]:
        """The answers from marginals of the data, for universes too large to list."""
        raise UnsupportedError(f"{type(self).__name__} cannot be answered from marginals; pass a Histogram")

    def squared(self, neighbours: type[Neighbours]) -> Fraction:
        """The square of the l2 sensitivity, exactly."""
        raise NotImplementedError

    def absolute(self, neighbours: type[Neighbours]) -> Fraction:
        """The l1 sensitivity, exactly."""
        raise NotImplementedError

    def sensitivity(self, neighbours: type[Neighbours], norm: Norm) -> float | Fraction:
        """How far all the answers together can move between neighbours; a root is rounded up."""
        require(norm in (1, 2), "norm 1 or 2", norm=norm)
        return tidy(self.absolute(neighbours)) if norm == 1 else root_up(self.squared(neighbours))

    def matrix(self) -> npt.NDArray[Any]:
        """W itself, where it is small."""
        import numpy as np

        queries, cells = self.shape
        if queries * cells > DENSEST:
            raise UnsupportedError(f"a matrix of {queries} x {cells} entries is not written out; use apply, transpose")
        kind = np.int64 if self.integral else np.float64
        made = [self.transpose(row) for row in np.eye(queries, dtype=kind)] if queries <= cells else None
        if made is not None:
            return np.stack(made)
        return np.stack([self.apply(column) for column in np.eye(cells, dtype=kind)], axis=1)

    def __getitem__(self, index: int | slice) -> Workload:
        if isinstance(index, slice):
            return Rows(self, tuple(range(len(self))[index]))
        require(isinstance(index, int) and -len(self) <= index < len(self), f"a query below {len(self)}", index=index)
        return self.row(index % len(self))

    def __iter__(self) -> Iterator[Workload]:
        return (self.row(index) for index in range(len(self)))

    def row(self, index: int) -> Workload:
        """One query, as a workload of one row."""
        return Rows(self, (index,))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} queries, {self.domain.size} cells)"

    def tilt(self, cells: Array, rate: float) -> None:
        """For a workload of one query q: multiply every cell x by exp(rate * q(x)), in place."""
        import numpy as np

        require(len(self) == 1, "one query", queries=len(self))
        cells *= namespace(cells).exp(self.transpose(like(np.ones(1), cells)) * rate)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready description, read back by `discreet.queries.from_dict`."""
        raise UnsupportedError(f"{type(self).__name__} cannot be stored")

    def __add__(self, other: object) -> Workload:
        """The queries of both, one after another."""
        from discreet.queries.combined import Stacked

        return Stacked((self, other)) if isinstance(other, Workload) else NotImplemented

    def __mul__(self, weight: Number) -> Workload:
        """Every query times an exact number."""
        from discreet.queries.combined import Weighted

        return NotImplemented if isinstance(weight, Workload) else Weighted(self, weight)

    __rmul__ = __mul__


def swaps(neighbours: type[Neighbours]) -> bool:
    """Whether a step changes a row, rather than adding or removing one."""
    if neighbours in (Replace, Local):
        return True
    if neighbours in (AddRemove, NullRow):
        return False
    known = isinstance(neighbours, type) and issubclass(neighbours, Neighbours)
    require(known, "a relation, such as AddRemove or Replace", neighbours=neighbours)
    raise UnsupportedError(f"a workload has no sensitivity under {neighbours.__name__}, which is about graphs")


def a_workload(workload: object) -> Workload:
    """The workload, if it is one: what every release begins with."""
    require(isinstance(workload, Workload), "a workload, such as thresholds(8)", workload=type(workload).__name__)
    assert isinstance(workload, Workload)
    return workload


def a_matrix(values: object) -> npt.NDArray[np.float64]:
    """Numbers as floats, in an array of their own; what holds something else is refused by its type."""
    import numpy as np

    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(f"need a matrix of numbers, got {type(values).__name__}") from None


def small_entries(workload: Workload) -> None:
    """Refuse entries so large that the sum over 2^31 rows would not fit in 64 bits: it would wrap before the noise."""
    require(workload.entry < 1 << 31, "entries below 2^31 in absolute value", largest=float(workload.entry))


def same_domain(asked: Domain, given: Domain) -> None:
    """Refuse data of another domain."""
    if asked is not given and (list(asked) != list(given) or asked != given):
        raise DomainError("the data and the queries have different domains")


class Rows(Workload):
    """Some of the queries of a workload."""

    __slots__ = ("_known", "base", "indices")

    def __init__(self, base: Workload, indices: tuple[int, ...]) -> None:
        require(bool(indices), "at least one query", indices=indices)
        inside = all(isinstance(i, int) and not isinstance(i, bool) and 0 <= i < len(base) for i in indices)
        require(inside, f"queries from 0 to {len(base) - 1}", indices=len(indices))
        self.base, self.indices = base, indices
        self._known: Known = {}

    @property
    def domain(self) -> Domain:  # type: ignore[override]
        """That of the whole."""
        return self.base.domain

    @property
    def integral(self) -> bool:
        """Where the whole is."""
        return self.base.integral

    @property
    def entry(self) -> Fraction:
        """That of the whole."""
        return self.base.entry

    def __len__(self) -> int:
        return len(self.indices)

    def apply(self, cells: Array) -> Array:
        """Those of the answers, one by one where they are few."""
        if len(self.indices) <= FEW and self.base.cheap:
            return stack([self.base.row(index).apply(cells) for index in self.indices])
        return self.base.apply(cells)[list(self.indices)]

    def transpose(self, answers: Array) -> Array:
        """The others answered by zero."""
        import numpy as np

        if len(self.indices) <= FEW and self.base.cheap:
            rows = enumerate(self.indices)
            return sum(self.base.row(index).transpose(answers[place : place + 1]) for place, index in rows)
        spread = like(np.zeros(len(self.base)), answers)
        if namespace(answers).__name__.startswith("jax"):
            return self.base.transpose(spread.at[list(self.indices)].add(answers))
        for place, index in enumerate(self.indices):
            spread[index] += answers[place]
        return self.base.transpose(spread)

    def from_marginals(self, data: Countable) -> npt.NDArray[Any]:
        """Those of the answers."""
        return self.base.from_marginals(data)[list(self.indices)]

    @property
    def exact(self) -> bool:
        """Where the matrix is written out."""
        return math.prod(self.shape) <= WRITTEN

    def squared(self, neighbours: type[Neighbours]) -> Fraction:
        """From the matrix, or at most that of the whole and of the queries together."""
        return self._moved(neighbours, power=2)

    def absolute(self, neighbours: type[Neighbours]) -> Fraction:
        """From the matrix, or at most that of the whole and of the queries together."""
        return self._moved(neighbours, power=1)

    def _moved(self, neighbours: type[Neighbours], *, power: int) -> Fraction:
        if self.exact:
            return remembered(self, self._known, neighbours, power)
        whole = self.base.squared(neighbours) if power == 2 else self.base.absolute(neighbours)
        only = self.row(0)
        if len(self) == 1 and isinstance(only, Rows) and only.base is self.base:  # which would ask itself again
            return whole
        rows = [part.squared(neighbours) if power == 2 else part.absolute(neighbours) for part in self]
        return (
            min(whole, sum(rows, Fraction(0)))
            if len(set(self.indices)) == len(self.indices)
            else sum(rows, Fraction(0))
        )

    def row(self, index: int) -> Workload:
        """One query of the whole."""
        return self.base.row(self.indices[index])

    def to_dict(self) -> dict[str, Any]:
        """The whole, and which of it."""
        return {"type": "rows", "base": self.base.to_dict(), "indices": list(self.indices)}


def remembered(workload: Workload, known: Known, neighbours: type[Neighbours], power: int) -> Fraction:
    """`from_columns` of the written matrix, computed once."""
    key = swaps(neighbours), power
    if key not in known:
        known[key] = from_columns(workload.matrix(), neighbours, power=power)
    return known[key]


def from_columns(matrix: npt.NDArray[Any], neighbours: type[Neighbours], *, power: int) -> Fraction:
    """The largest sum of |entry|^power over a column, or over a difference of two; floats are read exactly."""
    import numpy as np

    table, unit = over_one_denominator(np.unique(matrix, axis=1), read=Fraction)
    moved = farthest(table, power=power) if swaps(neighbours) else largest_norm(table, power=power)
    return Fraction(moved, unit**power)


def exact_columns(matrix: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], int]:
    """The columns as integers over one denominator: 64 bits where no sum can overflow, Python's integers elsewhere."""
    table, unit = over_one_denominator(matrix, read=Fraction)
    return roomy(table, times=4 * table.shape[0], power=2).T, unit
