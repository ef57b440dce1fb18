"""Selection gone wrong: the wrong relation, the wrong constant, one number too many, the wrong currency."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from discreet.attacks.broken.twin import Twin, Vector, laplace, rows
from discreet.hazmat.entropy import RandomSource, source
from discreet.privacy.guarantee import ZCDP, PureDP
from discreet.privacy.neighbours import AddRemove, Replace
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    from discreet.attacks.broken.twin import Array


@dataclass(frozen=True, kw_only=True, slots=True)
class AddRemoveNoisyMax(Twin[Vector]):
    """The index of the largest count plus Laplace(1 / epsilon), sold under Replace, as the notes define it.

    Under Replace one count can rise while another falls.  For two candidates at distance g the
    loss tends to 2 epsilon as g grows.
    """

    flaw: ClassVar[str] = "noise for counts that all move the same way, claimed for Replace"
    epsilon: Number

    def releases(self, value: Vector, count: int, *, rng: RandomSource | None = None) -> Array:
        counts = rows(value, count)
        return (counts + laplace(1 / exact(self.epsilon), counts.shape, rng)).argmax(axis=1)

    def privacy(self) -> PureDP:
        return PureDP(self.epsilon, neighbours=Replace)

    @property
    def worst(self) -> tuple[Vector, Vector]:
        gap = math.ceil(4 / exact(self.epsilon))
        return (1, gap - 1), (0, gap)


@dataclass(frozen=True, kw_only=True, slots=True)
class NoisyMaxWithValue(Twin[Vector]):
    """The index and, for free, the noisy maximum.

    When all `size` counts rise by one, Pr[max <= 0] falls by the factor e^(size epsilon).
    """

    flaw: ClassVar[str] = "the noisy maximum is released with its index"
    epsilon: Number
    size: int = 5

    def releases(self, value: Vector, count: int, *, rng: RandomSource | None = None) -> Array:
        import numpy as np

        counts = rows(value, count)
        noisy = counts + laplace(1 / exact(self.epsilon), counts.shape, rng)
        return np.stack([noisy.argmax(axis=1), noisy.max(axis=1)], axis=1)

    def privacy(self) -> PureDP:
        return PureDP(self.epsilon, neighbours=AddRemove)

    @property
    def worst(self) -> tuple[Vector, Vector]:
        return (0,) * self.size, (1,) * self.size

    @property
    def true_epsilon(self) -> float:
        return float(self.size * exact(self.epsilon))


@dataclass(frozen=True, kw_only=True, slots=True)
class MonotoneExponential(Twin[Vector]):
    """Weights exp(epsilon score) for scores that do not all move the same way: the 2 is missing."""

    flaw: ClassVar[str] = "weights for monotone scores, used for any"
    epsilon: Number

    def law(self, value: Vector) -> dict[int, float]:
        """Output probabilities."""
        best = max(value)
        weights = [math.exp(float(exact(self.epsilon)) * (score - best)) for score in value]
        return {i: w / math.fsum(weights) for i, w in enumerate(weights)}

    def releases(self, value: Vector, count: int, *, rng: RandomSource | None = None) -> Array:
        import numpy as np

        steps = np.cumsum(list(self.law(value).values()))[:-1]
        return np.searchsorted(steps, source(rng).words(count) / 2.0**64, side="right")

    def privacy(self) -> PureDP:
        return PureDP(self.epsilon)

    @property
    def worst(self) -> tuple[Vector, Vector]:
        return (1, *(0,) * 19), (0, *(1,) * 19)

    @property
    def true_epsilon(self) -> float:
        first, second = self.law(self.worst[0]), self.law(self.worst[1])
        return max(abs(math.log(first[o] / second[o])) for o in first)


@dataclass(frozen=True, kw_only=True, slots=True)
class UnderchargedFlip(Twin[Vector]):
    """Permute-and-flip charged epsilon^2 / 8, the price of the exponential mechanism.

    Its log-ratios fill an interval of length 2 epsilon, not epsilon.  Two candidates one apart
    cost 3.81 times the charge at epsilon = 0.1.  Seen in the Renyi divergence, not in epsilon.
    """

    flaw: ClassVar[str] = "charged as if its range were bounded by epsilon"
    epsilon: Number

    def law(self, value: Vector) -> dict[int, float]:
        """Output probabilities, from the elementary symmetric sums of the rejection probabilities."""
        best, k = max(value), len(value)
        accept = [math.exp(float(exact(self.epsilon)) * (score - best) / 2) for score in value]
        law = {}
        for i in range(k):
            sums = [1.0]  # over sets of j others that came before and were rejected
            for other in (a for j, a in enumerate(accept) if j != i):
                sums = [a + b * (1 - other) for a, b in zip([*sums, 0.0], [0.0, *sums], strict=True)]
            law[i] = accept[i] * math.fsum(s / (k * math.comb(k - 1, j)) for j, s in enumerate(sums))
        return law

    def privacy(self) -> ZCDP:
        return ZCDP(exact(self.epsilon) ** 2 / 8)

    @property
    def worst(self) -> tuple[Vector, Vector]:
        return (0, 1), (1, 0)
