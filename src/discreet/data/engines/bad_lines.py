"""Why a line of text is no row."""

from __future__ import annotations

LONGEST = 4 << 20  # bytes of a line
MARK = b"\xef\xbb\xbf"  # of byte order in UTF-8
WHY = (
    "",
    "a quote is open at its end",
    "text follows a closing quote",
    "too few fields",
    "too many fields",
    "a carriage return or a zero byte within",
    "bytes that are no text in this encoding",
    "longer than 4 MiB",
    "no JSON object, or one with a name twice",
)
OPEN, AFTER, FEW, MANY, CONTROL, ENCODING, LONG, JSON = range(1, 9)
