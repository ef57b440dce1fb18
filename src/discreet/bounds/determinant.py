"""The determinant lower bound of hereditary discrepancy.

Theorem (Lovasz, Spencer, Vesztergombi 1986).  For every square submatrix B of k rows and columns,

    herdisc(W) >= |det B|^(1/k) / 2.

detlb(W), the largest |det B|^(1/k), is at most gamma_2(W).  Any B is a proof, so B may come from any search: all
submatrices where they are few, otherwise greedy pivots with exchanges of a row or a column.  Its determinant is then
computed in integers.  Proof: docs/theory/discrepancy.md.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.bounds.discrepancy_matrix import colourable
from discreet.privacy.number import down
from discreet.threads import threads_by

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.bounds.discrepancy_matrix import Integers
    from discreet.queries.workload import Workload

    Reals = npt.NDArray[np.float64]

FEW = 60_000  # submatrices that are all tried
SIDE = 64  # of the largest submatrix that is tried
EXCHANGES = 50


@dataclass(frozen=True, kw_only=True, slots=True)
class Determinant:
    """|det B|^(1/k), rounded down, for the submatrix of these rows and columns; `exact` if no other has more.

    >>> round(determinant_bound([[1, 1], [1, -1]]).value, 3)
    1.414
    """

    value: float
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    exact: bool


def determinant_bound(workload: Workload | npt.ArrayLike) -> Determinant:
    """The largest |det B|^(1/k) that was found; half of it is a lower bound of the hereditary discrepancy.

    >>> import numpy as np
    >>> determinant_bound(np.tril(np.ones((4, 4), dtype=int)))  # unimodular
    Determinant(value=1.0, rows=(0,), columns=(0,), exact=True)
    """
    read = colourable(workload)
    queries, columns = read.rows.shape
    every = math.comb(queries + columns, columns) <= FEW
    picked: tuple[tuple[int, ...], tuple[int, ...]] = ((0,), (0,))
    candidates = _all(read.rows) if every else _greedy(read.rows)
    most = -math.inf
    for chosen_rows, chosen_columns, log in candidates:
        if log / len(chosen_rows) > most + 1e-12:
            most, picked = log / len(chosen_rows), (chosen_rows, chosen_columns)
    import numpy as np

    block = read.rows[np.ix_(picked[0], picked[1])]
    size = len(picked[0])
    best = Fraction(abs(_determinant(block.tolist()))) / read.unit**size
    if read.slack:  # each entry moved by at most 1 / (2 unit): columns by that times the root of the side
        best = max(Fraction(0), best - _moved(block, read.unit))
    return Determinant(
        value=_root(best, size),
        rows=tuple(int(place) for place in read.places[list(picked[0])]),
        columns=tuple(picked[1]),
        exact=every and not read.slack,
    )


def _moved(block: Integers, unit: Fraction) -> Fraction:
    """How far the determinant can be from that of the rounded entries: Hadamard's bound for each changed column."""
    size = len(block)
    lengths = [math.isqrt(int((column.astype(object) ** 2).sum())) + 1 + size for column in block.T]
    change = Fraction(math.isqrt(size) + 1, 2)
    whole = Fraction(0)
    for place in range(size):
        whole += change * math.prod(lengths[:place] + lengths[place + 1 :])
    return whole / unit**size


def _root(value: Fraction, power: int) -> float:
    """value^(1/power), rounded down."""
    if value <= 0:
        return 0.0
    guess = math.exp((math.log(value.numerator) - math.log(value.denominator)) / power)
    for candidate in (float(round(guess)), math.nextafter(guess, math.inf), guess):
        if Fraction(candidate) ** power <= value and candidate >= guess * (1 - 1e-15):
            return down(Fraction(candidate))
    return guess * (1 - 1e-12)


def _determinant(block: list[list[int]]) -> int:
    """In integers, by Bareiss's elimination without fractions."""
    matrix = [row[:] for row in block]
    size, sign, previous = len(matrix), 1, 1
    for step in range(size - 1):
        pivot = next((row for row in range(step, size) if matrix[row][step]), None)
        if pivot is None:
            return 0
        if pivot != step:
            matrix[step], matrix[pivot], sign = matrix[pivot], matrix[step], -sign
        for row in range(step + 1, size):
            for column in range(step + 1, size):
                crossed = matrix[row][column] * matrix[step][step] - matrix[row][step] * matrix[step][column]
                matrix[row][column] = crossed // previous
        previous = matrix[step][step]
    return sign * matrix[-1][-1]


@threads_by(lambda rows: rows.size)
def _all(rows: Integers) -> list[tuple[tuple[int, ...], tuple[int, ...], float]]:
    """Every square submatrix, with the logarithm of its determinant."""
    import numpy as np

    queries, columns = rows.shape
    found = []
    for size in range(1, min(queries, columns) + 1):
        below = list(itertools.combinations(range(queries), size))
        beside = list(itertools.combinations(range(columns), size))
        picked = np.array(below)
        for chosen in beside:
            blocks = rows[picked[:, :, None], np.array(chosen)[None, None, :]].astype(np.float64)
            sizes = abs(np.linalg.det(blocks))
            best = int(np.argmax(sizes))
            if sizes[best] > 0.5:
                found.append((below[best], chosen, math.log(float(sizes[best]))))
    return found or [((0,), (0,), -math.inf)]


@threads_by(lambda rows: rows.size)
def _greedy(rows: Integers) -> list[tuple[tuple[int, ...], tuple[int, ...], float]]:
    """For each side up to the rank: pivots of largest volume, then exchanges."""
    import numpy as np
    from scipy.linalg import qr

    matrix = rows.astype(np.float64)
    rank = min(SIDE, int(np.linalg.matrix_rank(matrix)))
    columns = qr(matrix, mode="r", pivoting=True)[-1]
    found = []
    for size in range(1, rank + 1):
        beside = list(columns[:size])
        below = qr(matrix[:, beside].T, mode="r", pivoting=True)[-1]
        found.append(_exchanged(matrix, list(below[:size]), beside))
    return found or [((0,), (0,), -math.inf)]


def _exchanged(matrix: Reals, below: list[int], beside: list[int]) -> tuple[tuple[int, ...], tuple[int, ...], float]:
    """Exchange a row or a column for another while the determinant grows by more than a hundredth."""
    import numpy as np

    for _ in range(EXCHANGES):
        block = matrix[np.ix_(below, beside)]
        sign, log = np.linalg.slogdet(block)
        if not sign:
            break
        by_row = np.linalg.solve(block.T, matrix[:, beside].T).T  # det is multiplied by [new, place]
        by_column = np.linalg.solve(block, matrix[below])
        if abs(by_row).max() >= abs(by_column).max() and abs(by_row).max() > 1.01:
            new, place = np.unravel_index(np.argmax(abs(by_row)), by_row.shape)
            below[place] = int(new)
        elif abs(by_column).max() > 1.01:
            place, new = np.unravel_index(np.argmax(abs(by_column)), by_column.shape)
            beside[place] = int(new)
        else:
            break
    sign, log = np.linalg.slogdet(matrix[np.ix_(below, beside)])
    order, across = sorted(int(row) for row in below), sorted(int(column) for column in beside)
    return tuple(order), tuple(across), float(log) if sign else -math.inf
