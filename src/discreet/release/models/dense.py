"""A distribution kept as one number for every cell of the universe.

The vector belongs to numpy, PyTorch, CuPy or JAX and stays on its device; sums run over it once and rows are drawn
block by block, so that nothing of its size is made beside it.

Theorem.  Let w_i be the weights as multiples of 2^-52 of their sum, rounded down.  `sample` draws each row
independently, cell i with probability exactly w_i / sum w.  `rounded` takes the rows whose cumulative weights are
(2 r + 1) / (2 m), r = 0, ..., m - 1: every interval of cells, and so every cell, holds its weight's share of the m
rows to within one.  Proof: docs/theory/mwem.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.data.arrays import Array, empty, namespace, to_numpy
from discreet.data.domain import Domain
from discreet.data.histogram import Histogram
from discreet.data.records import Records, countable
from discreet.errors import ParameterError, require
from discreet.hazmat.entropy import RandomSource
from discreet.hazmat.samplers import uniform_below

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

BLOCK = 1 << 22  # cells looked at at a time when rows are drawn
UNITS = 1 << 52  # what the weights are rounded to


@dataclass(frozen=True, eq=False, repr=False)
class DenseModel:
    """Non-negative weights of all cells, in counts, as a flat array in C order.

    >>> import numpy as np
    >>> from discreet.data.columns import Boolean
    >>> model = DenseModel(Domain({"icu": Boolean(), "smokes": Boolean()}), np.array([3.0, 1.0, 0.0, 4.0]))
    >>> model.total, model.marginal(["smokes"]).tolist(), len(model.sample(10)), model.rounded(8).marginal(["icu"])
    (8.0, [3.0, 5.0], 10, array([4, 4]))
    """

    domain: Domain
    cells: Array

    def __post_init__(self) -> None:
        namespace(self.cells)
        size, shape = countable(self.domain).size, tuple(self.cells.shape)
        require(shape == (size,), "a flat array of one weight per cell", shape=shape, cells=size)

    @classmethod
    def uniform(cls, domain: Domain, total: float, *, device: str | None = None) -> DenseModel:
        """Every cell alike: in double precision on this machine and in single precision on a device."""
        kept = countable(domain)
        cells = empty(kept.size, device=device, dtype="float64" if device in (None, "cpu") else "float32")
        cells[:] = total / kept.size
        return cls(kept, cells)

    @property
    def total(self) -> float:
        """The number of rows it stands for."""
        return float(_sum(self.cells, None))

    def marginal(self, names: Sequence[str]) -> npt.NDArray[np.float64]:
        """The table of the named columns, in counts."""
        require(set(names) <= set(self.domain), "columns of the domain", names=list(names))
        if sorted(names, key=list(self.domain).index) != list(names):
            raise ParameterError(f"need columns in the order of the domain, got {list(names)}")
        shape, kept = [1], False
        for name, declared in self.domain.items():  # neighbouring axes of one fate are one axis
            if (name in names) == kept:
                shape[-1] *= declared.size
            else:
                kept = not kept
                shape.append(declared.size)
        dropped = tuple(range(0, len(shape), 2))
        table = to_numpy(_sum(self.cells.reshape(shape), dropped)).astype(float)
        return table.reshape(tuple(self.domain[name].size for name in names))

    def histogram(self) -> Histogram:
        """All cells."""
        return Histogram(self.domain, self.cells)

    def sample(self, rows: int, *, rng: RandomSource | None = None) -> Records:
        """Independent rows of the distribution: post-processing, at no cost."""
        import numpy as np

        _some_rows(rows)
        weight = sum(int(block.sum()) for block in self._blocks())
        require(weight > 0, "a positive weight", weight=weight)
        return self._rows(np.asarray(uniform_below(weight, shape=(rows,), rng=rng), dtype=np.int64))

    def rounded(self, rows: int) -> Records:
        """Rows that stand for the distribution as closely as that many can, in the order of the cells; no chance."""
        import numpy as np

        _some_rows(rows)
        weight = sum(int(block.sum()) for block in self._blocks())
        require(weight > 0, "a positive weight", weight=weight)
        return self._rows(np.array([(2 * row + 1) * weight // (2 * rows) for row in range(rows)], dtype=np.int64))

    def _blocks(self) -> Iterator[npt.NDArray[np.int64]]:
        """The weights as integers."""
        import numpy as np

        scale = UNITS / max(self.total, 1e-300)
        for start in range(0, self.domain.size, BLOCK):
            block = to_numpy(self.cells[start : start + BLOCK]).astype(np.float64)
            yield np.maximum(np.floor(block * scale), 0).astype(np.int64)

    def _rows(self, places: npt.NDArray[np.int64]) -> Records:
        """For each place in the line of all weights, laid end to end, the row of the cell it falls into."""
        import numpy as np

        order = np.argsort(places, kind="stable")
        waiting, cells = places[order], np.empty(len(places), dtype=np.int64)
        done, before = 0, 0
        for number, block in enumerate(self._blocks()):
            ends = before + np.cumsum(block)
            before = int(ends[-1])
            until = int(np.searchsorted(waiting, before))
            found = np.searchsorted(ends, waiting[done:until], side="right")
            cells[order[done:until]] = number * BLOCK + found
            done = until
        columns: list[npt.NDArray[Any]] = []
        for declared in reversed(list(self.domain.values())):
            cells, position = np.divmod(cells, declared.size)
            columns.append(position)
        return Records(self.domain, columns[::-1])

    def __repr__(self) -> str:
        return f"DenseModel(cells={self.domain.size})"


def rows_needed(queries: int, *, alpha: float, beta: float) -> int:
    """How many sampled rows answer so many counting queries to within alpha, as fractions, but with probability beta.

    >>> rows_needed(760, alpha=0.01, beta=0.05)
    51611
    """
    whole = isinstance(queries, int) and not isinstance(queries, bool)
    require(whole and queries >= 1, "an integer queries >= 1", queries=queries)
    require(0 < alpha < 1, "0 < alpha < 1", alpha=alpha)
    require(0 < beta < 1, "0 < beta < 1", beta=beta)
    return math.ceil(math.log(2 * queries / beta) / (2 * alpha * alpha))


def _some_rows(rows: int) -> None:
    whole = isinstance(rows, int) and not isinstance(rows, bool)
    require(whole and rows >= 1, "an integer rows >= 1", rows=rows)


def _sum(cells: Array, axes: tuple[int, ...] | None) -> Array:
    """A sum in double precision, whatever the cells are kept in."""
    library = namespace(cells)
    if library.__name__ == "torch":
        every = axes if axes is not None else tuple(range(cells.ndim))
        return library.sum(cells, dim=every, dtype=library.float64)
    if library.__name__.startswith("jax"):
        return library.sum(cells, axis=axes)
    return library.sum(cells, axis=axes, dtype=library.float64)
