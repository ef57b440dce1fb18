"""Parities of bits: polynomials in signs, and all low-degree parities of a universe of 2^d cells.

A row x of d bits has the signs chi_A(x) = product over i in A of (-1)^(x_i).  Write p for the polynomial with
coefficients c_A, |A| <= k.  `Exponentials` gives, for the cells e^p(x), their sum and all sums of
e^p(x) chi_A(x) with |A| <= k, without keeping the cells.

Lemma.  Split the bits in two and let i, j be the parts of x.  Then p(i, j) = sum over |A| <= a of
chi_A(i) g_A(j) + sum over |B| <= k - a - 1 of f_B(i) chi_B(j) for polynomials f_B, g_A: as a matrix, p has a rank
that is small, and so its values are one product of two thin matrices.  The sums are products with
matrices of signs too, first over j, then over i, and p is of degree k - |B| beside chi_B.  Everything runs at
the speed of matrix products, block by block, in memory that does not grow with the universe's last bits.
Proof: docs/theory/mwem.md.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from discreet.data.arrays import Array, empty, like, namespace, to_numpy

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    import numpy as np
    import numpy.typing as npt

LOW = 10  # bits whose signs are written out as one matrix
BLOCK = 1 << 26  # cells computed at a time: a launch should have much to do


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
    """The coefficients of f_B (sets of the first bits, sets B) and of g_A (sets of the last bits, sets A) of p - shift."""
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


def fixed_factors(bits: int, high: int, degree: int) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """chi_A for the few sets A of the first bits (2^high rows), and chi_B for the few sets B of the last (rows)."""
    import numpy as np

    half = degree // 2
    left = np.stack([_sign(high, members) for members in subsets(high, half)], axis=1)
    right = np.stack([_sign(bits - high, members) for members in subsets(bits - high, degree - half - 1)])
    return left, right


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

        Products of cells with signs may be in the device's fast precision unless `fine`.
        """
        high, low = self._split
        left, right = self._factors(coefficients, shift)
        chi = _on(low, self.degree, left).T
        partial = self._empty((1 << high) * chi.shape[1]).reshape(1 << high, -1)  # (2^high, last sets)
        for start, stop, block in self._blocks(left, right):
            with nullcontext() if fine else _fast(block):
                partial[start:stop] = block @ chi
        found = self._finish(partial)
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
        return tuple(like(part, self._empty(1)) for part in fixed_factors(self.bits, self._split[0], self.degree))  # type: ignore[return-value]

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

    def _finish(self, partial: Array) -> npt.NDArray[np.float64]:
        """From sums over the last bits to sums over all: beside a set of b bits, sets of at most degree - b."""
        import numpy as np

        high, low = self._split
        ends = [len(subsets(low, members)) for members in range(self.degree + 1)]
        every = np.zeros((len(subsets(high, self.degree)), ends[-1]))
        for members, (start, stop) in enumerate(zip([0, *ends], ends, strict=False)):
            found = to_numpy(sums(partial[:, start:stop], high, self.degree - members))
            every[: len(found), start:stop] = found
        return every.reshape(-1)[pairs(high, low, self.degree)]


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


def of_rows(columns: list[npt.NDArray[Any]], degree: int) -> npt.NDArray[np.float64]:
    """The parities of encoded rows of bits, exactly: chi_A chi_B summed over the rows, by blocks."""
    import numpy as np

    bits = len(columns)
    small, large = degree // 2, degree - degree // 2
    lead = {members: place for place, members in enumerate(subsets(bits, small))}
    tail = {members: place for place, members in enumerate(subsets(bits, large))}
    gram = np.zeros((len(lead), len(tail)))
    step = 1 << 13
    for start in range(0, len(columns[0]), step):
        single = [1 - 2 * column[start : start + step].astype(np.float32) for column in columns]
        features = np.ones((len(tail), len(single[0])), dtype=np.float32)
        for row, members in zip(features, tail, strict=True):
            for bit in members:
                row *= single[bit]
        gram += features[: len(lead)] @ features.T  # whole numbers of at most 2^13: exact
    pairs = [(lead[members[: max(0, len(members) - large)]], tail[members[max(0, len(members) - large) :]])
             for members in subsets(bits, degree)]  # fmt: skip
    return gram[tuple(np.array(pairs).T)]


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


def _fast(array: Array) -> AbstractContextManager[object]:
    """PyTorch's reduced precision for the products on a device: signs are exact in it, cells keep 10 bits each."""
    library = namespace(array)
    if library.__name__ != "torch" or not array.is_cuda:
        return nullcontext()
    return _TensorFloats(library.backends.cuda.matmul)


class _TensorFloats:
    """Allow 32-bit products of less precision inside, as before outside."""

    def __init__(self, setting: Any) -> None:  # noqa: ANN401 - PyTorch's
        self._setting = setting

    def __enter__(self) -> None:
        self._before = self._setting.allow_tf32
        self._setting.allow_tf32 = True

    def __exit__(self, *exception: object) -> None:
        self._setting.allow_tf32 = self._before
