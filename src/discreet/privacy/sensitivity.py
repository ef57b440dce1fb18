"""Sensitivity: how far a query moves between neighbours, in closed form and by brute force.

In counts (divide by a public n for fractions), for one row of the data:

    query                                   l1 AddRemove   l1 Replace         l2 AddRemove     l2 Replace
    one counting query                      1              1                  1                1
    one linear query, rows in [low, high]   max |.|        high - low         the same         the same
    histogram over a partition              1              2                  1                sqrt 2
    k counting queries                      k              k                  sqrt k           sqrt k
    all t-way marginals of d bits           C(d,t)         2 C(d,t)           sqrt C(d,t)      sqrt(2 C(d,t))
    products of two of d signs              C(d,2)         2 floor(d^2/4)     sqrt C(d,2)      2 sqrt(floor(d^2/4))
    matrix W times the histogram            column norm    column difference  column norm      column difference

NullRow moves like AddRemove, since the null row counts for nothing, and Local like
Replace.  Exact, or rounded up where a square root is irrational.  Proofs:
docs/theory/sensitivity.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import UnsupportedError, require
from discreet.privacy.enclosure import root_up
from discreet.privacy.exact_sums import farthest, largest_norm, over_one_denominator
from discreet.privacy.neighbours import (
    AddRemove,
    Dataset,
    Local,
    Neighbours,
    NullRow,
    Replace,
    Row,
    datasets,
    neighbouring_pairs,
)
from discreet.privacy.number import Number, exact, tidy

if TYPE_CHECKING:
    import numpy.typing as npt

Query = Callable[[Dataset], Number | Sequence[Number]]
Sensitivity = float | Fraction


def counting(*, relation: type[Neighbours], norm: int = 1) -> Sensitivity:
    """One predicate, counted: a row is in or out.

    >>> counting(relation=Replace)
    1.0
    """
    return counting_queries(1, relation=relation, norm=norm)


def counting_queries(k: int, *, relation: type[Neighbours], norm: int) -> Sensitivity:
    """k predicates on the same rows; one row can move them all, each by 1."""
    require(k >= 1, "k >= 1", k=k)
    _swaps(relation)
    return _root(k, norm)


def linear(low: Number, high: Number, *, relation: type[Neighbours]) -> Sensitivity:
    """The sum over rows of a function with values in [low, high].

    >>> linear(-1, 1, relation=Replace), linear(-1, 1, relation=AddRemove)
    (2.0, 1.0)
    """
    a, b = exact(low), exact(high)
    require(a < b, "low < high", low=low, high=high)
    return tidy(b - a if _swaps(relation) else max(abs(a), abs(b)))


def mean(low: Number, high: Number, *, n: int, relation: type[Neighbours]) -> Sensitivity:
    """The mean of n values in [low, high]; n must be public, so AddRemove is refused.

    >>> mean(0, 1, n=100, relation=Replace)
    0.01
    """
    require(n >= 1, "n >= 1", n=n)
    if relation is AddRemove:
        raise UnsupportedError("the mean needs a public n; under AddRemove, release a noisy sum and a noisy count")
    return tidy(exact(linear(low, high, relation=relation)) / n)


def histogram(*, relation: type[Neighbours], norm: int) -> Sensitivity:
    """Counts of the cells of a partition: a changed row leaves one cell and enters another.

    >>> histogram(relation=Replace, norm=1), histogram(relation=AddRemove, norm=1)
    (2.0, 1.0)
    """
    return _root(2 if _swaps(relation) else 1, norm)


def marginals(d: int, t: int, *, relation: type[Neighbours], norm: int) -> Sensitivity:
    """All C(d, t) tables of counts over t of d bits: one histogram for each."""
    require(1 <= t <= d, "1 <= t <= d", d=d, t=t)
    return _root(math.comb(d, t) * (2 if _swaps(relation) else 1), norm)


def parities2(d: int, *, relation: type[Neighbours], norm: int) -> Sensitivity:
    """The sums of x_i x_j over rows in {-1, 1}^d, for all i < j.

    A row that changes a of its signs changes a (d - a) products, each by 2; the most is floor(d^2 / 4) of them.

    >>> parities2(4, relation=Replace, norm=2), parities2(4, relation=Replace, norm=1)
    (4.0, 8.0)
    """
    require(d >= 2, "d >= 2", d=d)
    if not _swaps(relation):
        return _root(d * (d - 1) // 2, norm)
    changed = d * d // 4
    return _root(4 * changed, 2) if _norm(norm) == 2 else tidy(2 * changed)


def matrix(rows: npt.ArrayLike, *, relation: type[Neighbours], norm: int) -> Sensitivity:
    """W times the histogram: the largest norm of a column, or under Replace of a difference of two columns.

    Entries are read as the decimals they print.  Replace takes O(columns^2 rows) steps.

    >>> matrix([[1, 1, 0], [0, 1, 1]], relation=AddRemove, norm=1), matrix([[1, 0], [0, 1]], relation=Replace, norm=2)
    (2.0, 1.4142135623730951)
    """
    import numpy as np

    table = np.asarray(rows)
    require(table.ndim == 2 and table.size > 0, "a matrix of queries by cells", shape=table.shape)
    require(table.dtype.kind != "b", "numbers, not truth values", kind=str(table.dtype))
    whole, unit = over_one_denominator(table, read=exact)
    power = _norm(norm)
    largest = farthest(whole, power=power) if _swaps(relation) else largest_norm(whole, power=power)
    return tidy(Fraction(largest, unit)) if power == 1 else _root_of(Fraction(largest, unit * unit))


def stacked(sensitivities: Iterable[Number], *, norm: int) -> Sensitivity:
    """Several queries answered together: sensitivities add in l1, and their squares in l2."""
    parts = [exact(value) for value in sensitivities]
    require(bool(parts) and min(parts) >= 0, "sensitivities of at least 0", sensitivities=len(parts))
    if _norm(norm) == 1:
        return tidy(sum(parts, Fraction(0)))
    return _root_of(sum((part * part for part in parts), Fraction(0)))


def brute_force(
    query: Query, *, universe: Sequence[Row], n: int, relation: type[Neighbours], norm: int = 1
) -> Sensitivity:
    """The global sensitivity over all datasets of n rows (at most n under AddRemove), by enumeration.

    >>> brute_force(lambda rows: rows.count(1), universe=(0, 1), n=3, relation=Replace)
    1.0
    """
    values = {rows: _vector(query(rows)) for rows in datasets(universe, n=n, relation=relation)}
    pairs = neighbouring_pairs(universe, n=n, relation=relation)
    return _rooted(max((_gap(values[a], values[b], norm) for a, b in pairs), default=Fraction(0)), norm)


def local(
    query: Query, dataset: Sequence[Row], *, universe: Sequence[Row], relation: type[Neighbours], norm: int = 1
) -> Sensitivity:
    """The local sensitivity: the farthest that one step from this dataset moves the query.

    It depends on the data.  Noise scaled to it reveals it: where it is 0 there is no noise.
    """
    _swaps(relation)
    here = _vector(query(tuple(dataset)))
    others = relation.of(dataset, universe)  # type: ignore[attr-defined]
    return _rooted(max((_gap(here, _vector(query(other)), norm) for other in others), default=Fraction(0)), norm)


def _vector(value: Number | Sequence[Number]) -> tuple[Fraction, ...]:
    entries = value if isinstance(value, (tuple, list)) or hasattr(value, "__array__") else (value,)
    return tuple(exact(entry) for entry in entries)  # type: ignore[union-attr]


def _gap(left: tuple[Fraction, ...], right: tuple[Fraction, ...], norm: int) -> Fraction:
    """The l1 distance, or the square of the l2 distance."""
    power = _norm(norm)
    return sum((abs(a - b) ** power for a, b in zip(left, right, strict=True)), Fraction(0))


def _rooted(value: Fraction, norm: int) -> Sensitivity:
    return tidy(value) if norm == 1 else _root_of(value)


def _root(count: int, norm: int) -> Sensitivity:
    """The norm of `count` entries of 1."""
    return _rooted(Fraction(count), _norm(norm))


def _root_of(square: Fraction) -> Sensitivity:
    return tidy(root_up(square))


def _norm(norm: int) -> int:
    require(norm in (1, 2) and not isinstance(norm, bool), "norm 1 or 2", norm=norm)
    return norm


def _swaps(relation: type[Neighbours]) -> bool:
    """Whether a step exchanges one row for another, rather than adding or removing one."""
    if relation in (Replace, Local):
        return True
    if relation in (AddRemove, NullRow):
        return False
    raise UnsupportedError(f"sensitivity under {relation.__name__} is for graphs; this is for rows")
