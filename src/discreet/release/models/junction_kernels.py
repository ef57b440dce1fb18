"""The sizes of many junction trees in compiled code.  Imported only for many: numba takes a moment to load."""

# ruff: noqa: ANN001, ANN201 - compiled functions are typed by their signatures

from __future__ import annotations

import numba
import numpy as np

from discreet.data.engines.kernels import compiled

NEAR = numba.uint64[:, ::1]
SIZES = numba.float64[::1]


@compiled([numba.int64(numba.uint64)])
def ones(word):
    """The number of bits that are set (Warren 2002)."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return numba.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@compiled([numba.boolean(NEAR, numba.int64, numba.int64)])
def has(near, column, other):
    """Whether two columns are joined."""
    return (near[column, other >> 6] >> np.uint64(other & 63)) & np.uint64(1) == np.uint64(1)


@compiled([numba.float64(NEAR, SIZES, numba.int64)])
def cells_of(near, sizes, column):
    """The cells of a column with its neighbours."""
    cells = sizes[column]
    for other in range(sizes.size):
        if has(near, column, other):
            cells *= sizes[other]
    return cells


@compiled([numba.int64(NEAR, numba.int64)])
def missing_of(near, column):
    """How often two neighbours of a column are not joined, each pair twice."""
    missing = 0
    for other in range(near.shape[0]):
        if has(near, column, other):
            missing -= 1  # itself
            for word in range(near.shape[1]):
                missing += ones(near[column, word] & ~near[other, word])
    return missing


@compiled([numba.float64(NEAR, SIZES, numba.boolean)])
def eliminated(near, sizes, fewest):
    """The cells of the maximal cliques of one greedy order, as `junction._eliminated` finds them; `near` is used up."""
    count, words = near.shape
    left = np.ones(count, dtype=np.bool_)
    missing = np.empty(count, dtype=np.int64)
    cells = np.empty(count, dtype=np.float64)
    for column in range(count):
        missing[column] = missing_of(near, column)
        cells[column] = cells_of(near, sizes, column)
    kept = np.empty((count, words), dtype=np.uint64)
    cliques, total = 0, 0.0
    for _ in range(count):
        best = -1
        for column in range(count):
            if not left[column]:
                continue
            if best >= 0:
                one = missing[column] if fewest or missing[column] == 0 else 1
                other = missing[best] if fewest or missing[best] == 0 else 1
                if one > other or (one == other and cells[column] >= cells[best]):
                    continue
            best = column
        left[best] = False
        for word in range(words):
            kept[cliques, word] = near[best, word]
        kept[cliques, best >> 6] |= np.uint64(1) << np.uint64(best & 63)
        inside = False
        for clique in range(cliques):
            inside = True
            for word in range(words):
                if kept[cliques, word] & ~kept[clique, word] != np.uint64(0):
                    inside = False
                    break
            if inside:
                break
        if not inside:
            cliques += 1
            total += cells[best]
        changed = near[best].copy()
        for other in range(count):
            if has(near, best, other):
                for word in range(words):
                    near[other, word] |= near[best, word]
                near[other, other >> 6] &= ~(np.uint64(1) << np.uint64(other & 63))
                near[other, best >> 6] &= ~(np.uint64(1) << np.uint64(best & 63))
                for word in range(words):
                    changed[word] |= near[other, word]
        for other in range(count):
            if left[other] and (changed[other >> 6] >> np.uint64(other & 63)) & np.uint64(1) == np.uint64(1):
                missing[other] = missing_of(near, other)
                cells[other] = cells_of(near, sizes, other)
    return total


@compiled([numba.void(NEAR, NEAR, SIZES, SIZES)])
def sizes_with(near, sets, sizes, found):
    """The smaller total of both orders, for the graph joined with each of the sets."""
    for place in range(sets.shape[0]):
        for order in range(2):
            graph = near.copy()
            for column in range(near.shape[0]):
                if has(sets, place, column):
                    for word in range(near.shape[1]):
                        graph[column, word] |= sets[place, word]
                    graph[column, column >> 6] &= ~(np.uint64(1) << np.uint64(column & 63))
            total = eliminated(graph, sizes, order == 1)
            if order == 0 or total < found[place]:
                found[place] = total
