"""A whole workload in one release: which mechanism, at which price, from public facts only.

Theorem.  Let one unit have at most k of the rows that are read.  Adding or removing it is k steps of one row added or
removed.  A mechanism that is epsilon / k - DP, or rho / k^2 - zCDP, for one row is therefore epsilon-DP, or rho-zCDP,
for one unit.  Proof: docs/theory/release.md.

An (epsilon, delta) budget is spent on pure noise or on the largest rho that implies it, whichever gives independent
noise the smaller error: the choice does not depend on simulations, so that the same question has the same price.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from discreet.composition.price import Item, Price, price
from discreet.curator.delta import doubts
from discreet.curator.plan import PLANNER, lane_of, rho_of, spending_of
from discreet.data.canonical import digest, digest_or_none
from discreet.errors import ParameterError, UnsupportedError
from discreet.privacy.guarantee import ZCDP, ApproxDP, Guarantee, PureDP
from discreet.privacy.neighbours import AddRemove
from discreet.privacy.number import Number, exact
from discreet.queries.stored import from_dict
from discreet.queries.workload import Workload
from discreet.release.group import for_one_row
from discreet.release.independent import IndependentNoise
from discreet.release.reading import Reading

if TYPE_CHECKING:
    from discreet.data.table import Table
    from discreet.planning import Plan as Forecast
    from discreet.planning.candidate import Candidate, ReleaseMechanism

    Choice = str | Callable[..., ReleaseMechanism]

ROWS = 100_000  # a guess of the number of rows for forecasts, where neither the table nor the question gives one
MOST = 64_000_000  # answers of one release, which the ledger keeps
SECONDS = 20.0  # of work, by forecast, for the planner


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """A workload, what is spent on it, and what a mechanism may spend on one row."""

    workload: Workload
    name: str
    table: Table  # the declaration of what is asked about
    counted: bool  # whether cells are counted, and not rows read
    spending: PureDP | ApproxDP | ZCDP
    row: PureDP | ZCDP
    cost: Price
    n: int
    choice: Choice
    asked: str  # a hash of the workload

    @property
    def promise(self) -> Guarantee:
        """What the release keeps for one unit."""
        rows = self.table.rows_per_unit
        if isinstance(self.row, PureDP):
            return replace(self.row, epsilon=exact(self.row.epsilon) * rows)
        return replace(self.row, rho=exact(self.row.rho) * rows**2)

    def forecast(self) -> Forecast:
        """What every mechanism would do."""
        from discreet.planning import plan

        return plan(self.workload, n=self.n, budget=self.row, seconds=SECONDS)

    def mechanism(self) -> ReleaseMechanism:
        """The chosen one, built and held to its budget."""
        if self.choice == "auto":
            made = self.forecast().mechanism()
        elif isinstance(self.choice, str):
            from discreet.planning.candidate import candidates

            known = {one.name: one for one in candidates()}
            if self.choice not in known:
                raise ParameterError(f"need a mechanism among auto, {', '.join(known)}, got {self.choice!r}")
            made = known[self.choice].build(self.workload, self.row, None)
        else:
            made = self.choice(self.workload, budget=self.row, n=self.table.n or None)
        promised = made.privacy()
        if promised.neighbours is not AddRemove or not promised <= self.row:
            raise UnsupportedError(f"the mechanism promises {promised!r}; {self.row!r} under AddRemove is needed")
        fits = getattr(made, "fits", None)
        if callable(fits):
            fits()  # what can be built for its accuracy alone, and could not run
        return made

    def item(self, mechanism: ReleaseMechanism) -> Price | Item:
        """What is charged: the price, with what ran where that is the same and is known without building it again."""
        if isinstance(self.choice, str) or self.table.rows_per_unit > 1:
            return self.cost
        event = getattr(mechanism, "event", lambda: None)()
        return event if event is not None and price(event) == self.cost else self.cost

    @property
    def named(self) -> bool:
        """Whether the name says which mechanism runs: one of the library's, or the planner's choice among those."""
        from discreet.planning.builtin import BUILTIN
        from discreet.planning.candidate import candidates

        own = candidates()[
            len(BUILTIN) :
        ]  # somebody else's: what they build is the mechanism, not what they are called
        return isinstance(self.choice, str) and (not own if self.choice == "auto" else self.choice not in _names(own))

    def key(self, mechanism: ReleaseMechanism | None) -> str | None:
        """What makes two releases the same; None where it is not written which mechanism it is."""
        table = self.table
        return digest_or_none(
            "release",
            self.asked,
            self.spending.under(AddRemove),
            self.cost,
            [self.name, table.unit, table.version, table.rows_per_unit, table.n, self.n],
            self.choice if self.named else mechanism,
            PLANNER,
        )

    def text(self) -> str:
        """The question, for the ledger."""
        return f"RELEASE {self.workload!r} OF {', '.join(self.workload.domain)} FROM {self.name}"[:5000]

    def to_dict(self) -> dict[str, Any]:
        """The plan, JSON-ready."""
        forecast = self.forecast()
        return {
            "question": self.text(),
            "queries": len(self.workload),
            "budget": str(self.spending),
            "one_row": str(self.row),
            "price": {
                "epsilon": None if self.cost.epsilon is None else float(self.cost.epsilon),
                "rho": float(self.cost.rho),
                "delta": float(self.cost.delta),
            },
            "chosen": forecast.chosen.name,
            "forecast": str(forecast).splitlines(),
            "doubts": list(doubts(self.spending, self.table.n)),
        }

    def __str__(self) -> str:
        how = "counted cell by cell" if self.counted else "read row by row"
        text = [f"{self.text()}", f"  {how}; price: {self.spending}", f"  one row may cost {self.row}"]
        table = self.table
        if table.unit is not None:
            text.append(f"  removed before counting: rows of one {table.unit} beyond {table.rows_per_unit}")
        shown = str(self.forecast()).splitlines()
        careful = [f"  careful: {item}" for item in doubts(self.spending, self.table.n)]
        return "\n".join([*text, *(f"  {line}" for line in shown), *careful, "  nothing was read, nothing was spent"])


def batch(
    workload: Workload,
    name: str,
    reading: Reading,
    *,
    epsilon: Number | None = None,
    budget: Guarantee | None = None,
    mechanism: Choice = "auto",
    n: int | None = None,
) -> Batch:
    """Plan a release for `epsilon` or `budget`; `n` is a public guess, where the table declares no number of rows."""
    if not isinstance(mechanism, str) and not callable(mechanism):
        raise ParameterError(f"need 'auto', a name, a mechanism class or a factory, got {type(mechanism).__name__}")
    if n is not None and (isinstance(n, bool) or not isinstance(n, int) or n < 1):
        raise ParameterError(f"need an integer n >= 1, got n={n!r}")
    _fits(workload)
    written = json.dumps(workload.to_dict())  # refused where it has no name
    asked = digest(written)
    workload = from_dict(json.loads(written))  # our own object: sensitivities are never taken from a caller's class
    spending = spending_of(epsilon, budget)
    row, cost = _lane(workload, spending, reading.table.rows_per_unit)
    table = reading.table.declaration
    guess = n or table.n or ROWS
    return Batch(workload, name, table, reading.counted, spending, row, cost, guess, mechanism, asked)


def _names(candidates: Sequence[Candidate]) -> set[str]:
    return {one.name for one in candidates}


def _fits(workload: Workload) -> None:
    """Refuse a release that nobody could keep, also one of more answers than Python counts."""
    try:
        answers = f"{len(workload):,}"
        small = len(workload) <= MOST
    except OverflowError:
        answers, small = "more than 2^63", False
    if not small:
        raise UnsupportedError(
            f"a release of {answers} answers is too large, at most {MOST:,} are kept: leave columns out"
            " (Domain.project), or declare coarser steps"
        )


def lanes(spending: PureDP | ApproxDP | ZCDP, rows: int) -> list[tuple[PureDP | ZCDP, Price]]:
    """What one row may cost, and the price for one unit, in each lane that the budget opens.

    >>> lanes(PureDP(1), 10)[0][0], lanes(ZCDP(1), 10)[0][0]
    (PureDP(epsilon=0.1), ZCDP(rho=0.01))
    """
    pure = [] if isinstance(spending, ZCDP) else [PureDP(spending.epsilon)]
    found = [lane_of(one) for one in pure + ([] if rho_of(spending) is None else [spending])]
    return [(for_one_row(unit, rows), cost) for unit, cost in found]


def _lane(workload: Workload, spending: PureDP | ApproxDP | ZCDP, rows: int) -> tuple[PureDP | ZCDP, Price]:
    """The lane in which independent noise errs least."""
    found = lanes(spending, rows)
    if len(found) == 1:
        return found[0]
    if not workload.integral:
        return found[-1]
    return min(found, key=lambda lane: IndependentNoise(workload, budget=lane[0]).accuracy(0.05))
