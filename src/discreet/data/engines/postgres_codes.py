"""From a raw PostgreSQL column to the integer codes of its declaration: the same codes as `codes.py` defines.

PostgreSQL has no cast that may fail without an error, and integer and float overflow, float underflow, far dates and
text that is no number all raise.  So text is matched before it is cast, inside CASE, whose branches are
computed only where they are chosen; numbers are clamped first; and doubles too small to matter are zero.

    smallint .. bigint, numeric(p, s)   as DuckDB's integers and decimals of that width
    numeric without width, or wider     exact, in PostgreSQL's own decimals; NaN is NULL, infinities clamp
    text, varchar, char(n), name, citext, json, enumerations   as text; char(n) has no trailing spaces
    timestamp with time zone            UTC
"""

from __future__ import annotations

import datetime as dt
import json
import re
from decimal import Decimal

from discreet.data.columns import (
    Boolean,
    Categorical,
    Column,
    Date,
    Identifier,
    Integer,
    Real,
    Text,
    Timestamp,
)
from discreet.data.engines.codes import (
    DAY,
    HUGE,
    INTEGER_TEXT,
    LONGEST,
    MOMENT_TEXT,
    NO,
    NUMBER_TEXT,
    SPACES,
    UTF8_HEX,
    YES,
    Doubles,
    Rounding,
    literal,
    quoted,
    window,
)
from discreet.errors import UnsupportedError

INTEGERS = {"smallint", "integer", "bigint"}
FLOATS = {"real", "double precision"}
TEXTS = {"text", "character varying", "character", "name", "citext", "json", "jsonb", "enum", '"char"'}
MOMENTS = {"timestamp without time zone", "timestamp with time zone"}
FIRST_DAY, LAST_DAY = -62_135_596_800_000_000, 253_402_300_799_999_999  # of the years 1 to 9999, in microseconds
SHORT_NUMBER = "[+-]?([0-9]{1,40}[.]?[0-9]{0,40}|[.][0-9]{1,40})([eE][+-]?[0-9]{1,2})?"
FAR = 60  # decimal places: numbers beyond 10^60 are clamped, numbers below 10^-60 are zero in every step
DIGITS = 1_000  # a decimal half way between two doubles of that range has fewer digits


def code(column: Column, *, name: str, physical: str) -> str:
    """The code of a column, as an expression over the raw column `name` of type `physical`.

    >>> code(Boolean(), name="icu", physical="boolean")
    'CAST(CAST("icu" AS INTEGER) AS BIGINT)'
    """
    raw = quoted(name)
    if physical == "bytea":
        raw, physical = _decoded(raw), "text"
    match column:
        case Integer() | Real():
            made = _number(column, raw, physical)
        case Boolean():
            made = _truth(raw, physical)
        case Categorical():
            made = _category(column, raw, physical)
        case Date() | Timestamp():
            made = _moment(column, raw, physical)
        case Text() | Identifier():
            return _written(column, raw, physical)
        case _:
            raise UnsupportedError(f"a column of type {column.name} has no codes")
    return made or "CAST(NULL AS BIGINT)"


def plain(raw: str) -> str:
    """A raw value as text that is compared byte for byte."""
    return f'(CAST({raw} AS TEXT) COLLATE "C")'


def scale(physical: str) -> tuple[int, int] | None:
    """The width and scale of a decimal type that any engine has."""
    found = re.fullmatch(r"numeric\((\d+),(\d+)\)", physical)
    width, places = (int(found[1]), int(found[2])) if found else (39, 0)
    return (width, places) if places <= width <= 38 else None


def _decoded(raw: str) -> str:
    """Bytes as the text that they are in UTF-8, or NULL."""
    digits = f"encode({raw}, 'hex')"
    return f"CASE WHEN {matches(digits, UTF8_HEX)} THEN convert_from({raw}, 'UTF8') END"


def _trimmed(raw: str) -> str:
    return f"btrim({plain(raw)}, {literal(SPACES)})"


def matches(text: str, pattern: str) -> str:
    """Whether a whole text has that form."""
    return f"{text} ~ '^(?:{pattern})$'"


def _int(value: int) -> str:
    """An integer constant; beyond 64 bits a decimal."""
    if -(1 << 63) < value < 1 << 63:
        return str(value)
    return f"CAST('{value}' AS {'BIGINT' if value == -(1 << 63) else 'NUMERIC'})"


def _float(value: float) -> str:
    return f"CAST('{value!r}' AS DOUBLE PRECISION)"


def _clamp(value: str, low: str, high: str, *, also: str = "") -> str:
    """The value between two constants; NULL stays NULL.  The common case comes first."""
    inside = f"CASE WHEN {value} BETWEEN {low} AND {high} THEN {value}"
    return f"{inside} WHEN {value} < {low} THEN {low} {also}WHEN {value} > {high} THEN {high} END"


def _within(value: str, low: str, high: str) -> str:
    """The same for a value that is neither NULL nor NaN; it is computed once."""
    return f"LEAST(GREATEST({value}, {low}), {high})"


def _number(column: Integer | Real, raw: str, physical: str) -> str | None:
    if physical == "boolean":
        raw, physical = f"CAST({raw} AS INTEGER)", "integer"
    if physical in INTEGERS:
        plan = Rounding.of(column, most=1 << 63)
        clamped = _clamp(f"CAST({raw} AS BIGINT)", _int(plan.first), _int(plan.last))
        return _rounded(column, clamped, plan)
    if physical.startswith("numeric"):
        return _numeric(column, raw, physical)
    if physical in FLOATS:
        value, nan = f"CAST({raw} AS DOUBLE PRECISION)", _float(float("nan"))
        low, high = map(_float, Doubles.of(column).ends)
        return _doubled(column, _clamp(value, low, high, also=f"WHEN {value} = {nan} THEN NULL "))
    if physical in TEXTS:
        return _text_number(column, _trimmed(raw))
    return None


def _rounded(column: Integer | Real, clamped: str, plan: Rounding) -> str:
    """The code of an integer that is clamped already, in 64 bits where they are enough, else in decimals."""
    if plan.largest >= 1 << 63:
        return _exactly(column, f"CAST({clamped} AS NUMERIC)", plan)
    if plan.bottom == 1:
        made = clamped if plan.top == 1 else f"{clamped} * {plan.top}"
    else:
        made = f"({clamped} * {2 * plan.top} + ({plan.shift})) / {2 * plan.bottom} + ({plan.base})"
    return _clamp(made, *map(str, column.codes)) if plan.leaves(column) else made


def _exactly(column: Integer | Real, value: str, plan: Rounding) -> str:
    """The code of a clamped decimal; div() drops the fraction of a quotient that is not negative."""
    raised = f"{value} * {_int(2 * plan.top)} + ({_int(plan.shift)})"
    made = f"div({raised}, {_int(2 * plan.bottom)}) + ({_int(plan.base)})"
    return f"CAST({_clamp(made, *map(str, column.codes))} AS BIGINT)"


def _numeric(column: Integer | Real, raw: str, physical: str) -> str:
    """Exact, but for declared decimals that other engines read as doubles."""
    nan = f"WHEN {raw} = CAST('NaN' AS NUMERIC) THEN NULL "
    if (decimal := scale(physical)) is not None and not _fits(column, *decimal):
        value, (low, high) = f"CAST({raw} AS DOUBLE PRECISION)", map(_float, Doubles.of(column).ends)
        return _doubled(column, _clamp(value, low, high, also=nan))
    plan = Rounding.of(column, most=None)
    return _exactly(column, _clamp(raw, _int(plan.first), _int(plan.last), also=nan), plan)


def _fits(column: Integer | Real, width: int, places: int) -> bool:
    """Whether 128 bits are enough: the rule of `codes.py`."""
    most = 1 << 63 if width <= 18 else HUGE
    return width + places + 1 <= 38 and Rounding.of(column, most=most, scale=places).largest < HUGE


def _doubled(column: Integer | Real, clamped: str) -> str:
    """The rounding in doubles of a value that is clamped already.

    A quotient too small for a double raises; from 10^-200 down the code is that of zero, whatever the step.
    """
    plan = Doubles.of(column)
    made = clamped
    for sign, factor in plan.factors:
        if sign == "/":
            tiny = _float(1e-200)
            made = f"CASE WHEN abs({made}) < {tiny} THEN {_float(0.0)} ELSE {made} END"
        made = f"{made} {sign} {_float(factor)}"
    made = f"CAST(floor({made} + {_float(0.5)}) AS BIGINT)"
    return _clamp(made, *map(str, column.codes)) if plan.leaves else made


def _text_number(column: Integer | Real, text: str) -> str:
    """An integer of at most 18 digits, or else the nearest double to the decimal that is written."""
    plan = Rounding.of(column, most=1 << 63)
    low, high = (f"CAST('{Decimal(end):f}' AS NUMERIC)" for end in Doubles.of(column).ends)

    def doubled(number: str) -> str:
        return _doubled(column, f"CAST({_within(number, low, high)} AS DOUBLE PRECISION)")

    whole = _rounded(column, _within(f"CAST({text} AS BIGINT)", _int(plan.first), _int(plan.last)), plan)
    whole = whole if plan.largest < HUGE else doubled(f"CAST({text} AS NUMERIC)")
    cases = (
        f"WHEN {matches(text, INTEGER_TEXT)} THEN {whole}",
        f"WHEN {matches(text, SHORT_NUMBER)} THEN {doubled(f'CAST({text} AS NUMERIC)')}",
        f"WHEN {matches(text, NUMBER_TEXT)} THEN {doubled(_long_number(text))}",
    )
    return f"CASE {' '.join(cases)} END"


def _long_number(text: str) -> str:
    """Any number as a decimal, however long it is written: 0.d1d2d3... * 10^place, far ones replaced by near ones."""
    written = f"substring({text} FROM '[0-9.]+')"
    whole, fraction = f"split_part({written}, '.', 1)", f"split_part({written}, '.', 2)"
    exponent = f"COALESCE(CAST(substring({text} FROM '[eE]([+-]?[0-9]+)$') AS BIGINT), 0)"
    digits = f"ltrim({whole} || {fraction}, '0')"
    place = f"(length({digits}) - length({fraction}) + {exponent})"
    shown = f"rtrim({digits}, '0')"
    more = f"CASE WHEN length({shown}) > {DIGITS} THEN '1' ELSE '' END"  # the rest is not zero
    near = f"CAST('0.' || left({shown}, {DIGITS}) || {more} || 'e' || {place} AS NUMERIC)"
    size = f"CASE WHEN {digits} = '' OR {place} < -{FAR} THEN 0 WHEN {place} > {FAR} THEN 1e{FAR} ELSE {near} END"
    return f"(CASE WHEN left({text}, 1) = '-' THEN -1 ELSE 1 END * {size})"


def _truth(raw: str, physical: str) -> str | None:
    if physical == "boolean":
        return f"CAST(CAST({raw} AS INTEGER) AS BIGINT)"
    differs = f"CAST(CAST({raw} <> 0 AS INTEGER) AS BIGINT)"
    if physical in INTEGERS:
        return differs
    if physical in FLOATS or physical.startswith("numeric"):
        kind = "NUMERIC" if physical.startswith("numeric") else "DOUBLE PRECISION"
        return f"CASE WHEN {raw} <> CAST('NaN' AS {kind}) THEN {differs} END"
    if physical in TEXTS:
        text = f"lower({_trimmed(raw)})"
        return f"CASE WHEN {text} IN {YES} THEN CAST(1 AS BIGINT) WHEN {text} IN {NO} THEN CAST(0 AS BIGINT) END"
    return None


def _category(column: Categorical, raw: str, physical: str) -> str | None:
    """The position in a JSON object of the declared values: a binary search, and equality byte for byte."""
    text = _integer_text(raw, physical) if isinstance(column.values[0], int) else _text(raw, physical)
    if text is None:
        return None
    positions = {str(value): i for i, value in enumerate(column.values) if _storable(str(value))}
    return f"CAST(CAST({literal(json.dumps(positions))} AS JSONB) ->> {text} AS BIGINT)"


def _storable(value: str) -> bool:
    """Whether PostgreSQL's text can be equal to it at all."""
    return "\x00" not in value and not any(0xD800 <= ord(character) < 0xE000 for character in value)


def _written(column: Text | Identifier, raw: str, physical: str) -> str:
    """A text as it is, byte for byte; NULL where it is longer than declared."""
    most = column.max_bytes if isinstance(column, Text) else LONGEST
    text = _text(raw, physical)
    if text is None:
        return 'CAST(NULL AS TEXT) COLLATE "C"'
    return f"CASE WHEN octet_length({text}) <= {most} THEN {text} END"


def _text(raw: str, physical: str) -> str | None:
    if physical == "date":
        return f"replace({plain(raw)}, ' BC', ' (BC)')"
    return plain(raw) if physical in TEXTS | INTEGERS | {"boolean", "uuid"} else None


def _integer_text(raw: str, physical: str) -> str | None:
    if physical == "boolean":
        return plain(f"CAST({raw} AS INTEGER)")
    if physical in INTEGERS:
        return plain(raw)
    if physical.startswith("numeric"):
        return f"CASE WHEN {raw} = trunc({raw}) THEN {plain(f'trunc({raw})')} END"
    if physical in FLOATS:
        inside = f"{raw} BETWEEN {_float(-(2.0**63))} AND {_float(2.0**63 - 1024)}"
        return f"CASE WHEN {inside} AND {raw} = floor({raw}) THEN {plain(f'CAST({raw} AS BIGINT)')} END"
    if physical in TEXTS:
        text = _trimmed(raw)
        return f"CASE WHEN {matches(text, INTEGER_TEXT)} THEN {plain(f'CAST({text} AS BIGINT)')} END"
    return None


def _moment(column: Date | Timestamp, raw: str, physical: str) -> str | None:
    """Microseconds since 1970, clamped, then whole periods."""
    low = column.codes[0]
    period, first, last = window(column)
    if physical == "date":
        after = last if isinstance(column, Date) else last + DAY
        days = f"CAST({_between(raw, 'DATE', first, after)} - DATE '1970-01-01' AS BIGINT)"
        if isinstance(column, Date):
            return days
        micros = _clamp(f"{days} * {DAY}", str(first), str(last))
    elif physical in MOMENTS:
        kind = "TIMESTAMP" if physical == "timestamp without time zone" else "TIMESTAMP WITH TIME ZONE"
        near = f"extract(epoch FROM {_between(raw, kind, first, last)})"
        micros = _clamp(f"CAST({near} * 1000000 AS BIGINT)", str(first), str(last))
    elif physical in TEXTS:
        micros = _text_moment(_trimmed(raw), first, last)
    else:
        return None
    return f"({micros} - ({low * period})) / {period} + ({low})"


def _between(raw: str, kind: str, first: int, last: int) -> str:
    """The value clamped in its own type: infinite and far dates become finite and near."""
    ends = []
    for bound in (first, last):
        moment = dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=min(max(bound, FIRST_DAY), LAST_DAY))
        text = moment.date().isoformat() if kind == "DATE" else moment.isoformat(sep=" ")
        ends.append(f"CAST('{text}{'+00' if kind.endswith('ZONE') else ''}' AS {kind})")
    return _clamp(raw, *ends)


def _offset(text: str) -> str:
    """The microseconds by which the clock of a text is ahead of UTC; `codes._offset` in this engine's words."""
    zone = f"replace(COALESCE(substring({text} FROM ':[0-9.]+ ?([+-][0-9:]+)$'), ''), ':', '')"
    hours, minutes, seconds = (f"CAST(substr(rpad({zone}, 7, '0'), {start}, 2) AS BIGINT)" for start in (2, 4, 6))
    ahead = f"CASE substr({zone}, 1, 1) WHEN '+' THEN 1000000 WHEN '-' THEN -1000000 ELSE 0 END"
    return f"{ahead} * ({hours} * 3600 + {minutes} * 60 + {seconds})"


def _text_moment(text: str, first: int, last: int) -> str:
    """Read by position: casts would take more, raise, or refuse the year 0.  Years repeat after 400, 146097 days."""

    def digits(start: int, length: int) -> str:
        return f"CAST(substr({text}, {start}, {length}) AS INTEGER)"

    year, month, day = digits(1, 4), digits(6, 2), digits(9, 2)
    timed = f"length({text}) > 10"
    hour, minute = (f"CASE WHEN {timed} THEN {digits(start, 2)} ELSE 0 END" for start in (12, 15))
    second = f"CASE WHEN substr({text}, 17, 1) = ':' THEN {digits(18, 2)} ELSE 0 END"
    micros = f"CAST(rpad(COALESCE(substring({text} FROM '[.]([0-9]{{1,6}})'), ''), 6, '0') AS INTEGER)"
    leap = f"({year} % 4 = 0 AND ({year} % 100 <> 0 OR {year} % 400 = 0))"
    february = f"CASE WHEN {leap} THEN 29 ELSE 28 END"
    length = f"CASE WHEN {month} IN (4, 6, 9, 11) THEN 30 WHEN {month} = 2 THEN {february} ELSE 31 END"
    clock = f"({hour} < 24 OR {hour} = 24 AND {minute} = 0 AND {second} = 0 AND {micros} = 0)"
    valid = f"{month} BETWEEN 1 AND 12 AND {day} BETWEEN 1 AND {length} AND {minute} < 60 AND {second} < 60 AND {clock}"
    days = f"CAST(make_date({year} + 400, {month}, {day}) - DATE '1970-01-01' - 146097 AS BIGINT)"
    seconds = f"CAST(({hour}) * 3600 + ({minute}) * 60 + ({second}) AS BIGINT)"
    moment = f"{days} * {DAY} + {seconds} * 1000000 + {micros} - {_offset(text)}"
    guarded = f"CASE WHEN {valid} THEN {_within(moment, str(first), str(last))} END"
    return f"CASE WHEN {matches(text, MOMENT_TEXT)} THEN {guarded} END"
