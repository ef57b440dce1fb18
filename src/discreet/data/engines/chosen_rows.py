"""Which rows of a unit are kept, chosen by all of their codes before anything is computed of them.

An aggregation with `rows_first` keeps of each unit those `rows_per_unit` rows with the smallest keyed hashes of the
unit and of the positions of `columns`: the rows that `positions.py` keeps, on every engine.  The choice does not depend
on what is added up.  So several aggregations of the same columns, one round after another, are of the same rows, and a
row of theirs is one row in all of them.  Rows of a unit that agree in all positions are interchangeable.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from discreet.data.aggregation import Aggregation
from discreet.data.engines import hashing
from discreet.data.engines.dialect import Dialect, UnitKind
from discreet.data.engines.relations import UNIT, Rows

if TYPE_CHECKING:
    from discreet.data.domain import Domain


def chosen_rows(
    aggregation: Aggregation, *, domain: Domain, source: str | Rows, physical: Mapping[str, str], dialect: Dialect
) -> Rows:
    """The codes of the kept rows, under the names of their columns: nothing is left to be bounded."""
    quoted, layer = dialect.quoted, dialect.layer
    names = [quoted(name) for name in aggregation.columns]
    kind: UnitKind | None = None
    if isinstance(source, Rows):
        below, coded = layer(source.sql), list(names)
        if aggregation.unit is not None:
            kind = source.unit
            coded.append(quoted(UNIT))
    else:
        below = source
        coded = [
            f"{dialect.code(domain[name], name=name, physical=physical[name])} AS {quoted(name)}"
            for name in aggregation.columns
        ]
        if aggregation.unit is not None:
            made, kind = dialect.unit(aggregation.unit, physical=physical[aggregation.unit])
            coded.append(f"{made} AS {quoted(UNIT)}")
    needed = [f"{quoted(name)} IS NOT NULL" for name in aggregation.columns if not domain[name].nullable]
    needed += [] if kind is None else [f"{quoted(UNIT)} IS NOT NULL"]
    sql = f"SELECT {', '.join(coded)} FROM {below}"
    if needed:
        sql = f"SELECT * FROM {layer(sql)} WHERE {' AND '.join(needed)}"
    if kind is not None:
        sql = _bounded(aggregation, sql, kind, domain, dialect)
    return Rows(f"SELECT {', '.join(names)} FROM {layer(sql)}", None, frozenset())


def _bounded(aggregation: Aggregation, sql: str, kind: UnitKind, domain: Domain, dialect: Dialect) -> str:
    """Of each unit the first rows by hash."""
    quoted, layer = dialect.quoted, dialect.layer
    unit, places = quoted(UNIT), []
    for number, name in enumerate(aggregation.columns):
        low, high = domain[name].codes
        places.append(
            f"COALESCE(CAST({quoted(name)} AS BIGINT) - ({low}), {high - low + 1}) AS {quoted(f'(p{number})')}"
        )
    sql = f"SELECT *, {', '.join(places)} FROM {layer(sql)}"
    positions = [quoted(f"(p{number})") for number in range(len(places))]
    split = hashing.words_sql if kind == "BIGINT" else hashing.text_words_sql
    words = list(split(unit, dialect))
    for place in positions:
        words += hashing.words_sql(place, dialect)
    listed = [quoted(f"(w{number})") for number in range(len(words))]
    split_sql = ", ".join(f"{word} AS {name}" for word, name in zip(words, listed, strict=True))
    sql = f"SELECT *, {split_sql} FROM {layer(sql)}"
    sql = hashing.hashed_sql(sql, "(h)", hashing.start(aggregation.salt, hashing.ROWS), listed, dialect)
    order = ", ".join([quoted("(h)"), *positions])
    ranked = f"SELECT *, ROW_NUMBER() OVER (PARTITION BY {unit} ORDER BY {order}) AS {quoted('(r)')} FROM {layer(sql)}"
    return f"SELECT * FROM {layer(ranked)} WHERE {quoted('(r)')} <= {aggregation.rows_per_unit}"
