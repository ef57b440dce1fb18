"""One line of JSON, one row: the values of the declared names as text.

f(line): a JSON object on one line gives one row.  Numbers keep the digits that were written, truth values are `true`
and `false`, what is missing, null, a list or an object is NULL.  A line that is no object, or that names something
twice, is bad and no row.  Names that are not declared are left out.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from discreet.data.engines.bad_lines import CONTROL, ENCODING, JSON, LONG, LONGEST, MARK


class _Twice(ValueError):
    pass


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise _Twice
    return made


def _no_constant(_: str) -> None:
    raise ValueError


_READ = json.JSONDecoder(object_pairs_hook=_once, parse_float=str, parse_int=str, parse_constant=_no_constant).decode


def values(line: bytes, names: Sequence[str]) -> list[str | None] | int:
    """The values of one line, without its end, or why it is bad.

    >>> values(b'{"age": 1.50, "icu": true, "more": [1]}', ["icu", "age", "more", "name"])
    ['true', '1.50', None, None]
    """
    if len(line) > LONGEST:
        return LONG
    line = line.removeprefix(MARK).removesuffix(b"\r")
    if b"\0" in line:
        return CONTROL
    try:
        found = _READ(line.decode())
        if not isinstance(found, dict):
            return JSON
        made = [_text(found.get(name)) for name in names]
        if b"\\u" in line:  # half a surrogate pair is no text
            written = "".join(value for value in made if value is not None)
            written.encode()
            if "\0" in written:
                return CONTROL
    except UnicodeError:
        return ENCODING
    except (ValueError, RecursionError):
        return JSON
    return made


def _text(value: object) -> str | None:
    if type(value) is str:
        return value or None
    return "true" if value is True else "false" if value is False else None
