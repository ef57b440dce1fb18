"""Ties spread out: the rows of one lattice point on many places inside it.

Lemma (spreading).  Give the i-th row of a lattice point, i = 0, 1, .., the place
rev(i mod 2^depth) among 2^depth places inside that point, where rev reverses `depth` bits.  Adding
a row to the data adds one row at one place and moves no other; and of c rows each of the 2^j equal
parts of the point, j <= depth, holds floor(c / 2^j) or one more.  So ties can be cut nearly where
one likes, and what is private on the finer lattice is private on the coarse one.  Proof: docs/theory/quantiles.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.structured.quantiles.rank_index import Points

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]

TIED = 256  # rows at one point from which on its places are counted, not listed


def reversed_bits(places: Ints, depth: int) -> Ints:
    """rev of each place: its `depth` bits, last first.

    >>> import numpy as np
    >>> reversed_bits(np.arange(8), 3)
    array([0, 4, 2, 6, 1, 5, 3, 7])
    """
    out = places & 0
    for bit in range(depth):
        out |= (places >> bit & 1) << (depth - 1 - bit)
    return out


def rows_before(place: int, count: int, depth: int) -> int:
    """How many of `count` rows at one point lie at places 0 .. place - 1.

    >>> [rows_before(place, 3, 2) for place in range(5)]
    [0, 1, 2, 3, 3]
    """
    total, start, rest = place * (count >> depth), 0, count & (1 << depth) - 1
    for k in range(depth, -1, -1):  # [0, place) is a union of aligned intervals of length 2^k
        if place >> k & 1:
            lead = (
                int(f"{start:b}".zfill(depth)[::-1], 2) if depth else 0
            )  # rev of its first place, below 2^(depth - k)
            total += min(1 << k, max(0, -((lead - rest) >> (depth - k))))
            start += 1 << k
    return total


def _tied(count: int, depth: int, first: int, after: int) -> tuple[Ints, Ints, int]:
    """The places of rows first .. after - 1, in order, of `count` rows at one point; their counts; rows before them."""
    import numpy as np

    fine = min(depth, (count - 1).bit_length())  # with fewer rows than places only the leading bits of a place vary

    def last(rank: int) -> int:
        """The last place with at most `rank` rows before it."""
        low, high = 0, 1 << fine
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if rows_before(middle, count, fine) <= rank else (low, middle)
        return low

    one = last(first)
    places = np.arange(one, last(after - 1) + 1)
    counts = (count >> fine) + (reversed_bits(places, fine) < (count & (1 << fine) - 1))
    held = np.flatnonzero(counts)
    return places[held] << (depth - fine), counts[held], rows_before(one, count, fine)


def spread(points: Points, depth: int, *, first: int, after: int) -> Points:
    """The rows of rank first .. after - 1, and perhaps a few more, on the lattice with 2^depth places a point.

    >>> import numpy as np
    >>> spread(Points(np.array([5]), np.array([3]), np.array([0])), 2, first=0, after=3)
    Points(codes=array([20, 21, 22]), counts=array([1, 1, 1]), before=array([0, 1, 2]))
    """
    import numpy as np

    if depth == 0:
        return points
    few = points.counts < min(TIED, 1 << depth)
    counts, before = points.counts[few], points.before[few]
    which = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)  # 0 .. count - 1 for each point
    found = [
        Points(
            np.sort((np.repeat(points.codes[few], counts) << depth) + reversed_bits(which, depth)),
            np.ones(which.size, dtype=np.int64),
            np.repeat(before, counts) + which,
        )
    ]
    for code, count, start in zip(*(part[~few].tolist() for part in points), strict=True):
        places, often, rows = _tied(count, depth, max(0, first - start), min(count, after - start))
        found.append(Points((code << depth) + places, often, start + rows + np.cumsum(often) - often))
    joined = Points(*(np.concatenate(parts) for parts in zip(*found, strict=True)))
    order = np.argsort(joined.codes, kind="stable")
    return Points(*(part[order] for part in joined))
