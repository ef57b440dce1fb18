"""A question, as a frozen value: what `parse` reads, the builder makes and the planner prices.

`str(query)` is canonical SQL, and `parse(str(query), schema) == query`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from discreet.data.domain import missing
from discreet.errors import DomainError, ParameterError, UnsupportedError, require
from discreet.queries.expression import Expression, Number, number, predicate_code, quoted
from discreet.queries.source import Source

Function = Literal["count", "units", "sum", "avg", "variance", "stddev", "quantile"]
Operator = Literal["=", "<>", "<", "<=", ">", ">="]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """COUNT(*), COUNT(e), COUNT(DISTINCT unit), SUM(e), AVG(e), VARIANCE(e), STDDEV(e) or QUANTILE(e, level).

    >>> from discreet.queries import parse
    >>> from discreet.data import Domain, Integer, Table
    >>> table = Table("visits.parquet", domain=Domain({"age": Integer(0, 119)}), unit=None)
    >>> parse("SELECT AVG(age) AS age FROM visits", {"visits": table}).outputs[0].value.function
    'avg'
    """

    function: Function
    argument: Expression | None = None
    unit: str = ""  # as it is written
    level: Fraction | None = None  # of a quantile

    def __post_init__(self) -> None:
        if self.function in ("sum", "avg", "variance", "stddev", "quantile"):
            if self.argument is None:
                raise UnsupportedError(f"{self.function.upper()} needs an expression")
            number(self.argument)  # refuses what is not a number

    def __str__(self) -> str:
        if self.function == "units":
            return f"COUNT(DISTINCT {self.unit})"
        if self.level is not None:
            named = {Fraction(0): "MIN", Fraction(1, 2): "MEDIAN", Fraction(1): "MAX"}.get(self.level)
            return f"{named}({self.argument})" if named else f"QUANTILE({self.argument}, {Number(self.level)})"
        return f"{self.function.upper()}({'*' if self.argument is None else self.argument})"


@dataclass(frozen=True, slots=True)
class Output:
    """A column of the answer: an aggregate, or the group key of this number."""

    name: str
    value: Aggregate | int


@dataclass(frozen=True, slots=True)
class Having:
    """A condition on a column of the noisy answer."""

    output: str
    operator: Operator
    value: Fraction

    def __str__(self) -> str:
        return f"{quoted(self.output)} {self.operator} {Number(self.value)}"


@dataclass(frozen=True, slots=True)
class Order:
    """Sort the noisy answer by one of its columns."""

    output: str
    descending: bool = False

    def __str__(self) -> str:
        return quoted(self.output) + (" DESC" if self.descending else "")


@dataclass(frozen=True, kw_only=True, slots=True)
class Query:
    """SELECT outputs FROM source WHERE where GROUP BY keys HAVING having ORDER BY order LIMIT limit.

    >>> from discreet.queries import parse
    >>> from discreet.data import Domain, Integer, Table
    >>> table = Table("visits.parquet", domain=Domain({"age": Integer(0, 119)}), unit=None)
    >>> print(parse("select count(*) n from visits where age>=65", {"visits": table}))
    SELECT COUNT(*) AS "n" FROM "visits" WHERE (age >= 65)
    """

    source: Source
    name: str  # what the source is called
    outputs: tuple[Output, ...]
    where: Expression | None = None
    keys: tuple[Expression, ...] = ()
    having: tuple[Having, ...] = ()
    order: tuple[Order, ...] = ()
    limit: int | None = None

    def __post_init__(self) -> None:
        names = [output.name for output in self.outputs]
        require(len(set(names)) == len(names), "distinct names in SELECT", names=names)
        for output in self.outputs:
            if isinstance(output.value, Aggregate):
                _apart(output.name, names)
        if not self.aggregates:
            raise UnsupportedError("a question needs an aggregate such as COUNT(*); rows are never returned")
        if self.where is not None:
            predicate_code(self.where)  # refuses what is not true or false
        for condition in (*self.having, *self.order):
            if condition.output not in names:
                raise DomainError(missing(condition.output, names, what="output"))
        require(self.limit is None or self.limit >= 0, "LIMIT >= 0", limit=self.limit)

    @property
    def tables(self) -> tuple[str, ...]:
        """The declared tables it reads, private and public, each once."""
        return tuple(dict.fromkeys(name for name, _ in self.source.tables()))

    @property
    def aggregates(self) -> tuple[Aggregate, ...]:
        """The aggregates, in the order of SELECT."""
        return tuple(output.value for output in self.outputs if isinstance(output.value, Aggregate))

    def columns(self) -> frozenset[str]:
        """The declared columns whose codes are read (the unit is not one of them)."""
        arguments = [aggregate.argument for aggregate in self.aggregates if aggregate.argument is not None]
        filters = [] if self.where is None else [self.where]
        return frozenset().union(*(part.columns() for part in (*arguments, *filters, *self.keys)))

    def __str__(self) -> str:
        shown = [
            f"{self.keys[output.value] if isinstance(output.value, int) else output.value} AS {quoted(output.name)}"
            for output in self.outputs
        ]
        sql = f"SELECT {', '.join(shown)} FROM {self.source.clause(self.name)}"
        if self.where is not None:
            sql += f" WHERE {self.where}"
        if self.keys:
            sql += f" GROUP BY {', '.join(map(str, self.keys))}"
        if self.having:
            sql += f" HAVING {' AND '.join(map(str, self.having))}"
        if self.order:
            sql += f" ORDER BY {', '.join(map(str, self.order))}"
        return sql if self.limit is None else f"{sql} LIMIT {self.limit}"


def _apart(name: str, names: list[str]) -> None:
    """Refuse a column that is called like an end of another's interval: one would stand in the other's place."""
    taken = next((f"{name}_{end}" for end in ("low", "high") if f"{name}_{end}" in names), None)
    if taken is not None:
        raise ParameterError(
            f"need another name than {taken!r} in SELECT: the interval of {name!r} is called"
            f" {name + '_low'!r} and {name + '_high'!r}; rename either with AS"
        )
