"""The generic private learner: the exponential mechanism over a finite class, scored by errors.

Theorem (McSherry, Talwar 2007; Kasiviswanathan, Lee, Nissim, Raskhodnikova, Smith 2008).  Drawing h from a class C
with Pr[h] proportional to exp(-rate errors(h)) is epsilon-DP for

    rate = epsilon        one row added or removed (n is private): all counts of errors rise or fall together
    rate = epsilon / 2    one row replaced (n is public).

With probability 1 - beta it errs on at most (ln(|C| - 1) + ln(1/beta)) / rate rows more than the best of the class.
If some h in C makes no error on the distribution, then n >= max(8 / alpha, 4 / (epsilon alpha)) (ln|C| + ln(2/beta))
rows give an error of at most alpha with probability 1 - beta under either relation.
Proof: docs/theory/pac_learning.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from fractions import Fraction
from typing import Any, Self

from discreet.errors import ParameterError, require
from discreet.hazmat.entropy import RandomSource
from discreet.learning.foreign_tools import refuse_tools
from discreet.learning.pac.error_draw import draw_hypothesis
from discreet.learning.pac.hypotheses import Hypothesis, HypothesisClass, Listed, labelled, public_rows
from discreet.mechanisms.exponential import Exponential
from discreet.privacy.event import ExponentialEvent
from discreet.privacy.guarantee import PureDP
from discreet.privacy.neighbours import AddRemove, Replace
from discreet.privacy.number import Number, exact


def as_class(hypotheses: HypothesisClass | Sequence[Hypothesis]) -> HypothesisClass:
    """A class as it is; a sequence of functions as a class."""
    if hasattr(hypotheses, "errors") and hasattr(hypotheses, "hypothesis"):
        return hypotheses  # type: ignore[return-value]
    if not isinstance(hypotheses, Sequence):
        raise ParameterError(f"need a sequence of functions, or a class, got {type(hypotheses).__name__}")
    return Listed(tuple(hypotheses))


def selection(epsilon: Number, n: int | None) -> Exponential:
    """The exponential mechanism on counts of errors: monotone where n is private."""
    neighbours = AddRemove if n is None else Replace
    return Exponential(epsilon=epsilon, sensitivity=1, monotone=n is None, neighbours=neighbours)


@dataclass(frozen=True, eq=False)
class ExponentialLearner:
    """Choose a hypothesis that errs on few rows.  `fit` sets `hypothesis_` and its number `index_`.

    `hypotheses` are functions of the array of rows that look at each row alone, or a `HypothesisClass`.  Every fit
    to the same rows costs epsilon again.

    >>> import numpy as np
    >>> from discreet.hazmat.entropy import SeededRandom
    >>> x = np.random.default_rng(0).integers(0, 1024, 2000)
    >>> learner = ExponentialLearner([lambda x, t=t: x >= t for t in range(1025)], epsilon=1.0)
    >>> learner.fit(x, x >= 300, rng=SeededRandom(1)).predict([10, 900])
    array([False,  True])
    >>> learner.privacy(), learner.accuracy(beta=0.05)
    (PureDP(epsilon=1.0), 9)
    """

    hypotheses: HypothesisClass | Sequence[Hypothesis]
    _: KW_ONLY
    epsilon: Number
    n: int | None = None
    index_: int = field(init=False, repr=False)
    hypothesis_: Hypothesis = field(init=False, repr=False)

    def __post_init__(self) -> None:
        require(exact(self.epsilon) > 0, "epsilon > 0", epsilon=self.epsilon)
        public_rows(self.n)
        object.__setattr__(self, "hypotheses", as_class(self.hypotheses))

    @property
    def candidates(self) -> HypothesisClass:
        """The class, whichever way it was given."""
        return as_class(self.hypotheses)

    @property
    def rate(self) -> Fraction:
        """What an error costs: epsilon where n is private, epsilon / 2 where it is public."""
        return selection(self.epsilon, self.n).rate

    def fit(self, x: object, y: object, *, rng: RandomSource | None = None) -> Self:
        """Draw a hypothesis for these rows and labels; `rng` is for tests."""
        refuse_tools(self)
        rows, labels = labelled(x, y, n=self.n)
        index = draw_hypothesis(self.candidates, rows, labels, self.rate, rng=rng)
        object.__setattr__(self, "index_", index)
        object.__setattr__(self, "hypothesis_", self.candidates.hypothesis(index))
        return self

    def predict(self, x: object) -> Any:  # noqa: ANN401 - whatever labels the hypotheses return
        """The labels that the hypothesis gives to rows."""
        import numpy as np

        return fitted(self, "hypothesis_")(np.asarray(x))

    def privacy(self) -> PureDP:
        """epsilon, for one row added or removed, or for one row replaced where n is public."""
        return selection(self.epsilon, self.n).privacy()

    def accuracy(self, beta: float = 0.05) -> int:
        """The least alpha with Pr[errors > least errors in the class + alpha] <= beta, whatever the rows are."""
        return selection(self.epsilon, self.n).accuracy(beta, size=self.candidates.size)

    def event(self) -> ExponentialEvent:
        """What ran: one exponential mechanism."""
        return selection(self.epsilon, self.n).event()


def fitted(learner: object, name: str) -> Any:  # noqa: ANN401 - what `fit` found
    """What `fit` set, or a refusal that says to call it."""
    if not hasattr(learner, name):
        raise ParameterError(f"need a fitted {type(learner).__name__}: call fit first")
    return getattr(learner, name)
