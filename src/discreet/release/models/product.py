"""A distribution as a product of independent blocks of columns, each block a dense table.

d columns in blocks of at most m cells take d m cells instead of the product of all.  Marginals inside a block are
read off; across blocks they are products.  Post-processing of what the tables were made from: no privacy is spent
and none is added.  Proof: docs/theory/models.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from discreet.data.domain import Domain
from discreet.data.histogram import Histogram
from discreet.data.records import LARGEST, Records, countable
from discreet.errors import DomainError, ParameterError, UnsupportedError, require
from discreet.hazmat.entropy import RandomSource, source
from discreet.release.models.rows import check_rows, draw_cells, split_cells

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.queries.workload import Workload


class ProductModel:
    """Independent blocks; columns in no block are uniform.  Tables are counts or weights, scaled to `total`.

    >>> from discreet.data.columns import Boolean
    >>> domain = Domain({"icu": Boolean(), "smokes": Boolean(), "old": Boolean()})
    >>> model = ProductModel(domain, {("icu", "old"): [[4, 2], [1, 1]], ("smokes",): [3, 1]}, total=80)
    >>> model.marginal(["icu"]).tolist(), model.marginal(["smokes", "old"]).tolist()
    ([60.0, 20.0], [[37.5, 22.5], [12.5, 7.5]])
    >>> model.size, len(model.sample(10))
    (6, 10)
    """

    __slots__ = ("_total", "blocks", "domain")

    def __init__(
        self, domain: Domain, blocks: Mapping[tuple[str, ...], npt.ArrayLike], *, total: float | None = None
    ) -> None:
        import numpy as np

        self.domain = countable(domain)
        named = [name for names in blocks for name in names]
        require(len(set(named)) == len(named), "each column in one block", columns=named)
        self.blocks: dict[tuple[str, ...], npt.NDArray[np.float64]] = {}
        sums = []
        for names, given in blocks.items():
            require(not isinstance(names, str) and bool(names), "blocks named by tuples of columns", block=names)
            shape = tuple(self.domain[name].size for name in names)
            table = np.asarray(given, dtype=np.float64)
            if table.size != math.prod(shape) or not np.isfinite(table).all() or (table < 0).any():
                raise ParameterError(f"need a finite weight >= 0 for each cell of block {names}")
            sums.append(float(table.sum()))
            require(sums[-1] > 0, "a positive weight in each block", block=names)
            self.blocks[tuple(names)] = table.reshape(shape) / sums[-1]
        for name in self.domain:
            if name not in named:
                size = self.domain[name].size
                self.blocks[(name,)] = np.full(size, 1 / size)
        known = sums[0] if sums and total is None else total
        if known is None or not 0 < known < math.inf:
            raise ParameterError(f"need a finite total > 0, got total={total!r}")
        self._total = float(known)

    @property
    def total(self) -> float:
        """The number of rows it stands for: as given, or the sum of the first block."""
        return self._total

    @property
    def size(self) -> int:
        """The cells of all blocks."""
        return sum(table.size for table in self.blocks.values())

    def marginal(self, names: Sequence[str], /) -> npt.NDArray[np.float64]:
        """The table of the named columns, in counts: the product of the marginals of the blocks."""
        import numpy as np

        known(self.domain, names)
        cells = math.prod(self.domain[name].size for name in names)
        if cells > LARGEST:
            raise UnsupportedError(f"a marginal of {cells} cells is over the limit of {LARGEST}")
        found, order = np.array(self._total), []
        for block, table in self.blocks.items():
            inside = [name for name in block if name in names]
            if inside:
                part = table.sum(axis=tuple(axis for axis, name in enumerate(block) if name not in names))
                found = np.multiply.outer(found, part)
                order += inside
        return found.transpose([order.index(name) for name in names])

    def answer(self, workload: Workload) -> npt.NDArray[np.float64]:
        """The answers of a workload, through marginals."""
        return workload.answer(self)

    def histogram(self) -> Histogram:
        """All cells, where they can be listed."""
        return Histogram(self.domain, self.marginal(list(self.domain)))

    def sample(self, rows: int, *, rng: RandomSource | None = None) -> Records:
        """Synthetic rows: each block rounded at random and shuffled on its own."""
        import numpy as np

        check_rows(rows)
        random, together = source(rng), np.zeros(rows, dtype=np.int64)
        columns: dict[str, npt.NDArray[np.int64]] = {}
        for block, table in self.blocks.items():
            drawn = draw_cells(table.reshape(1, -1), together, random)
            columns |= dict(zip(block, split_cells(drawn, table.shape), strict=True))
        return Records(self.domain, [columns[name] for name in self.domain])

    def __repr__(self) -> str:
        return f"ProductModel(blocks={len(self.blocks)}, cells={self.size})"


def known(domain: Domain, names: Sequence[str]) -> None:
    """Refuse names that are repeated or not of the domain."""
    for name in names:
        domain[name]
    if len(set(names)) != len(names):
        raise DomainError(f"need distinct columns, got {list(names)}")
