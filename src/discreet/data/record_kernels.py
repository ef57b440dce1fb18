"""The compiled counting of many marginals.  Imported only for many tables: numba takes a moment to load."""

# ruff: noqa: ANN001, ANN201 - compiled functions are typed by their signatures

from __future__ import annotations

import numba

from discreet.data.engines.kernels import compiled

KINDS = (numba.uint8, numba.uint16, numba.uint32, numba.uint64)
BASE, TABLE = numba.int32[::1], numba.int64[::1]
READ = [numba.types.Array(kind, 1, "C", readonly=True) for kind in KINDS]


@compiled([numba.void(BASE, column, numba.int64, TABLE) for column in READ])
def count(base, column, size, table):
    """table[base * size + column] += 1 for every row."""
    for row in range(base.size):
        table[numba.int64(base[row]) * size + numba.int64(column[row])] += 1


@compiled([numba.void(BASE, column, numba.int64, BASE) for column in READ])
def refine(base, column, size, finer):
    """finer = base * size + column for every row."""
    for row in range(base.size):
        finer[row] = base[row] * numba.int32(size) + numba.int32(column[row])
