"""Dimensions of explicit classes, exactly: Vapnik-Chervonenkis and Littlestone, and the bound of Sauer.

A class is a list of concepts on N <= 20 points; a concept is an integer whose bit i is its value on point i.

    VC dimension          the largest set of points on which the concepts take all patterns
    Littlestone           the deepest complete tree of points all of whose branches are realised by concepts
    Sauer (1972)          a class of VC dimension v on N points has at most sum_{i <= v} C(N, i) <= (N + 1)^v concepts

Theorem.  The search is exact: a set is shattered only if its subsets are, and a shattered set S can grow by at most
log2 of the smallest number of concepts that share a pattern on S.  VC <= Littlestone <= log2 |C|.
Proof: docs/theory/sample_complexity.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from discreet.errors import require

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Masks = npt.NDArray[np.int64]

POINTS = 20
CONCEPTS = 1 << 20
TREE_CONCEPTS = 256  # for the Littlestone dimension, which looks at subclasses


def concepts(rule: Callable[[int, int], object], *, points: int, count: int) -> list[int]:
    """The class whose concept c takes the value rule(c, x) on point x.

    >>> concepts(lambda c, x: x >= c, points=3, count=4)
    [7, 6, 4, 0]
    """
    return [sum(1 << x for x in range(points) if rule(c, x)) for c in range(count)]


def vc_dimension(masks: Sequence[int], *, points: int) -> int:
    """The VC dimension of a class; -1 for the empty one.

    >>> thresholds = concepts(lambda c, x: x >= c, points=10, count=11)
    >>> parities = concepts(lambda c, x: (c & x).bit_count() % 2, points=16, count=16)
    >>> vc_dimension(thresholds, points=10), vc_dimension(parities, points=16)
    (1, 4)
    """
    import numpy as np

    given = _checked(masks, points, CONCEPTS)
    if not given.size:
        return -1
    starts = np.zeros(1, dtype=np.int64)
    return _grow(given, starts, allowed=(1 << points) - 1, size=0, best=0)


def shattered(masks: Sequence[int], *, points: int, chosen: Sequence[int]) -> bool:
    """Whether the concepts take all patterns on the chosen points.

    >>> shattered([0b00, 0b01, 0b10, 0b11], points=2, chosen=[0, 1])
    True
    """
    given = _checked(masks, points, CONCEPTS)
    patterns = {tuple((int(mask) >> x) & 1 for x in chosen) for mask in given}
    return len(patterns) == 1 << len(chosen)


def littlestone_dimension(masks: Sequence[int], *, points: int) -> int:
    """The Littlestone dimension of a class of at most 256 concepts; -1 for the empty one.

    >>> littlestone_dimension(concepts(lambda c, x: x >= c, points=15, count=16), points=15)
    4
    """
    given = [int(mask) for mask in _checked(masks, points, TREE_CONCEPTS)]
    splits = [sum(1 << c for c, mask in enumerate(given) if (mask >> x) & 1) for x in range(points)]

    @cache
    def depth(members: int) -> int:
        if not members:
            return -1
        most = members.bit_count().bit_length() - 1  # log2 of how many there are
        found = 0
        for split in splits:
            ones, zeros = members & split, members & ~split
            if found == most:
                break
            if ones and zeros and min(ones.bit_count(), zeros.bit_count()).bit_length() > found:
                found = max(found, 1 + min(depth(ones), depth(zeros)))
        return found

    return depth((1 << len(given)) - 1)


def sauer(points: int, dimension: int) -> int:
    """The most concepts that a class of this VC dimension can have on so many points.

    >>> sauer(10, 1), sauer(4, 4)
    (11, 16)
    """
    for name, value in (("points", points), ("dimension", dimension)):
        whole = isinstance(value, int) and not isinstance(value, bool)
        require(whole and value >= 0, f"an integer {name} >= 0", **{name: value})
    return sum(math.comb(points, i) for i in range(dimension + 1))


def _checked(masks: Sequence[int], points: int, most: int) -> Masks:
    """The different concepts, in order."""
    import numpy as np

    whole = isinstance(points, int) and not isinstance(points, bool)
    require(whole and 1 <= points <= POINTS, f"an integer points from 1 to {POINTS}", points=points)
    given = np.unique(np.asarray(masks, dtype=np.int64))
    require(given.size <= most, f"at most {most} concepts", concepts=int(given.size))
    inside = not given.size or (int(given[0]) >= 0 and int(given[-1]) < 1 << points)
    require(inside, "concepts with one bit a point", points=points)
    return given


def _grow(masks: Masks, starts: Masks, *, allowed: int, size: int, best: int) -> int:
    """The largest shattered set that extends one of this size by allowed points.

    `masks` are sorted into groups that agree on the set; `starts` says where each begins.
    """
    import numpy as np

    ends = np.append(starts[1:], masks.size)
    split = np.bitwise_or.reduceat(masks, starts) & ~np.bitwise_and.reduceat(masks, starts)  # both values in the group
    open_points = allowed & int(np.bitwise_and.reduce(split))
    best = max(best, size)
    room = int((ends - starts).min()).bit_length() - 1
    group = np.repeat(np.arange(starts.size), ends - starts)
    while open_points and size + min(open_points.bit_count(), room) > best:
        x = (open_points & -open_points).bit_length() - 1
        open_points &= open_points - 1
        codes = 2 * group + ((masks >> x) & 1)
        order = np.argsort(codes, kind="stable")
        inner = np.searchsorted(codes[order], np.arange(2 * starts.size))
        best = _grow(masks[order], inner, allowed=open_points, size=size + 1, best=best)
    return best
