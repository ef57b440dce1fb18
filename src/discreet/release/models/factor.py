"""Tables on some columns inside a larger table: where each cell of the large one lies in the small one."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.errors import UnsupportedError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Table = npt.NDArray[np.float64]

SHORTEST = 16  # an inner run of fewer cells is joined to the columns before it


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """A factor inside a clique: its columns are in the order of the clique's.

    >>> import numpy as np
    >>> layout = Layout.inside({"a": 2, "b": 3, "c": 2}, ("a", "b", "c"), {"c", "a"})
    >>> layout.columns, layout.shape
    (('a', 'c'), (2, 2))
    >>> layout.project(np.arange(12.0)).tolist()
    [[6.0, 9.0], [24.0, 27.0]]
    """

    columns: tuple[str, ...]
    shape: tuple[int, ...]
    outer: npt.NDArray[np.int64]
    inner: npt.NDArray[np.int64]
    run: int

    @classmethod
    def inside(cls, sizes: Mapping[str, int], clique: Sequence[str], columns: Collection[str]) -> Layout:
        """The layout of some columns of a clique, of which the last varies fastest."""
        import numpy as np

        kept = tuple(name for name in clique if name in columns)
        steps, step = {}, 1
        for name in reversed(kept):
            steps[name] = step
            step *= sizes[name]
        cut, width, run = len(clique), 1, 2
        while cut > 0 and (clique[cut - 1] in steps) == (clique[-1] in steps):
            cut -= 1
            width *= sizes[clique[cut]]
        if width >= SHORTEST or cut == 0:
            run = int(bool(clique) and clique[-1] in steps)
        else:
            while cut > 0 and width < SHORTEST * SHORTEST:
                cut -= 1
                width *= sizes[clique[cut]]

        def places(names: Sequence[str]) -> npt.NDArray[np.int64]:
            found = np.zeros(1, dtype=np.int64)
            for name in names:
                found = (found[:, None] + np.arange(sizes[name]) * steps.get(name, 0)).reshape(-1)
            return found

        shape = tuple(sizes[name] for name in kept)
        return cls(kept, shape, places(clique[:cut]), places(clique[cut:]), run)

    @property
    def size(self) -> int:
        """Its number of cells."""
        return math.prod(self.shape)

    def spread(self, factor: Table, table: Table) -> None:
        """Add a flat factor to the flat table of the clique."""
        from discreet.release.models.factor_kernels import spread

        spread(table, self.outer, self.inner, self.run, factor)

    def project(self, table: Table, out: Table | None = None) -> Table:
        """The flat table of the clique summed over the other columns, shaped."""
        import numpy as np

        from discreet.release.models.factor_kernels import project

        found = np.empty(self.size) if out is None else out
        project(table, self.outer, self.inner, self.run, found)
        return found.reshape(self.shape)


@dataclass(frozen=True, slots=True, eq=False)
class Factor:
    """A table with an axis for each of its columns."""

    columns: tuple[str, ...]
    table: Table

    def ordered(self, columns: Sequence[str]) -> Table:
        """The table with its columns in another order."""
        return self.table.transpose([self.columns.index(name) for name in columns])

    def total_over(self, columns: Collection[str]) -> Factor:
        """Summed over some columns."""
        axes = tuple(axis for axis, name in enumerate(self.columns) if name in columns)
        rest = tuple(name for name in self.columns if name not in columns)
        return Factor(rest, self.table.sum(axis=axes)) if axes else self

    def times(self, other: Factor, *, keep: Collection[str], limit: int) -> Factor:
        """The product, summed over all columns that are not kept: one product of matrices for each shared cell."""
        import numpy as np

        from discreet.release.models.factor_kernels import add_products

        mine = self.total_over([name for name in self.columns if name not in keep and name not in other.columns])
        yours = other.total_over([name for name in other.columns if name not in keep and name not in self.columns])
        shared = [name for name in mine.columns if name in yours.columns]
        batch = [name for name in shared if name in keep]
        summed = [name for name in shared if name not in keep]
        left = [name for name in mine.columns if name not in shared]
        right = [name for name in yours.columns if name not in shared]
        sizes = dict(zip(mine.columns, mine.table.shape, strict=True))
        sizes |= dict(zip(yours.columns, yours.table.shape, strict=True))
        made = (*batch, *left, *right)
        cells = math.prod(sizes[name] for name in made)
        if cells > limit:
            raise UnsupportedError(f"a table of {cells} cells on the way to this marginal is over the limit of {limit}")
        each, across = math.prod(sizes[name] for name in batch), math.prod(sizes[name] for name in summed)
        a = np.ascontiguousarray(mine.ordered([*batch, *left, *summed])).reshape(each, -1, across)
        b = np.ascontiguousarray(yours.ordered([*batch, *summed, *right])).reshape(each, across, -1)
        product = np.zeros((each, a.shape[1], b.shape[2]))
        add_products(a, b, product)
        return Factor(made, product.reshape([sizes[name] for name in made]))
