"""The Laplace mechanism on the integers, also called the geometric mechanism.

Theorem (Dwork, McSherry, Nissim, Smith 2006; Ghosh, Roughgarden, Sundararajan 2009).
Let f map datasets to Z^k with ||f(x) - f(x')||_1 <= sensitivity for all neighbours
x ~ x'.  Releasing f(x) + Z, with independent Pr[Z_i = z] proportional to
exp(-|z| / scale), is epsilon-DP for epsilon = sensitivity / scale, and for one entry

    Pr[|Z_i| > alpha] = 2 p^(alpha + 1) / (1 + p)   for alpha = 0, 1, 2, ...,

where p = exp(-1 / scale).  Proof: docs/theory/laplace.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import require
from discreet.hazmat.entropy import RandomSource
from discreet.hazmat.integers import add, integers, shape_of
from discreet.hazmat.samplers import discrete_laplace
from discreet.privacy.event import LaplaceEvent
from discreet.privacy.guarantee import PureDP
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    from discreet.hazmat.integers import Integers


@dataclass(frozen=True, kw_only=True, slots=True)
class Laplace:
    """Add integer noise to an integer value or to an array of them, in one release.

    `sensitivity` is the l1 change of the whole value between neighbours.

    >>> from discreet.hazmat.entropy import SeededRandom
    >>> laplace = Laplace(epsilon=0.1, sensitivity=1)
    >>> laplace(1000, rng=SeededRandom(7))
    997
    >>> laplace.privacy()
    PureDP(epsilon=0.1)
    >>> laplace.accuracy(beta=0.05)
    30
    """

    epsilon: Number
    sensitivity: int

    def __post_init__(self) -> None:
        require(exact(self.epsilon) > 0, "epsilon > 0", epsilon=self.epsilon)
        whole = isinstance(self.sensitivity, int) and not isinstance(self.sensitivity, bool)
        require(whole and self.sensitivity >= 1, "an integer sensitivity >= 1", sensitivity=self.sensitivity)

    @classmethod
    def with_scale(cls, scale: Number, *, sensitivity: int) -> Laplace:
        """The mechanism whose noise has this scale; epsilon = sensitivity / scale.

        >>> Laplace.with_scale(3, sensitivity=1).privacy()
        PureDP(epsilon=Fraction(1, 3))
        """
        require(exact(scale) > 0, "scale > 0", scale=scale)
        require(isinstance(sensitivity, int), "an integer sensitivity >= 1", sensitivity=sensitivity)
        return cls(epsilon=sensitivity / exact(scale), sensitivity=sensitivity)

    @property
    def scale(self) -> Fraction:
        """sensitivity / epsilon, exactly."""
        return self.sensitivity / exact(self.epsilon)

    def __call__(self, value: Integers, *, rng: RandomSource | None = None) -> Integers:
        """The noisy value: a Python int for an int, an array for an array."""
        whole = integers(value)
        return add(whole, discrete_laplace(self.scale, shape=shape_of(whole), rng=rng))

    def privacy(self) -> PureDP:
        """epsilon = sensitivity / scale."""
        return PureDP(self.sensitivity / self.scale)

    def accuracy(self, beta: float = 0.05, *, size: int = 1) -> int:
        """The least alpha with Pr[max over `size` entries of |noise| > alpha] <= beta."""
        require(0 < beta < 1, "0 < beta < 1", beta=beta)
        require(size >= 1, "size >= 1", size=size)
        one = -math.expm1(math.log1p(-beta) / size)  # the tail each entry may have
        p = math.exp(-float(min(1 / self.scale, Fraction(800))))
        return max(0, math.ceil(self.scale * Fraction(math.log(2 / ((1 + p) * one)) * (1 - 1e-15))) - 1)

    def event(self) -> LaplaceEvent:
        """What ran, for the accountant."""
        return LaplaceEvent(scale=self.scale, sensitivity=self.sensitivity)
