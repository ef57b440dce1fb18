"""The Gaussian mechanism on the integers.

Theorem (Canonne, Kamath, Steinke 2020; Balle, Wang 2018; Dong, Roth, Su 2022).
Let f map datasets to Z^k with ||f(x) - f(x')||_2 <= sensitivity for all neighbours
x ~ x'.  Releasing f(x) + Z, with independent Pr[Z_i = z] proportional to
exp(-z^2 / (2 sigma^2)), is rho-zCDP for rho = sensitivity^2 / (2 sigma^2), and
(epsilon, delta)-DP for

    delta = sum over k of max(0, Pr[Z = k] - e^epsilon Pr[Z = k - s]),  s = floor(sensitivity),

if only one entry can move: one entry, or sensitivity^2 < 2, since integer vectors move by
integers.  If several can, delta is that of mu-GDP with mu = (1 + 1/(24 sigma^2) + ...)
sensitivity / sigma.  `sigma` is the least for which this delta is as asked, from the safe side;
the sigma of the continuous law is too small.  Proof: docs/theory/gaussian.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import ParameterError, require
from discreet.hazmat.entropy import RandomSource
from discreet.hazmat.integers import add, integers, shape_of
from discreet.hazmat.samplers import discrete_gaussian
from discreet.mechanisms.gaussian_sigma import discrete_sigma
from discreet.privacy.convert import root_up
from discreet.privacy.event import GaussianEvent
from discreet.privacy.gaussian_profile import LARGE
from discreet.privacy.guarantee import ZCDP, ApproxDP
from discreet.privacy.number import Number, exact, moderate

if TYPE_CHECKING:
    from discreet.hazmat.integers import Integers

LONGEST = 1 << 1024  # sensitivity for which a float is looked for as sigma
_SAFE = 1 + Fraction(1, 2**40)  # math.sqrt(3) is below the root of 3; it is read as that root


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Gaussian:
    """Add integer noise to an integer value or to an array of them, in one release.

    `sensitivity` is the l2 change of the whole value between neighbours.  When its square is 2
    or more and the value has several entries, say how many: `dimension=`.

    >>> gaussian = Gaussian(epsilon=1.0, delta=1e-6, sensitivity=1)
    >>> round(gaussian.sigma, 4)
    4.2308
    >>> gaussian.privacy()
    ApproxDP(epsilon=1.0, delta=1e-06)
    >>> gaussian.accuracy(beta=0.05)
    8
    >>> from discreet.hazmat.entropy import SeededRandom
    >>> gaussian(1000, rng=SeededRandom(1)) in range(970, 1030)
    True
    """

    epsilon: Number | None
    delta: Number | None
    sensitivity: Number
    dimension: int = 1
    given_sigma: Number | None = field(default=None)

    def __post_init__(self) -> None:
        require(exact(self.sensitivity) >= 1, "sensitivity >= 1", sensitivity=self.sensitivity)
        whole = isinstance(self.dimension, int) and not isinstance(self.dimension, bool)
        require(whole and self.dimension >= 1, "an integer dimension >= 1", dimension=self.dimension)
        if self.given_sigma is not None:
            require(exact(self.given_sigma) > 0, "sigma > 0", sigma=self.given_sigma)
            unset = self.epsilon is None and self.delta is None
            require(unset, "either epsilon and delta or sigma", epsilon=self.epsilon, delta=self.delta)
        else:
            require(self.epsilon is not None and exact(self.epsilon) > 0, "epsilon > 0", epsilon=self.epsilon)
            require(self.delta is not None and 0 < exact(self.delta) < 1, "0 < delta < 1", delta=self.delta)
            moderate(self.epsilon or 0, name="epsilon")
            moderate(self.delta or 0, name="delta")
            fits = exact(self.sensitivity) <= LONGEST
            require(fits, "a sensitivity of at most 2^1024, or with_sigma", sensitivity=self.sensitivity)

    @classmethod
    def with_sigma(cls, sigma: Number, *, sensitivity: Number) -> Gaussian:
        """The mechanism whose noise has this sigma, for values of any dimension; its guarantee is zCDP.

        >>> Gaussian.with_sigma(2, sensitivity=1).privacy()
        ZCDP(rho=0.125)
        """
        return cls(epsilon=None, delta=None, sensitivity=sensitivity, given_sigma=sigma)

    @property
    def square(self) -> int:
        """The largest possible squared change: an integer, since the values are."""
        return math.floor(exact(self.sensitivity) ** 2 * _SAFE)

    @property
    def sigma(self) -> float | Number:
        """The parameter of the noise: as given, or the least for (epsilon, delta)."""
        if self.given_sigma is not None:
            return self.given_sigma
        assert self.epsilon is not None
        assert self.delta is not None
        return discrete_sigma(exact(self.epsilon), exact(self.delta), self.square, self.dimension)

    def __call__(self, value: Integers, *, rng: RandomSource | None = None) -> Integers:
        """The noisy value: a Python int for an int, an array for an array."""
        whole = integers(value)
        entries = 1 if isinstance(whole, int) else whole.size
        if self.given_sigma is None and self.square >= 2 and entries > self.dimension:
            raise ParameterError(
                f"need at most dimension={self.dimension} entries when sensitivity^2 >= 2, got {entries};"
                f" pass dimension={entries}, or use Gaussian.with_sigma"
            )
        return add(whole, discrete_gaussian(exact(self.sigma) ** 2, shape=shape_of(whole), rng=rng))

    def releases(self, value: int, count: int, *, rng: RandomSource | None = None) -> Integers:
        """`count` independent releases of one number, for studies: each of them costs."""
        return add(integers([value] * count), discrete_gaussian(exact(self.sigma) ** 2, shape=(count,), rng=rng))

    def privacy(self) -> ApproxDP | ZCDP:
        """(epsilon, delta) as asked, or rho = sensitivity^2 / (2 sigma^2) for a given sigma."""
        if self.epsilon is None or self.delta is None:
            return ZCDP(self.square / (2 * exact(self.sigma) ** 2))
        return ApproxDP(self.epsilon, self.delta)

    def accuracy(self, beta: float = 0.05, *, size: int = 1) -> int:
        """The least alpha with Pr[max over `size` entries of |noise| > alpha] <= beta."""
        require(0 < beta < 1, "0 < beta < 1", beta=beta)
        require(size >= 1, "size >= 1", size=size)
        return _quantile(float(exact(self.sigma)), -math.expm1(math.log1p(-beta) / size))

    def event(self) -> GaussianEvent:
        """What ran, for the accountant."""
        return GaussianEvent(sigma=self.sigma, sensitivity=root_up(Fraction(self.square)))

    def __repr__(self) -> str:
        if self.given_sigma is not None:
            return f"Gaussian.with_sigma({self.given_sigma!r}, sensitivity={self.sensitivity!r})"
        more = f", dimension={self.dimension}" if self.dimension > 1 else ""
        return f"Gaussian(epsilon={self.epsilon!r}, delta={self.delta!r}, sensitivity={self.sensitivity!r}{more})"


def _quantile(sigma: float, tail: float) -> int:
    """The least alpha with Pr[|Z| > alpha] <= tail, in floating point."""
    if sigma > LARGE:  # Pr[Z >= k] is that of the continuous law at (k - 1/2) (1 + 1/(24 sigma^2) + ...)
        from scipy.special import ndtri

        return max(0, math.ceil(-sigma * float(ndtri(tail / 2)) * (1 + 1e-15) - 0.5))
    import numpy as np

    k = np.arange(math.ceil(40 * sigma) + 2, dtype=np.float64)
    weights = np.exp(-k * k / (2 * sigma * sigma))
    above = 2 * np.append(np.cumsum(weights[:0:-1])[::-1], 0.0)  # the weight of |Z| > k
    total = 1 + above[0]
    return int(np.argmax(above <= tail * total))
