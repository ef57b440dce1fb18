"""Private linear regression, with a ridge and without.

Theorem.  `fit` keeps the budget for one row added or removed: it is that of `sufficient_statistics`.
Proof: docs/theory/linear_models.md.
"""

from __future__ import annotations

from discreet.data.domain import Domain
from discreet.learning.linear.sufficient_statistics import LeastSquares
from discreet.privacy.guarantee import Guarantee


class Ridge(LeastSquares):
    """Least squares with a weight on the squared coefficients of vectors scaled by the declared ranges.

    `ridge` is that weight, beside what the noise asks for.  After `fit`: `coef_` and `intercept_` by the vectors of
    `design`, in units of the target.

    >>> import numpy as np
    >>> from discreet.data import Domain, Integer
    >>> from discreet.hazmat.entropy import SeededRandom
    >>> from discreet.privacy.guarantee import ZCDP
    >>> x = np.random.default_rng(0).integers(0, 100, (5000, 2))
    >>> y = x[:, 0] / 2 + x[:, 1] / 4
    >>> domain = Domain({"a": Integer(0, 100), "b": Integer(0, 100)})
    >>> model = Ridge(budget=ZCDP(0.5), domain=domain, bounds=(0, 100)).fit(x, y, rng=SeededRandom(1))
    >>> model.score(x, y) > 0.99, model.privacy()
    (True, ZCDP(rho=0.5))
    """

    def __init__(
        self,
        *,
        ridge: float = 1.0,
        budget: Guarantee | None = None,
        domain: Domain | None = None,
        bounds: tuple[float, float] | None = None,
    ) -> None:
        self.ridge = ridge
        self.budget = budget
        self.domain = domain
        self.bounds = bounds

    def _ridge(self) -> float:
        return self.ridge


class LinearRegression(LeastSquares):
    """Least squares, with no more ridge than the noise asks for.

    >>> import numpy as np
    >>> from discreet.data import Domain, Integer
    >>> from discreet.hazmat.entropy import SeededRandom
    >>> from discreet.privacy.guarantee import ApproxDP
    >>> x = np.random.default_rng(0).integers(0, 100, (5000, 1))
    >>> model = LinearRegression(budget=ApproxDP(1, 1e-6), domain=Domain({"a": Integer(0, 100)}), bounds=(0, 200))
    >>> model.fit(x, 2 * x[:, 0], rng=SeededRandom(1)).predict([[50]]).round(-1)
    array([100.])
    """

    def __init__(
        self,
        *,
        budget: Guarantee | None = None,
        domain: Domain | None = None,
        bounds: tuple[float, float] | None = None,
    ) -> None:
        self.budget = budget
        self.domain = domain
        self.bounds = bounds

    def _ridge(self) -> float:
        return 0.0
