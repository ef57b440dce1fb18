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
from discreet.queries.workload import Workload

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vector = npt.NDArray[np.float64]

ORIGIN = -1  # the place of the point 0, where the hull includes it


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
    corners = column(places[0])[None, :].copy()  # (columns in use, queries)
    weights, point, step, found = np.ones(1), corners[0], 0, np.inf
    while True:
        rest = target - point
        place = oracle(rest)
        corner = column(place)
        found = max(0.0, float(rest @ (corner - point)))
        if found <= gap or step == steps or place in places:
            return Nearest(point, places, weights, found, step)
        step += 1
        places, corners, weights = [*places, place], np.vstack([corners, corner]), np.append(weights, 0.0)
        while True:
            affine = _affine(corners - target)
            if affine.min() > 1e-12:
                weights = affine
                break
            falling = affine <= 1e-12
            ratios = weights[falling] / np.maximum(weights[falling] - affine[falling], 1e-300)
            share = min(1.0, float(ratios.min()))
            weights = (1 - share) * weights + share * affine
            kept = weights > 1e-12
            kept[np.argmax(weights)] = True
            places, corners = [p for p, keep in zip(places, kept, strict=True) if keep], corners[kept]
            weights = weights[kept] / weights[kept].sum()
        point = weights @ corners


def _affine(corners: npt.NDArray[np.float64]) -> Vector:
    """The weights, summing to 1, of the point of least norm in the affine hull of the rows."""
    import numpy as np

    gram = corners @ corners.T
    size = float(np.trace(gram)) / len(gram) + 1e-300
    solved = np.linalg.lstsq(gram / size + 1.0, np.ones(len(gram)), rcond=1e-13)[0]
    return solved / solved.sum()


def hull(workload: Workload, rows: float, *, origin: bool) -> tuple[Callable[[Vector], int], Callable[[int], Vector]]:
    """The oracle and the columns of `rows` times the hull of the workload's columns, and of 0 if `origin`."""
    import numpy as np

    sizes = [declared.size for declared in workload.domain.values()]

    def oracle(direction: Vector) -> int:
        scores = workload.transpose(direction)
        best = int(np.argmax(scores))
        return ORIGIN if origin and scores[best] <= 0 else best

    def column(place: int) -> Vector:
        if place == ORIGIN:
            return np.zeros(len(workload))
        positions = [np.array([at]) for at in np.unravel_index(place, sizes)]
        try:
            answers = workload.from_marginals(Records(workload.domain, positions))
        except UnsupportedError:
            cell = np.zeros(workload.domain.size)
            cell[place] = 1.0
            answers = workload.apply(cell)
        return rows * np.asarray(answers, dtype=np.float64)

    return oracle, column
