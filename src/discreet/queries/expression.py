"""The closed language of expressions.  Nothing outside these types is ever sent to an engine.

Each node knows its public `type`, prints itself as canonical SQL, and compiles to integer
arithmetic over the codes of its columns (`discreet.data.columns`).  Every function is total: on
any row it gives an integer in the range of its type, or NULL by SQL's three-valued rules, and
cannot raise.  Proof: docs/theory/queries.md.

    Ref                                   a declared column
    Number, Word, Day                     literals: a rational, a category, a day or moment
    Add, Multiply, Floor, Absolute        arithmetic; subtraction and division by a constant are made of these
    Quotient, Remainder                   // and % by a constant, cut toward zero (`division`)
    Compare, And, Or, Not, IsNull, Member predicates
    Case                                  CASE WHEN ... THEN ... ELSE ... END
    Part                                  year, quarter, month, day and weekday of a date
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

from discreet.data.columns import MOST, Boolean, Categorical, Column, Date, Identifier, Integer, Real, Text, Timestamp
from discreet.errors import DomainError, ParameterError, UnsupportedError
from discreet.queries.types import Coded, Free, Numeric, Truth, Type, common_step

if TYPE_CHECKING:
    from sqlglot import Expr as Tree


class Expression:
    """Base of the closed set of expressions."""

    __slots__ = ()

    @property
    def type(self) -> Type:
        """What is publicly known of the value."""
        raise NotImplementedError

    @property
    def parts(self) -> tuple[Expression, ...]:
        """The expressions this one is made of."""
        return ()

    def code(self) -> str:
        """Integer SQL over the columns' codes: a number in steps of its type, a code, or a truth value."""
        raise NotImplementedError

    def columns(self) -> frozenset[str]:
        """The columns it reads."""
        return frozenset().union(*(part.columns() for part in self.parts))

    def tree(self) -> Tree:
        """The compiled form, for the engine."""
        return tree(self.code())


def tree(code: str) -> Tree:
    """Our own integer SQL as a tree; refused where it is nested too deeply or a constant does not fit 64 bits."""
    import sqlglot
    from sqlglot import expressions as exp

    try:
        made = sqlglot.parse_one(code, dialect="duckdb")
    except RecursionError:
        raise UnsupportedError("an expression is nested too deeply; ask in smaller steps") from None
    numbers = (literal for literal in made.find_all(exp.Literal) if not literal.is_string)
    if any(int(number.name) >= 2 * MOST for number in numbers):
        raise UnsupportedError("an expression needs a constant that does not fit 64 bits; use coarser constants")
    return made


class Unary(Expression):
    """An expression made of one other."""

    __slots__ = ()
    inner: Expression

    @property
    def parts(self) -> tuple[Expression, ...]:
        """What it is made of."""
        return (self.inner,)


class Binary(Expression):
    """An expression made of two others."""

    __slots__ = ()
    left: Expression
    right: Expression

    @property
    def parts(self) -> tuple[Expression, ...]:
        """Both sides."""
        return self.left, self.right


def quoted(name: str) -> str:
    """A name in SQL."""
    return '"' + name.replace('"', '""') + '"'


@cache
def _bare(name: str) -> bool:
    """Whether a name is read as a name without quotes: in lower case, and no word of SQL."""
    from sqlglot import tokenize

    if re.fullmatch("[a-z_][a-z0-9_]*", name) is None or name in ("group", "order", "partition"):
        return False
    return [token.token_type.name for token in tokenize(name, dialect="duckdb")] == ["VAR"]


def text(value: str) -> str:
    """A text literal in SQL."""
    return "'" + value.replace("'", "''") + "'"


def number(expression: Expression) -> Numeric:
    """The type of an expression that must be a number; a truth value counts as 0 or 1."""
    match expression.type:
        case Numeric() as known:
            return known
        case Truth(nullable):
            return Numeric(0, 1, Fraction(1), nullable)
        case Coded(column) | Free(column):
            raise UnsupportedError(f"{expression} is a {column.name}, not a number")


def numeric_code(expression: Expression, step: Fraction) -> str:
    """The integer code of a number, in the given step."""
    known = number(expression)
    code = expression.code()
    if isinstance(expression.type, Truth) and not isinstance(expression, Ref):
        code = f"CASE WHEN ({code}) THEN 1 WHEN NOT ({code}) THEN 0 END"
    factor = int(known.step / step)
    return f"({code})" if factor == 1 else f"({code}) * {factor}"


def predicate_code(expression: Expression) -> str:
    """The code of something that must be true or false."""
    if not isinstance(expression.type, Truth):
        raise UnsupportedError(f"{expression} is not true or false; compare it with something")
    return f"({expression.code()} = 1)" if isinstance(expression, Ref) else f"({expression.code()})"


@dataclass(frozen=True, slots=True)
class Ref(Expression):
    """A declared column."""

    name: str
    column: Column
    table: str = ""  # the name its table goes by, where tables are joined

    @property
    def key(self) -> str:
        """What the column is called in the rows that are read."""
        return f"{self.table}.{self.name}" if self.table else self.name

    @property
    def type(self) -> Type:
        """By the declaration."""
        match self.column:
            case Integer() | Real():
                return Numeric(*self.column.codes, self.column.step, self.column.nullable)
            case Boolean():
                return Truth(self.column.nullable)
            case Categorical() | Date() | Timestamp():
                return Coded(self.column, self.column.nullable)
            case Text() | Identifier():
                return Free(self.column, self.column.nullable)
            case _:
                raise UnsupportedError(f"nothing can be computed of a {self.column.name}: column {self.name!r}")

    def code(self) -> str:
        """The column of codes, or of texts."""
        return quoted(self.key)

    def columns(self) -> frozenset[str]:
        """Itself."""
        return frozenset({self.key})

    def __str__(self) -> str:
        return ".".join(name if _bare(name) else quoted(name) for name in (self.table, self.name) if name)


@dataclass(frozen=True, slots=True)
class Number(Expression):
    """A rational constant."""

    value: Fraction

    @property
    def type(self) -> Numeric:
        """The numerator, in steps of one over the denominator."""
        return Numeric(self.value.numerator, self.value.numerator, Fraction(1, self.value.denominator), nullable=False)

    def code(self) -> str:
        """The numerator."""
        return str(self.value.numerator)

    def __str__(self) -> str:
        whole, bottom = self.value.numerator, self.value.denominator
        if bottom == 1:
            return str(whole)
        decimal = f"{float(self.value)!r}"
        return decimal if "e" not in decimal and Fraction(decimal) == self.value else f"({whole} / {bottom})"


@dataclass(frozen=True, slots=True)
class Word(Expression):
    """A category of a declared column."""

    value: str | int
    column: Categorical

    def __post_init__(self) -> None:
        if self.value not in self.column.values:
            shown = ", ".join(map(repr, self.column.values[:5])) + (", ..." if len(self.column.values) > 5 else "")
            raise DomainError(f"no category {self.value!r}; there are {shown}")

    @property
    def type(self) -> Coded:
        """The column's."""
        return Coded(self.column, nullable=False)

    def code(self) -> str:
        """The position in the list."""
        return str(self.column.values.index(self.value))

    def __str__(self) -> str:
        return text(self.value) if isinstance(self.value, str) else str(self.value)


@dataclass(frozen=True, slots=True)
class Day(Expression):
    """A day or moment, on the scale of a declared column."""

    value: str  # ISO
    column: Date | Timestamp

    def __post_init__(self) -> None:
        try:
            self.code()
        except ParameterError:
            raise UnsupportedError(f"{self.value!r} is not a day such as 2026-01-31") from None

    @property
    def type(self) -> Coded:
        """The column's."""
        return Coded(self.column, nullable=False)

    def code(self) -> str:
        """Its code, even outside the declared bounds."""
        if isinstance(self.column, Timestamp):
            return str(Timestamp(self.value, self.value, step=self.column.period).codes[0])
        return str(Date(self.value, self.value).codes[0])

    def __str__(self) -> str:
        return text(self.value)


@dataclass(frozen=True, slots=True)
class Add(Binary):
    """left + right, or left - right."""

    left: Expression
    right: Expression
    minus: bool = False

    @property
    def type(self) -> Numeric:
        """Bounds add, at the common step."""
        a, b = number(self.left), number(self.right)
        step = common_step(a.step, b.step)
        a, b = a.at(step), b.at(step)
        low, high = (a.low - b.high, a.high - b.low) if self.minus else (a.low + b.low, a.high + b.high)
        return Numeric(low, high, step, a.nullable or b.nullable)

    def code(self) -> str:
        """Both in the common step."""
        step = self.type.step
        return f"{numeric_code(self.left, step)} {'-' if self.minus else '+'} {numeric_code(self.right, step)}"

    def __str__(self) -> str:
        return f"({self.left} {'-' if self.minus else '+'} {self.right})"


@dataclass(frozen=True, slots=True)
class Multiply(Binary):
    """left * right; a division by a constant is a multiplication by its inverse."""

    left: Expression
    right: Expression

    @property
    def type(self) -> Numeric:
        """Corners of the box, in the product of the steps."""
        a, b = number(self.left), number(self.right)
        corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
        return Numeric(min(corners), max(corners), a.step * b.step, a.nullable or b.nullable)

    def code(self) -> str:
        """The product of the codes."""
        left, right = number(self.left).step, number(self.right).step
        return f"{numeric_code(self.left, left)} * {numeric_code(self.right, right)}"

    def __str__(self) -> str:
        match self.right:
            case Number(value) if value.denominator != 1 and value.numerator == 1:
                return f"({self.left} / {value.denominator})"
        return f"({self.left} * {self.right})"


@dataclass(frozen=True, slots=True)
class Floor(Unary):
    """The greatest integer not above the value: how numbers are binned."""

    inner: Expression

    @property
    def type(self) -> Numeric:
        """The floors of the bounds; refused where the integers on the way to them do not fit."""
        known = number(self.inner)
        top, bottom = known.step.numerator, known.step.denominator
        widest = known.high * top - _floor(known.low, known.step) * bottom
        Numeric(min(known.low * top, 0), max(known.high * top, widest // 2 + 1), Fraction(1), nullable=False)
        return Numeric(_floor(known.low, known.step), _floor(known.high, known.step), Fraction(1), known.nullable)

    def code(self) -> str:
        """Shifted to be nonnegative first: engines differ on dividing negative integers."""
        known = number(self.inner)
        top, bottom = known.step.numerator, known.step.denominator
        if bottom == 1:
            return numeric_code(self.inner, Fraction(1))
        shift = _floor(known.low, known.step)
        raised = f"(({numeric_code(self.inner, known.step)}) * {top} - ({shift * bottom})) // {bottom}"
        return f"({raised}) + ({shift})"

    def __str__(self) -> str:
        return f"FLOOR({self.inner})"


def _floor(code: int, step: Fraction) -> int:
    return code * step.numerator // step.denominator


@dataclass(frozen=True, slots=True)
class Absolute(Unary):
    """The absolute value."""

    inner: Expression

    @property
    def type(self) -> Numeric:
        """From 0, or the nearer bound, to the farther bound."""
        known = number(self.inner)
        ends = sorted((abs(known.low), abs(known.high)))
        return Numeric(0 if known.low <= 0 <= known.high else ends[0], ends[1], known.step, known.nullable)

    def code(self) -> str:
        """By cases."""
        inner = numeric_code(self.inner, number(self.inner).step)
        return f"CASE WHEN {inner} < 0 THEN -({inner}) ELSE {inner} END"

    def __str__(self) -> str:
        return f"ABS({self.inner})"
