"""The mechanisms of `discreet.release`: two columns of a bit each, and a row that is there or not.

With a public n a row is replaced.  What is seen is every answer.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from discreet.curator.audits.case import Case, Cases, Seen, Subject
from discreet.data.columns import Boolean
from discreet.data.domain import Domain
from discreet.data.histogram import Histogram
from discreet.hazmat.entropy import RandomSource
from discreet.privacy.guarantee import Guarantee, PureDP
from discreet.queries.marginals import Marginals, marginals
from discreet.queries.workload import Workload
from discreet.release.boosted import BoostedQueries
from discreet.release.factorization import Factorization
from discreet.release.independent import IndependentNoise
from discreet.release.mwem import MWEM
from discreet.release.online import PrivateMultiplicativeWeights
from discreet.release.online_passes import OfflineWeights
from discreet.release.projection import LeastSquaresProjection
from discreet.release.small_database import SmallDatabase

BITS = Domain({"a": Boolean(), "b": Boolean()})
ROWS = 40  # where n is public
ADDED = ((0, 0, 0, 0), (1, 0, 0, 0))
REPLACED = ((ROWS, 0, 0, 0), (ROWS - 1, 0, 0, 1))
SMALL = ((2, 0, 0, 0), (1, 0, 0, 1))


@functools.cache
def columns() -> Marginals:
    """Both columns."""
    return marginals(BITS, 1)


def answers(mechanism: Any, domain: Domain) -> Seen:  # noqa: ANN401 - any release mechanism
    """All answers of a release on a histogram of so many rows a cell."""

    def look(counts: tuple[int, ...], rng: RandomSource | None) -> object:
        found = mechanism(Histogram(domain, list(counts)), rng=rng)
        return getattr(found, "release", found).answers.tolist()  # some have more to them

    return Seen(look, mechanism.privacy())


def released(make: Callable[[Guarantee], Any], inputs: tuple[Any, Any] = ADDED, share: float = 0.0) -> Cases:
    """A release of both columns under pure DP."""

    def cases(epsilon: float) -> Iterator[Case]:
        yield Case(answers(make(PureDP(epsilon)), BITS), inputs, share, slow=True)

    return cases


def boosted(budget: Guarantee) -> BoostedQueries:
    """Boosting of the answers that multiplicative weights give to two of the queries."""

    def base(sample: Workload, paid: Guarantee) -> MWEM:
        return MWEM(sample, budget=paid, rounds=1, n=ROWS)

    return BoostedQueries(base, columns(), budget=budget, n=ROWS, sample=2, error=5, advantage=0.4)


def online(epsilon: float) -> Iterator[Case]:
    """Two questions in a session."""
    weights = PrivateMultiplicativeWeights(BITS, budget=PureDP(epsilon), queries=2, n=ROWS)

    def look(counts: tuple[int, ...], rng: RandomSource | None) -> object:
        session = weights.open(Histogram(BITS, list(counts)), rng=rng)
        return [session.ask(columns()[place]) for place in (0, 2)]

    yield Case(Seen(look, weights.privacy()), REPLACED, slow=True)


def _subject(name: str, cases: Cases, twin: float, **more: Any) -> Subject:  # noqa: ANN401 - counts and names
    return Subject(name=name, room="release", cases=cases, twin=twin, replays=1, **more)


SUBJECTS = (
    _subject("IndependentNoise", released(lambda b: IndependentNoise(columns(), budget=b), share=0.3), 3, slow=4000),
    _subject("Factorization", released(lambda b: Factorization(columns(), budget=b), share=0.3), 3, slow=4000),
    _subject("MWEM", released(lambda b: MWEM(columns(), budget=b, rounds=2)), 10),
    _subject("LeastSquaresProjection", released(lambda b: LeastSquaresProjection(columns(), budget=b)), 10),
    _subject("SmallDatabase", released(lambda b: SmallDatabase(columns(), budget=b, n=2, rows=2), SMALL), 20),
    _subject("OfflineWeights", released(lambda b: OfflineWeights(columns(), budget=b, n=ROWS), REPLACED), 100),
    _subject("BoostedQueries", released(boosted, REPLACED), 100, slow=200),
    _subject("PrivateMultiplicativeWeights", online, 100, covers=("OnlineSession",)),
)
