"""Private boosting of learners: many weak hypotheses, each drawn privately from reweighted rows, vote.

Theorem (after Servedio 2003; potential argument ours).  Row i has margin N_i, its right votes less its wrong ones, and
weight min(1, ((1 - g) / (1 + g))^N_i), g = `advantage`.  A weight is a function of the row and of hypotheses already
released, and at most 1: no matter how often it is used, one row moves the weighted errors of a hypothesis by at most
1.  So each round is one exponential mechanism on the whole data, and `rounds` of them compose, in epsilon or in
epsilon^2 / 8 - zCDP; the length of the vote is chosen by one more.  If every such weighting has a hypothesis of
weighted error at most 1/2 - g, then with probability 1 - beta the vote errs on at most a fraction

    (1 - g^2) / (2 g^2 rounds) + (2 a / n + (1 + 2 g) 2^-20) / g + a' / n

of the n rows, where a and a' are the errors of the exponential mechanisms at beta / (rounds + 1).
Proof: docs/theory/pac_learning.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Self

from discreet.composition.filter import largest_rho
from discreet.errors import ParameterError, UnsupportedError, require
from discreet.hazmat.entropy import RandomSource, source
from discreet.learning.foreign_tools import refuse_tools
from discreet.learning.pac.exponential import as_class, fitted, selection
from discreet.learning.pac.hypotheses import Hypothesis, HypothesisClass, array_of, labelled, public_rows, truths
from discreet.mechanisms.exponential import Exponential
from discreet.privacy.enclosure import root_bounds
from discreet.privacy.event import ComposedEvent, ExponentialEvent, RepeatedEvent
from discreet.privacy.guarantee import ZCDP, ApproxDP, Guarantee, PureDP
from discreet.privacy.neighbours import AddRemove, Neighbours, Replace
from discreet.privacy.number import Number, down, exact

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

UNIT = 1 << 20  # a weight of 1, as an integer
CHOICE = Fraction(1, 10)  # of the budget, for the length of the vote
MOST = 1 << 24  # hypotheses whose weighted errors are held at once


@dataclass(frozen=True, eq=False)
class BoostedLearner:
    """A vote of up to `rounds` hypotheses.  `fit` sets `hypotheses_`, those that vote, and their numbers `indices_`.

    >>> import numpy as np
    >>> from discreet.hazmat.entropy import SeededRandom
    >>> x = np.random.default_rng(0).integers(0, 2, (20_000, 3))
    >>> columns = [lambda x, j=j: x[:, j] for j in range(3)]
    >>> learner = BoostedLearner(columns, budget=PureDP(1.0), rounds=30, advantage=0.15)
    >>> majority = x.sum(axis=1) >= 2
    >>> float((learner.fit(x, majority, rng=SeededRandom(1)).predict(x) == majority).mean())
    1.0
    >>> learner.privacy(), round(learner.accuracy(beta=0.05, n=1_000_000), 2)
    (PureDP(epsilon=1.0), 0.73)
    """

    hypotheses: HypothesisClass | Sequence[Hypothesis]
    _: KW_ONLY
    budget: Guarantee
    rounds: int
    advantage: Number
    n: int | None = None
    indices_: tuple[int, ...] = field(init=False, repr=False)
    hypotheses_: tuple[Hypothesis, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        whole = isinstance(self.rounds, int) and not isinstance(self.rounds, bool)
        require(whole and self.rounds >= 1, "a whole number of rounds >= 1", rounds=self.rounds)
        require(0 < exact(self.advantage) < Fraction(1, 2), "0 < advantage < 1/2", advantage=self.advantage)
        public_rows(self.n)
        if not isinstance(self.budget, Guarantee):
            raise ParameterError(f"need a budget such as PureDP(1.0), got {type(self.budget).__name__}")
        if self.budget.neighbours not in (None, self.relation):
            raise UnsupportedError(
                f"without n one row is added or removed, with n replaced; here {self.relation.__name__}"
            )
        made = as_class(self.hypotheses)
        require(made.size <= MOST, f"at most {MOST} hypotheses", hypotheses=made.size)
        object.__setattr__(self, "hypotheses", made)
        require(min(self.epsilons) > 0, "a budget above zero", budget=self.budget)

    @property
    def relation(self) -> type[Neighbours]:
        """One row added or removed, unless n is public: then one row replaced."""
        return AddRemove if self.n is None else Replace

    @property
    def epsilons(self) -> tuple[Fraction, Fraction]:
        """The epsilon of one round, and that of the choice of the length."""
        match self.budget:
            case PureDP():
                return self._shares(exact(self.budget.epsilon))
            case ZCDP():
                return self._roots(exact(self.budget.rho))
            case ApproxDP():
                epsilon, delta = exact(self.budget.epsilon), exact(self.budget.delta)
                pure = self._shares(epsilon)
                return max(pure, self._roots(largest_rho(epsilon, delta))) if delta else pure
            case _:
                raise ParameterError(f"need PureDP, ApproxDP or ZCDP, got {type(self.budget).__name__}")

    def _shares(self, epsilon: Fraction) -> tuple[Fraction, Fraction]:
        return epsilon * (1 - CHOICE) / self.rounds, epsilon * CHOICE

    def _roots(self, rho: Fraction) -> tuple[Fraction, Fraction]:
        """rho = (rounds epsilon^2 + epsilon'^2) / 8, rounded down."""
        one, last = 8 * rho * (1 - CHOICE) / self.rounds, 8 * rho * CHOICE
        return exact(down(root_bounds(one)[0])), exact(down(root_bounds(last)[0]))

    def _round(self) -> Exponential:
        return Exponential(
            epsilon=self.epsilons[0], sensitivity=UNIT, monotone=self.n is None, neighbours=self.relation
        )

    def weights(self) -> npt.NDArray[np.int64]:
        """The weight of a row by its margin 0, 1, .., rounds, in units of 2^-20, rounded down."""
        import numpy as np

        ratio = (1 - exact(self.advantage)) / (1 + exact(self.advantage))
        made = np.zeros(self.rounds + 1, dtype=np.int64)
        power, margin = Fraction(UNIT), 0
        while margin <= self.rounds and power >= 1:
            made[margin] = int(power)
            power, margin = power * ratio, margin + 1
        return made

    def fit(self, x: object, y: object, *, rng: RandomSource | None = None) -> Self:
        """Draw a hypothesis in every round, then the length of the vote; `rng` is for tests."""
        refuse_tools(self)
        import numpy as np

        random = source(rng)
        rows, labels = labelled(x, y, n=self.n)
        made, right, table = as_class(self.hypotheses), truths(labels), self.weights()
        mechanism, votes = self._round(), np.zeros(len(rows), dtype=np.int64)
        indices: list[int] = []
        wrong: list[int] = []
        for _ in range(self.rounds):
            weights = table[np.maximum(np.where(right, votes, -votes), 0)]
            indices.append(mechanism(-made.errors(rows, labels, 0, made.size, weights=weights), rng=random))
            votes += _vote(made.hypothesis(indices[-1]), rows)
            wrong.append(int(((votes >= 0) != right).sum()))
        length = selection(self.epsilons[1], self.n)([-errors for errors in wrong], rng=random) + 1
        object.__setattr__(self, "indices_", tuple(indices[:length]))
        object.__setattr__(self, "hypotheses_", tuple(made.hypothesis(index) for index in indices[:length]))
        return self

    def predict(self, x: object) -> npt.NDArray[np.bool_]:
        """What most of the hypotheses say; true in a tie."""
        import numpy as np

        rows = np.asarray(x)
        voters = fitted(self, "hypotheses_")
        return np.sum([_vote(hypothesis, rows) for hypothesis in voters], axis=0) >= 0

    def privacy(self) -> Guarantee:
        """The budget, for one row added or removed, or for one row replaced where n is public."""
        return self.budget.under(self.relation)

    def accuracy(self, beta: float = 0.05, *, n: int | None = None) -> float:
        """The fraction of n rows on which the vote errs at most, with probability 1 - beta: the theorem's."""
        rows = self.n if n is None else n
        require(rows is not None and rows >= 1, "n >= 1, the number of rows that the error is for", n=rows)
        require(0 < beta < 1, "0 < beta < 1", beta=beta)
        assert rows is not None
        g, each = float(exact(self.advantage)), beta / (self.rounds + 1)
        size = as_class(self.hypotheses).size
        excess = self._round().accuracy(each, size=size) / UNIT if size > 1 else 0.0
        last = selection(self.epsilons[1], self.n).accuracy(each, size=self.rounds)
        slack = (2 * excess / rows + (1 + 2 * g) / UNIT) / g
        return (1 - g * g) / (2 * g * g * self.rounds) + slack + last / rows

    def event(self) -> ComposedEvent:
        """What ran: an exponential mechanism a round, and one for the length."""
        one, last = (ExponentialEvent(epsilon=epsilon) for epsilon in self.epsilons)
        return ComposedEvent(events=(RepeatedEvent(event=one, count=self.rounds), last))


def _vote(hypothesis: Hypothesis, rows: npt.NDArray[np.generic]) -> npt.NDArray[np.int64]:
    """1 where a hypothesis says true, -1 where not."""
    import numpy as np

    return np.where(truths(array_of(hypothesis(rows))), 1, -1)
