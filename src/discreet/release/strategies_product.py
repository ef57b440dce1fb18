"""Strategies for Kronecker products of workloads, one for each factor.

Theorem.  Let W = W_1 (x) ... (x) W_f and A = A_1 (x) ... (x) A_f for integer strategies A_i of the factors.  A column
of A is a product of columns, so where a row is added or removed the l1 norm and the squared l2 norm of the largest
column are the products of those of the factors; where a row is replaced, two columns a, b are at most

    sum |a_j| + sum |b_j|   apart in l1,   |a|^2 + |b|^2 - 2 min <a, b>   in squared l2,

and <a, b> is a product of inner products of columns of the factors.  The variance of an answer is the product of
those of the factors, and the best A_i give gamma_2(W), which is the product of gamma_2(W_i).  Nothing is written out:
measuring and estimating go along one axis after another.  Proof: docs/theory/factorization.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import TYPE_CHECKING

from discreet.privacy.exact_sums import largest, product, total, whole
from discreet.privacy.neighbours import AddRemove, Neighbours
from discreet.queries.combined import Kronecker
from discreet.queries.workload import swaps
from discreet.release.factorization_space import CellSpace
from discreet.release.strategies import Strategy

if TYPE_CHECKING:
    from typing import Any

    import numpy.typing as npt

    from discreet.queries.workload import Countable
    from discreet.release.factorization_space import Whole
    from discreet.release.gamma2_sets import Reals

FITS = 1 << 62  # integers below it add up in 64 bits along every axis
BITS = 30  # of the entries of A, shared by the factors that are not made of zeros and ones


@dataclass(frozen=True, eq=False)
class ProductStrategy:
    """The product of strategies of the factors of a workload, over all its cells."""

    name: str
    workload: Kronecker
    given: tuple[Strategy, ...]

    @cached_property
    def factors(self) -> tuple[Strategy, ...]:
        """The strategies with small integers: zeros and ones, or as many bits as there are for each."""
        plain = [_lowest(strategy) for strategy in self.given]
        long = sum(int(abs(entries).max()) > 1 for entries in plain)
        short = [entries if int(abs(entries).max()) == 1 else _shortened(entries, BITS // long) for entries in plain]
        return tuple(
            Strategy(given.name, entries, given.space) for given, entries in zip(self.given, short, strict=True)
        )

    @property
    def unit(self) -> float:
        """That of the factors."""
        return math.prod(factor.unit for factor in self.factors)

    @property
    def size(self) -> int:
        """How many measurements."""
        return math.prod(factor.size for factor in self.factors)

    @cached_property
    def variances(self) -> Reals:
        """Of every query, for noise of variance 1."""
        import numpy as np

        return reduce(np.kron, [factor.variances for factor in self.factors])

    @cached_property
    def peaks(self) -> Reals:
        """For every query the largest absolute weight of a measurement."""
        import numpy as np

        return reduce(np.kron, [factor.peaks for factor in self.factors])

    def squared(self, neighbours: type[Neighbours]) -> int:
        """The product; where a row is replaced, at most twice that less twice the least inner product."""
        longest = math.prod(factor.squared(AddRemove) for factor in self.factors)
        if not swaps(neighbours):
            return longest
        low, high = 1, 1
        for factor in self.factors:
            columns = _over_cells(factor)
            gram = product(columns.T, columns)
            ends = [one * int(other) for one in (low, high) for other in (gram.min(), gram.max())]
            low, high = min(ends), max(ends)
        return 2 * longest - 2 * low

    def absolute(self, neighbours: type[Neighbours]) -> int:
        """The product, or at most twice that."""
        longest = math.prod(factor.absolute(AddRemove) for factor in self.factors)
        return 2 * longest if swaps(neighbours) else longest

    def measured(self, data: Countable) -> npt.NDArray[Any]:
        """The exact integers A x: 64 bits where they fit, Python's elsewhere."""
        import numpy as np

        counts = data.marginal(list(self.workload.domain)).reshape(-1)
        matrices = [_over_cells(factor) for factor in self.factors]
        if math.prod(largest(matrix) for matrix in matrices) * total(abs(counts)) < FITS:
            return self._along(matrices, counts.astype(np.int64), whole=True)
        return self._along([matrix.astype(object) for matrix in matrices], counts.astype(object), whole=False)

    def answered(self, noisy: npt.NDArray[Any]) -> Reals:
        """The answers from noisy integers."""
        import numpy as np

        inverses = [np.linalg.pinv(_over_cells(factor).astype(np.float64)) for factor in self.factors]
        cells = self._along(inverses, noisy.astype(np.float64), whole=False)
        return np.asarray(self.workload.apply(cells), dtype=np.float64)

    def _along(self, matrices: list[Any], values: npt.NDArray[Any], *, whole: bool) -> npt.NDArray[Any]:
        """Each matrix along its own axis of the values."""
        import numpy as np

        left = values.reshape([matrix.shape[1] for matrix in matrices])
        for axis, matrix in enumerate(matrices):
            front = np.moveaxis(left, axis, 0)
            flat = np.ascontiguousarray(front).reshape(matrix.shape[1], -1)
            made = product(matrix, flat, reach=FITS) if whole else matrix @ flat
            left = np.moveaxis(made.reshape(matrix.shape[0], *front.shape[1:]), 0, axis)
        return left.reshape(-1)


def _over_cells(strategy: Strategy) -> Whole:
    """The measurements of a factor as combinations of its cells."""
    space = strategy.space
    return strategy.entries if isinstance(space, CellSpace) else product(strategy.entries, space.basis)


def _lowest(strategy: Strategy) -> Whole:
    """The integers over their greatest common divisor."""
    import numpy as np

    return strategy.entries // int(np.gcd.reduce(strategy.entries, axis=None))


def _shortened(entries: Whole, bits: int) -> Whole:
    """Rounded to so many bits, if they are longer."""
    import numpy as np

    return whole(np.rint(entries * min(1.0, 2.0**bits / largest(entries))))
