"""Bits and uniform integers gone wrong."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from discreet.attacks.broken.twin import Twin
from discreet.hazmat.entropy import RandomSource, source
from discreet.hazmat.samplers import bernoulli
from discreet.privacy.guarantee import PureDP
from discreet.privacy.neighbours import Local
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    from discreet.attacks.broken.twin import Array


@dataclass(frozen=True, kw_only=True, slots=True)
class LinearResponse(Twin[int]):
    """Randomized response that keeps the bit with probability (1 + epsilon) / 2, as the notes print it.

    Its loss is ln((1 + epsilon) / (1 - epsilon)) = 2 artanh(epsilon), more than twice epsilon.
    """

    flaw: ClassVar[str] = "the bit is kept with probability (1 + epsilon) / 2"
    epsilon: Number  # below 1

    def releases(self, value: int, count: int, *, rng: RandomSource | None = None) -> Array:
        kept = bernoulli((1 + exact(self.epsilon)) / 2, shape=(count,), rng=rng)
        return (kept == bool(value)).astype(int)  # type: ignore[union-attr]

    def law(self, value: int) -> dict[int, Fraction]:
        """Output probabilities."""
        kept = (1 + exact(self.epsilon)) / 2
        return {value: kept, 1 - value: 1 - kept}

    def privacy(self) -> PureDP:
        return PureDP(self.epsilon, neighbours=Local)

    @property
    def worst(self) -> tuple[int, int]:
        return 0, 1

    @property
    def true_epsilon(self) -> float:
        return 2 * math.atanh(float(exact(self.epsilon)))


@dataclass(frozen=True, kw_only=True, slots=True)
class BiasedPad(Twin[int]):
    """A one-time pad whose key is a byte modulo `size`: small keys come up too often.

    With a uniform key the output is independent of the value.  With this one, the keys below
    256 mod size have probability (q + 1) / 256 instead of q / 256, for q = 256 div size.
    """

    flaw: ClassVar[str] = "a uniform integer is drawn as a random word modulo its bound"
    size: int  # between 129 and 255, so that q = 1

    def releases(self, value: int, count: int, *, rng: RandomSource | None = None) -> Array:
        import numpy as np

        key = source(rng).words(count) % np.uint64(256) % np.uint64(self.size)
        return (value + key.astype(np.int64)) % self.size

    def privacy(self) -> PureDP:
        return PureDP(0)

    @property
    def worst(self) -> tuple[int, int]:
        return 0, self.size // 2

    @property
    def true_epsilon(self) -> float:
        return math.log(2)
