"""The compiled loops of tables and their residuals.  Imported only when tables are at hand: numba takes a moment."""

# ruff: noqa: ANN001, ANN201 - compiled functions are typed by their signatures

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba

from discreet.data.engines.kernels import compiled

SIZES = numba.types.Array(numba.int64, 1, "C", readonly=True)
WIDE = 1 << 18  # cells that are worth a second thread


@compiled([numba.void(kind[:, ::1], SIZES) for kind in (numba.int64, numba.float64)])
def analyse(tables, sizes):
    """Along every axis of each table, in place: the sum of all, then h_j x = (sum of the first j) - j x_j."""
    for table in range(tables.shape[0]):
        after = tables.shape[1]
        before = 1
        for axis in range(sizes.size):
            k = sizes[axis]
            after //= k
            for head in range(before):
                base = head * k * after
                for j in range(1, k):
                    row = base + j * after
                    for place in range(after):
                        value = tables[table, row + place]
                        tables[table, row + place] = tables[table, base + place] - j * value
                        tables[table, base + place] += value
            before *= k


@compiled([numba.void(numba.float64[:, ::1], SIZES)])
def synthesise(tables, sizes):
    """The inverse: x_i = c_0 / k + (sum over j > i of d_j) - i d_i, d_j = c_j / (j (j + 1))."""
    for table in range(tables.shape[0]):
        after = tables.shape[1]
        before = 1
        for axis in range(sizes.size):
            k = sizes[axis]
            after //= k
            for head in range(before):
                base = head * k * after
                for place in range(after):
                    tables[table, base + place] /= k
                for j in range(k - 1, 0, -1):
                    row = base + j * after
                    for place in range(after):
                        part = tables[table, row + place] / (j * (j + 1))
                        tables[table, row + place] = tables[table, base + place] - j * part
                        tables[table, base + place] += part
            before *= k


@compiled([numba.void(numba.float64[:, ::1], numba.float64)])
def project(tables, total):
    """Each table becomes the nearest one without negative cells that has the total: max(0, y - cut)."""
    for table in range(tables.shape[0]):
        row = tables[table]
        count = row.size
        sums = 0.0
        for value in row:
            sums += value
        cut = (sums - total) / count
        while True:  # Michelot 1986: the cells at or below the cut leave, and the cut rises, at most once per cell
            left = 0
            sums = 0.0
            for value in row:
                if value > cut:
                    left += 1
                    sums += value
            if left >= count or left == 0:
                break
            count = left
            cut = (sums - total) / count
        for place in range(row.size):
            row[place] = max(0.0, row[place] - cut)


def in_threads(kernel: Callable[..., None], tables: Any, *rest: object) -> None:  # noqa: ANN401 - an array
    """Run a kernel on the rows of an array, on all cores where there are many cells."""
    cores = os.cpu_count() or 1
    if tables.size < WIDE or cores == 1 or len(tables) < cores:
        kernel(tables, *rest)
        return
    step = -(-len(tables) // cores)
    with ThreadPoolExecutor(max_workers=cores) as pool:
        for _ in pool.map(lambda i: kernel(tables[i * step : (i + 1) * step], *rest), range(cores)):
            pass
