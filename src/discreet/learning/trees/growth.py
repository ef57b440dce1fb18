"""One private tree: splits chosen level by level among random ones, then the classes of the leaves.

Theorem.  A row is in one node of a level, and adding it changes, in that node alone, the score of a split

    floor(2^8 G(left)) + floor(2^8 G(right)),   G(c) = sum over classes of c_k^2 / sum over classes of c_k,

by at most 2^8.  So the choices of all nodes of a level together cost one choice by the exponential mechanism at
sensitivity 2^8, and the counts of all leaves one histogram: l1 and squared l2 distance 1.  Or each leaf elects its
class, with counts for scores, which a row can only raise: elections of all leaves cost one election of monotone scores
at sensitivity 1.  Candidates come from public coins and the declaration.  Proof: docs/theory/private_trees.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.hazmat.entropy import RandomSource
from discreet.learning.trees.cells import MOST, Cells
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.privacy.event import ComposedEvent, Event, RepeatedEvent
from discreet.release.noise import Noise, variance

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Whole = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]
    Bytes = npt.NDArray[np.uint8]

SCORE = 1 << 8  # how far one row moves the score of a split
SMOOTHING = 0.5  # rows a class that a node borrows from its parent, in standard deviations of the noise


@dataclass(frozen=True, slots=True)
class Split:
    """The splits of one level: for every node the column it looks at, the cells that go right, and the cut."""

    column: Whole  # (nodes,)
    right: Bytes  # (nodes, cells)
    cut: Whole  # (nodes,)

    def at(self, places: Whole) -> Split:
        """Some of them."""
        return Split(self.column[places], self.right[places], self.cut[places])


@dataclass(frozen=True, slots=True)
class PrivateTree:
    """Splits level by level, and the probabilities of the classes in the leaves."""

    splits: tuple[Split, ...]
    chances: Floats  # (leaves, classes)

    def leaves(self, lines: Bytes) -> Whole:
        """The leaf of every row."""
        import numpy as np

        from discreet.learning.trees.kernels import descend

        nodes = np.zeros(lines.shape[1], dtype=np.int64)
        for split in self.splits:
            descend(nodes, lines, split.column, split.right)
        return nodes


@dataclass(frozen=True, kw_only=True, slots=True)
class Growth:
    """How one tree is grown: without a `choice` every node takes one split, at random.

    Leaves are counted with noise, or elect their class, and then say nothing more than that.
    """

    depth: int
    candidates: int
    choice: Exponential | None
    leaves: Noise | Exponential | PermuteAndFlip

    def __call__(
        self,
        cells: Cells,
        lines: Bytes,
        labels: Whole,
        *,
        classes: int,
        coins: np.random.Generator,
        rng: RandomSource | None,
    ) -> PrivateTree:
        """Grow on lines of cells."""
        import numpy as np

        from discreet.learning.trees.kernels import descend

        nodes, splits, reach = np.zeros(len(labels), dtype=np.int64), [], Reach.of(cells)
        for level in range(self.depth):
            if self.choice is None:
                splits.append(central(cells, reach, coins))
            else:
                offered = candidates(cells, reach, self.candidates, coins)
                scores = gini(tallied(nodes, lines, labels, offered, self.candidates, classes))
                chosen = [self.choice(line, rng=rng) for line in scores]
                splits.append(offered.at(np.arange(1 << level) * self.candidates + chosen))
            descend(nodes, lines, splits[-1].column, splits[-1].right)
            reach = reach.below(splits[-1], cells)
        counts = leaf_counts(nodes, labels, 1 << self.depth, classes)
        if isinstance(self.leaves, Exponential | PermuteAndFlip):
            elected = [self.leaves(line, rng=rng) for line in counts]
            return PrivateTree(tuple(splits), np.eye(classes)[elected])
        noisy = np.asarray(self.leaves(counts, rng=rng))
        return PrivateTree(tuple(splits), smoothed(noisy, variance(self.leaves) ** 0.5))

    def event(self) -> Event:
        """What ran: a choice a level, and the leaves."""
        if self.choice is None:
            return self.leaves.event()
        chosen = RepeatedEvent(event=self.choice.event(), count=self.depth)
        return ComposedEvent(events=(chosen, self.leaves.event()))


@dataclass(frozen=True, slots=True)
class Reach:
    """The first and the last cell of every column that a row in a node can have, as far as cuts in their order tell.

    And how often the column is cut above the node.
    """

    first: Whole  # (nodes, columns)
    last: Whole  # (nodes, columns)
    cuts: Whole  # (nodes, columns)

    @classmethod
    def of(cls, cells: Cells) -> Reach:
        """All cells, at the root."""
        import numpy as np

        last = np.array([cells.sizes], dtype=np.int64) - 1
        return cls(np.zeros_like(last), last, np.zeros_like(last))

    def below(self, split: Split, cells: Cells) -> Reach:
        """Those of the children, left and right in turn."""
        import numpy as np

        first, last, cuts = (np.repeat(part, 2, axis=0) for part in (self.first, self.last, self.cuts))
        cuts[np.arange(len(cuts)), np.repeat(split.column, 2)] += 1
        told = np.nonzero(np.array(cells.ordered)[split.column])[0]
        column, cut = split.column[told], split.cut[told]
        last[2 * told, column] = np.minimum(last[2 * told, column], cut - 1)
        first[2 * told + 1, column] = np.maximum(first[2 * told + 1, column], cut)
        return Reach(first, last, cuts)


def candidates(cells: Cells, reach: Reach, each: int, coins: np.random.Generator) -> Split:
    """Random splits, `each` a node: a cut between cells that it can reach, in a random order where they have none.

    >>> import numpy as np
    >>> from discreet.data.columns import Boolean
    >>> from discreet.data.domain import Domain
    >>> cells = Cells(Domain({"icu": Boolean()}), most=2)
    >>> made = candidates(cells, Reach.of(cells), 3, np.random.default_rng(1))
    >>> made.column.tolist(), np.sort(made.right[:, :2], axis=1).tolist()
    ([0, 0, 0], [[0, 1], [0, 1], [0, 1]])
    """
    import numpy as np

    node = np.repeat(np.arange(len(reach.first)), each)
    column = (coins.random((len(node), len(cells.sizes))) * (reach.last > reach.first)[node]).argmax(axis=1)
    return _cut(cells, reach, node, column, coins.random(len(node)), coins)


def central(cells: Cells, reach: Reach, coins: np.random.Generator) -> Split:
    """One random split a node: of a column that is cut least often above it, in the middle half of what it can reach.

    >>> import numpy as np
    >>> from discreet.data.columns import Integer
    >>> from discreet.data.domain import Domain
    >>> cells = Cells(Domain({"age": Integer(0, 63)}), most=64)
    >>> 16 < int(central(cells, Reach.of(cells), np.random.default_rng(1)).cut[0]) <= 48
    True
    """
    import numpy as np

    often = np.where(reach.last > reach.first, reach.cuts, np.iinfo(np.int32).max)
    column = (often + coins.random(often.shape)).argmin(axis=1)
    node = np.arange(len(often))
    return _cut(cells, reach, node, column, 0.25 + coins.random(len(node)) / 2, coins)


def _cut(cells: Cells, reach: Reach, node: Whole, column: Whole, parts: Floats, coins: np.random.Generator) -> Split:
    """Splits of these columns at these parts of what the nodes can reach."""
    import numpy as np

    first, last = reach.first[node, column], reach.last[node, column]
    cut = first + 1 + np.floor(parts * np.maximum(last - first, 1)).astype(np.int64)
    rank = np.tile(np.arange(MOST), (len(cells.sizes), 1))
    for place, (size, ordered) in enumerate(zip(cells.sizes, cells.ordered, strict=True)):
        if not ordered:
            rank[place, :size] = coins.permutation(size)
    return Split(column, (rank[column] >= cut[:, None]).astype(np.uint8), cut)


def tallied(nodes: Whole, lines: Bytes, labels: Whole, offered: Split, each: int, classes: int) -> Whole:
    """Exact counts (nodes, candidates, sides, classes) of every split that is offered, `each` a node."""
    import numpy as np

    from discreet.learning.trees.kernels import tally

    counts = np.zeros((len(offered.column) // each, each, 2, classes), dtype=np.int64)
    tally(nodes, lines, labels, each, offered.column, offered.right, classes, counts)
    return counts


def leaf_counts(nodes: Whole, labels: Whole, leaves: int, classes: int) -> Whole:
    """Exact counts (leaves, classes)."""
    import numpy as np

    return np.bincount(nodes * classes + labels, minlength=leaves * classes).reshape(leaves, classes)


def gini(counts: Whole) -> Whole:
    """The integer score of splits with counts (..., sides, classes).

    >>> import numpy as np
    >>> gini(np.array([[[10, 0], [0, 10]], [[5, 5], [5, 5]]])).tolist()
    [5120, 2560]
    """
    import numpy as np

    rows = np.maximum(counts.sum(axis=-1), 1)
    squares = (counts**2).sum(axis=-1)
    return (squares // rows * SCORE + squares % rows * SCORE // rows).sum(axis=-1)


def smoothed(counts: Whole, sd: float) -> Floats:
    """Probabilities of the leaves: from the root down every node borrows from its parent what its noise warrants."""
    import numpy as np

    levels = [counts]
    while len(levels[-1]) > 1:
        levels.append(levels[-1].reshape(-1, 2, counts.shape[1]).sum(axis=1))
    classes = counts.shape[1]
    chances = np.full((1, classes), 1 / classes)
    for above, level in enumerate(reversed(levels)):
        noise = sd * 2 ** ((len(levels) - 1 - above) / 2)  # of a sum over the leaves below
        borrowed = SMOOTHING * noise * classes + 1e-9
        parent, kept = np.repeat(chances, len(level) // len(chances), axis=0), np.maximum(level, 0)
        chances = (kept + borrowed * parent) / (kept.sum(axis=1, keepdims=True) + borrowed)
    return chances
