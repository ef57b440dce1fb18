"""Laplace noise on an output that must lie in an interval, done right.

Theorem (Holohan, Antonatos, Braghin, Mac Aonghusa 2020, here on the integers).  Let f map
datasets to [lower, upper]^k with ||f(x) - f(x')||_1 <= sensitivity for neighbours x ~ x'.
Release each entry from Pr[y] ~ exp(-|y - f(x)| / scale) on lower .. upper.  With
m = upper - lower and a = exp(-1 / scale), an entry that moves by j costs at most

    loss(j) = j / scale + ln(1 + a (1 - a^j) (1 - a^(m - j)) / (1 - a^(m + 1))),

attained at an end of the interval, and the release is epsilon-DP when the losses of the
sensitivity, spread evenly over the entries, add up to at most epsilon.  The second term is
the price of the normaliser, which depends on the data: resampling until the answer fits, at
the scale sensitivity / epsilon, forgets it.  Proof: docs/theory/bounded_laplace.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from discreet.errors import ParameterError, require
from discreet.hazmat.entropy import RandomSource
from discreet.hazmat.integers import integers
from discreet.hazmat.truncated import ARRAY_SPAN, truncated_laplace, truncated_laplaces
from discreet.privacy.event import PureEvent
from discreet.privacy.guarantee import PureDP
from discreet.privacy.number import Number, exact
from discreet.privacy.profile import bounded_laplace_loss

if TYPE_CHECKING:
    from discreet.hazmat.integers import IntArray, Integers


@dataclass(frozen=True, kw_only=True, slots=True)
class BoundedLaplace:
    """Release integers in lower .. upper; values outside are clamped first.

    `sensitivity` is the l1 change of the whole value; `dimension` its number of entries.

    >>> bounded = BoundedLaplace(epsilon=1, sensitivity=1, lower=0, upper=10)
    >>> bounded(3) in range(11), bounded(99) in range(11)
    (True, True)
    >>> bounded.privacy()
    PureDP(epsilon=1.0)
    >>> float(bounded.scale), bounded.accuracy(beta=0.05)
    (1.28..., 3)
    """

    epsilon: Number
    sensitivity: int
    lower: int
    upper: int
    dimension: int = 1

    def __post_init__(self) -> None:
        require(exact(self.epsilon) > 0, "epsilon > 0", epsilon=self.epsilon)
        for name in ("sensitivity", "lower", "upper", "dimension"):
            number = getattr(self, name)
            whole = isinstance(number, int) and not isinstance(number, bool)
            require(whole, f"an integer {name}", **{name: number})
        require(self.sensitivity >= 1, "sensitivity >= 1", sensitivity=self.sensitivity)
        require(self.dimension >= 1, "dimension >= 1", dimension=self.dimension)
        require(self.lower < self.upper, "lower < upper", lower=self.lower, upper=self.upper)

    @property
    def scale(self) -> Fraction:
        """The least scale for epsilon, to a relative 2^-40, from above; more than sensitivity / epsilon."""
        return _scale(exact(self.epsilon), self.sensitivity, self.upper - self.lower, self.dimension)

    def __call__(self, value: Integers, *, rng: RandomSource | None = None) -> Integers:
        """The private value, in lower .. upper: a Python int for an int, an array for an array."""
        whole = integers(value)
        if isinstance(whole, int):
            return self._one(whole, rng)
        if whole.size > self.dimension:
            raise ParameterError(
                f"need at most dimension={self.dimension} entries, got {whole.size}; pass dimension={whole.size}"
            )
        return self._many(whole, rng)

    def releases(self, value: int, count: int, *, rng: RandomSource | None = None) -> Integers:
        """`count` independent releases of one number, for studies: each of them costs."""
        import numpy as np

        values = integers(np.full(count, min(max(value, self.lower), self.upper)))
        assert not isinstance(values, int)
        return self._many(values, rng)

    def _one(self, value: int, rng: RandomSource | None) -> int:
        inside = min(max(value, self.lower), self.upper)
        under, above = inside - self.lower, self.upper - inside
        return inside + truncated_laplace(self.scale, under=under, above=above, rng=rng)

    def _many(self, values: IntArray, rng: RandomSource | None) -> Integers:
        import numpy as np

        if values.dtype == object or max(-self.lower, self.upper) >= ARRAY_SPAN:
            out = np.empty(values.size, dtype=object)
            out[:] = [self._one(int(value), rng) for value in values.flat]
            return out.reshape(values.shape)
        inside = np.clip(values.astype(np.int64), self.lower, self.upper).ravel()
        noise = truncated_laplaces(self.scale, under=inside - self.lower, above=self.upper - inside, rng=rng)
        return (inside + noise).reshape(values.shape)

    def privacy(self) -> PureDP:
        """epsilon, which the scale was made for."""
        return PureDP(self.epsilon)

    def accuracy(self, beta: float = 0.05, *, size: int = 1) -> int:
        """The least alpha that holds for every value in lower .. upper: |output - clamped value| <= alpha.

        The worst values are an end of the interval and its middle (see the theory page).
        """
        require(0 < beta < 1, "0 < beta < 1", beta=beta)
        require(size >= 1, "size >= 1", size=size)
        one = -math.expm1(math.log1p(-beta) / size) * (1 + 1e-15)
        low, high = -1, self.upper - self.lower
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if max(self._tail(0, middle), self._tail(None, middle)) <= one else (middle, high)
        return high

    def _tail(self, place: int | None, alpha: int) -> float:
        """Pr[|output - value| > alpha] for a value `place` above lower; None is the middle."""
        span, scale = self.upper - self.lower, self.scale

        def missing(n: int) -> float:  # 1 - a^n
            return -math.expm1(-float(min(n / scale, Fraction(800))))

        under = span // 2 if place is None else place
        above = span - under
        first = math.exp(-float(min((alpha + 1) / scale, Fraction(800))))  # a^(alpha + 1)
        weight = first * sum(missing(side - alpha) for side in (under, above) if side > alpha)
        a = math.exp(-float(min(1 / scale, Fraction(800))))
        return weight / (missing(above + 1) + a * missing(under))

    def event(self) -> PureEvent:
        """What ran, for the accountant."""
        return PureEvent(epsilon=self.epsilon)


@lru_cache(maxsize=1024)
def _scale(epsilon: Fraction, sensitivity: int, span: int, dimension: int) -> Fraction:
    """Bisection for the least scale; the one returned has been certified."""

    def holds(scale: Fraction) -> bool:
        each, more = divmod(sensitivity, dimension)
        losses = (dimension - more) * bounded_laplace_loss(scale, span, each)
        return losses + more * bounded_laplace_loss(scale, span, each + 1) <= epsilon

    low = min(sensitivity, dimension * span) / epsilon  # the plain Laplace scale is too small
    high = low * (2 + Fraction(1, 2**30))  # and twice that is enough: N(j) <= e^(j / scale) N(0)
    assert holds(high)
    while high - low > high / 2**40:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
