"""Packings of a given workload: its different columns, or the best that a greedy search finds.

Theorem.  Let the answers of T datasets and of a centre be given.  Whatever set of them is kept in which any two differ
by at least R in some query is a packing for the bound of `packing`.  Datasets of t rows are t steps from the dataset
without them, where rows are added or removed, and from each other where rows are replaced.

The search goes through the datasets of one row, and of two and three where they are few, once for each of some
radii R, keeps each dataset that is R away from all that it has kept, and reports the radius with the largest bound.  A
workload of integers has the packing of all its different columns besides.  Proof: docs/theory/lower_bounds.md.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.bounds.discrepancy_matrix import colourable
from discreet.bounds.packing import Packing, PackingBound, packing_bound
from discreet.errors import UnsupportedError, require
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.neighbours import Neighbours
from discreet.privacy.number import Number
from discreet.queries.marginals import Marginals
from discreet.queries.ordered import Ranges, Thresholds
from discreet.queries.workload import Workload, swaps

if TYPE_CHECKING:
    import numpy.typing as npt

    from discreet.bounds.discrepancy_matrix import Integers

DATASETS = 400  # in one greedy search
RADII = 12
ROWS = 3  # of a dataset
LISTED = 1 << 24  # entries of a matrix whose columns are compared
WHOLE = 1 << 20  # entries of a matrix of integers that is searched, and
REALS = 1 << 15  # of one of other numbers: each is read as a fraction


def packing(
    over: Workload | Packing | npt.ArrayLike,
    *,
    budget: Guarantee,
    n: int,
    neighbours: type[Neighbours],
    beta: Number = 0.05,
) -> PackingBound:
    """The best packing bound for a workload, a matrix of queries and cells, or a given packing.

    >>> from discreet.privacy.guarantee import PureDP
    >>> from discreet.privacy.neighbours import Replace
    >>> from discreet.queries import thresholds
    >>> found = packing(thresholds(1024), budget=PureDP(1.0), n=10_000, neighbours=Replace)
    >>> found.value, found.copies, found.packing.others
    (4.5, 9, 1023)
    """
    if isinstance(over, Packing):
        return packing_bound(over, budget=budget, n=n, beta=beta)
    found = [] if isinstance(over, Marginals) else greedy_packings(over, neighbours=neighbours)
    if isinstance(over, Workload) and over.integral:
        cells, zero = told_apart(over)
        if cells >= 2:
            found.append(Packing.points(cells, neighbours, zero=zero))
        elif not zero and not swaps(neighbours):
            found.append(Packing(name="equal rows", others=1))
    if not found:
        raise UnsupportedError("no two datasets have different answers, or the workload is too large for a packing")
    return max((packing_bound(one, budget=budget, n=n, beta=beta) for one in found), key=lambda bound: bound.value)


def packing_error(
    workload: Workload, *, budget: Guarantee, n: int, neighbours: type[Neighbours], beta: Number = 0.05
) -> float:
    """The least largest error, in counts, that a private mechanism can promise with probability 1 - beta.

    >>> from discreet.data import Boolean, Domain
    >>> from discreet.privacy.guarantee import PureDP
    >>> from discreet.privacy.neighbours import AddRemove
    >>> from discreet.queries import marginals
    >>> domain = Domain({f"b{i}": Boolean() for i in range(10)})
    >>> packing_error(marginals(domain, 2), budget=PureDP(0.1), n=10_000, neighbours=AddRemove)
    49.0
    """
    return packing(workload, budget=budget, n=n, neighbours=neighbours, beta=beta).value


def told_apart(workload: Workload) -> tuple[int, bool]:
    """How many different columns a workload of integers has, two by two 1 apart in some query; and whether one is zero.

    >>> from discreet.data import Boolean, Domain
    >>> from discreet.queries import marginals
    >>> told_apart(marginals(Domain({"a": Boolean(), "b": Boolean(), "c": Boolean()}), [("a", "b")]))
    (4, False)
    """
    if not workload.integral:
        raise UnsupportedError("the packing of equal rows is stated for queries with integer entries")
    if isinstance(workload, Marginals) and all(workload.weights):
        names = {name for names in workload.sets for name in names}
        return math.prod(workload.domain[name].size for name in names), False
    if isinstance(workload, Thresholds | Ranges):
        return workload.domain.size, False
    if math.prod(workload.shape) > LISTED:
        raise UnsupportedError(f"columns are compared up to {LISTED} entries, got {math.prod(workload.shape)}")
    import numpy as np

    matrix = workload.matrix()
    if len(matrix) == 1:
        values = np.unique(matrix)
        return len(values), bool((values == 0).any())
    columns = np.unique(matrix, axis=1)
    return columns.shape[1], not bool(np.any(columns, axis=0).all())


def greedy_packings(over: Workload | npt.ArrayLike, *, neighbours: type[Neighbours]) -> list[Packing]:
    """What the greedy search finds, for each number of rows of a dataset and each radius.

    >>> import numpy as np
    >>> from discreet.privacy.neighbours import AddRemove
    >>> [(one.others, one.gap) for one in greedy_packings(np.eye(5), neighbours=AddRemove)][0]
    (5, Fraction(1, 1))
    """
    import numpy as np

    require(not isinstance(over, Packing), "a workload or a matrix", over=type(over).__name__)
    shape, whole = _size(over)
    if shape[-1] > DATASETS or math.prod(shape) > (WHOLE if whole else REALS):
        return []
    read = colourable(over)
    columns = np.unique(read.rows.T, axis=0)  # (cells, queries)
    swapped = swaps(neighbours)
    found = []
    for rows in range(1, ROWS + 1):
        if math.comb(len(columns) + rows - 1, rows) > DATASETS:
            break
        multisets = list(itertools.combinations_with_replacement(range(len(columns)), rows))
        points = columns[np.array(multisets)].sum(axis=1)
        if not swapped:
            points = np.concatenate([np.zeros_like(points[:1]), points])
        for kept, radius in _searched(points):
            gap = Fraction(radius) / read.unit - 2 * rows * read.slack / read.columns
            if kept >= 2 and gap > 0:
                found.append(Packing(name=f"datasets of {rows} rows", others=kept - 1, steps=rows, gap=gap))
    return found


def _size(over: Workload | npt.ArrayLike) -> tuple[tuple[int, ...], bool]:
    """The shape, and whether all entries are integers; nothing is read."""
    import numpy as np

    if isinstance(over, Workload):
        return over.shape, over.integral
    matrix = np.asarray(over)
    return matrix.shape or (1,), matrix.dtype.kind in "iu"


def _searched(points: Integers) -> list[tuple[int, int]]:
    """How many points are kept, the first among them, so that any two differ by the radius."""
    import numpy as np

    apart = np.stack([np.abs(points - point).max(axis=1) for point in points])
    radii = np.unique(apart[apart > 0])
    if len(radii) > RADII:
        radii = radii[np.linspace(0, len(radii) - 1, RADII).astype(int)]
    found = []
    for radius in radii.tolist():
        free, kept = np.ones(len(points), dtype=bool), 0
        for place in range(len(points)):
            if free[place]:
                kept += 1
                free &= apart[place] >= radius
        found.append((kept, radius))
    return found
