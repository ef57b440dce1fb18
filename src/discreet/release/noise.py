"""The noise for a vector of integers under any budget: Laplace for pure budgets, Gaussian for the others.

Theorem.  Let v(x) be integers with ||v(x) - v(x')||_1 <= l1 and ||v(x) - v(x')||_2^2 <= square for neighbours.  Then

    PureDP(epsilon)           discrete Laplace noise of scale l1 / epsilon
    ZCDP(rho)                 discrete Gaussian noise of variance square / (2 rho)
    ApproxDP(epsilon, delta)  discrete Gaussian noise of the least sigma for (epsilon, delta), or Laplace
                              noise of scale l1 / epsilon where its variance is less

keep the promise.  These are the mechanisms of docs/theory/laplace.md and docs/theory/gaussian.md; the choice
depends on public numbers only.
"""

from __future__ import annotations

from fractions import Fraction

from discreet.errors import UnsupportedError, require
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.privacy.enclosure import root_up
from discreet.privacy.guarantee import ZCDP, ApproxDP, Guarantee, PureDP
from discreet.privacy.neighbours import AddRemove, Neighbours, Replace
from discreet.privacy.number import exact

Noise = Laplace | Gaussian
SMALLEST = Fraction(1, 1 << 1000)  # of the rates that a float tells from zero
LARGEST = 1 << 10  # of those whose noise is not zero for certain


def noise_for(budget: Guarantee, *, absolute: int, square: int, size: int) -> Noise:
    """The mechanism with the least variance for `size` integers of these sensitivities.

    >>> noise_for(PureDP(0.5), absolute=3, square=3, size=3).scale
    Fraction(6, 1)
    >>> round(float(noise_for(ZCDP(0.5), absolute=3, square=3, size=3).sigma) ** 2, 9)
    3.0
    """
    require(absolute >= 1 and square >= 1, "sensitivities of at least 1", absolute=absolute, square=square)
    match budget:
        case PureDP():
            return Laplace(epsilon=budget.epsilon, sensitivity=absolute)
        case ZCDP():
            require(exact(budget.rho) > 0, "rho > 0", rho=budget.rho)
            sensitivity = root_up(Fraction(square))
            told = Gaussian.with_sigma(1, sensitivity=sensitivity).event().sensitivity  # as the accountant reads it
            sigma = root_up(exact(told) ** 2 / (2 * exact(budget.rho)))
            return Gaussian.with_sigma(sigma, sensitivity=sensitivity)
        case ApproxDP():
            laplace = Laplace(epsilon=budget.epsilon, sensitivity=absolute)
            if exact(budget.delta) == 0:
                return laplace
            gaussian = Gaussian(
                epsilon=budget.epsilon, delta=budget.delta, sensitivity=root_up(Fraction(square)), dimension=size
            )
            return laplace if variance(laplace) <= variance(gaussian) else gaussian
    raise UnsupportedError(f"a release is paid in PureDP, ApproxDP or ZCDP, got {type(budget).__name__}")


def variance(noise: Noise) -> float:
    """The variance of each entry: exact for Laplace, that of the continuous law (an upper bound) for Gaussian.

    It is infinite where no float is as large.

    >>> variance(Laplace(epsilon=2, sensitivity=2)), variance(Laplace(epsilon="1e-200", sensitivity=1))
    (1.841347..., inf)
    """
    import math

    if isinstance(noise, Laplace):
        rate = float(min(max(1 / exact(noise.scale), SMALLEST), LARGEST))
        short = -math.expm1(-rate)  # never zero, as 1 - exp(-rate) would be for a scale of 1e16
        return 2 * math.exp(-rate) / short / short
    sigma = float(min(exact(noise.sigma), 1 / SMALLEST))
    return sigma * sigma


def relation_for(budget: Guarantee, *, n: int | None) -> type[Neighbours]:
    """The relation of a release: the budget's, or else Replace where n is public and AddRemove where it is not.

    >>> relation_for(PureDP(1), n=None).__name__, relation_for(PureDP(1), n=100).__name__
    ('AddRemove', 'Replace')
    """
    if n is not None:
        require(isinstance(n, int) and not isinstance(n, bool) and n >= 1, "an integer n >= 1", n=n)
    require(isinstance(budget, Guarantee), "a budget, such as PureDP(1)", budget=budget)
    if budget.neighbours is not None:
        return budget.neighbours
    return AddRemove if n is None else Replace
