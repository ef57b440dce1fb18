"""Vector discrepancy: a certified lower bound from weights on the queries.

Theorem (Lovasz's vector colourings; the dual of the semidefinite program).  Let y >= 0 sum to 1, u >= 0, and
G(y) = sum over queries i of y_i w_i w_i^T.  Every z in {-1, 0, 1}^N with at least k entries that are not 0 has

    |W z|^2 >= k lambda - sum of u     in the largest norm, where lambda is the least eigenvalue of G(y) + diag(u),

if lambda >= 0.  The best y and u give the value of the relaxation in which entries of z are vectors of norm at most 1.

The search is ours: quasi-Newton ascent of a soft minimum of the eigenvalues, which hardens.  What it finds is then
certified: the eigenvalue is bounded from below by the residual of its decomposition, with outward rounding, so that no
error of the search or of the eigenvalue routine can make the bound false.  Proof: docs/theory/discrepancy.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.threads import threads_by

if TYPE_CHECKING:
    from typing import Any

    import numpy.typing as npt

    from discreet.bounds.discrepancy_matrix import Integers

    Reals = npt.NDArray[Any]

UNIT = 2.0**-52  # twice the relative error of one operation
SOFTNESS = (0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4)  # of the minimum, relative to the mean eigenvalue
STEPS = 250  # of the ascent for each softness
EXPONENT = -700.0  # below, an exponential is 0


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class VectorBound:
    """No partial colouring has a value whose square is below `squared`; `weights` and `lift` are y and u."""

    squared: float
    weights: Reals
    lift: Reals


@threads_by(lambda rows, *_, **_named: max(rows.size, rows.shape[1] ** 2))
def vector_bound(rows: Integers, least: int, *, enough: float = math.inf) -> VectorBound:
    """The certified bound for colourings of at least `least` columns; the search ends once it exceeds `enough`.

    >>> import numpy as np
    >>> round(math.sqrt(vector_bound(np.array([[1, 1], [1, -1]]), 2).squared), 6)  # Hadamard: sqrt(2)
    1.414214
    """
    import numpy as np
    from scipy.optimize import minimize

    matrix = rows.astype(np.float64)
    queries, columns = matrix.shape
    scale = float((matrix**2).sum()) / (queries * columns)
    if not scale:
        return VectorBound(squared=0.0, weights=np.full(queries, 1 / queries), lift=np.zeros(columns))
    matrix = matrix / math.sqrt(scale)
    point = np.zeros(queries + columns)
    limits = [(None, None)] * queries + [(0.0, None)] * columns
    best = certified(rows, least, np.full(queries, 1 / queries), np.zeros(columns))
    for softness in SOFTNESS:
        if best.squared > enough:
            break
        found = minimize(
            _soft, point, args=(matrix, least, softness), jac=True, method="L-BFGS-B", bounds=limits,
            options={"maxiter": STEPS},
        )  # fmt: skip
        point = found.x
        weights = _softmax(point[:queries])
        best = max(best, certified(rows, least, weights, scale * point[queries:]), key=lambda bound: bound.squared)
    return best


def _soft(point: Reals, matrix: Reals, least: int, softness: float) -> tuple[float, Reals]:
    """Minus the soft dual value, and its gradient."""
    import numpy as np

    queries = len(matrix)
    weights, lift = _softmax(point[:queries]), point[queries:]
    form = (matrix.T * weights) @ matrix
    form[np.diag_indices_from(form)] += lift
    values, vectors = np.linalg.eigh(form)
    shares = np.exp(np.maximum((values[0] - values) / softness, EXPONENT))
    total = float(shares.sum())
    value = float(values[0]) - softness * math.log(total)
    density = (vectors * (shares / total)) @ vectors.T
    pull = least * np.einsum("ij,ij->i", matrix @ density, matrix)
    slope = np.concatenate([weights * (pull - weights @ pull), least * np.diag(density) - 1.0])
    return float(lift.sum()) - least * value, -slope


def _softmax(logits: Reals) -> Reals:
    import numpy as np

    powers = np.exp(np.maximum(logits - logits.max(), EXPONENT))
    return powers / powers.sum()


def certified(rows: Integers, least: int, weights: Reals, lift: Reals) -> VectorBound:
    """The bound that these weights prove, rounded down.

    >>> import numpy as np
    >>> 3.999999 < certified(np.eye(4) * 4, 1, np.full(4, 0.25), np.zeros(4)).squared <= 4
    True
    """
    import numpy as np

    weights, lift = np.maximum(weights, 0.0), np.maximum(lift, 0.0)
    matrix = np.asarray(rows, dtype=np.float64)  # integers below 2^53: exact
    queries = len(matrix)
    form = (matrix.T * weights) @ matrix
    sums = (queries + 8) * UNIT
    drift = sums * float(((matrix**2).sum(axis=1) * weights).sum())  # the products, in Frobenius norm
    form[np.diag_indices_from(form)] += lift
    drift += UNIT * float(np.linalg.norm(form))
    eigenvalue = least_eigenvalue(form) - drift * (1 + 1e-9)
    total = math.fsum(weights.tolist()) * (1 + 2 * UNIT)
    if eigenvalue <= 0:
        return VectorBound(squared=0.0, weights=weights, lift=lift)
    bound = least * eigenvalue * (1 - 4 * UNIT) - math.fsum(lift.tolist()) * (1 + 4 * UNIT)
    return VectorBound(squared=max(0.0, bound / total * (1 - 4 * UNIT)), weights=weights, lift=lift)


def least_eigenvalue(form: Reals) -> float:
    """At most the least eigenvalue of a symmetric matrix, whatever the eigenvalue routine did.

    >>> import numpy as np
    >>> 0 <= 1 - least_eigenvalue(np.array([[2.0, 1.0], [1.0, 2.0]])) < 1e-13
    True
    """
    import numpy as np

    values, vectors = np.linalg.eigh(form)
    size = len(values)
    sums = (size + 8) * UNIT
    spread = float(np.linalg.norm(vectors)) ** 2
    overlap = vectors.T @ vectors
    overlap[np.diag_indices(size)] -= 1.0
    eta = (float(np.linalg.norm(overlap)) + sums * spread) * (1 + 1e-9)
    scaled = vectors * values
    left = form - scaled @ vectors.T
    wrong = float(np.linalg.norm(left)) + sums * float(np.linalg.norm(scaled)) * math.sqrt(spread)
    wrong = (wrong + sums * float(np.linalg.norm(form))) * (1 + 1e-9)
    least = float(values.min())
    if not eta < 1 or not math.isfinite(wrong):
        return -math.inf
    return least * (1 - eta if least >= 0 else 1 + eta) - wrong
