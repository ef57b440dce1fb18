"""Additive noise gone wrong: too little, too few dimensions, drawn again, or not drawn again."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from discreet.attacks.broken.twin import INFINITE, Twin, Vector, laplace, rows
from discreet.hazmat.entropy import RandomSource
from discreet.privacy.guarantee import PureDP
from discreet.privacy.neighbours import Replace
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    from discreet.attacks.broken.twin import Array


@dataclass(frozen=True, kw_only=True, slots=True)
class ShrunkNoise(Twin[int]):
    """Laplace noise on a count, `factor` times as wide as epsilon asks."""

    flaw: ClassVar[str] = "the noise is too narrow"
    epsilon: Number
    factor: Number

    def releases(self, value: int, count: int, *, rng: RandomSource | None = None) -> Array:
        return value + laplace(exact(self.factor) / exact(self.epsilon), (count,), rng)

    def privacy(self) -> PureDP:
        return PureDP(self.epsilon)

    @property
    def worst(self) -> tuple[int, int]:
        return 0, 1

    @property
    def true_epsilon(self) -> float:
        return float(exact(self.epsilon) / exact(self.factor))


@dataclass(frozen=True, kw_only=True, slots=True)
class HalvedSensitivity(Twin[int]):
    """Laplace noise for half of the declared sensitivity, as when a clip to [-c, c] is read as one of width c."""

    flaw: ClassVar[str] = "the sensitivity is half of the true one"
    epsilon: Number
    sensitivity: int

    def releases(self, value: int, count: int, *, rng: RandomSource | None = None) -> Array:
        return value + laplace(self.sensitivity / (2 * exact(self.epsilon)), (count,), rng)

    def privacy(self) -> PureDP:
        return PureDP(self.epsilon)

    @property
    def worst(self) -> tuple[int, int]:
        return 0, self.sensitivity

    @property
    def true_epsilon(self) -> float:
        return float(2 * exact(self.epsilon))


@dataclass(frozen=True, kw_only=True, slots=True)
class AddRemoveHistogram(Twin[Vector]):
    """Laplace(1 / epsilon) on each cell, sold under Replace, where a row moves two cells."""

    flaw: ClassVar[str] = "calibrated for AddRemove, claimed for Replace"
    epsilon: Number

    def releases(self, value: Vector, count: int, *, rng: RandomSource | None = None) -> Array:
        cells = rows(value, count)
        return cells + laplace(1 / exact(self.epsilon), cells.shape, rng)

    def privacy(self) -> PureDP:
        return PureDP(self.epsilon, neighbours=Replace)

    @property
    def worst(self) -> tuple[Vector, Vector]:
        return (1, 0), (0, 1)

    @property
    def true_epsilon(self) -> float:
        return float(2 * exact(self.epsilon))


@dataclass(frozen=True, kw_only=True, slots=True)
class EuclideanForManhattan(Twin[Vector]):
    """Laplace noise calibrated to the l2 norm of `size` counts that one row can all change."""

    flaw: ClassVar[str] = "l2 sensitivity where Laplace needs l1"
    epsilon: Number
    size: int  # a square, so that its root is exact

    def releases(self, value: Vector, count: int, *, rng: RandomSource | None = None) -> Array:
        counts = rows(value, count)
        return counts + laplace(math.isqrt(self.size) / exact(self.epsilon), counts.shape, rng)

    def privacy(self) -> PureDP:
        return PureDP(self.epsilon)

    @property
    def worst(self) -> tuple[Vector, Vector]:
        return (0,) * self.size, (1,) * self.size

    @property
    def true_epsilon(self) -> float:
        return float(math.isqrt(self.size) * exact(self.epsilon))


@dataclass(frozen=True, kw_only=True, slots=True)
class ResampledUntilNonNegative(Twin[int]):
    """Laplace noise drawn again until the sum is not negative, as the notes advise.

    That is no post-processing: the law is conditioned on an event whose probability depends
    on the value.  On the integers the loss is ln(e^epsilon + 1 - e^-epsilon).
    """

    flaw: ClassVar[str] = "the noise is drawn again until the answer looks right"
    epsilon: Number

    def releases(self, value: int, count: int, *, rng: RandomSource | None = None) -> Array:
        import numpy as np

        kept: list[Array] = []
        while sum(len(part) for part in kept) < count:
            draws = value + laplace(1 / exact(self.epsilon), (2 * count + 16,), rng)
            kept.append(draws[draws >= 0])
        return np.concatenate(kept)[:count]

    def privacy(self) -> PureDP:
        return PureDP(self.epsilon)

    @property
    def worst(self) -> tuple[int, int]:
        return 0, 1

    @property
    def true_epsilon(self) -> float:
        e = float(exact(self.epsilon))
        return math.log(math.exp(e) + 1 - math.exp(-e))


@dataclass(frozen=True, kw_only=True, slots=True)
class ClampedTotal(Twin[Vector]):
    """A sum of rows meant to lie in 0 .. bound, whose total is clamped instead of its rows; libraries have had it."""

    flaw: ClassVar[str] = "the total is clamped and the rows are not, so one row may move it by anything"
    epsilon: Number
    bound: int
    most: int  # the largest total

    def releases(self, value: Vector, count: int, *, rng: RandomSource | None = None) -> Array:
        total = min(max(sum(value), 0), self.most)
        return total + laplace(self.bound / exact(self.epsilon), (count,), rng)

    def privacy(self) -> PureDP:
        return PureDP(self.epsilon)

    @property
    def worst(self) -> tuple[Vector, Vector]:
        return (), (3 * self.bound,)

    @property
    def true_epsilon(self) -> float:
        return float(3 * exact(self.epsilon))


@dataclass(frozen=True, kw_only=True, slots=True)
class SameNoiseTwice(Twin[Vector]):
    """One draw of noise added to every entry of a vector: the differences are published exactly."""

    flaw: ClassVar[str] = "one draw of noise serves all entries"
    epsilon: Number

    def releases(self, value: Vector, count: int, *, rng: RandomSource | None = None) -> Array:
        return rows(value, count) + laplace(1 / exact(self.epsilon), (count, 1), rng)

    def privacy(self) -> PureDP:
        return PureDP(self.epsilon)

    @property
    def worst(self) -> tuple[Vector, Vector]:
        return (0, 0), (0, 1)

    @property
    def true_epsilon(self) -> float:
        return INFINITE


@dataclass(frozen=True, kw_only=True, slots=True)
class TwiceForOne(Twin[int]):
    """The answer drawn afresh when it is looked at again, for one charge: lazy frames have done so."""

    flaw: ClassVar[str] = "two releases for the price of one"
    epsilon: Number

    def releases(self, value: int, count: int, *, rng: RandomSource | None = None) -> Array:
        return value + laplace(1 / exact(self.epsilon), (count, 2), rng)

    def privacy(self) -> PureDP:
        return PureDP(self.epsilon)

    @property
    def worst(self) -> tuple[int, int]:
        return 0, 1

    @property
    def true_epsilon(self) -> float:
        return float(2 * exact(self.epsilon))
