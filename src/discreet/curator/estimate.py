"""From noisy integers to estimates with intervals.

Counts and sums: the noisy value, and the exact quantile of the noise on both sides.

Averages and variances.  Let every noisy part be within its own alpha_i of the truth, which fails with
probability at most beta by a union bound over the parts (each gets an equal share of beta).  Then
the true count N lies in [max(1, n - a), n + a] and the true centred sum S in [s - b, s + b]; the average
lies between the least and the greatest of S / N over the corners of that box, and inside the declared
bounds.  Where the noisy count is not positive the estimate is missing and the interval is the whole
declared range: never an error, never a division by zero.  A group without rows has no average; the
interval is then about nothing.  Variances divide by the number of rows.  Proof: docs/theory/planning.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.curator.plan import Plan
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
    share = beta / len(places)
    columns = [noisy[i] for i in places]
    alphas = [plan.releases[i].mechanism.accuracy(share, size=cells) for i in places]
    if len(places) == 1:
        step = plan.releases[places[0]].part.step
        value = columns[0] if step == 1 else columns[0].astype(float) * float(step)
        middle = np.asarray(value, dtype=float)
        reach = alphas[0] * float(step)
        return Estimate(value, middle - reach, middle + reach)
    assert aggregate.argument is not None
    known = number(aggregate.argument)
    step, centre = float(known.step), plan.releases[places[1]].part.centre
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


def _ratio(total: Floats, count: Floats, alpha: int, fewest: Floats, most: Floats, bounds: tuple[int, int]) -> Estimate:
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
