"""Discrepancy of a workload: how evenly its columns can be split in two, for all queries at once.

    discrepancy            disc(W) = min over z in {-1, 1}^N of |W z|, the largest entry
    partial discrepancy    PDisc(W) = min over z in {-1, 0, 1}^N with more than kappa N entries not 0
    hereditary             the largest over all sets S of columns (the notes print "least", which is always trivial)

Theorem (Muthukrishnan, Nikolov 2012, with the constants kept).  Who answers W with all errors below PDisc(W_S) / 2
gives away all but kappa |S| of |S| bits: see `discrepancy_error`.

Every result is a pair lower <= value <= upper.  All colourings are tried up to 14 columns (of 60,000 different queries;
of any number where entries are 0 and 1) and up to 18 of fewer, and then hereditary discrepancy is exact too; up to 40
an integer program decides; beyond, the lower bound is that of vector colourings or of a determinant, with
certificates, and the upper one is a colouring, or for hereditary discrepancy the least of 5 gamma_2 z(1 - 1/(4m))
(Banaszczyk 1998), twice the largest l1 norm of a column (Beck, Fiala 1981) and the largest l1 norm of a row.
Proof: docs/theory/discrepancy.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from discreet.bounds.determinant import determinant_bound
from discreet.bounds.discrepancy_exact import attaining, enumerable, every_set, integer_program, members, partial, sizes
from discreet.bounds.discrepancy_matrix import Colourable, colourable
from discreet.bounds.discrepancy_vector import vector_bound
from discreet.bounds.discrepancy_walk import edge_walk
from discreet.errors import UnsupportedError, require
from discreet.privacy.number import Number, down, exact, up

if TYPE_CHECKING:
    import numpy.typing as npt

    from discreet.bounds.discrepancy_matrix import Integers
    from discreet.queries.workload import Workload

Method = Literal["auto", "enumerate", "integer", "bounds"]
METHODS = ("auto", "enumerate", "integer", "bounds")
PROGRAM = 40  # columns, and
ENTRIES = 1 << 14  # entries, up to which "auto" asks the integer program
DIGITS = 1000  # the largest entry that the integer program is given: its arithmetic is floating
NODES = 2000  # of its branch and bound
WIDEST = 1024  # columns of the bounds


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Discrepancy:
    """`lower` <= value <= `upper`; `colouring` attains the upper bound on `columns`, where it is known.

    `least` is how many columns must be coloured; for hereditary discrepancy, of the set `columns`.

    >>> found = discrepancy([[1, 0, 0], [1, 1, 0], [1, 1, 1]])
    >>> found.lower, found.upper, found.exact
    (1.0, 1.0, True)
    """

    lower: float
    upper: float
    least: int
    columns: tuple[int, ...]
    colouring: Integers | None
    method: str

    @property
    def exact(self) -> bool:
        """Whether the two bounds meet."""
        return self.lower == self.upper

    def __repr__(self) -> str:
        return f"Discrepancy(lower={self.lower:g}, upper={self.upper:g}, method={self.method!r})"


def discrepancy(
    workload: Workload | npt.ArrayLike, *, kappa: Number = 1, hereditary: bool = False, method: Method = "auto"
) -> Discrepancy:
    """Bounds of the discrepancy, where more than kappa N of the N columns are coloured; with kappa = 1, all of them.

    >>> from discreet.queries import thresholds
    >>> discrepancy(thresholds(14), hereditary=True)  # alternating signs
    Discrepancy(lower=1, upper=1, method='enumerate')
    >>> discrepancy([[1, 1, 1], [1, 1, 0], [1, 0, 1], [0, 1, 1]])
    Discrepancy(lower=2, upper=2, method='enumerate')
    """
    share = exact(kappa)
    require(0 <= share <= 1, "0 <= kappa <= 1", kappa=kappa)
    require(isinstance(hereditary, bool), "hereditary True or False", hereditary=hereditary)
    require(method in METHODS, f"a method among {', '.join(METHODS)}", method=method)
    require(not (hereditary and method == "integer"), "another method for hereditary discrepancy", method=method)
    read = colourable(workload)
    if method == "enumerate" and not enumerable(read.rows):
        raise UnsupportedError(f"all colourings of {read.columns} columns and {len(read.rows)} queries are too many")
    if method == "enumerate" or (method == "auto" and enumerable(read.rows)):
        return _enumerated(read, share, hereditary=hereditary)
    if hereditary:
        return _hereditary(read, share)
    small = read.columns <= PROGRAM and read.rows.size <= ENTRIES
    return _bounded(read, coloured(read.columns, share), program=method == "integer" or (method == "auto" and small))


def coloured(columns: int, kappa: Fraction) -> int:
    """The least whole number above kappa N, and N where there is none.

    >>> coloured(10, Fraction(1, 2)), coloured(10, Fraction(1)), coloured(99, Fraction(1, 100))
    (6, 10, 1)
    """
    return min(columns, math.floor(kappa * columns) + 1)


def _enumerated(read: Colourable, kappa: Fraction, *, hereditary: bool) -> Discrepancy:
    import numpy as np

    every = every_set(read.rows)
    whole = len(every) - 1
    if not hereditary:
        least = coloured(read.columns, kappa)
        value, subset = int(partial(every, least)[whole]), whole
    else:
        value, subset, least = -1, 1, 1
        kinds = sizes(every)
        for size in range(1, read.columns + 1):
            found = np.where(kinds == size, partial(every, coloured(size, kappa)), -1)
            if int(found.max()) > value:
                value, subset, least = int(found.max()), int(np.argmax(found)), coloured(size, kappa)
    return _result(
        read,
        Fraction(value) / read.unit,
        Fraction(value) / read.unit,
        least=least,
        columns=tuple(members(subset)),
        colouring=attaining(read.rows, every, subset, least),
        method="enumerate",
    )


def _bounded(read: Colourable, least: int, *, program: bool) -> Discrepancy:
    """Of the whole matrix: a colouring and the vector bound, and the integer program where it is asked."""
    if read.columns > WIDEST:
        raise UnsupportedError(f"discrepancy is bounded for up to {WIDEST} columns, got {read.columns}")
    lower, method = _parity(read.rows, least), "parity and edge walk"
    colouring = edge_walk(read.rows, least, enough=lower)
    best = int(abs(read.rows @ colouring).max())
    if lower < best:
        lower, method = max(lower, _vector(read.rows, least, best)), "vector colouring and edge walk"
    if program and lower < best and int(abs(read.rows).max()) <= DIGITS:
        found, other = integer_program(read.rows, least, nodes=NODES)
        lower, method = max(lower, int(found)), "integer program"
        if other is not None and int(abs(read.rows @ other).max()) < best:
            colouring, best = other, int(abs(read.rows @ other).max())
    return _result(
        read,
        Fraction(min(lower, best)) / read.unit,
        Fraction(best) / read.unit,
        least=least,
        columns=tuple(range(read.columns)),
        colouring=colouring,
        method=method,
    )


def _parity(rows: Integers, least: int) -> int:
    """1 where all columns are coloured and a query has an odd number of odd entries: its value is odd."""
    return int(least == rows.shape[1] and bool((rows.sum(axis=1) % 2).any()))


def _vector(rows: Integers, least: int, enough: int) -> int:
    """The values of integer matrices are integers: the certified bound is rounded up."""
    squared = Fraction(vector_bound(rows, least, enough=float((enough - 1) ** 2)).squared)
    return math.isqrt(math.ceil(squared) - 1) + 1 if squared > 0 else 0


def _hereditary(read: Colourable, kappa: Fraction) -> Discrepancy:
    """Beyond enumeration: the best of determinants and vector bounds of promising sets, and three upper bounds."""
    if read.columns > WIDEST:
        raise UnsupportedError(f"discrepancy is bounded for up to {WIDEST} columns, got {read.columns}")
    upper = _above(read)
    lower, columns, method = Fraction(0), tuple(range(read.columns)), "vector colouring"
    for chosen in promising(read.rows):
        some, least = read.rows[:, chosen], coloured(len(chosen), kappa)
        found = max(_parity(some, least), _vector(some, least, math.ceil(upper * read.unit))) / read.unit
        if found > lower:
            lower, columns = found, tuple(chosen)
    if kappa == 1:
        pivots = determinant_bound(read.rows)
        half = Fraction(pivots.value) / 2
        if math.ceil(half) / read.unit > lower:
            lower, columns, method = math.ceil(half) / read.unit, pivots.columns, "determinant"
    return _result(
        read,
        min(lower, upper),
        upper,
        least=coloured(len(columns), kappa),
        columns=columns,
        colouring=None,
        method=method,
    )


def promising(rows: Integers) -> list[list[int]]:
    """All columns, and the halves, quarters, ... of them that are the most independent.

    >>> import numpy as np
    >>> [len(chosen) for chosen in promising(np.eye(8, dtype=int))]
    [8, 4, 2, 1]
    """
    import numpy as np
    from scipy.linalg import qr

    queries, columns = rows.shape
    order = qr(rows.astype(np.float64), mode="r", pivoting=True)[-1]
    size, found = columns, []
    while size >= 1:
        found.append(sorted(int(place) for place in order[:size]))
        size = min(size // 2, queries)
    return found


def _above(read: Colourable) -> Fraction:
    """The least of three upper bounds of the hereditary discrepancy of the integers, over the unit."""
    from scipy.special import ndtri

    from discreet.release.gamma2 import gamma2

    sums = abs(read.rows)
    whole = Fraction(min(int(sums.sum(axis=1).max()), 2 * int(sums.sum(axis=0).max())))
    if not whole:
        return whole
    norm = gamma2(read.rows, tolerance=1e-3).value if read.columns <= 300 else math.inf
    smooth = 5 * norm * -float(ndtri(1 / (4 * len(read.rows)))) * (1 + 1e-9)
    return (min(whole, Fraction(math.floor(smooth))) if math.isfinite(smooth) else whole) / read.unit


def _result(
    read: Colourable,
    lower: Fraction,
    upper: Fraction,
    *,
    least: int,
    columns: tuple[int, ...],
    colouring: Integers | None,
    method: str,
) -> Discrepancy:
    return Discrepancy(
        lower=down(max(Fraction(0), lower - read.slack)),
        upper=up(upper + read.slack),
        least=least,
        columns=columns,
        colouring=colouring,
        method=method,
    )
