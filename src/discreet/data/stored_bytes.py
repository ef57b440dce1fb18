"""Stored bytes are read by what they declare, which is looked at first: a small file cannot ask for much memory.

A file of a stranger, or a damaged one, may hold a member that nobody asked for, or one that unfolds to a thousand times
its size.  So members are named beforehand, what they declare together is at most `LARGEST` bytes or four times the file
itself, an array must be exactly as long as its header says, and text is unfolded up to a limit.  What is refused raises
`ValueError`, of which every reader makes its own refusal.  All readers of stored bytes are here: a test of the house
looks for others.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

LARGEST = 1 << 28  # bytes that a small file may unfold to
FOLDED = 4  # times its own size that a larger one may
NUMBERS = 1 << 27  # that a Parquet file may hold, eight bytes each: equal ones take next to no room in it


class Archive:
    """A ZIP archive whose members are known by name, and of bounded size all together.

    >>> made = io.BytesIO()
    >>> with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as file:
    ...     file.writestr("text.json", "[]")
    ...     file.writestr("surplus", bytes(10**6))
    >>> Archive(made.getvalue(), known=lambda name: name == "text.json")
    Traceback (most recent call last):
    ValueError: a member that does not belong here
    """

    def __init__(self, data: bytes, *, known: Callable[[str], bool]) -> None:
        try:
            self._file = zipfile.ZipFile(io.BytesIO(data))
        except (zipfile.BadZipFile, NotImplementedError, OSError):
            raise ValueError("no archive") from None
        members = self._file.infolist()
        if not all(known(member.filename) for member in members):
            raise ValueError("a member that does not belong here")
        if len({member.filename for member in members}) < len(members):
            raise ValueError("a member is there twice")
        if sum(member.file_size for member in members) > most(len(data)):
            raise ValueError("it declares more than is read")

    @property
    def names(self) -> set[str]:
        """The members."""
        return set(self._file.namelist())

    def read(self, name: str) -> bytes:
        """One of them: no more than it declares."""
        try:
            return self._file.read(name)
        except (KeyError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError):
            raise ValueError("a member is missing or damaged") from None

    def array(self, name: str) -> npt.NDArray[Any]:
        """One of them, as numpy writes arrays."""
        return array(self.read(name))

    def json(self, name: str) -> Any:  # noqa: ANN401 - JSON
        """One of them, as JSON."""
        return text(self.read(name))


def most(size: int) -> int:
    """The bytes that a file of this size may unfold to.

    >>> most(1000) == LARGEST, most(10**9)
    (True, 4000000000)
    """
    return max(LARGEST, FOLDED * size)


def array(data: bytes) -> npt.NDArray[Any]:
    """An array of plain numbers or text as numpy stores it, if it is exactly as long as its header declares.

    >>> import numpy as np
    >>> made = io.BytesIO()
    >>> np.save(made, np.arange(3))
    >>> array(made.getvalue()).tolist()
    [0, 1, 2]
    """
    import numpy as np

    file = io.BytesIO(data)
    version = np.lib.format.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise ValueError("an array of an unknown version")
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, kind = read(file)
    if kind.hasobject or kind.kind not in "biufU" or not kind.itemsize:
        raise ValueError("an array of something else than numbers and text")
    if math.prod(shape) * kind.itemsize != len(data) - file.tell():
        raise ValueError("an array that is not as long as it declares")
    file.seek(0)
    return np.load(file, allow_pickle=False)


def text(data: bytes) -> Any:  # noqa: ANN401 - JSON
    """JSON; nested too deeply, it is refused like any other that is malformed.

    >>> text(b'{"a": 1}')
    {'a': 1}
    """
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def inflated(data: bytes) -> bytes:
    """What zlib made smaller, up to the limit.

    >>> inflated(zlib.compress(b"again and again"))
    b'again and again'
    """
    reader = zlib.decompressobj()
    try:
        found = reader.decompress(data, most(len(data)))
    except zlib.error:
        raise ValueError("not compressed by zlib") from None
    if not reader.eof:
        raise ValueError("it is cut off, or unfolds to more than is read")
    return found


def columns(data: bytes) -> dict[str, npt.NDArray[np.generic]]:
    """The columns of a Parquet file, if its footer declares no more numbers than are read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # One thread, nothing read ahead: threads of the reader that are still there at exit abort the process.
        file = pq.ParquetFile(pa.BufferReader(data), pre_buffer=False)
        about = file.metadata
        groups = [about.row_group(place) for place in range(about.num_row_groups)]
        declared = sum(group.column(place).num_values for group in groups for place in range(about.num_columns))
        if declared > NUMBERS or about.num_rows > NUMBERS:
            raise ValueError("it declares more numbers than are read")
        table = file.read(use_threads=False)
    except (pa.ArrowException, OSError):
        raise ValueError("no Parquet file") from None
    return {name: table.column(name).to_numpy() for name in table.column_names}
