"""Noise scaled to the data gone wrong: too directly, not smoothly enough, or after too weak a test."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from discreet.attacks.broken.sparse import noise_law
from discreet.attacks.broken.tails import Law
from discreet.attacks.broken.twin import INFINITE, Twin, laplace
from discreet.hazmat.entropy import RandomSource
from discreet.hazmat.rounded import rounded_cauchy
from discreet.mechanisms.admissible_noise import CauchyNoise
from discreet.privacy.guarantee import ApproxDP, PureDP
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    from discreet.attacks.broken.twin import Array

RARE = 9  # scales of noise, beyond which outputs are rare
REACH = 2000  # beyond it, outputs are taken together
Pair = tuple[int, int]  # the answer, and a number computed from the data


@dataclass(frozen=True, kw_only=True, slots=True)
class LocalSensitivityNoise(Twin[Pair]):
    """Laplace noise scaled to the local sensitivity: where that is 0 there is none.

    The value is the answer and its local sensitivity.
    """

    flaw: ClassVar[str] = "the size of the noise tells the local sensitivity"
    epsilon: Number

    def releases(self, value: Pair, count: int, *, rng: RandomSource | None = None) -> Array:
        import numpy as np

        answer, sensitivity = value
        if sensitivity == 0:
            return np.full(count, answer)
        return answer + laplace(sensitivity / exact(self.epsilon), (count,), rng)

    def privacy(self) -> PureDP:
        return PureDP(self.epsilon)

    @property
    def worst(self) -> tuple[Pair, Pair]:
        return (0, 0), (0, 10**9)  # nobody next to the first can move the answer; one next to the second can

    @property
    def true_epsilon(self) -> float:
        return INFINITE


@dataclass(frozen=True, kw_only=True, slots=True)
class DoubledSmoothness(Twin[Pair]):
    """Cauchy noise for a smoothness b on a bound that is only 2 b smooth.

    The value is the answer and its smooth bound.
    """

    flaw: ClassVar[str] = "the exponent of the smooth bound is twice that of the noise"
    epsilon: Number
    smoothness: Number

    def releases(self, value: Pair, count: int, *, rng: RandomSource | None = None) -> Array:
        noise = CauchyNoise(epsilon=self.epsilon, smoothness=self.smoothness)
        return noise.release(value[0], value[1], shape=(count,), rng=rng)  # type: ignore[return-value]

    def privacy(self) -> PureDP:
        return PureDP(self.epsilon)

    @property
    def worst(self) -> tuple[Pair, Pair]:
        return (0, 1000), (1000, math.floor(1000 * math.exp(2 * float(exact(self.smoothness)))))

    @property
    def true_epsilon(self) -> float:
        (_, s), (shift, r) = self.worst
        c = float(CauchyNoise(epsilon=self.epsilon, smoothness=self.smoothness).scale)
        return math.acosh(1 + ((shift / c) ** 2 + (r - s) ** 2) / (2 * s * r))


@dataclass(frozen=True, kw_only=True, slots=True)
class FullSmoothness(Twin[Pair]):
    """Cauchy noise of scale S / epsilon on an epsilon-smooth bound S, as the notes have it.

    The change of S alone spends all of epsilon, and the change of the answer comes on top: the loss is the
    hyperbolic distance of two Cauchy laws, 1.1427 for epsilon = 1 and 0.1379 for epsilon = 0.1.
    The value is the answer and its smooth bound.
    """

    flaw: ClassVar[str] = "the smooth bound may move by e^epsilon, and nothing is left for the answer"
    epsilon: Number

    def releases(self, value: Pair, count: int, *, rng: RandomSource | None = None) -> Array:
        answer, bound = value
        return rounded_cauchy(bound / exact(self.epsilon), centre=Fraction(answer), shape=(count,), rng=rng)  # type: ignore[return-value]

    def law(self, value: Pair) -> Law:
        """Output probabilities, with the two ends taken together."""
        answer, bound = value
        scale = bound / float(exact(self.epsilon))

        def below(z: float) -> float:
            return 0.5 + math.atan((z - answer) / scale) / math.pi

        cells: Law = {z: below(z + 0.5) - below(z - 0.5) for z in range(-REACH, REACH + 1)}
        return {**cells, "below": below(-REACH - 0.5), "above": 1 - below(REACH + 0.5)}

    def privacy(self) -> PureDP:
        return PureDP(self.epsilon)

    @property
    def worst(self) -> tuple[Pair, Pair]:
        return (0, 100), (100, math.floor(100 * math.exp(float(exact(self.epsilon)))))

    @property
    def true_epsilon(self) -> float:
        (_, s), (shift, r) = self.worst
        return math.acosh(1 + ((shift * float(exact(self.epsilon))) ** 2 + (r - s) ** 2) / (2 * s * r))


@dataclass(frozen=True, kw_only=True, slots=True)
class BoundForFree(Twin[Pair]):
    """Noise for a noisy bound on the local sensitivity, and the bound, sold at epsilon as in the notes' triangle count.

    The bound costs epsilon and the noise costs epsilon.  At epsilon = 1 and local sensitivity 20 the delta of epsilon
    is 0.19, where one in a million was claimed.  The value is the answer and its local sensitivity.
    """

    flaw: ClassVar[str] = "the noisy bound is released and not paid for"
    epsilon: Number
    delta: Number

    @property
    def margin(self) -> int:
        """ln(1 / delta) / epsilon, rounded up."""
        return math.ceil(-math.log(float(exact(self.delta))) / float(exact(self.epsilon)))

    def releases(self, value: Pair, count: int, *, rng: RandomSource | None = None) -> Array:
        import numpy as np

        answer, local = value
        bounds = np.maximum(0, local + self.margin + laplace(1 / exact(self.epsilon), (count,), rng))
        out = np.full((count, 2), answer)
        out[:, 1] = bounds
        for bound in np.unique(bounds[bounds > 0]).tolist():
            here = bounds == bound
            out[here, 0] += laplace(bound / exact(self.epsilon), (int(here.sum()),), rng)
        return out

    def law(self, value: Pair) -> Law:
        """Output probabilities; answers are taken together five by five, and all that is rare at once."""
        (answer, local), rate = value, float(exact(self.epsilon))
        law: Law = {}
        for z, chance in noise_law(1 / rate, tail=RARE).items():
            bound = max(0, local + self.margin + z)
            noise = noise_law(bound / rate, tail=RARE) if bound else {0: 1.0}
            for shift, mass in noise.items():
                cell = (bound, (answer + shift) // 5)
                law[cell] = law.get(cell, 0.0) + chance * mass
        law[None] = 1 - math.fsum(law.values())
        return law

    def privacy(self) -> ApproxDP:
        return ApproxDP(self.epsilon, self.delta)

    @property
    def worst(self) -> tuple[Pair, Pair]:
        return (0, 21), (20, 20)


@dataclass(frozen=True, kw_only=True, slots=True)
class ThresholdWithoutLogarithm(Twin[Pair]):
    """Propose-test-release that passes at 2 / epsilon steps instead of (2 / epsilon) ln(1 / delta) or so.

    The value is the answer and its distance; the bound on the local sensitivity is 1.
    """

    flaw: ClassVar[str] = "the logarithm of 1 / delta is missing from the threshold of the test"
    epsilon: Number
    delta: Number

    def law(self, value: Pair) -> Law:
        """Output probabilities, cut where noise has vanished; None is the refusal."""
        a = math.exp(-float(exact(self.epsilon)) / 2)
        gap = math.ceil(2 / exact(self.epsilon)) - value[1]
        passed = a**gap / (1 + a) if gap >= 1 else 1 - a ** (1 - gap) / (1 + a)
        reach = math.ceil(-90 / math.log(a))
        noise = {value[0] + z: passed * (1 - a) / (1 + a) * a ** abs(z) for z in range(-reach, reach + 1)}
        return {None: 1 - passed, **noise}

    def privacy(self) -> ApproxDP:
        return ApproxDP(self.epsilon, self.delta)

    @property
    def worst(self) -> tuple[Pair, Pair]:
        return (0, 0), (10**6, 0)  # a step that the bound forbids: both are at distance 0
