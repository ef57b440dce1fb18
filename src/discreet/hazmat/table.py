"""Inverse-CDF sampling from a table, with the exact law.

A `Law` on 0, 1, 2, ... gives its cumulative probabilities F(0), F(1), ... as intervals at
any precision.  Let U be uniform on [0, 1) and X the first k with U < F(k): X has the law.
The table holds T(k) = floor(2^width F(k)).  The first word u of U decides X unless u = T(k)
for some k:

    u < T(k)  implies  U < F(k),        u > T(k)  implies  U >= F(k).

So X is the first k with T(k) >= u, if T(k) > u; and if T(k) = u then more bits are drawn
and compared with F at higher precision.  The law of X is therefore exact; the table only
saves time.  With 64-bit words the second case has probability about 2^-64 an entry.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

from discreet.hazmat.entropy import RandomSource
from discreet.hazmat.exponent import Bounds
from discreet.hazmat.settle import WIDTH

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.hazmat.entropy import Words

    Indices = npt.NDArray[np.int64]

COMPILED = 1 << 15  # arrays at least this long go through the compiled kernel
GUIDE = 10  # bits of a word that index the guide


class Law(Protocol):
    """A law on 0, 1, 2, ..."""

    def cumulative(self, bits: int) -> Iterator[Bounds]:
        """Intervals around 2^bits F(0), 2^bits F(1), ...; a finite law ends with (2^bits, 2^bits)."""
        ...


class Table:
    """The rounded cumulative probabilities of a law, and how to draw from it."""

    def __init__(self, law: Law, *, width: int = WIDTH) -> None:
        self.law, self.width = law, width
        self.thresholds = _thresholds(law, width)
        self._arrays: tuple[npt.NDArray[np.uint64], npt.NDArray[np.int32]] | None = None

    def draw(self, rng: RandomSource) -> int:
        """One draw."""
        return self.find(rng.bits(self.width), rng)

    def find(self, word: int, rng: RandomSource) -> int:
        """The draw whose first word is `word`."""
        k = bisect_left(self.thresholds, word)
        return k if self.thresholds[k] > word else self._settle(word, rng)

    def _settle(self, u: int, rng: RandomSource) -> int:
        bits = self.width
        while True:
            u, bits = u << self.width | rng.bits(self.width), bits + self.width
            for k, (low, high) in enumerate(self.law.cumulative(bits)):
                if u < low:
                    return k
                if u < high:
                    break  # undecided: more bits

    def lookup(self, words: Words, rng: RandomSource) -> Indices:
        """One draw for each word."""
        import numpy as np

        thresholds, guide = self.arrays()
        if len(words) < COMPILED:
            found = np.searchsorted(thresholds, words, side="left").astype(np.int64, copy=False)
            unclear = np.flatnonzero(thresholds[found] == words)
        else:
            from discreet.hazmat.kernels import lookup

            found = np.empty(len(words), dtype=np.int64)
            shift = np.uint64(max(0, self.width - GUIDE))
            unclear = np.flatnonzero(found < 0) if lookup(words, thresholds, guide, shift, found) else ()
        for i in unclear:
            found[i] = self._settle(int(words[i]), rng)
        return found

    def arrays(self) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int32]]:
        """The thresholds, and for each value of a word's first bits where to start looking."""
        import numpy as np

        if self._arrays is None:
            thresholds = np.array(self.thresholds, dtype=np.uint64)
            bits = min(self.width, GUIDE)
            starts = np.arange(1 << bits, dtype=np.uint64) << np.uint64(self.width - bits)
            self._arrays = thresholds, np.searchsorted(thresholds, starts, side="left").astype(np.int32)
        return self._arrays


def _thresholds(law: Law, width: int) -> list[int]:
    """T(0), T(1), ... up to and including the first that no word exceeds."""
    last = (1 << width) - 1
    extra = 64
    while True:
        table: list[int] = []
        for low, high in law.cumulative(width + extra):
            if low >> extra != min(high >> extra, last) and low >> extra < last:
                break  # F is too near a multiple of 2^-width: look closer
            table.append(min(low >> extra, last))
            if table[-1] == last:
                assert all(a <= b for a, b in pairwise(table)), "cumulative probabilities grow"
                return table
        extra *= 2
