"""Gradient-boosted trees of one column each: an additive model whose every term can be drawn.

Theorem.  `fit` keeps the budget for one row added or removed: it releases noisy histograms of the columns, noisy counts
of the labels (or their sum), and round by round the noisy sums of residuals over the leaves of a tree on one column
(`trees.boosted_rounds`).  The number of rows is private: it is read off the noisy histograms.
Proof: docs/theory/private_trees.md.

The algorithm is that of Nori, Caruana, Bu, Shen and Kulkarni (2021), with integers for the residuals, Gaussian-DP
accounting, cuts that follow the noisy mass half of the time, and steps shrunk by the noise they carry.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.data.columns import Value
from discreet.data.domain import Domain, missing
from discreet.data.records import Records
from discreet.errors import DomainError, require
from discreet.hazmat.entropy import RandomSource
from discreet.learning.estimator import PrivateClassifier, PrivateRegressor
from discreet.learning.trees.boosted_rounds import SCALE, SQUARES, Boosted, Settings, boost, classes_loss
from discreet.learning.trees.cells import Cells
from discreet.privacy.guarantee import Guarantee

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

CELLS = 32  # of a column with an order


class GradientBoostedTrees(PrivateClassifier):
    """A classifier whose score is a sum of one function a column; `term(column)` says what its values add.

    `sweeps` says how often every column gets a tree, `leaves` how many leaves it has; without them the noisy counts do.

    >>> import numpy as np
    >>> from discreet.data.columns import Integer
    >>> from discreet.hazmat.entropy import SeededRandom
    >>> from discreet.privacy.guarantee import ApproxDP
    >>> X, y = np.repeat([[1, 8], [8, 2]], 1000, axis=0), np.repeat([0, 1], 1000)
    >>> domain = Domain({"a": Integer(0, 9), "b": Integer(0, 9)})
    >>> model = GradientBoostedTrees(budget=ApproxDP(1.0, 1e-6), domain=domain).fit(X, y, rng=SeededRandom(1))
    >>> model.predict([[1, 8], [8, 2]]).tolist(), model.privacy()
    ([0, 1], ApproxDP(epsilon=1.0, delta=1e-06))
    """

    cells_: Cells
    start_: Floats
    terms_: tuple[Floats, ...]
    sweeps_: int
    leaves_: int

    def __init__(
        self,
        *,
        budget: Guarantee | None = None,
        domain: Domain | None = None,
        classes: Sequence[object] | None = None,
        sweeps: int | None = None,
        leaves: int | None = None,
    ) -> None:
        self.budget = budget
        self.domain = domain
        self.classes = classes
        self.sweeps = sweeps
        self.leaves = leaves

    def _learn(self, rows: Records, target: str | None, budget: Guarantee, rng: RandomSource | None) -> None:
        import numpy as np

        assert target is not None
        settings = _settings(self.sweeps, self.leaves)
        labels = rows.column(target).astype(np.int64)
        made = boost(
            cells := Cells(self.domain_, CELLS),
            cells.of(rows),
            labels,
            loss=classes_loss(len(self.classes_)),
            start=_log_odds,
            counts=np.bincount(labels, minlength=len(self.classes_)),
            budget=budget,
            settings=settings,
            rng=rng,
        )
        _keep(self, cells, made)

    def _scores(self, rows: Records) -> Floats:
        import numpy as np

        scores = _added(self.cells_, self.start_, self.terms_, rows)
        return np.hstack([np.zeros_like(scores), scores]) if scores.shape[1] == 1 else scores

    def term(self, column: str) -> dict[Value, Floats]:
        """What a value of a column adds to the scores, by the first value of each cell; None is NULL."""
        self.privacy()
        return _term(self.cells_, self.terms_, column)

    def predict_proba(self, X: object) -> Floats:
        """The probability of every class, for every row, as the model has it."""
        import numpy as np

        scores = self._scores(self._read(X))
        chances = np.exp(scores - scores.max(axis=1, keepdims=True))
        return chances / chances.sum(axis=1, keepdims=True)


class GradientBoostedTreesRegressor(PrivateRegressor):
    """A regression by a sum of one function a column, with squared loss; `bounds` declares the range of the target.

    >>> import numpy as np
    >>> from discreet.data.columns import Integer
    >>> from discreet.hazmat.entropy import SeededRandom
    >>> from discreet.privacy.guarantee import ApproxDP
    >>> X, y = np.repeat([[1], [8]], 1000, axis=0), np.repeat([-3.0, 5.0], 1000)
    >>> domain = Domain({"a": Integer(0, 9)})
    >>> model = GradientBoostedTreesRegressor(budget=ApproxDP(1.0, 1e-6), domain=domain, bounds=(-10, 10))
    >>> model.fit(X, y, rng=SeededRandom(1)).predict([[1], [8]]).round().tolist()
    [-3.0, 5.0]
    """

    cells_: Cells
    start_: Floats
    terms_: tuple[Floats, ...]
    sweeps_: int
    leaves_: int

    def __init__(
        self,
        *,
        budget: Guarantee | None = None,
        domain: Domain | None = None,
        bounds: tuple[float, float] | None = None,
        sweeps: int | None = None,
        leaves: int | None = None,
    ) -> None:
        self.budget = budget
        self.domain = domain
        self.bounds = bounds
        self.sweeps = sweeps
        self.leaves = leaves

    def _learn(self, rows: Records, target: str | None, budget: Guarantee, rng: RandomSource | None) -> None:
        import numpy as np

        assert target is not None
        assert self.target_ is not None
        settings = _settings(self.sweeps, self.leaves)
        low, high = self.target_.codes
        spread = max(high - low, 1)
        middle = rows.column(target).astype(np.float64) * 2 - spread  # -spread .. spread
        labels = np.rint(middle / spread * SCALE).astype(np.int64)  # -SCALE .. SCALE
        made = boost(
            cells := Cells(self.domain_, CELLS),
            cells.of(rows),
            labels,
            loss=SQUARES,
            start=_mean,
            counts=np.array([labels.sum()]),
            budget=budget,
            settings=settings,
            rng=rng,
        )
        _keep(self, cells, made)

    def term(self, column: str) -> dict[Value, Floats]:
        """What a value of a column adds to the prediction, by the first value of each cell; None is NULL."""
        self.privacy()
        assert self.target_ is not None
        low, high = (float(self.target_.step * code) for code in self.target_.codes)
        return {value: moved * (high - low) / 2 for value, moved in _term(self.cells_, self.terms_, column).items()}

    def _values(self, rows: Records) -> Floats:
        import numpy as np

        assert self.target_ is not None
        low, high = (float(self.target_.step * code) for code in self.target_.codes)
        scores = np.clip(_added(self.cells_, self.start_, self.terms_, rows)[:, 0], -1, 1)
        return low + (high - low) * (scores + 1) / 2


def _settings(sweeps: int | None, leaves: int | None) -> Settings:
    for name, given, least in (("sweeps", sweeps, 1), ("leaves", leaves, 2)):
        whole = given is None or (isinstance(given, int) and not isinstance(given, bool) and given >= least)
        require(whole, f"a whole number {name} >= {least}, or None", **{name: given})
    return Settings(sweeps=sweeps, leaves=leaves)


def _keep(model: GradientBoostedTrees | GradientBoostedTreesRegressor, cells: Cells, made: Boosted) -> None:
    model.cells_, model.start_, model.terms_ = cells, made.start, made.terms
    model.sweeps_, model.leaves_, model.event_ = made.sweeps, made.leaves, made.event


def _term(cells: Cells, terms: tuple[Floats, ...], column: str) -> dict[Value, Floats]:
    if column not in cells.domain:
        raise DomainError(missing(column, list(cells.domain), what="column"))
    return dict(zip(cells.starts(column), terms[list(cells.domain).index(column)], strict=True))


def _added(cells: Cells, start: Floats, terms: tuple[Floats, ...], rows: Records) -> Floats:
    import numpy as np

    scores = np.tile(start, (len(rows), 1))
    for line, term in zip(cells.of(rows), terms, strict=True):
        scores += term[line]
    return scores


def _log_odds(counts: npt.NDArray[np.int64], rows: float, sd: float) -> tuple[Floats, Floats]:
    """First scores and curvature from noisy counts of the classes."""
    import numpy as np

    kept = np.maximum(counts, 1) + 1 + np.maximum(counts, 1).sum() / 100
    chance = kept / kept.sum()
    if len(chance) == 2:
        return np.array([np.log(chance[1] / chance[0])]), (chance[1:] * chance[0])
    return np.log(chance), chance * (1 - chance)


def _mean(total: npt.NDArray[np.int64], rows: float, sd: float) -> tuple[Floats, Floats]:
    """The mean, nearer to the middle of the range the noisier it is; and curvature one."""
    import numpy as np

    n = max(rows, 1.0)
    return np.clip(total / SCALE * n / (n**2 + (2 * sd / SCALE) ** 2), -1, 1), np.ones(1)
