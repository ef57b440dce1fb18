"""Questions in Python: the same `Query` objects that SQL makes.

A `Term` is a scalar expression that is not yet about any table; Python's operators make longer ones.
A `Builder` knows a declared table.  Its `query()` has the terms read by the reader of SQL, against the
declared domain, so a question means the same, is refused for the same reasons and costs the same
however it was written, and

    parse(str(query), schema) == query        for every query that a builder makes.

In a comparison a text is a value, `col("ward") == "surgery"`; where a column is wanted it is a name,
`avg("cost")`.  Floats are the decimals they print.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, NoReturn

from discreet.data.table import Table
from discreet.errors import ParameterError, UnsupportedError, require
from discreet.privacy.number import Number, exact
from discreet.queries.expression import quoted, text
from discreet.queries.query import Function, Query
from discreet.queries.scalar import LONGEST_NUMBER
from discreet.queries.sql import parse

Part = Literal["year", "quarter", "month", "day", "dow"]


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """A scalar expression, as SQL; operators make longer ones and `named` gives it a name in the answer.

    >>> print((col("age") // 10 == 6) & ~col("ward").isin("surgery", "oncology"))
    ((("age" // 10) = 6) AND (NOT ("ward" IN ('surgery', 'oncology'))))
    """

    sql: str
    name: str | None = None

    def named(self, name: str) -> Term:
        """The same expression under a name of its own in the answer."""
        require(isinstance(name, str) and bool(name), "a name", name=name)
        return Term(self.sql, name)

    def floor(self) -> Term:
        """The greatest integer not above it: `(col("age") / 10).floor()` makes bins."""
        return Term(f"FLOOR({self})")

    def isin(self, *options: Value) -> Term:
        """Whether it is one of the options."""
        require(bool(options), "at least one option", options=options)
        return Term(f"({self} IN ({', '.join(map(_sql, options))}))")

    def between(self, low: Value, high: Value) -> Term:
        """Whether low <= it <= high."""
        return Term(f"({self} BETWEEN {_sql(low)} AND {_sql(high)})")

    def is_null(self) -> Term:
        """Whether it is NULL; `~` of it where it must not be."""
        return Term(f"({self} IS NULL)")

    def part(self, part: Part) -> Term:
        """Year, quarter, month, day or weekday (dow, 0 is Sunday) of a date."""
        if part not in ("year", "quarter", "month", "day", "dow"):
            raise UnsupportedError(f"EXTRACT knows year, quarter, month, day, dow, got {part!r}")
        return Term(f"EXTRACT({part} FROM {self})")

    def __str__(self) -> str:
        return self.sql

    def __add__(self, other: Value) -> Term:
        return _join(self, "+", other)

    def __radd__(self, other: Value) -> Term:
        return _join(other, "+", self)

    def __sub__(self, other: Value) -> Term:
        return _join(self, "-", other)

    def __rsub__(self, other: Value) -> Term:
        return _join(other, "-", self)

    def __mul__(self, other: Value) -> Term:
        return _join(self, "*", other)

    def __rmul__(self, other: Value) -> Term:
        return _join(other, "*", self)

    def __truediv__(self, other: Value) -> Term:
        return _join(self, "/", other)

    def __rtruediv__(self, other: Value) -> Term:
        return _join(other, "/", self)

    def __floordiv__(self, other: Value) -> Term:
        return _join(self, "//", other)

    def __rfloordiv__(self, other: Value) -> Term:
        return _join(other, "//", self)

    def __mod__(self, other: Value) -> Term:
        return _join(self, "%", other)

    def __rmod__(self, other: Value) -> Term:
        return _join(other, "%", self)

    def __neg__(self) -> Term:
        return Term(f"(- {self})")

    def __abs__(self) -> Term:
        return Term(f"ABS({self})")

    def __eq__(self, other: Value) -> Term:  # type: ignore[override]
        return _join(self, "=", other)

    def __ne__(self, other: Value) -> Term:  # type: ignore[override]
        return _join(self, "<>", other)

    def __lt__(self, other: Value) -> Term:
        return _join(self, "<", other)

    def __le__(self, other: Value) -> Term:
        return _join(self, "<=", other)

    def __gt__(self, other: Value) -> Term:
        return _join(self, ">", other)

    def __ge__(self, other: Value) -> Term:
        return _join(self, ">=", other)

    def __and__(self, other: Value) -> Term:
        return _join(self, "AND", other)

    def __or__(self, other: Value) -> Term:
        return _join(self, "OR", other)

    def __invert__(self) -> Term:
        return Term(f"(NOT {self})")

    def __bool__(self) -> NoReturn:
        raise UnsupportedError(
            "a condition is about rows, neither true nor false here: join with & and |, negate with ~, use between()"
        )

    __hash__ = None  # type: ignore[assignment]


Value = Term | Number | str | bool | dt.date


def col(name: str) -> Term:
    """A declared column, or in `having` a column of the answer.

    >>> str(col("age") >= 65)
    '("age" >= 65)'
    """
    require(isinstance(name, str) and bool(name), "the name of a column", name=name)
    return Term(quoted(name))


def case(*branches: tuple[Term, Value], otherwise: Value | None = None) -> Term:
    """The value of the first condition that is true; `otherwise` if none is, by default NULL.

    >>> print(case((col("age") >= 65, 1), otherwise=0))
    CASE WHEN ("age" >= 65) THEN 1 ELSE 0 END
    """
    require(bool(branches), "at least one (condition, value)", branches=branches)
    whens = " ".join(f"WHEN {_sql(condition)} THEN {_sql(value)}" for condition, value in branches)
    return Term(f"CASE {whens} END" if otherwise is None else f"CASE {whens} ELSE {_sql(otherwise)} END")


def coalesce(*items: Value) -> Term:
    """The first that is not NULL.

    >>> str(coalesce(col("cost"), 0))
    'COALESCE("cost", 0)'
    """
    return _call("COALESCE", items)


def least(*items: Value) -> Term:
    """The smallest, NULLs apart.

    >>> str(least(col("cost"), 2000))
    'LEAST("cost", 2000)'
    """
    return _call("LEAST", items)


def greatest(*items: Value) -> Term:
    """The largest, NULLs apart.

    >>> str(greatest(col("cost"), 0))
    'GREATEST("cost", 0)'
    """
    return _call("GREATEST", items)


def _call(function: str, items: tuple[Value, ...]) -> Term:
    require(len(items) >= 2, "at least two items", items=len(items))
    return Term(f"{function}({', '.join(map(_sql, items))})")


def _join(left: Value, operator: str, right: Value) -> Term:
    return Term(f"({_sql(left)} {operator} {_sql(right)})")


def _sql(value: Value) -> str:
    """A term, or a constant as the rational, text, day or truth value that it is."""
    if isinstance(value, Term):
        return value.sql
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, str):
        return text(value)
    if isinstance(value, dt.datetime):
        return text(value.isoformat(sep=" "))
    if isinstance(value, dt.date):
        return text(value.isoformat())
    number: Fraction = exact(value)
    if max(abs(number.numerator), number.denominator) >= 10**LONGEST_NUMBER:
        raise UnsupportedError(f"a number of at most {LONGEST_NUMBER} digits")
    return str(number.numerator) if number.denominator == 1 else f"({number.numerator} / {number.denominator})"


def _term(column: Term | str) -> Term:
    """A term as it is, a text as the name of a column."""
    return column if isinstance(column, Term) else col(column)


@dataclass(frozen=True, slots=True)
class Tally:
    """An aggregate that is not yet about any table.

    >>> total("cost").sql(None)
    'SUM("cost")'
    """

    function: Function
    argument: str | None = None  # SQL

    def sql(self, unit: str | None) -> str:
        """The aggregate in SQL, for a table with this unit."""
        if self.function == "units":
            return f"COUNT(DISTINCT {quoted(unit or 'unit')})"  # refused by the reader where there is no unit
        return f"{self.function.upper()}({self.argument or '*'})"


def count(column: Term | str | None = None) -> Tally:
    """COUNT(*), or how many values are not NULL.

    >>> count().sql(None), count("cost").sql(None)
    ('COUNT(*)', 'COUNT("cost")')
    """
    return Tally("count", None if column is None else _term(column).sql)


def units() -> Tally:
    """COUNT(DISTINCT unit): how many units (patients, say) have a row.

    >>> units().sql("patient")
    'COUNT(DISTINCT "patient")'
    """
    return Tally("units")


def total(column: Term | str) -> Tally:
    """SUM of the values.

    >>> total(least(col("cost"), 2000)).sql(None)
    'SUM(LEAST("cost", 2000))'
    """
    return Tally("sum", _term(column).sql)


def avg(column: Term | str) -> Tally:
    """AVG of the values.

    >>> avg("cost").sql(None)
    'AVG("cost")'
    """
    return Tally("avg", _term(column).sql)


def variance(column: Term | str) -> Tally:
    """VARIANCE of the values.

    >>> variance("cost").sql(None)
    'VARIANCE("cost")'
    """
    return Tally("variance", _term(column).sql)


def stddev(column: Term | str) -> Tally:
    """STDDEV of the values.

    >>> stddev("cost").sql(None)
    'STDDEV("cost")'
    """
    return Tally("stddev", _term(column).sql)


@dataclass(frozen=True, slots=True)
class Builder:
    """A question about one declared table, step by step; every step is a new builder.

    >>> from discreet.data import Domain, Identifier, Integer
    >>> visits = Table("v.parquet", unit="patient", domain=Domain({"patient": Identifier(), "age": Integer(0, 119)}))
    >>> decades = Builder("visits", visits).group_by((col("age") / 10).floor().named("decade"))
    >>> print(decades.select(n=count()).having(col("n") > 9).order_by("-n").query())
    SELECT FLOOR((age / 10)) AS "decade", COUNT(*) AS "n" FROM "visits" GROUP BY FLOOR((age / 10))
        HAVING "n" > 9 ORDER BY "n" DESC
    """

    name: str
    table: Table
    conditions: tuple[str, ...] = ()
    keys: tuple[tuple[str, str | None], ...] = ()
    outputs: tuple[tuple[Tally, str | None], ...] = ()
    kept: tuple[str, ...] = ()
    order: tuple[tuple[str, bool], ...] = ()
    most: str | None = None

    def where(self, *conditions: Term) -> Builder:
        """Only rows for which all conditions are true, those of earlier calls included."""
        return replace(self, conditions=(*self.conditions, *map(_sql, conditions)))

    def group_by(self, *keys: Term | str) -> Builder:
        """A row of the answer for every declared key; the keys are its first columns."""
        found = tuple((term.sql, term.name) for term in map(_term, keys))
        return replace(self, keys=(*self.keys, *found))

    def select(self, *outputs: Tally, **named: Tally) -> Builder:
        """The aggregates, under their own names or those given."""
        for output in (*outputs, *named.values()):
            if not isinstance(output, Tally):
                raise ParameterError(f"need an aggregate such as count() or avg('cost'), got {type(output).__name__}")
        found = (*((output, None) for output in outputs), *((output, name) for name, output in named.items()))
        return replace(self, outputs=(*self.outputs, *found))

    def having(self, *conditions: Term) -> Builder:
        """Only rows of the noisy answer for which the conditions hold, such as `col("n") > 10`."""
        return replace(self, kept=(*self.kept, *map(_sql, conditions)))

    def order_by(self, *outputs: str) -> Builder:
        """Sort the noisy answer by its columns; `-n` is by n, the largest first."""
        for output in outputs:
            require(isinstance(output, str) and bool(output.removeprefix("-")), "the name of an output", output=output)
        found = tuple((output.removeprefix("-"), output.startswith("-")) for output in outputs)
        return replace(self, order=(*self.order, *found))

    def limit(self, rows: int) -> Builder:
        """At most so many rows of the answer."""
        return replace(self, most=_sql(rows))

    def query(self) -> Query:
        """The question, read against the declared domain; or the error that the same SQL would meet."""
        schema = {self.name: self.table}
        query = parse(str(self), schema)
        again = parse(str(query), schema)  # longer than what was written: its length and depth count too
        assert again == query, "printing and reading are inverse"
        return query

    def __str__(self) -> str:
        outputs = [(tally.sql(self.table.unit), name) for tally, name in self.outputs]
        shown = [sql if name is None else f"{sql} AS {quoted(name)}" for sql, name in (*self.keys, *outputs)]
        order = [quoted(name) + (" DESC" if descending else "") for name, descending in self.order]
        clauses = [
            f"SELECT {', '.join(shown)} FROM {quoted(self.name)}",
            f"WHERE {' AND '.join(self.conditions)}" if self.conditions else "",
            f"GROUP BY {', '.join(str(i + 1) for i in range(len(self.keys)))}" if self.keys else "",
            f"HAVING {' AND '.join(self.kept)}" if self.kept else "",
            f"ORDER BY {', '.join(order)}" if order else "",
            "" if self.most is None else f"LIMIT {self.most}",
        ]
        return " ".join(clause for clause in clauses if clause)
