"""The weights of `quantile_joint`, summed along runs: in floating point, or as whole numbers that bracket them.

Let a level hold the runs in reach of one quantile, and write E(d, d') = exp(-rate |d - d'|).  With

    first_i(r)  the weight of all p_1 <= .. <= p_(i - 1) in runs before r, and p_i in r, without the choice inside r,
    last_i(r)   the weight of all p_1 <= .. <= p_i where p_i is the last of the m places in r,

first_1(r) = E(d_1(r), 0), first_(i + 1)(r) = sum over runs s before r of last_i(s) E(d_(i + 1)(r), d_i(s)), and
last_i(r) = sum over k of C(w + k - 1, k) exp(-rate n (a_i - a_(i - k + 1))) first_(i - k + 1)(r): k quantiles
share a run of w places, with no row between them.  Only sums and products of positive numbers occur.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

from discreet.hazmat.exponent import exp_bounds
from discreet.structured.quantiles.rank_draw import Part
from discreet.structured.quantiles.rank_index import CountIndex, RankIndex
from discreet.structured.quantiles.rank_spread import spread

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]
    Numbers = npt.NDArray[Any]  # floats, or Python integers

DIGITS = 256


@dataclass(frozen=True, slots=True)
class Level:
    """The runs in reach of one quantile, those with the least |d| first: rows before, d, first place, places."""

    rho: Ints
    d: Ints
    starts: Ints
    widths: Ints


def levels_of(
    index: RankIndex | CountIndex, part: Part, numerators: list[int], b: int, *, reach: int, depth: int
) -> list[Level]:
    """One level for each quantile a / b: the runs with |b rho - a n| <= reach."""
    import numpy as np

    n, found = part.rows, list[Level]()
    for a in numerators:
        low = max(0, -((reach - a * n) // b))
        high = min(n, (a * n + reach) // b)
        codes = before = upto = np.empty(0, dtype=np.int64)
        if n:
            first, after = max(0, low - 1), min(n, high + 1)
            points = spread(index.points(first, after), depth, first=first, after=after)
            codes, before, upto = points.codes, points.before, points.before + points.counts
        rho = np.concatenate([before[:1] if n else [0], upto])  # a run ends at an occupied place, or at the last one
        starts = np.concatenate([[part.lower], codes + 1])
        widths = np.concatenate([codes, [part.upper]]) - starts + 1
        kept = np.flatnonzero((low <= rho) & (rho <= high) & (widths > 0))
        d = b * rho[kept] - a * n
        order = kept[np.argsort(np.abs(d), kind="stable")]
        found.append(Level(rho[order], b * rho[order] - a * n, starts[order], widths[order]))
    return found


class Arithmetic(Protocol):
    """How exponentials are written down."""

    def kernel(self, to: Ints, start: Ints) -> Numbers:
        """E(d, d') for all pairs."""  # (to, start)
        ...

    def step(self, there: Level, here: Level, weights: Numbers) -> Numbers:
        """The sum over runs of `here` before r of weight times E, for every run r of `there`."""
        ...

    def power(self, x: int, factors: int) -> Any:  # noqa: ANN401 - a float or an integer
        """exp(-rate x), as long as a product of `factors` exponentials."""
        ...

    def widths(self, widths: Ints, often: int) -> Numbers:
        """C(w + often - 1, often)."""
        ...


@lru_cache(maxsize=16)
def _tables(rate: Fraction, places: int) -> tuple[npt.NDArray[np.float64], ...]:
    """exp(-rate d 256^j) for every digit d in every place j, each to a relative error below 2^-52."""
    import numpy as np

    def entry(x: Fraction) -> float:
        bits = 64 + math.ceil(x * 3 / 2)
        return exp_bounds(x, bits)[0] / (1 << bits) if x < 700 else 0.0

    return tuple(np.array([entry(rate * d * DIGITS**j) for d in range(DIGITS)]) for j in range(places))


@dataclass(frozen=True, slots=True)
class Floating:
    """Doubles; every number is off by a relative error below 2^-30."""

    rate: Fraction

    def rising(self, d: Ints) -> Numbers:
        """exp(rate d)."""
        import numpy as np

        tables = _tables(self.rate, max(1, -(-int(np.abs(d).max(initial=0)).bit_length() // 8)))
        out = np.ones(d.size)
        for j, table in enumerate(tables):
            out *= table[np.abs(d) >> 8 * j & 255]
        return np.where(d < 0, out, 1 / out)

    def kernel(self, to: Ints, start: Ints) -> Numbers:
        import numpy as np

        ends, starts = self.rising(to)[:, None], self.rising(start)[None, :]
        return np.where(to[:, None] >= start[None, :], starts / ends, ends / starts)

    def step(self, there: Level, here: Level, weights: Numbers) -> Numbers:
        import numpy as np

        if here.rho.max() >= there.rho.min():  # the levels overlap
            return _masked(self, there, here) @ weights
        order = np.argsort(here.d)
        starts, ends, sorted_weights = self.rising(here.d[order]), self.rising(there.d), weights[order]
        upto = np.concatenate([[0.0], np.cumsum(sorted_weights * starts)])
        beyond = np.concatenate([np.cumsum((sorted_weights / starts)[::-1])[::-1], [0.0]])
        at = np.searchsorted(here.d[order], there.d, side="right")
        return upto[at] / ends + beyond[at] * ends

    def power(self, x: int, factors: int) -> float:
        del factors
        return exp_bounds(self.rate * x, 1100)[0] / (1 << 1100)

    def widths(self, widths: Ints, often: int) -> Numbers:
        out = widths.astype(float)
        for j in range(1, often):
            out = out * (widths.astype(float) + j) / (j + 1)
        return out


@dataclass(frozen=True, slots=True)
class Whole:
    """Integers: a lower (side 0) or an upper (side 1) bound, times 2^precision for each exponential."""

    rate: Fraction
    precision: int
    side: int

    def kernel(self, to: Ints, start: Ints) -> Numbers:
        import numpy as np

        distance = np.abs(to[:, None] - start[None, :])
        distinct, kind = np.unique(distance, return_inverse=True)
        bounds = np.empty(distinct.size, dtype=object)
        bounds[:] = [self.power(int(x), 1) for x in distinct]
        return bounds[kind].reshape(distance.shape)

    def step(self, there: Level, here: Level, weights: Numbers) -> Numbers:
        return _masked(self, there, here) @ weights

    def power(self, x: int, factors: int) -> int:
        return exp_bounds(self.rate * x, self.precision * factors)[self.side]

    def widths(self, widths: Ints, often: int) -> Numbers:
        import numpy as np

        out = np.empty(widths.size, dtype=object)
        out[:] = [math.comb(int(w) + often - 1, often) for w in widths]
        return out


def _masked(arithmetic: Arithmetic, there: Level, here: Level) -> Numbers:
    """E for all pairs of runs in order, 0 for the others."""
    return arithmetic.kernel(there.d, here.d) * (here.rho[None, :] < there.rho[:, None])


class JointWeights:
    """All sums of one data set at one reach."""

    def __init__(self, levels: list[Level], numerators: list[int], rows: int, arithmetic: Arithmetic) -> None:
        import numpy as np

        self.levels, self.numerators, self.rows, self.arithmetic = levels, numerators, rows, arithmetic
        origin = np.zeros(1, dtype=np.int64)
        self.first: list[Numbers] = [arithmetic.kernel(levels[0].d, origin)[:, 0]]
        self.last: list[Numbers] = []
        for i in range(1, len(levels) + 1):
            self.last.append(self._last(i))
            if i < len(levels):
                self.first.append(arithmetic.step(levels[i], levels[i - 1], self.last[-1]))

    def terms(self, i: int) -> list[Numbers]:
        """The parts of last_i: one, two, .. quantiles in the run."""
        import numpy as np

        level, found = self.levels[i - 1], list[Any]()
        for k in range(1, i + 1):
            start = self.levels[i - k]
            order = np.argsort(start.rho)
            at = order[np.minimum(np.searchsorted(start.rho, level.rho, sorter=order), start.rho.size - 1)]
            shared = start.rho[at] == level.rho
            if not shared.any():
                break
            factor = 1 if k == 1 else self._empty(i, k)
            found.append(self.arithmetic.widths(level.widths, k) * factor * (self.first[i - k][at] * shared))
        return found

    def _empty(self, i: int, k: int) -> Any:  # noqa: ANN401 - a float or an integer
        """The weight of k - 1 steps without a row."""
        step = self.numerators[i - 1] - self.numerators[i - k]
        return self.arithmetic.power(self.rows * step, k - 1)

    def _last(self, i: int) -> Numbers:
        parts = self.terms(i)
        return sum(parts[1:], start=parts[0])

    def runs(self, i: int, after: tuple[int, int] | None) -> Numbers:
        """The weight of each run for quantile i, given the rows before the next quantile's run and its d."""
        import numpy as np

        level = self.levels[i - 1]
        d = 0 if after is None else after[1]
        ahead = self.arithmetic.kernel(level.d, np.array([d]))[:, 0]
        allowed = np.ones(level.rho.size, dtype=bool) if after is None else level.rho < after[0]
        return self.last[i - 1] * ahead * allowed

    def shares(self, i: int, rho: int) -> Numbers:
        """The weight of one, two, .. quantiles, counted back from i, in the run after `rho` rows."""
        import numpy as np

        at = int(np.flatnonzero(self.levels[i - 1].rho == rho)[0])
        parts = self.terms(i)
        out = np.empty(len(parts), dtype=parts[0].dtype)
        out[:] = [part[at] for part in parts]
        return out
