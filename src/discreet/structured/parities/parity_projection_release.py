"""`ParityProjection` as a release mechanism: from a workload of parities to a release of counts.

The theorem is that of `parity_projection`; proof: docs/theory/parity_projection.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from discreet.errors import UnsupportedError
from discreet.hazmat.entropy import RandomSource
from discreet.privacy.event import Event
from discreet.privacy.guarantee import Guarantee
from discreet.queries.products import Products
from discreet.queries.workload import Workload
from discreet.release.counted import counted
from discreet.release.release import Release
from discreet.structured.parities.parity_projection import ParityProjection


@dataclass(frozen=True, slots=True, repr=False)
class ProjectedParities:
    """Release `parities(domain, t)` for an even t: noise, then the nearest parities that rows can have.

    Without `n` one row may be added or removed, and the number of rows is measured; with a public `n` one row may be
    replaced.

    >>> from discreet.data.histogram import Histogram
    >>> from discreet.privacy.guarantee import ZCDP
    >>> from discreet.queries.products import parities
    >>> workload = parities(6, 2)
    >>> release = ProjectedParities(workload, budget=ZCDP(0.1), n=500)(Histogram.random(workload.domain, n=500, seed=1))
    >>> release.answers.shape, release.privacy()
    ((15,), ZCDP(rho=0.1))
    """

    workload: Workload
    budget: Guarantee = field(kw_only=True)
    n: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        self.projection  # noqa: B018 - refuse a bad budget now

    @property
    def projection(self) -> ParityProjection:
        """What is run."""
        asked = self.workload
        if not isinstance(asked, Products) or asked.kind != "parity" or asked.at_most or asked.k < 2 or asked.k % 2:
            raise UnsupportedError("it releases the parities of all sets of t bits, t even, only")
        return ParityProjection(d=len(asked.domain), t=asked.k, n=self.n, budget=self.budget)

    def __call__(self, data: object, *, rng: RandomSource | None = None) -> Release:
        """Projected parities in counts, of a histogram, of encoded rows or of a frame."""
        held = counted(data, self.workload.domain, neighbours=self.projection.neighbours)
        return self.projection(held, rng=rng).release(self.workload)

    def privacy(self) -> Guarantee:
        """The budget, for the relation served."""
        return self.projection.privacy()

    def accuracy(self, beta: float = 0.05) -> float:
        """A bound on the largest error in counts, whatever the data; the errors are mostly far smaller."""
        if self.n is None:
            raise UnsupportedError("the bound depends on the number of rows, which is private")
        return self.n * self.projection.accuracy(beta) + self.projection.rounding(beta)

    def event(self) -> Event:
        """What runs, for the accountant."""
        return self.projection.event()

    def __repr__(self) -> str:
        return f"ProjectedParities({len(self.workload)} queries, {self.budget!r})"
