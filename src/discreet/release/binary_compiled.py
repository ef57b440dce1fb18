"""Sums with signs on this machine: the compiled counterpart of `discreet.release.binary`.

The bits are cut in three: a row of 2^(middle + 4) cells is made at a time, in the cache, and folded by its middle bits;
then the rows are folded, and the last four bits come at the end, so that every loop runs over at least 16 numbers.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from discreet.release.binary import factors, signs, subsets

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

LAST = 4  # bits that are folded at the end
MANY = 1 << 12  # rows that are shared out among the cores; the loops do not hold the interpreter
CHUNK = 20  # bits of a histogram that are summed at a time


@lru_cache(maxsize=64)
def folded(bits: int, degree: int) -> tuple[tuple[int, ...], ...]:
    """The sets of at most `degree` bits in the order in which folding makes them.

    >>> folded(3, 2)
    ((), (0,), (1,), (0, 1), (2,), (0, 2), (1, 2))
    """
    found: list[tuple[int, ...]] = [()]
    for bit in range(bits):
        found += [(*members, bit) for members in found if len(members) < degree]
    return tuple(found)


@lru_cache(maxsize=64)
def order(parts: tuple[int, ...], degree: int) -> npt.NDArray[np.int64]:
    """Where each set of `subsets` lies when groups of bits were folded one after another, the last one foremost."""
    import numpy as np

    starts = [sum(parts[:place]) for place in range(len(parts))]
    numbers = [{members: place for place, members in enumerate(folded(part, degree))} for part in parts]
    sequence = [len(parts) - 1, *range(len(parts) - 1)]
    places = []
    for members in subsets(sum(parts), degree):
        place = 0
        for group in sequence:
            start, stop = starts[group], starts[group] + parts[group]
            inside = tuple(bit - start for bit in members if start <= bit < stop)
            place = place * len(numbers[group]) + numbers[group][inside]
        places.append(place)
    return np.array(places)


def fold(cells: npt.NDArray[Any], bits: int, degree: int) -> npt.NDArray[Any]:
    """(2^bits, m) to (sets, m) in the order of `folded`."""
    import numpy as np

    from discreet.release import binary_kernels

    width = cells.size >> bits
    if bits == 0:
        return cells.reshape(1, width)
    first, second = np.empty(cells.size, cells.dtype), np.empty(cells.size, cells.dtype)
    degrees = np.empty(len(folded(bits, degree)), dtype=np.int64)
    count = binary_kernels.fold(np.ascontiguousarray(cells).reshape(-1), bits, degree, first, second, degrees)
    return (first if bits % 2 else second)[: count * width].reshape(count, width)


@dataclass(frozen=True)
class CompiledExponentials:
    """As `Exponentials`, on this machine, in single precision."""

    bits: int
    degree: int

    def __call__(self, coefficients: npt.NDArray[Any], *, shift: float, fine: bool = False) -> tuple[float, Any]:
        """The sum of e^(p - shift), and the parities of the distribution that is proportional to it."""
        import numpy as np

        from discreet.release import binary_kernels

        high, middle, last = self._parts
        left, right = self._factors(coefficients, shift)
        inner = len(folded(middle, self.degree))
        partial = np.empty((1 << high, inner << last), dtype=np.float32)
        _on_all_cores(
            lambda rows: binary_kernels.rows_folded(left[rows], right, middle, self.degree, partial[rows]), 1 << high
        )
        rows = fold(partial.astype(np.float64) if fine else partial, high, self.degree)
        ends = rows.reshape(-1, 1 << last).T  # (last bits, sets of the others)
        found = fold(ends, last, self.degree).reshape(-1)[order(self._parts, self.degree)].astype(float)
        return float(found[0]), found / found[0]

    def cells(self, coefficients: npt.NDArray[Any], *, shift: float) -> npt.NDArray[np.float32]:
        """e^(p - shift) for every cell."""
        import numpy as np

        from discreet.release import binary_kernels

        high = self._parts[0]
        made = np.empty((1 << high, 1 << (self.bits - high)), dtype=np.float32)
        left, right = self._factors(coefficients, shift)
        _on_all_cores(lambda rows: binary_kernels.rows_made(left[rows], right, made[rows]), 1 << high)
        return made.reshape(-1)

    @property
    def count(self) -> int:
        """The number of coefficients."""
        return len(subsets(self.bits, self.degree))

    @cached_property
    def _parts(self) -> tuple[int, int, int]:
        last = min(LAST, self.bits - 1)
        middle = min(max(6, self.bits - 18), 8, self.bits - last)
        return self.bits - last - middle, middle, last

    @cached_property
    def _fixed(self) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """chi_A for the few sets of the first bits (2^high rows), and chi_B for the few of the last (2^low columns)."""
        high, half = self._parts[0], self.degree // 2
        left = signs(high, self.degree)[: len(subsets(high, half))].T
        return left, signs(self.bits - high, self.degree)[: len(subsets(self.bits - high, self.degree - half - 1))]

    def _factors(self, coefficients: npt.NDArray[Any], shift: float) -> tuple[Any, Any]:
        """Thin matrices L and R with p - shift = L R."""
        import numpy as np

        from discreet.release import binary_kernels

        high = self._parts[0]
        low = self.bits - high
        to_left, to_right = factors(coefficients, self.bits, high, self.degree, shift)
        left, right = self._fixed
        rest = np.empty((1 << high, to_left.shape[1]), dtype=np.float32)
        binary_kernels.product(signs(high, self.degree), np.ascontiguousarray(to_left, dtype=np.float32), rest)
        few = np.empty((to_right.shape[1], 1 << low), dtype=np.float32)
        binary_kernels.product(
            np.ascontiguousarray(to_right, dtype=np.float32), np.ascontiguousarray(signs(low, self.degree)), few
        )
        return np.ascontiguousarray(np.hstack([left, rest])), np.vstack([few, right])


def _on_all_cores(work: Callable[[slice], None], rows: int) -> None:
    """Do it for all rows: in parts, one for each core, where there are so many that threads pay."""
    cores = os.cpu_count() or 1
    if rows < MANY or cores == 1:
        return work(slice(0, rows))
    cuts = [rows * part // cores for part in range(cores + 1)]
    with ThreadPoolExecutor(cores) as pool:
        list(pool.map(work, [slice(start, stop) for start, stop in pairwise(cuts)]))
    return None


def of_counts(counts: npt.NDArray[Any], bits: int, degree: int) -> npt.NDArray[np.float64]:
    """The parities of a histogram, exactly: whole numbers below 2^53 in double precision, a chunk at a time."""
    import numpy as np

    inside = min(CHUNK, bits)
    last = min(LAST, inside - 1)
    chunks = counts.reshape(1 << (bits - inside), -1)
    found = []
    for chunk in chunks:
        rows = fold(chunk.astype(np.float64), inside - last, degree).reshape(-1, 1 << last)
        found.append(fold(rows.T, last, degree).reshape(-1))
    every = fold(np.stack(found), bits - inside, degree)
    # The chunks' bits are foremost here; then the last bits, then the others.
    return every.reshape(-1)[_order_of_chunks(bits - inside, inside - last, last, degree)]


@lru_cache(maxsize=16)
def _order_of_chunks(top: int, middle: int, last: int, degree: int) -> npt.NDArray[np.int64]:
    import numpy as np

    inner = order((middle, last), degree)
    number = {members: place for place, members in enumerate(subsets(middle + last, degree))}
    first = {members: place for place, members in enumerate(folded(top, degree))}
    size = len(folded(middle, degree)) * len(folded(last, degree))
    places = []
    for members in subsets(top + middle + last, degree):
        before = tuple(bit for bit in members if bit < top)
        after = tuple(bit - top for bit in members if bit >= top)
        places.append(first[before] * size + inner[number[after]])
    return np.array(places)
