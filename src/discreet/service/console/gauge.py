"""How full a budget is, and how it filled up: lanes, shares and the points of a timeline, from the API's records."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.curator.delta import doubts
from discreet.privacy.guarantee import ApproxDP
from discreet.service.console.page import listed, mapped

CURRENCIES = ("epsilon", "rho", "delta")
WIDTH, HEIGHT = 640, 120  # of the box of a timeline


@dataclass(frozen=True, kw_only=True, slots=True)
class Lane:
    """One running total and the most it may be; `spent` is None where the lane is closed."""

    name: str
    spent: float | None
    cap: float

    @property
    def share(self) -> float:
        """Spent over cap."""
        if self.spent is None:
            return math.inf
        return self.spent / self.cap if self.cap else (math.inf if self.spent else 0.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Gauge:
    """One account: whose it is, its lanes, and the share of it that is gone."""

    unit: str
    scope: str
    name: str
    cap: Mapping[str, float] | None
    lanes: tuple[Lane, ...]
    deltas: Lane | None
    spent: Mapping[str, float | None]
    state: str | None

    @property
    def share(self) -> float:
        """As the ledger reckons: the lane with most room, or the deltas where they are fuller.

        >>> exact = {"cap": {"epsilon": "1", "delta": "1/1000000"}}
        >>> record = {"exact": exact, "spent_epsilon": 0.5, "spent_rho": 0.001, "spent_delta": 0.0, "rho_cap": 0.01}
        >>> gauge({"unit": "patient", "scope": "unit", "name": "patient", "state": None, **record}).share
        0.1
        """
        best = min((lane.share for lane in self.lanes), default=0.0)
        return max(best, self.deltas.share) if self.deltas else best

    @property
    def shown(self) -> float:
        """The share as the width of a bar, in percent."""
        return round(100 * min(1.0, self.share), 2)

    @property
    def doubts(self) -> tuple[str, ...]:
        """What to know of a cap whose delta is large."""
        cap = self.cap or {}
        return doubts(ApproxDP(cap["epsilon"], cap["delta"]), None) if {"epsilon", "delta"} <= set(cap) else ()

    @property
    def left(self) -> float:
        """What is left, between 0 and 1."""
        return max(0.0, 1.0 - self.share)


def gauge(record: Mapping[str, object]) -> Gauge:
    """The gauge of one record of `GET /v1/budget`."""
    cap = mapped(mapped(record.get("exact")).get("cap"))
    caps = {name: float(Fraction(str(cap[name]))) for name in CURRENCIES if name in cap}
    epsilon, rho = _number(record.get("spent_epsilon")), _number(record.get("spent_rho"))
    lanes, deltas = [], None
    if "epsilon" in caps:
        lanes.append(Lane(name="epsilon", spent=epsilon, cap=caps["epsilon"]))
    rho_cap = caps.get("rho", _number(record.get("rho_cap")))
    if rho_cap is not None:
        lanes.append(Lane(name="rho", spent=rho, cap=rho_cap))
    if "delta" in caps:
        deltas = Lane(name="delta", spent=_number(record.get("spent_delta")), cap=caps["delta"] / 2)
    state = record.get("state")
    return Gauge(
        unit=str(record.get("unit")),
        scope=str(record.get("scope")),
        name=str(record.get("name")),
        cap=caps or None,
        lanes=tuple(lanes),
        deltas=deltas,
        spent={name: _number(record.get(f"spent_{name}")) for name in CURRENCIES},
        state=None if state is None else str(state),
    )


def gauges(budget: Mapping[str, object]) -> dict[str, list[Gauge]]:
    """The gauges of a budget, by unit; each unit's own account comes first."""
    units = mapped(budget.get("units"))
    made = {unit: [gauge(record) for record in listed(records)] for unit, records in units.items()}
    return {unit: sorted(found, key=lambda one: one.scope != "unit") for unit, found in made.items()}


def present(found: Sequence[Gauge]) -> Gauge:
    """The account of a unit that decides now: of its present period, if its budget was renewed, or its own."""
    return next((one for one in found if one.scope == "period" and one.state is None), found[0])


def change(forecast: Mapping[str, object]) -> list[tuple[Gauge, Gauge]]:
    """Each account with a cap that an order would be charged to and that decides about it, before and after."""
    pairs = []
    before, after = (gauges(mapped(forecast.get(when))) for when in ("before", "after"))
    for unit, accounts in before.items():
        decides = present(accounts)
        shown = [one.cap is not None and (one.scope != "unit" or one is decides) for one in accounts]
        pairs += [pair for pair, seen in zip(zip(accounts, after[unit], strict=True), shown, strict=True) if seen]
    return pairs


def _number(value: object) -> float | None:
    return None if value is None else float(str(value))


@dataclass(frozen=True, kw_only=True, slots=True)
class Timeline:
    """A staircase in a box of WIDTH by HEIGHT: how full the account was from its first charge here until now."""

    path: str
    first: float  # seconds since 1970
    last: float
    top: float  # the share at the top of the box
    charges: int


def timeline(
    record: Mapping[str, object], spends: Sequence[tuple[float, Mapping[str, object]]], *, until: float
) -> Timeline | None:
    """Work backwards from what is spent now: before each charge it was less by that charge's price."""
    if len(spends) < 2:
        return None
    left = {name: Fraction(str(record.get(f"spent_{name}") or 0)) for name in CURRENCIES}
    closed = {"spent_epsilon": None} if record.get("spent_epsilon") is None else {}

    def share() -> float:
        now = {f"spent_{name}": max(0.0, float(value)) for name, value in left.items()}
        return gauge({**record, **now, **closed}).share

    points = []
    for time, price in reversed(spends):
        points.append((time, share()))
        left = {name: value - Fraction(str(price.get(name) or 0)) for name, value in left.items()}
    first, last = spends[0][0], max(until, spends[-1][0])
    points.append((first, share()))
    points.reverse()
    top = max(0.05, min(1.0, 1.25 * max(share for _, share in points)))
    along, up = WIDTH / max(1.0, last - first), HEIGHT / top
    at = [(along * (time - first), HEIGHT - up * min(share, top)) for time, share in points]
    path = f"M{at[0][0]:.1f} {at[0][1]:.1f}" + "".join(f"H{x:.1f}V{y:.1f}" for x, y in at[1:]) + f"H{WIDTH}"
    return Timeline(path=path, first=first, last=last, top=top, charges=len(spends))
