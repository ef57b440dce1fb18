"""Cyclic boosting: round by round the residuals are summed over the leaves of a small tree on one column, with noise.

Theorem.  Fix the trees' shapes, the number of rounds R and the losses below before the first row is read, up to what
noisy histograms (a tenth of the budget) and noisy counts or sums of labels (a fiftieth) told.  Let each row's residual
be a vector of integers, a function of the row and of the earlier noisy sums alone, with

    loss              residual (times `scale`)                     l1         squared l2
    two classes       label - Pr[label = 1]                        scale      scale^2
    many classes      indicator of the label - Pr[each class]      2 scale    2 scale^2
    squares           target - prediction, cut off at 1            scale      scale^2

A row is in one leaf of a tree, so that the sums of a round move by at most these when a row is added or removed.  With
noise for 1 / R of the rest of the budget in each round, all of it keeps the budget.
Proof: docs/theory/private_trees.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import require
from discreet.hazmat.entropy import RandomSource, source
from discreet.learning.trees.cells import Cells
from discreet.privacy.event import ComposedEvent, Event, RepeatedEvent
from discreet.privacy.guarantee import Guarantee
from discreet.release.allowance import Allowance
from discreet.release.noise import Noise, variance

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Whole = npt.NDArray[np.int64]

SCALE = 1 << 10  # residuals in units of 1 / 1024
HISTOGRAMS = Fraction(1, 10)  # of the budget
LABELS = Fraction(1, 50)  # of the budget
PRIOR = 0.5  # of steps of a logit
LARGEST = 2.0  # step of a score in a round
EVEN = 0.5  # of the cuts are uniform over the declared range; the others follow the noisy mass
ENTRIES = 1 << 24  # integers with noise, at most
MANY, WIDE = 30, 8  # sweeps and leaves, at most, if the noisy counts set them
LEAST = 1e-12  # of a standard deviation: noise that is less is none, and may not be divided by


@dataclass(frozen=True, kw_only=True, slots=True)
class Loss:
    """What boosting needs of a loss: its compiled round, the columns of scores, and what one row moves."""

    name: str  # of the compiled function in tree_kernels
    columns: int
    absolute: int
    square: int
    told: int = 1  # how far one row moves the first release about labels
    prior: float = PRIOR  # how far a round is expected to move a score, as a standard deviation

    def round(self) -> Callable[..., None]:
        """One pass over the rows."""
        from discreet.learning.trees import kernels as tree_kernels

        return getattr(tree_kernels, self.name)


def classes_loss(classes: int) -> Loss:
    """The logistic loss."""
    if classes == 2:
        return Loss(name="two_classes", columns=1, absolute=SCALE, square=SCALE**2)
    return Loss(name="many_classes", columns=classes, absolute=2 * SCALE, square=2 * SCALE**2)


SQUARES = Loss(name="squares", columns=1, absolute=SCALE, square=SCALE**2, told=SCALE, prior=0.1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """How often all columns are visited, and how many leaves a tree has; None leaves it to the noisy counts."""

    sweeps: int | None
    leaves: int | None

    def resolved(self, rows: float, sd: Callable[[int], float]) -> tuple[int, int]:
        """Both numbers, for so many (noisy) rows a class and the noise of a round at so many sweeps, which may be 0."""
        signal = rows / max(sd(10), LEAST)
        sweeps = self.sweeps or (MANY if rows >= 750 * sd(MANY) else 10 if signal >= 30 else 3)
        return sweeps, self.leaves or (WIDE if signal >= 200 else 4)

    def entries(self, sizes: Sequence[int], labels: int, columns: int) -> int:
        """How many integers get noise, at most: histograms, counts of labels, and all sums of all rounds."""
        leaves = sum(min(size, self.leaves or WIDE) for size in sizes)
        return sum(sizes) + labels + (self.sweeps or MANY) * leaves * columns


@dataclass(frozen=True, kw_only=True, slots=True)
class Boosted:
    """The scores of cells, one table (cells, columns of scores) a column of the domain, and what ran."""

    start: Floats
    terms: tuple[Floats, ...]
    sweeps: int
    leaves: int
    event: Event


def boost(
    cells: Cells,
    lines: npt.NDArray[np.uint8],
    labels: Whole,
    *,
    loss: Loss,
    start: Callable[[Whole, float, float], tuple[Floats, Floats]],
    counts: Whole,
    budget: Guarantee,
    settings: Settings,
    rng: RandomSource | None,
) -> Boosted:
    """Boost on lines of cells.

    `counts` are the exact counts of labels, or their sum; `start` makes of the noisy ones, the number of rows and the
    standard deviation of the noise first scores and the curvature of a row.
    """
    import numpy as np

    entries = settings.entries(cells.sizes, len(counts), loss.columns)
    require(
        entries <= ENTRIES, f"at most {ENTRIES} integers: sweeps x leaves x scores of all columns", integers=entries
    )
    coins = np.random.default_rng(source(rng).bits(128))
    whole = Allowance(budget, ENTRIES)
    total, d = whole.total, len(lines)
    histogram = whole.noise(total * HISTOGRAMS, absolute=d, square=d)
    census = whole.noise(total * LABELS, absolute=loss.told, square=loss.told**2)
    rest = total * (1 - HISTOGRAMS - LABELS)

    def noise(sweeps: int) -> Noise:
        return whole.noise(rest / (sweeps * d), absolute=loss.absolute, square=loss.square)

    exact = [np.bincount(line, minlength=size) for line, size in zip(lines, cells.sizes, strict=True)]
    told = np.asarray(histogram(np.concatenate(exact), rng=rng))
    seen = np.split(told, np.cumsum(cells.sizes)[:-1])
    rows = float(np.mean([one.sum() for one in seen]))
    first, curvature = start(np.asarray(census(counts, rng=rng)), rows, variance(census) ** 0.5)
    classes = max(2, len(counts))
    sweeps, leaves = settings.resolved(rows / classes, lambda number: variance(noise(number)) ** 0.5 / SCALE)
    each = noise(sweeps)
    shapes = Shapes(cells, seen, sd=variance(histogram) ** 0.5, leaves=leaves, coins=coins)
    one_round, sd = loss.round(), variance(each) ** 0.5 / SCALE
    terms = [np.zeros((size, loss.columns)) for size in cells.sizes]
    scores = np.tile(first, (len(labels), 1))
    line, step = lines[0], np.zeros((cells.sizes[0], loss.columns))
    for _ in range(sweeps):
        for column in shapes.order():
            leaf = shapes.draw(column)
            sums = np.zeros((int(leaf.max()) + 1, loss.columns), dtype=np.int64)
            one_round(scores, line, step, labels, lines[column], leaf, SCALE, sums)
            noisy = np.asarray(each(sums, rng=rng)) / SCALE
            held = np.bincount(leaf, weights=shapes.mass[column])[:, None] * curvature  # (leaves, scores)
            line, step = lines[column], shrunk(noisy, held, sd, loss.prior)[leaf]
            terms[column] += step
    event = ComposedEvent(
        events=(
            histogram.event(),
            census.event(),
            RepeatedEvent(event=each.event(), count=sweeps * d),
        )
    )
    return Boosted(start=first, terms=tuple(terms), sweeps=sweeps, leaves=leaves, event=event)


def shrunk(noisy: Floats, held: Floats, sd: float, prior: float = PRIOR) -> Floats:
    """The expected step of each leaf: sum / curvature, less the more the noise outweighs it."""
    import numpy as np

    centred = noisy - noisy.mean(axis=1, keepdims=True) if noisy.shape[1] > 1 else noisy
    return np.clip(centred * held / (held**2 + (sd / prior) ** 2 + 1e-9), -LARGEST, LARGEST)


class Shapes:
    """Random trees on one column each, from public coins and noisy histograms."""

    def __init__(self, cells: Cells, seen: list[Whole], *, sd: float, leaves: int, coins: np.random.Generator) -> None:
        import numpy as np

        self._coins, self._cells, self._leaves = coins, cells, leaves
        self.mass = [np.maximum(one, 0) + 1.0 for one in seen]
        self._chances = [_chances(np.maximum(one - sd, 0.0)) for one in seen]

    def order(self) -> list[int]:
        """All columns, shuffled."""
        return self._coins.permutation(len(self.mass)).tolist()

    def draw(self, column: int) -> Whole:
        """The leaf of every cell of a column."""
        import numpy as np

        size = self._cells.sizes[column]
        if size <= self._leaves:
            return np.arange(size)
        if not self._cells.ordered[column]:
            return self._coins.permutation(size) % self._leaves
        cuts = self._coins.choice(np.arange(1, size), self._leaves - 1, replace=False, p=self._chances[column])
        return np.searchsorted(np.sort(cuts), np.arange(size), side="right")


def _chances(mass: Floats) -> Floats:
    """How likely a cut falls between neighbouring cells."""
    import numpy as np

    between = (mass[1:] + mass[:-1]) / 2
    even = np.full(len(between), 1 / max(1, len(between)))
    return even if between.sum() <= 0 else EVEN * even + (1 - EVEN) * between / between.sum()
