"""How much noise a smooth sensitivity needs: the exact constants of six laws.

Setting (Nissim, Raskhodnikova, Smith 2007).  Neighbours x ~ x' have |q(x) - q(x')| <= min(S, S')
and S / S' between e^-b and e^b.  Noise c S(x) Z, Z of one of these laws, is then epsilon-DP:

    Cauchy          iff  1/c <= min(2 sinh(epsilon / 2), sqrt((e^epsilon - e^b)(e^b - e^-epsilon)))
    Lomax, a        iff  max(a ln(1 + 1/c), (a - 1) b, b + a ln(1 + e^-b / c)) <= epsilon
    1/(1 + |z|^g)   if   (g - 1)^((g-1)/g) / c + (g - 1) b <= epsilon,   g >= 2
    the same        if   c = 2 (g + 1) / epsilon and b <= epsilon / (2 (g + 1))   (as first published)

and (epsilon, delta)-DP for

    Laplace         delta = (1 - e^-b) exp(-(epsilon + b)/(e^b - 1)) cosh(1 / (c (e^b - 1))),   1/c + b <= epsilon
    Gaussian        see `dilated_gaussian`.

Every function below returns a bound on the safe side.  Proofs: docs/theory/smooth_sensitivity.md.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from discreet.errors import require
from discreet.privacy.enclosure import exp_down, exp_up, expm1_bounds, root_bounds
from discreet.privacy.number import down, up


@lru_cache(maxsize=4096)
def cauchy_scale(epsilon: Fraction, dilation: Fraction) -> Fraction:
    """The least c for Cauchy noise; dilation < epsilon.

    >>> round(1 / float(cauchy_scale(Fraction(1), Fraction(1, 2))), 6)  # 2 sinh(1/2): smoothing is free
    1.042191
    """
    # (2 sinh(epsilon/2))^2 = e^epsilon + e^-epsilon - 2
    shift = exp_down(epsilon) + exp_down(-epsilon) - 2
    both = (exp_down(epsilon) - exp_up(dilation)) * (exp_down(dilation) - exp_up(-epsilon))
    least = root_bounds(max(Fraction(0), min(shift, both)))[0]
    require(least > 0, "a smoothness that leaves epsilon something", epsilon=up(epsilon), smoothness=up(dilation))
    return Fraction(up(1 / least))


@lru_cache(maxsize=4096)
def lomax_scale(epsilon: Fraction, dilation: Fraction, exponent: Fraction) -> Fraction:
    """The least c for two-sided Lomax noise with 2 <= exponent <= 1 + epsilon / dilation; dilation < epsilon.

    >>> round(float(lomax_scale(Fraction(1), Fraction(1, 10), Fraction(11))), 3)
    10.613
    """
    slide = 1 / expm1_bounds(epsilon / exponent)[0]
    both = exp_up(-dilation) / expm1_bounds((epsilon - dilation) / exponent)[0]
    return Fraction(up(max(slide, both)))


@lru_cache(maxsize=4096)
def power_scale(epsilon: Fraction, dilation: Fraction, exponent: int) -> Fraction:
    """A c that suffices for noise of density ~ 1 / (1 + |z|^exponent); (exponent - 1) dilation < epsilon."""
    return Fraction(up(slide_cost(exponent) / (epsilon - (exponent - 1) * dilation)))


def slide_cost(exponent: int) -> Fraction:
    """(g - 1)^((g-1)/g), from above: the largest slope of ln(1 + |z|^g).

    >>> [round(float(slide_cost(g)), 5) for g in (2, 3, 4)]
    [1.0, 1.5874, 2.27951]
    """
    root = Fraction((exponent - 1) ** ((exponent - 1) / exponent))
    while root**exponent < (exponent - 1) ** (exponent - 1):
        root *= 1 + Fraction(1, 2**50)
    return root


def laplace_delta(epsilon: Fraction, slide: Fraction, dilation: Fraction) -> Fraction:
    """delta of Laplace noise S / slide, from above; 0 < dilation <= epsilon - slide.

    >>> f"{float(laplace_delta(Fraction(1), Fraction(1, 2), Fraction('0.053007'))):.2e}"
    '1.00e-06'
    """
    growth = expm1_bounds(dilation)[1]
    tails = exp_up(-(epsilon + dilation - slide) / growth) + exp_up(-(epsilon + dilation + slide) / growth)
    return (1 - exp_down(-dilation)) * tails / 2


@lru_cache(maxsize=4096)
def laplace_scale(epsilon: Fraction, delta: Fraction, dilation: Fraction) -> Fraction | None:
    """The least c for which Laplace noise has this delta, from above; None if there is none."""
    most = epsilon - dilation
    if most <= 0:
        return None
    if laplace_delta(epsilon, most, dilation) <= delta:
        return Fraction(up(1 / most))
    growth = math.expm1(float(dilation))
    # delta <= (1 - e^-b) exp((slide - epsilon - b)/growth), so this slide is a little too small at most
    logs = math.log(float(delta)) - math.log(-math.expm1(-float(dilation)))
    start = float(epsilon + dilation) + growth * logs
    for part in (1, 0.75, 0.5, 0.25, 0):  # what cosh leaves of the factor 2
        slide = Fraction(down(Fraction(start + part * growth * math.log(2)) * (1 - Fraction(1, 10**9))))
        if 0 < slide <= most and laplace_delta(epsilon, slide, dilation) <= delta:
            return Fraction(up(1 / slide))
    return None
