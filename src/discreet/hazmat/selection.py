"""Exact samplers for selection: which of n candidates is chosen.

A candidate is known by its gap g, the integer by which its score falls short of the best.

    softmax           Pr[i] = exp(-rate g_i) / sum_j exp(-rate g_j)     (argmax of score + Gumbel noise)
    permute_and_flip  each i succeeds with probability exp(-rate g_i); uniform among the successes
                      (argmax of score + exponential noise)
    laplace_max       argmax of score + discrete Laplace noise; uniform among the winners of a tie

Lemma.  `weights` is an integer array with -1/2 < exp(-rate g) 2^places - weight < 3/2.
A uniform word is compared with these integers; where the error could change the answer,
more bits are drawn and exp is bracketed more tightly, until the answer is certain.  So
the laws are exact and no sum is ever rounded.  Proof: docs/theory/exponential.md.

Work and memory depend on n and the rate; gaps of any size are safe.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from discreet.errors import require
from discreet.hazmat.entropy import RandomSource, source
from discreet.hazmat.exponent import exp_bounds
from discreet.hazmat.integers import integers
from discreet.hazmat.samplers import discrete_laplace, uniform_below
from discreet.hazmat.settle import WIDTH, settle

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.hazmat.integers import IntArray, Integers

    Gaps = npt.NDArray[np.uint64] | npt.NDArray[np.object_]
    Indices = npt.NDArray[np.int64]
    Flags = npt.NDArray[np.bool_]

PLACES = 48  # bits of a weight after the point
FAR = 64  # exp(-64) < 2^-92 is no weight at all
DIGIT_BITS = 8  # gaps are looked up digit by digit
BLOCK = 1 << 20  # random words held at once when many draws are asked for


def row(values: object) -> IntArray:
    """A list, tuple or 1-d array of integers: 64-bit where all fit, Python integers where not.

    >>> row([0.5, 1])
    Traceback (most recent call last):
    discreet.errors.ParameterError: need integers (counts, or values moved to a lattice first), got ...
    """
    import numpy as np

    whole = integers(np.array(values, dtype=object) if isinstance(values, (list, tuple)) else values)
    require(not isinstance(whole, int) and whole.ndim == 1, "one row of integers", shape=np.shape(whole))
    assert not isinstance(whole, int)
    if whole.dtype == object:
        exactly = [int(value) for value in whole]
        try:
            return np.array(exactly, dtype=np.int64)
        except OverflowError:
            return np.array(exactly, dtype=object)
    return whole


def gaps(scores: object) -> Gaps:
    """max(scores) - scores, exactly: 64-bit unsigned, or Python integers where the scores are.

    >>> gaps([3, 5, 5])
    array([2, 0, 0], dtype=uint64)
    """
    import numpy as np

    whole = row(scores)
    require(whole.size >= 1, "at least one candidate", candidates=whole.size)
    if whole.dtype == object:
        return max(whole) - whole
    return whole.max().astype(np.uint64) - whole.astype(np.uint64)  # modulo 2^64, which the true gap is below


@lru_cache(maxsize=64)
def _tables(rate: Fraction) -> tuple[int, tuple[npt.NDArray[np.float64], ...]]:
    """The gap beyond which nothing is left, and exp(-rate d 256^j) for every digit d in every place j."""
    import numpy as np

    furthest = min(math.ceil(FAR / rate), 2**64 - 1)
    base = 1 << DIGIT_BITS
    places = -(-furthest.bit_length() // DIGIT_BITS)
    tables = [[exp_bounds(rate * d * base**j, 64)[0] / 2**64 for d in range(base)] for j in range(places)]
    return furthest, tuple(np.array(table) for table in tables)


def weights(gaps: Gaps, rate: Fraction, places: int = PLACES) -> Indices:
    """Integers with -1/2 < exp(-rate gap) 2^places - weight < 3/2, for places <= 48.

    >>> weights(gaps([7, 6, -1000]), Fraction(1), places=16)  # the gaps are 0, 1 and 1007; 65536 / e = 24109.3
    array([65536, 24109,     0])
    """
    import numpy as np

    if gaps.dtype == object:
        return np.array([exp_bounds(rate * gap, places + 8)[0] >> 8 for gap in gaps], dtype=np.int64)
    furthest, tables = _tables(rate)
    near = np.minimum(gaps, np.uint64(furthest))
    out = tables[0][near & np.uint64(255)]
    for j, table in enumerate(tables[1:], start=1):
        out *= table[near >> np.uint64(DIGIT_BITS * j) & np.uint64(255)]
    return (out * 2.0**places).astype(np.int64)


def softmax(gaps: Gaps, rate: Fraction, *, shape: tuple[int] | None = None, rng: RandomSource | None = None) -> Indices:
    """Indices with Pr[i] proportional to exp(-rate gaps[i]); one of them when shape is None.

    >>> from discreet.hazmat.entropy import SeededRandom
    >>> softmax(gaps([0, 50]), Fraction(1), shape=(5,), rng=SeededRandom(1))
    array([1, 1, 1, 1, 1])
    """
    import numpy as np

    random, n = source(rng), gaps.size
    sums = np.cumsum(weights(gaps, rate, min(PLACES, 62 - n.bit_length())))
    whole = int(sums[-1])
    margin = (whole >> 50) + 4 * n + 4  # of the sums, of their total and of the product below
    words = random.words(math.prod(shape or (1,)))
    centre = (words.astype(np.float64) * (whole / 2**WIDTH)).astype(np.int64)
    first = np.minimum(np.searchsorted(sums, centre - margin, side="right"), n - 1)
    last = np.minimum(np.searchsorted(sums, centre + margin, side="right"), n - 1)
    for j in np.flatnonzero(first != last):
        first[j] = _settle(gaps, rate, int(words[j]), int(first[j]), int(last[j]), random)
    return first if shape else first[0]


def _settle(gaps: Gaps, rate: Fraction, u: int, first: int, last: int, rng: RandomSource) -> int:
    """The least i in first .. last whose sum of weights up to i exceeds U times the sum of all."""
    import numpy as np

    distinct, kind = np.unique(gaps, return_inverse=True)
    bits = WIDTH
    while True:
        u, bits = u << WIDTH | rng.bits(WIDTH), bits + WIDTH
        bounds = [exp_bounds(rate * int(gap), bits) for gap in distinct]

        def upto(i: int, bounds: list[tuple[int, int]] = bounds) -> tuple[int, int]:
            often = np.bincount(kind[: i + 1], minlength=len(bounds)).tolist()
            pairs = list(zip(often, bounds, strict=True))
            return sum(c * low for c, (low, _) in pairs), sum(c * high for c, (_, high) in pairs)

        least, most = upto(gaps.size - 1)
        while first < last:
            middle = (first + last) // 2
            low, high = upto(middle)
            if low << bits >= (u + 1) * most:
                last = middle
            elif high << bits <= u * least:
                first = middle + 1
            else:
                break
        else:
            return first


def permute_and_flip(
    gaps: Gaps, rate: Fraction, *, shape: tuple[int] | None = None, rng: RandomSource | None = None
) -> Indices:
    """Indices uniform among independent successes of probability exp(-rate gap)."""
    import numpy as np

    random, size = source(rng), math.prod(shape or (1,))
    weight = weights(gaps, rate)
    rows = max(1, BLOCK // gaps.size)
    out = np.empty(size, dtype=np.int64)
    for start in range(0, size, rows):
        flips = _flips(gaps, rate, weight, min(rows, size - start), random)
        out[start : start + rows] = among(flips, rng=random)
    return out if shape else out[0]


def _flips(gaps: Gaps, rate: Fraction, weight: Indices, rows: int, rng: RandomSource) -> Flags:
    """`rows` independent flips of every candidate's coin."""  # (rows, candidates)
    import numpy as np

    words = rng.words(rows * gaps.size).reshape(rows, gaps.size)
    heads = (words >> np.uint64(WIDTH - PLACES)).astype(np.int64)
    heads -= weight
    out = heads <= -2  # U < (head + 1) / 2^48 <= (weight - 1) / 2^48 < p
    doubtful = heads <= 1  # a head of weight + 2 or more is above p
    doubtful &= ~out
    for row, i in np.argwhere(doubtful):
        x = rate * int(gaps[i])
        out[row, i] = settle(int(words[row, i]), WIDTH, lambda bits, x=x: exp_bounds(x, bits), rng=rng)
    return out


def among(flags: Flags, *, rng: RandomSource | None = None) -> Indices:
    """One index for each row, uniform among its True entries; every row must have one."""  # (rows, n) -> (rows,)
    import numpy as np

    if len(flags) == 1:
        hits = np.flatnonzero(flags[0])
        return hits[[int(uniform_below(hits.size, rng=rng))]]
    often = flags.sum(axis=1)
    rank = np.empty(len(flags), dtype=np.int64)
    for count in np.unique(often):
        same = often == count
        rank[same] = uniform_below(int(count), shape=(int(same.sum()),), rng=rng)
    return np.argmax(np.cumsum(flags, axis=1) == rank[:, None] + 1, axis=1)


def laplace_max(
    gaps: Gaps, scale: Fraction, *, shape: tuple[int] | None = None, rng: RandomSource | None = None
) -> Indices:
    """Indices of the largest score + noise, Pr[noise = z] ~ exp(-|z| / scale), uniform among ties."""
    import numpy as np

    random, size = source(rng), math.prod(shape or (1,))
    rows = max(1, BLOCK // gaps.size)
    out = np.empty(size, dtype=np.int64)
    for start in range(0, size, rows):
        noise = discrete_laplace(scale, shape=(min(rows, size - start), gaps.size), rng=random)
        noisy = _behind(noise, gaps)
        out[start : start + rows] = among(noisy == noisy.max(axis=1, keepdims=True), rng=random)
    return out if shape else out[0]


def _behind(noise: Integers, gaps: Gaps) -> npt.NDArray[np.int64]:
    """noise - gaps, as far as its largest entry is concerned.

    When all noise is within 2^61, a candidate 2^62 behind loses to the best one, and so it
    does with its gap cut to 2^62: nothing wraps and the largest entry is the true one.
    """
    import numpy as np

    assert not isinstance(noise, int)
    if noise.dtype == object or noise.min() <= -(2**61) or noise.max() >= 2**61:
        return noise.astype(object) - gaps.astype(object)
    return noise - np.minimum(gaps, 2**62).astype(np.int64)
