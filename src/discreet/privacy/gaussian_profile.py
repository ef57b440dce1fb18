"""The privacy profile of discrete Gaussian noise, Pr[Z = k] ~ exp(-k^2 / (2 variance)).

Scalar theorem.  For two copies `shift` apart, with t = epsilon variance / shift - shift / 2,

    delta(epsilon) = sum over k > t of Pr[Z = k] (1 - exp(-(k - t) shift / variance)),

in both directions, and it grows with the shift.  Up to sigma = `LARGE` the sum is enumerated;
beyond, it is at most the delta of the continuous law plus the largest term, since the terms
rise and then fall and the normaliser is at least sigma sqrt(2 pi) (Poisson summation).

Vector theorem.  Let z(k) = Phi^-1(Pr[Z < k]).  Clamped to a window of probability 1 - eta, the
noise is exactly mu_1-Gaussian DP per unit step, mu_1 = max over the window of z(k) - z(k - 1);
so an integer vector that moves by D in l2 has at most the delta of (D mu_1)-GDP, plus eta for
each entry that moves.  Here mu_1 = (1 + 1/(24 variance) + ...) / sigma.

Proofs: docs/theory/gaussian.md.  Sums and profiles are rounded up; see `SLACK` for mu_1.
"""

from __future__ import annotations

import functools
import math
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction

from discreet.privacy import convert
from discreet.privacy.enclosure import exp_up, root_bounds

LARGE = 500  # enumerate up to this sigma
REACH = 160  # the enumeration stops where k^2 / variance has grown by this: e^-80 of the largest weight
SLACK = 1e-9  # relative, on mu_1: far above the error of scipy's normal quantile, which is about 1e-14
PI = Fraction("3.14159265358979323846264338327950288419716")  # from below
_ONE, _CONTEXT = Decimal(1), Context(prec=60, Emax=MAX_EMAX, Emin=MIN_EMIN)
_ROUNDING = 1 + Fraction(1, 10**40)  # covers 10^9 relative errors of 10^-50 in all
_NEGLIGIBLE = Fraction(1, 10**400)


def gaussian_delta(variance: Fraction, shift: int, epsilon: Fraction) -> Fraction:
    """delta(epsilon) for one integer that moves by at most `shift`, from above.

    >>> f"{float(gaussian_delta(Fraction('4.2308') ** 2, 1, Fraction(1))):.4e}"
    '9.9993e-07'
    """
    turn = epsilon * variance / shift - Fraction(shift, 2)  # t
    if turn > 0 and turn * turn > 2000 * variance:
        return _NEGLIGIBLE  # delta <= Pr[Z >= t] <= exp(-t^2 / (2 variance)) <= e^-1000
    if turn < 0 and turn * turn > 100 * variance:
        return Fraction(1)
    if variance > LARGE**2:
        return min(Fraction(1), _smooth(variance, shift, epsilon, turn))
    return min(Fraction(1), _enumerated(variance, shift, turn) / _normaliser(variance) * _ROUNDING)


def _enumerated(variance: Fraction, shift: int, turn: Fraction) -> Fraction:
    """The sum over k > t of exp(-k^2 / (2 variance)) (1 - exp(-(k - t) shift / variance)), from above.

    Weights follow by two multiplications each; those beyond the window are bounded by a geometric
    series, and the absolute error of each factor in brackets by 10^-50.
    """
    first = math.floor(turn) + 1
    last = math.isqrt(max(first, 0) ** 2 + math.ceil(REACH * variance)) + 2
    total, weight = _weights(variance, first, last, gap=(first - turn) * shift / variance, rate=shift / variance)
    ratio = exp_up(-(2 * last + 1) / (2 * variance))
    return _rational(total) + _rational(weight) * ratio / (1 - ratio) + 2 * _NEGLIGIBLE  # what _rational may drop


def _weights(variance: Fraction, first: int, last: int, *, gap: Fraction, rate: Fraction) -> tuple[Decimal, Decimal]:
    """The enumerated sum over first .. last, and the last weight."""
    times, less, more = _CONTEXT.multiply, _CONTEXT.subtract, _CONTEXT.add
    weight, growth = _exp(-Fraction(first * first) / (2 * variance)), _exp(Fraction(-(2 * first + 1)) / (2 * variance))
    curve, fall, step = _exp(-1 / variance), _exp(-gap), _exp(-rate)
    ceiling = more(_ONE, Decimal("1e-50"))
    total = Decimal(0)
    for k in range(first, last + 1):
        total = more(total, times(weight, less(ceiling, fall)))
        if k < last:
            weight, growth, fall = times(weight, growth), times(growth, curve), times(fall, step)
    return total, weight


@functools.lru_cache(maxsize=1024)
def _normaliser(variance: Fraction) -> Fraction:
    """The sum of exp(-k^2 / (2 variance)), from below."""
    if variance >= 25:  # the sum is sigma sqrt(2 pi) (1 + 2 e^(-2 pi^2 variance) + ...)
        return root_bounds(2 * PI * variance)[0]
    last = math.isqrt(math.ceil(REACH * variance)) + 2
    total, _ = _weights(variance, 1, last, gap=Fraction(10**6), rate=Fraction(0))
    return 1 + 2 * _rational(total) / _ROUNDING


def _exp(x: Fraction) -> Decimal:
    """e^x with an error of 10^-58 relative: the argument carries enough digits."""
    context = Context(prec=60 + len(str(abs(x.numerator) // x.denominator)), Emax=MAX_EMAX, Emin=MIN_EMIN)
    return _CONTEXT.plus(context.exp(context.divide(Decimal(x.numerator), Decimal(x.denominator))))


def _rational(x: Decimal) -> Fraction:
    """The number, or 0 where it is below `_NEGLIGIBLE`: a rational with a million digits helps nobody."""
    return Fraction(x) if x.adjusted() >= -400 else Fraction(0)


def _smooth(variance: Fraction, shift: int, epsilon: Fraction, turn: Fraction) -> Fraction:
    """The continuous delta plus the largest term of the sum over sigma sqrt(2 pi), from above."""
    if epsilon > 2000:
        return _NEGLIGIBLE + (exp_up(-turn * turn / (2 * variance)) if turn > 0 else Fraction(1))
    sigma = root_bounds(variance)[0]
    peak = shift / sigma * (Fraction(61, 100) + max(Fraction(0), -turn) / sigma)  # e^(-1/2) < 0.61
    if turn > 0:  # max over u of e^(-t u) (1 - e^(-shift u)) at u in units of the variance
        power = turn / shift * Fraction(math.log1p(float(min(shift / turn, Fraction(10**300)))) * (1 - 1e-12))
        peak = min(peak, exp_up(-power) * shift / (turn + shift) * exp_up(-turn * turn / (2 * variance)))
    digits = 20 + _size(variance) + int(max(Fraction(0), turn) ** 2 / variance / 4)
    smooth = convert.gaussian_delta_up(shift * shift / variance, epsilon, digits=digits)
    return smooth + min(peak, Fraction(1)) / root_bounds(2 * PI * variance)[0]


def _size(x: Fraction) -> int:
    """Decimal digits before the point."""
    return len(str(x.numerator // x.denominator))


def gaussian_vector_delta(variance: Fraction, square: int, entries: int, epsilon: Fraction) -> Fraction:
    """delta(epsilon) for an integer vector that moves by l2^2 <= square in at most `entries` entries, from above."""
    if square == 1 or entries == 1:
        return gaussian_delta(variance, math.isqrt(square), epsilon)
    if square > 100 * variance or epsilon > 2000:
        return Fraction(1)
    moved, distance = min(entries, square), math.sqrt(square / variance)
    inside = 12.0  # standard deviations
    while True:
        mu = unit_mu(variance, inside + distance)
        total = convert.gaussian_delta_up(square * mu * mu, epsilon, digits=30 + int(inside * inside / 4))
        outside = moved * 2 * exp_up(-(Fraction(inside) ** 2) / 2)
        if inside > 36 or outside < total / 10**6:
            return min(Fraction(1), total + outside)  # Pr[|Z| >= c sigma] <= 2 exp(-c^2 / 2): subgaussian
        inside += 4


def unit_mu(variance: Fraction, reach: float) -> Fraction:
    """mu_1: the largest z(k) - z(k - 1) for |k| up to `reach` standard deviations, from above."""
    if variance > LARGE**2:  # |z(k) - (k - 1/2) / sigma| <= reach / (6 variance) in the window
        sigma = root_bounds(variance)[0]
        return 1 / sigma + Fraction(reach) / (3 * variance)
    return Fraction(_enumerated_mu(float(variance), reach) * (1 + SLACK))


@functools.lru_cache(maxsize=256)
def _enumerated_mu(variance: float, reach: float) -> float:
    import numpy as np
    from scipy.special import ndtri_exp

    sigma = math.sqrt(variance)
    inner = math.ceil(reach * sigma) + 2
    k = np.arange(inner + math.ceil(15 * sigma) + 15, dtype=np.float64)
    logs = np.logaddexp.accumulate((-k * k / (2 * variance))[::-1])[::-1]  # ln of the sums over j >= k
    tail = logs[1 : inner + 1] - math.log1p(2 * math.exp(logs[1]))  # ln Pr[Z >= k]
    z = -ndtri_exp(tail)  # z(1), z(2), ...; z(0) = -z(1)
    return float(max(2 * z[0], np.max(np.diff(z), initial=0.0)))
