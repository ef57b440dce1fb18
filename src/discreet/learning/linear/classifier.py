"""What the linear classifiers share: rows in a ball, then noisy gradient descent on a loss of the margin.

Theorem.  `fit` keeps the budget for one row added or removed: a count, a mean, a radius (`linear.rows`) and the steps
of a descent (`noisy_gradient`), with shares that were fixed before and add up to the budget.  How many steps, how long,
and where gradients are cut follow from the declaration, the budget and the noisy count.  So does whether a second
model, by intervals, is fitted: then the two and a choice between them by the number of rows that each puts into their
class, which a row moves by at most one, have shares that add up to what one would have had.
Proof: docs/theory/private_erm.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.data.domain import Domain
from discreet.data.engines.integer_sums import IntegerSums
from discreet.data.records import Records
from discreet.errors import require
from discreet.hazmat.entropy import RandomSource
from discreet.learning.design import Design
from discreet.learning.estimator import PrivateClassifier
from discreet.learning.linear.losses import Margin, Softmax
from discreet.learning.linear.noisy_gradient import HEAVIEST, WEIGHT
from discreet.learning.linear.plan import MOST, RIDGE, plan
from discreet.learning.linear.rows import (
    COUNT,
    FINE,
    FINER,
    LEFT,
    PICKED,
    PLAIN,
    WIDEST,
    Ball,
    Count,
    ball,
    designs_for,
    noisy_count,
    spread,
)
from discreet.learning.rounds.sums import ENTRIES, STEPS_AT_MOST, gradient, right
from discreet.learning.rounds.vectors import Lattice, lattice_centre, lattice_radius
from discreet.learning.row_by_row import products
from discreet.privacy.event import ComposedEvent, Event
from discreet.privacy.guarantee import Guarantee
from discreet.release.allowance import Allowance

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Fitted:
    """A model by one design, made of what was released."""

    ball: Ball
    weights: Floats  # (1 + width, columns), of (constant, u) in units of the vectors
    steps: int
    events: tuple[Event, ...]

    @property
    def intercept(self) -> Floats:
        """Of vectors that were not moved."""
        return self.weights[0] * (self.ball.constant * self.ball.unit) - self.ball.centre @ self.weights[1:]


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

        assert target is not None
        number = isinstance(self.ridge, int | float) and not isinstance(self.ridge, bool)
        require(number and 0 <= self.ridge <= RIDGE, "0 <= ridge <= 1e9", ridge=self.ridge)
        columns = len(self.classes_) if len(self.classes_) > 2 else 1
        width = Design(self.domain_, self.bins or 0).width
        require(width <= WIDEST, f"at most {WIDEST} entries of a row's vector", entries=width)
        widest = Design(self.domain_, FINE if self.bins is None else self.bins).width + 1
        allowance = Allowance(budget, entries=4 + 2 * widest * (1 + MOST * columns))
        count = noisy_count(rows, allowance=allowance, rng=rng)
        in_engine = isinstance(rows, IntegerSums)
        most = ENTRIES // columns - 1 if in_engine else WIDEST
        require(width <= most, f"at most {most} entries of a row's vector where an engine adds", entries=width)
        designs = designs_for(self.domain_, self.bins, count, allowance=allowance, columns=columns, widest=most)
        portions = (PLAIN, FINER) if len(designs) == 2 else (Fraction(1),)
        fitted = [
            self._fit_design(rows, target, columns, design, count, allowance.of(portion), rng)
            for design, portion in zip(designs, portions, strict=True)
        ]
        chosen, choices = fitted[0], ()
        if len(fitted) == 2:
            pick = allowance.choice((1 - COUNT) * PICKED * allowance.total, sensitivity=1)
            right = [self._right(rows, target, columns, one) for one in fitted]
            extra = designs[1].width - designs[0].width  # what more entries fit of the noise in labels, in rows
            chosen, choices = fitted[pick([right[0], right[1] - extra], rng=rng)], (pick.event(),)
        self.ball_ = chosen.ball
        self.n_iter_ = chosen.steps
        self.coef_ = chosen.weights[1:].T
        self.intercept_ = chosen.intercept
        self.event_ = ComposedEvent(events=(count.event, *(event for one in fitted for event in one.events), *choices))

    def _fit_design(
        self,
        rows: Records | IntegerSums,
        target: str,
        columns: int,
        design: Design,
        count: Count,
        allowance: Allowance,
        rng: RandomSource | None,
    ) -> _Fitted:
        """A mean, a radius and a descent by one design, for the allowance less the share of the count."""
        noise = spread(allowance, (design.width + 1) * columns)
        found = ball(rows, design, count, noise=noise, allowance=allowance, rng=rng)
        loss = self.loss if columns == 1 else self.losses
        rounds = STEPS_AT_MOST if isinstance(rows, IntegerSums) else MOST
        descent = plan(found, columns, loss, noise, ridge=float(self.ridge), most=rounds)
        paid: dict[str, Any] = {"allowance": allowance, "amount": LEFT * allowance.total, "rng": rng}
        if isinstance(rows, IntegerSums):
            moved = Lattice(rows, design).moved(lattice_centre(found.centre))
            radius, label = lattice_radius(found.radius), rows.places[target]
            sums = gradient(moved, radius, found.constant, label, columns, loss, descent.bound)
            weights, event = descent.follow(sums, design.width + 1, columns, found.rows, **paid)
        else:
            classes = rows.column(target).astype("int64")
            weights, event = descent(found.integers(rows), classes, columns, found.rows, **paid)
        return _Fitted(found, weights, descent.steps, (*found.events[1:], event))

    @staticmethod
    def _right(rows: Records | IntegerSums, target: str, columns: int, fitted: _Fitted) -> int:
        """How many rows it puts into their class: a row moves the number by at most one."""
        import numpy as np

        found = fitted.ball
        if isinstance(rows, IntegerSums):
            moved = Lattice(rows, found.design).moved(lattice_centre(found.centre))
            whole = np.rint(np.clip(fitted.weights, -HEAVIEST, HEAVIEST) * (found.unit * WEIGHT))
            return right(moved, lattice_radius(found.radius), found.constant, rows.places[target], columns, whole)
        classes = rows.column(target).astype(np.int64)
        scores = products(found.design.floats(rows), fitted.weights[1:].T) + fitted.intercept
        said = scores.argmax(axis=1) if columns > 1 else (scores[:, 0] > 0).astype(np.int64)
        return int(np.count_nonzero(said == classes))

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
