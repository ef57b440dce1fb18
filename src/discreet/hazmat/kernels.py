"""The compiled inner loop.  Imported only for long arrays: numba takes a moment to load."""

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


def _compiled(function: Callable[..., int], signature: str) -> Callable[..., int]:
    """Compiled machine code, kept on disk where a folder can be written."""
    try:
        return numba.njit(signature, nogil=True, cache=True)(function)
    except RuntimeError:  # no writable folder for the cache
        return numba.njit(signature, nogil=True)(function)


lookup = _compiled(_lookup, "int64(uint64[::1], uint64[::1], int32[::1], uint64, int64[::1])")
