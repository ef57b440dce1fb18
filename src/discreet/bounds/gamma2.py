"""gamma_2 of a workload from below and above.

    gamma_2(W) = min over W = R A of (largest norm of a row of R) (largest norm of a column of A)

The least error of any factorization with Gaussian noise (docs/theory/gamma2.md), and the price of every unbiased
mechanism (docs/theory/lower_bounds.md).  Up to 2,048 cells the two bounds are the certificate and the factors of the
solver of `discreet.release`; marginals, parities and products of workloads have closed forms; thresholds on more cells
have a trace norm below and a square root above.

Theorem.  Let W T be the answers that one step of a neighbour moves, and L C^T = W T - E with factors of fewer columns
than there are cells.  Then gamma_2(W T) and gamma_2(L C^T) differ by at most sqrt(min(rows, columns of E)) max |E|.
So few queries, where a row is replaced, are solved in as many coordinates as their rank.  Proof: docs/theory/gamma2.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.bounds.interval_table import gamma2_prefix
from discreet.errors import UnsupportedError, require
from discreet.privacy.neighbours import AddRemove, Neighbours
from discreet.privacy.number import exact
from discreet.queries.combined import Kronecker, Weighted
from discreet.queries.marginals import Marginals
from discreet.queries.ordered import Thresholds
from discreet.queries.products import Products
from discreet.queries.workload import Workload, swaps
from discreet.release.gamma2 import LARGEST, rows_of
from discreet.release.gamma2 import gamma2 as factored
from discreet.release.gamma2_closed import gamma2_lower, marginals_value
from discreet.release.gamma2_sets import UNIT, Written
from discreet.release.gamma2_solver import solve
from discreet.threads import threads_for

if TYPE_CHECKING:
    import numpy.typing as npt

ABOVE = 1 + 1e-9  # closed forms are sums of square roots in floats
WITHIN = 0.999  # of the tolerance, for the solver: the rest is for what is rounded outward afterwards
RANK = 1e-12  # of the largest singular value: directions that are left to E
PAIRED = 1 << 24  # entries of W T, up to which it is written out
STEPS = 1000  # of the solver in the space of the queries, where one takes little


@dataclass(frozen=True, kw_only=True, slots=True)
class Gamma2Bounds:
    """`lower` <= gamma_2 <= `upper`, and how they were found.

    >>> from discreet.queries import thresholds
    >>> found = gamma2(thresholds(8))
    >>> found.lower <= found.upper, round(found.upper, 3)
    (True, 1.511)
    """

    lower: float
    upper: float
    method: str

    @property
    def gap(self) -> float:
        """upper / lower - 1."""
        return self.upper / self.lower - 1 if self.lower else math.inf


def gamma2(
    workload: Workload | npt.ArrayLike, *, tolerance: float = 1e-3, neighbours: type[Neighbours] = AddRemove
) -> Gamma2Bounds:
    """Certified bounds up to 2,048 cells, within 1 + tolerance of each other unless the search ends before: see `gap`.

    >>> from discreet.queries import thresholds
    >>> found = gamma2(thresholds(64))
    >>> round(found.lower, 2), round(found.upper, 2), found.gap <= 1e-3
    (2.11, 2.11, True)
    """
    require(0 < exact(tolerance) < 1, "0 < tolerance < 1", tolerance=tolerance)
    closed = _closed(workload, tolerance, swapped=swaps(neighbours)) if isinstance(workload, Workload) else None
    if closed is not None:
        return closed
    if isinstance(workload, Workload) and workload.domain.size > LARGEST:
        raise UnsupportedError(f"gamma_2 of {type(workload).__name__} is bounded up to {LARGEST} cells only")
    narrow = _narrow(workload, tolerance) if swaps(neighbours) else None
    if narrow is not None:
        return narrow
    found = factored(workload, tolerance=tolerance * WITHIN, neighbours=neighbours)
    return Gamma2Bounds(lower=found.lower_bound, upper=found.value * ABOVE, method="solver")


def _closed(workload: Workload, tolerance: float, *, swapped: bool) -> Gamma2Bounds | None:
    """Where there is a formula; products and multiples of what has bounds."""
    if swapped:
        return None
    match workload:
        case Weighted():
            inner, by = gamma2(workload.base, tolerance=tolerance * WITHIN), float(abs(workload.weight))
            return Gamma2Bounds(lower=inner.lower * by / ABOVE, upper=inner.upper * by * ABOVE, method=inner.method)
        case Kronecker():
            each = math.expm1(math.log1p(tolerance * WITHIN) / len(workload.factors))  # whose ratios are multiplied
            parts = [gamma2(factor, tolerance=each) for factor in workload.factors]
            lower, upper = math.prod(part.lower for part in parts), math.prod(part.upper for part in parts)
            return Gamma2Bounds(lower=lower / ABOVE, upper=upper * ABOVE, method="product")
        case Marginals() if len({*workload.weights}) == 1 and _all_sets(workload):
            value = marginals_value(workload)
            return Gamma2Bounds(lower=value / ABOVE, upper=value * ABOVE, method="closed form")
        case Products(kind="parity"):
            value = math.sqrt(len(workload))
            return Gamma2Bounds(lower=value / ABOVE, upper=value * ABOVE, method="closed form")
        case Thresholds() if workload.domain.size > LARGEST:
            _, upper = gamma2_prefix(workload.domain.size)
            return Gamma2Bounds(lower=gamma2_lower(workload), upper=upper * ABOVE, method="trace norm and square root")
    return None


def _narrow(workload: Workload | npt.ArrayLike, tolerance: float) -> Gamma2Bounds | None:
    """Queries of a lower rank than there are cells, where a row is replaced: in the space that they span."""
    import numpy as np

    rows = rows_of(workload, known_total=True)
    if not isinstance(rows, Written) or not rows.matrix.any():
        return None
    queries, cells = rows.matrix.shape
    if queries * cells * (cells + 1) // 2 > PAIRED:
        return None
    with threads_for(rows.matrix.size):
        left, values, right = np.linalg.svd(rows.matrix, full_matrices=False)
    kept = values > RANK * values[0]
    if kept.sum() >= cells:
        return None
    one, other = np.triu_indices(cells, 1)
    lefts, base = left[:, kept] * values[kept], right[kept].T
    columns = np.concatenate([base, base[one] - base[other]])  # (all cells and pairs of cells, rank)
    moved = np.concatenate([rows.matrix, rows.matrix[:, one] - rows.matrix[:, other]], axis=1)
    longest = float(np.linalg.norm(lefts, axis=1).max() * np.linalg.norm(columns, axis=1).max())
    largest = float(np.abs(moved).max())
    off = float(np.abs(moved - lefts @ columns.T).max()) + (len(values) + 8) * UNIT * (longest + largest)
    slack = math.sqrt(min(moved.shape)) * off * ABOVE
    found = solve(Written(lefts), Written(columns), tolerance=tolerance * WITHIN, iterations=STEPS)
    lower = max(0.0, math.nextafter(found.lower_bound - slack, 0.0))
    return Gamma2Bounds(lower=lower, upper=(found.value + slack) * ABOVE, method="solver, in the span of the queries")


def _all_sets(workload: Marginals) -> bool:
    """All tables of one size over columns of one size: equal weights of tables are then the best."""
    widths = {len(names) for names in workload.sets}
    columns = {name for names in workload.sets for name in names}
    sizes = {workload.domain[name].size for name in columns}
    whole = len(widths) == 1 and len(set(workload.sets)) == math.comb(len(columns), next(iter(widths)))
    return whole and len(sizes) == 1
