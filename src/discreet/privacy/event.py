"""What ran: frozen, serialisable values from which any accountant can work out the cost.

An event says exactly what was released and nothing about what it cost.  Classes
here are never removed and never change meaning, so that a stored ledger loads for
ever; a new meaning is a new class.  Each docstring states the law and the bound on
one unit's influence that the event asserts.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from numbers import Integral

from discreet.errors import LedgerError, require
from discreet.privacy.number import Number, exact

_KIND = "kind"  # the key that names the class; no field may be called so


class Event:
    """Base of the closed set of events."""

    __slots__ = ()

    def to_dict(self) -> dict[str, object]:
        """A JSON-ready form; numbers are exact, as strings.

        >>> PureEvent(epsilon=0.1).to_dict()
        {'kind': 'PureEvent', 'epsilon': '1/10'}
        """
        return {_KIND: type(self).__name__} | {f.name: _encode(getattr(self, f.name)) for f in fields(self)}  # type: ignore[arg-type]


def _encode(value: object) -> object:
    match value:
        case Event():
            return value.to_dict()
        case tuple():
            return [_encode(item) for item in value]
        case bool() | int():
            return value
        case _:
            return str(exact(value))  # type: ignore[arg-type]


def _exactly(event: Event, *names: str, above: int | None = None, least: int | None = None) -> None:
    """Store numbers exactly, after checking them against a strict or a weak lower bound."""
    for name in names:
        given = getattr(event, name)
        value = exact(given)
        if above is not None:
            require(value > above, f"{name} > {above}", **{name: given})
        if least is not None:
            require(value >= least, f"{name} >= {least}", **{name: given})
        object.__setattr__(event, name, value)


def _whole(event: Event, name: str) -> None:
    """Store a whole number of at least 1."""
    given = getattr(event, name)
    whole = isinstance(given, Integral) and not isinstance(given, bool)
    require(whole and int(given) >= 1, f"a whole number {name} >= 1", **{name: given})
    object.__setattr__(event, name, int(given))


def _all_events(*values: object) -> None:
    for value in values:
        require(isinstance(value, Event), "an event", event=value)


@dataclass(frozen=True, kw_only=True, slots=True)
class PureEvent(Event):
    """Some epsilon-DP mechanism."""

    epsilon: Number

    def __post_init__(self) -> None:
        _exactly(self, "epsilon", least=0)


@dataclass(frozen=True, kw_only=True, slots=True)
class ApproxEvent(Event):
    """Some (epsilon, delta)-DP mechanism."""

    epsilon: Number
    delta: Number

    def __post_init__(self) -> None:
        _exactly(self, "epsilon", "delta", least=0)
        require(exact(self.delta) < 1, "0 <= delta < 1", delta=self.delta)


@dataclass(frozen=True, kw_only=True, slots=True)
class ZCDPEvent(Event):
    """Some rho-zCDP mechanism."""

    rho: Number

    def __post_init__(self) -> None:
        _exactly(self, "rho", least=0)


@dataclass(frozen=True, kw_only=True, slots=True)
class LaplaceEvent(Event):
    """An integer vector plus independent discrete Laplace noise, Pr[z] ~ exp(-|z| / scale).

    Neighbours move the vector by at most `sensitivity` in l1.
    """

    scale: Number
    sensitivity: int

    def __post_init__(self) -> None:
        _exactly(self, "scale", above=0)
        _whole(self, "sensitivity")


@dataclass(frozen=True, kw_only=True, slots=True)
class GaussianEvent(Event):
    """An integer vector plus independent discrete Gaussian noise, Pr[z] ~ exp(-z^2 / (2 sigma^2)).

    Neighbours move the vector by at most `sensitivity` in l2.
    """

    sigma: Number
    sensitivity: Number

    def __post_init__(self) -> None:
        _exactly(self, "sigma", "sensitivity", above=0)


@dataclass(frozen=True, kw_only=True, slots=True)
class RandomizedResponseEvent(Event):
    """One bit kept with probability e^epsilon / (1 + e^epsilon) and flipped otherwise."""

    epsilon: Number

    def __post_init__(self) -> None:
        _exactly(self, "epsilon", least=0)


@dataclass(frozen=True, kw_only=True, slots=True)
class ExponentialEvent(Event):
    """The exponential mechanism (Gumbel noise): log-ratios lie in an interval of length epsilon.

    Bounded range: epsilon-DP and epsilon^2 / 8 - zCDP (Dong, Durfee, Rogers 2020; Cesar, Rogers 2021).
    """

    epsilon: Number

    def __post_init__(self) -> None:
        _exactly(self, "epsilon", least=0)


@dataclass(frozen=True, kw_only=True, slots=True)
class ComposedEvent(Event):
    """Several events on the same data, one after another."""

    events: tuple[Event, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "events", tuple(self.events))
        _all_events(*self.events)


@dataclass(frozen=True, kw_only=True, slots=True)
class RepeatedEvent(Event):
    """The same event `count` times."""

    event: Event
    count: int

    def __post_init__(self) -> None:
        _all_events(self.event)
        _whole(self, "count")


@dataclass(frozen=True, kw_only=True, slots=True)
class PoissonSampledEvent(Event):
    """The event on a Poisson sample: each unit is in with probability `rate`; AddRemove neighbours."""

    rate: Number
    event: Event

    def __post_init__(self) -> None:
        _exactly(self, "rate")
        require(0 <= exact(self.rate) <= 1, "0 <= rate <= 1", rate=self.rate)
        _all_events(self.event)


_CLASSES = {
    cls.__name__: cls
    for cls in (
        PureEvent, ApproxEvent, ZCDPEvent, LaplaceEvent, GaussianEvent, RandomizedResponseEvent,
        ExponentialEvent, ComposedEvent, RepeatedEvent, PoissonSampledEvent,
    )
}  # fmt: skip


def from_dict(record: dict[str, object]) -> Event:
    """Read back what `to_dict` wrote; an unknown or ill-formed event is refused, never guessed.

    >>> from_dict(PureEvent(epsilon=0.1).to_dict())
    PureEvent(epsilon=Fraction(1, 10))
    """
    name = record.get(_KIND)
    cls = _CLASSES.get(str(name))
    if cls is None:
        raise LedgerError(f"unknown event {name!r}")
    try:
        return cls(**{key: _decode(value) for key, value in record.items() if key != _KIND})  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:  # ParameterError is one of the latter
        raise LedgerError(f"ill-formed {cls.__name__}: {error}") from None


def _decode(value: object) -> object:
    match value:
        case dict():
            return from_dict(value)
        case list():
            return tuple(_decode(item) for item in value)
        case str():
            return exact(value)
        case _:
            return value
