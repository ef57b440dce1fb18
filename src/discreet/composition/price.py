"""What an event costs, in the three currencies that add up under adaptive composition.

Theorem.  A mechanism priced (epsilon, rho, delta) has, for every pair of
neighbours, one decomposition of its two laws,

    P = (1 - delta) P' + delta P''   and   Q = (1 - delta) Q' + delta Q'',

whose good parts are epsilon-indistinguishable (if epsilon is not None) and satisfy
D_order(P' || Q') <= rho * order for every order > 1, in both directions.  Prices of
mechanisms run one after another on the same data add, whatever was seen in between.
Proof: docs/theory/accounting.md.

    pure epsilon               (epsilon, epsilon^2 / 2, 0)         Bun, Steinke 2016
    exponential mechanism      (epsilon, epsilon^2 / 8, 0)         Cesar, Rogers 2021
    (epsilon, delta)           (epsilon, epsilon^2 / 2, delta)     Kairouz, Oh, Viswanath 2015
    discrete Gaussian          (None, sensitivity^2 / (2 sigma^2), 0)   Canonne, Kamath, Steinke 2020
    rho-zCDP; mu-GDP           (None, rho, 0); (None, mu^2 / 2, 0)
    Poisson sample of a priced (epsilon, ., delta): see `amplification`
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import ParameterError, UnsupportedError, require
from discreet.privacy.enclosure import expm1_bounds, log_up
from discreet.privacy.event import (
    ApproxEvent,
    ComposedEvent,
    Event,
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    PoissonSampledEvent,
    PureEvent,
    RandomizedResponseEvent,
    RepeatedEvent,
    ZCDPEvent,
)
from discreet.privacy.guarantee import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP, Relation, RenyiDP
from discreet.privacy.neighbours import AddRemove, Local
from discreet.privacy.number import Number, exact, up

Item = Event | Guarantee  # what ran, or what is promised of it


@dataclass(frozen=True, slots=True)
class Price:
    """Exact amounts.  `epsilon` is None where no finite epsilon holds with this delta.

    >>> Price(Fraction(1), Fraction(1, 2), Fraction(0)) + Price(None, Fraction(1, 2), Fraction(0))
    Price(epsilon=None, rho=Fraction(1, 1), delta=Fraction(0, 1))
    """

    epsilon: Fraction | None
    rho: Fraction
    delta: Fraction

    def __add__(self, other: Price) -> Price:
        """The price of running both."""
        both = self.epsilon is not None and other.epsilon is not None
        epsilon = self.epsilon + other.epsilon if both else None  # type: ignore[operator]
        return Price(epsilon, self.rho + other.rho, self.delta + other.delta)

    def repeat(self, times: int) -> Price:
        """The price of running it `times` times."""
        epsilon = None if self.epsilon is None else times * self.epsilon
        return Price(epsilon, times * self.rho, times * self.delta)


FREE = Price(Fraction(0), Fraction(0), Fraction(0))


def price(item: Item) -> Price:
    """The price of one event or guarantee.

    >>> price(RepeatedEvent(event=LaplaceEvent(scale=10, sensitivity=1), count=3))
    Price(epsilon=Fraction(3, 10), rho=Fraction(3, 200), delta=Fraction(0, 1))
    """
    return sum((one(leaf).repeat(count) for leaf, count in leaves(item)), FREE)


def leaves(item: Item, count: int = 1) -> Iterator[tuple[Item, int]]:
    """The mechanisms inside an item, each with how often it ran."""
    match item:
        case RepeatedEvent():
            yield from leaves(item.event, count * item.count)
        case ComposedEvent():
            for event in item.events:
                yield from leaves(event, count)
        case Event() | Guarantee():
            yield item, count
        case _:
            raise ParameterError(f"need an event or a guarantee, got {item!r}")


def one(leaf: Item) -> Price:
    """The price of a single mechanism that is no composition."""
    match leaf:
        case PureEvent() | RandomizedResponseEvent() | PureDP():
            return _pure(exact(leaf.epsilon))
        case LaplaceEvent():
            return _pure(leaf.sensitivity / exact(leaf.scale))
        case ExponentialEvent():
            return Price(exact(leaf.epsilon), exact(leaf.epsilon) ** 2 / 8, Fraction(0))
        case ApproxEvent() | ApproxDP():
            return _pure(exact(leaf.epsilon), exact(leaf.delta))
        case GaussianEvent():
            return Price(None, (exact(leaf.sensitivity) / exact(leaf.sigma)) ** 2 / 2, Fraction(0))
        case ZCDPEvent() | ZCDP():
            return Price(None, exact(leaf.rho), Fraction(0))
        case GaussianDP():
            return Price(None, leaf.square / 2, Fraction(0))
        case PoissonSampledEvent():
            return _sampled(price(leaf.event), exact(leaf.rate))
        case RenyiDP():
            raise UnsupportedError("a bound at one Renyi order has no price; add RenyiDP guarantees of equal order")
        case _:
            raise UnsupportedError(f"no price is known for {type(leaf).__name__}")


def _pure(epsilon: Fraction, delta: Fraction = Fraction(0)) -> Price:
    return Price(epsilon, epsilon**2 / 2, delta)


def _sampled(base: Price, rate: Fraction) -> Price:
    """Amplified if there is an epsilon; otherwise rho as it was, since Renyi divergence is quasi-convex."""
    if rate == 0:
        return FREE
    if base.epsilon is None:
        return base
    epsilon = amplify(base.epsilon, rate)
    return Price(epsilon, epsilon**2 / 2, rate * base.delta)


def amplify(epsilon: Fraction, rate: Fraction) -> Fraction:
    """ln(1 + rate (e^epsilon - 1)), rounded up; exact at the ends."""
    require(0 <= rate <= 1, "0 <= rate <= 1", rate=rate)
    if rate in (0, 1) or epsilon == 0:
        return rate * epsilon
    if epsilon > 1000:
        return epsilon
    return min(epsilon, exact(up(log_up(1 + rate * expm1_bounds(epsilon)[1]))))


@dataclass(frozen=True, slots=True)
class Batch:
    """Mechanisms declared in advance: each distinct one with its count, and the relation they share."""

    counts: dict[Item, int]
    relation: Relation

    @property
    def size(self) -> int:
        """How many mechanisms there are."""
        return sum(self.counts.values())

    def prices(self) -> dict[Price, int]:
        """Each distinct price with how many mechanisms have it."""
        found: Counter[Price] = Counter()
        for leaf, count in self.counts.items():
            found[one(leaf)] += count
        return dict(found)

    def total(self) -> Price:
        """The price of everything."""
        return sum((single.repeat(count) for single, count in self.prices().items()), FREE)


def gather(items: Iterable[Item]) -> Batch:
    """Count equal mechanisms and find the relation under which all of them are promised."""
    given = list(items)
    distinct = {id(item): item for item in given}
    counts: Counter[Item] = Counter()
    for key, times in Counter(map(id, given)).items():
        for leaf, count in leaves(distinct[key]):
            counts[leaf] += times * count
    relations = {found for leaf in counts if (found := relation_of(leaf)) is not None}
    if len(relations) > 1:
        names = " and ".join(sorted(found.__name__ for found in relations))
        raise UnsupportedError(f"cannot compose mechanisms under {names}; convert them first (to_replace)")
    return Batch(dict(counts), relations.pop() if relations else None)


def relation_of(leaf: Item) -> Relation:
    """The relation an item is promised for; None if it adopts any."""
    if isinstance(leaf, PoissonSampledEvent):
        return AddRemove
    if isinstance(leaf, RandomizedResponseEvent):
        return Local  # a bit may change; that somebody reports at all is not hidden
    return leaf.neighbours if isinstance(leaf, Guarantee) else None


def rest(batch: Batch, delta: Number) -> Fraction:
    """What is left of delta after the mechanisms' own deltas."""
    given, own = exact(delta), batch.total().delta
    require(0 <= given < 1, "0 <= delta < 1", delta=delta)
    require(own <= given, "delta at least the sum of the mechanisms' own deltas", delta=delta, own=float(own))
    return given - own
