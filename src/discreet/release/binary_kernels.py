"""The compiled loops over universes of bits.  Imported only when one is estimated: numba takes a moment to load.

They do on one core what products of matrices do on a device, with fewer operations: sums with signs are sums and
differences of halves, and the exponential is a polynomial that runs on all lanes of the processor.
"""

# ruff: noqa: ANN001, ANN201 - compiled functions are typed by their signatures

from __future__ import annotations

import numba
import numpy as np

from discreet.data.engines.kernels import compiled

FLOATS = numba.float32[::1]
MATRIX = numba.float32[:, ::1]
FREE = {"contract", "reassoc", "nsz", "arcp"}  # the order of sums is free; NaN and infinity keep their meaning


@compiled(
    [
        numba.int64(kind[::1], numba.int64, numba.int64, kind[::1], kind[::1], numba.int64[::1])
        for kind in (numba.float32, numba.float64)
    ],
    fastmath=FREE,
)
def fold(cells, bits, degree, first, second, degrees):
    """Sums of `cells` (2^bits blocks) with the signs of every set of at most `degree` bits, in the order of `folded`.

    They are left in `first` where bits is odd and in `second` where it is even.
    """
    count, size = 1, cells.size
    degrees[0] = 0
    source = cells
    for level in range(bits):
        half = size >> 1
        target = first if level % 2 == 0 else second
        made = count
        for block in range(count):
            low = source[block * size : block * size + half]
            high = source[block * size + half : (block + 1) * size]
            both = target[block * half : (block + 1) * half]
            if degrees[block] < degree:
                unlike = target[made * half : (made + 1) * half]
                degrees[made] = degrees[block] + 1
                made += 1
                for j in range(half):
                    a, b = low[j], high[j]
                    both[j] = a + b
                    unlike[j] = a - b
            else:
                for j in range(half):
                    both[j] = low[j] + high[j]
        source, count, size = target, made, half
    return count


@compiled(numba.void(FLOATS, MATRIX, FLOATS, FLOATS, numba.int32[::1], FLOATS), fastmath=FREE)
def exponentials(factors, right, made, whole, power, scale):
    """made[j] = exp(sum over k of factors[k] right[k, j]), to a few units of the last place."""
    width = right.shape[1]
    rank = right.shape[0]
    for j in range(width):
        made[j] = 0
    k = 0
    while k + 3 < rank:
        a, b, c, d = factors[k], factors[k + 1], factors[k + 2], factors[k + 3]
        p, q, r, s = right[k], right[k + 1], right[k + 2], right[k + 3]
        for j in range(width):
            made[j] += (a * p[j] + b * q[j]) + (c * r[j] + d * s[j])
        k += 4
    while k < rank:
        a, p = factors[k], right[k]
        for j in range(width):
            made[j] += a * p[j]
        k += 1
    for j in range(width):  # e^x = 2^w 2^f with w whole and |f| <= 1/2
        x = min(max(made[j] * np.float32(1.4426950408889634), np.float32(-126)), np.float32(127))
        w = np.floor(x + np.float32(0.5))
        whole[j] = x - w
        power[j] = (np.int32(w) + 127) << 23
    for j in range(width):
        f = whole[j]
        value = np.float32(1.5403530393381606e-4)
        value = value * f + np.float32(1.3333558146428443e-3)
        value = value * f + np.float32(9.6181291076284772e-3)
        value = value * f + np.float32(5.5504108664821580e-2)
        value = value * f + np.float32(2.4022650695910072e-1)
        value = value * f + np.float32(6.9314718055994531e-1)
        value = value * f + np.float32(1.0)
        made[j] = value * scale[j]


@compiled(numba.void(MATRIX, MATRIX, numba.int64, numba.int64, MATRIX), fastmath=FREE)
def rows_folded(left, right, bits, degree, out):
    """For every row i, exp(left[i] right) folded by its first `bits` bits into out[i]."""
    width = right.shape[1]
    made, whole = np.empty(width, np.float32), np.empty(width, np.float32)
    first, second = np.empty(width, np.float32), np.empty(width, np.float32)
    power = np.empty(width, np.int32)
    scale = power.view(np.float32)
    degrees = np.empty(out.shape[1], np.int64)
    for i in range(left.shape[0]):
        exponentials(left[i], right, made, whole, power, scale)
        fold(made, bits, degree, first, second, degrees)
        out[i, :] = (first if bits % 2 == 1 else second)[: out.shape[1]]


@compiled(numba.void(MATRIX, MATRIX, MATRIX), fastmath=FREE)
def rows_made(left, right, out):
    """For every row i, exp(left[i] right)."""
    width = right.shape[1]
    whole, power = np.empty(width, np.float32), np.empty(width, np.int32)
    scale = power.view(np.float32)
    for i in range(left.shape[0]):
        exponentials(left[i], right, out[i], whole, power, scale)


@compiled(numba.void(MATRIX, MATRIX, MATRIX), fastmath=FREE)
def product(left, right, out):
    """left^T right, for thin matrices: no thread is waited for."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = 0
        for k in range(left.shape[0]):
            a, row = left[k, i], right[k]
            for j in range(out.shape[1]):
                out[i, j] += a * row[j]
