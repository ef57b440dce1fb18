"""Counts, sums and second moments of vectors that were clipped to a ball, as integers of exact sensitivity.

Theorem.  Write a row's vector, moved by a public centre, clipped to length R and multiplied by SCALE / R, as integers u
rounded toward 0, so that |u|^2 <= SCALE^2; and h = (c, u) with a constant c in front: |h|^2 <= B = SCALE^2 + c^2.

    The sum over rows of 29 h_i^2 and, for i < j, of 41 h_i h_j moves by at most 29 B in l2, since 41^2 < 2 29^2, and by
    at most 29 B + 41 (w - 1) B / 2 in l1 for w entries of h, when a row is added or removed.

With rows in groups, one sum a group, the same holds, because a row is in one group.  The radius is chosen among public
ones by the exponential mechanism: the score of R is minus the distance of the number of rows outside R from a public
number, less a public price for each larger radius, and a row moves it by at most 1.  Proof:
docs/theory/principal_components.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.hazmat.entropy import RandomSource
from discreet.learning.row_by_row import squares
from discreet.privacy.event import Event
from discreet.release.allowance import Allowance
from discreet.release.noise import variance

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Whole = npt.NDArray[np.int64]

SCALE = 1 << 10  # what a vector of full length becomes
ON, OFF = 29, 41  # weights of squares and of products: 41^2 = 1681 < 1682 = 2 29^2
RADII = 17  # candidates, each the one before divided by the root of 2
EXACT = 1 << 53  # below this, sums of floats that hold integers are exact in any order
STEPS = 10  # down from the largest radius, where rows are too few for all
CUT = 3  # times as many rows are cut as the noise is worth


def within(vectors: Floats, radius: float, *, scale: int = SCALE) -> Whole:
    """Vectors clipped to a radius, in units of radius / scale, rounded toward 0: never longer than `scale`.

    >>> import numpy as np
    >>> within(np.array([[3.0, 4.0], [0.3, 0.4]]), 1.0, scale=10).tolist()
    [[6, 8], [3, 4]]
    >>> within(np.array([[np.nan, 1.0]]), 1.0).tolist()
    [[0, 0]]
    """
    import numpy as np

    lengths = np.sqrt(squares(vectors))
    with np.errstate(invalid="ignore"):  # infinity times 0, which is caught below
        units = vectors * (scale / np.maximum(lengths, radius))[:, None]
        units[~(np.abs(units) <= scale).all(axis=1)] = 0.0  # NaN too: as an integer it would be -2^63, of square 0
    made = np.trunc(units).astype(np.int64)
    made[(made * made).sum(axis=1) > scale * scale] = 0  # rounding never gets here; if it did, the bound still holds
    return made


def shrunk(vector: Floats, sd: float) -> Floats:
    """A noisy vector made shorter by the part of its length that is noise (James, Stein 1961).

    >>> import numpy as np
    >>> shrunk(np.array([3.0, 4.0]), 0.0), shrunk(np.array([3.0, 4.0]), 5.0)
    (array([3., 4.]), array([0., 0.]))
    """
    length = float((vector * vector).sum())
    return vector * max(0.0, 1 - len(vector) * sd**2 / length) if length > 0 else vector


@dataclass(frozen=True, slots=True)
class Moments:
    """Noisy moments of the rows of each group, in units of the vectors."""

    counts: Floats  # (groups,)
    means: Floats  # (groups, width); of a group no larger than the noise, the sum over the noise
    seconds: Floats  # (groups, width, width), sums of products
    sd: float  # of the noise in a product; that in a square is 41 / 29 of it
    sum_sd: float  # of the noise in a sum, by entry
    count_sd: float
    events: tuple[Event, ...]


def mean_sensitivities(width: int) -> tuple[int, int]:
    """Of (SCALE / 2, u), in l1 and in squared l2: |u|_1^2 <= width |u|_2^2, and |u|_1 is an integer."""
    return SCALE // 2 + math.isqrt(width * SCALE**2), SCALE**2 + (SCALE // 2) ** 2


def sensitivities(width: int, constant: int) -> tuple[int, int]:
    """The l1 and the squared l2 sensitivity of the weighted moments."""
    bound = SCALE * SCALE + constant * constant
    return ON * bound + math.ceil(Fraction(OFF * width * bound, 2)), (ON * bound) ** 2


def weighted(units: Whole, groups: Whole, number: int, constant: int) -> Whole:
    """The weighted sums of products of (constant, u), one row of upper triangles a group: what gets noise."""
    import numpy as np

    lifted = np.column_stack([np.full(len(units), constant, dtype=np.int64), units])
    width = lifted.shape[1]
    upper = np.triu_indices(width)
    weights = np.where(upper[0] == upper[1], ON, OFF)
    made = np.zeros((number, len(weights)), dtype=np.int64)
    for group in range(number):
        part = lifted[groups == group]
        if len(part) * (SCALE * SCALE + constant * constant) < EXACT:
            part = part.astype(np.float64)
        made[group] = (part.T @ part)[upper].astype(np.int64) * weights
    return made


def noisy_moments(
    vectors: Floats,
    groups: Whole,
    number: int,
    *,
    radius: float,
    allowance: Allowance,
    share: Fraction,
    rng: RandomSource | None,
    constant: int = SCALE // 2,
) -> Moments:
    """Moments of centred vectors clipped to `radius`, for `number` groups."""
    sums = weighted(within(vectors, radius), groups, number, constant)
    return released_moments(sums, vectors.shape[1], radius, allowance, share, rng, constant=constant)


def released_moments(
    sums: Whole,  # (groups, entries): weighted products
    width: int,
    radius: float,
    allowance: Allowance,
    share: Fraction,
    rng: RandomSource | None,
    *,
    constant: int = SCALE // 2,
) -> Moments:
    """Noise on the weighted sums, and what they say."""
    import numpy as np

    number = len(sums)
    absolute, square = sensitivities(width, constant)
    noise = allowance.noise(share, absolute=absolute, square=square)
    noisy = np.asarray(noise(sums, rng=rng), dtype=np.float64)
    sd = math.sqrt(variance(noise))
    full = np.zeros((number, width + 1, width + 1))
    rows, columns = np.triu_indices(width + 1)
    full[:, rows, columns] = full[:, columns, rows] = noisy / np.where(rows == columns, ON, OFF)
    counts, count_sd, unit = full[:, 0, 0] / constant**2, sd / ON / constant**2, radius / SCALE
    return Moments(
        counts=counts,
        means=full[:, 0, 1:] / constant * unit / np.maximum(counts, max(1.0, count_sd))[:, None],
        seconds=full[:, 1:, 1:] * unit**2,
        sd=sd / OFF * unit**2,
        sum_sd=sd / OFF / constant * unit,
        count_sd=count_sd,
        events=(noise.event(),),
    )


def noisy_means(
    vectors: Floats,
    groups: Whole,
    number: int,
    *,
    radius: float,
    allowance: Allowance,
    share: Fraction,
    rng: RandomSource | None,
) -> Moments:
    """Counts and means only, of vectors no longer than `radius`: the noise is less than that of all moments."""
    import numpy as np

    units = within(vectors, radius)
    sums = np.zeros((number, vectors.shape[1] + 1), dtype=np.int64)
    np.add.at(sums, groups, np.column_stack([np.full(len(units), SCALE // 2, dtype=np.int64), units]))
    return released_means(sums, radius, allowance, share, rng)


def released_means(
    sums: Whole, radius: float, allowance: Allowance, share: Fraction, rng: RandomSource | None
) -> Moments:
    """Noise on sums (groups, 1 + width) of (SCALE / 2, u), and what they say."""
    import numpy as np

    number, width, constant = len(sums), sums.shape[1] - 1, SCALE // 2
    absolute, square = mean_sensitivities(width)
    noise = allowance.noise(share, absolute=absolute, square=square)
    noisy = np.asarray(noise(sums, rng=rng), dtype=np.float64)
    counts, unit, sd = noisy[:, 0] / constant, radius / SCALE, math.sqrt(variance(noise))
    return Moments(
        counts=counts,
        means=noisy[:, 1:] * unit / np.maximum(counts, max(1.0, sd / constant))[:, None],
        seconds=np.zeros((number, 0, 0)),
        sd=0.0,
        sum_sd=sd * unit,
        count_sd=sd / constant,
        events=(noise.event(),),
    )


def square_sensitivity() -> int:
    """Of the squares of the entries of u, in l1 and in l2: their sum is at most SCALE^2."""
    return SCALE * SCALE


def noisy_squares(
    vectors: Floats,
    groups: Whole,
    number: int,
    *,
    radius: float,
    allowance: Allowance,
    share: Fraction,
    rng: RandomSource | None,
) -> Moments:
    """Sums of squares of the entries only, as diagonal second moments: no product is measured."""
    import numpy as np

    units = within(vectors, radius)
    sums = np.zeros((number, vectors.shape[1]), dtype=np.int64)
    np.add.at(sums, groups, units * units)
    noise = allowance.noise(share, absolute=square_sensitivity(), square=square_sensitivity() ** 2)
    noisy, unit = np.asarray(noise(sums, rng=rng), dtype=np.float64), radius / SCALE
    return Moments(
        counts=np.zeros(number),
        means=np.zeros_like(noisy),
        seconds=np.stack([np.diag(one) for one in noisy]) * unit**2,
        sd=math.sqrt(variance(noise)) * unit**2,
        sum_sd=0.0,
        count_sd=0.0,
        events=(noise.event(),),
    )


def noisy_radius(
    lengths: Floats | Callable[[Floats], Whole],
    largest: float,
    width: int,
    *,
    rows: float,
    allowance: Allowance,
    share: Fraction,
    later: Fraction,
    rng: RandomSource | None,
) -> tuple[float, tuple[Event, ...]]:
    """A radius outside which there are about as many rows as the noise of the moments, with share `later`, is worth.

    `lengths` are those of the rows, or a function from radii to the number of rows outside each.

    `rows` is a number of rows that was released before: no more than a quarter of them are aimed at, and the smallest
    radius is preferred to the largest for no more than half of them and one a step, so that of a few dozen rows or more
    the best radius does not leave all outside.
    """
    import numpy as np

    choice = allowance.choice(share, sensitivity=1)
    absolute, square = sensitivities(width, SCALE // 2)
    sd = math.sqrt(variance(allowance.noise(later, absolute=absolute, square=square)))
    worth = CUT * sd / OFF / SCALE**2 * math.sqrt(width)  # rows whose moments are as large as the noise
    blur = float(1 / choice.rate)  # rows that the choice cannot tell apart
    target = math.ceil(min(max(worth, 2 * blur), max(rows / 4, 1.0), 1e15))
    radii = largest * 2.0 ** (-np.arange(RADII) / 2)
    outside = lengths(radii) if callable(lengths) else _beyond(lengths, radii)
    steps = RADII - 1 if 4 * (RADII - 1) * blur <= rows else STEPS  # down, that are worth something
    price = math.ceil(min(2 * blur, max(rows, 0.0) / (2 * steps), 1e12))  # of one: radii beyond all rows are no use
    scores = -np.abs(outside - target) - price * np.maximum(steps - np.arange(RADII), 0)
    return float(radii[choice(scores, rng=rng)]), (choice.event(),)


def _beyond(lengths: Floats, radii: Floats) -> Whole:
    import numpy as np

    return np.array([np.count_nonzero(lengths > radius) for radius in radii], dtype=np.int64)
