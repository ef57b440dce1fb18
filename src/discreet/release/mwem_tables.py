"""Marginal tables of any columns by their components: what each set of columns adds to its subsets.

For a column of k values let Q be an orthogonal matrix whose first row is constant.  A table, turned by Q along every
axis, falls apart into blocks, one for each set A of its columns: the components of A, which say all that the
table of A says beyond those of its subsets.  (For bits these are the parities.)  Components of different tables
that share columns are the same statistics, so that their measurements can be averaged; all together they are
linearly independent, while the cells of tables are not.  Noise of variance v in every cell of the table of S is
noise of variance v times the product of k over S less A in the components of A.  Proof: docs/theory/mwem.md.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.queries.marginals import Marginals

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vector = npt.NDArray[np.float64]
    Places = npt.NDArray[np.int64]


def turned(tables: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Every table times Q along its last axis: Helmert's matrix, by running sums, and never written out.

    Row 0 of Q is 1 / sqrt k, and row i has 1 for all before i and -i at i, over sqrt(i (i + 1)).

    >>> import numpy as np
    >>> turned(np.eye(2)).round(3).tolist()
    [[0.707, 0.707], [0.707, -0.707]]
    """
    import numpy as np

    i, norm = _steps(tables.shape[-1])
    sums = np.cumsum(tables, axis=-1, dtype=np.float64)
    made = np.empty_like(sums)
    made[..., 0] = sums[..., -1] / math.sqrt(tables.shape[-1])
    made[..., 1:] = (sums[..., :-1] - i * tables[..., 1:]) / norm
    return made


def turned_back(tables: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Times Q^T, which is its inverse.

    >>> import numpy as np
    >>> turned_back(turned(np.array([1.0, 2.0, 4.0]))).round(9).tolist()
    [1.0, 2.0, 4.0]
    """
    import numpy as np

    i, norm = _steps(tables.shape[-1])
    parts = tables[..., 1:] / norm
    later = np.cumsum(parts[..., ::-1], axis=-1)[..., ::-1]  # of those rows and all after them
    made = np.repeat(tables[..., :1] / math.sqrt(tables.shape[-1]), tables.shape[-1], axis=-1)
    made[..., :-1] += later
    made[..., 1:] -= parts * i
    return made


def turned_by_squares(tables: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Times the squares of the entries of Q, with a first row of ones: sums, and means of squares of components."""
    import numpy as np

    i, norm = _steps(tables.shape[-1])
    sums = np.cumsum(tables, axis=-1, dtype=np.float64)
    made = np.empty_like(sums)
    made[..., 0] = sums[..., -1]
    made[..., 1:] = (sums[..., :-1] + i * i * tables[..., 1:]) / (norm * norm)
    return made


def _steps(size: int) -> tuple[Vector, Vector]:
    """i and sqrt(i (i + 1)) for the rows after the first."""
    import numpy as np

    i = np.arange(1.0, size)
    return i, np.sqrt(i * (i + 1))


@dataclass(frozen=True, eq=False)
class Block:
    """The components of one choice of axes in all tables of one shape."""

    inside: tuple[Any, ...]  # where they lie in a turned table
    places: Places  # their numbers among all statistics, one row for each table
    home: npt.NDArray[np.bool_]  # the tables from which they are read
    factor: float  # how much larger than a cell's the variance of a component is


class Components:
    """The components of a workload of marginals, and the way there and back."""

    def __init__(self, workload: Marginals) -> None:
        import numpy as np

        sizes = {name: declared.size for name, declared in workload.domain.items()}
        ends = np.cumsum([0, *workload.sizes])
        self._answers = int(ends[-1])
        self.count = 0
        numbers: dict[tuple[str, ...], Places] = {}
        self._where: dict[int, tuple[int, int]] = {}
        self._groups: list[tuple[tuple[int, ...], Places, list[Block]]] = []
        shapes = [tuple(sizes[name] for name in names) for names in workload.sets]
        for group, shape in enumerate(dict.fromkeys(shapes)):
            members = [table for table, found in enumerate(shapes) if found == shape]
            self._where |= {table: (group, row) for row, table in enumerate(members)}
            blocks = []
            for axes in subsets(len(shape)):
                rows, home = [], []
                for table in members:
                    names = tuple(workload.sets[table][axis] for axis in axes)
                    home.append(names not in numbers)
                    if home[-1]:
                        size = math.prod(sizes[name] - 1 for name in names)
                        numbers[names] = np.arange(self.count, self.count + size)
                        self.count += size
                    rows.append(numbers[names])
                inside = tuple(slice(1, None) if axis in axes else 0 for axis in range(len(shape)))
                factor = math.prod(size for axis, size in enumerate(shape) if axis not in axes)
                blocks.append(Block(inside, np.stack(rows), np.array(home), float(factor)))
            cells = np.stack([np.arange(ends[table], ends[table + 1]) for table in members])
            self._groups.append((shape, cells, blocks))

    def of_answers(self, answers: Vector) -> Vector:
        """Components from tables, each from the first that has it."""
        import numpy as np

        found = np.zeros(self.count)
        for shape, cells, blocks in self._groups:
            whole = _along(answers[cells].reshape(-1, *shape), turned)
            for block in blocks:
                found[block.places[block.home]] = _flat(whole[block.home], block) * math.sqrt(block.factor)
        return found

    def answers(self, means: Vector) -> Vector:
        """The tables of probabilities with these components."""
        import numpy as np

        made = np.empty(self._answers)
        for shape, cells, blocks in self._groups:
            whole = np.zeros((len(cells), *shape))
            whole[(slice(None), *[0] * len(shape))] = 1 / math.sqrt(math.prod(shape))
            for block in blocks:
                _fill(whole, block, means[block.places] / math.sqrt(block.factor))
            made[cells] = _along(whole, turned_back).reshape(cells.shape)
        return made

    def on_answers(self, theta: Vector) -> Vector:
        """theta . s as a sum of functions of tables."""
        import numpy as np

        made = np.zeros(self._answers)
        for shape, cells, blocks in self._groups:
            whole = np.zeros((len(cells), *shape))
            for block in blocks:
                kept = theta[block.places] * block.home[:, None]
                _fill(whole, block, kept * math.sqrt(block.factor))
            made[cells] = _along(whole, turned_back).reshape(cells.shape)
        return made

    def spreads(self, means: Vector) -> Vector:
        """The variance of every component over rows of the distribution."""
        import numpy as np

        answers, found = self.answers(means), np.zeros(self.count)
        for shape, cells, blocks in self._groups:
            whole = _along(answers[cells].reshape(-1, *shape), turned_by_squares)
            for block in blocks:
                found[block.places[block.home]] = _flat(whole[block.home], block)
        return np.maximum(found - means * means, 0)

    def measurement(self, table: int, noisy: npt.NDArray[Any]) -> tuple[Places, Vector, Vector]:
        """What a noisy table says of which components, and how much larger than the noise's their variances are."""
        import numpy as np

        group, row = self._where[table]
        shape, _, blocks = self._groups[group]
        whole = _along(np.asarray(noisy, dtype=float).reshape(1, *shape), turned)
        parts = [(block.places[row], _flat(whole, block)[0], block.factor) for block in blocks]
        if not parts:
            return np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0)
        return (
            np.concatenate([places for places, _, _ in parts]),
            np.concatenate([values * math.sqrt(factor) for _, values, factor in parts]),
            np.concatenate([np.full(len(places), factor) for places, _, factor in parts]),
        )


def subsets(count: int) -> list[tuple[int, ...]]:
    """The sets of at least one of so many axes."""
    return [axes for size in range(1, count + 1) for axes in itertools.combinations(range(count), size)]


def _along(tables: npt.NDArray[Any], turn: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Every table turned along each of its axes."""
    import numpy as np

    for axis in range(1, tables.ndim):
        tables = np.moveaxis(turn(np.moveaxis(tables, axis, -1)), -1, axis)
    return np.ascontiguousarray(tables)


def _flat(turned: npt.NDArray[Any], block: Block) -> npt.NDArray[Any]:
    return turned[(slice(None), *block.inside)].reshape(len(turned), block.places.shape[1])


def _fill(turned: npt.NDArray[Any], block: Block, values: npt.NDArray[Any]) -> None:
    view = turned[(slice(None), *block.inside)]
    view[...] = values.reshape(view.shape)
