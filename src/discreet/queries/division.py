"""Whole quotients and remainders by a constant, as SQL has them: the quotient is cut toward zero.

Theorem.  For a rational x and a constant d other than 0 let q = sign(x) sign(d) floor(|x| / |d|).  Then `x // d` is q
and `x % d` is x - d q, which has the sign of x and a size below |d| and not above |x|.  Both are odd in x, so that
only nonnegative integers are ever divided: engines agree on those.  Proof: docs/theory/queries.md.

    -7 // 2 = -3     -7 % 2 = -1     7 // -2 = -3     7 % -2 = 1

`FLOOR(x / d)` rounds down instead, and is what bins are made with.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import require
from discreet.queries.expression import Expression, Unary, number, numeric_code
from discreet.queries.expression import Number as Constant
from discreet.queries.types import Numeric, common_step


def _by_sign(code: str, low: int, high: int, of_size: str) -> str:
    """An odd function of an integer between two bounds, from its code for a nonnegative one, `{}`."""
    positive, negative = of_size.format(code), f"-({of_size.format(f'(-{code})')})"
    if low >= 0:
        return positive
    return negative if high <= 0 else f"CASE WHEN {code} < 0 THEN {negative} ELSE {positive} END"


class _Division(Unary):
    """By a constant."""

    __slots__ = ()
    inner: Expression
    divisor: Fraction

    def __post_init__(self) -> None:
        require(self.divisor != 0, "a divisor other than 0", divisor=self.divisor)

    @property
    def signs(self) -> int:
        """How many signs the value may have: each is compiled by itself."""
        known = number(self.inner)
        return 1 + (known.low < 0 < known.high)


@dataclass(frozen=True, slots=True)
class Quotient(_Division):
    """inner // divisor, cut toward zero."""

    inner: Expression
    divisor: Fraction

    @property
    def type(self) -> Numeric:
        """The quotients of the bounds; refused where the integers on the way to them do not fit."""
        known = number(self.inner)
        top = (known.step / abs(self.divisor)).numerator
        Numeric(min(known.low, known.low * top), max(known.high, known.high * top), Fraction(1), nullable=False)
        first, last = (int(code * known.step / self.divisor) for code in (known.low, known.high))
        return Numeric(min(first, last), max(first, last), Fraction(1), known.nullable)

    @property
    def copies(self) -> int:
        """How often the compiled form repeats the value."""
        return 2 * self.signs - 1

    def code(self) -> str:
        """The size of the value is divided, and gets its sign back."""
        known = number(self.inner)
        ratio = known.step / abs(self.divisor)
        code = f"({numeric_code(self.inner, known.step)})"
        cut = _by_sign(code, known.low, known.high, f"({{}} * {ratio.numerator}) // {ratio.denominator}")
        return cut if self.divisor > 0 else f"-({cut})"

    def __str__(self) -> str:
        return f"({self.inner} // {Constant(self.divisor)})"


@dataclass(frozen=True, slots=True)
class Remainder(_Division):
    """inner % divisor, with the sign of the inner value."""

    inner: Expression
    divisor: Fraction

    @property
    def type(self) -> Numeric:
        """Below the divisor in size, and not beyond the value; exactly that of the bounds within one period."""
        return self.among(number(self.inner))

    def among(self, known: Numeric) -> Numeric:
        """The type for values of a known type, at the step common to both."""
        step = common_step(known.step, abs(self.divisor))
        at, size = known.at(step), int(abs(self.divisor) / step)
        low, high = -min(-at.low, size - 1) if at.low < 0 else 0, min(at.high, size - 1) if at.high > 0 else 0
        one_sign = at.low >= 0 or at.high <= 0
        if one_sign and abs(at.low) // size == abs(at.high) // size:
            low, high = (end % size if end >= 0 else -(-end % size) for end in (at.low, at.high))
        return Numeric(low, high, step, known.nullable)

    @property
    def copies(self) -> int:
        """How often the compiled form repeats the value."""
        return 2 if self.signs == 1 else 5

    def code(self) -> str:
        """What is left of the size of the value, with its sign."""
        step = self.type.step
        known, size = number(self.inner).at(step), int(abs(self.divisor) / step)
        code = f"({numeric_code(self.inner, step)})"
        if max(-known.low, known.high) < size:
            return code
        return _by_sign(code, known.low, known.high, f"{{0}} - ({{0}} // {size}) * {size}")

    def __str__(self) -> str:
        return f"({self.inner} % {Constant(self.divisor)})"
