"""The distribution that noisy marginals suggest: least squares with a little entropy, over a graphical model.

Let y_m be measured tables, each cell with standard deviation s_m, N the number of rows, M_m p the marginals of a
distribution p, u the uniform distribution over the cells that are not structural zeros, and

    P(p) = sum over m of ||N M_m p - y_m||^2 / (2 s_m^2) + temperature * KL(p || u).

Theorem.  P has one minimiser p*, and it is proportional to exp(sum of tables x_m on the measured columns), where x
minimises f(x) = ln Z(x) - <x, y / N> + sum of c_m ||x_m||^2 / 2, c_m = temperature * s_m^2 / N^2.  For every x

    P(p_x) - P(p*) <= gap(x) = sum over m of N^2 ||M_m p_x - y_m / N + c_m x_m||^2 / (2 s_m^2),

and the sum of squares alone is within gap(x) + temperature * ln |universe| of its least value.  Each further step
takes the last p for u; after k exact steps that is (temperature / k) ln |universe|, and in the limit p is the
distribution of largest entropy among those of least squares.  Proof: docs/theory/models.md.

Post-processing of the measurements: no privacy is spent and none is added.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.data.domain import Domain
from discreet.data.records import LARGEST, countable
from discreet.errors import ParameterError, require
from discreet.release.models.estimate_descent import Point, descend
from discreet.release.models.estimate_problem import Key, Measured, Problem
from discreet.release.models.factor import Factor
from discreet.release.models.graphical import GraphicalModel, fits, log_factor
from discreet.release.models.product import known

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.release.models.estimate_problem import Bins

    Table = npt.NDArray[np.float64]


SHARPEST = 1 / 16  # of a standard deviation: counts are whole, so that a table with less noise is exact
HOTTER = 3  # times that a temperature is raised at most, tenfold each
WARMTH = 0.2  # the usual temperature, times the median standard deviation over N


@dataclass(frozen=True, slots=True, eq=False)
class Measurement:
    """A noisy marginal table in counts; `sd` is the standard deviation of each cell, 0 where the counts are exact.

    `bins` tells for each column how its values were put together: the bin of every value, or None for all apart.

    >>> Measurement(("ward",), [40, 12, 8], sd=3.0).columns
    ('ward',)
    """

    columns: tuple[str, ...]
    values: npt.ArrayLike
    sd: float = 1.0
    bins: tuple[Bins, ...] = ()

    def __post_init__(self) -> None:
        require(not isinstance(self.columns, str), "a tuple of columns", columns=self.columns)
        known_sd = not isinstance(self.sd, bool) and 0 <= self.sd < math.inf
        require(known_sd, "a finite sd >= 0", sd=self.sd)

    @property
    def spread(self) -> float:
        """The standard deviation that a fit reckons with: never so small that its square, or a quotient, vanishes."""
        return max(float(self.sd), SHARPEST)


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """A fitted model with what is certain about the fit.

    `loss` is the sum of squares of the theorem, `gap` bounds how far P is above its minimum in the last step, and
    `values` are those of f on the way down in that step, and `tables` what a later fit can start from.

    >>> from discreet.data import Boolean, Domain
    >>> domain = Domain({"smokes": Boolean(), "runs": Boolean()})
    >>> found = estimate(domain, [Measurement(("smokes",), [60, 40]), Measurement(("runs",), [30, 70])])
    >>> found.model.marginal(("smokes",)).round().tolist()
    [60.0, 40.0]
    """

    model: GraphicalModel
    loss: float
    gap: float
    values: tuple[float, ...]
    tables: Mapping[Key, Table]


def estimate(
    domain: Domain,
    measurements: Sequence[Measurement],
    *,
    total: float | None = None,
    zeros: Mapping[tuple[str, ...], npt.ArrayLike] | None = None,
    start: Estimate | None = None,
    temperature: float | None = None,
    steps: int = 1,
    tolerance: float = 1e-3,
    iterations: int = 1000,
    limit: int = LARGEST,
) -> Estimate:
    """Fit a graphical model to noisy marginals.

    `total` is N where it is known; else it is estimated from the measurements.  `zeros` marks impossible combinations
    of some columns with True.  `start` is an earlier fit, which saves time and changes nothing else.  A step ends
    when gap <= tolerance * (loss + number of measured cells), or after `iterations`.

    A log-factor of size x leaves a residual of x * temperature * sd / N standard deviations.  By default the
    temperature is N / 5 over the median sd, so that this is x / 5: below the noise; where the tables contradict each
    other or the zeros by far more than their noise, so that the descent does not end, it is raised.  For a closer
    fit take more steps, which cost less than a low temperature.

    >>> from discreet.data.columns import Boolean
    >>> domain = Domain({"icu": Boolean(), "smokes": Boolean()})
    >>> noisy = [Measurement(("icu",), [62.0, 41.0], sd=2.0), Measurement(("icu", "smokes"), [[31, 33], [42, -3]])]
    >>> fitted = estimate(domain, noisy)
    >>> fitted.model.marginal(["icu", "smokes"]).round().tolist(), round(fitted.model.total)
    ([[30.0, 32.0], [41.0, 0.0]], 103)
    """
    kept = countable(domain)
    require(bool(measurements), "at least one measurement", measurements=len(measurements))
    for name, count in (("steps", steps), ("iterations", iterations)):
        whole = isinstance(count, int) and not isinstance(count, bool) and count >= 1
        require(whole, f"an integer {name} >= 1", **{name: count})
    merged = _merged(kept, measurements)
    rows = _total(merged) if total is None else total
    if isinstance(rows, bool) or not 0 < rows < math.inf:
        raise ParameterError(f"need a finite total > 0, got total={total!r}")
    base = {
        tuple(names): log_factor(kept, names, _barred(kept, names, barred)) for names, barred in (zeros or {}).items()
    }
    fits(kept, [*(columns for columns, _ in merged), *base], limit)
    usual = float(rows) / statistics.median(math.sqrt(one.variance) for one in merged.values())
    warmth = WARMTH * usual if temperature is None else temperature
    finite = all(not isinstance(x, bool) and 0 < x < math.inf for x in (warmth, tolerance))
    require(finite, "a finite temperature and tolerance > 0", temperature=temperature, tolerance=tolerance)
    problem = Problem(kept, merged, base, rows=float(rows), temperature=warmth)
    fit = _stepped(problem, problem.begin(None if start is None else start.tables), steps, tolerance, iterations)
    for _ in range(HOTTER if temperature is None else 0):
        if fit.arrived:
            break
        problem.heat(10 * problem.temperature)
        more = _stepped(problem, problem.begin(None), max(steps, 10), tolerance, max(1, iterations // 10))
        fit = more if more.loss < fit.loss else fit
    model = GraphicalModel(kept, problem.factors(fit.at), total=float(rows), limit=limit)
    return Estimate(model, fit.loss, fit.gap, fit.values, problem.tables(fit.at))


@dataclass(frozen=True, slots=True, eq=False)
class _Fit:
    """Where the steps have led, and whether the last of them came to its end."""

    at: Table
    loss: float
    gap: float
    values: tuple[float, ...]
    arrived: bool


def _stepped(problem: Problem, at: Table, steps: int, tolerance: float, iterations: int) -> _Fit:
    """Some steps, each from the distribution of the last."""

    def done(point: Point) -> bool:
        return problem.gap(point) <= tolerance * (problem.loss(point) + problem.cells)

    last, values = descend(problem.evaluate, at, done=done, iterations=iterations)
    for _ in range(steps - 1):
        problem.centre = last.at
        last, values = descend(problem.evaluate, last.at, done=done, iterations=iterations)
    return _Fit(last.at, problem.loss(last), problem.gap(last), tuple(values), done(last))


def _merged(domain: Domain, measurements: Sequence[Measurement]) -> dict[Key, Measured]:
    """One table for each set of columns and bins, the best combination of its measurements."""
    import numpy as np

    order = list(domain)
    merged: dict[Key, Measured] = {}
    for one in measurements:
        known(domain, one.columns)
        bins = _bins(domain, one)
        shape = tuple(
            domain[name].size if b is None else int(b.max()) + 1 for name, b in zip(one.columns, bins, strict=True)
        )
        values = np.asarray(one.values, dtype=np.float64)
        if values.size != math.prod(shape) or not np.isfinite(values).all():
            raise ParameterError(f"need a finite value for each cell of {one.columns}")
        columns = tuple(sorted(one.columns, key=order.index))
        sorted_bins = tuple(bins[one.columns.index(name)] for name in columns)
        key: Key = (columns, tuple(None if b is None else b.tobytes() for b in sorted_bins))
        table, variance = Factor(one.columns, values.reshape(shape)).ordered(columns), one.spread**2
        if key in merged:
            before, spread = merged[key].table, merged[key].variance
            table = (before * variance + table * spread) / (variance + spread)
            variance = variance * spread / (variance + spread)
        merged[key] = Measured(np.array(table, order="C"), variance, sorted_bins)
    return merged


def _bins(domain: Domain, measurement: Measurement) -> tuple[Bins, ...]:
    """The bins of each column, checked: every value has one, and none is empty."""
    import numpy as np

    given = measurement.bins or (None,) * len(measurement.columns)
    require(len(given) == len(measurement.columns), "bins for each column", columns=measurement.columns)
    made: list[Bins] = []
    for name, bins in zip(measurement.columns, given, strict=True):
        if bins is None:
            made.append(None)
            continue
        one = np.asarray(bins)
        whole = one.dtype.kind in "iu" and one.shape == (domain[name].size,)
        require(whole, "an integer bin for each value", column=name)
        require(np.array_equal(np.unique(one), np.arange(int(one.max()) + 1)), "bins 0, 1, ... none empty", column=name)
        made.append(one.astype(np.int64))
    return tuple(made)


def _total(merged: Mapping[Key, Measured]) -> float:
    """The sums of all tables, weighted by their precision; at least one row."""
    precision = [1 / (one.variance * one.table.size) for one in merged.values()]
    sums = [float(one.table.sum()) for one in merged.values()]
    return max(1.0, sum(p * s for p, s in zip(precision, sums, strict=True)) / sum(precision))


def _barred(domain: Domain, names: Sequence[str], given: npt.ArrayLike) -> Table:
    """Structural zeros as logarithms."""
    import numpy as np

    barred = np.asarray(given)
    require(barred.dtype.kind == "b", "structural zeros marked by booleans", columns=tuple(names))
    return np.where(barred, -np.inf, 0.0)
