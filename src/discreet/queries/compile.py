"""From a question to one pass over the table: keys, measures, and what one unit can change.

Theorem.  Let one unit have at most R kept rows in at most G groups (docs/theory/bounding.md).
Adding or removing it changes the vector of all cells of a measure by at most

    rows       R in l1 and in l2
    units      min(G, R) in l1, its square root in l2
    sum        R m in l1 and in l2, where m is the largest absolute value of a row

An average is a centred sum over a count: values are measured from the middle of their declared
range, which halves m.  Proof: docs/theory/queries.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from discreet.data.aggregation import Aggregation, IntegerSQL, Key, Measure
from discreet.data.columns import MOST, Value
from discreet.data.table import Table
from discreet.errors import UnsupportedError
from discreet.queries.division import Remainder
from discreet.queries.expression import Expression, Multiply, Number, number, numeric_code, predicate_code, tree
from discreet.queries.query import Aggregate, Query
from discreet.queries.types import Coded, Free, Numeric, Truth

if TYPE_CHECKING:
    from sqlglot import Expr as Tree

CELLS = 1_000_000  # the most group keys of one question
GRID = 1 << 16  # cells of a grid for quantiles, over all groups
FEWEST = 64  # but no fewer than these in a group


@dataclass(frozen=True, slots=True)
class Part:
    """One thing to add up: rows, units, or the power of a value measured from a centre."""

    kind: Literal["rows", "units", "sum"]
    argument: Expression | None = None
    centre: int = 0  # in steps of the argument
    power: int = 1

    @property
    def step(self) -> Fraction:
        """What one unit of the integer sum is worth."""
        return Fraction(1) if self.kind != "sum" or self.argument is None else number(self.argument).step ** self.power

    @property
    def bounds(self) -> tuple[int, int]:
        """The least and the greatest value of a row."""
        if self.kind != "sum" or self.argument is None:
            return 0, 1
        known = number(self.argument)
        low, high = known.low - self.centre, known.high - self.centre
        if self.power == 2:
            squares = sorted((low * low, high * high))
            low, high = 0 if low <= 0 <= high else squares[0], squares[1]
        if max(-low, high) >= MOST:
            raise UnsupportedError("VARIANCE of this expression does not fit 62 bits; declare a coarser step")
        return low, high

    @property
    def reach(self) -> int:
        """The largest absolute value of a row; at least 1, so that noise never vanishes."""
        return max(1, *map(abs, self.bounds))

    def sensitivity(self, rows: int, groups: int) -> tuple[int, int]:
        """The l1 change, and the square of the l2 change, of all cells when one unit comes or goes."""
        if self.kind == "units":
            return min(rows, groups), min(rows, groups)
        return rows * self.reach, (rows * self.reach) ** 2

    def measure(self) -> Measure:
        """What the engine adds up."""
        if self.kind != "sum" or self.argument is None:
            return Measure(kind=self.kind, value=None if self.argument is None else self.argument.tree())
        code = f"({numeric_code(self.argument, number(self.argument).step)}) - ({self.centre})"
        code = f"({code}) * ({code})" if self.power == 2 else code
        low, high = self.bounds
        return Measure(kind="sum", value=tree(code), low=low, high=high)

    def __str__(self) -> str:
        match self.kind, self.argument:
            case "units", _:
                return "units"
            case "rows", None:
                return "rows"
            case "rows", argument:
                return f"rows with {argument}"
            case _, argument:
                assert argument is not None
                shift = f" - {float(self.centre * number(argument).step):g}" if self.centre else ""
                centred = f"{argument}{shift}"
                return f"sum of ({centred})^2" if self.power == 2 else f"sum of {centred}"


@dataclass(frozen=True, slots=True)
class Rank:
    """A quantile, or an end of its interval, chosen from the counts of rows on a grid of the declared range."""

    argument: Expression
    level: Fraction
    end: Literal["middle", "low", "high"] = "middle"

    @property
    def known(self) -> Numeric:
        """The type of the argument."""
        return number(self.argument)

    def grid(self, cells: int) -> tuple[int, int]:
        """How many cells the range is cut into in each of so many groups, and how many lattice points a cell has."""
        points = self.known.high - self.known.low + 1
        most = min(max(FEWEST, GRID // cells), points)
        width = -(-points // most)
        return -(-points // width), width

    def key(self, cells: int) -> Key:
        """The cell of a row; a missing value is in none."""
        size, width = self.grid(cells)
        code = f"({numeric_code(self.argument, self.known.step)}) - ({self.known.low})"
        return Key(code=tree(code if width == 1 else f"({code}) // {width}"), size=size)

    def __str__(self) -> str:
        ends = {"middle": "", "low": "lower end of the ", "high": "upper end of the "}
        return f"{ends[self.end]}quantile {float(self.level):g} of {self.argument}"


def parts(aggregate: Aggregate) -> tuple[Part | Rank, ...]:
    """What must be released for an aggregate: the count first for averages, then the powers."""
    argument = aggregate.argument
    match aggregate.function:
        case "quantile":
            assert argument is not None
            assert aggregate.level is not None
            return tuple(Rank(argument, aggregate.level, end) for end in ("middle", "low", "high"))
        case "units":
            return (Part("units"),)
        case "count":
            return (Part("rows", _counted(argument)),)
        case "sum":
            return (Part("sum", argument),)
        case "avg":
            return Part("rows", _counted(argument)), Part("sum", argument, centre(argument))
        case _:
            middle = centre(argument)
            return (
                Part("rows", _counted(argument)),
                Part("sum", argument, middle),
                Part("sum", argument, middle, power=2),
            )


def _counted(argument: Expression | None) -> Expression | None:
    """Counting a value that is never NULL is counting the rows that have it: the pass reads its columns."""
    return argument if argument is not None and argument.type.nullable else None


def centre(argument: Expression | None) -> int:
    """The middle of the declared range, in steps."""
    assert argument is not None
    known = number(argument)
    return (known.low + known.high) // 2


@dataclass(frozen=True, slots=True, eq=False)
class Grouping:
    """A group key with all its values, from the declaration."""

    expression: Expression
    size: int

    def values(self) -> list[Value]:
        """Every key, in the order of its codes; NULL last."""
        known = self.expression.type
        low, high = _range(self.expression)
        codes = range(low, high + 1)
        match known:
            case Truth():
                listed: list[Value] = [bool(code) for code in codes]
            case Coded(column):
                listed = [column.decode(code) for code in codes]
            case Free():
                raise UnsupportedError(f"the values of {self.expression} are not declared")
            case Numeric():
                step = multiples(self.expression).step
                whole = step.denominator == 1
                listed = [code * int(step) if whole else float(code * step) for code in codes]
        return [*listed, None] if known.nullable else listed

    def key(self) -> Key:
        """The key for the engine: an integer from 0."""
        low, high = _range(self.expression)
        code = self.expression.code() if isinstance(self.expression.type, Coded) else _listed(self.expression)
        shifted = f"({code}) - ({low})"
        if self.expression.type.nullable:
            shifted = f"CASE WHEN ({code}) IS NULL THEN {high - low + 1} ELSE {shifted} END"
        return Key(code=tree(shifted), size=self.size)


def _listed(expression: Expression) -> str:
    """The code of a number among its multiples: the division leaves no remainder."""
    step = number(expression).step
    ratio = int(multiples(expression).step / step)
    code = numeric_code(expression, step)
    return code if ratio == 1 else f"({code}) // {ratio}"


def multiples(expression: Expression) -> Numeric:
    """What a number may be, in the largest step that is known: FLOOR(age / 10) * 10 is 0, 10, 20 ..."""
    match expression:
        case Number(value):
            sign = (value > 0) - (value < 0)
            return Numeric(sign, sign, abs(value) or Fraction(1), nullable=False)
        case Multiply(left, right):
            a, b = multiples(left), multiples(right)
            corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
            return Numeric(min(corners), max(corners), a.step * b.step, a.nullable or b.nullable)
        case Remainder(inner):
            return expression.among(multiples(inner))
        case _:
            return number(expression)


def _range(expression: Expression) -> tuple[int, int]:
    match expression.type:
        case Truth():
            return 0, 1
        case Coded(column):
            return column.codes
        case Numeric():
            listed = multiples(expression)
            return listed.low, listed.high
        case Free():
            raise UnsupportedError(f"the values of {expression} are not declared")


def free(query: Query) -> tuple[Expression, ...]:
    """The group keys whose values nobody declared."""
    return tuple(key for key in query.keys if isinstance(key.type, Free))


def groupings(query: Query) -> tuple[Grouping, ...]:
    """The declared group keys of a question, refused where there are too many."""
    found = []
    for key in query.keys:
        if isinstance(key.type, Free):
            continue
        low, high = _range(key)
        found.append(Grouping(key, high - low + 1 + key.type.nullable))
    cells = math.prod(grouping.size for grouping in found)
    if cells > CELLS:
        sizes = " x ".join(f"{grouping.expression} {grouping.size:,}" for grouping in found)
        raise UnsupportedError(
            f"GROUP BY has {cells:,} declared keys ({sizes}); at most {CELLS:,} are answered: bin with FLOOR(x / 10)"
        )
    return tuple(found)


def aggregation(query: Query, table: Table, needed: tuple[Part, ...], *, rows: int, groups: int) -> Aggregation:
    """The pass that adds up counts and sums."""
    measures = tuple(part.measure() for part in needed)
    keys = tuple(grouping.key() for grouping in groupings(query))
    texts = tuple(key.tree() for key in free(query))
    return _pass(query, table, keys, measures, rows=rows, groups=groups, texts=texts)


def grid(query: Query, table: Table, rank: Rank, *, rows: int) -> Aggregation:
    """The pass that counts rows on the grid of a quantile.

    A unit's rows are bounded in total, over all groups and cells; how many groups they lie in does not matter.
    """
    found = groupings(query)
    cells = math.prod(grouping.size for grouping in found)
    keys = (*(grouping.key() for grouping in found), rank.key(cells))
    return _pass(query, table, keys, (Measure(kind="rows"),), rows=rows, groups=rows)


def _pass(
    query: Query,
    table: Table,
    keys: tuple[Key, ...],
    measures: tuple[Measure, ...],
    *,
    rows: int,
    groups: int,
    texts: tuple[Tree, ...] = (),
) -> Aggregation:
    where = None if query.where is None else tree(predicate_code(query.where))
    # Every pass reads all columns of the question, also one that only counts its rows: a row that lacks a value which
    # may not be missing is left out of all aggregates or of none.
    values = [measure.value for measure in measures if not isinstance(measure.value, IntegerSQL)]
    read = query.columns() | _columns([where, *texts, *(key.code for key in keys), *values])
    return Aggregation(
        columns=tuple(name for name in table.domain if name in read),
        where=where,
        keys=keys,
        measures=measures,
        unit=None if query.source.most == 1 else table.unit,  # one row a unit: there is nothing to bound
        rows_per_unit=rows,
        groups_per_unit=groups,
        salt=table.salt,
        texts=texts,
    )


def _columns(trees: list[Tree | None]) -> set[str]:
    from sqlglot import expressions as exp

    return {column.name for made in trees if made is not None for column in made.find_all(exp.Column)}
