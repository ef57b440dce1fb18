"""gamma_2 of a workload: the least noise of any factorization W = R A, with factors and a certificate.

    gamma_2(W) = min over W = R A of (largest norm of a row of R) (largest norm of a column of A)

Theorem.  Answering W x by R (A x + noise) with Gaussian noise of sigma times the largest norm of a column of A gives
query i the standard deviation sigma |R_i| |A|, so that the largest is sigma gamma_2(W) for the best factors, and
`lower_bound` times sigma at least for all factors.  gamma_2 is a norm, does not grow when rows or columns are dropped,
and is multiplicative: gamma_2(V (x) W) = gamma_2(V) gamma_2(W).  With objective="total" the root mean square over the
queries takes the place of the largest.  Where a row is replaced, columns are differences of two columns.

The bound is computed from the solver's weights with outward rounding (`gamma2_certificate`): floating-point error
cannot make it false.  The value is that of the factors that are returned.  Proof: docs/theory/gamma2.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from discreet.errors import ParameterError, UnsupportedError, require
from discreet.privacy.neighbours import AddRemove, Neighbours
from discreet.queries.ordered import Ranges, Thresholds
from discreet.queries.workload import DENSEST, Workload, swaps
from discreet.release.gamma2_sets import Cells, Intervals, Pairs, Prefixes, Vectors, Written
from discreet.release.gamma2_solver import Objective, solve

if TYPE_CHECKING:
    import numpy.typing as npt

    from discreet.release.gamma2_sets import Reals

LARGEST = 2048  # coordinates of a space in which strategies are optimised: a step takes seconds there
PAIRED = 1100  # of those where all pairs of cells are weighed
SMALL = 1e-50  # the largest entry of a matrix at least, and its inverse at most: fourth powers are floats still
FINE = 300  # coordinates up to which the default tolerance is the finer one


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Gamma2:
    """`value` is attained by the factors; no factors have less than `lower_bound`.

    >>> from discreet.queries import thresholds
    >>> found = gamma2(thresholds(8))
    >>> round(found.lower_bound, 3), round(found.value, 3)
    (1.51, 1.51)
    """

    value: float
    lower_bound: float
    right: Reals
    iterations: int
    _rows: Vectors

    @property
    def left(self) -> Reals:
        """R with W = R A for A = `right`, where the queries can be written out."""
        import numpy as np

        rows = written(self._rows)
        if self.right.shape[0] != self.right.shape[1]:
            return np.linalg.lstsq(self.right.T, rows.T, rcond=None)[0].T
        return np.linalg.solve(self.right.T, rows.T).T

    def __repr__(self) -> str:
        return f"Gamma2(value={self.value:.6g}, lower_bound={self.lower_bound:.6g})"


def gamma2(
    workload: Workload | npt.ArrayLike,
    *,
    tolerance: float | None = None,
    time_limit: float | None = None,
    objective: Objective = "max",
    neighbours: type[Neighbours] = AddRemove,
) -> Gamma2:
    """Factors of a workload or of a matrix whose value is within 1 + tolerance of a certified lower bound.

    The tolerance is 1e-5 up to 300 cells and 2e-3 above (1e-4 for the total), unless given; the search also ends
    after a number of steps, or after `time_limit` seconds, with the bracket it then has.

    >>> gamma2([[1, 0], [1, 1]])  # 2 / sqrt(3)
    Gamma2(value=1.1547..., lower_bound=1.1547...)
    """
    rows = rows_of(workload, known_total=swaps(neighbours))
    return factors(
        rows, columns_for(rows.dimension, neighbours), objective=objective, tolerance=tolerance, time_limit=time_limit
    )


def factors(
    rows: Vectors,
    columns: Vectors,
    *,
    objective: Objective,
    tolerance: float | None = None,
    time_limit: float | None = None,
) -> Gamma2:
    """The same for sets of vectors."""
    require(objective in ("max", "total"), 'objective "max" or "total"', objective=objective)
    require(tolerance is None or 0 < tolerance < 1, "0 < tolerance < 1", tolerance=tolerance)
    require(time_limit is None or time_limit > 0, "time_limit > 0", time_limit=time_limit)
    if isinstance(rows, Written) and not rows.matrix.any():
        return _still(rows)
    if isinstance(rows, Prefixes) and isinstance(columns, Pairs) and objective == "max":
        return _turned(rows, tolerance=tolerance, time_limit=time_limit)
    small = rows.dimension <= FINE
    chosen = tolerance if tolerance is not None else 1e-5 if small else 2e-3 if objective == "max" else 1e-4
    found = solve(
        rows,
        columns,
        objective=objective,
        tolerance=chosen,
        iterations=100 if small or tolerance is not None else 40,
        time_limit=time_limit,
    )
    return Gamma2(
        value=found.value,
        lower_bound=min(found.lower_bound, found.value),
        right=found.strategy,
        iterations=found.iterations,
        _rows=rows,
    )


def _still(rows: Written) -> Gamma2:
    """Queries that no neighbour moves: any strategy will do, here one that no neighbour moves by more than 1."""
    import numpy as np

    strategy = np.eye(rows.dimension) / math.sqrt(2)
    return Gamma2(value=0.0, lower_bound=0.0, right=strategy, iterations=0, _rows=rows)


def _turned(rows: Prefixes, *, tolerance: float | None, time_limit: float | None) -> Gamma2:
    """Thresholds where a row is replaced: the transpose of all ranges of one cell less, whose columns are single cells.

    If B is the best for the ranges, the prefixes are the rows of B^T B^-T T for the triangle T, and T takes
    differences of cells to ranges: A = B^-T T.
    """
    import numpy as np

    size = rows.dimension
    found = factors(Intervals(size), Cells(size), objective="max", tolerance=tolerance, time_limit=time_limit)
    turned = np.linalg.solve(found.right.T, np.tril(np.ones((size, size)))) / found.value
    return replace(found, right=turned, _rows=rows)


def rows_of(workload: Workload | npt.ArrayLike, *, known_total: bool) -> Vectors:
    """The queries as vectors, over the cells or over all but the last where the total is known."""
    import numpy as np

    if isinstance(workload, Thresholds | Ranges):
        positions = workload.domain.size
        kind = Prefixes if isinstance(workload, Thresholds) else Intervals
        return _fitting(kind(positions, known_total))
    if isinstance(workload, Workload):
        queries, cells = workload.shape
        if cells - known_total > LARGEST or queries * cells > DENSEST:
            raise UnsupportedError(
                f"a workload of {queries} queries over {cells} cells is too large to be factored as a matrix;"
                f" up to {LARGEST} cells are"
            )
        matrix = workload.matrix().astype(np.float64)
    else:
        matrix = _read(workload)
    require(bool(np.any(matrix)), "a query that is not zero", shape=matrix.shape)
    return _fitting(Written(matrix[:, :-1] - matrix[:, -1:] if known_total else matrix))


def _read(matrix: npt.ArrayLike) -> Reals:
    """Entries of which the products are finite and not zero."""
    import numpy as np

    try:
        found = np.array(matrix, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(f"need a matrix of finite numbers, got {type(matrix).__name__}") from None
    require(found.ndim == 2 and found.size > 0, "a matrix", dimensions=found.ndim)
    require(bool(np.isfinite(found).all()), "finite entries", shape=found.shape)
    largest = float(abs(found).max())
    require(not largest or SMALL <= largest <= 1 / SMALL, "a largest entry from 1e-50 to 1e50", largest=largest)
    return found


def _fitting(rows: Vectors) -> Vectors:
    if rows.dimension > LARGEST:
        raise UnsupportedError(f"strategies are optimised for up to {LARGEST} cells, got {rows.dimension}")
    require(rows.dimension >= 1, "at least two cells where a row is replaced", cells=rows.dimension + 1)
    return rows


def columns_for(dimension: int, neighbours: type[Neighbours]) -> Vectors:
    """What neighbours may move, over the cells."""
    if not swaps(neighbours):
        return Cells(dimension)
    if dimension > PAIRED:
        raise UnsupportedError(f"pairs of cells are weighed for up to {PAIRED} cells, got {dimension + 1}")
    return Pairs(dimension)


def written(rows: Vectors) -> Reals:
    """The vectors as the rows of a matrix, where they are few."""
    import numpy as np

    if isinstance(rows, Written):
        return rows.matrix
    if rows.size * rows.dimension > DENSEST:
        raise UnsupportedError(f"{rows.size} rows of {rows.dimension} entries are not written out")
    prefixes = np.tril(np.ones((rows.dimension, rows.dimension)))
    if isinstance(rows, Prefixes):
        return np.vstack([prefixes, np.zeros((rows.size - rows.dimension, rows.dimension))])
    assert isinstance(rows, Intervals)
    points = np.zeros((rows.positions + 1, rows.dimension))
    points[1 : rows.dimension + 1] = prefixes
    start, end = np.triu_indices(rows.positions)
    return points[end + 1] - points[start]


def rounded_down(value: float) -> float:
    """A float below a value that was computed with a relative error of far less than 1e-12."""
    return math.nextafter(value * (1 - 1e-12), 0.0)
