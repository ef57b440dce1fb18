"""The staircase mechanism: the least noise that pure privacy allows for one number.

Theorem (Geng, Viswanath 2016, discrete form).  Let f map datasets to Z with
|f(x) - f(x')| <= sensitivity for neighbours x ~ x'.  For an integer width r in 1 .. sensitivity,
releasing f(x) + Z is epsilon-DP, exactly, when

    Pr[Z = z] ~ exp(-epsilon * level(|z|)),   level(z) = floor((z + sensitivity - r) / sensitivity):

a step of width r around 0 and steps as wide as the sensitivity beyond.  Some r minimises the
variance, or the mean of |Z|, among all epsilon-DP noise; `width` is that r.  At sensitivity 1
it is the discrete Laplace law.  Proof: docs/theory/staircase.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from discreet.errors import UnsupportedError, require
from discreet.hazmat.entropy import RandomSource, source
from discreet.hazmat.exponent import Bounds, exp_bounds
from discreet.hazmat.integers import add, integers, shape_of
from discreet.hazmat.samplers import ARRAY_SCALE, bernoulli, coin, geometric, uniform_below
from discreet.privacy.event import PureEvent
from discreet.privacy.guarantee import PureDP
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    from discreet.hazmat.integers import Integers, Shape

GRID = 1 << 15  # widths tried at a time


@dataclass(frozen=True, kw_only=True, slots=True)
class Staircase:
    """Add integer noise to one integer; `sensitivity` is how far it moves between neighbours.

    >>> staircase = Staircase(epsilon=4, sensitivity=1000)
    >>> staircase.width
    196
    >>> round(staircase.variance() / 1000**2, 4), 2 / 4**2  # the Laplace variance
    (0.065, 0.125)
    >>> staircase.privacy(), staircase.accuracy(beta=0.05)
    (PureDP(epsilon=4.0), 630)
    """

    epsilon: Number
    sensitivity: int
    objective: Literal["variance", "magnitude"] = "variance"

    def __post_init__(self) -> None:
        require(exact(self.epsilon) > 0, "epsilon > 0", epsilon=self.epsilon)
        whole = isinstance(self.sensitivity, int) and not isinstance(self.sensitivity, bool)
        require(whole and self.sensitivity >= 1, "an integer sensitivity >= 1", sensitivity=self.sensitivity)
        known = self.objective in ("variance", "magnitude")
        require(known, "objective 'variance' or 'magnitude'", objective=self.objective)

    @property
    def width(self) -> int:
        """r: half the width of the middle step, chosen for the objective; privacy does not depend on it."""
        return _best_width(self._steps_out, self.sensitivity, 2 if self.objective == "variance" else 1)

    @property
    def _steps_out(self) -> float:
        """b / (1 - b) = 1 / (e^epsilon - 1): the mean number of further steps; clamped, for utility only."""
        return 1 / math.expm1(float(min(max(exact(self.epsilon), Fraction(1, 10**90)), Fraction(700))))

    def __call__(self, value: Integers, *, rng: RandomSource | None = None) -> Integers:
        """The noisy value.  Arrays are refused when the sensitivity is above 1: see the theory page."""
        whole = integers(value)
        if not isinstance(whole, int) and whole.size > 1 < self.sensitivity:
            raise UnsupportedError(
                "the staircase is for one number: two entries that move by 1 each can both lose epsilon;"
                " use Laplace for arrays"
            )
        return add(whole, self._noise(shape_of(whole), source(rng)))

    def releases(self, value: int, count: int, *, rng: RandomSource | None = None) -> Integers:
        """`count` independent releases of one number, for studies: each of them costs."""
        return add(integers([value] * count), self._noise((count,), source(rng)))

    def _noise(self, shape: Shape, random: RandomSource) -> Integers:
        """The middle step, uniform on 2r - 1 integers, or a sign, a step and a place on it."""
        width, steps = self.width, self.sensitivity
        if shape is not None and steps / exact(self.epsilon) > ARRAY_SCALE:  # might not fit 64 bits
            import numpy as np

            draws = np.empty(math.prod(shape), dtype=object)
            draws[:] = [self._noise(None, random) for _ in range(draws.size)]
            return draws.reshape(shape)
        middle = coin(self._middle, shape, random)
        inner = uniform_below(2 * width - 1, shape=shape, rng=random) - (width - 1)
        step = geometric(1 / exact(self.epsilon), shape=shape, rng=random)
        outer = width + step * steps + uniform_below(steps, shape=shape, rng=random)
        sign = 1 - 2 * bernoulli(Fraction(1, 2), shape=shape, rng=random)
        if shape is None:
            return inner if middle else sign * outer
        import numpy as np

        return np.where(middle, inner, sign * outer)

    def _middle(self, bits: int) -> Bounds:
        """Pr[|Z| < r] = (2r - 1)(1 - b) / ((2r - 1)(1 - b) + 2 sensitivity b), which falls in b = e^-epsilon."""
        guard = bits + 16 + max(0, math.ceil(1 / exact(self.epsilon))).bit_length()
        low, high = exp_bounds(exact(self.epsilon), guard)
        one, odd, both = 1 << guard, 2 * self.width - 1, 2 * self.sensitivity
        least, most = odd * (one - high), odd * (one - low)
        return (least << bits) // (least + both * high), -((-most << bits) // (most + both * low))

    def variance(self) -> float:
        """E[Z^2]."""
        return (
            float(_moment(self._steps_out, 1 / self.sensitivity, self.width / self.sensitivity, 2))
            * self.sensitivity**2
        )

    def magnitude(self) -> float:
        """E[|Z|]."""
        return (
            float(_moment(self._steps_out, 1 / self.sensitivity, self.width / self.sensitivity, 1)) * self.sensitivity
        )

    def privacy(self) -> PureDP:
        """epsilon: a move of at most the sensitivity changes the level by at most one."""
        return PureDP(self.epsilon)

    def accuracy(self, beta: float = 0.05, *, size: int = 1) -> int:
        """The least alpha with Pr[max over `size` entries of |noise| > alpha] <= beta."""
        require(0 < beta < 1, "0 < beta < 1", beta=beta)
        require(size >= 1, "size >= 1", size=size)
        allowed = -math.expm1(math.log1p(-beta) / size) * (1 + 1e-14)
        rate, width, steps = exact(self.epsilon), self.width, self.sensitivity
        odds = math.expm1(float(min(rate, Fraction(700))))  # (1 - b) / b
        total = (2 * width - 1) / steps * odds + 2

        def tail(alpha: int) -> float:  # Pr[|Z| > alpha]: the rest of its step, and all further steps
            level, place = divmod(alpha + 1 + steps - width, steps)
            return 2 * math.exp(-float(min(level * rate, Fraction(745)))) * ((steps - place) / steps * odds + 1) / total

        low, high = -1, 1
        while tail(high) > allowed:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if tail(middle) <= allowed else (middle, high)
        return high

    def event(self) -> PureEvent:
        """What ran, for the accountant."""
        return PureEvent(epsilon=self.epsilon)


def _moment(tail, unit, r, power):  # noqa: ANN001, ANN202 - floats, or an array of widths
    """E[|Z|^power], power 1 or 2, lengths in units of the sensitivity: `unit` is one integer, r the width.

    `tail` = b / (1 - b) is the mean of a geometric step G, Pr[G = g] ~ b^g, and half the weight of
    all outer steps; U is a uniform place on a step.
    """
    square = tail + 2 * tail * tail  # the mean of G^2
    mean_u, square_u = (1 - unit) / 2, (1 - unit) * (2 - unit) / 6
    if power == 1:
        inner, outer = r * (r - unit), r + tail + mean_u
    else:
        inner = r * (r - unit) * (2 * r - unit) / 3
        outer = r * r + 2 * r * (tail + mean_u) + square + 2 * tail * mean_u + square_u
    return (inner + 2 * tail * outer) / (2 * r - unit + 2 * tail)


@lru_cache(maxsize=1024)
def _best_width(tail: float, steps: int, power: int) -> int:
    """The r in 1 .. steps of least moment: a grid, then all widths around its best point."""
    import numpy as np

    low, high = 1, steps
    while True:
        stride = max(1, (high - low) // GRID)
        widths = (
            np.arange(low, high + 1, stride, dtype=np.float64)
            if high < 1 << 53
            else np.linspace(float(low), float(high), GRID)
        )
        best = int(widths[np.argmin(_moment(tail, 1 / steps, widths / steps, power))])
        if stride == 1 or high >= 1 << 53:
            return max(1, min(steps, best))
        low, high = max(1, best - stride), min(steps, best + stride)
