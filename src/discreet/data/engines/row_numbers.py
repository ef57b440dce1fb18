"""The number of a row in its source: what is paired with rows is paired by this number, never by the place in a result.

An engine gives rows back in any order: threads race for row groups, chunks and files, and a window sorts.  So every
statement whose rows are paired with anything carries their numbers, and `in_order` puts the results by them.

    a table in memory    a column of numbers beside the others
    Parquet, text        the file's place among the files, in the order of their names, and the row's place in it
    a DuckDB table       its rowid
    views, mixed files   row_number() over all rows, read one after another with the order kept (`keep_order`)

The last also stands in where a column of the source has the name under which DuckDB tells the number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from discreet.data.engines import sources
from discreet.data.engines.codes import quoted
from discreet.data.engines.dialect import unused_prefix

if TYPE_CHECKING:
    import duckdb
    import numpy as np
    import numpy.typing as npt

FILES = "file_index", "file_row_number"  # DuckDB's names
WITHIN = 1 << 40  # more rows than a file has
COUNTED = "row_number() OVER ()"


def keep_order(connection: duckdb.DuckDBPyConnection) -> None:
    """Have DuckDB number rows in the order in which it reads them; before the connection is shut in."""
    connection.execute("SET preserve_insertion_order = true")


def numbered(source: object) -> object:
    """A table in memory with the numbers of its rows as its last column; files and databases as they are."""
    import numpy as np
    import pyarrow

    if not sources.in_memory(source):
        return source
    table = sources.arrow(source)
    return table.append_column(_ours(table.column_names), pyarrow.array(np.arange(table.num_rows)))


def number(connection: duckdb.DuckDBPyConnection, source: object, relation: str, physical: Mapping[str, str]) -> str:
    """The number of a row of an attached source, as an expression in SQL; that of a table in memory is `numbered`."""
    if sources.in_memory(source):
        return quoted(list(physical)[-1])
    taken = {name.lower() for name in physical}
    if relation.startswith("read_parquet(") and not taken.intersection(FILES):
        return f"CAST({FILES[0]} AS BIGINT) * {WITHIN} + CAST({FILES[1]} AS BIGINT)"
    if not relation.startswith("read_") and "rowid" not in taken and _has_rowids(connection, relation):
        return "rowid"
    return COUNTED


def in_order(numbers: npt.NDArray[np.int64], columns: Iterable[npt.NDArray[np.int64]]) -> list[npt.NDArray[np.int64]]:
    """Columns of a result in the order of the numbers of its rows.

    >>> import numpy as np
    >>> [column.tolist() for column in in_order(np.array([7, 2, 5]), [np.array([1, 0, 3])])]
    [[0, 3, 1]]
    """
    import numpy as np

    order = np.argsort(numbers, kind="stable")
    return [column[order] for column in columns]


def _ours(names: Iterable[str]) -> str:
    """A name that no column has."""
    return f"{unused_prefix(names)}row"


def _has_rowids(connection: duckdb.DuckDBPyConnection, relation: str) -> bool:
    """Whether it is a table: a view has none."""
    import duckdb

    try:
        connection.execute(f"SELECT rowid FROM {relation} LIMIT 0")
    except duckdb.BinderException:
        return False
    return True
