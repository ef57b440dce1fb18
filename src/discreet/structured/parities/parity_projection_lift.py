"""Parities of t attributes as entries of one matrix: the moment matrix of all products of t/2 attributes.

Theorem.  Let t be even, let w list the D = C(d, t/2) products v_S of t/2 entries of a sign vector v, and let
M = w w^T.  Then M_ST = v_U for the symmetric difference U of S and T, so M is positive semidefinite with diagonal 1,
has equal entries where the differences are equal, and holds every product of t entries C(t, t/2) times.  These
are linear and convex conditions, kept by averages over rows.  For t = 2 they define the elliptope.  For odd t a
constant attribute is put in front, and the parities of t + 1 that contain it are those of t.
Proof: docs/theory/parity_projection.md.

The nearest such matrix, measured on the products of exactly t entries, is found by alternating a projection on the
cone with averages over equal entries (ADMM; Boyd et al. 2011).
"""

from __future__ import annotations

import itertools
import math
from functools import lru_cache
from typing import TYPE_CHECKING

from discreet.errors import require
from discreet.structured.parities.correlation import positive_part
from discreet.threads import threads_by

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.structured.parities.correlation import Matrix, Vector

    Index = npt.NDArray[np.int64]

LARGEST = 4_000  # rows of the lifted matrix
STEPS = 2_000
RELAXED = 1.7  # over-relaxation


def gram(signs: npt.NDArray[np.int8]) -> npt.NDArray[np.int64]:
    """V^T V for entries -1 and 1, exactly: sums of up to 2^24 such products are exact in single precision."""
    import numpy as np

    rows, columns = signs.shape
    total = np.zeros((columns, columns), dtype=np.int64)
    step = max(1, min(1 << 24, (1 << 26) // columns))
    for start in range(0, rows, step):
        block = signs[start : start + step].astype(np.float32)
        total += (block.T @ block).astype(np.int64)
    return total


def lifted(signs: npt.NDArray[np.int8], t: int) -> npt.NDArray[np.int8]:
    """The products of t/2 entries of each row, sets in lexicographic order."""
    import numpy as np

    sets = list(itertools.combinations(range(signs.shape[1]), t // 2))
    made = np.ones((len(signs), len(sets)), dtype=np.int8)
    for place in range(t // 2):
        made *= signs[:, [chosen[place] for chosen in sets]]
    return made


@lru_cache(maxsize=8)
def structure(d: int, t: int) -> tuple[Index, int, int]:
    """For each entry of the lifted matrix the number of its parity; how many there are, and how many have size t.

    The parities of size t come first, in lexicographic order; then the smaller ones, and the empty one last.
    """
    import numpy as np

    size = math.comb(d, t // 2)
    require(size <= LARGEST, f"at most {LARGEST} products of t/2 attributes", d=d, t=t, products=size)
    masks = np.array([sum(1 << i for i in chosen) for chosen in itertools.combinations(range(d), t // 2)], dtype=object)
    order = [
        sum(1 << i for i in chosen) for s in (*range(t, 0, -2), 0) for chosen in itertools.combinations(range(d), s)
    ]
    place = {mask: number for number, mask in enumerate(order)}
    entries = np.array([place[mask] for mask in (masks[:, None] ^ masks[None, :]).ravel().tolist()], dtype=np.int64)
    return entries.reshape(size, size), len(order), math.comb(d, t)


@threads_by(lambda _noisy, *, d, t, **_named: structure(d, t)[0].size)
def nearest_moments(noisy: Vector, *, d: int, t: int, weights: Vector | None = None, tolerance: float = 1e-6) -> Vector:
    """The parities of size t of the moment matrix nearest to the noisy ones, as fractions.

    With `weights` the squared distance is weighted, and parities of weight 0 are free.  Ends when nothing moves by more
    than `tolerance`, or after `STEPS` steps.

    >>> import numpy as np
    >>> bool(abs(nearest_moments(np.array([5.0]), d=4, t=4)[0] - 1) < 1e-4)
    True
    """
    import numpy as np

    entries, parities, measured = structure(d, t)
    flat = entries.ravel()
    times = np.bincount(flat, minlength=parities)
    unit = float(times[0])  # every measured parity occurs C(t, t/2) times; this scales the steps
    wanted, present = np.zeros(parities), np.zeros(parities)
    present[:measured] = unit if weights is None else unit * weights
    wanted[:measured] = noisy * present[:measured]
    weight = 0.5
    matrix, off = np.eye(len(entries)), np.zeros_like(entries, dtype=np.float64)
    values = np.zeros(parities)
    for step in range(STEPS):
        sums = np.bincount(flat, weights=(matrix + off).ravel(), minlength=parities)
        values = (wanted + weight * sums) / (present + weight * times)
        values[-1] = 1.0
        made = values[entries]
        last = matrix
        relaxed = RELAXED * made + (1 - RELAXED) * matrix
        matrix = positive_part(relaxed - off)
        off += matrix - relaxed
        apart, moved = float(np.abs(matrix - made).max()), weight * float(np.abs(matrix - last).max())
        if max(apart, moved) <= tolerance:
            break
        if step % 20 == 19 and max(apart, moved) > 5 * min(apart, moved):
            factor = 2.0 if apart > moved else 0.5
            weight, off = weight * factor, off / factor
    return np.clip(values[:measured], -1.0, 1.0)


def true_parities(signs: npt.NDArray[np.int8], t: int) -> npt.NDArray[np.int64]:
    """The sums over rows of all products of t entries, exactly, sets in lexicographic order."""
    import numpy as np

    d = signs.shape[1]
    if t == 2:
        return gram(signs)[np.triu_indices(d, 1)]
    if t % 2:
        signs = np.concatenate([np.ones((len(signs), 1), dtype=np.int8), signs], axis=1)
    entries, parities, _ = structure(d + t % 2, t + t % 2)
    found = np.zeros(parities, dtype=np.int64)
    found[entries.ravel()] = gram(lifted(signs, t + t % 2)).ravel()
    return found[: math.comb(d, t)]


def nearest_parities(noisy: Vector, *, d: int, t: int) -> Vector:
    """The nearest parities of size t that a moment matrix has, even or odd t."""
    import numpy as np

    if t % 2 == 0:
        return nearest_moments(noisy, d=d, t=t)
    padded, weights = np.zeros(math.comb(d + 1, t + 1)), np.zeros(math.comb(d + 1, t + 1))
    padded[: len(noisy)], weights[: len(noisy)] = noisy, 1.0  # the sets with the constant come first
    return nearest_moments(padded, d=d + 1, t=t + 1, weights=weights)[: len(noisy)]


def as_pairs(matrix: Matrix) -> Vector:
    """The entries above the diagonal, row by row."""
    import numpy as np

    return matrix[np.triu_indices(len(matrix), 1)]


def as_matrix(pairs: Vector, d: int) -> Matrix:
    """Entries above the diagonal, row by row, as a symmetric matrix with diagonal 1."""
    import numpy as np

    made = np.zeros((d, d))
    made[np.triu_indices(d, 1)] = pairs
    return made + made.T + np.eye(d)
