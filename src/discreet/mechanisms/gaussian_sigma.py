"""How much Gaussian noise: the classical, the analytic and the discrete answer.

    classical   sigma = sensitivity sqrt(2 ln(1.25 / delta)) / epsilon, proved for 0 < epsilon < 1 only and
                false beyond (first at epsilon = 5.75 .. 9.65, by delta); a calculator, used by no mechanism
    analytic    the least sigma for continuous noise (Balle, Wang 2018)
    discrete    the least sigma for integer noise; a little more than the analytic one

Theory: docs/theory/gaussian.md.  Only the discrete answer is a promise, and it is certified
by `gaussian_profile`: whatever the search does, the sigma it returns meets the target.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from discreet.errors import UnsupportedError, require
from discreet.privacy.convert import gaussian_delta as continuous_delta
from discreet.privacy.convert import zcdp_to_approx
from discreet.privacy.gaussian_profile import gaussian_vector_delta
from discreet.privacy.number import Number, exact

PRECISION = 2.0**-33  # relative, on sigma


def classical_sigma(*, epsilon: Number, delta: Number, sensitivity: Number) -> float:
    """The textbook formula, inside the range of its proof.

    >>> round(classical_sigma(epsilon=0.1, delta=0.1, sensitivity=1) ** 2, 4)
    505.1457
    """
    _check(epsilon, delta, sensitivity)
    if exact(epsilon) >= 1:
        raise UnsupportedError(
            f"the classical Gaussian formula is proved for 0 < epsilon < 1 only, got epsilon={epsilon!r};"
            " use analytic_sigma, or Gaussian(epsilon=, delta=, sensitivity=)"
        )
    return float(exact(sensitivity) / exact(epsilon)) * math.sqrt(2 * math.log(1.25 / float(exact(delta))))


def analytic_sigma(*, epsilon: Number, delta: Number, sensitivity: Number) -> float:
    """The least sigma for which continuous Gaussian noise is (epsilon, delta)-DP.

    >>> round(analytic_sigma(epsilon=1, delta=1e-6, sensitivity=1), 6)
    4.224679
    """
    _check(epsilon, delta, sensitivity)
    e, d = float(exact(epsilon)), float(exact(delta))
    low, high = -1020.0, 1020.0  # log2 of mu = sensitivity / sigma
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if continuous_delta(2.0**middle, e) <= d else (low, middle)
    return float(exact(sensitivity)) / 2.0**low


@lru_cache(maxsize=1024)
def discrete_sigma(epsilon: Fraction, delta: Fraction, square: int, entries: int) -> float:
    """The least sigma, to `PRECISION`, for integer vectors that move by l2^2 <= square in at most `entries` entries."""

    def holds(sigma: float) -> bool:
        variance = exact(sigma) ** 2
        if gaussian_vector_delta(variance, square, entries, epsilon) <= delta:
            return True
        return entries > 1 < square and exact(zcdp_to_approx(square / (2 * variance), delta)) <= epsilon

    start = analytic_sigma(epsilon=min(epsilon, Fraction(10**9)), delta=delta, sensitivity=Fraction(math.isqrt(square)))
    return least(holds, start)


def least(holds: Callable[[float], bool], start: float) -> float:
    """The least x near `start` at which `holds`, to `PRECISION`; x itself has been tried and holds."""
    high, grow = start, 2.0**-10
    while not holds(high):
        high, grow = high * (1 + grow), min(1.0, 2 * grow)
    low, grow = high / (1 + grow), grow
    while holds(low):
        high, low, grow = low, low / (1 + grow), min(1.0, 2 * grow)
    while high - low > PRECISION * high:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _check(epsilon: Number, delta: Number, sensitivity: Number) -> None:
    require(exact(epsilon) > 0, "epsilon > 0", epsilon=epsilon)
    require(0 < exact(delta) < 1, "0 < delta < 1", delta=delta)
    require(exact(sensitivity) > 0, "sensitivity > 0", sensitivity=sensitivity)
