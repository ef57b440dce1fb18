"""What a local factorization needs of its factors: W = v 1^T + R A, with the radius of the columns of A.

    ThresholdFactors   running counts: closed form, any number of cells, by fast transforms
    DenseFactors       any matrix: the best of three centres v (none, the middle of each query's range, its mean), each
                       with the factors of `gamma2`, brought to as many dimensions as W - v 1^T has

Theorem.  If W - v 1^T = R A and P projects onto the row space of R, then W - v 1^T = (R P) (P A), no column of P A is
longer than that of A and R P = R: fewer dimensions cost nothing.  Proof: docs/theory/local_factorization.md.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from discreet.errors import UnsupportedError, require
from discreet.local.threshold_factors import columns, decoded, moduli
from discreet.queries.ordered import Thresholds
from discreet.queries.workload import DENSEST, Workload, a_matrix
from discreet.release.gamma2 import gamma2
from discreet.threads import threads_by

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Whole = npt.NDArray[np.int64]

TINY = 1e-9  # relative size of singular values that are rounding


class Factors(Protocol):
    """R, A and v, however they are kept."""

    @property
    def name(self) -> str:
        """What a fingerprint is made of."""
        ...

    @property
    def queries(self) -> int:
        """How many rows W has."""
        ...

    @property
    def cells(self) -> int:
        """How many columns."""
        ...

    @property
    def dimension(self) -> int:
        """How many rows A has."""
        ...

    @property
    def radius(self) -> float:
        """The largest norm of a column of A."""
        ...

    @property
    def rows(self) -> Floats:
        """The norm of each row of R."""
        ...

    def encode(self, cells: Whole) -> Floats:
        """The columns of A for these cells, as rows."""
        ...

    def decode(self, vector: Floats) -> Floats:
        """v + R vector."""
        ...

    def worst(self, across: float, more: float) -> Floats:
        """For each query, the largest over cells of across |R_i|^2 + more (R_i . u)^2 - (R_i . a)^2."""
        ...


@dataclass(frozen=True, slots=True)
class ThresholdFactors:
    """Running counts over `cells` cells."""

    cells: int

    @property
    def name(self) -> str:
        """The cells say all."""
        return f"thresholds {self.cells}"

    @property
    def queries(self) -> int:
        """As many as cells; the last is 1 for everybody."""
        return self.cells

    @property
    def dimension(self) -> int:
        """One less than cells."""
        return self.cells - 1

    @property
    def radius(self) -> float:
        """That of every column."""
        return float(moduli(self.dimension).mean()) ** 0.5

    @property
    def rows(self) -> Floats:
        """All the same but the last, which is zero."""
        import numpy as np

        found = np.full(self.cells, self.radius / 2)
        found[-1] = 0
        return found

    def encode(self, cells: Whole) -> Floats:
        """Windows of one vector."""
        return columns(self.dimension, cells)

    def decode(self, vector: Floats) -> Floats:
        """1/2 + R vector, and 1."""
        import numpy as np

        return np.append(0.5 + decoded(vector), 1.0)

    def worst(self, across: float, more: float) -> Floats:
        """Every column has the same norm, and every centred entry the same square 1/4."""
        import numpy as np

        found = across * self.rows**2 + more / (4 * self.radius**2) - 0.25
        found[-1] = 0
        return np.maximum(found, 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class DenseFactors:
    """R (queries, dimension), A (dimension, cells) and v (queries,)."""

    left: Floats
    right: Floats
    centre: Floats

    @property
    def name(self) -> str:
        """The entries of A and of the answers to single cells, to six decimals."""
        import numpy as np

        parts = (self.right, self.left @ self.right + self.centre[:, None])
        digest = hashlib.sha256()
        for part in parts:
            digest.update(f"{part.shape}".encode() + (np.rint(part * 1e6) + 0.0).tobytes())
        return digest.hexdigest()

    @property
    def queries(self) -> int:
        """The rows of R."""
        return len(self.left)

    @property
    def cells(self) -> int:
        """The columns of A."""
        return self.right.shape[1]

    @property
    def dimension(self) -> int:
        """The rows of A."""
        return len(self.right)

    @property
    def radius(self) -> float:
        """The largest norm of a column of A."""
        import numpy as np

        return float(np.linalg.norm(self.right, axis=0).max())

    @property
    def rows(self) -> Floats:
        """The norm of each row of R."""
        import numpy as np

        return np.linalg.norm(self.left, axis=1)

    def encode(self, cells: Whole) -> Floats:
        """The columns of A."""
        return self.right.T[cells]

    def decode(self, vector: Floats) -> Floats:
        """v + R vector."""
        return self.centre + self.left @ vector

    def worst(self, across: float, more: float) -> Floats:
        """Over all cells; a shorter column is rounded to one of full length, which is no less spread."""
        import numpy as np

        norms = np.linalg.norm(self.right, axis=0)
        entries = (self.left @ self.right) ** 2
        along = entries / np.where(norms > 0, norms, 1.0) ** 2
        if (norms == 0).any():  # the first axis is the direction of nothing
            along[:, norms == 0] = self.left[:, :1] ** 2
        return np.maximum((across * self.rows[:, None] ** 2 + more * along - entries).max(axis=1), 0.0)


def factors_of(workload: Workload | npt.ArrayLike, *, strategy: npt.ArrayLike | None = None) -> Factors:
    """The factors for a workload: those of least norm that are known, or those of a given strategy."""
    if isinstance(workload, Thresholds) and strategy is None and workload.domain.size > 1:
        return ThresholdFactors(workload.domain.size)
    matrix = _matrix(workload)
    if strategy is not None:
        return _through(matrix, strategy)
    return min((_centred(matrix, centre) for centre in _centres(matrix)), key=lambda f: f.radius * f.rows.max())


def _matrix(workload: Workload | npt.ArrayLike) -> Floats:
    import numpy as np

    if isinstance(workload, Workload):
        if workload.shape[0] * workload.shape[1] > DENSEST:
            raise UnsupportedError(
                f"a workload of {workload.shape[0]} queries and {workload.shape[1]} cells is too large"
            )
        found = workload.matrix().astype(np.float64)
    else:
        found = a_matrix(workload)
    require(found.ndim == 2 and found.size > 0, "a matrix (queries, cells)", dimensions=found.ndim)
    require(bool(np.isfinite(found).all()), "finite entries", shape=found.shape)
    require(bool((found != found[:, :1]).any()), "a query that depends on the value", shape=found.shape)
    return found


def _centres(matrix: Floats) -> list[Floats]:
    import numpy as np

    middle = (matrix.max(axis=1) + matrix.min(axis=1)) / 2
    return [np.zeros(len(matrix)), middle, matrix.mean(axis=1)]


@threads_by(lambda matrix, *_: matrix.size)
def _centred(matrix: Floats, centre: Floats) -> DenseFactors:
    import numpy as np

    rest = matrix - centre[:, None]
    _, first = np.unique(rest, axis=0, return_inverse=True)
    kinds = np.unique(rest, axis=0)  # repeated queries are one query
    some = np.abs(kinds).max(axis=1) > 0
    found = gamma2(kinds[some])
    left = np.zeros((len(kinds), found.right.shape[0]))
    left[some] = found.left
    return _fewer(left[first.reshape(-1)], found.right, centre)


@threads_by(lambda matrix, *_: matrix.size)
def _through(matrix: Floats, strategy: npt.ArrayLike) -> DenseFactors:
    """R = (W - v 1^T) A^+ for a given A, with the centre that it can express."""
    import numpy as np

    right = a_matrix(strategy)
    shaped = right.ndim == 2 and right.shape[1] == matrix.shape[1]
    require(shaped and bool(np.isfinite(right).all()), "a finite strategy (rows, cells)", shape=right.shape)
    for centre in _centres(matrix):
        rest = matrix - centre[:, None]
        left = np.asarray(np.linalg.lstsq(right.T, rest.T, rcond=None)[0].T, dtype=np.float64)
        if np.abs(left @ right - rest).max() <= TINY * max(1.0, float(np.abs(matrix).max())):
            return DenseFactors(left, right, centre)
    raise UnsupportedError(
        "the strategy cannot answer this workload: W - v 1^T is not R A for any centre v that is tried"
    )


@threads_by(lambda left, *_: left.size)
def _fewer(left: Floats, right: Floats, centre: Floats) -> DenseFactors:
    """The same product through the row space of R; signs are fixed so that everybody has the same."""
    import numpy as np

    u, sizes, v = np.linalg.svd(left, full_matrices=False)
    kept = sizes > TINY * sizes[0]
    u, sizes, v = u[:, kept], sizes[kept], v[kept]
    largest = v[np.arange(len(v)), np.abs(v).argmax(axis=1)]
    signs = np.where(largest < 0, -1.0, 1.0)
    return DenseFactors(u * (sizes * signs), (v * signs[:, None]) @ right, centre)
