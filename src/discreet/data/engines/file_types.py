"""Files of one table whose schemas differ: each is read by its own names and types.

Claim.  A value of the union has the code that it has in its own file, whatever the other files are and whichever comes
first.  Columns that some file lacks are none of the table's.  Types of one column are brought to one that holds every
value of each of them:

    whole numbers                the widest of them, or HUGEINT
    whole numbers and floats     DOUBLE: the nearest double, as a float of that size would be
    decimals, whole numbers      a decimal with the digits of all, up to 38; with floats the nearest double
    days and moments             TIMESTAMP; what lies beyond the years 1 to 9999 becomes their first or last day
    texts, enumerations          text
    nothing but NULL             any type

What cannot be brought together, such as a number and a text, is refused before anything is paid.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from discreet.data.engines.codes import FLOATS, MOMENTS, SMALL, WIDE, nanoseconds, quoted
from discreet.errors import SourceError

NOTHING = '"NULL"'
_WIDTHS = {"TINYINT": 3, "SMALLINT": 5, "INTEGER": 10, "BIGINT": 19, "UTINYINT": 3, "USMALLINT": 5, "UINTEGER": 10,
           "UBIGINT": 20}  # fmt: skip  # digits


def together(parts: Sequence[tuple[str, dict[str, str]]]) -> str:
    """The rows of all parts, each a relation with its physical types, as one relation.

    >>> a = ("a", {"x": "TINYINT", "u": "BIGINT"})
    >>> together([a])
    'a'
    >>> together([a, ("b", {"u": "BIGINT", "x": "REAL"})])
    Traceback (most recent call last):
    discreet.errors.SourceError: column 'x' is of type REAL, TINYINT in the files of one source; write one type
    """
    if len(parts) == 1:
        return parts[0][0]
    shared = [name for name in parts[0][1] if all(name in physical for _, physical in parts)]
    if not shared:
        raise SourceError("the files of the source have no column in common")
    kinds = {name: _common(name, [physical[name] for _, physical in parts]) for name in shared}
    selects = []
    for source, physical in parts:
        made = [f"{_held(quoted(name), physical[name], kinds[name])} AS {quoted(name)}" for name in shared]
        selects.append(f"SELECT {', '.join(made)} FROM {source}")
    return f"({' UNION ALL '.join(selects)})"


def _common(name: str, listed: list[str]) -> str:
    """A type that holds every value of all of these."""
    kinds = set(listed) - {NOTHING}
    if len(kinds) <= 1:
        return kinds.pop() if kinds else NOTHING
    if kinds <= SMALL:
        return "BIGINT"
    if kinds <= SMALL | {"UBIGINT", "HUGEINT"}:
        return "HUGEINT"
    decimals = {kind for kind in kinds if kind.startswith("DECIMAL(")}
    if decimals and kinds - decimals <= set(_WIDTHS):
        sizes = [(_WIDTHS[kind], 0) for kind in kinds - decimals]
        sizes += [(int(width), int(scale)) for kind in decimals for width, scale in [re.findall(r"\d+", kind)]]
        scale = max(scale for _, scale in sizes)
        width = max(width - places for width, places in sizes) + scale
        if width <= 38:
            return f"DECIMAL({width},{scale})"
    if kinds - decimals <= SMALL | WIDE | FLOATS:
        return "DOUBLE"
    if kinds <= MOMENTS | {"DATE", "TIMESTAMPTZ_NS"}:
        return "TIMESTAMP"
    if all(kind in ("VARCHAR", "JSON") or kind.startswith("ENUM(") for kind in kinds):
        return "VARCHAR"
    said = ", ".join(sorted(kinds))
    raise SourceError(f"column {name!r} is of type {said} in the files of one source; write one type", declared=name)


def _held(raw: str, own: str, kind: str) -> str:
    """A column in the type of all files."""
    if own == kind:
        return raw
    if kind == "TIMESTAMP" and own != NOTHING:
        return _moment(raw, own)
    if kind == "DOUBLE" and (own in WIDE or own.startswith("DECIMAL(")):  # a cast is not always to the nearest double
        return f"CAST(CAST({raw} AS VARCHAR) AS DOUBLE)"
    if kind == "DOUBLE" and own == "BIGINT":
        # 2^53 + 1 is nearest to 2^53: two people must not meet there, so it becomes a double that names nobody.
        beyond = f"GREATEST(abs(CAST({raw} AS DOUBLE)), CAST('{2**53 + 2}' AS DOUBLE)) * sign({raw})"
        return f"CASE WHEN {raw} BETWEEN {-(2**53)} AND {2**53} THEN CAST({raw} AS DOUBLE) ELSE {beyond} END"
    return f"CAST({raw} AS {kind})"


def _moment(raw: str, own: str) -> str:
    """A day or a moment, in UTC without a zone; what lies beyond the years 1 to 9999 becomes their first or last."""
    first, last = "0001-01-01 00:00:00", "9999-12-31 23:59:59"
    if own == "DATE":
        first, last = "0001-01-01", "9999-12-31"
    elif own == "TIMESTAMP_NS":
        return f"make_timestamp(epoch_us({raw}))"
    elif own == "TIMESTAMPTZ_NS":
        return f"make_timestamp(epoch_us({nanoseconds(raw)}))"
    zone = "+00" if own.endswith("ZONE") else ""
    low, high = (f"CAST('{end}{zone}' AS {own})" for end in (first, last))
    near = f"CASE WHEN {raw} < {low} THEN {low} WHEN {raw} > {high} THEN {high} ELSE {raw} END"
    return f"make_timestamp(epoch_us({near}))" if own != "DATE" else f"CAST({near} AS TIMESTAMP)"
