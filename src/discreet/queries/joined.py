"""JOIN and LEFT JOIN: two private tables on their unit, or a private one with a public one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from discreet.data import relation
from discreet.data.columns import Column, Identifier
from discreet.data.table import Table
from discreet.queries.expression import Ref, quoted, tree
from discreet.queries.predicate import same_scale
from discreet.queries.source import Source


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
    def unit_sql(self) -> str:
        """With the name of its table."""
        table, _, column = self.units[0].partition(".") if self.units else ("", "", "")
        return str(Ref(column, Identifier(), table)) if column else ""

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
                f"{'' if isinstance(source, Joined) else quoted(alias) + '.'}{source.unit_sql}"
                for alias, source in self._sides
            )
            terms.insert(0, f"{left} = {right}")
        word = "LEFT JOIN" if self.outer else "JOIN"
        return f"{first[1].clause(first[0])} {word} {second[1].clause(second[0])} ON {' AND '.join(terms)}"


def _nullable(known: Column) -> Column:
    """The same column where values may be missing."""
    from discreet.data.columns import column

    return column({**known.to_dict(), "nullable": True})
