"""Queries along one ordered column: counts, thresholds and ranges.

    counts(domain)   one query per cell: the identity
    thresholds(n)    1[x <= i] for i = 0, ..., n-1: running sums
    ranges(n)        1[i <= x <= j] for all i <= j, ordered by i and then j: differences of running sums

Theorem.  Their sensitivities, equal in l1 and in squared l2 since the entries are 0 and 1, are

                 AddRemove              Replace
    counts       1                      2 (0 if n = 1)
    thresholds   n                      n - 1
    ranges       floor((n + 1)^2 / 4)   the same for n >= 2, 0 for n = 1

Proof: docs/theory/workloads.md.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from discreet.data.arrays import Array, prefix_sums, stack, total, wide
from discreet.data.columns import Integer
from discreet.data.domain import Domain
from discreet.data.records import countable
from discreet.errors import ParameterError, require, shown
from discreet.privacy.neighbours import Neighbours
from discreet.queries.local import Box
from discreet.queries.marginals import Marginals, marginals
from discreet.queries.workload import Workload, swaps

if TYPE_CHECKING:
    import numpy.typing as npt

    from discreet.queries.workload import Countable


def counts(domain: Domain) -> Marginals:
    """Every cell of the domain: the one marginal table of all columns.

    >>> counts(Domain({"age": Integer(0, 9)})).shape
    (10, 10)
    """
    kept = countable(domain)
    return marginals(kept, len(kept))


def thresholds(over: int | Domain) -> Thresholds:
    """How many rows are at most i, for every i from 0 to n - 1, or for every value of a domain of one column.

    >>> thresholds(3).matrix().tolist()
    [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    """
    return Thresholds(line(over))


def ranges(over: int | Domain) -> Ranges:
    """How many rows are between i and j, for all i <= j.

    >>> ranges(3).matrix().tolist()
    [[1, 0, 0], [1, 1, 0], [1, 1, 1], [0, 1, 0], [0, 1, 1], [0, 0, 1]]
    """
    return Ranges(line(over))


def line(over: int | Domain) -> Domain:
    """A domain of one column: the given one, or a column "x" from 0 to n - 1."""
    if isinstance(over, Domain):
        kept = countable(over)
        require(len(kept) == 1, "a domain of one column (combine several by kron)", columns=list(kept))
        return kept
    if isinstance(over, bool) or not isinstance(over, int) or over < 1:
        raise ParameterError(f"need a domain of one column or an integer n >= 1, got {shown(over)}")
    return Domain({"x": Integer(0, over - 1)})


class Ordered(Workload):
    """Intervals of the positions of one column; NULL of a nullable column is the greatest position."""

    __slots__ = ("domain",)
    kind: ClassVar[str]

    def __init__(self, domain: Domain) -> None:
        self.domain = line(domain)

    def from_marginals(self, data: Countable) -> npt.NDArray[Any]:
        """From the counts of the values."""
        return self.apply(data.marginal(list(self.domain)).reshape(-1))

    def absolute(self, neighbours: type[Neighbours]) -> Fraction:
        """The same as the square, since entries and their differences are 0 or +-1."""
        return self.squared(neighbours)

    def _box(self, low: int, high: int) -> Box:
        return Box(self.domain, tuple(self.domain), (low,), (high,))

    def to_dict(self) -> dict[str, Any]:
        """The column."""
        return {"type": self.kind, "domain": self.domain.to_dict()}


class Thresholds(Ordered):
    """The lower triangle of ones, applied by running sums.

    >>> thresholds(3).matrix()
    array([[1, 0, 0],
           [1, 1, 0],
           [1, 1, 1]])
    """

    __slots__ = ()
    kind = "thresholds"

    def __len__(self) -> int:
        return self.domain.size

    def apply(self, cells: Array) -> Array:
        """Running sums."""
        return prefix_sums(wide(cells), 0)

    def transpose(self, answers: Array) -> Array:
        """Running sums from the other end."""
        return total(answers) - prefix_sums(answers, 0) + answers

    def squared(self, neighbours: type[Neighbours]) -> Fraction:
        """n, or n - 1 from the least value to the greatest."""
        return Fraction(self.domain.size - swaps(neighbours))

    def row(self, index: int) -> Box:
        """At most that position."""
        return self._box(0, index)


class Ranges(Ordered):
    """All intervals.

    >>> len(ranges(4)), ranges(4).matrix()[1]
    (10, array([1, 1, 0, 0]))
    """

    __slots__ = ()
    kind = "ranges"

    def __len__(self) -> int:
        return self.domain.size * (self.domain.size + 1) // 2

    def apply(self, cells: Array) -> Array:
        """Differences of running sums."""
        size = self.domain.size
        sums = prefix_sums(wide(cells), 0)
        return stack([sums] + [sums[start:] - sums[start - 1] for start in range(1, size)])

    def transpose(self, answers: Array) -> Array:
        """Each answer begins at its start and ceases after its end."""
        size = self.domain.size
        first, starts, ends = 0, [], answers[:0]
        for start in range(size):
            here = answers[first : first + size - start]  # the intervals that begin at `start`
            first += size - start
            starts.append(total(here).reshape(1))
            ends = stack([ends[:start], ends[start:] + here]) if start else here
        return prefix_sums(stack(starts), 0) - prefix_sums(ends, 0) + ends

    def squared(self, neighbours: type[Neighbours]) -> Fraction:
        """The intervals that hold the middle; and as many that hold one of two positions but not the other."""
        size = self.domain.size
        return Fraction(0 if swaps(neighbours) and size == 1 else (size + 1) ** 2 // 4)

    def row(self, index: int) -> Box:
        """One interval."""
        start, left = 0, index
        while left >= self.domain.size - start:
            left -= self.domain.size - start
            start += 1
        return self._box(start, start + left)
