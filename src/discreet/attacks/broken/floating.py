"""Floating-point noise: outputs that only one of two neighbours can produce.

The real sum of a value and Laplace noise is private; the nearest float to it is not.
Its low bits depend on the value (Mironov 2012), and so does the lattice on which it
lies (Haney, Desfontaines, Hartman, Shrestha, Hay 2022).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from discreet.attacks.broken.twin import INFINITE, Twin, laplace
from discreet.hazmat.entropy import RandomSource, source
from discreet.privacy.guarantee import PureDP
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    from discreet.attacks.broken.twin import Array


@dataclass(frozen=True, kw_only=True, slots=True)
class FloatLaplace(Twin[float]):
    """A float plus numpy's Laplace noise, as all general systems of 2012 had it (Mironov 2012)."""

    flaw: ClassVar[str] = "floating-point noise: the low bits tell the value"
    scale: float
    pair: tuple[float, float] = (0.0, 1.0)

    def releases(self, value: float, count: int, *, rng: RandomSource | None = None) -> Array:
        import numpy as np

        generator = np.random.Generator(np.random.PCG64(source(rng).bits(64)))
        return value + generator.laplace(0.0, self.scale, count)

    def privacy(self) -> PureDP:
        return PureDP(exact(abs(self.pair[1] - self.pair[0])) / exact(self.scale))

    @property
    def worst(self) -> tuple[float, float]:
        return self.pair

    @property
    def true_epsilon(self) -> float:
        return INFINITE


@dataclass(frozen=True, kw_only=True, slots=True)
class FloatAfterExact(Twin[float]):
    """Exact noise on a lattice, added to a float that is not on it."""

    flaw: ClassVar[str] = "the noise lies on a lattice and the value does not: the sum tells which coset"
    epsilon: Number
    step: float
    pair: tuple[float, float]

    def releases(self, value: float, count: int, *, rng: RandomSource | None = None) -> Array:
        steps = abs(self.pair[1] - self.pair[0]) / self.step
        return value + self.step * laplace(exact(steps) / exact(self.epsilon), (count,), rng)

    def privacy(self) -> PureDP:
        return PureDP(self.epsilon)

    @property
    def worst(self) -> tuple[float, float]:
        return self.pair

    @property
    def true_epsilon(self) -> float:
        return INFINITE
