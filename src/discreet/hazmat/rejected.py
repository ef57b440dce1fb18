"""Continuous noise that has no simple inverse, rounded to the integers: Gaussian, and the power law 1 / (1 + |z|^g).

Theorem.  Each function returns the integer nearest to centre + scale Z, where Z has exactly
the stated continuous law, as in `rounded`.  |Z| is proposed from a law that can be inverted
and kept with probability p(|Z|), a fresh uniform U falling below it:

    Gaussian   proposal Laplace   p(t) = exp(-(t - 1)^2 / 2)           density exp(-z^2 / 2) / sqrt(2 pi)
    power g    proposal Cauchy    p(t) = (1 + t^2) / (2 (1 + t^g))     density ~ 1 / (1 + |z|^g),  g >= 3

Bits of the proposal and of U are drawn until the verdict is clear, and then bits of the
proposal until the rounded sum is.  Neither the number of proposals nor the verdicts depend
on centre or scale, which may be private.  Proof: docs/theory/rounded_noise.md, section 8.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Protocol

from discreet.errors import require
from discreet.hazmat.entropy import RandomSource
from discreet.hazmat.integers import add
from discreet.hazmat.interval import exp_bounds
from discreet.hazmat.rounded import (
    ENDS,
    LEAST,
    MOST,
    SLACK,
    CauchyLaw,
    LaplaceLaw,
    Law,
    drawn,
    rounded_cauchy,
)
from discreet.privacy.number import Number

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.hazmat.integers import IntArray, Integers, Shape
    from discreet.hazmat.rounded import Floats

WIDTH = 64  # bits of the proposal and of the uniform drawn at a time


class Rejection(Protocol):
    """A symmetric law: a proposal for the magnitude, and the probability with which it is kept."""

    @property
    def proposal(self) -> Law:
        """The law of the proposed magnitude."""
        ...

    @property
    def margin(self) -> float:
        """The float estimate of `kept` is off by less than this."""
        ...

    def kept_bounds(self, low: Fraction, high: Fraction, bits: int) -> tuple[Fraction, Fraction]:
        """Rationals that bracket p(t) for all t in [low, high]; they meet as the interval shrinks and bits grow."""
        ...

    def kept(self, t: Floats) -> Floats:
        """p(t), in floating point."""
        ...


@dataclass(frozen=True, slots=True)
class GaussianLaw:
    """The normal law."""

    @property
    def proposal(self) -> Law:
        return LaplaceLaw()

    @property
    def margin(self) -> float:
        return 2.0**-39

    def kept_bounds(self, low: Fraction, high: Fraction, bits: int) -> tuple[Fraction, Fraction]:
        ends = sorted((abs(low - 1), abs(high - 1)))
        near, far = Fraction(0) if low <= 1 <= high else ends[0], ends[1]
        one = 1 << bits
        return Fraction(one, exp_bounds(far * far / 2, bits)[1]), Fraction(one, exp_bounds(near * near / 2, bits)[0])

    def kept(self, t: Floats) -> Floats:
        import numpy as np

        return np.exp(-((t - 1) ** 2) / 2)


@dataclass(frozen=True, slots=True)
class PowerLaw:
    """Density proportional to 1 / (1 + |z|^exponent), for a whole exponent of at least 3."""

    exponent: int

    @property
    def proposal(self) -> Law:
        return CauchyLaw()

    @property
    def margin(self) -> float:
        return (self.exponent + 2) * 2.0**-40

    def kept_bounds(self, low: Fraction, high: Fraction, bits: int) -> tuple[Fraction, Fraction]:
        g = self.exponent
        return (1 + low * low) / (2 * (1 + high**g)), (1 + high * high) / (2 * (1 + low**g))

    def kept(self, t: Floats) -> Floats:
        return (1 + t * t) / (2 * (1 + t**self.exponent))


def rounded_gaussian(
    scale: Number, *, centre: Number | IntArray = 0, shape: Shape = None, rng: RandomSource | None = None
) -> Integers:
    """The integer nearest to centre + scale Z, Z standard normal.  As `rounded_laplace`.

    >>> from discreet.hazmat.entropy import SeededRandom
    >>> rounded_gaussian("1/5", centre="100.5", rng=SeededRandom(1)) in (99, 100, 101, 102)
    True
    """
    return drawn(partial(_sum, GaussianLaw()), scale, centre, shape, rng)


def rounded_power(
    scale: Number,
    exponent: int,
    *,
    centre: Number | IntArray = 0,
    shape: Shape = None,
    rng: RandomSource | None = None,
) -> Integers:
    """The integer nearest to centre + scale Z, Z of density ~ 1 / (1 + |z|^exponent), 2 <= exponent <= 32."""
    whole = isinstance(exponent, int) and not isinstance(exponent, bool)
    require(whole and 2 <= exponent <= 32, "a whole exponent of 2 to 32", exponent=exponent)
    if exponent == 2:
        return rounded_cauchy(scale, centre=centre, shape=shape, rng=rng)
    return drawn(partial(_sum, PowerLaw(exponent)), scale, centre, shape, rng)


def _sum(law: Rejection, scale: Fraction, offset: Fraction, base: IntArray, random: RandomSource) -> IntArray:
    """base + round(offset + scale Z), one draw for each entry of base, saturating if base is 64-bit."""
    import numpy as np

    noise, large = _noise(law, scale, offset, base.size, random)
    out = np.asarray(add(base, noise))
    for i, draw in large.items():
        value = int(base[i]) + draw
        out[i] = value if base.dtype == object else max(ENDS[0], min(ENDS[1], value))
    return out


def _noise(
    law: Rejection, scale: Fraction, offset: Fraction, count: int, random: RandomSource
) -> tuple[npt.NDArray[np.int64], dict[int, int]]:
    """`count` draws of round(offset + scale Z); those that were settled exactly are in the second part."""
    import numpy as np

    out, settled, filled = np.zeros(count, dtype=np.int64), dict[int, int](), 0
    while filled < count:
        tries = min(3 * (count - filled) + 5, 1 << 15)
        words, coins = random.words(tries), random.words(tries)
        values, kept, clear = _estimate(law, scale, offset, words, coins)
        exact, sure = dict[int, int](), np.cumsum(kept & clear)
        for i in np.flatnonzero(~clear):
            if sure[i] + len(exact) >= count - filled:
                break  # enough is kept before this one
            value = settle(law, scale, offset, int(words[i]), int(coins[i]), rng=random)
            kept[i] = value is not None
            if value is not None:
                exact[int(i)] = value
        chosen = np.flatnonzero(kept)[: count - filled]
        out[filled : filled + chosen.size] = values[chosen]
        place = {int(i): filled + k for k, i in enumerate(chosen)} if exact else {}
        settled |= {place[i]: value for i, value in exact.items() if i in place}
        filled += chosen.size
    return out, settled


def settle(
    law: Rejection, scale: Fraction, centre: Fraction, word: int, coin: int, *, rng: RandomSource, width: int = WIDTH
) -> int | None:
    """The rounded sum, or None if the proposal is rejected; the first bits of proposal and uniform are given."""
    step, half = (-scale if word & 1 else scale), Fraction(1, 2)
    u, bits, verdict, v, places = word >> 1, width - 1, False, coin, width
    while True:
        if u:  # V lies strictly between u / 2^bits and (u + 1) / 2^bits
            near = Fraction(law.proposal.bounds(Fraction(u + 1, 1 << bits), bits)[0], 1 << bits)
            far = Fraction(law.proposal.bounds(Fraction(u, 1 << bits), bits)[1], 1 << bits)
            if not verdict:
                low, high = law.kept_bounds(near, far, bits)
                if v >= high * (1 << places):
                    return None
                verdict = v + 1 <= low * (1 << places)
            if verdict:
                ends = (centre + near * step, centre + far * step)
                least = math.floor(min(ends) + half)
                most = least if scale == 0 else math.ceil(max(ends) + half) - 1
                if least == most:
                    return least
        u, bits = u << width | rng.bits(width), bits + width
        if not verdict:
            v, places = v << width | rng.bits(width), places + width


def _estimate(
    law: Rejection, scale: Fraction, offset: Fraction, words: npt.NDArray[np.uint64], coins: npt.NDArray[np.uint64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """round(offset + scale Z) by floats, whether the proposal is kept, and where both are certain."""
    import numpy as np

    prefix = words >> np.uint64(1)
    with np.errstate(all="ignore"):  # whatever overflows is not clear
        magnitude, error = law.proposal.estimate((prefix.astype(np.float64) + 0.5) * 2.0**-63)
        chance, uniform = law.kept(magnitude), coins.astype(np.float64) * 2.0**-64
        kept = uniform < chance
        decided = (np.abs(uniform - chance) > law.margin) & (prefix >= np.uint64(LEAST))
        size = float(scale) if scale <= MOST else math.inf
        value = float(offset) + (1.0 - 2.0 * (words & np.uint64(1))) * (size * magnitude)
        nearest = np.rint(value)
        sure = np.abs(value - nearest) + SLACK * (size * error + 1) < 0.5
        clear = decided & (sure | ~kept)
    return np.where(clear & kept, nearest, 0).astype(np.int64), kept, clear
