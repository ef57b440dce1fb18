"""Predicates, CASE, extremes, texts and parts of dates: the rest of the closed language."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from discreet.data.columns import Categorical
from discreet.errors import UnsupportedError
from discreet.queries.expression import Binary, Expression, Unary, number, numeric_code, predicate_code
from discreet.queries.types import Coded, Free, Truth, common_step

Operator = Literal["=", "<>", "<", "<=", ">", ">="]


def same_scale(left: Expression, right: Expression) -> tuple[str, str]:
    """Codes of two values that can be compared: numbers in one step, or values of one column type."""
    a, b = left.type, right.type
    if isinstance(a, Free) or isinstance(b, Free):
        if not (isinstance(a, Free) and isinstance(b, Free)):
            raise UnsupportedError(f"cannot compare {left} with {right}: they are not of one type")
        return left.code(), right.code()
    if isinstance(a, Coded) or isinstance(b, Coded):
        if not (isinstance(a, Coded) and isinstance(b, Coded) and _alike(a, b)):
            raise UnsupportedError(f"cannot compare {left} with {right}: they are not of one type")
        return f"({left.code()})", f"({right.code()})"
    step = common_step(number(left).step, number(right).step)
    for side in (left, right):
        number(side).at(step)  # refuses what would not fit
    return numeric_code(left, step), numeric_code(right, step)


def _alike(a: Coded, b: Coded) -> bool:
    if isinstance(a.column, Categorical) and isinstance(b.column, Categorical):
        return a.column.values == b.column.values
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
        if ordered and isinstance(self.left.type, Free):
            raise UnsupportedError(f"{self.left} is a text and has no order; use =, IN or LIKE 'prefix%'")

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
