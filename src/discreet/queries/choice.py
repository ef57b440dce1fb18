"""CASE, LEAST and GREATEST: one number out of several."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from discreet.queries.expression import Expression, number, numeric_code, predicate_code
from discreet.queries.types import Numeric, Type, common_step


@dataclass(frozen=True, slots=True)
class Case(Expression):
    """CASE WHEN condition THEN value ... ELSE otherwise END; without ELSE it is NULL."""

    branches: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression | None = None

    @property
    def parts(self) -> tuple[Expression, ...]:
        """Conditions and values."""
        ends = () if self.otherwise is None else (self.otherwise,)
        return (*(part for branch in self.branches for part in branch), *ends)

    def _values(self) -> tuple[Expression, ...]:
        values = tuple(value for _, value in self.branches)
        return values if self.otherwise is None else (*values, self.otherwise)

    @property
    def type(self) -> Type:
        """The hull of its values' bounds, at their common step."""
        known = [number(value) for value in self._values()]
        step = known[0].step
        for other in known[1:]:
            step = common_step(step, other.step)
        at = [one.at(step) for one in known]
        nullable = self.otherwise is None or any(one.nullable for one in at)
        return Numeric(min(one.low for one in at), max(one.high for one in at), step, nullable)

    def code(self) -> str:
        """Every value in the common step."""
        step = self.type.step  # type: ignore[union-attr]
        whens = " ".join(f"WHEN {predicate_code(c)} THEN {numeric_code(v, step)}" for c, v in self.branches)
        ends = "" if self.otherwise is None else f" ELSE {numeric_code(self.otherwise, step)}"
        return f"CASE {whens}{ends} END"

    def __str__(self) -> str:
        whens = " ".join(f"WHEN {condition} THEN {value}" for condition, value in self.branches)
        ends = "" if self.otherwise is None else f" ELSE {self.otherwise}"
        return f"CASE {whens}{ends} END"


@dataclass(frozen=True, slots=True)
class Extreme(Expression):
    """LEAST or GREATEST of some numbers, NULLs left out; NULL where all are.

    The least of several is at most each of those that cannot be missing, so LEAST(x, 100) is at most 100.
    """

    word: Literal["LEAST", "GREATEST"]
    items: tuple[Expression, ...]

    @property
    def parts(self) -> tuple[Expression, ...]:
        """The numbers."""
        return self.items

    @property
    def type(self) -> Numeric:
        """The bounds of the extreme, at the common step."""
        known = [number(item) for item in self.items]
        step = known[0].step
        for other in known[1:]:
            step = common_step(step, other.step)
        at = [one.at(step) for one in known]
        lows, highs = [one.low for one in at], [one.high for one in at]
        certain = [one for one in at if not one.nullable]
        if self.word == "LEAST":
            low, high = min(lows), min((one.high for one in certain), default=max(highs))
        else:
            low, high = max((one.low for one in certain), default=min(lows)), max(highs)
        return Numeric(low, high, step, nullable=not certain)

    def code(self) -> str:
        """The first item that beats all others, NULLs apart; if none of the earlier ones does, the last is it."""
        step, beats = self.type.step, "<=" if self.word == "LEAST" else ">="
        codes = [numeric_code(item, step) for item in self.items]
        branches = []
        for i, item in enumerate(self.items[:-1]):
            tests = [f"({codes[i]}) IS NOT NULL"] if item.type.nullable else []
            for j, other in enumerate(self.items):
                if j != i:
                    missing = f"({codes[j]}) IS NULL OR " if other.type.nullable else ""
                    tests.append(f"({missing}{codes[i]} {beats} {codes[j]})")
            branches.append(f"WHEN {' AND '.join(tests)} THEN {codes[i]}")
        return f"CASE {' '.join(branches)} ELSE {codes[-1]} END" if branches else codes[-1]

    def __str__(self) -> str:
        return f"{self.word}({', '.join(map(str, self.items))})"
