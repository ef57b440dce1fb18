"""Products over sets of bits: parities, monotone conjunctions and disjunctions, by truncated butterflies.

A row is d bits, and the query of a set S of at most k of them is

    parity        the product over S of the signs (-1)^bit     (the sign of a one is -1)
    conjunction   1 if all bits of S are one
    disjunction   1 if some bit of S is one

Theorem.  Let M be the number of sets and M' the number that are not empty.  In l1, and equally in squared l2 but for
the factor 2 of parities:

                  AddRemove   Replace
    parity        M           max over a of 2 N(a) in l1, 4 N(a) in squared l2
    conjunction   M           M'
    disjunction   M'          M'

where N(a) is the number of sets that hold an odd number of the first a bits.  Proof: docs/theory/workloads.md.

Bits are summed out one by one, and only products of at most k factors are kept: about 2^(k+1) passes over the cells.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from discreet.data.arrays import Array, namespace, stack, total, wide
from discreet.data.columns import Boolean
from discreet.data.domain import Domain
from discreet.data.records import countable
from discreet.errors import ParameterError, UnsupportedError, require
from discreet.privacy.neighbours import Neighbours
from discreet.queries.local import Box, Junta
from discreet.queries.marginals import tables_of
from discreet.queries.workload import Workload, swaps

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.queries.workload import Countable

Kind = Literal["parity", "conjunction", "disjunction"]


def parities(over: int | Domain, k: int, *, at_most: bool = False) -> Products:
    """The parities of all sets of exactly k bits, or of at most k (with the empty one, which counts the rows).

    >>> parities(2, 2, at_most=True).matrix().tolist()
    [[1, 1, 1, 1], [1, 1, -1, -1], [1, -1, 1, -1], [1, -1, -1, 1]]
    """
    return Products(bits(over), k, kind="parity", at_most=at_most)


def monotone_conjunctions(over: int | Domain, k: int, *, at_most: bool = False) -> Products:
    """How many rows have ones in all of S, for all sets S of k bits, or of at most k.

    >>> monotone_conjunctions(3, 2).shape
    (3, 8)
    """
    return Products(bits(over), k, kind="conjunction", at_most=at_most)


def monotone_disjunctions(over: int | Domain, k: int, *, at_most: bool = False) -> Products:
    """How many rows have a one in some of S, for all sets S of k bits, or of at most k (none for the empty one).

    >>> monotone_disjunctions(2, 2).matrix().tolist()
    [[0, 1, 1, 1]]
    """
    return Products(bits(over), k, kind="disjunction", at_most=at_most)


def bits(over: int | Domain) -> Domain:
    """A domain of columns with two values: the given one, or booleans b0, b1, ...

    >>> list(bits(3))
    ['b0', 'b1', 'b2']
    """
    if isinstance(over, Domain):
        kept = countable(over)
        wrong = [name for name, declared in kept.items() if declared.size != 2]
        require(not wrong, "columns of two values", others=wrong)
        return kept
    if isinstance(over, bool) or not isinstance(over, int) or over < 1:
        raise ParameterError(f"need a domain of bits or their number d >= 1, got {over!r}")
    return Domain({f"b{number}": Boolean() for number in range(over)})


class Products(Workload):
    """One query per set of bits: sets by size, and those of one size in the order of `itertools.combinations`.

    >>> from discreet.queries import parities
    >>> len(parities(5, 2)), parities(5, 2).matrix()[0][:4]
    (10, array([1, 1, 1, 1]))
    """

    __slots__ = ("at_most", "domain", "k", "kind")

    def __init__(self, domain: Domain, k: int, *, kind: Kind, at_most: bool = False) -> None:
        self.domain = bits(domain)
        whole = isinstance(k, int) and not isinstance(k, bool)
        require(whole and 0 <= k <= len(self.domain), "0 <= k <= the number of bits", k=k)
        require(kind in ("parity", "conjunction", "disjunction"), "a kind of product", kind=kind)
        self.kind: Kind = kind
        self.k, self.at_most = k, at_most

    @property
    def degrees(self) -> range:
        """The sizes of the sets."""
        return range(0 if self.at_most else self.k, self.k + 1)

    @property
    def sets(self) -> Iterator[tuple[str, ...]]:
        """The sets of columns, in order."""
        return itertools.chain.from_iterable(itertools.combinations(self.domain, degree) for degree in self.degrees)

    def __len__(self) -> int:
        return sum(math.comb(len(self.domain), degree) for degree in self.degrees)

    def apply(self, cells: Array) -> Array:
        """Bit by bit: products without it come from the sum of the halves, those with it from their combination."""
        number = len(self.domain)
        cells = wide(cells)
        kept = {0: cells.reshape(1, -1)}  # degree -> (sets of the bits seen, cells of the bits to come)
        spaces = (_like_empty(cells), _like_empty(cells))
        for place in range(number):
            least = max(0, self.degrees[0] - (number - place - 1))  # lower degrees can no longer become large enough
            space, used, after = spaces[place % 2], 0, {}
            rest = 1 << (number - place - 1)
            for degree in range(least, min(place + 1, self.k) + 1):
                without, inside = kept.get(degree), kept.get(degree - 1)
                sets = (0 if without is None else len(without)) + (0 if inside is None else len(inside))
                made = space[used : used + sets * rest].reshape(sets, rest)
                used += sets * rest
                if without is not None:
                    halves = without.reshape(-1, 2, rest)
                    _write(made[: len(without)], halves[:, 0], "+", halves[:, 1])
                if inside is not None:
                    halves = inside.reshape(-1, 2, rest)
                    _write(made[sets - len(inside) :], halves[:, 0], _INSIDE[self.kind], halves[:, 1])
                after[degree] = made
            kept = after
        found = [kept[degree].reshape(-1)[_colex(number, degree)[0]] for degree in self.degrees]
        products = stack(found)
        return total(cells) - products if self.kind == "disjunction" else products

    def transpose(self, answers: Array) -> Array:
        """The same steps backwards."""
        number = len(self.domain)
        signed = -answers if self.kind == "disjunction" else answers
        kept: dict[int, Array] = {}
        first = 0
        for degree in self.degrees:
            size = math.comb(number, degree)
            kept[degree] = signed[first : first + size][_colex(number, degree)[1]].reshape(size, 1)
            first += size
        for place in reversed(range(number)):
            before: dict[int, Array] = {}
            for degree in range(min(place, self.k) + 1):
                without, inside = kept.get(degree), kept.get(degree + 1)
                sets = math.comb(place, degree)
                halves = _join(
                    None if without is None else without[:sets],
                    None if inside is None else inside[math.comb(place, degree + 1) :],
                    self.kind,
                )
                if halves is not None:
                    before[degree] = halves
            kept = before
        cells = kept[0].reshape(-1)
        return cells + total(answers) if self.kind == "disjunction" else cells

    def from_marginals(self, data: Countable) -> npt.NDArray[Any]:
        """From the marginal of every set."""
        import numpy as np

        factor = {"parity": [1, -1], "conjunction": [0, 1], "disjunction": [1, 0]}[self.kind]
        found = []
        for table in tables_of(data, list(self.sets)):
            left = table
            for _ in range(table.ndim):
                left = left @ np.array(factor)  # the last axis
            found.append(table.sum() - left if self.kind == "disjunction" else left)
        return np.array(found)

    def squared(self, neighbours: type[Neighbours]) -> Fraction:
        """M, M', or 4 N(a) at its largest."""
        if self.kind == "parity" and swaps(neighbours):
            return Fraction(4 * self._odd())
        return self._moved(neighbours)

    def absolute(self, neighbours: type[Neighbours]) -> Fraction:
        """M, M', or 2 N(a) at its largest."""
        if self.kind == "parity" and swaps(neighbours):
            return Fraction(2 * self._odd())
        return self._moved(neighbours)

    def _moved(self, neighbours: type[Neighbours]) -> Fraction:
        empty = int(self.degrees[0] == 0)
        keeps = self.kind == "parity" or (self.kind == "conjunction" and not swaps(neighbours))
        return Fraction(len(self) if keeps else len(self) - empty)

    def _odd(self) -> int:
        """The largest N(a)."""
        d = len(self.domain)

        def odd(a: int, degree: int) -> int:
            return sum(math.comb(a, u) * math.comb(d - a, degree - u) for u in range(1, min(a, degree) + 1, 2))

        return max(sum(odd(a, degree) for degree in self.degrees) for a in range(d + 1))

    def row(self, index: int) -> Workload:
        """One set."""
        import numpy as np

        degree = self.degrees[0]
        while index >= math.comb(len(self.domain), degree):
            index -= math.comb(len(self.domain), degree)
            degree += 1
        names = _combination(list(self.domain), degree, index)
        if self.kind == "conjunction":
            return Box(self.domain, names, (1,) * degree, (1,) * degree)
        factor = np.array([1, -1] if self.kind == "parity" else [1, 0])
        table = np.ones((), dtype=np.int64)
        for _ in names:
            table = np.multiply.outer(table, factor)
        return Junta(self.domain, names, table if self.kind == "parity" else 1 - table)

    def to_dict(self) -> dict[str, Any]:
        """The bits, the degree and the kind."""
        return {
            "type": "products",
            "domain": self.domain.to_dict(),
            "k": self.k,
            "kind": self.kind,
            "at_most": self.at_most,
        }


def _combination(names: list[str], degree: int, index: int) -> tuple[str, ...]:
    """That number in the order of `itertools.combinations`, without those before it."""
    chosen, first = [], 0
    for left in range(degree - 1, -1, -1):
        while (with_first := math.comb(len(names) - first - 1, left)) <= index:
            index -= with_first
            first += 1
        chosen.append(names[first])
        first += 1
    return tuple(chosen)


_INSIDE = {"parity": "-", "conjunction": "second", "disjunction": "first"}


def _write(out: Array, first: Array, what: str, second: Array) -> None:
    """Combine two halves of the cells into a part of a buffer."""
    library = namespace(out)
    match what:
        case "+":
            library.add(first, second, out=out)
        case "-":
            library.subtract(first, second, out=out)
        case _:
            out[...] = second if what == "second" else first


def _like_empty(cells: Array) -> Array:
    """A buffer of the same library, kind and device."""
    library = namespace(cells)
    if library.__name__.startswith("jax"):
        raise UnsupportedError("parities are computed in place, which JAX arrays do not allow; pass numpy or PyTorch")
    return library.empty_like(cells)


def _join(without: Array | None, inside: Array | None, kind: Kind) -> Array | None:
    """The two halves of the cells from the products without and with the bit."""
    if inside is None:
        return None if without is None else _rows([without, without], axis=1)
    if without is None:
        zero = inside * 0
        pair = {"parity": (inside, -inside), "conjunction": (zero, inside), "disjunction": (inside, zero)}[kind]
        return _rows(list(pair), axis=1)
    match kind:
        case "parity":
            return _rows([without + inside, without - inside], axis=1)
        case "conjunction":
            return _rows([without, without + inside], axis=1)
        case _:
            return _rows([without + inside, without], axis=1)


def _rows(parts: list[Array], *, axis: int) -> Array:
    """Matrices below or beside one another."""
    library = namespace(parts[0])
    return library.cat(parts, dim=axis) if library.__name__ == "torch" else library.concatenate(parts, axis=axis)


@lru_cache(maxsize=64)
def _colex(number: int, degree: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Where the sets in order lie among those sorted by their largest bits, which the butterfly makes; and back."""
    import numpy as np

    table = np.array([[math.comb(bit, rank + 1) for bit in range(number)] for rank in range(degree)], dtype=np.int64)
    chosen = np.array(list(itertools.combinations(range(number), degree)), dtype=np.int64)  # (sets, degree)
    place = np.zeros(math.comb(number, degree), dtype=np.int64)
    for rank in range(degree):
        place += table[rank][chosen[:, rank]]
    back = np.empty_like(place)
    back[place] = np.arange(len(place))
    return place, back
