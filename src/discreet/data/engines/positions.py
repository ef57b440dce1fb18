"""The positions of all values of a frame or file, row by row, by the SQL that encodes them everywhere else.

Where a unit is named, at most `rows_per_unit` of its rows are kept: those with the smallest keyed hashes of unit and
positions.  What is kept of a unit is a function of its own rows alone, and rows that agree in all positions are
interchangeable, so that adding or removing a unit changes at most so many rows and no others.

Rows come in the order of their numbers (`row_numbers.py`), whatever engine, source, chunks and threads there are: what
is computed of them may be paired with the rows by place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from discreet.data.domain import Domain
from discreet.data.engines import hashing, row_numbers, sources
from discreet.data.engines.codes import code
from discreet.data.engines.dialect import DUCKDB, UnitKind
from discreet.data.engines.duckdb import DuckDB, checked
from discreet.data.engines.mending import fetched, read_again
from discreet.data.engines.results import no_column, reached
from discreet.data.text_file import declared

if TYPE_CHECKING:
    import duckdb
    import numpy as np
    import numpy.typing as npt


def positions(
    frame: object,
    domain: Domain,
    *,
    unit: str | None = None,
    rows_per_unit: int = 1,
    salt: int = 0,
    every_row: bool = False,
    engine: DuckDB | None = None,
) -> list[npt.NDArray[np.int64]]:
    """One array per column; rows with a NULL where none is declared, or without their unit, are dropped.

    With `every_row` such a NULL is read as the first value instead.

    >>> import pandas as pd
    >>> from discreet.data.columns import Integer
    >>> [column.tolist() for column in positions(pd.DataFrame({"age": [3, 99, None]}), Domain({"age": Integer(1, 9)}))]
    [[2, 8]]
    """
    import numpy as np

    frame = declared(frame, tuple(domain) if unit is None else (*domain, unit))
    sources.seal([frame])

    def read(wanted: Sequence[object]) -> Mapping[str, npt.NDArray[np.int64]]:
        (source,) = wanted
        with opened(engine) as connection:
            sql, kind = reached(
                lambda: _statement(connection, source, domain, unit, every_row=every_row), "the source cannot be opened"
            )
            if kind is not None:
                sql = bounded(sql, kind, len(domain), rows_per_unit, salt)
            return fetched(connection, sql)

    found = read_again(read, [frame])
    columns = [np.asarray(found[f"c{number}"]) for number in range(len(domain))]
    return row_numbers.in_order(np.asarray(found["r"]), columns)


def ready(frame: object, domain: Domain, *, unit: str | None = None, engine: DuckDB | None = None) -> None:
    """Refuse an engine that fails its test, or a source or column that is not there; only the schema is read."""
    frame = declared(frame, tuple(domain) if unit is None else (*domain, unit))
    with opened(engine) as connection:
        reached(lambda: _statement(connection, frame, domain, unit, rows=False), "the source cannot be opened")
    sources.check([frame], [*domain, *([] if unit is None else [unit])])


def opened(engine: DuckDB | None) -> duckdb.DuckDBPyConnection:
    """A connection of that engine, which has passed its self-test: the SQL of positions assumes what all SQL does."""
    used = DuckDB() if engine is None else engine
    checked(used)
    connection = used._open()
    row_numbers.keep_order(connection)
    return connection


def _statement(
    connection: duckdb.DuckDBPyConnection,
    frame: object,
    domain: Domain,
    unit: str | None,
    *,
    every_row: bool = False,
    rows: bool = True,
) -> tuple[str, UnitKind | None]:
    (place,) = sources.attach(connection, [row_numbers.numbered(frame)], rows=rows, ordered=True)
    return statement(connection, frame, place, domain, unit, every_row=every_row)


def statement(
    connection: duckdb.DuckDBPyConnection,
    frame: object,
    place: str,
    domain: Domain,
    unit: str | None,
    *,
    every_row: bool = False,
) -> tuple[str, UnitKind | None]:
    """The rows of a source that is attached at `place` as columns c0, c1, ..., r, and u where a unit is named.

    r is the row's number, u its unit; then of which kind that is.
    """
    physical = sources.columns(connection, place)
    chosen, kept, kind = [], [], None
    for name in [*domain, *([unit] if unit is not None else [])]:
        if name not in physical:
            raise no_column(name, sources.told(frame, physical))
    for number, (name, column) in enumerate(domain.items()):
        low, high = column.codes
        value = f"{code(column, name=name, physical=physical[name])} - {low}"
        if column.nullable or every_row:
            value = f"COALESCE({value}, {high - low + 1 if column.nullable else 0})"
        else:
            kept.append(f"c{number} IS NOT NULL")
        chosen.append(f"{value} AS c{number}")
    chosen.append(f"{row_numbers.number(connection, frame, place, physical)} AS r")
    if unit is not None:
        made, kind = DUCKDB.unit(unit, physical=physical[unit])
        chosen.append(f"{made} AS u")
        kept.append("u IS NOT NULL")
    where = f" WHERE {' AND '.join(kept)}" if kept else ""
    return f"SELECT * FROM (SELECT {', '.join(chosen)} FROM {place}){where}", kind


def bounded(sql: str, kind: UnitKind, columns: int, rows: int, salt: int, *, with_unit: bool = False) -> str:
    """Of each unit the first rows by hash, and their numbers r; `with_unit` keeps the column u.

    Of rows that agree in all positions the first ones are kept: which of them matters to their places alone.
    """
    names = [f"c{number}" for number in range(columns)]
    words = list(hashing.unit_words_sql("u", kind, DUCKDB))
    for name in names:
        words += hashing.words_sql(f"CAST({name} AS BIGINT)", DUCKDB)
    split_sql = ", ".join(f"{word} AS w{place}" for place, word in enumerate(words))
    layers = f"SELECT *, {split_sql} FROM {DUCKDB.layer(sql)}"
    start = hashing.start(salt, hashing.ROWS)
    layers = hashing.hashed_sql(layers, "hr", start, [f"w{place}" for place in range(len(words))], DUCKDB)
    order = ", ".join(["hr", *names, "r"])
    ranked = f"SELECT *, ROW_NUMBER() OVER (PARTITION BY u ORDER BY {order}) AS rr FROM {DUCKDB.layer(layers)}"
    kept = ", ".join([*names, "r", *(["u"] if with_unit else [])])
    return f"SELECT {kept} FROM {DUCKDB.layer(ranked)} WHERE rr <= {rows}"
