"""From a raw column of any physical type to the integer codes of its declaration, in DuckDB's SQL.

Claim.  For every declared type, every physical type and every value, the expression gives a code
within `Column.codes` or NULL, and never raises: what is computed is first clamped to the bounds, so that no
product can overflow, and casts that can fail are TRY_CASTs.  It is a function of the one value.

    number        floor(v / step + 1/2) of the value clamped to the bounds
        integers, decimals   exact, in 64 or 128 bits
        floats               floor(w * b / a + 1/2) in IEEE doubles, where w is the clamped value and step = a / b;
                             NaN is NULL, infinities clamp
        text                 read as an integer of at most 18 digits, or else as a double; other text is NULL
    truth value   0 is false, any other number true; text t, true, y, yes, 1 or f, false, n, no, 0 in any case
    category      text that is equal byte for byte; integers, truth values and days by their usual text
    day, moment   dates and timestamps (with time zone: UTC); text YYYY-MM-DD [hh:mm[:ss[.ffffff]]]

Decimals are exact where bounds, step and scale fit in 128 bits together; where they do not, which is
known from the declaration, they are read as doubles.  A physical type that cannot hold the declared
one (a number in a column of dates) is NULL throughout.
"""

from __future__ import annotations

import datetime as dt
import math
import re

from discreet.data.columns import Boolean, Categorical, Column, Date, Integer, Real, Timestamp
from discreet.errors import UnsupportedError

SMALL = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}  # all fit in BIGINT
WIDE = {"UBIGINT", "HUGEINT", "UHUGEINT"}
FLOATS = {"FLOAT", "DOUBLE"}
MOMENTS = {"TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE"}
HUGE = (1 << 127) - 1
DAY = 86_400_000_000  # microseconds
INTEGER_TEXT = "[+-]?[0-9]{1,18}"
NUMBER_TEXT = "[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]{1,9})?"
MOMENT_TEXT = "[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?Z?)?"


def quoted(name: str) -> str:
    """A name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(value: str) -> str:
    """A text in SQL."""
    return "'" + value.replace("'", "''") + "'"


def code(column: Column, *, name: str, physical: str) -> str:
    """The code of a column, as an expression over the raw column `name` of type `physical`.

    >>> code(Boolean(), name="icu", physical="SMALLINT")
    'CAST("icu" <> 0 AS BIGINT)'
    """
    raw = quoted(name)
    if physical.startswith("ENUM"):
        raw, physical = f"CAST({raw} AS VARCHAR)", "VARCHAR"
    elif physical in ("JSON", "BIGNUM"):
        raw, physical = f"TRY_CAST({raw} AS VARCHAR)", "VARCHAR"
    match column:
        case Integer() | Real():
            made = _number(column, raw, physical)
        case Boolean():
            made = _truth(raw, physical)
        case Categorical():
            made = _category(column, raw, physical)
        case Date() | Timestamp():
            made = _moment(column, raw, physical)
        case _:
            raise UnsupportedError(f"a column of type {column.name} has no codes; it can only name a unit")
    return made or "CAST(NULL AS BIGINT)"


def _scale(physical: str) -> tuple[int, int] | None:
    """The width and scale of a decimal type."""
    found = re.fullmatch(r"DECIMAL\((\d+),\s*(\d+)\)", physical)
    return (int(found[1]), int(found[2])) if found else None


def _number(column: Integer | Real, raw: str, physical: str) -> str | None:
    if physical == "BOOLEAN":
        raw, physical = f"CAST({raw} AS INTEGER)", "INTEGER"
    if physical in SMALL:
        return _exactly(column, f"CAST({raw} AS BIGINT)", most=1 << 63)
    if physical in WIDE:
        whole = f"TRY_CAST({raw} AS HUGEINT)"
        if physical == "UHUGEINT":  # above the range of HUGEINT
            whole = f"CASE WHEN {raw} IS NOT NULL THEN COALESCE({whole}, {HUGE}) END"
        return _exactly(column, whole, most=HUGE) or _double(column, raw)
    if (decimal := _scale(physical)) is not None:
        return _decimal(column, raw, *decimal)
    if physical in FLOATS:
        return _double(column, raw)
    if physical == "VARCHAR":
        text = f"trim({raw})"
        whole = _exactly(column, f"TRY_CAST({text} AS BIGINT)", most=1 << 63)
        whole = whole or _double(column, text)
        cases = f"WHEN regexp_full_match({text}, '{INTEGER_TEXT}') THEN {whole}"
        return f"CASE {cases} WHEN regexp_full_match({text}, '{NUMBER_TEXT}') THEN {_double(column, text)} END"
    return None


def _exactly(column: Integer | Real, whole: str, *, most: int, scale: int = 0) -> str | None:
    """floor(whole / 10^scale / step + 1/2) in integers, or None where 128 bits are not enough.

    `whole` is clamped to the integers around the bounds, first .. last; with v / step = whole * top / bottom
    the code is (2 * whole * top + bottom - 2 * bottom * base) // (2 * bottom) + base, where base is the
    code of `first`: no dividend is negative.  Then it is clamped to the codes.
    """
    low, high = column.codes
    ratio = 1 / (column.step * 10**scale)
    top, bottom = ratio.numerator, ratio.denominator
    first, last = (min(max(bound, -most), most - 1) for bound in (low * bottom // top, -(-high * bottom // top)))
    base = (2 * first * top + bottom) // (2 * bottom)
    largest = 2 * max(abs(first), abs(last)) * top + bottom + 2 * bottom * abs(base)
    if largest >= HUGE:
        return None
    clamped = _clamp(whole, first, last)
    if largest >= 1 << 63:
        clamped = f"CAST({clamped} AS HUGEINT)"
    if bottom == 1:
        made = clamped if top == 1 else f"{clamped} * {top}"
    else:
        made = f"({clamped} * {2 * top} + {bottom - 2 * bottom * base}) // {2 * bottom} + {base}"
    ends = [(2 * bound * top + bottom) // (2 * bottom) for bound in (first, last)]
    if ends[0] < low or ends[1] > high:  # the bounds lie between two values of this type
        made = _clamp(made, low, high)
    return f"CAST({made} AS BIGINT)" if most > 1 << 63 or largest >= 1 << 63 else made


def _clamp(value: str, low: object, high: object, *, also: str = "") -> str:
    """The value between two constants; NULL stays NULL.  The common case comes first."""
    inside = f"CASE WHEN {value} BETWEEN {low} AND {high} THEN {value}"
    return f"{inside} WHEN {value} < {low} THEN {low} {also}WHEN {value} > {high} THEN {high} END"


def _decimal(column: Integer | Real, raw: str, width: int, scale: int) -> str:
    """Through the integer raw * 10^scale, which has `width` digits."""
    if width + scale + 1 > 38:
        return _double(column, raw)
    kind, most = ("BIGINT", 1 << 63) if width <= 18 else ("HUGEINT", HUGE)
    value = raw if width + scale < 18 else f"CAST({raw} AS DECIMAL(38, {scale}))"  # products keep 18 digits or 38
    product = f"{value} * CAST({10**scale} AS DECIMAL({scale + 1}, 0))" if scale else raw
    return _exactly(column, f"CAST({product} AS {kind})", most=most, scale=scale) or _double(column, raw)


def _double(column: Integer | Real, raw: str) -> str:
    """floor(w * b / a + 1/2) in doubles; |w * b / a| < 2^63, so that the cast cannot fail.

    IEEE products, quotients, sums and floors are monotone, so all codes lie between those of the two ends.
    """
    low, high = column.codes
    value = f"CAST({raw} AS DOUBLE)" if raw.startswith('"') else f"TRY_CAST({raw} AS DOUBLE)"
    ends = [float(low * column.step), float(high * column.step)]
    made = _clamp(value, *map(_float, ends), also=f"WHEN isnan({value}) THEN NULL ")
    for sign, factor in (("*", column.step.denominator), ("/", column.step.numerator)):
        if factor != 1:
            made = f"{made} {sign} {_float(float(factor))}"
            ends = [end * factor if sign == "*" else end / float(factor) for end in ends]
    made = f"CAST(floor({made} + {_float(0.5)}) AS BIGINT)"
    if not low <= math.floor(ends[0] + 0.5) <= math.floor(ends[1] + 0.5) <= high:
        made = _clamp(made, low, high)
    return made


def _float(value: float) -> str:
    return f"CAST('{value!r}' AS DOUBLE)"


def _truth(raw: str, physical: str) -> str | None:
    if physical == "BOOLEAN":
        return f"CAST({raw} AS BIGINT)"
    if physical in SMALL | WIDE or _scale(physical):
        return f"CAST({raw} <> 0 AS BIGINT)"
    if physical in FLOATS:
        return f"CASE WHEN NOT isnan({raw}) THEN CAST({raw} <> 0 AS BIGINT) END"
    if physical == "VARCHAR":
        text = f"lower(trim({raw}))"
        yes, no = "('t', 'true', 'y', 'yes', '1')", "('f', 'false', 'n', 'no', '0')"
        return f"CASE WHEN {text} IN {yes} THEN CAST(1 AS BIGINT) WHEN {text} IN {no} THEN CAST(0 AS BIGINT) END"
    return None


def _category(column: Categorical, raw: str, physical: str) -> str | None:
    """The position in an enumeration of the declared values: a hash table, and equality byte for byte."""
    text = _integer_text(raw, physical) if isinstance(column.values[0], int) else _text(raw, physical)
    if text is None:
        return None
    values = ", ".join(literal(str(value)) for value in column.values)
    return f"CAST(enum_code(TRY_CAST({text} AS ENUM({values}))) AS BIGINT)"


def _text(raw: str, physical: str) -> str | None:
    if physical == "VARCHAR":
        return raw
    return f"CAST({raw} AS VARCHAR)" if physical in SMALL | WIDE | {"BOOLEAN", "DATE", "UUID"} else None


def _integer_text(raw: str, physical: str) -> str | None:
    if physical == "BOOLEAN":
        return f"CAST(CAST({raw} AS INTEGER) AS VARCHAR)"
    if physical in SMALL | WIDE:
        return f"CAST({raw} AS VARCHAR)"
    if (decimal := _scale(physical)) is not None:
        return f"regexp_extract(CAST({raw} AS VARCHAR), '^(-?[0-9]+){'[.]0+' if decimal[1] else ''}$', 1)"
    if physical in FLOATS:
        return f"CASE WHEN {raw} = floor({raw}) THEN CAST(TRY_CAST({raw} AS BIGINT) AS VARCHAR) END"
    if physical == "VARCHAR":
        match = f"regexp_full_match(trim({raw}), '{INTEGER_TEXT}')"
        return f"CASE WHEN {match} THEN CAST(TRY_CAST(trim({raw}) AS BIGINT) AS VARCHAR) END"
    return None


def _moment(column: Date | Timestamp, raw: str, physical: str) -> str | None:
    """Microseconds since 1970, clamped, then whole periods."""
    low, high = column.codes
    if isinstance(column, Date):
        period, first, last = DAY, low * DAY, (high + 1) * DAY - 1
    else:
        period, first, last = column.period * 1_000_000, _microseconds(column.low), _microseconds(column.high)
    if physical == "DATE":
        after = last if isinstance(column, Date) else last + DAY
        days = f"CAST({_between(raw, 'DATE', first, after)} - DATE '1970-01-01' AS BIGINT)"
        if isinstance(column, Date):
            return days
        micros = f"{days} * {DAY}"
    elif physical in MOMENTS:
        micros = f"epoch_us({_between(raw, physical, first, last)})"
    elif physical == "VARCHAR":
        text = f"trim({raw})"
        raw = f"CASE WHEN regexp_full_match({text}, '{MOMENT_TEXT}') THEN TRY_CAST({text} AS TIMESTAMP) END"
        micros = f"epoch_us({_between(raw, 'TIMESTAMP', first, last)})"
    else:
        return None
    return f"({_clamp(micros, first, last)} - {low * period}) // {period} + {low}"


def _microseconds(moment: dt.datetime) -> int:
    return (moment - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1)


def _between(raw: str, physical: str, first: int, last: int) -> str:
    """The value clamped in its own type: infinite and far dates become finite and near."""
    nanoseconds = physical == "TIMESTAMP_NS"  # these reach from 1677 to 2262 only
    ends = []
    for bound in (first, last):
        year = 9_223_372_036_000_000 if nanoseconds else 253_402_300_799_999_999
        least = -9_223_372_036_000_000 if nanoseconds else -62_135_596_800_000_000
        moment = dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=min(max(bound, least), year))
        text = moment.date().isoformat() if physical == "DATE" else moment.isoformat(sep=" ")
        zone = "+00" if physical.endswith("ZONE") else ""
        ends.append(f"CAST('{text}{zone}' AS {physical})")
    return _clamp(raw, *ends)
