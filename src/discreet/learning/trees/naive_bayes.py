"""Naive Bayes: one noisy table of (cell, class) a column, and nothing else.

Theorem.  Let d be the number of columns.  One row adds 1 to one cell of each column's histogram and 1 to one cell of
each column's table of (cell, class).  So the d histograms together move by d in l1 and by d in squared l2 distance, and
so do the d tables.  `fit` releases the histograms of the columns with an order with noise for a fifth of the budget,
merges their cells to bins of about equal mass by what it saw, and releases the tables of (bin, class) with noise for
the rest: it keeps the budget.  Classes, cells and columns come from the declaration.
Proof: docs/theory/naive_bayes.md.

A class is scored by ln Pr[class] + sum over columns of ln Pr[bin | class], with probabilities from the noisy tables,
smoothed toward the column's own distribution by as many rows as the noise is wide.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.data.domain import Domain
from discreet.data.records import Records
from discreet.errors import require
from discreet.hazmat.entropy import RandomSource
from discreet.learning.estimator import PrivateClassifier
from discreet.learning.trees.budget import cheapest
from discreet.learning.trees.cells import Cells
from discreet.privacy.event import ComposedEvent
from discreet.privacy.guarantee import Guarantee
from discreet.release.noise import variance

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Table = npt.NDArray[np.int64]

CELLS = 64  # of a column with an order, before merging
MERGING = Fraction(1, 5)  # of the budget, for histograms by which cells are merged
SMOOTHING = 0.5  # rows a bin, in standard deviations of the noise
ENTRIES = 1 << 24  # cells with noise, at most


class NaiveBayes(PrivateClassifier):
    """A classifier that takes columns for independent given the class.

    `bins` fixes how many bins a column with an order is merged to; without it, the signal in the noisy histograms does.

    >>> import numpy as np
    >>> from discreet.data.columns import Integer
    >>> from discreet.hazmat.entropy import SeededRandom
    >>> from discreet.privacy.guarantee import PureDP
    >>> X, y = np.repeat([[1, 8], [8, 2]], 500, axis=0), np.repeat([0, 1], 500)
    >>> domain = Domain({"a": Integer(0, 9), "b": Integer(0, 9)})
    >>> model = NaiveBayes(budget=PureDP(1), domain=domain).fit(X, y, rng=SeededRandom(1))
    >>> model.predict([[1, 8], [8, 2]]).tolist(), model.privacy()
    ([0, 1], PureDP(epsilon=1.0))
    """

    cells_: Cells
    bins_: list[Table]
    tables_: list[Table]

    def __init__(
        self,
        *,
        budget: Guarantee | None = None,
        domain: Domain | None = None,
        classes: Sequence[object] | None = None,
        bins: int | None = None,
    ) -> None:
        self.budget = budget
        self.domain = domain
        self.classes = classes
        self.bins = bins

    @staticmethod
    def tables(domain: Domain, target: str) -> list[tuple[str, ...]]:
        """The tables it needs, each in the order of the domain: enough to fit on any engine that counts."""
        return [tuple(name for name in domain if name in (other, target)) for other in domain if other != target]

    def _learn(self, rows: Records, target: str | None, budget: Guarantee, rng: RandomSource | None) -> None:
        import numpy as np

        assert target is not None
        if not isinstance(rows, Records):  # tables that an engine counted
            self._learn_tables(rows.marginals(self.tables(rows.domain, target)), rows.domain, target, budget, rng)
            return
        cells, labels, classes = Cells(self.domain_, CELLS), rows.column(target).astype(np.int64), len(self.classes_)
        counted = [
            np.bincount(line * np.int64(classes) + labels, minlength=size * classes).reshape(size, classes)
            for line, size in zip(cells.of(rows), cells.sizes, strict=True)
        ]
        self._learn_cells(cells, counted, budget, rng)

    def _learn_tables(
        self, tables: Sequence[Table], domain: Domain, target: str, budget: Guarantee, rng: RandomSource | None
    ) -> None:
        """Learn from exact tables at the resolution of the declaration, in the order of `tables`."""
        import numpy as np

        cells, order = Cells(self.domain_, CELLS), list(domain)
        counted = []
        for table, (name, column), size in zip(tables, self.domain_.items(), cells.sizes, strict=True):
            lines = table if order.index(name) < order.index(target) else table.T  # (values, classes)
            merged = np.zeros((size, lines.shape[1]), dtype=np.int64)
            np.add.at(merged, cells.places(column, np.arange(len(lines))), lines)
            counted.append(merged)
        self._learn_cells(cells, counted, budget, rng)

    def _learn_cells(self, cells: Cells, counted: list[Table], budget: Guarantee, rng: RandomSource | None) -> None:
        """Learn from exact tables of (cell, class)."""
        import numpy as np

        whole_number = self.bins is None or (isinstance(self.bins, int) and not isinstance(self.bins, bool))
        require(whole_number and (self.bins is None or self.bins >= 2), "bins >= 2, or None", bins=self.bins)
        d, classes = len(counted), len(self.classes_)
        entries = sum(cells.sizes) * (classes + 1)
        require(entries <= ENTRIES, f"at most {ENTRIES} cells: cells x (classes + 1)", cells=entries)
        whole = cheapest(budget, steps=d, entries=ENTRIES)
        ranked = [place for place in range(d) if cells.ordered[place]]
        share = MERGING * whole.total if ranked else Fraction(0)
        noise = whole.noise(whole.total - share, absolute=d, square=d)
        sd = variance(noise) ** 0.5
        bins = [np.arange(size) for size in cells.sizes]
        events = [noise.event()]
        if ranked:
            first = whole.noise(share, absolute=len(ranked), square=len(ranked))
            events.insert(0, first.event())
            exact = [counted[place].sum(axis=1) for place in ranked]
            seen = np.split(first(np.concatenate(exact), rng=rng), np.cumsum([len(one) for one in exact])[:-1])
            rows = float(np.mean([one.sum() for one in seen]))
            most = self.bins or int(np.clip(2 + rows / (4 * classes * max(sd, 1e-9)), 3, CELLS))
            for place, histogram in zip(ranked, seen, strict=True):
                values = len(histogram) - list(self.domain_.values())[place].nullable
                bins[place] = merged(histogram, values, most, sd=variance(first) ** 0.5)
        self.bins_, self.cells_ = bins, cells
        tables = [_summed(table, bin_of) for table, bin_of in zip(counted, bins, strict=True)]
        flat = noise(np.concatenate([table.ravel() for table in tables]), rng=rng)
        noisy = np.split(flat, np.cumsum([table.size for table in tables])[:-1])
        self.tables_ = [part.reshape(table.shape) for part, table in zip(noisy, tables, strict=True)]
        self.event_ = ComposedEvent(events=tuple(events))
        self._estimate(sd)

    def _estimate(self, sd: float) -> None:
        """Logarithms of probabilities from the noisy tables."""
        import numpy as np

        weights = np.array([1 / len(table) for table in self.tables_])  # a sum over few bins has little noise
        totals = sum(weight * table.sum(axis=0) for weight, table in zip(weights, self.tables_, strict=True))
        totals = np.maximum(totals / weights.sum(), sd + 1e-9)  # (classes,)
        self.class_log_prior_ = np.log(totals / totals.sum())
        self.feature_log_prob_ = []
        for table in self.tables_:
            bins, classes = len(table), table.shape[1]
            own = np.maximum(table.sum(axis=1), 0) + SMOOTHING * sd * classes**0.5 / bins + 1e-9
            prior = (SMOOTHING * sd + 1e-9) * bins * own / own.sum()
            kept = np.maximum(table, 0) + prior[:, None]
            self.feature_log_prob_.append(np.log(kept / kept.sum(axis=0)))

    def _scores(self, rows: Records) -> npt.NDArray[np.float64]:
        import numpy as np

        scores = np.tile(self.class_log_prior_, (len(rows), 1))
        for line, bin_of, chances in zip(self.cells_.of(rows), self.bins_, self.feature_log_prob_, strict=True):
            scores += chances[bin_of[line]]
        return scores

    def predict_proba(self, X: object) -> npt.NDArray[np.float64]:
        """The probability of every class, for every row, as the model has it."""
        import numpy as np

        scores = self._scores(self._read(X))
        chances = np.exp(scores - scores.max(axis=1, keepdims=True))
        return chances / chances.sum(axis=1, keepdims=True)


def merged(histogram: Table, values: int, most: int, *, sd: float) -> Table:
    """The bin of every cell: at most `most` bins of about equal noisy mass, cells after `values` on their own.

    >>> import numpy as np
    >>> merged(np.array([0, 90, 90, 0, 90, 0, 90, 7]), 7, 2, sd=1.0).tolist()
    [0, 0, 0, 1, 1, 1, 1, 2]
    """
    import numpy as np

    if values <= most:
        return np.arange(len(histogram))
    mass = np.maximum(histogram[:values], 0) + sd / 2 + 1e-9
    middle = (np.cumsum(mass) - mass / 2) / mass.sum()
    _, bins = np.unique(np.minimum((middle * most).astype(np.int64), most - 1), return_inverse=True)
    return np.concatenate([bins, np.arange(values, len(histogram)) - values + bins[-1] + 1])


def _summed(table: Table, bin_of: npt.NDArray[np.int64]) -> Table:
    import numpy as np

    made = np.zeros((int(bin_of.max()) + 1, table.shape[1]), dtype=np.int64)
    np.add.at(made, bin_of, table)
    return made
