"""The compiled loops of contribution bounding.  Imported only when an aggregation runs.

Rows are records of `width` 32-bit integers (group index, then contributions), parted by a hash of the unit
so that what follows stays in the cache.  `keys` and `at` say whose rows they are: the integer unit, or the
hash of its text and where the text lies in `arena`.

    part      the rows of one batch, parted
    settle    one part: number its units, bring each unit's rows together, choose, add up
"""

# ruff: noqa: ANN001, ANN201, ANN401 - compiled functions are typed by their signatures

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from discreet.data.engines.hashing import FIRST, MASK, SECOND

PARTS = 256
_FIRST, _SECOND, _MASK = np.uint64(FIRST), np.uint64(SECOND), np.uint64(MASK)
ODD = np.uint64(0x9E3779B97F4A7C15)
READ32, READ64 = (numba.types.Array(kind, 1, "C", readonly=True) for kind in (numba.int32, numba.int64))


def compiled(signature: Any = None, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Machine code, kept on disk where a folder can be written."""

    def made(function: Callable[..., Any]) -> Callable[..., Any]:
        arguments = [] if signature is None else [signature]
        try:
            return numba.njit(*arguments, nogil=True, cache=True, **options)(function)
        except RuntimeError:  # no writable folder for the cache
            return numba.njit(*arguments, nogil=True, **options)(function)

    return made


@compiled(inline="always")
def absorb(state, word):
    """`hashing.absorb` on unsigned 64-bit integers."""
    x = (state + word) & _MASK
    x ^= x >> np.uint64(16)
    x = (x * _FIRST) & _MASK
    x ^= x >> np.uint64(15)
    x = (x * _SECOND) & _MASK
    return x ^ (x >> np.uint64(15))


@compiled(
    numba.int64(
        READ64, READ32, numba.uint64, numba.int64[::1], numba.int32[::1], numba.int64, numba.int64,
        numba.int64[::1], numba.int32[::1],
    )
)  # fmt: skip
def part_integers(units, groups, seed, keys, records, base, width, starts, places):
    """Write units and groups of a batch at row `base`, part by part; returns the row after the last.

    starts gets the first row of each part, places the row of each candidate, or -1.
    """
    n = units.size
    counts = np.zeros(PARTS + 1, np.int64)
    for i in range(n):
        if groups[i] >= 0:
            counts[(((np.uint64(units[i]) ^ seed) * ODD) >> np.uint64(56)) + np.uint64(1)] += 1
    starts[0] = base
    for p in range(PARTS):
        starts[p + 1] = starts[p] + counts[p + 1]
        counts[p] = starts[p]
    for i in range(n):
        if groups[i] >= 0:
            p = ((np.uint64(units[i]) ^ seed) * ODD) >> np.uint64(56)
            place = counts[p]
            counts[p] = place + 1
            places[i] = place - base
            keys[place] = units[i]
            records[place * width] = groups[i]
        else:
            places[i] = -1
    return starts[PARTS]


@compiled(
    numba.void(
        READ32, numba.int32, numba.int32, numba.int32[::1], numba.int32[::1], numba.int64, numba.int64, numba.int64
    )
)
def spread(column, low, high, places, records, base, width, j):
    """Column j of the records of a batch, clamped."""
    for i in range(column.size):
        if places[i] >= 0:
            records[(base + places[i]) * width + j] = min(max(column[i], low), high)


@compiled("int64(int64[::1], int64[:, ::1], int64, uint64, int32[::1], int64[::1], int64[::1])")
def number_integers(keys, starts, p, seed, numbers, units, ends):
    """Number the units of part p in order of first appearance; returns how many there are.

    numbers[row] is a row's unit, units[k] the k-th unit, ends[k + 2] the number of its rows.
    """
    bits = 10
    slots = np.full(1 << bits, -1, np.int32)
    found, row = 0, 0
    for b in range(starts.shape[0]):
        for i in range(starts[b, p], starts[b, p + 1]):
            key = keys[i]
            x = (np.uint64(key) ^ seed) * ODD
            s = np.int64((x << np.uint64(8)) >> np.uint64(64 - bits))
            mask = (1 << bits) - 1
            while slots[s] >= 0 and units[slots[s]] != key:
                s = (s + 1) & mask
            if slots[s] < 0:
                slots[s] = found
                units[found] = key
                ends[found + 2] = 1
                found += 1
                if found * 2 > mask:
                    bits += 2
                    mask = (1 << bits) - 1
                    slots = np.full(1 << bits, -1, np.int32)
                    for k in range(found):
                        x = (np.uint64(units[k]) ^ seed) * ODD
                        t = np.int64((x << np.uint64(8)) >> np.uint64(64 - bits))
                        while slots[t] >= 0:
                            t = (t + 1) & mask
                        slots[t] = k
                numbers[row] = found - 1
            else:
                k = slots[s]
                numbers[row] = k
                ends[k + 2] += 1
            row += 1
    return found


@compiled("void(int32[::1], int64[:, ::1], int64, int64, int32[::1], int64, int64[::1], int32[::1])")
def gather(records, starts, p, width, numbers, found, ends, rows):
    """Bring the records of each unit of part p together in `rows`; those of unit k are ends[k] .. ends[k + 1] - 1."""
    ends[0] = ends[1] = 0
    for k in range(found):
        ends[k + 2] += ends[k + 1]
    row = 0
    for b in range(starts.shape[0]):
        for i in range(starts[b, p], starts[b, p + 1]):
            k = numbers[row] + 1
            place = ends[k]
            ends[k] = place + 1
            for j in range(width):
                rows[place * width + j] = records[i * width + j]
            row += 1


@compiled()
def threshold(picks, n, most, best):
    """The greatest of the `most` smallest different values of picks[:n], or the greatest value if there are fewer."""
    if most > best.size:
        ordered = np.sort(picks[:n])
        last, different = ordered[0], 1
        for i in range(1, n):
            if ordered[i] != last:
                if different == most:
                    break
                last = ordered[i]
                different += 1
        return last
    filled = 0
    for i in range(n):
        x = picks[i]
        if filled == most and x >= best[filled - 1]:
            continue
        k = filled
        while k > 0 and best[k - 1] > x:
            k -= 1
        if k > 0 and best[k - 1] == x:
            continue
        if filled < most:
            filled += 1
        for t in range(filled - 1, k, -1):
            best[t] = best[t - 1]
        best[k] = x
    return best[filled - 1]


@compiled()
def before(rows, width, hashes, a, b):
    """Whether row a comes before row b: by hash, then group, then contributions."""
    if hashes[a] != hashes[b]:
        return hashes[a] < hashes[b]
    for j in range(width):
        x, y = rows[a * width + j], rows[b * width + j]
        if x != y:
            return x < y
    return False


@compiled()
def smallest(rows, width, hashes, chosen, n, most):
    """Move the `most` first of the rows chosen[:n] to the front: a heap with the last of them on top."""
    for i in range(1, most):
        k = i
        while k > 0 and before(rows, width, hashes, chosen[(k - 1) // 2], chosen[k]):
            chosen[k], chosen[(k - 1) // 2] = chosen[(k - 1) // 2], chosen[k]
            k = (k - 1) // 2
    for i in range(most, n):
        if not before(rows, width, hashes, chosen[i], chosen[0]):
            continue
        chosen[0] = chosen[i]
        k = 0
        while True:
            child = 2 * k + 1
            if child >= most:
                break
            if child + 1 < most and before(rows, width, hashes, chosen[child], chosen[child + 1]):
                child += 1
            if not before(rows, width, hashes, chosen[k], chosen[child]):
                break
            chosen[k], chosen[child] = chosen[child], chosen[k]
            k = child


@compiled()
def row_hash(state, rows, width, i, pairs):
    """The hash of a row: its group, then both words of each contribution.  pairs[j] marks a value in two columns."""
    x = absorb(state, np.uint64(rows[i * width]))
    j = 1
    while j < width:
        value = np.int64(rows[i * width + j])
        if pairs[j]:
            value = (value << np.int64(31)) + rows[i * width + j + 1]
            j += 1
        x = absorb(x, np.uint64(value) & _MASK)
        x = absorb(x, (np.uint64(value) >> np.uint64(32)) & _MASK)
        j += 1
    return x


@compiled(
    "void(int32[::1], int64, int64[::1], int64, uint64[:, ::1], boolean[::1], uint64, uint64, int64, int64, "
    "int64[:, ::1], int64[::1], int64)"
)
def add_up(rows, width, ends, found, words, pairs, for_groups, for_rows, most_groups, most_rows, cells, seen, mark):
    """Choose groups and rows of every unit and add them: cells[g] is units, rows, then contributions."""
    longest = 0
    for k in range(found):
        longest = max(longest, ends[k + 1] - ends[k])
    picks, hashes = np.empty(longest, np.uint64), np.empty(0, np.uint64)
    chosen, best = np.empty(longest, np.int64), np.empty(32, np.uint64)
    for k in range(found):
        first, n = ends[k], ends[k + 1] - ends[k]
        kept = n
        if n > most_groups:
            state = absorb(absorb(for_groups, words[k, 0]), words[k, 1])
            for i in range(n):
                g = np.uint64(rows[(first + i) * width])
                picks[i] = (absorb(state, g) << np.uint64(32)) | g
            last = threshold(picks, n, most_groups, best)
            kept = 0
            for i in range(n):
                if picks[i] <= last:
                    chosen[kept] = first + i
                    kept += 1
        else:
            for i in range(n):
                chosen[i] = first + i
        if kept > most_rows:
            if hashes.size < ends[found]:
                hashes = np.empty(ends[found], np.uint64)
            state = absorb(absorb(for_rows, words[k, 0]), words[k, 1])
            for i in range(kept):
                hashes[chosen[i]] = row_hash(state, rows, width, chosen[i], pairs)
            smallest(rows, width, hashes, chosen, kept, most_rows)
            kept = most_rows
        for i in range(kept):
            place = chosen[i] * width
            g = rows[place]
            cells[g, 1] += 1
            for j in range(1, width):
                cells[g, j + 1] += rows[place + j]
        if seen.size > 0:
            for i in range(kept):
                g = rows[chosen[i] * width]
                if seen[g] != mark + k:
                    seen[g] = mark + k
                    cells[g, 0] += 1


@compiled("void(int64[::1], int64, uint64[:, ::1])")
def integer_words(units, found, words):
    """`hashing.words` of each unit."""
    for k in range(found):
        words[k, 0] = np.uint64(units[k]) & _MASK
        words[k, 1] = (np.uint64(units[k]) >> np.uint64(32)) & _MASK
