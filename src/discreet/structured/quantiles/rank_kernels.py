"""The compiled passes over the numbers.  Imported only when an array is read: numba takes a moment to load.

The code of a number x is the lattice point nearest to it, cut to 0 .. last:
floor((x - lower) inverse + 1/2) in double precision.  It depends on x alone, which is
all that privacy asks of it.
"""

# ruff: noqa: ANN001, ANN201, ANN202 - compiled functions are typed by their signatures

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

REALS = numba.types.Array(numba.float64, 1, "C", readonly=True)


def _compiled(signature: Any, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:  # noqa: ANN401
    """Machine code, kept on disk where a folder can be written."""

    def made(function: Callable[..., Any]) -> Callable[..., Any]:
        try:
            return numba.njit(signature, nogil=True, cache=True, **options)(function)
        except RuntimeError:  # no writable folder for the cache
            return numba.njit(signature, nogil=True, **options)(function)

    return made


@numba.njit(inline="always", nogil=True)
def _code(x, lower, inverse, last):
    place = (x - lower) * inverse + 0.5
    if not place > 0.0:  # also where x is not a number
        return numba.int64(0)
    return numba.int64(place) if place < last else numba.int64(last)


@_compiled(
    numba.int64(
        REALS, numba.float64, numba.float64, numba.float64, numba.int64, numba.int64[::1]
    )
)  # fmt: skip
def coarse(values, lower, inverse, last, shift, counts):
    """counts[code >> shift] += 1 for every value; returns how many are not finite."""
    bad = 0
    for i in range(values.size):
        x = values[i]
        bad += x - x != 0.0
        counts[_code(x, lower, inverse, last) >> shift] += 1
    return bad


@_compiled(numba.int64(REALS, numba.float64, numba.float64, numba.float64, numba.int64, numba.int64[::1]))
def fine(values, lower, inverse, last, first, counts):
    """counts[code - first] += 1 for every value whose code is among them."""
    size = counts.size
    for i in range(values.size):
        place = _code(values[i], lower, inverse, last) - first
        if 0 <= place < size:
            counts[place] += 1
    return 0


@_compiled(numba.int64(REALS, numba.float64, numba.float64, numba.float64, numba.int64, numba.int64, numba.int64[::1]))
def gather(values, lower, inverse, last, first, after, codes):
    """The codes in first .. after - 1, in the order of the values; returns how many."""
    found = 0
    for i in range(values.size):
        code = _code(values[i], lower, inverse, last)
        if first <= code < after:
            codes[found] = code
            found += 1
    return found
