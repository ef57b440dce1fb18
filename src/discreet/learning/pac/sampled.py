"""A smaller epsilon for any learner: run it on a secret sample of the rows.

Theorem (Balle, Barthe, Gaboardi 2018).  If L is epsilon0-DP, then L on a sample is epsilon-DP for

    rate = (e^epsilon - 1) / (e^epsilon0 - 1)

where every row is kept with probability rate (one row added or removed), or rate n of n rows are drawn without
replacement (one row replaced).  An epsilon0-DP learner that needs m rows therefore becomes an epsilon-DP learner that
needs m / rate: 16.3 times as many for epsilon0 = 1 and epsilon = 1/10, and not ten times as the notes' rate
epsilon / epsilon0 would have it, which leaves .158565.  Proof: docs/theory/amplification.md.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Generic, Self

from discreet.composition.amplification import sampling_rate
from discreet.errors import UnsupportedError, require
from discreet.hazmat.entropy import RandomSource, source
from discreet.hazmat.samplers import bernoulli, uniform_below
from discreet.learning.foreign_tools import refuse_tools
from discreet.learning.pac.exponential import fitted
from discreet.learning.pac.hypotheses import labelled, public_rows
from discreet.learning.pac.learner import Base, for_rows
from discreet.privacy.event import PureEvent
from discreet.privacy.guarantee import PureDP
from discreet.privacy.neighbours import AddRemove, Neighbours, Replace
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Int64s = npt.NDArray[np.int64]

_rate = lru_cache(maxsize=256)(sampling_rate)


@dataclass(frozen=True, eq=False)
class Sampled(Generic[Base]):
    """A learner on a secret sample.  `fit` sets `learner_`, fitted to the sample, which is never told.

    >>> import numpy as np
    >>> from discreet.hazmat.entropy import SeededRandom
    >>> from discreet.learning.pac.threshold import ThresholdLearner
    >>> x = np.random.default_rng(0).integers(0, 1000, 20_000)
    >>> learner = Sampled(ThresholdLearner(1000, epsilon=1.0), epsilon=0.1)
    >>> learner.fit(x, x >= 300, rng=SeededRandom(1)).predict([10, 900])
    array([False,  True])
    >>> learner.privacy(), round(float(learner.rate), 7)
    (PureDP(epsilon=0.1), 0.061207)
    """

    learner: Base
    _: KW_ONLY
    epsilon: Number
    n: int | None = None
    learner_: Base = field(init=False, repr=False)

    def __post_init__(self) -> None:
        promises = callable(getattr(self.learner, "privacy", None)) and callable(getattr(self.learner, "fit", None))
        require(promises and not isinstance(self.learner, type), "a learner", learner=type(self.learner).__name__)
        require(exact(self.epsilon) > 0, "epsilon > 0", epsilon=self.epsilon)
        public_rows(self.n)
        require(self.rows is None or self.rows >= 1, "a sample of at least one row", n=self.n, rate=float(self.rate))
        if for_rows(self.learner, self.rows).privacy() != self._base():
            raise UnsupportedError("sampling is stated for learners that promise the same for every number of rows")

    @property
    def _neighbours(self) -> type[Neighbours]:
        return AddRemove if self.n is None else Replace

    def _base(self) -> PureDP:
        """What the learner promises without sampling, in the relation of the sample."""
        base = for_rows(self.learner, self.n).privacy()
        if not isinstance(base, PureDP):
            raise UnsupportedError(f"sampling turns one pure promise into another, not {type(base).__name__}")
        if base.neighbours not in (None, self._neighbours):
            raise UnsupportedError(
                f"n {'omitted' if self.n is None else 'given'}: a sample amplifies promises under"
                f" {self._neighbours.__name__}, and this one is under {base.neighbours.__name__}"
            )
        return base

    @property
    def rate(self) -> Fraction:
        """The share of the rows that the learner sees, rounded down."""
        return _rate(self._base(), PureDP(self.epsilon))

    @property
    def rows(self) -> int | None:
        """How many rows are drawn where n is public."""
        return None if self.n is None else int(self.rate * self.n)

    def fit(self, x: object, y: object, *, rng: RandomSource | None = None) -> Self:
        """Draw a sample and learn from it; `rng` is for tests."""
        refuse_tools(self)
        random = source(rng)
        rows, labels = labelled(x, y, n=self.n)
        kept = self._sample(len(rows), random)
        learner = for_rows(self.learner, self.rows).fit(rows[kept], labels[kept], rng=random)
        object.__setattr__(self, "learner_", learner)
        return self

    def _sample(self, rows: int, rng: RandomSource) -> Int64s:
        """Rows kept one by one where n is private; exactly `rows` of them, every set alike, where it is public."""
        import numpy as np

        if self.rows is None:
            return np.flatnonzero(np.asarray(bernoulli(self.rate, shape=(rows,), rng=rng)))
        order = np.arange(rows)
        for place in range(self.rows):  # the first steps of a shuffle
            other = place + int(uniform_below(rows - place, rng=rng))
            order[place], order[other] = order[other], order[place]
        return np.sort(order[: self.rows])

    def predict(self, x: object) -> Any:  # noqa: ANN401 - whatever the learner predicts
        """The labels that the learner gives."""
        return fitted(self, "learner_").predict(x)

    def privacy(self) -> PureDP:
        """epsilon, for one row added or removed, or for one row replaced where n is public."""
        least = min(exact(self.epsilon), exact(self._base().epsilon))
        return PureDP(least, neighbours=self._neighbours)

    def event(self) -> PureEvent:
        """What ran: some epsilon-DP mechanism."""
        return PureEvent(epsilon=self.privacy().epsilon)
