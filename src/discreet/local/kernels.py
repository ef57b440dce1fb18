"""The compiled loops of the local model.  Imported when reports are drawn or counted: numba takes a moment to load.

Every random decision is made from words that the caller drew; nothing here draws.
"""

# ruff: noqa: ANN001, ANN201 - compiled functions are typed by their signatures

from __future__ import annotations

import numba
import numpy as np

from discreet.data.engines.kernels import compiled

PLANES = 8  # bits of the counters that stand for 64 columns at once
WORDS, TABLE, CELLS = numba.uint64[:, ::1], numba.int16[:, ::1], numba.int64[::1]
READ, READ_CELLS = (numba.types.Array(kind, 1, "C", readonly=True) for kind in (numba.uint64, numba.int64))
READ_ROWS = numba.types.Array(numba.uint64, 2, "C", readonly=True)
ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
ZERO, SINGLE = np.uint64(0), np.uint64(1)


@compiled(numba.int64(READ, numba.uint64, numba.int64, numba.uint64[::1], numba.int64))
def biased_bits(words, level, width, out, at):
    """Fill out[at:] with words of independent bits, each 1 with probability level / 2^width; stops when words run out.

    Bit plane by bit plane, 64 uniform numbers are compared with the level at once: where the first bit in which
    they differ is 1 in the level, the number is below it.  Returns how far it came.
    """
    used = 0
    while at < out.size and used + width <= words.size:
        open_, ones = ALL, ZERO
        plane = width - 1
        while open_ != ZERO and plane >= 0:
            word = words[used]
            used += 1
            if (level >> np.uint64(plane)) & SINGLE:
                ones |= open_ & ~word
                open_ &= word
            else:
                open_ &= ~word
            plane -= 1
        out[at] = ones
        at += 1
    return at


@compiled(numba.void(READ_ROWS, CELLS))
def column_sums(rows, sums):
    """sums[64 w + b] += how many rows have bit b of word w: counters in bit planes, emptied every 255 rows."""
    count, width = rows.shape
    planes = np.zeros((PLANES, width), np.uint64)
    for start in range(0, count, 255):
        planes[:, :] = ZERO
        for i in range(start, min(start + 255, count)):
            for w in range(width):
                carry = rows[i, w]
                for p in range(PLANES):
                    old = planes[p, w]
                    planes[p, w] = old ^ carry
                    carry &= old
        for w in range(width):
            for b in range(64):
                total = 0
                for p in range(PLANES):
                    total += numba.int64((planes[p, w] >> np.uint64(b)) & SINGLE) << p
                sums[64 * w + b] += total


@compiled(numba.int64(READ, WORDS, READ_CELLS, READ_CELLS, numba.int64, numba.int64))
def exact_sizes(words, rows, values, sizes, bound, at):
    """Make rows[i] a uniform set of sizes[i] of the `bound` values other than values[i], from independent bits.

    Values are added to or taken from the set, uniformly among those that can be; words choose them by rejection.
    Returns the first row that was not finished because the words ran out; that row may be continued.
    """
    used = 0
    width = rows.shape[1]
    bits = 1
    while (1 << bits) < bound:
        bits += 1
    shift = np.uint64(64 - bits)
    while at < rows.shape[0]:
        own = values[at]
        rows[at, own >> 6] &= ~(SINGLE << np.uint64(own & 63))
        have = 0
        for w in range(width):
            x = rows[at, w]
            x -= (x >> SINGLE) & np.uint64(0x5555555555555555)
            x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
            x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
            have += numba.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))
        while have != sizes[at]:
            if used == words.size:
                return at
            place = numba.int64(words[used] >> shift)
            used += 1
            if place >= bound or place == own:
                continue
            bit = SINGLE << np.uint64(place & 63)
            member = (rows[at, place >> 6] & bit) != ZERO
            if have < sizes[at] and not member:
                rows[at, place >> 6] |= bit
                have += 1
            elif have > sizes[at] and member:
                rows[at, place >> 6] ^= bit
                have -= 1
        at += 1
    return at


@compiled(numba.void(READ_CELLS, CELLS, numba.int64, numba.int64, TABLE, TABLE))
def fold(source, target, order, low, times, minus):
    """One digit of the sums along hyperplanes: target[.. x .., s] = sum over a of source[.. a .., s + a x]."""
    high = source.size // (order * order * low)
    for block in range(high):
        for a in range(order):
            for rest in range(low):
                row = ((block * order + a) * low + rest) * order
                for y in range(order):
                    value = source[row + y]
                    if value == 0:
                        continue
                    for x in range(order):
                        target[((block * order + x) * low + rest) * order + minus[y, times[a, x]]] += value


@compiled(numba.void(READ_CELLS, CELLS, numba.int64, TABLE))
def fold_last(source, target, order, times):
    """The last digit, where only s = 0 is asked for: target[.. x] = sum over a of source[.. a, a x]."""
    for block in range(target.size // order):
        for a in range(order):
            row = (block * order + a) * order
            for x in range(order):
                target[block * order + x] += source[row + times[a, x]]


@compiled(inline="always")
def expand(point, order, digits):
    """Write the vector of a point, whose first nonzero coordinate is 1; returns where that is."""
    tail, size, start = 0, 1, 0
    while point >= start + size:
        start += size
        size *= order
        tail += 1
    left = point - start
    for c in range(digits.size - 1, -1, -1):
        digits[c] = left % order
        left //= order
    lead = digits.size - 1 - tail
    digits[lead] = 1
    return lead


@compiled(inline="always")
def place(digits, order, times, inverse):
    """The number of the point on which a nonzero vector lies."""
    lead = 0
    while digits[lead] == 0:
        lead += 1
    scale = inverse[digits[lead]]
    tail, start, size = 0, 0, 1
    for c in range(lead + 1, digits.size):
        tail = tail * order + times[scale, digits[c]]
        start += size
        size *= order
    return start + tail


@compiled(
    numba.void(
        READ_CELLS,
        numba.boolean[::1],
        READ_CELLS,
        numba.int64,
        numba.int64,
        TABLE,
        TABLE,
        TABLE,
        numba.int16[::1],
        CELLS,
    )
)
def points(values, inside, draws, order, length, plus, minus, times, inverse, reports):
    """reports[i] = a point of projective space: on the hyperplane of values[i] if inside[i], else off it.

    draws[i] is uniform on the points of the hyperplane, or on the vectors that have one coordinate less.
    """
    own, other = np.zeros(length, np.int64), np.zeros(length, np.int64)
    for i in range(values.size):
        lead = expand(values[i], order, own)
        if inside[i]:
            expand(draws[i], order, other[1:])
        else:
            left = draws[i]
            for c in range(length - 1, 0, -1):
                other[c] = left % order
                left //= order
        for c in range(lead):  # coordinate `lead` is free: the others take the places around it
            other[c] = other[c + 1]
        product = 0
        for c in range(length):
            if c != lead:
                product = plus[product, times[other[c], own[c]]]
        other[lead] = minus[0 if inside[i] else 1, product]
        reports[i] = place(other, order, times, inverse)
