"""A forest of private trees, each grown on all rows (`trees.growth`), and a forest of one.

Theorem.  A twentieth of the budget (of epsilon, of rho) pays for a noisy number of rows; by it the number of trees,
their depth and how many splits a node is offered are set.  The rest is shared equally by the trees; of a tree's share
half goes to the choices of its levels, equally, and half to the counts of its leaves, or all to the leaves if splits
are taken at random; a single tree for very few rows elects the classes of its leaves instead.  The forest keeps the
budget.  What is left of an approximate budget, with all of its delta, is spent as a pure one where that gives less
noise.
Proof: docs/theory/private_trees.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.data.domain import Domain
from discreet.data.records import Records
from discreet.errors import UnsupportedError, require
from discreet.hazmat.entropy import RandomSource, source
from discreet.learning.estimator import PrivateClassifier
from discreet.learning.trees.budget import cheapest
from discreet.learning.trees.cells import Cells
from discreet.learning.trees.growth import SCORE, Growth, PrivateTree
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.privacy.event import ComposedEvent, Event, RepeatedEvent
from discreet.privacy.guarantee import ZCDP, ApproxDP, Guarantee, PureDP
from discreet.privacy.number import exact
from discreet.release.allowance import Allowance
from discreet.release.noise import Noise, variance

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

CELLS = 64  # of a column with an order
ROWS = Fraction(1, 20)  # of the budget, for the number of rows
TREES = 10  # of a forest, at most
CHOICES = Fraction(1, 2)  # of a tree's share, for its splits
ENTRIES = 1 << 24  # counts with noise, at most
SHALLOWEST, DEEPEST = 5, 12
FEW, SOME, MANY = 12, 40, 100  # rows a class, over the noise of a count: to count, to average over ten trees, to choose


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """How many trees, how deep, and how many splits a node is offered: one means that it is taken at random.

    Leaves are counted, or elect their class: of few rows a single election tells more than counts of all classes.
    """

    trees: int
    depth: int
    candidates: int
    elected: bool = False

    @classmethod
    def for_signal(cls, signal: float, *, classes: int, alone: bool) -> Plan:
        """By the rows a class over the noise of a single count, for one tree or a forest.

        >>> Plan.for_signal(5.0, classes=3, alone=True), Plan.for_signal(1000.0, classes=3, alone=False)
        (Plan(trees=1, depth=5, candidates=1, elected=True), Plan(trees=10, depth=7, candidates=100, elected=False))
        """
        trees = 1 if alone or signal < FEW else 3 if signal < SOME else TREES
        if signal < MANY:  # two leaves for as many rows as the noise of a count
            depth = round(math.log2(max(2 * signal * classes / trees, 1)))
            depth = min(DEEPEST, max(SHALLOWEST, depth))
            return cls(trees=trees, depth=depth, candidates=1, elected=signal < FEW)
        return cls(trees=trees, depth=int(min(7, math.log2(signal) - 1)), candidates=100)

    def given(self, **parts: int | None) -> Plan:
        """With the parts that are not None."""
        made = replace(self, **{name: part for name, part in parts.items() if part is not None})
        return replace(made, elected=self.elected and made.trees == made.candidates == 1)

    def fitting(self, classes: int) -> Plan:
        """No deeper than the number of counts allows for which noise was set."""
        return replace(self, depth=min(self.depth, int(math.log2((ENTRIES - 1) / (self.trees * classes)))))

    def growth(self, whole: Allowance, share: Fraction) -> Growth:
        """One tree for a share."""
        if self.elected:
            return Growth(depth=self.depth, candidates=1, choice=None, leaves=_election(whole, share))
        if self.candidates == 1:
            return Growth(depth=self.depth, candidates=1, choice=None, leaves=whole.noise(share, absolute=1, square=1))
        return Growth(
            depth=self.depth,
            candidates=self.candidates,
            choice=whole.choice(share * CHOICES / self.depth, sensitivity=SCORE),
            leaves=whole.noise(share * (1 - CHOICES), absolute=1, square=1),
        )


def _election(whole: Allowance, share: Fraction) -> Exponential | PermuteAndFlip:
    """By counts, which a row can only raise."""
    if isinstance(whole.budget, PureDP):
        return PermuteAndFlip(epsilon=share, sensitivity=1, monotone=True, neighbours=whole.budget.neighbours)
    return whole.choice(share, sensitivity=1, monotone=True)


class RandomForestClassifier(PrivateClassifier):
    """A classifier that averages the probabilities of private trees.

    `trees`, `depth` and `candidates` (splits that a node is offered) follow from the noisy number of rows if not given.

    >>> import numpy as np
    >>> from discreet.data.columns import Integer
    >>> from discreet.hazmat.entropy import SeededRandom
    >>> from discreet.privacy.guarantee import ApproxDP
    >>> X, y = np.repeat([[1, 8], [8, 2]], 1000, axis=0), np.repeat([0, 1], 1000)
    >>> domain = Domain({"a": Integer(0, 9), "b": Integer(0, 9)})
    >>> model = RandomForestClassifier(budget=ApproxDP(1.0, 1e-6), domain=domain).fit(X, y, rng=SeededRandom(1))
    >>> model.predict([[1, 8], [8, 2]]).tolist(), model.privacy()
    ([0, 1], ApproxDP(epsilon=1.0, delta=1e-06))
    """

    def __init__(
        self,
        *,
        budget: Guarantee | None = None,
        domain: Domain | None = None,
        classes: Sequence[object] | None = None,
        trees: int | None = None,
        depth: int | None = None,
        candidates: int | None = None,
    ) -> None:
        self.budget = budget
        self.domain = domain
        self.classes = classes
        self.trees = trees
        self.depth = depth
        self.candidates = candidates

    def _learn(self, rows: Records, target: str | None, budget: Guarantee, rng: RandomSource | None) -> None:
        assert target is not None
        given = {"trees": self.trees, "depth": self.depth, "candidates": self.candidates}
        grown = grow_forest(rows, target, self.domain_, len(self.classes_), budget, given, alone=False, rng=rng)
        self.cells_, self.trees_, self.plan_, self.event_ = grown.cells, grown.trees, grown.plan, grown.event

    def _scores(self, rows: Records) -> Floats:
        import numpy as np

        lines = self.cells_.of(rows)
        return np.mean([tree.chances[tree.leaves(lines)] for tree in self.trees_], axis=0)

    def predict_proba(self, X: object) -> Floats:
        """The probability of every class, for every row."""
        return self._scores(self._read(X))


@dataclass(frozen=True, kw_only=True, slots=True)
class Forest:
    """Trees, how they were planned, and what ran."""

    cells: Cells
    trees: tuple[PrivateTree, ...]
    plan: Plan
    event: Event


def divided(budget: Guarantee) -> tuple[Noise, Guarantee]:
    """Noise for the number of rows at a twentieth of the budget, and the rest: of (epsilon, delta) all of delta.

    >>> counting, rest = divided(ApproxDP(1, 1e-6))
    >>> counting.epsilon, rest
    (Fraction(1, 20), ApproxDP(epsilon=0.95, delta=1e-06))
    """
    match budget:
        case ApproxDP() | PureDP():
            epsilon = exact(budget.epsilon) * ROWS
            require(epsilon > 0, "epsilon > 0", epsilon=budget.epsilon)
            return Laplace(epsilon=epsilon, sensitivity=1), replace(budget, epsilon=exact(budget.epsilon) - epsilon)
        case ZCDP():
            whole = Allowance(budget, ENTRIES)
            noise = whole.noise(whole.total * ROWS, absolute=1, square=1)
            return noise, replace(budget, rho=whole.total * (1 - ROWS))
    raise UnsupportedError(f"steps are paid in PureDP, ApproxDP or ZCDP, got {type(budget).__name__}")


def grow_forest(
    rows: Records,
    target: str,
    domain: Domain,
    classes: int,
    budget: Guarantee,
    given: dict[str, int | None],
    *,
    alone: bool,
    rng: RandomSource | None,
) -> Forest:
    """Buy the number of rows, plan, and grow; `given` fixes parts of the plan in advance."""
    import numpy as np

    for name, number in given.items():
        most = DEEPEST if name == "depth" else 1000
        fits = number is None or (isinstance(number, int) and not isinstance(number, bool) and 1 <= number <= most)
        require(fits, f"a whole number {name} from 1 to {most}, or None", **{name: number})
    entries = 1 + (given["trees"] or TREES) * classes * 2 ** (given["depth"] or SHALLOWEST)
    require(entries <= ENTRIES, f"at most {ENTRIES} counts: trees x 2^depth x classes", counts=entries)
    coins = np.random.default_rng(source(rng).bits(128))
    counting, rest = divided(budget)
    noisy = max(0, int(counting(len(rows), rng=rng)))
    alone_in_all = cheapest(rest, steps=1, entries=ENTRIES)
    unit = max(variance(alone_in_all.noise(alone_in_all.total, absolute=1, square=1)) ** 0.5, 1e-9)
    told = Plan.for_signal(noisy / (classes * unit), classes=classes, alone=alone)
    plan = told.given(**given)
    if given["depth"] is None:
        plan = plan.fitting(classes)
    whole = cheapest(rest, steps=plan.trees, entries=ENTRIES)
    growth = plan.growth(whole, whole.total / plan.trees)
    cells = Cells(domain, CELLS)
    lines, labels = cells.of(rows), rows.column(target).astype(np.int64)
    trees = tuple(growth(cells, lines, labels, classes=classes, coins=coins, rng=rng) for _ in range(plan.trees))
    each = RepeatedEvent(event=growth.event(), count=plan.trees)
    return Forest(cells=cells, trees=trees, plan=plan, event=ComposedEvent(events=(counting.event(), each)))
