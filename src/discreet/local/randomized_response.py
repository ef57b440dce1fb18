"""Randomized response among `size` values.

Theorem (Warner 1965; Kairouz, Bonawitz, Ramage 2016).  Report the own value with probability
truth <= e^epsilon / (e^epsilon + size - 1), and otherwise one of the others uniformly.  The report is
epsilon-DP; the variance for a rare value is (e^epsilon + size - 2) / (n (e^epsilon - 1)^2), which is the
least of all for size < 3 e^epsilon + 2.  Proof: docs/theory/frequency_oracles.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from discreet.local.coins import favoured, pick, toss
from discreet.local.frequency import FrequencyOracle
from discreet.local.wire import Codes
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    from discreet.hazmat.entropy import RandomSource
    from discreet.local.protocol import Array, Tally


@dataclass(frozen=True, kw_only=True, slots=True)
class RandomizedResponse(FrequencyOracle):
    """Tell the truth with a known probability; bits with size=2.

    >>> coin = RandomizedResponse(epsilon=1, size=2)
    >>> coin.bits, round(coin.variance(1), 4)
    (1, 0.9207)
    >>> coin.table().epsilon()
    1.0
    """

    epsilon: Number
    size: int

    @property
    def truth(self) -> Fraction:
        """e^epsilon / (e^epsilon + size - 1), rounded down to the grid."""
        return _truth(exact(self.epsilon), self.size)

    @property
    def noise(self) -> Fraction:
        """The chance of each other value."""
        return (1 - self.truth) / (self.size - 1)

    @property
    def form(self) -> Codes:
        """The value that is claimed."""
        return Codes(self.size)

    @property
    def cells(self) -> int:
        """One for each value."""
        return self.size

    def draw(self, values: Array, random: RandomSource) -> Array:
        """The own value, or a uniform other one."""
        import numpy as np

        lies = ~toss(self.truth, len(values), random)
        reports = values.copy()
        at = np.flatnonzero(lies)
        reports[at] = (reports[at] + 1 + pick(self.size - 1, len(at), random)) % self.size
        return reports

    def tally(self, reports: Array) -> Tally:
        """How often each value was claimed."""
        import numpy as np

        return np.bincount(reports, minlength=self.size)

    def law(self, value: int) -> dict[int, Fraction]:
        """`truth` on the value, `noise` on the others."""
        return {x: self.truth if x == value else self.noise for x in range(self.size)}


@lru_cache(maxsize=256)
def _truth(epsilon: Fraction, size: int) -> Fraction:
    return favoured(epsilon, inside=1, outside=size - 1)
