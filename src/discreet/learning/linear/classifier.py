"""What the linear classifiers share: rows in a ball, then noisy gradient descent on a loss of the margin.

Theorem.  `fit` keeps the budget for one row added or removed: a count, a mean, a radius (`linear.rows`) and the steps
of a descent (`noisy_gradient`), with shares that were fixed before and add up to the budget.  How many steps, how long,
and where gradients are cut follow from the declaration, the budget and the noisy count.
Proof: docs/theory/private_erm.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from discreet.data.domain import Domain
from discreet.data.engines.integer_sums import IntegerSums
from discreet.data.records import Records
from discreet.errors import require
from discreet.hazmat.entropy import RandomSource
from discreet.learning.design import Design
from discreet.learning.estimator import PrivateClassifier
from discreet.learning.linear.losses import Margin, Softmax
from discreet.learning.linear.plan import MOST, RIDGE, plan
from discreet.learning.linear.rows import FINE, LEFT, WIDEST, ball, design_for, noisy_count, spread
from discreet.learning.rounds.sums import ENTRIES, STEPS_AT_MOST, gradient
from discreet.learning.rounds.vectors import Lattice, lattice_centre, lattice_radius
from discreet.learning.row_by_row import products
from discreet.privacy.event import ComposedEvent
from discreet.privacy.guarantee import Guarantee
from discreet.release.allowance import Allowance

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]


class LinearClassifier(PrivateClassifier):
    """Base: a subclass has the losses, of two classes and of more."""

    loss: Margin
    losses: Margin | Softmax
    bins: int | None
    ridge: float

    def __init__(
        self,
        *,
        bins: int | None = None,
        ridge: float = 0.0,
        budget: Guarantee | None = None,
        domain: Domain | None = None,
        classes: Sequence[object] | None = None,
    ) -> None:
        self.bins = bins
        self.ridge = ridge
        self.budget = budget
        self.domain = domain
        self.classes = classes

    by_rounds = True

    def _learn(
        self, rows: Records | IntegerSums, target: str | None, budget: Guarantee, rng: RandomSource | None
    ) -> None:
        import numpy as np

        assert target is not None
        number = isinstance(self.ridge, int | float) and not isinstance(self.ridge, bool)
        require(number and 0 <= self.ridge <= RIDGE, "0 <= ridge <= 1e9", ridge=self.ridge)
        columns = len(self.classes_) if len(self.classes_) > 2 else 1
        width = Design(self.domain_, self.bins or 0).width
        require(width <= WIDEST, f"at most {WIDEST} entries of a row's vector", entries=width)
        widest = Design(self.domain_, FINE if self.bins is None else self.bins).width + 1
        allowance = Allowance(budget, entries=2 + widest * (1 + MOST * columns))
        count = noisy_count(rows, allowance=allowance, rng=rng)
        in_engine = isinstance(rows, IntegerSums)
        most = ENTRIES // columns - 1 if in_engine else WIDEST
        require(width <= most, f"at most {most} entries of a row's vector where an engine adds", entries=width)
        design = design_for(self.domain_, self.bins, count, allowance=allowance, columns=columns, widest=most)
        noise = spread(allowance, (design.width + 1) * columns)
        found = ball(rows, design, count, noise=noise, allowance=allowance, rng=rng)
        loss = self.loss if columns == 1 else self.losses
        rounds = STEPS_AT_MOST if in_engine else MOST
        descent = plan(found, columns, loss, noise, ridge=float(self.ridge), most=rounds)
        paid: dict[str, Any] = {"allowance": allowance, "amount": LEFT * allowance.total, "rng": rng}
        if isinstance(rows, IntegerSums):
            moved = Lattice(rows, design).moved(lattice_centre(found.centre))
            radius, label = lattice_radius(found.radius), rows.places[target]
            sums = gradient(moved, radius, found.constant, label, columns, loss, descent.bound)
            weights, event = descent.follow(sums, design.width + 1, columns, found.rows, **paid)
        else:
            classes = rows.column(target).astype(np.int64)
            weights, event = descent(found.integers(rows), classes, columns, found.rows, **paid)
        self.ball_ = found
        self.n_iter_ = descent.steps
        self.coef_ = weights[1:].T
        self.intercept_ = weights[0] * (found.constant * found.unit) - found.centre @ weights[1:]
        self.event_ = ComposedEvent(events=(*found.events, event))

    def decision_function(self, X: object) -> Floats:
        """The scores of rows: one of each for two classes, else one a class."""
        scores = self._margins(self._read(X))
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _margins(self, rows: Records) -> Floats:
        return products(self.ball_.design.floats(rows), self.coef_) + self.intercept_

    def _scores(self, rows: Records) -> Floats:
        import numpy as np

        scores = self._margins(rows)
        return np.column_stack([-scores, scores]) if scores.shape[1] == 1 else scores
