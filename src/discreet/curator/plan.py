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
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from discreet.composition.filter import largest_rho
from discreet.composition.price import Price, price
from discreet.data.table import Table
from discreet.errors import ParameterError, UnsupportedError, require
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.partition_selection import PartitionSelection
from discreet.privacy.enclosure import root_bounds, root_up
from discreet.privacy.event import ComposedEvent, Event
from discreet.privacy.guarantee import ZCDP, ApproxDP, Guarantee, PureDP
from discreet.privacy.neighbours import AddRemove
from discreet.privacy.number import Number, down, exact, up
from discreet.queries.compile import Grouping, Part, Rank, free, groupings, parts
from discreet.queries.expression import number
from discreet.queries.query import Aggregate, Query
from discreet.structured.quantiles.quantile_bound import QuantileBound
from discreet.structured.quantiles.quantile_grid import GridQuantile

MOST_ROWS = 1_000_000_000  # of one unit
LEAST, MOST = Fraction(1, 10**30), Fraction(10**9)  # what a question may cost; beyond, floats of the forecast fail
NUMBERS = 20_000_000  # the most integers one answer may hold
BETA = 0.05  # how often the interval of a quantile may miss it
ENDS = 0.35  # what an end of that interval weighs beside the quantile itself: each gets about half its share
PLANNER = 3  # part of every answer's key: a new way of planning is a new number


@dataclass(frozen=True, slots=True)
class Release:
    """One part with the mechanism that releases it."""

    part: Part | Rank
    mechanism: Laplace | Gaussian | GridQuantile | QuantileBound
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
    selection: PartitionSelection | None = None  # which groups may be named, where their keys are not declared

    @property
    def cells(self) -> int:
        """How many group keys there are."""
        return math.prod(grouping.size for grouping in self.groupings)

    @property
    def event(self) -> Event:
        """What will run, for the accountant."""
        return _event(self.releases, self.selection)

    @property
    def added(self) -> tuple[Part, ...]:
        """What one pass adds up: the counts and sums that are released, and the units where groups are selected."""
        found = [release.part for release in self.releases if isinstance(release.part, Part)]
        if self.selection is not None and Part("units") not in found:
            found.append(Part("units"))
        return tuple(found)

    @property
    def ranked(self) -> tuple[Rank, ...]:
        """What is counted on grids, one pass for each expression."""
        ranks = [release.part for release in self.releases if isinstance(release.part, Rank)]
        return tuple({rank.argument: rank for rank in ranks}.values())

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
    if query.source.most is not None:
        rows = min(rows, query.source.most)
    keys = groupings(query)
    made_of = [(aggregate, parts(aggregate)) for aggregate in query.aggregates]
    needed: list[Part | Rank] = []
    for _, found in made_of:
        needed += [part for part in found if part not in needed]
    cells = math.prod(key.size for key in keys)
    _affordable(cells, needed)
    weights = [_weight(part, made_of, rows, groups) for part in needed]
    spending = spending_of(epsilon, budget)
    task = _Task(tuple(needed), tuple(weights), rows, groups, cells)
    if free(query):
        return _with_private_keys(query, table, keys, spending, task)
    candidates = []
    if isinstance(spending, (PureDP, ApproxDP)):
        releases = _laplace(task, exact(spending.epsilon))
        candidates.append((releases, price(_event(releases))))
    rho = rho_of(spending)
    if rho is not None:
        candidates.append((_gaussian(task, rho), Price(None, rho, Fraction(0))))
    releases, cost = min(candidates, key=lambda found: _error(found[0], task))
    return Plan(query, table, rows, groups, keys, releases, spending, cost)


@dataclass(frozen=True, slots=True)
class _Task:
    """What has to be released, and what one unit can change in it."""

    needed: tuple[Part | Rank, ...]
    weights: tuple[float, ...]
    rows: int
    groups: int
    cells: int


def _affordable(cells: int, needed: list[Part | Rank]) -> None:
    """Refuse answers too large to hold."""
    numbers = cells * len(needed)
    counted = max((cells * part.grid(cells)[0] for part in needed if isinstance(part, Rank)), default=0)
    if max(numbers, counted) > NUMBERS:
        raise UnsupportedError(
            f"an answer of {cells:,} groups with {len(needed)} sums, counts and quantiles each is too large; at most"
            f" {NUMBERS:,} numbers are released: ask for fewer columns, or bin with FLOOR(x / 10)"
        )


def _with_private_keys(
    query: Query, table: Table, keys: tuple[Grouping, ...], spending: Guarantee, task: _Task
) -> Plan:
    """Groups are named by a selection that pays with a delta; counts and sums with Laplace noise beside it."""
    names = " and ".join(map(str, free(query)))
    if not isinstance(spending, ApproxDP) or not exact(spending.delta) > 0:
        raise UnsupportedError(
            f"the values of {names} are not declared, and to name them costs a delta: pass budget=ApproxDP(epsilon,"
            " delta), or declare the keys as Categorical"
        )
    if any(isinstance(part, Rank) for part in task.needed):
        raise UnsupportedError(f"MEDIAN, QUANTILE, MIN and MAX need declared group keys, and {names} has none")
    groups = 1 if table.unit is None else min(task.groups, task.rows)
    epsilon, share = exact(spending.epsilon), _shares([1.0, *task.weights], 1 / 3)[0]
    selection = PartitionSelection(epsilon=share * epsilon, delta=spending.delta, groups_per_unit=groups)
    releases = _laplace(task, (1 - share) * epsilon, of=1 - share)
    cost = price(_event(releases, selection))
    return Plan(query, table, task.rows, task.groups, keys, releases, spending, cost, selection)


def rho_of(spending: PureDP | ApproxDP | ZCDP) -> Fraction | None:
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


def lane_of(spending: PureDP | ApproxDP | ZCDP) -> tuple[PureDP | ZCDP, Price]:
    """What a mechanism that runs in one lane may spend on one unit, and the same as a price.

    >>> lane_of(ZCDP(0.5))[0]
    ZCDP(rho=0.5)
    """
    rho = rho_of(spending)
    if rho is not None:
        return ZCDP(rho, neighbours=AddRemove), Price(None, rho, Fraction(0))
    assert not isinstance(spending, ZCDP)
    pure = PureDP(spending.epsilon, neighbours=AddRemove)
    return pure, price(pure)


def _event(releases: tuple[Release, ...], selection: PartitionSelection | None = None) -> Event:
    events = tuple(release.mechanism.event() for release in releases)
    if selection is not None:
        events = (selection.event(), *events)
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


def spending_of(epsilon: Number | None, budget: Guarantee | None) -> PureDP | ApproxDP | ZCDP:
    """What is to be spent, from one of two arguments."""
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
    """Refuse what is no promise, and one under another relation: sensitivities are for one unit added or removed."""
    if not isinstance(promise, Guarantee):
        raise ParameterError(f"need a guarantee as budget, such as ApproxDP(1.0, 1e-6), got {type(promise).__name__}")
    if promise.neighbours not in (None, AddRemove):
        relation = promise.neighbours.__name__
        raise UnsupportedError(f"answers are private for one unit added or removed (AddRemove), not under {relation}")


def coefficients(aggregate: Aggregate) -> tuple[float, ...]:
    """How each part's error enters the aggregate's error times the count, at most."""
    if aggregate.function in ("count", "units", "sum"):
        return (1.0,)
    if aggregate.function == "quantile":
        return (1.0, ENDS, ENDS)
    assert aggregate.argument is not None
    known = number(aggregate.argument)
    half = max(1.0, (known.high - known.low) / 2)
    return (half, 1.0) if aggregate.function == "avg" else (half * half, 2 * half, 1.0)


def _changes(part: Part | Rank, rows: int, groups: int) -> float:
    """How far one unit moves a part: in l2 for sums and counts, in rows for a quantile."""
    return float(rows) if isinstance(part, Rank) else math.sqrt(part.sensitivity(rows, groups)[1])


def _weight(
    part: Part | Rank, made_of: Sequence[tuple[Aggregate, Sequence[Part | Rank]]], rows: int, groups: int
) -> float:
    """t_i of the module docstring, from the aggregates and what each is made of."""
    total = 0.0
    for aggregate, found in made_of:
        if part in found:
            unit, own = _changes(found[-1], rows, groups), _changes(part, rows, groups)
            total += (coefficients(aggregate)[found.index(part)] * own / unit) ** 2
    return total


def _shares(weights: list[float], power: float) -> list[Fraction]:
    """Positive rationals that add up to one, nearly proportional to weights^power."""
    raw = [max(weight, 1e-12) ** power for weight in weights]
    whole = [max(1, round(1000 * value / sum(raw))) for value in raw]
    return [Fraction(value, sum(whole)) for value in whole]


def _laplace(task: _Task, epsilon: Fraction, *, of: Fraction = Fraction(1)) -> tuple[Release, ...]:
    releases = []
    for part, share in zip(task.needed, _shares(list(task.weights), 1 / 3), strict=True):
        if isinstance(part, Rank):
            mechanism = _choice(part, task, share * epsilon, "permute_and_flip")
        else:
            change = part.sensitivity(task.rows, task.groups)[0]
            mechanism = Laplace(epsilon=share * epsilon, sensitivity=change)
        releases.append(Release(part, mechanism, share * of))
    return tuple(releases)


def _choice(
    rank: Rank, task: _Task, epsilon: Fraction, method: Literal["permute_and_flip", "exponential"]
) -> GridQuantile | QuantileBound:
    """The mechanism that chooses a cell of a grid."""
    public = {"size": rank.grid(task.cells)[0], "rows_per_unit": task.rows, "method": method}
    if rank.end == "middle":
        return GridQuantile(quantile=rank.level, epsilon=epsilon, **public)
    return QuantileBound(quantile=rank.level, end=rank.end, epsilon=epsilon, beta=BETA / 2, **public)


def _gaussian(task: _Task, rho: Fraction) -> tuple[Release, ...]:
    releases = []
    for part, share in zip(task.needed, _shares(list(task.weights), 1 / 2), strict=True):
        if isinstance(part, Rank):  # the exponential mechanism is epsilon^2 / 8 - zCDP
            epsilon = exact(down(root_bounds(8 * share * rho)[0]))
            releases.append(Release(part, _choice(part, task, epsilon, "exponential"), share))
            continue
        square = Fraction(part.sensitivity(task.rows, task.groups)[1])
        sigma = up(root_bounds(square / (2 * share * rho))[1])  # rounded up: at most the share is spent
        releases.append(Release(part, Gaussian.with_sigma(sigma, sensitivity=root_up(square)), share))
    return tuple(releases)


def _error(releases: tuple[Release, ...], task: _Task) -> float:
    """The sum of squared errors of the module docstring, at 95 % instead of one standard deviation."""
    total = 0.0
    for release, weight in zip(releases, task.weights, strict=True):
        own = _changes(release.part, task.rows, task.groups)
        total += weight * (release.mechanism.accuracy(0.05) / own) ** 2
    return total
