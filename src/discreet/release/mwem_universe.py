"""Where the estimate of MWEM lives: all cells of the universe, by their parities or one by one.

    Bits    marginal tables of at most three columns, all columns with two values: the statistics are the parities of
            the columns, and e^(theta . s) is evaluated by products of matrices (release/binary.py); no cell is kept
    Cells   any workload: the statistics are the components of marginal tables (release/mwem_tables.py) or the
            queries, and the weights of all cells are one vector

Both give the exact answers of the data, the expectations that `Fit` asks for, and the model in the end.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import discreet.release.binary_compiled as compiled
from discreet.data.arrays import Array, empty, like, namespace, to_numpy
from discreet.data.histogram import Histogram
from discreet.data.records import Records
from discreet.hazmat.integers import integers
from discreet.queries.marginals import Marginals
from discreet.queries.workload import Workload, same_domain
from discreet.release.binary import Exponentials, of_counts, of_rows, signs, subsets
from discreet.release.models.dense import DenseModel
from discreet.release.mwem_tables import Components

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.queries.workload import Countable

    Vector = npt.NDArray[np.float64]
    Places = npt.NDArray[np.int64]

DEGREE = 3  # columns of a table that is handled by parities
FEWEST = 4  # bits for which that pays
EXACT = 1 << 50  # rows up to which parities in double precision give the tables exactly
FARTHEST = 1 << 53  # answers are cut to this where they are compared, so that no difference wraps


def distances(true: npt.NDArray[np.int64], estimate: Vector, *, summed: int = 1) -> npt.NDArray[np.int64]:
    """|true - estimate|, with the estimate rounded and both cut: true answers then move no further, and nothing wraps.

    Neither does a sum of `summed` of them, a public number.

    >>> import numpy as np
    >>> distances(np.array([5, 5, 5]), np.array([2.6, np.nan, -np.inf])).tolist()
    [2, 5, 9007199254740997]
    """
    import numpy as np

    most = min(FARTHEST, (1 << 61) // summed)
    near = np.rint(np.clip(np.nan_to_num(estimate), -most, most)).astype(np.int64)
    return np.abs(np.clip(true, -most, most) - near)


def _whole(histogram: Histogram) -> None:
    """Refuse counts that are not integers, by their type: rounded ones may move by more than one row does."""
    import numpy as np

    whole = "int" in str(histogram.counts.dtype)  # of any library
    integers(np.zeros(0, dtype=np.int64 if whole else np.float64))


def universe_for(workload: Workload, *, device: str | None) -> Bits | Cells:
    """By parities where the domain is bits and the tables are small, by cells otherwise."""
    domain = workload.domain
    bits = len(domain) >= FEWEST and all(declared.size == 2 for declared in domain.values())
    if bits and isinstance(workload, Marginals) and 1 <= max(map(len, workload.sets)) <= DEGREE:
        return Bits(workload, device=device)
    return Cells(workload, device=device)


class Bits:
    """Marginal tables of bits."""

    def __init__(self, workload: Marginals, *, device: str | None) -> None:
        import numpy as np

        self.domain = workload.domain
        self.workload = workload
        self._device = device
        bits, degree = len(self.domain), max(map(len, workload.sets))
        local = device in (None, "cpu")
        made = compiled.CompiledExponentials(bits, degree) if local else Exponentials(bits, degree, device)
        self._cells: compiled.CompiledExponentials | Exponentials = made
        self._shift = bits * math.log(2)
        place = {name: position for position, name in enumerate(self.domain)}
        number = {members: position for position, members in enumerate(subsets(bits, degree))}
        self._inside = []  # for each table, the numbers of the parities of its columns
        for names in workload.sets:
            columns = [place[name] for name in names]
            chosen = [tuple(columns[bit] for bit in part) for part in subsets(len(columns), len(columns))]
            self._inside.append(np.array([number[members] for members in chosen]))
        ends = np.cumsum(workload.sizes)
        self._size = int(ends[-1])
        self._groups = []  # tables of one number of columns, together: parities of each, and places among the answers
        for width in sorted(set(map(len, workload.sets))):
            tables = [table for table, names in enumerate(workload.sets) if len(names) == width]
            inside = np.stack([self._inside[table] for table in tables])
            answers = np.stack([np.arange(ends[table] - 2**width, ends[table]) for table in tables])
            self._groups.append((inside, answers, signs(width, width).astype(float)))

    @property
    def count(self) -> int:
        """The number of parities."""
        return self._cells.count

    def truth(self, data: Countable) -> npt.NDArray[np.int64]:
        """The tables of the data, exactly."""
        import numpy as np

        same_domain(self.domain, data.domain)
        bits, degree = self._cells.bits, self._cells.degree
        if isinstance(data, Histogram):
            _whole(data)
            here = namespace(data.counts).__name__ == "numpy"
            parities = (compiled.of_counts if here else of_counts)(data.counts, bits, degree)
            if parities[0] > EXACT:  # the number of rows: the same answers, by sums of integers
                return np.asarray(integers(self.workload.answer(data)), dtype=np.int64)
        elif isinstance(data, Records):
            parities = of_rows([data.column(name) for name in self.domain], degree, device=self._device)
        else:
            return np.asarray(integers(self.workload.answer(data)), dtype=np.int64)
        return np.rint(self.answers(parities)).astype(np.int64)

    def answers(self, parities: Vector) -> Vector:
        """The tables with these parities."""
        import numpy as np

        made = np.empty(self._size)
        for inside, answers, chi in self._groups:
            made[answers] = parities[inside] @ chi / chi.shape[0]
        return made

    def measurement(self, table: int, noisy: npt.NDArray[Any]) -> tuple[Places, Vector, float]:
        """What a noisy table says of which parities, and how much larger than the noise's the variance is.

        The parity of no column is the number of rows, which is known.
        """
        inside = self._inside[table]
        bits = inside.size.bit_length() - 1
        return inside[1:], (signs(bits, bits).astype(float) @ noisy)[1:], float(inside.size)

    def expectations(self, theta: Vector) -> tuple[float, Vector]:
        """ln Z and all parities; infinite where the weights overflow."""
        return self._expectations(theta, fine=False)

    def _expectations(self, theta: Vector, *, fine: bool) -> tuple[float, Vector]:
        import numpy as np

        with np.errstate(over="ignore", invalid="ignore"):
            total, parities = self._cells(theta, shift=self._shift, fine=fine)
        if not (0 < total < math.inf):
            return math.inf, np.zeros(self.count)
        self._shift += math.log(total)  # the next weights are near this sum
        return self._shift, parities

    def spreads(self, means: Vector) -> Vector:
        """Those of signs."""
        return 1 - means * means

    def finish(self, theta: Vector, total: float) -> tuple[Vector, DenseModel]:
        """The answers of the estimate, in the best precision, and its model."""
        shift, parities = self._expectations(theta, fine=True)
        cells = self._cells.cells(theta, shift=shift - math.log(total))
        return total * self.answers(parities), DenseModel(self.domain, cells)


class Cells:
    """Any workload over a universe that can be listed; marginal tables by their components."""

    def __init__(self, workload: Workload, *, device: str | None) -> None:
        self.domain = workload.domain
        self.workload = workload
        self._device = device
        self._components = Components(workload) if isinstance(workload, Marginals) else None

    @property
    def count(self) -> int:
        """The number of statistics."""
        return len(self.workload) if self._components is None else self._components.count

    def truth(self, data: Countable) -> npt.NDArray[np.int64]:
        """The answers of the data, exactly."""
        import numpy as np

        return np.asarray(integers(self.workload.answer(data)), dtype=np.int64)

    def answers(self, means: Vector) -> Vector:
        """The answers with these statistics."""
        return means if self._components is None else self._components.answers(means)

    def measurement(self, chosen: int, noisy: npt.NDArray[Any]) -> tuple[Places, Vector, float | Vector]:
        """The components of a table, or one query."""
        import numpy as np

        if self._components is not None:
            return self._components.measurement(chosen, noisy)
        return np.array([chosen]), np.asarray(noisy, dtype=float).reshape(1), 1.0

    def expectations(self, theta: Vector) -> tuple[float, Vector]:
        """ln Z and all statistics; one vector of weights."""
        log_z, weights, total = self._weights(theta)
        answers = to_numpy(self.workload.apply(weights)).astype(float) / total
        return log_z, answers if self._components is None else self._components.of_answers(answers)

    def spreads(self, means: Vector) -> Vector:
        """Those of components; a guess for other queries, which the first steps mend."""
        import numpy as np

        return np.ones_like(means) if self._components is None else self._components.spreads(means)

    def finish(self, theta: Vector, total: float) -> tuple[Vector, DenseModel]:
        """The answers of the estimate and its model."""
        _, weights, mass = self._weights(theta)
        weights *= total / mass
        return to_numpy(self.workload.apply(weights)).astype(float), DenseModel(self.domain, weights)

    def _weights(self, theta: Vector) -> tuple[float, Array, float]:
        """e^(theta . s - most) for every cell, its sum, and ln Z."""
        dtype = "float64" if self._device in (None, "cpu") else "float32"
        spread = theta if self._components is None else self._components.on_answers(theta)
        logs = self.workload.transpose(like(spread, empty(1, device=self._device, dtype=dtype)))
        library = namespace(logs)
        most = float(logs.max())
        weights = logs - most  # a new vector: the other may be a view of theta
        del logs
        weights = library.exp(weights) if library.__name__.startswith("jax") else library.exp(weights, out=weights)
        total = float(weights.sum())
        return most + math.log(total), weights, total
