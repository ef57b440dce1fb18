"""Where private rows are: open the sources of a question in DuckDB so that no other file can be reached.

    "visits.parquet", "part-*.parquet"   Parquet, one file or a pattern
    "visits.csv", TextFile(...)          text (`discreet.data.text_file`), of which a sealed copy is read (`sealing.py`)
    "hospital.duckdb::visits"            a table of a DuckDB file, or the pair ("hospital.duckdb", "visits")
    Arrow, pandas, Polars                tables in memory

Once they are attached the connection loses access to everything else, and its settings are locked.
"""

from __future__ import annotations

import functools
import glob
import numbers
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.data.engines import parquet_files, sealing
from discreet.data.engines.codes import literal, quoted
from discreet.data.engines.file_types import together
from discreet.data.engines.results import constant_faults, reached
from discreet.data.text_file import ENDINGS, TextFile, declared
from discreet.errors import DiscreetError, SourceError

if TYPE_CHECKING:
    import duckdb
    import pandas
    import pyarrow

PARQUET = (".parquet", ".pq")

FAR = 1 << 53  # a double beyond it stands for several integers


def attach(
    connection: duckdb.DuckDBPyConnection, sources: Sequence[object], *, rows: bool = True, ordered: bool = False
) -> list[str]:
    """Attach sources, shut the rest of the world out, and return the relations to read from.

    Without `rows` only the schema is asked for: of text that is not yet sealed the header line is read and no more.
    Where they are `ordered` files are read in the order of their names, whatever their schemas.
    """
    held, paths = [], []
    for number, source in enumerate(sources):
        name = f"discreet_source_{number}"
        if isinstance(source, tuple) and len(source) == 2:
            held.append(_database(connection, name, str(source[0]), str(source[1])))
        elif isinstance(source, str) and "::" in source:
            held.append(_database(connection, name, *source.rsplit("::", 1)))
        elif isinstance(source, str | TextFile | Files):
            held.append(files_of(source, rows=rows))
            paths += held[-1].paths
        else:
            connection.register(name, arrow(source))
            held.append(name)
    shut_in(connection, paths)
    return [one if isinstance(one, str) else relation(connection, one, ordered=ordered) for one in held]


def seal(sources: Sequence[object]) -> None:
    """Read text that no question has read yet into its copy; after the charge, since it reads rows."""
    texts = [text for source in sources if isinstance(text := declared(source, ()), TextFile)]
    for text in texts:
        reached(lambda text=text: text if sealing.sealed(text) else sealing.ready(text), "the source cannot be opened")
    if texts:
        constant_faults(lambda: [sealing.seal(text) for text in texts])


def shut_in(connection: duckdb.DuckDBPyConnection, paths: Sequence[str]) -> None:
    """Leave these files in reach, and nothing else, for good."""
    if paths:
        connection.execute(f"SET allowed_paths = [{', '.join(map(literal, paths))}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def check(sources: Sequence[object], columns: Iterable[str]) -> None:
    """Refuse Parquet files that are damaged where these columns lie, as far as their own metadata tells."""
    names = list(columns)
    for source in sources:
        if isinstance(source, str) and source.lower().endswith(PARQUET) and "::" not in source:
            held = files_of(source, rows=False)
            reached(lambda held=held: parquet_files.check(held.paths, names), "the source cannot be opened")


@dataclass(frozen=True, slots=True)
class Files:
    """Files of rows as they are found now: Parquet, or where `names` are given the columns of text not yet sealed."""

    paths: tuple[str, ...]
    names: tuple[str, ...] | None = None


def files(sources: Sequence[object], *, rows: bool = True) -> list[Files] | None:
    """The files of sources that are all files of rows, as they are found now; None where one is not.

    >>> files([("hospital.duckdb", "visits")]) is None
    True
    """
    if not all(
        isinstance(source, TextFile | Files) or (isinstance(source, str) and "::" not in source) for source in sources
    ):
        return None
    return [files_of(source, rows=rows) for source in sources]  # type: ignore[arg-type]


def files_of(source: str | TextFile | Files, *, rows: bool) -> Files:
    """The files to read from: of text, those of its sealed copy."""
    if isinstance(source, Files):
        return source
    text = declared(source, ())
    if isinstance(text, TextFile):
        copy = sealing.seal(text) if rows else sealing.sealed(text)
        return Files((), tuple(sealing.ready(text))) if copy is None else Files(tuple(sealing.parts(copy)))
    assert isinstance(source, str)
    if not source.lower().endswith(PARQUET):
        known = ", ".join(f"*{ending}" for ending in (*PARQUET, *ENDINGS))
        raise SourceError(f"need a source among {known}, 'file.duckdb::table' or a table in memory, got {source!r}")
    paths = [source] if Path(source).is_file() else sorted(glob.glob(source, recursive=True))
    paths = [os.path.abspath(path) for path in paths if Path(path).is_file()]
    if not paths:
        raise SourceError(f"no file {source!r}", declared=source)
    return Files(tuple(paths))


def relation(connection: duckdb.DuckDBPyConnection, files: Files, *, ordered: bool = False) -> str:
    """What to read from.  Each file is read by its own names and types, which may differ from the others'."""
    if files.names is not None:
        listed = ", ".join(f"CAST(NULL AS VARCHAR) AS {quoted(name)}" for name in files.names)
        return f"(SELECT {listed} LIMIT 0)"
    if len(files.paths) == 1:
        return _parquet(files.paths)
    return together(_alike(connection, files.paths, ordered=ordered))


def _alike(
    connection: duckdb.DuckDBPyConnection, paths: Sequence[str], *, ordered: bool
) -> list[tuple[str, dict[str, str]]]:
    """The files in groups of one schema, each as a relation with its physical types; `ordered` ones in their order."""
    listed = ", ".join(map(literal, paths))
    asked = f"SELECT file_name, name, type, converted_type, logical_type, num_children FROM parquet_schema([{listed}])"
    schemas: dict[str, list[object]] = {path: [] for path in paths}
    for path, *field in connection.execute(asked).fetchall():
        schemas[path].append(field)
    groups = list[list[str]]()
    places = dict[str, int]()
    for path in paths:
        schema = repr(schemas[path])
        place = places.get(schema)
        if place is None or (ordered and place != len(groups) - 1):
            places[schema] = len(groups)
            groups.append([path])
        else:
            groups[place].append(path)
    made = [_parquet(group) for group in groups]
    return [(one, columns(connection, one)) for one in made]


def columns(connection: duckdb.DuckDBPyConnection, relation: str) -> dict[str, str]:
    """The physical types by column name, from the schema alone."""
    return {row[0]: row[1] for row in connection.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()}


def told(source: object, names: Iterable[str]) -> Iterable[str]:
    """The names that an error may tell: none of text, whose first line may be somebody's row and no header."""
    return () if isinstance(declared(source, ()), TextFile) else names


def in_memory(source: object) -> bool:
    """Whether a source is a table in memory, not a place."""
    return not isinstance(source, str | tuple | TextFile | Files)


def _database(connection: duckdb.DuckDBPyConnection, name: str, path: str, table: str) -> str:
    if not Path(path).is_file():
        raise SourceError(f"no file {path!r}", declared=path)
    place = os.path.abspath(path)
    open_already = connection.execute("SELECT database_name FROM duckdb_databases() WHERE path = ?", [place]).fetchone()
    if open_already is None:
        connection.execute(f"ATTACH {literal(place)} AS {name} (TYPE duckdb, READ_ONLY)")
    return f"{name if open_already is None else open_already[0]}.{'.'.join(quoted(part) for part in table.split('.'))}"


def _parquet(paths: Sequence[str]) -> str:
    return f"read_parquet([{', '.join(map(literal, paths))}], hive_partitioning = false)"


def arrow(source: object) -> pyarrow.Table:
    """A table in memory as an Arrow table, by its declared types only."""
    try:
        made = _arrow(source)
        made = None if made is None else _in_utc(readable(made))
    except DiscreetError:
        raise
    except Exception:  # its text may quote a private value
        made = None
    if made is None:
        odd = _odd_column(source)
        kind = type(source).__name__ if odd is None else f"a {type(source).__name__} with column {odd}"
        raise SourceError(f"need a file or a readable Arrow, pandas or Polars table, got {kind}")
    return made


def _odd_column(source: object) -> str | None:
    """The first column that Arrow cannot hold, with its type, which is public."""
    for name in getattr(source, "columns", ()):
        series = source[name]  # type: ignore[index]
        try:
            _arrow(series.to_frame())
        except Exception:
            return f"{str(name)!r} of type {series.dtype}"
    return None


def readable(table: pyarrow.Table) -> pyarrow.Table:
    """Columns that DuckDB has not, as columns that hold the same values; refused are types, and never a value."""
    for place, field in enumerate(table.schema):
        if field.type.id in _odd_types():
            table = table.set_column(place, field.name, _held(field, table.column(place)))
    return table


@functools.cache
def _odd_types() -> frozenset[int]:
    import pyarrow as pa

    odd = pa.float16(), pa.decimal256(1), pa.duration("s"), pa.string(), pa.large_string(), pa.string_view()
    return frozenset(kind.id for kind in (*odd, pa.dictionary(pa.int32(), pa.string())))


def _held(field: pyarrow.Field, column: pyarrow.ChunkedArray) -> pyarrow.ChunkedArray:
    """One column in a type that DuckDB holds."""
    import pyarrow as pa

    kind = field.type
    if pa.types.is_float16(kind):
        return column.cast(pa.float32())
    if pa.types.is_duration(kind):  # no declaration reads one, and a long one cannot be converted
        return pa.chunked_array([pa.nulls(len(column), pa.duration("us"))])
    if pa.types.is_decimal256(kind):
        if kind.precision > 38:
            raise SourceError(f"column {field.name!r} is of type {kind}; use decimals of at most 38 digits")
        return column.cast(pa.decimal128(kind.precision, kind.scale))
    return in_utf8(column)


def in_utf8(column: pyarrow.ChunkedArray) -> pyarrow.ChunkedArray:
    """A column of texts, and NULL in place of what is no UTF-8, which one row may hold and an engine may die of."""
    import pyarrow as pa

    plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    made = [_mended(chunk) for chunk in plain.chunks]
    if all(new is old for new, old in zip(made, plain.chunks, strict=True)):
        return column
    return pa.chunked_array([chunk.cast(pa.large_string()) for chunk in made], pa.large_string())


def _mended(chunk: pyarrow.Array) -> pyarrow.Array:
    import pyarrow as pa

    try:
        chunk.validate(full=True)
    except pa.ArrowInvalid:
        return pa.array([_decoded(value) for value in chunk.cast(pa.large_binary()).to_pylist()], pa.large_string())
    return chunk


def _decoded(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None


def _in_utc(table: pyarrow.Table) -> pyarrow.Table:
    """Moments with a time zone as the same moments in UTC, without one: DuckDB reads those of every resolution."""
    import pyarrow

    for place, field in enumerate(table.schema):
        if pyarrow.types.is_timestamp(field.type) and field.type.tz is not None and field.type.unit != "us":
            plain = pyarrow.timestamp(field.type.unit)
            table = table.set_column(place, field.name, table.column(place).cast(plain))  # not copied
    return table


def _arrow(source: object) -> pyarrow.Table | None:
    import pyarrow

    match source:
        case pyarrow.Table():
            return source
        case pyarrow.RecordBatch():
            return pyarrow.Table.from_batches([source])
    module = type(source).__module__.split(".")[0]
    if module == "polars" and hasattr(source, "to_arrow"):
        return source.to_arrow()  # type: ignore[attr-defined]
    if module == "pandas" and hasattr(source, "columns"):
        return _pandas(source)  # type: ignore[arg-type]
    return None


def _pandas(frame: pandas.DataFrame) -> pyarrow.Table:
    """Columns of Python objects or texts become text, value by value: their types are not inferred from rows."""
    import pandas
    import pyarrow

    made = {}
    for name in frame.columns:
        series = frame[name]
        kind = series.dtype.categories.dtype if isinstance(series.dtype, pandas.CategoricalDtype) else series.dtype
        if kind == "object" or (isinstance(kind, pandas.StringDtype) and kind.storage == "python"):
            made[str(name)] = pyarrow.array([_text(value) for value in series], type=pyarrow.large_string())
        else:
            made[str(name)] = pyarrow.Array.from_pandas(series)
    return pyarrow.table(made)


def _written(value: object) -> str:
    """Bytes as the text that they are, a whole number as one, whatever type holds it, and all else by its own text.

    So a column of objects is read as one of their type would be.
    """
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:  # such bytes may still name somebody
            return repr(value)
    if isinstance(value, float | Decimal | numbers.Real) and not isinstance(value, int) and _whole(value):
        return str(int(value))  # type: ignore[arg-type]
    return str(value)


def _whole(value: object) -> bool:
    """Whether a number is one of the integers that every type of number tells from its neighbours."""
    return -FAR <= value <= FAR and value == int(value)  # type: ignore[operator, call-overload]


def _text(value: object) -> str | None:
    """The text of one Python value, or None where it has none or is absent; never an error."""
    try:
        if value is None or type(value).__name__ in ("NaTType", "NAType") or value != value:  # NaN differs from itself
            return None
        text = _written(value)
        text.encode()
    except Exception:  # an array, a signalling NaN, half a surrogate pair, ...
        return None
    return text
