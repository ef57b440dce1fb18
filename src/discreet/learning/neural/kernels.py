"""The compiled loops of training.  Imported only when a network is trained: numba takes a moment to load.

    row_squares   the squared lengths that a layer adds to the gradients of a block's rows
    add_rounded   a block, rounded to integers once, added to the total in integers
    estimates     the noisy total, in clipping lengths

What they promise is in docs/theory/private_gradients.md.
"""

# ruff: noqa: ANN001, ANN201 - compiled functions are typed by their signatures

from __future__ import annotations

import numba
import numpy as np

from discreet.data.engines.kernels import compiled

_MATRIX, _FLOATS, _INTEGERS = numba.float32[:, ::1], numba.float64[::1], numba.int64[::1]


@compiled(numba.void(_MATRIX, _MATRIX, _FLOATS, _FLOATS), fastmath={"reassoc", "contract"})
def row_squares(values, deltas, sizes, squares):
    """sizes += |value|^2 and squares += |delta|^2 (|value|^2 + 1), row by row, in 64 bits."""
    for row in range(values.shape[0]):
        size = square = 0.0
        for place in range(values.shape[1]):
            one = np.float64(values[row, place])
            size += one * one
        for place in range(deltas.shape[1]):
            one = np.float64(deltas[row, place])
            square += one * one
        sizes[row] += size
        squares[row] += square * (size + 1.0)


@compiled(numba.void(numba.float32[::1], numba.float32, _INTEGERS))
def add_rounded(block, scale, total):
    """total += block * scale, rounded to integers; scale is a power of two."""
    for place in range(block.size):
        total[place] += np.int64(np.rint(block[place] * scale))


@compiled(numba.void(_INTEGERS, _INTEGERS, numba.float64, numba.float32[::1]))
def estimates(total, noise, scale, made):
    """made = (total + noise) * scale."""
    for place in range(total.size):
        made[place] = np.float32(np.float64(total[place] + noise[place]) * scale)
