"""The compiled inner loops.  Imported only for long arrays: numba takes a moment to load."""

from __future__ import annotations

from collections.abc import Callable

import numba


def _lookup(words, thresholds, guide, shift, found):  # noqa: ANN001, ANN202 - typed by the signature below
    """found[i] = first k with thresholds[k] >= words[i], or -1 where they are equal; counts the -1s."""
    unclear = 0
    for i in range(words.size):
        word = words[i]
        k = guide[word >> shift]
        while thresholds[k] < word:
            k += 1
        if thresholds[k] == word:
            k = -1
            unclear += 1
        found[i] = k
    return unclear


def _propose(heads, words, sure, bits, values, doubtful):  # noqa: ANN001, ANN202 - typed by the signature below
    """values[i] = the signed integer at the place that words[i] chooses in block heads[i]; lists the doubtful i."""
    unsure = 0
    last = sure.size - 1
    mask = (1 << bits) - 1
    for i in range(heads.size):
        head, word = heads[i], words[i]
        sign = -(head & 1)
        size = ((head >> 1) << bits) - sign + (numba.int64(word) & mask)
        values[i] = (size ^ sign) - sign
        doubtful[unsure] = i
        unsure += word >= sure[min(head, last)]
    return unsure


def _compiled(function: Callable[..., int], signature: str) -> Callable[..., int]:
    """Compiled machine code, kept on disk where a folder can be written."""
    try:
        return numba.njit(signature, nogil=True, cache=True)(function)
    except RuntimeError:  # no writable folder for the cache
        return numba.njit(signature, nogil=True)(function)


lookup = _compiled(_lookup, "int64(uint64[::1], uint64[::1], int32[::1], uint64, int64[::1])")
propose = _compiled(_propose, "int64(int64[::1], uint64[::1], uint64[::1], int64, int64[::1], int64[::1])")
