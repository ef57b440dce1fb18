"""Conversions between currencies of privacy, each rounded toward the weaker promise.

Every function evaluates a formula of docs/theory/guarantees.md in floating point
and then adds `SLACK`, which is far above the error of the evaluation, so that the
printed epsilon (or mu, or factor) is never below the true one.
"""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.errors import require
from discreet.privacy.number import up

SLACK = 1e-12  # relative; float evaluation here is good to about 1e-14


def _safe(value: float) -> float:
    """A float certainly above the real number that `value` approximates."""
    return up(max(0.0, value) * (1 + SLACK) + 1e-15)


def _check_delta(delta: Fraction) -> float:
    require(0 < delta < 1, "0 < delta < 1", delta=float(delta))
    return float(delta)


def root_up(square: Fraction) -> float | Fraction:
    """The square root, exactly if rational and otherwise rounded up."""
    p, q = math.isqrt(square.numerator), math.isqrt(square.denominator)
    if p * p == square.numerator and q * q == square.denominator:
        return Fraction(p, q)
    shift = max(0, 160 - square.numerator.bit_length() + square.denominator.bit_length())
    shift += shift % 2
    scaled = (square.numerator << shift) // square.denominator
    return up(Fraction(math.isqrt(scaled) + 1, 1 << (shift // 2)))


def group_factor(epsilon: Fraction, size: int) -> Fraction:
    """1 + e^epsilon + ... + e^((size - 1) epsilon), rounded up."""
    if epsilon == 0 or size == 1:
        return Fraction(size)
    value = math.expm1(size * float(epsilon)) / math.expm1(float(epsilon))
    return Fraction(value * (1 + SLACK))


def pure_to_approx(epsilon: Fraction, delta: Fraction) -> float | Fraction:
    """ln(e^epsilon - delta (1 + e^epsilon)), at least 0."""
    require(0 <= delta < 1, "0 <= delta < 1", delta=float(delta))
    if delta == 0:
        return epsilon
    inside = 1 - float(delta) * (1 + math.exp(-float(epsilon)))
    return 0.0 if inside <= math.exp(-float(epsilon)) else _safe(float(epsilon) + math.log(inside))


def pure_to_gaussian(epsilon: Fraction) -> float:
    """-2 Phi^-1(1 / (1 + e^epsilon))."""
    from scipy.special import ndtri

    return _safe(-2 * float(ndtri(1 / (1 + math.exp(float(epsilon))))))


def renyi_to_approx(order: Fraction, epsilon: Fraction, delta: Fraction) -> float:
    """Canonne, Kamath, Steinke 2020, Proposition 12."""
    d, a = _check_delta(delta), float(order)
    return _safe(float(epsilon) - math.log(a * d) / (a - 1) + math.log1p(-1 / a))


def zcdp_to_approx(rho: Fraction, delta: Fraction) -> float:
    """The least of renyi_to_approx over orders, with epsilon = rho order; any order is valid."""
    d, r = _check_delta(delta), float(rho)
    if r == 0:
        return 0.0

    def bound(log_excess: float) -> float:  # order = 1 + e^log_excess
        excess = math.exp(log_excess)
        order = 1 + excess
        return r * order - (math.log(order) + math.log(d)) / excess + math.log(excess / order)

    return _safe(_least(bound, -30.0, 60.0))


def _least(f, low: float, high: float) -> float:  # noqa: ANN001 - a unimodal function of one real
    """Golden-section search on a grid-bracketed unimodal function; returns an attained value."""
    grid = [low + (high - low) * i / 360 for i in range(361)]
    best = min(grid, key=f)
    low, high = max(low, best - 0.25), min(high, best + 0.25)
    ratio = (math.sqrt(5) - 1) / 2
    for _ in range(80):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, right) if f(left) < f(right) else (left, high)
    return min(f((low + high) / 2), f(best))


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu) (Balle, Wang 2018), without cancellation.

    With t = epsilon/mu - mu/2 and phi the normal density, phi(t) = e^epsilon phi(t + mu), so
    delta = phi(t) (R(t) - R(t + mu)) for the Mills ratio R(t) = sqrt(pi/2) erfcx(t / sqrt 2).
    """
    from scipy.special import erfcx, ndtr

    if mu == 0:
        return 0.0
    t = epsilon / mu - mu / 2
    if t < -5:  # delta is near 1: no cancellation to fear
        return float(ndtr(-t) - math.exp(min(700.0, epsilon)) * ndtr(-t - mu))
    mills = math.sqrt(math.pi / 2) * (erfcx(t / math.sqrt(2)) - erfcx((t + mu) / math.sqrt(2)))
    return float(math.exp(-t * t / 2) / math.sqrt(2 * math.pi) * mills)


def gaussian_to_approx(square: Fraction, delta: Fraction) -> float:
    """The least epsilon >= 0 with gaussian_delta(mu, epsilon) <= delta, from above."""
    d, mu = _check_delta(delta), math.sqrt(float(square))
    target = d * (1 - 1e-11)
    if gaussian_delta(mu, 0.0) <= target:
        return 0.0
    low, high = 0.0, 1.0
    while gaussian_delta(mu, high) > target:
        low, high = high, 2 * high
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (low, middle) if gaussian_delta(mu, middle) <= target else (middle, high)
    return _safe(high)
