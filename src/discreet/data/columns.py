"""Column types: what is publicly known of a column before any row is read.

Each type maps every possible value to an integer code by a total function (values are
clamped to the declared bounds, and what cannot be read is NULL), so that everything
after it is integer arithmetic of known range.

    Integer(low, high)          the value                      unit of one code: 1
    Real(low, high, step=)      the nearest multiple of step   unit of one code: step
    Boolean()                   0 or 1
    Categorical(values)         the position in the list
    Date(low, high)             days since 1970-01-01
    Timestamp(low, high, step=) steps since 1970-01-01 00:00
    Text(max_bytes), Identifier()   no codes: they can name a unit, not a group

`nullable=True` declares that NULL is one more value; a NULL in any other column drops its row.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import ClassVar

from discreet.errors import ParameterError, UnsupportedError, require
from discreet.privacy.number import Number, exact, tidy

EPOCH = dt.datetime(1970, 1, 1)
LONGEST = 400_000_000_000  # seconds: longer than all years that a moment may have
MOST = 1 << 62  # codes and everything computed from them stay below this
Value = int | float | str | bool | dt.date | dt.datetime | None


class Column:
    """Base of the closed set of column types.

    >>> isinstance(Integer(0, 9), Column), Integer(0, 9).size
    (True, 10)
    """

    __slots__ = ()
    name: ClassVar[str]
    nullable: bool

    @property
    def codes(self) -> tuple[int, int]:
        """The least and the greatest code."""
        raise UnsupportedError(f"a column of type {self.name} has no declared values; it can only name a unit")

    @property
    def step(self) -> Fraction:
        """What one code is worth, for arithmetic."""
        raise UnsupportedError(f"a column of type {self.name} is not a number")

    @property
    def size(self) -> int:
        """How many values there are, NULL included."""
        low, high = self.codes
        return high - low + 1 + self.nullable

    def decode(self, code: int) -> Value:
        """The value a code stands for."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, object]:
        """A TOML-ready declaration."""
        raise NotImplementedError


def _bounds(column: Column, low: int, high: int) -> None:
    require(low <= high, "low <= high", low=column.low, high=column.high)  # type: ignore[attr-defined]
    require(low > -MOST and high < MOST, "bounds within 62 bits", low=low, high=high)


def _whole(value: object, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ParameterError(f"need an integer {name}, got {name}={value!r}")
    return value


@dataclass(frozen=True, slots=True)
class Integer(Column):
    """Whole numbers from low to high; others are clamped.

    >>> Integer(0, 119).size
    120
    """

    name: ClassVar[str] = "integer"
    low: int
    high: int
    nullable: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        _bounds(self, _whole(self.low, "low"), _whole(self.high, "high"))

    @property
    def codes(self) -> tuple[int, int]:
        """The bounds."""
        return self.low, self.high

    @property
    def step(self) -> Fraction:
        """One."""
        return Fraction(1)

    def decode(self, code: int) -> int:
        """The code itself."""
        return code

    def to_dict(self) -> dict[str, object]:
        """type, low, high."""
        return {"type": self.name, "low": self.low, "high": self.high} | _null(self)


@dataclass(frozen=True, slots=True)
class Real(Column):
    """Numbers from low to high, rounded to the nearest multiple of step; others are clamped.

    Without a step, the largest power of ten that gives at least 100,000 steps is taken.

    >>> Real(0, 5000).step, Real(0, 5000, step="0.5").codes
    (Fraction(1, 100), (0, 10000))
    """

    name: ClassVar[str] = "real"
    low: float | Fraction
    high: float | Fraction
    step: Fraction  # type: ignore[assignment]
    nullable: bool = field(default=False, kw_only=True)

    def __init__(self, low: Number, high: Number, *, step: Number | None = None, nullable: bool = False) -> None:
        least, most = exact(low), exact(high)
        require(least < most, "low < high", low=low, high=high)
        size = _power_of_ten((most - least) / 100_000) if step is None else exact(step)
        require(size > 0, "step > 0", step=step)
        short = max(size.numerator, size.denominator) < MOST
        require(short, "a step whose numerator and denominator have at most 62 bits", step=str(size))
        whole = all((end / size).denominator == 1 for end in (least, most))
        require(whole, "bounds that are multiples of the step", low=low, high=high, step=str(size))
        values = {"low": tidy(least), "high": tidy(most), "step": size, "nullable": nullable}
        for name, value in values.items():
            object.__setattr__(self, name, value)
        _bounds(self, *self.codes)

    @property
    def codes(self) -> tuple[int, int]:
        """The bounds, in steps."""
        return int(exact(self.low) / self.step), int(exact(self.high) / self.step)

    def decode(self, code: int) -> float:
        """The nearest float to code * step."""
        return float(code * self.step)

    def to_dict(self) -> dict[str, object]:
        """type, low, high, step."""
        return {"type": self.name, "low": str(self.low), "high": str(self.high), "step": str(self.step)} | _null(self)


def _power_of_ten(most: Fraction) -> Fraction:
    """The largest power of ten that is at most `most`."""
    power = Fraction(1)
    while power > most:
        power /= 10
    while power * 10 <= most:
        power *= 10
    return power


@dataclass(frozen=True, slots=True)
class Boolean(Column):
    """True or false.

    >>> Boolean().size, Boolean(nullable=True).size
    (2, 3)
    """

    name: ClassVar[str] = "boolean"
    nullable: bool = field(default=False, kw_only=True)

    @property
    def codes(self) -> tuple[int, int]:
        """0 and 1."""
        return 0, 1

    @property
    def step(self) -> Fraction:
        """One: a truth value counts as 0 or 1."""
        return Fraction(1)

    def decode(self, code: int) -> bool:
        """0 is False."""
        return bool(code)

    def to_dict(self) -> dict[str, object]:
        """The type."""
        return {"type": self.name} | _null(self)


@dataclass(frozen=True, slots=True)
class Categorical(Column):
    """One of the listed values; anything else is NULL.

    >>> Categorical(["cardiology", "surgery"]).decode(1)
    'surgery'
    """

    name: ClassVar[str] = "categorical"
    values: tuple[str | int, ...]
    nullable: bool = field(default=False, kw_only=True)

    def __init__(self, values: Sequence[str | int], *, nullable: bool = False) -> None:
        listable = isinstance(values, Iterable) and not isinstance(
            values, str | bytes | set | frozenset
        )  # a set has no order
        require(listable, "a list of categories", values=values)
        listed = tuple(values)
        require(bool(listed), "at least one category", values=listed)
        same = all(isinstance(v, str) for v in listed) or all(type(v) is int for v in listed)
        require(same, "categories that are all text or all integers", first=listed[0])
        require(len(set(listed)) == len(listed), "distinct categories", repeated=len(listed) - len(set(listed)))
        object.__setattr__(self, "values", listed)
        object.__setattr__(self, "nullable", nullable)

    @classmethod
    def from_file(cls, path: str | Path, *, nullable: bool = False) -> Categorical:
        """A code list in UTF-8, one value a line."""
        lines = Path(path).read_text(encoding="utf-8-sig").split("\n")  # other signs of a line may be in a value
        return cls([line for line in lines if line.strip()], nullable=nullable)

    @property
    def codes(self) -> tuple[int, int]:
        """Positions in the list."""
        return 0, len(self.values) - 1

    def decode(self, code: int) -> str | int:
        """The listed value."""
        return self.values[code]

    def to_dict(self) -> dict[str, object]:
        """type, values."""
        return {"type": self.name, "values": list(self.values)} | _null(self)


@dataclass(frozen=True, slots=True)
class Date(Column):
    """Days from low to high.

    >>> Date("2026-01-01", "2026-12-31").size
    365
    """

    name: ClassVar[str] = "date"
    low: dt.date
    high: dt.date
    nullable: bool = field(default=False, kw_only=True)

    def __init__(self, low: dt.date | str, high: dt.date | str, *, nullable: bool = False) -> None:
        values = {"low": _date(low, "low"), "high": _date(high, "high"), "nullable": nullable}
        for name, value in values.items():
            object.__setattr__(self, name, value)
        _bounds(self, *self.codes)

    @property
    def codes(self) -> tuple[int, int]:
        """Days since 1970-01-01."""
        return (self.low - EPOCH.date()).days, (self.high - EPOCH.date()).days

    def decode(self, code: int) -> dt.date:
        """That day."""
        return EPOCH.date() + dt.timedelta(days=code)

    def to_dict(self) -> dict[str, object]:
        """type, low, high."""
        return {"type": self.name, "low": self.low.isoformat(), "high": self.high.isoformat()} | _null(self)


def _date(value: object, name: str) -> dt.date:
    if isinstance(value, dt.datetime):
        return value.date()
    if isinstance(value, dt.date):
        return value
    try:
        return dt.date.fromisoformat(str(value))
    except ValueError:
        raise ParameterError(f"need a date such as 2026-01-31, got {name}={value!r}") from None


@dataclass(frozen=True, slots=True)
class Timestamp(Column):
    """Moments from low to high, rounded down to a multiple of `period` seconds since 1970; no time zone (UTC).

    >>> Timestamp("2026-01-01", "2026-01-02", step=3600).size
    25
    """

    name: ClassVar[str] = "timestamp"
    low: dt.datetime
    high: dt.datetime
    period: int = field(default=1, kw_only=True)
    nullable: bool = field(default=False, kw_only=True)

    def __init__(self, low: object, high: object, *, step: dt.timedelta | int = 1, nullable: bool = False) -> None:
        seconds = step.total_seconds() if isinstance(step, dt.timedelta) else step
        whole = isinstance(seconds, int | float) and 1 <= seconds <= LONGEST and seconds == int(seconds)
        require(whole, f"a step of whole seconds, at most {LONGEST}", step=step)
        for name, value in (("low", low), ("high", high)):
            object.__setattr__(self, name, _moment(value, name))
        object.__setattr__(self, "period", int(seconds))
        object.__setattr__(self, "nullable", nullable)
        require(self.low <= self.high, "low <= high", low=str(self.low), high=str(self.high))
        _bounds(self, *self.codes)

    @property
    def codes(self) -> tuple[int, int]:
        """Periods since 1970."""
        return self._code(self.low), self._code(self.high)

    def _code(self, moment: dt.datetime) -> int:
        return (moment - EPOCH) // dt.timedelta(seconds=self.period)

    def decode(self, code: int) -> dt.datetime:
        """The start of that period."""
        return EPOCH + dt.timedelta(seconds=code * self.period)

    def to_dict(self) -> dict[str, object]:
        """type, low, high, step in seconds."""
        bounds = {"low": self.low.isoformat(), "high": self.high.isoformat()}
        return {"type": self.name, **bounds, "step": self.period} | _null(self)


def _moment(value: object, name: str) -> dt.datetime:
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return dt.datetime.combine(value, dt.time())
    try:
        moment = value if isinstance(value, dt.datetime) else dt.datetime.fromisoformat(str(value))
    except ValueError:
        raise ParameterError(f"need a moment such as 2026-01-31 12:00:00, got {name}={value!r}") from None
    require(moment.tzinfo is None, "a moment without time zone (UTC)", **{name: str(value)})
    return moment


@dataclass(frozen=True, slots=True)
class Text(Column):
    """Free text of at most `max_bytes` bytes; longer text counts as missing.

    >>> Text(64)
    Text(max_bytes=64, nullable=False)
    """

    name: ClassVar[str] = "text"
    max_bytes: int
    nullable: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        require(_whole(self.max_bytes, "max_bytes") >= 1, "max_bytes >= 1", max_bytes=self.max_bytes)

    def to_dict(self) -> dict[str, object]:
        """type, max_bytes."""
        return {"type": self.name, "max_bytes": self.max_bytes} | _null(self)


@dataclass(frozen=True, slots=True)
class Identifier(Column):
    """A name for a privacy unit, an integer or text; never counted, grouped or returned.

    >>> from discreet.data import Domain
    >>> Domain({"patient": Identifier(), "age": Integer(0, 119)}).size  # a name has no values to list
    120
    """

    name: ClassVar[str] = "identifier"
    nullable: bool = field(default=False, kw_only=True)

    def to_dict(self) -> dict[str, object]:
        """The type."""
        return {"type": self.name} | _null(self)


def _null(column: Column) -> dict[str, object]:
    return {"nullable": True} if column.nullable else {}


_TYPES: dict[str, type[Column]] = {
    cls.name: cls for cls in (Integer, Real, Boolean, Categorical, Date, Timestamp, Text, Identifier)
}


def column(declaration: dict[str, object]) -> Column:
    """Read back what `to_dict` wrote.

    >>> column({"type": "integer", "low": 0, "high": 9})
    Integer(low=0, high=9, nullable=False)
    """
    rest = dict(declaration)
    kind = rest.pop("type", None)
    if not isinstance(kind, str) or kind not in _TYPES:
        raise ParameterError(f"need a column type among {', '.join(_TYPES)}, got {kind!r}")
    try:
        return _TYPES[kind](**rest)
    except TypeError as error:
        raise ParameterError(f"a column of type {kind} cannot be made from {sorted(rest)}: {error}") from None
