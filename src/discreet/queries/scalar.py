"""Scalar expressions of SQL, rebuilt from an allow-list of total functions."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.data.columns import Categorical, Date, Timestamp
from discreet.data.domain import missing
from discreet.errors import DomainError, UnsupportedError
from discreet.queries.calendar import Part
from discreet.queries.choice import Case, Extreme
from discreet.queries.division import Quotient, Remainder
from discreet.queries.expression import Absolute, Add, Day, Expression, Floor, Multiply, Number, Ref, Word
from discreet.queries.joined import Joined
from discreet.queries.phrase import Phrase, Prefix
from discreet.queries.predicate import And, Compare, IsNull, Member, Not, Operator, Or
from discreet.queries.source import Source
from discreet.queries.types import Coded, Free

if TYPE_CHECKING:
    from sqlglot import expressions as exp

DEEPEST = 100
HEAVIEST = 5_000  # nodes of everything compiled for a question, copies included
LONGEST_NUMBER = 40  # digits
MOST_ITEMS = 20  # of LEAST and GREATEST
ONE = Number(Fraction(1))
FLIPPED: dict[str, Operator] = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
ALLOWED = (
    "comparisons, BETWEEN, IN, LIKE 'prefix%', IS NULL, AND, OR, NOT, CASE, COALESCE, LEAST, GREATEST, ABS, FLOOR,"
    " WIDTH_BUCKET, EXTRACT and + - * with declared columns, / // % by a constant"
)


@dataclass(frozen=True, slots=True)
class Scope:
    """The source whose columns may be named, and the name it goes by; `side`: as one side of a join."""

    source: Source
    name: str
    side: bool = False
    weights: dict[int, tuple[Expression, int]] = field(default_factory=dict, compare=False)  # by identity, kept alive

    def weigh(self, expression: Expression) -> int:
        """How many nodes the compiled form has; refused where there are too many."""
        if id(expression) not in self.weights:
            total = 1 + sum(copies * self.weigh(part) for part, copies in _uses(expression))
            if total > HEAVIEST:
                raise UnsupportedError(f"an expression that compiles to more than {HEAVIEST:,} nodes; make it shorter")
            self.weights[id(expression)] = expression, total
        return self.weights[id(expression)][1]

    def knows(self, name: str) -> bool:
        """Whether it has a column of this name, in any case."""
        return any(ref.name.lower() == name.lower() for ref in self.columns)

    @property
    def columns(self) -> list[Ref]:
        """Every column, under the name of its table where tables are joined."""
        if isinstance(self.source, Joined):
            split = [(key.partition("."), column) for key, column in self.source.columns.items()]
            return [Ref(name, column, table) for (table, _, name), column in split]
        table = self.name if self.side else ""
        return [Ref(name, column, table) for name, column in self.source.columns.items()]

    @property
    def units(self) -> frozenset[str]:
        """The keys of the columns that show the unit."""
        own = self.side and not isinstance(self.source, Joined)
        return frozenset(f"{self.name}.{unit}" if own else unit for unit in self.source.units)

    def found(self, node: exp.Column) -> list[Ref]:
        """The columns a node may mean, in any case."""
        table, name = node.table.lower(), node.name.lower()
        return [
            ref for ref in self.columns if ref.name.lower() == name and table in ("", (ref.table or self.name).lower())
        ]

    def _only(self, node: exp.Column) -> Ref:
        if node.args.get("db") or node.args.get("catalog"):
            raise UnsupportedError(f"write the column as {node.name}, without schema or catalog")
        found = self.found(node)
        if len(found) > 1:
            raise DomainError(f"{node.name!r} may be {' or '.join(map(str, found))}; say which")
        if found:
            return found[0]
        tables = sorted({ref.table or self.name for ref in self.columns})
        if node.table and node.table.lower() not in map(str.lower, tables):
            raise DomainError(missing(node.table, tables, what="table"))
        if node.name.lower() == (self.source.owner or "").lower():
            raise UnsupportedError(
                f"the unit {node.name!r} of a table after LEFT JOIN, or not selected by the sub-query; to find rows"
                " without a partner test another column with IS NULL"
            )
        known = [ref.name for ref in self.columns if ref.key not in self.units]
        raise DomainError(missing(node.name, known, what="column"))

    def is_unit(self, node: exp.Expr) -> bool:
        """Whether a node names the privacy unit."""
        from sqlglot import expressions as exp

        if type(node) is not exp.Column or type(node.this) is not exp.Identifier:
            return False
        found = self.found(node)
        return bool(found) and all(ref.key in self.units for ref in found)

    def column(self, node: exp.Column) -> Ref:
        """The declared column a node names."""
        if self.is_unit(node):
            raise UnsupportedError(
                f"the unit column {node.name!r} can only be used in COUNT(DISTINCT {node.name}), in joins, and in"
                f" sub-queries that GROUP BY {node.name}"
            )
        return self._only(node)


def _uses(expression: Expression) -> list[tuple[Expression, int]]:
    """The expressions one is made of, each with how often its compiled form repeats it."""
    match expression:
        case Absolute(inner):
            return [(inner, 3 * _twice(inner))]
        case Quotient(inner) | Remainder(inner):
            return [(inner, expression.copies * _twice(inner))]
        case Member(inner, options):
            return [(inner, len(options) * _twice(inner)), *((option, _twice(option)) for option in options)]
        case And() | Or() | Not() | IsNull():
            return [(part, 1) for part in expression.parts]
        case Extreme(_, items):
            return [(item, (2 * len(items) + 1) * _twice(item)) for item in items]
        case _:
            return [(part, _twice(part)) for part in expression.parts]


def _twice(expression: Expression) -> int:
    """A truth value that is used as a number is written twice."""
    return 2 if isinstance(expression, (And, Compare, IsNull, Member, Not, Or)) else 1


def rational(text: str) -> Fraction:
    """The number that digits spell, exactly; refused where it is absurdly long."""
    found = re.fullmatch(r"[0-9_]*\.?[0-9_]*(?:[eE]([+-]?[0-9]+))?", text)
    if found is None or len(text) > LONGEST_NUMBER or abs(int(found[1] or 0)) > LONGEST_NUMBER:
        raise UnsupportedError(f"a number of at most {LONGEST_NUMBER} digits, got {text[:20]}")
    try:
        return Fraction(text)
    except ValueError:
        raise UnsupportedError(f"{text[:20]} is not a number") from None


def _short(value: Fraction) -> Fraction:
    """A quotient of constants; refused where it is longer than what one of them can be."""
    if max(abs(value.numerator), value.denominator) >= 100**LONGEST_NUMBER:
        raise UnsupportedError(f"a constant of at most {2 * LONGEST_NUMBER} digits")
    return value


def literal(node: exp.Expr | None) -> Fraction | None:
    """The number a node spells, or None."""
    from sqlglot import expressions as exp

    match node:
        case exp.Paren():
            return literal(node.this)
        case exp.Neg():
            inner = literal(node.this)
            return None if inner is None else -inner
        case exp.Div() if (top := literal(node.this)) is not None and (bottom := literal(node.expression)):
            return _short(top / bottom)
        case exp.Literal() if not node.is_string:
            return rational(node.name)
        case _:
            return None


def scalar(node: exp.Expr, scope: Scope, *, like: Expression | None = None, depth: int = 0) -> Expression:
    """Rebuild one scalar expression; `like` gives text literals their type."""
    made = _rebuilt(node, scope, like=like, depth=depth)
    scope.weigh(made)
    return made


def _rebuilt(node: exp.Expr | None, scope: Scope, *, like: Expression | None, depth: int) -> Expression:
    from sqlglot import expressions as exp

    if node is None:  # the parser lets FLOOR() pass
        raise UnsupportedError("a function without its argument")
    if depth > DEEPEST:
        raise UnsupportedError(f"an expression nested more than {DEEPEST} deep")

    def again(inner: exp.Expr, *, like: Expression | None = None) -> Expression:
        return scalar(inner, scope, like=like, depth=depth + 1)

    if (constant := literal(node)) is not None and not (like is not None and _is_word(like)):
        return Number(constant)
    if constant is not None and constant < 0 and constant.denominator == 1:  # a category below zero
        return Word(int(constant), like.type.column)  # type: ignore[union-attr]
    match node:
        case exp.Paren():
            return again(node.this, like=like)
        case exp.Column() if type(node.this) is exp.Identifier:
            return scope.column(node)
        case exp.Boolean():
            return Number(Fraction(int(node.this)))
        case exp.Literal() | exp.Cast() | exp.Date():
            return _typed(node, like)
        case exp.Add() | exp.Sub():
            return Add(again(node.this), again(node.expression), minus=type(node) is exp.Sub)
        case exp.Neg():
            return Add(Number(Fraction(0)), again(node.this), minus=True)
        case exp.Mul():
            return Multiply(again(node.this), again(node.expression))
        case exp.Div():
            return Multiply(again(node.this), Number(1 / _divisor(node)))
        case exp.IntDiv():
            return Quotient(again(node.this), _divisor(node))
        case exp.Mod():
            return Remainder(again(node.this), _divisor(node))
        case exp.Abs():
            return Absolute(again(node.this))
        case exp.Floor() if not node.args.get("decimals"):
            return Floor(again(node.this))
        case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
            return _compare(node, again)
        case exp.Between():
            middle = again(node.this)
            low, high = again(node.args["low"], like=middle), again(node.args["high"], like=middle)
            return And((Compare(">=", middle, low), Compare("<=", middle, high)))
        case exp.In() if node.expressions and not node.args.get("query"):
            inner = again(node.this)
            return Member(inner, tuple(again(option, like=inner) for option in node.expressions))
        case exp.Is() if type(node.expression) is exp.Null:
            return IsNull(again(node.this))
        case exp.Is() if type(node.expression) is exp.Not and type(node.expression.this) is exp.Null:
            return Not(IsNull(again(node.this)))
        case exp.Not():
            return Not(again(node.this))
        case exp.And() | exp.Or():
            terms = tuple(again(term) for term in node.flatten())
            return And(terms) if type(node) is exp.And else Or(terms)
        case exp.Case() | exp.If() | exp.Coalesce():
            return _choice(node, again)
        case exp.Least() | exp.Greatest():
            items = tuple(again(item) for item in (node.this, *node.expressions))
            if len(items) > MOST_ITEMS:
                raise UnsupportedError(f"LEAST and GREATEST of at most {MOST_ITEMS} items, got {len(items)}")
            return Extreme("LEAST" if type(node) is exp.Least else "GREATEST", items)
        case exp.WidthBucket():
            return _bucket(node, again)
        case exp.Like() | exp.Escape() | exp.StartsWith():
            return _prefix(node, again)
        case exp.Extract() | exp.Year() | exp.Quarter() | exp.Month() | exp.Day() | exp.DayOfWeek() | exp.Hour():
            part = (
                node.name
                if type(node) is exp.Extract
                else {"DayOfWeek": "dow"}.get(type(node).__name__, type(node).__name__)
            )
            wrapped = type(node) is not exp.Extract and type(node.this) in (exp.TsOrDsToDate, exp.Cast)  # by sqlglot
            return Part(part.lower(), again(node.this.this if wrapped else node.args.get("expression") or node.this))
        case _:
            shown = node.sql(dialect="duckdb")
            raise UnsupportedError(f"{shown[:80]} is not supported; allowed are {ALLOWED}")


def _is_word(expression: Expression) -> bool:
    known = expression.type
    return isinstance(known, Coded) and isinstance(known.column, Categorical)


def _divisor(node: exp.Binary) -> Fraction:
    divisor = literal(node.expression)
    if not divisor:
        raise UnsupportedError("division needs a nonzero constant on the right")
    return divisor


def _typed(node: exp.Expr, like: Expression | None) -> Expression:
    """A literal whose meaning depends on what it is compared with."""
    from sqlglot import expressions as exp

    known = None if like is None else like.type
    inner = node if type(node) is exp.Literal else node.this
    if type(node) is exp.Cast and node.to.this not in (exp.DataType.Type.DATE, exp.DataType.Type.TIMESTAMP):
        raise UnsupportedError("CAST is not supported: types are declared")
    if type(inner) is not exp.Literal:
        raise UnsupportedError("CAST is not supported: types are declared")
    match known:
        case Coded(Categorical() as column):
            if inner.is_string or isinstance(column.values[0], str):
                return Word(inner.name, column)
            number = rational(inner.name)  # 1.5 is no category, and not 1
            return Word(int(number) if number.denominator == 1 else inner.name, column)
        case Coded(Date() | Timestamp() as column):
            return Day(inner.name, column)
        case Free() if inner.is_string:
            return Phrase(inner.name)
        case _:
            raise UnsupportedError(
                f"the text {inner.name!r} can only be compared with a text, a categorical column or a date"
            )


def _constant(node: exp.Expr) -> bool:
    from sqlglot import expressions as exp

    return literal(node) is not None or type(node.unnest()) in (exp.Literal, exp.Cast, exp.Date, exp.Boolean)


def _compare(node: exp.Binary, again) -> Compare:  # noqa: ANN001 - the recursion of scalar()
    from sqlglot import expressions as exp

    operators = {exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}
    operator = operators[type(node)]
    left, right = node.this, node.expression
    if _constant(left) and not _constant(right):
        left, right, operator = right, left, FLIPPED.get(operator, operator)
    first = again(left)
    return Compare(operator, first, again(right, like=first))  # type: ignore[arg-type]


def _choice(node: exp.Expr, again) -> Case:  # noqa: ANN001 - the recursion of scalar()
    """CASE, IF and COALESCE, all as CASE."""
    from sqlglot import expressions as exp

    match node:
        case exp.If():
            other = node.args.get("false")
            return Case(((again(node.this), again(node.args["true"])),), None if other is None else again(other))
        case exp.Coalesce():
            items = [again(item) for item in (node.this, *node.expressions)]
            return Case(tuple((Not(IsNull(item)), item) for item in items[:-1]), items[-1])
        case _:
            operand = node.args.get("this")
            subject = None if operand is None else again(operand)
            branches = []
            for branch in node.args["ifs"]:
                condition = again(branch.this, like=subject)
                branches.append(
                    (condition if subject is None else Compare("=", subject, condition), again(branch.args["true"]))
                )
            default = node.args.get("default")
            return Case(tuple(branches), None if default is None or type(default) is exp.Null else again(default))


def _bucket(node: exp.WidthBucket, again) -> Case:  # noqa: ANN001 - the recursion of scalar()
    """WIDTH_BUCKET(x, low, high, n): 0 below low, n + 1 from high on, and n equal bins between."""
    low, high, count = (literal(node.args.get(name)) for name in ("min_value", "max_value", "num_buckets"))
    if low is None or high is None or count is None or count.denominator != 1 or not (low < high and count >= 1):
        raise UnsupportedError("WIDTH_BUCKET(x, low, high, n) needs constants low < high and a whole n >= 1")
    value = again(node.this)
    scaled = Multiply(Add(value, Number(low), minus=True), Number(count / (high - low)))
    inside = Add(Floor(Extreme("LEAST", (Extreme("GREATEST", (scaled, Number(Fraction(0)))), Number(count)))), ONE)
    branches = (
        (Compare("<", value, Number(low)), Number(Fraction(0))),
        (Compare(">=", value, Number(high)), Number(count + 1)),
        (Compare("<", value, Number(high)), inside),
    )
    return Case(branches, None) if value.type.nullable else Case(branches[:2], inside)


def _prefix(node: exp.Expr, again) -> Expression:  # noqa: ANN001 - the recursion of scalar()
    """LIKE 'abc%' and starts_with(x, 'abc'); of a categorical column, the categories that begin so."""
    from sqlglot import expressions as exp

    escape = ""
    if type(node) is exp.Escape:
        escape, node = node.expression.name, node.this
    pattern = node.expression if type(node) in (exp.Like, exp.StartsWith) else None
    if type(pattern) is not exp.Literal or not pattern.is_string:
        raise UnsupportedError("LIKE needs a constant such as 'abc%'")
    start = pattern.name if type(node) is exp.StartsWith else _start(pattern.name, escape)
    inner = again(node.this)
    match inner.type:
        case Coded(Categorical() as column):
            words = [Word(value, column) for value in column.values if str(value).startswith(start)]
            return Member(inner, tuple(words)) if words else Compare("<>", inner, inner)
        case Free():
            return Prefix(inner, start)
        case _:
            raise UnsupportedError(f"LIKE needs a text or a categorical column, got {inner}")


def _start(pattern: str, escape: str) -> str:
    """The characters before the one %, which ends the pattern."""
    found = ""
    rest = iter(pattern)
    for character in rest:
        if escape and character == escape:
            found += next(rest, "")
        elif character == "%" and next(rest, None) is None:
            return found
        elif character in "%_":
            break
        else:
            found += character
    raise UnsupportedError(f"LIKE knows prefixes such as 'abc%', got {pattern!r}")
