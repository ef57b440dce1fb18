"""Running counts from sums over the nodes of a tree (the binary mechanism, with any branching).

Theorem (Dwork, Naor, Pitassi, Rothblum 2010; Chan, Shi, Song 2011; Honaker 2015).  Measure the sum over every block of
b^l steps, l = 0, ..., L - 1, when it ends.  A step is in L blocks.  If a unit changes k steps by at most `upper`
each, at least `separation` apart, the measurements move in l1 by at most k L upper, and in squared l2 by at most

    upper^2 * k * sum over l of min(k, ceil(b^l / separation)).

A prefix of t steps is made of digit_l(t) blocks of each level, the digits of t in base b.  The estimate of a block is
the mean of its own measurement and of the sum of its parts' estimates, weighted by their precision, with variance
v_0 = 1, 1 / v_l = 1 + 1 / (b v_(l-1)) in units of the noise; that of the prefix has variance sum digit_l(t) v_l.
The branching is the one for which the largest of these is least.  Proof: docs/theory/continual.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from discreet.errors import require

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    IntArray = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]

WIDEST = 1024  # the largest branching that is considered


@dataclass(frozen=True, kw_only=True)
class StreamTree:
    """Blocks of 1, b, b^2, ... steps.

    >>> tree = StreamTree(horizon=8, upper=1, branching=2)
    >>> tree.levels, tree.digits(7)  # seven steps are a block of 4, one of 2 and one of 1
    (3, [1, 1, 1])
    """

    horizon: int
    upper: int
    branching: int
    steps_per_unit: int = 1
    separation: int = 1

    def __post_init__(self) -> None:
        whole = isinstance(self.branching, int) and not isinstance(self.branching, bool)
        require(whole and self.branching >= 2, "an integer branching >= 2", branching=self.branching)
        product = self.horizon * self.upper
        require(product < 1 << 62, "horizon * upper < 2^62", horizon=self.horizon, upper=self.upper)

    @cached_property
    def levels(self) -> int:
        """How many blocks a step is in."""
        found, size = 1, self.branching
        while size < self.horizon:
            found, size = found + 1, size * self.branching
        return found

    @cached_property
    def variances(self) -> list[float]:
        """v_0, v_1, ...: of the estimates of blocks of each level."""
        found = [1.0]
        for _ in range(1, self.levels):
            found.append(1 / (1 + 1 / (self.branching * found[-1])))
        return found

    def digits(self, count: int) -> list[int]:
        """How many blocks of each level make up the first `count` steps; the highest level has no blocks above it."""
        found = []
        for _ in range(self.levels - 1):
            found.append(count % self.branching)
            count //= self.branching
        return [*found, count]

    @property
    def square(self) -> int:
        """The square of the l2 sensitivity of all measurements."""
        k = self.steps_per_unit
        together = (min(k, -(-(self.branching**level) // self.separation)) for level in range(self.levels))
        return self.upper**2 * k * sum(together)

    @property
    def absolute(self) -> int:
        """The l1 sensitivity of all measurements."""
        return self.upper * self.steps_per_unit * self.levels

    def start(self) -> tuple[IntArray, Floats]:
        """For each level, the sum so far of the open block, and of the estimates of the blocks that are done."""
        import numpy as np

        return np.zeros(self.levels, dtype=np.int64), np.zeros(self.levels)

    def measure(self, position: int, secret: IntArray, steps: IntArray) -> IntArray:
        """The sums over the blocks that end, step by step; `secret` moves on."""
        import numpy as np

        from discreet.structured.streams.toeplitz_kernels import nodes

        after = position + len(steps)
        ended = sum(after // self.branching**level - position // self.branching**level for level in range(self.levels))
        measured = np.empty(ended, dtype=np.int64)
        nodes(steps, position, self.branching, secret, measured)
        return measured

    def decode(self, position: int, public: Floats, measured: IntArray, count: int) -> Floats:
        """The running counts, from noisy measurements alone; `public` moves on."""
        import numpy as np

        from discreet.structured.streams.toeplitz_kernels import unnodes

        values = np.empty(count)
        unnodes(measured, position, self.branching, np.array(self.variances), public, values)
        return values

    def spread(self, count: int) -> tuple[float, float]:
        """The variance of the answer after `count` steps in units of that of the noise; and nothing for roundings."""
        return sum(digit * v for digit, v in zip(self.digits(count), self.variances, strict=True)), 0.0

    def response(self) -> StreamTree:
        """The variances of all answers: known in closed form."""
        return self

    until = spread

    @property
    def largest(self) -> tuple[float, float]:
        """The largest variance of an answer, in units of the noise: digits as many nines as the horizon allows."""
        digits, v = self.digits(self.horizon), self.variances
        found = self.spread(self.horizon)[0]
        for level in range(1, self.levels):
            if digits[level]:  # one less here, and as many as there are below
                kept = sum(digit * w for digit, w in zip(digits[level:], v[level:], strict=True)) - v[level]
                found = max(found, kept + (self.branching - 1) * sum(v[:level]))
        return found, 0.0

    @property
    def drift(self) -> float:
        """Measurements are exact."""
        return 0.0

    @property
    def heaviest(self) -> float:
        """The largest factor of one draw of noise in an answer."""
        return 1.0


@lru_cache(maxsize=256)
def best_tree(horizon: int, upper: int, steps_per_unit: int, separation: int, *, pure: bool) -> StreamTree:
    """The tree whose largest variance is least, for Laplace noise or for Gaussian.

    >>> best_tree(10**6, 1, 1, 1, pure=True).branching, best_tree(10**6, 1, 1, 1, pure=False).branching
    (16, 2)
    """

    def largest(tree: StreamTree) -> float:
        return tree.largest[0] * (tree.absolute**2 if pure else tree.square)

    tries = range(2, max(3, min(horizon, WIDEST) + 1))
    made = (
        StreamTree(horizon=horizon, upper=upper, branching=b, steps_per_unit=steps_per_unit, separation=separation)
        for b in tries
    )
    return min(made, key=largest)
