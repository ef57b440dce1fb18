"""Sets of vectors that a factorization must serve: the queries, as rows, and the neighbours, as columns.

A set S of vectors s_1, ..., s_m in R^k has two operations, by which all else is computed, without a large matrix:

    gram(w)     sum over i of w_i s_i s_i^T     (k x k)
    norms(Y)    s_i^T Y s_i for every i

    Written     the rows of a matrix
    Prefixes    the prefixes of k positions: running sums
    Intervals   all intervals of positions: differences of running sums
    Cells       the k unit vectors
    Pairs       all unit vectors and all differences of two: what one replaced row may move

With a public number of rows the last position is known from the others, so queries and neighbours live in one dimension
less: an interval that ends at the last position is, but for a known constant, the negative of a prefix.

Lemma.  For weights that sum to 1 (to rounding), gram(w) differs from its computed value by at most `drift` in Frobenius
norm: sums of numbers of one sign, in any order, and inner products.  Proof: docs/theory/gamma2.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from typing import Any

    import numpy.typing as npt

    Reals = npt.NDArray[Any]  # of floats, of whatever width numpy's stubs name

UNIT = 2.0**-52  # twice the relative error of one operation


class Vectors(Protocol):
    """A set of vectors in `dimension` coordinates."""

    @property
    def size(self) -> int:
        """How many vectors."""
        ...

    @property
    def dimension(self) -> int:
        """Of the space."""
        ...

    def drift(self, gram: Reals) -> float:
        """The bound of the lemma."""
        ...

    def gram(self, weights: Reals) -> Reals:
        """The weighted sum of squares s s^T."""
        ...

    def norms(self, form: Reals) -> Reals:
        """The quadratic form on every vector."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Written:
    """The rows of a matrix.

    >>> import numpy as np
    >>> Written(np.array([[3.0, 4.0]])).norms(np.eye(2))
    array([25.])
    """

    matrix: Reals

    @property
    def size(self) -> int:
        """The rows."""
        return self.matrix.shape[0]

    @property
    def dimension(self) -> int:
        """The columns."""
        return self.matrix.shape[1]

    def drift(self, gram: Reals) -> float:
        """That of an inner product."""
        return (self.size + 4) * UNIT * float(gram.trace())

    def gram(self, weights: Reals) -> Reals:
        """M^T diag(w) M."""
        return (self.matrix.T * weights) @ self.matrix

    def norms(self, form: Reals) -> Reals:
        """The diagonal of M Y M^T."""
        import numpy as np

        return np.einsum("ij,ij->i", self.matrix @ form, self.matrix)


@dataclass(frozen=True, slots=True)
class Prefixes:
    """The prefixes of `positions` cells; where the total is known, the last prefix is, and the last cell is dropped."""

    positions: int
    known_total: bool = False

    @property
    def size(self) -> int:
        """One for each position."""
        return self.positions

    @property
    def dimension(self) -> int:
        """The cells that are not known from the others."""
        return self.positions - self.known_total

    def drift(self, gram: Reals) -> float:
        """That of a running sum."""
        return (self.positions + 2) * UNIT * float(gram.trace())

    def gram(self, weights: Reals) -> Reals:
        """Cells a and b lie together in the prefixes from max(a, b) on."""
        import numpy as np

        place = np.arange(self.dimension)
        return np.cumsum(weights[: self.dimension][::-1])[::-1][np.maximum(place[:, None], place)]

    def norms(self, form: Reals) -> Reals:
        """The diagonal of the running sums along both axes."""
        import numpy as np

        found = np.zeros(self.positions)
        found[: self.dimension] = np.diagonal(np.cumsum(np.cumsum(form, axis=0), axis=1))
        return found


@dataclass(frozen=True, slots=True)
class Intervals:
    """All intervals of `positions` cells, by their start and then their end; a known total drops the last cell."""

    positions: int
    known_total: bool = False

    @property
    def size(self) -> int:
        """All pairs of a start and an end."""
        return self.positions * (self.positions + 1) // 2

    @property
    def dimension(self) -> int:
        """The cells that are not known from the others."""
        return self.positions - self.known_total

    def drift(self, gram: Reals) -> float:
        """That of two running sums."""
        return (2 * self.positions + 4) * UNIT * float(gram.trace())

    def gram(self, weights: Reals) -> Reals:
        """Cells a and b lie together in the intervals that start before both and end after both."""
        import numpy as np

        table = np.zeros((self.positions, self.positions))
        table[np.triu_indices(self.positions)] = weights
        if self.known_total:  # [i, last] is the total less the prefix that ends before i
            table[0, :-1] += table[1:, -1]
            table = table[:-1, :-1]
        upper = np.triu(np.cumsum(np.cumsum(table, axis=0)[:, ::-1], axis=1)[:, ::-1])
        return upper + np.triu(upper, 1).T

    def norms(self, form: Reals) -> Reals:
        """Distances between running sums."""
        import numpy as np

        points = np.zeros((self.positions + 1, self.positions + 1))  # the empty prefix first; a known total last
        inner = slice(1, self.dimension + 1)
        points[inner, inner] = np.cumsum(np.cumsum(form, axis=0), axis=1)
        return _distances(points)[:-1, 1:][np.triu_indices(self.positions)]


@dataclass(frozen=True, slots=True)
class Cells:
    """The unit vectors: one row added or removed."""

    cells: int

    @property
    def size(self) -> int:
        """One for each cell."""
        return self.cells

    @property
    def dimension(self) -> int:
        """The cells."""
        return self.cells

    def drift(self, gram: Reals) -> float:
        """Nothing is summed."""
        return 0.0

    def gram(self, weights: Reals) -> Reals:
        """diag(w)."""
        import numpy as np

        return np.diag(weights)

    def norms(self, form: Reals) -> Reals:
        """The diagonal."""
        import numpy as np

        return np.diagonal(form).copy()


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Differences of any two of some points, one of which is the origin: one row replaced.

    `points` has a row for each other point; None stands for the unit vectors of `cells` cells.
    """

    cells: int
    points: Reals | None = None

    @property
    def size(self) -> int:
        """All pairs."""
        return self._others * (self._others + 1) // 2

    @property
    def _others(self) -> int:
        return self.cells if self.points is None else self.points.shape[0]

    @property
    def dimension(self) -> int:
        """The cells."""
        return self.cells

    def drift(self, gram: Reals) -> float:
        """That of a row sum of the Laplacian; between points, that of two products, which cancel."""
        import numpy as np

        if self.points is None:
            return (self._others + 4) * UNIT * float(gram.trace())
        widest = float(np.abs(self.points).sum(axis=0).max() * np.abs(self.points).sum(axis=1).max())
        return 4 * (self._others + self.cells + 4) * UNIT * widest

    def gram(self, weights: Reals) -> Reals:
        """The Laplacian of the weighted graph of pairs, the origin dropped, between the points."""
        import numpy as np

        count = self._others + 1
        table = np.zeros((count, count))
        table[np.triu_indices(count, 1)] = weights
        table += table.T
        laplacian = (np.diag(table.sum(axis=1)) - table)[1:, 1:]
        return laplacian if self.points is None else self.points.T @ laplacian @ self.points

    def norms(self, form: Reals) -> Reals:
        """Squared distances between points."""
        import numpy as np

        inner = form if self.points is None else self.points @ form @ self.points.T
        bordered = np.pad(inner, ((1, 0), (1, 0)))
        return _distances(bordered)[np.triu_indices(len(bordered), 1)]


def _distances(gram: Reals) -> Reals:
    """Squared distances of points with these inner products."""
    import numpy as np

    square = np.diagonal(gram)
    return square[:, None] + square - 2 * gram
