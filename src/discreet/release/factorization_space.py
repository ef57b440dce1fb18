"""What a factorization measures: integer coordinates of the data from which every answer follows.

    Cells       the cells of the histogram themselves
    Queries     some queries of the workload, of which all others are combinations

With a public n both count relative to the last cell: the coordinates y of a row in the last cell are zero, and
answers are linear in y plus a known multiple of n.  In either case y is a vector of integers, exactly, and
answers = L y + constant.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from discreet.errors import UnsupportedError, require
from discreet.privacy.exact_sums import difference, whole
from discreet.privacy.neighbours import Neighbours
from discreet.queries.ordered import Ranges, Thresholds
from discreet.queries.workload import Workload, swaps
from discreet.release.gamma2 import LARGEST, PAIRED, columns_for, rows_of
from discreet.release.gamma2_sets import Cells, Pairs, Vectors, Written
from discreet.threads import threads_by

if TYPE_CHECKING:
    from typing import Any

    import numpy as np
    import numpy.typing as npt

    from discreet.queries.workload import Countable
    from discreet.release.gamma2_sets import Reals

    Whole = npt.NDArray[np.int64]


WRITTEN = 1 << 25  # entries of a workload that is factored as a matrix


@dataclass(frozen=True, eq=False)
class CellSpace:
    """The histogram, without its last cell where n is public."""

    workload: Workload
    neighbours: type[Neighbours]
    total: int | None

    @cached_property
    def rows(self) -> Vectors:
        """The queries."""
        return rows_of(self.workload, known_total=self.total is not None)

    @cached_property
    def columns(self) -> Vectors:
        """Unit vectors, or pairs of them while these are few; single ones are the pairs with the last cell."""
        if self.rows.dimension > PAIRED:
            return Cells(self.rows.dimension)
        return columns_for(self.rows.dimension, self.neighbours)

    @property
    def points(self) -> None:
        """The unit vectors."""

    def coordinates(self, data: Countable) -> npt.NDArray[np.object_]:
        """The counts."""
        return _exactly(data.marginal(list(self.workload.domain)).reshape(-1))[: self.rows.dimension]

    def answers(self, coordinates: Reals) -> Reals:
        """The workload on the estimated counts."""
        import numpy as np

        if self.total is not None:
            coordinates = np.append(coordinates, self.total - coordinates.sum())
        return np.asarray(self.workload.apply(coordinates), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class QuerySpace:
    """Independent queries, as many as the rank; where n is public, less what they count in the last cell times n."""

    workload: Workload
    neighbours: type[Neighbours]
    total: int | None

    @cached_property
    def _matrix(self) -> Whole:
        return whole(self.workload.matrix())

    @cached_property
    def _moved(self) -> Whole:
        return whole(difference(self._matrix, self._matrix[:, -1:])) if self.total is not None else self._matrix

    @cached_property
    def _basis(self) -> list[int]:
        return _independent(self._moved)

    @property
    def basis(self) -> Whole:
        """The measured queries over the cells."""
        return self._moved[self._basis]

    @cached_property
    def rows(self) -> Vectors:
        """All queries as combinations of the basis."""
        import numpy as np

        if len(self._basis) == len(self._moved):
            return Written(np.eye(len(self._moved)))
        found = np.linalg.lstsq(self.basis.T.astype(np.float64), self._moved.T.astype(np.float64), rcond=None)[0].T
        return Written(found)

    @cached_property
    def points(self) -> Whole:
        """The distinct columns of the basis that are not zero."""
        import numpy as np

        distinct = np.unique(self.basis.T, axis=0)
        return distinct[distinct.any(axis=1)]

    @cached_property
    def columns(self) -> Vectors:
        """The columns of the basis, or their differences while they are few."""
        points = self.points.astype(float)
        if self.total is not None and len(points) <= PAIRED // 2:
            return Pairs(points.shape[1], points)
        return Written(points)

    def coordinates(self, data: Countable) -> npt.NDArray[np.object_]:
        """The answers of the basis."""
        true = _exactly(self.workload.answer(data))[self._basis]
        if self.total is None:
            return true
        return true - _exactly(self._matrix[self._basis, -1]) * self.total

    def answers(self, coordinates: Reals) -> Reals:
        """Combinations of the estimated basis."""
        rows = self.rows
        assert isinstance(rows, Written)
        found = rows.matrix @ coordinates
        return found if self.total is None else found + self._matrix[:, -1] * float(self.total)


Space = CellSpace | QuerySpace


def spaces_of(workload: Workload, neighbours: type[Neighbours], *, n: int | None, both: bool) -> list[Space]:
    """The cells where the queries determine them, else independent queries; `both` where both can be written out."""
    swapped = swaps(neighbours)
    require(n is not None or not swapped, "the public n where a row is replaced", n=n)
    total = n if swapped else None
    if isinstance(workload, Thresholds | Ranges):
        return [CellSpace(workload, neighbours, total)]
    queries, cells = workload.shape
    if queries * cells > WRITTEN or min(queries, cells) > LARGEST:
        raise UnsupportedError(
            f"a workload of {queries} x {cells} is too large to be factored as a matrix: it needs at most {WRITTEN}"
            f" entries and at most {LARGEST} queries or cells; structured.MarginalRelease takes any marginals"
        )
    matrix = workload.matrix()
    moved = matrix - matrix[:, -1:] if swapped else matrix
    if not moved.any():
        raise UnsupportedError("these queries are the same for all data: there is nothing to measure")
    determined = cells - swapped <= LARGEST and _rank(moved) == cells - swapped
    found: list[Space] = []
    if workload.integral and (not determined or (both and queries <= LARGEST)):
        found.append(QuerySpace(workload, neighbours, total))
    if cells - swapped <= LARGEST and (determined or both or not workload.integral):
        found.insert(0 if determined else len(found), CellSpace(workload, neighbours, total))
    if not found:
        raise UnsupportedError(f"queries with fractions are factored over at most {LARGEST} cells, got {cells}")
    return found


def _exactly(values: npt.NDArray[np.generic]) -> npt.NDArray[np.object_]:
    """Python's integers."""
    import numpy as np

    from discreet.hazmat.integers import integers

    whole = integers(np.asarray(values))
    assert not isinstance(whole, int)
    return np.array([int(value) for value in whole], dtype=object)


@threads_by(lambda matrix: matrix.size)
def _rank(matrix: npt.NDArray[np.generic]) -> int:
    import numpy as np

    reals = matrix.astype(np.float64)
    square = reals.T @ reals if reals.shape[0] >= reals.shape[1] else reals @ reals.T
    values = np.linalg.eigvalsh(square)
    return int((values > values[-1] * len(values) * 1e-14).sum())


@threads_by(lambda matrix: matrix.size)
def _independent(matrix: Whole) -> list[int]:
    """Rows that span all rows: all of them where they are independent."""
    import numpy as np
    from scipy.linalg import qr

    reals = matrix.astype(np.float64)
    if reals.shape[0] <= reals.shape[1] and _rank(matrix) == reals.shape[0]:
        return list(range(reals.shape[0]))
    found: Any = qr(reals.T, mode="r", pivoting=True)
    triangle, order = found
    diagonal = np.abs(np.diagonal(triangle))
    rank = int((diagonal > diagonal[0] * 1e-9).sum())
    return sorted(int(place) for place in order[:rank])
