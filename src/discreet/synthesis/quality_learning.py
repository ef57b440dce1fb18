"""Train on synthetic rows, test on real ones: a logistic regression of one column on all others.  Private.

The real rows are split, four fifths to train on and one fifth to test on; the synthetic rows train as many.  Columns
are coded by their values, ordered ones with many values by intervals that hold about as many real training rows each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.data.records import Records
from discreet.synthesis.resolution import bins_of, ordered

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from scipy import sparse

VALUES = 20  # of a column, after neighbours or rare ones are put together
RIDGE = 1e-4  # for each row: keeps the weights of rare values finite
TRAINED = 50_000  # rows to train on or to test on, at most


@dataclass(frozen=True, kw_only=True, slots=True)
class Learned:
    """The share of real test rows that each model predicts."""

    synthetic: float
    real: float
    majority: float


def learned(drawn: Records, rows: Records, target: str, *, seed: int = 0) -> Learned:
    """Both models, tested on the same rows."""
    import numpy as np

    rng = np.random.default_rng(seed)
    order = rng.permutation(len(rows))
    cut = len(rows) // 5
    test, train = order[:cut][:TRAINED], order[cut:][:TRAINED]
    picked = rng.permutation(len(drawn))[: len(train)]
    bins = {name: _bins(rows, name, train) for name in rows.domain if name != target}
    count = rows.domain[target].size
    asked, truth = _features(rows, bins, test), _labels(rows, target, test)
    scores = [
        float(np.mean(_fitted(_features(one, bins, chosen), _labels(one, target, chosen), count)(asked) == truth))
        for one, chosen in ((drawn, picked), (rows, train))
    ]
    frequent = int(np.argmax(np.bincount(_labels(rows, target, train), minlength=count)))
    return Learned(synthetic=scores[0], real=scores[1], majority=float(np.mean(truth == frequent)))


def _labels(rows: Records, target: str, places: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    import numpy as np

    return rows.column(target)[places].astype(np.int64)


def _bins(rows: Records, name: str, train: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    import numpy as np

    declared = rows.domain[name]
    counts = np.bincount(rows.column(name)[train], minlength=declared.size).astype(np.float64)
    made = bins_of(counts, VALUES, in_order=ordered(declared))
    return np.arange(declared.size) if made is None else made


def _features(
    rows: Records, bins: dict[str, npt.NDArray[np.int64]], chosen: npt.NDArray[np.int64]
) -> sparse.csr_matrix:
    """One indicator for each value of each column, and a constant."""
    import numpy as np
    from scipy import sparse

    places, start = [np.zeros(len(chosen), dtype=np.int64)], 1
    for name, bin_of in bins.items():
        places.append(start + bin_of[rows.column(name)[chosen]])
        start += int(bin_of.max()) + 1
    columns = np.stack(places, axis=1).reshape(-1)
    at = np.arange(len(chosen) + 1) * len(places)
    return sparse.csr_matrix((np.ones(len(columns)), columns, at), shape=(len(chosen), start))


def _fitted(x: sparse.csr_matrix, labels: npt.NDArray[np.int64], count: int):  # noqa: ANN202 - a function of features
    """Multinomial logistic regression with a little ridge."""
    import numpy as np
    from scipy.optimize import minimize
    from scipy.special import logsumexp

    rows, features = x.shape  # type: ignore[misc]
    turned = x.T.tocsr()
    hot = np.zeros((rows, count))
    hot[np.arange(rows), labels] = 1

    def loss(flat: npt.NDArray[np.float64]) -> tuple[float, npt.NDArray[np.float64]]:
        weights = flat.reshape(features, count)
        scores = x @ weights
        log_share = scores - logsumexp(scores, axis=1, keepdims=True)
        slope = turned @ (np.exp(log_share) - hot) / rows + RIDGE * weights
        value = -float((log_share * hot).sum()) / rows + RIDGE * float((flat**2).sum()) / 2
        return value, slope.reshape(-1)

    best = minimize(loss, np.zeros(features * count), jac=True, method="L-BFGS-B", options={"maxiter": 200}).x
    weights = best.reshape(features, count)
    return lambda other: np.asarray(other @ weights).argmax(axis=1)
