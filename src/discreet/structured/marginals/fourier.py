"""Parities and marginal tables of bits, each from the other: the Walsh-Hadamard transform of every table.

The sign of a bit is -1 for a one.  A cell (b_1, ..., b_t) of the table of t bits counts the rows with

    prod over i of (1 + (-1)^b_i sign_i) / 2  =  2^-t sum over sets T of the t bits of (-1)^(sum of b over T) parity_T.

Theorem (Barak, Chaudhuri, Dwork, Kale, McSherry, Talwar 2007).  A transform of 2^t numbers turns a table into its
parities and, divided by 2^t, back.  If every parity of at most t bits is off by at most e, so is every cell of every
table: the absolute coefficients sum to exactly 1.  Proof: docs/theory/residual.md, section 4.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

from discreet.errors import require

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


def walsh_hadamard(tables: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The transform of every row of an array of 2^t columns; integers stay integers.

    >>> import numpy as np
    >>> walsh_hadamard(np.array([[3, 1, 0, 2]])).tolist()
    [[6, 0, 2, 4]]
    """
    import numpy as np

    made = np.asarray(tables)
    require(made.ndim == 2, "an array of rows", dimensions=made.ndim)
    rows, size = made.shape
    require(size >= 1 and size & (size - 1) == 0, "a power of two columns", columns=size)
    step = 1
    while step < size:
        halves = made.reshape(rows, -1, 2, step)
        made = np.stack([halves[:, :, 0] + halves[:, :, 1], halves[:, :, 0] - halves[:, :, 1]], axis=2)
        step *= 2
    return made.reshape(rows, size)


def tables_from_parities(answers: npt.NDArray[Any], *, d: int, t: int) -> npt.NDArray[np.float64]:
    """All t-way tables of d bits, one after another, from all parities of at most t bits in the order of `parities`.

    >>> import numpy as np
    >>> from discreet.queries.products import parities
    >>> cells = np.array([3, 1, 0, 2])
    >>> tables_from_parities(parities(2, 2, at_most=True).apply(cells), d=2, t=2).tolist()
    [3.0, 1.0, 0.0, 2.0]
    """
    import numpy as np

    places = _places(d, t)
    given = np.asarray(answers, dtype=np.float64)
    require(given.shape == (places.max() + 1,), f"{places.max() + 1} parities", answers=given.shape)
    return (walsh_hadamard(given[places]) / 2.0**t).reshape(-1)


def parities_from_tables(tables: npt.NDArray[Any], *, d: int, t: int) -> npt.NDArray[np.float64]:
    """All parities of at most t bits from all t-way tables of d bits: the mean over the tables that show them.

    >>> import numpy as np
    >>> parities_from_tables(np.array([3, 1, 0, 2]), d=2, t=2).tolist()
    [6.0, 2.0, 0.0, 4.0]
    """
    import numpy as np

    places = _places(d, t)
    given = np.asarray(tables, dtype=np.float64)
    require(given.shape == (places.size,), f"{places.size} cells", cells=given.shape)
    found = walsh_hadamard(given.reshape(-1, 1 << t))
    sums = np.bincount(places.ravel(), weights=found.ravel())
    return sums / np.bincount(places.ravel())


def _places(d: int, t: int) -> npt.NDArray[np.int64]:
    """For every set of t bits and each of its subsets, where the parity of the subset is; the first bit counts most."""
    import numpy as np

    require(0 <= t <= d, "0 <= t <= d", d=d, t=t)
    number = {
        chosen: place
        for place, chosen in enumerate(
            itertools.chain.from_iterable(itertools.combinations(range(d), size) for size in range(t + 1))
        )
    }
    out = np.empty((math.comb(d, t), 1 << t), dtype=np.int64)
    for row, members in enumerate(itertools.combinations(range(d), t)):
        for mask in range(1 << t):
            out[row, mask] = number[tuple(m for i, m in enumerate(members) if mask >> (t - 1 - i) & 1)]
    return out
