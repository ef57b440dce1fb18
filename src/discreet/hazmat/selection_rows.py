"""Exact samplers for many selections at once: one choice for each row of a table of gaps.

    softmax_rows           in row r, Pr[i] proportional to widths[i] exp(-rate gaps[r, i])
    permute_and_flip_rows  in row r, each i succeeds with probability exp(-rate gaps[r, i]);
                           uniform among the successes

A width says how many equal candidates stand behind a column; a width of zero, or a column that
is not allowed, is never chosen.  The laws are those of `selection`, and exact for the same
reason: words are compared with integers that bracket the weights, and a row that the bracket
leaves open is settled with more bits.  Proof: docs/theory/quantiles.md.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING

from discreet.errors import require
from discreet.hazmat.entropy import RandomSource, source
from discreet.hazmat.exponent import exp_bounds
from discreet.hazmat.selection import BLOCK, PLACES, among, weights
from discreet.hazmat.settle import WIDTH, settle

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.hazmat.selection import Gaps, Indices

    Columns = npt.NDArray[np.int64]


def gaps_of(losses: npt.NDArray[np.int64] | npt.NDArray[np.object_], allowed: Columns | None = None) -> Gaps:
    """losses less the least allowed one of each row, as `weights` reads them; 0 where not allowed.

    >>> import numpy as np
    >>> gaps_of(np.array([[5, 3, 4]]))
    array([[2, 0, 1]], dtype=uint64)
    """
    import numpy as np

    if allowed is None:
        short = losses - losses.min(axis=1, keepdims=True)
    else:
        least = np.where(allowed > 0, losses, losses.max(axis=1, keepdims=True)).min(axis=1, keepdims=True)
        short = np.where(allowed > 0, losses - least, 0)
    return short if short.dtype == object else short.astype(np.uint64)


def softmax_rows(
    gaps: Gaps, rate: Fraction, *, widths: Columns | None = None, rng: RandomSource | None = None
) -> Indices:
    """One index a row, Pr[i] proportional to widths[i] exp(-rate gaps[r, i]); widths are 1-d, or 2-d like the gaps.

    >>> import numpy as np
    >>> from discreet.hazmat.entropy import SeededRandom
    >>> softmax_rows(gaps_of(np.array([[0, 90], [90, 0]])), Fraction(1), rng=SeededRandom(1))
    array([0, 1])
    """
    import numpy as np

    random, (rows, size) = source(rng), gaps.shape
    _check(size, widths)
    out = np.empty(rows, dtype=np.int64)
    step = max(1, BLOCK // size)
    for start in range(0, rows, step):
        block = slice(start, start + step)
        columns = widths[block] if widths is not None and widths.ndim == 2 else widths
        out[block] = _softmax_block(gaps[block], rate, columns, random)
    return out


def _check(size: int, widths: Columns | None) -> None:
    require(size >= 1, "at least one candidate", candidates=size)
    if widths is not None:
        some = (widths > 0).any(axis=-1).all()  # no sum of 64-bit widths, which could wrap
        require(bool((widths >= 0).all() and some), "widths >= 0, not all zero", size=size)


def _softmax_block(gaps: Gaps, rate: Fraction, widths: Columns | None, rng: RandomSource) -> Indices:
    import numpy as np

    rows, size = gaps.shape
    widest = size if widths is None else int(np.max(widths.sum(axis=-1, dtype=object)))
    places = min(PLACES, 61 - widest.bit_length())
    words = rng.words(rows)
    if places < 1:  # too many candidates for 64-bit sums
        return np.array([_settle_row(gaps[r], _row(widths, r), rate, int(words[r]), rng) for r in range(rows)])
    weight = weights(gaps.ravel(), rate, places).reshape(rows, size)
    if widths is not None:
        weight *= widths
    sums = np.cumsum(weight, axis=1, out=weight)
    whole = sums[:, -1]
    margin = (whole >> 50) + 4 * widest + 4  # of the sums, of their total and of the product below
    centre = (words.astype(np.float64) * (whole / 2**WIDTH)).astype(np.int64)
    first = np.count_nonzero(sums <= (centre - margin)[:, None], axis=1)
    last = np.minimum(np.count_nonzero(sums <= (centre + margin)[:, None], axis=1), size - 1)
    for r in np.flatnonzero(first != last).tolist():
        first[r] = _settle_row(gaps[r], _row(widths, r), rate, int(words[r]), rng)
    return first


def _row(widths: Columns | None, r: int) -> Columns | None:
    return widths[r] if widths is not None and widths.ndim == 2 else widths


def _settle_row(gaps: Gaps, widths: Columns | None, rate: Fraction, u: int, rng: RandomSource) -> int:
    """The least i whose sum of weights up to i exceeds U times the sum of all, where U begins with the word u."""
    often = [1] * gaps.size if widths is None else [int(width) for width in widths]
    bits = WIDTH
    while True:
        u, bits = u << WIDTH | rng.bits(WIDTH), bits + WIDTH
        bounds = {gap: exp_bounds(rate * gap, bits) for gap in {int(gap) for gap in gaps}}
        ends = [bounds[int(gap)] for gap in gaps]
        low = list(accumulate(w * end[0] for w, end in zip(often, ends, strict=True)))
        high = list(accumulate(w * end[1] for w, end in zip(often, ends, strict=True)))
        first = next(i for i, most in enumerate(high) if most << bits > u * low[-1])
        if low[first] << bits >= (u + 1) * high[-1]:
            return first


def permute_and_flip_rows(
    gaps: Gaps, rate: Fraction, *, allowed: Columns | None = None, rng: RandomSource | None = None
) -> Indices:
    """One index a row, uniform among independent successes of probability exp(-rate gap); some gap must be 0.

    >>> import numpy as np
    >>> from discreet.hazmat.entropy import SeededRandom
    >>> permute_and_flip_rows(gaps_of(np.array([[0, 90], [90, 0]])), Fraction(1), rng=SeededRandom(1))
    array([0, 1])
    """
    import numpy as np

    random, (rows, size) = source(rng), gaps.shape
    _check(size, allowed)
    out = np.empty(rows, dtype=np.int64)
    step = max(1, BLOCK // size)
    for start in range(0, rows, step):
        block = slice(start, start + step)
        flips = _flips(gaps[block], rate, random)
        if allowed is not None:
            flips &= (allowed[block] if allowed.ndim == 2 else allowed) > 0
        out[block] = among(flips, rng=random)
    return out


def _flips(gaps: Gaps, rate: Fraction, rng: RandomSource) -> npt.NDArray[np.bool_]:
    """One flip of every coin."""  # (rows, candidates)
    import numpy as np

    words = rng.words(gaps.size).reshape(gaps.shape)
    heads = (words >> np.uint64(WIDTH - PLACES)).astype(np.int64)
    heads -= weights(gaps.ravel(), rate).reshape(gaps.shape)
    out = heads <= -2  # U < (head + 1) / 2^48 <= (weight - 1) / 2^48 < p
    doubtful = heads <= 1  # a head of weight + 2 or more is above p
    doubtful &= ~out
    for row, i in np.argwhere(doubtful):
        x = rate * int(gaps[row, i])
        out[row, i] = settle(int(words[row, i]), WIDTH, lambda bits, x=x: exp_bounds(x, bits), rng=rng)
    return out
