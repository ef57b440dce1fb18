"""The nearest correlation matrix: the projection on the elliptope {X positive semidefinite, diagonal 1}.

Theorem (Malick 2004; Qi, Sun 2006).  Let (.)_+ keep the positive part of the spectrum.  The projection of a
symmetric G in the Frobenius norm is X = (G + Diag(y))_+ for any minimiser y of the convex function

    theta(y) = ||(G + Diag(y))_+||^2 / 2 - sum y,    whose gradient is diag((G + Diag(y))_+) - 1.

The gradient is semismooth, and Newton's method with conjugate gradients converges quadratically.  One step is
one spectral decomposition and a few products with the smaller side of the spectrum.  The first y is c times the ones,
where c makes the trace right: noise treats all coordinates alike, so little is left to do.  Floating point is
enough, since all this happens to noisy values.  Proof: docs/theory/parity_projection.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.errors import require
from discreet.threads import threads_by

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Matrix = npt.NDArray[np.float64]
    Vector = npt.NDArray[np.float64]

STEPS = 60  # Newton steps; about six are taken
HALVINGS = 30  # of one step, by the rule of Armijo


@threads_by(lambda target, **_named: len(target) ** 2)
def nearest_correlation(target: Matrix, *, tolerance: float = 1e-8) -> Matrix:
    """The correlation matrix nearest to a symmetric matrix; the diagonal of the target is ignored.

    `tolerance` is what the diagonal may be off by before it is made 1.  A target with entries of millions is pure
    noise, and leaves fewer digits.

    >>> import numpy as np
    >>> nearest_correlation(np.array([[1.0, 3.0], [3.0, 1.0]])).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    import numpy as np

    given = np.array(target, dtype=np.float64)
    square = given.ndim == 2 and given.shape[0] == given.shape[1] and given.shape[0] >= 1
    require(square and bool(np.isfinite(given).all()), "a finite square matrix", shape=given.shape)
    given = (given + given.T) / 2
    np.fill_diagonal(given, 1.0)
    dual, values, vectors = _start(given)
    goal = tolerance * max(1.0, float(values[-1])) + 1e-14 * len(given) * float(np.abs(given).max())  # and rounding
    for _ in range(STEPS):
        gradient = _diagonal(values, vectors) - 1
        if float(np.abs(gradient).max()) <= goal:
            break
        dual, values, vectors = _step(given, dual, values, vectors, gradient)
    return _correlation(values, vectors)


def positive_part(matrix: Matrix) -> Matrix:
    """The nearest positive semidefinite matrix, by the smaller side of the spectrum."""
    import numpy as np
    from scipy.linalg import eigh

    values, vectors = eigh(matrix, driver="evr", check_finite=False)
    cut = int(np.searchsorted(values, 0.0, side="right"))
    if 2 * cut >= len(values):
        kept = vectors[:, cut:]
        return (kept * values[cut:]) @ kept.T
    dropped = vectors[:, :cut]
    return matrix - (dropped * values[:cut]) @ dropped.T


def _start(given: Matrix) -> tuple[Vector, Vector, Matrix]:
    """y = (c, ..., c) with sum of (eigenvalue + c)_+ = d, and the spectrum there."""
    import numpy as np

    values, vectors = _spectrum(given, np.zeros(len(given)))
    falling = values[::-1]
    shifts = (len(values) - np.cumsum(falling)) / np.arange(
        1, len(values) + 1
    )  # right if exactly so many stay positive
    shift = float(shifts[int(np.flatnonzero(falling + shifts > 0)[-1])])
    return np.full(len(values), shift), values + shift, vectors


def _spectrum(given: Matrix, dual: Vector) -> tuple[Vector, Matrix]:
    """Eigenvalues, increasing, and eigenvectors of G + Diag(y)."""
    from scipy.linalg import eigh

    shifted = given.copy()
    shifted.flat[:: len(dual) + 1] += dual
    return eigh(shifted, driver="evr", overwrite_a=True, check_finite=False)


def _diagonal(values: Vector, vectors: Matrix) -> Vector:
    """The diagonal of the positive part."""
    kept = values > 0
    return (vectors[:, kept] ** 2) @ values[kept]


def _correlation(values: Vector, vectors: Matrix) -> Matrix:
    """The positive part, scaled so that the diagonal is exactly 1."""
    import numpy as np

    kept = vectors[:, values > 0] * np.sqrt(values[values > 0])
    kept /= np.maximum(np.linalg.norm(kept, axis=1, keepdims=True), 1e-300)
    made = kept @ kept.T
    np.fill_diagonal(made, 1.0)
    return made


def _theta(dual: Vector, values: Vector) -> float:
    """The function to be minimised, from the eigenvalues."""
    return float((values[values > 0] ** 2).sum() / 2 - dual.sum())


def _step(
    given: Matrix, dual: Vector, values: Vector, vectors: Matrix, gradient: Vector
) -> tuple[Vector, Vector, Matrix]:
    """Along the Newton direction, halved until theta falls enough: the new y and the spectrum there."""
    import numpy as np

    here = _theta(dual, values)
    norm = float(np.linalg.norm(gradient)) / len(dual) ** 0.5
    direction = _direction(values, vectors, gradient, accuracy=min(0.1, 0.1 * norm))
    slope, step = float(gradient @ direction), 1.0
    for _ in range(HALVINGS):
        values, vectors = _spectrum(given, dual + step * direction)
        if _theta(dual + step * direction, values) <= here + 1e-4 * step * slope + 1e-12 * abs(here):
            break
        step /= 2
    return dual + step * direction, values, vectors


def _direction(values: Vector, vectors: Matrix, gradient: Vector, *, accuracy: float) -> Vector:
    """-V^-1 gradient by conjugate gradients with the diagonal of V as preconditioner.

    V h = diag(P (Omega o (P^T Diag(h) P)) P^T), where Omega is 1 on pairs of positive eigenvalues, 0 on pairs of
    others, and a / (a - b) for a positive a and another b.  With more than half positive, 1 - Omega is used instead.
    """
    import numpy as np

    positive = values > 0
    swap = 2 * int(positive.sum()) > len(values)
    first = ~positive if swap else positive
    p, q = vectors[:, first], vectors[:, ~first]  # (d, r), (d, d - r)
    a, b = values[first][:, None], values[~first][None, :]
    omega = np.abs(a) / (np.abs(a) + np.abs(b) + 1e-300)  # (r, d - r)
    squares, others = p**2, q**2
    curvature = squares.sum(axis=1) ** 2 + 2 * ((squares @ omega) * others).sum(axis=1)

    def product(h: Vector) -> Vector:
        weighted = p.T * h  # (r, d)
        inner = weighted @ p @ p.T / 2 + (omega * (weighted @ q)) @ q.T
        moved = 2 * (p.T * inner).sum(axis=0)
        return (h - moved if swap else moved) + 1e-10 * h

    scaling = np.maximum(1 - curvature if swap else curvature, 1e-8)
    residual = -gradient
    found = np.zeros_like(gradient)
    conditioned = residual / scaling
    along, energy = conditioned, float(residual @ conditioned)
    goal = accuracy * float(np.linalg.norm(gradient))
    for _ in range(200):
        image = product(along)
        rate = energy / float(along @ image)
        found, residual = found + rate * along, residual - rate * image
        if float(np.linalg.norm(residual)) <= goal:
            break
        conditioned = residual / scaling
        energy, before = float(residual @ conditioned), energy
        along = conditioned + energy / before * along
    return found
