"""Units of several rows as groups: what a mechanism for one row may spend, and what it costs a unit.

Theorem (Dwork, Roth 2014; Bun, Steinke 2016).  Let a mechanism be epsilon-DP, or rho-zCDP, for one row added or
removed (or replaced).  For a unit of at most k rows it is k epsilon-DP, or k^2 rho-zCDP.  Noise of a fixed law on a
value that one row moves by s is noise on a value that the unit moves by at most k s.  Proof: docs/theory/synthesis.md.
"""

from __future__ import annotations

from discreet.errors import UnsupportedError
from discreet.privacy.event import (
    ApproxEvent,
    ComposedEvent,
    Event,
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    PureEvent,
    RepeatedEvent,
    ZCDPEvent,
)
from discreet.privacy.guarantee import ZCDP, ApproxDP, Guarantee, PureDP
from discreet.privacy.number import exact


def for_one_row(share: PureDP | ZCDP, rows_per_unit: int) -> PureDP | ZCDP:
    """The budget for one row with which a unit of so many rows costs the share.

    >>> for_one_row(PureDP(1), 4), for_one_row(ZCDP(1), 4)
    (PureDP(epsilon=0.25), ZCDP(rho=0.0625))
    """
    if isinstance(share, PureDP):
        return PureDP(exact(share.epsilon) / rows_per_unit, neighbours=share.neighbours)
    return ZCDP(exact(share.rho) / rows_per_unit**2, neighbours=share.neighbours)


def for_a_unit(event: Event, rows_per_unit: int) -> Event:
    """What ran, with the influence of a unit of so many rows instead of one.

    >>> for_a_unit(LaplaceEvent(scale=6, sensitivity=1), 3)
    LaplaceEvent(scale=Fraction(6, 1), sensitivity=3)
    """
    k = rows_per_unit
    match event:
        case LaplaceEvent():
            return LaplaceEvent(scale=event.scale, sensitivity=k * event.sensitivity)
        case GaussianEvent():
            return GaussianEvent(sigma=event.sigma, sensitivity=k * exact(event.sensitivity))
        case ExponentialEvent():
            return ExponentialEvent(epsilon=k * exact(event.epsilon))
        case PureEvent():
            return PureEvent(epsilon=k * exact(event.epsilon))
        case ZCDPEvent():
            return ZCDPEvent(rho=k * k * exact(event.rho))
        case ComposedEvent():
            return ComposedEvent(events=tuple(for_a_unit(one, k) for one in event.events))
        case RepeatedEvent():
            return RepeatedEvent(event=for_a_unit(event.event, k), count=event.count)
    raise UnsupportedError(f"what a {type(event).__name__} costs a group of rows is not settled here")


def as_event(promise: Guarantee) -> Event:
    """A promise as what ran, where nothing finer is known.

    >>> as_event(ZCDP(0.5))
    ZCDPEvent(rho=Fraction(1, 2))
    """
    match promise:
        case PureDP():
            return PureEvent(epsilon=promise.epsilon)
        case ZCDP():
            return ZCDPEvent(rho=promise.rho)
        case ApproxDP():
            return ApproxEvent(epsilon=promise.epsilon, delta=promise.delta)
    raise UnsupportedError(f"{type(promise).__name__} has no event")
