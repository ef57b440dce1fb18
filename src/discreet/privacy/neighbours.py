"""Neighbour relations: which two datasets a promise makes hard to tell apart.

Each relation is a type.  A guarantee names one, and guarantees under different
relations are never added.

    AddRemove       one row added or removed; the number of rows is private
    Replace         one row changed; the number of rows n is public
    NullRow         one row replaced by a public null row; n is public
    Local           one user's only record changed (no trusted curator)
    EdgeNeighbours  one edge of a graph
    NodeNeighbours  all edges at one vertex

A change of one row is a removal and an addition, so a guarantee under AddRemove
or NullRow holds under Replace for a group of two; the converse is false, since
Replace tells everybody n.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence

Row = Hashable
Dataset = tuple[Row, ...]


class Neighbours:
    """A neighbour relation.  The classes below are used as values and never instantiated."""


class AddRemove(Neighbours):
    """Multisets of rows; a step adds or removes one row."""

    @staticmethod
    def distance(left: Sequence[Row], right: Sequence[Row]) -> int:
        """The size of the symmetric difference of two multisets.

        >>> AddRemove.distance("aab", "ab")
        1
        """
        a, b = Counter(left), Counter(right)
        return (a - b).total() + (b - a).total()

    @staticmethod
    def of(dataset: Sequence[Row], universe: Sequence[Row]) -> Iterator[Dataset]:
        """Every neighbour of a dataset, in both directions."""
        rows = tuple(dataset)
        for i in range(len(rows)):
            yield rows[:i] + rows[i + 1 :]
        for row in universe:
            yield (*rows, row)


class Replace(Neighbours):
    """Ordered tuples of n rows; a step changes one row."""

    @staticmethod
    def distance(left: Sequence[Row], right: Sequence[Row]) -> int:
        """The Hamming distance; infinite distance is refused, since n is public.

        >>> Replace.distance("aab", "abb")
        1
        """
        if len(left) != len(right):
            raise ValueError(f"need equally many rows, got {len(left)} and {len(right)}")
        return sum(a != b for a, b in zip(left, right, strict=True))

    @staticmethod
    def of(dataset: Sequence[Row], universe: Sequence[Row]) -> Iterator[Dataset]:
        """Every neighbour of a dataset."""
        rows = tuple(dataset)
        for i, old in enumerate(rows):
            for row in universe:
                if row != old:
                    yield (*rows[:i], row, *rows[i + 1 :])


class NullRow(Neighbours):
    """Ordered tuples of n rows; a step replaces a row by None, or None by a row."""

    distance = Replace.distance

    @staticmethod
    def of(dataset: Sequence[Row], universe: Sequence[Row]) -> Iterator[Dataset]:
        """Every neighbour of a dataset, in both directions."""
        rows = tuple(dataset)
        for i, old in enumerate(rows):
            for row in universe if old is None else (None,):
                yield (*rows[:i], row, *rows[i + 1 :])


class Local(Neighbours):
    """A single record; a step changes it to any other."""


class EdgeNeighbours(Neighbours):
    """Graphs on public vertices; a step adds or removes one edge."""


class NodeNeighbours(Neighbours):
    """Graphs; a step changes all edges at one vertex."""


RELATIONS: dict[str, type[Neighbours]] = {
    relation.__name__: relation
    for relation in (AddRemove, Replace, NullRow, Local, EdgeNeighbours, NodeNeighbours)
}
