"""Private principal components.

Theorem.  `fit` keeps the budget for one row added or removed: it is the four steps of `principal_components_fit` on
vectors of integers whose length the declaration bounds, with shares that add up to the budget.  Everything else is made
of what these release.  Proof: docs/theory/principal_components.md.

Vectors are those of `design`: every column counts by its declared range, so that no column weighs more because of its
unit.  Blum, Dwork, McSherry, Nissim 2005 and Dwork, Talwar, Thakurta, Zhang 2014 add noise to the second moments about
the origin; here they are taken about a private mean and inside a private radius, and the noise is that of the radius.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from discreet.data.columns import Real
from discreet.data.domain import Domain
from discreet.data.engines.integer_sums import IntegerSums
from discreet.data.records import Records
from discreet.errors import require
from discreet.hazmat.entropy import RandomSource
from discreet.learning.design import Design
from discreet.learning.estimator import PrivateEstimator
from discreet.learning.rounds.sums import PRODUCTS
from discreet.learning.rounds.vectors import Lattice
from discreet.learning.row_by_row import products
from discreet.learning.vectors.principal_components_fit import entries, subspace
from discreet.privacy.event import ComposedEvent
from discreet.privacy.guarantee import Guarantee
from discreet.release.allowance import Allowance

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

WIDEST = 2000  # entries of a vector
DEVIATIONS = 4  # of the first component: the declared range of all of them


class PCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, PrivateEstimator):
    """Directions of largest variance, among vectors scaled by the declared ranges.

    `n_components` is a number of directions, or None for all.  After `fit`: `components_` (one a row), `mean_`,
    `explained_variance_` and `explained_variance_ratio_` (corrected for the noise, 0 where a direction cannot be told
    from it), and `domain_out_`, the declaration of what `transform` gives, for the next step of a pipeline.

    >>> import numpy as np
    >>> from discreet.data.columns import Integer
    >>> from discreet.hazmat.entropy import SeededRandom
    >>> from discreet.privacy.guarantee import ZCDP
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(50, 20, 5000)
    >>> X = np.column_stack([x, x + rng.normal(0, 5, 5000), rng.normal(50, 5, 5000)]).round()
    >>> pca = PCA(1, budget=ZCDP(0.5), domain=Domain({name: Integer(0, 100) for name in "abc"}))
    >>> pca.fit(X, rng=SeededRandom(1)).components_.round(1).tolist()
    [[0.7, 0.7, -0.0]]
    >>> pca.privacy()
    ZCDP(rho=0.5)
    """

    supervised = False
    by_rounds = True

    def __init__(
        self,
        n_components: int | None = None,
        *,
        budget: Guarantee | None = None,
        domain: Domain | None = None,
    ) -> None:
        self.n_components = n_components
        self.budget = budget
        self.domain = domain

    def _learn(
        self, rows: Records | IntegerSums, target: str | None, budget: Guarantee, rng: RandomSource | None
    ) -> None:
        import numpy as np

        design = Design(rows.domain)
        width = design.width
        require(width <= WIDEST, f"at most {WIDEST} entries of a vector", entries=width)
        kept = components(self.n_components, width)
        allowance = Allowance(budget, entries=entries(width))
        largest = math.sqrt(design.square)
        if isinstance(rows, IntegerSums):
            require((width + 1) * (width + 2) // 2 <= PRODUCTS, "fewer entries where an engine adds", entries=width)
        vectors = Lattice(rows, design) if isinstance(rows, IntegerSums) else design.floats(rows)
        found = subspace(vectors, largest, allowance=allowance, amount=allowance.total, rng=rng)
        self.design_ = design
        self.n_components_ = kept
        self.mean_ = found.mean
        self.components_ = found.directions[:kept]
        self.explained_variance_ = found.variances[:kept]
        total = float(found.variances.sum())
        self.explained_variance_ratio_ = self.explained_variance_ / total if total > 0 else np.zeros(kept)
        self.event_ = ComposedEvent(events=found.events)
        self.domain_out_ = _declared(kept, min(2 * largest, DEVIATIONS * math.sqrt(float(found.variances[0]))))

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def transform(self, X: object) -> npt.NDArray[np.float64]:
        """The coordinates of rows along the components; rows of the data stay private."""
        rows = self._read(X)
        return products(self.design_.floats(rows) - self.mean_, self.components_)

    def fit_transform(self, X: object, y: object = None, **how: Any) -> npt.NDArray[np.float64]:  # noqa: ANN401
        """`fit`, then `transform` of the same rows."""
        return self.fit(X, **how).transform(X)

    def fit(self, X: object, y: object = None, *, rng: RandomSource | None = None) -> Self:
        """Fit to rows in memory; y is ignored.  `rng` is for tests."""
        return super().fit(X, rng=rng)


def components(asked: int | None, width: int) -> int:
    """How many directions to keep."""
    if asked is None:
        return width
    whole = isinstance(asked, int) and not isinstance(asked, bool)
    require(whole and 1 <= asked <= width, f"n_components from 1 to {width}, or None", n_components=asked)
    return asked


def _declared(number: int, range_: float) -> Domain:
    """A range for each component, rounded up to a power of two."""
    high = Fraction(2) ** math.ceil(math.log2(max(range_, 2.0**-10)))
    return Domain({f"pca{place}": Real(-high, high, step=high / 2**20) for place in range(number)})
