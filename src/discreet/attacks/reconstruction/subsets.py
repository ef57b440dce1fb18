"""Questions to ask: subsets of people, as rows of zeros and ones.

A subset question is an ordinary counting query over a table of (number of the person, secret bit): how many of these
people have the bit.  Nothing about it looks like an attack.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.errors import require

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Subsets = npt.NDArray[np.uint8]

LARGEST = 20  # people, of whom all subsets can be listed


def random_subsets(people: int, count: int, *, seed: int) -> Subsets:
    """`count` subsets, each person in each by a fair coin.

    >>> random_subsets(6, 3, seed=1).shape
    (3, 6)
    """
    import numpy as np

    require(people >= 1 and count >= 1, "people >= 1 and count >= 1", people=people, count=count)
    return np.random.default_rng(seed).integers(0, 2, (count, people), dtype=np.uint8)


def all_subsets(people: int) -> Subsets:
    """All 2^n subsets; person j is bit j of the number of the subset.

    >>> all_subsets(2).tolist()
    [[0, 0], [1, 0], [0, 1], [1, 1]]
    """
    import numpy as np

    require(1 <= people <= LARGEST, f"1 to {LARGEST} people", people=people)
    numbers = np.arange(1 << people, dtype=np.int64)
    return (numbers[:, None] >> np.arange(people) & 1).astype(np.uint8)


def hadamard_subsets(people: int) -> Subsets:
    """The n subsets (1 + H) / 2 of Sylvester's Hadamard matrix, for n a power of two: the first is everybody.

    >>> hadamard_subsets(4).tolist()
    [[1, 1, 1, 1], [1, 0, 1, 0], [1, 1, 0, 0], [1, 0, 0, 1]]
    """
    import numpy as np

    require(people >= 1 and people & (people - 1) == 0, "a power of two", people=people)
    made = np.ones((1, 1), dtype=np.int8)
    while len(made) < people:
        made = np.block([[made, made], [made, -made]])
    return ((made + 1) // 2).astype(np.uint8)
