"""Nearest neighbours where only the labels are private.

Theorem.  Every label is reported once by randomized response, and everything after that is made of the reports and of
the features, which are public.  So for one label changed to any other the model is epsilon-DP, and it answers any
number of queries; a label that is no class is read as the first one.  It says nothing about rows: whose row is there,
and its features, are not hidden.  A report is true with probability p and each other class with q, so a class with v
votes among k has k q + v (p - q) reports in the mean: the order of classes by expected reports is that by votes.
Proof: docs/theory/nearest_neighbours.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from discreet.data.columns import Column
from discreet.data.domain import Domain
from discreet.data.records import Records
from discreet.errors import UnsupportedError
from discreet.hazmat.entropy import RandomSource
from discreet.learning.design import Design
from discreet.learning.estimator import PrivateClassifier
from discreet.learning.vectors.k_means import whole
from discreet.learning.vectors.nearest_neighbours import UNIT
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.privacy.guarantee import ApproxDP, Guarantee, PureDP

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow


class LabelPrivateNeighbors(PrivateClassifier):
    """Vote of the nearest rows by noisy labels: private in the labels only, for features that everybody may know.

    >>> import numpy as np
    >>> from discreet.data.columns import Integer
    >>> from discreet.hazmat.entropy import SeededRandom
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 500)
    >>> X = rng.normal(30 + 40 * y[:, None], 10, (500, 2)).round()
    >>> domain = Domain({"a": Integer(0, 100), "b": Integer(0, 100)})
    >>> model = LabelPrivateNeighbors(50, budget=PureDP(1), domain=domain, classes=(0, 1))
    >>> model.fit(X, y, rng=SeededRandom(1)).predict([[30, 30], [70, 70]]).tolist()
    [0, 1]
    >>> model.privacy(), model.privacy().neighbours.__name__
    (PureDP(epsilon=1.0), 'Local')
    """

    hides_rows = False

    def __init__(
        self,
        n_neighbors: int = 20,
        *,
        budget: Guarantee | None = None,
        domain: Domain | None = None,
        classes: Sequence[object] | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.budget = budget
        self.domain = domain
        self.classes = classes

    def _learn(self, rows: Records, target: str | None, budget: Guarantee, rng: RandomSource | None) -> None:
        import numpy as np

        whole("n_neighbors", self.n_neighbors)
        if not isinstance(budget, PureDP | ApproxDP):
            raise UnsupportedError(f"labels are reported under PureDP or ApproxDP, got {type(budget).__name__}")
        assert target is not None
        response = RandomizedResponse(epsilon=budget.epsilon, categories=len(self.classes_))
        self.design_ = Design(self.domain_)
        self.vectors_ = self.design_.integers(rows, scale=UNIT)
        self.reports_ = np.asarray(response(rows.column(target).astype(np.int64), rng=rng), dtype=np.int64)
        self.event_ = response.event()

    def privacy(self) -> Guarantee:
        """What the model keeps for one label changed to any other."""
        return super().privacy()

    def _labels(self, y: object, name: str) -> tuple[Column, pyarrow.Array, Column]:
        declared, found, read = super()._labels(y, name)
        return declared, found.fill_null(0), read  # a label that is no class is read as the first: no row may vanish

    def _scores(self, rows: Records) -> npt.NDArray[np.float64]:
        import numpy as np

        found: list[Any] = []
        for query in self.design_.integers(rows, scale=UNIT):
            away = self.vectors_ - query
            found.append(shared((away * away).sum(axis=1), self.reports_, self.n_neighbors, len(self.classes_)))
        return np.array(found, dtype=np.float64).reshape(len(found), len(self.classes_))


def shared(
    squares: npt.NDArray[np.int64], reports: npt.NDArray[np.int64], k: int, number: int
) -> npt.NDArray[np.float64]:
    """k votes of the nearest rows, by (squared) distance; those as far as the last share what is left.

    Rows at one place are many where there are many rows: in the order of their classes the first would win by its lies.

    >>> import numpy as np
    >>> shared(np.array([4, 1, 4, 9]), np.array([0, 1, 1, 1]), 2, 2).tolist()
    [0.5, 1.5]
    """
    import numpy as np

    if len(squares) <= k:
        return np.bincount(reports, minlength=number).astype(np.float64)
    edge = np.partition(squares, k - 1)[k - 1]
    nearer = np.bincount(reports[squares < edge], minlength=number)
    last = np.bincount(reports[squares == edge], minlength=number)
    return nearer + last * ((k - nearer.sum()) / last.sum())
