"""Unary encoding: one noisy bit for each value.

Theorem (Wang, Blocki, Li, Jha 2017; Erlingsson, Pihur, Korolova 2014).  Send a bit for each value, 1 with
probability `truth` for the own value and `noise` for each other one, independently.  Two values differ in two
bits, so the report is epsilon-DP if truth (1 - noise) <= e^epsilon noise (1 - truth), and no smaller epsilon
will do.

    symmetric   truth = 1 - noise, noise >= 1 / (e^(epsilon/2) + 1)   variance e^(epsilon/2) / (n (e^(epsilon/2) - 1)^2)
    optimal     truth = 1 / 2,     noise >= 1 / (e^epsilon + 1)       variance 4 e^epsilon / (n (e^epsilon - 1)^2)

`noise` is the next multiple of 2^-48, and 64 bits are drawn at once by comparing 64 uniform numbers with it,
bit plane by bit plane: exactly this law, from about seven words for 64 bits.  Proof:
docs/theory/frequency_oracles.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING

from discreet.errors import require
from discreet.local.frequency import FrequencyOracle
from discreet.local.wire import Masks
from discreet.privacy.enclosure import exp_down
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.hazmat.entropy import RandomSource
    from discreet.local.protocol import Array, Tally

    Rows = npt.NDArray[np.uint64]

WIDTH = 48  # bits of a probability
CHUNK = 1 << 18  # random words drawn at a time


class UnaryEncoding(FrequencyOracle):
    """A row of independent bits, one for each value."""

    __slots__ = ()

    @property
    def form(self) -> Masks:
        """A set of values."""
        return Masks(self.size)

    @property
    def cells(self) -> int:
        """One for each bit of a row."""
        return 64 * self.form.words

    def tally(self, reports: Array) -> Tally:
        """How many rows have each bit."""
        return sums(reports)

    def law(self, value: int) -> dict[int, Fraction]:
        """The product of the bits; a report is named by the integer with these bits."""
        return bits_law(self.size, value, self.truth, self.noise)


@dataclass(frozen=True, kw_only=True, slots=True)
class SymmetricUnaryEncoding(UnaryEncoding):
    """Every bit is flipped with the same probability (basic RAPPOR).

    >>> SymmetricUnaryEncoding(epsilon=1, size=100).bits
    100
    >>> round(SymmetricUnaryEncoding(epsilon=1, size=100).variance(1), 4)
    3.9177
    """

    epsilon: Number
    size: int

    @property
    def truth(self) -> Fraction:
        """The chance that the own bit is 1."""
        return 1 - self.noise

    @property
    def noise(self) -> Fraction:
        """1 / (e^(epsilon / 2) + 1), rounded up to the grid."""
        return flip(exact(self.epsilon) / 2)

    def draw(self, values: Array, random: RandomSource) -> Array:
        """The own bit set, then all flipped with the same probability."""
        import numpy as np

        rows = noisy_rows(self.noise, len(values), self.size, random)
        rows[np.arange(len(values)), values >> 6] ^= np.uint64(1) << (values & 63).astype(np.uint64)
        return rows


@dataclass(frozen=True, kw_only=True, slots=True)
class OptimalUnaryEncoding(UnaryEncoding):
    """The own bit is a fair coin, every other bit is rarely 1.

    >>> round(OptimalUnaryEncoding(epsilon=1, size=100).variance(1), 4)
    3.6827
    """

    epsilon: Number
    size: int

    @property
    def truth(self) -> Fraction:
        """The chance that the own bit is 1: one half."""
        return Fraction(1, 2)

    @property
    def noise(self) -> Fraction:
        """1 / (e^epsilon + 1), rounded up to the grid."""
        return flip(exact(self.epsilon))

    def draw(self, values: Array, random: RandomSource) -> Array:
        """Rare bits everywhere, then a fair one in the own place."""
        import numpy as np

        rows = noisy_rows(self.noise, len(values), self.size, random)
        at, place = (np.arange(len(values)), values >> 6), (values & 63).astype(np.uint64)
        fair = random.words(len(values)) >> np.uint64(63)
        rows[at] = rows[at] & ~(np.uint64(1) << place) | fair << place
        return rows


@lru_cache(maxsize=256)
def flip(epsilon: Fraction) -> Fraction:
    """1 / (e^epsilon + 1), rounded up to the grid of 2^-48."""
    level = -int(-(1 << WIDTH) / (exp_down(epsilon) + 1) // 1)
    require(2 * level < 1 << WIDTH, "an epsilon that 48-bit coins can show", epsilon=float(epsilon))
    return Fraction(level, 1 << WIDTH)


def noisy_rows(chance: Fraction, count: int, size: int, random: RandomSource) -> Rows:
    """Rows of independent bits, each 1 with this chance, a multiple of 2^-48; nothing beyond `size`."""
    import numpy as np

    from discreet.local.kernels import biased_bits

    level = chance * (1 << WIDTH)
    assert level.denominator == 1
    rows = np.empty((count, -(-size // 64)), dtype=np.uint64)
    flat, at = rows.reshape(-1), 0
    while at < flat.size:
        words = random.words(min(CHUNK, 8 * (flat.size - at) + WIDTH))
        at = biased_bits(words, np.uint64(int(level)), WIDTH, flat, at)
    if size % 64:
        rows[:, -1] &= np.uint64((1 << size % 64) - 1)
    return rows


def sums(rows: Rows) -> Tally:
    """How many rows have each bit."""
    import numpy as np

    from discreet.local.kernels import column_sums

    found = np.zeros(64 * rows.shape[1], dtype=np.int64)
    column_sums(rows, found)
    return found


def bits_law(size: int, value: int, truth: Fraction, noise: Fraction) -> dict[int, Fraction]:
    """The law of independent bits, 1 with probability `truth` in one place and `noise` in the others."""
    law: dict[int, Fraction] = {}
    for bits in product((0, 1), repeat=size):
        chance = Fraction(1)
        for x, bit in enumerate(bits):
            one = truth if x == value else noise
            chance *= one if bit else 1 - one
        law[sum(bit << x for x, bit in enumerate(bits))] = chance
    return law
