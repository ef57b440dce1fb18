"""The projection mechanism: noisy answers, moved to the nearest answers that some data could give.

Theorem (Nikolov, Talwar, Zhang 2013).  Let y = W x, and let ytilde = y + w be noisy answers that keep the budget:
those of `IndependentNoise`, or of another `base`.  With n public, y lies in n K, where K is the hull of the columns of
W.  The point yhat of n K that is nearest to ytilde, to within a gap, costs nothing, and for any centre c with
||w_j - c||_2 <= radius

    ||yhat - y||_2^2 <= <w, yhat - y> + gap,     ||yhat - y||_2^2 <= ||w||_2^2 + 2 gap,
    E ||yhat - y||_2^2 <= n sigma radius sqrt(2 ln N) + gap

for noise that is sub-Gaussian with parameter sigma: far less than k sigma^2 where k is large and n is not.
Where n is private, x has at most N0 rows but with probability beta / 4, for a noisy N0 that a twentieth of the budget
pays for, and y is in N0 times the hull of the columns and 0.  If x has more rows, its distance to that set adds to the
error: ||yhat - y||_2^2 <= ||w||_2^2 + 2 gap + (n - N0)_+^2 max ||w_j||_2^2.  Proof: docs/theory/projection.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import discreet.release.errors as error_forms
from discreet.errors import UnsupportedError, require
from discreet.hazmat.entropy import RandomSource
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.privacy.event import ComposedEvent, Event
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.neighbours import AddRemove, Neighbours, Replace
from discreet.privacy.number import chance, exact
from discreet.queries.marginals import marginals
from discreet.queries.workload import Workload, a_workload, swaps
from discreet.release.counted import counted
from discreet.release.feasible import listed
from discreet.release.independent import IndependentNoise
from discreet.release.models.dense import DenseModel
from discreet.release.noise import relation_for
from discreet.release.online import parts
from discreet.release.projection_hull import ORIGIN, _of_bits, hull
from discreet.release.projection_nearest import Nearest, nearest
from discreet.release.release import Release
from discreet.threads import threads_for

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    class Noisy(Protocol):
        """A release mechanism whose errors do not depend on the data."""

        def __call__(self, data: object, *, rng: RandomSource | None = None) -> Release: ...
        def variances(self) -> npt.NDArray[np.float64]: ...
        def privacy(self) -> Guarantee: ...
        def accuracy(self, beta: float = 0.05) -> float: ...
        def event(self) -> Event: ...

    class Base(Protocol):
        """Makes one for a workload."""

        def __call__(self, workload: Workload, *, budget: Guarantee, n: int | None) -> Noisy: ...


STOPPED = "with `steps` the search may end before its gap is small; a release states its error"
LISTED = 1 << 26  # cells of an estimate that is written out
PRECISION = 1e-3  # the gap, relative to the noise: what stopping early may add to the squared error


@dataclass(frozen=True, eq=False, repr=False)
class LeastSquaresProjection:
    """Noise on every answer, then the nearest answers of a dataset of n rows; best when queries outnumber rows.

    With a public `n` one row may be replaced.  Without it a row may be added or removed and the number is measured.
    `base` makes the noisy answers: a mechanism whose errors do not depend on the data, called as
    `base(workload, budget=, n=)`, such as `Factorization`.

    The search goes on until the gap is small, or as small as floating point allows; `steps` ends it earlier.  Then only
    a release knows its gap, and no error can be stated before.

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
    base: Base = field(default=IndependentNoise, kw_only=True)
    beta: float = field(default=0.05, kw_only=True)
    steps: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        a_workload(self.workload)
        chance(self.beta)
        if self.steps is not None:
            whole = isinstance(self.steps, int) and not isinstance(self.steps, bool)
            require(whole and self.steps >= 1, "an integer steps >= 1", steps=self.steps)
        if swaps(self.neighbours):
            require(self.n is not None, "n, which is public when rows are replaced", n=self.n)
        self._fits()
        allowed = self._allowed()
        promised = self.noisy.privacy()  # refuses a bad budget
        if promised.neighbours is not self.neighbours or not promised <= allowed:
            raise UnsupportedError(f"the base promises {promised!r}, which is not within its share, {allowed!r}")

    def _fits(self) -> None:
        """Refuse now what cannot run: a step scores every cell, those of bits by halves of their parities."""
        queries, cells = self.workload.shape
        halves = 8 * queries * math.isqrt(2 * cells) if _of_bits(self.workload) else 0
        listed(cells, each=24, beside=halves + 64 * queries, what="the projection")

    @property
    def neighbours(self) -> type[Neighbours]:
        """Whose presence or value is hidden."""
        return relation_for(self.budget, n=self.n)

    @property
    def measures(self) -> Laplace | None:
        """What measures the number of rows, where it is private."""
        return None if swaps(self.neighbours) else Laplace(epsilon=parts(self.budget)[0], sensitivity=1)

    def _allowed(self) -> Guarantee:
        rest = self.budget if swaps(self.neighbours) else parts(self.budget)[1]
        return rest.under(self.neighbours)

    @cached_property
    def noisy(self) -> Noisy:
        """What makes the noisy answers."""
        return self.base(self.workload, budget=self._allowed(), n=self.n if swaps(self.neighbours) else None)

    @cached_property
    def gap(self) -> float:
        """What the certificate must reach: a small part of the squared noise of all answers."""
        return PRECISION * float(self.noisy.variances().sum())

    def __call__(self, data: object, *, rng: RandomSource | None = None) -> Release:
        """The nearest answers, and a histogram that gives them where the universe can be listed."""
        import numpy as np

        held = counted(data, self.workload.domain, neighbours=self.neighbours)
        bound = self._rows(held, rng=rng)
        measured = self.noisy(held, rng=rng)
        noisy = np.asarray(measured.answers, dtype=np.float64)
        found = self.project(noisy, rows=bound)
        model = self._model(found, bound) if self.workload.domain.size <= LISTED else None
        theorem = Projected(self, found.gap) if swaps(self.neighbours) else None
        errors = MovedErrors(measured.errors, np.abs(found.point - noisy), theorem)
        return Release(
            workload=self.workload, answers=found.point, guarantee=self.privacy(), errors=errors, model=model
        )

    def project(self, noisy: npt.NDArray[np.float64], *, rows: float) -> Nearest:
        """The nearest point of the hull, times `rows`: post-processing."""
        oracle, column = hull(self.workload, rows, origin=not swaps(self.neighbours))
        with threads_for(math.prod(self.workload.shape)):
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

    @property
    def sigma(self) -> float | None:
        """The parameter of independent sub-Gaussian noise on every answer, where it is that."""
        noise = self.noisy.noise if isinstance(self.noisy, IndependentNoise) else None
        return float(exact(noise.sigma)) if isinstance(noise, Gaussian) else None

    def mean_squared_error(self) -> float:
        """A bound on the expected squared error, averaged over the queries: the theorem's, or that of the noise.

        It is for the gap asked for; `steps` might end the search before, so with them it is refused.
        """
        if self.steps is not None:
            raise UnsupportedError(STOPPED)
        k = len(self.workload)
        square = float(self.noisy.variances().sum()) + 2 * self.gap
        if self.n is None or self.sigma is None or not swaps(self.neighbours):
            return (square + self.beyond * float(self.workload.squared(AddRemove))) / k
        width = math.sqrt(2 * math.log(self.workload.domain.size))
        return min(square, self.n * self.sigma * self.radius * width + self.gap) / k

    @property
    def beyond(self) -> float:
        """At least E (n - N0)_+^2, by how far the rows may be more than the bound on them: p^(q + 1) / (1 - p)^2."""
        if self.measures is None:
            return 0.0
        decay = 1 / float(self.measures.scale)
        return math.exp(-decay * (self.measures.accuracy(self.beta / 4) + 1)) / math.expm1(-decay) ** 2

    def errors(self) -> error_forms.Errors:
        """The theorem's tail bound on the length of the error, which bounds each entry, for the gap asked for."""
        if not swaps(self.neighbours):
            return error_forms.Unproven("the error depends on the number of rows, which is private")
        if self.steps is not None:
            return error_forms.Unproven(STOPPED)
        return Projected(self, self.gap)

    def accuracy(self, beta: float = 0.05) -> float:
        """alpha: no answer is off by more, but with probability beta."""
        return self.errors().accuracy(beta)

    def privacy(self) -> Guarantee:
        """The budget, for the relation served."""
        return self.budget.under(self.neighbours)

    def event(self) -> Event:
        """What ran: the noise, and the measurement of n where there is one."""
        if self.measures is None:
            return self.noisy.event()
        return ComposedEvent(events=(self.measures.event(), self.noisy.event()))

    def __repr__(self) -> str:
        return f"LeastSquaresProjection({len(self.workload)} queries, {self.budget!r})"


@dataclass(frozen=True, slots=True, eq=False)
class MovedErrors:
    """What a release knows: each answer is off by no more than it was moved by and the noise that it had before.

    Where the theorem bounds the length of the error too, each of the two may fail with half of beta, and the lesser
    holds.  The first needs neither the number of rows nor the end of the search.
    """

    noise: error_forms.Errors
    moved: npt.NDArray[np.float64]
    theorem: Projected | None

    def accuracy(self, beta: float) -> float:
        """The lesser of the two bounds on all answers."""
        require(0 < beta < 1, "0 < beta < 1", beta=beta)
        if self.theorem is None:
            return float(self.moved.max()) + self.noise.accuracy(beta)
        return min(float(self.moved.max()) + self.noise.accuracy(beta / 2), self.theorem.accuracy(beta / 2))

    def each(self, beta: float) -> npt.NDArray[np.float64]:
        """The same for each answer alone."""
        import numpy as np

        require(0 < beta < 1, "0 < beta < 1", beta=beta)
        if self.theorem is None:
            return self.moved + self.noise.each(beta)
        return np.minimum(self.moved + self.noise.each(beta / 2), self.theorem.each(beta / 2))


@dataclass(frozen=True, slots=True)
class Projected:
    """||yhat - y||_2 of a projection on n times the hull with this gap, but with probability beta."""

    mechanism: LeastSquaresProjection
    gap: float

    def accuracy(self, beta: float) -> float:
        """The bound by the length of the noise, or by its product with the error.

        Which one is decided by the gap asked for: the one reached is random, and the lesser of two random bounds
        would fail twice as often.
        """
        require(0 < beta < 1, "0 < beta < 1", beta=beta)
        mechanism, sigma = self.mechanism, self.mechanism.sigma
        k, n, cells = len(mechanism.workload), mechanism.n, mechanism.workload.domain.size
        assert n is not None
        largest = mechanism.noisy.accuracy(beta)
        length = math.sqrt(k) * largest  # of the noise
        product = n * largest * float(mechanism.workload.absolute(Replace))  # of the noise with the error
        if sigma is not None:
            log = math.log(1 / beta)
            width = math.sqrt(2 * math.log(2 * cells / beta)) + math.sqrt(2 * math.log(2 / beta))
            length = min(length, sigma * math.sqrt(k + 2 * math.sqrt(k * log) + 2 * log))
            product = min(product, n * sigma * mechanism.radius * width)
        asked = mechanism.gap
        square = length**2 + 2 * self.gap if length**2 + 2 * asked <= product + asked else product + self.gap
        return math.sqrt(square)

    def each(self, beta: float) -> npt.NDArray[np.float64]:
        """The same for each."""
        import numpy as np

        return np.full(len(self.mechanism.workload), self.accuracy(beta))
