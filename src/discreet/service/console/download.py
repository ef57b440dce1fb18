"""An answer as a file: the same order under the same key, so that nothing more is charged.

A CSV file has as many bytes as its numbers have digits, and blanks in it would be read as something.  So it travels in
a gzip wrapper, which every browser takes off, with a comment in its head that fills it up: the length of what is
encrypted tells no digit, and the file has nothing in it but its rows.
"""

from __future__ import annotations

import csv
import io
import struct
import zlib

from starlette.responses import Response

from discreet.service.console import forms
from discreet.service.console.datasets import KINDS, attachment
from discreet.service.console.page import listed
from discreet.service.console.visit import Visit

WIDEST = 26  # characters of a number, as in `discreet.service.wire`
BLOCK = 1024  # bytes
PADDING = "Discreet-Padding"  # the API's own, for forms that are not text
COMMENT = b"\x1f\x8b\x08\x10\x00\x00\x00\x00\x00\xff"  # a gzip head with a comment, and no time and no machine
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet would compute


async def download(visit: Visit) -> Response:
    """The answer in the form that was chosen."""
    kind = visit.form.get("format", "csv")
    accept = KINDS[kind] if kind in ("parquet", "arrow") else "application/json"
    body, key = forms.question(visit.form), visit.form.get("key", "")
    if not key:
        raise forms.refused("an answer is downloaded from the page that shows it")
    reply = await visit.api.call("POST", "/v1/ask", body=body, key=key, accept=accept)
    if kind == "csv":
        found = attachment(wrapped(*table(listed(reply.json().get("rows")))), "csv", "answer")
        found.headers["Content-Encoding"] = "gzip"
        return found
    found = attachment(reply.content, kind if kind in KINDS else "json", "answer")
    if PADDING in reply.headers:
        found.headers[PADDING] = reply.headers[PADDING]
    return found


def table(rows: list[dict[str, object]]) -> tuple[bytes, int]:
    r"""Rows as CSV, and by how much the widest numbers would be longer; texts stay texts in a spreadsheet.

    >>> table([{"ward": "=1+1", "n": -12}])
    (b"ward,n\r\n'=1+1,-12\r\n", 23)
    """
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([_plain(name) for name in (rows[0] if rows else [])])
    writer.writerows([_plain(value) for value in row.values()] for row in rows)
    numbers = [value for row in rows for value in row.values() if not isinstance(value, str)]
    return text.getvalue().encode(), sum(max(0, WIDEST - len(_shown(value))) for value in numbers)


def wrapped(content: bytes, more: int) -> bytes:
    """The content in gzip, neither shorter nor longer but for a comment of `more` bytes, and then to whole blocks.

    >>> import gzip
    >>> gzip.decompress(wrapped(b"a,b", 7)), len(wrapped(b"a,b", 7)) == len(wrapped(b"a,bcd", 5))
    (b'a,b', True)
    """
    packer = zlib.compressobj(0, zlib.DEFLATED, -zlib.MAX_WBITS)  # as it is: packing would tell what it packs
    packed = packer.compress(content) + packer.flush()
    tail = struct.pack("<II", zlib.crc32(content), len(content) & 0xFFFFFFFF)
    blocks = -(-(len(content) + more) // 16_384) * 16  # of the stored form, which has a few bytes for each
    wanted = len(COMMENT) + 1 + len(content) + more + blocks + len(tail)
    wanted += -wanted % BLOCK
    comment = b"." * (wanted - len(COMMENT) - 1 - len(packed) - len(tail))
    return COMMENT + comment + b"\x00" + packed + tail


def _plain(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def _shown(value: object) -> str:
    return "" if value is None else str(value)
