"""A release: private answers to a whole workload, with what they cost and how wrong they may be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.data.histogram import Histogram
from discreet.errors import UnsupportedError
from discreet.privacy.guarantee import Guarantee
from discreet.queries.workload import Rows, Workload, same_domain
from discreet.release.errors import Errors

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.release.models.base import Model


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Release:
    """Answers in counts, in the order of the workload.  Everything in it is private output and may be published.

    `model` is an estimate of the whole distribution where the mechanism made one.
    """

    workload: Workload
    answers: npt.NDArray[np.float64]
    guarantee: Guarantee
    errors: Errors
    model: Model | None = None

    def answer(self, query: Workload) -> npt.NDArray[np.float64]:
        """Answers to other queries of the same domain: those of the workload itself, or any where there is a model."""
        same_domain(self.workload.domain, query.domain)
        if query is self.workload:
            return self.answers
        if isinstance(query, Rows) and query.base is self.workload:
            return self.answers[list(query.indices)]
        if self.model is None:
            raise UnsupportedError("this release answers its own workload only; it keeps no model of the data")
        return query.answer(self.model)

    @property
    def histogram(self) -> Histogram:
        """The estimated histogram, where there is a model whose universe can be listed."""
        if self.model is None:
            raise UnsupportedError("this release has answers but no histogram")
        return self.model.histogram()

    def privacy(self) -> Guarantee:
        """What was spent."""
        return self.guarantee

    def accuracy(self, beta: float = 0.05) -> float:
        """alpha such that no answer is off by more than alpha, but with probability beta, over the noise."""
        return self.errors.accuracy(beta)

    def __len__(self) -> int:
        return len(self.answers)

    def __repr__(self) -> str:
        return f"Release(answers={len(self.answers)}, {self.guarantee!r})"
