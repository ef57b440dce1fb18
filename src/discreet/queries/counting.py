"""Counting queries and their relatives on rows in memory, each with its sensitivity.

Theorem.  For one step of a neighbour relation, these queries move by at most

    query                                    AddRemove, NullRow     Replace, Local
    Counting(predicate)                      1                      1
    Linear(function, low, high)              max(|low|, |high|)     high - low
    Stack(queries), l1 and l2                sum, root of squares   the same
    Stack(queries) on a known universe       largest column         largest difference of two columns
    Max(queries)                             the largest            the largest
    Proportion(query, n=)                    NullRow: that of the query, divided by n; also Replace
    Distance(property)                       1 (AddRemove: for `all_equal` only)    1

A null row, None, counts for nothing.  Proof: docs/theory/counting.md.

A query is called with its rows, and `row(universe)` is the same query as coefficients of the
histogram: query(rows) = sum over i of row[i] * histogram[i].  The predicates below and any function
from a row to a truth value can be counted.  Functions must be total: one that raises tells of a row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from operator import eq, ge, gt, le, lt, ne
from typing import Protocol, runtime_checkable

from discreet.errors import DomainError, UnsupportedError, require
from discreet.privacy.neighbours import AddRemove, Local, Neighbours, NullRow, Replace, Row
from discreet.privacy.number import Number, exact, tidy
from discreet.privacy.sensitivity import Sensitivity, counting, linear, matrix, stacked
from discreet.queries.predicate import Operator

Rows = Sequence[Row]
Predicate = Callable[..., bool]
OPERATORS = {"=": eq, "<>": ne, "<": lt, "<=": le, ">": gt, ">=": ge}
LARGEST = 1_000_000  # datasets that an enumeration may visit


@dataclass(frozen=True, slots=True)
class Conjunction:
    """Conditions on the named columns of a row, joined by AND; a value that is None satisfies none of them.

    >>> old = Conjunction(("ward", "age"), (("age", ">=", 65), ("ward", "=", "surgery")))
    >>> old(("surgery", 70)), old(("surgery", 60)), str(old)
    (True, False, "age >= 65 AND ward = 'surgery'")
    """

    columns: tuple[str, ...]
    conditions: tuple[tuple[str, Operator, object], ...]

    def __post_init__(self) -> None:
        for column, operator, _ in self.conditions:
            require(column in self.columns, f"a column among {', '.join(self.columns)}", column=column)
            require(operator in OPERATORS, f"an operator among {' '.join(OPERATORS)}", operator=operator)

    def __call__(self, row: Sequence[object]) -> bool:
        values = dict(zip(self.columns, row, strict=True))
        return all(
            values[column] is not None and OPERATORS[operator](values[column], value)
            for column, operator, value in self.conditions
        )

    def __str__(self) -> str:
        return " AND ".join(f"{column} {operator} {value!r}" for column, operator, value in self.conditions) or "TRUE"


@dataclass(frozen=True, slots=True)
class Bits:
    """A row of bits, as an integer, agrees with `pattern` wherever `mask` has a one.

    >>> Bits(mask=0b101, pattern=0b001)(0b011), Bits(mask=0b101, pattern=0b001)(0b110)
    (True, False)
    """

    mask: int
    pattern: int

    def __post_init__(self) -> None:
        _bits(self.mask, "mask")
        _bits(self.pattern, "pattern")
        require(self.pattern & ~self.mask == 0, "a pattern inside the mask", mask=self.mask, pattern=self.pattern)

    def __call__(self, row: int) -> bool:
        return row & self.mask == self.pattern


@dataclass(frozen=True, slots=True)
class Parity:
    """An odd number of the bits under `mask` are one; `sign` is -1 then and 1 otherwise.

    >>> Parity(0b11)(0b01), Parity(0b11)(0b11), Parity(0b11).sign(0b01)
    (True, False, -1)
    """

    mask: int

    def __post_init__(self) -> None:
        _bits(self.mask, "mask")

    def __call__(self, row: int) -> bool:
        return (row & self.mask).bit_count() % 2 == 1

    def sign(self, row: int) -> int:
        """The product of the chosen signs, where a bit of one is the sign -1."""
        return -1 if self(row) else 1


@dataclass(frozen=True, slots=True)
class Threshold:
    """A row that is a number is at most `at`.

    >>> Threshold(at=65)(70)
    False
    """

    at: Number

    def __post_init__(self) -> None:
        exact(self.at)

    def __call__(self, row: Number) -> bool:
        return exact(row) <= exact(self.at)


def _bits(value: object, name: str) -> None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    require(whole and value >= 0, f"an integer {name} >= 0", **{name: value})  # type: ignore[operator]


@runtime_checkable
class NumberQuery(Protocol):
    """A number from rows, with its sensitivity."""

    def __call__(self, rows: Rows) -> Number: ...

    def sensitivity(self, neighbours: type[Neighbours]) -> Sensitivity: ...


@dataclass(frozen=True, slots=True)
class Counting:
    """How many rows satisfy a predicate.

    >>> Counting(Threshold(3))((1, 5, 3, None)), Counting(Threshold(3)).row(range(6))
    (2, (1, 1, 1, 1, 0, 0))
    """

    predicate: Predicate

    def __call__(self, rows: Rows) -> int:
        return sum(self.row(rows))

    def row(self, universe: Rows) -> tuple[int, ...]:
        """Its coefficients for the rows of a universe."""
        return tuple(int(row is not None and bool(self.predicate(row))) for row in universe)

    def sensitivity(self, neighbours: type[Neighbours]) -> Sensitivity:
        """One row is in or out."""
        return counting(relation=neighbours)


@dataclass(frozen=True, slots=True)
class Linear:
    """The sum over rows of a function, clamped to [low, high] so that the sensitivity holds whatever it returns.

    >>> squares = Linear(lambda x: x * x, low=0, high=9)
    >>> squares((1, 2, 5)), squares.sensitivity(Replace)
    (Fraction(14, 1), 9.0)
    """

    function: Callable[..., Number]
    low: Number
    high: Number

    def __post_init__(self) -> None:
        require(exact(self.low) < exact(self.high), "low < high", low=self.low, high=self.high)

    def __call__(self, rows: Rows) -> Fraction:
        return sum(self.row(rows), Fraction(0))

    def row(self, universe: Rows) -> tuple[Fraction, ...]:
        """Its coefficients for the rows of a universe."""
        low, high = exact(self.low), exact(self.high)
        return tuple(Fraction(0) if row is None else min(max(exact(self.function(row)), low), high) for row in universe)

    def sensitivity(self, neighbours: type[Neighbours]) -> Sensitivity:
        """The largest value, or the largest difference of two."""
        return linear(self.low, self.high, relation=neighbours)


@dataclass(frozen=True, slots=True)
class Stack:
    """Several counting and linear queries at once.

    >>> cells = Stack(tuple(Counting(Bits(mask=3, pattern=i)) for i in range(4)))
    >>> cells((0, 3, 3)), cells.sensitivity(Replace, norm=1), cells.sensitivity(Replace, norm=1, universe=range(4))
    ((1, 0, 0, 2), 4.0, 2.0)
    """

    queries: tuple[Counting | Linear, ...]

    def __post_init__(self) -> None:
        require(bool(self.queries), "at least one query", queries=self.queries)

    def __call__(self, rows: Rows) -> tuple[Number, ...]:
        return tuple(query(rows) for query in self.queries)

    def matrix(self, universe: Rows) -> tuple[tuple[Number, ...], ...]:
        """Queries by rows of the universe: the matrix that takes the histogram to the answers."""
        return tuple(query.row(universe) for query in self.queries)

    def sensitivity(self, neighbours: type[Neighbours], *, norm: int, universe: Rows | None = None) -> Sensitivity:
        """Of all answers together: from the queries' own, or exactly where the universe is known."""
        if universe is None:
            return stacked([query.sensitivity(neighbours) for query in self.queries], norm=norm)
        require(len(universe) >= 1, "a universe of at least one row", universe=universe)
        import numpy as np

        return matrix(np.array(self.matrix(universe), dtype=object), relation=neighbours, norm=norm)


@dataclass(frozen=True, slots=True)
class Max:
    """The largest of several queries.

    >>> Max((Counting(Threshold(at=10)), Counting(Threshold(at=20))))([5, 15, 30])
    Fraction(2, 1)
    """

    queries: tuple[NumberQuery, ...]

    def __post_init__(self) -> None:
        require(bool(self.queries), "at least one query", queries=self.queries)

    def __call__(self, rows: Rows) -> Fraction:
        return max(exact(query(rows)) for query in self.queries)

    def sensitivity(self, neighbours: type[Neighbours]) -> Sensitivity:
        """No more than the one that moves most."""
        return tidy(max(exact(query.sensitivity(neighbours)) for query in self.queries))


@dataclass(frozen=True, slots=True)
class Proportion:
    """A query divided by a public number of rows.

    >>> Proportion(Counting(Threshold(0)), n=4).sensitivity(Replace)
    0.25
    """

    query: NumberQuery
    n: int

    def __post_init__(self) -> None:
        _bits(self.n, "n")
        require(self.n >= 1, "n >= 1", n=self.n)

    def __call__(self, rows: Rows) -> Fraction:
        require(len(rows) == self.n, "the public number of rows", n=self.n)
        return exact(self.query(rows)) / self.n

    def sensitivity(self, neighbours: type[Neighbours]) -> Sensitivity:
        """That of the query, divided by n; AddRemove is refused, since n is private there."""
        if neighbours is AddRemove:
            raise UnsupportedError("a proportion needs a public n; under AddRemove, ask for the count")
        return tidy(exact(self.query.sensitivity(neighbours)) / self.n)


@dataclass(frozen=True, slots=True)
class AllEqual:
    """The property that all rows are the same: n less the largest multiplicity away.

    >>> distance_to(all_equal)((0, 0, 1, 1, 1))
    2
    """

    def distance(self, rows: Rows) -> int:
        """How many rows must change, or go."""
        return len(rows) - max(Counter(rows).values(), default=0)


all_equal = AllEqual()


@dataclass(frozen=True, slots=True)
class Members:
    """A property given by the datasets that have it, all of n rows.

    >>> Distance(Members(frozenset({(0, 0, 0), (1, 1, 1)})))((0, 0, 1))
    1
    """

    datasets: frozenset[tuple[Row, ...]]

    def __post_init__(self) -> None:
        require(len({len(rows) for rows in self.datasets}) == 1, "datasets of one size, at least one",
                sizes=sorted({len(rows) for rows in self.datasets}))  # fmt: skip

    def distance(self, rows: Rows) -> int:
        """To the nearest of them."""
        return min(Replace.distance(rows, other) for other in self.datasets)


@dataclass(frozen=True, slots=True)
class Holds:
    """The datasets of rows of a finite universe for which a function is true; any other row must change.

    >>> distance_to(Holds(lambda rows: sum(rows) == 2, universe=(0, 1)))((1, 1, 1, 1))
    2
    """

    property: Callable[[tuple[Row, ...]], bool]
    universe: tuple[Row, ...]

    def distance(self, rows: Rows) -> int:
        """The fewest changed rows, by trying none, one, two, ...; refused where that could take too long."""
        n = len(rows)
        require((len(self.universe) + 1) ** n <= LARGEST, f"at most {LARGEST:,} datasets to try", n=n)
        known = frozenset(self.universe)
        for changed in range(n + 1):
            for places in combinations(range(n), changed):
                if any(row not in known for i, row in enumerate(rows) if i not in places):
                    continue
                for new in product(self.universe, repeat=changed):
                    there = dict(zip(places, new, strict=True))
                    if self.property(tuple(there.get(i, row) for i, row in enumerate(rows))):
                        return changed
        raise DomainError(f"no dataset of {n} rows has the property")


@dataclass(frozen=True, slots=True)
class Distance:
    """How many rows must change before the dataset has a property.

    >>> Distance(AllEqual())((0, 0, 1, 1, 1))
    2
    """

    property: AllEqual | Members | Holds

    def __call__(self, rows: Rows) -> int:
        return self.property.distance(rows)

    def sensitivity(self, neighbours: type[Neighbours]) -> Sensitivity:
        """One step changes one row; where rows come and go only `all_equal` has a distance."""
        if neighbours in (Replace, Local, NullRow) or (neighbours is AddRemove and isinstance(self.property, AllEqual)):
            return 1.0
        raise UnsupportedError(f"the Hamming distance needs a public n; {neighbours.__name__} has none")


def distance_to(property: AllEqual | Members | Holds) -> Distance:
    """The query of the distance to a property.

    >>> distance_to(Members(frozenset({(0, 0, 0), (1, 1, 1)})))((0, 1, 1))
    1
    """
    return Distance(property)
