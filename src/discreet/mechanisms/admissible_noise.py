"""Noise for a smooth sensitivity: Cauchy, Lomax, the power law, Laplace and Gaussian, and the best of them.

A noise is its budget and the `smoothness` b it asks for: it takes a value q(x) and an S(x) with
|q(x) - q(x')| <= S(x) and S(x) <= e^b S(x') for all neighbours, and releases the integer nearest
to q(x) + scale S(x) Z.  Constants are those of `admissible` at b + SLACK: an S(x) that was
computed up to a relative 2^-32 too large will do, and is rounded up to 32 bits here.

`best_noise` picks, from public numbers only, the law with the least (1 - beta)-quantile.
Theorems and proofs: docs/theory/smooth_sensitivity.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from discreet.errors import UnsupportedError, require
from discreet.hazmat.entropy import RandomSource
from discreet.hazmat.rejected import rounded_gaussian, rounded_power
from discreet.hazmat.rounded import private_number, rounded_cauchy, rounded_laplace, rounded_lomax
from discreet.mechanisms.admissible import cauchy_scale, laplace_scale, lomax_scale, power_scale
from discreet.mechanisms.dilated_gaussian import dilated_alpha
from discreet.privacy.guarantee import ApproxDP, PureDP, Relation
from discreet.privacy.number import Number, down, exact, tidy, up

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet.hazmat.integers import Integers, Shape

SLACK = Fraction(1, 2**30)  # smoothness kept for two relative errors of 2^-31: in computing S, and in rounding it up
LEAST, MOST = Fraction(1, 10**5), Fraction(100)  # of epsilon: below, the slack is not small; above, noise for MOST
TINIEST = Fraction(1, 10**300)  # of the deltas
LIKELY = Fraction(1, 100)  # beyond this delta Gaussian noise is not looked for: its certificate takes long


class AdmissibleNoise:
    """Base of the closed set of admissible noises; see the module docstring.

    >>> CauchyNoise(epsilon=1, smoothness=0.5).release(70, 0)  # where S is 0, it is 0 at all neighbours
    70
    """

    __slots__ = ()
    name: ClassVar[str]
    epsilon: Number
    smoothness: Number

    @property
    def dilation(self) -> Fraction:
        """How far ln S may really move between neighbours: the smoothness, and what rounding adds."""
        return exact(self.smoothness) + SLACK

    @property
    def used(self) -> Fraction:
        """The epsilon that the constants are for: at most MOST, where e^-epsilon is nothing to any sensitivity."""
        return min(exact(self.epsilon), MOST)

    @property
    def scale(self) -> Fraction:
        """c: the noise is c S Z."""
        raise NotImplementedError

    def quantile(self, beta: float = 0.05) -> float:
        """The least t with Pr[|Z| > t] <= beta."""
        raise NotImplementedError

    def error(self, beta: float = 0.05) -> float:
        """The noise for each unit of S that is exceeded with probability beta."""
        return float(self.scale) * self.quantile(beta)

    def privacy(self, neighbours: Relation = None) -> PureDP | ApproxDP:
        """The claim, under the relation for which S is smooth."""
        return PureDP(self.epsilon, neighbours=neighbours)

    def release(
        self, value: Number, sensitivity: Number, *, shape: Shape = None, rng: RandomSource | None = None
    ) -> Integers:
        """The integer nearest to value + scale S Z; `shape` asks for independent copies, for audits."""
        size = private_number(sensitivity, "sensitivity")
        require(size >= 0, "sensitivity >= 0", sensitivity="a negative number")
        return self._draw(rounded_up(size) * self.scale, private_number(value, "value"), shape, rng)

    def _draw(self, scale: Fraction, centre: Fraction, shape: Shape, rng: RandomSource | None) -> Integers:
        raise NotImplementedError

    def _check(self, most: Fraction | None = None) -> None:
        """A sensible epsilon and 0 < smoothness, with room for rounding below `most`."""
        check_epsilon(self.epsilon)
        require(exact(self.smoothness) > 0, "smoothness > 0", smoothness=self.smoothness)
        limit = self.used if most is None else most
        require(self.dilation < limit, f"smoothness + 2^-30 < {up(limit)}", smoothness=self.smoothness)


def check_epsilon(epsilon: Number) -> None:
    """epsilon far enough above the slack; above MOST the noise is that for MOST, which keeps every larger one."""
    require(exact(epsilon) > 0, "epsilon > 0", epsilon=epsilon)
    rule = "epsilon >= 10^-5 for noise scaled to the data (Laplace noise for a global sensitivity serves less)"
    require(exact(epsilon) >= LEAST, rule, epsilon=epsilon)


def check_delta(delta: Number, *, zero: bool = True) -> None:
    """delta of at least 10^-300, which floats tell from 0; or 0 itself, where that is allowed."""
    inside = TINIEST <= exact(delta) < 1 or (zero and exact(delta) == 0)
    require(inside, f"{'delta = 0, or ' if zero else ''}10^-300 <= delta < 1", delta=delta)


def nearest(alpha: float) -> int:
    """The most that noise of at most `alpha` moves an integer when the sum is rounded to the nearest one.

    >>> nearest(0.4), nearest(0.5), nearest(7.2)
    (0, 1, 7)
    """
    return math.floor(alpha + 0.5)


def rounded_up(sensitivity: Fraction) -> Fraction:
    """The least number of 32 bits and a power of two that is not below: at most a 2^-31 part larger."""
    if sensitivity == 0:
        return Fraction(0)
    power = sensitivity.numerator.bit_length() - sensitivity.denominator.bit_length() - 32
    unit = Fraction(2) ** power
    return math.ceil(sensitivity / unit) * unit


@dataclass(frozen=True, kw_only=True, slots=True)
class CauchyNoise(AdmissibleNoise):
    """Cauchy noise: pure, and free smoothing up to e^smoothness = 2 cosh(epsilon) - 1; no mean.

    >>> noise = CauchyNoise(epsilon=1, smoothness=0.5)
    >>> round(float(noise.scale), 4), noise.privacy()
    (0.9595, PureDP(epsilon=1.0))
    """

    name: ClassVar[str] = "cauchy"
    epsilon: Number
    smoothness: Number

    def __post_init__(self) -> None:
        self._check()

    @property
    def scale(self) -> Fraction:
        return cauchy_scale(self.used, self.dilation)

    def quantile(self, beta: float = 0.05) -> float:
        return 1 / math.tan(math.pi * _tail(beta) / 2)

    def _draw(self, scale: Fraction, centre: Fraction, shape: Shape, rng: RandomSource | None) -> Integers:
        return rounded_cauchy(scale, centre=centre, shape=shape, rng=rng)


@dataclass(frozen=True, kw_only=True, slots=True)
class LomaxNoise(AdmissibleNoise):
    """Two-sided Lomax noise, density (a - 1)/2 (1 + |z|)^-a: pure, with a variance if the exponent a is above 3.

    >>> noise = LomaxNoise(epsilon=1, smoothness=0.1, exponent="10.9")
    >>> round(float(noise.scale), 2), round(noise.error(beta=0.05), 2)
    (10.51, 3.71)
    """

    name: ClassVar[str] = "lomax"
    epsilon: Number
    smoothness: Number
    exponent: Number

    def __post_init__(self) -> None:
        self._check()
        most = 1 + self.used / self.dilation
        rule = f"2 <= exponent <= {down(most)}"
        require(2 <= exact(self.exponent) <= most, rule, exponent=self.exponent)

    @classmethod
    def best(cls, *, epsilon: Number, smoothness: Number, beta: float = 0.05) -> LomaxNoise:
        """The exponent with the least quantile: the largest, or for a large epsilon one in between."""
        check_epsilon(epsilon)
        used = min(exact(epsilon), MOST)
        require(0 < exact(smoothness) < used, "0 < smoothness < epsilon, or 100 above that", smoothness=smoothness)
        most = down(1 + used / (exact(smoothness) + SLACK))
        e, b, tail = float(used), float(exact(smoothness)), -math.log(_tail(beta))

        def error(a: float) -> float:
            scale = max(1 / math.expm1(e / a), math.exp(-b) / math.expm1(max(e - b, 1e-12 * e) / a))
            return scale * math.expm1(tail / (a - 1))

        grid = [most, *(2 * (most / 2) ** (k / 64) for k in range(64))] if most > 2 else [2.0]
        return cls(epsilon=epsilon, smoothness=smoothness, exponent=min(grid, key=error))

    @property
    def scale(self) -> Fraction:
        return lomax_scale(self.used, self.dilation, exact(self.exponent))

    def quantile(self, beta: float = 0.05) -> float:
        return math.expm1(-math.log(_tail(beta)) / (float(exact(self.exponent)) - 1))

    def _draw(self, scale: Fraction, centre: Fraction, shape: Shape, rng: RandomSource | None) -> Integers:
        return rounded_lomax(scale, self.exponent, centre=centre, shape=shape, rng=rng)


@dataclass(frozen=True, kw_only=True, slots=True)
class PowerNoise(AdmissibleNoise):
    """Noise of density proportional to 1 / (1 + |z|^exponent), with each term at its tight cost.

    `published=True` takes the constants of Nissim, Raskhodnikova and Smith instead, for comparison.

    >>> tight = PowerNoise(epsilon=1, smoothness=0.05, exponent=4)
    >>> first = PowerNoise(epsilon=1, smoothness=0.05, exponent=4, published=True)
    >>> round(float(tight.scale), 3), float(first.scale)
    (2.682, 10.0)
    """

    name: ClassVar[str] = "power"
    epsilon: Number
    smoothness: Number
    exponent: int = 4
    published: bool = False

    def __post_init__(self) -> None:
        g = self.exponent
        whole = isinstance(g, int) and not isinstance(g, bool)
        require(whole and 2 <= g <= 32, "a whole exponent of 2 to 32", exponent=g)
        self._check(self.used / (2 * (g + 1) if self.published else g - 1))

    @property
    def scale(self) -> Fraction:
        if self.published:
            return 2 * (self.exponent + 1) / self.used
        return power_scale(self.used, self.dilation, self.exponent)

    def quantile(self, beta: float = 0.05) -> float:
        return _power_quantile(self.exponent, _tail(beta))

    def _draw(self, scale: Fraction, centre: Fraction, shape: Shape, rng: RandomSource | None) -> Integers:
        return rounded_power(scale, self.exponent, centre=centre, shape=shape, rng=rng)


@dataclass(frozen=True, kw_only=True, slots=True)
class LaplaceNoise(AdmissibleNoise):
    """Laplace noise: (epsilon, delta), with light tails.

    >>> noise = LaplaceNoise(epsilon=1, delta=1e-6, smoothness=0.05)
    >>> round(1 / float(noise.scale), 4), noise.privacy()
    (0.5321, ApproxDP(epsilon=1.0, delta=1e-06))
    """

    name: ClassVar[str] = "laplace"
    epsilon: Number
    delta: Number
    smoothness: Number

    def __post_init__(self) -> None:
        check_delta(self.delta, zero=False)
        self._check()
        _exists(self, laplace_scale(self.used, exact(self.delta), self.dilation))

    @property
    def scale(self) -> Fraction:
        return _exists(self, laplace_scale(self.used, exact(self.delta), self.dilation))

    def quantile(self, beta: float = 0.05) -> float:
        return -math.log(_tail(beta))

    def privacy(self, neighbours: Relation = None) -> ApproxDP:
        return ApproxDP(self.epsilon, self.delta, neighbours=neighbours)

    def _draw(self, scale: Fraction, centre: Fraction, shape: Shape, rng: RandomSource | None) -> Integers:
        return rounded_laplace(scale, centre=centre, shape=shape, rng=rng)


@dataclass(frozen=True, kw_only=True, slots=True)
class GaussianNoise(AdmissibleNoise):
    """Gaussian noise: (epsilon, delta), with the lightest tails.

    >>> noise = GaussianNoise(epsilon=1, delta=1e-6, smoothness=0.02)
    >>> round(float(noise.scale), 2), noise.privacy()
    (6.54, ApproxDP(epsilon=1.0, delta=1e-06))
    """

    name: ClassVar[str] = "gaussian"
    epsilon: Number
    delta: Number
    smoothness: Number

    def __post_init__(self) -> None:
        check_delta(self.delta, zero=False)
        self._check()
        _exists(self, self._alpha() or None)

    def _alpha(self) -> Fraction:
        return dilated_alpha(self.dilation, self.used, exact(self.delta))

    @property
    def scale(self) -> Fraction:
        return 1 / self._alpha()

    def quantile(self, beta: float = 0.05) -> float:
        from scipy.special import ndtri

        return -float(ndtri(_tail(beta) / 2))

    def privacy(self, neighbours: Relation = None) -> ApproxDP:
        return ApproxDP(self.epsilon, self.delta, neighbours=neighbours)

    def _draw(self, scale: Fraction, centre: Fraction, shape: Shape, rng: RandomSource | None) -> Integers:
        return rounded_gaussian(scale, centre=centre, shape=shape, rng=rng)


def _exists(noise: AdmissibleNoise, scale: Fraction | None) -> Fraction:
    if scale is None:
        wanted = f"a smoothness of {noise.smoothness}; take a smaller one"
        raise UnsupportedError(f"no {noise.name} noise has this epsilon and delta at {wanted}")
    return scale


def _tail(beta: float) -> float:
    require(0 < beta < 1, "0 < beta < 1", beta=beta)
    return beta


@lru_cache(maxsize=256)
def _power_quantile(exponent: int, beta: float) -> float:
    from scipy.integrate import quad
    from scipy.optimize import brentq

    g = exponent
    total = math.pi / g / math.sin(math.pi / g)  # of the density on the half-line

    def tail(u: float) -> float:  # Pr[|Z| > 1 / u]: at z = 1 / v the density is v^(g-2) / (1 + v^g)
        return quad(lambda v: v ** (g - 2) / (1 + v**g), 0, u)[0] / total

    high = 1.0
    while tail(high) < beta:
        high *= 2
    return 1 / float(brentq(lambda u: tail(u) - beta, 1e-300, high, xtol=1e-14))  # type: ignore[arg-type]


def noises(*, epsilon: Number, delta: Number, smoothness: Number, beta: float = 0.05) -> list[AdmissibleNoise]:
    """Every noise with this budget and smoothness, the best first.

    >>> [noise.name for noise in noises(epsilon=1, delta=1e-6, smoothness=0.04)]
    ['lomax', 'power', 'laplace', 'cauchy', 'gaussian']
    """
    check_delta(delta)
    return sorted(_candidates(epsilon, delta, smoothness, beta), key=lambda noise: noise.error(beta))


def _candidates(epsilon: Number, delta: Number, smoothness: Number, beta: float) -> Iterator[AdmissibleNoise]:
    yield CauchyNoise(epsilon=epsilon, smoothness=smoothness)
    yield LomaxNoise.best(epsilon=epsilon, smoothness=smoothness, beta=beta)
    if 3 * (exact(smoothness) + SLACK) < min(exact(epsilon), MOST):
        yield PowerNoise(epsilon=epsilon, smoothness=smoothness)
    if exact(delta) == 0:
        return
    for noise in (LaplaceNoise, GaussianNoise) if exact(delta) <= LIKELY else (LaplaceNoise,):
        try:
            yield noise(epsilon=epsilon, delta=delta, smoothness=smoothness)
        except UnsupportedError:
            continue


def best_noise(
    *, epsilon: Number, delta: Number, smoothness: Number | None = None, beta: float = 0.05
) -> AdmissibleNoise:
    """The noise with the least (1 - beta)-quantile for this budget, chosen from these numbers alone.

    Without a smoothness, the one that is best when the local sensitivity grows in
    proportion to the number of rows changed, as a median's does among evenly spread points:
    S is then proportional to the largest (k + 1) exp(-smoothness k).

    >>> best_noise(epsilon=1, delta=0, smoothness=0.7).name
    'cauchy'
    """
    check_epsilon(epsilon)
    check_delta(delta)
    if smoothness is not None:
        return noises(epsilon=epsilon, delta=delta, smoothness=smoothness, beta=beta)[0]
    return _tuned(exact(epsilon), exact(delta), beta)  # above MOST the same law, under the budget that was asked for


@lru_cache(maxsize=256)
def _tuned(epsilon: Fraction, delta: Fraction, beta: float) -> AdmissibleNoise:
    """The best smoothness of a grid, for a local sensitivity that grows evenly."""
    choices: list[tuple[float, AdmissibleNoise]] = []
    for k in range(1, 40):
        b = down(min(epsilon, MOST) * Fraction(k, 40))
        noise = noises(epsilon=tidy(epsilon), delta=tidy(delta), smoothness=b, beta=beta)[0]
        choices.append((noise.error(beta) * growth(b), noise))
    return min(choices, key=lambda choice: choice[0])[1]


def growth(smoothness: float) -> float:
    """The largest (k + 1) exp(-smoothness k) over whole k >= 0.

    >>> round(growth(0.2), 4)
    2.2466
    """
    k = max(0, math.floor(1 / smoothness) - 1)
    return max((j + 1) * math.exp(-smoothness * j) for j in (k, k + 1))
