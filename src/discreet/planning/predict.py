"""The error a mechanism will have, before any data is read.

    theorem      the mechanism's errors do not depend on the data: exact variances, and the bound of `accuracy`;
                 where the answers are improved afterwards, their errors on made-up rows if these are less
    simulated    they do: the mechanism is run on made-up rows (`Records.random`), drawn from the declaration and n
    bound        they do, and a simulation would take too long: the bound of its theorem

Three figures, in counts.  `largest`: no query errs by more, but with probability beta (simulated: in none of the runs).
`expected`: the median of the largest error (theorem: as if the errors were independent and normal, an upper bound).
`typical`: the root of the mean square over the queries.  A simulation is a forecast for data like the made-up rows,
not a promise.  It is the same every time: a plan is a function of public facts.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from discreet.data.histogram import Histogram
from discreet.data.records import Records
from discreet.errors import DiscreetError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
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
LISTED = 1 << 26  # cells of a histogram that is made up


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
    seconds: float  # that one simulation may take


def predict(candidate: Candidate, question: Question, stand_in: StandIn) -> Prediction:
    """The error of a candidate, or the reason why it has none."""
    nothing = Prediction(
        name=candidate.name,
        largest=math.inf,
        expected=math.inf,
        typical=math.inf,
        basis="theorem",
        cost=Cost(math.nan, math.nan),
    )
    try:
        mechanism = candidate.build(question.workload, question.budget, question.public_n)
        found = replace(nothing, cost=candidate.cost(question.workload), mechanism=mechanism)
        return _predicted(mechanism, found, question, stand_in, improved=candidate.improved)
    except (DiscreetError, OverflowError) as reason:  # of a budget whose noise is beyond the floats
        return replace(nothing, reason=str(reason))


def _predicted(
    mechanism: ReleaseMechanism, found: Prediction, question: Question, stand_in: StandIn, *, improved: bool
) -> Prediction:
    if hasattr(mechanism, "variances"):
        spread = mechanism.variances()  # type: ignore[attr-defined]
        typical = math.sqrt(float(spread.mean()))
        found = replace(
            found, largest=mechanism.accuracy(question.beta), expected=median_largest(spread), typical=typical
        )
        if not improved or RUNS * found.cost.seconds > question.seconds:
            return found
        _, expected, typical = stand_in.errors(mechanism, found.cost)
        return replace(found, expected=min(expected, found.expected), typical=min(typical, found.typical))
    if RUNS * found.cost.seconds <= question.seconds:
        largest, expected, typical = stand_in.errors(mechanism, found.cost)
        return replace(found, largest=largest, expected=expected, typical=typical, basis="simulated")
    bound = mechanism.accuracy(question.beta)  # refused where there is none
    return replace(found, largest=bound, expected=bound, typical=bound, basis="bound")


def median_largest(variances: npt.NDArray[np.float64]) -> float:
    """The median of the largest of independent normal errors; by Sidak's inequality no correlation makes it larger.

    >>> import numpy as np
    >>> round(median_largest(np.ones(1000)), 2)
    3.39
    """
    import numpy as np
    from scipy.special import ndtr

    kinds, runs = np.unique(variances[variances > 0], return_counts=True)  # millions of cells have few variances
    spread = np.sqrt(kinds)
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

    def data(self) -> list[tuple[Countable, npt.NDArray[np.float64]]]:
        """Rows of each kind, with the true answers."""
        import numpy as np

        if not self._made:
            workload, n = self.question.workload, self.question.n
            for evenness, falling in KINDS:
                rows = made_up(workload, n, evenness, falling=falling)
                self._made.append((rows, np.asarray(workload.answer(rows), dtype=np.float64)))
        return self._made

    def errors(self, mechanism: ReleaseMechanism, cost: Cost) -> tuple[float, float, float]:
        """The largest error in any run, the median of the runs, and the root mean square: means over the kinds."""
        import numpy as np

        largest: list[list[float]] = []
        squares: list[list[float]] = []
        began = time.monotonic()
        runs = max(RUNS, min(MOST, int(1 / max(cost.seconds, 1e-3))))
        for rows, true in self.data():
            largest.append([])
            squares.append([])
            for run in range(runs // len(KINDS)):
                if run and time.monotonic() - began > self.question.seconds:
                    break  # slower than was forecast
                error = mechanism(rows, rng=SeededRandom(run)).answers - true
                largest[-1].append(float(np.abs(error).max()))
                squares[-1].append(float((error**2).mean()))
        middle = [sorted(kind)[len(kind) // 2] for kind in largest]
        typical = [math.sqrt(sum(kind) / len(kind)) for kind in squares]
        return max(map(max, largest)), _mean(middle), _mean(typical)


def _mean(errors: list[float]) -> float:
    """The geometric mean: what matters of errors is their ratio."""
    return math.prod(errors) ** (1 / len(errors))


def made_up(workload: Workload, n: int, evenness: float, *, falling: bool) -> Countable:
    """n made-up rows of the workload's domain: counted where the universe can be listed."""
    rows = Records.random(workload.domain, n, seed=0, evenness=evenness, falling=falling)
    if workload.domain.size <= LISTED:
        counted: Histogram = rows.histogram()
        return counted
    try:
        workload.from_marginals(rows)
    except UnsupportedError:
        raise UnsupportedError(
            f"a universe of {workload.domain.size} cells cannot be listed for a simulation"
        ) from None
    return rows
