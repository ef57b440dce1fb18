"""Parquet files with a value that the engine cannot read: once more, from a copy in which that value is NULL.

An engine that meets bytes that are no UTF-8, milliseconds beyond its clock, or an encoding that it has not, fails as a
whole: one row would take the answer from everybody.  So a run that fails is made once more on copies of its Parquet
files that another reader has written, with the same values but for those that no declaration could read.  What a row is
in a copy is decided by its own values.  A file that this reader cannot read either is damaged: where is told to the
operator, by file, row group and column.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from discreet.data.engines import sealing, sources
from discreet.data.engines.results import constant_faults
from discreet.data.engines.sources import Files

if TYPE_CHECKING:
    import duckdb
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

Made = TypeVar("Made")
ROWS = 1 << 16  # that are copied at a time


class EngineFault(Exception):
    """An engine failed after rows may have been read."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error


@contextmanager
def reading() -> Iterator[None]:
    """Whatever fails in here is the engine's failure, and may depend on rows."""
    try:
        yield
    except Exception as error:
        raise EngineFault(error) from None


def fetched(connection: duckdb.DuckDBPyConnection, sql: str) -> Mapping[str, npt.NDArray[np.int64]]:
    """The columns of a result."""
    with reading():
        return connection.execute(sql).fetchnumpy()  # type: ignore[return-value]


def read_again(work: Callable[[Sequence[object]], Made], wanted: Sequence[object]) -> Made:
    """Do `work` on the sources; if the engine fails, once more on copies of their Parquet files.

    A failure that stays is told in the one constant sentence, and to the operator with its place.
    """
    try:
        return work(wanted)
    except EngineFault as fault:
        error = fault.error

    def again() -> Made:
        if type(error).__name__ == "OutOfMemoryException" or not any(map(_parquet, wanted)):
            raise error
        try:
            return work([_copied(source) if _parquet(source) else source for source in wanted])
        except EngineFault as fault:
            raise fault.error from None

    return constant_faults(again, where=lambda: place_of_damage(wanted))


def place_of_damage(wanted: Sequence[object]) -> str:
    """The first part of the Parquet files that no reader can read: names and numbers, and never a value."""
    import pyarrow.parquet as pq

    for source in filter(_parquet, wanted):
        for path in sources.files_of(source, rows=True).paths if isinstance(source, str) else ():
            try:
                with pq.ParquetFile(path, memory_map=False) as file:
                    groups, names = file.num_row_groups, file.schema_arrow.names
                    for group in range(groups):
                        for name in names:
                            try:
                                file.read_row_group(group, columns=[name], use_threads=False)
                            except Exception as error:  # its text may quote a value
                                kind = type(error).__name__
                                return f"source {source!r}, file {path!r}, row group {group}, column {name!r}: {kind}"
            except Exception as error:
                return f"source {source!r}, file {path!r}: {type(error).__name__}"
    said = ", ".join(repr(source) if isinstance(source, str) else type(source).__name__ for source in wanted)
    return f"source {said}"


def _parquet(source: object) -> bool:
    return isinstance(source, str) and source.lower().endswith(sources.PARQUET)


def _copied(source: object) -> Files:
    """The files of a source as copies that the engine can read."""
    assert isinstance(source, str)
    return Files(tuple(copy_of(path) for path in sources.files_of(source, rows=True).paths))


def copy_of(path: str) -> str:
    """One Parquet file, as it is now, with what the engine cannot read as NULL; made once in a process."""
    copy = sealing.own_place([path, *sealing.state(path)]).with_suffix(".parquet")
    if not copy.exists():
        sealing.make_private(copy.parent)
        handle, half = tempfile.mkstemp(dir=copy.parent)  # mode 0600
        os.close(handle)
        try:
            _write(path, half)
            sealing.give_name(Path(half), copy)
        except BaseException:
            Path(half).unlink(missing_ok=True)
            raise
    return str(copy)


def _write(path: str, out: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(path, memory_map=False) as file:
        empty = _readable(file.schema_arrow.empty_table())
        kinds = pa.schema([pa.field(field.name, _plain(field.type)) for field in empty.schema])
        with pq.ParquetWriter(out, kinds, compression="lz4", write_statistics=False, store_schema=False) as writer:
            for batch in file.iter_batches(ROWS, use_threads=False):
                writer.write_table(_readable(pa.Table.from_batches([batch])).cast(kinds, safe=False))


def _plain(kind: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return _plain(kind.value_type)
    if pa.types.is_string(kind) or pa.types.is_string_view(kind):
        return pa.large_string()
    return kind


def _readable(table: pa.Table) -> pa.Table:
    """As frames in memory are read, and moments in microseconds: those beyond them are the first or the last."""
    import pyarrow as pa
    import pyarrow.compute as pc

    table = sources.readable(table)
    for place, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type) and field.type.unit in ("s", "ms"):
            ticks = 1_000_000 if field.type.unit == "s" else 1_000
            most = (1 << 63) // ticks - 1
            whole = table.column(place).cast(pa.int64())
            nulls = pc.ElementWiseAggregateOptions(skip_nulls=False)
            near = pc.call_function("max_element_wise", [whole, pa.scalar(-most)], nulls)
            near = pc.call_function("min_element_wise", [near, pa.scalar(most)], nulls)
            moments = pc.call_function("multiply", [near, pa.scalar(ticks)]).cast(pa.timestamp("us", field.type.tz))
            table = table.set_column(place, field.name, moments)
    return table
