"""Privacy profiles of discrete Laplace laws: plain, truncated, and bounded.

The profile of a pair of laws P, Q is delta(epsilon) = sum over z of max(0, P(z) - e^epsilon Q(z)).
Write a = e^(-1/scale).  For two copies of one law, `shift` apart, and both directions alike:

    discrete Laplace            loss at z: (|z - shift| - |z|) / scale, so the profile is
                                Pr[Z <= k] - e^epsilon Pr[Z <= k - shift], k = ceil((shift - epsilon scale) / 2) - 1
    truncated to [-A, A]        a^(A - shift + 1) (1 - a^shift) / (1 + a - 2 a^(A + 1)), at epsilon >= shift / scale
    bounded to m + 1 integers   the loss is at most shift / scale + ln(N(shift) / N(0)), where
                                N(j) / N(0) = 1 + a (1 - a^j) (1 - a^(m - j)) / (1 - a^(m + 1))

Proofs: docs/theory/truncated_laplace.md and docs/theory/bounded_laplace.md.  Everything is
evaluated in rationals and rounded up; the discrete Gaussian has `gaussian_profile`.
"""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.privacy.enclosure import LARGEST, exp_down, exp_up, expm1_bounds, log_up

_NEARLY = 1 - Fraction(1, 10**60)
_TINY = Fraction(1, 10**30)


def laplace_delta(scale: Fraction, shift: int, epsilon: Fraction) -> Fraction:
    """The profile of discrete Laplace noise, from above.

    >>> float(laplace_delta(Fraction(1), 1, Fraction(0)))  # tanh(1/2)
    0.46211715726...
    """
    if epsilon * scale >= shift:
        return Fraction(0)
    last = math.ceil((shift - epsilon * scale) / 2) - 1  # the last z whose loss exceeds epsilon
    return max(Fraction(0), _laplace_cdf(scale, last)[1] - exp_down(epsilon) * _laplace_cdf(scale, last - shift)[0])


def _laplace_cdf(scale: Fraction, k: int) -> tuple[Fraction, Fraction]:
    """Pr[Z <= k] = a^-k / (1 + a) for k <= 0 and 1 - a^(k + 1) / (1 + a) above, from below and above."""
    rate = 1 / scale
    bottom = 1 + exp_up(-rate), 1 + exp_down(-rate)
    if k <= 0:
        return exp_down(k * rate) / bottom[0], exp_up(k * rate) / bottom[1]
    return 1 - exp_up(-(k + 1) * rate) / bottom[1], 1 - exp_down(-(k + 1) * rate) / bottom[0]


def truncated_laplace_delta(scale: Fraction, bound: int, shift: int) -> Fraction:
    """delta at epsilon = shift / scale of Laplace noise on [-bound, bound], from above; needs shift <= bound + 1."""
    rate = 1 / scale
    top = exp_up(-(bound - shift + 1) * rate) * _one_minus_exp(shift * rate)[1]
    bottom = _one_minus_exp(rate)[0] + 2 * exp_down(-rate) * _one_minus_exp(bound * rate)[0]
    return min(Fraction(1), top / bottom)


def bounded_laplace_loss(scale: Fraction, span: int, shift: int) -> Fraction:
    """The largest privacy loss of Laplace noise confined to span + 1 integers, between centres `shift` apart."""
    rate, step = 1 / scale, min(shift, span)
    if step == 0:
        return Fraction(0)
    top = exp_up(-rate) * _one_minus_exp(step * rate)[1] * _one_minus_exp((span - step) * rate)[1]
    excess = top / _one_minus_exp((span + 1) * rate)[0]
    return step * rate + (log_up(1 + excess) if excess > _TINY else excess)  # ln(1 + y) <= y


def _one_minus_exp(x: Fraction) -> tuple[Fraction, Fraction]:
    """1 - e^-x for x >= 0, from below and above, with full relative precision."""
    if x > LARGEST // 2:
        return _NEARLY, Fraction(1)
    low, high = expm1_bounds(x)
    return low * exp_down(-x), min(Fraction(1), high * exp_up(-x))
