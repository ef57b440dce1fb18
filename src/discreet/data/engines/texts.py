"""The compiled loops for units named by text: parted like integers, compared byte for byte.

A text is kept as 64-bit words: its bytes, a byte 1, and zeros up to a whole word, so that two texts are equal exactly
if their words are.  A text is found by a seeded 64-bit hash, which nobody outside the process knows, and
equal hashes are always followed by a comparison of all words: two units are never taken for one.
"""

# ruff: noqa: ANN001, ANN201 - compiled functions are typed by their signatures

from __future__ import annotations

import math

import numba
import numpy as np

from discreet.data.engines.kernels import ODD, PARTS, READ32, READ64, compiled

_SINES = np.array([int(abs(math.sin(i + 1)) * 2**32) for i in range(64)], np.uint32)  # RFC 1321
_TURNS = np.array([7, 12, 17, 22] * 4 + [5, 9, 14, 20] * 4 + [4, 11, 16, 23] * 4 + [6, 10, 15, 21] * 4, np.uint32)
_TENTH = np.uint64(((1 << 64) - 1) // 10)  # the largest of 64 bits is ten times that and 5
_READ8 = numba.types.Array(numba.uint8, 1, "C", readonly=True)


@compiled(numba.void(READ64, _READ8, READ32, numba.uint64, numba.uint64[::1], numba.int64[::1], numba.uint64[::1]))
def to_words(offsets, text, groups, seed, words, ends, hashes):
    """The words of the texts of a batch, one after another; those of row i end at ends[i + 1].  And their hashes."""
    used = 0
    ends[0] = 0
    for i in range(groups.size):
        if groups[i] >= 0:
            first, last = np.uint64(offsets[i]), np.uint64(offsets[i + 1])
            h = seed
            while first + np.uint64(8) <= last:
                w = np.uint64(text[first])
                w |= np.uint64(text[first + np.uint64(1)]) << np.uint64(8)
                w |= np.uint64(text[first + np.uint64(2)]) << np.uint64(16)
                w |= np.uint64(text[first + np.uint64(3)]) << np.uint64(24)
                w |= np.uint64(text[first + np.uint64(4)]) << np.uint64(32)
                w |= np.uint64(text[first + np.uint64(5)]) << np.uint64(40)
                w |= np.uint64(text[first + np.uint64(6)]) << np.uint64(48)
                w |= np.uint64(text[first + np.uint64(7)]) << np.uint64(56)
                words[used] = w
                used += 1
                h = (h ^ w) * ODD
                h ^= h >> np.uint64(29)
                first += np.uint64(8)
            w, shift = np.uint64(0), np.uint64(0)
            while first < last:
                w |= np.uint64(text[first]) << shift
                shift += np.uint64(8)
                first += np.uint64(1)
            w |= np.uint64(1) << shift
            words[used] = w
            used += 1
            h = (h ^ w) * ODD
            h ^= h >> np.uint64(32)
            hashes[i] = h * ODD
        ends[i + 1] = used


@compiled(
    numba.int64(
        numba.uint64[::1], numba.int64[::1], numba.uint64[::1], READ32, numba.int64[::1], numba.int64[::1],
        numba.uint64[::1], numba.int32[::1], numba.int64, numba.int64, numba.int64[::1], numba.int32[::1],
    )
)  # fmt: skip
def part_texts(words, ends, hashes, groups, keys, at, arena, records, base, width, starts, places):
    """`part_integers` for texts: keys are hashes, and the words of row r lie in arena from at[r] to at[r + 1]."""
    n = groups.size
    counts, lengths = np.zeros(PARTS + 1, np.int64), np.zeros(PARTS + 1, np.int64)
    for i in range(n):
        if groups[i] >= 0:
            p = np.int64(hashes[i] >> np.uint64(56))
            counts[p + 1] += 1
            lengths[p + 1] += ends[i + 1] - ends[i]
    starts[0] = base
    lengths[0] = at[base]
    for p in range(PARTS):
        starts[p + 1] = starts[p] + counts[p + 1]
        counts[p] = starts[p]
        lengths[p + 1] += lengths[p]
    for i in range(n):
        if groups[i] >= 0:
            p = np.int64(hashes[i] >> np.uint64(56))
            place, first = counts[p], lengths[p]
            counts[p] = place + 1
            places[i] = place - base
            keys[place] = np.int64(hashes[i])
            at[place] = first
            for k in range(ends[i], ends[i + 1]):
                arena[first] = words[k]
                first += 1
            lengths[p] = first
            records[place * width] = groups[i]
        else:
            places[i] = -1
    at[starts[PARTS]] = lengths[PARTS - 1]
    return starts[PARTS]


@compiled("int64(int64[::1], int64[::1], uint64[::1], int64[:, ::1], int64, int32[::1], int64[::1], int64[::1])")
def number_texts(keys, at, arena, starts, p, numbers, units, ends):
    """`number_integers` for texts: units[k] is the first row of the k-th unit."""
    bits = 10
    slots = np.full(1 << bits, -1, np.int32)
    found, row = 0, 0
    for b in range(starts.shape[0]):
        for i in range(starts[b, p], starts[b, p + 1]):
            key, first = keys[i], at[i]
            length = at[i + 1] - first
            s = np.int64((np.uint64(key) << np.uint64(8)) >> np.uint64(64 - bits))
            mask = (1 << bits) - 1
            while slots[s] >= 0:
                k = units[slots[s]]
                if keys[k] == key and at[k + 1] - at[k] == length:
                    other, same = at[k], True
                    for j in range(length):
                        if arena[other + j] != arena[first + j]:
                            same = False
                            break
                    if same:
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


@compiled(inline="always")
def swapped(x):
    """The bytes of a word in the other order."""
    y = np.uint64(x)
    return (
        ((y & np.uint64(0xFF)) << np.uint64(24))
        | ((y & np.uint64(0xFF00)) << np.uint64(8))
        | ((y >> np.uint64(8)) & np.uint64(0xFF00))
        | (y >> np.uint64(24))
    )


@compiled()
def md5_words(words, first, last, block):
    """The first two 32-bit words of the MD5 of the text in words[first:last], most significant byte first."""
    tail = words[last - 1]
    length = 8 * (last - first) - 1
    while tail >> np.uint64(56) == 0:
        tail <<= np.uint64(8)
        length -= 1
    a0, b0 = np.uint32(0x67452301), np.uint32(0xEFCDAB89)
    c0, d0 = np.uint32(0x98BADCFE), np.uint32(0x10325476)
    blocks = (length + 8) // 64 + 1
    for n in range(blocks):
        for j in range(8):
            place = first + 8 * n + j
            w = words[place] if place < last else np.uint64(0)
            if place == last - 1:  # the byte 1 at the end becomes MD5's byte 0x80
                w += np.uint64(0x7F) << np.uint64(8 * (length % 8))
            block[2 * j], block[2 * j + 1] = np.uint32(w & np.uint64(0xFFFFFFFF)), np.uint32(w >> np.uint64(32))
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


@compiled()
def whole_number(words, first, last):
    """Whether words[first:last] write a whole number from -2^63 to 2^64 - 1 canonically, and that modulo 2^64."""
    none, x = np.uint64(0), np.uint64(0)
    if last - first > 3:  # -9223372036854775808 has 20 characters
        return False, none
    tail = words[last - 1]
    length = 8 * (last - first) - 1
    while tail >> np.uint64(56) == 0:
        tail <<= np.uint64(8)
        length -= 1
    negative = length > 0 and (words[first] & np.uint64(0xFF)) == np.uint64(45)
    digits = length - 1 if negative else length
    if digits < 1 or digits > 20:
        return False, none
    for j in range(length - digits, length):
        digit = ((words[first + j // 8] >> np.uint64(8 * (j % 8))) & np.uint64(0xFF)) - np.uint64(48)
        if digit > np.uint64(9):  # also what is below, which wraps
            return False, none
        if digit == 0 and j == length - digits and (digits > 1 or negative):
            return False, none
        if x > _TENTH or (x == _TENTH and digit > np.uint64(5)):
            return False, none
        x = x * np.uint64(10) + digit
    if negative:
        return x <= np.uint64(1 << 63), ~x + np.uint64(1)
    return True, x


@compiled("void(int64[::1], int64, int64[::1], uint64[::1], uint64[:, ::1])")
def text_words(units, found, at, arena, words):
    """The words of each unit that the keyed hash takes in: `hashing.unit_words_sql`."""
    block = np.empty(16, np.uint32)
    for k in range(found):
        i = units[k]
        whole, x = whole_number(arena, at[i], at[i + 1])
        if whole:
            words[k, 0], words[k, 1] = x & np.uint64(0xFFFFFFFF), x >> np.uint64(32)
        else:
            words[k, 0], words[k, 1] = md5_words(arena, at[i], at[i + 1], block)
