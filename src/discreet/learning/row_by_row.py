"""Products and lengths of rows in floating point that no other row rounds.

Theorem.  Each result is a function of its own row and of what the rows are multiplied by, to the last bit: it is the
same for a row alone and among any others, at any place.  So what is counted by it, the rows in a cell, outside a radius
or given a label, moves by the row that is added or removed and by no other.

Sums run over the entries of a row in their order, one rounded product and one rounded sum at a time.  A product of
matrices by BLAS is no such function: it adds in an order that depends on the place of a row and on how many there are.
Proof: docs/theory/estimators.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

BLOCK = 1 << 14  # sums that are worked on at a time: they stay in the cache


def products(rows: Floats, axes: Floats) -> Floats:
    """The scalar products of every row with every axis, as `rows @ axes.T` has them up to rounding: (rows, axes).

    >>> import numpy as np
    >>> products(np.array([[3.0, 1.0]]), np.array([[0.5, 0.0], [0.5, 0.5]]))
    array([[1.5, 2. ]])
    """
    import numpy as np

    found = np.empty((len(rows), len(axes)))
    length = max(1, BLOCK // max(1, len(axes)))
    weights = np.ascontiguousarray(axes.T)[:, :, None]  # (width, axes, 1)
    for start in range(0, len(rows), length):
        part = np.ascontiguousarray(rows[start : start + length].T)  # (width, rows)
        sums = np.zeros((len(axes), part.shape[1]))
        for weight, entry in zip(weights, part, strict=True):
            sums += weight * entry
        found[start : start + length] = sums.T
    return found


def squares(rows: Floats) -> Floats:
    """The squared length of every row.

    >>> import numpy as np
    >>> squares(np.array([[3.0, 4.0], [0.0, 1.0]]))
    array([25.,  1.])
    """
    import numpy as np

    found = np.zeros(len(rows))
    for start in range(0, len(rows), BLOCK):
        part = found[start : start + BLOCK]
        for entry in rows[start : start + BLOCK].T:
            part += entry * entry
    return found
