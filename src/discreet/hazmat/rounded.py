"""Continuous noise, rounded to the integers: Laplace, Cauchy and two-sided Lomax, at any scale.

Theorem.  Each function returns the integer nearest to centre + scale Z, where Z has
exactly the stated continuous law and centre and scale are exact rationals.  So what is
released is post-processing of the real-valued mechanism, and inherits its guarantee.

Z = +-T(V) for a fair sign and V uniform on (0, 1), where T decreases from infinity to 0:

    Laplace   T(v) = -ln v                  density exp(-|z|) / 2
    Cauchy    T(v) = cot(pi v / 2)          density 1 / (pi (1 + z^2))
    Lomax     T(v) = v^(-1/(a-1)) - 1       density (a - 1) / 2 (1 + |z|)^-a

Bits of V are drawn until the interval of reals that remain possible rounds to a single
integer.  No draw is cut off: the tail is drawn as far as it reaches.  Nothing is tabulated
and nothing raises at a scale of any size, so the scale may be computed from private data
(smooth sensitivity).  Proof: docs/theory/rounded_noise.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Protocol

from discreet.errors import ParameterError, require
from discreet.hazmat.entropy import RandomSource, source
from discreet.hazmat.integers import add, integers
from discreet.hazmat.interval import Bounds, exp_bounds, log_bounds, tan_bounds
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.hazmat.integers import IntArray, Integers, Shape

    Floats = npt.NDArray[np.float64]

WIDTH = 64  # bits drawn at a time: a sign and 63 bits of V, then 64 more as needed
CHUNK = 1 << 15  # draws at a time: the working arrays stay in cache
LEAST = 1 << 45  # a smaller 63-bit prefix of V says too little about ln V for the float estimate
SLACK = 2.0**-42  # the float estimate of T is off by less than SLACK times the law's own measure
ENDS = (-(1 << 63), (1 << 63) - 1)  # of the 64-bit range
MOST = 1 << 62  # a scale beyond this skips the float estimate


class Law(Protocol):
    """The magnitude T(V) of a symmetric continuous law."""

    def bounds(self, v: Fraction, bits: int) -> Bounds:
        """Integers that bracket T(v) 2^bits, for 2^-bits <= v <= 1."""
        ...

    def estimate(self, v: Floats) -> tuple[Floats, Floats]:
        """T(v), and e such that the error is below SLACK e if v is off by a 2^-45 part at most."""
        ...


@dataclass(frozen=True, slots=True)
class LaplaceLaw:
    """T(v) = -ln v."""

    def bounds(self, v: Fraction, bits: int) -> Bounds:
        low, high = log_bounds(v, bits)
        return max(0, -high), -low

    def estimate(self, v: Floats) -> tuple[Floats, Floats]:
        import numpy as np

        magnitude = -np.log(v)
        return magnitude, 1 + magnitude


@dataclass(frozen=True, slots=True)
class CauchyLaw:
    """T(v) = cot(pi v / 2), which is tan(pi (1 - v) / 2)."""

    def bounds(self, v: Fraction, bits: int) -> Bounds:
        if 2 * v > 1:
            return tan_bounds(1 - v, bits)
        width = bits + 4
        low, high = tan_bounds(v, width)  # low > 0, because v >= 2^-bits
        one = 1 << (width + bits)
        return one // high, -(-one // low)

    def estimate(self, v: Floats) -> tuple[Floats, Floats]:
        import numpy as np

        tangent = np.tan(np.pi / 2 * np.minimum(v, 1 - v))
        magnitude = np.where(v < 0.5, 1 / tangent, tangent)
        return magnitude, 1 + magnitude


@dataclass(frozen=True, slots=True)
class LomaxLaw:
    """T(v) = v^(-1/(a-1)) - 1, where a - 1 is the `index` of the tail."""

    index: Fraction

    def bounds(self, v: Fraction, bits: int) -> Bounds:
        width = bits + 4 + int(self.index).bit_length()
        low, high = log_bounds(v, width)
        least, most = Fraction(max(0, -high), 1 << width), Fraction(-low, 1 << width)
        one = 1 << bits
        return exp_bounds(least / self.index, bits)[0] - one, exp_bounds(most / self.index, bits)[1] - one

    def estimate(self, v: Floats) -> tuple[Floats, Floats]:
        import numpy as np

        index, log = float(self.index), -np.log(v)
        magnitude = np.expm1(log / index)
        return magnitude, magnitude + (1 + magnitude) * (1 + log) / index


def rounded_laplace(
    scale: Number, *, centre: Number | IntArray = 0, shape: Shape = None, rng: RandomSource | None = None
) -> Integers:
    """The integer nearest to centre + scale Z, Z of density exp(-|z|) / 2.

    `centre` is a rational, or an array of integers, which then gives the shape.  A single
    draw is a Python integer of any size; sums in arrays are clamped to the 64-bit range
    after they are exact.  Pass the value as `centre`: to clamp the noise and add the value
    afterwards would tell the value.

    >>> from discreet.hazmat.entropy import SeededRandom
    >>> rounded_laplace("1/3", centre="100.5", rng=SeededRandom(1)) in (100, 101)
    True
    """
    return drawn(partial(_array, LaplaceLaw()), scale, centre, shape, rng)


def rounded_cauchy(
    scale: Number, *, centre: Number | IntArray = 0, shape: Shape = None, rng: RandomSource | None = None
) -> Integers:
    """The integer nearest to centre + scale Z, Z of density 1 / (pi (1 + z^2)).  As `rounded_laplace`."""
    return drawn(partial(_array, CauchyLaw()), scale, centre, shape, rng)


def rounded_lomax(
    scale: Number,
    exponent: Number,
    *,
    centre: Number | IntArray = 0,
    shape: Shape = None,
    rng: RandomSource | None = None,
) -> Integers:
    """The integer nearest to centre + scale Z, Z of density (a-1)/2 (1 + |z|)^-a, a the exponent.

    As `rounded_laplace`.  The exponent is public, and at least 2: admissible noise never
    wants a heavier tail than Cauchy's, and with one a draw may not fit into memory.
    """
    index = exact(exponent) - 1
    require(1 <= index <= MOST, "2 <= exponent <= 2^62", exponent=exponent)
    return drawn(partial(_array, LomaxLaw(index)), scale, centre, shape, rng)


def drawn(
    batch: Callable[[Fraction, Fraction, IntArray, RandomSource], IntArray],
    scale: Number,
    centre: Number | IntArray,
    shape: Shape,
    rng: RandomSource | None,
) -> Integers:
    """One rounded sum, or an array of them, whatever Z is.

    `batch(scale, offset, base, random)` gives base + round(offset + scale Z), entry by entry.
    """
    import numpy as np

    size = private_number(scale, "scale")
    require(size >= 0, "scale >= 0", scale="a negative number")
    if isinstance(centre, np.ndarray) and centre.ndim:
        base = np.asarray(integers(centre))
        require(shape is None or shape == base.shape, "the shape of the centre", shape=shape)
        return batch(size, Fraction(0), base.ravel(), source(rng)).reshape(base.shape)
    middle, random = private_number(centre, "centre"), source(rng)
    whole = math.floor(middle)
    if shape is None:  # by the float estimate too: its time says nothing about the size of the noise
        return int(batch(size, middle - whole, np.array([whole], dtype=object), random)[0])
    base = np.full(math.prod(shape), whole, dtype=np.int64 if -MOST < whole < MOST else object)
    out = batch(size, middle - whole, base, random)
    return (out if out.dtype == np.int64 else np.clip(out, ENDS[0], ENDS[1]).astype(np.int64)).reshape(shape)


def private_number(value: object, name: str) -> Fraction:
    """A number that may come from private data, which no message may carry."""
    try:
        return exact(value)  # type: ignore[arg-type]
    except ParameterError:
        raise ParameterError(f"need a finite number as {name}, got another {type(value).__name__}") from None


def settle(law: Law, scale: Fraction, centre: Fraction, word: int, *, rng: RandomSource, width: int = WIDTH) -> int:
    """The rounded sum, whose sign and first bits are in a word of `width` bits; more are drawn until it is clear."""
    if scale == 0:
        return math.floor(centre + Fraction(1, 2))
    step = -scale if word & 1 else scale
    u, bits = word >> 1, width - 1
    while True:
        if u:  # V lies strictly between u / 2^bits and (u + 1) / 2^bits
            unit = step / (1 << bits)
            near = centre + law.bounds(Fraction(u + 1, 1 << bits), bits)[0] * unit
            far = centre + law.bounds(Fraction(u, 1 << bits), bits)[1] * unit
            least = math.floor(min(near, far) + Fraction(1, 2))
            most = math.ceil(max(near, far) + Fraction(1, 2)) - 1  # the sum is strictly below its upper end
            if least == most:
                return least
        u, bits = u << width | rng.bits(width), bits + width


def _array(law: Law, scale: Fraction, offset: Fraction, base: IntArray, random: RandomSource) -> IntArray:
    """base + round(offset + scale Z), one draw for each entry of base, saturating if base is 64-bit."""
    import numpy as np

    out = np.empty_like(base)
    for start in range(0, base.size, CHUNK):
        part = base[start : start + CHUNK]
        words = random.words(part.size)
        noise, clear = _estimate(law, scale, offset, words)
        total = np.asarray(add(part, noise))
        for i in np.flatnonzero(~clear):
            value = int(part[i]) + settle(law, scale, offset, int(words[i]), rng=random)
            total[i] = value if base.dtype == object else max(ENDS[0], min(ENDS[1], value))
        out[start : start + CHUNK] = total
    return out


def _estimate(
    law: Law, scale: Fraction, offset: Fraction, words: npt.NDArray[np.uint64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """round(offset + scale Z) by floats, and where it is certain."""
    import numpy as np

    if scale > MOST:
        return np.zeros(words.size, dtype=np.int64), np.zeros(words.size, dtype=bool)
    prefix = words >> np.uint64(1)
    with np.errstate(all="ignore"):  # whatever overflows is not clear
        magnitude, error = law.estimate((prefix.astype(np.float64) + 0.5) * 2.0**-63)
        size = float(scale)
        sign = 1.0 - 2.0 * (words & np.uint64(1))
        value = float(offset) + sign * (size * magnitude)
        nearest = np.rint(value)
        clear = (np.abs(value - nearest) + SLACK * (size * error + 1) < 0.5) & (prefix >= np.uint64(LEAST))
    return np.where(clear, nearest, 0).astype(np.int64), clear
