"""The votes of the k nearest rows, and the private winner of a fixed number of elections.

Theorem.  Order the rows by (squared distance to the query, class) and let the first k vote.  Adding a row inserts one
pair into that order: if it comes among the first k, the k-th of before is pushed out.  So one class gains a vote and at
most one loses one: every count moves by at most 1, but not all in one direction, the l1 change is up to 2, and the
exponential mechanism has rate epsilon / 2, not epsilon.  Which of several equal pairs votes makes no difference.

On a Poisson sample of rate q drawn afresh for each query, an epsilon_0-DP winner is epsilon-DP with
epsilon = ln(1 + q (e^epsilon_0 - 1)).  Proof: docs/theory/nearest_neighbours.md.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import BudgetExhausted
from discreet.hazmat.entropy import RandomSource
from discreet.hazmat.one_process import OneProcess
from discreet.hazmat.samplers import bernoulli
from discreet.mechanisms.exponential import Exponential
from discreet.privacy.enclosure import exp_down, log_down, root_bounds
from discreet.privacy.event import Event, PureEvent
from discreet.privacy.guarantee import ZCDP, ApproxDP, Guarantee, PureDP
from discreet.privacy.number import exact
from discreet.release.allowance import Allowance

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Whole = npt.NDArray[np.int64]

HALF_PI = Fraction(15707963268, 10**10)  # from above


def votes(squares: Whole, classes: Whole, k: int, number: int) -> Whole:
    """How many of the first k rows, by (squared distance, class), are of each class.

    >>> import numpy as np
    >>> votes(np.array([4, 1, 1, 9]), np.array([0, 1, 0, 1]), 2, 2).tolist()
    [1, 1]
    """
    import numpy as np

    near = squares
    if len(squares) > k:
        edge = np.partition(squares, k - 1)[k - 1]
        kept = squares <= edge  # at least k rows; those at the edge are ordered by class
        near, classes = squares[kept], classes[kept]
    order = np.lexsort((classes, near))[:k]
    return np.bincount(classes[order], minlength=number).astype(np.int64)


def election(budget: Guarantee, queries: int, rate: Fraction) -> tuple[Exponential, Event]:
    """The choice for one of so many queries, and what it is to the accountant, sampling included.

    Under (epsilon, delta) it is the sharper of that at epsilon / queries and that in Gaussian terms.

    >>> float(election(PureDP(3), 3, Fraction(1))[0].epsilon)
    1.0
    """
    found = [_election(Allowance(budget, entries=1), queries, rate)] if not _pure(budget) else []
    if isinstance(budget, PureDP | ApproxDP):
        found.append(_election(Allowance(PureDP(budget.epsilon), entries=1), queries, rate))
    return max(found, key=lambda pair: pair[0].rate)


def _pure(budget: Guarantee) -> bool:
    return isinstance(budget, PureDP) or (isinstance(budget, ApproxDP) and exact(budget.delta) == 0)


def _election(allowance: Allowance, queries: int, rate: Fraction) -> tuple[Exponential, Event]:
    share = allowance.total / queries
    if rate == 1:
        choice = allowance.choice(share, sensitivity=1)
        return choice, choice.event()
    match allowance.budget:  # what the sampled choice may cost as a pure mechanism
        case PureDP():
            epsilon = share
        case ZCDP():
            epsilon = root_bounds(2 * share)[0]
        case _:  # epsilon-DP is mu-GDP for mu = epsilon sqrt(pi / 2)
            epsilon = root_bounds(share / HALF_PI)[0]
    return Exponential(epsilon=inside(epsilon, rate), sensitivity=1), PureEvent(epsilon=epsilon)


def inside(epsilon: Fraction, rate: Fraction) -> Fraction:
    """The epsilon_0 with ln(1 + rate (e^epsilon_0 - 1)) <= epsilon, from below.

    >>> round(float(inside(Fraction(1, 10), Fraction(1, 10))), 4)
    0.7187
    """
    return log_down(1 + (exp_down(epsilon) - 1) / rate)


class Voters(OneProcess):
    """Private rows that vote, with the number of elections left.  They cannot be shown, copied, stored or forked."""

    WHAT, INSTEAD = "a model with `queries`", "it holds private rows and counts its elections; fit another"

    def __init__(
        self,
        vectors: Whole,
        classes: Whole,
        *,
        number: int,
        neighbours: int,
        choice: Exponential,
        rate: Fraction,
        left: int,
        rng: RandomSource | None,
    ) -> None:
        self._vectors = vectors
        self._classes = classes
        self.number = number
        self.neighbours = neighbours
        self.choice = choice
        self.rate = rate
        self.left = left
        self._rng = rng
        self._answered: dict[bytes, int] = {}

    def winners(self, queries: Whole) -> Whole:
        """One class a query.  A query asked before gets the same answer and costs nothing; too many are refused."""
        import numpy as np

        with self._alone():
            keys = [row.tobytes() for row in np.ascontiguousarray(queries)]
            new = {key: row for key, row in zip(keys, queries, strict=True) if key not in self._answered}
            if len(new) > self.left:
                raise BudgetExhausted(requested=f"{len(new)} queries", remaining=f"{self.left} queries")
            self.left -= len(new)  # paid before a row is looked at
            for key, query in new.items():
                self._answered[key] = self._winner(query)
            return np.array([self._answered[key] for key in keys], dtype=np.int64)

    def _winner(self, query: Whole) -> int:
        vectors, classes = self._vectors, self._classes
        if self.rate < 1:
            here = bernoulli(self.rate, shape=(len(classes),), rng=self._rng)
            vectors, classes = vectors[here], classes[here]
        away = vectors - query
        return self.choice(votes((away * away).sum(axis=1), classes, self.neighbours, self.number), rng=self._rng)
