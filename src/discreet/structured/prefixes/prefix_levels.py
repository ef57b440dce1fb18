"""Trees of counts over ordered cells: their best shape, the variance of every prefix, and consistency.

A tree has radices (b_1, ..., b_L), from the leaves up: a node of level l has b_l children, and holds b_1 ... b_l cells.
All levels below the root are measured with noise of variance 1, and the root too, or it is known, or it is left out.

Theorem (Hay, Rastogi, Miklau, Suciu 2010; Honaker 2015; the variances of prefixes are ours).  Let v_0 = 1 and
1 / v_l = 1 + 1 / (b_l v_(l-1)): the variance of the estimate of a node from its subtree; without the 1 where it is not
measured; v_root = 0 where it is known.  The least-squares estimate of the first j cells has variance

    (j / N)^2 v_root + sum over l of v_(l-1) (i_l + f_l^2 - (i_l + f_l)^2 / b_l),

where i_l children of the node of level l on the path to j lie wholly before j, and the share f_l of the next.
Least squares takes two passes, up and down, over the counts, and no measurement has a factor above 1 in a prefix.
Proof: docs/theory/prefix.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Literal

from discreet.errors import require

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    IntArray = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]

Root = Literal["measured", "known", "left out"]
TRIED = 1 << 11  # prefixes at which large trees are compared
WIDEST = 32  # the largest radix that is tried on all levels but the highest


@dataclass(frozen=True, kw_only=True)
class Levels:
    """The shape of a tree.

    >>> tree = Levels(radices=(2, 2, 2), root="measured")
    >>> tree.cells, tree.measured, tree.plain(7)  # [0, 7) = 4 + 2 + 1 cells
    (8, 4, 3)
    >>> round(float(tree.variances(8)[6]), 3)  # least squares is better
    1.01
    """

    radices: tuple[int, ...]
    root: Root

    def __post_init__(self) -> None:
        require(len(self.radices) >= 1 and min(self.radices) >= 2, "radices >= 2", radices=self.radices)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The cells of a node of each level, the root's last."""
        found = [1]
        for radix in self.radices:
            found.append(found[-1] * radix)
        return tuple(found)

    @property
    def cells(self) -> int:
        """All cells, padding included."""
        return self.sizes[-1]

    @property
    def measured(self) -> int:
        """How many measured nodes hold a cell."""
        return len(self.radices) + (self.root == "measured")

    @cached_property
    def subtree(self) -> tuple[float, ...]:
        """v_0, ..., v_L: the variance of the estimate of a node from its subtree; of the root, in the end."""
        found = [1.0]
        for level, radix in enumerate(self.radices, start=1):
            below = radix * found[-1]
            top = level == len(self.radices)
            found.append(below / (1 + below) if not top or self.root == "measured" else below)
        if self.root == "known":
            found[-1] = 0.0
        return tuple(found)

    def plain(self, count: int) -> int:
        """How many nodes make up the first `count` cells."""
        if count == self.cells and self.root != "left out":
            return int(self.root == "measured")
        return sum(self._digits(count))

    def _digits(self, count: int) -> list[int]:
        found = []
        for radix in self.radices[:-1]:
            found.append(count % radix)
            count //= radix
        return [*found, count]

    def variances(self, count: int, *, consistent: bool = True, places: IntArray | None = None) -> Floats:
        """Of the prefixes of 1, ..., count cells, or of those in `places`, in units of the noise."""
        import numpy as np

        ends = np.arange(1, count + 1) if places is None else places
        if not consistent:
            return self._plain_variances(ends)
        found = (ends / self.cells) ** 2 * self.subtree[-1]
        for level, radix in enumerate(self.radices, start=1):
            inside = ends % self.sizes[level] if level < len(self.radices) else ends
            whole, part = np.divmod(inside, self.sizes[level - 1])
            share = part / self.sizes[level - 1]
            found += self.subtree[level - 1] * (whole + share**2 - (whole + share) ** 2 / radix)
        return np.maximum(found, 0.0)

    def largest(self, count: int) -> float:
        """The largest of the least-squares variances of all prefixes of 1, ..., count cells, in time of the radices.

        Given what is above it, the variance that a share f of a node adds is a f^2 + p f + q, with one a for all ways
        to come there: so of those ways only the upper envelope of the lines p f + q on [0, 1] is kept, level by level
        from the root down.  A prefix of fewer cells leaves the path to `count` at some level, and is free below it.

        >>> tree = Levels(radices=(3, 4, 2), root="measured")
        >>> round(tree.largest(20), 12) == round(float(tree.variances(20).max()), 12)
        True
        """
        import numpy as np

        require(1 <= count <= self.cells, f"a count from 1 to {self.cells}", count=count)
        square = self.subtree[-1]
        on, free = np.zeros((1, 2)), np.zeros((0, 2))  # rows (p, q): the path to count itself, and all that left it
        rest = count
        for level in range(len(self.radices), 0, -1):
            size, radix, spread = self.sizes[level - 1], self.radices[level - 1], self.subtree[level - 1]
            digit, rest = divmod(rest, size)
            every = _inside(free, np.arange(radix), square, radix, spread)
            less = _inside(on, np.arange(digit), square, radix, spread)
            on = _inside(on, np.array([digit]), square, radix, spread)
            free = _envelope(np.vstack([every, less]))
            square = spread * (1 - 1 / radix) + square / radix**2
        return max(0.0, float(np.vstack([free, on])[:, 1].max()))  # a leaf is whole: f = 0

    def _plain_variances(self, ends: IntArray) -> Floats:
        import numpy as np

        found, rest = np.zeros(len(ends)), ends
        for radix in self.radices[:-1]:
            rest, digit = np.divmod(rest, radix)
            found += digit
        found += rest
        if self.root != "left out":
            found[ends == self.cells] = float(self.root == "measured")
        return found

    def range_variance(self, low: int, high: int) -> float:
        """Of the cells low, ..., high - 1, by least squares, in units of the noise."""

        def inside(level: int, low: int, high: int) -> tuple[float, float]:
            """The share of a node that is asked for, and the variance that is not its total's."""
            if (low, high) == (0, self.sizes[level]) or low == high:
                return float(low < high), 0.0
            size, radix, spread = self.sizes[level - 1], self.radices[level - 1], self.subtree[level - 1]
            first, last = low // size, (high - 1) // size
            if first == last:
                share, found = inside(level - 1, low - first * size, high - first * size)
                return share / radix, found + spread * share**2 * (1 - 1 / radix)
            left, found = inside(level - 1, low - first * size, size)
            right, more = inside(level - 1, 0, high - last * size)
            asked = left + right + (last - first - 1)
            square = left**2 + right**2 + (last - first - 1)
            return asked / radix, found + more + spread * (square - asked**2 / radix)

        share, found = inside(len(self.radices), low, high)
        return max(0.0, found + share**2 * self.subtree[-1])

    def counts(self, leaves: IntArray) -> list[IntArray]:
        """The counts of all measured nodes, level by level, leaves first."""
        import numpy as np

        padded = np.zeros(self.cells, dtype=np.int64)
        padded[: len(leaves)] = leaves
        found = [padded]
        for radix in self.radices:
            found.append(found[-1].reshape(-1, radix).sum(axis=1))
        return found if self.root == "measured" else found[:-1]

    def consistent(self, measured: list[Floats], known: float | None) -> Floats:
        """The least-squares estimates of the leaves."""
        up = [measured[0].astype(float)]
        for level, radix in enumerate(self.radices, start=1):
            below = up[-1].reshape(-1, radix).sum(axis=1)
            if level < len(measured):
                share = 1 - self.subtree[level] / (radix * self.subtree[level - 1])
                below = share * measured[level] + (1 - share) * below
            up.append(below)
        if known is not None:
            up[-1][:] = known
        return self._down(up)

    def _down(self, up: list[Floats]) -> Floats:
        total = up[-1]
        for level in range(len(self.radices) - 1, -1, -1):
            radix = self.radices[level]
            below = up[level].reshape(-1, radix)
            total = (below + ((total - below.sum(axis=1)) / radix)[:, None]).reshape(-1)
        return total

    def plainly(self, measured: list[Floats], count: int, known: float | None) -> Floats:
        """Every prefix of 1, ..., count cells as a sum of measured nodes."""
        import numpy as np

        ends = np.arange(1, count + 1)
        found = np.zeros(count)
        for level, size in enumerate(self.sizes[:-1]):
            sums = np.concatenate([[0.0], np.cumsum(measured[level].astype(float))])
            top = level == len(self.radices) - 1
            parent = 0 if top else (ends // self.sizes[level + 1]) * self.radices[level]
            found += sums[ends // size] - sums[parent]
        if ends[-1] == self.cells and self.root != "left out":
            found[-1] = known if known is not None else float(measured[-1][0])
        return found


def _inside(lines: Floats, digits: IntArray, square: float, radix: int, spread: float) -> Floats:
    """The lines in the share f of a child after `digits` whole ones: its parent has the share (digit + f) / radix."""
    import numpy as np

    slope, height, whole = lines[:, :1], lines[:, 1:], digits / radix
    slopes = slope / radix + 2 * whole * (square / radix - spread)
    heights = height + slope * whole + square * whole**2 + spread * (digits - digits * whole)
    return np.column_stack([slopes.ravel(), heights.ravel()])


def _envelope(lines: Floats) -> Floats:
    """Those of the lines p f + q that are the largest somewhere on [0, 1]."""
    import numpy as np

    if len(lines) < 2:
        return lines
    lines = lines[np.lexsort((-lines[:, 1], lines[:, 0]))]
    lines = lines[np.append(True, np.diff(lines[:, 0]) > 0)]  # of parallels the highest
    kept: list[tuple[float, float, float]] = []  # slope, height, and from where on it is the largest
    for slope, height in lines.tolist():
        start = -math.inf
        while kept:
            start = (kept[-1][1] - height) / (slope - kept[-1][0])
            if start > kept[-1][2]:
                break
            kept.pop()
            start = -math.inf
        kept.append((slope, height, start))
    ends = [start for _, _, start in kept[1:]] + [math.inf]
    inside = [(line[0], line[1]) for line, end in zip(kept, ends, strict=True) if line[2] <= 1 and end >= 0]
    return np.array(inside)


def radices(size: int, levels: int) -> tuple[int, ...]:
    """`levels` radices, equal or nearly, with the least product of at least `size` that one step down leaves.

    >>> radices(1000, 3), radices(1000, 2), radices(1000, 10)
    ((10, 10, 10), (32, 32), (2, 2, 2, 2, 2, 2, 2, 2, 2, 2))
    """
    radix = max(2, math.ceil(size ** (1 / levels) - 1e-9))
    while radix**levels < size:
        radix += 1
    found = [radix] * levels
    for place in range(levels - 1, -1, -1):
        if found[place] > 2 and math.prod(found) // found[place] * (found[place] - 1) >= size:
            found[place] -= 1
    return tuple(found)


@lru_cache(maxsize=64)
def best_levels(size: int, *, pure: bool, known: bool, consistent: bool) -> Levels:
    """The tree with the least largest variance, for Laplace noise (pure) or Gaussian; the root known or not.

    Above 2,048 cells trees are compared at so many prefixes, spread evenly: `largest` is what the choice then has.

    >>> best_levels(1024, pure=True, known=False, consistent=True).radices
    (14, 14, 6)
    """
    import numpy as np

    every = np.unique(np.linspace(1, size, min(size, TRIED)).astype(np.int64))

    def largest(tree: Levels) -> float:
        spread = float(tree.variances(size, consistent=consistent, places=every).max())
        return spread * tree.measured ** (2 if pure else 1)

    roots: tuple[Root, ...] = ("known",) if known else ("measured", "left out")
    made = [Levels(radices=shape, root=root) for shape in sorted(_shapes(size)) for root in roots]
    return min(made, key=largest)


def _shapes(size: int) -> set[tuple[int, ...]]:
    """Radices that are nearly equal, and equal ones below any at the top."""
    found = {radices(size, levels) for levels in range(1, max(1, (size - 1).bit_length()) + 1)}
    for radix in range(2, min(size, WIDEST) + 1):
        below = (radix,)
        while math.prod(below) * 2 <= size:
            found.add((*below, -(-size // math.prod(below))))
            below = (*below, radix)
    return found
