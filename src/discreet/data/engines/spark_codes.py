"""The codes of `codes.py` in Spark's SQL: the same integer for the same value, whatever the session's settings.

Claim.  For every declared type, every Spark type and every value, the expression gives a code within
`Column.codes` or NULL, and never raises, with `spark.sql.ansi.enabled` on or off and in any session time zone:

    arithmetic    is in 64 bits after clamping, or in DECIMAL(38, 0) below 10^37, so that nothing overflows
    casts         that can fail are TRY_CASTs, and none reads a text that its pattern has not passed
    constants     are plain numbers, or texts without a character that a setting could read in another way
    moments       are days and microseconds taken apart by functions that ask for no time zone

Where exact arithmetic would need between 37 and 39 digits, which is known from the declaration, Spark has no
type for it and the column is refused; beyond that every engine reads the nearest double.
"""

from __future__ import annotations

import re

from discreet.data.columns import Boolean, Categorical, Column, Date, Identifier, Integer, Real, Text, Timestamp
from discreet.data.engines import codes
from discreet.data.engines.codes import DAY, HUGE, Doubles, Rounding
from discreet.errors import DomainError, UnsupportedError

WHOLE = {"tinyint", "smallint", "int", "bigint"}
FLOATS = {"float", "double"}
MOST = 10**37  # DECIMAL(38, 0) holds what is smaller, and twice it
END = "(?!(?s:.))"  # the end of a text; $ would also match before a last line feed
PLAIN = re.compile(r"[A-Za-z0-9 _.,:+*/=<>()\[\]?!|^-]*")


def quoted(name: str) -> str:
    """A name in Spark's SQL."""
    return "`" + name.replace("`", "``") + "`"


def literal(value: str) -> str:
    """A text in Spark's SQL, the same under every setting of the parser.

    >>> literal("ward"), literal("it's")
    ("'ward'", "CAST(X'69742773' AS STRING)")
    """
    return (
        f"'{value}'"
        if PLAIN.fullmatch(value)
        else f"CAST(X'{value.encode(errors='surrogatepass').hex().upper()}' AS STRING)"
    )


def decimal(physical: str) -> tuple[int, int] | None:
    """The width and scale of a decimal type."""
    found = re.fullmatch(r"decimal\((\d+),\s*(-?\d+)\)", physical)
    return (int(found[1]), int(found[2])) if found else None


def is_text(physical: str) -> bool:
    """Whether a type is text of any length or collation."""
    return physical.startswith(("string", "varchar", "char"))


def bytewise(raw: str, physical: str) -> str:
    """A text that is compared byte for byte, whatever the collation of its column."""
    return f"({raw} COLLATE UTF8_BINARY)" if "collate" in physical.lower() else raw


def code(column: Column, *, name: str, physical: str) -> str:
    """The code of a column, as an expression over the raw column `name` of type `physical`.

    >>> code(Boolean(), name="icu", physical="smallint")
    'CAST(`icu` <> 0 AS BIGINT)'
    """
    raw = quoted(name)
    if is_text(physical):
        raw, physical = bytewise(raw, physical), "string"
    elif physical == "binary":
        text = matches(f"lower(hex({raw}))", codes.UTF8_HEX)
        raw, physical = f"CASE WHEN {text} THEN CAST({raw} AS STRING) END", "string"
    match column:
        case Integer() | Real():
            made = _number(column, raw, physical, name)
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


def matches(text: str, pattern: str) -> str:
    """Whether a whole text has that form."""
    return f"{text} RLIKE '^(?:{pattern}){END}'"


def trimmed(raw: str) -> str:
    """Without the spaces around it."""
    return f"trim(BOTH {literal(codes.SPACES)} FROM {raw})"


def clamped(value: str, low: object, high: object, *, also: str = "") -> str:
    """The value between two constants; NULL stays NULL."""
    inside = f"CASE WHEN {value} BETWEEN {low} AND {high} THEN {value}"
    return f"{inside} WHEN {value} < {low} THEN {low} {also}WHEN {value} > {high} THEN {high} END"


def _number(column: Integer | Real, raw: str, physical: str, name: str) -> str | None:
    if physical in WHOLE | {"boolean"}:
        return _exactly(column, f"CAST({raw} AS BIGINT)", name=name) or _double(column, f"CAST({raw} AS STRING)")
    if (size := decimal(physical)) is not None:
        return _decimal(column, raw, *size, name=name)
    if physical in FLOATS:
        return _double(column, raw)
    if physical == "string":
        text = trimmed(raw)
        whole = _exactly(column, f"TRY_CAST({text} AS BIGINT)", name=name) or _double(column, text)
        cases = f"WHEN {matches(text, codes.INTEGER_TEXT)} THEN {whole}"
        return f"CASE {cases} WHEN {matches(text, codes.NUMBER_TEXT)} THEN {_double(column, text)} END"
    return None


def _exactly(column: Integer | Real, whole: str, *, name: str, wide: bool = False, scale: int = 0) -> str | None:
    """The rounding in integers, or None where every engine takes doubles.  `whole` is a BIGINT or DECIMAL(38, 0)."""
    plan = Rounding.of(column, most=HUGE if wide else 1 << 63, scale=scale)
    if plan.largest >= HUGE:
        return None
    if plan.largest >= MOST:
        raise DomainError(f"column {name!r} needs more than 37 digits for its bounds and step; declare a coarser step")
    big = wide or plan.largest >= 1 << 63

    def constant(value: int) -> str:
        return f"CAST('{value}' AS DECIMAL(38,0))" if big else f"{value}L"

    value = f"CAST({whole} AS DECIMAL(38,0))" if big else whole
    made = clamped(value, constant(plan.first), constant(plan.last))
    if plan.bottom == 1:
        made = made if plan.top == 1 else f"{made} * {constant(plan.top)}"
        made = f"CAST({made} AS BIGINT)" if big else made
    else:
        made = f"({made} * {constant(2 * plan.top)} + {constant(plan.shift)})"
        made = f"({made} DIV {constant(2 * plan.bottom)}) + {plan.base}L"
    return clamped(made, *(f"{bound}L" for bound in column.codes)) if plan.leaves(column) else made


def _decimal(column: Integer | Real, raw: str, width: int, scale: int, *, name: str) -> str:
    """Through the integer raw * 10^scale, which has `width` digits."""
    if scale < 0 or width + scale + 1 > 38:
        return _double(column, f"CAST({raw} AS STRING)")
    wide = width > 18
    product = f"{raw} * CAST('{10**scale}' AS DECIMAL({scale + 1},0))" if scale else raw
    whole = f"CAST({product} AS {'DECIMAL(38,0)' if wide else 'BIGINT'})"
    made = _exactly(column, whole, name=name, wide=wide, scale=scale)
    return made or _double(column, f"CAST({raw} AS STRING)")


def _double(column: Integer | Real, raw: str) -> str:
    """The rounding in doubles."""
    plan = Doubles.of(column)
    value = f"TRY_CAST({raw} AS DOUBLE)"
    made = clamped(value, *map(_float, plan.ends), also=f"WHEN isnan({value}) THEN NULL ")
    for sign, factor in plan.factors:
        made = f"{made} {sign} {_float(factor)}"
    made = f"floor({made} + {_float(0.5)})"
    return clamped(made, *(f"{bound}L" for bound in column.codes)) if plan.leaves else made


def _float(value: float) -> str:
    return f"CAST('{value!r}' AS DOUBLE)"


def _truth(raw: str, physical: str) -> str | None:
    if physical == "boolean":
        return f"CAST({raw} AS BIGINT)"
    if physical in WHOLE or decimal(physical):
        return f"CAST({raw} <> 0 AS BIGINT)"
    if physical in FLOATS:
        return f"CASE WHEN NOT isnan({raw}) THEN CAST({raw} <> 0 AS BIGINT) END"
    if physical == "string":
        text = f"lower({trimmed(raw)})"
        return f"CASE WHEN {text} IN {codes.YES} THEN 1L WHEN {text} IN {codes.NO} THEN 0L END"
    return None


def _category(column: Categorical, raw: str, physical: str) -> str | None:
    """The position in an array of the declared values, byte for byte."""
    text = _integer_text(raw, physical) if isinstance(column.values[0], int) else _text(raw, physical)
    if text is None:
        return None
    values = ", ".join(literal(str(value)) for value in column.values)
    return f"nullif(array_position(array({values}), {text}), 0L) - 1L"


def _text(raw: str, physical: str) -> str | None:
    if physical == "string":
        return raw
    return f"CAST({raw} AS STRING)" if physical in WHOLE | {"boolean", "date"} else None


def _written(column: Text | Identifier, raw: str, physical: str) -> str:
    """A text as it is, byte for byte; NULL where it is longer than declared."""
    most = column.max_bytes if isinstance(column, Text) else codes.LONGEST
    text = _text(raw, physical)
    return "CAST(NULL AS STRING)" if text is None else f"CASE WHEN octet_length({text}) <= {most} THEN {text} END"


def _integer_text(raw: str, physical: str) -> str | None:
    """The digits of a value that is an integer."""
    if physical in WHOLE | {"boolean"}:
        return f"CAST(CAST({raw} AS BIGINT) AS STRING)"
    if decimal(physical) is not None:
        whole = f"CAST(TRY_CAST({raw} AS DECIMAL(38,0)) AS STRING)"
        return f"CASE WHEN {raw} % CAST(1 AS DECIMAL(1,0)) = 0 THEN {whole} END"
    if physical in FLOATS:
        value, bound = f"CAST({raw} AS DOUBLE)", _float(2.0**63)
        whole = f"TRY_CAST({value} AS BIGINT)"
        return f"CASE WHEN {value} < {bound} AND CAST({whole} AS DOUBLE) = {value} THEN CAST({whole} AS STRING) END"
    if physical == "string":
        text = trimmed(raw)
        return f"CASE WHEN {matches(text, codes.INTEGER_TEXT)} THEN CAST(TRY_CAST({text} AS BIGINT) AS STRING) END"
    return None


def _moment(column: Date | Timestamp, raw: str, physical: str) -> str | None:
    """Microseconds since 1970, clamped, then whole periods."""
    low, high = column.codes
    period, first, last = codes.window(column)
    if physical == "date":
        if isinstance(column, Date):
            return clamped(f"CAST(unix_date({raw}) AS BIGINT)", f"{low}L", f"{high}L")
        micros = _micros(f"unix_date({raw})", first, last)
    elif physical == "timestamp":
        micros = f"unix_micros({raw})"
    elif physical == "timestamp_ntz":
        second = f"CAST(extract(SECOND FROM {raw}) * 1000000 AS BIGINT)"
        clock = f"hour({raw}) * 3600000000L + minute({raw}) * 60000000L + {second}"
        micros = f"({_micros(f'unix_date(CAST({raw} AS DATE))', first, last)} + {clock})"
    elif physical == "string":
        micros = _written_moment(trimmed(raw), first, last)
    else:
        return None
    return f"({clamped(micros, f'{first}L', f'{last}L')} - {low * period}L) DIV {period}L + {low}L"


def _micros(days: str, first: int, last: int) -> str:
    """The first microsecond of a day; days further out than three days from the bounds are taken as that one.

    A clock and an offset move it by less than two days: what is outside stays outside.
    """
    return f"{clamped(days, first // DAY - 3, last // DAY + 3)} * {DAY}L"


def _written_moment(text: str, first: int, last: int) -> str:
    """The microseconds of YYYY-MM-DD [hh:mm[:ss[.f]]] and a zone, part by part; 24:00 is the end of the day."""
    days = f"unix_date(TRY_CAST(substr({text}, 1, 10) AS DATE))"
    hour, minute, last_two = (f"coalesce(TRY_CAST(substr({text}, {at}, 2) AS BIGINT), 0L)" for at in (12, 15, 18))
    second = f"CASE WHEN substr({text}, 17, 1) = ':' THEN {last_two} ELSE 0L END"  # an offset may stand there instead
    fraction = f"TRY_CAST(rpad(regexp_extract({text}, '[.]([0-9]{{1,6}})', 1), 6, '0') AS BIGINT)"
    clock = f"({hour} * 3600000000L + {minute} * 60000000L + {second} * 1000000L + {fraction})"
    real = f"{matches(text, codes.MOMENT_TEXT)} AND {minute} <= 59 AND {second} <= 59 AND {clock} <= {DAY}L"
    return f"CASE WHEN {real} THEN {_micros(days, first, last)} + {clock} - {_offset(text)} END"


def _offset(text: str) -> str:
    """The microseconds by which the clock of a text is ahead of UTC; `codes._offset` in this engine's words."""
    zone = f"replace(regexp_extract({text}, ':[0-9.]+ ?([+-][0-9:]+){END}', 1), ':', '')"
    hours, minutes, seconds = (
        f"coalesce(TRY_CAST(substr(rpad({zone}, 7, '0'), {start}, 2) AS BIGINT), 0L)" for start in (2, 4, 6)
    )
    ahead = f"CASE substr({zone}, 1, 1) WHEN '+' THEN 1000000L WHEN '-' THEN -1000000L ELSE 0L END"
    return f"{ahead} * ({hours} * 3600L + {minutes} * 60L + {seconds})"
