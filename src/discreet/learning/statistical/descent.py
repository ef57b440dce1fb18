"""Gradient descent from statistical queries (SuLQ): linear and logistic regression.

Theorem (after Blum, Dwork, McSherry, Nissim 2005).  Let features x have Euclidean norm at most 1 and the target y lie
in [-1, 1], and let F be the mean of (<w, x> - y)^2 / 2, or of ln(1 + e^(-s <w, x>)) with s the sign of y.  Its gradient
is at most G and moves by at most L for each step of 1, where G = B + 1 and L = 1 for squares, G = 1 and L = 1/4 for the
logistic loss.  Projected descent on the ball of radius B, from 0 with steps 1 / L, asks d queries a round, the
coordinates of the gradient over G.  If all answers are within tau, the average w of T iterates has

    F(w) - min F  <=  L B^2 / (2 T) + 2 B G tau sqrt(d).      Proof: docs/theory/statistical_queries.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from discreet.errors import require
from discreet.queries.statistical import RowFunction, StatisticalOracle
from discreet.queries.statistical_pieces import Affine, Piece

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.queries.statistical import Rows, StatisticalQuery

    Floats = npt.NDArray[np.float64]

Loss = Literal["squared", "logistic"]


@dataclass(frozen=True, slots=True, eq=False)
class LearnedLinear:
    """Weights of the features.

    >>> import numpy as np
    >>> LearnedLinear((Affine.of({0: 1}),), np.array([0.5])).predict(np.array([[2.0]]))
    array([1.])
    """

    features: tuple[Affine, ...]
    weights: Floats

    def predict(self, rows: Rows) -> Floats:
        """<w, x>: the target, or for the logistic loss the log-odds of it being positive."""
        return _along(self.features, self.weights, rows)


def _along(features: Sequence[Affine], weights: Floats, rows: Rows) -> Floats:
    """<w, x> of each row, added feature by feature: a product of matrices would round a row by its neighbours."""
    import numpy as np

    found = np.zeros(len(rows))
    for feature, weight in zip(features, weights.tolist(), strict=True):
        found += weight * feature.on(rows)
    return found


def descent_excess(*, rounds: int, radius: float, tau: float, d: int, loss: Loss = "squared") -> float:
    """The bound of the theorem on how far the loss is above the least.

    >>> round(descent_excess(rounds=400, radius=1.0, tau=0.001, d=4), 4)
    0.0092
    """
    steepest, curved = _slopes(loss, radius)
    return curved * radius**2 / (2 * rounds) + 2 * radius * steepest * tau * math.sqrt(d)


def _slopes(loss: Loss, radius: float) -> tuple[float, float]:
    """(G, L)."""
    return (radius + 1.0, 1.0) if loss == "squared" else (1.0, 0.25)


def learn_linear(
    oracle: StatisticalOracle,
    *,
    features: Sequence[Affine],
    target: Affine,
    radius: float,
    rounds: int,
    loss: Loss = "squared",
) -> LearnedLinear:
    """Weights in the ball of this radius, by d queries in each of so many rounds.

    Squares are asked as pieces, on rows and on tables; the logistic loss is a function of rows.

    >>> import numpy as np
    >>> from discreet.hazmat.entropy import SeededRandom
    >>> from discreet.learning.statistical.oracle import StatisticalQueryOracle
    >>> x = np.random.default_rng(0).uniform(-1, 1, 50_000)
    >>> oracle = StatisticalQueryOracle((x, 0.6 * x), queries=60, epsilon=1.0, rng=SeededRandom(1))
    >>> model = learn_linear(oracle, features=[Affine.of({0: 1})], target=Affine.of({1: 1}), radius=1.0, rounds=60)
    >>> abs(float(model.weights[0]) - 0.6) < 0.1
    True
    """
    import numpy as np

    d = len(features)
    require(d >= 1, "at least one feature", features=d)
    require(0 < radius < 1000, "0 < radius < 1000", radius=radius)
    whole = isinstance(rounds, int) and not isinstance(rounds, bool)
    require(whole and rounds >= 1, "an integer rounds >= 1", rounds=rounds)
    require(loss in ("squared", "logistic"), "loss 'squared' or 'logistic'", loss=loss)
    steepest, curved = _slopes(loss, radius)
    asks = _squared if loss == "squared" else _logistic
    w, total = np.zeros(d), np.zeros(d)
    for _ in range(rounds):
        w = w - steepest / curved * oracle.answer(asks(features, target, w, steepest))
        w *= min(1.0, radius / max(1e-300, float(np.linalg.norm(w))))
        total += w
    return LearnedLinear(tuple(features), total / rounds)


def _squared(features: Sequence[Affine], target: Affine, w: Floats, steepest: float) -> list[StatisticalQuery]:
    weights = [*(w / steepest).tolist(), -1 / steepest]
    residual = Affine.combined([*features, target], weights)
    return [Piece(factors=(residual, feature)) for feature in features]


def _logistic(features: Sequence[Affine], target: Affine, w: Floats, steepest: float) -> list[StatisticalQuery]:
    import numpy as np

    def gradient(feature: Affine) -> RowFunction:
        def values(rows: Rows) -> Floats:
            sign = np.where(target.on(rows) >= 0, 1.0, -1.0)
            odds = _along(features, w, rows)
            return -sign * feature.on(rows) / (steepest * (1 + np.exp(np.clip(sign * odds, -700, 700))))

        return RowFunction(values)

    return [gradient(feature) for feature in features]
