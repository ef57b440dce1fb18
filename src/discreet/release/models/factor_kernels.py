"""The compiled loops over the tables of a graphical model.  Imported only when one is built.

A factor on some columns of a clique is read at `outer[o] + inner[j]` for the cell o * len(inner) + j of the clique.
`run` says how: 0 where the inner offsets are all zero, 1 where they are 0, 1, 2, ..., and 2 otherwise.
"""

# ruff: noqa: ANN001, ANN201 - compiled functions are typed by their signatures

from __future__ import annotations

import numba
import numpy as np

from discreet.data.engines.kernels import compiled

FREE = {"reassoc", "nnan", "nsz"}  # sums in any order; there are no NaNs, forbidden cells being very negative numbers
VECTOR, PLACES, WORDS = numba.float64[::1], numba.int64[::1], numba.uint64[::1]
READ = numba.types.Array(numba.float64, 1, "C", readonly=True)


@compiled(numba.void(VECTOR, PLACES, PLACES, numba.int64, READ), fastmath=FREE)
def spread(table, outer, inner, run, factor):
    """Add a factor to the table of its clique."""
    width = inner.size
    for o in range(outer.size):
        base, start = outer[o], o * width
        if run == 0:
            value = factor[base]
            for j in range(width):
                table[start + j] += value
        elif run == 1:
            for j in range(width):
                table[start + j] += factor[base + j]
        else:
            for j in range(width):
                table[start + j] += factor[base + inner[j]]


@compiled(numba.void(READ, PLACES, PLACES, numba.int64, VECTOR), fastmath=FREE)
def project(table, outer, inner, run, factor):
    """Sum the table of a clique into that of a factor."""
    factor[:] = 0.0
    width = inner.size
    for o in range(outer.size):
        base, start = outer[o], o * width
        if run == 0:
            value = 0.0
            for j in range(width):
                value += table[start + j]
            factor[base] += value
        elif run == 1:
            for j in range(width):
                factor[base + j] += table[start + j]
        else:
            for j in range(width):
                factor[base + inner[j]] += table[start + j]


@compiled(numba.void(VECTOR, VECTOR), fastmath=FREE)
def lower_rows(table, tops):
    """Subtract from each row its largest entry, which goes to `tops`."""
    width = table.size // tops.size
    for row in range(tops.size):
        start = row * width
        top = table[start]
        for j in range(1, width):
            top = max(top, table[start + j])
        for j in range(width):
            table[start + j] -= top
        tops[row] = top


@compiled(numba.void(READ, VECTOR), fastmath=FREE)
def sum_rows(table, sums):
    """The sum of each row."""
    width = table.size // sums.size
    for row in range(sums.size):
        total = 0.0
        for j in range(row * width, (row + 1) * width):
            total += table[j]
        sums[row] = total


@compiled(numba.void(VECTOR, READ), fastmath=FREE)
def scale_rows(table, scales):
    """Multiply each row."""
    width = table.size // scales.size
    for row in range(scales.size):
        scale = scales[row]
        for j in range(row * width, (row + 1) * width):
            table[j] *= scale


@compiled(numba.float64(READ, READ), fastmath=FREE)
def inner_product(a, b):
    """<a, b>, in this thread: a library of linear algebra would wake others for it."""
    total = 0.0
    for j in range(a.size):
        total += a[j] * b[j]
    return total


@compiled(numba.float64(READ, READ, READ), fastmath=FREE)
def weighted_product(a, b, weights):
    """<a, b / weights>."""
    total = 0.0
    for j in range(a.size):
        total += a[j] * b[j] / weights[j]
    return total


@compiled(numba.void(VECTOR, numba.float64, READ), fastmath=FREE)
def add_multiple(a, factor, b):
    """a += factor * b."""
    for j in range(a.size):
        a[j] += factor * b[j]


READ3 = numba.types.Array(numba.float64, 3, "C", readonly=True)


@compiled(numba.void(READ3, READ3, numba.float64[:, :, ::1]), fastmath=FREE)
def add_products(a, b, out):
    """out[e] += a[e] @ b[e] for every e, in this thread, some rows of b at a time so that they stay in the cache."""
    each, left, across = a.shape
    right = b.shape[2]
    block = 1 + (1 << 15) // right
    for e in range(each):
        for start in range(0, across, block):
            for i in range(left):
                for k in range(start, min(across, start + block)):
                    value = a[e, i, k]
                    if value != 0:
                        for j in range(right):
                            out[e, i, j] += value * b[e, k, j]


@compiled(numba.int64(READ, PLACES, PLACES, WORDS, READ, PLACES, PLACES))
def draw(table, groups, sizes, words, offsets, order, cells):
    """For each row of data a cell of the row `groups[i]` of the table; see rows.py.  Returns how many words failed.

    `sizes` has the number of rows of data in each group and one more entry; `order` is working space.
    """
    width = table.size // (sizes.size - 1)
    start = 0
    for group in range(sizes.size):  # where each group begins
        size = sizes[group]
        sizes[group] = start
        start += size
    for i in range(groups.size):
        group = groups[i]
        order[sizes[group]] = i
        sizes[group] += 1  # in the end, where the next begins
    failed, begin, used = 0, 0, 0
    for group in range(sizes.size - 1):
        end = sizes[group]
        if end == begin:
            continue
        for last in range(end - 1, begin, -1):  # a uniform order within the group
            bound = np.uint64(last - begin + 1)
            word = words[last]
            if word < bound and word < (np.uint64(0) - bound) % bound:
                failed += 1
            other = begin + np.int64(word % bound)
            order[last], order[other] = order[other], order[last]
        total, highest, start = 0.0, 0, group * width
        for j in range(width):
            if table[start + j] > 0:
                total += table[start + j]
                highest = j
        offset, reached, place = offsets[used], 0.0, begin
        used += 1
        for j in range(highest + 1):
            reached += table[start + j]
            upto = end
            if j < highest:
                upto = min(end, begin + np.int64(np.ceil((end - begin) * (reached / total) - offset)))
            while place < upto:
                cells[order[place]] = j
                place += 1
        begin = end
    return failed
