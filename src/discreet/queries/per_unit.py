"""Sub-queries that aggregate the rows of one unit: one value for each, clamped to what its rows could give."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from discreet.data import relation
from discreet.data.columns import Column, Date, Identifier, Timestamp
from discreet.queries.expression import Expression, number, predicate_code, quoted, tree
from discreet.queries.source import Inner, Source, derive
from discreet.queries.types import Coded, Free, Numeric, Truth, Type, declared

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
        if self.argument is None or (self.function == "count" and not self.argument.type.nullable):
            return Numeric(1, self.rows, Fraction(1), nullable=False)  # a row that lacks the value is not there
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
        inner = derive(self.source.relation(), self.where, [*keys, *arguments])
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
        unit, shown = self.source.unit_sql, []
        for name, value in self.made:
            written = unit if value is None else self.keys[value] if isinstance(value, int) else value
            shown.append(f"{written} AS {quoted(name)}")
        where = "" if self.where is None else f" WHERE {self.where}"
        groups = ", ".join([unit, *map(str, self.keys)])
        return f"SELECT {', '.join(shown)} FROM {self.source.clause(self.name)}{where} GROUP BY {groups}"
