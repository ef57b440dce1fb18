"""A uniform solution of linear equations over GF(2), or none.

The first d + 64 equations are eliminated; if they have full rank, their one solution is tried on all others, which
takes a pass over the words.  Otherwise the equations so far, reduced, and the next d + 64 are eliminated together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.hazmat.entropy import RandomSource
from discreet.learning.pac.bit_rows import BitRows

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Words = npt.NDArray[np.uint64]
    Bits = npt.NDArray[np.int64]

SPARE = 64  # equations beyond d in a batch: random ones then have full rank but for a chance of 2^-64


def uniform_solution(system: Words, d: int, rng: RandomSource) -> Bits | None:
    """A solution of all equations, each with the same probability; None if they contradict one another.

    Columns 0 .. d - 1 of the system hold the equations, column d the right-hand sides.

    >>> import numpy as np
    >>> from discreet.hazmat.entropy import SeededRandom
    >>> uniform_solution(np.array([[0b101], [0b010]], dtype=np.uint64), 2, SeededRandom(1))  # x0 = 1, x1 = 0
    array([1, 0])
    >>> uniform_solution(np.array([[0b101], [0b001]], dtype=np.uint64), 2, SeededRandom(1)) is None  # x0 = 1 and 0
    True
    """
    import numpy as np

    from discreet.learning.pac.parity_kernels import eliminate, products

    pivots = np.empty(d, dtype=np.int64)
    held = system[:0]
    place, rank = 0, 0
    while place < len(system) and rank < d:
        batch = system[place : place + d + SPARE]
        place += len(batch)
        held = np.concatenate([held, batch])
        rank = int(eliminate(held, d, pivots))
        if held[rank:, d // 64].any():  # zero but for the right-hand side: 0 = 1
            return None
        held = held[:rank]
    solution = np.zeros(d, dtype=np.int64)
    bound = pivots[:rank]
    free = np.setdiff1d(np.arange(d), bound)
    solution[free] = _fair_bits(len(free), rng)
    made = np.empty(rank, dtype=np.uint8)
    products(held, _mask(solution, d), made)
    solution[bound] = made
    rest = system[place:]  # left only where the rank is full: there is no other solution
    if products(rest, _mask(solution, d), np.empty(len(rest), dtype=np.uint8)):
        return None
    return solution


def _fair_bits(count: int, rng: RandomSource) -> Bits:
    import numpy as np

    words = rng.words(-(-count // 64))
    return np.unpackbits(words.view(np.uint8))[:count].astype(np.int64)


def _mask(solution: Bits, d: int) -> Words:
    """The solution with a one in column d: an equation holds where its product with the mask is even."""
    import numpy as np

    return BitRows.pack(np.append(solution, 1)[None, :]).words[0]
