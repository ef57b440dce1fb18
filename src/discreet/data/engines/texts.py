"""The compiled loops for units named by text: parted like integers, compared byte for byte.

A text is found by a seeded 64-bit hash, which nobody outside the process knows, and equal hashes
are always followed by a comparison of all bytes: two units are never taken for one.
"""

from __future__ import annotations

import math

import numba
import numpy as np

from discreet.data.engines.kernels import _ODD, _READ32, _READ64, PARTS, compiled

_SINES = np.array([int(abs(math.sin(i + 1)) * 2**32) for i in range(64)], np.uint32)  # RFC 1321
_TURNS = np.array([7, 12, 17, 22] * 4 + [5, 9, 14, 20] * 4 + [4, 11, 16, 23] * 4 + [6, 10, 15, 21] * 4, np.uint32)
_READ8 = numba.types.Array(numba.uint8, 1, "C", readonly=True)


@compiled(inline="always")
def word(text, i):  # noqa: ANN001, ANN201
    """Eight bytes from place i."""
    x = np.uint64(0)
    for k in range(8):
        x |= np.uint64(text[np.uint64(i) + np.uint64(k)]) << np.uint64(8 * k)
    return x


@compiled()
def hashed(text, start, length, seed):  # noqa: ANN001, ANN201
    """A 64-bit hash of text[start : start + length]."""
    x = seed ^ np.uint64(length)
    i = 0
    while i + 8 <= length:
        x = (x ^ word(text, start + i)) * _ODD
        x ^= x >> np.uint64(29)
        i += 8
    rest = np.uint64(0)
    while i < length:
        rest = (rest << np.uint64(8)) | np.uint64(text[start + i])
        i += 1
    x = (x ^ rest) * _ODD
    x ^= x >> np.uint64(32)
    return x * _ODD


@compiled()
def same(text, a, b, length):  # noqa: ANN001, ANN201
    """Whether two texts of one length are equal."""
    i = 0
    while i + 8 <= length:
        if word(text, a + i) != word(text, b + i):
            return False
        i += 8
    while i < length:
        if text[a + i] != text[b + i]:
            return False
        i += 1
    return True


@compiled(
    numba.int64(
        _READ64, _READ8, _READ32, numba.uint64, numba.int64[::1], numba.int64[::1], numba.uint8[::1], numba.int64,
        numba.int32[::1], numba.int64, numba.int64, numba.int64[::1], numba.int32[::1],
    )
)  # fmt: skip
def part_texts(  # noqa: ANN201
    offsets, text, groups, seed, keys, at, arena, used, records, base, width, starts, places  # noqa: ANN001
):
    """`part_integers` for texts: keys are hashes, at[2 row] and at[2 row + 1] place and length of the text in arena."""
    n = groups.size
    counts, lengths = np.zeros(PARTS + 1, np.int64), np.zeros(PARTS + 1, np.int64)
    hashes = np.empty(n, np.uint64)
    for i in range(n):
        if groups[i] >= 0:
            length = offsets[i + 1] - offsets[i]
            hashes[i] = hashed(text, offsets[i], length, seed)
            p = np.int64(hashes[i] >> np.uint64(56))
            counts[p + 1] += 1
            lengths[p + 1] += length
    starts[0] = base
    lengths[0] = used
    for p in range(PARTS):
        starts[p + 1] = starts[p] + counts[p + 1]
        counts[p] = starts[p]
        lengths[p + 1] += lengths[p]
    for i in range(n):
        if groups[i] >= 0:
            p = np.int64(hashes[i] >> np.uint64(56))
            place, first = counts[p], lengths[p]
            length = offsets[i + 1] - offsets[i]
            counts[p] = place + 1
            lengths[p] = first + length
            places[i] = place - base
            keys[place] = np.int64(hashes[i])
            at[2 * place], at[2 * place + 1] = first, length
            for k in range(length):
                arena[first + k] = text[offsets[i] + k]
            records[place * width] = groups[i]
        else:
            places[i] = -1
    return starts[PARTS]


@compiled(
    "int64(int64[::1], int64[::1], uint8[::1], int64[:, ::1], int64, int32[::1], int64[::1], int64[::1])"
)
def number_texts(keys, at, arena, starts, p, numbers, units, ends):  # noqa: ANN001, ANN201
    """`number_integers` for texts: units[k] is the first row of the k-th unit."""
    bits = 10
    slots = np.full(1 << bits, -1, np.int32)
    found, row = 0, 0
    for b in range(starts.shape[0]):
        for i in range(starts[b, p], starts[b, p + 1]):
            key, length = keys[i], at[2 * i + 1]
            s = np.int64((np.uint64(key) << np.uint64(8)) >> np.uint64(64 - bits))
            mask = (1 << bits) - 1
            while slots[s] >= 0:
                k = units[slots[s]]
                if keys[k] == key and at[2 * k + 1] == length and same(arena, at[2 * k], at[2 * i], length):
                    break
                s = (s + 1) & mask
            if slots[s] < 0:
                slots[s] = found
                units[found] = i
                ends[found + 2] = 1
                numbers[row] = found
                found += 1
                if found * 2 > mask:
                    bits += 2
                    mask = (1 << bits) - 1
                    slots = np.full(1 << bits, -1, np.int32)
                    for k in range(found):
                        t = np.int64((np.uint64(keys[units[k]]) << np.uint64(8)) >> np.uint64(64 - bits))
                        while slots[t] >= 0:
                            t = (t + 1) & mask
                        slots[t] = k
            else:
                k = slots[s]
                numbers[row] = k
                ends[k + 2] += 1
            row += 1
    return found


@compiled()
def md5_words(text, start, length, block):  # noqa: ANN001, ANN201
    """The first two 32-bit words of the MD5 of a text, most significant byte first."""
    a0, b0 = np.uint32(0x67452301), np.uint32(0xEFCDAB89)
    c0, d0 = np.uint32(0x98BADCFE), np.uint32(0x10325476)
    blocks = (length + 8) // 64 + 1
    for n in range(blocks):
        for j in range(16):
            x = np.uint32(0)
            for k in range(4):
                i = 64 * n + 4 * j + k
                if i < length:
                    x |= np.uint32(text[start + i]) << np.uint32(8 * k)
                elif i == length:
                    x |= np.uint32(0x80) << np.uint32(8 * k)
            block[j] = x
        if n == blocks - 1:
            block[14] = np.uint32((length * 8) & 0xFFFFFFFF)
            block[15] = np.uint32((length * 8) >> 32)
        a, b, c, d = a0, b0, c0, d0
        for i in range(64):
            if i < 16:
                f, g = (b & c) | (~b & d), i
            elif i < 32:
                f, g = (d & b) | (~d & c), (5 * i + 1) & 15
            elif i < 48:
                f, g = b ^ c ^ d, (3 * i + 5) & 15
            else:
                f, g = c ^ (b | ~d), (7 * i) & 15
            f = np.uint32(f + a + _SINES[i] + block[g])
            a, d, c = d, c, b
            b = np.uint32(b + ((f << _TURNS[i]) | (f >> np.uint32(32 - _TURNS[i]))))
        a0, b0, c0, d0 = np.uint32(a0 + a), np.uint32(b0 + b), np.uint32(c0 + c), np.uint32(d0 + d)
    return swapped(a0), swapped(b0)


@compiled(inline="always")
def swapped(x):  # noqa: ANN001, ANN201
    """The bytes of a word in the other order."""
    y = np.uint64(x)
    return (
        ((y & np.uint64(0xFF)) << np.uint64(24))
        | ((y & np.uint64(0xFF00)) << np.uint64(8))
        | ((y >> np.uint64(8)) & np.uint64(0xFF00))
        | (y >> np.uint64(24))
    )


@compiled("void(int64[::1], int64, int64[::1], uint8[::1], uint64[:, ::1])")
def text_words(units, found, at, arena, words):  # noqa: ANN001, ANN201
    """The words of each unit that the keyed hash takes in."""
    block = np.empty(16, np.uint32)
    for k in range(found):
        i = units[k]
        words[k, 0], words[k, 1] = md5_words(arena, at[2 * i], at[2 * i + 1], block)
