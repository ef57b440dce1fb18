"""Which rows of a unit are kept, chosen by all of their codes before anything is computed of them.

An aggregation with `rows_first` keeps of each unit those `rows_per_unit` rows with the smallest keyed hashes of the
unit and of the positions of `columns`: the rows that `positions.py` keeps, on every engine.  The choice does not depend
on what is added up.  So several aggregations of the same columns, one round after another, are of the same rows, and a
row of theirs is one row in all of them.  Rows of a unit that agree in all positions are interchangeable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from discreet.data.aggregation import Aggregation
from discreet.data.engines import hashing
from discreet.data.engines.dialect import Dialect, UnitKind, unused_prefix
from discreet.data.engines.relations import UNIT, Rows

if TYPE_CHECKING:
    from discreet.data.domain import Domain


def chosen_rows(
    aggregation: Aggregation, *, domain: Domain, source: str | Rows, physical: Mapping[str, str], dialect: Dialect
) -> Rows:
    """The codes of the kept rows, under the names of their columns: nothing is left to be bounded."""
    layer, ours = dialect.layer, _fresh(aggregation, dialect)
    names = [dialect.quoted(name) for name in aggregation.columns]
    codes = [ours(f"c{number}") for number in range(len(names))]
    kind: UnitKind | None = None
    if isinstance(source, Rows):
        below, made = layer(source.sql), list(names)
        unit, kind = dialect.quoted(UNIT), source.unit if aggregation.unit is not None else None
    else:
        below, unit = source, ""
        made = [dialect.code(domain[name], name=name, physical=physical[name]) for name in aggregation.columns]
        if aggregation.unit is not None:
            unit, kind = dialect.unit(aggregation.unit, physical=physical[aggregation.unit])
    coded = [f"{code} AS {place}" for code, place in zip(made, codes, strict=True)]
    needed = [f"{code} IS NOT NULL" for code, name in zip(codes, aggregation.columns, strict=True)
              if not domain[name].nullable]  # fmt: skip
    if kind is not None:
        coded.append(f"{unit} AS {ours('u')}")
        needed.append(f"{ours('u')} IS NOT NULL")
    sql = f"SELECT {', '.join(coded)} FROM {below}"
    if needed:
        sql = f"SELECT * FROM {layer(sql)} WHERE {' AND '.join(needed)}"
    if kind is not None:
        sql = _bounded(aggregation, sql, kind, domain, dialect, ours)
    back = [f"{code} AS {name}" for code, name in zip(codes, names, strict=True)]
    return Rows(f"SELECT {', '.join(back)} FROM {layer(sql)}", None, frozenset())


def _fresh(aggregation: Aggregation, dialect: Dialect) -> Callable[[str], str]:
    """Names of our own: no declared column meets them, because columns have other names until the last SELECT."""
    prefix = unused_prefix(aggregation.columns)
    return lambda name: dialect.quoted(f"{prefix}{name}")


def _bounded(
    aggregation: Aggregation, sql: str, kind: UnitKind, domain: Domain, dialect: Dialect, ours: Callable[[str], str]
) -> str:
    """Of each unit the first rows by hash."""
    layer, unit, places = dialect.layer, ours("u"), []
    for number, name in enumerate(aggregation.columns):
        low, high = domain[name].codes
        value = f"CAST({ours(f'c{number}')} AS BIGINT) - ({low})"
        places.append(f"COALESCE({value}, {high - low + 1}) AS {ours(f'p{number}')}")
    sql = f"SELECT *, {', '.join(places)} FROM {layer(sql)}"
    positions = [ours(f"p{number}") for number in range(len(places))]
    words = list(hashing.unit_words_sql(unit, kind, dialect))
    for place in positions:
        words += hashing.words_sql(place, dialect)
    listed = [ours(f"w{number}") for number in range(len(words))]
    split_sql = ", ".join(f"{word} AS {name}" for word, name in zip(words, listed, strict=True))
    sql = f"SELECT *, {split_sql} FROM {layer(sql)}"
    state = ours("h")
    sql = hashing.hashed_sql(sql, state[1:-1], hashing.start(aggregation.salt, hashing.ROWS), listed, dialect)
    order = ", ".join([state, *positions])
    ranked = f"SELECT *, ROW_NUMBER() OVER (PARTITION BY {unit} ORDER BY {order}) AS {ours('r')} FROM {layer(sql)}"
    return f"SELECT * FROM {layer(ranked)} WHERE {ours('r')} <= {aggregation.rows_per_unit}"
