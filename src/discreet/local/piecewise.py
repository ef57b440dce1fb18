"""A mean from a noisy place: the piecewise mechanism on a lattice, and its mixture with one bit.

Theorem (Wang, Xiao, Yang, Zhao, Hui, Shin, Shin, Yu 2019; here on N slots).  Move the value to a window of W
neighbouring slots, of which there are N - W + 1, at random so that the window's start is right on average.
Report a uniform slot of the window with probability truth <= W e^epsilon / (W e^epsilon + N - W), else a
uniform other slot.  Whatever the window, every slot of it is e^epsilon times as likely as every other one: the
report is epsilon-DP.  The mean slot is linear in the start of the window, so the estimate is exactly
unbiased.  With W = N / (e^(epsilon / 2) + 1) the variance at the ends of [-1, 1] is that of the continuous
mechanism: 5.2236, 1.2276 and 0.2414 for epsilon = 1, 2 and 4.

The hybrid reports a slot with probability 1 - e^(-epsilon / 2), else one bit (`one_bit`), by a coin that does
not look at the value; for epsilon <= 0.61 always one bit.  It is never worse than either.  Proof:
docs/theory/local_means.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from discreet.errors import require
from discreet.local.chernoff import bernstein, share_error
from discreet.local.coins import ONE, favoured, pick, toss, whole
from discreet.local.means import STEPS, MeanProtocol, scatter_law, scattered
from discreet.local.one_bit import chance, flip, slope
from discreet.local.wire import Codes
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    from discreet.hazmat.entropy import RandomSource
    from discreet.local.protocol import Array, Tally

DEPTH = 16
SLOTS = 1 << DEPTH
FEW = Fraction(61, 100)  # up to this epsilon one bit is better than any mixture


@dataclass(frozen=True, slots=True)
class Window:
    """N slots, W of them favoured: the law of a report and what it says about the window."""

    slots: int
    wide: int
    truth: Fraction

    @property
    def starts(self) -> int:
        """N - W, the last start."""
        return self.slots - self.wide

    @property
    def inner(self) -> Fraction:
        """The chance of a slot of the window."""
        return self.truth / self.wide

    @property
    def outer(self) -> Fraction:
        """The chance of another slot."""
        return (1 - self.truth) / self.starts

    def draw(self, starts: Array, random: RandomSource) -> Array:
        """A slot for each window."""
        import numpy as np

        inside = toss(self.truth, len(starts), random)
        at, off = np.flatnonzero(inside), np.flatnonzero(~inside)
        slots = np.empty(len(starts), dtype=np.int64)
        slots[at] = starts[at] + pick(self.wide, len(at), random)
        other = pick(self.starts, len(off), random)
        slots[off] = other + self.wide * (other >= starts[off])  # those after the window move past it
        return slots

    def law(self, start: int) -> dict[int, Fraction]:
        """The chance of each slot."""
        return {slot: self.inner if start <= slot < start + self.wide else self.outer for slot in range(self.slots)}

    def line(self) -> tuple[Fraction, Fraction]:
        """(m, s) with E[slot] = m + s (start / starts)."""
        gap, wide, slots = self.inner - self.outer, self.wide, self.slots
        middle = self.outer * slots * (slots - 1) / 2 + gap * Fraction(wide * (wide - 1), 2)
        return middle, gap * wide * self.starts

    def variance(self, share: Fraction) -> Fraction:
        """The variance of the slot, where the window starts at this share, rounding left out."""
        start, gap, wide = share * self.starts, self.inner - self.outer, self.wide
        squares = Fraction((self.slots - 1) * self.slots * (2 * self.slots - 1), 6)
        window = wide * start**2 + start * wide * (wide - 1) + Fraction((wide - 1) * wide * (2 * wide - 1), 6)
        m, s = self.line()
        return self.outer * squares + gap * window - (m + s * share) ** 2


@lru_cache(maxsize=256)
def window(epsilon: Fraction, slots: int) -> Window:
    """The window of width N / (e^(epsilon / 2) + 1)."""
    wide = max(1, min(slots - 1, round(slots / (1 + math.exp(min(float(epsilon) / 2, 700.0))))))
    return Window(slots, wide, favoured(epsilon, inside=wide, outside=slots - wide))


@dataclass(frozen=True, kw_only=True, slots=True)
class PiecewiseMean(MeanProtocol):
    """A noisy place for each user.

    >>> mean = PiecewiseMean(epsilon=2)
    >>> mean.bits, round(mean.variance(1), 4)
    (16, 1.2276)
    """

    epsilon: Number
    lower: Number = -1
    upper: Number = 1
    slots: int = SLOTS

    def __post_init__(self) -> None:
        super(PiecewiseMean, self).__post_init__()
        require(whole("slots", self.slots, least=2) <= STEPS, "slots <= 2^31", slots=self.slots)

    @property
    def window(self) -> Window:
        """The favoured slots."""
        return window(exact(self.epsilon), self.slots)

    @property
    def form(self) -> Codes:
        """A slot."""
        return Codes(self.slots)

    @property
    def cells(self) -> int:
        """The sum of the slots."""
        return 1

    def draw(self, values: Array, random: RandomSource) -> Array:
        """A window for each value, and a slot."""
        found = self.window
        return found.draw(scattered(values, found.starts, random), random)

    def tally(self, reports: Array) -> Tally:
        """The sum of the slots."""
        return reports.sum(keepdims=True)

    def share(self, tally: Tally, n: int) -> float:
        """The mean slot, taken back along the line."""
        m, s = self.window.line()
        return float((Fraction(int(tally[0]), n) - m) / s)

    def share_bound(self, tally: Tally, n: int, beta: float) -> float:
        """The better of the two bounds, each at half of beta."""
        scale = (self.slots - 1) / float(self.window.line()[1])
        by_share = float(share_error(int(tally[0]) / (self.slots - 1), n, beta / 2)) * scale
        worst = max(self.share_variance(Fraction(0)), self.share_variance(Fraction(1, 2)))
        return min(by_share, bernstein(worst, reach=scale, n=n, beta=beta / 2))

    def share_variance(self, share: Fraction) -> float:
        """Slot and window; the rounding is counted as a quarter of a step squared wherever it is not certain."""
        found = self.window
        rounding = 0 if share in (0, 1) else Fraction(1, 4 * found.starts**2)
        return float(found.variance(share) / found.line()[1] ** 2 + rounding)

    def law(self, value: Number) -> dict[int, Fraction]:
        """The mixture of the laws of the windows next to the value."""
        return slot_law(self.window, self.place(value))


def slot_law(found: Window, place: int) -> dict[int, Fraction]:
    """The law of the slot for a place."""
    law = dict.fromkeys(range(found.slots), Fraction(0))
    for start, weight in scatter_law(place, found.starts).items():
        for slot, probability in found.law(start).items():
            law[slot] += weight * probability
    return law


@dataclass(frozen=True, kw_only=True, slots=True)
class HybridMean(MeanProtocol):
    """A noisy place or one bit for each user.

    >>> round(HybridMean(epsilon=1).variance(1), 4)
    4.289
    """

    epsilon: Number
    lower: Number = -1
    upper: Number = 1
    slots: int = SLOTS

    def __post_init__(self) -> None:
        super(HybridMean, self).__post_init__()
        require(whole("slots", self.slots, least=2) <= STEPS, "slots <= 2^31", slots=self.slots)

    @property
    def window(self) -> Window:
        """The favoured slots."""
        return window(exact(self.epsilon), self.slots)

    @property
    def slope(self) -> Fraction:
        """That of the bit."""
        return slope(exact(self.epsilon))

    @property
    def mixing(self) -> Fraction:
        """The chance of a slot, on the grid of 2^-64; any value is private, and this one is best."""
        if exact(self.epsilon) <= FEW:
            return Fraction(0)
        return Fraction(min(ONE - 1, int(ONE * -math.expm1(-float(exact(self.epsilon)) / 2))), ONE)

    @property
    def form(self) -> Codes:
        """A slot, or two codes more for the bit."""
        return Codes(self.slots + 2)

    @property
    def cells(self) -> int:
        """The sum of the slots, how many slots, how many ones."""
        return 3

    def draw(self, values: Array, random: RandomSource) -> Array:
        """A coin that does not look at the value, then either report."""
        import numpy as np

        by_slot = toss(self.mixing, len(values), random)
        reports = np.empty(len(values), dtype=np.int64)
        found = self.window
        reports[by_slot] = found.draw(scattered(values[by_slot], found.starts, random), random)
        reports[~by_slot] = self.slots + flip(values[~by_slot], self.slope, random)
        return reports

    def tally(self, reports: Array) -> Tally:
        """Both kinds apart."""
        import numpy as np

        slots = reports[reports < self.slots]
        return np.array([slots.sum(), slots.size, (reports == self.slots + 1).sum()], dtype=np.int64)

    def share(self, tally: Tally, n: int) -> float:
        """The mean of what every report says."""
        m, s = self.window.line()
        total, by_slot, ones = (int(x) for x in tally)
        bits = n - by_slot
        said = (total - m * by_slot) / s + Fraction(bits, 2) + (ones - Fraction(bits, 2)) / self.slope
        return float(said / n)

    def share_bound(self, tally: Tally, n: int, beta: float) -> float:
        """Bernstein's, for the worst data."""
        reach = max((self.slots - 1) / float(self.window.line()[1]), 1 / float(self.slope))
        worst = max(self.share_variance(Fraction(0)), self.share_variance(Fraction(1, 2)))
        return bernstein(worst, reach=reach, n=n, beta=beta)

    def share_variance(self, share: Fraction) -> float:
        """The mixture of the two variances, as both are unbiased."""
        found, mixing = self.window, float(self.mixing)
        rounding = 0 if share in (0, 1) else Fraction(1, 4 * found.starts**2)
        by_slot = float(found.variance(share) / found.line()[1] ** 2 + rounding)
        return mixing * by_slot + (1 - mixing) * float(1 / self.slope**2 - (2 * share - 1) ** 2) / 4

    def law(self, value: Number) -> dict[int, Fraction]:
        """The mixture."""
        place = self.place(value)
        one = chance(place, self.slope)
        law = {slot: self.mixing * p for slot, p in slot_law(self.window, place).items()}
        return law | {self.slots: (1 - self.mixing) * (1 - one), self.slots + 1: (1 - self.mixing) * one}
