"""Optimal local hashing: randomized response on a short hash of the value.

Theorem (Wang, Blocki, Li, Jha 2017).  Draw a public seed a, uniform in F^m, and report it with the randomized response
to the hash a . x in F, where |F| = g.  Given the seed, a report is randomized response among g values: epsilon-DP,
the seed being independent of x.  Other values have exactly the noise 1 / g, as differences of hashes are uniform, so
the estimate is unbiased for every data set, and its variance for a rare value,

    (e^epsilon + g - 1)^2 / (n (e^epsilon - 1)^2 (g - 1)),

is least for g = e^epsilon + 1, where it is 4 e^epsilon / (n (e^epsilon - 1)^2).  Here g is the prime power of least
variance.  The server keeps counts of (seed, answer), g^(m + 1) of them, and decodes all values at once by sums along
hyperplanes: no loop over reports and values, and no pool of seeds.  Proof: docs/theory/frequency_oracles.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from discreet.errors import UnsupportedError
from discreet.local.coins import favoured, pick, toss
from discreet.local.fields import CELLS, WORK, field, hyperplane_sums, orders
from discreet.local.frequency import FrequencyOracle, spread
from discreet.local.wire import Codes
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    from discreet.hazmat.entropy import RandomSource
    from discreet.local.protocol import Array, Tally

SMALL = 1 << 20  # counts that a server may keep for a small domain


@dataclass(frozen=True, kw_only=True, slots=True)
class OptimalLocalHashing(FrequencyOracle):
    """Report a seed and a noisy hash.

    >>> hashing = OptimalLocalHashing(epsilon=1, size=1024)
    >>> hashing.order, hashing.digits, hashing.bits, round(hashing.variance(1), 4)
    (4, 5, 12, 3.6917)
    """

    epsilon: Number
    size: int

    @property
    def order(self) -> int:
        """g, how many hashes there are."""
        return _shape(exact(self.epsilon), self.size)[0]

    @property
    def digits(self) -> int:
        """m, the length of a value and of a seed in digits."""
        return _shape(exact(self.epsilon), self.size)[1]

    @property
    def seeds(self) -> int:
        """g^m."""
        return self.order**self.digits

    @property
    def truth(self) -> Fraction:
        """The chance that the own hash is told."""
        return _truth(exact(self.epsilon), self.order)

    @property
    def noise(self) -> Fraction:
        """The chance that another value has the hash that is told."""
        return Fraction(1, self.order)

    @property
    def form(self) -> Codes:
        """g seed + hash."""
        return Codes(self.seeds * self.order)

    @property
    def cells(self) -> int:
        """One for each seed and hash."""
        return self.seeds * self.order

    def draw(self, values: Array, random: RandomSource) -> Array:
        """A fresh seed, and the hash or another one."""
        import numpy as np

        seeds = pick(self.seeds, len(values), random)
        hashes = self.hashes(seeds, values)
        at = np.flatnonzero(~toss(self.truth, len(values), random))
        hashes[at] = (hashes[at] + 1 + pick(self.order - 1, len(at), random)) % self.order
        return seeds * self.order + hashes

    def hashes(self, seeds: Array, values: Array) -> Array:
        """a . x in the field, for each seed and value."""
        import numpy as np

        found = field(self.order)
        total = np.zeros(np.broadcast(seeds, values).shape, dtype=np.int64)
        for _ in range(self.digits):
            seeds, a = np.divmod(seeds, self.order)
            values, x = np.divmod(values, self.order)
            total = found.plus[total, found.times[a, x]]
        return total.astype(np.int64)

    def tally(self, reports: Array) -> Tally:
        """How often each seed came with each hash."""
        import numpy as np

        return np.bincount(reports, minlength=self.cells)

    def support(self, tally: Tally) -> Tally:
        """How many reports tell the hash that their seed gives the value."""
        return hyperplane_sums(tally, field(self.order))[: self.size]

    def law(self, value: int) -> dict[int, Fraction]:
        """Uniform on seeds, and randomized response given the seed."""
        import numpy as np

        own = self.hashes(np.arange(self.seeds), np.full(self.seeds, value))
        lie = (1 - self.truth) / (self.order - 1)
        return {
            seed * self.order + y: (self.truth if y == own[seed] else lie) / self.seeds
            for seed in range(self.seeds)
            for y in range(self.order)
        }


@lru_cache(maxsize=256)
def _shape(epsilon: Fraction, size: int) -> tuple[int, int]:
    """g and m: the field of least variance whose table a server can keep and decode."""
    best: tuple[float, int, int] | None = None
    for g in orders():
        m = 1
        while g**m < size:
            m += 1
        if g ** (m + 1) > min(CELLS, max(SMALL, 16 * size)) or (m - 1) * g ** (m + 2) > WORK:
            continue
        predicted = spread(float(epsilon), inside=1, both=1 / g, outside=g - 1)
        if best is None or predicted < best[0]:
            best = predicted, g, m
    if best is None:
        raise UnsupportedError(
            f"hashing of {size} values needs more than {CELLS} counts: use ProjectiveGeometryResponse"
        )
    return best[1:]


@lru_cache(maxsize=256)
def _truth(epsilon: Fraction, order: int) -> Fraction:
    return favoured(epsilon, inside=1, outside=order - 1)
