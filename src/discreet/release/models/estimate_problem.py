"""The convex function that a fit minimises, over one flat vector of all measured tables; see estimate.py.

The first point is that of independent columns, after which each table moves to where the function would be least if
it moved alone.  That has a closed form, and where the measured sets form a tree it is nearly the answer.

A table may have been measured with the values of a column put into bins.  Then its log-factor has one number for
each combination of bins: it is spread over the values before messages are passed, and marginals are summed up after.
Proof: docs/theory/models.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING

from discreet.data.domain import Domain
from discreet.errors import require
from discreet.release.models.estimate_descent import Point
from discreet.release.models.factor import Factor
from discreet.release.models.junction import JunctionTree
from discreet.release.models.junction_messages import POSSIBLE, Propagation

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Table = npt.NDArray[np.float64]
    Bins = npt.NDArray[np.int64] | None

Key = tuple[tuple[str, ...], tuple[bytes | None, ...]]  # columns, and how the values of each are put together
NEWTON = 8  # steps to a sum of one


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """A table, the variance of its cells, and the bins of each of its columns (None: every value by itself)."""

    table: Table
    variance: float
    bins: tuple[Bins, ...]


class Problem:
    """f of the theorem, over one flat vector of all tables."""

    def __init__(
        self,
        domain: Domain,
        measured: Mapping[Key, Measured],
        base: Mapping[tuple[str, ...], Table],
        *,
        rows: float,
        temperature: float,
    ) -> None:
        import numpy as np

        self.sizes = {name: declared.size for name, declared in domain.items()}
        self.keys, self.base = list(measured), dict(base)
        sets = [*(columns for columns, _ in self.keys), *base]
        tree = JunctionTree.over(self.sizes, sets)
        self.passing = Propagation(self.sizes, tree, sets)
        layouts = self.passing.layouts
        self.layouts = layouts[: len(measured)]
        self.fixed = [
            np.ascontiguousarray(Factor(key, table).ordered(layout.columns)).reshape(-1)
            for (key, table), layout in zip(base.items(), layouts[len(measured) :], strict=True)
        ]
        self.places = [
            _places(self.sizes, columns, one.bins, layout.columns)
            for (columns, _), one, layout in zip(self.keys, measured.values(), self.layouts, strict=True)
        ]
        ends = np.cumsum([one.table.size for one in measured.values()]).tolist()
        self.slices = [slice(end - one.table.size, end) for end, one in zip(ends, measured.values(), strict=True)]
        self.cells = ends[-1]
        self.target, self.unit = np.empty(self.cells), np.empty(self.cells)
        for index, ((columns, _), one) in enumerate(measured.items()):
            part, layout = self.slices[index], self.layouts[index]
            whole = self.places[index] is None
            table = Factor(columns, one.table).ordered(layout.columns) if whole else one.table
            self.target[part] = table.reshape(-1) / rows
            self.unit[part] = one.variance / rows**2
        self.heat(temperature)

    def heat(self, temperature: float) -> None:
        """Set the temperature, and begin again at the uniform distribution."""
        import numpy as np

        self.temperature, self.ridge = temperature, temperature * self.unit
        self.centre = np.zeros(self.cells)

    def evaluate(self, at: Table) -> Point:
        """f, its gradient and the diagonal of its Hessian: one message passing."""
        import numpy as np

        from discreet.release.models.factor_kernels import inner_product

        log_partition = self.passing.run([*map(self.spread, range(len(self.keys)), repeat(at)), *self.fixed])
        require(log_partition > POSSIBLE, "structural zeros that allow at least one row", zeros=list(self.base))
        found = np.empty(self.cells)
        for index, part in enumerate(self.slices):
            self.gather(index, found[part])
        moved = at - self.centre
        shrunk = self.ridge * moved
        value = log_partition - inner_product(at, self.target) + inner_product(moved, shrunk) / 2
        return Point(at, value, found - self.target + shrunk, found * np.maximum(1 - found, 0) + self.ridge)

    def spread(self, index: int, at: Table) -> Table:
        """The log-factor of one table, for every value."""
        places = self.places[index]
        return at[self.slices[index]] if places is None else at[self.slices[index]][places]

    def gather(self, index: int, out: Table) -> None:
        """The marginal of one table, summed up within its bins."""
        import numpy as np

        places = self.places[index]
        if places is None:
            self.passing.marginal(index, out)
        else:
            out[:] = np.bincount(places, self.passing.marginal(index), minlength=len(out))

    def gap(self, point: Point) -> float:
        """The gap of the theorem."""
        from discreet.release.models.factor_kernels import weighted_product

        return weighted_product(point.gradient, point.gradient, self.unit) / 2

    def loss(self, point: Point) -> float:
        """The sum of squares."""
        from discreet.release.models.factor_kernels import weighted_product

        residual = point.gradient - self.ridge * (point.at - self.centre)
        return weighted_product(residual, residual, self.unit) / 2

    def factors(self, at: Table) -> dict[tuple[str, ...], Table]:
        """The tables of a point and the structural zeros, by their columns."""
        made: dict[tuple[str, ...], Table] = {}
        for index, ((columns, _), layout) in enumerate(zip(self.keys, self.layouts, strict=True)):
            table = Factor(layout.columns, self.spread(index, at).reshape(layout.shape)).ordered(columns)
            made[columns] = made[columns] + table if columns in made else table
        for key, table in self.base.items():
            made[key] = made[key] + table if key in made else table
        return made

    def tables(self, at: Table) -> dict[Key, Table]:
        """The log-factors of a point, to go on from: those of whole values with their columns in order."""
        made = {}
        for index, (key, part) in enumerate(zip(self.keys, self.slices, strict=True)):
            layout = self.layouts[index]
            whole = self.places[index] is None
            table = Factor(layout.columns, at[part].reshape(layout.shape)).ordered(key[0]) if whole else at[part]
            made[key] = table.copy()
        return made

    def begin(self, start: Mapping[Key, Table] | None) -> Table:
        """The log-factors of an earlier fit where the same table was measured, or independent columns."""
        import numpy as np

        at = np.zeros(self.cells)
        if start is not None:
            for index, (key, part) in enumerate(zip(self.keys, self.slices, strict=True)):
                if key in start:
                    whole = self.places[index] is None
                    table = Factor(key[0], start[key]).ordered(self.layouts[index].columns) if whole else start[key]
                    at[part] = table.reshape(-1)
            new = [index for index, key in enumerate(self.keys) if key not in start]
            return self._settled(at, new)
        for name, size in self.sizes.items():
            holding = [i for i, (columns, _) in enumerate(self.keys) if name in columns and self.places[i] is None]
            if not holding:
                continue
            weight, found = 0.0, np.zeros(size)
            for index in holding:
                layout, part = self.layouts[index], self.slices[index]
                others = tuple(axis for axis, other in enumerate(layout.columns) if other != name)
                precision = size / (self.unit[part.start] * layout.size)
                found += precision * self.target[part].reshape(layout.shape).sum(axis=others)
                weight += precision
            column = np.log(np.maximum(found / weight, math.sqrt(1 / weight)))
            smallest = min(holding, key=lambda index: self.layouts[index].size)
            layout, part = self.layouts[smallest], self.slices[smallest]
            axis = layout.columns.index(name)
            at[part].reshape(layout.shape)[...] += column.reshape(
                [-1 if i == axis else 1 for i in range(len(layout.shape))]
            )
        return self._settled(at, range(len(self.keys)))

    def _settled(self, at: Table, which: Sequence[int]) -> Table:
        """Move each of some tables to where f would be least if it moved alone."""
        if not which:
            return at
        import numpy as np

        self.evaluate(at)
        moved = at.copy()
        for index in which:
            part = self.slices[index]
            found = np.empty(part.stop - part.start)
            self.gather(index, found)
            moved[part] += alone(found, self.target[part] - self.ridge[part] * at[part], float(self.ridge[part.start]))
        return moved


def _places(
    sizes: Mapping[str, int], columns: tuple[str, ...], bins: tuple[Bins, ...], order: tuple[str, ...]
) -> npt.NDArray[np.int64] | None:
    """For each cell, in the given order of columns, the place of its combination of bins; None where all are whole."""
    import numpy as np

    if all(one is None for one in bins):
        return None
    places = np.zeros((), dtype=np.int64)
    for name, one in zip(columns, bins, strict=True):
        values = np.arange(sizes[name]) if one is None else one
        along = values.reshape([-1 if other == name else 1 for other in order])
        places = places * (int(values.max()) + 1) + along
    return np.ascontiguousarray(np.broadcast_to(places, [sizes[name] for name in order])).reshape(-1)


def alone(found: Table, target: Table, ridge: float) -> Table:
    """The least of ln sum found e^d - <target, d> + ridge ||d||^2 / 2.

    Its gradient vanishes where y = target - ridge d, y = found e^(d - v), and v is such that y sums to 1: y / ridge is
    the Wright omega function of ln(found / ridge) + target / ridge - v, convex in v, so that Newton's rule finds it.

    >>> import numpy as np
    >>> step = alone(np.array([0.5, 0.5]), np.array([0.75, 0.25]), 1e-6)
    >>> round(float(np.exp(step[0] - step[1])), 3)
    3.0
    """
    import numpy as np
    from scipy.special import wrightomega

    with np.errstate(divide="ignore"):
        base = np.log(found / ridge) + target / ridge
    shift, omega = 0.0, wrightomega(base)
    for _ in range(NEWTON):
        shift += (ridge * float(omega.sum()) - 1) / (ridge * float((omega / (1 + omega)).sum()))
        omega = wrightomega(base - shift)
    return target / ridge - omega
