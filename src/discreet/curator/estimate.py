"""From noisy integers to estimates with intervals.

Counts and sums: the noisy value, and the exact quantile of the noise on both sides.

Averages and variances.  Let every noisy part be within its own alpha_i of the truth, which fails with
probability at most beta by a union bound over the parts (each gets an equal share of beta).  Then
the true count N lies in [max(1, n - a), n + a] and the true centred sum S in [s - b, s + b]; the average
lies between the least and the greatest of S / N over the corners of that box, and inside the declared
bounds.  Where the noisy count is not positive the estimate is missing and the interval is the whole
declared range: never an error, never a division by zero.  A group without rows has no average; the
interval is then about nothing.  Variances divide by the number of rows.  Proof: docs/theory/planning.md.

Quantiles: the chosen cell of the grid, between two more choices that lie below and above the quantile
with probability 1 - beta together (`discreet.structured.quantiles.quantile_bound`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.curator.plan import BETA, Plan
from discreet.queries.compile import Part, Rank, parts
from discreet.queries.expression import number
from discreet.queries.query import Aggregate

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.floating]
    Released = npt.NDArray[np.int64] | npt.NDArray[np.object_]
    Noisy = list[Released]


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """Values of one output for every cell, with the ends of its intervals; NaN where there is none."""

    value: Floats | Released
    low: Floats
    high: Floats


def estimate(plan: Plan, aggregate: Aggregate, noisy: Noisy, *, beta: float, cells: int = 1) -> Estimate:
    """Value and interval of each cell; `cells` > 1 makes the intervals hold for that many cells at once."""
    import numpy as np

    places = plan.of(aggregate)
    if aggregate.function == "quantile":
        return _quantile(plan, aggregate, [noisy[i] for i in places], beta=beta, cells=cells)
    share = beta / len(places)
    columns = [noisy[i] for i in places]
    alphas = [plan.releases[i].mechanism.accuracy(share, size=cells) for i in places]
    if len(places) == 1:
        step = _part(plan, places[0]).step
        value = columns[0] if step == 1 else columns[0].astype(float) * float(step)
        middle = np.asarray(value, dtype=float)
        reach = alphas[0] * float(step)
        return Estimate(value, middle - reach, middle + reach)
    assert aggregate.argument is not None
    known = number(aggregate.argument)
    step, centre = float(known.step), _part(plan, places[1]).centre
    bounds = (known.low - centre, known.high - centre)
    count = columns[0].astype(float)
    fewest, most = np.maximum(1.0, count - alphas[0]), np.maximum(1.0, count + alphas[0])
    mean = _ratio(columns[1].astype(float), count, alphas[1], fewest, most, bounds)
    missing = count <= 0
    if aggregate.function == "avg":
        found = Estimate(*(step * (end + centre) for end in (mean.value, mean.low, mean.high)))
        return _blank(found, missing, step * known.low, step * known.high)
    widest = max(map(abs, bounds)) ** 2
    square = _ratio(columns[2].astype(float), count, alphas[2], fewest, most, (0, widest))
    largest = ((known.high - known.low) / 2) ** 2  # the variance of two halves at the two ends
    least = np.where(mean.low * mean.high <= 0, 0.0, np.minimum(mean.low**2, mean.high**2))
    ends = np.maximum(mean.low**2, mean.high**2)
    spread = [square.value - mean.value**2, square.low - ends, square.high - least]
    value, low, high = (np.clip(end, 0.0, largest) * step**2 for end in spread)
    top = largest * step**2
    if aggregate.function == "stddev":
        value, low, high, top = np.sqrt(value), np.sqrt(low), np.sqrt(high), top**0.5
    return _blank(Estimate(value, low, high), missing, 0.0, top)


def _part(plan: Plan, place: int) -> Part:
    part = plan.releases[place].part
    assert isinstance(part, Part)
    return part


def _quantile(plan: Plan, aggregate: Aggregate, chosen: Noisy, *, beta: float, cells: int) -> Estimate:
    """The middle of the chosen cell, between the outer edges of the two ends.

    The ends were drawn to hold with probability 1 - BETA each time; for a smaller beta, or for several cells at
    once, only the declared range is certain.
    """
    import numpy as np

    (rank, *_) = parts(aggregate)
    assert isinstance(rank, Rank)
    known, (size, width) = rank.known, rank.grid(plan.cells)
    step, (middle, low, high) = float(known.step), (np.asarray(index, dtype=np.int64) for index in chosen)
    ends = np.clip(low, 0, size) * width, np.clip(high + 1, 0, size) * width - 1
    if beta < BETA or cells > 1:
        ends = np.zeros(middle.shape), np.full(middle.shape, known.high - known.low)
    first, last = (np.clip(end.astype(float), 0, known.high - known.low) for end in ends)
    last = np.maximum(first, last)
    value = np.clip(np.clip(middle.astype(float) * width + (width - 1) / 2, first, last), 0, known.high - known.low)
    return Estimate(*((end + known.low) * step for end in (value, first, last)))


def _ratio(
    total: Floats, count: Floats, alpha: float, fewest: Floats, most: Floats, bounds: tuple[int, int]
) -> Estimate:
    """total / count with the corners of the box, inside the bounds."""
    import numpy as np

    corners = [(total + sign * alpha) / n for sign in (-1, 1) for n in (fewest, most)]
    value = total / np.where(count > 0, count, 1.0)
    low, high = np.minimum.reduce(corners), np.maximum.reduce(corners)
    return Estimate(*(np.clip(end, *bounds) for end in (value, low, high)))


def _blank(found: Estimate, missing: npt.NDArray[np.bool_], low: float, high: float) -> Estimate:
    """No value and the whole range where the noisy count is not positive."""
    import numpy as np

    return Estimate(
        np.where(missing, np.nan, found.value), np.where(missing, low, found.low), np.where(missing, high, found.high)
    )
