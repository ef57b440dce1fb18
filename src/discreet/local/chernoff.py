"""Error bounds for sums of independent reports, which need not be alike.

Theorem (Hoeffding 1963).  Let X_1 .. X_n be independent in [0, 1] with mean m on average, and S their share.
Then Pr[S >= s] <= exp(-n KL(s || m)) for s >= m, and likewise below, where KL is that of coins.  So
{m : n KL(S || m) <= ln(2 / beta)} holds m with probability at least 1 - beta.

Theorem (Bernstein 1946).  If each |X_i - E X_i| <= reach and the variances average to at most v,

    Pr[|mean - E mean| > sqrt(2 v L / n) + 2 reach L / (3 n)] <= beta   with L = ln(2 / beta).

Theorem (Bennett 1962).  If each |X_i - E X_i| <= 1, Pr[|mean - E mean| > t] <= beta where n v h(t / v) >= L, with
h(u) = (1 + u) ln(1 + u) - u: little where hardly any report is a lie.  Proofs: docs/theory/local.md.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

STEPS = 60  # halvings of the interval


def share_interval(hits: npt.ArrayLike, n: int, beta: float) -> tuple[Floats, Floats]:
    """Where the average chance of a hit lies, from `hits` of n, with probability at least 1 - beta.

    >>> low, high = share_interval(500, 1000, 0.05)
    >>> round(float(low), 4), round(float(high), 4)
    (0.4571, 0.5429)
    """
    import numpy as np

    share = np.asarray(hits, dtype=np.float64) / n
    allowed = math.log(2 / beta) / n
    reach = math.sqrt(allowed / 2)  # Pinsker: the interval is no wider
    return (
        _end(share, np.maximum(share - reach, 0.0), allowed),
        _end(share, np.minimum(share + reach, 1.0), allowed),
    )


def _end(share: Floats, far: Floats, allowed: float) -> Floats:
    """The end of the interval between the share and `far`, from outside."""
    import numpy as np

    near = np.array(share)
    outer = np.array(far)
    for _ in range(STEPS):
        middle = (near + outer) / 2
        inside = _divergence(share, middle) <= allowed
        near, outer = np.where(inside, middle, near), np.where(inside, outer, middle)
    return outer


def _divergence(share: Floats, mean: Floats) -> Floats:
    """KL(share || mean) of coins."""
    from scipy.special import rel_entr

    return rel_entr(share, mean) + rel_entr(1 - share, 1 - mean)


def share_error(hits: npt.ArrayLike, n: int, beta: float) -> Floats:
    """The half-width of `share_interval` around the observed share."""
    import numpy as np

    share = np.asarray(hits, dtype=np.float64) / n
    low, high = share_interval(hits, n, beta)
    return np.maximum(high - share, share - low)


def bernstein(variance: float, *, reach: float, n: int, beta: float) -> float:
    """The bound for a mean of n independent numbers.

    >>> round(bernstein(1.0, reach=2.0, n=10_000, beta=0.05), 4)
    0.0277
    """
    level = math.log(2 / beta)
    return math.sqrt(2 * variance * level / n) + 2 * reach * level / (3 * n)


def bennett(variance: float, *, n: int, beta: float) -> float:
    """The bound for a mean of n independent numbers within 1 of their means; 0 where their variance is.

    >>> round(bennett(0.25, n=1000, beta=0.05), 4), round(bennett(1e-9, n=1000, beta=0.05), 4)
    (0.0442, 0.0003)
    """
    if variance <= 0:
        return 0.0
    level, low, high = math.log(2 / beta) / n, 0.0, 1.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        u = middle / variance
        low, high = (low, middle) if variance * ((1 + u) * math.log1p(u) - u) >= level else (middle, high)
    return high
