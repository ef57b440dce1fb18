"""Private logistic regression.

Theorem.  `fit` keeps the budget for one row added or removed (`linear.classifier`): noisy full-batch gradient descent
on the logistic loss, whose slope at margin m is 1 / (1 + e^m) and whose curvature is at most 1/4.
Proof: docs/theory/private_erm.md.

Chaudhuri, Monteleoni, Sarwate 2011 add noise to the objective, once; that needs the exact minimum, and pays for the
longest row that the declaration allows.  Noisy gradients (Bassily, Smith, Thakurta 2014) need no minimum, may be cut,
and in Gaussian DP thirty of them cost no more than one with a thirtieth of the variance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.learning.linear.classifier import LinearClassifier
from discreet.learning.linear.losses import Margin, Softmax

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]


def _slope(margins: Floats) -> Floats:
    import numpy as np

    return 1 / (1 + np.exp(margins))


class LogisticRegression(LinearClassifier):
    """Logistic regression: of two classes, or multinomial of more.

    `bins` cuts ordered columns into so many intervals (0: none; None: by a rule of the noisy number of rows and the
    budget); `ridge` is the weight of half the squared coefficients, as 1 / C of scikit-learn.  After `fit`: `coef_` and
    `intercept_` by the vectors of `design`, `n_iter_`, `classes_`.

    >>> import numpy as np
    >>> from discreet.data import Domain, Integer
    >>> from discreet.hazmat.entropy import SeededRandom
    >>> from discreet.privacy.guarantee import ApproxDP
    >>> x = np.random.default_rng(0).integers(0, 100, (2000, 2))
    >>> y = x[:, 0] + x[:, 1] > 100
    >>> domain = Domain({"a": Integer(0, 100), "b": Integer(0, 100)})
    >>> model = LogisticRegression(budget=ApproxDP(1.0, 1e-6), domain=domain).fit(x, y, rng=SeededRandom(1))
    >>> model.score(x, y) > 0.9, model.privacy()
    (True, ApproxDP(epsilon=1.0, delta=1e-06))
    """

    loss = Margin(slope=_slope, curvature=0.25)
    losses = Softmax()

    def predict_proba(self, X: object) -> Floats:
        """The probability of every class for every row."""
        import numpy as np

        scores = self._scores(self._read(X)) / (2 if len(self.classes_) == 2 else 1)
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        return odds / odds.sum(axis=1, keepdims=True)
