"""The best factors of a running count whose total is known, in closed form and applied by fast transforms.

Let x be one of M + 1 cells, and let S have S[i, x] = 1 if x <= i, else -1, for i = 0 .. M - 1: the queries 1[x <= i]
are (1 + S) / 2, and the last one, which is 1 for everybody, is not asked.

Theorem.  On the first M cells S is skew-circulant, S[i, x] = s[i - x] with s[k - M] = -s[k] and s = 1, and the last
column is minus the first.  Its eigenvalues have the moduli 1 / sin((2k + 1) pi / (2M)), k = 0 .. M - 1.  With

    A = |S|^(1/2),   R = S |S|^(-1/2) / 2,

both skew-circulant, R A = S / 2; all columns of A, and all rows of R, have the same norm, and

    (norm of a row of R) (norm of a column of A) = (1 / (2M)) sum over k of 1 / sin((2k + 1) pi / (2M)),

which is (ln M + 0.5772 + ln(8 / pi) + o(1)) / pi, and the gamma_2 norm of S / 2: no other factors of S / 2 have less.
Proof: docs/theory/local_factorization.md.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Whole = npt.NDArray[np.int64]


def moduli(dimension: int) -> Floats:
    """|lambda_k| = 1 / sin((2k + 1) pi / (2M)).

    >>> moduli(2).round(4)
    array([1.4142, 1.4142])
    """
    import numpy as np

    return 1 / np.sin((2 * np.arange(dimension) + 1) * (np.pi / (2 * dimension)))


def threshold_norm(cells: int) -> float:
    """gamma_2 of running counts over so many cells whose total is known.

    >>> round(threshold_norm(2), 6), round(threshold_norm(1024), 6)
    (0.5, 2.687306)
    """
    return float(moduli(cells - 1).mean()) / 2


@lru_cache(maxsize=16)
def encoder(dimension: int) -> Floats:
    """Minus the first column of A, and then that column: column x of A starts at place M - x, for x = 0 .. M."""
    import numpy as np

    twist = np.exp(-1j * np.pi * np.arange(dimension) / dimension)
    first = (np.fft.ifft(np.sqrt(moduli(dimension))) / twist).real
    return np.concatenate([-first, first])


def columns(dimension: int, cells: Whole) -> Floats:
    """The columns of A for these cells, as rows.

    >>> import numpy as np
    >>> np.abs(columns(2, np.array([0, 1, 2]))).round(4)
    array([[1.1892, 0.    ],
           [0.    , 1.1892],
           [1.1892, 0.    ]])
    """
    import numpy as np

    return np.lib.stride_tricks.sliding_window_view(encoder(dimension), dimension)[dimension - cells]


def decoded(vector: Floats) -> Floats:
    """R times a vector.

    >>> import numpy as np
    >>> decoded(columns(2, np.array([1]))[0]).round(4)  # the second cell: not counted by the first query
    array([-0.5,  0.5])
    """
    import numpy as np

    size = len(vector)
    twist = np.exp(-1j * np.pi * np.arange(size) / size)
    eigenvalues = np.fft.fft(twist)  # of S
    return (np.fft.ifft(np.fft.fft(vector * twist) * eigenvalues / np.sqrt(np.abs(eigenvalues))) / twist).real / 2
