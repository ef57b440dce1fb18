"""Contribution bounding over Arrow batches, in compiled code: the same integers as `reference.py`, faster.

    1  DuckDB streams the candidate rows: the unit, the group index, the contributions.
    2  Each batch is parted by a hash of the unit, seeded anew each run, so that no choice of ids makes it slow.
    3  Each part is small: its units are numbered with a hash table that compares whole ids, its rows are brought
       together by unit, and each unit's groups and rows are chosen by the keyed hash and added to the cells.

Every step is a function of the set of rows; integers are added exactly, in any order.  So the
result depends neither on the order of rows nor on batches or threads.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import queue
import secrets
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.data.aggregation import Aggregation, dtype
from discreet.data.engines import hashing
from discreet.data.engines.reference import Candidates, limits, width

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow

    from discreet.data.aggregation import IntArray

    Ints = npt.NDArray[np.int64]
    Words = npt.NDArray[np.int32]

BATCH = 1 << 17  # rows: what is parted at once stays in the cache
SURE = (1 << 32) - 1  # rows: 64 bits hold the sum of so many numbers of 32 bits with sign


class Store:
    """A growing array of integers.  Growing moves no data and touches no page before it is written."""

    def __init__(self, dtype: type[np.int64] | type[np.int32] | type[np.uint64], size: int) -> None:
        import numpy as np

        self.dtype = np.dtype(dtype)
        self.memory = mmap.mmap(-1, size * self.dtype.itemsize, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self._view()

    def _view(self) -> None:
        import numpy as np

        if hasattr(mmap, "MADV_HUGEPAGE"):
            with contextlib.suppress(OSError):  # a kernel without huge pages
                self.memory.madvise(mmap.MADV_HUGEPAGE)
        self.array = np.frombuffer(self.memory, self.dtype)

    def reserve(self, size: int) -> None:
        """Make room for so many integers."""
        if size > self.array.size:
            del self.array
            self.memory.resize(2 * size * self.dtype.itemsize)
            self._view()


class Rows:
    """The candidate rows, parted: keys (rows,) and records (rows * width,)."""

    def __init__(self, aggregation: Aggregation, candidates: Candidates) -> None:
        import numpy as np

        summed = [aggregation.measures[i] for i in candidates.summed]
        self.wide = [width(measure) == "BIGINT" for measure in summed]
        self.limits = [limits(measure) for measure in summed]
        self.width = 1 + sum(1 + wide for wide in self.wide)
        self.seed = np.uint64(secrets.randbits(64))
        self.size = 0
        self.keys = Store(np.int64, 8 * BATCH)
        self.records = Store(np.int32, 8 * BATCH * self.width)
        self.texts = candidates.unit == "VARCHAR"
        self.at = Store(np.int64, 8 * BATCH if self.texts else 1)  # where each row's text begins in the arena
        self.arena = Store(np.uint64, 16 * BATCH if self.texts else 1)
        self.starts: list[Ints] = []

    def take(self, batch: pyarrow.RecordBatch) -> None:
        """Part one batch."""
        import numpy as np

        from discreet.data.engines import kernels

        n = batch.num_rows
        self.keys.reserve(self.size + n)
        self.records.reserve((self.size + n) * self.width)
        starts, places = np.empty(kernels.PARTS + 1, np.int64), np.empty(n, np.int32)
        unit, groups = batch.column(0), numbers(batch.column(1))
        into = (self.records.array, self.size, self.width, starts, places)
        if self.texts:
            from discreet.data.engines import texts

            offsets, text = characters(unit)
            most = int(offsets[-1] - offsets[0]) // 8 + n  # words
            self.at.reserve(self.size + n + 1)
            self.arena.reserve(int(self.at.array[self.size]) + most)
            words, ends, hashes = np.empty(most, np.uint64), np.empty(n + 1, np.int64), np.empty(n, np.uint64)
            texts.to_words(offsets, text, groups, self.seed, words, ends, hashes)
            store = (self.keys.array, self.at.array, self.arena.array)
            end = texts.part_texts(words, ends, hashes, groups, *store, *into)
        else:
            end = kernels.part_integers(numbers(unit), groups, self.seed, self.keys.array, *into)
        for j, (column, low, high) in enumerate(self.columns(batch)):
            kernels.spread(column, low, high, places, self.records.array, self.size, self.width, j + 1)
        self.starts.append(starts)
        self.size = end

    def columns(self, batch: pyarrow.RecordBatch) -> list[tuple[Words, int, int]]:
        """The contributions in 32 bits, with bounds; a wide v becomes v >> 31 and v mod 2^31, which keeps its order."""
        import numpy as np

        made = []
        for position, (wide, (low, high)) in enumerate(zip(self.wide, self.limits, strict=True)):
            column = batch.column(2 + position)
            values = numbers(column.fill_null(0) if column.null_count else column)
            if wide:
                values = np.clip(values, low, high)
                made.append(((values >> 31).astype(np.int32), -(1 << 31), (1 << 31) - 1))
                made.append(((values & ((1 << 31) - 1)).astype(np.int32), 0, (1 << 31) - 1))
            else:
                made.append((values, low, high))
        return made

    def pairs(self) -> npt.NDArray[np.bool_]:
        """Which columns of a record are the first half of a wide value."""
        import numpy as np

        made = [False]
        for wide in self.wide:
            made += [True, False] if wide else [False]
        return np.array(made)


def aggregate(
    batches: Iterable[pyarrow.RecordBatch],
    aggregation: Aggregation,
    candidates: Candidates,
    *,
    threads: int | None = None,
) -> IntArray:
    """The cells and measures of the candidate rows."""
    import numpy as np

    rows = Rows(aggregation, candidates)
    for batch in batches:
        rows.take(batch)
    totals = bounded(rows, aggregation, threads=threads)
    cells = np.zeros((aggregation.cells, len(aggregation.measures)), dtype=dtype(aggregation))
    column = 2
    for i, measure in enumerate(aggregation.measures):
        if i not in candidates.summed:
            cells[:, i] = totals[:, 0 if measure.kind == "units" else 1]
        elif rows.wide[candidates.summed.index(i)]:
            cells[:, i] = totals[:, column].astype(object) * (1 << 31) + totals[:, column + 1]
            column += 2
        else:
            cells[:, i] = totals[:, column]
            column += 1
    return cells


def numbers(array: pyarrow.Array) -> npt.NDArray[np.int32] | npt.NDArray[np.int64]:
    """The integers of an Arrow array without NULLs, not copied."""
    import numpy as np

    dtype = np.dtype(f"i{array.type.bit_width // 8}")
    return np.frombuffer(array.buffers()[1], dtype, len(array) + array.offset)[array.offset :]


def characters(array: pyarrow.LargeStringArray) -> tuple[Ints, npt.NDArray[np.uint8]]:
    """The offsets and bytes of an Arrow array of texts, not copied."""
    import numpy as np

    _, offsets, text = array.buffers()
    places = np.frombuffer(offsets, np.int64, len(array) + 1 + array.offset)[array.offset :]
    return places, np.frombuffer(text, np.uint8) if text is not None else np.empty(0, np.uint8)


def bounded(rows: Rows, aggregation: Aggregation, *, threads: int | None = None) -> IntArray:
    """(cells, 2 + columns): in each cell the units, the rows and the sums of the columns that are kept.

    They are Python's integers where there are more rows than 64 bits are sure to hold the sum of.
    """
    import numpy as np

    from discreet.data.engines import kernels

    workers = threads or os.cpu_count() or 1
    shape = (aggregation.cells, 1 + rows.width)
    if aggregation.cells * shape[1] > 1 << 22:
        workers = 1  # one set of cells is large enough
    counts_units = any(measure.kind == "units" for measure in aggregation.measures)
    starts = np.array(rows.starts, dtype=np.int64).reshape(-1, kernels.PARTS + 1)
    todo: queue.SimpleQueue[int] = queue.SimpleQueue()
    sizes = (starts[:, 1:] - starts[:, :-1]).sum(axis=0)
    for p in np.argsort(-sizes):
        todo.put(int(p))

    def work() -> IntArray:
        scratch = Scratch(
            size=int(sizes.max(initial=0)),
            width=rows.width,
            cells=aggregation.cells,
            counts_units=counts_units,
            sure=rows.size <= SURE,
        )
        with contextlib.suppress(queue.Empty):
            while True:
                scratch.settle(rows, aggregation, starts, todo.get_nowait())
        return scratch.whole()

    with ThreadPoolExecutor(workers) as pool:
        parts = [job.result() for job in [pool.submit(work) for _ in range(workers)]]
    return np.sum(parts, axis=0)


@dataclass(kw_only=True)
class Scratch:
    """One worker's memory, used for one part after another."""

    size: int  # rows of the largest part
    width: int
    cells: int
    counts_units: bool
    sure: bool = True  # whether 64 bits hold every sum of all rows

    def __post_init__(self) -> None:
        import numpy as np

        self.moved: IntArray | int = 0  # totals that 64 bits might not have held with more rows
        self.taken = 0  # rows in `totals`
        self.totals = np.zeros((self.cells, 1 + self.width), np.int64)
        self.seen = np.zeros(self.cells if self.counts_units else 0, np.int64)
        self.mark = 1
        self.numbers, self.units = np.empty(self.size, np.int32), np.empty(self.size, np.int64)
        self.ends, self.rows = np.empty(self.size + 2, np.int64), np.empty(self.size * self.width, np.int32)
        self.words = np.empty((self.size, 2), np.uint64)

    def settle(self, rows: Rows, aggregation: Aggregation, starts: Ints, p: int) -> None:
        """Bound and add up one part."""
        import numpy as np

        from discreet.data.engines import kernels

        into = (self.numbers, self.units, self.ends)
        if rows.texts:
            from discreet.data.engines import texts

            found = texts.number_texts(rows.keys.array, rows.at.array, rows.arena.array, starts, p, *into)
            texts.text_words(self.units, found, rows.at.array, rows.arena.array, self.words)
        else:
            found = kernels.number_integers(rows.keys.array, starts, p, rows.seed, *into)
            kernels.integer_words(self.units, found, self.words)
        kernels.gather(rows.records.array, starts, p, rows.width, self.numbers, found, self.ends, self.rows)
        states = [np.uint64(hashing.start(aggregation.salt, what)) for what in (hashing.GROUPS, hashing.ROWS)]
        bounds = [min(most, 1 << 62) for most in (aggregation.groups_per_unit, aggregation.rows_per_unit)]
        for first, last in self._stretches(found):
            who = (self.rows, rows.width, self.ends[first:], last - first, self.words[first:], rows.pairs())
            kernels.add_up(*who, *states, *bounds, self.totals, self.seen, self.mark)
            self.mark += last - first

    def _stretches(self, found: int) -> Iterator[tuple[int, int]]:
        """The units a part has, in stretches of rows whose sums 64 bits hold; what was added up before is moved."""
        import numpy as np

        if self.sure:
            yield 0, found
            return
        first = 0
        while first < found:
            start = int(self.ends[first])
            last = int(np.searchsorted(self.ends[: found + 1], start + SURE - self.taken, side="right")) - 1
            if last <= first and self.taken:  # not even the next unit fits beside what is there
                self.moved, self.taken = self.whole(), 0
                self.totals[:] = 0
                continue
            last = max(last, first + 1)  # a unit alone keeps at most `rows_per_unit` rows, no more than SURE
            self.taken += int(self.ends[last]) - start
            yield first, last
            first = last

    def whole(self) -> IntArray:
        """All totals."""
        return self.totals if self.sure else self.moved + self.totals.astype(object)
