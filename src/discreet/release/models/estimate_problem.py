"""The convex function that a fit minimises, over one flat vector of all measured tables; see estimate.py.

The first point is that of independent columns, after which each table moves to where the function would be least if
it moved alone.  That has a closed form, and where the measured sets form a tree it is nearly the answer.
Proof: docs/theory/models.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from discreet.data.domain import Domain
from discreet.errors import require
from discreet.release.models.estimate_descent import Point
from discreet.release.models.factor import Factor
from discreet.release.models.graphical import GraphicalModel
from discreet.release.models.junction import JunctionTree
from discreet.release.models.junction_messages import POSSIBLE, Propagation

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Table = npt.NDArray[np.float64]

NEWTON = 8  # steps to a sum of one


class Problem:
    """f of the theorem, over one flat vector of all tables."""

    def __init__(
        self,
        domain: Domain,
        measured: Mapping[tuple[str, ...], tuple[Table, float]],
        base: Mapping[tuple[str, ...], Table],
        *,
        rows: float,
        temperature: float,
    ) -> None:
        import numpy as np

        self.sizes = {name: declared.size for name, declared in domain.items()}
        tree = JunctionTree.over(self.sizes, [*measured, *base])
        self.passing = Propagation(self.sizes, tree, [*measured, *base])
        self.keys, self.base = list(measured), dict(base)
        layouts = self.passing.layouts
        self.layouts = layouts[: len(measured)]
        self.fixed = [
            np.ascontiguousarray(Factor(key, table).ordered(layout.columns)).reshape(-1)
            for (key, table), layout in zip(base.items(), layouts[len(measured) :], strict=True)
        ]
        ends = np.cumsum([layout.size for layout in self.layouts]).tolist()
        self.slices = [slice(end - layout.size, end) for end, layout in zip(ends, self.layouts, strict=True)]
        self.cells = ends[-1]
        self.target, self.unit = np.empty(self.cells), np.empty(self.cells)
        for part, layout, (key, (table, variance)) in zip(self.slices, self.layouts, measured.items(), strict=True):
            self.target[part] = Factor(key, table).ordered(layout.columns).reshape(-1) / rows
            self.unit[part] = variance / rows**2
        self.ridge = temperature * self.unit
        self.centre = np.zeros(self.cells)

    def evaluate(self, at: Table) -> Point:
        """f, its gradient and the diagonal of its Hessian: one message passing."""
        import numpy as np

        from discreet.release.models.factor_kernels import inner_product

        log_partition = self.passing.run([*(at[part] for part in self.slices), *self.fixed])
        require(log_partition > POSSIBLE, "structural zeros that allow at least one row", zeros=list(self.base))
        found = np.empty(self.cells)
        for index, part in enumerate(self.slices):
            self.passing.marginal(index, found[part])
        moved = at - self.centre
        shrunk = self.ridge * moved
        value = log_partition - inner_product(at, self.target) + inner_product(moved, shrunk) / 2
        return Point(at, value, found - self.target + shrunk, found * np.maximum(1 - found, 0) + self.ridge)

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
        made = {
            key: Factor(layout.columns, at[part].reshape(layout.shape)).ordered(key)
            for key, layout, part in zip(self.keys, self.layouts, self.slices, strict=True)
        }
        for key, table in self.base.items():
            made[key] = made[key] + table if key in made else table
        return made

    def begin(self, start: GraphicalModel | None) -> Table:
        """The factors of an earlier model where the same columns were measured, or independent columns."""
        import numpy as np

        at = np.zeros(self.cells)
        if start is not None:
            for key, layout, part in zip(self.keys, self.layouts, self.slices, strict=True):
                if key in start.factors:
                    table = start.factors[key] - self.base.get(key, 0.0)
                    at[part] = Factor(key, table).ordered(layout.columns).reshape(-1)
            new = [index for index, key in enumerate(self.keys) if key not in start.factors]
            return self._settled(at, new)
        for name, size in self.sizes.items():
            holding = [index for index, key in enumerate(self.keys) if name in key]
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
        if which:
            found = self.evaluate(at).gradient + self.target - self.ridge * at
            at = at.copy()
            for index in which:
                part = self.slices[index]
                target = self.target[part] - self.ridge[part] * at[part]
                at[part] += alone(found[part], target, float(self.ridge[part.start]))
        return at


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
