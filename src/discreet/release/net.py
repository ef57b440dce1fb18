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
from discreet.queries.combined import Stacked, Weighted
from discreet.queries.marginals import Marginals
from discreet.queries.ordered import Ordered
from discreet.queries.products import Products
from discreet.queries.workload import DENSEST, Workload, swaps
from discreet.queries.written import RandomCounting

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

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
        case Marginals() | Ordered():
            # One cell of one table, or one position of many: nothing moves where there is a single one.
            weight = workload.entry if isinstance(workload, Marginals) else 1
            return int(weight) if not changed or workload.domain.size > 1 else 0
        case RandomCounting():
            return 1
        case Products():
            return _of_products(workload, changed=changed)
        case Weighted():
            return math.ceil(abs(workload.weight) * widest(workload.base, relation))
        case Stacked():
            return max(widest(part, relation) for part in workload.parts)
    queries, cells = workload.shape
    if queries * cells > DENSEST:
        return int(max(query.absolute(relation) for query in workload))
    matrix = workload.matrix()
    moved = matrix.max(axis=1) - matrix.min(axis=1) if changed else abs(matrix).max(axis=1)
    return int(moved.max())


def _of_products(workload: Products, *, changed: bool) -> int:
    """A sign is turned, which is 2; a conjunction or disjunction begins or ceases to hold; the empty set counts all."""
    empty_alone = workload.k == 0
    if workload.kind == "parity":
        return (0 if empty_alone else 2) if changed else 1
    return 0 if empty_alone and (changed or workload.kind == "disjunction") else 1
