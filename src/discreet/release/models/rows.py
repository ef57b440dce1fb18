"""Rows drawn from a table by randomised rounding, within groups that earlier columns have formed.

Theorem.  Let n rows share a row of weights p (summing to 1), let U be uniform on [0, 1), and give the k-th of them, k =
0, ..., n - 1 in a uniformly random order, the first cell whose running sum of n p exceeds k + U.  Then cell j gets
n p_j rows rounded down or up, n p_j in expectation; every single row has cell j with probability p_j; and given the
counts, which row has which cell is independent of everything drawn before.

Without the random order two children of one column would rise together (comonotone), although they are independent
given it: the marginals drawn would be right and their joint wrong.  Proof: docs/theory/models.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.errors import require

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.hazmat.entropy import RandomSource


def check_rows(rows: int) -> None:
    """Refuse a number of rows that is none."""
    require(isinstance(rows, int) and not isinstance(rows, bool) and rows >= 1, "an integer rows >= 1", rows=rows)


def draw_cells(
    weights: npt.NDArray[np.float64], groups: npt.NDArray[np.int64], rng: RandomSource
) -> npt.NDArray[np.int64]:
    """For each row of data a column of the row `groups[i]` of `weights`, whose rows need not be normalised.

    >>> import numpy as np
    >>> from discreet.hazmat.entropy import SeededRandom
    >>> drawn = draw_cells(np.array([[1.0, 3.0], [0.0, 1.0]]), np.repeat([0, 1], 100), SeededRandom(1))
    >>> int(drawn[:100].sum()), int(drawn[100:].sum())
    (75, 100)
    """
    import numpy as np

    from discreet.release.models.factor_kernels import draw

    order, cells = np.empty_like(groups), np.empty_like(groups)
    flat = np.ascontiguousarray(weights, dtype=np.float64).reshape(-1)
    while True:
        sizes = np.bincount(groups, minlength=len(weights) + 1)
        offsets = (rng.words(min(len(weights), len(groups))) >> np.uint64(11)) * 2.0**-53
        if draw(flat, groups, sizes, rng.words(len(groups)), offsets, order, cells) == 0:
            return cells  # else a word would have made the order uneven: all are drawn again


def group_of(columns: Sequence[npt.NDArray[np.int64]], sizes: Sequence[int], rows: int) -> npt.NDArray[np.int64]:
    """The place of each row among the combinations of some columns."""
    import numpy as np

    found = np.zeros(rows, dtype=np.int64)
    for column, size in zip(columns, sizes, strict=True):
        found *= size
        found += column
    return found


def split_cells(cells: npt.NDArray[np.int64], sizes: Sequence[int]) -> list[npt.NDArray[np.int64]]:
    """The columns of cells of a table of this shape."""
    import numpy as np

    return list(np.unravel_index(cells, tuple(sizes))) if math.prod(sizes) else []
