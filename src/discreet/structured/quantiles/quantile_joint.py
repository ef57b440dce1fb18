"""All quantiles in one draw of the exponential mechanism (Gillenwater, Joseph, Kulesza 2021).

For quantiles a_1 / b < .. < a_m / b and places p_1 <= .. <= p_m of a lattice let rho_i be the number of
rows before p_i, and d_i = b rho_i - a_i n, with d_0 = d_(m + 1) = 0.  The loss of the m places is

    sum over i = 1 .. m + 1 of |d_i - d_(i - 1)| :

by how much the rows between neighbouring places differ from what they should be, times b.

Theorem.  Adding or removing a row moves every loss by at most 2 (b - min (a_i - a_(i - 1))).  The
draw is exact: weights are summed by a recursion over i along runs of places with the same
rho, in floating point with a proven margin, and with whole numbers where the margin leaves
two answers possible; places with |d_i| beyond a reach have losses above twice the reach, and
are accounted for by their number.  Proof: docs/theory/quantiles.md.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING

from discreet.hazmat.entropy import RandomSource
from discreet.hazmat.exponent import exp_bounds
from discreet.hazmat.samplers import uniform_below
from discreet.hazmat.settle import WIDTH
from discreet.structured.quantiles.quantile_joint_weights import Floating, JointWeights, Level, Whole, levels_of
from discreet.structured.quantiles.rank_draw import Part
from discreet.structured.quantiles.rank_index import CountIndex, RankIndex

if TYPE_CHECKING:
    from discreet.structured.quantiles.quantile_joint_weights import Arithmetic, Numbers

MISSED = 28  # exp(-28) is about 10^-12: how seldom a first look is too short
MARGIN = 2.0**-30  # of all sums in floating point
LEAST, MOST = 1e-200, 1e300  # a total below might have lost terms to underflow, one above might overflow


def joint_reach(quantiles: int, places: int, rate: Fraction) -> int:
    """The reach of a first look: the weight beyond it is at most exp(-28), where the best has weight 1."""
    return math.ceil(Fraction(MISSED + quantiles * math.log(places + quantiles)) / (2 * rate))


def draw_all(
    index: RankIndex | CountIndex,
    part: Part,
    quantiles: tuple[Fraction, ...],
    rate: Fraction,
    *,
    depth: int,
    rng: RandomSource,
    width: int = WIDTH,
) -> list[int]:
    """Places p_1 <= .. <= p_m with probability proportional to exp(-rate loss); the last one is drawn first."""
    b = math.lcm(*(q.denominator for q in quantiles))
    numerators = [int(q * b) for q in quantiles]
    sums = _Sums(index, part, numerators, b, rate, depth)
    reach, last, found = joint_reach(len(quantiles), part.places, rate), len(quantiles), list[int]()
    while not all(level.rho.size for level in sums.levels(reach)):
        reach *= 2  # more ties than places: no run is so near
    quick = sums.weights(reach, Floating(rate))
    after: tuple[int, int] | None = None  # the rows before the next quantile's run, and its d
    while last:
        runs = _Choice(last, last + 1, abs(after[1]) if after else 0, lambda w, i=last, a=after: w.runs(i, a))
        level, chosen = _settle(sums, quick, reach, runs, rng, width)
        rho, d = int(level.rho[chosen]), int(level.d[chosen])
        shares = _Choice(last, last, abs(d), lambda w, i=last, r=rho: w.shares(i, r))
        often = 1 + _settle(sums, quick, reach, shares, rng, width)[1]
        inside = _increasing(int(level.widths[chosen]), often, rng)
        found += [int(level.starts[chosen]) + place for place in reversed(inside)]
        last -= often
        after = rho, b * rho - numerators[last] * part.rows  # d of the first quantile in the run
    return found[::-1]


def _increasing(width: int, often: int, rng: RandomSource) -> list[int]:
    """`often` places of a run in order, repeats allowed, all such choices being equally likely."""
    chosen: set[int] = set()
    while len(chosen) < often:
        chosen.add(int(uniform_below(width + often - 1, rng=rng)))
    return [place - i for i, place in enumerate(sorted(chosen))]


@dataclass(frozen=True, slots=True)
class _Sums:
    """What the sums are taken over."""

    index: RankIndex | CountIndex
    part: Part
    numerators: list[int]
    b: int
    rate: Fraction
    depth: int

    def levels(self, reach: int) -> list[Level]:
        return levels_of(self.index, self.part, self.numerators, self.b, reach=reach, depth=self.depth)

    def weights(self, reach: int, arithmetic: Arithmetic) -> JointWeights:
        import numpy as np

        levels = self.levels(reach)
        with np.errstate(all="ignore"):  # what overflows is no total between LEAST and MOST
            return JointWeights(levels, self.numerators, self.part.rows, arithmetic)


@dataclass(frozen=True, slots=True)
class _Choice:
    """What is chosen for quantile `last`: by which weights, how many exponentials are in them, and |d| at their end."""

    last: int
    factors: int
    beside: int
    weights: Callable[[JointWeights], Numbers]


def _settle(
    sums: _Sums, quick: JointWeights, reach: int, choice: _Choice, rng: RandomSource, width: int
) -> tuple[Level, int]:
    """The least place whose sum of weights exceeds U times the sum of all, and the level it belongs to.

    All weights beyond the reach are together at most places^last exp(-rate (2 (reach + 1) - beside)).
    """
    u, bits = rng.bits(width), width
    short = float(sums.rate * (2 * (reach + 1) - choice.beside)) - choice.last * math.log(sums.part.places)
    if choice.beside <= reach:
        place = _quickly(choice.weights(quick), short, u / 2**bits, 2.0**-bits)
        if place is not None:
            return quick.levels[choice.last - 1], place
    while True:
        u, bits, reach = u << width | rng.bits(width), bits + width, max(2 * reach, choice.beside)
        precision = bits + WIDTH + choice.last * sums.part.places.bit_length()
        low, high = (sums.weights(reach, Whole(sums.rate, precision, side)) for side in (0, 1))
        least, most = (list(accumulate(choice.weights(table).tolist())) for table in (low, high))
        far = max(Fraction(0), sums.rate * (2 * (reach + 1) - choice.beside))
        beyond = sums.part.places**choice.last * exp_bounds(far, precision * choice.factors)[1]
        place = bisect_right(most, (u * least[-1] >> bits) - beyond)
        if place < len(least) and least[place] << bits >= (u + 1) * (most[-1] + beyond):
            return low.levels[choice.last - 1], place


def _quickly(weights: Numbers, short: float, u: float, grain: float) -> int | None:
    """The place, if every U within `grain` above u and every error of the sums lead to the same one."""
    import numpy as np

    upto = np.cumsum(weights)
    total = float(upto[-1])
    if not LEAST < total < MOST or short < 0:
        return None
    slack = 4 * (MARGIN + grain) * total + 2 * math.exp(-short)
    place = int(np.searchsorted(upto, u * total, side="right"))
    if place >= upto.size or upto[place] - u * total <= slack or (place and u * total - upto[place - 1] <= slack):
        return None
    return place
