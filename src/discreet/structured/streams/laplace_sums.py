"""How far sums of discrete Laplace noise stray: the exact generating function, and Chernoff's bound.

Theorem.  Let Z_1, Z_2, ... be independent with Pr[z] proportional to exp(-|z| / scale), p = exp(-1 / scale), and let
E = sum of c_i Z_i with sum of c_i^2 = V and all |c_i| <= c.  With g(u) = -ln(1 - 2 p (cosh u - 1) / (1 - p)^2), for
every u in (0, 1 / scale) and beta in (0, 1),

    Pr[|E| > alpha] <= beta   for   alpha = (c / u) ((V / c^2) g(u) + ln(2 / beta)).

Proof: docs/theory/prefix.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.errors import require

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

FINER = 1.005  # bounds are computed for variances this factor apart, and rounded up to the next


def log_moment(u: float, scale: float) -> float:
    """g(u), infinite from 1 / scale on."""
    whole = 1 / scale
    share = math.exp((u - whole) / 2) * math.expm1(-u) / math.expm1(-whole)  # sinh(u / 2) / sinh(1 / (2 scale))
    inside = 1 - share * share
    return -math.log(inside) if inside > 0 else math.inf


def laplace_tail(square: float, heaviest: float, scale: float, beta: float) -> float:
    """The least alpha of the theorem, for a sum of squares and a largest factor.

    >>> round(laplace_tail(1.0, 1.0, 10.0, 0.05), 1), round(laplace_tail(64.0, 1.0, 10.0, 0.05))
    (58.5, 311)
    """
    require(0 < beta < 1, "0 < beta < 1", beta=beta)
    if square == 0:
        return 0.0
    heaviest = min(heaviest, math.sqrt(square))
    low, high = 0.0, 1 / scale

    def alpha(u: float) -> float:
        return heaviest / u * (square / heaviest**2 * log_moment(u, scale) + math.log(2 / beta)) if u else math.inf

    for _ in range(80):  # alpha is quasi-convex in u: a convex function over u
        a, b = low + (high - low) * 0.382, low + (high - low) * 0.618
        low, high = (low, b) if alpha(a) <= alpha(b) else (a, high)
    return min(alpha(low), alpha(high), alpha((low + high) / 2))


@dataclass(frozen=True, slots=True, eq=False)
class LaplaceSums:
    """Errors that are sums of Laplace noise of one scale, with these sums of squared factors.

    >>> import numpy as np
    >>> errors = LaplaceSums(np.array([1.0, 4.0]), heaviest=1.0, scale=2.0)
    >>> round(errors.accuracy(0.05), 1), errors.each(0.05).round(1)
    (20.1, array([11.7, 18. ]))
    """

    squares: npt.NDArray[np.float64]
    heaviest: float
    scale: float

    def accuracy(self, beta: float) -> float:
        """A bound on the largest of all errors: by the union of all, each like the worst."""
        require(0 < beta < 1, "0 < beta < 1", beta=beta)
        return laplace_tail(float(self.squares.max()), self.heaviest, self.scale, beta / len(self.squares))

    def each(self, beta: float) -> npt.NDArray[np.float64]:
        """A bound for each error alone."""
        import numpy as np

        least = max(float(self.squares.max()) * 1e-9, 1e-300)
        places = np.ceil(np.log(np.maximum(self.squares, least) / least) / math.log(FINER))  # rounded up on a grid
        grid, which = np.unique(places, return_inverse=True)
        bounds = [laplace_tail(least * FINER**place, self.heaviest, self.scale, beta) for place in grid]
        return np.where(self.squares > 0, np.array(bounds)[which], 0.0)
