"""Projection on the Grothendieck body: inner products of unit vectors.

Theorem.  Let L be the symmetric d x d matrices H with H_ij = <u_i, w_j> for unit vectors u_i, w_j, as far as
they are off the diagonal.  Then H is in L if and only if, with some diagonal,

    H = (P - N) / 2   for positive semidefinite P, N with diag(P + N) = 2,

so L is convex, contains +-v v^T for every sign vector v, and is contained in K times the hull of these, where
K <= pi / (2 ln(1 + sqrt 2)) = 1.7822 (Krivine 1979; the notes allow 2).  With P and N apart the
projection splits into two projections on the positive semidefinite cone and a step in closed form, which are
alternated (ADMM; Boyd et al. 2011).  L serves where signs of rows are unknown; where the number of
rows is public the elliptope is smaller.  Proof: docs/theory/parity_projection.md.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from discreet.errors import require
from discreet.structured.parities.correlation import positive_part

if TYPE_CHECKING:
    from discreet.structured.parities.correlation import Matrix

KRIVINE = math.pi / (2 * math.log(1 + math.sqrt(2)))  # at least Grothendieck's constant
STEPS = 2_000
RELAXED = 1.7  # over-relaxation


def nearest_inner_products(target: Matrix, *, tolerance: float = 1e-6) -> Matrix:
    """The matrix of L nearest to the target off the diagonal; the diagonal returned is 0.

    Ends when nothing moves by more than `tolerance`, or after `STEPS` steps: next to the boundary the last digits
    come slowly.

    >>> import numpy as np
    >>> found = nearest_inner_products(np.array([[0.0, 3.0], [3.0, 0.0]]))
    >>> bool(abs(found[0, 1] - 1) < 1e-5)
    True
    """
    import numpy as np

    given = np.array(target, dtype=np.float64)
    square = given.ndim == 2 and given.shape[0] == given.shape[1] and given.shape[0] >= 1
    require(square and bool(np.isfinite(given).all()), "a finite square matrix", shape=given.shape)
    given = (given + given.T) / 2
    np.fill_diagonal(given, 0.0)
    weight = 0.5  # of the agreement of P, N with A + H, A - H
    p, n = np.eye(len(given)), np.eye(len(given))
    off_p, off_n = np.zeros_like(given), np.zeros_like(given)  # scaled multipliers
    h = given
    for step in range(STEPS):
        near_p, near_n = p + off_p, n + off_n
        a = (near_p + near_n) / 2
        np.fill_diagonal(a, 1.0)
        h = (given + weight * (near_p - near_n)) / (1 + 2 * weight)
        np.fill_diagonal(h, np.diag(near_p - near_n) / 2)
        last_p, last_n = p, n
        to_p, to_n = RELAXED * (a + h) + (1 - RELAXED) * p, RELAXED * (a - h) + (1 - RELAXED) * n
        p, n = positive_part(to_p - off_p), positive_part(to_n - off_n)
        off_p, off_n = off_p + p - to_p, off_n + n - to_n
        apart = max(float(np.abs(p - a - h).max()), float(np.abs(n - a + h).max()))
        moved = weight * max(float(np.abs(p - last_p).max()), float(np.abs(n - last_n).max()))
        if max(apart, moved) <= tolerance:
            break
        if step % 20 == 19 and max(apart, moved) > 5 * min(apart, moved):  # keep the two in balance
            factor = 2.0 if apart > moved else 0.5
            weight, off_p, off_n = weight * factor, off_p / factor, off_n / factor
    np.fill_diagonal(h, 0.0)
    return h
