"""Private linear support vector machines.

Theorem.  `fit` keeps the budget for one row added or removed (`linear.classifier`): noisy full-batch gradient descent
on the hinge loss with its corner rounded (Chaudhuri, Monteleoni, Sarwate 2011), whose slope at margin m is 1 up to 1/2,
0 from 3/2 on and straight between, so that its curvature is at most 1.  Proof: docs/theory/private_erm.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.learning.linear.classifier import LinearClassifier
from discreet.learning.linear.losses import Margin

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]


def _slope(margins: Floats) -> Floats:
    return 1.5 - margins  # cut to [0, 1] by the table


class LinearSVC(LinearClassifier):
    """A separating plane of two classes, or one of each class against the rest.

    `bins` and `ridge` are those of `LogisticRegression`.

    >>> import numpy as np
    >>> from discreet.data import Domain, Integer
    >>> from discreet.hazmat.entropy import SeededRandom
    >>> from discreet.privacy.guarantee import ZCDP
    >>> x = np.random.default_rng(0).integers(0, 100, (2000, 2))
    >>> y = x[:, 0] + x[:, 1] > 100
    >>> domain = Domain({"a": Integer(0, 100), "b": Integer(0, 100)})
    >>> model = LinearSVC(budget=ZCDP(0.05), domain=domain).fit(x, y, rng=SeededRandom(1))
    >>> model.score(x, y) > 0.9, model.privacy()
    (True, ZCDP(rho=0.05))
    """

    loss = Margin(slope=_slope, curvature=1.0)
    losses = loss
