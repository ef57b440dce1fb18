"""Predicates, CASE and parts of dates: the rest of the closed language."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

from discreet.data.columns import Categorical, Date
from discreet.errors import UnsupportedError
from discreet.queries.expression import Binary, Expression, Unary, number, numeric_code, predicate_code
from discreet.queries.types import Coded, Numeric, Truth, Type, common_step

Operator = Literal["=", "<>", "<", "<=", ">", ">="]


def same_scale(left: Expression, right: Expression) -> tuple[str, str]:
    """Codes of two values that can be compared: numbers in one step, or values of one column type."""
    a, b = left.type, right.type
    if isinstance(a, Coded) or isinstance(b, Coded):
        if not (isinstance(a, Coded) and isinstance(b, Coded) and _alike(a, b)):
            raise UnsupportedError(f"cannot compare {left} with {right}: they are not of one type")
        return f"({left.code()})", f"({right.code()})"
    step = common_step(number(left).step, number(right).step)
    for side in (left, right):
        number(side).at(step)  # refuses what would not fit
    return numeric_code(left, step), numeric_code(right, step)


def _alike(a: Coded, b: Coded) -> bool:
    if isinstance(a.column, Categorical) or isinstance(b.column, Categorical):
        return a.column == b.column
    return type(a.column) is type(b.column) and a.column.to_dict().get("step") == b.column.to_dict().get("step")


def _nullable(*expressions: Expression) -> bool:
    return any(expression.type.nullable for expression in expressions)


@dataclass(frozen=True, slots=True)
class Compare(Binary):
    """left = right, and so on."""

    operator: Operator
    left: Expression
    right: Expression

    def __post_init__(self) -> None:
        same_scale(self.left, self.right)
        ordered = self.operator not in ("=", "<>")
        if ordered and isinstance(self.left.type, Coded) and isinstance(self.left.type.column, Categorical):
            raise UnsupportedError(f"{self.left} is categorical and has no order; use = or IN")

    @property
    def type(self) -> Truth:
        """NULL if either side is."""
        return Truth(_nullable(self.left, self.right))

    def code(self) -> str:
        """Integers compared."""
        left, right = same_scale(self.left, self.right)
        return f"{left} {self.operator} {right}"

    def __str__(self) -> str:
        return f"({self.left} {self.operator} {self.right})"


class Connective(Expression):
    """Several predicates joined by one word, in SQL's three-valued logic."""

    __slots__ = ()
    word: ClassVar[str]
    terms: tuple[Expression, ...]

    @property
    def parts(self) -> tuple[Expression, ...]:
        """The terms."""
        return self.terms

    @property
    def type(self) -> Truth:
        """NULL if a term is and no other decides."""
        return Truth(_nullable(*self.terms))

    def code(self) -> str:
        """The terms with the word between them."""
        return f" {self.word} ".join(predicate_code(term) for term in self.terms)

    def __str__(self) -> str:
        return f"({f' {self.word} '.join(map(str, self.terms))})"


@dataclass(frozen=True, slots=True)
class And(Connective):
    """All of them."""

    word: ClassVar[str] = "AND"
    terms: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Or(Connective):
    """At least one of them."""

    word: ClassVar[str] = "OR"
    terms: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Not(Unary):
    """The opposite."""

    inner: Expression

    @property
    def type(self) -> Truth:
        """NULL if it is."""
        return Truth(_nullable(self.inner))

    def code(self) -> str:
        """SQL's NOT."""
        return f"NOT {predicate_code(self.inner)}"

    def __str__(self) -> str:
        return f"(NOT {self.inner})"


@dataclass(frozen=True, slots=True)
class IsNull(Unary):
    """Whether the value is NULL; never NULL itself."""

    inner: Expression

    @property
    def type(self) -> Truth:
        """Never NULL."""
        return Truth(nullable=False)

    def code(self) -> str:
        """SQL's IS NULL."""
        return f"({self.inner.code()}) IS NULL"

    def __str__(self) -> str:
        return f"({self.inner} IS NULL)"


@dataclass(frozen=True, slots=True)
class Member(Expression):
    """value IN (...)."""

    inner: Expression
    options: tuple[Expression, ...]

    def __post_init__(self) -> None:
        for option in self.options:
            same_scale(self.inner, option)

    @property
    def parts(self) -> tuple[Expression, ...]:
        """The value and the options."""
        return (self.inner, *self.options)

    @property
    def type(self) -> Truth:
        """NULL if the value or an option is."""
        return Truth(_nullable(self.inner, *self.options))

    def code(self) -> str:
        """One comparison an option."""
        return " OR ".join(f"({Compare('=', self.inner, option).code()})" for option in self.options)

    def __str__(self) -> str:
        return f"({self.inner} IN ({', '.join(map(str, self.options))}))"


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


PARTS = ("year", "quarter", "month", "day", "dow")


@dataclass(frozen=True, slots=True)
class Part(Unary):
    """EXTRACT(part FROM date), by integer arithmetic on days (Hinnant's civil calendar); dow 0 is Sunday."""

    part: str
    inner: Expression

    def __post_init__(self) -> None:
        known = self.inner.type
        if not (isinstance(known, Coded) and isinstance(known.column, Date)):
            raise UnsupportedError(f"EXTRACT needs a Date column, got {self.inner}")
        if self.part not in PARTS:
            raise UnsupportedError(f"EXTRACT knows {', '.join(PARTS)}, got {self.part}")
        if known.column.low.year < 1:
            raise UnsupportedError("EXTRACT needs dates after the year 0")

    @property
    def _column(self) -> Date:
        known = self.inner.type
        assert isinstance(known, Coded)
        assert isinstance(known.column, Date)
        return known.column

    @property
    def type(self) -> Numeric:
        """The calendar's range; for years, the declared one."""
        first, last = self._column.low.year, self._column.high.year
        ranges = {"year": (first, last), "quarter": (1, 4), "month": (1, 12), "day": (1, 31), "dow": (0, 6)}
        return Numeric(*ranges[self.part], Fraction(1), self.inner.type.nullable)

    def code(self) -> str:
        """Days since 0000-03-01, then eras of 146097 days; everything is nonnegative."""
        day = f"({self.inner.code()} + 719468)"
        if self.part == "dow":
            return f"({day} + 3) % 7"
        doe = f"({day} % 146097)"
        yoe = f"(({doe} - {doe} // 1460 + {doe} // 36524 - {doe} // 146096) // 365)"
        doy = f"({doe} - (365 * {yoe} + {yoe} // 4 - {yoe} // 100))"
        mp = f"((5 * {doy} + 2) // 153)"
        month = f"(({mp} + 2) % 12 + 1)"
        if self.part == "day":
            return f"{doy} - (153 * {mp} + 2) // 5 + 1"
        if self.part == "month":
            return month
        if self.part == "quarter":
            return f"({month} + 2) // 3"
        return f"{yoe} + ({day} // 146097) * 400 + CASE WHEN {month} <= 2 THEN 1 ELSE 0 END"

    def __str__(self) -> str:
        return f"EXTRACT({self.part} FROM {self.inner})"
