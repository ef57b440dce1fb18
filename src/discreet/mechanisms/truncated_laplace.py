"""Laplace noise that never exceeds a bound: approximate privacy, certain accuracy.

Theorem (Geng, Ding, Guo, Kumar 2020, here on the integers).  Let f map datasets to Z^k with
||f(x) - f(x')||_1 <= sensitivity for neighbours x ~ x'.  Releasing f(x) + Z, with independent
Pr[Z_i = z] ~ exp(-|z| / scale) on -A .. A, scale = sensitivity / epsilon and A >= sensitivity - 1,
is (epsilon, delta)-DP, and for one entry no smaller delta will do, with a = exp(-1 / scale) and

    delta = a^(A - sensitivity + 1) (1 - e^-epsilon) / (1 + a - 2 a^(A + 1)).

`bound` is the least A for the delta asked for.  Proof: docs/theory/truncated_laplace.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from discreet.errors import require
from discreet.hazmat.entropy import RandomSource
from discreet.hazmat.integers import add, integers, shape_of
from discreet.hazmat.truncated import ARRAY_SPAN, truncated_laplace, truncated_laplaces
from discreet.privacy.enclosure import exp_down, expm1_bounds, log_up
from discreet.privacy.event import ApproxEvent
from discreet.privacy.guarantee import ApproxDP
from discreet.privacy.number import Number, exact, moderate, up
from discreet.privacy.profile import truncated_laplace_delta

if TYPE_CHECKING:
    from discreet.hazmat.integers import Integers, Shape


@dataclass(frozen=True, kw_only=True, slots=True)
class TruncatedLaplace:
    """Add integer noise in -bound .. bound to an integer value or to an array of them.

    `sensitivity` is the l1 change of the whole value between neighbours.

    >>> truncated = TruncatedLaplace(epsilon=1, delta=1e-6, sensitivity=1)
    >>> truncated.bound
    14
    >>> truncated.privacy()
    ApproxDP(epsilon=1.0, delta=3.84...e-07)
    >>> truncated.accuracy(beta=0.05), truncated(100) in range(86, 115)
    (3, True)
    """

    epsilon: Number
    delta: Number
    sensitivity: int

    def __post_init__(self) -> None:
        require(exact(self.epsilon) > 0, "epsilon > 0", epsilon=self.epsilon)
        require(0 < exact(self.delta) < 1, "0 < delta < 1", delta=self.delta)
        whole = isinstance(self.sensitivity, int) and not isinstance(self.sensitivity, bool)
        require(whole and self.sensitivity >= 1, "an integer sensitivity >= 1", sensitivity=self.sensitivity)
        for name in ("epsilon", "delta", "sensitivity"):
            moderate(getattr(self, name), name=name)

    @property
    def scale(self) -> Fraction:
        """sensitivity / epsilon, exactly."""
        return self.sensitivity / exact(self.epsilon)

    @property
    def bound(self) -> int:
        """A: the noise never exceeds it."""
        return _bound(exact(self.epsilon), exact(self.delta), self.sensitivity)

    def __call__(self, value: Integers, *, rng: RandomSource | None = None) -> Integers:
        """The noisy value: a Python int for an int, an array for an array."""
        whole = integers(value)
        return add(whole, self._noise(shape_of(whole), rng))

    def _noise(self, shape: Shape, rng: RandomSource | None) -> Integers:
        bound, scale = self.bound, self.scale
        if shape is None:
            return truncated_laplace(scale, under=bound, above=bound, rng=rng)
        import numpy as np

        size = math.prod(shape)
        if bound > ARRAY_SPAN:
            draws = np.empty(size, dtype=object)
            draws[:] = [truncated_laplace(scale, under=bound, above=bound, rng=rng) for _ in range(size)]
            return draws.reshape(shape)
        ends = np.full(size, bound, dtype=np.int64)
        return truncated_laplaces(scale, under=ends, above=ends, rng=rng).reshape(shape)

    def privacy(self) -> ApproxDP:
        """The exact delta of this bound, rounded up: at most the delta asked for."""
        delta = truncated_laplace_delta(self.scale, self.bound, self.sensitivity)
        return ApproxDP(self.epsilon, min(exact(self.delta), exact(up(delta))))

    def accuracy(self, beta: float = 0.05, *, size: int = 1) -> int:
        """The least alpha with Pr[max over `size` entries of |noise| > alpha] <= beta; at most `bound`."""
        require(0 < beta < 1, "0 < beta < 1", beta=beta)
        require(size >= 1, "size >= 1", size=size)
        one = -math.expm1(math.log1p(-beta) / size)
        rate = float(min(1 / self.scale, Fraction(800)))
        a, end = math.exp(-rate), math.exp(-float(min((self.bound + 1) / self.scale, Fraction(800))))
        # Pr[|Z| > alpha] = 2 (a^(alpha + 1) - end) / (1 + a - 2 end)
        least = -math.log(end + one * (1 + a - 2 * end) / 2) / rate * (1 - 1e-15)
        return min(self.bound, max(0, math.ceil(least) - 1))

    def event(self) -> ApproxEvent:
        """What ran, for the accountant."""
        cost = self.privacy()
        return ApproxEvent(epsilon=cost.epsilon, delta=cost.delta)


@lru_cache(maxsize=1024)
def _bound(epsilon: Fraction, delta: Fraction, sensitivity: int) -> int:
    """The least A with delta(A) <= delta; certified by the profile, whatever the first guess."""
    scale = sensitivity / epsilon
    # delta(A) <= delta  iff  a^(A + 1) (e^epsilon - 1 + 2 delta) <= delta (1 + a)
    excess = log_up(expm1_bounds(epsilon)[0] + 2 * delta) if epsilon < 10**4 else epsilon
    guess = math.ceil(scale * (excess - log_up(delta * (1 + exp_down(-1 / scale))))) - 1
    bound, step = max(sensitivity - 1, guess - 1), 1
    while truncated_laplace_delta(scale, bound, sensitivity) > delta:
        bound, step = bound + step, 2 * step
    return bound
