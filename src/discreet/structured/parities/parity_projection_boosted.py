"""Every pair of attributes well, not only most: boosted projections.

Theorem (Dwork, Rothblum, Vadhan 2010; the notes).  `BoostedQueries` turns a base that is good for most pairs of any
distribution into answers that are good for all.  The base here measures the m sampled pairs alone, with noise for

    Replace   ||y - y'||^2 <= 4 min(m, floor(d^2 / 4)),

and projects on the elliptope with the other pairs free, which answers them too.  Its synopsis is a d x d matrix.
Proof: docs/theory/parity_projection.md.  For the worst answer optimal marginals are usually better; this is the
construction of the theory.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import discreet.release.errors as error_forms
from discreet.errors import DomainError, UnsupportedError, require
from discreet.hazmat.entropy import RandomSource
from discreet.privacy.event import Event
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.neighbours import Neighbours, Replace
from discreet.privacy.number import Number
from discreet.queries.products import Products, parities
from discreet.queries.workload import Rows, Workload
from discreet.release.boosted import BoostedQueries
from discreet.release.noise import Noise, noise_for, relation_for
from discreet.release.release import Release
from discreet.structured.conjunctions.conjunction_rows import boolean_rows
from discreet.structured.parities.parity_projection_lift import gram, nearest_moments


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class SampledParities:
    """Measure some pairs of `parities(d, 2)` and answer all of them from the nearest correlation matrix."""

    sample: Workload
    budget: Guarantee
    n: int

    def __post_init__(self) -> None:
        whole = self.sample.base if isinstance(self.sample, Rows) else self.sample
        pairs = isinstance(whole, Products) and whole.kind == "parity" and whole.k == 2 and not whole.at_most
        require(pairs, "pairs of parities(d, 2)", sample=type(self.sample).__name__)
        if self.neighbours is not Replace:
            raise UnsupportedError("sampled parities need a public n, and rows that are replaced")
        self.noise  # noqa: B018 - refuse a bad budget now

    @property
    def workload(self) -> Workload:
        """All pairs."""
        return self.sample.base if isinstance(self.sample, Rows) else self.sample

    @property
    def places(self) -> tuple[int, ...]:
        """The pairs that are measured."""
        return self.sample.indices if isinstance(self.sample, Rows) else tuple(range(len(self.sample)))

    @property
    def neighbours(self) -> type[Neighbours]:
        """Rows are replaced, and n is public."""
        return relation_for(self.budget, n=self.n)

    @property
    def noise(self) -> Noise:
        """The noise of each measured pair."""
        d, measured = len(self.workload.domain), len(set(self.places))
        moved = min(measured, d * d // 4)
        return noise_for(self.budget, absolute=2 * moved, square=4 * moved, size=measured)

    def __call__(self, data: object, *, rng: RandomSource | None = None) -> Release:
        """All parities, in counts."""
        import numpy as np

        d, places = len(self.workload.domain), sorted(set(self.places))
        rows = boolean_rows(data, d=d)
        if len(rows) != self.n:
            raise DomainError("the data does not have the n rows that were declared public")
        true = gram(rows.astype(np.int8) * np.int8(2) - np.int8(1))[np.triu_indices(d, 1)]
        noisy, weights = np.zeros(len(true)), np.zeros(len(true))
        noisy[places] = np.asarray(self.noise(true[places], rng=rng), dtype=np.float64) / self.n
        weights[places] = 1.0
        answers = self.n * nearest_moments(noisy, d=d, t=2, weights=weights, tolerance=1e-5)
        return Release(workload=self.workload, answers=answers, guarantee=self.privacy(), errors=self.errors())

    def errors(self) -> error_forms.Errors:
        """Nothing is proven of single answers."""
        return error_forms.Unproven("projection bounds the sum of squares, not single answers")

    def privacy(self) -> Guarantee:
        """The budget, for replaced rows."""
        return self.budget.under(self.neighbours)

    def event(self) -> Event:
        """What ran, for the accountant."""
        return self.noise.event()


def boosted_parities(
    d: int, *, n: int, budget: Guarantee, sample: int, error: int, advantage: Number = Fraction(1, 4)
) -> BoostedQueries:
    """All pairs of d attributes by boosting projections of `sample` pairs each.

    `error`, in counts, is what one projection is trusted to keep within on a share of 1/2 + `advantage` of the pairs:
    `error_from_mean` gives it from a mean error, and `sample_for` how many pairs make it true of pairs not sampled.

    >>> from discreet.data.histogram import Histogram
    >>> from discreet.privacy.guarantee import ZCDP
    >>> boosted = boosted_parities(6, n=100_000, budget=ZCDP(1), sample=15, error=2_000)
    >>> release = boosted(Histogram.random(boosted.workload.domain, n=100_000, seed=1))
    >>> len(release), boosted.rounds, boosted.accuracy()
    (15, 19, 2390.0)
    """
    return BoostedQueries(
        lambda queries, share: SampledParities(sample=queries, budget=share, n=n),
        parities(d, 2),
        budget=budget,
        n=n,
        sample=sample,
        error=error,
        advantage=advantage,
    )
