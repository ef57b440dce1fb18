"""Public types of expressions: what is known of a value before any row is read.

A number is an integer times a step: value = i * step with low <= i <= high, known in advance.
So sums have bounded sensitivity, and no arithmetic on any row can overflow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.data.columns import MOST, Boolean, Column, Identifier, Integer, Real, Text
from discreet.data.columns import column as make
from discreet.errors import UnsupportedError


@dataclass(frozen=True, slots=True)
class Numeric:
    """An integer between low and high, worth `step` each, or NULL."""

    low: int
    high: int
    step: Fraction
    nullable: bool

    def __post_init__(self) -> None:
        if not -MOST < self.low <= self.high < MOST:
            raise UnsupportedError(
                "an expression may take values too large for 62 bits; declare narrower bounds or coarser steps"
            )

    def at(self, step: Fraction) -> Numeric:
        """The same values in a finer step."""
        factor = int(self.step / step)
        return Numeric(self.low * factor, self.high * factor, step, self.nullable)


@dataclass(frozen=True, slots=True)
class Coded:
    """A category, a day or a moment, by its code, or NULL."""

    column: Column
    nullable: bool


@dataclass(frozen=True, slots=True)
class Truth:
    """True, false or NULL."""

    nullable: bool


@dataclass(frozen=True, slots=True)
class Free:
    """A text whose values nobody declared, or NULL."""

    column: Text | Identifier
    nullable: bool


Type = Numeric | Coded | Truth | Free


def declared(known: Type) -> Column:
    """The declaration of a column that holds values of a type.

    >>> declared(Numeric(0, 9, Fraction(1, 2), nullable=False))
    Real(low=0.0, high=4.5, step=Fraction(1, 2), nullable=False)
    """
    match known:
        case Numeric(low, high, step, nullable):
            if step == 1:
                return Integer(low, high, nullable=nullable)
            return Real(low * step, max(high, low + 1) * step, step=step, nullable=nullable)
        case Truth(nullable):
            return Boolean(nullable=nullable)
        case Coded(column, nullable) | Free(column, nullable):
            return column if column.nullable == nullable else make({**column.to_dict(), "nullable": nullable})


def common_step(a: Fraction, b: Fraction) -> Fraction:
    """The largest step of which both are multiples.

    >>> common_step(Fraction(1, 100), Fraction(1, 4))
    Fraction(1, 100)
    """
    bottom = math.lcm(a.denominator, b.denominator)
    return Fraction(math.gcd(int(a * bottom), int(b * bottom)), bottom)
