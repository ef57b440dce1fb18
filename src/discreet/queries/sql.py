"""SQL text to our own closed types.  Everything that is not allowed is refused, free of charge.

The text is parsed by sqlglot and rebuilt node by node; a node or clause without a case here
raises `UnsupportedError` with what to write instead.  Nothing of the analyst's text is ever sent
to an engine.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.data.domain import missing
from discreet.data.table import Table
from discreet.errors import DomainError, UnsupportedError
from discreet.queries.expression import Expression
from discreet.queries.from_clause import OUTER, Tables, allowed, group_items, source_of
from discreet.queries.query import Aggregate, Having, Order, Output, Query
from discreet.queries.scalar import ALLOWED, HEAVIEST, Scope, literal, rational, scalar
from discreet.queries.source import Named

if TYPE_CHECKING:
    from sqlglot import expressions as exp

LONGEST = 20_000  # characters
AGGREGATES = "COUNT, COUNT(DISTINCT unit), SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE, MIN or MAX"
SAID = {
    "alias", "big_int", "default", "desc", "expression", "expressions", "false", "from", "from_", "group", "having",
    "high", "ifs", "ignore_nulls", "is_string", "limit", "low", "order", "quoted", "table", "this", "to", "true",
    "where", "with_", "joins", "on", "side", "kind", "using", "min_value", "max_value", "num_buckets",
    "quantile",
}  # fmt: skip


def parse(sql: str, schema: Mapping[str, Table]) -> Query:
    """Read one SELECT over declared tables.

    >>> from discreet.data import Domain, Identifier, Integer
    >>> domain = Domain({"patient": Identifier(), "age": Integer(0, 119)})
    >>> visits = Table("visits.parquet", unit="patient", domain=domain)
    >>> print(parse("select count(*) from visits where age between 65 and 74", {"visits": visits}))
    SELECT COUNT(*) AS "count" FROM "visits" WHERE ((age >= 65) AND (age <= 74))
    """
    import sqlglot
    from sqlglot import expressions as exp
    from sqlglot.errors import SqlglotError

    logging.getLogger("sqlglot").setLevel(logging.ERROR)  # its warnings quote what the analyst asked
    if len(sql) > LONGEST:
        raise UnsupportedError(f"a question of at most {LONGEST} characters, got {len(sql)}")
    if any("\ud800" <= character <= "\udfff" for character in sql):
        raise UnsupportedError("a question in Unicode, without half a surrogate pair")
    try:
        statements = [s for s in sqlglot.parse(sql, dialect="duckdb") if s is not None]
    except (SqlglotError, RecursionError) as error:
        raise UnsupportedError(f"cannot read the SQL{_where(error)}") from None
    if len(statements) != 1 or type(statements[0]) is not exp.Select:
        kind = type(statements[0]).__name__ if statements else "nothing"
        raise UnsupportedError(f"only one SELECT statement can be asked, got {kind}")
    try:
        query = _select(statements[0], Tables.of(schema))
    except RecursionError:
        raise UnsupportedError("the expressions are nested too deeply") from None
    _nothing_ignored(statements[0])
    return query


def _nothing_ignored(statement: exp.Select) -> None:
    """Refuse modifiers that the rebuilding does not look at: SYMMETRIC, NULLS FIRST, WITH TIES and the like."""
    for node in statement.walk():
        for clause, value in node.args.items():
            if value and clause not in SAID:
                shown = clause.rstrip("_").replace("_", " ").upper()
                raise UnsupportedError(f"{shown} is not supported in {node.sql(dialect='duckdb')[:80]}")


def _where(error: Exception) -> str:
    """The place at which reading stopped, in the words of the question.

    >>> from sqlglot.errors import ParseError
    >>> _where(ParseError("no", [{"start_context": "SELECT COUNT(*) FRM ", "highlight": "visits", "line": 1}]))
    " at 'visits', after 'SELECT COUNT(*) FRM'"
    """
    first: dict[str, object] = next(iter(getattr(error, "errors", None) or ()), {})
    stopped, before = str(first.get("highlight") or ""), str(first.get("start_context") or "").strip()
    if not stopped:
        return f": {(str(error).splitlines() or [type(error).__name__])[0][:200]}"
    return f" at {stopped[:60]!r}" + (f", after {before[-60:]!r}" if before else "")


def _select(node: exp.Select, tables: Tables) -> Query:
    allowed(node, OUTER)
    source, alias = source_of(node, tables.inside(node))
    name = source.name if isinstance(source, Named) else alias
    if source.public:
        raise UnsupportedError("a question about public tables alone; ask their engine, it costs nothing")
    scope = Scope(source, alias)
    where = None if node.args.get("where") is None else scalar(node.args["where"].this, scope)
    aliases = {item.alias.lower(): item.this for item in node.expressions if item.alias}
    keys = _keys(node, scope, aliases)
    outputs = _outputs(node, scope, keys)
    read = [where, *keys, *(output.value.argument for output in outputs if isinstance(output.value, Aggregate))]
    if sum(scope.weigh(expression) for expression in read if expression is not None) > HEAVIEST:
        raise UnsupportedError(f"a question that compiles to more than {HEAVIEST:,} nodes; ask for less at once")
    return Query(
        source=source,
        name=name,
        outputs=outputs,
        where=where,
        keys=keys,
        having=_having(node, scope, outputs),
        order=_order(node, scope, outputs, keys),
        limit=_limit(node),
    )


def _keys(node: exp.Select, scope: Scope, aliases: dict[str, exp.Expr]) -> tuple[Expression, ...]:
    from sqlglot import expressions as exp

    keys = []
    for item in group_items(node):
        named = type(item) is exp.Column and not item.table and item.name.lower() in aliases
        keys.append(scalar(aliases[item.name.lower()] if named and not scope.knows(item.name) else item, scope))
    return tuple(keys)


def _outputs(node: exp.Select, scope: Scope, keys: tuple[Expression, ...]) -> tuple[Output, ...]:
    from sqlglot import expressions as exp

    outputs: list[Output] = []
    for item in node.expressions:
        inner = item.unalias()
        if type(inner) is exp.Star:
            raise UnsupportedError("SELECT * would return rows; name the aggregates you want")
        value = aggregate(inner, scope)
        if value is None:
            expression = scalar(inner, scope)
            if expression not in keys:
                raise UnsupportedError(f"{expression} is neither an aggregate nor in GROUP BY")
            value = keys.index(expression)
        outputs.append(Output(item.alias or _name(inner, value, outputs), value))
    return tuple(outputs)


def _name(node: exp.Expr, value: Aggregate | int, taken: list[Output]) -> str:
    """A name for an output without AS: the column's, or the function's with its column."""
    from sqlglot import expressions as exp

    columns = [column.name for column in node.find_all(exp.Column)]
    if isinstance(value, int):
        base = columns[0] if columns else "key"
    else:
        function = {Fraction(0): "min", Fraction(1, 2): "median", Fraction(1): "max"}.get(value.level, value.function)  # type: ignore[arg-type]
        base = "_".join([function, *columns]) if value.argument is not None else function
    names = {output.name for output in taken}
    return next(name for i in range(len(names) + 1) if (name := base if not i else f"{base}_{i + 1}") not in names)


def aggregate(node: exp.Expr, scope: Scope) -> Aggregate | None:
    """The aggregate a node stands for, or None if it is not one."""
    from sqlglot import expressions as exp

    functions = {
        exp.Sum: "sum", exp.Avg: "avg", exp.Variance: "variance", exp.Stddev: "stddev", exp.StddevSamp: "stddev",
    }  # fmt: skip
    if type(node) is exp.Paren:
        return aggregate(node.this, scope)
    if type(node) is exp.Count:
        if node.args.get("expressions"):
            raise UnsupportedError("COUNT takes one argument")
        if node.this is None or type(node.this) is exp.Star:
            return Aggregate("count")
        if type(node.this) is exp.Distinct:
            return _distinct(node.this, scope)
        return Aggregate("count", scalar(node.this, scope))
    if type(node) in functions:
        if type(node.this) is exp.Distinct:
            raise UnsupportedError(f"DISTINCT inside {functions[type(node)].upper()} is not supported")
        return Aggregate(functions[type(node)], scalar(node.this, scope))  # type: ignore[arg-type]
    if (found := _quantile(node, scope)) is not None:
        return found
    if isinstance(node, exp.AggFunc):
        raise UnsupportedError(f"{node.sql_name()} is not supported; use {AGGREGATES}")
    if type(node) is exp.Anonymous:  # of rows or of groups, nobody knows
        raise UnsupportedError(f"{node.name[:80]} is not supported; aggregates are {AGGREGATES}; of a row, {ALLOWED}")
    if node.find(exp.AggFunc):
        raise UnsupportedError("arithmetic on aggregates is not supported; ask for each and combine the answers")
    return None


def _distinct(node: exp.Distinct, scope: Scope) -> Aggregate:
    units = sorted(scope.source.units)
    if len(node.expressions) != 1 or not scope.is_unit(node.expressions[0]):
        wanted = f"the unit: COUNT(DISTINCT {units[0]})" if units else "the table's unit, and this table has none"
        raise UnsupportedError(f"COUNT(DISTINCT ...) counts {wanted}")
    return Aggregate("units", unit=scope.source.unit_sql)


def _quantile(node: exp.Expr, scope: Scope) -> Aggregate | None:
    """MEDIAN(x), QUANTILE(x, 0.9), PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x), MIN(x) and MAX(x)."""
    from sqlglot import expressions as exp

    if type(node) is exp.WithinGroup and type(node.this) in (exp.PercentileCont, exp.PercentileDisc):
        ordered = node.expression.expressions
        if len(ordered) != 1 or ordered[0].args.get("desc"):
            raise UnsupportedError("WITHIN GROUP needs ORDER BY one expression, ascending")
        argument, level = ordered[0].this, node.this.this
    elif type(node) in (exp.PercentileCont, exp.PercentileDisc):
        argument, level = node.this, node.expression
    elif type(node) in (exp.Quantile, exp.ApproxQuantile):
        argument, level = node.this, node.args.get("quantile")
    elif type(node) in (exp.Median, exp.Min, exp.Max) and not node.args.get("expressions"):
        fixed = {exp.Median: "0.5", exp.Min: "0", exp.Max: "1"}[type(node)]
        argument, level = node.this, exp.Literal.number(fixed)
    else:
        return None
    share = literal(level)
    if share is None or not 0 <= share <= 1:
        raise UnsupportedError("QUANTILE(x, q) needs a constant q between 0 and 1")
    return Aggregate("quantile", scalar(argument, scope), level=share)


def _having(node: exp.Select, scope: Scope, outputs: tuple[Output, ...]) -> tuple[Having, ...]:
    from sqlglot import expressions as exp

    if node.args.get("having") is None:
        return ()
    operators = {exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}
    conditions = []
    for term in _conjuncts(node.args["having"].this):
        constant = literal(term.expression) if type(term) in operators else None
        if constant is None:
            raise UnsupportedError("HAVING compares an output of SELECT with a number, joined by AND")
        conditions.append(Having(_output(term.this, scope, outputs, ()), operators[type(term)], constant))  # type: ignore[arg-type]
    return tuple(conditions)


def _conjuncts(node: exp.Expr) -> list[exp.Expr]:
    """The conditions that are joined by AND, however they are bracketed."""
    from sqlglot import expressions as exp

    inner = node.unnest()
    if type(inner) is not exp.And:
        return [inner]
    return [condition for term in inner.flatten() for condition in _conjuncts(term)]


def _output(node: exp.Expr, scope: Scope, outputs: tuple[Output, ...], keys: tuple[Expression, ...]) -> str:
    """The name of the output a node refers to: by alias, by position, or by saying it again."""
    from sqlglot import expressions as exp

    position = rational(node.name) if type(node) is exp.Literal and not node.is_string else None
    if position is not None and position.denominator == 1 and 1 <= position <= len(outputs):
        return outputs[int(position) - 1].name
    if type(node) is exp.Column and not node.table:
        named = [output.name for output in outputs if output.name.lower() == node.name.lower()]
        if named:
            return node.name if node.name in named else named[0]
    value = aggregate(node, scope)
    for output in outputs:
        if value is not None and output.value == value:
            return output.name
        if value is None and isinstance(output.value, int) and keys and keys[output.value] == scalar(node, scope):
            return output.name
    raise DomainError(missing(node.sql(dialect="duckdb"), [output.name for output in outputs], what="output"))


def _order(
    node: exp.Select, scope: Scope, outputs: tuple[Output, ...], keys: tuple[Expression, ...]
) -> tuple[Order, ...]:
    if node.args.get("order") is None:
        return ()
    return tuple(
        Order(_output(item.this, scope, outputs, keys), descending=bool(item.args.get("desc")))
        for item in node.args["order"].expressions
    )


def _limit(node: exp.Select) -> int | None:
    if node.args.get("limit") is None:
        return None
    count = literal(node.args["limit"].expression)
    if count is None or count.denominator != 1:
        raise UnsupportedError("LIMIT needs a whole number")
    return int(count)
