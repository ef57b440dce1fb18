"""Conjunctions from statistical queries.

Theorem (Kearns 1993).  Let labels be a conjunction of some of d bits (or of bits and negated bits: then d below is
2 d).  Ask for each literal how often it is false while the label is true, d queries with values in [0, 1], and keep
the literals whose answer is at most tau.  If all answers are within tau = alpha / (2 d), the conjunction of the
literals kept never says true where the label is false, and is wrong on at most alpha of the population.  An oracle
whose answers in [-1, 1] are within alpha / d is good enough, as these have half the width.
Proof: docs/theory/statistical_queries.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.errors import require
from discreet.queries.statistical import StatisticalOracle
from discreet.queries.statistical_pieces import Affine, Piece

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.queries.statistical import Rows


@dataclass(frozen=True, slots=True)
class LearnedConjunction:
    """All of these literals: (column, whether it is asked to be 1).

    >>> import numpy as np
    >>> LearnedConjunction(((0, True), (2, False))).predict(np.array([[1, 0, 0], [1, 1, 1]]))
    array([ True, False])
    """

    literals: tuple[tuple[int, bool], ...]

    def predict(self, rows: Rows) -> npt.NDArray[np.bool_]:
        """Whether all literals hold."""
        import numpy as np

        found = np.ones(len(rows), dtype=bool)
        for column, positive in self.literals:
            found &= (rows[:, column] >= 0.5) == positive
        return found


def learn_conjunction(
    oracle: StatisticalOracle, *, d: int, alpha: float, negations: bool = False, label: int | None = None
) -> LearnedConjunction:
    """A conjunction of columns 0 .. d - 1 that explains the label, by default column d, with d (or 2 d) queries.

    >>> import numpy as np
    >>> from discreet.hazmat.entropy import SeededRandom
    >>> from discreet.learning.statistical.oracle import StatisticalQueryOracle
    >>> bits = np.random.default_rng(0).integers(0, 2, (20_000, 5))
    >>> labels = bits[:, 1] & bits[:, 3]
    >>> oracle = StatisticalQueryOracle((bits, labels), queries=5, epsilon=1.0, rng=SeededRandom(1))
    >>> learn_conjunction(oracle, d=5, alpha=0.1).literals
    ((1, True), (3, True))
    """
    require(isinstance(d, int) and not isinstance(d, bool) and d >= 1, "an integer d >= 1", d=d)
    require(0 < alpha < 1, "0 < alpha < 1", alpha=alpha)
    literals = [(i, sign) for sign in ((True, False) if negations else (True,)) for i in range(d)]
    place = d if label is None else label
    found = oracle.answer([_false_while_true(i, place, positive=sign) for i, sign in literals])
    tau = alpha / (2 * len(literals))
    return LearnedConjunction(tuple(sorted(lit for lit, answer in zip(literals, found, strict=True) if answer <= tau)))


def _false_while_true(column: int, label: int, *, positive: bool) -> Piece:
    bit, truth = Affine.of({column: 1}, offset=-0.5), Affine.of({label: 1}, offset=-0.5)
    if positive:
        return Piece(conditions=((truth,),), excluded=((bit,),), low=0, high=1)
    return Piece(conditions=((truth,), (bit,)), low=0, high=1)
