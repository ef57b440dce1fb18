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

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vector = npt.NDArray[np.float64]

TINY = 1e-12  # a weight that is none
RIDGE = 1e-13


@dataclass(frozen=True, slots=True, eq=False)
class Nearest:
    """A point of the hull as weights of some columns, and the certificate that it is nearly the nearest."""

    point: Vector
    places: list[int]
    weights: Vector
    gap: float
    steps: int


def nearest(
    target: Vector, oracle: Callable[[Vector], int], column: Callable[[int], Vector], *, gap: float, steps: int | None
) -> Nearest:
    """The point nearest to `target`, until the gap is at most `gap`, or that many columns were added.

    It ends early, with the gap it has, where floating point allows no point that is nearer.

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
        here = Nearest(target + rest, places, weights, found, step)
        if found <= gap or step == steps or place in places:
            return here
        step += 1
        products = corners @ corner
        gram = np.block([[gram, products[:, None]], [products, corner @ corner]])
        places, corners, weights = [*places, place], np.vstack([corners, corner]), np.append(weights, 0.0)
        weights, kept = _inside(gram, weights)
        places = [place for place, keep in zip(places, kept, strict=True) if keep]
        gram, corners = gram[np.ix_(kept, kept)], corners[kept]
        weights = _refined(gram, corners, weights)
        before, rest = float(rest @ rest), weights @ corners
        if not float(rest @ rest) < before:
            return here


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


def _refined(gram: npt.NDArray[np.float64], corners: npt.NDArray[np.float64], weights: Vector) -> Vector:
    """The same weights, after one step of Newton's from the products as they are at the point itself.

    Products of corners lose the digits that a point near the target needs; those with the point do not.
    """
    import numpy as np

    size = float(np.trace(gram)) / len(gram) + 1e-300
    slopes = corners @ (weights @ corners) / size
    system = gram / size + 1.0 + RIDGE * np.eye(len(gram))
    step, level = np.linalg.solve(system, np.column_stack([slopes - slopes.mean(), np.ones(len(gram))])).T
    moved = weights - step + level * (step.sum() / level.sum())
    return moved / moved.sum() if moved.min() > TINY else weights


def _affine(gram: npt.NDArray[np.float64]) -> Vector:
    """The weights, summing to 1, of the point of least norm in the affine hull of points with these products."""
    import numpy as np

    size = float(np.trace(gram)) / len(gram) + 1e-300
    ridge = RIDGE * np.eye(len(gram))  # points that depend on one another leave the system singular
    solved = np.linalg.solve(gram / size + 1.0 + ridge, np.ones(len(gram)))
    return solved / solved.sum()
