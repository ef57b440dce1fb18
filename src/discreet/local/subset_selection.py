"""Subset selection: a small random set that favours the own value.

Theorem (Wang, Huang, Wang, Nie, Xu, Wu, Li 2016; Ye, Barg 2018).  Report a set of w of the values: with
probability truth <= w e^epsilon / (w e^epsilon + size - w) the own value and w - 1 uniform others, else w
uniform others. Every set that holds the own value is e^epsilon times as likely as every other one, so the
report is epsilon-DP, and with w near size / (e^epsilon + 1) the variance is the least that any protocol has, up
to rounding w.

Sets of the right size are drawn exactly: bits independent with any probability are, given how many they are, a
uniform set; taking away or adding uniform values keeps it uniform.  Proof: docs/theory/frequency_oracles.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING

from discreet.local.coins import favoured, toss
from discreet.local.frequency import FrequencyOracle, spread
from discreet.local.unary import CHUNK, noisy_rows, sums
from discreet.local.wire import Masks
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    from discreet.hazmat.entropy import RandomSource
    from discreet.local.protocol import Array, Tally

COARSE = 64  # the chance of a bit before the size is mended is a multiple of one part in this


@dataclass(frozen=True, kw_only=True, slots=True)
class SubsetSelection(FrequencyOracle):
    """Report a set of `chosen` values.

    >>> subset = SubsetSelection(epsilon=1, size=1000)
    >>> subset.chosen, round(subset.variance(1), 4)
    (269, 3.6733)
    """

    epsilon: Number
    size: int

    @property
    def chosen(self) -> int:
        """w, the size of a report: the best next to size / (e^epsilon + 1)."""
        return _chosen(exact(self.epsilon), self.size)

    @property
    def truth(self) -> Fraction:
        """The chance that the own value is in the set."""
        return _truth(exact(self.epsilon), self.size)

    @property
    def noise(self) -> Fraction:
        """The chance that another one is."""
        return (self.truth * (self.chosen - 1) + (1 - self.truth) * self.chosen) / (self.size - 1)

    @property
    def form(self) -> Masks:
        """A set of w values."""
        return Masks(self.size, self.chosen)

    @property
    def cells(self) -> int:
        """One for each bit of a row."""
        return 64 * self.form.words

    def draw(self, values: Array, random: RandomSource) -> Array:
        """A uniform set of the others, and the own value or not."""
        import numpy as np

        from discreet.local.kernels import exact_sizes

        own = toss(self.truth, len(values), random)
        near = min(COARSE - 1, max(1, round(COARSE * self.chosen / self.size)))
        rows = noisy_rows(Fraction(near, COARSE), len(values), self.size, random)
        sizes, at = self.chosen - own.astype(np.int64), 0
        while at < len(values):
            at = exact_sizes(random.words(CHUNK), rows, values, sizes, self.size, at)
        rows[np.arange(len(values)), values >> 6] |= own.astype(np.uint64) << (values & 63).astype(np.uint64)
        return rows

    def tally(self, reports: Array) -> Tally:
        """How many sets hold each value."""
        return sums(reports)

    def law(self, value: int) -> dict[frozenset[int], Fraction]:
        """Uniform on the sets with the value, and on those without."""
        w, k = self.chosen, self.size
        held, rest = self.truth / math.comb(k - 1, w - 1), (1 - self.truth) / math.comb(k - 1, w)
        return {frozenset(found): held if value in found else rest for found in combinations(range(k), w)}


@lru_cache(maxsize=256)
def _chosen(epsilon: Fraction, size: int) -> int:
    """The set size of least variance among those next to size / (e^epsilon + 1)."""
    middle = size / (1 + math.exp(min(float(epsilon), 700.0)))
    tries = {min(size - 1, max(1, w)) for w in (math.floor(middle), math.ceil(middle))}

    def predicted(w: int) -> float:  # shares of the C(size, w) sets
        held = w / size
        return spread(float(epsilon), inside=held, both=held * (w - 1) / (size - 1), outside=1 - held)

    return min(sorted(tries), key=predicted)


@lru_cache(maxsize=256)
def _truth(epsilon: Fraction, size: int) -> Fraction:
    w = _chosen(epsilon, size)
    return favoured(epsilon, inside=w, outside=size - w)
