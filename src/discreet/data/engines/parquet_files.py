"""Whether a Parquet file is whole, as far as its own metadata tells: looked at before anything is charged.

    footer          there, and readable
    row groups      every part of a column lies within the file, before its footer, and holds as many bytes as it says
    pages           the headers of the columns that are asked for, one after another, up to the end of their part
    checksums       of these pages, where the writer has written them

No value is decoded.  What is found depends on the damage, which is nobody's row.  A file is looked at once, as long as
its bytes stay.
"""

from __future__ import annotations

import functools
import os
import zlib
from collections.abc import Iterable
from contextlib import suppress
from typing import IO

from discreet.data.engines.sealing import state
from discreet.errors import SourceError

HEADERS = (1 << 16, 1 << 24)  # bytes in which the header of a page ends: nearly always, and ever (Arrow's own limit)


def check(paths: Iterable[str], columns: Iterable[str]) -> None:
    """Refuse files that are damaged where these columns lie."""
    names = tuple(sorted(columns))
    for path in paths:
        _check(path, tuple(state(path)), names)


@functools.lru_cache(maxsize=10_000)
def _check(path: str, _: tuple[int, ...], columns: tuple[str, ...]) -> None:
    import pyarrow.parquet as pq

    footer = pq.read_metadata(path)  # raises where it is none: the caller tells it without its words
    end = os.path.getsize(path) - 8 - footer.serialized_size
    with open(path, "rb") as file:
        for group in range(footer.num_row_groups):
            parts = footer.row_group(group)
            for place in range(parts.num_columns):
                part = parts.column(place)
                name = part.path_in_schema.split(".")[0]
                offsets = [part.data_page_offset]
                if part.has_dictionary_page and part.dictionary_page_offset:
                    offsets.append(part.dictionary_page_offset)
                if not parts.num_rows:  # no rows need no page, which is told by an offset of 0
                    offsets = [offset for offset in offsets if offset] or [end]
                first, size = min(offsets), part.total_compressed_size
                why = "lies beyond its end" if first < 4 or size < 0 or first + size > end else None
                if why is None and name in columns:
                    why = _damage(file, first, size)
                if why is not None:
                    said = f"{path!r} is damaged: row group {group}, column {name!r} {why}"
                    raise SourceError(said, declared=path)


def _damage(file: IO[bytes], first: int, size: int) -> str | None:
    """What is wrong with the pages of a part, if anything is."""
    at, last = first, first + size
    while at < last:
        found = _header(file, at, last)
        if found is None:
            return "has a page without a header"
        used, fields = found
        length, checksum = fields.get(3), fields.get(4)
        if length is None or length < 0 or at + used + length > last:
            return "has a page that is longer than it"
        if checksum is not None:
            file.seek(at + used)
            if zlib.crc32(file.read(length)) != checksum & 0xFFFFFFFF:
                return "has a page whose checksum is another"
        at += used + length
    return None


def _header(file: IO[bytes], at: int, last: int) -> tuple[int, dict[int, int]] | None:
    """How long the header of the page at this place is, and its integers; None where there is none.

    A header may quote the least and the largest value of its page: long ones do not make a file damaged.
    """
    for most in HEADERS:
        file.seek(at)
        with suppress(IndexError, ValueError):
            return _struct(file.read(min(most, last - at)))
    return None


def _struct(data: bytes, at: int = 0) -> tuple[int, dict[int, int]]:
    """The end of a structure of Thrift's compact protocol, and its integers by field."""
    found, field = dict[int, int](), 0
    while True:
        head = data[at]
        at += 1
        if head == 0:
            return at, found
        step, kind = head >> 4, head & 15
        if step:
            field += step
        else:
            at, field = _integer(data, at)
        if kind in (4, 5, 6):
            at, found[field] = _integer(data, at)
        else:
            at = _skipped(data, at, kind)


def _integer(data: bytes, at: int) -> tuple[int, int]:
    """A zigzag integer, and where it ends."""
    at, value = _varint(data, at)
    return at, (value >> 1) ^ -(value & 1)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return at, value
        if shift > 70:
            raise ValueError("no integer")


def _skipped(data: bytes, at: int, kind: int) -> int:
    """Where a value of this kind ends."""
    if kind in (1, 2):  # true and false are in the kind
        return at
    if kind == 3:
        return at + 1
    if kind == 7:
        return at + 8
    if kind == 8:
        at, length = _varint(data, at)
        return at + length
    if kind == 12:
        return _struct(data, at)[0]
    if kind in (9, 10):
        head = data[at]
        at, length = (at + 1, head >> 4) if head >> 4 < 15 else _varint(data, at + 1)
        for _ in range(length):
            at = at + 1 if head & 15 in (1, 2) else _skipped(data, at, head & 15)
        return at
    raise ValueError("no header of a page")
