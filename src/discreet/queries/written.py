"""Workloads given entry by entry, or by chance.

    Dense             a matrix of integers or floats (read exactly)
    random_counting   random sets of cells, drawn row by row from a public seed and never kept

Theorem.  The sensitivities of a written matrix are the largest norm of a column and of a difference of two columns.
A counting query has entries 0 and 1, so that k of them move by at most k in l1 and in squared l2 in any relation.
Proof: docs/theory/workloads.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.data.arrays import Array, floats, like, stack, wide
from discreet.data.domain import Domain
from discreet.data.records import countable
from discreet.errors import UnsupportedError, require
from discreet.privacy.exact_sums import whole as as_whole
from discreet.privacy.neighbours import Neighbours
from discreet.queries.local import Junta
from discreet.queries.workload import DENSEST, Known, Workload, remembered, small_entries

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

STORED = 1 << 20  # entries of a matrix that is stored as text
PAIRS = 1 << 13  # cells whose columns are compared two by two


class Dense(Workload):
    """A matrix with a row for each query and a column for each cell.

    >>> from discreet.data.columns import Integer
    >>> from discreet.privacy.neighbours import AddRemove, Replace
    >>> w = Dense([[1, 1, 0], [0, 1, -1]], Domain({"x": Integer(0, 2)}))
    >>> w.absolute(AddRemove), w.absolute(Replace)
    (Fraction(2, 1), Fraction(3, 1))
    """

    __slots__ = ("_entries", "_known", "domain")

    def __init__(self, matrix: npt.ArrayLike, domain: Domain) -> None:
        import numpy as np

        self.domain = countable(domain)
        array = np.array(matrix)
        require(array.ndim == 2 and array.shape[0] >= 1, "a matrix with at least one row", dimensions=array.ndim)
        require(array.dtype.kind in "iubf", "integers or floats", kind=str(array.dtype))
        require(bool(np.isfinite(array).all()), "finite entries", shape=array.shape)
        cells = self.domain.size
        require(array.shape[1] == cells, "one column per cell of the domain", columns=array.shape[1], cells=cells)
        whole = array.dtype.kind in "iub" or bool((array == array.round()).all() and (abs(array) < 1 << 53).all())
        self._entries = as_whole(array) if whole else array.astype(np.float64)
        self._entries.flags.writeable = False
        self._known: Known = {}
        small_entries(self)

    @property
    def entry(self) -> Fraction:
        """The largest entry."""
        return max(abs(Fraction(self._entries.max().item())), abs(Fraction(self._entries.min().item())))

    def __len__(self) -> int:
        return self._entries.shape[0]

    @property
    def integral(self) -> bool:
        """Whether all entries are integers."""
        return self._entries.dtype.kind == "i"

    def matrix(self) -> npt.NDArray[Any]:
        """The entries."""
        return self._entries

    def apply(self, cells: Array) -> Array:
        """The product."""
        values = wide(cells) if self.integral else floats(cells)
        return like(self._entries, values) @ values

    def transpose(self, answers: Array) -> Array:
        """The product with the transpose."""
        values = answers if self.integral else floats(answers)
        return like(self._entries.T, values) @ values

    def squared(self, neighbours: type[Neighbours]) -> Fraction:
        """From the columns."""
        return self._moved(neighbours, 2)

    def absolute(self, neighbours: type[Neighbours]) -> Fraction:
        """From the columns."""
        return self._moved(neighbours, 1)

    def _moved(self, neighbours: type[Neighbours], power: int) -> Fraction:
        return remembered(self, self._known, neighbours, power)

    def row(self, index: int) -> Junta:
        """One row of the matrix."""
        return Junta(self.domain, tuple(self.domain), self._entries[index])

    def to_dict(self) -> dict[str, Any]:
        """The entries, where they are few."""
        if self._entries.size > STORED:
            raise UnsupportedError(f"a matrix of more than {STORED} entries is not stored as text")
        return {"type": "dense", "domain": self.domain.to_dict(), "matrix": self._entries.tolist()}


def random_counting(domain: Domain, count: int, *, seed: int) -> RandomCounting:
    """`count` random sets of cells, each cell in each set with probability 1/2.  The seed is public: it is no noise.

    >>> from discreet.data.columns import Integer
    >>> w = random_counting(Domain({"x": Integer(0, 99)}), 1000, seed=1)
    >>> w.shape, 0.4 < float(w.matrix().mean()) < 0.6
    ((1000, 100), True)
    """
    return RandomCounting(domain, count, seed=seed)


class RandomCounting(Workload):
    """Row i holds the bits of a counter-based generator keyed by the seed and i, the same on every machine.

    >>> from discreet.data.columns import Boolean
    >>> bits = Domain({name: Boolean() for name in "abc"})
    >>> RandomCounting(bits, 5, seed=1).shape, bool((RandomCounting(bits, 5, seed=1).matrix() <= 1).all())
    ((5, 8), True)
    """

    __slots__ = ("_known", "count", "domain", "seed")

    def __init__(self, domain: Domain, count: int, *, seed: int) -> None:
        self.domain = countable(domain)
        for name, value, least in (("count", count, 1), ("seed", seed, 0)):
            whole = isinstance(value, int) and not isinstance(value, bool)
            require(whole and least <= value < 1 << 63, f"an integer {name} >= {least}", **{name: value})
        self.count, self.seed = count, seed
        self._known: Known = {}

    def __len__(self) -> int:
        return self.count

    @property
    def exact(self) -> bool:
        """Whether the sensitivities are computed from the columns; otherwise they are bounded by `count`."""
        return self.domain.size <= PAIRS and math.prod(self.shape) <= DENSEST

    def bits(self, index: int) -> npt.NDArray[np.uint8]:
        """Row `index`, one 0 or 1 a cell."""
        import numpy as np

        cells = self.domain.size
        words = np.random.Philox(key=np.array([self.seed, index], dtype=np.uint64)).random_raw((cells + 63) // 64)
        return np.unpackbits(words.astype("<u8").view(np.uint8), bitorder="little")[:cells]

    def _blocks(self) -> Sequence[range]:
        rows = max(1, (1 << 23) // self.domain.size)
        return [range(first, min(first + rows, self.count)) for first in range(0, self.count, rows)]

    def _block(self, rows: range) -> npt.NDArray[np.uint8]:
        import numpy as np

        return np.stack([self.bits(index) for index in rows])

    def apply(self, cells: Array) -> Array:
        """Some rows at a time; integers below 2^53 stay exact."""
        values = cells if "float" in str(cells.dtype) else floats(cells)
        found = stack([like(self._block(rows), values) @ values for rows in self._blocks()])
        return found if values is cells else _whole(found, wide(cells[:1]))

    def transpose(self, answers: Array) -> Array:
        """Some rows at a time."""
        values = answers if "float" in str(answers.dtype) else floats(answers)
        made = None
        for rows in self._blocks():
            here = like(self._block(rows).T, values) @ values[rows.start : rows.stop]
            made = here if made is None else made + here
        return made if values is answers else _whole(made, wide(answers[:1]))

    def squared(self, neighbours: type[Neighbours]) -> Fraction:
        """From the columns where they are few, and at most `count`."""
        if not self.exact:
            return Fraction(self.count)
        return remembered(self, self._known, neighbours, 2)

    def absolute(self, neighbours: type[Neighbours]) -> Fraction:
        """The same: entries and their differences are 0 or +-1."""
        return self.squared(neighbours)

    def matrix(self) -> npt.NDArray[Any]:
        """The bits, where they are few."""
        import numpy as np

        if math.prod(self.shape) > DENSEST:
            return super().matrix()  # refuses
        return self._block(range(self.count)).astype(np.int64)

    def row(self, index: int) -> Junta:
        """One set of cells."""
        return Junta(self.domain, tuple(self.domain), self.bits(index))

    def to_dict(self) -> dict[str, Any]:
        """The seed."""
        return {"type": "random", "domain": self.domain.to_dict(), "count": self.count, "seed": self.seed}


def _whole(values: Array, example: Array) -> Array:
    """Integers again."""
    from discreet.data.arrays import namespace

    library = namespace(values)
    rounded = library.round(values)
    return rounded.to(example.dtype) if library.__name__ == "torch" else rounded.astype(example.dtype)
