"""Workloads from workloads: one after another, weighted, and Kronecker products.

Theorem.  Let P be the product over the factors of the largest norm of a column.  The columns of a Kronecker product are
the products of columns, so its AddRemove sensitivity is P (in l1, and in l2 squared).  If no factor has a negative
entry, its Replace sensitivity is at most 2 P, and equal to it where the Replace sensitivity of a factor is twice its
AddRemove sensitivity.  Proof: docs/theory/workloads.md.

Elsewhere the sensitivity is computed from the columns while they can be written out, and above that an upper bound
is given: the sum of the parts for stacked workloads, 2 P (4 P in squared l2 with negative entries) for products.
`exact` tells which.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.data.arrays import Array, floats, namespace, stack, wide
from discreet.data.domain import Domain
from discreet.errors import ParameterError, require
from discreet.privacy.neighbours import AddRemove, Neighbours
from discreet.privacy.number import Number, exact
from discreet.queries.local import plain
from discreet.queries.workload import WRITTEN, Known, Workload, remembered, same_domain, small_entries, swaps

if TYPE_CHECKING:
    import numpy.typing as npt

    from discreet.queries.workload import Countable


class Stacked(Workload):
    """The queries of several workloads over one domain, one after another; also `w1 + w2`.

    >>> from discreet.queries.ordered import ranges, thresholds
    >>> len(thresholds(4) + ranges(4))
    14
    """

    __slots__ = ("_known", "parts")

    def __init__(self, parts: Sequence[Workload]) -> None:
        require(bool(parts), "at least one workload", parts=len(parts))
        flat: list[Workload] = []
        for part in parts:
            same_domain(parts[0].domain, part.domain)
            flat += part.parts if isinstance(part, Stacked) else [part]
        self.parts = tuple(flat)
        self._known: Known = {}

    @property
    def domain(self) -> Domain:  # type: ignore[override]
        """That of the parts."""
        return self.parts[0].domain

    @property
    def entry(self) -> Fraction:
        """The largest of all parts."""
        return max(part.entry for part in self.parts)

    @property
    def integral(self) -> bool:
        """Where all parts are."""
        return all(part.integral for part in self.parts)

    @property
    def exact(self) -> bool:
        """Whether the stated sensitivities are attained."""
        return len(self.parts) == 1 or math.prod(self.shape) <= WRITTEN

    def __len__(self) -> int:
        return sum(len(part) for part in self.parts)

    def apply(self, cells: Array) -> Array:
        """The answers of the parts."""
        return stack([part.apply(cells) for part in self.parts])

    def transpose(self, answers: Array) -> Array:
        """The sum of the parts."""
        first, made = 0, None
        for part in self.parts:
            here = part.transpose(answers[first : first + len(part)])
            first += len(part)
            made = here if made is None else made + here
        return made

    def from_marginals(self, data: Countable) -> npt.NDArray[Any]:
        """The answers of the parts."""
        return stack([part.from_marginals(data) for part in self.parts])

    def squared(self, neighbours: type[Neighbours]) -> Fraction:
        """From the columns, or at most the sum over the parts."""
        return self._moved(neighbours, 2)

    def absolute(self, neighbours: type[Neighbours]) -> Fraction:
        """From the columns, or at most the sum over the parts."""
        return self._moved(neighbours, 1)

    def _moved(self, neighbours: type[Neighbours], power: int) -> Fraction:
        if len(self.parts) > 1 and self.exact:
            return remembered(self, self._known, neighbours, power)
        each = [part.squared(neighbours) if power == 2 else part.absolute(neighbours) for part in self.parts]
        return sum(each, Fraction(0))

    def row(self, index: int) -> Workload:
        """A query of a part."""
        for part in self.parts:
            if index < len(part):
                return part.row(index)
            index -= len(part)
        raise AssertionError

    def to_dict(self) -> dict[str, Any]:
        """The parts."""
        return {"type": "stacked", "parts": [part.to_dict() for part in self.parts]}


class Weighted(Workload):
    """Every query times one exact number; also `2 * w`.

    >>> from discreet.queries.ordered import thresholds
    >>> (3 * thresholds(2)).matrix().tolist()
    [[3, 0], [3, 3]]
    """

    __slots__ = ("base", "weight")

    def __init__(self, base: Workload, weight: Number) -> None:
        self.base, self.weight = base, exact(weight)
        require(self.weight != 0, "weight != 0", weight=weight)
        small_entries(self)

    @property
    def domain(self) -> Domain:  # type: ignore[override]
        """That of the queries."""
        return self.base.domain

    @property
    def entry(self) -> Fraction:
        """That of the queries, times the weight."""
        return abs(self.weight) * self.base.entry

    @property
    def integral(self) -> bool:
        """Where the queries and the weight are."""
        return self.base.integral and self.weight.denominator == 1

    def __len__(self) -> int:
        return len(self.base)

    def apply(self, cells: Array) -> Array:
        """The weighted answers."""
        return self.base.apply(cells) * plain(self.weight)

    def transpose(self, answers: Array) -> Array:
        """The weighted cells."""
        return self.base.transpose(answers * plain(self.weight))

    def from_marginals(self, data: Countable) -> npt.NDArray[Any]:
        """The weighted answers."""
        return self.base.from_marginals(data) * plain(self.weight)

    def squared(self, neighbours: type[Neighbours]) -> Fraction:
        """weight^2 times."""
        return self.weight**2 * self.base.squared(neighbours)

    def absolute(self, neighbours: type[Neighbours]) -> Fraction:
        """|weight| times."""
        return abs(self.weight) * self.base.absolute(neighbours)

    def row(self, index: int) -> Workload:
        """One weighted query."""
        return Weighted(self.base.row(index), self.weight)

    def __str__(self) -> str:
        return f"{self.weight} x {self.base}"

    def to_dict(self) -> dict[str, Any]:
        """The queries and the weight."""
        return {"type": "weighted", "base": self.base.to_dict(), "weight": str(self.weight)}


def kron(*factors: Workload) -> Workload:
    """All products of a query of each factor, over the domains of different columns side by side.

    >>> from discreet.data.columns import Boolean, Integer
    >>> from discreet.queries.ordered import counts, thresholds
    >>> by_ward = kron(counts(Domain({"icu": Boolean()})), thresholds(Domain({"age": Integer(0, 9)})))
    >>> list(by_ward.domain), by_ward.shape
    (['icu', 'age'], (20, 20))
    """
    require(bool(factors), "at least one workload", factors=len(factors))
    return factors[0] if len(factors) == 1 else Kronecker(factors)


class Kronecker(Workload):
    """W1 (x) W2 (x) ...: queries and cells in C order of those of the factors.

    >>> from discreet.data import Boolean, Domain
    >>> from discreet.queries import marginals
    >>> sides = [marginals(Domain({name: Boolean()}), 1) for name in "ab"]
    >>> Kronecker(sides).shape
    (4, 4)
    """

    __slots__ = ("_known", "domain", "factors")

    def __init__(self, factors: Sequence[Workload]) -> None:
        names = [name for factor in factors for name in factor.domain]
        if len(set(names)) < len(names):
            raise ParameterError(f"need factors over different columns, got {names}")
        self.factors = tuple(factors)
        self._known: Known = {}
        self.domain = Domain({name: column for factor in factors for name, column in factor.domain.items()})
        small_entries(self)

    @property
    def entry(self) -> Fraction:
        """The product of those of the factors."""
        return math.prod((factor.entry for factor in self.factors), start=Fraction(1))

    @property
    def integral(self) -> bool:
        """Where all factors are."""
        return all(factor.integral for factor in self.factors)

    def __len__(self) -> int:
        return math.prod(len(factor) for factor in self.factors)

    def apply(self, cells: Array) -> Array:
        """One factor after another, along its own axis."""
        return self._along(wide(cells), backwards=False)

    def transpose(self, answers: Array) -> Array:
        """The same with the transposes."""
        return self._along(answers, backwards=True)

    def _along(self, values: Array, *, backwards: bool) -> Array:
        front, back = 1, math.prod(values.shape)
        for factor in self.factors:
            size = len(factor) if backwards else factor.domain.size
            back //= size
            values = along(factor, values.reshape(front, size, back), backwards=backwards)
            front *= factor.domain.size if backwards else len(factor)
        return values.reshape(-1)

    def squared(self, neighbours: type[Neighbours]) -> Fraction:
        """The product, or from the columns, or at most twice (four times) the product."""
        return self._moved(neighbours, 2)

    def absolute(self, neighbours: type[Neighbours]) -> Fraction:
        """The product, or from the columns, or at most twice the product."""
        return self._moved(neighbours, 1)

    @property
    def exact(self) -> bool:
        """Whether the stated Replace sensitivities are attained."""
        return math.prod(self.shape) <= WRITTEN or all(self._disjoint(power) for power in (1, 2))

    def _moved(self, neighbours: type[Neighbours], power: int) -> Fraction:
        product = Fraction(math.prod(_norm(factor, AddRemove, power) for factor in self.factors))
        if not swaps(neighbours):
            return product
        if self._disjoint(power):
            return 2 * product
        if math.prod(self.shape) <= WRITTEN:
            return remembered(self, self._known, neighbours, power)
        return (2 if power == 1 or all(nonnegative(factor) for factor in self.factors) else 4) * product

    def _disjoint(self, power: int) -> bool:
        from discreet.privacy.neighbours import Replace

        twice = any(_norm(factor, Replace, power) == 2 * _norm(factor, AddRemove, power) for factor in self.factors)
        return twice and all(nonnegative(factor) for factor in self.factors)

    def to_dict(self) -> dict[str, Any]:
        """The factors."""
        return {"type": "kronecker", "factors": [factor.to_dict() for factor in self.factors]}


def along(factor: Workload, values: Array, *, backwards: bool = False) -> Array:
    """A workload or its transpose along the middle axis of an array of three: sums and products of whole slices."""
    front, size, back = values.shape
    step = factor.transpose if backwards else factor.apply
    made = factor.domain.size if backwards else len(factor)
    if front * back == 1:
        return step(values.reshape(size)).reshape(1, made, 1)
    library = namespace(values)
    columns = library.moveaxis(values, 1, 0).reshape(size, front * back)
    small = math.prod(factor.shape) <= 1 << 16
    if small:  # a product of matrices is faster than many short sums
        from discreet.data.arrays import like

        matrix = factor.matrix()
        whole = matrix.T if backwards else matrix
        found = like(whole, columns) @ columns if factor.integral else like(whole, floats(columns)) @ floats(columns)
    else:
        found = library.stack([step(columns[:, place]) for place in range(front * back)], 1)
    return library.moveaxis(found.reshape(made, front, back), 0, 1)


def nonnegative(workload: Workload) -> bool:
    """Whether no entry is negative, as far as the kind of workload tells."""
    from discreet.queries.local import Local
    from discreet.queries.marginals import Marginals
    from discreet.queries.ordered import Ordered
    from discreet.queries.products import Products

    match workload:
        case Marginals() | Ordered():
            return True
        case Products():
            return workload.kind != "parity"
        case Local():
            return workload.ends[0] >= 0
        case Stacked():
            return all(nonnegative(part) for part in workload.parts)
        case Kronecker():
            return all(nonnegative(factor) for factor in workload.factors)
        case Weighted():
            return workload.weight > 0 and nonnegative(workload.base)
        case _:
            return math.prod(workload.shape) <= WRITTEN and bool((workload.matrix() >= 0).all())


def _norm(workload: Workload, neighbours: type[Neighbours], power: int) -> Fraction:
    return workload.squared(neighbours) if power == 2 else workload.absolute(neighbours)
