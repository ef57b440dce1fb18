"""One line of text, one row: where its fields begin and end.

f(line), for the bytes of a physical line, which ends with a line feed or with the file:

    a byte order mark before it is no part of it, whichever line it is: of two files that were put together, and of one
        whose first line somebody took away, every line is what it was
    a carriage return before the line feed belongs to the end of the line; an empty line is no row
    a field that begins with the quote ends at the next quote that is not doubled, and a doubled one stands for one;
    what follows must be a separator or the end; in a field that does not begin with it the quote is any character
    an empty field, quoted or not, is NULL
    a line is bad, and no row, if a quote is open at its end or text follows a closing one, if it has more or fewer
    fields than there are columns, another carriage return, a zero byte, bytes that are no UTF-8, or is too long

The state of the loop is set anew at each line, so that f depends on the bytes of the line alone; `fields` is the same
function line by line in Python, which the tests hold against it.
"""

# ruff: noqa: ANN001, ANN201 - compiled functions are typed by their signatures

from __future__ import annotations

import numba
import numpy as np

from discreet.data.engines.bad_lines import AFTER, CONTROL, ENCODING, FEW, LONG, LONGEST, MANY, MARK, OPEN
from discreet.data.engines.kernels import compiled


def fields(line: bytes, separator: str, quote: str | None) -> list[str | None] | int:
    """The fields of one line, without its end, or why it is bad; None for an empty field.

    >>> fields(b'1,"a ""b"", c",', ",", '"')
    ['1', 'a "b", c', None]
    >>> fields(b'1,"abc', ",", '"') == OPEN
    True
    """
    if len(line) > LONGEST:
        return LONG
    line = line.removeprefix(MARK).removesuffix(b"\r")
    if b"\r" in line or b"\0" in line:
        return CONTROL
    try:
        rest: str | None = line.decode()
    except UnicodeDecodeError:
        return ENCODING
    found = list[str | None]()
    while rest is not None:
        if quote is not None and rest.startswith(quote):
            value, rest = "", rest[1:]
            while True:
                before, closing, rest = rest.partition(quote)
                if not closing:
                    return OPEN
                value += before
                if not rest.startswith(quote):
                    break
                value, rest = value + quote, rest[1:]
            if rest and not rest.startswith(separator):
                return AFTER
            rest = rest[1:] if rest else None
        else:
            value, closing, rest = rest.partition(separator)
            rest = rest if closing else None
        found.append(value or None)
    return found


@compiled("boolean(uint8[::1], int64, int64)")
def is_utf8(data, first, last):
    """Whether these bytes are well-formed UTF-8 (Unicode, table 3-7)."""
    i = first
    while i < last:
        b = data[i]
        i += 1
        if b < 0x80:
            continue
        low, high = np.uint8(0x80), np.uint8(0xBF)
        if 0xC2 <= b <= 0xDF:
            more = 1
        elif 0xE0 <= b <= 0xEF:
            more = 2
            if b == 0xE0:
                low = np.uint8(0xA0)
            elif b == 0xED:
                high = np.uint8(0x9F)
        elif 0xF0 <= b <= 0xF4:
            more = 3
            if b == 0xF0:
                low = np.uint8(0x90)
            elif b == 0xF4:
                high = np.uint8(0x8F)
        else:
            return False
        if i + more > last or data[i] < low or data[i] > high:
            return False
        for k in range(i + 1, i + more):
            if data[k] < 0x80 or data[k] > 0xBF:
                return False
        i += more
    return True


@compiled("int64(uint8[::1], int64, int64, int64, int64)")
def end_of_record(data, first, size, separator, quote):
    """The line feed that ends a record whose quoted values may span lines, or `size`."""
    i, begins, inside = first, True, False
    while i < size:
        b = data[i]
        if inside:
            if b == quote:
                if i + 1 < size and data[i + 1] == quote:
                    i += 1
                else:
                    inside = False
        elif b == 10:
            return i
        elif begins and b == quote:
            inside = True
        begins = not inside and b == separator
        i += 1
    return size


@compiled(numba.int64[::1](
    numba.uint8[::1], numba.int64, numba.boolean, numba.int64, numba.int64, numba.int64, numba.boolean,
    numba.int32[:, ::1], numba.int32[:, ::1], numba.int64[:, ::1],
))  # fmt: skip
def split(data, size, ended, separator, quote, columns, multiline, starts, ends, bad):
    """The fields of the lines of a block, and (rows, bytes that were read, lines, bad lines).

    Field j of row r is data[starts[r, j]:ends[r, j]]; doubled quotes are made one in place.  bad[k] is a line's number,
    from 0, and why it is bad.  What is read ends with the last whole line; with `ended`, with the block.  It stops
    early where `bad` is full.
    """
    rows, lines, wrong, i = 0, 0, 0, 0
    while i < size and wrong < bad.shape[0]:
        begin, first, why, high = i, i, 0, False
        if size - i >= 3 and data[i] == 0xEF and data[i + 1] == 0xBB and data[i + 2] == 0xBF:
            first += 3
        if multiline:
            end = end_of_record(data, first, size, separator, quote)
            for k in range(first, end):
                high |= data[k] >= 0x80
                if data[k] == 0:
                    why = CONTROL
        else:
            end = first
            while end < size and data[end] != 10:
                b = data[end]
                high |= b >= 0x80
                if b == 0 or (b == 13 and end + 1 < size and data[end + 1] != 10):
                    why = CONTROL
                end += 1
        if end == size and not ended:
            break
        i = end + 1
        line = lines
        lines += 1
        if multiline:
            for k in range(first, end):
                lines += data[k] == 10
        if end - begin > LONGEST:
            why = LONG
        if end > first and data[end - 1] == 13:
            end -= 1
        if end == first:
            continue
        if why == 0 and high and not is_utf8(data, first, end):
            why = ENCODING
        place, at = 0, first
        while why == 0:
            if place == columns:
                why = MANY
                break
            starts[rows, place] = at
            if at < end and data[at] == quote:
                at += 1
                starts[rows, place] = at
                put, closed = at, False
                while at < end:
                    b = data[at]
                    at += 1
                    if b == quote:
                        if at < end and data[at] == quote:
                            at += 1
                        else:
                            closed = True
                            break
                    data[put] = b
                    put += 1
                if not closed:
                    why = OPEN
                    break
                ends[rows, place] = put
                if at < end and data[at] != separator:
                    why = AFTER
                    break
            else:
                while at < end and data[at] != separator:
                    if data[at] == 13:  # in a record of several lines: within quotes alone
                        why = CONTROL
                    at += 1
                ends[rows, place] = at
            place += 1
            if at == end:
                break
            at += 1
        if why == 0 and place < columns:
            why = FEW
        if why == 0:
            rows += 1
        else:
            bad[wrong, 0], bad[wrong, 1] = line, why
            wrong += 1
    return np.array([rows, min(i, size), lines, wrong])


@compiled("void(uint8[::1], int32[:, ::1], int32[:, ::1], int64, int64, int32[::1], uint8[::1], uint8[::1])")
def gather(data, starts, ends, column, rows, offsets, text, valid):
    """One column as Arrow has it: offsets, bytes, and a byte for each value that tells whether it is there."""
    used = 0
    offsets[0] = 0
    for r in range(rows):
        for k in range(starts[r, column], ends[r, column]):
            text[used] = data[k]
            used += 1
        valid[r] = ends[r, column] > starts[r, column]
        offsets[r + 1] = used
