"""Strategies: what is measured, as matrices of integers, with the exact noise they need.

A strategy is an integer matrix A over 2^24: real factors are rounded to it first, and everything that is promised is
then computed from the integers, so that floating-point error is on the side of accuracy and never of privacy.

Theorem.  Let y be the integer coordinates of the data, and t run over what neighbours move y by.  A y is a vector of
integers that moves by max |A t| in either norm; `squared` and `absolute` are these, exactly (where there are too many
pairs of points, twice the largest distance from one centre instead, which is no less).  If A has full column
rank, (A^T A)^-1 A^T (A y + Z) is y plus the noise (A^T A)^-1 A^T Z of mean zero, and an answer L y has the variance
sigma^2 l^T (A^T A)^-1 l.  Proof: docs/theory/factorization.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from discreet.errors import UnsupportedError, require
from discreet.privacy.exact_sums import difference, farthest, largest_norm, product, whole
from discreet.privacy.neighbours import Neighbours
from discreet.queries.workload import swaps
from discreet.release.gamma2_sets import Prefixes, Written

if TYPE_CHECKING:
    from typing import Any

    import numpy.typing as npt

    from discreet.queries.workload import Countable
    from discreet.release.factorization_space import Space, Whole
    from discreet.release.gamma2_sets import Reals

BITS = 24
PAIRS = 2048  # points whose differences are all compared
COMPARED = 1 << 30  # entries of their differences, for the l1 norm
EXAMINED = 1 << 30  # weights of intervals that are all looked at


@dataclass(frozen=True, eq=False)
class Strategy:
    """The measurements A = entries / 2^24 in the coordinates of a space."""

    name: str
    entries: Whole  # (measurements, coordinates)
    space: Space

    @classmethod
    def rounded(cls, name: str, matrix: Reals, space: Space) -> Strategy:
        """Round real measurements, scaled to their largest entry, to the integers.

        >>> from discreet.privacy.neighbours import AddRemove
        >>> from discreet.queries.ordered import thresholds
        >>> from discreet.release.factorization_space import spaces_of
        >>> import numpy as np
        >>> cells = spaces_of(thresholds(2), AddRemove, n=None, both=False)[0]
        >>> strategy = Strategy.rounded("two", np.array([[1.0, 0.5], [0.0, 1.0]]), cells)
        >>> strategy.squared(AddRemove) == 5 * 2**46
        True
        """
        import numpy as np

        require(matrix.ndim == 2 and bool(np.isfinite(matrix).all()), "a finite matrix", dimensions=matrix.ndim)
        require(
            matrix.shape[1] == space.rows.dimension,
            "a column for each coordinate",
            columns=matrix.shape[1],
            coordinates=space.rows.dimension,
        )
        points = space.points
        with np.errstate(all="ignore"):  # what overflows is refused, by `whole` at the latest
            scale = float(np.abs(matrix if points is None else matrix @ points.T).max(initial=0.0))
            require(0 < scale < math.inf, "a strategy that is not zero, and fits a float", largest=scale)
            entries = np.rint(matrix * (2.0**BITS / scale))
        return cls(name, whole(entries), space)

    @classmethod
    def over_cells(cls, name: str, matrix: Reals, space: Space) -> Strategy:
        """From measurements of all cells: where n is public, the last cell is told by the others."""
        import numpy as np

        require(matrix.ndim == 2 and bool(np.isfinite(matrix).all()), "a finite matrix", dimensions=matrix.ndim)
        if matrix.shape[1] == space.rows.dimension + 1:
            matrix = matrix[:, :-1] - matrix[:, -1:]
        return cls.rounded(name, matrix[matrix.any(axis=1)], space)

    @property
    def unit(self) -> float:
        """2^24."""
        return 2.0**BITS

    @property
    def size(self) -> int:
        """How many measurements."""
        return self.entries.shape[0]

    def measured(self, data: Countable) -> npt.NDArray[Any]:
        """The exact integers A y of the data."""
        return self.measure(self.space.coordinates(data))

    def answered(self, noisy: npt.NDArray[Any]) -> Reals:
        """The answers from noisy integers."""
        return self.space.answers(self.estimate(noisy))

    @cached_property
    def matrix(self) -> Reals:
        """A."""
        return self.entries * 2.0**-BITS

    @cached_property
    def covariance(self) -> Reals:
        """(A^T A)^-1: that of the estimated coordinates, for noise of variance 1 on A y."""
        import numpy as np

        try:
            if self.size != self.entries.shape[1]:
                return np.linalg.inv(self.matrix.T @ self.matrix)
            inverse = np.linalg.inv(self.matrix)
        except np.linalg.LinAlgError:
            raise UnsupportedError(f"the strategy {self.name!r} does not determine the answers once rounded") from None
        return inverse @ inverse.T

    @cached_property
    def variances(self) -> Reals:
        """Of every query, for noise of variance 1."""
        import numpy as np

        return np.maximum(self.space.rows.norms(self.covariance), 0.0)

    @cached_property
    def _columns(self) -> Whole:
        points = self.space.points
        return self.entries if points is None else product(self.entries, points.T)

    def squared(self, neighbours: type[Neighbours]) -> int:
        """The largest squared l2 norm that neighbours move the integers by."""
        import numpy as np

        columns = self._columns
        if not swaps(neighbours):
            return largest_norm(columns, power=2)
        if columns.shape[1] > PAIRS:
            return 4 * largest_norm(_around(columns, np.mean), power=2)
        return max(largest_norm(columns, power=2), farthest(columns, power=2))

    def absolute(self, neighbours: type[Neighbours]) -> int:
        """The largest l1 norm that neighbours move the integers by."""
        import numpy as np

        columns = self._columns
        if not swaps(neighbours):
            return largest_norm(columns, power=1)
        if (columns.shape[1] + 1) ** 2 * self.size > COMPARED:
            return 2 * largest_norm(_around(columns, np.median), power=1)
        return max(largest_norm(columns, power=1), farthest(columns, power=1))

    def measure(self, coordinates: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The exact integers A y, whatever their size."""
        import numpy as np

        found = np.zeros(self.size, dtype=object)
        rest = coordinates
        for place in range(4):  # 80 bits; how long it takes does not depend on the data
            low = rest if place == 3 else rest & ((1 << 20) - 1)
            part = np.array(low.tolist(), dtype=np.int64)
            added = product(self.entries, part[:, None], within=1 << 20)[:, 0]
            found = found + (added.astype(object) << (20 * place))
            rest = rest >> 20
        return found

    def estimate(self, noisy: npt.NDArray[Any]) -> Reals:
        """The least-squares coordinates from noisy integers."""
        import numpy as np

        values = noisy.astype(np.float64) * 2.0**-BITS
        if self.size == self.entries.shape[1]:
            return np.linalg.solve(self.matrix, values)
        return np.linalg.lstsq(self.matrix, values, rcond=None)[0]

    @cached_property
    def peaks(self) -> Reals:
        """For every query the largest absolute weight of a measurement in its answer; for intervals a bound on it."""
        import numpy as np

        inverse = np.linalg.pinv(self.matrix)  # (coordinates, measurements)
        rows = self.space.rows
        if isinstance(rows, Written):
            return np.abs(rows.matrix @ inverse).max(axis=1)
        sums = np.zeros((self.space.workload.domain.size + 1, self.size))
        sums[1 : rows.dimension + 1] = np.cumsum(inverse, axis=0)
        if isinstance(rows, Prefixes):
            return np.abs(sums[1:]).max(axis=1)
        if rows.size * self.size <= EXAMINED:
            return np.concatenate([np.abs(sums[i + 1 :] - sums[i]).max(axis=1) for i in range(len(sums) - 1)])
        ends = np.abs(sums).max(axis=1)
        start, end = np.triu_indices(len(ends) - 1)
        return np.minimum(ends[start] + ends[end + 1], np.sqrt(self.variances))


def _around(columns: Whole, middle: Callable[..., Reals]) -> Whole:
    """The points, the origin among them, seen from a centre: a difference of two is at most twice the longest."""
    import numpy as np

    bordered = np.column_stack([columns, np.zeros(len(columns), dtype=columns.dtype)])
    centre = np.rint(middle(columns.astype(np.float64), axis=1))
    return difference(bordered, whole(centre)[:, None])


def tree(positions: int, *, branching: int = 2) -> Reals:
    """The counts of the nodes of a tree over ordered positions, leaves first.

    >>> tree(3).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 1.0, 0.0], [1.0, 1.0, 1.0]]
    """
    import numpy as np

    place, width, rows = np.arange(positions), 1, []
    while True:
        nodes = -(-positions // width)
        level = (place // width == np.arange(nodes)[:, None]).astype(np.float64)
        rows.append(level if width == 1 else level[level.sum(axis=1) > max(1, width // branching)])
        if nodes == 1:
            break
        width *= branching
    return np.vstack(rows)


def square_root(positions: int) -> Reals:
    """The Toeplitz square root of the triangle of ones: f_k = C(2k, k) / 4^k below the diagonal.

    >>> square_root(3)[2].tolist()
    [0.375, 0.5, 1.0]
    """
    import numpy as np

    k = np.arange(1, positions)
    series = np.concatenate([[1.0], np.cumprod((2 * k - 1) / (2 * k))])
    place = np.arange(positions)
    return np.tril(series[np.abs(place[:, None] - place)])


def gram_root(gram: Reals) -> Reals:
    """The square root of W^T W with normal columns: within 0.2 % of the least total error of thresholds, at once."""
    import numpy as np

    values, vectors = np.linalg.eigh(gram)
    floor = max(float(values[-1]) * 1e-14, 0.0)
    root = (vectors * np.sqrt(np.maximum(values, floor)) ** 0.5) @ vectors.T
    return root / np.linalg.norm(root, axis=0)
