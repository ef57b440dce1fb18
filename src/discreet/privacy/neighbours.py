"""Neighbour relations: which two datasets a promise makes hard to tell apart.

Each relation is a type.  A guarantee names one, and guarantees under different
relations are never added.

    AddRemove       one row added or removed; the number of rows is private
    Replace         one row changed; the number of rows n is public
    NullRow         one row replaced by a public null row (None), or back; n is public
    Local           one user's only record changed (no trusted curator)
    EdgeNeighbours  one edge of a graph
    NodeNeighbours  all edges at one vertex

A change of one row is a removal and an addition, so a guarantee under AddRemove
or NullRow holds under Replace for a group of two; the converse is false, since
Replace tells everybody n.  `distance` is the least number of steps between two
datasets, and `of` lists the datasets one step away; order matters under Replace and
NullRow, and does not under AddRemove, whose datasets are multisets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from itertools import combinations_with_replacement, product

from discreet.errors import UnsupportedError, require

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
        """Every neighbour of a dataset, in both directions, once each."""
        rows = tuple(dataset)
        for row in dict.fromkeys(rows):
            i = rows.index(row)
            yield rows[:i] + rows[i + 1 :]
        for row in universe:
            yield (*rows, row)


class Replace(Neighbours):
    """Ordered tuples of n rows; a step changes one row."""

    @staticmethod
    def distance(left: Sequence[Row], right: Sequence[Row]) -> int:
        """The Hamming distance; different lengths are refused, since n is public.

        >>> Replace.distance("aab", "abb")
        1
        """
        require(len(left) == len(right), "equally many rows, as n is public", left=len(left), right=len(right))
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

    @staticmethod
    def distance(left: Sequence[Row], right: Sequence[Row]) -> int:
        """One step where a row is null on one side, two where it differs otherwise.

        >>> NullRow.distance(["a", "b"], [None, "c"])
        3
        """
        require(len(left) == len(right), "equally many rows, as n is public", left=len(left), right=len(right))
        pairs = zip(left, right, strict=True)
        return sum(1 if a is None or b is None else 2 for a, b in pairs if a != b)

    @staticmethod
    def of(dataset: Sequence[Row], universe: Sequence[Row]) -> Iterator[Dataset]:
        """Every neighbour of a dataset, in both directions."""
        rows = tuple(dataset)
        for i, old in enumerate(rows):
            for row in universe if old is None else (None,):
                yield (*rows[:i], row, *rows[i + 1 :])


class Local(Neighbours):
    """A single record; a step changes it to any other."""

    distance = Replace.distance
    of = Replace.of


class EdgeNeighbours(Neighbours):
    """Graphs on public vertices; a step adds or removes one edge.

    >>> from discreet.structured import TriangleCount
    >>> TriangleCount(epsilon=1, delta=1e-6).privacy().neighbours.__name__
    'EdgeNeighbours'
    """


class NodeNeighbours(Neighbours):
    """Graphs; a step changes all edges at one vertex.

    >>> from discreet.structured import NodeEdgeCount
    >>> NodeEdgeCount(epsilon=1, degree_bound=4).privacy().neighbours.__name__
    'NodeNeighbours'
    """


RELATIONS: dict[str, type[Neighbours]] = {
    relation.__name__: relation for relation in (AddRemove, Replace, NullRow, Local, EdgeNeighbours, NodeNeighbours)
}


def known(relation: object) -> type[Neighbours] | None:
    """The relation, if it is one of these or None; anything else is refused before it labels a promise.

    >>> known("Replace")
    Traceback (most recent call last):
    discreet.errors.ParameterError: need AddRemove, ... or None as neighbours, got neighbours='Replace'
    """
    named = [one for one in RELATIONS.values() if one is relation]
    require(bool(named) or relation is None, f"{', '.join(RELATIONS)} or None as neighbours", neighbours=relation)
    return named[0] if named else None


def steps_within(held: type[Neighbours], asked: type[Neighbours] | None) -> int:
    """Of how many steps under `held` every step under `asked` is made; refused where no theorem says.

    One row replaced is one removed and one added, or one made null and back; and one edge that changes is some of
    the edges at one vertex.  A named relation is not forgotten: nothing would keep its numbers from another one.

    >>> steps_within(AddRemove, Replace), steps_within(NodeNeighbours, EdgeNeighbours)
    (2, 1)
    """
    if held in (AddRemove, NullRow) and asked is Replace:
        return 2
    if held is NodeNeighbours and asked is EdgeNeighbours:
        return 1
    raise UnsupportedError(
        f"no theorem leads from {held.__name__} to {'None' if asked is None else asked.__name__}:"
        " state the sensitivity for the relation that is wanted"
    )


def datasets(universe: Sequence[Row], *, n: int, relation: type[Neighbours]) -> list[Dataset]:
    """Every dataset of n rows; under AddRemove, every multiset of at most n rows, in the order of the universe.

    >>> len(datasets("abc", n=2, relation=Replace)), len(datasets("abc", n=2, relation=AddRemove))
    (9, 10)
    """
    require(n >= 0, "n >= 0", n=n)
    if relation is AddRemove:
        return [rows for size in range(n + 1) for rows in combinations_with_replacement(universe, size)]
    if relation is Replace or relation is Local:
        require(relation is Replace or n == 1, "n = 1 under Local", n=n)
        return list(product(universe, repeat=n))
    if relation is NullRow:
        require(None not in universe, "a universe without None, which is the null row", universe=universe)
        return list(product((*universe, None), repeat=n))
    raise UnsupportedError(f"datasets under {relation.__name__} are graphs; list the pairs yourself")


def neighbouring_pairs(
    universe: Sequence[Row], *, n: int, relation: type[Neighbours]
) -> Iterator[tuple[Dataset, Dataset]]:
    """Every unordered pair of neighbours among `datasets`, once.

    >>> sum(1 for _ in neighbouring_pairs(range(4), n=2, relation=Replace))
    48
    """
    place = {row: i for i, row in enumerate(universe)}
    for rows in datasets(universe, n=n, relation=relation):
        if relation is AddRemove:
            if len(rows) < n:
                yield from ((rows, tuple(sorted((*rows, row), key=place.__getitem__))) for row in universe)
            continue
        for i, old in enumerate(rows):
            later = universe[place[old] + 1 :] if old is not None and relation is not NullRow else ()
            for row in (None,) if relation is NullRow and old is not None else later:
                yield rows, (*rows[:i], row, *rows[i + 1 :])
