"""Least squares by moments that are measured once, or by a few noisy gradients where there are few rows.

Theorem.  Write each row and its target as one vector.  `fit` releases a count, a mean, a radius (`linear.rows`), and
then, with what is left of the budget, either all products of pairs of entries, moved by that mean and clipped to that
radius, with symmetric noise on every one of them, the squares included (`clipped_moments`), or the steps of a descent
(`noisy_gradient`).  Which of the two follows from the noisy count, the budget and the declaration.
Proof: docs/theory/linear_models.md.

A row outside the radius is drawn toward the mean with its target, along the line between them, so that rows on a line
stay on it.  The noisy matrix may have no inverse: its eigenvalues are raised by the size of the noise, which is public
(Wang 2018 buys the smallest eigenvalue for that; the level of the noise is free), and predictions are clamped to the
declared range, so that no error exceeds that range.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from discreet.data.columns import Boolean, Column, Integer, Real
from discreet.data.engines.integer_sums import IntegerSums
from discreet.data.records import Records
from discreet.errors import UnsupportedError, require
from discreet.hazmat.entropy import RandomSource
from discreet.learning.design import Design
from discreet.learning.estimator import PrivateRegressor
from discreet.learning.linear.losses import STEPS, Squared
from discreet.learning.linear.plan import MOST, RIDGE, clearness, plan
from discreet.learning.linear.rows import LEFT, Ball, ball, noisy_count, spread
from discreet.learning.rounds.sums import PRODUCTS, STEPS_AT_MOST, gradient, target_places
from discreet.learning.rounds.sums import moments as engine_moments
from discreet.learning.rounds.vectors import Lattice, lattice_centre, lattice_radius
from discreet.learning.row_by_row import products
from discreet.learning.vectors.clipped_moments import SCALE, noisy_moments, released_moments, shrunk, within
from discreet.privacy.event import ComposedEvent, Event
from discreet.privacy.guarantee import Guarantee
from discreet.release.allowance import Allowance

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

DOUBT = 3.0  # times the noise of an eigenvalue, added to each
DRAW = 1.0  # times the length of the noise, as ridge of a descent
WIDEST = 2000  # entries of a vector


class LeastSquares(PrivateRegressor):
    """Base: a subclass says how much ridge it wants beside what the noise asks for."""

    coef_: Floats
    intercept_: float
    design_: Design
    range_: tuple[float, float]

    def _ridge(self) -> float:
        raise NotImplementedError

    by_rounds = True

    def _learn(
        self, rows: Records | IntegerSums, target: str | None, budget: Guarantee, rng: RandomSource | None
    ) -> None:

        assert target is not None
        ridge = self._ridge()
        number = isinstance(ridge, int | float) and not isinstance(ridge, bool)
        require(number and 0 <= ridge <= RIDGE, "0 <= ridge <= 1e9", ridge=ridge)
        low, high = ends(rows.domain[target])
        columns = [name for name in rows.domain if name != target]
        joint = Design(rows.domain.project([*columns, target]))
        width = joint.width
        require(width <= WIDEST, f"at most {WIDEST} entries of a row's vector", entries=width)
        if isinstance(rows, IntegerSums):
            require((width + 1) * (width + 2) // 2 <= PRODUCTS, "fewer entries where an engine adds", entries=width)
        allowance = Allowance(budget, entries=2 + width + max((width + 1) * (width + 2) // 2, MOST * width))
        count = noisy_count(rows, allowance=allowance, rng=rng)
        found = ball(rows, joint, count, noise=spread(allowance, width), allowance=allowance, rng=rng)
        noise = spread(allowance, width)
        fit = _by_moments if clearness(count.rows, noise) >= 1 else _by_descent
        slopes, middle, event = fit(rows, found, allowance, noise, ridge, rng)
        half = (high - low) / 2
        self.range_ = low, high
        self.design_ = Design(self.domain_)
        self.coef_ = slopes * half
        self.intercept_ = (low + high) / 2 + half * float(middle[-1] - middle[:-1] @ slopes)
        self.event_ = ComposedEvent(events=(*found.events, event))

    def _values(self, rows: Records) -> Floats:
        import numpy as np

        return np.clip(products(self.design_.floats(rows), self.coef_[None])[:, 0] + self.intercept_, *self.range_)


def _by_moments(
    rows: Records | IntegerSums, found: Ball, allowance: Allowance, noise: float, ridge: float, rng: RandomSource | None
) -> tuple[Floats, Floats, Event]:
    """Coefficients, a point on the plane, and what ran: all products of entries, once."""
    import numpy as np

    share = LEFT * allowance.total
    if isinstance(rows, IntegerSums):
        moved = Lattice(rows, found.design).moved(lattice_centre(found.centre))
        sums = engine_moments(moved, lattice_radius(found.radius), SCALE // 2)[None]
        moments = released_moments(sums, found.design.width, found.radius, allowance, share, rng)
    else:
        one = np.zeros(len(rows), dtype=np.int64)
        vectors = found.moved(rows)
        moments = noisy_moments(vectors, one, 1, radius=found.radius, allowance=allowance, share=share, rng=rng)
    n = max(float(moments.counts[0]), found.rows / 2)
    sums = moments.means[0] * max(float(moments.counts[0]), moments.count_sd, 1.0)
    offset = shrunk(sums / n, moments.sum_sd / n)
    second = moments.seconds[0] / n - np.outer(offset, offset)
    slopes = solve(second[:-1, :-1], second[:-1, -1], moments.sd / n, ridge / n)
    return slopes, found.centre + offset, ComposedEvent(events=moments.events)


def _by_descent(
    rows: Records | IntegerSums, found: Ball, allowance: Allowance, noise: float, ridge: float, rng: RandomSource | None
) -> tuple[Floats, Floats, Event]:
    """The same from a few noisy gradients, where the rows do not stand out of the noise on all products."""
    import numpy as np

    in_engine = isinstance(rows, IntegerSums)
    rounds = STEPS_AT_MOST if in_engine else MOST
    descent = plan(found, 1, Squared(), noise, ridge=ridge + DRAW * noise, most=rounds)
    paid: dict[str, Any] = {"allowance": allowance, "amount": LEFT * allowance.total, "rng": rng}
    if in_engine:
        away = Lattice(rows, found.design).moved(lattice_centre(found.centre), skip=1)
        radius, label = lattice_radius(found.radius), target_places(away.entries[-1])
        sums = gradient(away, radius, found.constant, label, 1, Squared(), descent.bound)
        weights, event = descent.follow(sums, found.design.width, 1, found.rows, **paid)
    else:
        moved = found.moved(rows)
        made = np.column_stack([np.full(len(rows), found.constant), within(moved[:, :-1], found.radius)])
        targets = np.rint(moved[:, -1] * STEPS).astype(np.int64)
        weights, event = descent(made, targets, 1, found.rows, **paid)
    middle = found.centre.copy()
    middle[-1] += weights[0, 0] * found.constant * found.unit
    return weights[1:, 0], middle, event


def solve(products: Floats, targets: Floats, sd: float, ridge: float) -> Floats:
    """Coefficients from noisy moments: eigenvalues below 0 are noise, and each is raised by the size of the noise.

    >>> import numpy as np
    >>> solve(np.array([[2.0, 0.0], [0.0, -1.0]]), np.array([4.0, 0.0]), 0.0, 0.0)
    array([2., 0.])
    """
    import numpy as np

    values, columns = np.linalg.eigh(products)
    raised = np.maximum(values, 0.0) + DOUBT * sd * math.sqrt(len(values)) + ridge
    parts = columns.T @ targets
    return columns @ np.divide(parts, raised, out=np.zeros_like(parts), where=raised > 1e-12)


def ends(column: Column) -> tuple[float, float]:
    """The declared range of a target that is a number."""
    if not isinstance(column, Boolean | Integer | Real):
        raise UnsupportedError(f"a regression is of numbers, got a target of type {column.name}")
    low, high = column.codes
    return float(low * column.step), float(high * column.step)
