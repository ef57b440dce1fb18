"""Decision stumps and trees from statistical queries.

A split is an affine form f of the columns; rows with f >= 0 go right.

Theorem.  (Stumps) Let p be how often the label is 1 and v_j the mean of (1 - 2 label) on rows with f_j >= 0, else 0.
The stump that says 1 on the right of split j is wrong with probability p + v_j, its opposite with 1 - p - v_j.  With
s + 1 answers within tau of their means (tau / 2 for p), the stump that looks best is within 3 tau of the best of
all 2 s, whatever the labels are.

(Trees) A tree of depth D grown greedily by Gini impurity asks 1 + 2 s (2^D - 1) queries, in D + 1 rounds.  If all are
within tau / 2 of their means, its leaves know their masses of either label within (D + 1) tau, so the tree is wrong
with probability at most 2^D (2 D + 2) tau above that of the best labels of its own leaves.
Proof: docs/theory/statistical_queries.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from discreet.errors import require
from discreet.queries.statistical import StatisticalOracle
from discreet.queries.statistical_pieces import Affine, Piece

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.queries.statistical import Rows


@dataclass(frozen=True, slots=True)
class Leaf:
    """One label, and the answer to how much of the population is here.

    >>> import numpy as np
    >>> Leaf(True, mass=1.0).predict(np.zeros((2, 1)))
    array([ True,  True])
    """

    label: bool
    mass: float

    def predict(self, rows: Rows) -> npt.NDArray[np.bool_]:
        """The label, for each row."""
        import numpy as np

        return np.full(len(rows), self.label)


@dataclass(frozen=True, slots=True)
class LearnedTree:
    """Rows with split >= 0 go right.

    >>> import numpy as np
    >>> LearnedTree(Affine.of({0: 1}), left=Leaf(False, 0.5), right=Leaf(True, 0.5)).predict(np.array([[-1.0], [2.0]]))
    array([False,  True])
    """

    split: Affine
    left: LearnedTree | Leaf
    right: LearnedTree | Leaf

    def predict(self, rows: Rows) -> npt.NDArray[np.bool_]:
        """The label of the leaf that each row reaches."""
        import numpy as np

        goes_right = self.split.on(rows) >= 0
        return np.where(goes_right, self.right.predict(rows), self.left.predict(rows))


def learn_stump(oracle: StatisticalOracle, *, splits: Sequence[Affine], label: int) -> LearnedTree:
    """The best stump of these splits or its opposite, by len(splits) + 1 queries in one round.

    >>> import numpy as np
    >>> from discreet.hazmat.entropy import SeededRandom
    >>> from discreet.learning.statistical.oracle import StatisticalQueryOracle
    >>> ages = np.random.default_rng(0).integers(0, 100, 10_000)
    >>> oracle = StatisticalQueryOracle((ages, ages < 40), queries=100, epsilon=1.0, rng=SeededRandom(1))
    >>> stump = learn_stump(oracle, splits=[Affine.of({0: 1}, offset=-t) for t in range(1, 100)], label=1)
    >>> stump.split.offset / 2**24, stump.right.label
    (-40.0, False)
    """
    require(bool(splits), "at least one split", splits=len(splits))
    truth, against = Affine.of({label: 1}, offset=-0.5), Affine.of({label: -2}, offset=1)
    sides = [Piece(factors=(against,), conditions=((split,),)) for split in splits]
    p, *v = oracle.answer([Piece(conditions=((truth,),), low=0, high=1), *sides])
    errors = [(float(p + mean), j, True) for j, mean in enumerate(v)]
    errors += [(1 - error, j, False) for error, j, _ in errors]
    _, j, right = min(errors)
    return LearnedTree(splits[j], left=Leaf(not right, 0.5), right=Leaf(right, 0.5))


def tree_queries(*, splits: int, depth: int) -> int:
    """How many queries a tree may ask.

    >>> tree_queries(splits=10, depth=3)
    141
    """
    return 1 + 2 * splits * (2**depth - 1)


@dataclass(slots=True)
class _Node:
    """A node that is being grown: which rows reach it, and what is known of them."""

    mass: float
    ones: float
    right_of: tuple[Affine, ...] = ()
    left_of: tuple[Affine, ...] = ()
    split: Affine | None = None
    children: list[_Node] = field(default_factory=list)

    def asks(self, split: Affine, truth: Affine) -> list[Piece]:
        """How many rows are here on the right of a split, and how many of them are 1."""
        there = tuple((form,) for form in (*self.right_of, split))
        out = tuple((form,) for form in self.left_of)
        return [
            Piece(conditions=there, excluded=out, low=0, high=1),
            Piece(conditions=(*there, (truth,)), excluded=out, low=0, high=1),
        ]

    def grow(self, splits: Sequence[Affine], masses: Sequence[float], ones: Sequence[float]) -> None:
        """Take the split with the least Gini impurity."""
        impurity = [_gini(m, o) + _gini(self.mass - m, self.ones - o) for m, o in zip(masses, ones, strict=True)]
        j = min(range(len(splits)), key=impurity.__getitem__)
        mass, one, split = masses[j], ones[j], splits[j]
        self.split = split
        self.children = [
            _Node(self.mass - mass, self.ones - one, self.right_of, (*self.left_of, split)),
            _Node(mass, one, (*self.right_of, split), self.left_of),
        ]

    def finished(self) -> LearnedTree | Leaf:
        """The tree below, with leaves labelled by their majority."""
        if self.split is None:
            return Leaf(2 * self.ones > self.mass, self.mass)
        left, right = self.children
        return LearnedTree(self.split, left=left.finished(), right=right.finished())


def learn_tree(
    oracle: StatisticalOracle, *, splits: Sequence[Affine], label: int, depth: int, least: float = 0.0
) -> LearnedTree | Leaf:
    """A tree of at most this depth; nodes with less than `least` of the population become leaves.

    >>> import numpy as np
    >>> from discreet.hazmat.entropy import SeededRandom
    >>> from discreet.learning.statistical.oracle import StatisticalQueryOracle
    >>> bits = np.random.default_rng(0).integers(0, 2, (40_000, 3))
    >>> labels = np.where(bits[:, 0] == 1, bits[:, 1], bits[:, 2])
    >>> splits = [Affine.of({i: 1}, offset=-0.5) for i in range(3)]
    >>> oracle = StatisticalQueryOracle((bits, labels), queries=43, epsilon=1.0, rng=SeededRandom(1))
    >>> tree = learn_tree(oracle, splits=splits, label=3, depth=3)
    >>> bool((tree.predict(bits) == labels).all())
    True
    """
    require(bool(splits), "at least one split", splits=len(splits))
    require(isinstance(depth, int) and not isinstance(depth, bool) and depth >= 1, "an integer depth >= 1", depth=depth)
    truth = Affine.of({label: 1}, offset=-0.5)
    root = _Node(1.0, float(oracle.answer([Piece(conditions=((truth,),), low=0, high=1)])[0]))
    level = [root]
    for _ in range(depth):
        growing = [node for node in level if node.mass > least]
        pieces = [piece for node in growing for split in splits for piece in node.asks(split, truth)]
        if not pieces or oracle.remaining < len(pieces):
            break
        found = oracle.answer(pieces)
        for i, node in enumerate(growing):
            mine = found[2 * len(splits) * i : 2 * len(splits) * (i + 1)]
            node.grow(splits, mine[0::2].tolist(), mine[1::2].tolist())
        level = [child for node in growing for child in node.children]
    return root.finished()


def _gini(mass: float, ones: float) -> float:
    """ones (mass - ones) / mass, of answers made consistent: 0 <= ones <= mass."""
    kept = min(max(ones, 0.0), mass)
    return kept * (mass - kept) / mass if mass > 0 else 0.0
