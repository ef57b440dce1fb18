"""The counts of every column by itself: the first thing a synthesizer measures.

Weights favour columns with many values: for a least sum of absolute errors the noise of a column with k values falls as
k^(-1/3), which is what the least sum of squares gives for tables weighted by k^(1/6).
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.data.domain import Domain
from discreet.hazmat.entropy import RandomSource
from discreet.privacy.event import Event
from discreet.privacy.guarantee import Guarantee, PureDP
from discreet.queries.marginals import Marginals, marginals
from discreet.release.independent import IndependentNoise
from discreet.release.models.estimate import Measurement
from discreet.structured.marginals.marginal_release import MarginalRelease

if TYPE_CHECKING:
    from discreet.queries.workload import Countable


def mechanism(domain: Domain, budget: Guarantee, *, n: int | None) -> IndependentNoise | MarginalRelease:
    """Noise on all columns: Laplace for a pure budget, else the optimal Gaussian release."""
    if isinstance(budget, PureDP):
        return IndependentNoise(marginals(domain, 1), budget=budget, n=n)
    weights = [Fraction(round(1000 * declared.size ** (1 / 6)), 1000) for declared in domain.values()]
    return MarginalRelease(marginals(domain, 1, weights=weights), budget=budget, n=n)


def measured(
    found: IndependentNoise | MarginalRelease, data: Countable, *, rng: RandomSource | None = None
) -> list[Measurement]:
    """A noisy table for each column, without bias."""
    release = found(data, rng=rng)
    unbiased = getattr(release.errors, "unbiased", release.answers)
    workload = found.workload
    assert isinstance(workload, Marginals)
    spread = workload.tables(found.variances() ** 0.5)
    made = []
    for (names, table), weight in zip(workload.tables(unbiased).items(), workload.weights, strict=True):
        sd = float(spread[names].max()) / float(weight)
        made.append(Measurement(names, table / float(weight), sd=sd))
    return made


def event(found: IndependentNoise | MarginalRelease) -> Event:
    """What ran."""
    return found.event()
