"""Parities of bits: polynomials in signs, and all low-degree parities of a universe of 2^d cells.

A row x of d bits has the signs chi_A(x) = product over i in A of (-1)^(x_i).  Write p for the polynomial with
coefficients c_A, |A| <= k.  `Exponentials` gives, for the cells e^p(x), their sum and all sums of
e^p(x) chi_A(x) with |A| <= k, without keeping the cells.

Lemma.  Split the bits in two and let i, j be the parts of x.  Then p(i, j) = sum over |A| <= a of
chi_A(i) g_A(j) + sum over |B| <= k - a - 1 of f_B(i) chi_B(j) for polynomials f_B, g_A: as a matrix, p has a rank
that is small, and so its values are one product of two thin matrices.  Of the weights E = e^p, as a matrix,
the products E chi_B for |B| <= k - a - 1 and chi_A E for |A| <= a give all the sums.  So everything
is done by products of matrices, block by block, and no cell is kept.  Proof: docs/theory/mwem.md.
"""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from discreet.data.arrays import Array, empty, like, namespace, to_numpy

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

LOW = 10  # bits whose signs are written out as one matrix
BLOCK = 1 << 26  # cells computed at a time: a launch should have much to do
SMALLEST = 14  # bits for which the kernel of a card is used: its tiles have 128 columns
ROWS = 1 << 13  # rows of the data looked at at a time


@lru_cache(maxsize=64)
def subsets(bits: int, degree: int) -> tuple[tuple[int, ...], ...]:
    """The sets of at most `degree` of the bits, by size and then in order.

    >>> subsets(3, 2)
    ((), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2))
    """
    return tuple(itertools.chain.from_iterable(itertools.combinations(range(bits), k) for k in range(degree + 1)))


@lru_cache(maxsize=64)
def signs(bits: int, degree: int) -> npt.NDArray[np.float32]:
    """chi_A(x) for the sets of `subsets` (rows) and all x (columns); bit 0 is the most significant of x.

    >>> signs(1, 1).tolist()
    [[1.0, 1.0], [1.0, -1.0]]
    """
    import numpy as np

    return np.stack([_sign(bits, members) for members in subsets(bits, degree)])


@lru_cache(maxsize=64)
def pairs(high: int, low: int, degree: int) -> npt.NDArray[np.int64]:
    """The place of every set of high + low bits in the matrix of pairs: a set of the first bits, one of the last."""
    import numpy as np

    first = {members: place for place, members in enumerate(subsets(high, degree))}
    last = {members: place for place, members in enumerate(subsets(low, degree))}
    places = []
    for members in subsets(high + low, degree):
        before = tuple(bit for bit in members if bit < high)
        after = tuple(bit - high for bit in members if bit >= high)
        places.append(first[before] * len(last) + last[after])
    return np.array(places)


def factors(
    coefficients: npt.NDArray[Any], bits: int, high: int, degree: int, shift: float
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """The coefficients of the f_B (sets of the first bits, sets B) and g_A (sets of the last bits, sets A)."""
    import numpy as np

    low, half = bits - high, degree // 2
    first, last = len(subsets(high, degree)), len(subsets(low, degree))
    matrix = np.zeros(first * last)
    matrix[pairs(high, low, degree)] = coefficients
    matrix = matrix.reshape(first, last)
    matrix[0, 0] -= shift
    few_first, few_last = len(subsets(high, half)), len(subsets(low, degree - half - 1))
    rest = matrix[:, :few_last].copy()
    rest[:few_first] = 0
    return rest, matrix[:few_first].T


def _sign(bits: int, members: tuple[int, ...]) -> npt.NDArray[np.float32]:
    import numpy as np

    cells = np.arange(1 << bits)
    odd = np.zeros(1 << bits, dtype=cells.dtype)
    for bit in members:
        odd ^= cells >> (bits - 1 - bit) & 1
    return (1 - 2 * odd).astype(np.float32)


def sums(cells: Array, bits: int, degree: int) -> Array:
    """sum over x of cells[x] chi_A(x) for every set A: (2^bits, m) to (sets, m).

    >>> import numpy as np
    >>> sums(np.array([[1.0], [2.0], [3.0], [4.0]]), 2, 1).ravel().tolist()
    [10.0, -4.0, -2.0]
    """
    if bits <= LOW:
        return _on(bits, degree, cells) @ cells
    high, low = bits - LOW, LOW
    width = cells.shape[-1]
    first = sums(cells.reshape(1 << high, -1), high, degree).reshape(-1, 1 << low, width)
    every = _on(low, degree, cells) @ first  # (first sets, last sets, width)
    return every.reshape(-1, width)[_index(pairs(high, low, degree), cells)]


def values(coefficients: Array, bits: int, degree: int) -> Array:
    """sum over A of coefficients[A] chi_A(x) for every x: (sets, m) to (2^bits, m), the adjoint of `sums`."""
    import numpy as np

    if bits <= LOW:
        return _on(bits, degree, coefficients).T @ coefficients
    high, low = bits - LOW, LOW
    width = coefficients.shape[-1]
    first, last = len(subsets(high, degree)), len(subsets(low, degree))
    inverse = np.full(first * last, len(coefficients))  # the sets of more than `degree` bits have no coefficient
    inverse[pairs(high, low, degree)] = np.arange(len(coefficients))
    padded = _with_zero_row(coefficients)[_index(inverse, coefficients)]
    made = _on(low, degree, coefficients).T @ padded.reshape(first, last, width)
    return values(made.reshape(first, -1), high, degree).reshape(1 << bits, width)


@dataclass(frozen=True)
class Exponentials:
    """e^p over `bits` bits for polynomials p of this degree, on a `device`, in single precision unless told.

    >>> import numpy as np
    >>> import math
    >>> uniform = Exponentials(bits=3, degree=1)
    >>> total, parities = uniform(np.array([0.0, 1.0, 0.0, 0.0]), shift=math.log(8))
    >>> round(total, 5), parities.round(5).tolist()  # cosh 1 and tanh 1
    (1.54308, [1.0, 0.76159, 0.0, 0.0])
    """

    bits: int
    degree: int
    device: str | None = None
    dtype: str = "float32"

    def __call__(self, coefficients: npt.NDArray[Any], *, shift: float, fine: bool = False) -> tuple[float, Any]:
        """The sum of e^(p - shift), and the parities of the distribution that is proportional to it.

        Sums are good to about five digits on a card, and to six if `fine`.
        """
        import numpy as np

        high, low = self._split
        over_last, over_first = self._partial(*self._factors(coefficients, shift), fine=fine)
        every = np.zeros((len(subsets(high, self.degree)), len(subsets(low, self.degree))))
        every[:, : over_last.shape[1]] = to_numpy(sums(over_last, high, self.degree))
        every[: over_first.shape[0]] = to_numpy(over_first @ _on(low, self.degree, over_first).T)
        found = every.reshape(-1)[pairs(high, low, self.degree)]
        return float(found[0]), found / found[0]

    def cells(self, coefficients: npt.NDArray[Any], *, shift: float) -> Array:
        """e^(p - shift) for every cell."""
        made = self._empty(1 << self.bits).reshape(-1, 1 << self._split[1])
        for start, stop, block in self._blocks(*self._factors(coefficients, shift)):
            made[start:stop] = block
        return made.reshape(-1)

    @property
    def count(self) -> int:
        """The number of coefficients."""
        return len(subsets(self.bits, self.degree))

    @property
    def _split(self) -> tuple[int, int]:
        low = min(LOW, (self.bits + 1) // 2)
        return self.bits - low, low

    def _empty(self, size: int) -> Array:
        return empty(size, device=self.device, dtype=self.dtype)

    @cached_property
    def _fixed(self) -> tuple[Array, Array]:
        """chi_A for the few sets of the first bits (2^high rows), and chi_B for the few of the last (2^low columns)."""
        import numpy as np

        high, low = self._split
        half = self.degree // 2
        few = np.eye(len(subsets(high, self.degree)), len(subsets(high, half)))  # a sign, as a polynomial
        one = self._empty(1)
        right = signs(low, self.degree)[: len(subsets(low, self.degree - half - 1))]
        return values(like(few, one), high, self.degree), like(right, one)

    def _factors(self, coefficients: npt.NDArray[Any], shift: float) -> tuple[Array, Array]:
        """Thin matrices L (2^high rows) and R (2^low columns) with p - shift = L R."""
        high, low = self._split
        left, right = self._fixed
        to_left, to_right = factors(coefficients, self.bits, high, self.degree, shift)
        rest = values(like(to_left, left), high, self.degree)
        few = like(to_right, left).T @ _on(low, self.degree, left)
        library = namespace(left)
        if library.__name__ == "torch":
            return library.cat([left, rest], dim=1), library.cat([few, right], dim=0)
        return library.concatenate([left, rest], axis=1), library.concatenate([few, right], axis=0)

    def _blocks(self, left: Array, right: Array) -> Iterator[tuple[int, int, Array]]:
        """The exponentials of the product, some rows at a time."""
        library = namespace(left)
        step = max(1, BLOCK // right.shape[1])
        for start in range(0, left.shape[0], step):
            block = left[start : start + step] @ right
            yield start, start + step, _exp(block, library)

    def _partial(self, left: Array, right: Array, *, fine: bool) -> tuple[Array, Array]:
        """E chi_B for the few sets B of the last bits, and chi_A E for the few sets A of the first."""
        chi_first, chi_last = self._fixed
        if not fine and self.bits >= SMALLEST and (fused := _fused(left)) is not None:
            return fused(left, right, chi_first.shape[1], chi_last.shape[0])
        over_last = self._empty(left.shape[0] * chi_last.shape[0]).reshape(left.shape[0], -1)
        over_first = 0
        for start, stop, block in self._blocks(left, right):
            over_last[start:stop] = block @ chi_last.T
            over_first = over_first + chi_first[start:stop].T @ block
        return over_last, over_first


def of_counts(counts: Array, bits: int, degree: int) -> npt.NDArray[np.float64]:
    """The parities of a histogram, exactly: whole numbers below 2^53 in double precision, a block at a time."""
    import numpy as np

    low = min(LOW, (bits + 1) // 2)
    high = bits - low
    rows = counts.reshape(1 << high, 1 << low)
    step, partial = max(1, BLOCK // 2 >> low), []
    for start in range(0, 1 << high, step):
        block = _double(rows[start : start + step])
        partial.append(to_numpy(block @ _on(low, degree, block).T))
    every = sums(np.concatenate(partial), high, degree)
    return every.reshape(-1)[pairs(high, low, degree)]


def of_rows(columns: list[npt.NDArray[Any]], degree: int, *, device: str | None = None) -> npt.NDArray[np.float64]:
    """The parities of encoded rows of bits, exactly: chi_A chi_B summed over the rows, by blocks."""
    import numpy as np

    bits = len(columns)
    small, large = degree // 2, degree - degree // 2
    lead = {members: place for place, members in enumerate(subsets(bits, small))}
    tail = {members: place for place, members in enumerate(subsets(bits, large))}
    factor = np.array([(*members, *[bits] * (large - len(members))) for members in tail])  # a sign `bits` that is 1
    one = empty(1, device=device, dtype="float32")
    gram, step = np.zeros((len(lead), len(tail))), ROWS if device in (None, "cpu") else 16 * ROWS
    for start in range(0, len(columns[0]), step):
        odd = np.stack([column[start : start + step] for column in columns])
        single = like(np.vstack([1 - 2 * odd.astype(np.float32), np.ones_like(odd[:1], dtype=np.float32)]), one)
        features = single[_index(factor[:, 0], single)]
        for place in range(1, large):
            features = features * single[_index(factor[:, place], single)]
        gram += to_numpy(features[: len(lead)] @ features.T)  # whole numbers below 2^24: exact
    cut = [max(0, len(members) - large) for members in subsets(bits, degree)]
    places = [(lead[members[:at]], tail[members[at:]]) for members, at in zip(subsets(bits, degree), cut, strict=True)]
    return gram[tuple(np.array(places).T)]


def _index(places: npt.NDArray[np.int64], array: Array) -> Any:  # noqa: ANN401 - an index of the array's library
    library = namespace(array)
    return library.as_tensor(places, device=array.device) if library.__name__ == "torch" else library.asarray(places)


_SIGNS: dict[tuple[object, ...], Array] = {}  # matrices of signs where they are needed: few, and none is large


def _on(bits: int, degree: int, array: Array) -> Array:
    """The matrix of signs, in the library, on the device and in the precision of an array."""
    key = (bits, degree, namespace(array).__name__, str(getattr(array, "device", None)), str(array.dtype))
    if key not in _SIGNS:
        _SIGNS[key] = like(signs(bits, degree), array)
    return _SIGNS[key]


def _with_zero_row(array: Array) -> Array:
    import numpy as np

    library, zeros = namespace(array), like(np.zeros((1, array.shape[1])), array)
    return library.cat([array, zeros]) if library.__name__ == "torch" else library.concatenate([array, zeros])


def _exp(block: Array, library: Any) -> Array:  # noqa: ANN401 - a module
    return library.exp(block) if library.__name__.startswith("jax") else library.exp(block, out=block)


def _double(array: Array) -> Array:
    library = namespace(array)
    return array.to(library.float64) if library.__name__ == "torch" else array.astype(library.float64)


def _fused(array: Array) -> Callable[..., tuple[Array, Array]] | None:
    """The one-pass kernel, where PyTorch's arrays are on a card and Triton is installed."""
    if namespace(array).__name__ != "torch" or not array.is_cuda or importlib.util.find_spec("triton") is None:
        return None
    return importlib.import_module("discreet.release.binary_triton").partial
