"""UNION ALL: the rows of several sources about the same units."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from discreet.data import relation
from discreet.data.columns import Column, Identifier
from discreet.data.table import Table
from discreet.errors import UnsupportedError
from discreet.queries.expression import Ref, number, numeric_code, tree
from discreet.queries.predicate import same_scale
from discreet.queries.source import Source
from discreet.queries.types import Coded, Free, Numeric, Truth, Type, common_step, declared


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
