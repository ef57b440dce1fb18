"""Which mechanism for this workload, n and budget: EXPLAIN for privacy.

`plan` asks every candidate what its error will be, from its theorem or by simulation on made-up rows, and chooses the
least.  Nothing is read and nothing is spent.  Among mechanisms whose errors do not depend on the data the choice is
exactly the best, by their variances; where a simulation decides, it is the best on data like the made-up rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from discreet.bounds.best import LowerBound
from discreet.errors import UnsupportedError, require
from discreet.planning import work
from discreet.planning.candidate import Candidate, ReleaseMechanism, candidates
from discreet.planning.floor import floors
from discreet.planning.predict import (
    RUNS,
    Allowance,
    Prediction,
    Question,
    StandIn,
    bound,
    most_runs,
    ranked,
    simulate,
    state,
    unknown,
    wants_runs,
)
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.neighbours import Neighbours
from discreet.queries.workload import Workload, swaps
from discreet.release.noise import relation_for

if TYPE_CHECKING:
    import altair as alt

Objective = Literal["max", "mean"]
MOMENT = 3.0  # seconds of theorems and lower bounds that are looked at in any case


def plan(
    workload: Workload,
    *,
    n: int,
    budget: Guarantee,
    objective: Objective = "max",
    beta: float = 0.05,
    seconds: float = 10.0,
    among: Sequence[Candidate] | None = None,
) -> Plan:
    """Predict the error of every mechanism and choose.

    Without a relation in the budget, n is public and a row may be replaced; `budget=ZCDP(0.1, neighbours=AddRemove)`
    plans for a private number of rows, of which n is a guess.  `seconds` limits the work, all in all: it is counted
    from forecasts before anything is done, so that the same question has the same plan on a busy machine, and what it
    does not reach is named in `unseen`.  A few seconds of theorems and bounds are looked at in any case.

    >>> from discreet.data import Boolean, Domain
    >>> from discreet.privacy.guarantee import PureDP
    >>> from discreet.queries import marginals
    >>> domain = Domain({"a": Boolean(), "b": Boolean(), "c": Boolean()})
    >>> made = plan(marginals(domain, 1), n=1000, budget=PureDP(1.0), seconds=0)
    >>> made.chosen.name in {row.name for row in made.rows}
    True
    """
    require(
        isinstance(workload, Workload), "a Workload, such as marginals(domain, 2)", workload=type(workload).__name__
    )
    require(isinstance(n, int) and not isinstance(n, bool) and n >= 1, "an integer n >= 1", n=n)
    require(objective in ("max", "mean"), "objective 'max' or 'mean'", objective=objective)
    require(0 < beta < 1, "0 < beta < 1", beta=beta)
    require(seconds >= 0, "seconds >= 0", seconds=seconds)
    neighbours = relation_for(budget, n=n)
    question = Question(
        workload=workload,
        budget=budget,
        n=n,
        public_n=n if swaps(neighbours) else None,
        beta=beta,
        seconds=seconds,
    )
    unseen: list[str] = []
    rows, known = _looked_at(question, candidates() if among is None else among, neighbours, unseen)
    usable = ranked([row for row in rows if row.usable], objective)
    if not usable:
        reasons = "; ".join(f"{row.name}: {row.reason}" for row in rows)
        raise UnsupportedError(f"no mechanism applies to this workload and budget ({reasons})")
    return Plan(
        question=question,
        objective=objective,
        rows=tuple(usable),
        refused=tuple(row for row in rows if not row.usable),
        floors=tuple(bound for bound in known if not bound.gaussian),
        gaussian=next((bound for bound in known if bound.gaussian), None),
        unseen=tuple(unseen),
    )


def _looked_at(
    question: Question, among: Sequence[Candidate], neighbours: type[Neighbours], unseen: list[str]
) -> tuple[list[Prediction], tuple[LowerBound, ...]]:
    """Theorems first, the cheapest first; then the lower bounds; then simulations, again the cheapest first."""
    workload, allowance = question.workload, Allowance(question.seconds + MOMENT)
    costs = {one.name: one.cost(workload) for one in among}

    def over(name: str, seconds: float) -> str:
        unseen.append(name)
        most = f"{seconds:.3g} s" if math.isfinite(seconds) else "more memory than there is"
        return f"not looked at: {name} takes about {most}, and seconds={question.seconds:g} leaves {allowance.left:.3g}"

    found: dict[str, Prediction] = {}
    for one in sorted(among, key=lambda one: costs[one.name].planning):
        cost = costs[one.name]
        if allowance.covers(cost.planning):
            found[one.name] = state(one, question, cost)
        else:
            found[one.name] = unknown(one.name, cost, over(one.name, cost.planning))
    known: tuple[LowerBound, ...] = ()
    if allowance.covers(work.bounded(workload)):
        known = floors(workload, budget=question.budget, n=question.n, neighbours=neighbours, beta=question.beta)
    else:
        over("lower bounds", work.bounded(workload))
    allowance.left = min(allowance.left, question.seconds)
    stand_in = StandIn(question)
    for one in sorted(among, key=lambda one: costs[one.name].seconds):
        row, cost = found[one.name], costs[one.name]
        if not wants_runs(one, row):
            continue
        runs = next((r for r in (most_runs(cost), RUNS) if allowance.covers(stand_in.cost + r * cost.seconds)), 0)
        if runs:
            row = simulate(row, stand_in, runs=runs)
        else:
            over(f"{one.name}, simulated", stand_in.cost + RUNS * cost.seconds)
        found[one.name] = bound(row, question) if not row.usable and not row.reason else row
    return [found[one.name] for one in among], known


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Plan:
    """What every mechanism would do, the best first, and what nobody, or nobody unbiased, can do.

    `gaussian` is what continuous Gaussian noise on any factorization must have under (epsilon, delta).  It is no floor:
    mechanisms with other noise, discrete noise among it, may have less.  `unseen` names what `seconds` did not reach.

    >>> import discreet as dc
    >>> found = plan(dc.queries.thresholds(16), n=1000, budget=dc.ZCDP(0.1), seconds=0)
    >>> found.chosen.name in {row.name for row in found.rows}
    True
    """

    question: Question
    objective: Objective
    rows: tuple[Prediction, ...]
    refused: tuple[Prediction, ...]
    floors: tuple[LowerBound, ...]
    gaussian: LowerBound | None = None
    unseen: tuple[str, ...] = ()

    @property
    def chosen(self) -> Prediction:
        """The mechanism with the least predicted error."""
        return self.rows[0]

    @property
    def bound(self) -> LowerBound | None:
        """The best lower bound that is known, on every mechanism or else on every unbiased one; None where none is."""
        return self.floors[0] if self.floors else None

    def mechanism(self) -> ReleaseMechanism:
        """The chosen mechanism, ready to be called on data."""
        return self.build(self.chosen.name)

    def build(self, name: str) -> ReleaseMechanism:
        """Any of the mechanisms of the plan."""
        found = next((row.mechanism for row in self.rows if row.name == name), None)
        if found is None:
            known = ", ".join(repr(row.name) for row in self.rows)
            raise UnsupportedError(f"no mechanism {name!r} in this plan; there are {known}")
        return found

    def __str__(self) -> str:
        from discreet.planning.show import text

        return text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from discreet.planning.show import html

        return html(self)

    def to_dict(self) -> dict[str, object]:
        """For programs: JSON-ready; what is infinite or not known is None."""
        from discreet.planning.show import record

        return record(self)

    def plot(self) -> alt.LayerChart | alt.FacetChart:
        """The predicted errors as points, with the floors as lines."""
        from discreet.planning.picture import plot

        return plot(self)
