"""Nets of small datasets: public lists of which some member answers every query nearly as the data does.

Theorem (Blum, Ligett, Roth 2008).  Let x have n rows over N cells, and let k queries have values that are at most
`span` apart.  Some dataset y of m rows has |q(x) / n - q(y) / m| <= span a for all of them, where

    a = 0                        if n divides m,
    a = min(sqrt(ln(2 k) / (2 m)), N / (4 m))   otherwise,

by sampling rows of x, or by rounding it.  So all multisets of floor(ln(2 k) / (2 alpha^2)) + 1 rows are a net for
alpha span, whatever the data is.  A net must not be built from the data.  Proof: docs/theory/small_database.md.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from discreet.errors import UnsupportedError, require
from discreet.privacy.neighbours import Neighbours
from discreet.queries.combined import Kronecker, Stacked, Weighted
from discreet.queries.marginals import Marginals
from discreet.queries.ordered import Ordered, Thresholds
from discreet.queries.products import Products
from discreet.queries.workload import DENSEST, Workload, swaps
from discreet.queries.written import RandomCounting

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Whole = npt.NDArray[np.int64]

LISTED = 1 << 27  # counts in a list of candidates


def net_rows(queries: int, alpha: float) -> int:
    """The rows with which multisets are a net at distance alpha, as a fraction, for so many counting queries.

    >>> net_rows(100, 0.1)
    265
    """
    require(isinstance(queries, int) and queries >= 1, "queries >= 1", queries=queries)
    require(0 < alpha <= 1, "0 < alpha <= 1", alpha=alpha)
    return math.floor(math.log(2 * queries) / (2 * alpha**2)) + 1


def net_distance(*, queries: int, cells: int, n: int, rows: int) -> float:
    """a of the theorem: how far the nearest dataset of `rows` rows may be, as a fraction of the span.

    >>> net_distance(queries=4, cells=100, n=50, rows=8), net_distance(queries=4, cells=2, n=50, rows=100)
    (0.36050672165022074, 0.0)
    """
    if rows % n == 0:
        return 0.0
    return min(math.sqrt(math.log(2 * queries) / (2 * rows)), cells / (4 * rows))


def multisets(cells: int, rows: int) -> npt.NDArray[np.int32]:
    """Every multiset of `rows` rows, as its counts: one row each, C(cells + rows - 1, rows) of them.

    >>> multisets(3, 2).tolist()
    [[0, 0, 2], [0, 1, 1], [0, 2, 0], [1, 0, 1], [1, 1, 0], [2, 0, 0]]
    """
    import numpy as np

    require(cells >= 1 and rows >= 0, "cells >= 1 and rows >= 0", cells=cells, rows=rows)
    size = math.comb(cells + rows - 1, rows)
    if size * cells > LISTED:
        raise UnsupportedError(f"{size:.3g} datasets of {rows} rows over {cells} cells are not listed")
    made = np.zeros((1, 0), dtype=np.int32)
    left = np.array([rows], dtype=np.int32)
    for _ in range(cells - 1):
        often = left + 1
        parent = np.repeat(np.arange(len(left)), often)
        first = np.cumsum(often) - often
        here = (np.arange(len(parent)) - first[parent]).astype(np.int32)
        made, left = np.column_stack([made[parent], here]), left[parent] - here
    return np.column_stack([made, left])


def covering(family: npt.NDArray[Any], candidates: npt.NDArray[Any], alpha: float) -> npt.NDArray[np.int64]:
    """A greedy choice of candidates such that every member of a public family is within alpha of one, in all queries.

    Both are arrays of answers, as fractions: a row for each dataset and a column for each query.

    >>> import numpy as np
    >>> points = np.array([[0.0], [0.1], [0.2], [0.3], [0.4]])
    >>> covering(points, points, 0.11).tolist()
    [1, 3]
    """
    import numpy as np

    require(
        family.shape[1] == candidates.shape[1], "the same queries", family=family.shape, candidates=candidates.shape
    )
    near = np.abs(family[:, None, :] - candidates[None, :, :]).max(axis=2) <= alpha  # (family, candidates)
    require(bool(near.any(axis=1).all()), "candidates that reach the whole family", alpha=alpha)
    chosen: list[int] = []
    while len(near):
        best = int(near.sum(axis=0).argmax())
        chosen.append(best)
        near = near[~near[:, best]]
    return np.array(sorted(chosen), dtype=np.int64)


def widest(workload: Workload, relation: type[Neighbours]) -> int:
    """The most that one answer of an integer workload moves between neighbours: of rows, graphs are refused.

    >>> from discreet.privacy.neighbours import AddRemove, Replace
    >>> from discreet.queries.ordered import thresholds
    >>> widest(3 * thresholds(5), Replace), widest(3 * thresholds(5), AddRemove)
    (3, 3)
    """
    changed = swaps(relation)
    match workload:
        case Marginals() | Ordered():  # of which there may be more than fit in memory
            return 0 if changed and workload.domain.size == 1 else math.ceil(workload.entry)
        case Products():
            empty = workload.k == 0  # which has one value for all rows
            return (
                0
                if empty and (changed or workload.kind == "disjunction")
                else 1 + (changed and workload.kind == "parity")
            )
    known = extremes(workload)
    if known is None:
        return math.ceil(max(query.absolute(relation) for query in workload))
    low, high = known
    return int((high - low if changed else abs(low).clip(abs(high))).max())


def extremes(workload: Workload) -> tuple[Whole, Whole] | None:
    """For each query no more than its least entry and no less than its largest; None where that takes a loop.

    Of integer workloads: by their form, and of others from the matrix, where it is written out.

    >>> from discreet.queries.ordered import thresholds
    >>> [found.tolist() for found in extremes(thresholds(3))]
    [[0, 0, 1], [1, 1, 1]]
    """
    import numpy as np

    ones = np.ones(len(workload), dtype=np.int64)
    match workload:
        case Ordered():
            low = 0 * ones
            low[-1 if isinstance(workload, Thresholds) else workload.domain.size - 1] = 1  # the query that is all rows
            return low, ones
        case RandomCounting():
            return 0 * ones, ones
        case Products():
            return _of_products(workload, ones)
        case Marginals() if workload.integral:
            high = np.repeat(np.array([int(weight) for weight in workload.weights]), workload.sizes)
            return np.where(np.repeat(np.array(workload.sizes) == 1, workload.sizes), high, 0), high
        case Weighted() if workload.weight.denominator == 1 and (found := extremes(workload.base)) is not None:
            ends = [int(workload.weight) * end for end in found]
            return np.minimum(*ends), np.maximum(*ends)
        case Stacked():
            parts = [extremes(part) for part in workload.parts]
            known = [part for part in parts if part is not None]
            if len(known) < len(parts):
                return None
            return np.concatenate([low for low, _ in known]), np.concatenate([high for _, high in known])
        case Kronecker() if math.prod(max(1, math.ceil(factor.entry)) for factor in workload.factors) < 1 << 31:
            return _of_product(workload)
    queries, cells = workload.shape
    if queries * cells > DENSEST:
        return None
    matrix = workload.matrix()
    return matrix.min(axis=1), matrix.max(axis=1)


def _of_product(workload: Kronecker) -> tuple[Whole, Whole] | None:
    """Entries are products of entries, so that the extremes are products of extremes."""
    import numpy as np

    low = high = np.ones(1, dtype=np.int64)
    for factor in workload.factors:
        found = extremes(factor)
        if found is None:
            return None
        ends = [np.multiply.outer(one, other).reshape(-1) for one in (low, high) for other in found]
        low, high = np.minimum.reduce(ends), np.maximum.reduce(ends)
    return low, high


def _of_products(workload: Products, ones: Whole) -> tuple[Whole, Whole]:
    """A sign is -1 or 1, a conjunction or disjunction 0 or 1; the empty set has the same value for all rows."""
    low = -ones if workload.kind == "parity" else 0 * ones
    high = ones.copy()
    if workload.degrees[0] == 0:
        low[0] = high[0] = int(workload.kind != "disjunction")
    return low, high
