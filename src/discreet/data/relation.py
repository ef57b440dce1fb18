"""Rows made of rows: filters, joins, unions and values per unit, each row still owned by one unit.

A relation is what a question is asked of when it is not a table as it stands.  Every row of a private
relation belongs to one privacy unit, carried along unseen.

Theorem.  Every node here is unit-local: the rows that a unit owns in the result are a function of the rows it owns in
the private tables, and of public tables.  So adding or removing a unit adds or removes its own rows of
the result and changes no other, whatever is nested in whatever; the bounds of `Aggregation`, enforced at
the end, then hold as for a table.  Proof, node by node: docs/theory/relations.md.

    Scan      the coded columns of a table; rows without a unit, or without a value that may not be missing, are dropped
    Derive    a filter and new columns, row by row
    PerUnit   one row for each unit (and key): counts, sums, extremes and averages of its rows, clamped
    Bound     at most so many rows of each unit, chosen by the keyed hash of their contents
    Join      rows of two relations side by side: of one unit, or with a public table
    Union     the rows of several relations
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from sqlglot import Expr

    from discreet.data.table import Table


class Relation:
    """Base of the nodes; `columns` are the names it gives, besides the unit."""

    __slots__ = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns, in order."""
        raise NotImplementedError

    @property
    def sources(self) -> tuple[Relation, ...]:
        """The relations it is made of."""
        return ()

    @property
    def public(self) -> bool:
        """Whether no private table is in it."""
        return all(source.public for source in self.sources)

    def scans(self) -> Iterator[Scan]:
        """The tables it reads, left to right."""
        for source in self.sources:
            yield from source.scans()

    def pruned(self, needed: Iterable[str]) -> Relation:
        """The same rows with only the columns that are needed, all the way down."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True, eq=False)
class Scan(Relation):
    """The codes of some columns of a table."""

    table: Table
    names: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Those asked for."""
        return self.names

    @property
    def public(self) -> bool:
        """As declared."""
        return self.table.public

    def scans(self) -> Iterator[Scan]:
        """Itself."""
        yield self

    def pruned(self, needed: Iterable[str]) -> Scan:
        """Fewer columns are read."""
        wanted = set(needed)
        return Scan(self.table, tuple(name for name in self.names if name in wanted))


@dataclass(frozen=True, slots=True, eq=False)
class Derive(Relation):
    """Rows that pass `where`, with columns computed from each row alone."""

    source: Relation
    where: Expr | None
    made: tuple[tuple[str, Expr], ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The computed ones."""
        return tuple(name for name, _ in self.made)

    @property
    def sources(self) -> tuple[Relation, ...]:
        """One."""
        return (self.source,)

    def pruned(self, needed: Iterable[str]) -> Derive:
        """Only what the filter and the needed columns read."""
        wanted = set(needed)
        made = tuple((name, tree) for name, tree in self.made if name in wanted)
        read = _read([tree for _, tree in made] + ([] if self.where is None else [self.where]))
        return Derive(self.source.pruned(read), self.where, made)


@dataclass(frozen=True, slots=True)
class Value:
    """What PerUnit computes of a column of its source, clamped to low .. high; NULL where every value is missing.

    rows: how many are not missing (all rows where column is None).  mean: the sum over the count, rounded down.
    """

    kind: Literal["rows", "sum", "least", "greatest", "mean"]
    column: str | None
    low: int
    high: int


@dataclass(frozen=True, slots=True, eq=False)
class PerUnit(Relation):
    """One row for each unit and each combination of its keys."""

    source: Relation
    keys: tuple[str, ...]
    values: tuple[tuple[str, Value], ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Keys, then values."""
        return (*self.keys, *(name for name, _ in self.values))

    @property
    def sources(self) -> tuple[Relation, ...]:
        """One."""
        return (self.source,)

    def pruned(self, needed: Iterable[str]) -> PerUnit:
        """All keys, since they decide which rows there are; only the needed values."""
        wanted = set(needed)
        values = tuple((name, value) for name, value in self.values if name in wanted)
        read = {*self.keys, *(value.column for _, value in values if value.column is not None)}
        return PerUnit(self.source.pruned(read), self.keys, values)


@dataclass(frozen=True, slots=True, eq=False)
class Bound(Relation):
    """At most `rows` rows of each unit, those with the smallest keyed hashes of their contents."""

    source: Relation
    rows: int
    salt: int

    @property
    def columns(self) -> tuple[str, ...]:
        """As they come."""
        return self.source.columns

    @property
    def sources(self) -> tuple[Relation, ...]:
        """One."""
        return (self.source,)

    def pruned(self, needed: Iterable[str]) -> Bound:
        """Which rows are kept depends on the columns that remain, and on nothing else."""
        return Bound(self.source.pruned(needed), self.rows, self.salt)


@dataclass(frozen=True, slots=True, eq=False)
class Join(Relation):
    """Pairs of rows that agree in `on` and, if both sides are private, in their unit.

    `outer` keeps left rows without a partner, with NULLs.  Columns are renamed: names of the left, then of the right.
    """

    left: Relation
    right: Relation
    on: tuple[tuple[str, str], ...]
    outer: bool
    names: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The new names, in the order of the left's columns and the right's."""
        return self.names

    @property
    def sources(self) -> tuple[Relation, ...]:
        """Two."""
        return self.left, self.right

    def pruned(self, needed: Iterable[str]) -> Join:
        """What is needed, and what is joined on."""
        wanted, first = set(needed), len(self.left.columns)
        left = {name for name, new in zip(self.left.columns, self.names, strict=False) if new in wanted}
        right = {name for name, new in zip(self.right.columns, self.names[first:], strict=True) if new in wanted}
        sides = (
            self.left.pruned(left | {name for name, _ in self.on}),
            self.right.pruned(right | {name for _, name in self.on}),
        )
        renamed = (dict(zip(self.left.columns, self.names, strict=False)),
                   dict(zip(self.right.columns, self.names[first:], strict=True)))  # fmt: skip
        names = tuple(new[name] for side, new in zip(sides, renamed, strict=True) for name in side.columns)
        return Join(*sides, self.on, self.outer, names)


@dataclass(frozen=True, slots=True, eq=False)
class Union(Relation):
    """All rows of all parts, which have the same columns."""

    parts: tuple[Relation, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of the first."""
        return self.parts[0].columns

    @property
    def sources(self) -> tuple[Relation, ...]:
        """The parts."""
        return self.parts

    def pruned(self, needed: Iterable[str]) -> Union:
        """All parts alike."""
        wanted = set(needed)
        return Union(tuple(part.pruned(wanted) for part in self.parts))


def _read(trees: list[Expr]) -> set[str]:
    """The columns that expressions read."""
    from sqlglot import expressions as exp

    return {column.name for tree in trees for column in tree.find_all(exp.Column)}
