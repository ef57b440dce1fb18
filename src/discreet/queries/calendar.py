"""Parts of dates and moments, by integer arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.data.columns import Date, Timestamp
from discreet.errors import UnsupportedError
from discreet.queries.expression import Expression, Unary
from discreet.queries.types import Coded, Numeric

PARTS = ("year", "quarter", "month", "day", "dow", "hour")
ORIGIN = 719_468  # days from 0000-03-01 to 1970-01-01
DAY = 86_400  # seconds


@dataclass(frozen=True, slots=True)
class Part(Unary):
    """EXTRACT(part FROM date), by integer arithmetic on days (Hinnant's civil calendar); dow 0 is Sunday."""

    part: str
    inner: Expression

    def __post_init__(self) -> None:
        known = self.inner.type
        if not (isinstance(known, Coded) and isinstance(known.column, (Date, Timestamp))):
            raise UnsupportedError(f"EXTRACT needs a Date or Timestamp column, got {self.inner}")
        if self.part not in PARTS:
            raise UnsupportedError(f"EXTRACT knows {', '.join(PARTS)}, got {self.part}")
        if known.column.low.year < 1:
            raise UnsupportedError("EXTRACT needs dates after the year 0")
        if isinstance(known.column, Date) and self.part == "hour":
            raise UnsupportedError(f"{self.inner} is a Date and has no hour")
        if isinstance(known.column, Timestamp) and DAY % known.column.period and known.column.period % DAY:
            raise UnsupportedError(f"EXTRACT needs a step that divides a day, and {self.inner} has another")

    @property
    def _column(self) -> Date | Timestamp:
        known = self.inner.type
        assert isinstance(known, Coded)
        assert isinstance(known.column, (Date, Timestamp))
        return known.column

    @property
    def type(self) -> Numeric:
        """The calendar's range; for years, the declared one."""
        first, last = self._column.low.year, self._column.high.year
        ranges = {
            "year": (first, last), "quarter": (1, 4), "month": (1, 12), "day": (1, 31), "dow": (0, 6), "hour": (0, 23),
        }  # fmt: skip
        return Numeric(*ranges[self.part], Fraction(1), self.inner.type.nullable)

    def _days(self) -> str:
        """Days since 0000-03-01, which is never negative."""
        code, column = self.inner.code(), self._column
        period = column.period if isinstance(column, Timestamp) else DAY
        if period < DAY:
            return f"(({code} + {ORIGIN * (DAY // period)}) // {DAY // period})"
        return f"({code}{f' * {period // DAY}' if period > DAY else ''} + {ORIGIN})"

    def code(self) -> str:
        """Days since 0000-03-01, then eras of 146097 days; everything is nonnegative."""
        if self.part == "hour":
            period = self._column.period  # type: ignore[union-attr]
            if period >= DAY:
                return f"({self.inner.code()}) * 0"
            steps = DAY // period
            return f"(({self.inner.code()} + {ORIGIN * steps}) % {steps}) * {period} // 3600"
        day = self._days()
        if self.part == "dow":
            return f"({day} + 3) % 7"
        doe = f"({day} % 146097)"
        yoe = f"(({doe} - {doe} // 1460 + {doe} // 36524 - {doe} // 146096) // 365)"
        doy = f"({doe} - (365 * {yoe} + {yoe} // 4 - {yoe} // 100))"
        mp = f"((5 * {doy} + 2) // 153)"
        month = f"(({mp} + 2) % 12 + 1)"
        if self.part == "day":
            return f"{doy} - (153 * {mp} + 2) // 5 + 1"
        if self.part == "month":
            return month
        if self.part == "quarter":
            return f"({month} + 2) // 3"
        return f"{yoe} + ({day} // 146097) * 400 + CASE WHEN {month} <= 2 THEN 1 ELSE 0 END"

    def __str__(self) -> str:
        return f"EXTRACT({self.part} FROM {self.inner})"
