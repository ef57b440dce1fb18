"""Fit the same estimator to two neighbours, the second time with every release as it was the first time.

Whatever is chosen from releases is then the same in both runs, so that what the mechanisms are fed differs by the one
row alone.  `moved` says how far it moved in each step, as a part of what the step declares: at most 1 if the proof is
right.  `cost` adds up what ran.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar

from discreet.attacks import replay
from discreet.learning import Pipeline
from discreet.learning.estimator import PrivateEstimator
from discreet.learning.stored import to_bytes
from discreet.privacy.event import (
    ComposedEvent,
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    PureEvent,
    RepeatedEvent,
    ZCDPEvent,
)
from discreet.privacy.gaussian_profile import unit_mu
from discreet.privacy.guarantee import ZCDP, PureDP
from discreet.privacy.number import exact
from discreet.release.allowance import EIGHTH_OF_PI, TAIL, Allowance

Data = TypeVar("Data")


def moved(_patch: object, run: Callable[[Data], object], first: Data, second: Data) -> list[float]:
    """For each step of `run`, how far what it was fed moved, as a part of what it declares."""
    found = replay(lambda data: shown(run(data)), (first, second))
    other = [wrong for wrong in found.violations if "times as far apart" not in wrong]
    assert other == []  # every public number is the same
    return list(found.parts)


def shown(result: object) -> object:
    """All that is public of a fitted model, as plain values; any other result is public as it is."""
    if isinstance(result, Pipeline):
        return [shown(step) for _, step in result.steps_]
    return to_bytes(result) if isinstance(result, PrivateEstimator) else result


def cost(event, budget) -> Fraction:
    """What an event costs, in the currency of a budget: epsilon, rho or mu^2."""
    match event:
        case ComposedEvent():
            return sum((cost(one, budget) for one in event.events), Fraction(0))
        case RepeatedEvent():
            return event.count * cost(event.event, budget)
        case LaplaceEvent():
            assert isinstance(budget, PureDP)
            return event.sensitivity / exact(event.scale)
        case GaussianEvent():
            square, sigma = round(exact(event.sensitivity) ** 2), exact(event.sigma)
            if isinstance(budget, ZCDP):
                return square / (2 * sigma**2)
            return square * unit_mu(sigma**2, TAIL + math.sqrt(square) / float(sigma)) ** 2
        case ExponentialEvent():
            epsilon = exact(event.epsilon)
            if isinstance(budget, PureDP):
                return epsilon
            return epsilon**2 / 8 if isinstance(budget, ZCDP) else epsilon**2 * EIGHTH_OF_PI
        case PureEvent():
            epsilon = exact(event.epsilon)
            if isinstance(budget, PureDP):
                return epsilon
            return (
                epsilon**2 / 2 if isinstance(budget, ZCDP) else epsilon**2 * 4 * EIGHTH_OF_PI
            )  # mu^2 = epsilon^2 pi / 2
        case ZCDPEvent():
            return exact(event.rho)
    raise AssertionError(event)


def spent(model, budget) -> float:
    """The part of the budget that a fitted model used, by what ran: Laplace noise alone is charged in epsilon."""
    event = model.event()
    pure = _laplace(event)
    paid = PureDP(budget.epsilon) if pure and not isinstance(budget, ZCDP) else budget
    return float(cost(event, paid) / Allowance(paid, entries=1).total)


def _laplace(event) -> bool:
    match event:
        case ComposedEvent():
            return any(_laplace(one) for one in event.events)
        case RepeatedEvent():
            return _laplace(event.event)
    return isinstance(event, LaplaceEvent)
