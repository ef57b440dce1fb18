"""The error a mechanism will have, before any data is read.

    theorem      the mechanism's errors do not depend on the data: exact variances, and the bound of `accuracy`;
                 where the answers are improved afterwards, their errors on made-up rows if these are less
    simulated    they do: the mechanism is run on made-up rows (`Records.random`), drawn from the declaration and n
    bound        they do, and a simulation would take too long: the bound of its theorem

Three figures, in counts.  `largest`: no query errs by more, but with probability beta (simulated: in none of the runs).
`expected`: the median of the largest error (theorem: as if the errors were independent and normal, an upper bound).
`typical`: the root of the mean square over the queries.  A simulation is a forecast for data like the made-up rows,
not a promise.  It is the same every time: a plan is a function of public facts, and how much is looked at is decided
by forecasts of the work (`work`), never by a clock.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from discreet.data.records import Records
from discreet.errors import DiscreetError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.planning import work
from discreet.planning.candidate import Candidate, Cost, ReleaseMechanism
from discreet.privacy.guarantee import Guarantee
from discreet.queries.workload import Workload

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.queries.workload import Countable

Basis = Literal["theorem", "simulated", "bound"]
RUNS, MOST = 6, 40  # of a simulation, shared by the kinds of made-up rows: the more the cheaper they are
KINDS = ((0.7, False), (0.1, True))  # of made-up rows: spread out, and crowded on the first values


@dataclass(frozen=True, kw_only=True, slots=True)
class Prediction:
    """One row of a plan: errors in counts; `reason` says why a mechanism is out where `largest` is infinite.

    >>> import discreet as dc
    >>> dc.plan(dc.queries.thresholds(16), n=1000, budget=dc.ZCDP(0.1), seconds=0).chosen.basis
    'theorem'
    """

    name: str
    largest: float
    expected: float
    typical: float
    basis: Basis
    cost: Cost
    reason: str = ""
    mechanism: ReleaseMechanism | None = field(default=None, compare=False, repr=False)  # as built for the prediction

    @property
    def usable(self) -> bool:
        """Whether it applies and something is known of its error."""
        return math.isfinite(self.largest)


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """What a mechanism is judged on; all of it is public."""

    workload: Workload
    budget: Guarantee
    n: int
    public_n: int | None  # what the mechanism is told
    beta: float
    seconds: float  # of work that may be spent on it, by forecast


class Allowance:
    """Seconds of forecast work that are left: spent before the work is done, and never measured."""

    __slots__ = ("left",)

    def __init__(self, seconds: float) -> None:
        self.left = seconds

    def covers(self, seconds: float) -> bool:
        """Whether so much work is left, and then it no longer is."""
        if not seconds <= self.left:
            return False
        self.left -= seconds
        return True

    def __repr__(self) -> str:
        return f"Allowance({self.left:.3g} seconds)"


def unknown(name: str, cost: Cost, reason: str = "") -> Prediction:
    """A row of which no error is known."""
    return Prediction(
        name=name, largest=math.inf, expected=math.inf, typical=math.inf, basis="theorem", cost=cost, reason=reason
    )


def state(candidate: Candidate, question: Question, cost: Cost) -> Prediction:
    """A mechanism as it is built, with what its theorem says of its error; or the reason why it has none."""
    nothing = unknown(candidate.name, cost)
    try:
        mechanism = candidate.build(question.workload, question.budget, question.public_n)
        found = replace(nothing, mechanism=mechanism)
        if not hasattr(mechanism, "variances"):
            return found
        kinds, runs = variance_kinds(mechanism)
        typical = math.sqrt(float((kinds * runs).sum() / runs.sum()))
        expected = median_largest(kinds, runs)
        return replace(found, largest=mechanism.accuracy(question.beta), expected=expected, typical=typical)
    except (DiscreetError, OverflowError) as reason:  # of a budget whose noise is beyond the floats
        return replace(nothing, reason=str(reason), mechanism=None)


def variance_kinds(mechanism: ReleaseMechanism) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """The variances, and how many answers have each: told by the mechanism, or counted."""
    import numpy as np

    told = getattr(mechanism, "variance_kinds", None)
    if told is not None:
        return told()
    kinds, runs = np.unique(mechanism.variances(), return_counts=True)  # type: ignore[attr-defined]
    return kinds, runs


def wants_runs(candidate: Candidate, found: Prediction) -> bool:
    """Whether a simulation would tell more than the theorem."""
    return found.mechanism is not None and (candidate.improved or not hasattr(found.mechanism, "variances"))


def simulate(found: Prediction, stand_in: StandIn, *, runs: int) -> Prediction:
    """What runs on made-up rows show, where it says more than the theorem."""
    assert found.mechanism is not None
    try:
        largest, expected, typical = stand_in.errors(found.mechanism, runs)
    except (DiscreetError, OverflowError) as reason:
        return found if found.usable else replace(found, reason=str(reason))
    if found.usable:
        return replace(found, expected=min(expected, found.expected), typical=min(typical, found.typical))
    return replace(found, largest=largest, expected=expected, typical=typical, basis="simulated")


def bound(found: Prediction, question: Question) -> Prediction:
    """What the theorem bounds of a mechanism that was not simulated, or why it bounds nothing."""
    if found.usable or found.mechanism is None:
        return found
    try:
        alpha = found.mechanism.accuracy(question.beta)
    except (DiscreetError, OverflowError) as reason:
        return replace(found, reason=str(reason))
    return replace(found, largest=alpha, expected=alpha, typical=alpha, basis="bound")


def median_largest(variances: npt.NDArray[np.float64], runs: npt.NDArray[np.int64]) -> float:
    """The median of the largest of independent normal errors, `runs[i]` of variance i.

    By Sidak's inequality no correlation makes it larger.

    >>> import numpy as np
    >>> round(median_largest(np.ones(1), np.array([1000])), 2)
    3.39
    """
    import numpy as np
    from scipy.special import ndtr

    noisy = variances > 0
    spread, runs = np.sqrt(variances[noisy]), runs[noisy]
    if not len(spread):
        return 0.0
    low, high = 0.0, 10.0 * float(spread.max())
    for _ in range(60):
        middle = (low + high) / 2
        inside = np.log1p(-2 * ndtr(-middle / spread))
        low, high = (low, middle) if float((runs * inside).sum()) >= -math.log(2) else (middle, high)
    return high


def ranked(rows: list[Prediction], objective: Literal["max", "mean"]) -> list[Prediction]:
    """The best first: by the median of the largest error, or by the root mean square."""
    return sorted(rows, key=lambda row: (row.expected if objective == "max" else row.typical, row.largest))


class StandIn:
    """Made-up data in place of the private ones, and the true answers on it; made when first needed."""

    __slots__ = ("_made", "question")

    def __init__(self, question: Question) -> None:
        self.question = question
        self._made: list[tuple[Countable, npt.NDArray[np.float64]]] = []

    @property
    def cost(self) -> float:
        """What it takes to make it: nothing once it is made."""
        if self._made:
            return 0.0
        return len(KINDS) * work.made_up(self.question.workload, self.question.n)

    def data(self) -> list[tuple[Countable, npt.NDArray[np.float64]]]:
        """Rows of each kind, with the true answers."""
        if not self._made:
            workload, n = self.question.workload, self.question.n
            self._made = [made_up(workload, n, evenness, falling=falling) for evenness, falling in KINDS]
        return self._made

    def errors(self, mechanism: ReleaseMechanism, runs: int) -> tuple[float, float, float]:
        """The largest error in any run, the median of the runs, and the root mean square: means over the kinds."""
        import numpy as np

        largest: list[list[float]] = []
        squares: list[list[float]] = []
        for rows, true in self.data():
            largest.append([])
            squares.append([])
            for run in range(runs // len(KINDS)):
                error = mechanism(rows, rng=SeededRandom(run)).answers - true
                largest[-1].append(float(np.abs(error).max()))
                squares[-1].append(float((error**2).mean()))
        middle = [sorted(kind)[len(kind) // 2] for kind in largest]
        typical = [math.sqrt(sum(kind) / len(kind)) for kind in squares]
        return max(map(max, largest)), _mean(middle), _mean(typical)


def most_runs(cost: Cost) -> int:
    """The more the cheaper they are: about a second in all."""
    return max(RUNS, min(MOST, int(1 / max(cost.seconds, 1e-3))))


def _mean(errors: list[float]) -> float:
    """The geometric mean: what matters of errors is their ratio."""
    return math.prod(errors) ** (1 / len(errors))


def made_up(workload: Workload, n: int, evenness: float, *, falling: bool) -> tuple[Countable, npt.NDArray[np.float64]]:
    """n made-up rows of the workload's domain, counted where the universe can be listed, and the true answers."""
    import numpy as np

    rows = Records.random(workload.domain, n, seed=0, evenness=evenness, falling=falling)
    held: Countable = rows.histogram() if workload.domain.size <= work.LISTED else rows
    try:
        answers = workload.answer(held)
    except UnsupportedError:
        if workload.domain.size <= work.LISTED:
            raise
        raise UnsupportedError(
            f"a universe of {workload.domain.size} cells cannot be listed for a simulation"
        ) from None
    return held, np.asarray(answers, dtype=np.float64)
