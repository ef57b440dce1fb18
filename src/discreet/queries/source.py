"""What stands after FROM: tables, sub-queries, joins and unions, as frozen values.

Each source knows its public columns, the names its unit goes by, and how many rows of a unit it can
have; prints itself as canonical SQL; and compiles to a unit-local relation (`discreet.data.relation`).

    Named      a declared table
    Selected   SELECT columns FROM source WHERE ...
    Grouped    SELECT unit, keys, aggregates FROM source GROUP BY unit, keys: one value for each unit
    Joined     two sources side by side, on the unit or with a public table
    Stacked    UNION ALL
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from discreet.data import relation
from discreet.data.columns import Column, Date, Identifier, Timestamp
from discreet.data.domain import Domain
from discreet.data.table import Table
from discreet.errors import UnsupportedError
from discreet.queries.expression import Expression, Ref, number, numeric_code, predicate_code, quoted, tree
from discreet.queries.predicate import same_scale
from discreet.queries.types import Coded, Free, Numeric, Truth, Type, common_step, declared

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


def coded(expression: Expression) -> str:
    """The code of any expression as a column: an integer, or a text."""
    match expression.type:
        case Numeric(step=step):
            return numeric_code(expression, step)
        case Truth():
            return numeric_code(expression, Fraction(1))
        case Coded() | Free():
            return expression.code()


def _derive(source: relation.Relation, where: Expression | None, made: list[tuple[str, Expression]]) -> relation.Derive:
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
        return _derive(self.source.relation(), self.where, made)

    def __str__(self) -> str:
        unit = unit_sql(self.source)
        shown = [f"{unit if value is None else value} AS {quoted(name)}" for name, value in self.made]
        where = "" if self.where is None else f" WHERE {self.where}"
        return f"SELECT {', '.join(shown)} FROM {self.source.clause(self.name)}{where}"


def unit_sql(source: Source) -> str:
    """The unit column of a source, as an analyst writes it."""
    return str(Ref(*_split(source, source.units[0]))) if source.units else ""


def _split(source: Source, name: str) -> tuple[str, Column, str]:
    if isinstance(source, Joined):
        table, _, column = name.partition(".")
        return column, Identifier(), table
    return name, Identifier(), ""


Kind = Literal["count", "sum", "min", "max", "avg"]
_KINDS: dict[Kind, Literal["rows", "sum", "least", "greatest", "mean"]] = {
    "count": "rows", "sum": "sum", "min": "least", "max": "greatest", "avg": "mean",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class OfUnit:
    """An aggregate of the rows of one unit, clamped to what `rows` of its rows could give."""

    function: Kind
    argument: Expression | None
    rows: int

    @property
    def type(self) -> Numeric | Coded:
        """From the bounds of a row; a first or last day is a day."""
        if self.argument is None:
            return Numeric(1, self.rows, Fraction(1), nullable=False)
        if self.function == "count":
            return Numeric(0, self.rows, Fraction(1), nullable=False)
        day = self.argument.type
        if isinstance(day, Coded) and isinstance(day.column, (Date, Timestamp)) and self.function in ("min", "max"):
            return day
        known = number(self.argument)
        if self.function == "sum":
            low, high = self.rows * min(known.low, 0), self.rows * max(known.high, 0)
            return Numeric(low, high, known.step, known.nullable)
        return known

    def value(self, column: str | None) -> relation.Value:
        """What the engine computes."""
        known = self.type
        bounds = known.column.codes if isinstance(known, Coded) else (known.low, known.high)
        return relation.Value(_KINDS[self.function], column, *bounds)

    def __str__(self) -> str:
        return f"{self.function.upper()}({'*' if self.argument is None else self.argument})"


@dataclass(frozen=True, slots=True)
class Grouped(Inner):
    """One row for each unit and combination of keys; a None is the unit, an integer the key of this number."""

    source: Source
    name: str
    where: Expression | None
    keys: tuple[Expression, ...]
    made: tuple[tuple[str, OfUnit | int | None], ...]

    def __post_init__(self) -> None:
        if self.where is not None:
            predicate_code(self.where)  # refuses what is not true or false

    def _type(self, value: OfUnit | int) -> Type:
        return self.keys[value].type if isinstance(value, int) else value.type

    @property
    def columns(self) -> Mapping[str, Column]:
        """Unit, keys and values, as selected."""
        return {name: Identifier() if value is None else declared(self._type(value)) for name, value in self.made}

    @property
    def units(self) -> tuple[str, ...]:
        """Where the unit is selected."""
        return tuple(name for name, value in self.made if value is None)

    @property
    def most(self) -> int | None:
        """One, or as many as there are keys."""
        total = 1
        for key in self.keys:
            match key.type:
                case Numeric(low, high, _, nullable):
                    total *= high - low + 1 + nullable
                case Truth(nullable):
                    total *= 2 + nullable
                case Coded(column, nullable):
                    low, high = column.codes
                    total *= high - low + 1 + nullable
                case Free():
                    return self.source.most
        return total if self.source.most is None else min(total, self.source.most)

    @property
    def rows(self) -> int:
        """No more than there can be."""
        return self.source.rows if self.most is None else min(self.source.rows, self.most)

    def removed(self) -> Iterator[str]:
        """What is more than so many rows could give."""
        yield from self.source.removed()
        for name, value in self.made:
            if isinstance(value, OfUnit) and value.function in ("count", "sum"):
                yield f"what {name} = {value} of one {self.owner} has beyond that of {value.rows} rows"

    def relation(self) -> relation.Relation:
        """Keys and arguments row by row, one row a unit, and at the end the names that were chosen."""
        keys = [(f"(k{i})", key) for i, key in enumerate(self.keys)]
        values = {i: value for i, (_, value) in enumerate(self.made) if isinstance(value, OfUnit)}
        arguments = [(f"(a{i})", value.argument) for i, value in values.items() if value.argument is not None]
        inner = _derive(self.source.relation(), self.where, [*keys, *arguments])
        per_unit = relation.PerUnit(
            inner,
            tuple(name for name, _ in keys),
            tuple(
                (f"(v{i})", value.value(None if value.argument is None else f"(a{i})")) for i, value in values.items()
            ),
        )
        made = [
            (name, tree(quoted(f"(k{value})" if isinstance(value, int) else f"(v{i})")))
            for i, (name, value) in enumerate(self.made)
            if value is not None
        ]
        return relation.Derive(per_unit, None, tuple(made))

    def __str__(self) -> str:
        unit, shown = unit_sql(self.source), []
        for name, value in self.made:
            written = unit if value is None else self.keys[value] if isinstance(value, int) else value
            shown.append(f"{written} AS {quoted(name)}")
        where = "" if self.where is None else f" WHERE {self.where}"
        groups = ", ".join([unit, *map(str, self.keys)])
        return f"SELECT {', '.join(shown)} FROM {self.source.clause(self.name)}{where} GROUP BY {groups}"


@dataclass(frozen=True, slots=True)
class Joined(Source):
    """Two sources on equal columns; between private ones, rows of one unit only."""

    left: Source
    right: Source
    names: tuple[str, str]
    on: tuple[tuple[Ref, Ref], ...]  # besides the unit
    outer: bool = False

    def __post_init__(self) -> None:
        for left, right in self.on:
            same_scale(left, right)

    @property
    def _sides(self) -> tuple[tuple[str, Source], tuple[str, Source]]:
        return (self.names[0], self.left), (self.names[1], self.right)

    @property
    def columns(self) -> Mapping[str, Column]:
        """All columns of both, each under the name of its table; not a unit that may be missing."""
        found: dict[str, Column] = {}
        for side, (name, source) in enumerate(self._sides):
            missing = self.outer and side == 1
            for column, known in source.columns.items():
                if missing and column in source.units:
                    continue
                prefix = "" if isinstance(source, Joined) else f"{name}."
                found[prefix + column] = _nullable(known) if missing else known
        return found

    @property
    def units(self) -> tuple[str, ...]:
        """Those of both sides; of the left alone where the right may be missing."""
        found = []
        for name, source in self._sides[: 1 if self.outer else 2]:
            found += source.units if isinstance(source, Joined) else [f"{name}.{unit}" for unit in source.units]
        return tuple(found)

    @property
    def owner(self) -> str | None:
        """The unit of both."""
        return self.left.owner

    @property
    def depth(self) -> int:
        """Of the deeper side."""
        return max(self.left.depth, self.right.depth)

    @property
    def rows(self) -> int:
        """Every row of a unit with every other: each side is bounded to its own number, where it is not already."""
        return self.left.rows if self.right.owner is None else self.left.rows * self.right.rows

    @property
    def most(self) -> int | None:
        """Known where both are bounded; a public table may have any number of partners."""
        return None if self.right.owner is None else self.rows

    def tables(self) -> Iterator[tuple[str, Table]]:
        """Left, then right."""
        yield from self.left.tables()
        yield from self.right.tables()

    def removed(self) -> Iterator[str]:
        """Rows of a unit beyond what its side of the join may have."""
        for name, source in self._sides:
            yield from source.removed()
            if self.right.owner is not None and not source.bounded:
                yield f"rows of one {self.owner} beyond {source.rows} in {name or 'the left side'}, before the join"

    def relation(self) -> relation.Relation:
        """Both sides, bounded if they are private, with what they are joined on."""
        sides, names = [], []
        codes = [same_scale(left, right) for left, right in self.on]
        for side, (name, source) in enumerate(self._sides):
            rows = source.relation()
            prefix = "" if isinstance(source, Joined) else f"{name}."
            rows = relation.Derive(
                rows, None, tuple((prefix + column, tree(quoted(column))) for column in rows.columns)
            )
            keys = tuple((f"(on {i})", tree(pair[side])) for i, pair in enumerate(codes))
            shown = tuple((column, tree(quoted(column))) for column in rows.columns)
            made: relation.Relation = relation.Derive(rows, None, (*shown, *keys))
            if self.right.owner is not None and not source.bounded:
                made = relation.Bound(made, source.rows, next(table for _, table in source.tables()).salt)
            sides.append(made)
            names += [*rows.columns, *(f"{key} {name}" for key, _ in keys)]
        on = tuple((f"(on {i})", f"(on {i})") for i in range(len(codes)))
        return relation.Join(sides[0], sides[1], on, self.outer, tuple(names))

    def clause(self, name: str) -> str:
        """LEFT JOIN or JOIN, with ON."""
        first, second = self._sides
        terms = [f"{left} = {right}" for left, right in self.on]
        if self.right.owner is not None:
            left, right = (
                f"{'' if isinstance(source, Joined) else quoted(alias) + '.'}{unit_sql(source)}"
                for alias, source in self._sides
            )
            terms.insert(0, f"{left} = {right}")
        word = "LEFT JOIN" if self.outer else "JOIN"
        return f"{first[1].clause(first[0])} {word} {second[1].clause(second[0])} ON {' AND '.join(terms)}"


def _nullable(known: Column) -> Column:
    """The same column where values may be missing."""
    from discreet.data.columns import column

    return column({**known.to_dict(), "nullable": True})


@dataclass(frozen=True, slots=True)
class Stacked(Source):
    """All rows of several sources with the same columns, under the names of the first."""

    parts: tuple[Source, ...]

    def __post_init__(self) -> None:
        widths = {len(part.columns) for part in self.parts}
        shown = {tuple(place for place, name in enumerate(part.columns) if name in part.units) for part in self.parts}
        if len(widths) > 1 or len(shown) > 1:
            raise UnsupportedError("UNION ALL needs the same columns in the same order on both sides")
        if len({part.owner for part in self.parts}) > 1 or self.owner is None:
            raise UnsupportedError("UNION ALL needs tables with one unit: the same people on both sides")
        for place in range(widths.pop()):
            self._type(place)

    def _refs(self, place: int) -> list[Ref]:
        return [Ref(name, part.columns[name]) for part in self.parts for name in [list(part.columns)[place]]]

    def _type(self, place: int) -> Type | None:
        """The type that holds the values of all parts; None for the unit."""
        first = list(self.parts[0].columns)[place]
        if first in self.parts[0].units:
            return None
        refs = self._refs(place)
        nullable = any(ref.type.nullable for ref in refs)
        known = refs[0].type
        if isinstance(known, (Coded, Free)):
            for other in refs[1:]:
                same_scale(refs[0], other)
                if isinstance(known, Coded) and other.column.to_dict() | {"nullable": 0} != refs[0].column.to_dict() | {
                    "nullable": 0
                }:
                    raise UnsupportedError(f"UNION ALL of {refs[0]} needs the same declaration on both sides")
            return type(known)(known.column, nullable)  # type: ignore[arg-type]
        if all(isinstance(ref.type, Truth) for ref in refs):
            return Truth(nullable)
        numbers = [number(ref) for ref in refs]
        step = numbers[0].step
        for other in numbers[1:]:
            step = common_step(step, other.step)
        at = [one.at(step) for one in numbers]
        return Numeric(min(one.low for one in at), max(one.high for one in at), step, nullable)

    @property
    def columns(self) -> Mapping[str, Column]:
        """The hull of the parts' columns."""
        types = [self._type(place) for place in range(len(self.parts[0].columns))]
        return {
            name: Identifier() if known is None else declared(known)
            for name, known in zip(self.parts[0].columns, types, strict=True)
        }

    @property
    def units(self) -> tuple[str, ...]:
        """As the first part shows it."""
        return self.parts[0].units

    @property
    def owner(self) -> str | None:
        """The one unit of all parts."""
        return self.parts[0].owner

    @property
    def depth(self) -> int:
        """Of the deepest part."""
        return max(part.depth for part in self.parts)

    @property
    def rows(self) -> int:
        """The rows of all parts."""
        return sum(part.rows for part in self.parts)

    @property
    def most(self) -> int | None:
        """Known where every part's is."""
        known = [part.most for part in self.parts]
        return None if None in known else sum(bound for bound in known if bound is not None)

    def tables(self) -> Iterator[tuple[str, Table]]:
        """Those of all parts."""
        for part in self.parts:
            yield from part.tables()

    def removed(self) -> Iterator[str]:
        """Those of all parts."""
        for part in self.parts:
            yield from part.removed()

    def relation(self) -> relation.Relation:
        """Every part in the common types."""
        names, parts = list(self.parts[0].columns), []
        for i, part in enumerate(self.parts):
            made = []
            for place, name in enumerate(names):
                match self._type(place):
                    case None:
                        continue
                    case Numeric(step=step):
                        made.append((name, tree(numeric_code(self._refs(place)[i], step))))
                    case _:
                        made.append((name, tree(self._refs(place)[i].code())))
            parts.append(relation.Derive(part.relation(), None, tuple(made)))
        return relation.Union(tuple(parts))

    def __str__(self) -> str:
        return " UNION ALL ".join(map(str, self.parts))
