"""Statistical queries: the mean of a bounded function of one row, up to a tolerance.

A statistical query is a function phi of one row with values in a declared range [low, high].  An oracle answers it by
a number near the mean of phi over the rows or over the population they were drawn from (Kearns 1993).  A learner that
sees the data through such answers only runs unchanged wherever an oracle does: on rows in memory, on a table in any
engine, in the local model.  Three ways to write one:

    RowFunction   a vectorised function on rows in memory; the caller promises that it works row by row
    Piece         a product of affine forms where some conditions hold, and 0 elsewhere; on rows and on tables
    Written       an expression of the closed language of SQL; on tables, its range is proven by its types

Theorem.  With centre c = (low + high) / 2 and half-width h = (high - low) / 2, each row is counted as the integer
nearest to R (phi - c) / h, which lies in [-R, R] whatever phi returns; so a sum of such integers is exact, adding or
removing a row moves it by at most R, replacing one by at most 2 R, and c + h sum / (R n) is within h / (2 R) of the
mean of phi over n rows.  Proof: docs/theory/statistical_queries.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

from discreet.errors import ParameterError, UnsupportedError, require
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.queries.statistical_pieces import Piece, Written

    Rows = npt.NDArray[np.floating | np.integer | np.bool_]  # (rows, columns)
    Values = npt.NDArray[np.float64]  # (rows,)
    Whole = npt.NDArray[np.int64]

RESOLUTION = 1 << 20  # R: steps of the lattice from the middle of a range to its end


@dataclass(frozen=True, kw_only=True, slots=True)
class Tolerance:
    """How far all answers may be off, for queries with values in [-1, 1]; another range has it times its half-width.

    noise: from the mean over the rows.  population: from the mean over the population, rows drawn independently, for
    queries chosen in advance.  adaptive: the same for queries chosen after seeing earlier answers.  A tolerance of 2
    says nothing.

    >>> Tolerance(noise=0.01, population=0.02, adaptive=0.05).population
    0.02
    """

    noise: float
    population: float
    adaptive: float


class StatisticalOracle(Protocol):
    """Whoever answers statistical queries: with a trusted curator, or asking each user in the local model.

    >>> from discreet.learning import StatisticalQueryOracle
    >>> hasattr(StatisticalQueryOracle, "answer")
    True
    """

    @property
    def remaining(self) -> int:
        """How many queries may still be asked."""
        ...

    def answer(self, queries: Sequence[StatisticalQuery]) -> Values:
        """One number a query, each in its declared range; refused, and nothing is read, if too few remain."""
        ...

    def tolerance(self, beta: float) -> Tolerance:
        """What holds for all answers together with probability 1 - beta."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class RowFunction:
    """A function from rows (rows, columns) to values (rows,), clipped to the range; NaN counts as its middle.

    The value of a row must depend on that row alone, to the last bit.  Nothing here can check it: a function that looks
    at all rows at once, such as their mean, is no statistical query, and no privacy is promised for it.  Nor is a
    product `rows @ w` of floats: BLAS adds in an order that depends on the place of a row and on how many there are, so
    that one row rounds others.  Add column by column (`Affine.on` does), or multiply integers.

    >>> import numpy as np
    >>> whole(RowFunction(lambda rows: rows[:, 0] * rows[:, 1]), np.array([[1.0, 1.0], [0.5, -1.0]]), resolution=4)
    array([ 4, -2])
    """

    function: Callable[[Rows], object]
    low: Number = -1
    high: Number = 1

    def __post_init__(self) -> None:
        require(callable(self.function), "a function of rows", function=type(self.function).__name__)
        check_range(self.low, self.high)

    def values(self, rows: Rows) -> Values:
        """What the function says; whatever it raises is not shown, since it may quote a row."""
        import numpy as np

        try:
            found = np.asarray(self.function(rows), dtype=np.float64)
        except Exception:  # the function is the caller's, and its message may quote a row
            found = None
        if found is None or found.shape != (len(rows),):
            raise UnsupportedError("the function of a statistical query must give one number for each row")
        return found


if TYPE_CHECKING:
    StatisticalQuery = RowFunction | Piece | Written


def check_range(low: Number, high: Number) -> None:
    """Refuse an empty range."""
    require(exact(low) < exact(high), "low < high", low=low, high=high)


def centre(query: StatisticalQuery) -> tuple[Fraction, Fraction]:
    """The middle of the range, and half its width.

    >>> centre(RowFunction(lambda rows: rows[:, 0], low=0, high=1))
    (Fraction(1, 2), Fraction(1, 2))
    """
    low, high = exact(query.low), exact(query.high)
    return (low + high) / 2, (high - low) / 2


def normalised(query: StatisticalQuery, rows: Rows) -> Values:
    """(phi - c) / h of each row, in [-1, 1] whatever phi returns.

    >>> import numpy as np
    >>> normalised(RowFunction(lambda rows: rows[:, 0], low=0, high=1), np.array([[0.25], [7.0], [np.nan]]))
    array([-0.5,  1. ,  0. ])
    """
    import numpy as np

    middle, half = (float(number) for number in centre(query))
    if not hasattr(query, "values"):
        raise UnsupportedError("a query written in SQL is asked of a table; give a RowFunction or a Piece for rows")
    values = (query.values(rows) - middle) / half  # type: ignore[union-attr]
    np.clip(values, -1.0, 1.0, out=values)
    values[np.isnan(values)] = 0.0
    return values


def whole(query: StatisticalQuery, rows: Rows, *, resolution: int = RESOLUTION) -> Whole:
    """The integer of each row, in [-R, R]."""
    import numpy as np

    steps = normalised(query, rows)
    steps *= resolution
    steps += 0.5
    return np.floor(steps, out=steps).astype(np.int64)


def as_rows(data: object) -> Rows:
    """An array of rows, or a pair (rows, labels) whose labels become the last column.

    The dtype is public and decides what is refused: numbers, truth values and objects are read, and an object that is
    no number is NaN, which counts as the middle of a range; texts, dates and complex numbers are refused.  A list gets
    a dtype from its values: pass arrays where a failure could be seen.

    >>> as_rows(([[1, 0], [1, 1]], [True, False]))
    array([[1., 0., 1.],
           [1., 1., 0.]])
    """
    import numpy as np

    parts = data if isinstance(data, tuple) else (data,)
    try:
        given = [np.asarray(part) for part in parts]
    except (TypeError, ValueError):  # lists of unequal lengths
        given = []
    shaped = [part[:, None] if part.ndim == 1 else part for part in given]
    numbers = all(part.dtype.kind in "biufO" and part.ndim == 2 for part in shaped)
    if not shaped or not numbers or len({len(part) for part in shaped}) != 1:
        raise ParameterError("need an array of numbers (rows, columns), or a pair of rows and labels")
    floats = [_floats(part) for part in shaped]
    return floats[0] if len(floats) == 1 else np.concatenate(floats, axis=1)


def _floats(part: npt.NDArray[np.generic]) -> npt.NDArray[np.float64]:
    """Numbers as they are, objects one by one."""
    import numpy as np

    if part.dtype.kind != "O":
        return part.astype(np.float64, copy=False)
    return np.array([_float(value) for value in part.ravel()], dtype=np.float64).reshape(part.shape)


def _float(value: object) -> float:
    """A number, or NaN: whatever an object raises would tell what it is."""
    try:
        return float(value)  # type: ignore[arg-type]
    except Exception:
        return float("nan")
