"""Triangles counted so that no vertex counts for more than a cap: a Lipschitz extension under NodeNeighbours.

Theorem (Kasiviswanathan, Nissim, Raskhodnikova, Smith 2013).  Let packing(G) be the largest sum of
numbers x_T in [0, 1], one for each triangle T, such that the triangles at any vertex sum to at most
`cap`.  It is the number of triangles where no vertex is in more than `cap` of them, and moves by at
most `cap` when the edges at one vertex change.

Vertices in at most `cap` triangles constrain nothing; triangles with the same other vertices are one
variable.  The linear program is solved in floating point, and its value is enclosed by feasible
solutions of it and of its dual.  Where they are not within 1/2 of each other, it is solved in
rationals instead.  The integer nearest to the middle moves by at most cap + 1.
Proof: docs/theory/node_privacy.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.data.graph import Graph
from discreet.structured.graphs.triangle_sensitivity import Ranked

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Counts = npt.NDArray[np.int64]

SLACK = 1e-9  # a relative error that sums of positive floats here stay far below
WIDTH = 0.5  # of an enclosure that will do


@dataclass(frozen=True, slots=True, eq=False)
class Packing:
    """How often each group of overfull vertices is in a triangle together.  Private."""

    free: int  # triangles without an overfull vertex
    groups: npt.NDArray[np.int32]  # (groups, 3), padded with -1; overfull vertices are 0 .. overfull - 1
    often: Counts  # (groups,)
    overfull: int
    cap: int

    @classmethod
    def of(cls, graph: Graph, cap: int) -> Packing:
        """From two passes over the triangles."""
        import numpy as np

        from discreet.structured.graphs.graph_kernels import corners

        ranked = Ranked.of(graph)
        at = np.zeros(graph.vertices, dtype=np.int64)
        total = corners(ranked.indptr, ranked.indices, at, np.empty((0, 3), dtype=np.int32))
        full = at > cap
        found = np.empty((total if full.any() else 0, 3), dtype=np.int32)
        touched = corners(ranked.indptr, ranked.indices, full.astype(np.int64), found) if len(found) else 0
        number = np.cumsum(full, dtype=np.int32) - 1
        rows = found[:touched]
        named = np.sort(np.where(rows >= 0, number[rows], -1), axis=1)
        groups, often = np.unique(named, axis=0, return_counts=True)
        return cls(total - touched, groups.astype(np.int32), often.astype(np.int64), int(full.sum()), cap)

    def value(self) -> int:
        """An integer within 3/4 of packing(G)."""
        if not self.overfull:
            return self.free
        low, high = self.enclosure(*self.solution())
        if high - low > WIDTH:
            middle = self.exactly()
            return self.free + int(middle + Fraction(1, 2))
        return self.free + round((low + high) / 2)

    def solution(self) -> tuple[Floats, Floats]:
        """x for every group and y for every overfull vertex, near the optimum of the program and of its dual."""
        import numpy as np
        from scipy.optimize import linprog

        found = linprog(
            -np.ones(len(self.often)), A_ub=self._matrix(), b_ub=np.full(self.overfull, float(self.cap)),
            bounds=np.column_stack([np.zeros(len(self.often)), self.often]), method="highs",
        )  # fmt: skip
        if found.x is None:
            return np.zeros(len(self.often)), np.ones(self.overfull)
        return found.x, -found.ineqlin.marginals

    def _matrix(self):  # noqa: ANN202 - scipy's sparse arrays carry no type
        import numpy as np
        from scipy.sparse import csr_array

        row, place = np.nonzero(self.groups >= 0)
        entries = np.ones(row.size), (self.groups[row, place], row)
        return csr_array(entries, shape=(self.overfull, len(self.often)))

    def enclosure(self, x: Floats, y: Floats) -> tuple[float, float]:
        """Bounds on the value of the program, whatever x and y are: both are made feasible first."""
        import numpy as np

        matrix = self._matrix()
        inside = np.clip(np.nan_to_num(x), 0, self.often)
        over = np.maximum(matrix @ inside / max(self.cap, 1e-300), 1.0)  # (overfull,)
        worst = np.where(self.groups >= 0, over[self.groups], 1.0).max(axis=1)
        low = float((inside / worst).sum()) if self.cap else 0.0
        price = np.maximum(np.nan_to_num(y), 0)
        high = self.cap * float(price.sum()) + float((np.maximum(1 - matrix.T @ price, 0) * self.often).sum())
        return low * (1 - SLACK), high * (1 + SLACK)

    def exactly(self) -> Fraction:
        """The value in rationals, by the simplex method with Bland's rule, which always ends; slow."""
        rows = [[int(v in group) for group in self.groups.tolist()] for v in range(self.overfull)]
        rows += [[int(i == j) for i in range(len(self.often))] for j in range(len(self.often))]
        limits = [self.cap] * self.overfull + self.often.tolist()
        return simplex(rows, limits)


def simplex(rows: list[list[int]], limits: list[int]) -> Fraction:
    """max sum(x) over x >= 0 with rows x <= limits, limits >= 0: exactly.

    >>> simplex([[1, 1, 0], [0, 1, 1], [1, 0, 1]], [1, 1, 1])
    Fraction(3, 2)
    """
    size, count = len(rows[0]), len(rows)
    table = [[Fraction(a) for a in row] + [Fraction(int(i == j)) for j in range(count)] for i, row in enumerate(rows)]
    right = [Fraction(limit) for limit in limits]
    gain, value = [Fraction(1)] * size + [Fraction(0)] * count, Fraction(0)
    basis = list(range(size, size + count))
    while True:
        enter = next((j for j, g in enumerate(gain) if g > 0), None)
        if enter is None:
            return value
        ratios = [(right[i] / table[i][enter], basis[i], i) for i in range(count) if table[i][enter] > 0]
        leave = min(ratios)[2]
        pivot = table[leave][enter]
        table[leave] = [a / pivot for a in table[leave]]
        right[leave] /= pivot
        for i in range(count):
            if i != leave and table[i][enter]:
                factor = table[i][enter]
                table[i] = [a - factor * b for a, b in zip(table[i], table[leave], strict=True)]
                right[i] -= factor * right[leave]
        factor = gain[enter]
        gain = [a - factor * b for a, b in zip(gain, table[leave], strict=True)]
        value += factor * right[leave]
        basis[leave] = enter
