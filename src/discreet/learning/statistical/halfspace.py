"""A halfspace with a margin from statistical queries: the perceptron on means.

Theorem (after Blum, Dwork, McSherry, Nissim 2005).  Let features x have Euclidean norm at most 1 and signs s = +-1 with
s <u, x> >= g on every row, for a unit vector u and a margin g <= 1.  Start at w = 0 and repeat: ask how
often s <w, x> <= 0, stop if the answer p is at most alpha - tau, else ask the d means v of s x where s <w, x> <= 0 and
add v / p to w.  If all answers are within tau = alpha g / (20 sqrt(d)), it stops after at most

    4 / g^2 + 3 / g   rounds of d + 1 queries,

with a w that is wrong on at most alpha of the population.  Proof: docs/theory/statistical_queries.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
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
class LearnedHalfspace:
    """True where the form is at least 0; `rounds` is how many were needed, `mistakes` the last answer.

    >>> import numpy as np
    >>> LearnedHalfspace(Affine.of({0: 1}, offset=-2), rounds=1, mistakes=0.0).predict(np.array([[1.0], [3.0]]))
    array([False,  True])
    """

    form: Affine
    rounds: int
    mistakes: float

    def predict(self, rows: Rows) -> npt.NDArray[np.bool_]:
        """On which side each row is."""
        return self.form.on(rows) >= 0


def halfspace_rounds(margin: float) -> int:
    """The rounds that suffice for a margin.

    >>> halfspace_rounds(0.5)
    22
    """
    require(0 < margin <= 1, "0 < margin <= 1", margin=margin)
    return math.ceil(4 / margin**2 + 3 / margin)


def learn_halfspace(
    oracle: StatisticalOracle,
    *,
    features: Sequence[Affine],
    label: int,
    alpha: float,
    margin: float,
    rounds: int | None = None,
) -> LearnedHalfspace:
    """A halfspace of the features, which must lie in the unit ball, for labels 0 and 1 in column `label`.

    Asks at most (rounds + 1) (d + 1) queries; where fewer remain it returns the best halfspace it has seen.

    >>> import numpy as np
    >>> from discreet.hazmat.entropy import SeededRandom
    >>> from discreet.learning.statistical.oracle import StatisticalQueryOracle
    >>> points = np.random.default_rng(0).uniform(-0.7, 0.7, (50_000, 2))
    >>> points = points[abs(points[:, 0] + points[:, 1]) > 0.2]
    >>> labels = points[:, 0] + points[:, 1] > 0
    >>> oracle = StatisticalQueryOracle((points, labels), queries=100, epsilon=1.0, rng=SeededRandom(1))
    >>> plane = [Affine.of({0: 1}), Affine.of({1: 1})]
    >>> halfspace = learn_halfspace(oracle, features=plane, label=2, alpha=0.05, margin=0.14)
    >>> bool((halfspace.predict(points) == labels).mean() > 0.95)
    True
    """
    import numpy as np

    d = len(features)
    require(d >= 1, "at least one feature", features=d)
    require(0 < alpha < 1, "0 < alpha < 1", alpha=alpha)
    limit = halfspace_rounds(margin) if rounds is None else rounds
    tau = alpha * margin / (20 * math.sqrt(d))
    sign = Affine.of({label: 2}, offset=-1)
    against = Affine.of({label: -2}, offset=1)
    w = np.zeros(d)
    best: LearnedHalfspace | None = None
    for step in range(limit + 1):
        form = Affine.combined(features, (w / max(1e-12, float(np.abs(w).max()))).tolist())
        wrong = (form, against)  # its product is at least 0 where the sign is not that of the form
        if oracle.remaining < 1:
            break
        mistakes = float(oracle.answer([Piece(conditions=(wrong,), low=0, high=1)])[0])
        if best is None or mistakes < best.mistakes:
            best = LearnedHalfspace(form, step, mistakes)
        if mistakes <= alpha - tau or step == limit or oracle.remaining < d:
            break
        means = oracle.answer([Piece(factors=(sign, feature), conditions=(wrong,)) for feature in features])
        w += means / max(mistakes, tau)
    require(best is not None, "an oracle with a query left", remaining=oracle.remaining)
    assert best is not None
    return best
