"""A row's vector as integers that any engine computes: its entries, its distance from a centre, and itself in a ball.

Theorem.  Let FINE be what an entry of 1 becomes.

1.  The entries of a row are integers; those of one column have absolute values that sum to at most FINE, so that those
    of m columns have squares that sum to at most m FINE^2.
2.  `root` of an integer n, 0 <= n <= N, is an integer d with d^2 >= n, whatever the number of its steps.
3.  Let y be the entries less a public centre, R >= 1 a public radius, n = |y|^2 and d = max(R, root(n)).  The integers
    u_j = trunc(SCALE y_j / d) have |u|^2 <= SCALE^2.

All of them are functions of one row and of public numbers, in integers of 62 bits: nothing is rounded but by the
divisions that are written here.  Proof: docs/theory/rounds.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.data.columns import Column
from discreet.data.engines.integer_sums import IntegerSums
from discreet.data.whole import Whole, added, chosen, constant, largest, named, toward_zero, where
from discreet.learning.design import Design
from discreet.learning.vectors.clipped_moments import SCALE

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Whole64 = npt.NDArray[np.int64]

FINE = 1 << 16  # what an entry of 1 becomes
LONG = 1 << 40  # positions of a longer column are cut before they are multiplied
NEWTON = 5  # steps of a root


@dataclass(frozen=True, slots=True, eq=False)
class Lattice:
    """The vectors of a design, of rows of which integer sums can be asked."""

    rows: IntegerSums
    design: Design

    def entries(self) -> list[Whole]:
        """The entries of a row, in units of 1 / FINE."""
        made: list[Whole] = []
        for name, column in self.design.domain.items():
            made += _entries(self.design, column, self.rows.places[name])
        return made

    def sums(self) -> Whole64:
        """The sum of each entry: a row moves it by at most FINE a column, in l1, and by sqrt(columns) FINE in l2."""
        return self.rows.sums([], self.entries())

    def moved(self, centre: Whole64, skip: int = 0) -> Moved:
        """The entries less a centre, but for the last `skip` of them."""
        names = [f"{self.rows.prefix}y{place}" for place in range(self.design.width - skip)]
        entries = [entry - int(c) for entry, c in zip(self.entries(), centre, strict=True)]
        first = dict(zip(names, entries, strict=False))
        far = [named(name, one.low, one.high) for name, one in first.items()]
        square = added([one * one for one in far])
        name = f"{self.rows.prefix}n"
        most = min(square.high, longest(self.design, centre) ** 2)
        squared = named(name, 0, most)
        return Moved(self.rows, entries, far, [first, {name: square.within(0, most)}], squared)


@dataclass(frozen=True, slots=True, eq=False)
class Moved:
    """Entries less a centre, and their square."""

    rows: IntegerSums
    entries: list[Whole]  # of the positions alone
    far: list[Whole]  # by name
    layers: list[dict[str, Whole]]
    square: Whole

    def outside(self, radii: Floats) -> Whole64:
        """How many rows are farther than each radius, in units of the vectors: a row moves each number by at most 1."""
        edges = [math.floor((float(radius) * FINE) ** 2) + 1 for radius in radii]
        return self.rows.sums(self.layers, [where(self.square.at_least(edge), 1, 0) for edge in edges])

    def ball(self, radius: int) -> tuple[list[dict[str, Whole]], list[Whole]]:
        """The layers, and the names of the integers u of a row inside the radius, in units of 1 / FINE."""
        prefix = self.rows.prefix
        layers, length = root(self.square, f"{prefix}r")
        divisor = named(f"{prefix}d", radius, max(radius, length.high))
        made = {
            f"{prefix}u{place}": toward_zero(one * SCALE, divisor).within(-SCALE, SCALE)
            for place, one in enumerate(self.far)
        }
        names = [named(name, one.low, one.high) for name, one in made.items()]
        return [*self.layers, *layers, {f"{prefix}d": largest(length, radius)}, made], names


def lattice_centre(centre: Floats) -> Whole64:
    """A centre as integers: its entries are between -1 and 1."""
    import numpy as np

    return np.rint(np.clip(centre, -1.0, 1.0) * FINE).astype(np.int64)


def lattice_radius(radius: float) -> int:
    """A radius as an integer, at least 1."""
    return max(1, math.floor(radius * FINE))


def longest(design: Design, centre: Sequence[int] | Whole64) -> int:
    """What the distance of a row from a centre never exceeds, in units of 1 / FINE."""
    return math.isqrt(design.square * FINE**2) + 1 + math.isqrt(sum(int(c) ** 2 for c in centre)) + 1


def root(square: Whole, name: str) -> tuple[list[dict[str, Whole]], Whole]:
    """Layers, and an integer whose square is at least that of which it is the root; 0 has the root 1.

    It begins at a power of two above the root, and Newton's steps never fall below its integer part.
    """
    most = math.isqrt(square.high) + 1
    powers = [1 << place for place in range(most.bit_length() + 1)]
    layers: list[dict[str, Whole]] = [
        {f"{name}0": chosen(square, [p * p for p in powers[:-1]], [constant(p) for p in powers]).within(1, most)}
    ]
    for step in range(NEWTON):
        last = named(f"{name}{step}", 1, most)
        layers.append({f"{name}{step + 1}": (last + square.over(last)).over(2).within(1, most)})
    last = named(f"{name}{NEWTON}", 1, most)
    layers.append({name: where((last * last).below(square), last + 1, last)})
    return layers, named(name, 1, most + 1)


def _entries(design: Design, column: Column, place: Whole) -> list[Whole]:
    """The entries of one column."""
    values, kind = column.size - column.nullable, design.kind(column)
    made = []
    if kind in ("number", "two"):
        spread = max(values - 1, 1)
        cut = -(-spread // LONG)
        entry = (place.within(0, spread).over(cut) * (2 * FINE)).over(spread // cut) - FINE
        entry = entry.within(-FINE, FINE)
        made = [where(place.below(values), entry, 0) if column.nullable else entry]
    else:
        starts = design.starts(column)
        ends = [*starts[1:], values]
        made = [where(place.at_least(a) & place.below(b), FINE, 0) for a, b in zip(starts, ends, strict=True)]
    if column.nullable:
        made.append(where(place.at_least(values), FINE, 0))
    return made
