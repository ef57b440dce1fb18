"""Noise in proportion to the local sensitivity, once that has been released itself, with a margin.

Theorem.  Let f be an integer whose local sensitivity LS moves by at most one between neighbours.
With a = exp(-e1) and Z of the law Pr[z] ~ a^|z| on the integers, release

    bound = max(0, LS + Z + margin),   margin the least c >= 0 with a^(c + 1) / (1 + a) <= delta,
    f + Laplace noise of scale bound / e2, rounded to the integers.

The first is e1-DP and at least LS with probability 1 - delta; both together are (e1 + e2, delta)-DP.
The notes claim (e, e, delta) for e1 = e2 = e: with the bound released, delta(e) is up to 0.24.
Proof: docs/theory/graphs.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from discreet.errors import require
from discreet.hazmat.entropy import RandomSource
from discreet.hazmat.exponent import exp_bounds
from discreet.hazmat.rounded import rounded_laplace
from discreet.hazmat.samplers import discrete_laplace
from discreet.mechanisms.admissible_noise import nearest
from discreet.privacy.event import ApproxEvent, LaplaceEvent
from discreet.privacy.guarantee import ApproxDP, PureDP, Relation
from discreet.privacy.number import Number, exact

SHARE = Fraction(1, 4)  # of epsilon, for the bound: best where LS is about four times the margin or more


@dataclass(frozen=True, kw_only=True, slots=True)
class SensitivityBound:
    """A private upper bound on a local sensitivity: too small with probability at most delta.

    `delta` is the chance that the bound fails; the release itself is epsilon-DP.

    >>> bound = SensitivityBound(epsilon=0.5, delta=1e-6)
    >>> bound.margin, bound.privacy()
    (26, PureDP(epsilon=0.5))
    >>> from discreet.hazmat.entropy import SeededRandom
    >>> bound(40, most=1000, rng=SeededRandom(1)) >= 40
    True
    """

    epsilon: Number
    delta: Number
    neighbours: Relation = None

    def __post_init__(self) -> None:
        require(exact(self.epsilon) > 0, "epsilon > 0", epsilon=self.epsilon)
        require(0 < exact(self.delta) < 1, "0 < delta < 1", delta=self.delta)

    @property
    def margin(self) -> int:
        """The least c >= 0 with a^(c + 1) / (1 + a) <= delta."""
        return _margin(exact(self.epsilon), exact(self.delta))

    def __call__(self, local: int, *, most: int, rng: RandomSource | None = None) -> int:
        """max(0, local + noise + margin), or `most` if that is less: a public bound on every local sensitivity."""
        noise = discrete_laplace(1 / exact(self.epsilon), rng=rng)
        assert isinstance(noise, int)
        return min(max(0, local + noise + self.margin), most)

    def privacy(self) -> PureDP:
        """epsilon: a local sensitivity that moves by one, plus noise."""
        return PureDP(self.epsilon, neighbours=self.neighbours)

    def accuracy(self, beta: float = 0.05) -> int:
        """Pr[bound - LS > alpha] <= beta."""
        require(0 < beta < 1, "0 < beta < 1", beta=beta)
        rate = float(exact(self.epsilon))
        return self.margin + max(0, math.ceil(-math.log(beta * (1 + math.exp(-rate))) / rate) - 1)

    def event(self) -> LaplaceEvent:
        """What ran."""
        return LaplaceEvent(scale=1 / exact(self.epsilon), sensitivity=1)


@lru_cache(maxsize=256)
def _margin(epsilon: Fraction, delta: Fraction) -> int:
    bits = 64 + delta.denominator.bit_length()
    once = exp_bounds(epsilon, bits)[0]

    def safe(c: int) -> bool:
        return Fraction(exp_bounds(epsilon * (c + 1), bits)[1], (1 << bits) + once) <= delta

    high = 1
    while not safe(high):
        high *= 2
    low = -1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if safe(middle) else (middle, high)
    return high


@dataclass(frozen=True, kw_only=True, slots=True)
class NoisyLocal:
    """Release an integer with noise for its local sensitivity, and the bound that the noise was made for.

    >>> from discreet.hazmat.entropy import SeededRandom
    >>> noisy = NoisyLocal(epsilon=1, delta=1e-6)
    >>> value, bound = noisy(48260, local=61, most=5240, rng=SeededRandom(1))
    >>> noisy.privacy(), abs(value - 48260) < 2000
    (ApproxDP(epsilon=1.0, delta=1e-06), True)
    """

    epsilon: Number
    delta: Number
    neighbours: Relation = None

    def __post_init__(self) -> None:
        _ = self.bound

    @property
    def bound(self) -> SensitivityBound:
        """What releases the bound, for a share of epsilon and all of delta."""
        require(exact(self.epsilon) > 0, "epsilon > 0", epsilon=self.epsilon)
        return SensitivityBound(epsilon=exact(self.epsilon) * SHARE, delta=self.delta, neighbours=self.neighbours)

    @property
    def rate(self) -> Fraction:
        """The rest of epsilon: the noise has scale bound / rate."""
        return exact(self.epsilon) * (1 - SHARE)

    def __call__(self, value: int, *, local: int, most: int, rng: RandomSource | None = None) -> tuple[int, int]:
        """The noisy value, and the bound; both are released."""
        bound = self.bound(local, most=most, rng=rng)
        noisy = rounded_laplace(bound / self.rate, centre=value, rng=rng)
        assert isinstance(noisy, int)
        return noisy, bound

    def privacy(self) -> ApproxDP:
        """(epsilon, delta): the bound fails with probability delta, else the two ratios multiply."""
        return ApproxDP(self.epsilon, self.delta, neighbours=self.neighbours)

    def accuracy(self, beta: float = 0.05, *, local: int, most: int) -> int:
        """alpha with Pr[|error| > alpha] <= beta where the local sensitivity is at most `local`.

        Half of beta is for the bound and half for the noise, and the sum is rounded to the nearest integer.
        """
        require(0 < beta < 1, "0 < beta < 1", beta=beta)
        bound = min(most, local + self.bound.accuracy(beta / 2))
        return nearest(bound / float(self.rate) * math.log(2 / beta) * (1 + 1e-9))

    def event(self) -> ApproxEvent:
        """What ran, as an (epsilon, delta)-DP release."""
        return ApproxEvent(epsilon=self.epsilon, delta=self.delta)
