"""The projection mechanism: noisy answers, moved to the nearest answers that some data could give.

Theorem (Nikolov, Talwar, Zhang 2013).  Let W have integer entries, y = W x, and let ytilde = y + w keep the budget
(`noise_for`).  With n public, y lies in n K, where K is the hull of the columns of W.  The point yhat of n K that is
nearest to ytilde, to within a gap, costs nothing, and for any centre c with ||w_j - c||_2 <= radius

    ||yhat - y||_2^2 <= <w, yhat - y> + gap,     ||yhat - y||_2 <= ||w||_2 + sqrt(gap),
    E ||yhat - y||_2^2 <= n sigma radius sqrt(2 ln N) + gap

for noise that is sub-Gaussian with parameter sigma: far less than k sigma^2 where k is large and n is not.
Where n is private, x has at most N0 rows but with probability beta / 4, for a noisy N0 that a twentieth of the budget
pays for, and y is in N0 times the hull of the columns and 0.  Proof: docs/theory/projection.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import discreet.release.errors as error_forms
from discreet.errors import UnsupportedError, require
from discreet.hazmat.entropy import RandomSource
from discreet.hazmat.integers import integers
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.privacy.event import ComposedEvent, Event
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.neighbours import AddRemove, Neighbours, Replace
from discreet.privacy.number import exact
from discreet.queries.marginals import marginals
from discreet.queries.workload import Workload, swaps
from discreet.release.counted import counted
from discreet.release.models.dense import DenseModel
from discreet.release.noise import Noise, noise_for, relation_for, variance
from discreet.release.online import parts
from discreet.release.projection_hull import ORIGIN, hull
from discreet.release.projection_nearest import Nearest, nearest
from discreet.release.release import Release

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

LISTED = 1 << 26  # cells of an estimate that is written out
PRECISION = 1e-4  # the gap, relative to the noise: what stopping early may add to the squared error


@dataclass(frozen=True, slots=True, repr=False)
class LeastSquaresProjection:
    """Noise on every answer, then the nearest answers of a dataset of n rows; best when queries outnumber rows.

    With a public `n` one row may be replaced.  Without it a row may be added or removed and the number is measured.

    >>> from discreet.data.columns import Boolean
    >>> from discreet.data.domain import Domain
    >>> from discreet.data.histogram import Histogram
    >>> from discreet.privacy.guarantee import ZCDP
    >>> domain = Domain({f"b{i}": Boolean() for i in range(6)})
    >>> nearest = LeastSquaresProjection(marginals(domain, 3), n=100, budget=ZCDP(0.1))
    >>> release = nearest(Histogram.random(domain, n=100, seed=1))
    >>> len(release), round(release.histogram.n), round(nearest.mean_squared_error())
    (160, 100, 114)
    """

    workload: Workload
    budget: Guarantee = field(kw_only=True)
    n: int | None = field(default=None, kw_only=True)
    beta: float = field(default=0.05, kw_only=True)
    steps: int = field(default=2000, kw_only=True)

    def __post_init__(self) -> None:
        if not self.workload.integral:
            raise UnsupportedError("a projection needs queries with integer entries; scale the answers afterwards")
        require(0 < self.beta < 1, "0 < beta < 1", beta=self.beta)
        require(isinstance(self.steps, int) and self.steps >= 1, "an integer steps >= 1", steps=self.steps)
        if swaps(self.neighbours):
            require(self.n is not None, "n, which is public when rows are replaced", n=self.n)
        self.noise  # noqa: B018 - refuse a bad budget now

    @property
    def neighbours(self) -> type[Neighbours]:
        """Whose presence or value is hidden."""
        return relation_for(self.budget, n=self.n)

    @property
    def measures(self) -> Laplace | None:
        """What measures the number of rows, where it is private."""
        return None if swaps(self.neighbours) else Laplace(epsilon=parts(self.budget)[0], sensitivity=1)

    @property
    def noise(self) -> Noise:
        """The noise of every answer."""
        budget = self.budget if swaps(self.neighbours) else parts(self.budget)[1]
        absolute, square = (int(move(self.neighbours)) for move in (self.workload.absolute, self.workload.squared))
        return noise_for(budget, absolute=max(1, absolute), square=max(1, square), size=len(self.workload))

    @property
    def gap(self) -> float:
        """What the certificate must reach: a small part of the squared noise of all answers."""
        return PRECISION * len(self.workload) * variance(self.noise)

    def __call__(self, data: object, *, rng: RandomSource | None = None) -> Release:
        """The nearest answers, and a histogram that gives them where the universe can be listed."""
        import numpy as np

        held = counted(data, self.workload.domain)
        bound = self._rows(held, rng=rng)
        noisy = np.asarray(self.noise(integers(self.workload.answer(held)), rng=rng), dtype=np.float64)
        found = self.project(noisy, rows=bound)
        model = self._model(found, bound) if self.workload.domain.size <= LISTED else None
        errors = Projected(self, found.gap) if swaps(self.neighbours) else self.errors()
        return Release(
            workload=self.workload, answers=found.point, guarantee=self.privacy(), errors=errors, model=model
        )

    def project(self, noisy: npt.NDArray[np.float64], *, rows: float) -> Nearest:
        """The nearest point of the hull, times `rows`: post-processing."""
        oracle, column = hull(self.workload, rows, origin=not swaps(self.neighbours))
        return nearest(noisy, oracle, column, gap=self.gap, steps=self.steps)

    def _rows(self, held: object, *, rng: RandomSource | None) -> int:
        if self.measures is None:
            assert self.n is not None
            return self.n
        count = int(marginals(self.workload.domain, 0).answer(held)[0])  # type: ignore[arg-type]
        return max(1, int(self.measures(count, rng=rng)) + self.measures.accuracy(self.beta / 4))

    def _model(self, found: Nearest, rows: float) -> DenseModel:
        import numpy as np

        cells = np.zeros(self.workload.domain.size)
        for place, weight in zip(found.places, found.weights, strict=True):
            if place != ORIGIN:
                cells[place] += rows * weight
        return DenseModel(self.workload.domain, cells)

    @property
    def radius(self) -> float:
        """A ball around some centre holds all columns: their largest distance over sqrt 2 (Jung), or their length."""
        return math.sqrt(min(self.workload.squared(Replace) / 2, self.workload.squared(AddRemove)))

    def mean_squared_error(self) -> float:
        """A bound on the expected squared error, averaged over the queries: the theorem's, or that of the noise."""
        k, raw = len(self.workload), variance(self.noise)
        if self.n is None or not isinstance(self.noise, Gaussian):
            return raw
        width = math.sqrt(2 * math.log(self.workload.domain.size))
        sigma = float(exact(self.noise.sigma))
        return min(raw, (self.n * sigma * self.radius * width + self.gap) / k)

    def errors(self) -> error_forms.Errors:
        """The theorem's tail bound on the length of the error, which bounds each entry."""
        if not swaps(self.neighbours):
            return error_forms.Unproven("the error depends on the number of rows, which is private")
        return Projected(self, self.gap)

    def accuracy(self, beta: float = 0.05) -> float:
        """alpha: no answer is off by more, but with probability beta."""
        return self.errors().accuracy(beta)

    def privacy(self) -> Guarantee:
        """The budget, for the relation served."""
        return replace(self.budget, neighbours=self.neighbours)  # type: ignore[type-var]

    def event(self) -> Event:
        """What ran: the noise, and the measurement of n where there is one."""
        if self.measures is None:
            return self.noise.event()
        return ComposedEvent(events=(self.measures.event(), self.noise.event()))

    def __repr__(self) -> str:
        return f"LeastSquaresProjection({len(self.workload)} queries, {self.budget!r})"


@dataclass(frozen=True, slots=True)
class Projected:
    """||yhat - y||_2 of a projection on n times the hull with this gap, but with probability beta."""

    mechanism: LeastSquaresProjection
    gap: float

    def accuracy(self, beta: float) -> float:
        """The least of the bounds by the length of the noise and by its product with the error."""
        require(0 < beta < 1, "0 < beta < 1", beta=beta)
        mechanism, noise = self.mechanism, self.mechanism.noise
        k, n, cells = len(mechanism.workload), mechanism.n, mechanism.workload.domain.size
        assert n is not None
        largest = noise.accuracy(beta, size=k)
        length = math.sqrt(k) * largest  # of the noise
        product = n * largest * float(mechanism.workload.absolute(Replace))  # of the noise with the error
        if isinstance(noise, Gaussian):
            sigma, log = float(exact(noise.sigma)), math.log(1 / beta)
            width = math.sqrt(2 * math.log(2 * cells / beta)) + math.sqrt(2 * math.log(2 / beta))
            length = min(length, sigma * math.sqrt(k + 2 * math.sqrt(k * log) + 2 * log))
            product = min(product, n * sigma * mechanism.radius * width)
        return min(length + math.sqrt(self.gap), math.sqrt(product + self.gap))

    def each(self, beta: float) -> npt.NDArray[np.float64]:
        """The same for each."""
        import numpy as np

        return np.full(len(self.mechanism.workload), self.accuracy(beta))
