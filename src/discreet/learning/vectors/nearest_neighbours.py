"""Private nearest neighbours: a fixed number of paid elections, or a grid that answers for ever.

Theorem.  With `queries=m` every prediction is an election among the k nearest rows by the exponential mechanism, in
which a row moves each count by at most 1, and m of them cost the budget; more are refused, and the same query twice is
answered once.  Queries may depend on earlier answers.  Without it, `fit` releases counts of classes on a grid, which a
row moves by 1, and `predict` costs nothing.  Proof: docs/theory/nearest_neighbours.md.

A model with `queries` holds the private rows: it is not a release and can be neither copied nor stored.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.data.domain import Domain
from discreet.data.records import Records
from discreet.errors import require
from discreet.hazmat.entropy import RandomSource
from discreet.learning.design import Design
from discreet.learning.estimator import PrivateClassifier
from discreet.learning.row_by_row import products
from discreet.learning.vectors.k_means import whole
from discreet.learning.vectors.k_means_grid import side
from discreet.learning.vectors.least_noise import least_noise
from discreet.learning.vectors.nearest_neighbours_cells import Cells, released
from discreet.learning.vectors.nearest_neighbours_votes import Voters, election
from discreet.learning.vectors.principal_components_fit import entries, subspace
from discreet.privacy.event import ComposedEvent, Event, RepeatedEvent
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.number import Number, exact
from discreet.release.allowance import Allowance
from discreet.release.noise import variance

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

UNIT = 1 << 12  # distances are exact in half ranges / UNIT
AXES = 4  # of a grid over the vectors themselves; of wider ones, over MAIN directions
MAIN = 3
CELLS = 1 << 16  # of all classes together
COUNT, DIRECTIONS = Fraction(1, 20), Fraction(1, 2)  # shares of the count or of the directions; the grid gets the rest
DEVIATIONS = 3  # of a direction that its axis covers on either side


class KNeighborsClassifier(PrivateClassifier):
    """Vote of the `n_neighbors` nearest rows, with every column scaled by its declared range.

    `queries` is how many different rows `predict` (or `score`) may be asked about, all of them together; the budget is
    shared among them.  `rate` below 1 lets each row vote in a query only if a coin of its own says so, which makes each
    election sharper.  Without `queries` the classes are counted on a grid once, and `predict` is free.

    >>> import numpy as np
    >>> from discreet.data.columns import Integer
    >>> from discreet.hazmat.entropy import SeededRandom
    >>> from discreet.privacy.guarantee import PureDP
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 2000)
    >>> X = rng.normal(30 + 40 * y[:, None], 10, (2000, 2)).round()
    >>> domain = Domain({"a": Integer(0, 100), "b": Integer(0, 100)})
    >>> model = KNeighborsClassifier(50, queries=3, budget=PureDP(3), domain=domain, classes=(0, 1))
    >>> model.fit(X, y, rng=SeededRandom(1)).predict([[30, 30], [70, 70]]).tolist(), model.queries_left_
    ([0, 1], 1)
    >>> model.predict([[1, 2], [3, 4]])
    Traceback (most recent call last):
    discreet.errors.BudgetExhausted: budget exhausted: requested 2 queries, remaining 1 queries
    """

    def __init__(
        self,
        n_neighbors: int = 20,
        *,
        queries: int | None = None,
        rate: Number = 1,
        budget: Guarantee | None = None,
        domain: Domain | None = None,
        classes: Sequence[object] | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.queries = queries
        self.rate = rate
        self.budget = budget
        self.domain = domain
        self.classes = classes

    voters_: Voters | None

    @property
    def keeps_rows(self) -> bool:
        """Whether the model answers from the private rows themselves: with `queries`."""
        return self.queries is not None

    def _learn(self, rows: Records, target: str | None, budget: Guarantee, rng: RandomSource | None) -> None:
        import numpy as np

        whole("n_neighbors", self.n_neighbors)
        rate = exact(self.rate)
        require(0 < rate <= 1, "0 < rate <= 1", rate=self.rate)
        assert target is not None
        self.design_ = Design(self.domain_)
        classes = rows.column(target).astype(np.int64)
        if self.queries is None:
            require(rate == 1, "queries=... where rows are sampled", rate=self.rate)
            self.voters_ = None
            self._release(self.design_.floats(rows), classes, budget, rng)
            return
        queries = whole("queries", self.queries)
        choice, event = election(budget, queries, rate)
        self.voters_ = Voters(
            self.design_.integers(rows, scale=UNIT),
            classes,
            number=len(self.classes_),
            neighbours=self.n_neighbors,
            choice=choice,
            rate=rate,
            left=queries,
            rng=rng,
        )
        self.event_ = RepeatedEvent(event=event, count=queries)

    def _release(self, vectors: Floats, classes: Any, budget: Guarantee, rng: RandomSource | None) -> None:  # noqa: ANN401
        import numpy as np

        design, number = self.design_, len(self.classes_)
        width, largest = design.width, math.sqrt(design.square)
        events: tuple[Event, ...]
        if width <= AXES:
            steps = [(COUNT, 1, 1), (1 - COUNT, 1, 1)]
            allowance = least_noise(budget, steps, entries=1 + CELLS)
            counting = allowance.noise(COUNT * allowance.total, absolute=1, square=1)
            count, events = float(counting(len(vectors), rng=rng)), (counting.event(),)
            self.mean_, self.axes_ = np.zeros(width), np.eye(width)
            share = (1 - COUNT) * allowance.total
        else:
            allowance = Allowance(budget, entries=entries(width) + CELLS)
            amount = DIRECTIONS * allowance.total
            found = subspace(vectors, largest, allowance=allowance, amount=amount, rng=rng)
            widths = DEVIATIONS * np.sqrt(found.variances[:MAIN])
            widths[widths == 0] = DEVIATIONS * found.radius / math.sqrt(width)
            self.mean_, self.axes_ = found.mean, found.directions[:MAIN] / widths[:, None]
            count, events, share = found.count, found.events, allowance.total - amount
        noise = allowance.noise(share, absolute=1, square=1)
        parts = side(count, math.sqrt(variance(noise)), axes=len(self.axes_), clusters=1, most=CELLS // number)
        self.cells_: Cells = released(
            self._points(vectors), classes, number, parts=parts, neighbours=self.n_neighbors, noise=noise, rng=rng
        )
        self.event_ = ComposedEvent(events=(*events, noise.event()))

    def _points(self, vectors: Floats) -> Floats:
        """Where vectors are on the grid."""
        return products(vectors - self.mean_, self.axes_)

    def _scores(self, rows: Records) -> npt.NDArray[np.float64]:
        import numpy as np

        if self.voters_ is None:
            return self.cells_.scores(self._points(self.design_.floats(rows)))
        winners = self.voters_.winners(self.design_.integers(rows, scale=UNIT))
        return np.eye(len(self.classes_))[winners]

    @property
    def queries_left_(self) -> int | None:
        """How many different rows `predict` can still be asked about; None if any number."""
        self.privacy()
        return None if self.voters_ is None else self.voters_.left
