"""The sparse vector technique: which of many questions lie above a threshold, for the price of a few.

Theorem (Dwork, Naor, Reingold, Rothblum, Vadhan 2009; Lyu, Su, Li 2017; Ding et al. 2019).
Let every integer answer q_i(x) move by at most `sensitivity` between neighbours; questions
may be chosen adaptively.  Draw R once and N_i for each question, independent discrete
Laplace with scales

    sensitivity / e1   for R,    2 count sensitivity / e2   for N_i,

or half the latter when answers are monotone (all rise or all fall together).  Reporting
"above" when q_i + N_i >= threshold + R, together with the margin q_i + N_i - threshold - R
of each "above", and stopping after `count` of them, is (e1 + e2)-DP however many "below"
there are.  The split e1 : e2 = 1 : (2 count)^(2/3), or 1 : count^(2/3) when monotone,
minimises the variance of N_i - R.  With probability 1 - beta every "above" has
q_i >= threshold - alpha and every "below" has q_i <= threshold + alpha, for k questions,
when k (Pr[N - R > alpha] + Pr[N - R > alpha + 1]) <= beta.  Proof: docs/theory/sparse_vector.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import BudgetExhausted, ParameterError, UnsupportedError, require
from discreet.hazmat.entropy import RandomSource, source
from discreet.hazmat.integers import integers
from discreet.hazmat.one_process import OneProcess
from discreet.hazmat.samplers import discrete_laplace
from discreet.hazmat.selection import row
from discreet.mechanisms.exponential import check_selection
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.noisy_max import difference_tail, least
from discreet.privacy.event import ComposedEvent, PureEvent, RepeatedEvent
from discreet.privacy.guarantee import PureDP, Relation
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.hazmat.integers import IntArray, Integers
    from discreet.mechanisms.exponential import Scores

    Margins = npt.NDArray[np.int64]
    Flags = npt.NDArray[np.bool_]

CHUNK = 1 << 16  # questions answered at a time


@dataclass(frozen=True, kw_only=True, slots=True)
class SparseVector:
    """Say of each integer answer whether it is above the threshold, until `count` of them are.

    Called on an array it returns one bool for each question answered: the result is shorter
    than the array, and ends with True, when the `count`-th "above" came before the end.

    >>> from discreet.hazmat.entropy import SeededRandom
    >>> visits = [3, 12, 5, 940, 8, 1020, 7]
    >>> sparse = SparseVector(epsilon=1, sensitivity=1, threshold=500, count=2)
    >>> sparse(visits, rng=SeededRandom(7))
    array([False, False, False,  True, False,  True])
    >>> sparse.privacy()
    PureDP(epsilon=1.0)
    >>> sparse.accuracy(beta=0.05, queries=7)
    30
    >>> session = sparse.open(rng=SeededRandom(7))
    >>> session.ask(940), session.ask(3), session.left
    (True, False, 1)
    """

    epsilon: Number
    sensitivity: int
    threshold: int
    count: int
    monotone: bool = False
    neighbours: Relation = None

    def __post_init__(self) -> None:
        check_selection(self.epsilon, self.sensitivity, monotone=self.monotone, neighbours=self.neighbours)
        require(_whole(self.threshold), "an integer threshold", threshold=self.threshold)
        require(_whole(self.count) and self.count >= 1, "an integer count >= 1", count=self.count)

    @property
    def split(self) -> tuple[Fraction, Fraction]:
        """(e1, e2) for the threshold and for the answers; they sum to epsilon exactly."""
        factor = self.count if self.monotone else 2 * self.count
        # Any ratio is private; this one is near the best, and its logarithm is a float however many answers there are.
        near = 64 * factor ** (2 / 3) if factor < 1 << 53 else 2 ** min(6 + math.log2(factor) * 2 / 3, 1000.0)
        ratio = Fraction(round(near), 64)
        first = exact(self.epsilon) / (1 + ratio)
        return first, exact(self.epsilon) - first

    @property
    def threshold_scale(self) -> Fraction:
        """The scale of R."""
        return self.sensitivity / self.split[0]

    @property
    def query_scale(self) -> Fraction:
        """The scale of every N_i."""
        return (1 if self.monotone else 2) * self.count * self.sensitivity / self.split[1]

    def open(self, *, rng: RandomSource | None = None) -> Session:
        """A session for questions that come one at a time; its whole price is due now."""
        return Session(self, rng=rng)

    def __call__(self, values: Scores, *, rng: RandomSource | None = None) -> Flags:
        """Whether each value is above the threshold, up to the `count`-th that is."""
        return self.margins(values, rng=rng) >= 0

    def margins(self, values: Scores, *, rng: RandomSource | None = None) -> Margins:
        """By how much each value is above the noisy threshold, -1 for those below; no dearer than the bools."""
        whole = row(values)  # refused, if at all, before the threshold is drawn
        return self.open(rng=rng).margins(whole)

    def privacy(self) -> PureDP:
        """e1 + e2 = epsilon."""
        return PureDP(sum(self.split), neighbours=self.neighbours)

    def accuracy(self, beta: float = 0.05, *, queries: int | None = None) -> int:
        """An alpha within which all of `queries` answers are right with probability 1 - beta, adaptive or not."""
        require(0 < beta < 1, "0 < beta < 1", beta=beta)
        if queries is None:
            raise UnsupportedError("the error of sparse vector grows with the number of questions; pass queries=")
        require(_whole(queries) and queries >= 1, "queries >= 1", queries=queries)

        def fails(alpha: int) -> bool:
            tails = (difference_tail(alpha + j, self.query_scale, self.threshold_scale) for j in (1, 2))
            return queries * sum(tails) > beta

        return least(fails)

    def event(self) -> PureEvent:
        """What ran: some epsilon-DP mechanism."""
        return PureEvent(epsilon=self.epsilon)

    def releases(self, values: Scores, count: int, *, rng: RandomSource | None = None) -> Margins:
        """`count` independent runs as rows of 1 (above), 0 (below), -1 (not asked), for audits and pictures."""
        import numpy as np

        whole, random = row(values), source(rng)
        require(whole.size >= 1, "at least one question", questions=whole.size)
        if max([abs(self.threshold), *(abs(int(end)) for end in (whole.min(), whole.max()))]) >= 2**61:
            whole = whole.astype(object)  # exact, and slow; otherwise nothing below can wrap
        out = np.zeros((count, whole.size), dtype=np.int64)
        rows = max(1, CHUNK // max(1, whole.size))
        for start in range(0, count, rows):
            part = out[start : start + rows]
            shift = discrete_laplace(self.threshold_scale, shape=(len(part), 1), rng=random)
            noise = discrete_laplace(self.query_scale, shape=part.shape, rng=random)
            above = noise + (whole - self.threshold) >= shift
            done = np.cumsum(above, axis=1) - above >= self.count
            part[:] = np.where(done, -1, above)
        return out


class Session(OneProcess):
    """A noisy threshold, kept secret, against which at most `count` answers come out above.

    Safe to share between threads.  It cannot be copied, pickled or carried into a forked
    process: every copy would answer `count` times against the same secret.
    """

    __slots__ = ("_left", "_level", "_random", "_scale", "mechanism")

    def __init__(self, mechanism: SparseVector, *, rng: RandomSource | None = None) -> None:
        self.mechanism = mechanism
        self._random = source(rng)
        self._scale = mechanism.query_scale
        self._left = mechanism.count
        self._level = mechanism.threshold + int(discrete_laplace(mechanism.threshold_scale, rng=self._random))

    @property
    def left(self) -> int:
        """How many answers may still come out above."""
        return self._left

    def ask(self, value: int) -> bool:
        """Whether the answer is above the noisy threshold."""
        return self.margin(value) is not None

    def margin(self, value: int) -> int | None:
        """By how much the answer is above the noisy threshold; None when it is below."""
        whole = integers(value)
        if not isinstance(whole, int):
            raise ParameterError("need one integer; pass arrays to margins")
        with self._alone():
            self._refuse_when_done()
            margin = whole + int(discrete_laplace(self._scale, rng=self._random)) - self._level
            self._left -= margin >= 0
        return margin if margin >= 0 else None

    def margins(self, values: Scores) -> Margins:
        """`margin` of each value in turn, -1 for those below, ending where the session does."""
        import numpy as np

        whole = row(values)
        with self._alone():
            self._refuse_when_done()
            parts = [np.empty(0, dtype=np.int64)]
            for start in range(0, whole.size, CHUNK):
                chunk = whole[start : start + CHUNK]
                noise = discrete_laplace(self._scale, shape=chunk.shape, rng=self._random)
                part = _margins(chunk, noise, self._level)
                hits = np.flatnonzero(part >= 0)[: self._left]
                self._left -= hits.size
                parts.append(part if self._left else part[: hits[-1] + 1])
                if not self._left:
                    break
        return np.concatenate(parts)

    def _refuse_when_done(self) -> None:
        if not self._left:
            raise BudgetExhausted(requested="another answer", remaining=f"0 of {self.mechanism.count} above")


@dataclass(frozen=True, kw_only=True, slots=True)
class NumericSparse:
    """Sparse vector that answers what it finds: each "above" is followed by a fresh noisy answer.

    Privacy is basic composition: the sparse vector, and `count` Laplace answers.

    >>> from discreet.hazmat.entropy import SeededRandom
    >>> sparse = SparseVector(epsilon=1, sensitivity=1, threshold=500, count=2)
    >>> numeric = NumericSparse(above=sparse, answers=Laplace(epsilon=0.25, sensitivity=1))
    >>> where, answers = numeric([3, 12, 5, 940, 8, 1020, 7], rng=SeededRandom(7))
    >>> where
    array([3, 5])
    >>> numeric.privacy()
    PureDP(epsilon=1.5)
    """

    above: SparseVector
    answers: Laplace  # of a single question

    def __post_init__(self) -> None:
        require(isinstance(self.above, SparseVector), "a SparseVector above", above=type(self.above).__name__)
        require(isinstance(self.answers, Laplace), "Laplace answers", answers=type(self.answers).__name__)
        moved, noised = self.above.sensitivity, self.answers.sensitivity
        require(noised >= moved, "answers noised for the sensitivity of the questions", answers=noised, questions=moved)

    def __call__(self, values: Scores, *, rng: RandomSource | None = None) -> tuple[Margins, Margins]:
        """The positions found above the threshold, and their noisy values."""
        import numpy as np

        where = np.flatnonzero(self.above(values, rng=rng))
        return where, self.answers(row(values)[where], rng=rng)  # type: ignore[return-value]

    def privacy(self) -> PureDP:
        """epsilon of the sparse vector plus `count` times that of an answer."""
        return self.above.privacy() + self.answers.privacy().repeat(self.above.count)

    def accuracy(self, beta: float = 0.05, *, queries: int | None = None) -> int:
        """An alpha that bounds both the slack of every decision and the error of every answer."""
        decisions = self.above.accuracy(beta / 2, queries=queries)
        return max(decisions, self.answers.accuracy(beta / 2, size=self.above.count))

    def event(self) -> ComposedEvent:
        """What ran: the sparse vector and `count` Laplace releases."""
        return ComposedEvent(
            events=(self.above.event(), RepeatedEvent(event=self.answers.event(), count=self.above.count))
        )


def _whole(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool)


def _margins(values: IntArray, noise: Integers, level: int) -> Margins:
    """value + noise - level where that is not negative, else -1; exact up to 2^63 - 1, and cut there."""
    import numpy as np

    assert not isinstance(noise, int)
    top = 2**63 - 1
    ends = (level, level - int(values.max()), level - int(values.min()))
    if values.dtype == object or noise.dtype == object or max(ends) > top or min(ends) < -top:
        exactly = (int(value) + int(z) - level for value, z in zip(values, noise, strict=True))
        return np.array([min(max(margin, -1), top) for margin in exactly], dtype=np.int64)
    needed = np.int64(level) - values
    over = noise.view(np.uint64) - needed.view(np.uint64)  # the true margin, wherever it is not negative
    return np.where(noise >= needed, np.minimum(over, np.uint64(top)).astype(np.int64), -1)
