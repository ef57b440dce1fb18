"""Projection on the polytope of two-way parities itself, over all sign vectors: for a few attributes.

Theorem (Wolfe 1976).  The point of a polytope nearest to a target is found in finitely many steps by adding the vertex
that reaches furthest toward the target, moving to the nearest point of the affine hull of the vertices kept,
and dropping those whose weight would become negative.  The vertex is found by trying all 2^(d-1) of
them, which is a maximum cut and has no fast algorithm.  Proof: docs/theory/parity_projection.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.errors import UnsupportedError, require
from discreet.threads import threads_by

if TYPE_CHECKING:
    from discreet.structured.parities.correlation import Matrix, Vector

LARGEST = 20  # attributes
STEPS = 5_000


@threads_by(lambda target, **_named: len(target) << max(0, len(target) - 1))
def nearest_in_polytope(target: Matrix, *, tolerance: float = 1e-9) -> Matrix:
    """The point of the hull of all v v^T nearest to the target off the diagonal, as a matrix with diagonal 1.

    >>> import numpy as np
    >>> nearest_in_polytope(np.array([[1.0, 3.0], [3.0, 1.0]])).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    import numpy as np

    given = np.array(target, dtype=np.float64)
    d = len(given)
    require(1 <= d <= LARGEST, f"at most {LARGEST} attributes, as all sign vectors are tried", d=d)
    rows, columns = np.triu_indices(d, 1)
    goal = given[rows, columns]
    signs = _signs(d)  # (2^(d-1), d)
    vertex = _furthest(signs, given)
    points = (vertex[rows] * vertex[columns])[None, :] - goal  # (kept, pairs)
    weights = np.ones(1)
    for _ in range(STEPS):
        here = np.asarray(weights @ points, dtype=np.float64)
        matrix = np.zeros((d, d))
        matrix[rows, columns] = -here
        vertex = _furthest(signs, matrix + matrix.T)
        reached = vertex[rows] * vertex[columns] - goal
        if float(here @ here - here @ reached) <= tolerance * (1 + float(here @ here)):
            return _filled(here + goal, d)
        points, weights = _corrected(np.vstack([points, reached]), np.append(weights, 0.0))
    raise UnsupportedError(f"the projection was not reached in {STEPS} steps; use a larger tolerance")


def best_cut(matrix: Matrix) -> float:
    """The largest sum over i < j of M_ij v_i v_j over all sign vectors v."""
    import numpy as np

    vertex = _furthest(_signs(len(matrix)), matrix)
    return float(vertex @ np.triu(matrix, 1) @ vertex)


def _signs(d: int) -> Matrix:
    """All sign vectors whose first entry is 1."""
    import numpy as np

    bits = (np.arange(1 << (d - 1))[:, None] >> np.arange(d)) & 1
    return np.roll((1 - 2 * bits).astype(np.float64), 1, axis=1)


def _furthest(signs: Matrix, matrix: Matrix) -> Vector:
    """The sign vector with the largest sum over i < j of M_ij v_i v_j."""
    import numpy as np

    half = np.triu(matrix, 1)
    return signs[int(np.argmax(((signs @ half) * signs).sum(axis=1)))]


def _corrected(points: Matrix, weights: Vector) -> tuple[Matrix, Vector]:
    """The nearest point of the hull of the points, reached from the weights given: Wolfe's inner loop."""
    import numpy as np

    while True:
        gram = points @ points.T
        size = max(1.0, float(np.trace(gram)) / len(gram))
        system = gram + size + 1e-13 * size * np.eye(len(gram))  # (e e^T + gram) u = e
        solved = np.linalg.solve(system, np.ones(len(gram)))
        solved /= solved.sum()
        if float(solved.min()) > 1e-12:
            return points, solved
        falling = solved <= 1e-12
        ratios = weights[falling] / np.maximum(weights[falling] - solved[falling], 1e-300)
        share = min(1.0, float(ratios.min()))
        weights = (1 - share) * weights + share * solved
        kept = weights > 1e-12
        kept[np.flatnonzero(falling)[int(np.argmin(ratios))]] = False
        points, weights = points[kept], weights[kept] / weights[kept].sum()


def _filled(pairs: Vector, d: int) -> Matrix:
    """Pairs in row order as a symmetric matrix with diagonal 1."""
    import numpy as np

    made = np.zeros((d, d))
    made[np.triu_indices(d, 1)] = pairs
    return made + made.T + np.eye(d)
