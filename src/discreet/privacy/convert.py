"""Conversions between currencies of privacy, each rounded toward the weaker promise.

Every function evaluates a formula of docs/theory/guarantees.md.  Where a formula holds
for every value of a free parameter (a Renyi order) the parameter is searched for in
floating point and the formula is then evaluated outward in rationals; where a root is
sought, the floating-point root is moved up until the inequality is certified in
rationals.  So no conversion rests on the error of a floating-point library.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from discreet.errors import require
from discreet.privacy import normal
from discreet.privacy.enclosure import exp_down, exp_up, expm1_bounds, log_up, root_bounds
from discreet.privacy.enclosure import root_up as root_up
from discreet.privacy.number import exact, up

_ZERO = Fraction(0)
FAINT = 8600  # Phi(-200) is below 10^-8600


def _weaker(value: Fraction) -> float | Fraction:
    """The value, at least 0, rounded up to a float, or kept where no float is large enough."""
    rounded = up(max(_ZERO, value))
    return rounded if math.isfinite(rounded) else value


def _check_delta(delta: Fraction) -> Fraction:
    require(0 < delta < 1, "0 < delta < 1", delta=float(delta))
    return delta


def group_factor(epsilon: Fraction, size: int) -> Fraction:
    """1 + e^epsilon + ... + e^((size - 1) epsilon), rounded up."""
    if epsilon == 0 or size == 1:
        return Fraction(size)
    return expm1_bounds(size * epsilon)[1] / expm1_bounds(epsilon)[0]


def group_delta(epsilon: Fraction, delta: Fraction, size: int) -> Fraction:
    """delta (e^(size epsilon) - 1) / (e^epsilon - 1), rounded up where irrational; 1 where it is 1 or more."""
    if delta == 0 or epsilon == 0 or size == 1:
        return min(Fraction(1), size * delta)
    if (size - 1) * epsilon > log_up(1 / delta):  # the last term of the sum alone is above 1 / delta
        return Fraction(1)
    return min(Fraction(1), exact(up(delta * group_factor(epsilon, size))))


def pure_to_approx(epsilon: Fraction, delta: Fraction) -> float | Fraction:
    """ln(e^epsilon - delta (1 + e^epsilon)), at least 0."""
    require(0 <= delta < 1, "0 <= delta < 1", delta=float(delta))
    if delta == 0:
        return epsilon
    inside = 1 - delta * (1 + exp_down(-epsilon))
    if inside <= 0:
        return 0.0
    return min(epsilon, _weaker(epsilon + log_up(inside)), key=exact)


def pure_to_gaussian(epsilon: Fraction) -> float | Fraction:
    """mu = -2 Phi^-1(1 / (1 + e^epsilon)), certified by Phi(-mu / 2) <= 1 / (1 + e^epsilon)."""
    from scipy.special import erfinv, ndtri_exp

    if epsilon > 600:  # Phi(-t) <= e^(-t^2 / 2) / 2 gives mu^2 <= 8 ln((1 + e^epsilon) / 2) <= 8 epsilon
        return root_up(8 * epsilon)
    if epsilon < Fraction(1, 10**30):  # mu = sqrt(pi / 2) epsilon (1 + O(epsilon^2)), and sqrt(pi / 2) < 1.2534
        return _weaker(epsilon * Fraction(12534, 10000))
    e = float(epsilon)
    if e < 1:  # near 0 the probability is near 1/2, and far out it is near 0: one form for each
        mu = 2 * math.sqrt(2) * float(erfinv(math.tanh(e / 2)))
    else:
        mu = -2 * float(ndtri_exp(-e - math.log1p(math.exp(-e))))
    target = 1 / (1 + exp_up(epsilon))
    digits = 60 + int(e)
    return _certified(mu, lambda m: normal.cdf_bounds(-m / 2, digits=digits)[1] <= target)


def _certified(root: float, holds: Callable[[Fraction], bool]) -> float:
    """The least tried float at or above `root` for which `holds`, an increasing property, is certain."""
    assert root > 0  # else the candidates would not move
    step = 2.0**-52
    candidate = root
    while not holds(exact(candidate)):
        candidate, step = root * (1 + step), 2 * step
    return candidate


def renyi_to_approx(order: Fraction, epsilon: Fraction, delta: Fraction) -> float | Fraction:
    """Canonne, Kamath, Steinke 2020, Proposition 12."""
    _check_delta(delta)
    return _weaker(epsilon + log_up(1 / (order * delta)) / (order - 1) + log_up(1 - 1 / order))


def zcdp_to_approx(rho: Fraction, delta: Fraction) -> float | Fraction:
    """The least of renyi_to_approx over orders, with epsilon = rho order; any order is valid."""
    _check_delta(delta)
    if rho == 0:
        return 0.0
    log_inverse = log_up(1 / delta)
    coarse = rho + root_bounds(4 * rho * log_inverse)[1]  # the order 1 + sqrt(ln(1 / delta) / rho), simplified
    if not Fraction(1, 10**250) < rho < 10**250:
        return _weaker(coarse)
    r, log_d = float(rho), -float(log_inverse)

    def bound(log_excess: float) -> float:  # order = 1 + e^log_excess
        excess = math.exp(log_excess)
        return r * (1 + excess) - (math.log1p(excess) + log_d) / excess - math.log1p(1 / excess)

    centre = 0.5 * (math.log(-log_d) - math.log(r)) if log_d < 0 else 0.0
    centre = max(-290.0, min(290.0, centre))
    order = 1 + exact(math.exp(_argmin(bound, centre - 12, centre + 12)))
    return min(_weaker(coarse), renyi_to_approx(order, rho * order, delta), key=exact)


def _argmin(f: Callable[[float], float], low: float, high: float) -> float:
    """Golden-section search from the best point of a grid; where it ends affects tightness only."""
    step = (high - low) / 96
    best = min((low + step * i for i in range(97)), key=f)
    low, high = best - step, best + step
    ratio = (math.sqrt(5) - 1) / 2
    for _ in range(60):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, right) if f(left) < f(right) else (left, high)
    return (low + high) / 2


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu) (Balle, Wang 2018), in floating point.

    With t = epsilon/mu - mu/2 and phi the normal density, phi(t) = e^epsilon phi(t + mu), so
    delta = phi(t) (R(t) - R(t + mu)) for the Mills ratio R(t) = sqrt(pi/2) erfcx(t / sqrt 2).
    An estimate, good to about 1e-9 relative; a promise uses `gaussian_delta_up`.
    """
    from scipy.special import erfcx, ndtr

    if mu == 0:
        return 0.0
    t = epsilon / mu - mu / 2
    if t < -5:  # delta is near 1: no cancellation to fear
        return float(ndtr(-t) - math.exp(min(700.0, epsilon)) * ndtr(-t - mu))

    def mills(s: float) -> float:
        return math.sqrt(math.pi / 2) * float(erfcx(s / math.sqrt(2)))

    middle = t + mu / 2
    difference = mills(t) - mills(t + mu) if mu > 1e-6 else mu * (1 - middle * mills(middle))  # R' = s R - 1
    return math.exp(-t * t / 2) / math.sqrt(2 * math.pi) * difference


def gaussian_delta_up(square: Fraction, epsilon: Fraction, *, digits: int = 40) -> Fraction:
    """The delta of mu-GDP at epsilon <= 2000, mu^2 = square, from above with an absolute error of 10^-digits."""
    require(epsilon <= 2000, "epsilon <= 2000", epsilon=float(epsilon))
    if square == 0:
        return _ZERO
    small = max(0, (square.denominator.bit_length() - square.numerator.bit_length()) * 302 // 2000)
    digits += 5 + small + int(epsilon * Fraction(4343, 10000))
    low, high = root_bounds(square, bits=8 * digits + 40)
    right, left = high / 2 - epsilon / high, -high / 2 - epsilon / low
    if right < -normal.LARGEST:
        return Fraction(1, 10 ** min(digits, FAINT))
    above = (
        normal.cdf_bounds(min(right, Fraction(normal.LARGEST)), digits=digits)[1]
        if right < normal.LARGEST
        else Fraction(1)
    )
    below = normal.cdf_bounds(left, digits=digits)[0] if left > -normal.LARGEST else _ZERO
    return above - exp_down(epsilon) * below


def gaussian_to_approx(square: Fraction, delta: Fraction) -> float | Fraction:
    """The least epsilon >= 0 with delta(mu, epsilon) <= delta, certified; far out, the bound through zCDP."""
    _check_delta(delta)
    fallback = zcdp_to_approx(square / 2, delta)
    if delta < Fraction(1, 10**250) or not Fraction(1, 10**60) < square < 10**4 or exact(fallback) > 1000:
        return fallback
    digits = 25 + len(str(delta.denominator // delta.numerator))
    if gaussian_delta_up(square, _ZERO, digits=digits) <= delta:
        return 0.0
    d, mu = float(delta), math.sqrt(float(square))
    low, high = 0.0, float(fallback)
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (low, middle) if gaussian_delta(mu, middle) <= d else (middle, high)
    return min(fallback, _certified(high, lambda e: gaussian_delta_up(square, e, digits=digits) <= delta), key=exact)
