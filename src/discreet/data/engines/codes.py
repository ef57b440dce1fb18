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
    bytes         as the text that they are in UTF-8; others are NULL
    category      text that is equal byte for byte; integers, truth values and days by their usual text
    text          integers, truth values and days by their usual text; longer than `max_bytes` bytes is NULL
    day, moment   dates and timestamps (with time zone: UTC); text YYYY-MM-DD [hh:mm[:ss[.f]]] with up to nine digits f,
                  cut to microseconds, and a zone: Z, UTC, GMT or an offset such as +05:30, +0530 or -07, in UTC then

Spaces around text that is read as a number, truth value, day or moment are ignored (those of Unicode, not tabs).
Decimals are exact where bounds, step and scale fit in 128 bits together; where they do not, which is
known from the declaration, they are read as the nearest doubles.  A physical type that cannot hold the declared
one (a number in a column of dates) is NULL throughout.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from dataclasses import dataclass

from discreet.data.columns import Boolean, Categorical, Column, Date, Identifier, Integer, Real, Text, Timestamp
from discreet.errors import UnsupportedError

SPACES = (
    "\u0020\u00a0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u202f\u205f\u3000"
)  # around numbers, words, days
SMALL = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}  # all fit in BIGINT
WIDE = {"UBIGINT", "HUGEINT", "UHUGEINT"}
FLOATS = {"FLOAT", "DOUBLE"}
MOMENTS = {"TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE"}
HUGE = (1 << 127) - 1
DAY = 86_400_000_000  # microseconds
LONGEST = 1_000  # bytes of an identifier that is no unit
YES, NO = "('t', 'true', 'y', 'yes', '1')", "('f', 'false', 'n', 'no', '0')"
INTEGER_TEXT = "[+-]?[0-9]{1,18}"
NUMBER_TEXT = "[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]{1,9})?"
CLOCK_TEXT = "[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?)?"
OFFSET_TEXT = "[+-]([01][0-9]|2[0-3])(:?[0-5][0-9](:?[0-5][0-9])?)?"  # as pandas, Arrow, Polars and databases write it
MOMENT_TEXT = (
    "[0-9]{4}-[0-9]{2}-[0-9]{2}"
    f"([ T][0-9]{{2}}:[0-9]{{2}}(:[0-9]{{2}}([.][0-9]{{1,9}})?)?( ?(Z|UTC|GMT|{OFFSET_TEXT}))?)?"
)

_TAIL = "[89ab][0-9a-f]"
UTF8_HEX = (  # in hexadecimal digits: what text in UTF-8 is made of (RFC 3629), but for the character NUL
    f"(0[1-9a-f]|[1-7][0-9a-f]|(c[2-9a-f]|d[0-9a-f]){_TAIL}|(e0[ab][0-9a-f]|e[1-9abcef]{_TAIL}|ed[89][0-9a-f]){_TAIL}"
    f"|(f0[9ab][0-9a-f]|f[1-3]{_TAIL}|f48[0-9a-f]){_TAIL}{_TAIL})*"
)


def nanoseconds(raw: str) -> str:
    """A moment in nanoseconds with a zone as the same one in UTC, without: a cast loses infinite ones."""
    start = "CAST(CAST('1970-01-01 00:00:00+00' AS TIMESTAMP WITH TIME ZONE) AS TIMESTAMPTZ_NS)"
    ends = f"WHEN {raw} > {start} THEN CAST('infinity' AS TIMESTAMP_NS) WHEN {raw} < {start} THEN "
    finite = f"CASE WHEN epoch_ns({raw}) IS NOT NULL THEN make_timestamp_ns(epoch_ns({raw}))"
    return f"{finite} {ends}CAST('-infinity' AS TIMESTAMP_NS) END"


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
    elif physical == "BLOB":
        raw, physical = f"TRY(decode({raw}))", "VARCHAR"
    elif physical == "TIMESTAMPTZ_NS":
        raw, physical = nanoseconds(raw), "TIMESTAMP_NS"
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


def scale(physical: str) -> tuple[int, int] | None:
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
        return _exactly(column, whole, most=HUGE) or _nearest(column, raw)
    if (decimal := scale(physical)) is not None:
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Rounding:
    """floor(whole / 10^scale / step + 1/2) in integers, for `whole` clamped to the integers around the bounds.

    With v / step = whole * top / bottom the code is (2 * whole * top + bottom - 2 * bottom * base) // (2 * bottom)
    + base, where base is the code of `first`: no dividend is negative.  Then it is clamped to the codes.
    """

    first: int
    last: int
    top: int
    bottom: int

    @classmethod
    def of(cls, column: Integer | Real, *, most: int | None, scale: int = 0) -> Rounding:
        """For integers of magnitude up to `most`, or for all."""
        low, high = column.codes
        ratio = 1 / (column.step * 10**scale)
        ends = low * ratio.denominator // ratio.numerator, -(-high * ratio.denominator // ratio.numerator)
        if most is not None:
            ends = min(max(ends[0], -most), most - 1), min(max(ends[1], -most), most - 1)
        return cls(first=ends[0], last=ends[1], top=ratio.numerator, bottom=ratio.denominator)

    @property
    def base(self) -> int:
        """The code of `first`."""
        return self.code(self.first)

    def code(self, whole: int) -> int:
        """The code of an integer between `first` and `last`, before it is clamped."""
        return (2 * whole * self.top + self.bottom) // (2 * self.bottom)

    @property
    def shift(self) -> int:
        """What is added to 2 * whole * top."""
        return self.bottom - 2 * self.bottom * self.base

    @property
    def largest(self) -> int:
        """No integer on the way is larger in magnitude."""
        widest = max(abs(self.first), abs(self.last))
        return 2 * widest * self.top + self.bottom + 2 * self.bottom * abs(self.base)

    def leaves(self, column: Integer | Real) -> bool:
        """Whether a code may lie outside the bounds: they lie between two values of this type."""
        low, high = column.codes
        return self.base < low or self.code(self.last) > high


def _exactly(column: Integer | Real, whole: str, *, most: int, scale: int = 0) -> str | None:
    """The rounding in integers, or None where 128 bits are not enough."""
    plan = Rounding.of(column, most=most, scale=scale)
    if plan.largest >= HUGE:
        return None
    clamped = _clamp(whole, plan.first, plan.last)
    if plan.largest >= 1 << 63:
        clamped = f"CAST({clamped} AS HUGEINT)"
    if plan.bottom == 1:
        made = clamped if plan.top == 1 else f"{clamped} * {plan.top}"
    else:
        made = f"({clamped} * {2 * plan.top} + {plan.shift}) // {2 * plan.bottom} + {plan.base}"
    if plan.leaves(column):
        made = _clamp(made, *column.codes)
    return f"CAST({made} AS BIGINT)" if most > 1 << 63 or plan.largest >= 1 << 63 else made


def _clamp(value: str, low: object, high: object, *, also: str = "") -> str:
    """The value between two constants; NULL stays NULL.  The common case comes first."""
    inside = f"CASE WHEN {value} BETWEEN {low} AND {high} THEN {value}"
    return f"{inside} WHEN {value} < {low} THEN {low} {also}WHEN {value} > {high} THEN {high} END"


def _decimal(column: Integer | Real, raw: str, width: int, scale: int) -> str:
    """Through the integer raw * 10^scale, which has `width` digits."""
    if width + scale + 1 > 38:
        return _nearest(column, raw)
    kind, most = ("BIGINT", 1 << 63) if width <= 18 else ("HUGEINT", HUGE)
    value = raw if width + scale < 18 else f"CAST({raw} AS DECIMAL(38, {scale}))"  # products keep 18 digits or 38
    product = f"{value} * CAST({10**scale} AS DECIMAL({scale + 1}, 0))" if scale else raw
    return _exactly(column, f"CAST({product} AS {kind})", most=most, scale=scale) or _nearest(column, raw)


@dataclass(frozen=True, kw_only=True, slots=True)
class Doubles:
    """floor(w * b / a + 1/2) in doubles, for w clamped to `ends`; |w * b / a| < 2^63, so that the cast cannot fail.

    IEEE products, quotients, sums and floors are monotone, so all codes lie between those of the two ends.
    """

    ends: tuple[float, float]
    factors: tuple[tuple[str, float], ...]  # an operator and its right-hand side
    leaves: bool  # whether a code may lie outside the bounds

    @classmethod
    def of(cls, column: Integer | Real) -> Doubles:
        low, high = column.codes
        ends = made = (float(low * column.step), float(high * column.step))
        factors = []
        for sign, factor in (("*", column.step.denominator), ("/", column.step.numerator)):
            if factor != 1:
                factors.append((sign, float(factor)))
                made = tuple(end * float(factor) if sign == "*" else end / float(factor) for end in made)
        inside = low <= math.floor(made[0] + 0.5) <= math.floor(made[1] + 0.5) <= high
        return cls(ends=ends, factors=tuple(factors), leaves=not inside)


def _double(column: Integer | Real, raw: str) -> str:
    """The rounding in doubles."""
    plan = Doubles.of(column)
    value = f"CAST({raw} AS DOUBLE)" if raw.startswith('"') else f"TRY_CAST({raw} AS DOUBLE)"
    made = _clamp(value, *map(_float, plan.ends), also=f"WHEN isnan({value}) THEN NULL ")
    for sign, factor in plan.factors:
        made = f"{made} {sign} {_float(factor)}"
    made = f"CAST(floor({made} + {_float(0.5)}) AS BIGINT)"
    return _clamp(made, *column.codes) if plan.leaves else made


def _nearest(column: Integer | Real, raw: str) -> str:
    """Wide integers and decimals through their text: the engine's own cast is not always to the nearest double."""
    return _double(column, f"CAST({raw} AS VARCHAR)")


def _float(value: float) -> str:
    return f"CAST('{value!r}' AS DOUBLE)"


def _truth(raw: str, physical: str) -> str | None:
    if physical == "BOOLEAN":
        return f"CAST({raw} AS BIGINT)"
    if physical in SMALL | WIDE or scale(physical):
        return f"CAST({raw} <> 0 AS BIGINT)"
    if physical in FLOATS:
        return f"CASE WHEN NOT isnan({raw}) THEN CAST({raw} <> 0 AS BIGINT) END"
    if physical == "VARCHAR":
        text = f"lower(trim({raw}))"
        return f"CASE WHEN {text} IN {YES} THEN CAST(1 AS BIGINT) WHEN {text} IN {NO} THEN CAST(0 AS BIGINT) END"
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


def _written(column: Text | Identifier, raw: str, physical: str) -> str:
    """A text as it is, byte for byte; NULL where it is longer than declared."""
    most = column.max_bytes if isinstance(column, Text) else LONGEST
    text = _text(raw, physical)
    if text is None:
        return "CAST(NULL AS VARCHAR)"
    return f"CASE WHEN strlen({text}) <= {most} THEN {text} END COLLATE C"


def _integer_text(raw: str, physical: str) -> str | None:
    if physical == "BOOLEAN":
        return f"CAST(CAST({raw} AS INTEGER) AS VARCHAR)"
    if physical in SMALL | WIDE:
        return f"CAST({raw} AS VARCHAR)"
    if (decimal := scale(physical)) is not None:
        if decimal[0] == decimal[1]:  # nothing before the point: 0 is the one integer, and its text is .00
            return f"CASE WHEN {raw} = 0 THEN '0' END"
        return f"regexp_extract(CAST({raw} AS VARCHAR), '^(-?[0-9]+){'[.]0+' if decimal[1] else ''}$', 1)"
    if physical in FLOATS:
        return f"CASE WHEN {raw} = floor({raw}) THEN CAST(TRY_CAST({raw} AS BIGINT) AS VARCHAR) END"
    if physical == "VARCHAR":
        match = f"regexp_full_match(trim({raw}), '{INTEGER_TEXT}')"
        return f"CASE WHEN {match} THEN CAST(TRY_CAST(trim({raw}) AS BIGINT) AS VARCHAR) END"
    return None


def _moment(column: Date | Timestamp, raw: str, physical: str) -> str | None:
    """Microseconds since 1970, clamped, then whole periods."""
    low = column.codes[0]
    period, first, last = window(column)
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
        plain = f"CASE WHEN regexp_full_match({text}, '{CLOCK_TEXT}') THEN epoch_us(TRY_CAST({text} AS TIMESTAMP))"
        clock = f"epoch_us(TRY_CAST(regexp_extract({text}, '^[0-9-]+[ T][0-9:.]+') AS TIMESTAMP))"
        zoned = f"WHEN regexp_full_match({text}, '{MOMENT_TEXT}') THEN {clock} - {_offset(text)} END"
        micros = f"{plain} {zoned}"
    else:
        return None
    return f"({_clamp(micros, first, last)} - {low * period}) // {period} + {low}"


def _offset(text: str) -> str:
    """The microseconds by which the clock of a text is ahead of UTC."""
    zone = f"replace(regexp_extract({text}, ':[0-9.]+ ?([+-][0-9:]+)$', 1), ':', '')"  # empty, or +hh, +hhmm, +hhmmss

    def digits(start: int) -> str:
        return f"CAST(substr(rpad({zone}, 7, '0'), {start}, 2) AS BIGINT)"

    seconds = f"{digits(2)} * 3600 + {digits(4)} * 60 + {digits(6)}"
    return f"CASE {zone}[1] WHEN '+' THEN 1000000 WHEN '-' THEN -1000000 ELSE 0 END * ({seconds})"


def window(column: Date | Timestamp) -> tuple[int, int, int]:
    """The length of a period, the first and the last microsecond."""
    low, high = column.codes
    if isinstance(column, Date):
        return DAY, low * DAY, (high + 1) * DAY - 1
    return column.period * 1_000_000, _microseconds(column.low), _microseconds(column.high)


def _microseconds(moment: dt.datetime) -> int:
    return (moment - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1)


def _between(raw: str, physical: str, first: int, last: int) -> str:
    """The value clamped in its own type: infinite and far dates become finite and near."""
    nanoseconds = physical == "TIMESTAMP_NS"  # these reach from 1677 to 2262 only
    ends = []
    for bound in (first, last):
        year = 9_223_372_036_854_775 if nanoseconds else 253_402_300_799_999_999
        least = -9_223_372_036_854_775 if nanoseconds else -62_135_596_800_000_000
        moment = dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=min(max(bound, least), year))
        text = moment.date().isoformat() if physical == "DATE" else moment.isoformat(sep=" ")
        zone = "+00" if physical.endswith("ZONE") else ""
        ends.append(f"CAST('{text}{zone}' AS {physical})")
    return _clamp(raw, *ends)
