"""Samples and numbers of rows gone wrong: who is in the data, and how many, is what is to be hidden."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from discreet.attacks.broken.twin import INFINITE, Twin, Vector, laplace
from discreet.composition.price import amplify
from discreet.hazmat.entropy import RandomSource
from discreet.hazmat.samplers import bernoulli
from discreet.privacy.guarantee import PureDP
from discreet.privacy.neighbours import AddRemove
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    from discreet.attacks.broken.twin import Array


@dataclass(frozen=True, kw_only=True, slots=True)
class SameSampleTwice(Twin[int]):
    """Two noisy counts of one random sample, priced as counts of two samples.

    Each count alone costs ln(1 + rate (e^epsilon - 1)); both together cost ln(1 + rate (e^(2 epsilon) - 1)),
    which is more than twice that, since who is in the first sample is in the second.
    The value is 1 if a person is in the data.
    """

    flaw: ClassVar[str] = "one sample serves two questions, and is amplified twice"
    epsilon: Number  # of a count of the sample
    rate: Number

    def releases(self, value: int, count: int, *, rng: RandomSource | None = None) -> Array:
        import numpy as np

        taken = np.asarray(bernoulli(exact(self.rate), shape=(count, 1), rng=rng)) * value
        return taken + laplace(1 / exact(self.epsilon), (count, 2), rng)

    def privacy(self) -> PureDP:
        return PureDP(2 * amplify(exact(self.epsilon), exact(self.rate)), neighbours=AddRemove)

    @property
    def worst(self) -> tuple[int, int]:
        return 1, 0

    @property
    def true_epsilon(self) -> float:
        return math.log1p(float(exact(self.rate)) * math.expm1(2 * float(exact(self.epsilon))))


@dataclass(frozen=True, kw_only=True, slots=True)
class TrueCountInMean(Twin[Vector]):
    """A noisy sum of numbers in 0 .. bound over the true number of rows: private under Replace, sold under AddRemove.

    Outputs are multiples of 1 / n, and neighbours have another n.
    """

    flaw: ClassVar[str] = "calibrated for a public number of rows, claimed for a private one"
    epsilon: Number
    bound: int

    def releases(self, value: Vector, count: int, *, rng: RandomSource | None = None) -> Array:
        return (sum(value) + laplace(self.bound / exact(self.epsilon), (count,), rng)) / len(value)

    def privacy(self) -> PureDP:
        return PureDP(self.epsilon, neighbours=AddRemove)

    @property
    def worst(self) -> tuple[Vector, Vector]:
        return (self.bound,) * 6, (self.bound,) * 7

    @property
    def true_epsilon(self) -> float:
        return INFINITE
