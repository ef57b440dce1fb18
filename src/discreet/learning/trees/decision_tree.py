"""A private decision tree: a forest of one (`random_forest`), whose splits can be read.

Theorem.  A twentieth of the budget buys a noisy number of rows, half of the rest the choices of the levels by the
exponential mechanism, a level at a time and all its nodes for the price of one, and half the counts of the leaves.
Where rows are few for the budget, splits are taken at random and the leaves get all of it; where they are very few, the
leaves elect their classes, and `predict_proba` knows only 0 and 1.
Proof: docs/theory/private_trees.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.data.domain import Domain
from discreet.data.records import Records
from discreet.hazmat.entropy import RandomSource
from discreet.learning.estimator import PrivateClassifier
from discreet.learning.trees.random_forest import grow_forest
from discreet.privacy.guarantee import Guarantee

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class DecisionTreeClassifier(PrivateClassifier):
    """A classifier by one tree; `depth` and `candidates` follow from the noisy number of rows if not given.

    >>> import numpy as np
    >>> from discreet.data.columns import Integer
    >>> from discreet.hazmat.entropy import SeededRandom
    >>> from discreet.privacy.guarantee import PureDP
    >>> X, y = np.repeat([[1, 8], [8, 2]], 1000, axis=0), np.repeat([0, 1], 1000)
    >>> domain = Domain({"a": Integer(0, 9), "b": Integer(0, 9)})
    >>> model = DecisionTreeClassifier(budget=PureDP(1), domain=domain).fit(X, y, rng=SeededRandom(1))
    >>> model.predict([[1, 8], [8, 2]]).tolist(), model.privacy()
    ([0, 1], PureDP(epsilon=1.0))
    >>> small = DecisionTreeClassifier(budget=PureDP(100), domain=domain.project(["a"]), depth=1, candidates=9)
    >>> print(small.fit(X[:, :1], np.where(X[:, 0] > 5, 1, 0), rng=SeededRandom(1)).text())  # doctest: +ELLIPSIS
    a left of ...: 0 (100%)
    a from ...: 1 (100%)
    """

    def __init__(
        self,
        *,
        budget: Guarantee | None = None,
        domain: Domain | None = None,
        classes: Sequence[object] | None = None,
        depth: int | None = None,
        candidates: int | None = None,
    ) -> None:
        self.budget = budget
        self.domain = domain
        self.classes = classes
        self.depth = depth
        self.candidates = candidates

    def _learn(self, rows: Records, target: str | None, budget: Guarantee, rng: RandomSource | None) -> None:
        assert target is not None
        given = {"trees": 1, "depth": self.depth, "candidates": self.candidates}
        grown = grow_forest(rows, target, self.domain_, len(self.classes_), budget, given, alone=True, rng=rng)
        self.cells_, self.plan_, self.event_ = grown.cells, grown.plan, grown.event
        self.tree_ = grown.trees[0]

    def _scores(self, rows: Records) -> npt.NDArray[np.float64]:
        return self.tree_.chances[self.tree_.leaves(self.cells_.of(rows))]

    def text(self) -> str:
        """The tree as lines of text: the splits of a column with an order by the value they cut at."""
        self.privacy()
        return "\n".join(self._lines(0, 0))

    def _lines(self, level: int, node: int) -> list[str]:
        """The lines of a node: one for each side, followed by that side's own."""
        split, names = self.tree_.splits[level], list(self.domain_)
        place = int(split.column[node])
        name, starts = names[place], self.cells_.starts(names[place])
        right = split.right[node, : len(starts)].astype(bool)
        if self.cells_.ordered[place]:
            cut = starts[int(right.argmax())]
            sides = [f"{name} left of {cut}", f"{name} from {cut}"]
        else:
            sides = [
                f"{name} in {[start for start, there in zip(starts, right, strict=True) if there == side]}"
                for side in (False, True)
            ]
        made = []
        for side, said in enumerate(sides):
            below = 2 * node + side
            if level + 1 < len(self.tree_.splits):
                made += [f"{said}", *(f"  {line}" for line in self._lines(level + 1, below))]
            else:
                chances = self.tree_.chances[below]
                made.append(f"{said}: {self.classes_[chances.argmax()]} ({chances.max():.0%})")
        return made

    def predict_proba(self, X: object) -> npt.NDArray[np.float64]:
        """The probability of every class, for every row."""
        return self._scores(self._read(X))
