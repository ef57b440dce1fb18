"""Confidence for any learner: run it on several blocks, and choose by the exponential mechanism on the rest.

Theorem.  Let L be (epsilon, delta)-DP.  Half of the rows are cut into `blocks` blocks, L runs on each, and of the
hypotheses one is chosen on the other half with Pr[h] proportional to exp(-rate errors(h)), epsilon'-DP.  All together
is (max(epsilon, epsilon'), delta)-DP: no row is in two places.  If L errs on more than alpha of the distribution with
probability at most gamma, then with probability 1 - gamma^blocks - beta the chosen hypothesis errs on at most
`accuracy(beta)` rows of the holdout more than one of error alpha does.

Blocks are by position where n is public; where it is private every row falls into its place by a die of its own, for
blocks by position would all change when one row is removed.  Proof: docs/theory/pac_learning.md.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Self

from discreet.composition.parallel import parallel
from discreet.errors import require
from discreet.hazmat.entropy import RandomSource, source
from discreet.hazmat.samplers import uniform_below
from discreet.learning.foreign_tools import refuse_tools
from discreet.learning.pac.exponential import fitted, selection
from discreet.learning.pac.hypotheses import labelled, public_rows
from discreet.learning.pac.learner import Base, for_rows
from discreet.learning.pac.panel import best_of_panel
from discreet.privacy.event import ApproxEvent, Event, PureEvent
from discreet.privacy.guarantee import ApproxDP, Guarantee, PureDP
from discreet.privacy.neighbours import AddRemove, Replace
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Amplified(Generic[Base]):
    """A learner that fails less often.  `fit` sets `learners_`, one for each block, and `best_`, the chosen one.

    >>> import numpy as np
    >>> from discreet.hazmat.entropy import SeededRandom
    >>> from discreet.learning.pac.threshold import ThresholdLearner
    >>> x = np.random.default_rng(0).integers(0, 1000, 4000)
    >>> learner = Amplified(ThresholdLearner(1000, epsilon=1.0), blocks=5, epsilon=1.0)
    >>> learner.fit(x, x >= 300, rng=SeededRandom(1)).predict([10, 900])
    array([False,  True])
    >>> learner.privacy(), learner.accuracy(beta=0.05)
    (PureDP(epsilon=1.0), 4)
    """

    learner: Base
    _: KW_ONLY
    blocks: int
    epsilon: Number
    n: int | None = None
    learners_: list[Base] = field(init=False, repr=False)
    best_: Base = field(init=False, repr=False)

    def __post_init__(self) -> None:
        promises = callable(getattr(self.learner, "privacy", None)) and callable(getattr(self.learner, "fit", None))
        require(promises and not isinstance(self.learner, type), "a learner", learner=type(self.learner).__name__)
        require(exact(self.epsilon) > 0, "epsilon > 0", epsilon=self.epsilon)
        whole = isinstance(self.blocks, int) and not isinstance(self.blocks, bool)
        require(whole and self.blocks >= 2, "blocks >= 2", blocks=self.blocks)
        public_rows(self.n)
        require(self.n is None or self.n >= 2 * self.blocks, "n >= 2 blocks", n=self.n, blocks=self.blocks)
        self.privacy()

    def _block_learner(self) -> Base:
        return for_rows(self.learner, None if self.n is None else self.n // (2 * self.blocks))

    def fit(self, x: object, y: object, *, rng: RandomSource | None = None) -> Self:
        """Learn on every block, then choose on the holdout; `rng` is for tests."""
        refuse_tools(self)
        random = source(rng)
        rows, labels = labelled(x, y, n=self.n)
        *blocks, held = self._places(len(rows), random)
        learners = [self._block_learner().fit(rows[block], labels[block], rng=random) for block in blocks]
        known = None if self.n is None else len(held)
        chosen = best_of_panel(learners, rows[held], labels[held], epsilon=self.epsilon, n=known, rng=random)
        object.__setattr__(self, "learners_", learners)
        object.__setattr__(self, "best_", learners[chosen.index_])
        return self

    def _places(self, rows: int, rng: RandomSource) -> list[Int64s]:
        """The rows of each block, and last those of the holdout: a half of all."""
        import numpy as np

        if self.n is not None:
            each = rows // (2 * self.blocks)
            return np.split(np.arange(rows), [each * (block + 1) for block in range(self.blocks)])
        place = np.asarray(uniform_below(2 * self.blocks, shape=(rows,), rng=rng))
        return [np.flatnonzero(place == block) for block in range(self.blocks)] + [np.flatnonzero(place >= self.blocks)]

    def predict(self, x: object) -> Any:  # noqa: ANN401 - whatever the learner predicts
        """The labels that the chosen learner gives."""
        return fitted(self, "best_").predict(x)

    def privacy(self) -> Guarantee:
        """The weaker of the learner's promise and that of the choice."""
        relation, kind = (AddRemove, "hash") if self.n is None else (Replace, "position")
        return parallel([self._block_learner().privacy(), PureDP(self.epsilon)], blocks=kind, neighbours=relation)

    def accuracy(self, beta: float = 0.05) -> int:
        """Errors on the holdout beyond the best block's, with probability 1 - beta."""
        return selection(self.epsilon, self.n).accuracy(beta, size=self.blocks)

    def event(self) -> Event:
        """What ran, for one row: some mechanism with the promise above."""
        promise = self.privacy()
        if isinstance(promise, ApproxDP):
            return ApproxEvent(epsilon=promise.epsilon, delta=promise.delta)
        assert isinstance(promise, PureDP)  # `parallel` mixes no other currency with the choice
        return PureEvent(epsilon=promise.epsilon)
