"""Independent noise on every query: the baseline that other mechanisms must beat.

Theorem.  Let W have integer entries.  Releasing W x + Z, with independent noise calibrated to the sensitivity of the
whole vector (`noise_for`), keeps the budget, and the largest of m errors is the largest of m draws.
Proof: docs/theory/release.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import discreet.release.errors as error_forms
from discreet.errors import UnsupportedError
from discreet.hazmat.entropy import RandomSource
from discreet.hazmat.integers import integers
from discreet.privacy.event import Event
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.neighbours import Neighbours
from discreet.queries.workload import Workload, a_workload
from discreet.release.counted import counted
from discreet.release.noise import Noise, noise_for, relation_for, variance
from discreet.release.release import Release

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True, slots=True, repr=False)
class IndependentNoise:
    """Add noise to each answer of a workload.

    Without `n` one row may be added or removed; with a public `n` one row may be replaced.

    >>> from discreet.data.columns import Boolean
    >>> from discreet.data.domain import Domain
    >>> from discreet.data.histogram import Histogram
    >>> from discreet.privacy.guarantee import PureDP
    >>> from discreet.queries.marginals import marginals
    >>> domain = Domain({"icu": Boolean(), "smokes": Boolean()})
    >>> noisy = IndependentNoise(marginals(domain, 1), budget=PureDP(1.0))
    >>> release = noisy(Histogram.random(domain, n=500, seed=1))
    >>> release.answers.shape, release.privacy()
    ((4,), PureDP(epsilon=1.0))
    """

    workload: Workload
    budget: Guarantee = field(kw_only=True)
    n: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if not a_workload(self.workload).integral:
            raise UnsupportedError("independent noise needs queries with integer entries; scale the answers afterwards")
        self.noise  # noqa: B018 - refuse a bad budget now

    @property
    def neighbours(self) -> type[Neighbours]:
        """Whose presence or value is hidden."""
        return relation_for(self.budget, n=self.n)

    @property
    def noise(self) -> Noise:
        """The noise of every answer."""
        absolute, square = self.workload.absolute(self.neighbours), self.workload.squared(self.neighbours)
        assert absolute.denominator == square.denominator == 1
        absolute, square = max(1, int(absolute)), max(1, int(square))  # a domain of one cell cannot move at all
        return noise_for(self.budget, absolute=absolute, square=square, size=len(self.workload))

    def __call__(self, data: object, *, rng: RandomSource | None = None) -> Release:
        """Noisy answers on a histogram, on encoded rows or on a frame."""
        import numpy as np

        true = integers(self.workload.answer(counted(data, self.workload.domain, neighbours=self.neighbours)))
        answers = np.asarray(self.noise(true, rng=rng), dtype=np.float64)
        return Release(workload=self.workload, answers=answers, guarantee=self.privacy(), errors=self.errors())

    def variances(self) -> npt.NDArray[np.float64]:
        """The variance of each answer."""
        import numpy as np

        return np.full(len(self.workload), variance(self.noise))

    def variance_kinds(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
        """The one variance, and how many answers have it: a billion answers are not written down to be forecast."""
        import numpy as np

        return np.array([variance(self.noise)]), np.array([len(self.workload)])

    def errors(self) -> error_forms.Errors:
        """The law of the errors: the noise."""
        return error_forms.Independent(self.noise, len(self.workload))

    def privacy(self) -> Guarantee:
        """The budget, for the relation served."""
        return self.budget.under(self.neighbours)

    def accuracy(self, beta: float = 0.05) -> float:
        """The exact quantile of the largest error of all."""
        return self.errors().accuracy(beta)

    def event(self) -> Event:
        """What ran, for the accountant."""
        return self.noise.event()

    def __repr__(self) -> str:
        return f"IndependentNoise({len(self.workload)} queries, {self.budget!r})"
