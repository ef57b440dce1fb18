"""The bytes of a text file, some megabytes at a time, as columns of rows and the numbers of its bad lines.

Where one block ends and the next begins decides nothing: a line that is cut is read with the next block, and a line
that is too long is told so from its own length.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Sequence
from typing import IO, TYPE_CHECKING

from discreet.data.engines import json_lines
from discreet.data.text_file import TextFile
from discreet.errors import SourceError

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK = 8 << 20  # bytes that are read at a time
AT_ONCE = 1 << 16  # bad lines of one block that are told at a time, and lines of JSON that are read at a time
Block = tuple[Sequence["pa.Array"], int, list[tuple[int, str]]]  # columns, rows, and the bad lines with their numbers


def opened(file: TextFile, path: str) -> IO[bytes]:
    """The bytes of one file, unpacked."""
    return gzip.open(path, "rb") if file.packed else open(path, "rb")  # type: ignore[return-value]


def names_of(file: TextFile, path: str) -> list[str]:
    """The names of one file's columns.  What is wrong with a header line is told without a byte of it."""
    from discreet.data.engines.bad_lines import LONGEST, MARK, WHY
    from discreet.data.engines.text_lines import fields

    if file.json or not file.header:
        assert file.columns is not None
        return list(file.columns)
    with opened(file, path) as source:
        line = source.readline(LONGEST + 2)
    line = _in_utf8(file, line.removeprefix(MARK)).removesuffix(b"\n")
    listed = fields(line, file.separator or ",", file.quote)
    if not isinstance(listed, list):
        raise SourceError(f"the header line of {path!r} is bad: {WHY[listed]}", declared=path)
    made = [name or "" for name in listed]
    named = [name.lower() for name in made if name]
    if not named or len(set(named)) < len(named):
        raise SourceError(f"the header line of {path!r} has no names, or two that are alike", declared=path)
    return made


def _in_utf8(file: TextFile, block: bytes) -> bytes:
    """Bytes without a character in their encoding become bytes that are no UTF-8, so that their line is bad."""
    if file.encoding == "utf-8":  # a character may be cut at the end of a block
        return block
    return block.decode(file.encoding, "surrogateescape").encode("utf-8", "surrogatepass")


def blocks(file: TextFile, source: IO[bytes], columns: int) -> Iterable[Block]:
    """The rows of a file, some megabytes at a time."""
    from discreet.data.engines.bad_lines import LONG, LONGEST, WHY

    kept, line, long = b"", 1, False
    first = True
    while True:
        read = source.read(BLOCK)
        if first:
            first = False
            if file.header and not file.json:
                read, line = _after_header(source, read), 2
        ended = not read
        if long:  # the rest of a line that is too long, and was told so
            _, feed, read = read.partition(b"\n")
            long, line = not feed and not ended, line + bool(feed)
        block = kept + _in_utf8(file, read)
        kept = b""
        more = bool(block)
        while more:
            made, used, lines, more = (_parsed_json if file.json else _parsed)(file, block, columns, line, ended=ended)
            block, line = block[used:], line + lines
            yield made
        if len(block) > LONGEST + 1:
            yield [], 0, [(line, WHY[LONG])]
            line, block, long = line + block.count(b"\n"), b"", True
        kept = block
        if ended:
            return


def _after_header(source: IO[bytes], read: bytes) -> bytes:
    """What follows the first line."""
    while True:
        _, feed, rest = read.partition(b"\n")
        if feed:
            return rest or source.read(BLOCK)
        read = source.read(BLOCK)
        if not read:
            return b""


def _parsed(file: TextFile, block: bytes, columns: int, line: int, *, ended: bool) -> tuple[Block, int, int, bool]:
    """The whole lines of a block; how many bytes and lines they are, and whether there are more of them."""
    import numpy as np
    import pyarrow as pa

    from discreet.data.engines.bad_lines import WHY
    from discreet.data.engines.text_lines import gather, split

    data = np.frombuffer(block, np.uint8).copy()
    most = len(block) // columns + 2  # a row has a byte for each of its columns
    starts, ends = np.empty((most, columns), np.int32), np.empty((most, columns), np.int32)
    wrong = np.empty((AT_ONCE, 2), np.int64)
    separator, quote = ord(file.separator or ","), -1 if file.quote is None else ord(file.quote)
    rows, used, lines, bad = split(
        data, data.size, ended, separator, quote, columns, file.multiline, starts, ends, wrong
    ).tolist()
    made, text, valid = [], np.empty(data.size, np.uint8), np.empty(rows, np.uint8)
    for column in range(columns):
        offsets = np.empty(rows + 1, np.int32)
        gather(data, starts, ends, column, rows, offsets, text, valid)
        bits = pa.py_buffer(np.packbits(valid, bitorder="little"))
        letters = pa.py_buffer(text[: offsets[-1]].tobytes())
        made.append(pa.Array.from_buffers(pa.string(), rows, [bits, pa.py_buffer(offsets), letters]))
    told = [(line + place, WHY[why]) for place, why in wrong[:bad].tolist()]
    return (made, rows, told), used, lines, bad == AT_ONCE


def _parsed_json(file: TextFile, block: bytes, columns: int, line: int, *, ended: bool) -> tuple[Block, int, int, bool]:
    """The same for JSON lines."""
    import pyarrow as pa

    from discreet.data.engines.bad_lines import WHY

    assert file.columns is not None
    used = len(block) if ended else block.rfind(b"\n") + 1
    rows, wrong = list[list[str | None]](), list[tuple[int, str]]()
    lines = block[:used].split(b"\n", AT_ONCE)
    rest = lines.pop() if len(lines) > AT_ONCE else b""  # a short line may have many columns
    used -= len(rest)
    for place, one in enumerate(lines):
        if one and one != b"\r":
            found = json_lines.values(one, file.columns)
            if isinstance(found, int):
                wrong.append((line + place, WHY[found]))
            else:
                rows.append(found)
    made = [pa.array([row[place] for row in rows], pa.string()) for place in range(columns)]
    return (made, len(rows), wrong), used, block.count(b"\n", 0, used), bool(rest)
