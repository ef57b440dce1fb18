"""gamma_2 in closed form, and lower bounds for workloads that are too large for the solver.

Theorem.  gamma_2(W) is

    one query                        its largest absolute entry
    thresholds(N)          at least  (1 / N) sum over k of 1 / (2 sin((2k - 1) pi / (4N + 2)))
    ranges(N)              at least  (1 / (sqrt(2) N)) sum over k of 1 / sin(k pi / (2N + 2))
    M parities               equal   sqrt(M)
    weighted marginals       equal   the largest, over probabilities p of the tables, of
                                     sum over S of d_S sqrt(sum over tables T >= S of p_T w_T^2 / n_T^2)

where S runs over the sets of columns inside a table, d_S is the product over S of (size - 1), n_T the cells of T.  For
all t-way marginals of d bits this is 2^-t sum over j of sqrt(C(t, j) C(d, j)).  A product of workloads has the
product of the values, a multiple the multiple, and stacked workloads have at least that of each.

Where a row is replaced, thresholds(N) have the gamma_2 of ranges(N - 1), and marginals over N cells have at least
sqrt(2 N / (N - 1)) times the sum above without the empty set.
Proof: docs/theory/gamma2.md.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from discreet.errors import UnsupportedError
from discreet.privacy.neighbours import AddRemove, Neighbours
from discreet.queries.combined import Kronecker, Stacked, Weighted
from discreet.queries.marginals import Marginals
from discreet.queries.ordered import Ranges, Thresholds
from discreet.queries.products import Products
from discreet.queries.workload import Workload, swaps
from discreet.release.gamma2 import gamma2, rounded_down
from discreet.release.gamma2_sets import UNIT

if TYPE_CHECKING:
    from discreet.release.gamma2_sets import Reals

NUMERIC = 400  # cells, and
ENTRIES = 1 << 20  # entries, up to which the solver is asked
SETS = 1 << 22  # sets of columns that are summed over
TINY = 2.0**-256  # entries whose squares, weighted, are floats


def gamma2_lower(workload: Workload, *, neighbours: type[Neighbours] = AddRemove) -> float:
    """No factorization of the workload has less noise than this times sigma: closed forms, or the solver's certificate.

    >>> from discreet.queries.ordered import thresholds
    >>> round(gamma2_lower(thresholds(1 << 20)), 4)
    5.1146
    """
    swapped = swaps(neighbours)
    if swapped and workload.domain.size == 1:
        return 0.0  # nothing can move
    match workload:
        case Weighted():
            return rounded_down(float(abs(workload.weight)) * gamma2_lower(workload.base, neighbours=neighbours))
        case Marginals():
            sums = sum(1 << len(names) for names in workload.sets) + 8  # terms of each sum, at most
            return rounded_down(marginals_value(workload, swapped=swapped) * (1 - 2 * sums * UNIT))
        case Products(kind="parity") if not swapped:
            return rounded_down(math.sqrt(len(workload)))
        case Kronecker() if not swapped:
            return rounded_down(math.prod(gamma2_lower(factor) for factor in workload.factors))
    if workload.domain.size - swapped <= (NUMERIC if not swapped else NUMERIC // 2) and _small(workload):
        return _numeric(workload, neighbours)
    match workload:
        case Thresholds():
            cells = workload.domain.size
            return rounded_down(ranges_bound(cells - 1) if swapped else thresholds_bound(cells))
        case Ranges():
            cells = workload.domain.size  # thresholds are among the ranges
            return rounded_down(ranges_bound(cells - 1) if swapped else ranges_bound(cells))
        case Stacked():
            return max(gamma2_lower(part, neighbours=neighbours) for part in workload.parts)
    if len(workload) == 1 and not swapped and workload.exact:
        return rounded_down(math.sqrt(float(workload.squared(AddRemove))))
    raise UnsupportedError(f"no lower bound is known for {type(workload).__name__} of shape {workload.shape}")


def thresholds_bound(cells: int) -> float:
    """The trace norm of the triangle of ones over its size.

    >>> round(thresholds_bound(1024), 4)
    2.9096
    """
    import numpy as np

    total = 0.0
    for first in range(1, cells + 1, 1 << 20):
        k = np.arange(first, min(first + (1 << 20), cells + 1))
        total += float((0.5 / np.sin((2 * k - 1) * (math.pi / (4 * cells + 2)))).sum())
    return total / cells


def ranges_bound(cells: int) -> float:
    """The trace norm of all intervals over the root of their number and that of the cells.

    >>> round(ranges_bound(1024), 4)
    3.4923
    """
    import numpy as np

    total = 0.0
    for first in range(1, cells + 1, 1 << 20):
        k = np.arange(first, min(first + (1 << 20), cells + 1))
        total += float((1 / np.sin(k * (math.pi / (2 * cells + 2)))).sum())
    return total / (math.sqrt(2) * cells)


def marginals_value(workload: Marginals, *, swapped: bool = False) -> float:
    """gamma_2 of weighted marginals of any columns; where a row is replaced, a lower bound.

    >>> from discreet.data.columns import Boolean
    >>> from discreet.data.domain import Domain
    >>> from discreet.queries.marginals import marginals
    >>> round(marginals_value(marginals(Domain({f"b{i}": Boolean() for i in range(10)}), 2)), 5)
    3.04508
    """
    import numpy as np

    inside = sum(1 << len(names) for names in workload.sets)
    if inside > SETS:
        raise UnsupportedError(f"marginals with more than {SETS} sets of columns are not summed over, got {inside}")
    place: dict[tuple[str, ...], int] = {}
    tables, sets = [], []
    for table, names in enumerate(workload.sets):
        for size in range(len(names) + 1):
            for members in itertools.combinations(names, size):
                tables.append(table)
                sets.append(place.setdefault(members, len(place)))
    freedom = [math.prod(workload.domain[name].size - 1 for name in members) for members in place]
    if swapped and () in place:
        freedom[place[()]] = 0
    ratio = [float(weight) / size for weight, size in zip(workload.weights, workload.sizes, strict=True)]
    found = _largest(np.array(tables), np.array(sets), np.array(freedom, dtype=float), np.array(ratio) ** 2)
    cells = workload.domain.size
    return found * math.sqrt(2 * cells / (cells - 1)) if swapped and cells > 1 else found


def _largest(tables: Reals, sets: Reals, freedom: Reals, ratio: Reals) -> float:
    """max over p of sum over S of d_S sqrt(sum of p_T ratio_T): any p is a lower bound."""
    import numpy as np

    p = np.full(len(ratio), 1 / len(ratio))
    best = 0.0
    for _ in range(200):
        inside = np.bincount(sets, (p * ratio)[tables], minlength=len(freedom))
        roots = np.sqrt(inside)
        value = float(freedom @ roots) / math.sqrt(math.fsum(p.tolist()))
        if value <= best * (1 + 1e-10):
            return max(best, value)
        best = value
        slope = np.bincount(tables, (freedom / np.maximum(roots, 1e-300))[sets], minlength=len(ratio)) * ratio
        p = p * slope**1.5
        p /= p.sum()
    return best


def _small(workload: Workload) -> bool:
    return isinstance(workload, Thresholds | Ranges) or math.prod(workload.shape) <= ENTRIES


def _numeric(workload: Workload, neighbours: type[Neighbours]) -> float:
    if not isinstance(workload, Thresholds | Ranges):
        largest = float(abs(workload.matrix()).max())
        if largest == 0:
            return 0.0
        if not TINY < largest < 1 / TINY:
            raise UnsupportedError("gamma_2 is bounded for entries whose squares are floats")
    return gamma2(workload, tolerance=1e-3, neighbours=neighbours).lower_bound
