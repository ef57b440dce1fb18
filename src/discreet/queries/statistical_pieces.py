"""Statistical queries that run on rows and on tables alike: affine forms, their products, and written expressions.

An affine form has weights that are multiples of 2^-24.  A `Piece` is the product of its factors, each rounded to a
multiple of 2^-20 (of a coarser number if there are more than two), on rows where every condition (a product of forms)
is at least 0 and every excluded one is below 0, and 0 on the other rows.  On a table it is compiled to integer
arithmetic of the closed language, so each round of a learner is one aggregation in any engine.
Theory: docs/theory/statistical_queries.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from operator import mul
from typing import TYPE_CHECKING

from discreet.data.columns import Boolean
from discreet.data.domain import missing
from discreet.data.table import Table
from discreet.errors import DomainError, require
from discreet.privacy.number import Number, exact
from discreet.queries.builder import Builder, Term, case, col, greatest, least, total
from discreet.queries.expression import Expression, number
from discreet.queries.statistical import RESOLUTION, RowFunction, centre, check_range

if TYPE_CHECKING:
    from discreet.queries.statistical import Rows, StatisticalQuery, Values

WEIGHT = 1 << 24  # weights are multiples of its inverse
BITS = 40  # of the product of all factors below 1, and at most half of them for one
HEAVIEST = 1 << 12  # the largest weight or offset


@dataclass(frozen=True, slots=True)
class Affine:
    """weights . columns + offset, by the positions of the columns.

    >>> import numpy as np
    >>> Affine.of({0: 2, 2: -1}, offset=0.5).on(np.array([[1.0, 9.0, 3.0]]))
    array([-0.5])
    """

    weights: tuple[tuple[int, int], ...]  # (column, weight in units of 2^-24)
    offset: int  # in units of 2^-24

    @classmethod
    def of(cls, weights: Mapping[int, Number], *, offset: Number = 0) -> Affine:
        """The form with these weights, each rounded to the nearest multiple of 2^-24."""
        rounded = {column: _rounded(weight) for column, weight in weights.items()}
        for column in rounded:
            whole = isinstance(column, int) and not isinstance(column, bool)
            require(whole and column >= 0, "the position of a column", column=column)
        kept = tuple((column, weight) for column, weight in sorted(rounded.items()) if weight)
        return cls(kept, _rounded(offset))

    @classmethod
    def scaled(cls, column: int, low: Number, high: Number, *, reach: Number = 1) -> Affine:
        """The column with declared bounds, moved to [-reach, reach].

        >>> import numpy as np
        >>> Affine.scaled(0, 0, 100).on(np.array([[0.0], [75.0]])).round(4)
        array([-1. ,  0.5])
        """
        check_range(low, high)
        slope = 2 * exact(reach) / (exact(high) - exact(low))
        return cls.of({column: slope}, offset=-exact(reach) - slope * exact(low))

    @classmethod
    def combined(cls, forms: Sequence[Affine], weights: Sequence[float], *, offset: Number = 0) -> Affine:
        """The sum of weighted forms."""
        total: dict[int, Fraction] = {}
        constant = exact(offset)
        for form, weight in zip(forms, weights, strict=True):
            factor = Fraction(float(weight)) / WEIGHT
            constant += factor * form.offset
            for column, inner in form.weights:
                total[column] = total.get(column, Fraction(0)) + factor * inner
        return cls.of(total, offset=constant)

    def on(self, rows: Rows) -> Values:
        """The value on each row."""
        import numpy as np

        width = max((column for column, _ in self.weights), default=-1) + 1
        require(width <= rows.shape[1], "rows with all columns of the query", columns=rows.shape[1], needed=width)
        found = np.full(len(rows), self.offset / WEIGHT)
        for column, weight in self.weights:
            found += rows[:, column] * (weight / WEIGHT)
        return found

    def term(self, columns: Sequence[Term]) -> Term:
        """2^24 times the form, in the closed language."""
        found = [columns[column] * weight for column, weight in self.weights]
        constant = Term(str(self.offset))
        return reduce(Term.__add__, found, constant) if self.offset or not found else reduce(Term.__add__, found)


def _rounded(weight: Number) -> int:
    found = exact(weight)
    require(abs(found) <= HEAVIEST, f"weights within {HEAVIEST}", weight=weight)
    return round(found * WEIGHT)


@dataclass(frozen=True, kw_only=True, slots=True)
class Piece:
    """The product of the factors where every condition is at least 0 and every excluded one is not; elsewhere 0.

    A condition is a product of forms.

    >>> import numpy as np
    >>> heavy = Piece(conditions=((Affine.of({0: 1}, offset=-0.5),),), low=0, high=1)  # column 0 is at least 1/2
    >>> heavy.values(np.array([[0.0], [1.0]]))
    array([0., 1.])
    """

    factors: tuple[Affine, ...] = ()
    conditions: tuple[tuple[Affine, ...], ...] = ()
    excluded: tuple[tuple[Affine, ...], ...] = ()
    low: Number = -1
    high: Number = 1

    def __post_init__(self) -> None:
        check_range(self.low, self.high)
        require(exact(self.low) <= 0 <= exact(self.high), "a range that holds 0", low=self.low, high=self.high)

    @property
    def steps(self) -> int:
        """Factors are rounded to multiples of its inverse."""
        return 1 << BITS // max(2, len(self.factors))

    def values(self, rows: Rows) -> Values:
        """The value on each row of an array."""
        import numpy as np

        found = np.ones(len(rows))
        for factor in self.factors:
            part = factor.on(rows)
            part *= self.steps
            part += 0.5
            found *= np.floor(part, out=part)
        if self.factors:
            found /= self.steps ** len(self.factors)
        for condition in self.conditions:
            found = np.where(_product(condition, rows) >= 0, found, 0.0)
        for condition in self.excluded:
            found = np.where(_product(condition, rows) < 0, found, 0.0)
        return found

    def term(self, columns: Sequence[Term]) -> Term:
        """The product in the closed language."""
        factors = [(factor.term(columns) / (WEIGHT // self.steps) + Fraction(1, 2)).floor() for factor in self.factors]
        return reduce(mul, factors) / self.steps ** len(factors) if factors else Term("1")

    def where(self, columns: Sequence[Term]) -> Term | None:
        """Where the product counts, in the closed language; None: everywhere."""
        holds = [reduce(mul, _signs(condition, columns)) >= 0 for condition in self.conditions]
        holds += [reduce(mul, _signs(condition, columns)) < 0 for condition in self.excluded]
        return reduce(Term.__and__, holds) if holds else None


EVERY = Piece()  # 1 on each row: the query that counts


def _product(condition: tuple[Affine, ...], rows: Rows) -> Values:
    return reduce(mul, [form.on(rows) for form in condition])


def _signs(condition: tuple[Affine, ...], columns: Sequence[Term]) -> list[Term]:
    """Terms whose product has the sign of the condition, or NULL: with several factors, each only by its sign."""
    if len(condition) == 1:
        return [condition[0].term(columns)]
    terms = [form.term(columns) for form in condition]
    return [case((term > 0, 1), (term < 0, -1), (term == 0, 0)) for term in terms]


@dataclass(frozen=True, slots=True, eq=False)
class Written:
    """An expression over the columns of a table, with a range that contains all its values, or is cut to it.

    >>> from discreet.queries.builder import col
    >>> Written(col("age") >= 65, low=0, high=1).high
    1
    """

    expression: Term
    low: Number = -1
    high: Number = 1

    def __post_init__(self) -> None:
        require(
            isinstance(self.expression, Term), "a term such as col('age') >= 65", term=type(self.expression).__name__
        )
        check_range(self.low, self.high)

    def term(self, columns: Sequence[Term]) -> Term:
        """The expression; it names its columns itself."""
        return self.expression

    def where(self, columns: Sequence[Term]) -> Term | None:
        """Everywhere."""
        return None


def column_terms(table: Table, columns: Sequence[str]) -> list[Term]:
    """The columns as numbers: true is 1, false is 0, and NULL is no number."""
    found = []
    for name in columns:
        if name not in table.domain:
            raise DomainError(missing(name, list(table.domain), what="column"))
        term = col(name)
        found.append(case((term, 1), (~term, 0)) if isinstance(table.domain[name], Boolean) else term)
    return found


def lattice_expression(
    query: StatisticalQuery, table: Table, columns: Sequence[str], *, resolution: int = RESOLUTION
) -> Expression:
    """What the engine adds up: an integer in [-R, R] on every row, proven by its type, or NULL, which adds nothing.

    >>> from discreet.data import Boolean, Domain
    >>> table = Table("v.csv", domain=Domain({"icu": Boolean()}), unit=None)
    >>> piece = Piece(factors=(Affine.of({0: 1}),), low=0, high=1)
    >>> number(lattice_expression(piece, table, ["icu"], resolution=8)).high
    8
    """
    if isinstance(query, RowFunction):
        raise DomainError("a table is asked in the closed language: give a Piece or a Written query")
    middle, half = centre(query)
    named = column_terms(table, columns)
    value, where = query.term(named), query.where(named)
    if _beyond(_read(value, table), query.low, query.high):
        value = case((~value.is_null(), least(query.high, greatest(query.low, value))))  # LEAST alone would skip NULL
    steps = ((value - middle) * (Fraction(resolution) / half) + Fraction(1, 2)).floor()
    if where is not None:
        steps = case((where, steps), otherwise=math.floor(-middle * resolution / half + Fraction(1, 2)))
    found = _read(steps, table)
    bounds = number(found)
    assert bounds.step == 1
    assert -resolution <= bounds.low <= bounds.high <= resolution
    return found


def _beyond(expression: Expression, low: Number, high: Number) -> bool:
    known = number(expression)
    return known.low * known.step < exact(low) or known.high * known.step > exact(high)


def _read(term: Term, table: Table) -> Expression:
    """The term, read against the declaration of the table as if it had been written in SQL."""
    argument = Builder("rows", table).select(value=total(term)).query().aggregates[0].argument
    assert argument is not None
    return argument
