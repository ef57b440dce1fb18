"""How wrong the answers are: errors of repeated releases, with a confidence interval for their quantile.

Theorem (distribution-free order statistics).  Sort n independent errors.  If i and j satisfy
Pr[Bin(n, 1 - beta) < i] <= risk / 2 and Pr[Bin(n, 1 - beta) >= j] <= risk / 2, the
(1 - beta)-quantile of the error lies between the i-th and the j-th smallest with
probability at least 1 - risk: the Clopper-Pearson interval for the level, read on the
scale of errors.  Proof: docs/theory/audit.md.

An answer is (alpha, beta)-accurate when its largest error over all queries is at most
alpha with probability at least 1 - beta; the error of one release is therefore the
largest over its entries.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.attacks.audit import Releases, releases
from discreet.attacks.confidence import clopper_pearson
from discreet.errors import ParameterError, require
from discreet.hazmat.entropy import RandomSource

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, slots=True)
class Accuracy:
    """Errors over `trials` releases; `quantile` is the (1 - beta)-quantile, inside `interval` except with `risk`.

    >>> from discreet.hazmat.entropy import SeededRandom
    >>> from discreet.mechanisms import Laplace
    >>> found = measure_accuracy(Laplace(epsilon=1, sensitivity=1), 100, trials=2000, rng=SeededRandom(1))
    >>> found.interval[0] <= found.quantile <= found.interval[1], found.trials
    (True, 2000)
    """

    largest: float
    mean: float
    rms: float
    quantile: float
    interval: tuple[float, float]
    beta: float
    risk: float
    trials: int
    errors: Floats

    def exceeding(self, alpha: float) -> tuple[float, float]:
        """An interval for the probability that the error exceeds alpha, except with `risk`."""
        return clopper_pearson(int((self.errors > alpha).sum()), self.trials, beta=self.risk)

    def refutes(self, alpha: float) -> bool:
        """Whether the errors refute the claim that Pr[error > alpha] <= beta."""
        return self.exceeding(alpha)[0] > self.beta


def measure_accuracy(
    mechanism: Releases,
    value: object,
    trials: int = 10_000,
    *,
    beta: float = 0.05,
    risk: float = 1e-6,
    truth: object = None,
    batched: bool | None = None,
    rng: RandomSource | None = None,
) -> Accuracy:
    """Release `value` `trials` times and compare with the truth, by default the value itself.

    Releases are drawn as in `audit`.

    >>> from discreet.hazmat.entropy import SeededRandom
    >>> from discreet.mechanisms.laplace import Laplace
    >>> laplace = Laplace(epsilon=1, sensitivity=1)
    >>> found = measure_accuracy(laplace, 100, rng=SeededRandom(1))
    >>> found.interval[0] <= laplace.accuracy(0.05) <= found.interval[1]
    True
    """
    import numpy as np

    require(isinstance(trials, int) and trials >= 2, "trials >= 2", trials=trials)
    require(0 < beta < 1, "0 < beta < 1", beta=beta)
    require(0 < risk < 1, "0 < risk < 1", risk=risk)
    answers = np.asarray(releases(mechanism, value, trials, batched=batched, rng=rng))
    right = np.asarray(value if truth is None else truth)
    if answers.dtype.kind not in "biuf" or answers.shape[1:] != right.shape:
        raise ParameterError("need numeric releases of the same shape as the truth")
    errors = np.abs(answers.astype(np.float64) - right).reshape(trials, -1).max(axis=1)
    ordered = np.sort(errors)
    low, high = _ranks(trials, beta, risk)
    return Accuracy(
        largest=float(ordered[-1]),
        mean=float(errors.mean()),
        rms=float(np.sqrt((errors**2).mean())),
        quantile=float(ordered[max(0, math.ceil((1 - beta) * trials) - 1)]),
        interval=(float(ordered[low - 1]) if low else 0.0, float(ordered[high - 1]) if high <= trials else math.inf),
        beta=beta,
        risk=risk,
        trials=trials,
        errors=errors,
    )


def _ranks(trials: int, beta: float, risk: float) -> tuple[int, int]:
    """Ranks between which the quantile lies: 0 for no lower end, trials + 1 for no upper end."""
    from scipy.stats import binom

    level = 1 - beta
    low = int(binom.ppf(risk / 2, trials, level))
    while low > 0 and binom.cdf(low - 1, trials, level) > risk / 2:
        low -= 1
    high = int(binom.isf(risk / 2, trials, level)) + 1
    while high <= trials and binom.sf(high - 1, trials, level) > risk / 2:
        high += 1
    return low, high
