"""Ways to look at an output: itself, and what leaks through its parts.

A vector is also seen through its coordinates, sums and differences, a float through its
low bits and the sign of its zeros (Mironov 2012; Haney et al. 2022).  Any function of the output is
post-processing, so a view can hide a leak but never invent one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]  # of integers or floats
    Feature = Callable[[Array], Array]  # (outputs, ...) -> (outputs,)


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """A feature of the output.

    `ordered` says whether its size means anything, so that half-lines are worth trying;
    `learnt` whether it was itself made from the training sample.
    """

    name: str
    feature: Feature
    ordered: bool = True
    learnt: bool = False


def views(outputs: Array, *, ordered: bool) -> list[View]:
    """Ways to look at outputs of this type and shape."""
    if outputs.ndim == 2:
        return _of_vectors(outputs.shape[1]) + ([_ZEROS] if outputs.dtype.kind == "f" else [])
    plain = View("output", lambda y: y, ordered)
    return [plain, *_OF_FLOATS] if outputs.dtype.kind == "f" else [plain]


def _exponent(y: Array) -> Array:
    """The power of two of the leading bit."""
    import numpy as np

    return np.frexp(y.astype(np.float64))[1]


def _low_bits(y: Array) -> Array:
    """The last twelve bits of the significand."""
    import numpy as np

    return y.astype(np.float64).view(np.int64) & 0xFFF


def grain(y: Array) -> Array:
    """The largest g for which the float is a multiple of 2^g; 2000 for zero and what is not finite."""
    import numpy as np

    fraction, power = np.frexp(np.nan_to_num(y.astype(np.float64), nan=0.0, posinf=0.0, neginf=0.0))
    whole = np.abs(np.ldexp(fraction, 53)).astype(np.int64)
    trailing = np.log2(np.maximum(whole & -whole, 1)).astype(np.int64)
    return np.where(whole == 0, 2000, power - 53 + trailing)


def _negative_zeros(y: Array) -> Array:
    """How many entries are -0.0, which is equal to 0.0 and is another float."""
    import numpy as np

    found = (y == 0) & np.signbit(y)
    return found.reshape(len(y), -1).sum(axis=1)


_ZEROS = View("negative zeros", _negative_zeros)
_OF_FLOATS = [View("grain", grain), View("exponent", _exponent), View("low bits", _low_bits, ordered=False), _ZEROS]


def _of_vectors(width: int) -> list[View]:
    """The row as a whole, its sum and ends, and the first few coordinates and differences."""
    import numpy as np

    def row(y: Array) -> Array:  # a hash: rows that collide are merged, which only weakens the audit
        odd = np.random.Generator(np.random.PCG64(width)).integers(1, 2**61, width) * 2 + 1
        bits = y.astype(np.float64).view(np.int64) if y.dtype.kind == "f" else y.astype(np.int64, copy=False)
        mixed = (bits * odd).sum(axis=1)  # wraps
        return mixed ^ (mixed >> 31)

    def coordinate(i: int) -> Feature:
        return lambda y: y[:, i]

    def difference(i: int) -> Feature:
        return lambda y: y[:, i] - y[:, 0]

    return [
        View("row", row, ordered=False),
        View("sum", lambda y: y.sum(axis=1)),
        View("largest", lambda y: y.max(axis=1)),
        View("smallest", lambda y: y.min(axis=1)),
        *(View(f"output[{i}]", coordinate(i)) for i in range(min(width, 8))),
        *(View(f"output[{i}] - output[0]", difference(i)) for i in range(1, min(width, 5))),
    ]
