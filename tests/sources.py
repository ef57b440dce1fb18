"""The same rows as every kind of source: in chunks, row groups and files, under every type that holds them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq

PARTS = 10  # chunks, row groups or files


def _ends(rows: int) -> list[tuple[int, int]]:
    """Where each of the parts begins and ends; the third has no row."""
    edges = np.linspace(0, rows, PARTS).astype(int).tolist()
    edges.insert(3, edges[3])
    return list(itertools.pairwise(edges))


def _pieces(table: pa.Table) -> list[pa.Table]:
    return [table.slice(first, last - first) for first, last in _ends(table.num_rows)]


def _chunked(table: pa.Table, _: Path) -> pa.Table:
    return pa.concat_tables([pa.table(piece.to_pydict(), schema=table.schema) for piece in _pieces(table)])


def _uneven(table: pa.Table, folder: Path) -> object:
    """Every column is cut elsewhere."""
    whole = _chunked(table, folder)

    made = {}
    for place, name in enumerate(table.column_names):
        cut = table.num_rows * (place + 1) // (len(table.column_names) + 1)
        chunks = table.column(name).combine_chunks()
        made[name] = pa.chunked_array([chunks.slice(0, cut), chunks.slice(cut)]) if place % 2 else whole.column(name)
    return pa.table(made)


def _sliced(table: pa.Table, _: Path) -> object:
    rows = table.num_rows
    return pa.concat_tables([table, table.slice(0, rows // 2), table]).slice(rows + rows // 2, rows)


def _dictionaries(table: pa.Table, folder: Path) -> object:
    """Each chunk has a dictionary of its own, in an order of its own."""
    pieces = []
    for number, piece in enumerate(_pieces(table)):
        columns = {}
        for name in table.column_names:
            column = piece.column(name).combine_chunks()
            if pa.types.is_string(column.type):
                values = sorted(set(table.column(name).to_pylist()), reverse=number % 2 == 0)
                column = pa.DictionaryArray.from_arrays(
                    pa.array([values.index(value) for value in column.to_pylist()], pa.int32()), pa.array(values)
                )
            columns[name] = column
        pieces.append(pa.table(columns))
    return pa.concat_tables(pieces)


def _row_groups(table: pa.Table, folder: Path) -> object:
    pq.write_table(table, folder / "groups.parquet", row_group_size=-(-table.num_rows // PARTS))
    return str(folder / "groups.parquet")


def _files(table: pa.Table, folder: Path) -> object:
    for number, piece in enumerate(_pieces(table)):
        pq.write_table(piece, folder / f"part-{number:02}.parquet", row_group_size=-(-table.num_rows // PARTS**2))
    return str(folder / "part-*.parquet")


def _text(table: pa.Table, folder: Path) -> object:
    for number, piece in enumerate(_pieces(table)):
        csv.write_csv(piece, folder / f"part-{number:02}.csv")
    return str(folder / "part-*.csv")


def _other_columns(table: pa.Table) -> list[pa.Table]:
    """The parts with their columns in another order in every second one, and one column more in every third."""
    made = []
    for number, piece in enumerate(_pieces(table)):
        piece = piece.select(piece.column_names[:: -1 if number % 2 else 1])
        made.append(piece.append_column("more", pa.array(["x"] * piece.num_rows)) if number % 3 == 0 else piece)
    return made


def _other_files(table: pa.Table, folder: Path) -> object:
    """Parquet of several schemas: integers of other widths besides."""
    for number, piece in enumerate(_other_columns(table)):
        narrow = {name: pa.int32() for name in piece.column_names if number % 2 and piece[name].type == pa.int64()}
        for name, kind in narrow.items():
            piece = piece.set_column(piece.column_names.index(name), name, piece[name].cast(kind))
        pq.write_table(piece, folder / f"other-{number:02}.parquet")
    return str(folder / "other-*.parquet")


def _other_text(table: pa.Table, folder: Path) -> object:
    for number, piece in enumerate(_other_columns(table)):
        csv.write_csv(piece, folder / f"other-{number:02}.csv")
    return str(folder / "other-*.csv")


def _database(table: pa.Table, folder: Path) -> object:
    with duckdb.connect(str(folder / "rows.duckdb")) as connection:
        connection.register("given", table.append_column("n", pa.array(np.arange(table.num_rows))))
        connection.execute("CREATE TABLE rows AS SELECT * EXCLUDE (n) FROM given ORDER BY n")
    return f"{folder / 'rows.duckdb'}::rows"


def _view(table: pa.Table, folder: Path) -> object:
    with duckdb.connect(str(folder / "view.duckdb")) as connection:
        connection.register("given", table.append_column("n", pa.array(np.arange(table.num_rows))))
        connection.execute("CREATE TABLE rows AS SELECT * EXCLUDE (n) FROM given ORDER BY n")
        connection.execute("CREATE VIEW seen AS SELECT * FROM rows")
    return f"{folder / 'view.duckdb'}::seen"


def _pandas(table: pa.Table, _: Path) -> pd.DataFrame:
    return table.to_pandas()


def _shuffled_index(table: pa.Table, _: Path) -> object:
    return table.to_pandas().set_index(np.arange(table.num_rows)[::-1])


def _objects(table: pa.Table, _: Path) -> object:
    return table.to_pandas().astype(object)


def _nullable(table: pa.Table, _: Path) -> object:
    return table.to_pandas().convert_dtypes()


def _arrow_types(table: pa.Table, folder: Path) -> object:
    whole = _chunked(table, folder)

    return whole.to_pandas(types_mapper=pd.ArrowDtype)


def _categories(table: pa.Table, _: Path) -> object:
    return table.to_pandas().astype("category")


def _polars(table: pa.Table, _: Path) -> object:
    return pl.concat([pl.DataFrame(piece) for piece in _pieces(table)], rechunk=False)


KINDS: dict[str, Callable[[pa.Table, Path], Any]] = {
    "Arrow": lambda table, _: table,
    "Arrow in chunks": _chunked,
    "Arrow in uneven chunks": _uneven,
    "Arrow, a slice": _sliced,
    "Arrow, dictionaries": _dictionaries,
    "Arrow, a batch": lambda table, _: table.combine_chunks().to_batches()[0],
    "pandas": _pandas,
    "pandas, another index": _shuffled_index,
    "pandas, objects": _objects,
    "pandas, nullable": _nullable,
    "pandas, types of Arrow": _arrow_types,
    "pandas, categories": _categories,
    "Polars": _polars,
    "Parquet in row groups": _row_groups,
    "Parquet in files": _files,
    "Parquet in files of other columns": _other_files,
    "DuckDB, a table": _database,
    "DuckDB, a view": _view,
    "CSV in files": _text,
    "CSV in files of other columns": _other_text,
}

MEMORY = [kind for kind in KINDS if not kind.startswith(("Parquet", "DuckDB", "CSV"))]
