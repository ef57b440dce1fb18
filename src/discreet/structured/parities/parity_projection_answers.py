"""Released parities: fractions, with what is promised of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from numbers import Integral
from typing import TYPE_CHECKING

from discreet.errors import require
from discreet.privacy.guarantee import Guarantee
from discreet.queries.products import Products, parities
from discreet.queries.workload import Workload
from discreet.release.errors import Bounded
from discreet.release.release import Release
from discreet.structured.parities.parity_projection_lift import as_matrix

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.structured.parities.correlation import Matrix
    from discreet.structured.parities.parity_projection import ParityProjection


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class ParityAnswers:
    """Released parities as fractions, sets of attributes in lexicographic order: for t = 2 the pairs i < j by row.

    >>> import discreet as dc
    >>> import numpy as np
    >>> from discreet.structured import ParityProjection
    >>> signs = np.where(np.arange(4000).reshape(1000, 4) % 3, 1, -1)
    >>> found = ParityProjection(d=4, n=1000, budget=dc.ZCDP(0.5))(signs)
    >>> len(found.answers), found.n
    (6, 1000)
    """

    mechanism: ParityProjection
    answers: npt.NDArray[np.float64]
    n: int

    @property
    def counts(self) -> npt.NDArray[np.float64]:
        """The sums over rows: n times the answers, where n is public or as measured."""
        return self.answers * self.n

    @property
    def matrix(self) -> Matrix:
        """The answers for pairs as a symmetric matrix with diagonal 1."""
        require(self.mechanism.t == 2, "pairs of attributes (t = 2)", t=self.mechanism.t)
        return as_matrix(self.answers, self.mechanism.d)

    def answer(self, *attributes: int) -> float:
        """The parity of one set of t attributes, by their numbers from 0."""
        d, t = self.mechanism.d, self.mechanism.t
        chosen = sorted(attributes)
        fits = len(set(chosen)) == t and all(isinstance(i, Integral) and 0 <= i < d for i in chosen)
        require(fits, f"{t} distinct attributes below {d}", attributes=attributes)
        place, before = 0, -1
        for position, attribute in enumerate(chosen):
            left = t - position
            place += math.comb(d - before - 1, left) - math.comb(d - attribute, left)
            before = attribute
        return float(self.answers[place])

    def privacy(self) -> Guarantee:
        """What was spent."""
        return self.mechanism.privacy()

    def accuracy(self, beta: float = 0.05) -> float:
        """A bound on the largest error of all fractions, but with probability beta."""
        return self._sized(beta).accuracy(beta)

    def rms(self, beta: float = 0.05) -> float:
        """A bound on the root mean squared error of the fractions, but with probability beta."""
        return self._sized(beta).rms(beta)

    def _sized(self, beta: float) -> ParityProjection:
        """The mechanism for as few rows as were measured; its bounds fall with n."""
        require(0 < beta < 1, "0 < beta < 1", beta=beta)
        least = max(1, math.floor(self.n - self.mechanism.rounding(beta)))
        private = self.mechanism.multiplier > 0  # the guarantee names the relation, which a given n would change
        return replace(self.mechanism, n=least, budget=self.privacy()) if private else self.mechanism

    def release(self, workload: Workload | None = None) -> Release:
        """The counts as the release of `parities(d, t)`, or of one over your own two-valued columns; t is even.

        (For odd t the signs differ: here True is 1, in a workload it is -1.)
        """
        d, t = self.mechanism.d, self.mechanism.t
        asked = parities(d, t) if workload is None else workload
        fits = isinstance(asked, Products) and asked.kind == "parity" and not asked.at_most and asked.k == t
        require(fits and len(asked.domain) == d and t % 2 == 0, f"parities of {t} of {d} bits, t even", t=t)
        worst = self.n * self.accuracy(0.05) + self.mechanism.rounding(0.05)
        return Release(
            workload=asked, answers=self.counts, guarantee=self.privacy(), errors=Bounded(worst, 0.05, len(self))
        )

    def __len__(self) -> int:
        return len(self.answers)

    def __repr__(self) -> str:
        return f"ParityAnswers(answers={len(self.answers)}, {self.privacy()!r})"
