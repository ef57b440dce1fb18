"""Deltas gone wrong.  A delta of one in a million cannot be sampled: these are caught by their exact laws."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from discreet.attacks.broken.twin import Twin
from discreet.privacy.guarantee import ApproxDP
from discreet.privacy.number import Number, exact

Law = dict[object, float]
STEPS = 1000  # lattice points to the sensitivity, where the law is to be the continuous one


def gaussian_law(value: int, sigma: float) -> Law:
    """The discrete Gaussian around `value`, cut where its tail is below 1e-40."""
    reach = math.ceil(14 * sigma) + 2
    weights = {z: math.exp(-z * z / (2 * sigma * sigma)) for z in range(-reach, reach + 1)}
    total = math.fsum(weights.values())
    return {value + z: w / total for z, w in weights.items()}


@dataclass(frozen=True, kw_only=True, slots=True)
class ClassicalGaussian(Twin[int]):
    """sigma = sqrt(2 ln(1.25 / delta)) / epsilon at an epsilon for which the formula was never proven.

    The textbook of Dwork and Roth proves it for epsilon < 1; the notes leave that out, and from about
    epsilon = 8 the formula is false (Balle, Wang 2018).  The law is that of a lattice of `STEPS` points to the
    sensitivity, which is the continuous one but for a millionth: on a coarse lattice every formula of the continuous
    law is false, and that is another mistake.
    """

    flaw: ClassVar[str] = "the classical formula outside its domain"
    epsilon: Number
    delta: Number

    @property
    def sigma(self) -> float:
        """The standard deviation of the noise, over the sensitivity."""
        return math.sqrt(2 * math.log(1.25 / float(exact(self.delta)))) / float(exact(self.epsilon))

    def law(self, value: int) -> Law:
        """Output probabilities, of a value in lattice points."""
        return gaussian_law(value, STEPS * self.sigma)

    def privacy(self) -> ApproxDP:
        return ApproxDP(self.epsilon, self.delta)

    @property
    def worst(self) -> tuple[int, int]:
        return 0, STEPS


@dataclass(frozen=True, kw_only=True, slots=True)
class ForgottenLogarithm(Twin[int]):
    """sigma = sqrt(2) / epsilon: the factor sqrt(ln(1.25 / delta)) was left out."""

    flaw: ClassVar[str] = "the logarithm of 1 / delta is missing"
    epsilon: Number
    delta: Number

    def law(self, value: int) -> Law:
        """Output probabilities."""
        return gaussian_law(value, math.sqrt(2) / float(exact(self.epsilon)))

    def privacy(self) -> ApproxDP:
        return ApproxDP(self.epsilon, self.delta)

    @property
    def worst(self) -> tuple[int, int]:
        return 0, 1


@dataclass(frozen=True, kw_only=True, slots=True)
class ThresholdOffByOne(Twin[int]):
    """A key is released with its noisy count when that exceeds the threshold less one.

    The honest threshold is the least T with Pr[1 + Z >= T] <= delta.  `slack` = 0 is honest.
    """

    flaw: ClassVar[str] = "> where >= was meant: a key held by one person is released too often"
    epsilon: Number
    delta: Number
    slack: int = 1

    @property
    def threshold(self) -> int:
        """The least count that is released."""
        e, delta = float(exact(self.epsilon)), float(exact(self.delta))
        # Pr[Z >= k] = e^(-epsilon k) / (1 + e^-epsilon) for k >= 1
        return 1 + math.ceil(-math.log(delta * (1 + math.exp(-e))) / e) - self.slack

    def law(self, value: int) -> Law:
        """Output probabilities; None is a key not released, and a key nobody holds never is."""
        if value == 0:
            return {None: 1.0}
        a, top = math.exp(-float(exact(self.epsilon))), self.threshold
        reach = math.ceil(90 / float(exact(self.epsilon)))
        law: Law = {z: (1 - a) / (1 + a) * a ** abs(z - value) for z in range(top, max(top, value) + reach)}
        law[None] = 1 - math.fsum(law.values())
        return law

    def privacy(self) -> ApproxDP:
        return ApproxDP(self.epsilon, self.delta)

    @property
    def worst(self) -> tuple[int, int]:
        return 0, 1


@dataclass(frozen=True, kw_only=True, slots=True)
class TruncatedOffByOne(Twin[int]):
    """Laplace noise cut to -reach .. reach, with a reach one short.  `slack` = 0 is honest.

    Neighbours one apart share all outputs but the two ends, so delta is the mass of one end.
    """

    flaw: ClassVar[str] = "the noise is cut one step too early"
    epsilon: Number
    delta: Number
    slack: int = 1

    @property
    def reach(self) -> int:
        """The largest noise."""
        a, reach = math.exp(-float(exact(self.epsilon))), 0
        while a**reach * (1 - a) / (1 + a - 2 * a ** (reach + 1)) > float(exact(self.delta)):
            reach += 1
        return reach - self.slack

    def law(self, value: int) -> Law:
        """Output probabilities."""
        a, reach = math.exp(-float(exact(self.epsilon))), self.reach
        weights = {value + z: a ** abs(z) for z in range(-reach, reach + 1)}
        total = math.fsum(weights.values())
        return {z: w / total for z, w in weights.items()}

    def privacy(self) -> ApproxDP:
        return ApproxDP(self.epsilon, self.delta)

    @property
    def worst(self) -> tuple[int, int]:
        return 0, 1
