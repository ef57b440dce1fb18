"""Marginal tables as sums of residuals: the analysis of variance, in integer coordinates.

Let columns have k_i values and let J be the matrix of ones.  For a set A of columns the residual of A is the part of
its table that no smaller table shows: the table of A times the tensor product over A of I - J / k_i.  A cell of the
table of B is the sum over A within B of the residual of A at the cell, divided by the product of k_i over B - A.

The rows h_j = (1, ..., 1, -j, 0, ..., 0), 0 < j < k, with j ones, are orthogonal to one another and to (1, ..., 1) and
have the square j (j + 1) (Helmert 1876).  The residual of A is the same as the integers

    h_c x = (h_c1 tensor ... tensor h_ct) (table of A),      c in the product of the 1 .. k_i - 1.

Theorem.  Let N_c be the product of the c_i (c_i + 1) and p_A that of the 1 - 1 / k_i.  The sum over c of h_c(x)^2 / N_c
is p_A for every row x.  If h_c x is measured with independent errors of variance sigma_A^2 N_c, every cell of the
table of B, rebuilt from the residuals, has the variance

    sum over A within B of sigma_A^2 p_A / (product of k_i over B - A)^2.

Proof: docs/theory/residual.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.errors import UnsupportedError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.queries.marginals import Marginals

    Floats = npt.NDArray[np.float64]
    Places = npt.NDArray[np.int64]

MOST = 1 << 26  # pairs of a table and a set of columns within it


def inverse_norms(shape: tuple[int, ...]) -> Floats:
    """1 / sqrt(N_c) for all c, shaped.

    >>> inverse_norms((2, 3)).shape
    (1, 2)
    """
    import numpy as np

    out = np.ones(())
    for k in shape:
        j = np.arange(1.0, k)
        out = np.multiply.outer(out, 1 / np.sqrt(j * (j + 1)))
    return out


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Residuals of one shape: `count` of them from number `first` on, their coordinates from `start` on."""

    shape: tuple[int, ...]  # the sizes of the columns
    first: int
    count: int
    start: int
    columns: Places  # (count, columns): which columns

    @property
    def inner(self) -> tuple[int, ...]:
        """The shape of the coordinates of one residual."""
        return tuple(k - 1 for k in self.shape)

    @property
    def end(self) -> int:
        """Where the coordinates end."""
        return self.start + self.count * math.prod(self.inner)


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """Tables of one shape: their numbers in the workload, their columns and the residuals they are made of."""

    shape: tuple[int, ...]
    numbers: Places  # (tables,)
    starts: Places  # (tables,): where the answers of each start
    weights: Floats  # (tables,): what the answers of each are multiplied by
    columns: Places  # (tables, columns)
    parts: Places  # (2^columns, tables): bit i of the first index says whether column i is in the residual


@dataclass(frozen=True, slots=True, eq=False)
class Residuals:
    """Every set of columns within a table of a workload, and how tables and residuals hang together.

    Columns with a single value change no table and are left out.

    >>> from discreet.data.columns import Boolean, Integer
    >>> from discreet.data.domain import Domain
    >>> from discreet.queries.marginals import marginals
    >>> residuals = residuals_of(marginals(Domain({"a": Boolean(), "b": Integer(0, 2), "c": Boolean()}), 2))
    >>> len(residuals), residuals.coordinates, residuals.shares.round(3).tolist()
    (7, 10, [1.0, 0.5, 0.5, 0.667, 0.25, 0.333, 0.333])
    """

    blocks: tuple[Block, ...]
    tables: tuple[Tables, ...]
    shares: Floats  # p_A
    cells: Floats  # the product of k_i over A
    starts: Places  # where the coordinates of each residual start
    table_cells: Floats  # of each table of the workload

    def __len__(self) -> int:
        return len(self.shares)

    @property
    def coordinates(self) -> int:
        """All coordinates of all residuals."""
        return self.blocks[-1].end

    def reach(self, group: Tables, pattern: int) -> Floats:
        """p_A / (product of k_i over B - A)^2: what a unit of sigma_A^2 adds to each cell of the table of B."""
        part = group.parts[pattern]
        return self.shares[part] * (self.cells[part] / math.prod(group.shape)) ** 2

    def variances(self, noise: Floats) -> Floats:
        """The variance of a cell of each table, for the given sigma_A^2."""
        import numpy as np

        out = np.zeros(len(self.table_cells))
        for group in self.tables:
            for pattern in range(len(group.parts)):
                out[group.numbers] += self.reach(group, pattern) * noise[group.parts[pattern]]
        return out

    def demand(self, weights: Floats) -> Floats:
        """v_A: what a unit of sigma_A^2 adds to the sum over tables of weight times the variance of a cell."""
        import numpy as np

        out = np.zeros(len(self))
        for group in self.tables:
            for pattern, part in enumerate(group.parts):
                added = self.reach(group, pattern) * weights[group.numbers]
                out += np.bincount(part, weights=added, minlength=len(self))
        return out


def residuals_of(workload: Marginals) -> Residuals:
    """All residuals of the tables of a workload."""
    import numpy as np

    sizes = np.array([declared.size for declared in workload.domain.values()], dtype=np.int64)
    order = {name: place for place, name in enumerate(workload.domain)}
    places = [[order[name] for name in names if sizes[order[name]] > 1] for names in workload.sets]
    pairs = sum(1 << len(group) for group in places)
    if pairs > MOST:
        raise UnsupportedError(f"these tables hold {pairs} sets of columns, and at most {MOST} are planned")
    kinds: dict[tuple[int, ...], list[int]] = {}
    for number, group in enumerate(places):
        kinds.setdefault(tuple(sizes[group].tolist()), []).append(number)
    members = {
        shape: np.array([places[i] for i in found], dtype=np.int64).reshape(len(found), len(shape))
        for shape, found in kinds.items()
    }
    kind = np.int64 if (len(sizes) + 1) ** max(len(group) for group in places) < 1 << 62 else object
    keyed = {shape: _subsets(columns, len(sizes), kind) for shape, columns in members.items()}
    blocks, (keys, order_of) = _blocks(members, keyed)
    shares = np.concatenate([np.full(b.count, math.prod(1 - 1 / k for k in b.shape)) for b in blocks])
    cells = np.concatenate([np.full(b.count, float(math.prod(b.shape))) for b in blocks])
    starts = np.concatenate([b.start + math.prod(b.inner) * np.arange(b.count) for b in blocks])
    tables, ends = [], np.cumsum(workload.sizes)
    weights = np.array([float(weight) for weight in workload.weights])
    for shape, found in kinds.items():
        parts = np.stack([order_of[np.searchsorted(keys, key)] for key in keyed[shape]])
        starts_of = ends[found] - math.prod(shape)
        tables.append(Tables(shape, np.array(found), starts_of, weights[found], members[shape], parts))
    table_cells = np.array([float(math.prod(sizes[group].tolist())) for group in places])
    return Residuals(tuple(blocks), tuple(tables), shares, cells, starts, table_cells)


def _blocks(
    members: dict[tuple[int, ...], Places], keyed: dict[tuple[int, ...], list[npt.NDArray[Any]]]
) -> tuple[list[Block], tuple[npt.NDArray[Any], Places]]:
    """The residuals, those of one shape together; and the sorted keys of all with their numbers."""
    import numpy as np

    found: dict[tuple[int, ...], list[tuple[npt.NDArray[Any], Places]]] = {}
    for shape, columns in members.items():
        for pattern, key in enumerate(keyed[shape]):
            inside = [i for i in range(len(shape)) if pattern >> i & 1]
            found.setdefault(tuple(shape[i] for i in inside), []).append((key, columns[:, inside]))
    blocks, keys, start, first = [], [], 0, 0
    for shape in sorted(found, key=lambda shape: (len(shape), shape)):
        key, rows = np.unique(np.concatenate([key for key, _ in found[shape]]), return_index=True)
        columns = np.concatenate([columns for _, columns in found[shape]])[rows]
        blocks.append(Block(shape, first, len(key), start, columns))
        keys.append(key)
        first, start = first + len(key), blocks[-1].end
    every = np.concatenate(keys)
    order = np.argsort(every, kind="stable")
    return blocks, (every[order], order)


def _subsets(columns: Places, d: int, kind: type) -> list[npt.NDArray[Any]]:
    """For each choice of the columns of the tables, as bits, one key for each table: equal keys are equal sets."""
    import numpy as np

    width = columns.shape[1]
    digits = [(columns[:, i] + 1).astype(kind) for i in range(width)]
    out = []
    for pattern in range(1 << width):
        key = np.zeros(len(columns), dtype=kind)
        for i in range(width):
            if pattern >> i & 1:
                key = key * (d + 1) + digits[i]
        out.append(key)
    return out
