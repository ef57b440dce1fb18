"""Hadamard response: a column of a Hadamard matrix, more likely where the row of the value has +1.

Theorem (Acharya, Sun, Zhang 2019).  Cut the values into B blocks of at most b - 1, b a power of two, and give
value number j of a block row j + 1 of the Hadamard matrix of b columns.  Reports are columns of blocks.
Report a uniform column of the own block where the own row has +1, of which there are b / 2, with probability
truth <= e^epsilon / (e^epsilon + 2 B - 1), else any other column of any block, uniformly.  The report is
epsilon-DP.  Rows are orthogonal, so the sum W of a value's row over the reports in its block has mean n f c,
and W / (n c) is unbiased, where c = truth - (1 - truth) / (2 B - 1).  For a rare value whose block holds a
share s of the users its variance is

    (s (truth + lie) + 2 (1 - s) lie) / (n c^2),   lie = (1 - truth) / (2 B - 1);

with B = 1 that is ((e^epsilon + 1) / (e^epsilon - 1))^2 / n.  B is the power of two with the least variance at
s = 1 / B. The server keeps one count for each column and decodes by one fast Hadamard transform.  Proof:
docs/theory/frequency_oracles.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from discreet.local.chernoff import bennett, share_error
from discreet.local.coins import favoured, pick, toss, whole
from discreet.local.frequency import SMALL, FrequencyOracle
from discreet.local.wire import Codes
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.hazmat.entropy import RandomSource
    from discreet.local.protocol import Array, Tally

    Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, slots=True)
class HadamardResponse(FrequencyOracle):
    """Report a column of a Hadamard matrix.

    >>> response = HadamardResponse(epsilon=1, size=1024)
    >>> response.blocks, response.columns, response.bits, round(response.variance(1), 4)
    (1, 2048, 11, 4.6827)
    >>> HadamardResponse(epsilon=4, size=1024).blocks
    32
    """

    epsilon: Number
    size: int

    @property
    def blocks(self) -> int:
        """B."""
        return _blocks(exact(self.epsilon), self.size)

    @property
    def columns(self) -> int:
        """b, the columns of a block: the least power of two with b - 1 rows for the values of a block."""
        return 1 << (-(-self.size // self.blocks)).bit_length()

    @property
    def truth(self) -> Fraction:
        """The chance of a column of the own block where the own row has +1."""
        return _truth(exact(self.epsilon), self.blocks)

    @property
    def noise(self) -> Fraction:
        """The chance of a half of a block that the value does not favour."""
        return (1 - self.truth) / (2 * self.blocks - 1)

    @property
    def form(self) -> Codes:
        """The block and the column."""
        return Codes(self.blocks * self.columns)

    @property
    def cells(self) -> int:
        """One for each column."""
        return self.blocks * self.columns

    def rows(self, values: Array) -> tuple[Array, Array]:
        """The block and the row of each value."""
        import numpy as np

        block, row = np.divmod(values, self.columns - 1)
        return block, row + 1

    def draw(self, values: Array, random: RandomSource) -> Array:
        """A uniform column with +1 of the own block, or a uniform other one."""
        import numpy as np

        n = len(values)
        block, row = self.rows(values)
        told = toss(self.truth, n, random)
        column = (random.words(n) & np.uint64(self.columns - 1)).astype(np.int64)
        odd = np.bitwise_count(row & column) & 1  # 1 where the row has -1
        if self.blocks == 1:
            return column ^ np.where(odd == told, row & -row, 0)  # a bit of the row turns the sign
        lies = np.flatnonzero(~told)
        half = pick(2 * self.blocks - 1, len(lies), random)  # 0: the own block's -1; else a half of another block
        block[lies] = (block[lies] + (half + 1) // 2) % self.blocks
        turn = odd == told
        turn[lies[half > 0]] = False
        return block * self.columns + (column ^ np.where(turn, row & -row, 0))

    def tally(self, reports: Array) -> Tally:
        """How often each column was reported."""
        import numpy as np

        return np.bincount(reports, minlength=self.cells)

    def sums(self, tally: Tally) -> tuple[Tally, Tally]:
        """W for each value, and how many reports lie in its block."""
        import numpy as np

        block, row = self.rows(np.arange(self.size))
        table = tally.reshape(self.blocks, self.columns)
        return transform(table)[block, row], table.sum(axis=1)[block]

    def decode(self, tally: Tally, n: int) -> Floats:
        """Unbiased fractions of the users, one for each value."""
        return self.sums(tally)[0] / (n * float(self.truth - self.noise))

    def bound(self, tally: Tally, n: int, beta: float) -> Floats:
        """For each fraction alone: both signs of its row are counts, whose intervals hold together.

        Where a block is of one value, as at a large epsilon, nobody else shares it, so that a user adds 1, -1 or 0 to W
        with a variance that is public and small; else half of the users of a block have either sign by a fair coin.
        """
        import numpy as np

        gap = float(self.truth - self.noise)
        if self.columns == 2:
            own = self.truth + self.noise - (self.truth - self.noise) ** 2
            fewer = bennett(float(max(own, 2 * self.noise)) / 4, n=n, beta=beta)  # W / 2: within 1 of its mean
            if fewer < SMALL * math.sqrt(2 * math.log(4 / beta) / n):
                return np.full(self.size, 2 * fewer / gap)
        total, there = self.sums(tally)
        plus, minus = (there + total) // 2, (there - total) // 2
        if self.blocks == 1:
            return 2 * share_error(plus, n, beta) / gap  # the two counts add up to n
        return (share_error(plus, n, beta / 2) + share_error(minus, n, beta / 2)) / gap

    def variance(self, n: int, *, fraction: float = 0.0) -> float:
        """The variance for a value that `fraction` of n users hold, if every block holds equally many of the others."""
        whole("n", n, least=1)
        return _spread(float(self.truth), self.blocks, fraction) / n

    def law(self, value: int) -> dict[int, Fraction]:
        """Uniform on the favoured half of the own block, and on all else."""
        half = self.columns // 2
        block, row = divmod(value, self.columns - 1)
        held, rest = self.truth / half, (1 - self.truth) / (half * (2 * self.blocks - 1))
        return {
            b * self.columns + c: held if b == block and ((row + 1) & c).bit_count() % 2 == 0 else rest
            for b in range(self.blocks)
            for c in range(self.columns)
        }


def transform(table: Tally) -> Tally:
    """The Hadamard transform of each row, in (columns log columns) additions.

    >>> import numpy as np
    >>> transform(np.array([[3, 1, 0, 0]])).tolist()
    [[4, 2, 4, 2]]
    """
    import numpy as np

    done, size = table.copy(), table.shape[1]
    step = 1
    while step < size:
        pairs = done.reshape(-1, 2, step)
        done = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(table.shape)
        step *= 2
    return done


def _spread(truth: float, blocks: int, fraction: float) -> float:
    """The variance for one user."""
    lie = (1 - truth) / (2 * blocks - 1)
    gap = truth - lie
    there = fraction + (1 - fraction) / blocks
    if not gap * gap > 0:
        return math.inf  # no coin shows so small an epsilon
    return (there * (truth + lie) + (1 - there) * 2 * lie - fraction * gap**2) / gap**2


@lru_cache(maxsize=256)
def _blocks(epsilon: Fraction, size: int) -> int:
    """The power of two with the least variance where the blocks are equally full."""
    odds = math.exp(min(float(epsilon), 700.0))
    tries = [1 << j for j in range(size.bit_length()) if 1 << j <= size]
    return min(tries, key=lambda blocks: _spread(odds / (odds + 2 * blocks - 1), blocks, 0.0))


@lru_cache(maxsize=256)
def _truth(epsilon: Fraction, blocks: int) -> Fraction:
    return favoured(epsilon, inside=1, outside=2 * blocks - 1)
