"""What it takes to look at a workload, in seconds of one ordinary core, counted before anything is done.

Every forecast is a function of public sizes: queries, cells, tables, columns, rows.  No clock is read, so the same
question has the same plan on a busy machine.  The constants are about twice what was measured, which leaves room for
other processors; a forecast that is wrong costs time, or a mechanism that was not looked at, and nothing else.
"""

from __future__ import annotations

import math

from discreet.queries.combined import Kronecker, Stacked, Weighted
from discreet.queries.marginals import Marginals
from discreet.queries.ordered import Ordered
from discreet.queries.products import Products
from discreet.queries.workload import DENSEST, Rows, Workload
from discreet.queries.written import Dense, RandomCounting

LISTED = 1 << 26  # cells of a universe that is listed
EACH = 2e-5  # to make one object: a table, a set of columns, a query
COUNTED = 2e-7  # to pass over one table whose size is known
ENTRY = 1e-8  # to pass over one number of an array
PRODUCT = 2e-10  # for one product and sum within a product of matrices
EIGEN = 1e-9  # times the cube of the side: the eigenvectors of a matrix
SOLVED = 1e-8  # the same for a factorization, with as many steps as are usual
STEPS = 100  # that a search for equal shares of tables takes, or more where each is short


def tables(workload: Workload) -> int:
    """How many marginal tables the answers of rows are made of, at most.

    >>> from discreet.queries import parities, thresholds
    >>> tables(parities(40, 4)), tables(thresholds(100))
    (91390, 1)
    """
    match workload:
        case Marginals():
            return len(workload.sets)
        case Products():
            return len(workload)
        case Stacked():
            return sum(tables(part) for part in workload.parts)
        case Weighted() | Rows():
            return tables(workload.base)
    return 1


def widest_table(workload: Workload) -> int:
    """The most columns that one of them has; for others, none."""
    match workload:
        case Marginals():
            # Sets of all sizes are few; of millions of them the first and last say as much as all.
            sets = workload.sets if len(workload.sets) < 1 << 16 else (workload.sets[0], workload.sets[-1])
            return max(map(len, sets))
        case Products():
            return workload.k
        case Stacked():
            return max(widest_table(part) for part in workload.parts)
        case Weighted() | Rows():
            return widest_table(workload.base)
    return 0


def sensitivities(workload: Workload) -> float:
    """To state how far all answers move together."""
    match workload:
        case Marginals() | Products() | Ordered():
            return 1e-3 + COUNTED * tables(workload)
        case Stacked() if all(isinstance(part, Marginals | Products | Ordered) for part in workload.parts):
            return sum(sensitivities(part) for part in workload.parts)
        case Weighted():
            return sensitivities(workload.base)
        case Kronecker():
            return sum(sensitivities(factor) for factor in workload.factors) + compared(workload)
    return compared(workload)


def compared(workload: Workload) -> float:
    """To compare all columns of a matrix two by two, where it is written out."""
    queries, cells = workload.shape
    if queries * cells > DENSEST:
        return 1e-3 + EACH * queries
    return 1e-3 + 2 * ENTRY * queries * cells + PRODUCT * queries * cells**2


def each_query(workload: Workload) -> float:
    """To state how far each answer moves by itself."""
    if moves_alike(workload):
        return 1e-3 + COUNTED * tables(workload)
    queries, cells = workload.shape
    return 5 * EACH * queries + (4 * ENTRY * queries * cells if queries * cells <= DENSEST else 0.0)


def moves_alike(workload: Workload) -> bool:
    """Whether how far one query moves is known in closed form."""
    match workload:
        case Marginals() | Products() | Ordered() | RandomCounting() | Kronecker():
            return True
        case Stacked():
            return all(moves_alike(part) for part in workload.parts)
        case Weighted():
            return moves_alike(workload.base)
    return False


def answered(workload: Workload, rows: int) -> float:
    """To answer all queries once, on so many rows: on their histogram where the universe can be listed."""
    queries, cells = workload.shape
    if cells > LISTED:
        width = max(1, widest_table(workload))
        return 5 * EACH * tables(workload) + ENTRY * (rows * tables(workload) * width / 3 + queries)
    match workload:
        case Marginals():
            branches = min(len(workload.sets), 3 ** min(20, widest_table(workload)))
            return EACH * len(workload.sets) + ENTRY * (cells * branches + queries)
        case Products():
            return EACH * queries / 10 + ENTRY * (cells * 2.0 ** min(40, workload.k + 1) + queries)
        case Ordered():
            return ENTRY * (2 * cells + queries)
        case Stacked():
            return sum(answered(part, rows) for part in workload.parts)
        case Weighted() | Rows():
            return answered(workload.base, rows) + ENTRY * queries
        case Kronecker():
            return EACH + ENTRY * sum(len(factor) for factor in workload.factors) * cells
    return EACH + ENTRY * queries * cells


def made_up(workload: Workload, rows: int) -> float:
    """To make up rows of one kind and to know the true answers on them."""
    columns = len(workload.domain)
    listed = workload.domain.size if workload.domain.size <= LISTED else 0
    return 0.01 + ENTRY * (10.0 * rows * columns + 2 * listed) + answered(workload, rows)


def factored(workload: Workload) -> float:
    """To search for the best factors: of each part of a product, or of the matrix as it is written out."""
    from discreet.release.factorization_space import WRITTEN
    from discreet.release.gamma2 import LARGEST

    queries, cells = workload.shape
    if isinstance(workload, Kronecker) and cells > LARGEST:
        return sum(factored(factor) for factor in workload.factors) + ENTRY * (queries + cells)
    if isinstance(workload, Ordered):
        return 0.05 + SOLVED * min(cells, LARGEST) ** 3 + 3 * EACH * queries
    side = min(queries, cells)
    if queries * cells > WRITTEN or side > LARGEST:
        return 1e-3  # it is refused at once
    written = 0.0 if isinstance(workload, Dense | RandomCounting) else side * answered(workload, 1)
    return 0.05 + written + 10 * ENTRY * queries * cells + 4 * SOLVED * max(queries, cells) * side**2


def residuals(workload: Marginals) -> float:
    """To plan the noise of all marginals of the tables."""
    terms = _subsets(workload)
    return 0.02 + EACH * terms / 4 + 2 * ENTRY * STEPS * terms


def _subsets(workload: Marginals) -> int:
    """At least how many sets of columns the tables have inside, each counted for its own table."""
    if len(workload.sets) > 1 << 16:
        return len(workload.sets) << widest_table(workload)
    return sum(1 << len(names) for names in workload.sets)


def bounded(workload: Workload) -> float:
    """To look for lower bounds: each is left out by itself where it would take long."""
    if isinstance(workload, Marginals):
        return 0.05 + EACH * (len(workload.sets) + min(_subsets(workload), 1 << 22)) / 4
    queries, cells = workload.shape
    if queries * cells > 1 << 24:
        return 0.05 + (ENTRY * cells if isinstance(workload, Ordered) else 0.0)
    written = 0.0 if isinstance(workload, Dense | RandomCounting) else min(queries, cells) * answered(workload, 1)
    searched = 0.002 * queries if queries * cells <= 1 << 20 else 0.0  # 400 datasets against one another, three times
    return 0.2 + 10 * ENTRY * queries * cells + written + min(searched, 2.0)


def projected_parities(workload: Products) -> float:
    """To project once: eigenvectors of a matrix over all sets of half the size, some hundreds of times above pairs."""
    side = math.comb(len(workload.domain), max(1, workload.k // 2))
    return 0.01 + EIGEN * side**3 * (60 if workload.k == 2 else 1000) + (0 if workload.k == 2 else EACH * side**2 / 4)
