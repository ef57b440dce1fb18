"""The compiled loops of elimination over GF(2).  Imported only when a parity is learned: numba takes a moment to load.

`eliminate` is the method of the four Russians: eight columns at a time, the (at most 8) pivot rows of a strip are added
up in all 256 ways once, and every other row is cleared by adding one of the sums.
"""

from __future__ import annotations

from collections.abc import Callable

import numba
import numpy as np


def _eliminate(a, d, pivots):  # noqa: ANN001, ANN202 - typed by the signature below
    """Bring rows of bits to reduced echelon form in columns 0 .. d - 1, in place; returns the rank.

    Afterwards row i < rank has its first one in column pivots[i], where no other row has a one, and the rows from
    rank on are zero in all d columns.
    """
    rows, width = a.shape
    one = np.uint64(1)
    table = np.zeros((256, width), dtype=np.uint64)
    combined = np.zeros(256, dtype=np.int64)
    columns = np.zeros(8, dtype=np.int64)
    rank = 0
    for first in range(0, d, 8):
        word, shift = first >> 6, np.uint64(first & 63)
        found = 0
        for c in range(min(8, d - first)):
            for i in range(rank + found, rows):
                strip = np.int64((a[i, word] >> shift) & np.uint64(255))
                reduced = strip
                for j in range(found):
                    if strip >> columns[j] & 1:
                        reduced ^= np.int64((a[rank + j, word] >> shift) & np.uint64(255))
                if reduced >> c & 1:
                    top = rank + found
                    for j in range(found):
                        if strip >> columns[j] & 1:
                            for w in range(word, width):
                                a[i, w] ^= a[rank + j, w]
                    if i != top:
                        for w in range(word, width):
                            held = a[i, w]
                            a[i, w] = a[top, w]
                            a[top, w] = held
                    for j in range(found):
                        if (a[rank + j, word] >> (shift + np.uint64(c))) & one:
                            for w in range(word, width):
                                a[rank + j, w] ^= a[top, w]
                    columns[found] = c
                    pivots[top] = first + c
                    found += 1
                    break
        if found == 0:
            continue
        for s in range(1, 1 << found):
            low = 0
            while not (s >> low) & 1:
                low += 1
            rest = s & (s - 1)
            for w in range(word, width):
                table[s, w] = (table[rest, w] if rest else np.uint64(0)) ^ a[rank + low, w]
        for byte in range(256):
            combined[byte] = 0
            for j in range(found):
                if byte >> columns[j] & 1:
                    combined[byte] |= 1 << j
        for i in range(rows):
            if i < rank or i >= rank + found:
                s = combined[np.int64((a[i, word] >> shift) & np.uint64(255))]
                if s:
                    for w in range(word, width):
                        a[i, w] ^= table[s, w]
        rank += found
        if rank == rows:
            break
    return rank


def _products(a, mask, made):  # noqa: ANN001, ANN202 - typed by the signature below
    """made[i] = the parity of row i and the mask; returns how many are odd."""
    odd = 0
    for i in range(a.shape[0]):
        folded = np.uint64(0)
        for w in range(a.shape[1]):
            folded ^= a[i, w] & mask[w]
        for shift in (32, 16, 8, 4, 2, 1):
            folded ^= folded >> np.uint64(shift)
        made[i] = folded & np.uint64(1)
        odd += made[i]
    return odd


def _compiled(function: Callable[..., int], signature: str) -> Callable[..., int]:
    """Compiled machine code, kept on disk where a folder can be written."""
    try:
        return numba.njit(signature, nogil=True, cache=True)(function)
    except RuntimeError:  # no writable folder for the cache
        return numba.njit(signature, nogil=True)(function)


eliminate = _compiled(_eliminate, "int64(uint64[:, ::1], int64, int64[::1])")
products = _compiled(_products, "int64(uint64[:, ::1], uint64[::1], uint8[::1])")
