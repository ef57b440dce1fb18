"""Narrower bounds for a column, found privately: where the wide declared range is mostly empty.

Noise on a sum grows with the declared range, so a range ten times too wide makes sums ten times too
noisy.  The declared range is cut into bins, by default at powers of two, their rows are counted by
one ordinary question, and the bounds are the edges of the bins in which the quantiles fall.

Theorem.  The bounds are a function of that answer and of public facts, so they are as private as
the answer and cost nothing beyond it.  Let N rows be counted, and let no sum of the noise of the
first, or of the last, few bins exceed A in size; this fails with probability at most beta for
A = `reach` below.  Unless the declared range is returned, because so few rows are no more than noise,

    below `low`     are at most  max(q N + (1 + q) A, 2 A)          rows, for the lower quantile q,
    above `high`    are at most  max((1 - p) N + (2 - p) A, 2 A)    rows, for the upper quantile p,

and no range is wasted: `low` is not below the bin of the least value, nor `high` above the bin of the
greatest.  Proof: docs/theory/counting.md.

What it costs: one COUNT(*), so Laplace noise of scale R / epsilon in each bin, where R is the table's
rows_per_unit.  How wrong it may be: a factor of two, or the width of equal `bins`, and the A rows above.  A is
about 2 sqrt(k ln(4 / beta)) R / epsilon for k bins, so many narrow bins find the tails less well than a few.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from discreet.curator.answer import Answer
from discreet.data.columns import Integer, Real
from discreet.errors import UnsupportedError, require
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.number import Number, exact
from discreet.queries.builder import Term, case, col, count

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from discreet.curator.declared import Declared

MOST_BINS = 10_000


@dataclass(frozen=True, slots=True, eq=False)
class ClippingBounds:
    """Suggested bounds, the declaration they make, and the answer they came from.

    >>> import discreet as dc
    >>> import pyarrow as pa
    >>> visits = dc.Table(pa.table({"cost": [300] * 5000}), domain=dc.Domain({"cost": dc.Integer(0, 5000)}), unit=None)
    >>> curator = dc.Curator({"visits": visits}, budget=dc.PureDP(1), ledger=":memory:")
    >>> bounds = curator.clipping_bounds("visits", "cost", epsilon=1)
    >>> bounds.column.low <= 300 <= bounds.column.high
    True
    >>> curator.close()
    """

    column: Integer | Real  # the declared one, narrowed
    below: int  # at most so many counted rows are below, and above, with probability 1 - beta together
    above: int
    beta: float
    answer: Answer

    @property
    def low(self) -> int | float | Fraction:
        """Values below it are raised to it."""
        return self.column.low

    @property
    def high(self) -> int | float | Fraction:
        """Values above it are lowered to it."""
        return self.column.high

    def __str__(self) -> str:
        chance = f"with probability {1 - self.beta:g}"
        return f"from {self.low} to {self.high}; at most {self.below} rows below and {self.above} above, {chance}"


def clipping_bounds(
    curator: Declared,
    table: str,
    column: str,
    *,
    epsilon: Number | None = None,
    budget: Guarantee | None = None,
    quantiles: tuple[Number, Number] = (0.01, 0.99),
    bins: int | None = None,
    beta: float = 0.05,
    analyst: str | None = None,
) -> ClippingBounds:
    """Ask for the counts of the bins, and read the bounds off the answer."""
    require(len(quantiles) == 2, "two quantiles", quantiles=quantiles)
    shares = exact(quantiles[0]), exact(quantiles[1])
    require(0 < shares[0] < shares[1] < 1, "0 < lower quantile < upper quantile < 1", quantiles=quantiles)
    require(0 < beta < 1, "0 < beta < 1", beta=beta)
    question = curator.table(table)
    declared = question.table.domain[column]
    if not isinstance(declared, (Integer, Real)):
        raise UnsupportedError(f"clipping bounds are for Integer and Real columns; {column!r} is a {declared.name}")
    starts = _powers(*declared.codes) if bins is None else _equal(*declared.codes, bins)
    value = col(column)
    key = _bin(value, starts, declared.step, equal=bins is not None)
    answer = curator.ask(
        question.where(~value.is_null()).group_by(key.named("bin")).select(n=count()),
        epsilon=epsilon,
        budget=budget,
        beta=beta,
        analyst=analyst,
        groups_per_unit=question.table.rows_per_unit,  # rows are what is counted: all kept ones, in any bins
    )
    noisy = [int(cell) for cell in answer.noisy[0]][: len(starts)]  # NULL, the last key, is empty
    mechanism = answer.plan.releases[0].mechanism
    assert isinstance(mechanism, (Laplace, Gaussian))
    alpha = reach(mechanism, bins=len(starts), beta=beta)
    first, last = inside(noisy, quantiles=shares, alpha=alpha)
    low, high = starts[first], [*starts, declared.codes[1]][last + 1]
    low -= low == high  # the last bin may hold a single value
    narrow = _narrowed(declared, low, high)
    below = max(0, sum(noisy[:first]) + alpha) if first else 0
    above = max(0, sum(noisy[last + 1 :]) + alpha) if last < len(starts) - 1 else 0
    return ClippingBounds(narrow, below, above, beta, answer)


def _powers(low: int, high: int) -> list[int]:
    """Where bins start, in codes: powers of two from the value nearest to zero, in both directions.

    >>> _powers(-5, 9)
    [-5, -3, -1, 0, 1, 2, 4, 8]
    """
    require(low < high, "a declared range of more than one value", low=low, high=high)
    anchor = min(max(0, low), high)
    up = [anchor + 2**k for k in range(62) if anchor + 2**k <= high]
    down = [anchor + 1 - 2**k for k in range(1, 63) if anchor + 1 - 2**k > low]
    return sorted({low, *down, anchor, *up})


def _equal(low: int, high: int, bins: int) -> list[int]:
    """Where bins of equal width start; at most `bins` of them."""
    whole = isinstance(bins, int) and not isinstance(bins, bool)
    require(whole and 2 <= bins <= MOST_BINS, f"2 <= bins <= {MOST_BINS:,}", bins=bins)
    require(low < high, "a declared range of more than one value", low=low, high=high)
    return list(range(low, high + 1, -(-(high - low + 1) // bins)))


def _bin(value: Term, starts: Sequence[int], step: Fraction, *, equal: bool) -> Term:
    """The number of the bin, as an expression."""
    if equal:
        return ((value - starts[0] * step) / ((starts[1] - starts[0]) * step)).floor()
    return case(*((value < start * step, i) for i, start in enumerate(starts[1:])), otherwise=len(starts) - 1)


def inside(noisy: Sequence[int], *, quantiles: tuple[Fraction, Fraction], alpha: int) -> tuple[int, int]:
    """The bins in which two quantiles of noisy counts fall, or the nearest with more than noise beyond them.

    >>> from fractions import Fraction
    >>> inside([0, 1, 60, 38, 2, -1], quantiles=(Fraction(1, 20), Fraction(19, 20)), alpha=4)
    (2, 3)
    >>> inside([0, 1, 60, 38, 2, -1], quantiles=(Fraction(1, 20), Fraction(19, 20)), alpha=60)
    (0, 5)
    """
    total = sum(noisy)
    below, above = max(quantiles[0] * total, alpha), max((1 - quantiles[1]) * total, alpha)
    if below + above >= total:
        return 0, len(noisy) - 1
    through = [0, *accumulate(noisy)]
    first = next(i for i, rows in enumerate(through[1:]) if rows > below)
    last = max(i for i, rows in enumerate(through[:-1]) if total - rows > above)
    return first, last


def reach(mechanism: Laplace | Gaussian, *, bins: int, beta: float) -> int:
    """What no sum of the noise of the first, or of the last, few bins exceeds, with probability 1 - beta.

    By Doob's inequality for exp(r S), whatever r > 0: Pr[max S >= t] <= E[exp(r Z)]^bins / exp(r t).  There are
    four maxima: of the first and of the last bins, upward and downward.
    """
    chance = math.log(4 / beta)
    if isinstance(mechanism, Gaussian):  # E[exp(r Z)] <= exp(r^2 sigma^2 / 2)
        return math.ceil(float(mechanism.sigma) * math.sqrt(2 * bins * chance))
    one = 1 / float(mechanism.scale)
    rates = [one * i / 256 for i in range(1, 256)]

    def moment(rate: float) -> float:  # ln E[exp(rate Z)]; with p = exp(-one), (1-p)^2 / ((1 - p e^r) (1 - p e^-r))
        return 2 * math.log(-math.expm1(-one)) - sum(math.log(-math.expm1(r - one)) for r in (rate, -rate))

    return math.ceil(min((bins * moment(rate) + chance) / rate for rate in rates))


def _narrowed(declared: Integer | Real, low: int, high: int) -> Integer | Real:
    if isinstance(declared, Integer):
        return Integer(low, high, nullable=declared.nullable)
    return Real(low * declared.step, high * declared.step, step=declared.step, nullable=declared.nullable)
