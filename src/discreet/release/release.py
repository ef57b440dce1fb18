"""A release: private answers to a whole workload, with what they cost and how wrong they may be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.data.histogram import Histogram
from discreet.errors import UnsupportedError
from discreet.privacy.guarantee import Guarantee
from discreet.queries.places import places_of
from discreet.queries.workload import Workload, same_domain
from discreet.release.errors import Adjusted, Errors

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import altair as alt
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    from discreet.hazmat.entropy import RandomSource
    from discreet.release.models.base import Model


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Release:
    """Answers in counts, in the order of the workload.  Everything in it is private output and may be published.

    `model` is an estimate of the whole distribution where the mechanism made one.

    >>> from discreet.data.columns import Boolean
    >>> from discreet.data.domain import Domain
    >>> from discreet.privacy.guarantee import PureDP
    >>> from discreet.queries.ordered import counts
    >>> from discreet.release.independent import IndependentNoise
    >>> domain = Domain({"icu": Boolean()})
    >>> release = IndependentNoise(counts(domain), budget=PureDP(1.0))(Histogram(domain, [70, 30]))
    >>> release.to_pandas(["icu"]).columns.tolist(), release.accuracy(0.05)
    (['icu', 'answer', 'low', 'high'], 4.0)
    """

    workload: Workload
    answers: npt.NDArray[np.float64]
    guarantee: Guarantee
    errors: Errors
    model: Model | None = None
    receipt: object | None = None  # of the ledger, where a curator paid

    def answer(self, query: Workload) -> npt.NDArray[np.float64]:
        """Answers to other queries of the same domain: those of the workload itself, or any where there is a model."""
        same_domain(self.workload.domain, query.domain)
        if query is self.workload:
            return self.answers
        places = places_of(self.workload, query)
        if places is not None:
            return self.answers[places]
        if self.model is None:
            raise UnsupportedError("this release answers its own workload only; it keeps no model of the data")
        return query.answer(self.model)

    @property
    def unbiased(self) -> npt.NDArray[np.float64]:
        """The answers before they were made non-negative, where the mechanism keeps both; elsewhere the answers."""
        return self.errors.unbiased if isinstance(self.errors, Adjusted) else self.answers

    @property
    def histogram(self) -> Histogram:
        """The estimated histogram, where there is a model whose universe can be listed."""
        if self.model is None:
            raise UnsupportedError("this release has answers but no histogram")
        return self.model.histogram()

    def synthetic(self, rows: int, *, rng: RandomSource | None = None) -> pd.DataFrame:
        """Made-up rows drawn from the model, with the values of the declaration: free, as often as one likes.

        A release of marginal tables without a model is given one, from the tables that say most.
        """
        from discreet.release.models.fitted import fitted
        from discreet.release.show import frame

        model = fitted(self) if self.model is None else self.model
        return frame(model.sample(rows, rng=rng))

    def privacy(self) -> Guarantee:
        """What was spent."""
        return self.guarantee

    def accuracy(self, beta: float = 0.05) -> float:
        """alpha such that no answer is off by more than alpha, but with probability beta, over the noise."""
        return self.errors.accuracy(beta)

    def to_pandas(self, columns: Sequence[str] | None = None, *, beta: float = 0.05) -> pd.DataFrame:
        """One row per query: what it counts, the answer, and the bar that holds the truth with probability 1 - beta.

        With `columns`, the marginal table of these, with their values in columns of their own.
        """
        from discreet.release.show import to_pandas

        return to_pandas(self, columns, beta=beta)

    def plot(
        self, columns: Sequence[str] | None = None, *, beta: float = 0.05
    ) -> alt.LayerChart | alt.FacetChart | alt.Chart:
        """Bars with error bars, or a line with a band where there are many answers."""
        from discreet.release.show import plot

        return plot(self, columns, beta=beta)

    def save(self, path: str | Path) -> Path:
        """Write answers, promise, errors and model to one file: Parquet and JSON in a ZIP archive."""
        from discreet.release.stored import save

        return save(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Release:
        """Read back what `save` wrote."""
        from discreet.release.stored import load

        return load(path)

    def __len__(self) -> int:
        return len(self.answers)

    def __repr__(self) -> str:
        return f"Release(answers={len(self.answers)}, {self.guarantee!r})"
