"""The estimate of the theorem: one multiplicative update a round, and the average of all estimates.

Lemma.  Let q have values in an interval of length w, let h and x have n rows in all, e = q(x) - q(h), and let m be a
measurement with m - q(x) = z.  After h <- h exp(4 q (m - q(h)) / (n w^2)), scaled to n rows,

    KL(x / n || h / n)   falls by at least   2 (e^2 - z^2) / (n w)^2.

Since it starts at most at ln|X| and stays at least 0, the errors of T rounds have mean square at most
n^2 w^2 ln|X| / (2 T) + the mean square of the noise.  The logarithms of the cells are kept, so that a cell that
vanishes in one round can come back in another.  Proof: docs/theory/mwem.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.data.arrays import like, namespace, to_numpy
from discreet.hazmat.entropy import RandomSource
from discreet.release.models.dense import DenseModel
from discreet.release.mwem_universe import Cells, distances

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.queries.workload import Countable
    from discreet.release.mwem import MWEM


def average(
    mwem: MWEM, private: Countable, n: int, rng: RandomSource | None
) -> tuple[npt.NDArray[np.float64], DenseModel]:
    """The answers and the model: the mean of the estimates that the choices were made by."""
    import numpy as np

    true = Cells(mwem.queries, device=None).truth(private)
    cells = DenseModel.uniform(mwem.workload.domain, float(n), device=mwem.device).cells
    logs, kept, mean = cells * 0, cells * 0, np.zeros(len(true))
    for _ in range(mwem.rounds):
        answers = to_numpy(mwem.queries.apply(cells)).astype(float)
        kept, mean = kept + cells, mean + answers / mwem.rounds
        chosen = mwem.choice(distances(true, answers), rng=rng)
        noisy = int(mwem.noise(int(true[chosen]), rng=rng))
        rate = 4 * (noisy - answers[chosen]) / (n * mwem.width**2)
        logs = _updated(logs, mwem.queries[chosen].transpose(like(np.ones(1), cells)), rate)
        cells = _weighed(logs, n)
    return mean, DenseModel(mwem.workload.domain, kept / mwem.rounds)


def _updated(logs, query, rate: float):  # noqa: ANN001, ANN202 - arrays of any library
    """The logarithms of cells exp(rate query), of which the largest is 0."""
    tilted = logs + query * rate
    return tilted - tilted.max()


def _weighed(logs, n: int):  # noqa: ANN001, ANN202
    """The cells with these logarithms, scaled to n; the largest logarithm is 0, so the sum is at least 1."""
    cells = namespace(logs).exp(logs)
    return cells * (n / float(cells.sum()))
