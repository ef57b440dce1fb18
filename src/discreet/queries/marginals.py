"""Marginal tables: the counts of all combinations of values of some of the columns.

Theorem.  A row counts in one cell of each table.  With weights w_1, ..., w_k, the k tables together move, when a row is
added or removed, by sum w_i in l1 and the root of sum w_i^2 in l2; when a row is replaced, by twice that sum and
that square over the tables with a column of at least two values, and these are attained.

All tables are computed together, axis by axis: an axis is summed out once for all the tables that lack it,
which for the k-way tables of d bits takes about 2^(k+2) passes over the cells instead of one for each table.
Proof: docs/theory/workloads.md.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.data.arrays import Array, namespace, stack, total
from discreet.data.columns import Boolean
from discreet.data.domain import Domain
from discreet.data.records import countable
from discreet.errors import require
from discreet.privacy.neighbours import Neighbours
from discreet.privacy.number import Number, exact
from discreet.queries.local import Box, plain
from discreet.queries.workload import Workload, small_entries, swaps

if TYPE_CHECKING:
    import numpy.typing as npt

    from discreet.queries.workload import Countable


def marginals(
    domain: Domain, k: int | Iterable[Sequence[str]], *, weights: Sequence[Number] | None = None
) -> Marginals:
    """All k-way marginal tables, or the listed ones.

    >>> from discreet.data.columns import Boolean, Integer
    >>> domain = Domain({"age": Integer(0, 9), "icu": Boolean(), "smokes": Boolean()})
    >>> w = marginals(domain, 2)
    >>> w.sets, w.shape
    ((('age', 'icu'), ('age', 'smokes'), ('icu', 'smokes')), (44, 40))
    """
    kept = countable(domain)
    if isinstance(k, int):
        require(not isinstance(k, bool) and 0 <= k <= len(kept), "0 <= k <= the number of columns", k=k)
        sets = tuple(itertools.combinations(kept, k))
    else:
        order = list(kept)
        for names in k:
            require(not isinstance(names, str), "lists of column names", names=names)
        sets = tuple(tuple(sorted(names, key=lambda name: (kept[name], order.index(name))[1])) for names in k)
    return Marginals(kept, sets, weights)


class Marginals(Workload):
    """Marginal tables, one after another, the cells of each in C order; table i is multiplied by weights[i].

    >>> from discreet.data import Boolean, Domain
    >>> pairs = marginals(Domain({name: Boolean() for name in "abc"}), 2)
    >>> pairs.sets, len(pairs)
    ((('a', 'b'), ('a', 'c'), ('b', 'c')), 12)
    """

    __slots__ = ("_distinct", "_sizes", "domain", "sets", "weights")

    def __init__(
        self, domain: Domain, sets: tuple[tuple[str, ...], ...], weights: Sequence[Number] | None = None
    ) -> None:
        require(bool(sets), "at least one marginal", marginals=len(sets))
        require(len(set(sets)) == len(sets), "distinct marginals", marginals=len(sets))
        for names in sets:
            require(len(set(names)) == len(names), "distinct columns in a marginal", names=names)
        self.domain, self.sets = domain, sets
        self._sizes: tuple[int, ...] | None = None
        self.weights = tuple(exact(weight) for weight in weights) if weights is not None else (Fraction(1),) * len(sets)
        require(len(self.weights) == len(sets), "one weight per marginal", weights=len(self.weights), sets=len(sets))
        self._distinct = {Fraction(1)} if weights is None else set(self.weights)  # of millions of tables, few
        require(min(self._distinct) > 0, "weights > 0", least=str(min(self._distinct)))
        small_entries(self)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of cells of each table, counted once: there may be millions of tables."""
        if self._sizes is None:
            sizes = {name: declared.size for name, declared in self.domain.items()}
            self._sizes = tuple(math.prod([sizes[name] for name in names]) for names in self.sets)
        return self._sizes

    @property
    def entry(self) -> Fraction:
        """The largest weight."""
        return max(self._distinct)

    @property
    def integral(self) -> bool:
        """Where the weights are."""
        return all(weight.denominator == 1 for weight in self._distinct)

    @property
    def weighted(self) -> bool:
        """Whether a weight is not 1."""
        return any(weight != 1 for weight in self._distinct)

    def __len__(self) -> int:
        return sum(self.sizes)

    def tables(self, answers: npt.NDArray[Any]) -> dict[tuple[str, ...], npt.NDArray[Any]]:
        """Answers cut into tables by their columns, shaped."""
        ends = self._ends()
        shapes = [tuple(self.domain[name].size for name in names) for names in self.sets]
        parts = (answers[end - size : end] for end, size in zip(ends, self.sizes, strict=True))
        return {names: part.reshape(shape) for names, part, shape in zip(self.sets, parts, shapes, strict=True)}

    def apply(self, cells: Array) -> Array:
        """Every table, an axis summed out once for all that lack it."""
        sizes = [declared.size for declared in self.domain.values()]
        found: dict[tuple[int, ...], Array] = {}
        _sum_out(cells.reshape(1, -1), 0, sizes, self._places(), (), found)
        parts = [found[places] for places in self._places()]
        if self.weighted:
            parts = [part * plain(weight) for part, weight in zip(parts, self.weights, strict=True)]
        return stack(parts)

    def transpose(self, answers: Array) -> Array:
        """The sum of all tables, each spread over the cells."""
        sizes = [declared.size for declared in self.domain.values()]
        ends = self._ends()
        parts = {}
        for places, end, size, weight in zip(self._places(), ends, self.sizes, self.weights, strict=True):
            part = answers[end - size : end]
            parts[places] = part if weight == 1 else part * plain(weight)
        spread = _spread(1, 0, sizes, list(parts), (), parts)
        assert spread is not None
        return spread.reshape(-1)

    def from_marginals(self, data: Countable) -> npt.NDArray[Any]:
        """The tables of the data."""
        parts = [table.reshape(-1) for table in tables_of(data, self.sets)]
        return stack([p if w == 1 else p * plain(w) for p, w in zip(parts, self.weights, strict=True)])

    def squared(self, neighbours: type[Neighbours]) -> Fraction:
        """sum w^2, or twice that over the tables that a replaced row can leave."""
        return self._moved(neighbours, 2)

    def absolute(self, neighbours: type[Neighbours]) -> Fraction:
        """sum w, or twice that over the tables that a replaced row can leave."""
        return self._moved(neighbours, 1)

    def _moved(self, neighbours: type[Neighbours], power: int) -> Fraction:
        swapped = swaps(neighbours)
        if self.weighted:
            moving = Counter(w for w, size in zip(self.weights, self.sizes, strict=True) if size > 1 or not swapped)
        else:
            moving = {Fraction(1): sum(size > 1 for size in self.sizes) if swapped else len(self.sets)}
        return (1 + swapped) * sum((many * weight**power for weight, many in moving.items()), Fraction(0))

    def _places(self) -> list[tuple[int, ...]]:
        order = {name: place for place, name in enumerate(self.domain)}
        return [tuple(order[name] for name in names) for names in self.sets]

    def row(self, index: int) -> Workload:
        """One cell of one table: a box."""
        ends = self._ends()
        which = bisect.bisect_right(ends, index)
        left, positions = index - (ends[which - 1] if which else 0), []
        for name in reversed(self.sets[which]):
            left, position = divmod(left, self.domain[name].size)
            positions.append(position)
        at = tuple(reversed(positions))
        return Box(self.domain, self.sets[which], at, at, self.weights[which])

    def _ends(self) -> list[int]:
        """Where each table ends."""
        return list(itertools.accumulate(self.sizes))

    def to_dict(self) -> dict[str, Any]:
        """The sets of columns, and the weights if any."""
        made: dict[str, Any] = {
            "type": "marginals",
            "domain": self.domain.to_dict(),
            "sets": [list(s) for s in self.sets],
        }
        return made | {"weights": [str(weight) for weight in self.weights]} if self.weighted else made


def conjunctions(over: int | Domain, t: int | None = None) -> Marginals:
    """All conjunctions of t conditions "column = value" on different columns, or of any number of them.

    On d bits these are the conjunctions of t literals, C(d, t) 2^t of them, and 3^d in all: the cells of marginals.

    >>> len(conjunctions(5, 2)), len(conjunctions(10))
    (40, 59049)
    """
    domain = Domain({f"b{number}": Boolean() for number in range(over)}) if isinstance(over, int) else countable(over)
    if t is not None:
        return marginals(domain, t)
    return marginals(domain, [names for k in range(len(domain) + 1) for names in itertools.combinations(domain, k)])


def tables_of(data: Countable, sets: Sequence[tuple[str, ...]]) -> list[npt.NDArray[Any]]:
    """Many marginals of the data, together where it can count them so."""
    together = getattr(data, "marginals", None)
    return together(sets) if together is not None else [data.marginal(names) for names in sets]


def _sum_out(
    cells: Array,
    axis: int,
    sizes: list[int],
    targets: list[tuple[int, ...]],
    kept: tuple[int, ...],
    found: dict[tuple[int, ...], Array],
) -> None:
    """`cells` has the kept axes in front, in order, then those from `axis` on; put every target table into `found`."""
    needed = {place for target in targets for place in target}
    while axis < len(sizes) and axis not in needed:
        cells = _summed(cells.reshape(cells.shape[0], sizes[axis], -1))
        axis += 1
    if axis == len(sizes):
        found[kept] = cells.reshape(-1)
        return
    split = cells.reshape(cells.shape[0], sizes[axis], -1)
    without = [target for target in targets if axis not in target]
    if without:
        _sum_out(_summed(split), axis + 1, sizes, without, kept, found)
    inside = [target for target in targets if axis in target]
    _sum_out(cells.reshape(cells.shape[0] * sizes[axis], -1), axis + 1, sizes, inside, (*kept, axis), found)


def _summed(split: Array) -> Array:
    """The sum over the middle axis; two slices are added, which is faster than to sum over an axis of two."""
    wide = split.dtype.itemsize >= 8 or "float" in str(split.dtype)  # a sum over an axis widens short integers
    return split[:, 0] + split[:, 1] if wide and split.shape[1] == 2 else total(split, 1)


def _spread(
    front: int,
    axis: int,
    sizes: list[int],
    targets: list[tuple[int, ...]],
    kept: tuple[int, ...],
    parts: dict[tuple[int, ...], Array],
) -> Array | None:
    """The adjoint of `_sum_out`: an array of the kept axes (`front` cells) and all axes from `axis` on."""
    if not targets:
        return None
    if axis == len(sizes):
        return parts[kept].reshape(front, 1)
    inside = [target for target in targets if axis in target]
    without = [target for target in targets if axis not in target]
    here = _spread(front * sizes[axis], axis + 1, sizes, inside, (*kept, axis), parts)
    there = _spread(front, axis + 1, sizes, without, kept, parts)
    rest = math.prod(sizes[axis + 1 :])
    if here is None:
        assert there is not None
        library = namespace(there)
        return library.broadcast_to(there.reshape(front, 1, rest), (front, sizes[axis], rest)).reshape(front, -1)
    made = here.reshape(front, sizes[axis], rest)
    return (made if there is None else made + there.reshape(front, 1, rest)).reshape(front, -1)
