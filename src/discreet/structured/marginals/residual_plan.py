"""How much noise on each residual: the least weighted sum of variances, or the least largest variance.

Let sigma_A be the noise of residual A for a sensitivity of 1 (`residual.py`), p_A its share and v_A
what a unit of sigma_A^2 adds to the objective.  A row that is added or removed moves the measurements, in units
of their noise, by the root of sum p_A / sigma_A^2, which is kept at 1.

Theorem (Xiao, He, Zhang, Kifer 2023; Cauchy, Schwarz).  Under that constraint

    sum v_A sigma_A^2 >= F^2,    F = sum over A of sqrt(p_A v_A),

with equality exactly for sigma_A^2 = F sqrt(p_A / v_A).  The least largest variance over tables is the largest F^2
over all ways to share a weight of 1 among them (minimax); F is concave there, and multiplying each share by the
square of its table's variance and normalising never lowers it.  Any shares give a bracket: F^2 is at most the
optimum, and the largest variance at their noise is at least that.

Theorem (Replace).  A row that changes, and keeps its values in the columns E, moves them by the root of

    2 sum over A of (p_A - prod over A of (1[i in E] - 1 / k_i)) / sigma_A^2,

where the empty set drops out, since n is public.  The largest over E is computed exactly where there are few columns
or kinds of columns, and is bounded from above elsewhere.  Proofs: docs/theory/marginal_release.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from discreet.errors import UnsupportedError
from discreet.structured.marginals.residual import Residuals

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

Objective = Literal["total", "max"]
GAP = 1e-10  # the relative distance to the optimum at which the search for equal shares ends
STEPS = 2000  # of that search at most; the bracket holds wherever it ends
FLOOR = 2.0**-200  # the least share: one that underflowed would leave a residual that nothing asks for, with no noise
ENUMERATED = 20  # columns whose 2^d sets are all tried
PATTERNS = 1 << 23  # numbers of changed columns by kind that are all tried
EXCESS = 2.0**-40  # relative, in the sum of the squares; rounding multipliers down gives back twice that
SLACK = 1e-9  # relative, above the error of sums of up to 2^26 terms that are at most 1 in all


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """sigma_A for a sensitivity of 1, with a bracket on the objective: `lower` <= optimum <= `upper`.

    The empty set, where n is public, is known and not measured: its sigma is 0.  No other sigma may be.
    """

    noise: Floats  # sigma_A^2
    lower: float
    upper: float


def plan(residuals: Residuals, weights: Floats, *, objective: Objective, n_public: bool) -> Plan:
    """The noise for a sensitivity of 1; `weights` multiply the variances of the cells of the tables."""
    if objective == "total":
        return _shared(residuals, weights * residuals.table_cells, n_public=n_public)
    return _evened(residuals, weights, n_public=n_public)


def _noise(residuals: Residuals, shares: Floats, *, n_public: bool) -> tuple[Floats, float]:
    """sigma_A^2 = F sqrt(p_A / v_A), and F."""
    import numpy as np

    demand = residuals.demand(shares)
    if n_public:
        demand[0] = 0.0
    total = float(np.sqrt(residuals.shares * demand).sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        noise = total * np.sqrt(
            residuals.shares / demand
        )  # inf or nan, which `checked` refuses, if a demand underflows
    if n_public:
        noise[0] = 0.0
    return noise, total


def checked(residuals: Residuals, plan: Plan, *, n_public: bool) -> Plan:
    """The plan, if every measured residual has noise and they cost what was paid; refused else, whatever went wrong."""
    import numpy as np

    noise, shares = (plan.noise[1:], residuals.shares[1:]) if n_public else (plan.noise, residuals.shares)
    if not (np.isfinite(noise) & (noise > 0)).all() or float((shares / noise).sum()) > 1 + EXCESS:
        raise UnsupportedError("no noise was found that these tables can be measured with; give them like weights")
    return plan


def _shared(residuals: Residuals, shares: Floats, *, n_public: bool) -> Plan:
    noise, total = _noise(residuals, shares, n_public=n_public)
    return Plan(noise, total**2, total**2)


def _evened(residuals: Residuals, weights: Floats, *, n_public: bool) -> Plan:
    """Shares of a weight of 1 among the tables, moved until the largest variance is close to the bound."""
    import numpy as np

    def look(shares: Floats) -> tuple[float, Floats, Floats]:
        noise, total = _noise(residuals, shares * weights, n_public=n_public)
        return total, weights * residuals.variances(noise), noise

    def step(shares: Floats, variances: Floats, power: float) -> Floats:
        moved = shares * (variances / variances.max()) ** power
        return np.maximum(moved / moved.sum(), FLOOR)

    shares, power = np.full(len(weights), 1 / len(weights)), 2.0
    best, (total, variances, noise) = 0.0, look(shares)
    kept = Plan(noise, total**2, float(variances.max()))
    for _ in range(STEPS):
        best = max(best, total)
        if variances.max() < kept.upper:
            kept = Plan(noise, best**2, float(variances.max()))
        if kept.upper <= best**2 * (1 + GAP) or best == 0:
            break
        tried = step(shares, variances, power)
        found = look(tried)
        if found[0] < total:  # a long step may overshoot; a square never does
            power = 2.0
            tried = step(shares, variances, power)
            found = look(tried)
        else:
            power = min(2 * power, 64.0)
        shares, (total, variances, noise) = tried, found
    return Plan(kept.noise, best**2, kept.upper)


def replaced(residuals: Residuals, plan: Plan) -> float:
    """The square of the sensitivity under Replace, where it is at most 1 when a row is added or removed; rounded up."""
    import numpy as np

    with np.errstate(divide="ignore"):
        precision = np.where(plan.noise > 0, 1 / plan.noise, 0.0)
    columns = sorted({int(c) for block in residuals.blocks for c in block.columns.ravel()})
    together = float((residuals.shares * precision).sum())
    if len(columns) <= ENUMERATED:
        return 2 * (together - _least_exactly(residuals, precision, columns)) * (1 + SLACK)
    # The largest of -prod is p_A / (k - 1), at one change in the column with the fewest values k.
    furthest = np.concatenate([np.full(b.count, 1 / (min(b.shape, default=2) - 1)) for b in residuals.blocks])
    alone = 2 * float((residuals.shares * precision * (1 + furthest)).sum())
    least = _least_by_kind(residuals, precision)
    return min(alone, math.inf if least is None else 2 * (together - least)) * (1 + SLACK)


def _least_exactly(residuals: Residuals, precision: Floats, columns: list[int]) -> float:
    """The least of sum over A of precision_A prod (1[i in E] - 1 / k_i) over all sets E: one pass for each column."""
    import numpy as np

    place = {column: i for i, column in enumerate(columns)}
    sizes = {
        int(c): k for block in residuals.blocks for row in block.columns for c, k in zip(row, block.shape, strict=True)
    }
    values = np.zeros(1 << len(columns))
    for block in residuals.blocks:
        masks = [sum(1 << place[int(c)] for c in row) for row in block.columns]
        values[masks] = precision[block.first : block.first + block.count]
    for column, i in place.items():
        split = values.reshape(-1, 2, 1 << i)
        without, inside = split[:, 0].copy(), split[:, 1].copy()
        split[:, 0], split[:, 1] = without - inside / sizes[column], without + inside * (1 - 1 / sizes[column])
    return float(values.min())


def _least_by_kind(residuals: Residuals, precision: Floats) -> float | None:
    """The same where columns of one size are interchangeable, from below where they are not; None if too many kinds.

    Every term p_A - prod is at least 0, so each A may be given the largest precision of its kind, present or not.
    """
    import numpy as np

    sizes = {
        int(c): k for block in residuals.blocks for row in block.columns for c, k in zip(row, block.shape, strict=True)
    }
    kinds = sorted(set(sizes.values()))
    many = [sum(1 for k in sizes.values() if k == kind) for kind in kinds]
    width = max(max((block.shape.count(k) for k in kinds), default=0) for block in residuals.blocks) + 1
    if math.prod(max(width, count + 1) for count in many) > PATTERNS:
        return None
    values = np.zeros((width,) * len(kinds))  # by how many columns of each kind are in A
    for block in residuals.blocks:
        kind = tuple(block.shape.count(k) for k in kinds)
        values[kind] = max(values[kind], float(precision[block.first : block.first + block.count].max()))
    for k, count in zip(kinds, many, strict=True):  # then by how many columns of each kind change
        ways = np.array([_elementary(k, count, changed, width) for changed in range(count + 1)])
        values = np.tensordot(values, ways, axes=([0], [1]))
    together = float((residuals.shares * precision).sum())
    return together - float(values.flat[0] - values.min())


def _elementary(k: int, count: int, changed: int, width: int) -> Floats:
    """Coefficients of (1 + z (1 - 1/k))^(count - changed) (1 - z / k)^changed up to z^(width - 1)."""
    import numpy as np

    out = np.zeros(width)
    out[0] = 1.0
    for i in range(count):
        factor = -1 / k if i < changed else 1 - 1 / k
        out[1:] += factor * out[:-1].copy()
    return out
