"""Non-negative tables from noisy residuals: post-processing, which costs nothing and shows nothing new.

Tables rebuilt from one set of residuals agree on every table they share, but have negative cells.  Two projections
alternate: every table is moved to the nearest one without negative cells and with the common total,
and the tables together to the nearest ones that agree, by averaging each residual over the tables that contain it.

Theorem (von Neumann, Bregman 1965).  Both sets are convex.  If the common total is the number of rows, both hold the
true tables, so that every projection brings the tables closer to them, in squares summed over all cells of all
tables; the sweeps converge to tables that have no negative cell and agree.  What is returned ends with the first
projection: no cell is negative and all totals are equal exactly, and the tables agree up to what further
sweeps would mend.  Proof: docs/theory/marginal_release.md, section 6.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from discreet.structured.marginals.residual import Residuals, Tables
from discreet.structured.marginals.residual_tables import corner, in_a_row, pieces, rebuilt, spread

if TYPE_CHECKING:
    from discreet.queries.marginals import Marginals
    from discreet.structured.marginals.residual import Floats, Places

SWEEPS = 12  # more lower the error by less than a hundredth
WORK = 1 << 29  # cells in all sweeps together, beyond which there are fewer of them


def non_negative(residuals: Residuals, values: Floats, workload: Marginals, *, sweeps: int | None = None) -> Floats:
    """Tables of the workload without negative cells, in its order and multiplied by its weights."""
    import numpy as np

    from discreet.structured.marginals.residual_kernels import in_threads, project

    if sweeps is None:
        sweeps = max(2, min(SWEEPS, WORK // len(workload)))
    total = max(float(values[0]), 0.0)
    out = np.empty(len(workload))
    for sweep in range(sweeps):
        last = sweep == sweeps - 1
        gathering = _Average(residuals)
        for group in residuals.tables:
            for rows in pieces(np.arange(len(group.numbers)), math.prod(group.shape)):
                made = rebuilt(residuals, values, group, rows)
                in_threads(project, made, total)
                if last:
                    spread(out, group.starts[rows], made * group.weights[rows][:, None])
                else:
                    gathering.add(group, rows, made)
        if not last:
            values = gathering.values()
    return out


class _Average:
    """The residuals of the agreeing tables nearest to given ones."""

    def __init__(self, residuals: Residuals) -> None:
        import numpy as np

        self.residuals = residuals
        self.sums = np.zeros(residuals.coordinates)
        self.weights = np.zeros(len(residuals))

    def add(self, group: Tables, rows: Places, batch: Floats) -> None:
        """Add the coordinates of some tables; a residual A counts by its share of the cells, 1 / (cells of B - A)."""
        import numpy as np

        from discreet.structured.marginals.residual_kernels import analyse, in_threads

        in_threads(analyse, batch, np.array(group.shape, dtype=np.int64))
        shaped = batch.reshape(-1, *group.shape)
        for pattern, part in enumerate(group.parts[:, rows]):
            found = shaped[(slice(None), *corner(pattern, len(group.shape)))].reshape(len(part), -1)
            weight = self.residuals.cells[part] / math.prod(group.shape)
            starts = self.residuals.starts[part]
            self.weights += np.bincount(part, weights=weight, minlength=len(self.residuals))
            _add(self.sums, starts, found * weight[:, None])

    def values(self) -> Floats:
        """The averages."""
        for block in self.residuals.blocks:
            mine = self.sums[block.start : block.end].reshape(block.count, -1)
            mine /= self.weights[block.first : block.first + block.count, None]
        return self.sums


def _add(sums: Floats, starts: Places, runs: Floats) -> None:
    """Add runs of values from each start on, which may repeat."""
    import numpy as np

    width = runs.shape[1]
    if in_a_row(starts, width):
        sums[starts[0] : starts[0] + runs.size] += runs.ravel()
        return
    order = np.argsort(starts, kind="stable")
    fresh = np.flatnonzero(np.diff(starts[order], prepend=-1))
    sums[starts[order][fresh][:, None] + np.arange(width)] += np.add.reduceat(runs[order], fresh, axis=0)
