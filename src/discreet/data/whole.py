"""Integer functions of one row, written once: numpy computes them for rows in memory, and every engine in its SQL.

Theorem.  A `Whole` is a total function of the named integers of one row, as long as each lies within its bounds.  Its
value lies between `low` and `high`, which are known from the declaration, and so does the value of every part of it;
all of them are below 2^62 in magnitude, so that 64 bits never overflow.  A quotient has a dividend that is never
negative and a divisor that is never less than 1, so that all engines and numpy round it alike, down.  What breaks
these rules is refused when it is written.  Proof: docs/theory/rounds.md.

>>> age = named("age", 0, 100)
>>> half = (age * 7 - 50).over(2)
>>> half.low, half.high, (age + 1).sql
(-25, 325, '("age" + CAST(1 AS BIGINT))')
>>> import numpy as np
>>> half.on({"age": np.array([0, 3])}).tolist()
[-25, -15]
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from discreet.data.columns import MOST
from discreet.errors import require

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]
    Truths = npt.NDArray[np.bool_]
    Named = Mapping[str, Ints]


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """A comparison that is true or false on every row."""

    sql: str
    on: Callable[[Named], Truths]

    def __and__(self, other: Truth) -> Truth:
        return Truth(f"({self.sql} AND {other.sql})", lambda row: self.on(row) & other.on(row))


@dataclass(frozen=True, slots=True, eq=False)
class Whole:
    """An integer of a row, between `low` and `high`, as SQL over named integers and as a function of their arrays."""

    sql: str
    low: int
    high: int
    on: Callable[[Named], Ints]

    def __post_init__(self) -> None:
        require(self.low <= self.high, "low <= high", low=self.low, high=self.high)
        require(self.low > -MOST and self.high < MOST, "integers within 62 bits", low=self.low, high=self.high)

    def __add__(self, other: Whole | int) -> Whole:
        right = _whole(other)
        if right.low == right.high == 0:
            return self
        return Whole(
            f"({self.sql} + {right.sql})",
            self.low + right.low,
            self.high + right.high,
            lambda row: self.on(row) + right.on(row),
        )

    def __sub__(self, other: Whole | int) -> Whole:
        return self + (-other if isinstance(other, int) else other * -1)

    def __mul__(self, other: Whole | int) -> Whole:
        right = _whole(other)
        ends = [left * end for left in (self.low, self.high) for end in (right.low, right.high)]
        return Whole(f"({self.sql} * {right.sql})", min(ends), max(ends), lambda row: self.on(row) * right.on(row))

    def __neg__(self) -> Whole:
        return self * -1

    def over(self, divisor: Whole | int) -> Whole:
        """The quotient, rounded down; where it may be negative, the divisor is a constant."""
        below = _whole(divisor)
        require(below.low >= 1, "a divisor of at least 1", least=below.low)
        if self.low < 0:
            require(below.low == below.high, "a constant divisor, or a dividend that is never negative", low=self.low)
            shift = -(self.low // below.low)
            return (self + shift * below.low).over(below.low) - shift
        return Whole(
            f"({self.sql} // {below.sql})",
            self.low // below.high,
            self.high // below.low,
            lambda row: self.on(row) // below.on(row),
        )

    def within(self, low: int, high: int) -> Whole:
        """Cut to a range."""
        import numpy as np

        if low <= self.low and self.high <= high:
            return self
        ends = [min(max(end, low), high) for end in (self.low, self.high)]
        sql = f"LEAST({constant(high).sql}, GREATEST({constant(low).sql}, {self.sql}))"
        return Whole(sql, ends[0], ends[1], lambda row: np.clip(self.on(row), low, high))

    def at_least(self, other: Whole | int) -> Truth:
        """Whether it is no less."""
        right = _whole(other)
        return Truth(f"{self.sql} >= {right.sql}", lambda row: self.on(row) >= right.on(row))

    def below(self, other: Whole | int) -> Truth:
        """Whether it is less."""
        right = _whole(other)
        return Truth(f"{self.sql} < {right.sql}", lambda row: self.on(row) < right.on(row))

    def equals(self, value: int) -> Truth:
        """Whether it is this constant."""
        return Truth(f"{self.sql} = {constant(value).sql}", lambda row: self.on(row) == value)


def constant(value: int) -> Whole:
    """The same integer on every row."""
    import numpy as np

    return Whole(f"CAST({value} AS BIGINT)", value, value, lambda row: np.int64(value))  # type: ignore[arg-type, return-value]


def named(name: str, low: int, high: int) -> Whole:
    """An integer that a row has under this name."""
    require(re.fullmatch("[A-Za-z0-9_]+", name) is not None, "a name of letters, digits and _", name=name)
    return Whole(f'"{name}"', low, high, lambda row: row[name])


def where(holds: Truth, yes: Whole | int, no: Whole | int) -> Whole:
    """One of two integers."""
    import numpy as np

    one, other = _whole(yes), _whole(no)
    return Whole(
        f"CASE WHEN {holds.sql} THEN {one.sql} ELSE {other.sql} END",
        min(one.low, other.low),
        max(one.high, other.high),
        lambda row: np.where(holds.on(row), one.on(row), other.on(row)),
    )


def largest(first: Whole, second: Whole | int) -> Whole:
    """The larger of two integers."""
    import numpy as np

    other = _whole(second)
    return Whole(
        f"GREATEST({first.sql}, {other.sql})",
        max(first.low, other.low),
        max(first.high, other.high),
        lambda row: np.maximum(first.on(row), other.on(row)),
    )


def smallest(first: Whole, second: Whole | int) -> Whole:
    """The smaller of two integers."""
    import numpy as np

    other = _whole(second)
    return Whole(
        f"LEAST({first.sql}, {other.sql})",
        min(first.low, other.low),
        min(first.high, other.high),
        lambda row: np.minimum(first.on(row), other.on(row)),
    )


def added(parts: Sequence[Whole]) -> Whole:
    """A sum, in halves: however many there are, no engine's parser is nested deep."""
    if len(parts) <= 2:
        return reduce(operator.add, parts, constant(0)) if len(parts) != 1 else parts[0]
    middle = len(parts) // 2
    return added(parts[:middle]) + added(parts[middle:])


def chosen(value: Whole, edges: Sequence[int], pieces: Sequence[Whole]) -> Whole:
    """The piece in whose interval the value lies, found by halves: edges rise, and a piece begins at each.

    >>> import numpy as np
    >>> three = chosen(named("m", 0, 9), [3, 6], [constant(1), constant(2), constant(3)])
    >>> three.on({"m": np.array([2, 3, 9])}).tolist()
    [1, 2, 3]
    """
    require(len(pieces) == len(edges) + 1, "one piece more than edges", pieces=len(pieces), edges=len(edges))
    if not edges:
        return pieces[0]
    middle = len(edges) // 2
    low = chosen(value, edges[:middle], pieces[: middle + 1])
    high = chosen(value, edges[middle + 1 :], pieces[middle + 1 :])
    return where(value.below(edges[middle]), low, high)


def toward_zero(top: Whole, bottom: Whole | int) -> Whole:
    """The quotient of any integer by a positive one, rounded toward 0.

    >>> import numpy as np
    >>> toward_zero(named("m", -9, 9), 2).on({"m": np.array([-3, 3])}).tolist()
    [-1, 1]
    """
    if top.low >= 0:
        return top.over(bottom)
    size = largest(top, -top)
    positive = Whole(size.sql, 0, max(-top.low, top.high), size.on).over(bottom)
    return where(top.below(0), -positive, positive)


def _whole(value: Whole | int) -> Whole:
    return constant(value) if isinstance(value, int) else value
