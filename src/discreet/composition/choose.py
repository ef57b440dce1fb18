"""The least of all compositions that apply, and the least noise that meets a target.

Each composition function returns a valid guarantee, so the least of them is one; so is
any noise at which one of them meets the target.  `calibrate` bisects and returns the
last noise that was checked to be private, never the midpoint of a bracket.
Proof: docs/theory/accounting.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from discreet.composition.concentrated import concentrated
from discreet.composition.numerical import numerical
from discreet.composition.optimal import optimal
from discreet.composition.price import Item, gather
from discreet.composition.theorems import advanced, basic
from discreet.errors import UnsupportedError, require
from discreet.privacy.guarantee import ZCDP, ApproxDP, Guarantee, PureDP
from discreet.privacy.number import Number, exact, up

Compose = Callable[[list[Item], Number], Guarantee]


def _basic(items: list[Item], delta: Number) -> ApproxDP:
    return basic(items).to_approx(delta)


METHODS: dict[str, Compose] = {
    "basic": _basic,
    "advanced": advanced,
    "optimal": optimal,
    "concentrated": concentrated,
    "numerical": numerical,
}


def every(items: Iterable[Item], delta: Number) -> dict[str, ApproxDP]:
    """What each composition that applies makes of the items."""
    given = list(items)
    require(0 < exact(delta) < 1, "0 < delta < 1", delta=delta)
    require(gather(given).total().delta <= exact(delta), "delta at least the mechanisms' own deltas", delta=delta)
    found: dict[str, ApproxDP] = {}
    for name, compose in METHODS.items():
        try:
            found[name] = compose(given, delta)  # type: ignore[assignment]
        except UnsupportedError:
            continue
    if not found:
        raise UnsupportedError("no composition applies to all of these; compose guarantees of one currency")
    return found


def best(items: Iterable[Item], delta: Number) -> ApproxDP:
    """The least epsilon at this delta over all compositions that apply.

    >>> round(best([PureDP(0.1)] * 100, delta=1e-6).epsilon, 6)
    4.774568
    """
    return min(every(items, delta).values(), key=lambda guarantee: exact(guarantee.epsilon))


def calibrate(
    make: Callable[[float], Item | list[Item]],
    target: Guarantee,
    *,
    by: Compose | None = None,
    start: Number = 1,
    tolerance: float = 1e-6,
) -> float:
    """The least noise, to a relative `tolerance`, for which what `make(noise)` describes meets the target.

    `make` must be monotone: more noise, more privacy.  The value returned was itself
    checked to meet the target, with the composition `by` (the best one by default).

    >>> from discreet.privacy.event import LaplaceEvent, RepeatedEvent
    >>> round(calibrate(lambda b: RepeatedEvent(event=LaplaceEvent(scale=b, sensitivity=1), count=100),
    ...                 ApproxDP(1.0, 1e-6), by=optimal), 3)
    41.647
    """
    require(exact(start) > 0, "start > 0", start=start)
    require(0 < tolerance < 1, "0 < tolerance < 1", tolerance=tolerance)

    def private(noise: float) -> bool:
        made = make(noise)
        return _meets(made if isinstance(made, list) else [made], target, by)

    high = up(start)
    low = high / 2
    if private(high):
        while private(low):
            low, high = low / 2, low
            require(high > 1e-12, "a target that some noise misses", target=target)
    else:
        while not private(high):
            low, high = high, 2 * high
            require(high < 1e18, "a target that some noise meets", target=target)
    while high - low > tolerance * high:
        middle = (low + high) / 2
        low, high = (low, middle) if private(middle) else (middle, high)
    return high


def _meets(items: list[Item], target: Guarantee, by: Compose | None) -> bool:
    match target:
        case ApproxDP() if exact(target.delta) > 0:
            return (by or best)(items, target.delta) <= target
        case PureDP() | ApproxDP():
            return basic(items) <= target
        case ZCDP():
            return concentrated(items) <= target
        case _:
            return basic(items) <= target
