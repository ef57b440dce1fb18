"""Counts of all sets of literals up to a size, and where to find each.

    parities       the sum over rows of the product of the signs of a set of attributes (1 for True, -1 for False)
    conjunctions   how many rows satisfy a set of literals; a literal is an attribute and a polarity
    monotone       the same with positive literals only

Sets of one size are in lexicographic order of their literals, and sizes come one after another.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Kind = Literal["parity", "conjunction", "monotone"]


def level_sizes(kind: Kind, d: int, degree: int) -> list[int]:
    """The number of sets of 0, 1, ..., degree literals.

    >>> level_sizes("parity", 50, 3), level_sizes("conjunction", 3, 2)
    ([1, 50, 1225, 19600], [1, 6, 12])
    """
    return [math.comb(d, s) * (2**s if kind == "conjunction" else 1) for s in range(degree + 1)]


def place(kind: Kind, d: int, literals: Sequence[tuple[int, bool]]) -> int:
    """The number of a set among those of its size; literals are in the order of their attributes.

    >>> place("parity", 4, [(0, True), (2, True)]), place("conjunction", 2, [(0, False), (1, True)])
    (1, 2)
    """
    signs, found, before, size = 2 if kind == "conjunction" else 1, 0, -1, len(literals)
    for position, (attribute, positive) in enumerate(literals):
        left = size - position
        found += (math.comb(d - before - 1, left) - math.comb(d - attribute, left)) * signs**left
        if signs == 2 and not positive:
            found += math.comb(d - attribute - 1, left - 1) * 2 ** (left - 1)
        before = attribute
    return found


def level_counts(rows: npt.NDArray[np.bool_], kind: Kind, degree: int) -> list[npt.NDArray[np.int64]]:
    """The counts of every size, from 0 on.

    >>> import numpy as np
    >>> rows = np.array([[True, False], [True, True]])
    >>> [level.tolist() for level in level_counts(rows, "parity", 2)]
    [[2], [2, 0], [0]]
    >>> [level.tolist() for level in level_counts(rows, "conjunction", 1)]
    [[2], [2, 0, 1, 1]]
    """
    import numpy as np

    from discreet.structured.conjunctions.conjunction_kernels import level

    n, d = rows.shape
    if kind == "parity":
        columns = ~rows.T
    elif kind == "monotone":
        columns = rows.T
    else:
        columns = np.stack([rows.T, ~rows.T], axis=1).reshape(2 * d, n)
    words = np.zeros((len(columns), max(1, -(-n // 64)) * 8), dtype=np.uint8)
    packed = np.packbits(columns, axis=1)
    words[:, : packed.shape[1]] = packed
    bits = words.view(np.uint64)
    found = [np.array([n], dtype=np.int64)]
    for size, sets in enumerate(level_sizes(kind, d, degree)[1:], start=1):
        counts = np.empty(sets, dtype=np.int64)
        filled = level(bits, len(columns) // d, size, kind == "parity", counts)
        assert filled == sets
        found.append(n - 2 * counts if kind == "parity" else counts)
    return found
