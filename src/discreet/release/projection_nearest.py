"""The nearest point of a polytope that is known by a linear oracle alone.

Theorem (Wolfe 1976).  Let K be the convex hull of columns w_1, ..., w_N and z a point of it, r = y - z.  Then

    gap = max over j of <r, w_j> - <r, z>  >=  0,    ||z - z*||^2 <= gap,    ||z - v||^2 <= <y - v, z - v> + gap

for the nearest point z* to y and for every v in K.  So the gap certifies z, however it was found.  Here it is found by
the min-norm-point algorithm: add the column with the largest <r, w_j>, go to the nearest point of the affine hull of
the columns in use, and drop those that get weight zero on the way.  It ends, and every step needs one `transpose` of
the workload and one of its columns.  Proof: docs/theory/projection.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.data.records import Records
from discreet.errors import UnsupportedError
from discreet.queries.marginals import Marginals
from discreet.queries.workload import Workload

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vector = npt.NDArray[np.float64]

ORIGIN = -1  # the place of the point 0, where the hull includes it
TINY = 1e-12  # a weight that is none


@dataclass(frozen=True, slots=True, eq=False)
class Nearest:
    """A point of the hull as weights of some columns, and the certificate that it is nearly the nearest."""

    point: Vector
    places: list[int]
    weights: Vector
    gap: float
    steps: int


def nearest(
    target: Vector, oracle: Callable[[Vector], int], column: Callable[[int], Vector], *, gap: float, steps: int
) -> Nearest:
    """The point nearest to `target`, until the gap is at most `gap` or that many columns were added.

    >>> import numpy as np
    >>> corners = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
    >>> found = nearest(np.array([3.0, 3.0]), lambda r: int(np.argmax(corners @ r)), lambda j: corners[j],
    ...                 gap=1e-9, steps=100)
    >>> found.point.round(6).tolist(), found.steps
    ([2.0, 2.0], 1)
    """
    import numpy as np

    places = [oracle(target)]
    corners = (column(places[0]) - target)[None, :]  # seen from the target: (columns in use, queries)
    gram, weights = corners @ corners.T, np.ones(1)
    rest, step = corners[0], 0  # the point, seen from the target
    while True:
        place = oracle(-rest)
        corner = column(place) - target
        found = max(0.0, float(rest @ (rest - corner)))
        if found <= gap or step == steps or place in places:
            return Nearest(target + rest, places, weights, found, step)
        step += 1
        products = corners @ corner
        gram = np.block([[gram, products[:, None]], [products, corner @ corner]])
        places, corners, weights = [*places, place], np.vstack([corners, corner]), np.append(weights, 0.0)
        weights, kept = _inside(gram, weights)
        places = [place for place, keep in zip(places, kept, strict=True) if keep]
        gram, corners = gram[np.ix_(kept, kept)], corners[kept]
        rest = weights @ corners


def _inside(gram: npt.NDArray[np.float64], weights: Vector) -> tuple[Vector, npt.NDArray[np.bool_]]:
    """The weights of the nearest point of a hull, from those of a point of it, and which corners are left in use."""
    import numpy as np

    used = np.arange(len(gram))
    while True:
        affine = _affine(gram[np.ix_(used, used)])
        if affine.min() > TINY:
            kept = np.zeros(len(gram), dtype=bool)
            kept[used] = True
            return affine, kept
        falling = affine <= TINY
        ratios = weights[falling] / np.maximum(weights[falling] - affine[falling], 1e-300)
        share = min(1.0, float(ratios.min()))
        weights = (1 - share) * weights + share * affine
        left = weights > TINY
        left[np.argmax(weights)] = True
        used, weights = used[left], weights[left] / weights[left].sum()


def _affine(gram: npt.NDArray[np.float64]) -> Vector:
    """The weights, summing to 1, of the point of least norm in the affine hull of points with these products."""
    import numpy as np

    size = float(np.trace(gram)) / len(gram) + 1e-300
    solved = np.linalg.lstsq(gram / size + 1.0, np.ones(len(gram)), rcond=1e-13)[0]
    return solved / solved.sum()


def hull(workload: Workload, rows: float, *, origin: bool) -> tuple[Callable[[Vector], int], Callable[[int], Vector]]:
    """The oracle and the columns of `rows` times the hull of the workload's columns, and of 0 if `origin`."""
    import numpy as np

    def oracle(direction: Vector) -> int:
        scores = workload.transpose(direction)
        best = int(np.argmax(scores))
        return ORIGIN if origin and scores[best] <= 0 else best

    given = _table_column(workload) if isinstance(workload, Marginals) else _column(workload)

    def column(place: int) -> Vector:
        return np.zeros(len(workload)) if place == ORIGIN else rows * given(place)

    return oracle, column


def _column(workload: Workload) -> Callable[[int], Vector]:
    """A column of any workload: the answers on one row, or on a histogram of one cell."""
    import numpy as np

    sizes = [declared.size for declared in workload.domain.values()]

    def column(place: int) -> Vector:
        positions = [np.array([at]) for at in np.unravel_index(place, sizes)]
        try:
            answers = workload.from_marginals(Records(workload.domain, positions))
        except UnsupportedError:
            cell = np.zeros(workload.domain.size)
            cell[place] = 1.0
            answers = workload.apply(cell)
        return np.asarray(answers, dtype=np.float64)

    return column


def _table_column(workload: Marginals) -> Callable[[int], Vector]:
    """A column of marginal tables: one cell of each."""
    import numpy as np

    names = list(workload.domain)
    sizes = [declared.size for declared in workload.domain.values()]
    strides = np.zeros((len(workload.sets), len(names)), dtype=np.int64)  # (tables, columns)
    for table, chosen in enumerate(workload.sets):
        step = 1
        for name in reversed(chosen):
            strides[table, names.index(name)] = step
            step *= workload.domain[name].size
    first = np.cumsum([0, *workload.sizes[:-1]])
    weights = np.array([float(weight) for weight in workload.weights])

    def column(place: int) -> Vector:
        made = np.zeros(len(workload))
        made[first + strides @ np.array(np.unravel_index(place, sizes))] = weights
        return made

    return column
