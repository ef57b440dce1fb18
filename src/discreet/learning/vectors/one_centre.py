"""One private centre of vectors, for when groups cannot be told apart: a rough mean, then the mean of what is near it.

Theorem.  Two steps at fixed shares of an amount: sums that a row moves by (SCALE / 2, u) with |u| <= SCALE, and such
sums again about the rough mean, clipped to a radius made of its noise and of the declaration.  They keep the amount.
So does one step for all of it, and a choice between the two by public numbers.  Proof: docs/theory/clustering.md.

So few rows do not suffice for choosing a radius R by them.  Half of the longest vector declared, L, and the noise of
the rough mean, is a public one.  Two steps have less noise than one mean for all if R < L with Gaussian noise, and if
R < L / sqrt(3) with Laplace noise, of which half the amount buys twice as much: else one mean it is.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.hazmat.entropy import RandomSource
from discreet.learning.vectors.clipped_moments import (
    OFF,
    SCALE,
    mean_sensitivities,
    noisy_means,
    sensitivities,
    shrunk,
)
from discreet.learning.vectors.principal_components_fit import MEAN, RADIUS
from discreet.privacy.event import Event
from discreet.release.allowance import Allowance
from discreet.release.noise import variance

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

ROUGH = Fraction(1, 2)  # share of the rough mean
LOST = Fraction(1, 8)  # of a squared radius: directions of less variance cannot be told from this much noise


def directions_are_lost(width: int, rows: float, *, allowance: Allowance, amount: Fraction) -> bool:
    """Whether the noise of second moments, bought for this amount, drowns every direction that vectors may have.

    By public numbers: `rows` is public or was paid for.  The largest eigenvalue of symmetric noise of standard
    deviation sd is about 2 sd sqrt(width), and no direction has more variance than the squared radius.

    >>> from discreet.privacy.guarantee import ZCDP
    >>> whole = Allowance(ZCDP(0.01), entries=100)
    >>> [directions_are_lost(64, rows, allowance=whole, amount=whole.total) for rows in (100, 50_000)]
    [True, False]
    """
    absolute, square = sensitivities(width, SCALE // 2)
    noise = allowance.noise((1 - MEAN - RADIUS) * amount, absolute=absolute, square=square)
    return math.sqrt(variance(noise) * width) / OFF / SCALE**2 > LOST * max(rows, 1.0)


def in_two_steps(width: int, rows: float, largest: float, *, allowance: Allowance, amount: Fraction) -> bool:
    """Whether two steps have less noise than one mean for all of the amount, by public numbers.

    >>> from discreet.privacy.guarantee import PureDP, ZCDP
    >>> for budget in (ZCDP("0.001"), PureDP("0.1")):
    ...     whole = Allowance(budget, entries=100)
    ...     [in_two_steps(10, rows, 10**0.5, allowance=whole, amount=whole.total) for rows in (20, 500, 10**5)]
    [False, True, True]
    [False, False, True]
    """
    absolute, square = mean_sensitivities(width)
    half, whole = (
        variance(allowance.noise(part, absolute=absolute, square=square)) for part in (ROUGH * amount, amount)
    )
    radius = reach(width, math.sqrt(half) / SCALE * largest / max(rows, 1.0), largest)
    return half / (1 + (largest / radius) ** 2) < whole


def reach(width: int, sd: float, largest: float) -> float:
    """The radius about a rough mean: its noise, and half of the longest vector for the rows."""
    return min(math.sqrt(width * sd**2 + largest**2 / 4), 2 * largest)


def one_centre(
    vectors: Floats, largest: float, *, rows: float, allowance: Allowance, amount: Fraction, rng: RandomSource | None
) -> tuple[Floats, tuple[Event, ...]]:
    """A centre of vectors no longer than `largest`, entries between -1 and 1; `rows` is public or was paid for."""
    import numpy as np

    width, one = vectors.shape[1], np.zeros(len(vectors), dtype=np.int64)
    how: dict[str, Any] = {"allowance": allowance, "rng": rng}
    twice = in_two_steps(width, rows, largest, allowance=allowance, amount=amount)
    rough = noisy_means(vectors, one, 1, radius=largest, share=ROUGH * amount if twice else amount, **how)
    sd = rough.sum_sd / max(float(rough.counts[0]), rough.count_sd, 1.0)
    centre = np.clip(shrunk(rough.means[0], sd), -1.0, 1.0)
    if not twice:
        return centre, rough.events
    radius = reach(width, sd, largest)
    near = noisy_means(vectors - centre, one, 1, radius=radius, share=(1 - ROUGH) * amount, **how)
    less = near.sum_sd / max(float(near.counts[0]), near.count_sd, 1.0)
    weight = sd**2 / max(sd**2 + less**2, 1e-300)  # of the second mean, by the variances of both
    made = shrunk(centre + weight * near.means[0], math.sqrt(weight) * less)
    return np.clip(made, -1.0, 1.0), rough.events + near.events
