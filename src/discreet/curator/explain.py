"""EXPLAIN for privacy: what an answer would look like and cost, from public facts alone."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.curator.delta import doubts, people, sensible
from discreet.curator.plan import Plan, Release, plan
from discreet.data.relation import Relation
from discreet.data.table import Table
from discreet.errors import ParameterError, UnsupportedError, require
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.privacy.guarantee import ApproxDP, Guarantee, PureDP
from discreet.privacy.number import Number, exact
from discreet.queries.compile import Part, Rank
from discreet.queries.expression import number
from discreet.queries.query import Aggregate, Query
from discreet.structured.quantiles.quantile_bound import QuantileBound
from discreet.structured.quantiles.quantile_grid import GridQuantile

if TYPE_CHECKING:
    from discreet.curator.estimate import Noisy

GROUP_SIZES = (100, 10_000, 1_000_000)  # for what cannot be predicted without knowing how many rows there are


@dataclass(frozen=True, slots=True)
class Line:
    """One column of the answer: how it is made and how wrong it may be."""

    output: str
    aggregate: str
    noise: tuple[str, ...]  # one for each part
    error: float | None  # the half-width of the interval at beta, where it does not depend on the data
    errors_by_rows: tuple[tuple[int, float], ...]  # otherwise: for groups of these many rows
    relative: tuple[tuple[int, float], ...]  # error over the value, for groups of these many rows


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """A plan in words.  `str()` prints it; `to_dict()` is for programs."""

    plan: Plan
    beta: float
    lines: tuple[Line, ...]
    removed: tuple[str, ...]  # what bounding may take away
    alternatives: tuple[str, ...]
    clamped: tuple[str, ...] = ()  # what is kept, but moved
    doubts: tuple[str, ...] = ()  # what to know of the promise before paying

    @property
    def price(self) -> str:
        """What would be charged, in both lanes."""
        cost = self.plan.price
        pure = "closed to it" if cost.epsilon is None else f"epsilon {float(cost.epsilon):g}"
        return f"pure lane: {pure}; zCDP lane: rho {float(cost.rho):.6g}; delta {float(cost.delta):g}"

    @property
    def epsilon(self) -> float | None:
        """The epsilon in the pure lane."""
        return None if self.plan.price.epsilon is None else float(self.plan.price.epsilon)

    def to_dict(self) -> dict[str, object]:
        """Everything, JSON-ready."""
        cost = self.plan.price
        return {
            "question": str(self.plan.query),
            "groups": self.plan.cells,
            "beta": self.beta,
            "budget": str(self.plan.budget),
            "price": {
                "epsilon": None if cost.epsilon is None else float(cost.epsilon),
                "rho": float(cost.rho),
                "delta": float(cost.delta),
            },
            "outputs": [
                {
                    "name": line.output,
                    "aggregate": line.aggregate,
                    "noise": list(line.noise),
                    "error": line.error,
                    "error_by_rows": dict(line.errors_by_rows),
                    "relative_error_by_rows": dict(line.relative),
                }
                for line in self.lines
            ],
            "removed": [*self.removed, *self.clamped],
            "alternatives": list(self.alternatives),
            "doubts": list(self.doubts),
        }

    def __str__(self) -> str:
        share = f"{1 - self.beta:.0%}"
        text = [f"{self.plan.query}", f"  {_returned(self.plan)}"]
        for line in self.lines:
            text.append(f"  {line.output} = {line.aggregate}")
            text += [f"      {noise}" for noise in line.noise]
            if line.error is not None:
                text.append(f"      within {line.error:,.6g} of the truth with probability {share}")
            for rows, error in line.errors_by_rows:
                text.append(f"      within {error:,.4g} with probability {share}, in a group of {rows:,} rows")
            shown = ", ".join(f"{value:.2%} of {rows:,}" for rows, value in line.relative)
            text += [f"      relative error: {shown}"] if shown and line.error is not None else []
        text += [f"  price: {self.plan.budget}  ({self.price})"]
        text += [f"  removed before counting: {item}" for item in self.removed]
        text += [f"  clamped: {item}" for item in self.clamped]
        text += [f"  instead: {item}" for item in self.alternatives]
        text += [f"  careful: {item}" for item in self.doubts]
        return "\n".join([*text, "  nothing was read, nothing was spent"])


def _returned(chosen: Plan) -> str:
    """Which groups there will be."""
    if chosen.selection is None:
        return f"{chosen.cells:,} group{'s' * (chosen.cells != 1)}, all returned, also the empty ones"
    least, sure = chosen.selection.threshold(0.5), chosen.selection.threshold(0.95)
    return (
        f"groups of undeclared keys: one of {least} units is named with probability one half, one of {sure} with 95%,"
        f" one of a single unit with {float(chosen.selection.probability(1)):.2g}"
    )


def explain(
    query: Query,
    table: Table,
    *,
    epsilon: Number | None = None,
    budget: Guarantee | None = None,
    error: float | None = None,
    beta: float = 0.05,
    rows_per_unit: int | None = None,
    groups_per_unit: int | None = None,
    compared: bool = True,
) -> Explanation:
    """Explain a question for a price, or find the epsilon for an error; `compared` to what another would buy."""
    require(1e-300 <= beta < 1, "0 < beta < 1, not below 1e-300", beta=beta)
    bounds = {"rows_per_unit": rows_per_unit, "groups_per_unit": groups_per_unit}
    if error is not None:
        if epsilon is not None or budget is not None:
            raise ParameterError("need one of epsilon=, budget= and error=")
        most = sys.float_info.max  # an integer may be larger, and then neither a float nor a message can hold it
        require(-most <= error <= most, "error > 0 that a float can hold", kind=type(error).__name__)
        require(error > 0, "error > 0", error=error)
        epsilon = epsilon_for(query, table, error, beta=beta, **bounds)
    chosen = plan(query, table, epsilon=epsilon, budget=budget, **bounds)
    users = _users(chosen)
    lines = tuple(
        _line(chosen, output.name, output.value, beta, users)
        for output in query.outputs
        if isinstance(output.value, Aggregate)
    )
    others = _alternatives(chosen, beta, bounds) if compared else ()
    doubted = doubts(chosen.budget, people(chosen.query))
    return Explanation(chosen, beta, lines, _removed(chosen), others, _clamped(chosen), doubted)


def epsilon_for(
    query: Query,
    table: Table,
    error: float,
    *,
    beta: float,
    rows_per_unit: int | None = None,
    groups_per_unit: int | None = None,
) -> Fraction:
    """The least epsilon, to three digits, for which every count and sum is within `error` with probability 1 - beta."""
    if any(aggregate.function not in ("count", "units", "sum") for aggregate in query.aggregates):
        raise UnsupportedError(
            "error= needs counts and sums: the error of an average depends on how many rows there are"
        )

    def worst(epsilon: Fraction) -> float:
        chosen = plan(query, table, epsilon=epsilon, rows_per_unit=rows_per_unit, groups_per_unit=groups_per_unit)
        return max(_half_width(chosen, aggregate, beta) for aggregate in query.aggregates)

    low, high = Fraction(1, 10**9), Fraction(1)
    while worst(high) > error:
        low, high = high, high * 2
        require(high < 2**40, "an error that some epsilon reaches", error=error)
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if worst(middle) <= error else (middle, high)
    digits = 2 - math.floor(math.log10(float(high)))
    return Fraction(math.ceil(high * Fraction(10) ** digits)) / Fraction(10) ** digits


def _half_width(chosen: Plan, aggregate: Aggregate, beta: float) -> float:
    (place,) = chosen.of(aggregate)
    release = chosen.releases[place]
    assert isinstance(release.part, Part)
    return release.mechanism.accuracy(beta) * float(release.part.step)


def _line(chosen: Plan, name: str, aggregate: Aggregate, beta: float, users: Mapping[int, Sequence[str]]) -> Line:
    places = chosen.of(aggregate)
    noise = tuple(_noise(chosen.releases[i], chosen) + _shared(users.get(i, ()), name) for i in places)
    if aggregate.function == "quantile":
        return Line(name, str(aggregate), (*noise, *_ranks(chosen, places, beta)), None, (), ())
    if len(places) == 1:
        error = _half_width(chosen, aggregate, beta)
        part = chosen.releases[places[0]].part
        assert isinstance(part, Part)
        typical = 1.0 if aggregate.function != "sum" else float(part.reach * part.step)
        relative = tuple((rows, error / (rows * typical)) for rows in GROUP_SIZES)
        return Line(name, str(aggregate), noise, error, (), relative)
    by_rows = tuple((rows, _spread(chosen, aggregate, places, rows, beta)) for rows in GROUP_SIZES)
    return Line(name, str(aggregate), noise, None, by_rows, ())


def _spread(chosen: Plan, aggregate: Aggregate, places: tuple[int, ...], rows: int, beta: float) -> float:
    """The widest interval of an average, variance or deviation in a group of so many rows, halved."""
    import numpy as np

    from discreet.curator.estimate import estimate

    noisy: Noisy = [np.zeros(1, dtype=np.int64) for _ in chosen.releases]
    noisy[places[0]] = np.array([rows])
    if len(places) == 3:  # values spread over the whole range
        assert aggregate.argument is not None
        known = number(aggregate.argument)
        noisy[places[2]] = np.array([rows * ((known.high - known.low) ** 2 // 12)], dtype=object)
    found = estimate(chosen, aggregate, noisy, beta=beta)
    return float(found.high[0] - found.low[0]) / 2


def _ranks(chosen: Plan, places: tuple[int, ...], beta: float) -> tuple[str, ...]:
    """How far in rank, and on which grid: in value it depends on the data."""
    middle, low, high = (chosen.releases[i] for i in places)
    assert isinstance(middle.part, Rank)
    size, width = middle.part.grid(chosen.cells)
    away, ends = middle.mechanism.accuracy(beta), max(low.mechanism.accuracy(beta), high.mechanism.accuracy(beta))
    assert isinstance(middle.mechanism, GridQuantile)
    return (
        f"rank within {away:,.6g} rows of the quantile's with probability {1 - beta:.0%}, the ends within {ends:,.6g}",
        f"counted on a grid of {size:,} cells, each {float(width * middle.part.known.step):g} wide",
        f"chosen because {_methods(middle.mechanism, chosen.rows, beta)}",
    )


def _methods(mechanism: GridQuantile, rows: int, beta: float) -> str:
    """The rank error of every way to take one quantile from counts on a grid, for the same epsilon."""
    levels = max(1, (mechanism.size - 1).bit_length())
    node = Laplace(epsilon=exact(mechanism.epsilon) / levels, sensitivity=rows)
    found = {
        "permute-and-flip": replace(mechanism, method="permute_and_flip").accuracy(beta),
        "the exponential mechanism": replace(mechanism, method="exponential").accuracy(beta),
        "noisy counts on a tree": math.sqrt(levels) * node.accuracy(beta),
    }
    shown = ", ".join(f"{name} about {error:,.4g}" for name, error in found.items())
    return f"of the rank errors, in rows, its own is least in its lane: {shown}"


def _users(chosen: Plan) -> dict[int, list[str]]:
    """Which columns are made of each noisy part; looked up once, as a question may have many of both."""
    made = {output.name: output.value for output in chosen.query.outputs if isinstance(output.value, Aggregate)}
    found: dict[int, list[str]] = {}
    for column, value in made.items():
        for place in dict.fromkeys(chosen.of(value)):
            found.setdefault(place, []).append(column)
    return found


def _shared(users: Sequence[str], name: str) -> str:
    """Which other columns are made of the same noisy part: it is released, and paid for, once."""
    others = [column for column in users if column != name]
    return f", shared with {', '.join(others)}" if others else ""


def _noise(release: Release, chosen: Plan) -> str:
    mechanism, part = release.mechanism, release.part
    if isinstance(mechanism, (GridQuantile, QuantileBound)) or isinstance(part, Rank):
        assert isinstance(mechanism, (GridQuantile, QuantileBound))
        law = mechanism.method.replace("_", "-")
        return (
            f"{part}: {law} on the rank loss; one unit changes it by at most {chosen.rows} rows;"
            f" {float(release.share):.1%} of the budget"
        )
    law = (
        f"discrete Laplace, scale {float(mechanism.scale):,.6g}"
        if isinstance(mechanism, Laplace)
        else f"discrete Gaussian, sigma {float(exact(mechanism.sigma)):,.6g}"
    )
    return (
        f"{part}: {law}; one unit changes it by at most {_why(part, chosen)}; {float(release.share):.1%} of the budget"
    )


def _why(part: Part, chosen: Plan) -> str:
    rows, groups = chosen.rows, chosen.groups
    change = part.sensitivity(rows, groups)[0]
    if part.kind == "units":
        return f"{change} (one in each of {change} groups)" if change > 1 else "1"
    if part.kind == "rows":
        return f"{change} ({rows} rows)" if rows > 1 else "1"
    return f"{change:,} = {rows} rows x {part.reach:,} steps of {float(part.step):g}"


def _removed(chosen: Plan) -> tuple[str, ...]:
    found = list(chosen.query.source.removed())
    owner = chosen.query.source.owner
    if owner is not None:
        if chosen.query.source.most is None or chosen.rows < chosen.query.source.most:
            found.append(f"rows of one {owner} beyond {chosen.rows}")
        if chosen.query.keys:
            found.append(f"groups of one {owner} beyond {chosen.groups}")
        found.append(f"rows without {owner}")
    if strict := sorted(_strict(chosen)):
        found.append(f"rows where {' or '.join(strict)} is NULL or not as declared")
    return tuple(found)


def _strict(chosen: Plan) -> set[str]:
    """The declared columns that are read and may not be missing, of all tables, also those that sub-queries read."""
    table, read = chosen.table, chosen.query.columns()
    scanned = [(table, read)]
    if isinstance(table.source, Relation):
        scanned = [(scan.table, frozenset(scan.names)) for scan in table.source.pruned(read).scans()]
    return {name for one, names in scanned for name in names if not one.domain[name].nullable}


def _clamped(chosen: Plan) -> tuple[str, ...]:
    bounded = [name for name in sorted(chosen.query.columns()) if hasattr(chosen.table.domain[name], "low")]
    return (f"values of {', '.join(bounded)} outside their declared bounds are moved to the bound",) if bounded else ()


def _alternatives(chosen: Plan, beta: float, bounds: dict[str, int | None]) -> tuple[str, ...]:
    """What the same epsilon would buy with a delta, and what pure noise would cost."""
    budget = chosen.budget
    if not isinstance(budget, (PureDP, ApproxDP)):
        return ()
    usual = sensible(exact(budget.epsilon), people(chosen.query))
    delta = exact(budget.delta) if isinstance(budget, ApproxDP) and exact(budget.delta) else usual
    other = ApproxDP(budget.epsilon, delta) if isinstance(budget, PureDP) else PureDP(budget.epsilon)
    if chosen.selection is not None:
        return ("declared keys (Categorical) would cost no delta and be returned for sure",)
    found = plan(chosen.query, chosen.table, budget=other, **bounds)
    size, kind = _size(chosen, beta), _kind(found)
    if kind == _kind(chosen):
        return (f"budget={other} would choose {kind} too: the same error",)
    if size == 0:
        return (f"budget={other} would use {kind}: there is hardly any error to be saved",)
    return (f"budget={other} would use {kind}: {_size(found, beta) / size:.2f} times the error",)


def _kind(chosen: Plan) -> str:
    """The laws that a plan draws from."""
    return " and ".join(dict.fromkeys(_law(release.mechanism) for release in chosen.releases))


def _law(mechanism: Laplace | Gaussian | GridQuantile | QuantileBound) -> str:
    match mechanism:
        case Laplace():
            return "Laplace noise"
        case Gaussian():
            return "Gaussian noise"
        case _:
            return "permute-and-flip" if mechanism.method == "permute_and_flip" else "the exponential mechanism"


def _size(chosen: Plan, beta: float) -> float:
    total = 0.0
    for release in chosen.releases:
        part = release.part
        change = chosen.rows if isinstance(part, Rank) else part.sensitivity(chosen.rows, chosen.groups)[0]
        total += (release.mechanism.accuracy(beta) / change) ** 2
    return math.sqrt(total)
