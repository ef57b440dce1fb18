"""Asking the same question again: what fresh answers reveal, and how soon.

Theorem.  Let a count be answered `times` times with fresh discrete Laplace noise of scale
1 / epsilon.  Each answer tells neighbouring counts apart exactly as one randomized bit
does, which is right with probability 1 / (1 + e^-epsilon); so the best guess is a majority
vote of the bits, and the posterior bound e^(times epsilon) / (1 + e^(times epsilon)) is
attained.  The mean of the answers has standard deviation sqrt(2 a / times) / (1 - a),
a = e^-epsilon.  Proof: docs/theory/audit.md; the continuous law: `discreet.privacy.deniability`.

The remedy is to remember answers and return the same one again; and since a question can
be put in other words, the ledger still charges whatever is drawn afresh.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from discreet.attacks.audit import releases
from discreet.errors import require
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    from discreet.attacks.audit import Releases
    from discreet.hazmat.entropy import RandomSource


def average(
    mechanism: Releases, value: object, times: int, *, batched: bool | None = None, rng: RandomSource | None = None
) -> float:
    """The averaging attack: ask `times` times, and take the mean.

    >>> from discreet.hazmat.entropy import SeededRandom
    >>> from discreet.mechanisms.laplace import Laplace
    >>> round(average(Laplace(epsilon=0.1, sensitivity=1), 1234, 10_000, rng=SeededRandom(1)))
    1234
    """
    import numpy as np

    _check_times(times)
    return float(np.mean(np.asarray(releases(mechanism, value, times, batched=batched, rng=rng), dtype=np.float64)))


def guessing_error(epsilon: Number, times: int) -> float:
    """How often the best guess between neighbouring counts is wrong after `times` Laplace answers.

    >>> round(guessing_error(1, 1), 6)  # one randomized bit
    0.268941
    """
    from scipy.stats import binom

    require(exact(epsilon) > 0, "epsilon > 0", epsilon=epsilon)
    _check_times(times)
    keep = 1 / (1 + math.exp(-float(exact(epsilon))))
    outvoted = float(binom.cdf((times - 1) // 2, times, keep))  # fewer than half of the bits are right
    return outvoted + (0.0 if times % 2 else float(binom.pmf(times // 2, times, keep)) / 2)


def answers_needed(epsilon: Number, error: float) -> int:
    """The least number of Laplace answers from which neighbouring counts are told apart with this error.

    >>> answers_needed(1, 0.01)
    23
    """
    require(0 < error < 0.5, "0 < error < 1/2", error=error)
    low, high = 0, 1
    while guessing_error(epsilon, high) > error:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if guessing_error(epsilon, middle) <= error else (middle, high)
    return high


def _check_times(times: int) -> None:
    require(isinstance(times, int) and not isinstance(times, bool) and times >= 1, "times >= 1", times=times)
