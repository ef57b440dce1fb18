"""A relation (`discreet.data.relation`) as SQL: its coded columns by name, and its unit as `(u)`.

Every node is one SELECT over the layers below it.  Names in parentheses are ours: no declared column has one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from discreet.data.columns import Identifier, Text
from discreet.data.engines import hashing
from discreet.data.engines.dialect import Dialect, UnitKind
from discreet.data.relation import Bound, Derive, Join, PerUnit, Relation, Scan, Union, Value
from discreet.data.table import Table
from discreet.errors import SourceError

UNIT = "(u)"
Place = Callable[[Table], tuple[str, Mapping[str, str]]]  # where a table is: SQL to read from, and its physical types


@dataclass(frozen=True, slots=True)
class Rows:
    """The SQL of a relation; `unit` is the type of its unit, None where rows have none."""

    sql: str
    unit: UnitKind | None
    texts: frozenset[str]  # the columns that are texts
    naming: str = ""  # units of two tables are one person where they are equal only if this is the same


def needs(relation: Relation) -> dict[Table, set[str]]:
    """The tables a relation reads, each with the columns that must be there."""
    found: dict[Table, set[str]] = {}
    for scan in relation.scans():
        unit = () if scan.table.unit is None else (scan.table.unit,)
        found.setdefault(scan.table, set()).update(scan.names, unit)
    return found


def rows(relation: Relation, place: Place, dialect: Dialect) -> Rows:
    """The SQL of a relation whose tables are where `place` says."""
    match relation:
        case Scan():
            return _scan(relation, place, dialect)
        case Derive():
            return _derive(relation, rows(relation.source, place, dialect), dialect)
        case PerUnit():
            return _per_unit(relation, rows(relation.source, place, dialect), dialect)
        case Bound():
            return _bound(relation, rows(relation.source, place, dialect), dialect)
        case Join():
            left, right = (rows(side, place, dialect) for side in relation.sources)
            return _join(relation, left, right, dialect)
        case Union():
            return _union(relation, [rows(part, place, dialect) for part in relation.parts])
        case _:
            raise TypeError(type(relation).__name__)


def _carried(found: Rows, dialect: Dialect) -> list[str]:
    """The unit, where there is one."""
    return [] if found.unit is None else [dialect.quoted(UNIT)]


def _scan(scan: Scan, place: Place, dialect: Dialect) -> Rows:
    """Codes first; then rows without a unit or without a value that may not be missing are left out."""
    source, physical = place(scan.table)
    table, made, needed, texts = scan.table, [], [], set()
    for name in scan.names:
        column = table.domain[name]
        if isinstance(column, (Text, Identifier)):
            texts.add(name)
        made.append(f"{dialect.code(column, name=name, physical=physical[name])} AS {dialect.quoted(name)}")
        if not column.nullable:
            needed.append(f"{dialect.quoted(name)} IS NOT NULL")
    kind, naming = None, ""
    if table.unit is not None:
        unit, kind = dialect.unit(table.unit, physical=physical[table.unit])
        naming = naming_of(kind, physical[table.unit])
        made.append(f"{unit} AS {dialect.quoted(UNIT)}")
        needed.append(f"{dialect.quoted(UNIT)} IS NOT NULL")
    sql = f"SELECT {', '.join(made) or _nothing(dialect)} FROM {source}"
    if needed:
        sql = f"SELECT * FROM {dialect.layer(sql)} WHERE {' AND '.join(needed)}"
    return Rows(sql, kind, frozenset(texts), naming)


def naming_of(kind: UnitKind, physical: str) -> str:
    """How a type writes its values: 7 is another text as a float, and another integer where there is no sign."""
    name = physical.upper()
    if kind == "BIGINT":
        return "UBIGINT" if name == "UBIGINT" else "INTEGER"
    texts = name.startswith("ENUM") or any(word in name for word in ("CHAR", "TEXT", "STRING"))
    return "TEXT" if texts else name


def _nothing(dialect: Dialect) -> str:
    """A SELECT needs a column even where only the number of rows matters."""
    return f"1 AS {dialect.quoted('(one)')}"


def _derive(node: Derive, found: Rows, dialect: Dialect) -> Rows:
    from sqlglot import expressions as exp

    made = _carried(found, dialect)
    made += [f"{dialect.render(tree)} AS {dialect.quoted(name)}" for name, tree in node.made]
    where = "" if node.where is None else f" WHERE {dialect.render(node.where)}"
    texts = {name for name, tree in node.made if isinstance(tree, exp.Column) and tree.name in found.texts}
    sql = f"SELECT {', '.join(made) or _nothing(dialect)} FROM {dialect.layer(found.sql)}{where}"
    return Rows(sql, found.unit, frozenset(texts), found.naming)


def _per_unit(node: PerUnit, found: Rows, dialect: Dialect) -> Rows:
    """GROUP BY the unit and the keys; then every value is clamped."""
    keys = [*_carried(found, dialect), *map(dialect.quoted, node.keys)]
    made, clamped = list(keys), list(keys)
    for name, value in node.values:
        shown = dialect.quoted(name)
        made.append(f"{_value(value, dialect)} AS {shown}")
        clamped.append(f"CAST({_between(shown, value)} AS BIGINT) AS {shown}")
    grouped = f"SELECT {', '.join(made)} FROM {dialect.layer(found.sql)} GROUP BY {', '.join(keys)}"
    sql = f"SELECT {', '.join(clamped)} FROM {dialect.layer(grouped)}"
    return Rows(sql, found.unit, found.texts & frozenset(node.keys), found.naming)


def _value(value: Value, dialect: Dialect) -> str:
    column = "" if value.column is None else dialect.quoted(value.column)
    match value.kind:
        case "rows":
            return f"COUNT({column or '*'})"
        case "sum":
            return dialect.total(column)
        case "least":
            return f"MIN({column})"
        case "greatest":
            return f"MAX({column})"
        case "mean":
            shifted = dialect.total(f"({column} - ({value.low}))")
            return f"{dialect.quotient(shifted, f'NULLIF(COUNT({column}), 0)')} + ({value.low})"


def _between(value: str, bounds: Value) -> str:
    """Clamped; NULL stays NULL."""
    low, high = bounds.low, bounds.high
    return f"CASE WHEN {value} < {low} THEN {low} WHEN {value} > {high} THEN {high} ELSE {value} END"


def _bound(node: Bound, found: Rows, dialect: Dialect) -> Rows:
    """The first rows of each unit in the order of the keyed hash of their contents, NULLs told apart."""
    unit = dialect.quoted(UNIT)
    assert found.unit is not None
    words, order = list(hashing.unit_words_sql(unit, found.unit, dialect)), []
    for name in node.columns:
        column = dialect.quoted(name)
        missing = f"CASE WHEN {column} IS NULL THEN 1 ELSE 0 END"
        if name in found.texts:
            words += [missing, *hashing.text_words_sql(f"COALESCE({column}, '')", dialect)]
            order += [missing, column]
        else:
            words += [missing, *hashing.words_sql(f"COALESCE({column}, 0)", dialect)]
            order += [missing, f"COALESCE({column}, 0)"]
    names = [dialect.quoted(f"(w{i})") for i in range(len(words))]
    made = ", ".join(f"{word} AS {name}" for word, name in zip(words, names, strict=True))
    sql = f"SELECT *, {made} FROM {dialect.layer(found.sql)}"
    start = hashing.start(node.salt, hashing.JOINED)
    sql = hashing.hashed_sql(sql, "(h)", start, names, dialect)
    rank = dialect.quoted("(rank)")
    over = f"ROW_NUMBER() OVER (PARTITION BY {unit} ORDER BY {', '.join([dialect.quoted('(h)'), *order])})"
    sql = f"SELECT *, {over} AS {rank} FROM {dialect.layer(sql)}"
    kept = ", ".join([unit, *map(dialect.quoted, node.columns)])
    kept = f"SELECT {kept} FROM {dialect.layer(sql)} WHERE {rank} <= {node.rows}"
    return Rows(kept, found.unit, found.texts, found.naming)


def _join(node: Join, left: Rows, right: Rows, dialect: Dialect) -> Rows:
    """Columns are told apart by their side; a unit of the right is equal to that of the left, or missing."""
    if right.unit is not None:
        _one_naming([left, right])
    made = [f"l.{name}" for name in _carried(left, dialect)]
    columns = [("l", name) for name in node.left.columns] + [("r", name) for name in node.right.columns]
    texts = set()
    for (side, name), new in zip(columns, node.names, strict=True):
        made.append(f"{side}.{dialect.quoted(name)} AS {dialect.quoted(new)}")
        if name in (left if side == "l" else right).texts:
            texts.add(new)
    on = [f"l.{dialect.quoted(first)} = r.{dialect.quoted(second)}" for first, second in node.on]
    if right.unit is not None:
        on.insert(0, f"l.{dialect.quoted(UNIT)} = r.{dialect.quoted(UNIT)}")
    word = "LEFT JOIN" if node.outer else "JOIN"
    sides = f"({left.sql}) AS l {word} ({right.sql}) AS r"
    sql = f"SELECT {', '.join(made)} FROM {sides} ON {' AND '.join(on)}"
    return Rows(sql, left.unit, frozenset(texts), left.naming)


def _union(node: Union, parts: list[Rows]) -> Rows:
    _one_naming(parts)
    return Rows(" UNION ALL ".join(part.sql for part in parts), parts[0].unit, parts[0].texts, parts[0].naming)


def _one_naming(parts: list[Rows]) -> None:
    """One person must have one name in all tables, or it would count as several."""
    found = sorted({part.naming for part in parts})
    if len(found) > 1:
        raise SourceError(
            f"the unit columns of joined and united tables must be all integers, all texts or of one type, got {found}"
        )
