"""A workload as integers: the matrix whose columns are coloured.

Theorem.  Let V be W with every entry rounded to the nearest multiple of 1 / unit.  For a colouring z of N columns with
entries in {-1, 0, 1}, | |W z| - |V z| | <= N / (2 unit) in the largest norm, and the difference is 0 where nothing was
rounded.  So what is found for integers holds for W but for that slack.  Proof: the triangle inequality.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.errors import UnsupportedError, require
from discreet.queries.workload import DENSEST, Workload, exact_columns, swaps

if TYPE_CHECKING:
    import numpy.typing as npt

    from discreet.privacy.neighbours import Neighbours

    Integers = npt.NDArray[Any]  # of 64 bits

FINE = 1 << 24  # steps of the lattice to which entries with no small common denominator are rounded
LARGEST = 1 << 40  # of entries: sums of a million of them fit in 64 bits


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Colourable:
    """`rows / unit` is the matrix, up to `slack` in every coordinate of its product with a colouring."""

    rows: Integers  # (queries, columns), no two equal up to sign and none zero, unless all are
    places: Integers  # of these rows among the queries
    unit: Fraction
    slack: Fraction

    @property
    def columns(self) -> int:
        """How many are coloured."""
        return self.rows.shape[1]

    def value(self, colouring: Integers) -> Fraction:
        """The largest absolute entry of the product, for the integers."""
        return Fraction(int(abs(self.rows @ colouring).max()), 1) / self.unit


def colourable(workload: Workload | npt.ArrayLike, *, neighbours: type[Neighbours] | None = None) -> Colourable:
    """Read a workload or a matrix; where rows are replaced, the differences to the last column.

    >>> from discreet.queries import thresholds
    >>> colourable(thresholds(3)).rows.tolist()
    [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    """
    import numpy as np

    if isinstance(workload, Workload):
        queries, cells = workload.shape
        if queries * cells > DENSEST:
            raise UnsupportedError(f"a matrix of {queries} x {cells} entries is not written out")
        matrix = np.asarray(workload.matrix())
    else:
        matrix = np.asarray(workload)
        require(matrix.dtype.kind in "iuf", "a matrix of integers or floats", kind=matrix.dtype.kind)
    require(matrix.ndim == 2 and matrix.size > 0, "a matrix", dimensions=matrix.ndim)
    require(bool(np.isfinite(matrix).all()), "finite entries", shape=matrix.shape)
    replaced = neighbours is not None and swaps(neighbours)
    require(not replaced or matrix.shape[1] >= 2, "at least two cells where a row is replaced", cells=matrix.shape[1])
    return _integers(matrix, differences=replaced)


def _integers(matrix: npt.NDArray[Any], *, differences: bool) -> Colourable:
    import numpy as np

    columns, unit = exact_columns(matrix)  # before any difference: in the type of the caller it would wrap or round
    if differences:
        columns = columns[:-1] - columns[-1:]
    largest = max(abs(int(columns.max())), abs(int(columns.min())))
    scale, slack = Fraction(unit), Fraction(0)
    if largest >= LARGEST:
        step = Fraction(FINE, largest)
        columns = np.array([round(value * step) for value in columns.ravel().tolist()]).reshape(columns.shape)
        scale *= step
        slack = len(columns) / (2 * scale)
    rows = columns.astype(np.int64).T
    places = _distinct(rows)
    return Colourable(rows=rows[places], places=places, unit=scale, slack=slack)


def _distinct(rows: Integers) -> Integers:
    """Where one of each row and its negative, and no zero, first appears."""
    import numpy as np

    some = np.flatnonzero(np.any(rows, axis=1))
    if not len(some):
        return np.zeros(1, dtype=np.int64)
    first = rows[some, np.argmax(rows[some] != 0, axis=1)]
    _, places = np.unique(rows[some] * np.sign(first)[:, None], axis=0, return_index=True)
    return some[np.sort(places)]
