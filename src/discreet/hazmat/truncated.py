"""Laplace noise confined to an interval, drawn exactly and without rejection.

The law is Pr[Z = z] ~ exp(-|z| / scale) on -under .. above.  With a = exp(-1 / scale):

    Pr[Z >= 0] = (1 - a^(above + 1)) / (1 - a^(above + 1) + a (1 - a^under)),

and on either side |Z| (or |Z| - 1) is a geometric variable cut off at n; the remainder
mod n of a geometric variable G has exactly that law, since Pr[G = i + j n] = Pr[G = i] a^(j n).
Nothing is drawn again, so the time taken does not depend on where the interval lies.
Proof: docs/theory/truncated_laplace.md.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.hazmat.entropy import RandomSource, source
from discreet.hazmat.exponent import Bounds, exp_bounds, minus, over, times
from discreet.hazmat.samplers import ARRAY_SCALE, geometric
from discreet.hazmat.settle import WIDTH, below, settle

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Int64s = npt.NDArray[np.int64]

ARRAY_SPAN = 1 << 61  # wider intervals are drawn one by one, in Python integers
STEEP = 1 << 200  # beyond this rate the float probability below is one either way, and nothing overflows
MARGIN = float(1 << 24)  # units of 2^-64: the float probability below is taken to be good to 2^-40


def truncated_laplace(scale: Fraction, *, under: int, above: int, rng: RandomSource | None = None) -> int:
    """One draw on -under .. above.

    >>> truncated_laplace(Fraction(10), under=0, above=0)
    0
    """
    random = source(rng)
    upper = below(lambda bits: _upper_side(scale, under, above, bits), rng=random)
    draw = geometric(scale, rng=random)
    assert isinstance(draw, int)
    return draw % (above + 1) if upper else -1 - draw % under


def truncated_laplaces(scale: Fraction, *, under: Int64s, above: Int64s, rng: RandomSource | None = None) -> Int64s:
    """One draw on -under[i] .. above[i] for each i, in one vectorised call."""
    import numpy as np

    random = source(rng)
    if scale > ARRAY_SCALE:  # draws may not fit 64 bits before they are reduced
        pairs = zip(under.tolist(), above.tolist(), strict=True)
        return np.array([truncated_laplace(scale, under=u, above=v, rng=random) for u, v in pairs], dtype=np.int64)
    rate = float(min(1 / scale, STEEP))
    right, left = -np.expm1(-(above + 1.0) * rate), -math.exp(-rate) * np.expm1(-under * rate)
    words = random.words(under.size)
    gap = right / (right + left) * 2.0**64 - words
    upper = gap > 0
    for i in np.flatnonzero(np.abs(gap) < MARGIN):
        sides = int(under[i]), int(above[i])
        upper[i] = settle(int(words[i]), WIDTH, lambda bits, s=sides: _upper_side(scale, *s, bits), rng=random)
    draws = geometric(scale, shape=(under.size,), rng=random)
    assert not isinstance(draws, int)
    return np.where(upper, draws % (above + 1), -1 - draws % np.maximum(under, 1)).astype(np.int64)


def _upper_side(scale: Fraction, under: int, above: int, bits: int) -> Bounds:
    """Pr[Z >= 0] between two integers over 2^bits."""
    width = bits + 64 + max(0, math.ceil(scale)).bit_length()
    one, rate = 1 << width, 1 / scale
    right = minus(one, exp_bounds((above + 1) * rate, width))
    left = times(exp_bounds(rate, width), minus(one, exp_bounds(under * rate, width)), width) if under else (0, 0)
    low, high = over(right, (right[0] + left[0], right[1] + left[1]), width)
    spare = width - bits
    return low >> spare, -(-high >> spare)
