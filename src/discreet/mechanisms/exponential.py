"""The exponential mechanism: choose one of finitely many candidates by a private score.

Theorem (McSherry, Talwar 2007; Dong, Durfee, Rogers 2020; Cesar, Rogers 2021).
Let every integer score u_o move by at most `sensitivity` between neighbours.  Choosing o
with Pr[o] proportional to exp(rate u_o) is epsilon-DP, and epsilon^2 / 8 - zCDP, for

    rate = epsilon / (2 sensitivity),
    rate = epsilon / sensitivity   when scores are monotone: all rise or all fall together.

Scores can be monotone only under a relation whose step adds or takes one thing (AddRemove, NullRow,
EdgeNeighbours), so `monotone` names one of these.
Among k candidates, whatever their scores, with alpha' = floor(alpha) + 1,

    Pr[best score - chosen score > alpha] <= (k - 1) w / (1 + (k - 1) w),   w = exp(-rate alpha'),

with equality when one candidate leads the k - 1 others by alpha'.  So the error is at most
(ln(k - 1) + ln(1 / beta)) / rate with probability 1 - beta.  Proof: docs/theory/exponential.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import UnsupportedError, require
from discreet.hazmat.entropy import RandomSource
from discreet.hazmat.selection import gaps, softmax
from discreet.privacy.event import ExponentialEvent
from discreet.privacy.guarantee import PureDP, Relation
from discreet.privacy.neighbours import AddRemove, EdgeNeighbours, NullRow, known
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Scores = list[int] | tuple[int, ...] | npt.NDArray[np.int64] | npt.NDArray[np.object_]
    Probabilities = npt.NDArray[np.float64]


# A step adds or takes one thing; under Replace, Local and NodeNeighbours it can do both at once.
ONE_WAY = (AddRemove, NullRow, EdgeNeighbours)


@dataclass(frozen=True, kw_only=True, slots=True)
class Exponential:
    """Choose the index of a high score; scores are integers, `sensitivity` is the most that one of them moves.

    >>> from discreet.hazmat.entropy import SeededRandom
    >>> votes = [540, 501, 12]
    >>> exponential = Exponential(epsilon=0.5, sensitivity=1)
    >>> exponential(votes, rng=SeededRandom(7))
    0
    >>> exponential.privacy()
    PureDP(epsilon=0.5)
    >>> exponential.accuracy(beta=0.05, size=3)
    14
    """

    epsilon: Number
    sensitivity: int
    monotone: bool = False
    neighbours: Relation = None

    def __post_init__(self) -> None:
        check_selection(self.epsilon, self.sensitivity, monotone=self.monotone, neighbours=self.neighbours)

    @property
    def rate(self) -> Fraction:
        """What a point of score is worth: epsilon / (2 sensitivity), or twice that for monotone scores."""
        return rate(self.epsilon, self.sensitivity, monotone=self.monotone)

    def __call__(self, scores: Scores, *, rng: RandomSource | None = None) -> int:
        """The index of the chosen candidate."""
        return int(softmax(gaps(scores), self.rate, rng=rng))

    def releases(self, scores: Scores, count: int, *, rng: RandomSource | None = None) -> npt.NDArray[np.int64]:
        """`count` independent choices, for audits and pictures; as a release they would cost `count` times."""
        return softmax(gaps(scores), self.rate, shape=(count,), rng=rng)

    def probabilities(self, scores: Scores) -> Probabilities:
        """The law of the choice, in floating point.

        >>> Exponential(epsilon=1, sensitivity=1).probabilities([10, 0]).round(8)
        array([0.99330715, 0.00669285])
        """
        import numpy as np

        weights = np.exp(-scaled(self.rate, scores))
        return weights / weights.sum()

    def privacy(self) -> PureDP:
        """epsilon, under the relation for which the sensitivity holds."""
        return PureDP(self.epsilon, neighbours=self.neighbours)

    def accuracy(self, beta: float = 0.05, *, size: int | None = None) -> int:
        """The least alpha with Pr[best - chosen > alpha] <= beta whatever the `size` scores are."""
        k = candidates(beta, size)
        if k == 1:
            return 0
        return max(0, math.ceil(Fraction(math.log(k - 1) + math.log1p(-beta) - math.log(beta)) / self.rate) - 1)

    def event(self) -> ExponentialEvent:
        """What ran: log-ratios in an interval of length epsilon."""
        return ExponentialEvent(epsilon=self.epsilon)


def check_selection(epsilon: Number, sensitivity: int, *, monotone: bool, neighbours: Relation) -> None:
    """The conditions under which a selection by integer scores has a theorem here."""
    require(exact(epsilon) > 0, "epsilon > 0", epsilon=epsilon)
    whole = isinstance(sensitivity, int) and not isinstance(sensitivity, bool)
    require(whole and sensitivity >= 1, "an integer sensitivity >= 1", sensitivity=sensitivity)
    require(isinstance(monotone, bool), "monotone True or False", monotone=monotone)
    relation = known(neighbours)
    if monotone and relation not in ONE_WAY:
        where = "where no relation is named" if relation is None else f"under {relation.__name__}"
        raise UnsupportedError(
            f"{where} one score can rise while another falls, so scores are not monotone;"
            " pass monotone=False, or count under neighbours=AddRemove"
        )


def rate(epsilon: Number, sensitivity: int, *, monotone: bool) -> Fraction:
    """What a point of score is worth in every selection: the one place that knows when the factor 2 may go."""
    return exact(epsilon) / ((1 if monotone else 2) * sensitivity)


def candidates(beta: float, size: int | None) -> int:
    """The number of candidates, once it and beta are known to make sense."""
    require(0 < beta < 1, "0 < beta < 1", beta=beta)
    if size is None:
        raise UnsupportedError("the error of a selection grows with the number of candidates; pass size=")
    require(isinstance(size, int) and not isinstance(size, bool) and size >= 1, "size >= 1", size=size)
    return size


def scaled(rate: Fraction, scores: Scores) -> Probabilities:
    """rate times the gaps, in floating point, cut where exp(-x) is zero anyway."""
    import numpy as np

    short = gaps(scores)
    if short.dtype == object:
        return np.array([float(min(rate * gap, 800)) for gap in short])
    return np.minimum(short.astype(np.float64) * float(min(rate, Fraction(800))), 800.0)
