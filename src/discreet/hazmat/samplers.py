"""Exact samplers on the integers, scalar and vectorised.

Each function draws from the law in its docstring exactly: fair bits in, no floating-point
error out.  `shape=None` gives a Python number, a shape gives an array, and a million draws
are one call.  Proofs: docs/theory/samplers.md.

Scales are public numbers.  Tables are built once for each of the last few scales, so a
scale computed from private data must never come here: use `rounded` laws instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, cast

from discreet.errors import require
from discreet.hazmat.entropy import RandomSource, source
from discreet.hazmat.exponent import Bounds, exp_bounds
from discreet.hazmat.laws import BASE, BASE_BITS, Digit, GaussianBlock, Quotient, SignedQuotient
from discreet.hazmat.pool import Pool
from discreet.hazmat.settle import WIDTH, below, settle
from discreet.hazmat.table import COMPILED, Table
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.hazmat.integers import IntArray, Integers, Shape

    Bools = npt.NDArray[np.bool_]

CHUNK = 1 << 17  # draws at a time: the working arrays stay in cache, and calls are few
ARRAY_SCALE = 1 << 52  # a larger scale could leave the 64-bit range with more than e^-2047 probability


def uniform_below(bound: int, *, shape: Shape = None, rng: RandomSource | None = None) -> Integers:
    """Uniform on 0 .. bound - 1, by rejection: no bias.

    >>> from discreet.hazmat.entropy import SeededRandom
    >>> sorted({int(face) for face in uniform_below(6, shape=(100,), rng=SeededRandom(1))})
    [0, 1, 2, 3, 4, 5]
    """
    require(isinstance(bound, int) and bound >= 1, "an integer bound >= 1", bound=bound)
    random, bits = source(rng), (bound - 1).bit_length()
    if shape is None or bits > 63:
        return _scalar_or_objects(lambda: _uniform(bound, bits, random), shape)
    import numpy as np

    size = math.prod(shape)
    out = np.empty(0, dtype=np.int64)
    while out.size < size:
        need = size - out.size
        tries = random.words(need + need // 2 + 16) >> np.uint64(64 - bits) if bits else np.zeros(need, np.uint64)
        out = np.concatenate([out, tries[tries < bound].astype(np.int64)])
    return out[:size].reshape(shape)


def _uniform(bound: int, bits: int, random: RandomSource) -> int:
    while True:
        draw = random.bits(bits)
        if draw < bound:
            return draw


def _scalar_or_objects(draw: Callable[[], int], shape: Shape) -> Integers:
    """One Python integer, or an array of them where 64 bits might not be enough."""
    if shape is None:
        return draw()
    import numpy as np

    out = np.empty(math.prod(shape), dtype=object)
    out[:] = [draw() for _ in range(out.size)]
    return out.reshape(shape)


def bernoulli(p: Number, *, shape: Shape = None, rng: RandomSource | None = None) -> bool | Bools:
    """True with probability p, a rational number.

    >>> bernoulli(1), bernoulli(0)
    (True, False)
    """
    chance = exact(p)
    require(0 <= chance <= 1, "0 <= p <= 1", p=p)
    top, bottom = chance.numerator, chance.denominator
    return coin(lambda bits: ((top << bits) // bottom, -((-top << bits) // bottom)), shape, rng)


def bernoulli_exp(x: Number, *, shape: Shape = None, rng: RandomSource | None = None) -> bool | Bools:
    """True with probability exp(-x), for a rational x >= 0."""
    rate = exact(x)
    require(rate >= 0, "x >= 0", x=x)
    return coin(lambda bits: exp_bounds(rate, bits), shape, rng)


def coin(bounds: Callable[[int], Bounds], shape: Shape, rng: RandomSource | None) -> bool | Bools:
    """True with the probability p that `bounds(bits)` brackets, as integers over 2^bits."""
    random = source(rng)
    if shape is None:
        return below(bounds, rng=random)
    import numpy as np

    low, high = bounds(WIDTH)
    words = random.words(math.prod(shape))
    out = words < np.uint64(low) if low < 1 << WIDTH else np.ones(words.size, dtype=bool)
    if low < high:
        for i in np.flatnonzero((words >= np.uint64(low)) & (words <= np.uint64(high - 1))):
            out[i] = settle(int(words[i]), WIDTH, bounds, rng=random)
    return out.reshape(shape)


def geometric(scale: Number, *, shape: Shape = None, rng: RandomSource | None = None) -> Integers:
    """Pr[G = g] ~ exp(-g / scale) on 0, 1, 2, ..."""
    if shape is None and rng is None:
        return _pool(geometric, _positive(scale)).take()
    return _digits(*_geometric_tables(_positive(scale), signed=False), shape, rng, scale=scale)


def discrete_laplace(scale: Number, *, shape: Shape = None, rng: RandomSource | None = None) -> Integers:
    """Pr[Z = z] ~ exp(-|z| / scale) on the integers.

    >>> from discreet.hazmat.entropy import SeededRandom
    >>> discrete_laplace(10, shape=(6,), rng=SeededRandom(1)).dtype
    dtype('int64')
    """
    if shape is None and rng is None:
        return _pool(discrete_laplace, _positive(scale)).take()
    return _digits(*_geometric_tables(_positive(scale), signed=True), shape, rng, scale=scale, signed=True)


@lru_cache(maxsize=256)
def _pool(sampler: Callable[..., Integers], parameter: Fraction) -> Pool:
    """Single draws of a law, drawn ahead, so that the time of a call says nothing about its value."""
    return Pool(lambda count: cast("IntArray", sampler(parameter, shape=(count,))).tolist())


def _positive(scale: Number) -> Fraction:
    value = exact(scale)
    require(value > 0, "scale > 0", scale=scale)
    return value


@lru_cache(maxsize=256)
def _geometric_tables(scale: Fraction, *, signed: bool) -> tuple[Table, tuple[Table, ...]]:
    """The table of the quotient (with the sign, if signed), and those of the digits, highest first."""
    digits, left = 0, scale
    while left > 16:
        digits, left = digits + 1, left / BASE
    rate = 1 / scale
    top = SignedQuotient(rate, digits) if signed else Quotient(rate * BASE**digits)
    return Table(top), tuple(Table(Digit(rate * BASE**j)) for j in reversed(range(digits)))


def _digits(
    top: Table,
    rest: tuple[Table, ...],
    shape: Shape,
    rng: RandomSource | None,
    *,
    scale: Number,
    signed: bool = False,
) -> Integers:
    """Draw quotient and digits, put them together, apply the sign."""
    random = source(rng)

    def one() -> int:
        head = top.draw(random)
        sign, number = (head & 1, head >> 1) if signed else (0, head)
        for table in rest:
            number = number << BASE_BITS | table.draw(random)
        return number ^ -sign

    if shape is None or exact(scale) > ARRAY_SCALE:
        return _scalar_or_objects(one, shape)
    import numpy as np

    out = np.empty(math.prod(shape), dtype=np.int64)
    for start in range(0, out.size, CHUNK):
        part = out[start : start + CHUNK]
        head = top.lookup(random.words(part.size), random)
        np.right_shift(head, int(signed), out=part)
        for table in rest:
            np.left_shift(part, BASE_BITS, out=part)
            np.bitwise_or(part, table.lookup(random.words(part.size), random), out=part)
        if signed:
            np.bitwise_and(head, 1, out=head)
            np.bitwise_xor(part, np.negative(head, out=head), out=part)
    return out.reshape(shape)


def discrete_gaussian(variance: Number, *, shape: Shape = None, rng: RandomSource | None = None) -> Integers:
    """Pr[Z = z] ~ exp(-z^2 / (2 variance)) on the integers.

    A table chooses a block of integers by its highest point; inside the block the integer is
    uniform, and is kept with the ratio of its weight to the highest, else all is drawn again.
    """
    value = exact(variance)
    require(value > 0, "variance > 0", variance=variance)
    if shape is None and rng is None:
        return _pool(discrete_gaussian, value).take()
    table, block = _gaussian_table(value)
    random = source(rng)
    if shape is None or value > ARRAY_SCALE**2:
        return _scalar_or_objects(lambda: _gaussian(table, block, value, random), shape)
    import numpy as np

    out = np.empty(math.prod(shape), dtype=np.int64)
    filled = 0
    while filled < out.size:
        need = min(CHUNK, out.size - filled)
        kept = _gaussian_tries(table, block, value, need, random)
        out[filled : filled + kept.size] = kept
        filled += kept.size
    return out.reshape(shape)


@lru_cache(maxsize=256)
def _gaussian_table(variance: Fraction) -> tuple[Table, int]:
    """A table of blocks of 2^j integers, with at most 64 and more than 32 blocks a standard deviation."""
    block = 1
    while variance > (64 * block) ** 2:
        block *= 2
    return Table(GaussianBlock(variance, block)), block


def _gaussian(table: Table, block: int, variance: Fraction, random: RandomSource) -> int:
    while True:
        head = table.draw(random)
        sign = head & 1
        peak = (head >> 1) * block + sign
        inside = random.bits(block.bit_length() - 1)
        exponent = inside * (2 * peak + inside) / (2 * variance)
        if not inside or below(lambda b, x=exponent: exp_bounds(x, b), rng=random, width=table.width):
            return -(peak + inside) if sign else peak + inside


# The float64 value of exp(-x) 2^64 below is off by less than this many units: the exponent x carries
# five roundings (2^-50 x, and x exp(-x) < 1), the exponential is assumed good to 2^-45.
MARGIN = float(1 << 24)


def _gaussian_tries(
    table: Table, block: int, variance: Fraction, count: int, random: RandomSource
) -> npt.NDArray[np.int64]:
    """The kept ones of `count` tries."""
    import numpy as np

    head = table.lookup(random.words(count), random)
    if block == 1:
        sign = -(head & 1)
        return ((head >> 1) - sign ^ sign) - sign
    words = random.words(count)  # the low bits are the place in the block, the others decide whether to keep
    values, doubtful = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    if count < COMPILED:
        sign = -(head & 1)
        inside = (words & np.uint64(block - 1)).astype(np.int64)
        values = ((head >> 1) * block - sign + inside ^ sign) - sign
        doubtful = np.flatnonzero(words >= _surely_kept(variance).take(head, mode="clip"))
    else:
        from discreet.hazmat.kernels import propose

        unsure = propose(head, words, _surely_kept(variance), block.bit_length() - 1, values, doubtful)
        doubtful = doubtful[:unsure]
    dropped = doubtful[~_kept(head[doubtful], words[doubtful], block, variance, random)]
    return _without(values, dropped)


def _without(values: npt.NDArray[np.int64], dropped: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The other values; those at the end fill the gaps, which changes no law, as the kept are independent."""
    import numpy as np

    size = values.size - dropped.size
    movers = np.setdiff1d(np.arange(size, values.size), dropped, assume_unique=True)
    values[dropped[dropped < size]] = values[movers]
    return values[:size]


@lru_cache(maxsize=256)
def _surely_kept(variance: Fraction) -> npt.NDArray[np.uint64]:
    """For each block, a word below which even its last integer is kept, whatever the low bits; at the end a zero."""
    import numpy as np

    table, block = _gaussian_table(variance)
    heads = np.arange(len(table.thresholds))
    peak = (heads >> 1) * float(block) + (heads & 1)
    chance = np.exp(-(block - 1) * (2 * peak + block - 1) * float(1 / (2 * variance)))
    return np.append((chance * (1 - 2.0**-30) * 2.0**64 - block).astype(np.uint64), np.uint64(0))


def _kept(
    head: npt.NDArray[np.int64],
    words: npt.NDArray[np.uint64],
    block: int,
    variance: Fraction,
    random: RandomSource,
) -> Bools:
    """Whether each try is kept, where the word is not small enough to be sure."""
    import numpy as np

    peak = (head >> 1) * block + (head & 1)
    inside = (words & np.uint64(block - 1)).astype(np.int64)
    exponent = inside * (2.0 * peak + inside) * float(1 / (2 * variance))
    gap = np.exp(-exponent) * 2.0**64 - words
    keep = gap > 0
    spent = block.bit_length() - 1  # bits of the word that chose the place
    for i in np.flatnonzero(np.abs(gap) < MARGIN + block):
        r = int(inside[i])
        x = r * (2 * int(peak[i]) + r) / (2 * variance)
        keep[i] = settle(int(words[i]) >> spent, WIDTH - spent, lambda b, x=x: exp_bounds(x, b), rng=random)
    return keep
