"""Sharing a budget among queries: how much noise k queries need, and how to split epsilon.

Theorem.  For k queries of sensitivity s at (epsilon, delta), with probability 1 - beta no
answer is off by more than alpha:

    Laplace, basic composition        scale k s / epsilon,              alpha = scale ln(k / beta)
    Laplace, closed form of the notes scale s / epsilon', see `closed_form_share`
    Laplace, optimal composition      scale s / epsilon*, the largest epsilon* that `optimal` allows
    Gaussian, analytic                sigma = s sqrt(k) sigma1(epsilon, delta), alpha its exact quantile.

Among splits of epsilon over Laplace counts with sensitivities s_i, the total variance
is least for epsilon_i proportional to s_i^(2/3).  The noise here is the continuous one:
a forecast.  The mechanisms draw discrete noise and state their own accuracy.
Proof: docs/theory/composition.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction

from discreet.composition.choose import calibrate
from discreet.composition.optimal import optimal
from discreet.composition.theorems import basic, closed_form_share
from discreet.errors import ParameterError, require
from discreet.privacy.event import LaplaceEvent, RepeatedEvent
from discreet.privacy.guarantee import ApproxDP, GaussianDP
from discreet.privacy.number import Number, down, exact


@dataclass(frozen=True, slots=True)
class NoiseForecast:
    """One way to answer k queries: the scale (or sigma) of each answer, and the largest error of all.

    >>> [(one.name, round(one.alpha)) for one in noise_forecasts(100, sensitivity=1, target=ApproxDP(1, 1e-6))]
    [('Gaussian, analytic', 147), ('Laplace, optimal', 317), ('Laplace, basic', 760), ('Laplace, closed form', 799)]
    """

    name: str
    scale: float
    alpha: float


def noise_forecasts(count: int, *, sensitivity: Number, target: ApproxDP, beta: float = 0.05) -> list[NoiseForecast]:
    """Every row of the table in the module docstring that applies, least error first.

    >>> noise_forecasts(100, sensitivity=1, target=ApproxDP(1.0, 1e-6))[0].name
    'Gaussian, analytic'
    """
    require(isinstance(count, int) and count >= 1, "count >= 1", count=count)
    require(0 < beta < 1, "0 < beta < 1", beta=beta)
    require(exact(sensitivity) > 0, "sensitivity > 0", sensitivity=sensitivity)
    require(exact(target.epsilon) > 0, "epsilon > 0", epsilon=target.epsilon)
    move, log = float(exact(sensitivity)), math.log(count / beta)
    scales = {"Laplace, basic": count * move / float(exact(target.epsilon))}
    if exact(target.delta) > 0:
        with suppress(ParameterError):  # where the closed form is false
            scales["Laplace, closed form"] = move / float(exact(closed_form_share(target, count=count).epsilon))
        scales["Laplace, optimal"] = move * _laplace_scale(count, target)
    rows = [NoiseForecast(name, scale, scale * log) for name, scale in scales.items()]
    if exact(target.delta) > 0:
        sigma = move * math.sqrt(count) * analytic_sigma(target)
        rows.append(NoiseForecast("Gaussian, analytic", sigma, sigma * _quantile(count, beta)))
    return sorted(rows, key=lambda row: row.alpha)


def _laplace_scale(count: int, target: ApproxDP) -> float:
    def queries(scale: float) -> RepeatedEvent:
        return RepeatedEvent(event=LaplaceEvent(scale=scale, sensitivity=1), count=count)

    return calibrate(queries, target, by=optimal, tolerance=1e-9)


def _quantile(count: int, beta: float) -> float:
    """z with Pr[max of `count` standard normals in absolute value > z] = beta."""
    from scipy.special import ndtri

    return -float(ndtri(-math.expm1(math.log1p(-beta) / count) / 2))


def analytic_sigma(target: ApproxDP) -> float:
    """The least sigma of continuous Gaussian noise at sensitivity 1 (Balle, Wang 2018), from above.

    >>> round(analytic_sigma(ApproxDP(1.0, 1e-6)), 6)
    4.224679
    """

    def normal(sigma: float) -> GaussianDP:
        return GaussianDP(1 / exact(sigma))

    return calibrate(normal, target, by=lambda items, delta: basic(items).to_approx(delta), tolerance=1e-10)


def split(epsilon: Number, sensitivities: Sequence[Number]) -> list[float]:
    """Shares of epsilon proportional to sensitivity^(2/3): the least total variance for Laplace noise.

    >>> split(1.0, [1, 1])
    [0.5, 0.5]
    """
    total, moves = exact(epsilon), [exact(move) for move in sensitivities]
    require(total > 0, "epsilon > 0", epsilon=epsilon)
    require(len(moves) > 0 and all(move > 0 for move in moves), "sensitivities > 0", sensitivities=sensitivities)
    weights = [Fraction(float(move) ** (2 / 3)) for move in moves]
    return [down(total * weight / sum(weights)) for weight in weights]


def joint_failure(betas: Sequence[float], *, independent: bool) -> float:
    """Pr[any part fails]: at most the sum; exactly 1 - prod (1 - beta_i) if the noises are independent.

    >>> joint_failure([0.05, 0.05], independent=False), round(joint_failure([0.05, 0.05], independent=True), 4)
    (0.1, 0.0975)
    """
    require(all(0 <= beta <= 1 for beta in betas), "0 <= beta <= 1", betas=betas)
    return 1 - math.prod(1 - beta for beta in betas) if independent else min(1.0, math.fsum(betas))
