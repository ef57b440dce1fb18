"""What stands after FROM: tables, sub-queries, joins and unions, as frozen values.

Each source knows its public columns, the names its unit goes by, and how many rows of a unit it can
have; prints itself as canonical SQL; and compiles to a unit-local relation (`discreet.data.relation`).

    Named      a declared table
    Selected   SELECT columns FROM source WHERE ...
    Grouped    SELECT unit, keys, aggregates FROM source GROUP BY unit, keys: one value for each unit (`per_unit`)
    Joined     two sources side by side, on the unit or with a public table (`joined`)
    Stacked    UNION ALL (`stacked`)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction

from discreet.data import relation
from discreet.data.columns import Column, Identifier
from discreet.data.domain import Domain
from discreet.data.table import Table
from discreet.errors import UnsupportedError
from discreet.queries.expression import Expression, Ref, numeric_code, predicate_code, quoted, tree
from discreet.queries.types import Coded, Free, Numeric, Truth, declared

HIDDEN = "(unit)"  # the unit of rows that do not show it


class Source:
    """Base of what can stand after FROM."""

    __slots__ = ()

    @property
    def columns(self) -> Mapping[str, Column]:
        """The visible columns, the unit among them where it is shown."""
        raise NotImplementedError

    @property
    def units(self) -> tuple[str, ...]:
        """The columns that show the unit."""
        raise NotImplementedError

    @property
    def unit_sql(self) -> str:
        """The unit column, as an analyst writes it; empty where it is not shown."""
        return str(Ref(self.units[0], Identifier())) if self.units else ""

    @property
    def owner(self) -> str | None:
        """The privacy unit that owns the rows; None: the rows are public, or each is a unit of its own."""
        raise NotImplementedError

    @property
    def public(self) -> bool:
        """Whether every table in it is public."""
        return all(table.public for _, table in self.tables())

    @property
    def rows(self) -> int:
        """How many rows of a unit may enter an answer, unless the question says otherwise."""
        raise NotImplementedError

    @property
    def most(self) -> int | None:
        """How many rows a unit can have at all, if that is known."""
        return None

    @property
    def groups(self) -> int:
        """How many groups of an answer may hold rows of a unit, unless the question says otherwise."""
        return max(table.groups_per_unit for _, table in self.tables())

    @property
    def depth(self) -> int:
        """How many SELECTs it has inside one another."""
        return 0

    @property
    def bounded(self) -> bool:
        """Whether no unit can have more than `rows` rows, as it stands."""
        return self.most is not None and self.most <= self.rows

    def tables(self) -> Iterator[tuple[str, Table]]:
        """The declared tables in it, private and public."""
        raise NotImplementedError

    def removed(self) -> Iterator[str]:
        """What bounding takes away before the question itself is asked, in words."""
        return iter(())

    def relation(self) -> relation.Relation:
        """The rows, for an engine."""
        raise NotImplementedError

    def clause(self, name: str) -> str:
        """How it is written after FROM, under a name."""
        return f"({self}) AS {quoted(name)}"

    def table(self) -> Table:
        """The same as a table: its rows, its declaration, its unit."""
        columns = dict(self.columns)
        unit = self.units[0] if self.units else None
        if unit is None and self.owner is not None:
            columns, unit = {HIDDEN: Identifier(), **columns}, HIDDEN
        first = next(table for _, table in self.tables() if not table.public)
        return Table(
            self.relation(),
            domain=Domain(columns),
            unit=unit,
            rows_per_unit=self.rows,
            groups_per_unit=self.groups,
            engine=first.engine,
            version=first.version,
        )


@dataclass(frozen=True, slots=True)
class Named(Source):
    """A declared table."""

    name: str
    declared: Table

    @property
    def columns(self) -> Mapping[str, Column]:
        """As declared."""
        return self.declared.domain

    @property
    def units(self) -> tuple[str, ...]:
        """The unit column."""
        return () if self.declared.unit is None else (self.declared.unit,)

    @property
    def owner(self) -> str | None:
        """The name of the unit column: tables that share it are about the same people."""
        return self.declared.unit

    @property
    def rows(self) -> int:
        """As declared."""
        return self.declared.rows_per_unit

    def tables(self) -> Iterator[tuple[str, Table]]:
        """Itself."""
        yield self.name, self.declared

    def relation(self) -> relation.Relation:
        """All columns; what is not needed is pruned before it is read."""
        for name in self.columns:
            if "(" in name:
                raise UnsupportedError(f"a column name without parentheses in sub-queries and joins, got {name!r}")
        return relation.Scan(self.declared, tuple(name for name in self.columns if name not in self.units))

    def clause(self, name: str) -> str:
        """Its name, and the other one if it is called otherwise."""
        return quoted(self.name) if name == self.name else f"{quoted(self.name)} AS {quoted(name)}"

    def table(self) -> Table:
        """The declared one."""
        return self.declared


def bound(source: Source, table_of: Callable[[Named], Table]) -> Source:
    """The same source about other tables, each found from where the first one is named."""
    if isinstance(source, Named):
        return replace(source, declared=table_of(source))
    changed = {}
    for one in fields(source):  # type: ignore[arg-type]
        part = getattr(source, one.name)
        if isinstance(part, Source):
            changed[one.name] = bound(part, table_of)
        elif isinstance(part, tuple) and any(isinstance(item, Source) for item in part):
            changed[one.name] = tuple(bound(item, table_of) for item in part)
    return replace(source, **changed)  # type: ignore[type-var]


def coded(expression: Expression) -> str:
    """The code of any expression as a column: an integer, or a text."""
    match expression.type:
        case Numeric(step=step):
            return numeric_code(expression, step)
        case Truth():
            return numeric_code(expression, Fraction(1))
        case Coded() | Free():
            return expression.code()


def derive(source: relation.Relation, where: Expression | None, made: list[tuple[str, Expression]]) -> relation.Derive:
    """A filter and columns computed row by row."""
    condition = None if where is None else tree(predicate_code(where))
    return relation.Derive(source, condition, tuple((name, tree(coded(expression))) for name, expression in made))


class Inner(Source):
    """A source made of one other, and about the same units."""

    __slots__ = ()
    source: Source

    @property
    def owner(self) -> str | None:
        """The same."""
        return self.source.owner

    @property
    def depth(self) -> int:
        """One more."""
        return self.source.depth + 1

    def tables(self) -> Iterator[tuple[str, Table]]:
        """The same."""
        return self.source.tables()

    def removed(self) -> Iterator[str]:
        """The same."""
        return self.source.removed()


@dataclass(frozen=True, slots=True)
class Selected(Inner):
    """Rows that pass a filter, with columns computed from each alone; a None is the unit."""

    source: Source
    name: str  # what the source is called inside
    where: Expression | None
    made: tuple[tuple[str, Expression | None], ...]

    def __post_init__(self) -> None:
        if self.where is not None:
            predicate_code(self.where)  # refuses what is not true or false

    @property
    def columns(self) -> Mapping[str, Column]:
        """What is computed, and the unit where it is selected."""
        return {
            name: Identifier() if expression is None else declared(expression.type) for name, expression in self.made
        }

    @property
    def units(self) -> tuple[str, ...]:
        """Where the unit is selected."""
        return tuple(name for name, expression in self.made if expression is None)

    @property
    def rows(self) -> int:
        """As before: rows are only dropped."""
        return self.source.rows

    @property
    def most(self) -> int | None:
        """As before."""
        return self.source.most

    def relation(self) -> relation.Relation:
        """A filter and a projection."""
        made = [(name, expression) for name, expression in self.made if expression is not None]
        return derive(self.source.relation(), self.where, made)

    def __str__(self) -> str:
        unit = self.source.unit_sql
        shown = [f"{unit if value is None else value} AS {quoted(name)}" for name, value in self.made]
        where = "" if self.where is None else f" WHERE {self.where}"
        return f"SELECT {', '.join(shown)} FROM {self.source.clause(self.name)}{where}"
