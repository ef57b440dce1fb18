"""Classifiers that tell two samples of vectors apart, as views of the output.

A classifier trained on part of the sample gives every output a score, an estimate of the odds of
the two inputs; upper sets of the score are the events to try (Bichsel, Steffen, Bogunovic,
Vechev 2021).  The score is a function of the output chosen before the tested part is
looked at, so any classifier is allowed: a poor one costs power and never validity.

Sums of log-ratios, the other learnt view, are best where the entries are independent.  A tree sees
which entries go together, and a linear score sees leaks that are spread thinly over many of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.threads import threads_by

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.attacks.views import Array

    Floats = npt.NDArray[np.float64]

MOST = 25_000  # rows of either side to train on
WIDEST = 400  # entries; wider outputs are not trained on
LEAVES = 64
STEPS = 12  # of Newton's method
RIDGE = 1.0
FAR = 1e15


@dataclass(frozen=True, slots=True, eq=False)
class LinearScore:
    """The log-odds of a logistic regression, in tenths of their spread."""

    centre: Floats
    weights: Floats  # in units of the standardised entries over a tenth of the spread of the scores

    @classmethod
    @threads_by(lambda _cls, first, second: first.size + second.size)
    def learn(cls, first: Array, second: Array) -> LinearScore:
        """Newton's method on standardised entries, with a little ridge."""
        import numpy as np

        rows = finite(np.concatenate([first, second]))  # (samples, width)
        centre, spread = rows.mean(axis=0), rows.std(axis=0)
        unit = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
        rows = (rows - centre) * unit
        label = np.repeat([1.0, 0.0], [len(first), len(second)])
        weights = np.zeros(rows.shape[1])
        for _ in range(STEPS):
            chance = 1 / (1 + np.exp(-np.clip(rows @ weights, -30, 30)))
            slope = rows.T @ (label - chance) - RIDGE * weights
            curve = (rows * (chance * (1 - chance))[:, None]).T @ rows + RIDGE * np.eye(len(weights))
            weights = weights + np.linalg.solve(curve, slope)
        grain = float((rows @ weights).std()) / 10
        return cls(centre, weights * unit / grain if grain > 0 else np.zeros_like(weights))

    def __call__(self, outputs: Array) -> Array:
        import numpy as np

        return np.round((finite(outputs) - self.centre) @ self.weights)


@dataclass(frozen=True, slots=True, eq=False)
class TreeScore:
    """The odds in the leaf of a decision tree."""

    tree: Any  # of scikit-learn

    @classmethod
    def learn(cls, first: Array, second: Array) -> TreeScore:
        """A tree of few leaves, each of them full enough to be worth betting on."""
        import numpy as np
        from sklearn.tree import DecisionTreeClassifier

        rows = finite(np.concatenate([first, second])).astype(np.float32)
        label = np.repeat([1, 0], [len(first), len(second)])
        full = max(20, len(rows) // 500)
        return cls(
            DecisionTreeClassifier(max_leaf_nodes=LEAVES, min_samples_leaf=full, random_state=0).fit(rows, label)
        )

    def __call__(self, outputs: Array) -> Array:
        import numpy as np

        return np.round(self.tree.predict_proba(finite(outputs).astype(np.float32))[:, 1], 3)


def finite(outputs: Array) -> Floats:
    """Floats that a classifier can compare: nothing beyond `FAR`, and 0 for what is no number."""
    import numpy as np

    return np.clip(np.nan_to_num(outputs.astype(np.float64), nan=0.0), -FAR, FAR)


def classifiers(first: Array, second: Array) -> Iterator[tuple[str, LinearScore | TreeScore]]:
    """Scores trained on two samples of vectors; none where the vectors are too wide.

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> one, other = rng.integers(0, 2, (2, 500, 2))
    >>> one[:, 1] = one[:, 0]  # the entries of one side are equal, which no entry shows by itself
    >>> (_, linear), (_, tree) = classifiers(one, other)
    >>> tree(np.array([[0, 0], [0, 1]])).round(1).tolist()
    [0.7, 0.0]
    """
    if first.shape[1] <= WIDEST:
        sides = first[:MOST], second[:MOST]
        yield "linear score", LinearScore.learn(*sides)
        yield "tree score", TreeScore.learn(*sides)
