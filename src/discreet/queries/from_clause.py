"""FROM, JOIN, WITH and sub-queries, rebuilt from an allow-list of unit-local operators.

What is private stays owned by its unit: private tables are joined on the unit, aggregates in a sub-query are of
one unit's rows, and a union is of tables about the same units.  The rest is refused, with what to write instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from discreet.data.domain import missing
from discreet.data.table import Table
from discreet.errors import DomainError, UnsupportedError
from discreet.queries.expression import Expression, Ref
from discreet.queries.joined import Joined
from discreet.queries.per_unit import Grouped, Kind, OfUnit
from discreet.queries.scalar import Scope, rational, scalar
from discreet.queries.source import Named, Selected, Source
from discreet.queries.stacked import Stacked

if TYPE_CHECKING:
    from sqlglot import expressions as exp

DEEPEST = 8  # sub-queries inside one another
MOST_TABLES = 8
INNER = {"expressions", "from_", "from", "joins", "where", "group", "with_", "kind"}
OUTER = INNER | {"having", "order", "limit"}
INSTEAD = {
    "distinct": "SELECT DISTINCT would list rows; GROUP BY the columns and COUNT(*)",
    "windows": "window functions are not supported; GROUP BY instead",
    "qualify": "QUALIFY is not supported; use HAVING",
    "offset": "OFFSET is not supported; use LIMIT",
    "sample": "sampling is not supported",
    "having": "HAVING is not supported in a sub-query; use WHERE in the SELECT around it",
    "order": "ORDER BY is not supported in a sub-query: rows have no order",
    "limit": "LIMIT is not supported in a sub-query: which rows it keeps would depend on other people's",
    "laterals": "LATERAL is not supported",
}


class Tables:
    """The names that may stand after FROM: declared tables, and what WITH has named so far."""

    def __init__(self, declared: Mapping[str, Source], *, depth: int = 0) -> None:
        self._known = dict(declared)
        self._depth = depth

    @classmethod
    def of(cls, schema: Mapping[str, Table]) -> Tables:
        """The declared tables."""
        return cls({name: Named(name, table) for name, table in schema.items()})

    def named(self, name: str) -> tuple[str, Source]:
        """The source of this name, in any case."""
        for known, source in self._known.items():
            if known.lower() == name.lower():
                return known, source
        raise DomainError(missing(name, list(self._known), what="table"))

    def inside(self, node: exp.Query) -> Tables:
        """The names known inside a query: those of its WITH come first."""
        from sqlglot import expressions as exp

        if self._depth >= DEEPEST:
            raise UnsupportedError(f"sub-queries nested more than {DEEPEST} deep")
        found = Tables(self._known, depth=self._depth + (type(node) is exp.Select))
        clause = node.args.get("with_") or node.args.get("with")
        if clause is None:
            return found
        if clause.args.get("recursive"):
            raise UnsupportedError("WITH RECURSIVE is not supported")
        for item in clause.expressions:
            if not item.alias or item.args["alias"].args.get("columns"):
                raise UnsupportedError("WITH needs plain names: WITH t AS (SELECT ...)")
            source = subquery(item.this, found)
            found._known = {name: old for name, old in found._known.items() if name.lower() != item.alias.lower()}
            found._known[item.alias] = source
        return found


def allowed(node: exp.Select, clauses: set[str]) -> None:
    """Refuse clauses that are not rebuilt."""
    for clause, value in node.args.items():
        if value and clause not in clauses:
            name = clause.rstrip("_").upper()
            raise UnsupportedError(
                INSTEAD.get(clause, f"{name} is not supported; allowed are WITH, SELECT, FROM, JOIN, WHERE,"
                            " GROUP BY, HAVING, ORDER BY and LIMIT")
            )  # fmt: skip


def source_of(node: exp.Select, tables: Tables) -> tuple[Source, str]:
    """What a SELECT reads, and the name it goes by."""
    clause = node.args.get("from_") or node.args.get("from")
    if clause is None:
        raise UnsupportedError(f"FROM needs a declared table: {', '.join(tables._known)}")
    name, source = _item(clause.this, tables)
    joins = [*(clause.this.args.get("joins") or []), *(node.args.get("joins") or [])]
    for join in joins:
        name, source = "", _join((name, source), join, tables)
    if len(list(source.tables())) > MOST_TABLES:
        raise UnsupportedError(f"a question about at most {MOST_TABLES} tables")
    if source.depth >= DEEPEST:  # what WITH has named is deeper than it is written
        raise UnsupportedError(f"sub-queries nested more than {DEEPEST} deep")
    return source, name


def _item(node: exp.Expr, tables: Tables) -> tuple[str, Source]:
    """One table or sub-query after FROM or JOIN, with its name."""
    from sqlglot import expressions as exp

    if type(node) is exp.Subquery and type(node.this) in (exp.Select, exp.Union):
        extra = [key for key, value in node.args.items() if value and key not in ("this", "alias", "joins")]
        if extra or (node.args.get("alias") and node.args["alias"].args.get("columns")):
            raise UnsupportedError("FROM needs a plain sub-query: FROM (SELECT ...) AS t")
        return _plain(node.alias or "t"), subquery(node.this, tables)
    if type(node) is not exp.Table or type(node.this) is not exp.Identifier:
        raise UnsupportedError(f"FROM needs declared tables or sub-queries: {', '.join(tables._known)}")
    extra = [key for key, value in node.args.items() if value and key not in ("this", "alias", "joins")]
    if extra or (node.args.get("alias") and node.args["alias"].args.get("columns")):
        raise UnsupportedError(f"FROM needs a plain table name, got {node.sql(dialect='duckdb')}")
    name, source = tables.named(node.name)
    return _plain(node.alias) if node.alias else name, source


def _plain(name: str) -> str:
    if "." in name or "(" in name:  # a dot tells tables from columns, and names in parentheses are ours
        raise UnsupportedError(f"a name without dots and parentheses, got {name!r}")
    return name


def _join(left: tuple[str, Source], node: exp.Join, tables: Tables) -> Joined:
    from sqlglot import expressions as exp

    side, kind = (node.args.get("side") or "").upper(), (node.args.get("kind") or "").upper()
    if side not in ("", "LEFT") or kind not in ("", "INNER", "OUTER") or node.args.get("method"):
        raise UnsupportedError("only JOIN and LEFT JOIN are supported: put the private table on the left")
    if node.this.args.get("joins"):
        raise UnsupportedError("a join inside a join; write one after the other: FROM a JOIN b ON ... JOIN c ON ...")
    right = _item(node.this, tables)
    for name, source in (left, right):
        if not isinstance(source, Joined):
            _plain(name)
    taken = {name.partition(".")[0] for name in left[1].columns} if isinstance(left[1], Joined) else {left[0]}
    if right[0].lower() in map(str.lower, taken):
        raise UnsupportedError(
            f"two tables are called {right[0]}; name one of them otherwise: JOIN {right[0]} AS other"
        )
    if left[1].public or left[1].owner is None:
        raise UnsupportedError("a join needs a private table with a unit on the left")
    scopes = [Scope(source, name, side=True) for name, source in (left, right)]
    pairs = []
    if node.args.get("using"):
        for item in node.args["using"]:
            column = exp.column(item.name, quoted=True)
            pairs.append((column, column))
    elif node.args.get("on") is not None:
        for term in (
            node.args["on"].unnest().flatten() if type(node.args["on"].unnest()) is exp.And else [node.args["on"]]
        ):
            equality = term.unnest()
            columns = [equality.this.unnest(), equality.expression.unnest()] if type(equality) is exp.EQ else []
            if [type(column) for column in columns] != [exp.Column, exp.Column]:
                raise UnsupportedError("ON needs columns that are equal, joined by AND; put other conditions in WHERE")
            if not (scopes[0].found(columns[0]) and scopes[1].found(columns[1])):
                columns.reverse()
            pairs.append((columns[0], columns[1]))
    if not pairs:
        raise UnsupportedError("a join needs ON with columns that are equal, or USING")
    on, of_unit = [], False
    for first, second in pairs:
        units = scopes[0].is_unit(first), scopes[1].is_unit(second)
        if all(units):
            of_unit = True
        else:
            on.append((scopes[0].column(first), scopes[1].column(second)))
    if not right[1].public:
        if right[1].owner != left[1].owner:
            raise UnsupportedError("private tables are joined only if they have the same unit column: the same people")
        if not of_unit:
            unit = left[1].owner
            raise UnsupportedError(
                f"private tables are joined on the unit: ON {left[0]}.{unit} = {right[0]}.{unit} ..."
            )
    return Joined(left[1], right[1], (left[0], right[0]), tuple(on), outer=side == "LEFT")


def subquery(node: exp.Expr, tables: Tables) -> Source:
    """A SELECT or UNION ALL inside a question."""
    from sqlglot import expressions as exp

    if type(node) is exp.Subquery and not node.alias:
        return subquery(node.this, tables)
    if type(node) is exp.Union:
        if node.args.get("distinct"):
            raise UnsupportedError("UNION drops equal rows of different people; use UNION ALL")
        extra = [key for key, value in node.args.items() if value and key not in ("this", "expression", "with_")]
        if extra:
            raise UnsupportedError(f"{extra[0].rstrip('_').upper()} is not supported with UNION ALL")
        inside = tables.inside(node)
        sides = [subquery(node.this, inside), subquery(node.expression, inside)]
        parts = tuple(part for side in sides for part in (side.parts if isinstance(side, Stacked) else [side]))
        if len(parts) > MOST_TABLES:
            raise UnsupportedError(f"a question about at most {MOST_TABLES} tables")
        return Stacked(parts)
    if type(node) is not exp.Select:
        raise UnsupportedError("a sub-query is a SELECT or a UNION ALL of them")
    allowed(node, INNER)
    inside = tables.inside(node)
    source, name = source_of(node, inside)
    if source.public:
        raise UnsupportedError("a sub-query of public tables alone; join them in the SELECT around it")
    scope = Scope(source, name)
    where = None if node.args.get("where") is None else scalar(node.args["where"].this, scope)
    group = node.args.get("group")
    if group is None and not any(item.find(exp.AggFunc) for item in node.expressions):
        return Selected(source, name, where, _columns(node, scope))
    return _grouped(node, scope, where)


def _columns(node: exp.Select, scope: Scope) -> tuple[tuple[str, Expression | None], ...]:
    from sqlglot import expressions as exp

    made: list[tuple[str, Expression | None]] = []
    for item in node.expressions:
        inner = item.unalias()
        if type(inner) is exp.Star:
            if isinstance(scope.source, Joined):
                raise UnsupportedError("SELECT * of a join is not supported; name the columns")
            source = scope.source
            for name in source.columns:
                _once(name, made)
                made.append((name, None if name in source.units else Ref(name, source.columns[name])))
            continue
        value = None if scope.is_unit(inner) else scalar(inner, scope)
        made.append((_called(item, made), value))
    return tuple(made)


def _called(item: exp.Expr, made: list) -> str:
    """The name of a column of a sub-query."""
    from sqlglot import expressions as exp

    inner = item.unalias()
    name = item.alias or (inner.name if type(inner) is exp.Column else "")
    if not name and isinstance(inner, exp.AggFunc):
        name = inner.sql_name().lower()
    if not name:
        raise UnsupportedError(f"name the column: {inner.sql(dialect='duckdb')[:60]} AS name")
    _once(name, made)
    return _plain(name)


def _once(name: str, made: list) -> None:
    if name.lower() in [known.lower() for known, _ in made]:
        raise UnsupportedError(f"two columns of a sub-query are called {name}")


def group_items(node: exp.Select) -> list[exp.Expr]:
    """What a SELECT groups by; a number stands for the column of SELECT at that place."""
    from sqlglot import expressions as exp

    group = node.args.get("group")
    if group is None:
        return []
    if any(value for clause, value in group.args.items() if clause != "expressions"):
        raise UnsupportedError(
            "GROUP BY needs a list of columns or expressions (no ALL, ROLLUP, CUBE or GROUPING SETS)"
        )
    items = []
    for item in group.expressions:
        if type(item) is exp.Literal and not item.is_string:
            position = rational(item.name)
            if position.denominator != 1 or not 1 <= position <= len(node.expressions):
                raise UnsupportedError(f"GROUP BY {position}: there are {len(node.expressions)} columns in SELECT")
            items.append(node.expressions[int(position) - 1].unalias())
        else:
            items.append(item)
    return items


def _grouped(node: exp.Select, scope: Scope, where: Expression | None) -> Grouped:
    """Aggregates of one unit's rows."""
    keys, by_unit = [], False
    for item in group_items(node):
        if scope.is_unit(item):
            by_unit = True
        else:
            keys.append(scalar(item, scope))
    if not by_unit:
        unit = scope.source.owner or "the unit, and this table has none"
        raise UnsupportedError(f"aggregates in a sub-query are of one unit's rows: GROUP BY {unit}")
    made: list[tuple[str, OfUnit | int | None]] = []
    for item in node.expressions:
        inner = item.unalias()
        if scope.is_unit(inner):
            value = None
        else:
            value = _of_unit(inner, scope)
            if value is None:
                expression = scalar(inner, scope)
                if expression not in keys:
                    raise UnsupportedError(f"{expression} is neither an aggregate nor in GROUP BY")
                value = keys.index(expression)
        made.append((_called(item, made), value))
    return Grouped(scope.source, scope.name, where, tuple(keys), tuple(made))


def _of_unit(node: exp.Expr, scope: Scope) -> OfUnit | None:
    from sqlglot import expressions as exp

    functions: dict[type, Kind] = {exp.Sum: "sum", exp.Min: "min", exp.Max: "max", exp.Avg: "avg"}
    rows = scope.source.rows
    if type(node) is exp.Count:
        if node.args.get("expressions") or type(node.this) is exp.Distinct:
            raise UnsupportedError("COUNT in a sub-query is COUNT(*) or COUNT(column)")
        counted = None if node.this is None or type(node.this) is exp.Star else node.this
        return OfUnit("count", None if counted is None else scalar(counted, scope), rows)
    if type(node) in functions and not node.args.get("expressions") and type(node.this) is not exp.Distinct:
        made = OfUnit(functions[type(node)], scalar(node.this, scope), rows)
        made.type  # noqa: B018 - refuses what is not a number
        return made
    if node.find(exp.AggFunc):
        raise UnsupportedError("a sub-query knows COUNT, SUM, MIN, MAX and AVG of one unit; compute with them outside")
    return None
