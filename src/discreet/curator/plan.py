"""The plan of a question: mechanism, noise, error and price, from public facts only.

Each aggregate is made of parts (`discreet.queries.compile`): AVG of a count and a centred sum, for
example.  Every part is one vector of integers, released by one mechanism; parts that several
aggregates share are released once.

Splitting the budget.  Let part i have sensitivity s_i, and let it enter aggregate j's error with
coefficient c_ij, errors of aggregate j being measured in units of u_j, what one unit's data can change
in it.  With t_i = sum_j (c_ij s_i / u_j)^2, the sum of squared errors is proportional to
sum_i t_i / epsilon_i^2 for Laplace noise and to sum_i t_i / rho_i for Gaussian noise.  Under
sum epsilon_i = epsilon (sum rho_i = rho) it is least for epsilon_i ~ t_i^(1/3) (rho_i ~ t_i^(1/2)), by
convexity.  Shares are rounded to rationals that add up to the budget exactly.  Proof: docs/theory/planning.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.composition.filter import largest_rho
from discreet.composition.price import Price, price
from discreet.data.table import Table
from discreet.errors import ParameterError, UnsupportedError, require
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.privacy.enclosure import root_bounds, root_up
from discreet.privacy.event import ComposedEvent, Event
from discreet.privacy.guarantee import ZCDP, ApproxDP, Guarantee, PureDP
from discreet.privacy.neighbours import AddRemove
from discreet.privacy.number import Number, exact, up
from discreet.queries.compile import Grouping, Part, groupings, parts
from discreet.queries.expression import number
from discreet.queries.query import Aggregate, Query

MOST_ROWS = 1_000_000_000  # of one unit
LEAST, MOST = Fraction(1, 10**30), Fraction(10**9)  # what a question may cost; beyond, floats of the forecast fail
NUMBERS = 20_000_000  # the most integers one answer may hold
PLANNER = 1  # part of every answer's key: a new way of planning is a new number


@dataclass(frozen=True, slots=True)
class Release:
    """One part with the mechanism that releases it."""

    part: Part
    mechanism: Laplace | Gaussian
    share: Fraction  # of the budget


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """Everything decided before the data is read."""

    query: Query
    table: Table
    rows: int
    groups: int
    groupings: tuple[Grouping, ...]
    releases: tuple[Release, ...]
    budget: Guarantee
    price: Price  # what is charged: the budget asked for, at least what the releases cost

    @property
    def cells(self) -> int:
        """How many group keys there are."""
        return math.prod(grouping.size for grouping in self.groupings)

    @property
    def event(self) -> Event:
        """What will run, for the accountant."""
        return _event(self.releases)

    def of(self, aggregate: Aggregate) -> tuple[int, ...]:
        """Which releases an aggregate is computed from."""
        order = [release.part for release in self.releases]
        return tuple(order.index(part) for part in parts(aggregate))


def plan(
    query: Query,
    table: Table,
    *,
    epsilon: Number | None = None,
    budget: Guarantee | None = None,
    rows_per_unit: int | None = None,
    groups_per_unit: int | None = None,
) -> Plan:
    """Plan a question for `epsilon` (pure mechanisms) or for a `budget` of any kind."""
    rows, groups = _bounds(table, rows_per_unit, groups_per_unit, grouped=bool(query.keys))
    keys = groupings(query)
    needed: list[Part] = []
    for aggregate in query.aggregates:
        needed += [part for part in parts(aggregate) if part not in needed]
    cells = math.prod(key.size for key in keys)
    if cells * len(needed) > NUMBERS:
        raise UnsupportedError(
            f"an answer of {cells:,} groups with {len(needed)} sums and counts each is too large; at most"
            f" {NUMBERS:,} numbers are released: ask for fewer columns, or bin with FLOOR(x / 10)"
        )
    weights = [_weight(part, query.aggregates, rows, groups) for part in needed]
    spending = _spending(epsilon, budget)
    candidates = []
    if isinstance(spending, (PureDP, ApproxDP)):
        releases = _laplace(needed, weights, exact(spending.epsilon), rows, groups)
        candidates.append((releases, price(_event(releases))))
    rho = _rho(spending)
    if rho is not None:
        candidates.append((_gaussian(needed, weights, rho, rows, groups), Price(None, rho, Fraction(0))))
    releases, cost = min(candidates, key=lambda found: _error(found[0], weights, rows, groups))
    return Plan(query, table, rows, groups, keys, releases, spending, cost)


def _rho(spending: PureDP | ApproxDP | ZCDP) -> Fraction | None:
    """What may be spent on Gaussian noise, to twelve digits, rounded down."""
    match spending:
        case ZCDP():
            return exact(spending.rho)
        case ApproxDP() if exact(spending.delta) > 0:
            largest = largest_rho(exact(spending.epsilon), exact(spending.delta))
            digits = Fraction(10) ** (12 - math.floor(math.log10(largest)))
            return math.floor(largest * digits) / digits
        case _:
            return None


def _event(releases: tuple[Release, ...]) -> Event:
    events = tuple(release.mechanism.event() for release in releases)
    return events[0] if len(events) == 1 else ComposedEvent(events=events)


def _bounds(table: Table, rows: int | None, groups: int | None, *, grouped: bool) -> tuple[int, int]:
    """The two contribution bounds of this question; a question without groups has one group."""
    chosen = (table.rows_per_unit if rows is None else rows, table.groups_per_unit if groups is None else groups)
    for name, value in zip(("rows_per_unit", "groups_per_unit"), chosen, strict=True):
        whole = isinstance(value, int) and not isinstance(value, bool)
        require(whole and 1 <= value <= MOST_ROWS, f"an integer {name} from 1 to {MOST_ROWS:,}", **{name: value})
    if table.unit is None and chosen != (1, 1):
        raise ParameterError("need a unit column to bound its rows: each row of this table is its own unit")
    return chosen[0], chosen[1] if grouped else 1


def _spending(epsilon: Number | None, budget: Guarantee | None) -> PureDP | ApproxDP | ZCDP:
    if (epsilon is None) == (budget is None):
        raise ParameterError("need epsilon=... (pure mechanisms) or budget=... (any guarantee), and only one of them")
    chosen = PureDP(epsilon) if epsilon is not None else budget
    assert chosen is not None
    added_or_removed(chosen)
    match chosen:
        case PureDP() | ApproxDP():
            require(exact(chosen.epsilon) > 0, "epsilon > 0", epsilon=chosen.epsilon)
            require(LEAST <= exact(chosen.epsilon) <= MOST, "1e-30 <= epsilon <= 1e9", epsilon=chosen.epsilon)
            return chosen
        case ZCDP():
            require(exact(chosen.rho) > 0, "rho > 0", rho=chosen.rho)
            require(LEAST <= exact(chosen.rho) <= MOST, "1e-30 <= rho <= 1e9", rho=chosen.rho)
            return chosen
        case _:
            raise UnsupportedError(f"a question is paid for in PureDP, ApproxDP or ZCDP, got {type(chosen).__name__}")


def added_or_removed(promise: Guarantee) -> None:
    """Refuse a promise under another relation: every sensitivity here is for one unit added or removed."""
    if promise.neighbours not in (None, AddRemove):
        relation = promise.neighbours.__name__
        raise UnsupportedError(f"answers are private for one unit added or removed (AddRemove), not under {relation}")


def coefficients(aggregate: Aggregate) -> tuple[float, ...]:
    """How each part's error enters the aggregate's error times the count, at most."""
    if aggregate.function in ("count", "units", "sum"):
        return (1.0,)
    assert aggregate.argument is not None
    known = number(aggregate.argument)
    half = max(1.0, (known.high - known.low) / 2)
    return (half, 1.0) if aggregate.function == "avg" else (half * half, 2 * half, 1.0)


def _weight(part: Part, aggregates: tuple[Aggregate, ...], rows: int, groups: int) -> float:
    """t_i of the module docstring."""
    total = 0.0
    for aggregate in aggregates:
        made_of = parts(aggregate)
        if part in made_of:
            unit = math.sqrt(made_of[-1].sensitivity(rows, groups)[1])
            own = math.sqrt(part.sensitivity(rows, groups)[1])
            total += (coefficients(aggregate)[made_of.index(part)] * own / unit) ** 2
    return total


def _shares(weights: list[float], power: float) -> list[Fraction]:
    """Positive rationals that add up to one, nearly proportional to weights^power."""
    raw = [max(weight, 1e-12) ** power for weight in weights]
    whole = [max(1, round(1000 * value / sum(raw))) for value in raw]
    return [Fraction(value, sum(whole)) for value in whole]


def _laplace(
    needed: list[Part], weights: list[float], epsilon: Fraction, rows: int, groups: int
) -> tuple[Release, ...]:
    shares = _shares(weights, 1 / 3)
    return tuple(
        Release(part, Laplace(epsilon=share * epsilon, sensitivity=part.sensitivity(rows, groups)[0]), share)
        for part, share in zip(needed, shares, strict=True)
    )


def _gaussian(needed: list[Part], weights: list[float], rho: Fraction, rows: int, groups: int) -> tuple[Release, ...]:
    releases = []
    for part, share in zip(needed, _shares(weights, 1 / 2), strict=True):
        square = Fraction(part.sensitivity(rows, groups)[1])
        sigma = up(root_bounds(square / (2 * share * rho))[1])  # rounded up: at most the share is spent
        releases.append(Release(part, Gaussian.with_sigma(sigma, sensitivity=root_up(square)), share))
    return tuple(releases)


def _error(releases: tuple[Release, ...], weights: list[float], rows: int, groups: int) -> float:
    """The sum of squared errors of the module docstring, at 95 % instead of one standard deviation."""
    total = 0.0
    for release, weight in zip(releases, weights, strict=True):
        own = math.sqrt(release.part.sensitivity(rows, groups)[1])
        total += weight * (release.mechanism.accuracy(0.05) / own) ** 2
    return total
