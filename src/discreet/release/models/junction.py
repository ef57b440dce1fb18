"""Junction trees: the shape of a graphical model, found by eliminating columns.

Theorem (Lauritzen, Spiegelhalter 1988).  Join two columns when some set holds both, then eliminate the columns one by
one, joining the neighbours of each.  The column and its neighbours at that moment are a clique.  The maximal cliques,
joined by a spanning tree that shares the most columns, form a junction tree: every set lies in a clique, and the
cliques that hold a column are connected.  A positive weight that is a product of factors on the sets is then

    the product over cliques of their marginals / the product over edges of the marginals of the shared columns.

The order decides the size.  Two greedy rules are tried, the smallest clique and the fewest new pairs, and the better
kept; a column whose neighbours are all joined goes first, which makes no clique larger.  Proof: docs/theory/models.md.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.data.domain import Domain
from discreet.data.records import countable
from discreet.errors import ParameterError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class JunctionTree:
    """Cliques from the root down; the columns that each shares with its parent come first, in the parent's order.

    >>> tree = JunctionTree.over({"a": 2, "b": 3, "c": 4, "d": 5}, [("a", "b"), ("b", "c"), ("c", "d")])
    >>> tree.cliques, tree.parents, tree.separators
    ((('c', 'd'), ('c', 'b'), ('b', 'a')), (-1, 0, 1), ((), ('c',), ('b',)))
    """

    cliques: tuple[tuple[str, ...], ...]
    parents: tuple[int, ...]  # -1 for the root, which is the first
    separators: tuple[tuple[str, ...], ...]

    @classmethod
    def over(cls, sizes: Mapping[str, int], sets: Iterable[Sequence[str]]) -> JunctionTree:
        """The tree of columns with these sizes, in which every one of the sets lies in a clique."""
        names, counts = list(sizes), list(sizes.values())
        masks, _ = _smallest(counts, _joined(names, sets))
        weights = [_cells(mask, counts) for mask in masks]
        parents = _spanning(masks, first=max(range(len(masks)), key=weights.__getitem__))
        bit_of = {name: bit for bit, name in enumerate(names)}
        cliques: dict[int, tuple[str, ...]] = {}
        separators = []
        for place, parent in parents.items():
            common = tuple(name for name in cliques.get(parent, ()) if masks[place] >> bit_of[name] & 1)
            own = [names[bit] for bit in _bits(masks[place]) if names[bit] not in common]
            cliques[place] = (*common, *sorted(own, key=sizes.__getitem__))  # the longest runs last, for speed
            separators.append(common)
        position = {place: index for index, place in enumerate(parents)} | {-1: -1}
        return cls(tuple(cliques.values()), tuple(map(position.__getitem__, parents.values())), tuple(separators))


def junction_size(domain: Domain, sets: Iterable[Sequence[str]]) -> int:
    """How many cells the cliques of a graphical model of these sets will have, without building it.

    >>> from discreet.data.columns import Boolean, Integer
    >>> domain = Domain({"age": Integer(0, 99), "icu": Boolean(), "smokes": Boolean()})
    >>> junction_size(domain, [("age", "icu"), ("age", "smokes")])
    400
    >>> junction_size(domain, [("age", "icu"), ("age", "smokes"), ("icu", "smokes")])
    400
    """
    sizes = {name: declared.size for name, declared in countable(domain).items()}
    return _smallest(list(sizes.values()), _joined(list(sizes), sets))[1]


def junction_sizes(
    domain: Domain, sets: Iterable[Sequence[str]], more: Sequence[Sequence[str]]
) -> npt.NDArray[np.float64]:
    """The size of the model with each one of `more` besides the sets, in compiled code: to the precision of a float.

    >>> from discreet.data.columns import Boolean, Integer
    >>> domain = Domain({"age": Integer(0, 99), "icu": Boolean(), "smokes": Boolean()})
    >>> junction_sizes(domain, [("age", "icu")], [("age", "icu"), ("age", "smokes")]).tolist()
    [202.0, 400.0]
    """
    import numpy as np

    from discreet.release.models.junction_kernels import sizes_with

    sizes = {name: declared.size for name, declared in countable(domain).items()}
    names = list(sizes)
    place = {name: index for index, name in enumerate(names)}
    masks = [sum(1 << place[name] for name in one) for one in more]
    found = np.empty(len(masks))
    counts = np.array(list(sizes.values()), dtype=np.float64)
    near, joined = (_words(one, len(names)) for one in (_joined(names, sets), masks))
    sizes_with(near, joined, counts, found)
    return found


def _words(masks: list[int], count: int) -> npt.NDArray[np.uint64]:
    """Bits in words of 64."""
    import numpy as np

    words = -(-count // 64)
    made = [[mask >> 64 * word & (1 << 64) - 1 for word in range(words)] for mask in masks]
    return np.array(made, dtype=np.uint64).reshape(len(masks), words)


def _joined(names: list[str], sets: Iterable[Sequence[str]]) -> list[int]:
    """The neighbours of each column as bits."""
    place = {name: index for index, name in enumerate(names)}
    near = [0] * len(names)
    for names_of in sets:
        if isinstance(names_of, str) or not all(name in place for name in names_of):
            raise ParameterError(f"need sets of columns of the domain, got {names_of!r}")
        mask = 0
        for name in names_of:
            mask |= 1 << place[name]
        for name in names_of:
            near[place[name]] |= mask & ~(1 << place[name])
    return near


def _smallest(sizes: list[int], near: list[int]) -> tuple[list[int], int]:
    """The maximal cliques of the better of two orders, and their cells."""
    found = [_eliminated(sizes, near, fewest=fewest) for fewest in (False, True)]
    totals = [sum(_cells(mask, sizes) for mask in masks) for masks in found]
    return (found[0], totals[0]) if totals[0] <= totals[1] else (found[1], totals[1])


def _eliminated(sizes: list[int], near: list[int], *, fewest: bool) -> list[int]:
    """The maximal cliques of one greedy order: the fewest new pairs first, or the smallest clique first."""
    near = list(near)

    def score(column: int) -> tuple[int, int]:
        missing = sum((near[column] & ~near[other] & ~(1 << other)).bit_count() for other in _bits(near[column]))
        cells = _cells(near[column] | 1 << column, sizes)
        return (missing, cells) if fewest or not missing else (1, cells)

    scores = {column: score(column) for column in range(len(sizes))}
    kept: list[int] = []
    while scores:
        column = min(scores, key=scores.__getitem__)
        del scores[column]
        clique, changed = near[column] | 1 << column, near[column]
        if not any(clique & ~other == 0 for other in kept):
            kept.append(clique)
        for other in _bits(near[column]):
            near[other] = (near[other] | near[column]) & ~(1 << other) & ~(1 << column)
            changed |= near[other]
        for other in _bits(changed):
            scores[other] = score(other)
    return kept


def _spanning(masks: list[int], *, first: int) -> dict[int, int]:
    """The parent of each clique in a tree that shares the most columns (Prim 1957), in the order of joining."""
    holding: dict[int, list[int]] = {}
    for place, mask in enumerate(masks):
        for bit in _bits(mask):
            holding.setdefault(bit, []).append(place)
    parents, newest = {first: -1}, first
    best: dict[int, tuple[int, int]] = {}  # the most columns shared with a clique that has joined, and which
    waiting: list[tuple[int, int]] = []
    while True:
        for place in {place for bit in _bits(masks[newest]) for place in holding[bit] if place not in parents}:
            common = (masks[place] & masks[newest]).bit_count()
            if common > best.get(place, (0, 0))[0]:
                best[place] = (common, newest)
                heapq.heappush(waiting, (-common, place))
        while waiting and waiting[0][1] in parents:
            heapq.heappop(waiting)
        if waiting:
            newest = heapq.heappop(waiting)[1]
            parents[newest] = best[newest][1]
            continue
        newest = next((place for place in range(len(masks)) if place not in parents), -1)
        if newest < 0:
            return parents
        parents[newest] = first  # nothing shared with any other


def _cells(mask: int, sizes: list[int]) -> int:
    return math.prod(sizes[bit] for bit in _bits(mask))


def _bits(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
