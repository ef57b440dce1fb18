"""Multiplicative weights over a known workload: passes until one of them changes nothing.

Theorem.  Test the queries in turn, round and round, until as many in a row as there are leave h as it is, or no further
update can be needed.  Privacy is that of the session; at most (queries) (updates + 1) tests are made; and with
probability 1 - beta the final h is within alpha of the truth on all queries at once, so that it can be
published, and rows drawn from it.  Proof: docs/theory/multiplicative_weights.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import discreet.release.errors as error_forms
from discreet.data.arrays import to_numpy
from discreet.errors import require
from discreet.hazmat.entropy import RandomSource
from discreet.privacy.event import Event
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.neighbours import Neighbours
from discreet.queries.marginals import Marginals
from discreet.queries.workload import Workload
from discreet.release.models.dense import DenseModel
from discreet.release.net import extremes
from discreet.release.online import PRIVATE, PrivateMultiplicativeWeights
from discreet.release.online_session import OnlineSession, span, spans
from discreet.release.online_settings import Settings
from discreet.release.release import Release

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

CHUNK = 1 << 16  # queries tested at a time


@dataclass(frozen=True, slots=True, repr=False)
class OfflineWeights:
    """Multiplicative weights for a workload, in passes; the release has a histogram.

    Serves Replace with a public `n`, and AddRemove without.  The bound is that of counting queries, times the span of
    the widest query.

    >>> from discreet.data.columns import Boolean
    >>> from discreet.data.domain import Domain
    >>> from discreet.data.histogram import Histogram
    >>> from discreet.privacy.guarantee import PureDP
    >>> from discreet.queries.marginals import marginals
    >>> domain = Domain({f"b{i}": Boolean() for i in range(6)})
    >>> offline = OfflineWeights(marginals(domain, 2), n=100_000, budget=PureDP(1.0))
    >>> release = offline(Histogram.random(domain, n=100_000, seed=1))
    >>> len(release), round(release.histogram.n), release.accuracy() == offline.accuracy()
    (60, 100000, True)
    """

    workload: Workload
    budget: Guarantee = field(kw_only=True)
    n: int | None = field(default=None, kw_only=True)
    beta: float = field(default=0.05, kw_only=True)

    def __post_init__(self) -> None:
        require(isinstance(self.workload, Workload), "a workload", workload=type(self.workload).__name__)
        self.online  # noqa: B018 - refuse a bad budget now

    @property
    def online(self) -> PrivateMultiplicativeWeights:
        """The same mechanism, online."""
        size = len(self.workload)
        return PrivateMultiplicativeWeights(
            self.workload.domain, budget=self.budget, queries=size, n=self.n, beta=self.beta
        )

    @property
    def neighbours(self) -> type[Neighbours]:
        """Whose presence or value is hidden."""
        return self.online.neighbours

    def settings(self, n: int | None = None) -> Settings:
        """The parameters for this number of rows, by default the declared one."""
        return self.online.settings(n, passes=True)

    def __call__(self, data: object, *, rng: RandomSource | None = None) -> Release:
        """Run the passes; the answers are those of the final histogram."""
        import numpy as np

        spans = self._spans()
        histogram = self.online.histogram(data)
        settings = self.settings(self.online.rows(histogram, rng=rng))
        session = OnlineSession(histogram, settings, queries=len(self.workload), relation=self.neighbours, rng=rng)
        true = self.workload.answer(histogram).astype(np.int64)
        self._passes(session, true, spans)
        answers = settings.n * to_numpy(session.distribution.means(self.workload)).astype(np.float64)
        return Release(
            workload=self.workload, answers=answers, guarantee=self.privacy(),
            errors=error_forms.Bounded(settings.alpha * int(spans.max()), self.beta, len(answers)),
            model=DenseModel(session.domain, session.histogram.counts.reshape(-1)),
        )  # fmt: skip

    def _passes(self, session: OnlineSession, true: npt.NDArray[np.int64], spans: npt.NDArray[np.int64]) -> None:
        import numpy as np

        size, quiet, place = len(true), 0, 0
        tested = np.maximum(spans, 1)
        model = true
        while quiet < size and session.updates_left:
            if quiet == 0:
                means = to_numpy(session.distribution.means(self.workload)).astype(np.float64)
                model = np.rint(session.settings.n * means).astype(np.int64)
            stop = min(size, place + size - quiet, place + CHUNK)
            differences = np.where(spans > 0, true - model, 0)[place:stop]
            found = session.pass_over(differences, tested[place:stop])
            if found is None:
                quiet, place = quiet + stop - place, stop % size
                continue
            at, sign, margin = found
            session.correct(self.workload[place + at], int(tested[place + at]), sign, margin)
            quiet, place = 0, (place + at + 1) % size

    def _spans(self) -> npt.NDArray[np.int64]:
        import numpy as np

        if isinstance(self.workload, Marginals) and not self.workload.weighted:
            return np.ones(len(self.workload), dtype=np.int64)
        known = extremes(self.workload) if self.workload.integral else None
        if known is not None:
            return spans(*known, self.neighbours)
        return np.array([span(query, self.neighbours) for query in self.workload], dtype=np.int64)

    def privacy(self) -> Guarantee:
        """The budget, for the relation served."""
        return self.online.privacy()

    def errors(self) -> error_forms.Errors:
        """One bound for all queries, at the beta it was built for; where n is private, a release states its own."""
        if self.online.measures is not None:
            return error_forms.Unproven(PRIVATE)
        return error_forms.Bounded(self.settings().alpha * int(self._spans().max()), self.beta, len(self.workload))

    def accuracy(self, beta: float = 0.05) -> float:
        """alpha: no answer is off by more, but with probability beta."""
        return self.errors().accuracy(beta)

    def event(self) -> Event:
        """What runs."""
        return self.settings().event() if self.online.measures is None else self.online.event()

    def __repr__(self) -> str:
        return f"OfflineWeights({len(self.workload)} queries, {self.budget!r})"
