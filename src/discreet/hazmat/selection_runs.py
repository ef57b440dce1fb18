"""An exact softmax over a lattice too large to list: candidates come in runs of equal score, the nearest first.

    Pr[run i] = w_i exp(-rate g_i) / sum_j w_j exp(-rate g_j),   w_i candidates in the run, gap g_i.

Only runs within some reach of the best are listed; of the others it is enough to know how many
candidates they hold, since each of those weighs less than exp(-rate reach).  Runs are ordered by
gap, so that the law of the choice as a function of the uniform number U is the same for every reach:
the least i whose sum of weights up to i exceeds U times the sum of all.  All weights are bracketed
by integers; where the brackets, the bits of U or the reach leave two answers possible, all three
grow.  So the law is exact.  Proof: docs/theory/quantiles.md.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

from discreet.hazmat.entropy import RandomSource, source
from discreet.hazmat.exponent import Bounds, exp_bounds, times
from discreet.hazmat.settle import WIDTH

MISSED = 28  # exp(-28) is about 10^-12: how seldom a first look is too short


@dataclass(frozen=True, slots=True)
class Runs:
    """Every run whose gap is at most the reach asked for, by gap; and how many candidates are `beyond` it."""

    gaps: list[int]
    widths: list[int]
    beyond: int


def choose_run(
    runs: Callable[[int], Runs], rate: Fraction, *, candidates: int, rng: RandomSource | None = None, width: int = WIDTH
) -> tuple[int, Runs]:
    """The chosen run's place in the list, and the list: `runs(reach)` for a reach that was enough.

    >>> from discreet.hazmat.entropy import SeededRandom
    >>> choose_run(lambda reach: Runs([0, 90], [1, 5], 0), Fraction(1), candidates=6, rng=SeededRandom(1))[0]
    0
    """
    random = source(rng)
    reach = math.ceil(Fraction(MISSED + math.log(candidates)) / rate)
    u, bits = random.bits(width), width
    while True:
        listed = runs(reach)
        place = _place(listed, rate, reach, u, bits, bits + WIDTH + candidates.bit_length())
        if place is not None:
            return place, listed
        u, bits, reach = u << width | random.bits(width), bits + width, 2 * reach


def _place(listed: Runs, rate: Fraction, reach: int, u: int, bits: int, precision: int) -> int | None:
    """The least i whose sum exceeds U times the total, for every U in [u, u + 1) / 2^bits; None if they disagree."""
    bounds = _weights(listed.gaps, rate, precision)
    low = list(accumulate(w * least for w, (least, _) in zip(listed.widths, bounds, strict=True)))
    high = list(accumulate(w * most for w, (_, most) in zip(listed.widths, bounds, strict=True)))
    if not low or not low[-1]:
        return None
    beyond = listed.beyond * exp_bounds(rate * (reach + 1), precision)[1] if listed.beyond else 0
    place = bisect_right(
        high, u * low[-1] >> bits
    )  # the first with high > floor(u low / 2^bits), so high 2^bits > u low
    if place < len(low) and low[place] << bits >= (u + 1) * (high[-1] + beyond):
        return place
    return None


def _weights(gaps: list[int], rate: Fraction, precision: int) -> list[Bounds]:
    """Brackets of exp(-rate gap) 2^precision for increasing gaps, each from the one before it."""
    steps: dict[int, Bounds] = {}
    out: list[Bounds] = []
    last, weight = 0, (1 << precision, 1 << precision)
    for gap in gaps:
        if gap != last:
            step = gap - last
            if step not in steps:
                steps[step] = exp_bounds(rate * step, precision)
            weight, last = times(weight, steps[step], precision), gap
        out.append(weight)
    return out
