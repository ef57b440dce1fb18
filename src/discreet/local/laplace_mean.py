"""A mean from values with Laplace noise.

Theorem (Dwork, McSherry, Nissim, Smith 2006).  A user may replace any value in an interval by any other, so the
sensitivity is the whole width: 2 on [-1, 1], not 1.  Discrete Laplace noise of scale width / epsilon makes the report
epsilon-DP; the scale 1 / epsilon on [-1, 1], as some notes have it, is 2 epsilon-DP.  The variance is close to
2 (width / epsilon)^2, which is 8 / epsilon^2 on [-1, 1].  Proof: docs/theory/local_means.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, cast

from discreet.hazmat.samplers import discrete_laplace
from discreet.local.means import MeanProtocol, scattered
from discreet.local.wire import Numbers
from discreet.privacy.event import Event, LaplaceEvent
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    from discreet.hazmat.entropy import RandomSource
    from discreet.local.protocol import Array, Tally

STEPS = 1 << 16  # the interval on the lattice of reports; also the sensitivity
MOST = 1 << 44  # reports are clamped there: with epsilon >= 2^-20 one in e^256 is


@dataclass(frozen=True, kw_only=True, slots=True)
class LaplaceMean(MeanProtocol):
    """Each user adds noise for the whole width of the interval.

    >>> round(LaplaceMean(epsilon=1).variance(1), 4)
    8.0
    """

    epsilon: Number
    lower: Number = -1
    upper: Number = 1

    @property
    def scale(self) -> Fraction:
        """The whole width over epsilon, in steps."""
        return STEPS / exact(self.epsilon)

    @property
    def form(self) -> Numbers:
        """An integer."""
        return Numbers(width=64, most=MOST)

    @property
    def cells(self) -> int:
        """The sum."""
        return 1

    def draw(self, values: Array, random: RandomSource) -> Array:
        """The step of each value, plus noise."""
        import numpy as np

        noise = cast("Array", discrete_laplace(self.scale, shape=(len(values),), rng=random))
        return np.clip(scattered(values, STEPS, random) + noise, -MOST, MOST).astype(np.int64)

    def tally(self, reports: Array) -> Tally:
        """The sum."""
        return reports.sum(keepdims=True)

    def share(self, tally: Tally, n: int) -> float:
        """The mean step."""
        return int(tally[0]) / n / STEPS

    def share_bound(self, tally: Tally, n: int, beta: float) -> float:
        """Chernoff's bound on the sum of n noises, and of the roundings, which are sub-Gaussian with variance 1/4.

        Every rate below 1 / scale gives a valid bound; the best is found numerically.
        """
        from scipy.optimize import minimize_scalar

        rate = float(1 / self.scale)
        one = math.log1p(-math.exp(-rate))  # ln(1 - a)
        level = math.log(2 / beta) / n

        def bound(part: float) -> float:
            t = part * rate
            moments = 2 * one - math.log1p(-math.exp(t - rate)) - math.log1p(-math.exp(-t - rate))
            return (moments + t * t / 8 + level) / t

        found = minimize_scalar(bound, bounds=(1e-6, 1 - 1e-9), method="bounded")
        return float(found.fun) / STEPS

    def share_variance(self, share: Fraction) -> float:
        """That of the noise; a rounding adds at most a quarter of a step squared, which is left out."""
        half = math.sinh(float(1 / self.scale) / 2)
        return 0.5 / (half * STEPS) ** 2

    def event(self) -> Event:
        """Laplace noise of sensitivity `STEPS`."""
        return LaplaceEvent(scale=self.scale, sensitivity=STEPS)
