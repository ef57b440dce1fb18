"""Classes of functions of d bits: all 2^d parities, all 3^d conjunctions, with the errors of all at once.

    parities       h_s(x) = s . x mod 2; bit j of the number s says whether column j counts
    conjunctions   digit j of the number in base 3: 0 column j is not read, 1 it must be one, 2 it must be zero

With w(x) = rows labelled 1 less rows labelled 0 at the cell x, a hypothesis h errs on (rows labelled 1) - sum of w(x)
over the cells with h(x) = 1.  For parities all the sums are one Walsh-Hadamard transform, d 2^d steps; for
conjunctions one sum over the faces of the cube, O(3^d) steps.  A block of hypotheses fixes the high columns and
transforms the low ones.  Proof: docs/theory/pac_learning.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.errors import ParameterError, require
from discreet.learning.pac.hypotheses import sums, truths
from discreet.structured.marginals.fourier import walsh_hadamard

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[Any]
    Bools = npt.NDArray[np.bool_]
    Int64s = npt.NDArray[np.int64]

MOST_PARITY_BITS = 26  # one number for each cell: half a gigabyte
MOST_CONJUNCTION_BITS = 20
LOW = 16  # columns of parities transformed at once
LOW_TERNARY = 10  # columns of conjunctions summed at once


def bits_of(x: object, d: int) -> Bools:
    """Rows of d bits; whatever is not zero is a one.  Floats are refused by their dtype, whatever they are."""
    import numpy as np

    rows = np.asarray(x)
    if rows.ndim != 2 or rows.shape[1] != d or rows.dtype.kind not in "biu":
        raise ParameterError(f"need rows of {d} bits, as truth values or whole numbers")
    return rows != 0


def _cells(x: Array, y: Array, d: int, weights: Int64s | None) -> tuple[Int64s, int]:
    """Rows labelled 1 less rows labelled 0 at each cell, and all rows labelled 1."""
    import numpy as np

    places = bits_of(x, d).astype(np.int64) @ (1 << np.arange(d, dtype=np.int64))
    ones = truths(y)
    each = np.ones(len(places), dtype=np.int64) if weights is None else weights
    return sums(places, np.where(ones, each, -each), 1 << d), int(each[ones].sum())


def _check(d: int, most: int) -> None:
    whole = isinstance(d, int) and not isinstance(d, bool)
    require(whole and 1 <= d <= most, f"a whole number d of bits, from 1 to {most}", d=d)


@dataclass(frozen=True, slots=True)
class Parity:
    """The hypothesis s . x mod 2.

    >>> Parity((1, 0, 1))([[1, 1, 0], [1, 0, 1]]).tolist()
    [True, False]
    """

    vector: tuple[int, ...]

    def __call__(self, x: object) -> Bools:
        import numpy as np

        return (bits_of(x, len(self.vector)).astype(np.int64) @ np.array(self.vector) % 2).astype(bool)


@dataclass(frozen=True, slots=True)
class Parities:
    """All parities of d bits, for small d; `ParityLearner` learns them for large d.

    >>> import numpy as np
    >>> Parities(2).errors(np.array([[1, 0], [1, 1]]), np.array([1, 0]), 0, 4).tolist()
    [1, 1, 2, 0]
    """

    d: int

    def __post_init__(self) -> None:
        _check(self.d, MOST_PARITY_BITS)

    @property
    def size(self) -> int:
        return 1 << self.d

    def hypothesis(self, index: int) -> Parity:
        """The parity of the columns whose bit is set in the number."""
        return Parity(tuple(index >> j & 1 for j in range(self.d)))

    def errors(self, x: Array, y: Array, start: int, stop: int, *, weights: Int64s | None = None) -> Int64s:
        """From the transform W(s) = sum of w(x) (-1)^(s.x): a parity errs on ones - (W(0) - W(s)) / 2 rows."""
        import numpy as np

        cells, ones = _cells(x, y, self.d, weights)
        low = min(self.d, LOW)
        tall = cells.reshape(-1, 1 << low)  # (high columns, low columns)
        highs = np.arange(len(tall))
        made = []
        for high in range(start >> low, ((stop - 1) >> low) + 1):
            signs = 1 - 2 * (_ones_in(highs & high) & 1)
            made.append(walsh_hadamard((signs @ tall)[None, :])[0])
        transform = np.concatenate(made)[start - ((start >> low) << low) :][: stop - start]
        return ones - (int(cells.sum()) - transform) // 2


def _ones_in(numbers: Int64s) -> Int64s:
    """How many bits of each number are set."""
    import numpy as np

    return (numbers[:, None] >> np.arange(MOST_PARITY_BITS) & 1).sum(axis=1)


@dataclass(frozen=True, slots=True)
class Conjunction:
    """The hypothesis that some columns are one and some are zero; columns with 0 are not read.

    >>> Conjunction((1, 0, 2))([[1, 0, 0], [1, 1, 1]]).tolist()
    [True, False]
    """

    literals: tuple[int, ...]

    def __call__(self, x: object) -> Bools:
        import numpy as np

        bits, literal = bits_of(x, len(self.literals)), np.array(self.literals)
        return np.asarray(bits[:, literal == 1].all(axis=1) & ~bits[:, literal == 2].any(axis=1))


@dataclass(frozen=True, slots=True)
class Conjunctions:
    """All conjunctions of literals over d bits.

    >>> import numpy as np
    >>> found = Conjunctions(2).errors(np.array([[1, 0], [1, 1]]), np.array([1, 0]), 0, 9)
    >>> found.tolist(), Conjunctions(2).hypothesis(7).literals
    ([1, 1, 1, 2, 2, 1, 0, 0, 1], (1, 2))
    """

    d: int

    def __post_init__(self) -> None:
        _check(self.d, MOST_CONJUNCTION_BITS)

    @property
    def size(self) -> int:
        return 3**self.d

    def hypothesis(self, index: int) -> Conjunction:
        """The conjunction whose literals are the digits of the number."""
        return Conjunction(tuple(index // 3**j % 3 for j in range(self.d)))

    def errors(self, x: Array, y: Array, start: int, stop: int, *, weights: Int64s | None = None) -> Int64s:
        """Sums of w over faces of the cube: along each column both values, the ones, or the zeros."""
        import numpy as np

        cells, ones = _cells(x, y, self.d, weights)
        low = min(self.d, LOW_TERNARY)
        span = 3**low
        made = []
        for high in range(start // span, (stop - 1) // span + 1):
            face = cells.reshape(-1, 1 << low)
            for j in reversed(range(self.d - low)):  # the highest column is the slowest axis
                halves = face.reshape(2, -1, 1 << low)
                digit = high // 3**j % 3
                face = (halves[0] + halves[1], halves[1], halves[0])[digit]
            made.append(_faces(face.reshape(-1), low))
        return ones - np.concatenate(made)[start % span :][: stop - start]


def _faces(cells: Int64s, d: int) -> Int64s:
    """The sums over all 3^d faces of a cube of 2^d cells; the lowest column is the fastest digit."""
    import numpy as np

    made = cells.reshape((2,) * d)  # column d - 1 is the first axis
    for axis in range(d):
        zeros, ones = np.take(made, 0, axis=axis), np.take(made, 1, axis=axis)
        made = np.stack([zeros + ones, ones, zeros], axis=axis)
    return made.reshape(-1)
