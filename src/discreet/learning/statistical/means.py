"""k-means from statistical queries: Lloyd's iteration on means (SuLQ).

Theorem (after Blum, Dwork, McSherry, Nissim 2005).  Let features lie in [-1, 1]^d.  A round asks k (d + 1) queries: of
each centre how much of the population is nearest to it (ties to the first), and the mean of each feature there.  If all
answers are within tau (tau / 2 for the masses), a centre with mass q > tau moves to within

    2 tau / (q - tau)   in every coordinate   of where Lloyd's iteration moves it.

Proof: docs/theory/statistical_queries.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.errors import require
from discreet.queries.statistical import StatisticalOracle
from discreet.queries.statistical_pieces import Affine, Piece

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.queries.statistical import Rows

    Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class LearnedMeans:
    """Centres (k, d) in the space of the features, and the last masses.

    >>> import numpy as np
    >>> from discreet.hazmat.entropy import SeededRandom
    >>> from discreet.learning.statistical.oracle import StatisticalQueryOracle
    >>> points = np.random.default_rng(0).normal([[-0.5], [0.5]], 0.1, (2, 10_000)).reshape(-1, 1)
    >>> oracle = StatisticalQueryOracle(points, queries=8, epsilon=1.0, rng=SeededRandom(1))
    >>> found = learn_means(oracle, features=[Affine.of({0: 1})], centres=[[-0.1], [0.1]], rounds=2)
    >>> found.predict(np.array([[-0.6], [0.7]])).tolist()
    [0, 1]
    """

    features: tuple[Affine, ...]
    centres: Floats
    masses: Floats

    def predict(self, rows: Rows) -> npt.NDArray[np.intp]:
        """The nearest centre of each row."""
        import numpy as np

        found = np.stack([feature.on(rows) for feature in self.features], axis=1)  # (rows, d)
        return ((found[:, None, :] - self.centres) ** 2).sum(axis=2).argmin(axis=1)


def learn_means(oracle: StatisticalOracle, *, features: Sequence[Affine], centres: object, rounds: int) -> LearnedMeans:
    """Centres after so many rounds from public ones (k, d); features must lie in [-1, 1].

    A centre whose mass is answered as less than 1 / (20 k) stays where it is: its mean would be mostly noise.

    >>> import numpy as np
    >>> from discreet.hazmat.entropy import SeededRandom
    >>> from discreet.learning.statistical.oracle import StatisticalQueryOracle
    >>> points = np.random.default_rng(0).normal([[-0.5], [0.5]], 0.1, (2, 10_000)).reshape(-1, 1)
    >>> oracle = StatisticalQueryOracle(points, queries=12, epsilon=1.0, rng=SeededRandom(1))
    >>> learn_means(oracle, features=[Affine.of({0: 1})], centres=[[-0.1], [0.1]], rounds=3).centres.round(1)
    array([[-0.5],
           [ 0.5]])
    """
    import numpy as np

    now = np.array(centres, dtype=np.float64)
    d = len(features)
    require(now.ndim == 2 and now.shape[1] == d and len(now) >= 1, "centres (k, d), one column a feature", d=d)
    require(bool(np.isfinite(now).all() and (np.abs(now) <= 1).all()), "centres in [-1, 1]", centres=now.shape)
    whole = isinstance(rounds, int) and not isinstance(rounds, bool)
    require(whole and rounds >= 1, "an integer rounds >= 1", rounds=rounds)
    k, masses = len(now), np.zeros(len(now))
    for _ in range(rounds):
        cells = [_nearest(features, now, j) for j in range(k)]
        asked = [Piece(conditions=there, excluded=out, low=0, high=1) for there, out in cells]
        asked += [
            Piece(factors=(feature,), conditions=there, excluded=out) for there, out in cells for feature in features
        ]
        found = oracle.answer(asked)
        masses, sums = found[:k], found[k:].reshape(k, d)
        heavy = masses >= 1 / (20 * k)
        now[heavy] = np.clip(sums[heavy] / masses[heavy, None], -1, 1)
    return LearnedMeans(tuple(features), now, masses)


Conditions = tuple[tuple[Affine, ...], ...]


def _nearest(features: Sequence[Affine], centres: Floats, j: int) -> tuple[Conditions, Conditions]:
    """What holds, and what does not, where centre j is the first nearest one.

    |x - c_l|^2 - |x - c_j|^2 = 2 <c_j - c_l, x> + |c_l|^2 - |c_j|^2 is affine in x.
    """
    there, out = [], []
    for other in range(len(centres)):
        if other == j:
            continue
        near, far = (j, other) if other > j else (other, j)
        weights = 2 * (centres[near] - centres[far])
        offset = float((centres[far] ** 2).sum() - (centres[near] ** 2).sum())
        (there if other > j else out).append((Affine.combined(features, weights.tolist(), offset=offset),))
    return tuple(there), tuple(out)
