"""A lower bound on a trace norm that no rounding error can make false.

Theorem.  Let K be symmetric and positive semidefinite, and let V, l >= 0 and numbers eta, e be such that

    ||V^T V - I||_F <= eta < 1   and   ||K - V diag(l) V^T||_F <= e.

Then the trace of the root of K is at least  sum over i of sqrt(max(0, (1 - eta) l_i - e)).
V and l come from any eigenvalue routine, trusted or not; eta and e are computed afterwards, and enlarged by
what the computation of a product of matrices can be wrong by.  Proof: docs/theory/gamma2.md.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from discreet.release.gamma2_sets import UNIT

if TYPE_CHECKING:
    from discreet.release.gamma2_sets import Reals


def trace_of_root(matrix: Reals, values: Reals, vectors: Reals, *, error: float) -> float:
    """At most the trace of the root of any positive semidefinite matrix within `error` of this one in Frobenius norm.

    >>> import numpy as np
    >>> values, vectors = np.linalg.eigh(np.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> bound = trace_of_root(np.array([[2.0, 1.0], [1.0, 2.0]]), values, vectors, error=0.0)
    >>> 0 < 1 + math.sqrt(3) - bound < 1e-13
    True
    """
    import numpy as np

    size = len(values)
    sums = (size + 8) * UNIT  # the relative error of an inner product, rounded up
    kept = np.maximum(values, 0.0)
    overlap = vectors.T @ vectors
    overlap[np.diag_indices(size)] -= 1.0
    spread = float(np.linalg.norm(vectors)) ** 2
    eta = (float(np.linalg.norm(overlap)) + sums * spread) * (1 + 1e-9)
    scaled = vectors * kept
    left = matrix - scaled @ vectors.T
    wrong = float(np.linalg.norm(left)) + sums * (float(np.linalg.norm(scaled)) * math.sqrt(spread))
    wrong = (wrong + sums * float(np.linalg.norm(matrix)) + error) * (1 + 1e-9)
    if not eta < 1 or not math.isfinite(wrong):
        return 0.0
    roots = np.sqrt(np.maximum(0.0, (1 - eta - 8 * UNIT) * kept - wrong))
    return max(0.0, math.fsum(roots.tolist()) * (1 - 4 * UNIT))
