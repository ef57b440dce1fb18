"""Classification by the class that makes a row most likely, with normal laws fitted to private moments.

    class = argmax of ln P(c) - ln |S_c| / 2 - (x - m_c)' S_c^-1 (x - m_c) / 2

with one covariance for all classes (linear discriminants), one for each (quadratic ones), or variances for each (naive
Bayes).  From pairs (X_i, Y_i) with Y_i in {0, 1} the likelihood is the product of [f_1(X_i) P(1)]^Y_i and
[f_0(X_i) P(0)]^(1 - Y_i).

Theorem.  `fit` keeps the budget for one row added or removed.  A row is in one class, and its four steps have fixed
shares: counts and sums of every class about the public centre; a radius; counts and sums again, about those means and
inside that radius; and second moments inside it.  Each covariance is the corrected noisy one plus what noise alone
could be, so that with much noise the nearest mean wins.  Proof: docs/theory/maximum_likelihood.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from discreet.data.domain import Domain
from discreet.data.records import Records
from discreet.errors import require
from discreet.hazmat.entropy import RandomSource
from discreet.learning.design import Design
from discreet.learning.estimator import PrivateClassifier
from discreet.learning.row_by_row import products, squares
from discreet.learning.vectors.clipped_moments import (
    Moments,
    mean_sensitivities,
    noisy_means,
    noisy_moments,
    noisy_radius,
    noisy_squares,
    sensitivities,
    square_sensitivity,
)
from discreet.learning.vectors.least_noise import least_noise
from discreet.learning.vectors.principal_components_fit import corrected
from discreet.privacy.event import ComposedEvent
from discreet.privacy.guarantee import Guarantee
from discreet.release.allowance import Allowance

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

KINDS = ("shared", "each", "diagonal")
ROUGH, RADIUS, MEANS = Fraction(1, 4), Fraction(1, 20), Fraction(7, 20)  # the second moments get the rest
REST = 1 - ROUGH - RADIUS - MEANS
CONSTANT = 1 << 8  # in front of the vectors of the second moments
STEP = 1e-3  # the least standard deviation of a direction, in half ranges: what rounding may hide


@dataclass(frozen=True, slots=True)
class Normal:
    """ln P(c) and the normal law of a class."""

    log_weight: float
    mean: Floats
    directions: Floats  # (width, width), one a row
    variances: Floats  # (width,)

    def scores(self, vectors: Floats) -> Floats:
        """ln of the weighted density, up to a constant."""
        import numpy as np

        along = products(vectors - self.mean, self.directions) / np.sqrt(self.variances)
        return self.log_weight - 0.5 * float(np.log(self.variances).sum()) - 0.5 * squares(along)


class MaximumLikelihoodClassifier(PrivateClassifier):
    """Linear or quadratic discriminants, or Gaussian naive Bayes, from private moments of each class.

    `covariance` is "shared" (linear discriminants), "each" (quadratic) or "diagonal" (naive Bayes).

    >>> import numpy as np
    >>> from discreet.data.columns import Integer
    >>> from discreet.hazmat.entropy import SeededRandom
    >>> from discreet.privacy.guarantee import PureDP
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 5000)
    >>> X = rng.normal(40 + 20 * y[:, None], 10, (5000, 2)).round()
    >>> domain = Domain({"a": Integer(0, 100), "b": Integer(0, 100)})
    >>> model = MaximumLikelihoodClassifier(budget=PureDP(1), domain=domain, classes=(0, 1))
    >>> bool(model.fit(X, y, rng=SeededRandom(1)).score(X, y) > 0.9)
    True
    >>> model.privacy()
    PureDP(epsilon=1.0)
    """

    def __init__(
        self,
        *,
        covariance: Literal["shared", "each", "diagonal"] = "shared",
        budget: Guarantee | None = None,
        domain: Domain | None = None,
        classes: Sequence[object] | None = None,
    ) -> None:
        self.covariance = covariance
        self.budget = budget
        self.domain = domain
        self.classes = classes

    def _learn(self, rows: Records, target: str | None, budget: Guarantee, rng: RandomSource | None) -> None:
        import numpy as np

        require(self.covariance in KINDS, f"covariance one of {', '.join(KINDS)}", covariance=self.covariance)
        assert target is not None
        design = Design(self.domain_)
        number, width = len(self.classes_), design.width
        allowance = _allowance(budget, width, number, diagonal=self.covariance == "diagonal")
        total = allowance.total
        vectors, groups = design.floats(rows), rows.column(target).astype(np.int64)
        largest = math.sqrt(design.square)
        rough = noisy_means(vectors, groups, number, radius=largest, allowance=allowance, share=ROUGH * total, rng=rng)
        centres = _towards_each_other(rough)
        moved = vectors - centres[groups]
        radius, chosen = noisy_radius(
            np.sqrt(squares(moved)),
            2 * largest,
            width,
            rows=float(rough.counts.sum()),
            allowance=allowance,
            share=RADIUS * total,
            later=REST * total,
            rng=rng,
        )
        near = noisy_means(moved, groups, number, radius=radius, allowance=allowance, share=MEANS * total, rng=rng)
        if self.covariance == "diagonal":
            spread = noisy_squares(
                moved, groups, number, radius=radius, allowance=allowance, share=REST * total, rng=rng
            )
        else:
            pooled = self.covariance == "shared"
            spread = noisy_moments(
                moved,
                np.zeros_like(groups) if pooled else groups,
                1 if pooled else number,
                radius=radius,
                allowance=allowance,
                share=REST * total,
                rng=rng,
                constant=CONSTANT,
            )
        self.design_ = design
        self.class_count_ = _together(rough, near)
        self.normals_ = _normals(centres, self.class_count_, near, spread, self.covariance)
        self.event_ = ComposedEvent(events=rough.events + chosen + near.events + spread.events)

    def _scores(self, rows: Records) -> npt.NDArray[np.float64]:
        import numpy as np

        vectors = self.design_.floats(rows)
        return np.column_stack([normal.scores(vectors) for normal in self.normals_])

    def predict_proba(self, X: object) -> npt.NDArray[np.float64]:
        """The probability of each class, by Bayes' rule."""
        import numpy as np

        scores = self._scores(self._read(X))
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        return weights / weights.sum(axis=1, keepdims=True)


def _allowance(budget: Guarantee, width: int, number: int, *, diagonal: bool) -> Allowance:
    """Laplace or Gaussian noise for all steps, by their sensitivities."""
    last = (square_sensitivity(), square_sensitivity() ** 2) if diagonal else sensitivities(width, CONSTANT)
    means = mean_sensitivities(width)
    entries = number * (2 * (width + 1) + (width + 1) * (width + 2) // 2)
    return least_noise(budget, [(ROUGH, *means), (MEANS, *means), (REST, *last)], entries=entries)


def _towards_each_other(found: Moments) -> Floats:
    """Means of classes, moved to their common mean by the part of their distance from it that is noise."""
    import numpy as np

    counts = np.maximum(found.counts, max(found.count_sd, 1.0))
    common = (found.means * counts[:, None]).sum(axis=0) / counts.sum()
    away = found.means - common
    noise = away.shape[1] * (found.sum_sd / counts) ** 2
    kept = np.maximum(0.0, 1 - noise / np.maximum((away**2).sum(axis=1), 1e-300))
    return np.clip(common + away * kept[:, None], -1.0, 1.0)


def _together(first: Moments, second: Moments) -> Floats:
    """Two noisy counts as one, weighted by what each is worth; at least 1 and what noise alone could be."""
    import numpy as np

    weight = second.count_sd**2 / max(first.count_sd**2 + second.count_sd**2, 1e-300)
    counts = weight * first.counts + (1 - weight) * second.counts
    sd = math.sqrt(weight) * first.count_sd  # 1 / sd^2 is the sum of the two
    return np.maximum(counts, max(sd, 1.0))


def _normals(centres: Floats, counts: Floats, near: Moments, spread: Moments, kind: str) -> list[Normal]:
    """The law of each class, with variances that noise could have hidden added, the same to all classes."""
    import numpy as np

    width = centres.shape[1]
    sd = near.sum_sd / counts
    length = (near.means**2).sum(axis=1)
    offsets = near.means * np.maximum(0.0, 1 - width * sd**2 / np.maximum(length, 1e-300))[:, None]
    weights = np.log(counts / counts.sum())
    sizes = np.full(len(counts), counts.sum()) if kind == "shared" else counts
    noise = spread.sd * (1 if kind == "diagonal" else math.sqrt(width))
    hidden = noise / float(sizes.mean()) + near.sum_sd**2 / float(counts.mean()) ** 2
    made = []
    for place, size in enumerate(sizes):
        if kind == "shared":
            second = spread.seconds[0]
            around = np.einsum("c,ci,cj->ij", counts, offsets, offsets) / size
        else:
            second, around = spread.seconds[place], np.outer(offsets[place], offsets[place])
        if kind == "diagonal":
            values, directions = np.maximum(np.diag(second) / size - np.diag(around), 0.0), np.eye(width)
        else:
            values, columns = np.linalg.eigh(second / size - around)
            values, directions = corrected(values, noise / size), columns.T
        mean = centres[place] + offsets[place]
        made.append(Normal(float(weights[place]), mean, directions, values + hidden + STEP**2))
    return made
