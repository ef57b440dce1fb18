"""Binomial confidence: Clopper-Pearson bounds, and a lower bound on a log-ratio.

Theorem.  Let K ~ Bin(n, p) and L ~ Bin(m, q) be independent and let c solve
c (1 + ln(1 / c)) = beta.  With p_low(a) the Clopper-Pearson lower bound for p at
risk a and q_high(a) the upper bound for q, with probability at least 1 - beta

    ln((p - delta) / q)  >=  min over a in [c, 1] of ln((p_low(a) - delta) / q_high(c / a)).

This is the usual pair of bounds at every split of the risk at once: the product of two
independent p-values is at most c with probability at most c (1 + ln(1 / c)) (Fisher 1925).
When both counts are uncertain it gives away 29 % less than the even split; when one count
decides, a tenth more.  Nothing but monotony of the logarithms is used, so the same holds for
Phi^-1(p) - Phi^-1(q).  Proof: docs/theory/audit.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from discreet.errors import require

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]


NEARLY = 1 - 2.0**-53  # the largest float below 1


def clopper_pearson(hits: int, trials: int, *, beta: float) -> tuple[float, float]:
    """An interval that contains the success probability with probability at least 1 - beta.

    >>> low, high = clopper_pearson(0, 100, beta=0.05)
    >>> low, round(high, 4)
    (0.0, 0.0362)
    """
    require(0 <= hits <= trials and trials >= 1, "0 <= hits <= trials", hits=hits, trials=trials)
    require(0 < beta < 1, "0 < beta < 1", beta=beta)
    return float(lower(hits, trials, beta / 2)), float(upper(hits, trials, beta / 2))


def lower(hits: int, trials: int, risk: float | Floats) -> Floats:
    """The p with Pr[Bin(trials, p) >= hits] = risk; 0 when there were no hits."""
    import numpy as np
    from scipy.special import betaincinv

    return np.zeros_like(risk) if hits == 0 else betaincinv(hits, trials - hits + 1, risk)


def upper(hits: int, trials: int, risk: float | Floats) -> Floats:
    """The q with Pr[Bin(trials, q) <= hits] = risk; 1 when every trial was a hit."""
    import numpy as np
    from scipy.special import betainccinv

    return np.ones_like(risk) if hits == trials else betainccinv(hits + 1, trials - hits, risk)


def fisher_level(beta: float) -> float:
    """The c with c (1 + ln(1 / c)) = beta: how small a product of two p-values must be.

    >>> c = fisher_level(1e-5)
    >>> round(c * (1 - math.log(c)), 12)
    1e-05
    """
    low, high = 0.0, beta
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (low, middle) if middle * (1 - math.log(middle)) > beta else (middle, high)
    return low


def log_ratio_bound(hits: tuple[int, int], trials: tuple[int, int], *, delta: float = 0.0, beta: float) -> float:
    """A lower bound on ln((p - delta) / q), at least 0, that holds with probability 1 - beta.

    >>> round(log_ratio_bound((7500, 2500), (10_000, 10_000), beta=1e-5), 3)  # ln 3 = 1.099
    1.017
    """
    import numpy as np

    def log_ratio(p: Floats, q: Floats) -> Floats:
        with np.errstate(divide="ignore"):  # ln 0 is the bound that says nothing
            return np.log(np.maximum(p - delta, 0.0)) - np.log(np.maximum(q, 1e-300))

    return least_over_splits(hits, trials, log_ratio, beta=beta)


def shift_bound(hits: tuple[int, int], trials: tuple[int, int], *, beta: float) -> float:
    """A lower bound on Phi^-1(p) - Phi^-1(q), at least 0, that holds with probability 1 - beta.

    >>> round(shift_bound((69_146, 30_854), (100_000, 100_000), beta=0.01), 3)  # 1 but for chance
    0.985
    """
    import numpy as np
    from scipy.special import ndtri

    def shift(p: Floats, q: Floats) -> Floats:
        tells = (p > 0) & (q < 1)
        return np.where(tells, ndtri(np.maximum(p, 1e-300)) - ndtri(np.clip(q, 1e-300, NEARLY)), -np.inf)

    return least_over_splits(hits, trials, shift, beta=beta)


def least_over_splits(
    hits: tuple[int, int],
    trials: tuple[int, int],
    value: Callable[[Floats, Floats], Floats],
    *,
    beta: float,
) -> float:
    """The least value(p_low(a), q_high(c / a)) over all splits of the risk, at least 0.

    `value` grows with p and falls with q.  A slack of 1e-9 is far above the error of the search and of the functions.
    """
    import numpy as np

    c = fisher_level(beta)

    def bound(log_risk: Floats) -> Floats:
        p = lower(hits[0], trials[0], np.exp(log_risk))
        q = upper(hits[1], trials[1], np.exp(math.log(c) - log_risk))
        return value(p, q)

    grid = np.linspace(math.log(c), 0.0, 81)
    for _ in range(4):  # each pass narrows the grid around the least value 40-fold
        at = int(np.argmin(bound(grid)))
        grid = np.linspace(grid[max(0, at - 1)], grid[min(80, at + 1)], 81)
    return max(0.0, float(bound(grid).min()) - 1e-9)
