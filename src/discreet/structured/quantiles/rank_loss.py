"""The rank loss: how many rows, in whole numbers, a cell of a grid is away from a quantile.

Let rows be counted on a grid of ordered cells, n in all, L_j of them in cells before cell j and
R_j in cells up to and including it.  For the quantile q = a / b the loss of cell j is the integer

    loss_j = max(0, b L_j - T, T - b R_j),   T = a n,

b times the distance in rows from q n to [L_j, R_j]: zero if the quantile lies in the cell.
For q = 0 and q = 1, the least and the greatest, T is moved inward by a public `margin` of m rows:
T = min(m, n), or n - min(m, n).

Theorem.  Some cell has loss zero, and adding or removing one row moves every loss by at most
max(a, b - a), which is attained.  Proof: docs/theory/quantiles.md.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import require
from discreet.hazmat.integers import integers
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Losses = npt.NDArray[np.int64] | npt.NDArray[np.object_]

FINEST = 10**6  # the largest denominator of a quantile
MOST = 2**62  # no cell holds more rows
LARGE = 2.0**61  # beyond this 64-bit losses might wrap


def quantile_fraction(quantile: Number) -> Fraction:
    """The quantile as a fraction in [0, 1]: the nearest one with a denominator of at most 10^6.

    >>> quantile_fraction(3 * 0.1)  # 0.30000000000000004
    Fraction(3, 10)
    """
    q = exact(quantile)
    require(0 <= q <= 1, "0 <= quantile <= 1", quantile=quantile)
    return q.limit_denominator(FINEST)


def row_sensitivity(quantile: Fraction) -> int:
    """The most that one row moves the loss of a cell: max(a, b - a).

    >>> row_sensitivity(Fraction(1, 2)), row_sensitivity(Fraction(9, 10))
    (1, 9)
    """
    return max(quantile.numerator, quantile.denominator - quantile.numerator)


def grid_counts(counts: object, *, size: int) -> npt.NDArray[np.int64]:
    """Counts as 64-bit integers whose last axis is the grid."""
    import numpy as np

    table = integers(counts)
    shape = np.shape(table)
    require(len(shape) >= 1 and shape[-1] == size, f"counts whose last axis has {size} cells", shape=shape)
    return np.clip(np.asarray(table), 0, MOST).astype(np.int64)


def rank_loss(counts: npt.NDArray[np.int64], quantile: Fraction, *, margin: int = 0) -> Losses:
    """The loss of every cell, for counts whose last axis is the grid: 64-bit, or Python integers where those wrap.

    >>> import numpy as np
    >>> rank_loss(np.array([1, 1, 3, 1]), Fraction(1, 2))  # the median, rank 3, lies in the third cell
    array([4, 2, 0, 4])
    """
    import numpy as np

    a, b = quantile.numerator, quantile.denominator
    largest = float(counts.sum(axis=-1, dtype=np.float64).max(initial=0.0))
    if b * largest + margin >= LARGE:
        counts = counts.astype(object)
    upto = np.cumsum(counts, axis=-1)
    n = upto[..., -1:]
    if a == 0:
        target = np.minimum(n, margin)
    elif a == b:
        target = n - np.minimum(n, margin)
    else:
        target = a * n
    loss = b * upto
    np.subtract(target, loss, out=loss)  # T - b R
    above = loss + b * counts  # T - b L
    np.negative(above, out=above)
    np.maximum(loss, above, out=loss)
    return np.maximum(loss, 0, out=loss)
