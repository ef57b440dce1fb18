"""The pass over a universe of bits as one kernel for a card: exponentials are made, multiplied by signs and forgotten.

Each program takes some columns (last bits) and many rows (first bits) and keeps its part of chi_A E in registers, so
that only thin matrices move through memory: a pass takes about twice as long as reading and writing the cells once.
Exponents are in single precision; weights are rounded to eleven bits, without bias, before they meet the signs.
"""

# ruff: noqa: ANN001, ANN201, ANN202 - the kernel is typed by what it is called with
# pyright: reportInvalidTypeForm=false

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from discreet.data.arrays import namespace

FOUND = importlib.util.find_spec("triton") is not None  # without it the module is only read
triton: Any = importlib.import_module("triton") if FOUND else None
tl: Any = importlib.import_module("triton.language") if FOUND else None

ROWS, COLUMNS = 64, 128  # of a tile
SPAN = 16384  # rows of a program


def _kernel(
    left, right, over_last, over_first, rows, columns, first, last,
    RANK: tl.constexpr, LAST: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, SPAN: tl.constexpr,
):  # fmt: skip
    """One program: rows [SPAN * i, SPAN * (i + 1)) and columns [COLUMNS * j, COLUMNS * (j + 1))."""
    i, j = tl.program_id(0), tl.program_id(1)
    rank, ends = tl.arange(0, RANK), tl.arange(0, LAST)
    column = j * COLUMNS + tl.arange(0, COLUMNS)
    thin = tl.load(right + rank[:, None] * columns + column[None, :])
    chi = tl.load(right + (first + ends)[None, :] * columns + column[:, None], mask=(ends < last)[None, :], other=0.0)
    total = tl.zeros((RANK, COLUMNS), dtype=tl.float32)
    for step in range(0, SPAN, ROWS):
        row = i * SPAN + step + tl.arange(0, ROWS)
        inside = row < rows
        part = tl.load(left + row[:, None] * RANK + rank[None, :], mask=inside[:, None], other=0.0)
        weights = tl.exp(tl.dot(part, thin, input_precision="tf32x3"))
        near = weights.to(tl.int32, bitcast=True) + 0x1000  # half of the last bit that the products below keep
        weights = near.to(tl.float32, bitcast=True)
        place = over_last + (j * rows + row)[:, None] * LAST + ends[None, :]
        tl.store(place, tl.dot(weights, chi, input_precision="tf32"), mask=inside[:, None])
        total += tl.dot(tl.trans(part), weights, input_precision="tf32")
    tl.store(over_first + (i * RANK + rank)[:, None] * columns + column[None, :], total)


_compiled: Any = triton.jit(_kernel) if FOUND else None


def partial(left, right, first: int, last: int):
    """E chi_B and chi_A E for E = exp(left right): `first` columns of left and the last rows of right are signs."""
    torch = namespace(left)
    rows, columns = left.shape[0], right.shape[1]
    rank = max(16, triton.next_power_of_2(left.shape[1]))
    ends = max(16, triton.next_power_of_2(last))
    width, span = min(COLUMNS, columns), min(SPAN, max(ROWS, rows))
    left = torch.nn.functional.pad(left, (0, rank - left.shape[1])).contiguous()
    right = torch.nn.functional.pad(right, (0, 0, 0, rank - right.shape[0])).contiguous()
    chunks, programs = columns // width, triton.cdiv(rows, span)
    over_last = torch.empty((chunks, rows, ends), device=left.device, dtype=left.dtype)
    over_first = torch.empty((programs, rank, columns), device=left.device, dtype=left.dtype)
    _compiled[(programs, chunks)](
        left, right, over_last, over_first, rows, columns, first, last,
        RANK=rank, LAST=ends, ROWS=ROWS, COLUMNS=width, SPAN=span, num_warps=4,
    )  # fmt: skip
    return over_last.sum(dim=0)[:, :last], over_first.sum(dim=0)[:first]
