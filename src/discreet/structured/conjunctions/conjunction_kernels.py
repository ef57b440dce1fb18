"""The compiled loop over sets of literals.  Imported only when rows are counted: numba takes a moment to load.

Each literal is a column of bits, 64 rows to a word.  The sets of one size are visited in lexicographic order with the
combination of all but the last literal at hand, so that a set costs one operation and one count per word.
"""

from __future__ import annotations

from collections.abc import Callable

import numba
import numpy as np


def _level(bits, signs, size, xor, out):  # noqa: ANN001, ANN202 - typed by the signature below
    """out[i] = rows in which the literals of the i-th set are all true, or are true an odd number of times if `xor`.

    Literals number signs * attribute + polarity, and no set holds an attribute twice.
    """
    literals, words = bits.shape
    chosen = np.zeros(size, dtype=np.int64)
    prefix = np.zeros((size, words), dtype=np.uint64)
    if not xor:
        prefix[0, :] = ~np.uint64(0)
    depth = 0
    place = 0
    while depth >= 0:
        if depth == size - 1:
            for literal in range(chosen[depth], literals):
                total = 0
                for word in range(words):
                    x = prefix[depth, word] ^ bits[literal, word] if xor else prefix[depth, word] & bits[literal, word]
                    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
                    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
                    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
                    total += np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))
                out[place] = total
                place += 1
            depth -= 1
        elif chosen[depth] < literals:
            literal = chosen[depth]
            for word in range(words):
                if xor:
                    prefix[depth + 1, word] = prefix[depth, word] ^ bits[literal, word]
                else:
                    prefix[depth + 1, word] = prefix[depth, word] & bits[literal, word]
            chosen[depth] += 1
            depth += 1
            chosen[depth] = (literal // signs + 1) * signs
        else:
            depth -= 1
    return place


def _compiled(function: Callable[..., int], signature: str) -> Callable[..., int]:
    """Compiled machine code, kept on disk where a folder can be written."""
    try:
        return numba.njit(signature, nogil=True, cache=True)(function)
    except RuntimeError:  # no writable folder for the cache
        return numba.njit(signature, nogil=True)(function)


level = _compiled(_level, "int64(uint64[:, ::1], int64, int64, boolean, int64[::1])")
