"""A mean from one bit a user.

Theorem (Duchi, Jordan, Wainwright 2018).  For a value x scaled to [-1, 1] report 1 with probability (1 + c x)
/ 2, with c <= tanh(epsilon / 2), else 0.  The likelihoods lie between (1 - c) / 2 and (1 + c) / 2, so the
report is epsilon-DP, and the two ends need all of it.  (2 report - 1) / c is unbiased with variance 1 / c^2 -
x^2: 4.6827 for epsilon = 1 at worst, which is less than Laplace noise has for every epsilon below 2.32.
Proof: docs/theory/local_means.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from discreet.errors import require
from discreet.local.chernoff import share_error
from discreet.local.means import DEPTH, PLACES, MeanProtocol
from discreet.local.wire import Codes
from discreet.privacy.enclosure import exp_down
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    from discreet.hazmat.entropy import RandomSource
    from discreet.local.protocol import Array, Tally

WIDTH = 32  # bits of c


@dataclass(frozen=True, kw_only=True, slots=True)
class OneBitMean(MeanProtocol):
    """One bit for each user.

    >>> mean = OneBitMean(epsilon=1)
    >>> mean.bits, round(mean.variance(1), 4)
    (1, 4.6827)
    """

    epsilon: Number
    lower: Number = -1
    upper: Number = 1

    @property
    def slope(self) -> Fraction:
        """c: tanh(epsilon / 2), rounded down to the grid of 2^-32."""
        return slope(exact(self.epsilon))

    @property
    def form(self) -> Codes:
        """The bit."""
        return Codes(2)

    @property
    def cells(self) -> int:
        """The number of ones."""
        return 1

    def draw(self, values: Array, random: RandomSource) -> Array:
        """1 with probability (1 + c x) / 2."""
        return flip(values, self.slope, random)

    def tally(self, reports: Array) -> Tally:
        """The number of ones."""
        return reports.sum(keepdims=True)

    def share(self, tally: Tally, n: int) -> float:
        """(1 + (2 ones / n - 1) / c) / 2."""
        return 0.5 + (int(tally[0]) / n - 0.5) / float(self.slope)

    def share_bound(self, tally: Tally, n: int, beta: float) -> float:
        """The interval of the chance of a one, scaled."""
        return float(share_error(tally[0], n, beta)) / float(self.slope)

    def share_variance(self, share: Fraction) -> float:
        """(1 / c^2 - x^2) / 4."""
        return float(1 / self.slope**2 - (2 * share - 1) ** 2) / 4

    def law(self, value: Number) -> dict[int, Fraction]:
        """The two chances."""
        one = chance(self.place(value), self.slope)
        return {0: 1 - one, 1: one}


@lru_cache(maxsize=256)
def slope(epsilon: Fraction) -> Fraction:
    """The largest c <= tanh(epsilon / 2) on the grid of 2^-32."""
    below = exp_down(epsilon)
    level = int((1 << WIDTH) * (below - 1) / (below + 1))
    require(level >= 1, "an epsilon that 32-bit slopes can show", epsilon=float(epsilon))
    return Fraction(min(level, (1 << WIDTH) - 1), 1 << WIDTH)


def chance(place: int, c: Fraction) -> Fraction:
    """(1 + c x) / 2 for a place."""
    return Fraction(1, 2) + c * (2 * place - PLACES) / (2 * PLACES)


def flip(places: Array, c: Fraction, random: RandomSource) -> Array:
    """One bit for each place: a signed word below 2^64 (chance - 1/2), which is an integer."""
    import numpy as np

    level = int(c * (1 << WIDTH))
    edge = (2 * places - PLACES) * (level << (63 - DEPTH - WIDTH))
    return (random.words(len(places)).view(np.int64) < edge).astype(np.int64)
