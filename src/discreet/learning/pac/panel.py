"""The best of a panel: which of a few given classifiers errs least on private rows.

Theorem.  Choosing among k public classifiers with Pr[i] proportional to exp(-rate errors_i) is epsilon-DP, with the
rates of `ExponentialLearner`; with probability 1 - beta the chosen one errs on at most (ln(k - 1) + ln(1/beta)) / rate
rows more than the best.  Of two that are g errors apart the worse is chosen with probability 1 / (1 + e^(rate g)).
Proof: docs/theory/pac_learning.md.
"""

from __future__ import annotations

from collections.abc import Sequence

from discreet.errors import ParameterError
from discreet.hazmat.entropy import RandomSource
from discreet.learning.pac.exponential import ExponentialLearner
from discreet.learning.pac.hypotheses import Hypothesis
from discreet.privacy.number import Number


def best_of_panel(
    classifiers: Sequence[object],
    x: object,
    y: object,
    *,
    epsilon: Number,
    n: int | None = None,
    rng: RandomSource | None = None,
) -> ExponentialLearner:
    """A learner fitted to one of the classifiers, which are functions of rows or have `predict`.

    Its `index_` says which it is.  The classifiers must be public, or private models of other rows.

    >>> import numpy as np
    >>> from discreet.hazmat.entropy import SeededRandom
    >>> x = np.arange(1000)
    >>> doctors = [lambda x: x >= 400, lambda x: x >= 500, lambda x: x % 2 == 0]
    >>> best = best_of_panel(doctors, x, x >= 480, epsilon=0.5, rng=SeededRandom(1))
    >>> best.index_, best.privacy(), best.accuracy(beta=0.05)
    (1, PureDP(epsilon=0.5), 7)
    """
    return ExponentialLearner([as_function(one) for one in classifiers], epsilon=epsilon, n=n).fit(x, y, rng=rng)


def as_function(classifier: object) -> Hypothesis:
    """The classifier's `predict`, or itself where it is a function."""
    predict = getattr(classifier, "predict", classifier)
    if not callable(predict):
        raise ParameterError(f"need classifiers that are functions or have predict, got {type(classifier).__name__}")
    return predict
