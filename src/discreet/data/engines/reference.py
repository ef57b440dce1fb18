"""An aggregation as one SQL statement: the definition of contribution bounding, slow and plain.

Rows flow through named layers.

    coded        the integer codes of the columns that are read, and the raw unit
    candidates   rows that pass WHERE, with group index g and contributions c0, c1, ...
    hashed       with the keyed hashes hg of (unit, group) and hr of (unit, group, contributions)
    chosen       rows whose group is among the unit's first `groups_per_unit` by (hg, g)
    kept         of these the unit's first `rows_per_unit` by (hr, g, c0, c1, ...)

A contribution is what the row would add to a measure: 0 or 1 for rows, the clamped value for
sums.  Rows of one unit that agree in group and contributions are interchangeable, so the result does
not depend on the order in which rows are read.  Theorem and proof: docs/theory/bounding.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from discreet.data.aggregation import Aggregation, IntegerSQL, Measure
from discreet.data.engines import hashing
from discreet.data.engines.chosen_rows import chosen_rows
from discreet.data.engines.dialect import DUCKDB, Dialect, UnitKind, unused_prefix
from discreet.data.engines.pruning import implied
from discreet.data.engines.relations import UNIT, Rows

if TYPE_CHECKING:
    from sqlglot import Expr

    from discreet.data.domain import Domain


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidates:
    """The SQL of the candidate rows: columns u (the unit, if any), g, the texts, and one c<i> for each of `summed`.

    A row with g = -1 is no candidate: it lacks its unit, a key or a column that is not nullable.
    """

    sql: str
    unit: UnitKind | None  # the type of u
    summed: tuple[int, ...]  # positions of the measures that have a contribution column
    texts: int = 0  # how many columns t<i> there are, for keys that nobody declared


def candidates(
    aggregation: Aggregation,
    *,
    domain: Domain,
    source: str | Rows,
    physical: Mapping[str, str],
    dialect: Dialect = DUCKDB,
) -> Candidates:
    """The candidate rows, in layers of which none computes an expression twice.

    `physical` gives the raw type of each column; `source` is a relation in the dialect's SQL, or rows coded already.
    """
    aggregation, source = _settled(aggregation, domain, source, physical, dialect)
    coded, kept = [], []
    names, kind = _fresh(domain, aggregation, dialect), None
    if isinstance(source, Rows):
        coded = [dialect.quoted(name) for name in aggregation.columns if name != aggregation.unit]
        if aggregation.unit is not None:
            kind = source.unit
            coded.append(f"{dialect.quoted(UNIT)} AS {names('u')}")
    for name in () if isinstance(source, Rows) else aggregation.columns:
        if name == aggregation.unit and not _reads(aggregation, name):
            continue
        coded.append(f"{dialect.code(domain[name], name=name, physical=physical[name])} AS {dialect.quoted(name)}")
        is_key = any(_is(key.code, name) for key in aggregation.keys)  # a NULL key drops its row anyway
        if not domain[name].nullable and not is_key:
            kept.append(f"{dialect.quoted(name)} IS NOT NULL")
    if aggregation.unit is not None and not isinstance(source, Rows):
        made, kind = dialect.unit(aggregation.unit, physical=physical[aggregation.unit])
        coded.append(f"{made} AS {names('u')}")
        kept.append(f"{names('u')} IS NOT NULL")
    values = [] if kind is None else [names("u")]
    for i, key in enumerate(aggregation.keys):
        values.append(f"{dialect.render(key.code)} AS {names(f'k{i}')}")
    summed = tuple(i for i, measure in enumerate(aggregation.measures) if _adds(measure))
    for i in summed:
        value = aggregation.measures[i].value
        assert value is not None
        values.append(f"{_rendered(value, dialect)} AS {names(f'v{i}')}")
    values += [f"{dialect.render(tree)} AS {names(f't{i}')}" for i, tree in enumerate(aggregation.texts)]
    values.append(f"{' AND '.join(kept) or 'true'} AS {names('kept')}")
    out = [] if kind is None else [f"{names('u')} AS u"]
    out.append(f"{_group(aggregation, names)} AS g")
    out += [f"{names(f't{i}')} AS t{i}" for i in range(len(aggregation.texts))]
    out += [f"{contribution(aggregation.measures[i], names(f'v{i}'), dialect)} AS c{i}" for i in summed]
    where = "" if aggregation.where is None else f" WHERE {dialect.render(aggregation.where)}"
    below = dialect.layer(source.sql) if isinstance(source, Rows) else source
    layers = f"SELECT {', '.join(coded) or '1 AS one'} FROM {below}"
    if pruned := implied(aggregation.where, domain=domain, physical=physical, dialect=dialect):
        layers = f"{layers} WHERE {' AND '.join(pruned)}"
    for carried in _carried(aggregation):
        made = [dialect.quoted(name) if tree is None else _named(name, tree, dialect) for name, tree in carried]
        layers = f"SELECT {', '.join(made) or '1 AS one'} FROM {dialect.layer(layers)}"
    layers = f"SELECT {', '.join(values)} FROM {dialect.layer(layers)}{where}"
    sql = f"SELECT {', '.join(out)} FROM {dialect.layer(layers)}"
    return Candidates(sql=sql, unit=kind, summed=summed, texts=len(aggregation.texts))


def _settled(
    aggregation: Aggregation, domain: Domain, source: str | Rows, physical: Mapping[str, str], dialect: Dialect
) -> tuple[Aggregation, str | Rows]:
    """Where rows are chosen first, those rows, and an aggregation that has no more to choose."""
    if not aggregation.rows_first:
        return aggregation, source
    made = chosen_rows(aggregation, domain=domain, source=source, physical=physical, dialect=dialect)
    return replace(aggregation, unit=None, rows_per_unit=1, groups_per_unit=1), made


def _carried(aggregation: Aggregation) -> list[list[tuple[str, Expr | IntegerSQL | None]]]:
    """The layers, each with what it computes and with the names that are still needed after it."""
    needed = _mentioned([measure.value for measure in aggregation.measures])
    made: list[list[tuple[str, Expr | IntegerSQL | None]]] = []
    for layer in reversed(aggregation.layers):
        made.append([*((name, None) for name in sorted(needed - set(layer))), *layer.items()])
        needed = (needed - set(layer)) | _mentioned(layer.values())
    return made[::-1]


def _mentioned(trees: Iterable[Expr | IntegerSQL | None]) -> set[str]:
    """The names in some expressions."""
    from sqlglot import expressions as exp

    found: set[str] = set()
    for tree in trees:
        if isinstance(tree, IntegerSQL):
            found |= tree.names
        elif tree is not None:
            found |= {column.name for column in tree.find_all(exp.Column)}
    return found


def _named(name: str, tree: Expr | IntegerSQL, dialect: Dialect) -> str:
    return f"{_rendered(tree, dialect)} AS {dialect.quoted(name)}"


def _rendered(tree: Expr | IntegerSQL, dialect: Dialect) -> str:
    return dialect.integers(tree.sql) if isinstance(tree, IntegerSQL) else dialect.render(tree)


def _group(aggregation: Aggregation, names: Callable[[str], str]) -> str:
    """The index of the group in C order, or -1 for a row that is dropped."""
    tests, index = [names("kept")], ""
    for i, key in enumerate(aggregation.keys):
        name = names(f"k{i}")
        tests.append(f"{name} BETWEEN 0 AND {key.size - 1}")
        index = f"({index}) * {key.size} + {name}" if index else name
    return f"CAST(CASE WHEN {' AND '.join(tests)} THEN {index or 0} ELSE -1 END AS INTEGER)"


def _reads(aggregation: Aggregation, name: str) -> bool:
    """Whether a column is read by an expression."""
    trees = [aggregation.where, *(key.code for key in aggregation.keys), *aggregation.texts]
    return name in _mentioned([*trees, *(measure.value for measure in aggregation.measures)])


def _is(tree: Expr, name: str) -> bool:
    """Whether an expression is just that column."""
    from sqlglot import expressions as exp

    return isinstance(tree, exp.Column) and tree.name == name


def _fresh(domain: Domain, aggregation: Aggregation, dialect: Dialect) -> Callable[[str], str]:
    """Names that no declared column has."""
    laid = (name for layer in aggregation.layers for name in layer)
    prefix = unused_prefix((*domain, *aggregation.columns, *laid))
    return lambda name: dialect.quoted(prefix + name)


def _adds(measure: Measure) -> bool:
    """Whether rows differ in what they add: not for COUNT(*) and the number of units."""
    return measure.kind == "sum" or (measure.kind == "rows" and measure.value is not None)


def contribution(measure: Measure, value: str, dialect: Dialect) -> str:
    """What a row adds to a measure: NULL counts as 0.  It is clamped to the bounds where it is used."""
    return dialect.truth(f"{value} IS NOT NULL") if measure.kind == "rows" else f"CAST({value} AS {width(measure)})"


def clamped(measure: Measure, value: str) -> str:
    """A contribution within its bounds."""
    low, high = limits(measure)
    return f"greatest({low}, least({high}, COALESCE({value}, 0)))"


def limits(measure: Measure) -> tuple[int, int]:
    """The bounds of a contribution: absent values add 0, whatever the bounds of the others."""
    return (0, 1) if measure.kind == "rows" else (min(measure.low, 0), max(measure.high, 0))


def width(measure: Measure) -> str:
    """INTEGER where the bounds and zero fit."""
    return "INTEGER" if max(-measure.low, measure.high + 1) <= 1 << 31 else "BIGINT"


def reference(aggregation: Aggregation, rows: Candidates, *, dialect: Dialect = DUCKDB) -> str:
    """The whole aggregation: (g, measures ...) for the groups that have a row."""
    outputs = []
    for i, measure in enumerate(aggregation.measures):
        if i in rows.summed:
            outputs.append(f"{dialect.total(f'c{i}')} AS m{i}")
        elif measure.kind == "units" and rows.unit is not None:
            outputs.append(f"COUNT(DISTINCT u) AS m{i}")
        else:
            outputs.append(f"COUNT(*) AS m{i}")
    groups = ["g", *(f"t{i}" for i in range(rows.texts))]
    columns = ([] if rows.unit is None else ["u"]) + groups
    columns += [f"{clamped(aggregation.measures[i], f'c{i}')} AS c{i}" for i in rows.summed]
    present = f"SELECT {', '.join(columns)} FROM {dialect.layer(rows.sql)} WHERE g >= 0"
    kept = present if rows.unit is None else kept_rows(aggregation, rows, present, dialect)
    return f"SELECT {', '.join([*groups, *outputs])} FROM {dialect.layer(kept)} GROUP BY {', '.join(groups)}"


def kept_rows(aggregation: Aggregation, rows: Candidates, layers: str, dialect: Dialect) -> str:
    """The rows that remain after bounding."""
    assert rows.unit is not None
    split = hashing.unit_words_sql("u", rows.unit, dialect)
    layers = _layer(layers, dialect, **dict(zip(("w0", "w1"), split, strict=True)))
    texts, names = [f"t{i}" for i in range(rows.texts)], ["g"]
    for text in texts:  # a missing text is told from an empty one
        first, second = hashing.text_words_sql(f"COALESCE({text}, '')", dialect)
        missing = f"CASE WHEN {text} IS NULL THEN 1 ELSE 0 END"
        layers = _layer(layers, dialect, **{f"n{text}": missing, f"x{text}": first, f"y{text}": second})
        names += [f"n{text}", f"x{text}", f"y{text}"]
    few = not texts and aggregation.cells <= aggregation.groups_per_unit  # no unit can be in too many groups
    for name, purpose in (("hr", hashing.ROWS),) if few else (("hg", hashing.GROUPS), ("hr", hashing.ROWS)):
        words = ["w0", "w1", *names]
        if name == "hr":
            words += [word for i in rows.summed for word in hashing.words_sql(f"CAST(c{i} AS BIGINT)", dialect)]
        layers = hashing.hashed_sql(layers, name, hashing.start(aggregation.salt, purpose), words, dialect)
    group = ", ".join(["g", *(item for text in texts for item in (f"n{text}", text))])
    order = ", ".join(["hr", group, *(f"c{i}" for i in rows.summed)])
    layer = dialect.layer
    if not few:
        ranked = f"SELECT *, DENSE_RANK() OVER (PARTITION BY u ORDER BY hg, {group}) AS rg FROM {layer(layers)}"
        layers = f"SELECT * FROM {layer(ranked)} WHERE rg <= {aggregation.groups_per_unit}"
    ordered = f"SELECT *, ROW_NUMBER() OVER (PARTITION BY u ORDER BY {order}) AS rr FROM {layer(layers)}"
    return f"SELECT * FROM {layer(ordered)} WHERE rr <= {aggregation.rows_per_unit}"


def _layer(sql: str, dialect: Dialect, **columns: str) -> str:
    made = ", ".join(f"{expression} AS {name}" for name, expression in columns.items())
    return f"SELECT *, {made} FROM {dialect.layer(sql)}"
